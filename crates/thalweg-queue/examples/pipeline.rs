//! A pipeline of three threads with a queue for one producer and one consumer between each two.
//!
//! `cargo run --example pipeline` reads numbers, keeps their last three digits and adds them up, and prints the sum and how many items came at once. No push or pop
//! of `spsc` has an atomic read-modify-write. A stage that is dropped closes its queue, so the end of the first ends all of them.

#![allow(clippy::disallowed_methods, reason = "a program of its own has std's threads")]

use std::error::Error;
use std::thread;
use thalweg_queue::spsc;

const ITEMS: u64 = 300_000;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut read, mut to_cut) = spsc::channel::<u64>(1024)?;
    let (mut digits, mut to_sum) = spsc::channel::<u64>(1024)?;

    // One by one.
    let reader = thread::spawn(move || (1..=ITEMS).try_for_each(|n| read.push(n)));
    // As many as there are: one store of a cursor for a block, not for an item.
    let cutter = thread::spawn(move || {
        let mut batch = Vec::new();
        while to_cut.pop_many(&mut batch, 256).is_ok() {
            batch.iter_mut().for_each(|n| *n %= 1000);
            digits.push_many(&mut batch)?;
        }
        Ok::<_, thalweg_queue::PushError<()>>(())
    });
    let (mut sum, mut batches, mut batch) = (0, 0, Vec::new());
    while let Ok(count) = to_sum.pop_many(&mut batch, 256) {
        batches += 1;
        sum += batch.drain(..).sum::<u64>();
        debug_assert!(count <= 256);
    }
    reader.join().expect("it does not panic")?;
    cutter.join().expect("it does not panic").map_err(|_| "nobody adds up")?;

    println!("{ITEMS} items, the last three digits of each add up to {sum}");
    println!("{} items at once, on average", ITEMS / batches);
    Ok(())
}
