//! `bbq/figure2.7`: what FAA is worth, what a consumer costs the producers in drop-old mode, and what entries of any size cost, with one to
//! eight producers.
//!
//! The paper compares FAA with CAS of the same machine, for pushes. Here they are CAS in BBQ, and FAA in BBQ as a tube and in FAAQ; pops are CAS
//! in the first two, and FAA in FAAQ. Beside them stands BBQ as the thesis prints it, with FAA for pushes.

use std::thread;

use serde_json::json;
use thalweg_queue::Yield;
use thalweg_queue::bytes;
use thalweg_queue::{
    TryPopError, mpmc, overwriting,
    research::{faaq, tube},
};

use crate::baselines::bbq::Bbq;
use crate::harness::Role::*;
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Role, Sample};
use crate::machine::{Start, Timing};
use crate::queues::crew::Crew;
use crate::queues::stamps::Clock;

/// The entry for the registry.
pub(crate) const EXPERIMENT: Experiment = Experiment { name: "bbq/figure2.7", plan };

const PRODUCERS: [usize; 4] = [1, 2, 4, 8];
const POINTS: &[&str] = &["1", "2", "4", "8"];
const SHAPE: (usize, usize) = (8, 512);

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let items = effort.messages(1_000_000);
    let contenders = vec![
        contender::<Shared>("thalweg `mpmc`, push and pop by CAS", items),
        contender::<Cas>("thalweg tube `bbq`, push by FAA, pop by CAS", items),
        contender::<Faa>("thalweg tube `faaq`, push and pop by FAA", items),
        as_role::<Printed>(Peer, "BBQ as printed, push by FAA, pop by CAS", items),
    ];
    let sizes = vec![
        contender::<Bytes<1, 1>>("thalweg `bytes`, of 8 bytes", items),
        contender::<Bytes<8, 8>>("thalweg `bytes`, of 64 bytes", items),
        contender::<Bytes<1, 8>>("thalweg `bytes`, of 8 to 64 bytes", items),
    ];
    let consumed = vec![Contender::new(Ours, "thalweg `overwriting`", params(items), move || {
        let figures = PRODUCERS.into_iter().map(|producers| Ok(drop_old(producers, items, true)?.1));
        Ok(Sample { figures: figures.collect::<Result<_, BoxError>>()?, cpus: None })
    })];
    let overwriting = [("thalweg `overwriting`", true), ("thalweg `overwriting`, nobody pops", false)];
    let overwriting = overwriting.map(|(name, consumes)| {
        Contender::new(Ours, name, params(items), move || {
            let figure = |producers| Ok(drop_old(producers, items, consumes)?.0.nanos_per(items));
            Ok(Sample { figures: PRODUCERS.into_iter().map(figure).collect::<Result<_, BoxError>>()?, cpus: None })
        })
    });
    Ok(vec![
        Group::sweep("an item, one consumer", "producers", "ns per item", POINTS, contenders),
        Group::sweep("an entry of any size, one consumer", "producers", "ns per item", POINTS, sizes),
        Group::sweep("a push in drop-old mode", "producers", "ns per item", POINTS, overwriting.into()),
        Group::sweep("lost in drop-old mode, one consumer", "producers", "% of items", POINTS, consumed),
    ])
}

fn params(items: u64) -> serde_json::Value {
    json!({ "items": items, "shape": SHAPE, "waits": "yields", "threads": "on all CPUs" })
}

fn contender<Q: Queue<Shape = (usize, usize)>>(name: &str, items: u64) -> Contender {
    as_role::<Q>(Ours, name, items)
}

fn as_role<Q: Queue<Shape = (usize, usize)>>(role: Role, name: &str, items: u64) -> Contender {
    Contender::new(role, name, params(items), move || {
        let figure = |producers| {
            let (timing, _) = Many { producers, items, clock: None }.run::<Q>(SHAPE)?;
            Ok(timing.nanos_per(items))
        };
        Ok(Sample { figures: PRODUCERS.into_iter().map(figure).collect::<Result<_, BoxError>>()?, cpus: None })
    })
}

