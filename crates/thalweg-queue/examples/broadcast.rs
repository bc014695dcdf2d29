//! Every receiver sees every item: in two forms, for readers that may miss some and for readers that may not.
//!
//! `cargo run --example broadcast` prints what each reader saw. `broadcast::channel` never waits for a reader; one that is too slow is told how many
//! items it has missed. `broadcast::graph` waits for the slowest, and lets a reader follow others: a record is applied when it is in the journal and
//! checked.

#![allow(clippy::disallowed_methods, reason = "a program of its own has std's threads")]

use std::error::Error;
use std::thread;
use thalweg_queue::broadcast::{self, Lagged, graph::Graph};

/// The senders set the pace.
fn prices() -> Result<(), Box<dyn Error>> {
    let (prices, mut quick) = broadcast::channel(8)?;
    let mut slow = prices.subscribe();
    let mut seen = 0;
    for price in 100..120 {
        prices.push(price)?;
        seen += i32::from(quick.pop()? == Ok(price));
    }
    println!("the quick reader saw {seen} prices");
    drop(prices);
    while let Ok(price) = slow.pop() {
        match price {
            Ok(price) if price == 119 => println!("the slow reader ends with {price}"),
            Ok(_) => {}
            Err(Lagged(missed)) => println!("the slow reader missed {missed} prices"),
        }
    }
    Ok(())
}

/// The slowest reader sets the pace.
fn records() -> Result<(), Box<dyn Error>> {
    let mut graph = Graph::new(64)?;
    let (journal, check) = (graph.first(), graph.first());
    let _apply = graph.then(&[journal, check]);
    let (mut records, readers) = graph.build()?;

    let readers: Vec<_> = ["journal", "check", "apply"]
        .into_iter()
        .zip(readers)
        .map(|(name, mut reader)| {
            thread::spawn(move || {
                let (mut count, mut bytes) = (0, 0);
                let mut look = |record: &String| {
                    count += 1;
                    bytes += record.len();
                };
                // By reference: no reader has a copy.
                while reader.pop_each(usize::MAX, &mut look).is_ok() {}
                (name, count, bytes)
            })
        })
        .collect();
    for number in 0..1000 {
        records.push(format!("record {number:03}"))?;
    }
    drop(records);
    for reader in readers {
        let (name, count, bytes) = reader.join().expect("it does not panic");
        println!("{name}: {count} records of {bytes} bytes");
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    prices()?;
    records()
}
