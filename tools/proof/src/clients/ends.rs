//! Clients for any two ends, with items of two words.

use super::{Pair, pop, push};
use crate::Setup;
use thalweg_check::history::{Log, Queue, Specification};
use thalweg_check::{Explored, Kept, Violation, equal};
use thalweg_queue::{TryPopError, TryPushError};
use thalweg_sync::atomic::{AtomicU64, Ordering::Relaxed};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

/// A writing end.
pub(super) trait Tx: Send + Sized + 'static {
    fn try_push(&mut self, item: Pair) -> Result<(), TryPushError<Pair>>;

    /// Pushes up to `count` items, numbered on from `first`: one that is refused comes again. Returns how many went in.
    fn push_some(&mut self, log: &mut Log<Queue<u64>>, first: u64, count: u64) -> u64 {
        let mut pushed = 0;
        for _ in 0..count {
            let number = first + pushed;
            pushed += u64::from(push(log, number, || self.try_push(Pair::new(number))));
        }
        pushed
    }
}

/// A reading end.
pub(super) trait Rx: Send + Sized + 'static {
    fn try_pop(&mut self) -> Result<Pair, TryPopError>;

    fn pop_one(&mut self, log: &mut Log<Queue<u64>>) -> Result<u64, TryPopError> {
        pop(log, |item: &Pair| item.number(), || self.try_pop()).map(Pair::number)
    }

    /// Tries to pop so many times. Returns how many came out.
    fn pop_some(&mut self, log: &mut Log<Queue<u64>>, count: u64) -> u64 {
        (0..count).filter(|_| self.pop_one(log).is_ok()).count() as u64
    }

    /// How many items were dropped, as newer ones needed their place.
    fn dropped(&self) -> u64 {
        0
    }

    /// Pops what is left. Returns how many came out, those that never will included.
    fn drain(&mut self, log: &mut Log<Queue<u64>>) -> u64 {
        let mut popped = 0;
        while self.pop_one(log).is_ok() {
            popped += 1;
        }
        popped + self.dropped()
    }
}

// Handles that may wait when they are dropped, or wake others, are `Kept`: an execution that is given up drops them when all of
// its threads are gone, so that nothing of it is left.

impl<H: Tx> Tx for Kept<H> {
    fn try_push(&mut self, item: Pair) -> Result<(), TryPushError<Pair>> {
        (**self).try_push(item)
    }
}

impl<H: Rx> Rx for Kept<H> {
    fn try_pop(&mut self) -> Result<Pair, TryPopError> {
        (**self).try_pop()
    }
}

/// An item that counts that it was dropped.
pub(super) struct Counted(Arc<AtomicU64>);

impl Drop for Counted {
    fn drop(&mut self) {
        // Relaxed: who looks has joined all others.
        self.0.fetch_add(1, Relaxed);
    }
}

/// An answer to a client.
pub(super) type Outcome = Result<Explored, Box<Violation>>;

/// What a queue is to do.
pub(super) trait Object: Specification<Operation = Queue<u64>> + Send + Sync + 'static {}
impl<S: Specification<Operation = Queue<u64>> + Send + Sync + 'static> Object for S {}

/// A queue in which so many items have come and gone.
pub(super) fn used<P: Tx, C: Rx>(build: impl Fn() -> (P, C), items: u64) -> impl Fn() -> (P, C) {
    move || {
        let (mut tx, mut rx) = build();
        for number in 0..items {
            assert!(tx.try_push(Pair::new(number)).is_ok() && rx.try_pop().is_ok(), "one item always fits");
        }
        (tx, rx)
    }
}

/// One producer, one consumer.
pub(super) fn between<P: Tx, C: Rx>(
    setup: &Setup,
    specification: impl Object,
    build: impl Fn() -> (P, C) + Send + Sync + 'static,
    [pushes, pops]: [u64; 2],
) -> Outcome {
    setup.linearizable(specification, move |recorder| {
        let (mut tx, mut rx) = build();
        let mut log = recorder.log(1);
        // The handle comes back, so that nothing closes.
        let producer = thread::spawn(move || (tx.push_some(&mut log, 0, pushes), tx));
        let mut log = recorder.log(0);
        let popped = rx.pop_some(&mut log, pops);
        let (pushed, _tx) = producer.join().unwrap();
        assert_eq!(popped + rx.drain(&mut log), pushed);
    })
}

