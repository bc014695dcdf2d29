//! `queues/oversubscribed`: queues for many with more threads than CPUs, which give up their time slice or sleep when they cannot get on.

use std::thread;

use serde_json::json;

use super::contenders::*;
#[cfg(thalweg_cpp)]
use super::cpp;
use super::crew::Crew;
#[cfg(thalweg_cpp)]
use super::foreign;
use super::limits::{self, Asleep, Carried, Exchanges, Pairs, Pause, Sleeps, Yields};
#[cfg(thalweg_cpp)]
use super::one_to_one::Received;
use super::one_to_one::{CAPACITY, Ends, pop_or, push_or};
use super::wait::{self, Sleeping};
use crate::catalogue::optional;
use crate::harness::Role::{self, *};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Sample};
use crate::machine::{Placement, Start};
use crate::peers::Checked;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "queues/oversubscribed", plan };

/// Ends that may be many. The system places the threads.
pub(super) trait Many: Ends<Tx: Clone, Rx: Clone> {}
impl<Q: Ends<Tx: Clone, Rx: Clone>> Many for Q {}

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    // A run takes some 60 ms at least, twenty time slices of the system, or its worst one would say nothing.
    let (items, slow) = (effort.messages(20_000_000), effort.messages(4_000_000));
    let shapes = [
        ("1P1C, yielding", "1P1C, sleeping", 1, 1),
        ("2P2C, yielding", "2P2C, sleeping", 2, 2),
        ("4P1C, yielding", "4P1C, sleeping", 4, 1),
        ("1P4C, yielding", "1P4C, sleeping", 1, 4),
        ("4P4C, yielding", "4P4C, sleeping", 4, 4),
    ];
    let mut yielding = shapes.map(|(name, _, producers, consumers)| {
        let shape = Shape { producers, consumers, items, pinned: false };
        let few = Shape { items: slow, ..shape };
        let mut contenders = vec![
            yields::<Bbq>(Ours, "thalweg `mpmc`", shape),
            yields::<Cnq>(Ours, "thalweg `cnq`, capsules of 64", shape),
            yields::<CnqMiddle>(Ours, "thalweg `cnq`, capsules of 128", shape),
            yields::<CnqWide>(Ours, "thalweg `cnq`, capsules of 256", shape),
            yields::<ArrayQueue>(Peer, "crossbeam ArrayQueue", shape),
            yields::<CrossbeamChannel>(Peer, "crossbeam-channel", shape),
            yields::<ConcurrentQueue>(Peer, "concurrent-queue", shape),
            yields::<Crossfire>(Peer, "crossfire", shape),
            yields::<Thingbuf>(Peer, "thingbuf", few),
            yields::<Kanal>(Peer, "kanal", few),
            yields::<Flume>(Peer, "flume", few),
        ];
        if producers > 1 && consumers == 1 {
            contenders.insert(1, yields_to_one::<BbqMpsc>(Ours, "thalweg `mpsc`", shape));
            contenders.push(yields_to_one::<CrossfireMpsc>(Peer, "crossfire, mpsc", shape));
            contenders.push(yields_to_one::<SyncChannel>(Peer, "std `sync_channel`", few));
        }
        if producers == 1 && consumers > 1 {
            contenders.insert(1, yields_from_one::<BbqSpmc>(Ours, "thalweg `spmc`", shape));
        }
        contenders.extend(limits(shape));
        #[cfg(thalweg_cpp)]
        contenders.extend(cpp::SHARED.map(|(name, kind)| yields_in_cpp(name, kind, few)));
        Group::new(name, &["ns per item"], contenders)
    });
    let sleeping = shapes.map(|(_, name, producers, consumers)| {
        let shape = Shape { producers, consumers, items, pinned: false };
        let few = Shape { items: slow, ..shape };
        let mut contenders = vec![
            sleeps::<wait::Bbq>(Ours, "thalweg `mpmc`", shape),
            sleeps::<wait::Cnq>(Ours, "thalweg `cnq`, capsules of 64", few),
            sleeps::<wait::CnqWide>(Ours, "thalweg `cnq`, capsules of 256", few),
            sleeps::<wait::CrossbeamChannel>(Peer, "crossbeam-channel", shape),
            sleeps::<wait::Crossfire>(Peer, "crossfire", shape),
            sleeps::<wait::Kanal>(Peer, "kanal", few),
            sleeps::<wait::Flume>(Peer, "flume", few),
        ];
        if producers > 1 && consumers == 1 {
            contenders.insert(1, sleeps_for_one::<wait::BbqMpsc>(Ours, "thalweg `mpsc`", shape));
            contenders.push(sleeps_for_one::<wait::CrossfireMpsc>(Peer, "crossfire, mpsc", shape));
            contenders.push(sleeps_for_one::<wait::SyncChannel>(Peer, "std `sync_channel`", few));
            contenders.push(sleeps_for_one::<wait::Thingbuf>(Peer, "thingbuf", few));
        }
        if producers == 1 && consumers > 1 {
            contenders.insert(1, sleeps_from_one::<wait::BbqSpmc>(Ours, "thalweg `spmc`", shape));
        }
        contenders.push(asleep("limit: an exchange each, with a value", shape));
        contenders.push(pairs::<Sleeps>(shape));
        Group::new(name, &["ns per item"], contenders)
    });
    yielding[0].absent.extend(optional::CPP.absent());
    Ok(yielding.into_iter().chain([pinned(items)]).chain(sleeping).chain([limits::group(effort)]).collect())
}

