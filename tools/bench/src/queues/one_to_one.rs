//! The loops of the experiments with one producer and one consumer: every contender runs these.

use std::hint::{black_box, spin_loop};
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread;

use serde_json::{Value, json};
use thalweg_sync::CachePadded;

use super::crew::{Crew, Tries};
use crate::harness::{Contender, Role, Sample};
use crate::machine::{Placement, Start};
use crate::peers::Checked;
use crate::reached::reached;

/// Entries of every queue, but where an experiment says otherwise: 32 KiB of items.
pub(crate) const CAPACITY: usize = 4096;

/// A queue of `u64` that are not zero, used without waiting: how each contender pushes and pops.
pub(crate) trait Ends: 'static {
    /// A writing end.
    type Tx: Send;
    /// A reading end.
    type Rx: Send;

    /// A queue for `capacity` items.
    fn build(capacity: usize) -> (Self::Tx, Self::Rx);

    /// How many items a queue holds that was built for so many.
    fn room(capacity: usize) -> usize {
        capacity
    }

    /// Pushes `value`, or says that there is no room.
    fn push(tx: &mut Self::Tx, value: u64) -> bool;

    /// Pops a value, if there is one.
    fn pop(rx: &mut Self::Rx) -> Option<u64>;

    /// Says what else has to be true of a run when all is pushed, if it is not.
    fn check(_tx: &Self::Tx) -> Result<(), String> {
        Ok(())
    }
}

/// A queue whose ends lie in memory, where other code may reach them: in a loop with nothing else in it they live in registers. As little else as
/// possible does: a store more for each item would tell, and what the compiler finds no register for is one.
pub(crate) struct InMemory<Q>(PhantomData<Q>);

impl<Q> InMemory<Q> {
    /// Behind an attempt in vain. The compiler takes it for seldom, and so keeps what an attempt that succeeds needs in registers.
    #[cold]
    #[inline(never)]
    fn in_vain() {
        black_box(());
    }
}

impl<Q: Ends> Ends for InMemory<Q> {
    // Boxed, as aligned ends on the stack would take a register for themselves.
    type Tx = Box<Q::Tx>;
    type Rx = Box<Q::Rx>;

    fn build(capacity: usize) -> (Self::Tx, Self::Rx) {
        let (tx, rx) = Q::build(capacity);
        (Box::new(tx), Box::new(rx))
    }

    fn room(capacity: usize) -> usize {
        Q::room(capacity)
    }

    #[inline(always)]
    fn push(tx: &mut Self::Tx, value: u64) -> bool {
        let pushed = Q::push(reached(tx.as_mut()), value);
        if !pushed {
            Self::in_vain();
        }
        pushed
    }

    #[inline(always)]
    fn pop(rx: &mut Self::Rx) -> Option<u64> {
        let popped = Q::pop(reached(rx.as_mut()));
        if popped.is_none() {
            Self::in_vain();
        }
        popped
    }

    fn check(tx: &Self::Tx) -> Result<(), String> {
        Q::check(tx)
    }
}

/// A queue that also takes and gives slices.
pub(crate) trait Slices: Ends {
    /// Pushes as many values as there is room for. Returns how many.
    fn push_slice(tx: &mut Self::Tx, values: &[u64]) -> usize;

    /// Pops as many values as there are, or as there is space for. Returns how many.
    fn pop_slice(rx: &mut Self::Rx, into: &mut [u64]) -> usize;
}

/// Pushes when there is room. False if there is none, and no consumer left.
#[inline(always)]
pub(crate) fn push<Q: Ends>(tx: &mut Q::Tx, value: u64, consumers: &Crew) -> bool {
    push_or::<Q>(tx, value, spin_loop, consumers)
}

/// Pops when there is something. None if there is nothing, and no producer left.
#[inline(always)]
pub(crate) fn pop<Q: Ends>(rx: &mut Q::Rx, producers: &Crew) -> Option<u64> {
    pop_or::<Q>(rx, spin_loop, || producers.gone())
}