/// A thread pushes, and then pops what this one pushes; and the other way round.
pub(super) fn swap<P: Tx, C: Rx>(
    setup: &Setup,
    specification: impl Object,
    build: impl Fn() -> (P, C) + Send + Sync + 'static,
    attempts: u64,
) -> Outcome {
    setup.linearizable(specification, move |recorder| {
        let (mut tx, mut rx) = build();
        let mut log = recorder.log(1);
        let other = thread::spawn(move || (tx.push_some(&mut log, 0, attempts), tx, log));
        let mut log = recorder.log(0);
        let mut popped = rx.pop_some(&mut log, attempts);
        let (mut pushed, mut tx, mut other_log) = other.join().unwrap();
        let other = thread::spawn(move || (rx.pop_some(&mut other_log, attempts), rx));
        pushed += tx.push_some(&mut log, 10, attempts);
        let (others, mut rx) = other.join().unwrap();
        popped += others;
        assert_eq!(popped + rx.drain(&mut log), pushed);
    })
}

/// Each end goes on from one thread to a second: four threads besides this one, of which two at a time meet.
pub(super) fn relay<P: Tx, C: Rx>(
    setup: &Setup,
    specification: impl Object,
    build: impl Fn() -> (P, C) + Send + Sync + 'static,
    attempts: u64,
) -> Outcome {
    setup.linearizable(specification, move |recorder| {
        let (mut tx, mut rx) = build();
        let (mut first, mut second) = (recorder.log(1), recorder.log(2));
        let producers = thread::spawn(move || {
            let pushed = tx.push_some(&mut first, 0, attempts);
            let next = thread::spawn(move || (tx.push_some(&mut second, 10, attempts), tx));
            let (others, tx) = next.join().unwrap();
            (pushed + others, tx)
        });
        let (mut first, mut second) = (recorder.log(3), recorder.log(4));
        let consumers = thread::spawn(move || {
            let popped = rx.pop_some(&mut first, attempts);
            let next = thread::spawn(move || (rx.pop_some(&mut second, attempts), rx));
            let (others, rx) = next.join().unwrap();
            (popped + others, rx)
        });
        let (pushed, _tx) = producers.join().unwrap();
        let (popped, mut rx) = consumers.join().unwrap();
        assert_eq!(popped + rx.drain(&mut recorder.log(0)), pushed);
    })
}

/// The producer leaves two items behind; the end comes after them.
pub(super) fn end<P: Tx, C: Rx>(
    setup: &Setup,
    specification: impl Object,
    build: impl Fn() -> (P, C) + Send + Sync + 'static,
) -> Outcome {
    setup.linearizable(specification, move |recorder| {
        let (mut tx, mut rx) = build();
        let mut log = recorder.log(1);
        let producer = thread::spawn(move || {
            let pushed = tx.push_some(&mut log, 0, 2);
            log.call(|| drop(tx), |()| Queue::Left);
            pushed
        });
        let mut log = recorder.log(0);
        let (mut popped, mut closed) = (0, false);
        for _ in 0..3 {
            match rx.pop_one(&mut log) {
                Ok(_) => {
                    assert!(!closed, "an item after the end");
                    popped += 1;
                }
                Err(refused) => closed |= refused == TryPopError::Closed,
            }
        }
        let pushed = producer.join().unwrap();
        assert!(!closed || popped == pushed, "the end before an item");
        assert_eq!(popped + rx.drain(&mut log), pushed);
        assert_eq!(rx.pop_one(&mut log), Err(TryPopError::Closed));
    })
}