/// The time in which so many producers push all items into a queue that overwrites, and the percentage that nobody popped.
fn drop_old(producers: usize, items: u64, consumes: bool) -> Result<(Timing, f64), BoxError> {
    let (tx, rx) = overwriting::with_wait::<u64, _>(SHAPE.0, SHAPE.1, Yield)?;
    let share = |producer: usize| items / producers as u64 + u64::from((producer as u64) < items % producers as u64);
    let drain = || -> Result<u64, String> {
        let (mut popped, mut next) = (0, 0);
        loop {
            match rx.try_pop_numbered() {
                Ok((position, _)) if position < next => return Err(format!("position {position} came twice or late")),
                Ok((position, _)) => (popped, next) = (popped + 1, position + 1),
                Err(TryPopError::Closed) => return Ok(popped),
                Err(_) => thread::yield_now(),
            }
        }
    };
    let start = Start::default();
    let (drain, start) = (&drain, &start);
    let (timing, popped) = thread::scope(|scope| {
        let consumer = consumes.then(|| {
            scope.spawn(move || {
                start.wait();
                drain()
            })
        });
        let produce = |producer| {
            let tx = tx.clone();
            scope.spawn(move || {
                let _running = start.running();
                for number in 1..=share(producer) {
                    while tx.try_push(number).is_err() {
                        thread::yield_now();
                    }
                }
            })
        };
        let threads: Vec<_> = (0..producers).map(produce).collect();
        let ((), timing) = start.timed(producers + usize::from(consumes), || {
            threads.into_iter().for_each(|thread| thread.join().expect("producers do not panic"));
        });
        drop(tx);
        // Without a consumer that pops, what is left at the end is popped all the same, to be counted.
        let popped = consumer.map_or_else(drain, |thread| thread.join().expect("the consumer does not panic"));
        (timing, popped)
    });
    let (popped, dropped) = (popped?, rx.dropped());
    if popped + dropped != items {
        return Err(format!("{popped} popped and {dropped} overwritten are not {items}").into());
    }
    Ok((timing, 100.0 * dropped as f64 / items as f64))
}

/// A queue for many producers.
pub(super) trait Queue: 'static {
    /// What it is built by.
    type Shape: Copy;
    /// A writing end.
    type Tx: Clone + Send;
    /// The reading end.
    type Rx: Send;

    /// A queue of that shape.
    fn build(shape: Self::Shape) -> (Self::Tx, Self::Rx);

    /// Pushes, or says that it cannot now.
    fn push(tx: &Self::Tx, value: u64) -> bool;

    /// Pops, if there is something that can be popped now.
    fn pop(rx: &Self::Rx) -> Option<u64>;
}

/// BBQ for many.
pub(super) struct Shared;

impl Queue for Shared {
    type Shape = (usize, usize);
    type Tx = mpmc::Producer<u64, Yield>;
    type Rx = mpmc::Consumer<u64, Yield>;

    fn build((blocks, entries): (usize, usize)) -> (Self::Tx, Self::Rx) {
        mpmc::with_wait(blocks, entries, Yield).expect("the shape is possible")
    }

    fn push(tx: &Self::Tx, value: u64) -> bool {
        tx.try_push(value).is_ok()
    }

    fn pop(rx: &Self::Rx) -> Option<u64> {
        rx.try_pop().ok()
    }
}

/// BBQ as the thesis prints it.
struct Printed;

impl Queue for Printed {
    type Shape = (usize, usize);
    type Tx = Bbq;
    type Rx = Bbq;

    fn build((blocks, entries): (usize, usize)) -> (Self::Tx, Self::Rx) {
        let queue = Bbq::with_blocks(blocks, entries);
        (queue.clone(), queue)
    }

    fn push(tx: &Self::Tx, value: u64) -> bool {
        tx.try_push(value).is_ok()
    }

    fn pop(rx: &Self::Rx) -> Option<u64> {
        rx.try_pop().ok()
    }
}