/// As [`push`], with another `pause` after an attempt in vain.
///
/// Here and in [`pop_or`] the attempt is in no closure, which would be one function for all loops, and called where it is inlined in a
/// user's: with its ends in registers a queue takes half the time for an item.
#[inline(always)]
pub(crate) fn push_or<Q: Ends>(tx: &mut Q::Tx, value: u64, pause: impl Fn(), consumers: &Crew) -> bool {
    let mut tries = Tries::default();
    loop {
        if Q::push(tx, value) {
            return true;
        }
        if !tries.again(|| consumers.gone()) {
            return false;
        }
        pause();
    }
}

/// As [`pop`], with another `pause` after an attempt in vain. None if it was `hopeless`, and one more attempt gave none either.
#[inline(always)]
pub(crate) fn pop_or<Q: Ends>(rx: &mut Q::Rx, pause: impl Fn(), hopeless: impl Fn() -> bool) -> Option<u64> {
    let mut tries = Tries::default();
    loop {
        match Q::pop(rx) {
            None if tries.again(&hopeless) => pause(),
            popped => return popped,
        }
    }
}

/// Numbers from 1 to `items` go through a queue, one by one; producer and consumer each have a CPU and spin with a pause.
pub(crate) fn one_by_one<Q: Ends>(items: u64, capacity: usize) -> Checked {
    let (mut tx, mut rx) = Q::build(capacity);
    let mut checked = Ok(());
    let verdict = &mut checked;
    let timing = between(
        items,
        move |consumers| {
            for value in 1..=items {
                if !push::<Q>(&mut tx, value, consumers) {
                    break;
                }
            }
            *verdict = Q::check(&tx);
            tx
        },
        move |producers| {
            let mut received = Received::default();
            while received.count < items {
                let Some(value) = pop::<Q>(&mut rx, producers) else { break };
                received.take(value);
            }
            received.told()
        },
    )?;
    checked?;
    Ok(timing)
}

/// The same in slices of `size`.
pub(crate) fn in_slices<Q: Slices>(items: u64, capacity: usize, size: usize) -> Checked {
    let (mut tx, mut rx) = Q::build(capacity);
    between(
        items,
        move |consumers| {
            let mut values = vec![0; size];
            let mut next = 1;
            while next <= items {
                let count = size.min((items + 1 - next) as usize);
                values[..count].iter_mut().zip(next..).for_each(|(value, number)| *value = number);
                let mut left = &values[..count];
                while !left.is_empty() {
                    let pushed = consumers.until(|| NonZeroUsize::new(Q::push_slice(&mut tx, left)), spin_loop);
                    let Some(pushed) = pushed else { return tx };
                    left = &left[pushed.get()..];
                }
                next += count as u64;
            }
            tx
        },
        move |producers| {
            let mut received = Received::default();
            let mut values = vec![0; size];
            while received.count < items {
                let popped = producers.until(|| NonZeroUsize::new(Q::pop_slice(&mut rx, &mut values)), spin_loop);
                let Some(popped) = popped else { break };
                values[..popped.get()].iter().for_each(|&value| received.take(value));
            }
            received.told()
        },
    )
}

/// A number goes through one queue and comes back through another, `trips` times. The time is that of a round trip.
pub(crate) fn there_and_back<Q: Ends>(trips: u64) -> Checked {
    let (mut ask, mut asked) = Q::build(CAPACITY);
    let (mut answer, mut answered) = Q::build(CAPACITY);
    let (asks, answers) = (&Sent::default(), &Sent::default());
    between(
        trips,
        move |consumers| {
            for trip in 1..=trips {
                let lost = || consumers.gone() || answers.lost(trip - 1, asks, trip);
                let Some(value) = pop_or::<Q>(&mut asked, spin_loop, lost) else { break };
                if !push::<Q>(&mut answer, value, consumers) {
                    break;
                }
            }
            answer
        },
        move |producers| {
            let mut received = Received::default();
            for trip in 1..=trips {
                if !push::<Q>(&mut ask, trip, producers) {
                    break;
                }
                let lost = || producers.gone() || asks.lost(trip, answers, trip);
                let Some(value) = pop_or::<Q>(&mut answered, spin_loop, lost) else { break };
                received.take(value);
            }
            received.told()
        },
    )
}