/// The producer pushes two items, and closes the queue; the end comes after them, though the producer stays.
pub(super) fn close<P: Tx, C: Rx>(
    setup: &Setup,
    specification: impl Object,
    build: impl Fn() -> (P, C) + Send + Sync + 'static,
    close: fn(&P),
) -> Outcome {
    setup.linearizable(specification, move |recorder| {
        let (mut tx, mut rx) = build();
        let mut log = recorder.log(1);
        let producer = thread::spawn(move || {
            let pushed = tx.push_some(&mut log, 0, 2);
            log.call(|| close(&tx), |()| Queue::Left);
            (pushed, tx)
        });
        let mut log = recorder.log(0);
        let (mut popped, mut closed) = (0, false);
        for _ in 0..3 {
            match rx.pop_one(&mut log) {
                Ok(_) => {
                    assert!(!closed, "an item after the end");
                    popped += 1;
                }
                Err(refused) => closed |= refused == TryPopError::Closed,
            }
        }
        let (pushed, _tx) = producer.join().unwrap();
        assert!(!closed || popped == pushed, "the end before an item");
        assert_eq!(popped + rx.drain(&mut log), pushed);
        assert_eq!(rx.pop_one(&mut log), Err(TryPopError::Closed));
    })
}

/// A thread pushes; a second one pushes as well, and closes the queue. Who sees the end has what the second one pushed, also if the first
/// one is half-way in front of that.
pub(super) fn behind<P: Tx + Clone, C: Rx>(
    setup: &Setup,
    build: impl Fn() -> (P, C) + Send + Sync + 'static,
    close: fn(&P),
) -> Outcome {
    setup.asserting(move || {
        let (mut tx, mut rx) = build();
        let mut other = tx.clone();
        let first = thread::spawn(move || (other.try_push(Pair::new(0)).is_ok(), other));
        let second = thread::spawn(move || {
            let pushed = tx.try_push(Pair::new(1)).is_ok();
            close(&tx);
            (pushed, tx)
        });
        let (mut popped, mut closed) = ([false; 2], false);
        for _ in 0..3 {
            match rx.try_pop() {
                Ok(item) => popped[item.number() as usize] = true,
                Err(refused) => closed |= refused == TryPopError::Closed,
            }
        }
        let (_, _other) = first.join().unwrap();
        let (pushed, _tx) = second.join().unwrap();
        assert!(!closed || popped[1] || !pushed, "the end before an item");
    })
}

/// `before` items are in the queue; producers and consumers have these numbers of attempts, each in its own thread.
pub(super) fn shared<P: Tx + Clone, C: Rx + Clone, const PRODUCERS: usize, const CONSUMERS: usize>(
    setup: &Setup,
    specification: impl Object,
    build: impl Fn() -> (P, C) + Send + Sync + 'static,
    before: u64,
    pushes: [u64; PRODUCERS],
    pops: [u64; CONSUMERS],
) -> Outcome {
    setup.linearizable(specification, move |recorder| {
        let (mut tx, mut rx) = build();
        let mut log = recorder.log(0);
        let before = tx.push_some(&mut log, 0, before);
        // All handles are there before any thread is: their numbers are nobody's choice.
        let writers: [_; PRODUCERS] = std::array::from_fn(|me| (tx.clone(), 1 + me, pushes[me]));
        let readers: [_; CONSUMERS] = std::array::from_fn(|me| (rx.clone(), 1 + PRODUCERS + me, pops[me]));
        let producers = writers.map(|(mut tx, me, attempts)| {
            let mut log = recorder.log(me);
            thread::spawn(move || tx.push_some(&mut log, 10 * me as u64, attempts))
        });
        let consumers = readers.map(|(mut rx, me, attempts)| {
            let mut log = recorder.log(me);
            thread::spawn(move || rx.pop_some(&mut log, attempts))
        });
        let pushed: u64 = producers.into_iter().map(|thread| thread.join().unwrap()).sum();
        let popped: u64 = consumers.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(popped + rx.drain(&mut log), before + pushed);
    })
}

/// Equal producers with one attempt each, and this thread with so many to pop.
pub(super) fn equals<P: Tx + Clone, C: Rx, const PRODUCERS: usize>(
    setup: &Setup,
    specification: impl Object,
    build: impl Fn() -> (P, C) + Send + Sync + 'static,
    pops: u64,
) -> Outcome {
    setup.linearizable(specification, move |recorder| {
        let (tx, mut rx) = build();
        // Nothing else stands between their starts.
        let writers: [_; PRODUCERS] = std::array::from_fn(|me| (tx.clone(), recorder.log(1 + me), 10 * me as u64));
        let starts = || writers.map(|(mut tx, mut log, first)| thread::spawn(move || tx.push_some(&mut log, first, 1)));
        let producers = equal(starts);
        let mut log = recorder.log(0);
        let popped = rx.pop_some(&mut log, pops);
        let pushed: u64 = producers.map(|thread| thread.join().unwrap()).iter().sum();
        assert_eq!(popped + rx.drain(&mut log), pushed);
    })
}