/// The state in which prototypes of strict block queues were slow: each CPU has a producer, and a consumer that takes turns with it.
fn pinned(items: u64) -> Group {
    let shape = Shape { producers: 2, consumers: 2, items, pinned: true };
    let mut contenders = vec![
        yields::<Bbq>(Ours, "thalweg `mpmc`", shape),
        yields::<ArrayQueue>(Peer, "crossbeam ArrayQueue", shape),
        yields::<Crossfire>(Peer, "crossfire", shape),
    ];
    contenders.extend(limits(shape));
    Group::new("2P2C, yielding, a producer and a consumer pinned to each CPU", &["ns per item"], contenders)
}

/// What an exchange for each push and each pop takes by itself, and what threads take that share nothing but rings for two, in the same loops.
fn limits(shape: Shape) -> Vec<Contender> {
    vec![
        exchanges::<false>("limit: an exchange each, nothing carried", shape),
        exchanges::<true>("limit: an exchange each, nothing carried, pauses", shape),
        yields::<Carried>(Bound, "limit: an exchange each, with a value", shape),
        pairs::<Yields>(shape),
    ]
}

/// How many threads a run has, and how many items go through.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) producers: u64,
    pub(super) consumers: u64,
    pub(super) items: u64,
    /// Each CPU has half of the producers and half of the consumers; else the system places the threads.
    pub(super) pinned: bool,
}

impl Shape {
    /// How many items a thread has of all, which is number `me` of `of`.
    fn share(self, of: u64, me: u64) -> u64 {
        self.items / of + u64::from(me < self.items % of)
    }

    /// Of number `me` of a side.
    fn pin(self, me: u64) {
        if self.pinned {
            Placement::TwoCpus.pin(me as usize % 2, 2);
        }
    }

    /// The sum of all numbers, where each producer pushes those from 1 on.
    fn sum(self) -> u64 {
        (0..self.producers).map(|me| self.share(self.producers, me)).map(|each| each * (each + 1) / 2).sum()
    }

    /// An end for each producer.
    fn producers<Tx: Clone>(self, tx: Tx) -> Vec<Tx> {
        vec![tx; self.producers as usize]
    }

    /// An end for each consumer.
    fn consumers<Rx: Clone>(self, rx: Rx) -> Vec<Rx> {
        vec![rx; self.consumers as usize]
    }
}

