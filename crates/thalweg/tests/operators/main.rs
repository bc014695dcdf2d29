//! What operators promise: each against a plain loop, under every scheme.

#[path = "../common/mod.rs"]
mod common;

mod chains;
mod ends;
mod errors;
mod fans;
mod joins;
mod keys;
mod parts;
mod random;
mod spreads;
mod times;

use common::{SOON, within};
use thalweg::prelude::*;

/// Every scheme, with one to four workers in turn; `turn` shifts which has how many.
fn schemes(turn: usize) -> impl Iterator<Item = Scheme> {
    Scheme::names().enumerate().map(move |(index, name)| {
        let scheme = Scheme::named(name).unwrap().workers((index + turn) % 4 + 1);
        println!("{scheme:?}");
        scheme
    })
}

/// Every scheme with each of these numbers of workers.
fn each_scheme(run: impl Fn(Scheme)) {
    (0..2).flat_map(|turn| schemes(turn * 2)).for_each(run);
}

/// What a node gives for these messages.
fn through<T: Send + 'static, U: Send + 'static>(
    scheme: Scheme,
    messages: impl IntoIterator<Item = T, IntoIter: Send> + Send + 'static,
    node: impl FnOnce(&mut Graph<'_>) -> Node<T, U> + Send + 'static,
) -> (Vec<U>, Report) {
    within(SOON, move || {
        let mut seen = Vec::new();
        let mut graph = Graph::new();
        let (source, node) = (graph.source(messages), node(&mut graph));
        let collect = graph.sink(|x| seen.push(x));
        graph += source >> node >> collect;
        let report = graph.run(scheme).unwrap_or_else(|error| panic!("{error}"));
        drop(graph);
        (seen, report)
    })
}