/// As [`shared`], with one consumer, which is this thread.
pub(super) fn to_one<P: Tx + Clone, C: Rx, const PRODUCERS: usize>(
    setup: &Setup,
    specification: impl Object,
    build: impl Fn() -> (P, C) + Send + Sync + 'static,
    pushes: [u64; PRODUCERS],
    pops: u64,
) -> Outcome {
    setup.linearizable(specification, move |recorder| {
        let (tx, mut rx) = build();
        let writers: [_; PRODUCERS] = std::array::from_fn(|me| (tx.clone(), 1 + me, pushes[me]));
        let producers = writers.map(|(mut tx, me, attempts)| {
            let mut log = recorder.log(me);
            thread::spawn(move || tx.push_some(&mut log, 10 * me as u64, attempts))
        });
        let mut log = recorder.log(0);
        let popped = rx.pop_some(&mut log, pops);
        let pushed: u64 = producers.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(popped + rx.drain(&mut log), pushed);
    })
}

/// As [`shared`], with one producer, which is this thread.
pub(super) fn from_one<P: Tx, C: Rx + Clone, const CONSUMERS: usize>(
    setup: &Setup,
    specification: impl Object,
    build: impl Fn() -> (P, C) + Send + Sync + 'static,
    before: u64,
    pushes: u64,
    pops: [u64; CONSUMERS],
) -> Outcome {
    setup.linearizable(specification, move |recorder| {
        let (mut tx, mut rx) = build();
        let mut log = recorder.log(0);
        let before = tx.push_some(&mut log, 0, before);
        let readers: [_; CONSUMERS] = std::array::from_fn(|me| (rx.clone(), 1 + me, pops[me]));
        let consumers = readers.map(|(mut rx, me, attempts)| {
            let mut log = recorder.log(me);
            thread::spawn(move || rx.pop_some(&mut log, attempts))
        });
        let pushed = tx.push_some(&mut log, 10, pushes);
        let popped: u64 = consumers.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(popped + rx.drain(&mut log), before + pushed);
    })
}

/// Two threads that push one and pop one each.
pub(super) fn roles<P: Tx + Clone, C: Rx + Clone>(
    setup: &Setup,
    specification: impl Object,
    build: impl Fn() -> (P, C) + Send + Sync + 'static,
) -> Outcome {
    setup.linearizable(specification, move |recorder| {
        let (mut tx, mut rx) = build();
        let other = thread::spawn({
            let (mut tx, mut rx, mut log) = (tx.clone(), rx.clone(), recorder.log(1));
            move || [tx.push_some(&mut log, 10, 1), rx.pop_some(&mut log, 1)]
        });
        let mut log = recorder.log(0);
        let popped = rx.pop_some(&mut log, 1);
        let pushed = tx.push_some(&mut log, 20, 1);
        let [others_pushed, others_popped] = other.join().unwrap();
        assert_eq!(popped + others_popped + rx.drain(&mut log), pushed + others_pushed);
    })
}

/// A thread pushes, pops and pushes; another one pushes. In a queue for two, nobody may find it full.
pub(super) fn room<P: Tx + Clone, C: Rx>(
    setup: &Setup,
    specification: impl Object,
    build: impl Fn() -> (P, C) + Send + Sync + 'static,
) -> Outcome {
    setup.linearizable(specification, move |recorder| {
        let (mut tx, mut rx) = build();
        let (mut other, mut log) = (tx.clone(), recorder.log(1));
        let other = thread::spawn(move || other.push_some(&mut log, 10, 1));
        let mut log = recorder.log(0);
        let mut pushed = tx.push_some(&mut log, 0, 1);
        let popped = rx.pop_some(&mut log, 1);
        pushed += tx.push_some(&mut log, 1, 1) + other.join().unwrap();
        assert_eq!(popped + rx.drain(&mut log), pushed);
    })
}

