//! The loops of the experiments with one producer and one consumer: every contender runs these.

use std::hint::spin_loop;
use std::thread;

use serde_json::{Value, json};

use crate::harness::{Contender, Role, Sample};
use crate::machine::{Placement, Timing, timed};
use crate::peers::Checked;

/// Entries of every queue, but where an experiment says otherwise: 32 KiB of items.
pub(super) const CAPACITY: usize = 4096;

/// A queue of `u64` that are not zero, used without waiting: how each contender pushes and pops.
pub(super) trait Ends: 'static {
    /// A writing end.
    type Tx: Send;
    /// A reading end.
    type Rx: Send;

    /// A queue for `capacity` items.
    fn build(capacity: usize) -> (Self::Tx, Self::Rx);

    /// Pushes `value`, or says that there is no room.
    fn push(tx: &mut Self::Tx, value: u64) -> bool;

    /// Pops a value, if there is one.
    fn pop(rx: &mut Self::Rx) -> Option<u64>;
}

/// A queue that also takes and gives slices.
pub(super) trait Slices: Ends {
    /// Pushes as many values as there is room for. Returns how many.
    fn push_slice(tx: &mut Self::Tx, values: &[u64]) -> usize;

    /// Pops as many values as there are, or as there is space for. Returns how many.
    fn pop_slice(rx: &mut Self::Rx, into: &mut [u64]) -> usize;
}

/// Numbers from 1 to `items` go through a queue, one by one; producer and consumer each have a CPU and spin with a pause.
pub(super) fn one_by_one<Q: Ends>(items: u64, capacity: usize) -> Checked {
    let (mut tx, mut rx) = Q::build(capacity);
    between(
        items,
        move || {
            for value in 1..=items {
                while !Q::push(&mut tx, value) {
                    spin_loop();
                }
            }
            tx
        },
        move |received: &mut Received| {
            while received.count < items {
                match Q::pop(&mut rx) {
                    Some(value) => received.take(value),
                    None => spin_loop(),
                }
            }
        },
    )
}

/// The same in slices of `size`.
pub(super) fn in_slices<Q: Slices>(items: u64, capacity: usize, size: usize) -> Checked {
    let (mut tx, mut rx) = Q::build(capacity);
    between(
        items,
        move || {
            let mut values = vec![0; size];
            let mut next = 1;
            while next <= items {
                let count = size.min((items + 1 - next) as usize);
                values[..count].iter_mut().zip(next..).for_each(|(value, number)| *value = number);
                let mut left = &values[..count];
                while !left.is_empty() {
                    match Q::push_slice(&mut tx, left) {
                        0 => spin_loop(),
                        pushed => left = &left[pushed..],
                    }
                }
                next += count as u64;
            }
            tx
        },
        move |received: &mut Received| {
            let mut values = vec![0; size];
            while received.count < items {
                match Q::pop_slice(&mut rx, &mut values) {
                    0 => spin_loop(),
                    popped => values[..popped].iter().for_each(|&value| received.take(value)),
                }
            }
        },
    )
}

/// A number goes through one queue and comes back through another, `trips` times. The time is that of a round trip.
pub(super) fn there_and_back<Q: Ends>(trips: u64) -> Checked {
    let (mut ask, mut asked) = Q::build(CAPACITY);
    let (mut answer, mut answered) = Q::build(CAPACITY);
    between(
        trips,
        move || {
            for _ in 0..trips {
                let value = until(|| Q::pop(&mut asked));
                while !Q::push(&mut answer, value) {
                    spin_loop();
                }
            }
            answer
        },
        move |received: &mut Received| {
            for trip in 1..=trips {
                while !Q::push(&mut ask, trip) {
                    spin_loop();
                }
                received.take(until(|| Q::pop(&mut answered)));
            }
        },
    )
}

fn until<R>(mut attempt: impl FnMut() -> Option<R>) -> R {
    loop {
        match attempt() {
            Some(result) => return result,
            None => spin_loop(),
        }
    }
}

/// What a consumer has seen: that every number came once and in order is checked by their count, sum and order.
#[derive(Debug, Default)]
pub(super) struct Received {
    count: u64,
    sum: u64,
    unordered: u64,
}

impl Received {
    /// How many came.
    #[inline(always)]
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    #[inline(always)]
    pub(super) fn take(&mut self, value: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(value);
        self.unordered |= value ^ self.count;
    }
}

/// Runs both sides on a CPU each, in threads of their own: whoever calls this stays where it may run, and so may its later
/// threads. What `produce` returns is kept until the consumer is done.
pub(super) fn between<R: Send>(
    items: u64,
    produce: impl FnOnce() -> R + Send,
    consume: impl FnOnce(&mut Received) + Send,
) -> Checked {
    let mut received = Received::default();
    let (_, timing): ((), Timing) = timed(|| {
        thread::scope(|scope| {
            let producer = scope.spawn(|| {
                Placement::TwoCpus.pin(0, 2);
                produce()
            });
            let consumer = scope.spawn(|| {
                Placement::TwoCpus.pin(1, 2);
                consume(&mut received);
            });
            // A panic of either ends the run as an error.
            consumer.join().expect("the consumer does not panic");
            drop(producer.join());
        });
    });
    let sum = (items as u128 * (items as u128 + 1) / 2) as u64;
    if (received.count, received.sum, received.unordered) != (items, sum, 0) {
        return Err(format!("{received:?} instead of the numbers from 1 to {items}").into());
    }
    Ok(timing)
}

/// What matters for every contender.
pub(super) fn params(items: u64, capacity: usize) -> Value {
    json!({ "items": items, "capacity": capacity, "waits": "spins", "threads": Placement::TwoCpus.word() })
}

/// A contender whose figure is nanoseconds for each item.
pub(super) fn per_item(
    role: Role,
    name: impl Into<String>,
    params: Value,
    items: u64,
    run: impl Fn() -> Checked + Send + 'static,
) -> Contender {
    Contender::new(role, name, params, move || Ok(Sample::nanos_per(run()?, items)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Effort, measure};
    use crate::queues::{batch, failed, item, oversubscribed, shared, shared_batch};

    #[test]
    fn every_contender_delivers_every_item() {
        let shared = [shared::EXPERIMENT, shared_batch::EXPERIMENT, oversubscribed::EXPERIMENT, failed::EXPERIMENT];
        for experiment in [item::EXPERIMENT, batch::EXPERIMENT].into_iter().chain(shared) {
            let outcome = measure(&experiment, &Effort::TINY, &mut Vec::new()).unwrap();
            assert_eq!(outcome.failures, [""; 0]);
            assert!(outcome.records.len() >= 5);
        }
    }

    #[test]
    fn a_queue_that_swaps_two_items_is_found_out() {
        /// Sends the second item before the first.
        struct Swaps;
        impl Ends for Swaps {
            type Tx = (std::sync::mpsc::Sender<u64>, Option<u64>);
            type Rx = std::sync::mpsc::Receiver<u64>;

            fn build(_: usize) -> (Self::Tx, Self::Rx) {
                let (tx, rx) = std::sync::mpsc::channel();
                ((tx, None), rx)
            }

            fn push((tx, held): &mut Self::Tx, value: u64) -> bool {
                match held.take() {
                    None => {
                        *held = Some(value);
                        true
                    }
                    Some(first) => tx.send(value).and(tx.send(first)).is_ok(),
                }
            }

            fn pop(rx: &mut Self::Rx) -> Option<u64> {
                rx.try_recv().ok()
            }
        }
        assert!(one_by_one::<Swaps>(2, 2).is_err());
    }
}