/// How many numbers a side of a round trip has sent. Only who waits for long says so: when one is lost, both wait, and nobody leaves.
#[derive(Debug, Default)]
struct Sent(CachePadded<AtomicU64>);

impl Sent {
    /// Says that `sent` are on their way from here. True if `wanted` are from there.
    fn lost(&self, sent: u64, theirs: &Self, wanted: u64) -> bool {
        // With Release, so that whoever sees it finds them in the queue.
        self.0.store(sent, Release);
        theirs.0.load(Acquire) >= wanted
    }
}

/// What a consumer has seen: that every number came once and in order is checked by their count, sum and order.
///
/// Local to the consumer's loop and [told](Self::told) at its end, so that it lives in registers: in memory each item waits for the sum of
/// the one before to come back from there, for three nanoseconds on some machines, and a fast queue is not told from a slow one.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Received {
    count: u64,
    sum: u64,
    unordered: u64,
}

impl Received {
    /// How many came.
    #[inline(always)]
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    #[cfg(thalweg_cpp)]
    pub(crate) fn sum(&self) -> u64 {
        self.sum
    }

    /// True if they were the numbers from 1 on.
    #[cfg(all(test, thalweg_cpp))]
    pub(crate) fn is_ordered(&self) -> bool {
        self.unordered == 0
    }

    /// The same, out of the loop's registers: a loop that returned what it counts in would count in the caller's memory.
    #[inline(always)]
    pub(crate) fn told(self) -> Self {
        Self { count: black_box(self.count), sum: black_box(self.sum), unordered: black_box(self.unordered) }
    }

    #[inline(always)]
    pub(crate) fn take(&mut self, value: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(value);
        self.unordered |= value ^ self.count;
    }
}

/// Runs both sides on a CPU each, in threads of their own: whoever calls this stays where it may run, and so may its later
/// threads. What `produce` returns is kept until the consumer is done. Each side is told of the other, so as not to wait for nobody.
pub(crate) fn between<R: Send>(
    items: u64,
    produce: impl FnOnce(&Crew) -> R + Send,
    consume: impl FnOnce(&Crew) -> Received + Send,
) -> Checked {
    let mut received = Received::default();
    let (producers, consumers, start) = (Crew::of(1), Crew::of(1), Start::default());
    let ((), timing) = thread::scope(|scope| {
        let producer = scope.spawn(|| {
            let _member = producers.member();
            Placement::TwoCpus.pin(0, 2);
            let _running = start.running();
            produce(&consumers)
        });
        let consumer = scope.spawn(|| {
            let _member = consumers.member();
            Placement::TwoCpus.pin(1, 2);
            let _running = start.running();
            consume(&producers)
        });
        start.timed(2, || {
            // A panic of either ends the run as an error.
            received = consumer.join().expect("the consumer does not panic");
            drop(producer.join().expect("the producer does not panic"));
        })
    });
    let sum = (items as u128 * (items as u128 + 1) / 2) as u64;
    if (received.count, received.sum, received.unordered) != (items, sum, 0) {
        return Err(format!("{received:?} instead of the numbers from 1 to {items}").into());
    }
    Ok(timing)
}

/// What matters for every contender.
pub(crate) fn params(items: u64, capacity: usize) -> Value {
    json!({ "items": items, "capacity": capacity, "waits": "spins", "threads": Placement::TwoCpus.word() })
}