/// With an item in the queue, a thread pushes and pops; another one pops. Nobody may find it empty.
pub(super) fn item<P: Tx, C: Rx + Clone>(
    setup: &Setup,
    specification: impl Object,
    build: impl Fn() -> (P, C) + Send + Sync + 'static,
) -> Outcome {
    setup.linearizable(specification, move |recorder| {
        let (mut tx, mut rx) = build();
        let mut log = recorder.log(0);
        let mut pushed = tx.push_some(&mut log, 0, 1);
        let (mut other, mut other_log) = (rx.clone(), recorder.log(1));
        let other = thread::spawn(move || other.pop_some(&mut other_log, 1));
        pushed += tx.push_some(&mut log, 1, 1);
        let popped = rx.pop_some(&mut log, 1) + other.join().unwrap();
        assert_eq!(popped + rx.drain(&mut log), pushed);
    })
}

/// A consumer with one attempt while a thread pushes and pops the ring round.
pub(super) fn laps<P: Tx + Clone, C: Rx + Clone>(
    setup: &Setup,
    specification: impl Object,
    build: impl Fn() -> (P, C) + Send + Sync + 'static,
) -> Outcome {
    setup.linearizable(specification, move |recorder| {
        let (mut tx, mut rx) = build();
        let mut log = recorder.log(0);
        let mut pushed = tx.push_some(&mut log, 0, 1);
        let (mut other, mut other_log) = (rx.clone(), recorder.log(1));
        let other = thread::spawn(move || other.pop_some(&mut other_log, 1));
        let mut popped = 0;
        for number in 1..4 {
            pushed += tx.push_some(&mut log, number, 1);
            popped += rx.pop_some(&mut log, 1);
        }
        popped += other.join().unwrap();
        assert_eq!(popped + rx.drain(&mut log), pushed);
        for number in 4..6 {
            let both = tx.push_some(&mut log, number, 1) + rx.pop_some(&mut log, 1);
            assert_eq!(both, 2, "the queue is empty, and goes on");
        }
    })
}

/// A consumer with one attempt while the producer's thread pops and pushes the ring round, whose two blocks of one are full before.
pub(super) fn round<P: Tx, C: Rx + Clone>(
    setup: &Setup,
    specification: impl Object,
    build: impl Fn() -> (P, C) + Send + Sync + 'static,
) -> Outcome {
    setup.linearizable(specification, move |recorder| {
        let (mut tx, mut rx) = build();
        let mut log = recorder.log(0);
        let mut pushed = tx.push_some(&mut log, 0, 2);
        let (mut other, mut other_log) = (rx.clone(), recorder.log(1));
        let other = thread::spawn(move || other.pop_some(&mut other_log, 1));
        let mut popped = 0;
        for number in 2..4 {
            popped += rx.pop_some(&mut log, 1);
            pushed += tx.push_some(&mut log, number, 1);
        }
        popped += other.join().unwrap();
        assert_eq!(popped + rx.drain(&mut log), pushed);
    })
}

/// Two items in a queue for two. Two threads pop one each; a third one pops and then pushes. If the last item is out, nobody may find
/// the queue full, whoever is half-way with the first.
pub(super) fn emptied<P: Tx, C: Rx + Clone>(
    setup: &Setup,
    specification: impl Object,
    build: impl Fn() -> (P, C) + Send + Sync + 'static,
) -> Outcome {
    setup.linearizable(specification, move |recorder| {
        let (mut tx, mut rx) = build();
        let mut log = recorder.log(0);
        let mut pushed = tx.push_some(&mut log, 0, 2);
        let others = [1, 2].map(|me| {
            let (mut rx, mut log) = (rx.clone(), recorder.log(me));
            thread::spawn(move || rx.pop_some(&mut log, 1))
        });
        let mut popped = rx.pop_some(&mut log, 1);
        pushed += tx.push_some(&mut log, 10, 1);
        popped += others.map(|other| other.join().unwrap()).iter().sum::<u64>();
        assert_eq!(popped + rx.drain(&mut log), pushed);
    })
}

