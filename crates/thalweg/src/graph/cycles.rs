//! What is connected with what: the edges of each kernel, and the cycles.
//!
//! No recursion, and time in proportion to kernels and edges: a graph may be a chain of a hundred thousand kernels.

use crate::graph::draft::{Draft, Link};
use crate::observe::MOST_PAIRS;

/// For each kernel the edges that lead to it and out of it, in the order of its ports.
pub(crate) struct Wiring {
    pub(crate) inputs: Vec<Vec<usize>>,
    pub(crate) outputs: Vec<Vec<usize>>,
}

impl Draft<'_> {
    pub(crate) fn wiring(&self) -> Wiring {
        let empty = || vec![Vec::new(); self.kernels.len()];
        let (mut inputs, mut outputs) = (empty(), empty());
        for (edge, link) in self.links.iter().enumerate() {
            inputs[link.to.kernel].push(edge);
            outputs[link.from.kernel].push(edge);
        }
        inputs.iter_mut().for_each(|edges| edges.sort_by_key(|&edge| self.links[edge].to.port));
        outputs.iter_mut().for_each(|edges| edges.sort_by_key(|&edge| self.links[edge].from.port));
        Wiring { inputs, outputs }
    }

    /// The kernels that come after each one, by the links that count.
    fn successors(&self, counts: impl Fn(&Link) -> bool) -> Vec<Vec<usize>> {
        let mut next = vec![Vec::new(); self.kernels.len()];
        self.links.iter().filter(|link| counts(link)).for_each(|link| next[link.from.kernel].push(link.to.kernel));
        next
    }

    /// The kernels that something of `kernel` gets to, without going round a cycle.
    pub(crate) fn behind(&self, kernel: usize) -> Vec<bool> {
        let next = self.successors(|link| !link.spec.feedback);
        let mut seen = vec![false; next.len()];
        let mut left = vec![kernel];
        while let Some(kernel) = left.pop() {
            left.extend(next[kernel].iter().filter(|&&to| !std::mem::replace(&mut seen[to], true)));
        }
        seen
    }

    /// Sources and the sinks behind them, as many as are looked at.
    pub(crate) fn sources_and_sinks(&self) -> Vec<(usize, usize)> {
        let wiring = self.wiring();
        let all = 0..self.kernels.len();
        let is_inner = |kernel: usize| !wiring.outputs[kernel].is_empty() || wiring.inputs[kernel].is_empty();
        let sources = all.clone().filter(|&kernel| wiring.inputs[kernel].is_empty());
        let pairs = sources.take(MOST_PAIRS).flat_map(|source| {
            let behind = self.behind(source);
            all.clone()
                .filter(move |&kernel| behind[kernel])
                .filter(|&sink| !is_inner(sink))
                .map(move |sink| (source, sink))
        });
        pairs.take(MOST_PAIRS).collect()
    }

    /// A cycle without a declared feedback edge.
    pub(crate) fn undeclared_cycle(&self) -> Option<Vec<usize>> {
        cycle(&self.successors(|link| !link.spec.feedback))
    }

    /// For each kernel the number of the cycle, or of the cycles with kernels in common, that it belongs to, and how many there are.
    pub(crate) fn components(&self) -> (Vec<Option<usize>>, usize) {
        components(&self.successors(|_| true))
    }
}

/// Some cycle of a graph, in its order.
fn cycle(next: &[Vec<usize>]) -> Option<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        OnPath,
        Done,
    }
    let mut states = vec![State::New; next.len()];
    for root in 0..next.len() {
        if states[root] != State::New {
            continue;
        }
        states[root] = State::OnPath;
        // Each with how many of its successors were looked at.
        let mut path = vec![(root, 0)];
        while let Some((kernel, looked)) = path.last_mut() {
            let Some(&to) = next[*kernel].get(*looked) else {
                states[*kernel] = State::Done;
                path.pop();
                continue;
            };
            *looked += 1;
            match states[to] {
                State::Done => {}
                State::New => {
                    states[to] = State::OnPath;
                    path.push((to, 0));
                }
                State::OnPath => {
                    let from_there = path.iter().map(|&(kernel, _)| kernel).skip_while(|&kernel| kernel != to);
                    return Some(from_there.collect());
                }
            }
        }
    }
    None
}