// Always inlined, as in a user's loop. With many contenders the compiler calls it instead, which made BBQ take nearly twice as long.
#[inline(always)]
fn push_or_yield<Q: Ends>(tx: &mut Q::Tx, value: u64, consumers: &Crew) -> bool {
    push_or::<Q>(tx, value, thread::yield_now, consumers)
}

#[inline(always)]
fn pop_or_yield<Q: Ends>(rx: &mut Q::Rx, producers: &Crew) -> Option<u64> {
    pop_or::<Q>(rx, thread::yield_now, || producers.gone())
}

pub(super) fn yields<Q: Many>(role: Role, name: &str, shape: Shape) -> Contender {
    contender(role, name, shape, "yields", move || {
        let (tx, rx) = Q::build(CAPACITY);
        yield_for::<Q>(shape, shape.producers(tx), rx)
    })
}

fn exchanges<const PAUSES: bool>(name: &str, shape: Shape) -> Contender {
    contender(Bound, name, shape, "yields", move || {
        let (tx, rx) = Exchanges::<PAUSES>::build(CAPACITY);
        let ends = (shape.producers(tx), shape.consumers(rx));
        // Ones are popped: together with what the numbers are more than that, their sum is right if there are as many.
        let rest = shape.sum() - shape.items;
        let (push, pop) = (push_or_yield::<Exchanges<PAUSES>>, pop_or_yield::<Exchanges<PAUSES>>);
        run(shape, ends, pushes(push), pops(pop), move || rest)
    })
}

fn asleep(name: &str, shape: Shape) -> Contender {
    contender(Bound, name, shape, "sleeps", move || {
        run(shape, Asleep::ends(shape.producers, shape.consumers), pushes(Asleep::push), pops(Asleep::pop), || 0)
    })
}

fn pairs<P: Pause>(shape: Shape) -> Contender {
    match shape.producers * shape.consumers {
        1 => pairs_of::<P, CAPACITY>(shape),
        4 => pairs_of::<P, { CAPACITY / 4 }>(shape),
        _ => pairs_of::<P, { CAPACITY / 16 }>(shape),
    }
}

fn pairs_of<P: Pause, const ENTRIES: usize>(shape: Shape) -> Contender {
    contender(Bound, "limit: a ring for each pair, no order", shape, P::WORD, move || {
        let Shape { producers, consumers, .. } = shape;
        let rings = Pairs::<ENTRIES>::build(producers, consumers, |producer| shape.share(producers, producer));
        let pauses = P::between(producers, consumers);
        let ends = (rings.0.into_iter().zip(pauses.0).collect(), rings.1.into_iter().zip(pauses.1).collect());
        let produce = |(tx, pauses): (_, P), _, consumers: &Crew| Pairs::push_all(tx, &pauses, consumers);
        let consume = |(rx, pauses): (_, P), _, producers: &Crew| Pairs::pop_all(rx, &pauses, producers);
        run(shape, ends, produce, consume, || 0)
    })
}

/// As [`yields`], where the producer's end cannot be two.
fn yields_from_one<Q: Ends<Rx: Clone>>(role: Role, name: &str, shape: Shape) -> Contender {
    contender(role, name, shape, "yields", move || {
        let (tx, rx) = Q::build(CAPACITY);
        yield_for::<Q>(shape, vec![tx], rx)
    })
}

fn yield_for<Q: Ends<Rx: Clone>>(shape: Shape, txs: Vec<Q::Tx>, rx: Q::Rx) -> Checked {
    let mut left = rx.clone();
    let left = || std::iter::from_fn(|| Q::pop(&mut left)).sum::<u64>();
    run(shape, (txs, shape.consumers(rx)), pushes(push_or_yield::<Q>), pops(pop_or_yield::<Q>), left)
}

/// As [`yields`], where the consumer's end cannot be two: it leaves nothing that another one would find.
fn yields_to_one<Q: Ends<Tx: Clone>>(role: Role, name: &str, shape: Shape) -> Contender {
    contender(role, name, shape, "yields", move || {
        let (tx, rx) = Q::build(CAPACITY);
        run(shape, (shape.producers(tx), vec![rx]), pushes(push_or_yield::<Q>), pops(pop_or_yield::<Q>), || 0)
    })
}