macro_rules! tubes {
    ($($(#[$doc:meta])* $Name:ident: $Tube:ident;)+) => {
        $(
            $(#[$doc])*
            struct $Name;

            impl Queue for $Name {
                type Shape = (usize, usize);
                type Tx = tube::Producer<faaq::$Tube<u64>, Yield>;
                type Rx = tube::Consumer<faaq::$Tube<u64>, Yield>;

                fn build((blocks, entries): (usize, usize)) -> (Self::Tx, Self::Rx) {
                    tube::with_wait(faaq::$Tube::new(blocks, entries).expect("the shape is possible"), Yield)
                }

                fn push(tx: &Self::Tx, value: u64) -> bool {
                    tx.try_push(value).is_ok()
                }

                fn pop(rx: &Self::Rx) -> Option<u64> {
                    rx.try_pop().ok()
                }
            }
        )+
    };
}

tubes! {
    /// BBQ as a tube.
    Cas: Bbq;
    /// FAAQ.
    Faa: Faaq;
}

/// BBQ for messages of any size: numbers in messages of `LEAST` to `MOST` words, each size as often as the others. Blocks have as many bytes as
/// those of the others would with entries of eight words.
struct Bytes<const LEAST: u64, const MOST: u64>;

impl<const LEAST: u64, const MOST: u64> Bytes<LEAST, MOST> {
    const WORD: usize = size_of::<u64>();
    const LONGEST: usize = 8 * Self::WORD;

    /// How many bytes the message has that carries `value`.
    fn len(value: u64) -> usize {
        Self::WORD * (LEAST + value % (MOST - LEAST + 1)) as usize
    }
}

impl<const LEAST: u64, const MOST: u64> Queue for Bytes<LEAST, MOST> {
    type Shape = (usize, usize);
    type Tx = bytes::Producer<Yield>;
    type Rx = bytes::Consumer<Yield>;

    fn build((blocks, entries): (usize, usize)) -> (Self::Tx, Self::Rx) {
        bytes::with_wait(blocks, entries * Self::LONGEST, Yield).expect("the shape is possible")
    }

    fn push(tx: &Self::Tx, value: u64) -> bool {
        let mut message = [0; 64];
        message[..Self::WORD].copy_from_slice(&value.to_le_bytes());
        tx.try_push(&message[..Self::len(value)]).is_ok()
    }

    fn pop(rx: &Self::Rx) -> Option<u64> {
        let message = rx.readable().ok()?;
        let value = u64::from_le_bytes(*message.first_chunk()?);
        // A message of another length is another number: the sum will tell.
        Some(if message.len() == Self::len(value) { value } else { 0 })
    }
}

/// So many producers, which yield when the queue is full, and one consumer, which yields when it is empty.
#[derive(Clone, Copy, Debug)]
pub(super) struct Many {
    pub(super) producers: usize,
    /// Of all producers.
    pub(super) items: u64,
    /// Items are the times at which they were pushed, if there is one; else numbers.
    pub(super) clock: Option<Clock>,
}

impl Many {
    /// The time for all items and, with a clock, the mean of the nanoseconds that each was in the queue.
    pub(super) fn run<Q: Queue>(self, shape: Q::Shape) -> Result<(Timing, Option<f64>), BoxError> {
        let Many { producers, items, clock } = self;
        let (tx, rx) = Q::build(shape);
        let share =
            |producer: usize| items / producers as u64 + u64::from((producer as u64) < items % producers as u64);
        let crews = (Crew::of(producers), Crew::of(1));
        let start = Start::default();
        let (start, (pushing, popping)) = (&start, (&crews.0, &crews.1));
        let ((sent, received, delays), timing) = thread::scope(|scope| {
            let produce = |producer| {
                let tx = tx.clone();
                scope.spawn(move || {
                    let _member = pushing.member();
                    let _running = start.running();
                    let mut sum = 0_u64;
                    for number in 1..=share(producer) {
                        let value = clock.map_or(number, |clock| clock.now());
                        sum = sum.wrapping_add(value);
                        if popping.until(|| Q::push(&tx, value).then_some(()), thread::yield_now).is_none() {
                            break;
                        }
                    }
                    sum
                })
            };
            let threads: Vec<_> = (0..producers).map(produce).collect();
            let consumer = scope.spawn(move || {
                let _member = popping.member();
                let _running = start.running();
                let (mut received, mut delays) = (0_u64, 0_u64);
                for _ in 0..items {
                    let Some(value) = pushing.until(|| Q::pop(&rx), thread::yield_now) else { break };
                    received = received.wrapping_add(value);
                    delays += clock.map_or(0, |clock| clock.now().saturating_sub(value));
                }
                (received, delays)
            });
            start.timed(producers + 1, || {
                let (received, delays) = consumer.join().expect("the consumer does not panic");
                let sent = threads.into_iter().map(|thread| thread.join().expect("producers do not panic"));
                (sent.fold(0, u64::wrapping_add), received, delays)
            })
        });
        if sent != received {
            return Err(format!("the sum is {received}, not {sent}").into());
        }
        Ok((timing, clock.map(|clock| clock.nanos(delays) as f64 / items as f64)))
    }
}

#[cfg(test)]
mod tests {
    use crossbeam_channel::{Receiver, Sender, bounded};

    use super::{Many, Queue};
    use crate::harness::{Effort, measure};

    /// Loses each third item.
    struct Loses;

    impl Queue for Loses {
        type Shape = usize;
        type Tx = Sender<u64>;
        type Rx = Receiver<u64>;

        fn build(capacity: usize) -> (Self::Tx, Self::Rx) {
            bounded(capacity)
        }

        fn push(tx: &Self::Tx, value: u64) -> bool {
            value.is_multiple_of(3) || tx.try_send(value).is_ok()
        }

        fn pop(rx: &Self::Rx) -> Option<u64> {
            rx.try_recv().ok()
        }
    }

    #[test]
    fn a_lost_item_is_an_error() {
        let error = Many { producers: 2, items: 10, clock: None }.run::<Loses>(2).unwrap_err();
        assert_eq!(error.to_string(), "the sum is 24, not 30");
    }

    #[test]
    fn every_shape_delivers_every_item() {
        for experiment in [super::EXPERIMENT, super::super::shape::EXPERIMENT] {
            let outcome = measure(&experiment, &Effort::TINY, &mut Vec::new()).unwrap();
            assert_eq!(outcome.failures, [""; 0]);
            assert!(!outcome.records.is_empty() && outcome.records.iter().all(|record| record.at.is_some()));
        }
    }
}
