//! Where the kernels of a graph stand in a picture: in columns from the sources to the sinks.

use std::collections::VecDeque;

/// Where each kernel stands.
#[derive(Debug, PartialEq)]
pub(crate) struct Layout {
    /// Column and row of each kernel.
    pub(crate) places: Vec<(usize, usize)>,
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    /// For each edge, whether it goes back, against the columns' order.
    pub(crate) back: Vec<bool>,
}

/// Lays out a graph of so many kernels with these edges. The time grows with the size of the graph, not with its square.
pub(crate) fn layout(kernels: usize, edges: &[(usize, usize)]) -> Layout {
    let back = back_edges(kernels, edges);
    let forward = || edges.iter().zip(&back).filter(|(_, back)| !**back).map(|(edge, _)| *edge);
    // The column is the longest way from a source: kernels in the order in which all before them are known.
    let mut left = vec![0_usize; kernels];
    let mut behind = vec![Vec::new(); kernels];
    let mut before = vec![Vec::new(); kernels];
    for (from, to) in forward() {
        left[to] += 1;
        behind[from].push(to);
        before[to].push(from);
    }
    let mut column = vec![0; kernels];
    let mut ready: VecDeque<_> = (0..kernels).filter(|&kernel| left[kernel] == 0).collect();
    while let Some(kernel) = ready.pop_front() {
        for &next in &behind[kernel] {
            column[next] = column[next].max(column[kernel] + 1);
            left[next] -= 1;
            if left[next] == 0 {
                ready.push_back(next);
            }
        }
    }
    let columns = column.iter().max().map_or(0, |last| last + 1);
    // Within a column, kernels stand in the order of those before them, so that edges cross rarely.
    let mut rank = vec![0.0; kernels];
    let mut row = vec![0; kernels];
    let mut rows = 0;
    let mut standing = vec![Vec::new(); columns];
    (0..kernels).for_each(|kernel| standing[column[kernel]].push(kernel));
    for mut here in standing {
        for &kernel in &here {
            let from = &before[kernel];
            let sum: f64 = from.iter().map(|&kernel| row[kernel] as f64).sum();
            rank[kernel] = if from.is_empty() { kernel as f64 } else { sum / from.len() as f64 };
        }
        here.sort_by(|a, b| rank[*a].total_cmp(&rank[*b]).then(a.cmp(b)));
        rows = rows.max(here.len());
        here.iter().enumerate().for_each(|(place, &kernel)| row[kernel] = place);
    }
    Layout { places: column.into_iter().zip(row).collect(), columns, rows, back }
}

/// The edges without which there is no cycle: those that lead back to where a walk from the sources came from.
fn back_edges(kernels: usize, edges: &[(usize, usize)]) -> Vec<bool> {
    let mut outgoing = vec![Vec::new(); kernels];
    let mut has_input = vec![false; kernels];
    for (index, &(from, to)) in edges.iter().enumerate() {
        outgoing[from].push(index);
        has_input[to] |= from != to;
    }
    let mut back = vec![false; edges.len()];
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        OnTheWay,
        Left,
    }
    let mut mark = vec![Mark::New; kernels];
    // Sources first, then whatever only a cycle reaches.
    let starts = (0..kernels).filter(|&kernel| !has_input[kernel]).chain(0..kernels);
    for start in starts {
        if mark[start] != Mark::New {
            continue;
        }
        let mut way = vec![(start, 0)];
        mark[start] = Mark::OnTheWay;
        while let Some((kernel, next)) = way.last_mut() {
            let Some(&edge) = outgoing[*kernel].get(*next) else {
                mark[*kernel] = Mark::Left;
                way.pop();
                continue;
            };
            *next += 1;
            let to = edges[edge].1;
            match mark[to] {
                Mark::New => {
                    mark[to] = Mark::OnTheWay;
                    way.push((to, 0));
                }
                Mark::OnTheWay => back[edge] = true,
                Mark::Left => {}
            }
        }
    }
    back
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_stands_in_a_row_and_branches_below_each_other() {
        let row = layout(3, &[(0, 1), (1, 2)]);
        assert_eq!((row.places, row.columns, row.rows), (vec![(0, 0), (1, 0), (2, 0)], 3, 1));
        let diamond = layout(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
        assert_eq!(diamond.places, [(0, 0), (1, 0), (1, 1), (2, 0)]);
        // The longest way counts.
        assert_eq!(layout(3, &[(0, 2), (0, 1), (1, 2)]).places, [(0, 0), (1, 0), (2, 0)]);
        assert_eq!(layout(0, &[]), Layout { places: vec![], columns: 0, rows: 0, back: vec![] });
    }

    #[test]
    fn a_cycle_goes_back_by_one_edge() {
        let cycle = layout(3, &[(0, 1), (1, 2), (2, 1)]);
        assert_eq!((cycle.places, cycle.back), (vec![(0, 0), (1, 0), (2, 0)], vec![false, false, true]));
        // Nothing leads in, and a kernel that feeds itself.
        let closed = layout(2, &[(0, 1), (1, 0), (1, 1)]);
        assert_eq!(closed.back, [false, true, true]);
    }

    #[test]
    fn branches_that_cross_are_sorted() {
        let crossed = layout(4, &[(0, 3), (1, 2)]);
        assert_eq!(crossed.places, [(0, 0), (0, 1), (1, 1), (1, 0)]);
    }

    #[test]
    fn a_large_graph_is_laid_out() {
        let chain: Vec<_> = (0..4999).map(|kernel| (kernel, kernel + 1)).collect();
        assert_eq!(layout(5000, &chain).columns, 5000);
    }
}