/// A thread pushes and lets its consumer go, this one lets the other consumer go. Whoever is last drops the item: there still is a
/// producer, with which the queue would stay.
pub(super) fn gone<P: Send + 'static, C: Clone + Send + 'static>(
    setup: &Setup,
    build: impl Fn() -> (P, C) + Send + Sync + 'static,
    push: fn(&mut P, Counted) -> bool,
) -> Outcome {
    setup.asserting(move || {
        let (mut tx, rx) = build();
        let dropped = Arc::new(AtomicU64::new(0));
        let other = thread::spawn({
            let (item, rx) = (Counted(dropped.clone()), rx.clone());
            move || {
                assert!(push(&mut tx, item), "there is room");
                drop(rx);
                tx
            }
        });
        drop(rx);
        let tx = other.join().unwrap();
        // Relaxed: everybody else is gone.
        assert_eq!(dropped.load(Relaxed), 1, "an item that nobody will pop is not dropped");
        drop(tx);
    })
}

/// A thread pushes to a queue, a second one moves what it finds to another queue, this one pops there: all of it, in order.
pub(super) fn chain<P: Tx, C: Rx>(
    setup: &Setup,
    build: impl Fn() -> (P, C) + Send + Sync + 'static,
    attempts: u64,
) -> Outcome {
    setup.asserting(move || {
        let ((mut first, mut from), (mut to, mut last)) = (build(), build());
        // The handles come back, so that nothing closes.
        let producer = thread::spawn(move || {
            for number in 0..attempts {
                assert!(first.try_push(Pair::new(number)).is_ok(), "there is room");
            }
            first
        });
        let mover = thread::spawn(move || {
            for _ in 0..attempts {
                if let Ok(item) = from.try_pop() {
                    assert!(to.try_push(item).is_ok(), "there is room");
                }
            }
            (from, to)
        });
        let mut popped = 0;
        let mut expect = |item: Pair| {
            assert_eq!(item.number(), popped);
            popped += 1;
        };
        (0..attempts).filter_map(|_| last.try_pop().ok()).for_each(&mut expect);
        let _first = producer.join().unwrap();
        let (mut from, _to) = mover.join().unwrap();
        std::iter::from_fn(|| last.try_pop().ok()).for_each(&mut expect);
        std::iter::from_fn(|| from.try_pop().ok()).for_each(&mut expect);
        assert_eq!(popped, attempts);
    })
}

/// A consumer with one attempt, which may look in one round and reserve in the next: a round that another thread has entered, while a
/// producer is half-way in it.
pub(super) fn late_pop<P: Tx + Clone, C: Rx + Clone>(
    setup: &Setup,
    specification: impl Object,
    build: impl Fn() -> (P, C) + Send + Sync + 'static,
) -> Outcome {
    setup.linearizable(specification, move |recorder| {
        let (mut tx, mut rx) = build();
        let mut log = recorder.log(0);
        let mut pushed = tx.push_some(&mut log, 0, 1);
        let (mut late, mut late_log) = (rx.clone(), recorder.log(1));
        let late = thread::spawn(move || late.pop_some(&mut late_log, 1));
        let mut popped = rx.pop_some(&mut log, 1);
        pushed += tx.push_some(&mut log, 1, 1);
        popped += rx.pop_some(&mut log, 1);
        let (mut other, mut other_log) = (tx.clone(), recorder.log(2));
        let other = thread::spawn(move || other.push_some(&mut other_log, 20, 1));
        popped += rx.pop_some(&mut log, 2);
        pushed += other.join().unwrap();
        popped += late.join().unwrap();
        assert_eq!(popped + rx.drain(&mut log), pushed);
    })
}

/// A producer with one attempt, which may look in one round and allocate in the next, while a thread fills and empties the
/// ring.
pub(super) fn late<P: Tx + Clone, C: Rx>(
    setup: &Setup,
    specification: impl Object,
    build: impl Fn() -> (P, C) + Send + Sync + 'static,
) -> Outcome {
    setup.linearizable(specification, move |recorder| {
        let (mut tx, mut rx) = build();
        let (mut other, mut log) = (tx.clone(), recorder.log(1));
        let other = thread::spawn(move || other.push_some(&mut log, 10, 1));
        let mut log = recorder.log(0);
        let (mut pushed, mut popped) = (0, 0);
        for number in 0..2 {
            pushed += tx.push_some(&mut log, number, 1);
            popped += rx.pop_some(&mut log, 1);
        }
        pushed += tx.push_some(&mut log, 2, 1) + other.join().unwrap();
        assert_eq!(popped + rx.drain(&mut log), pushed);
    })
}
