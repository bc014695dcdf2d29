//! What a fuzzer calls.

use super::rows::{self, Known, Rows};
use super::{Direction, Network};

/// Takes any text as rows of edges, whole and in two parts if there are two, as names of vertices, and as the head of a matrix.
pub(crate) fn rows(text: &[u8]) {
    for known in [Known::Any, Known::UpTo(9), Known::Among(vec![1, 2, 3])] {
        let whole = rows::edges(text, true, &known);
        let cut = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |line_end| line_end + 1);
        let (head, tail) = (rows::edges(&text[..cut], true, &known), &text[cut..]);
        if head.edges.is_empty() && head.bad.is_none() {
            // The names of columns may be still to come.
            continue;
        }
        let behind = if head.bad.is_some() { Rows::default() } else { rows::edges(tail, false, &known) };
        let joined = [&head.edges[..], &behind.edges].concat();
        assert_eq!((joined, head.lines + behind.lines), (whole.edges.clone(), whole.lines));
        assert_eq!(head.bad.or(behind.bad).is_some(), whole.bad.is_some());
        for direction in [Direction::OneWay, Direction::BothWays] {
            let Ok(network) = Network::new(Vec::new(), whole.edges.clone(), direction) else { continue };
            let all: usize = network.indices().map(|vertex| network.neighbours(vertex).len()).sum();
            assert_eq!(all, network.arcs());
        }
    }
    let _ = (rows::vertices(text), rows::market(text).is_some(), rows::sizes(text), rows::is_before_sizes(text));
}
