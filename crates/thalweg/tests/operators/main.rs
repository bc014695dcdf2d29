//! What operators promise: each against a plain loop, under every scheme.

#[path = "../common/mod.rs"]
mod common;

mod fans;
mod joins;
mod keys;

use thalweg::Scheme;

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
