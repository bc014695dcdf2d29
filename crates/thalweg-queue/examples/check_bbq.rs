//! How fast the model checker is on a BBQ: `cargo run --release --example check_bbq [PRODUCERS CONSUMERS TRIES]`.
//!
//! Each producer and each consumer tries so many operations, then what is left is drained. Two blocks of one entry:
//! the smallest queue that is full while a block is still being read.
#![cfg(not(loom))]

use thalweg_check::Check;
use thalweg_queue::mpmc;
use thalweg_sync::thread;

fn main() {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse().expect("a number"));
    let mut next = |default: u64| numbers.next().unwrap_or(default);
    let (producers, consumers, tries) = (next(2), next(2), next(1));
    let explored = Check::new().check(move || {
        let (tx, rx) = mpmc::shared(2, 1).expect("the smallest queue");
        let pushing: Vec<_> = (0..producers)
            .map(|me| {
                let tx = tx.clone();
                thread::spawn(move || (0..tries).map(|n| me * tries + n).filter(|&n| tx.try_push(n).is_ok()).collect())
            })
            .collect();
        let popping: Vec<_> = (0..consumers)
            .map(|_| {
                let rx = rx.clone();
                thread::spawn(move || (0..tries).filter_map(|_| rx.try_pop().ok()).collect::<Vec<_>>())
            })
            .collect();
        let mut pushed: Vec<_> = pushing.into_iter().flat_map(|thread| -> Vec<_> { thread.join().unwrap() }).collect();
        let mut popped: Vec<_> = popping.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        popped.extend(std::iter::from_fn(|| rx.try_pop().ok()));
        pushed.sort_unstable();
        popped.sort_unstable();
        assert_eq!(popped, pushed, "each message once");
    });
    let rate = (explored.complete + explored.blocked) as f64 / explored.duration.as_secs_f64();
    println!("{producers}p{consumers}c, {tries} tries each: {explored}; {rate:.0} executions per second");
}