/// As [`yields`], with the loops in C++: a call returns when the queue refuses once.
#[cfg(thalweg_cpp)]
fn yields_in_cpp(name: &str, kind: crate::peers::cpp::Kind, shape: Shape) -> Contender {
    contender(Peer, name, shape, "yields", move || {
        // One more to look for what is left.
        let (txs, mut rxs) =
            crate::peers::cpp::ends(kind, CAPACITY, shape.producers as usize, shape.consumers as usize + 1);
        let mut left = rxs.pop().expect("one for each consumer, and one");
        let left = || {
            let mut received = Received::default();
            left.pop(&mut received, u64::MAX, 1);
            received.sum()
        };
        let produce = |mut tx: crate::peers::cpp::Producer, share, consumers: &Crew| {
            foreign::push_all(share, consumers, |next| tx.push(next, share, 1), thread::yield_now);
        };
        let consume = |mut rx: crate::peers::cpp::Consumer, share, producers: &Crew| {
            let mut received = Received::default();
            let pop = |received: &mut Received, most| rx.pop(received, most, 1);
            foreign::pop_all(&mut received, share, producers, pop, thread::yield_now);
            received.sum()
        };
        run(shape, (txs, rxs), produce, consume, left)
    })
}

#[inline(always)]
fn send<Q: Sleeping>(tx: &mut Q::Tx, value: u64, _: &Crew) -> bool {
    Q::send(tx, value);
    true
}

#[inline(always)]
fn receive<Q: Sleeping>(rx: &mut Q::Rx, _: &Crew) -> Option<u64> {
    Q::receive(rx)
}

fn sleeps<Q: Sleeping<Tx: Clone, Rx: Clone>>(role: Role, name: &str, shape: Shape) -> Contender {
    contender(role, name, shape, "sleeps", move || {
        let (tx, rx) = Q::build();
        run(shape, (shape.producers(tx), shape.consumers(rx)), pushes(send::<Q>), pops(receive::<Q>), || 0)
    })
}

/// As [`sleeps`], where the producer's end cannot be two.
fn sleeps_from_one<Q: Sleeping<Rx: Clone>>(role: Role, name: &str, shape: Shape) -> Contender {
    contender(role, name, shape, "sleeps", move || {
        let (tx, rx) = Q::build();
        run(shape, (vec![tx], shape.consumers(rx)), pushes(send::<Q>), pops(receive::<Q>), || 0)
    })
}

/// As [`sleeps`], where the consumer's end cannot be two.
fn sleeps_for_one<Q: Sleeping<Tx: Clone>>(role: Role, name: &str, shape: Shape) -> Contender {
    contender(role, name, shape, "sleeps", move || {
        let (tx, rx) = Q::build();
        run(shape, (shape.producers(tx), vec![rx]), pushes(send::<Q>), pops(receive::<Q>), || 0)
    })
}

fn contender(
    role: Role,
    name: &str,
    shape: Shape,
    waits: &str,
    run: impl Fn() -> Checked + Send + 'static,
) -> Contender {
    let Shape { producers, consumers, items, pinned } = shape;
    let params = json!({
        "items": items, "capacity": CAPACITY, "producers": producers, "consumers": consumers, "waits": waits,
        "threads": if pinned { "a producer and a consumer pinned to each CPU" } else { "placed by the system" },
    });
    Contender::new(role, name, params, move || Ok(Sample::nanos_per(run()?, items)))
}

/// A producer's loop over its share, one by one.
fn pushes<Tx>(push: impl Fn(&mut Tx, u64, &Crew) -> bool) -> impl Fn(Tx, u64, &Crew) {
    move |mut tx, share, consumers| {
        for value in 1..=share {
            if !push(&mut tx, value, consumers) {
                break;
            }
        }
    }
}

