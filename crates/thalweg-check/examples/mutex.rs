//! Which orderings a ticket lock needs: each pair of them is checked.
//!
//! `cargo run -p thalweg-check --example mutex` prints a line for each: right in all executions, or what is wrong; then the report of the first that is
//! wrong. On the machine it runs on, the wrong ones may work for years.

use thalweg_check::Check;
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use thalweg_sync::cell::Slot;
use thalweg_sync::sync::Arc;
use thalweg_sync::{spin, thread};

/// A number under a lock that serves in the order of arrival.
#[derive(Default)]
struct Locked {
    tickets: AtomicUsize,
    serving: AtomicUsize,
    number: Slot<u32>,
}

// SAFETY: `number` is accessed only by whose ticket is served.
unsafe impl Sync for Locked {}

impl Locked {
    fn add(&self, wait: Ordering, serve: Ordering) -> u32 {
        // A ticket is drawn once, whatever the order.
        let ticket = self.tickets.fetch_add(1, Relaxed);
        spin::until(|| (self.serving.load(wait) == ticket).then_some(()));
        // SAFETY: our ticket is served, and the next one is not before the store below.
        let number = self.number.with_mut(|number| unsafe {
            *number += 1;
            *number
        });
        self.serving.store(ticket + 1, serve);
        number
    }
}

/// Two threads add under the lock.
fn client(wait: Ordering, serve: Ordering) -> impl Fn() + Send + Sync {
    move || {
        let locked = Arc::new(Locked::default());
        let other = thread::spawn({
            let locked = locked.clone();
            move || locked.add(wait, serve)
        });
        let here = locked.add(wait, serve);
        assert_eq!(here + other.join().expect("it does not panic"), 1 + 2);
    }
}

fn main() {
    let mut first = None;
    for (wait, serve) in [(Relaxed, Relaxed), (Relaxed, Release), (Acquire, Relaxed), (Acquire, Release)] {
        print!("wait by {wait:?}, serve by {serve:?}: ");
        match Check::new().run(client(wait, serve)) {
            Ok(explored) => println!("right in all of {} executions", explored.complete),
            Err(violation) => {
                println!("wrong, {}", violation.to_string().lines().next().unwrap_or_default());
                first.get_or_insert(violation);
            }
        }
    }
    if let Some(violation) = first {
        println!("\n{violation}");
    }
}