/// A contender whose figure is nanoseconds for each item.
pub(crate) fn per_item(
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
    use crate::queues::{apart, batch, failed, item, oversubscribed, shared, shared_batch};

    #[test]
    fn every_contender_delivers_every_item() {
        let shared = [shared::EXPERIMENT, shared_batch::EXPERIMENT, oversubscribed::EXPERIMENT, failed::EXPERIMENT];
        for experiment in [item::EXPERIMENT, batch::EXPERIMENT, apart::EXPERIMENT].into_iter().chain(shared) {
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

    const LOST: u8 = 0;
    const ENDS_PRODUCER: u8 = 1;
    const ENDS_CONSUMER: u8 = 2;

    /// Item number 3 is lost, or its producer or consumer panics.
    struct Third<const FATE: u8>;

    impl<const FATE: u8> Ends for Third<FATE> {
        type Tx = std::sync::mpsc::SyncSender<u64>;
        type Rx = std::sync::mpsc::Receiver<u64>;

        fn build(capacity: usize) -> (Self::Tx, Self::Rx) {
            std::sync::mpsc::sync_channel(capacity)
        }

        fn push(tx: &mut Self::Tx, value: u64) -> bool {
            assert!(FATE != ENDS_PRODUCER || value != 3, "the third is pushed");
            (FATE == LOST && value == 3) || tx.try_send(value).is_ok()
        }

        fn pop(rx: &mut Self::Rx) -> Option<u64> {
            let value = rx.try_recv().ok()?;
            assert!(FATE != ENDS_CONSUMER || value != 3, "the third is popped");
            Some(value)
        }
    }

    impl<const FATE: u8> Slices for Third<FATE> {
        fn push_slice(tx: &mut Self::Tx, values: &[u64]) -> usize {
            values.iter().take_while(|&&value| Self::push(tx, value)).count()
        }

        fn pop_slice(rx: &mut Self::Rx, into: &mut [u64]) -> usize {
            into.iter_mut().map_while(|place| Self::pop(rx).map(|value| *place = value)).count()
        }
    }

    #[test]
    fn a_lost_item_is_an_error_and_hangs_nobody() {
        let lost =
            [one_by_one::<Third<LOST>>(9, 4), in_slices::<Third<LOST>>(9, 4, 2), there_and_back::<Third<LOST>>(9)];
        for run in lost {
            let error = run.unwrap_err().to_string();
            assert!(error.ends_with("instead of the numbers from 1 to 9"), "{error}");
        }
    }

    /// Loses nothing, and is not content all the same.
    struct Complains;

    impl Ends for Complains {
        type Tx = std::sync::mpsc::SyncSender<u64>;
        type Rx = std::sync::mpsc::Receiver<u64>;

        fn build(capacity: usize) -> (Self::Tx, Self::Rx) {
            std::sync::mpsc::sync_channel(capacity)
        }

        fn push(tx: &mut Self::Tx, value: u64) -> bool {
            tx.try_send(value).is_ok()
        }

        fn pop(rx: &mut Self::Rx) -> Option<u64> {
            rx.try_recv().ok()
        }

        fn check(_tx: &Self::Tx) -> Result<(), String> {
            Err("it grew".into())
        }
    }

    #[test]
    fn what_a_queue_says_of_itself_ends_a_run() {
        assert_eq!(one_by_one::<Complains>(9, 4).unwrap_err().to_string(), "it grew");
    }

    #[test]
    fn a_panic_of_one_side_ends_the_other() {
        // More items than entries: the producer would wait for room.
        assert!(std::panic::catch_unwind(|| one_by_one::<Third<ENDS_PRODUCER>>(9, 4)).is_err());
        assert!(std::panic::catch_unwind(|| one_by_one::<Third<ENDS_CONSUMER>>(9, 4)).is_err());
        assert!(std::panic::catch_unwind(|| there_and_back::<Third<ENDS_PRODUCER>>(9)).is_err());
        assert!(std::panic::catch_unwind(|| there_and_back::<Third<ENDS_CONSUMER>>(9)).is_err());
    }
}
