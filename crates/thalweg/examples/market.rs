//! Merges the trades of two exchanges by time, and keeps the average price of each share, weighted by volume.
//!
//! `cargo run --example market` prints how each share stands in the end. `merge_by_key` makes one sorted stream of two; `keyed` gives each share a
//! state of its own, so shares are computed on different cores while the trades of one share stay in order.

use std::collections::BTreeMap;
use thalweg::prelude::*;

const SHARES: [&str; 4] = ["ACME", "BOLT", "CRUX", "DUNE"];

#[derive(Clone, Copy)]
struct Trade {
    nanos: u64,
    share: &'static str,
    cents: u64,
    volume: u64,
}

/// What a share has come to.
#[derive(Clone, Copy, Default)]
struct Standing {
    trades: u64,
    nanos: u64,
    volume: u64,
    turnover: u64,
}

/// The trades of an exchange, which are the same in every run.
fn exchange(seed: u64, count: usize) -> impl Iterator<Item = Trade> {
    let (mut random, mut nanos) = (seed, 0);
    std::iter::repeat_with(move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let draw = |shift: u32, below: u64| (random >> shift) % below;
        nanos += 1 + draw(40, 1000);
        let share = draw(33, SHARES.len() as u64);
        Trade {
            nanos,
            share: SHARES[share as usize],
            cents: 1000 * (share + 1) + draw(20, 100),
            volume: 1 + draw(50, 10),
        }
    })
    .take(count)
}

fn main() -> Result<(), thalweg::Error> {
    let (mut in_order, mut before) = (true, 0);
    let mut last = BTreeMap::new();

    let mut graph = Graph::new();
    let exchanges = [graph.source(exchange(1, 50_000)), graph.source(exchange(2, 30_000))];
    let merged = graph.merge_by_key(exchanges, |trade: &Trade| trade.nanos);
    let check = graph.map(|trade: Trade| {
        in_order &= before <= trade.nanos;
        before = trade.nanos;
        (trade.share, trade)
    });
    let standings = graph.keyed(merged >> check).map_with(Standing::default, |standing, share, trade| {
        assert!(standing.nanos <= trade.nanos, "the trades of {share} are in order");
        standing.trades += 1;
        standing.nanos = trade.nanos;
        standing.volume += trade.volume;
        standing.turnover += trade.volume * trade.cents;
        (*share, *standing)
    });
    let keep = graph.sink(|(share, standing)| _ = last.insert(share, standing));
    graph += standings >> keep;
    graph.run(Scheme::default())?;
    drop(graph); // gives back what it has borrowed

    for (share, Standing { trades, volume, turnover, .. }) in &last {
        println!(
            "{share}: {trades} trades of {volume} shares, {:.2} on average",
            *turnover as f64 / *volume as f64 / 100.0
        );
    }
    let all: u64 = last.values().map(|standing| standing.trades).sum();
    println!("{all} trades, merged in the order of time: {in_order}");
    Ok(())
}