/// A consumer's loop over its share, one by one, and the sum of what it popped.
fn pops<Rx>(pop: impl Fn(&mut Rx, &Crew) -> Option<u64>) -> impl Fn(Rx, u64, &Crew) -> u64 {
    move |mut rx, share, producers| (0..share).map_while(|_| pop(&mut rx, producers)).sum()
}

/// Each producer pushes the numbers from 1 on, and every thread has an end of its own. That each number came once is checked by their sum. A
/// consumer that finds nothing when no producer is left may find nothing because another one holds what is there: so `left` pops that
/// when all are done.
fn run<Tx: Send, Rx: Send>(
    shape: Shape,
    (txs, rxs): (Vec<Tx>, Vec<Rx>),
    produce: impl Fn(Tx, u64, &Crew) + Sync,
    consume: impl Fn(Rx, u64, &Crew) -> u64 + Sync,
    left: impl FnOnce() -> u64,
) -> Checked {
    let Shape { producers, consumers, .. } = shape;
    let crews = (Crew::of(producers as usize), Crew::of(consumers as usize));
    let start = Start::default();
    let (produce, consume, start, (pushing, popping)) = (&produce, &consume, &start, (&crews.0, &crews.1));
    let (popped, timing) = thread::scope(|scope| {
        let producer = |(me, tx): (u64, Tx)| {
            scope.spawn(move || {
                let _member = pushing.member();
                shape.pin(me);
                let _running = start.running();
                produce(tx, shape.share(producers, me), popping);
            })
        };
        let consumer = |(me, rx): (u64, Rx)| {
            scope.spawn(move || {
                let _member = popping.member();
                shape.pin(me);
                let _running = start.running();
                consume(rx, shape.share(consumers, me), pushing)
            })
        };
        let pushes: Vec<_> = (0..producers).zip(txs).map(producer).collect();
        let pops: Vec<_> = (0..consumers).zip(rxs).map(consumer).collect();
        start.timed(pushes.len() + pops.len(), || {
            let popped = pops.into_iter().map(|thread| thread.join().expect("no consumer panics")).sum::<u64>();
            pushes.into_iter().for_each(|thread| thread.join().expect("no producer panics"));
            popped + left()
        })
    });
    let pushed = shape.sum();
    match popped == pushed {
        true => Ok(timing),
        false => Err(format!("the sum of what was popped is {popped}, not {pushed}").into()),
    }
}

#[cfg(test)]
mod tests {
    use crossbeam_channel::{Receiver, Sender, bounded};

    use super::*;

    const SHAPE: Shape = Shape { producers: 2, consumers: 2, items: 20, pinned: false };

    #[test]
    fn an_item_lost_between_threads_that_yield_is_an_error() {
        let push = |tx: &mut Sender<u64>, value: u64, consumers: &Crew| {
            value == 3 || consumers.until(|| tx.try_send(value).ok(), thread::yield_now).is_some()
        };
        let pop = |rx: &mut Receiver<u64>, producers: &Crew| producers.until(|| rx.try_recv().ok(), thread::yield_now);
        let (tx, rx) = bounded(4);
        let left = rx.clone();
        let error = run(SHAPE, (vec![tx; 2], vec![rx; 2]), pushes(push), pops(pop), || left.try_iter().sum::<u64>())
            .unwrap_err();
        assert_eq!(error.to_string(), "the sum of what was popped is 104, not 110");
    }

    #[test]
    fn an_item_lost_between_threads_that_sleep_is_an_error() {
        let push = |tx: &mut Sender<u64>, value: u64, _: &Crew| value == 3 || tx.send(value).is_ok();
        let pop = |rx: &mut Receiver<u64>, _: &Crew| rx.recv().ok();
        let (tx, rx) = bounded(4);
        let error = run(SHAPE, (vec![tx; 2], vec![rx; 2]), pushes(push), pops(pop), || 0).unwrap_err();
        assert_eq!(error.to_string(), "the sum of what was popped is 104, not 110");
    }
}