/// The strongly connected components that have a cycle, by Tarjan's algorithm.
fn components(next: &[Vec<usize>]) -> (Vec<Option<usize>>, usize) {
    const NEW: usize = usize::MAX;
    // When each was seen first, and the first that was seen of those it comes back to; a kernel that is assigned comes back to nobody.
    let (mut seen, mut back) = (vec![NEW; next.len()], vec![NEW; next.len()]);
    let (mut component_of, mut found, mut clock) = (vec![None; next.len()], 0, 0);
    let mut unassigned = Vec::new();
    for root in 0..next.len() {
        let mut path = Vec::new();
        if seen[root] == NEW {
            path.push((root, 0));
        }
        while let Some((kernel, looked)) = path.last_mut() {
            let (kernel, first) = (*kernel, *looked == 0);
            if first && seen[kernel] == NEW {
                (seen[kernel], back[kernel]) = (clock, clock);
                clock += 1;
                unassigned.push(kernel);
            }
            if let Some(&to) = next[kernel].get(*looked) {
                *looked += 1;
                if seen[to] == NEW {
                    path.push((to, 0));
                } else {
                    back[kernel] = back[kernel].min(back[to]);
                }
                continue;
            }
            path.pop();
            let comes_back_to = back[kernel];
            if let Some(&(parent, _)) = path.last() {
                back[parent] = back[parent].min(comes_back_to);
            }
            if comes_back_to == seen[kernel] {
                let start = unassigned.iter().rposition(|&other| other == kernel).expect("it is not assigned yet");
                let members = unassigned.split_off(start);
                let is_cycle = members.len() > 1 || next[kernel].contains(&kernel);
                for &member in &members {
                    back[member] = NEW;
                    component_of[member] = is_cycle.then_some(found);
                }
                found += usize::from(is_cycle);
            }
        }
    }
    (component_of, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_sync::random::Xorshift;

    /// Which kernels a message can come to from one.
    fn reachable(next: &[Vec<usize>], from: usize) -> Vec<bool> {
        let mut seen = vec![false; next.len()];
        let mut left = vec![from];
        while let Some(kernel) = left.pop() {
            for &to in &next[kernel] {
                if !std::mem::replace(&mut seen[to], true) {
                    left.push(to);
                }
            }
        }
        seen
    }

    /// Random graphs of up to eight kernels, of few and of many edges.
    fn graphs() -> impl Iterator<Item = Vec<Vec<usize>>> {
        let mut random = Xorshift::new(1);
        let mut below = move |n: usize| random.index(n);
        (0..3000).map(move |_| {
            let kernels = 1 + below(8);
            let edges = below(2 * kernels + 1);
            let mut next = vec![Vec::new(); kernels];
            (0..edges).for_each(|_| next[below(kernels)].push(below(kernels)));
            next
        })
    }

    #[test]
    fn who_reaches_each_other_is_one_component() {
        for next in graphs() {
            let (component_of, found) = components(&next);
            let reach: Vec<_> = (0..next.len()).map(|kernel| reachable(&next, kernel)).collect();
            for one in 0..next.len() {
                assert_eq!(component_of[one].is_some(), reach[one][one], "{one} in {next:?}");
                for other in (0..next.len()).filter(|&other| other != one) {
                    let together = component_of[one].is_some() && component_of[one] == component_of[other];
                    assert_eq!(together, reach[one][other] && reach[other][one], "{one} and {other} in {next:?}");
                }
            }
            let mut numbers: Vec<_> = component_of.into_iter().flatten().collect();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers, (0..found).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_cycle_is_found_if_there_is_one() {
        for next in graphs() {
            let is_cyclic = (0..next.len()).any(|kernel| reachable(&next, kernel)[kernel]);
            let found = cycle(&next);
            assert_eq!(found.is_some(), is_cyclic, "{next:?}");
            if let Some(path) = found {
                let ends = path.iter().zip(path.iter().cycle().skip(1));
                ends.for_each(|(&from, to)| assert!(next[from].contains(to), "{path:?} in {next:?}"));
            }
        }
    }

    #[test]
    fn a_chain_may_be_long() {
        let mut next: Vec<_> = (1..=300_000).map(|to| vec![to]).collect();
        next.push(Vec::new());
        assert_eq!((cycle(&next), components(&next).1), (None, 0));
        next.last_mut().unwrap().push(0);
        assert_eq!((cycle(&next).unwrap().len(), components(&next).1), (300_001, 1));
    }
}
