//! CNQ over the simplest of the tubes, which have clients of their own. Two capsules are the fewest. With one entry each,
//! every push begins a capsule and every pop finishes one; with more, producers and consumers meet in one.
//!
//! `Full` and `Empty` are not linearizable, so they are recorded as `Busy`; that nothing is left behind is asserted. Where items are in
//! the queue that no other consumer can hold, `Empty` is wrong, and asserted not to come.

use super::Pair;
use super::ends::{self, Counted, Outcome, Rx, Tx};
use crate::{Client, Setup};
use thalweg_check::Kept;
use thalweg_check::history::KFifo;
use thalweg_queue::Yield;
use thalweg_queue::research::cnq::{self, Consumer, Producer};
use thalweg_queue::research::tube::Tube;
use thalweg_queue::research::tube::ring::{Hts, Mt};
use thalweg_queue::{TryPopError, TryPushError};
use thalweg_sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Relaxed, Release},
};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

impl<Q: Tube<Item = u32> + 'static> Tx for Producer<Pair, Yield, Q> {
    fn try_push(&mut self, item: Pair) -> Result<(), TryPushError<Pair>> {
        Self::try_push(self, item).map_err(|refused| match refused {
            TryPushError::Full(item) => TryPushError::Busy(item),
            other => other,
        })
    }
}

impl<Q: Tube<Item = u32> + 'static> Rx for Consumer<Pair, Yield, Q> {
    fn try_pop(&mut self) -> Result<Pair, TryPopError> {
        Self::try_pop(self).map_err(|refused| match refused {
            TryPopError::Empty => TryPopError::Busy,
            other => other,
        })
    }
}

/// Which order: that of a window of D capsules is (2 D - 2) * entries + 1, which is at most `k`.
fn order(entries: usize, k: usize) -> KFifo<u64> {
    let window = k.div_ceil(2 * entries);
    KFifo::new((2 * window - 2) * entries + 1, 1, usize::MAX)
}

fn over<Q: Tube<Item = u32>>(tube: Q, capsules: usize, entries: usize, k: usize) -> cnq::Ends<Pair, Yield, Q> {
    cnq::with_wait(tube, capsules, entries, k, Yield).expect("two capsules are a queue")
}

fn queue(capsules: usize, entries: usize, k: usize) -> impl Fn() -> cnq::Ends<Pair, Yield, Hts<u32>> {
    move || over(Hts::new(capsules).expect("a tube for capsules"), capsules, entries, k)
}

pub(super) const ONE_TO_ONE: Client = Client {
    name: "cnq/1p1c",
    what: "one producer with three attempts, one consumer with two, two capsules of 1",
    run: |setup| ends::between(setup, order(1, 2), queue(2, 1, 2), [3, 2]),
};

pub(super) const SHARED: Client = Client {
    name: "cnq/one-capsule",
    what: "three attempts each in capsules of 3: both meet in one",
    run: |setup| ends::between(setup, order(3, 6), queue(2, 3, 6), [3, 3]),
};

pub(super) const TWO_PRODUCERS: Client = Client {
    name: "cnq/2p1c",
    what: "two producers and a consumer, one attempt each; two capsules of 1",
    run: |setup| ends::shared(setup, order(1, 2), queue(2, 1, 2), 0, [1, 1], [1]),
};

pub(super) const TWO_CONSUMERS: Client = Client {
    name: "cnq/2c",
    what: "two items in the queue, two consumers with one attempt each; two capsules of 1",
    run: |setup| ends::shared(setup, order(1, 2), queue(2, 1, 2), 2, [], [1, 1]),
};

pub(super) const END: Client = Client {
    name: "cnq/end",
    what: "the producer leaves two items behind; the end comes after them",
    run: |setup| ends::end(setup, order(2, 2), queue(2, 2, 2)),
};

pub(super) const END_1: Client = Client {
    name: "cnq/end-1",
    what: "the same with capsules of 1, so that no push goes on in one",
    run: |setup| ends::end(setup, order(1, 2), queue(2, 1, 2)),
};

pub(super) const CLOSE: Client = Client {
    name: "cnq/close",
    what: "the producer pushes two items and closes the queue, but stays, with its capsule; the end comes after them",
    run: |setup| ends::close(setup, order(2, 2), queue(2, 2, 2), Producer::close),
};

pub(super) const BEHIND: Client = Client {
    name: "cnq/end-behind",
    what: "two threads push, and the second one closes the queue: the end comes after what it pushed",
    run: |setup| ends::behind(setup, queue(2, 1, 2), Producer::close),
};

pub(super) const GIVEN_UP: Client = Client {
    name: "cnq/given-up",
    what: "a producer gives its capsule up, which others close, empty and begin again meanwhile",
    run: given_up,
};

pub(super) const GONE: Client = Client {
    name: "cnq/gone",
    what: "a thread pushes; it and another one let their consumers go: the last one drops the item",
    run: |setup| {
        let build = || {
            let tube = Hts::new(2).expect("a tube for capsules");
            cnq::with_wait::<Counted, _, _>(tube, 2, 1, 2, Yield).expect("two capsules are a queue")
        };
        ends::gone(setup, build, |tx, item| tx.try_push(item).is_ok())
    },
};

pub(super) const BEGUN: Client = Client {
    name: "cnq/begun",
    what: "two producers begin capsules at once in a window of one: what the first pushes then comes last (errata E9)",
    run: begun,
};

pub(super) const WAITS: Client = Client {
    name: "cnq/waits",
    what: "in a window of one, who pops from a capsule comes after those who popped from the one before",
    run: |setup| setup.asserting(waits),
};

pub(super) const WAITS_BARE: Client = Client {
    name: "cnq/waits-bare",
    what: "the same without the fences, which only a close needs",
    run: |setup| setup.without(FENCES).asserting(waits),
};

pub(super) const PASSED_BARE: Client = Client {
    name: "cnq/passed-bare",
    what: "in a window of two, who pops from a capsule comes after those who popped two before, though a third one was finished first; without the fences",
    run: |setup| setup.without(FENCES).asserting(passed),
};

pub(super) const SHARED_CLOSED: Client = Client {
    name: "cnq/shared-closed",
    what: "a capsule is closed while its producer and its consumer are in it",
    run: shared_closed,
};

pub(super) const SHARED_BARE: Client = Client {
    name: "cnq/shared-bare",
    what: "a producer pushes two items into the capsule that a consumer pops from; without the fences",
    run: |setup| shared_bare(setup, false),
};

pub(super) const ENDED_BARE: Client = Client {
    name: "cnq/ended-bare",
    what: "the same with one item, after which the producer gives the capsule up",
    run: |setup| shared_bare(setup, true),
};

pub(super) const ROLES: Client = Client {
    name: "cnq/roles",
    what: "two threads that push one and pop one each",
    run: |setup| ends::roles(setup, order(1, 2), queue(2, 1, 2)),
};

pub(super) const IDLE: Client = Client {
    name: "cnq/idle",
    what: "a producer stays in its capsule: others push and pop past it (errata E8)",
    run: idle,
};

pub(super) const CLOSED: Client = Client {
    name: "cnq/closed",
    what: "a capsule is closed under its producer; what it pushes then comes once, and later (errata E7, E9)",
    run: closed,
};

pub(super) const WINDOW: Client = Client {
    name: "cnq/k-fifo",
    what: "two items in the queue, two producers in a window of two capsules: the fourth item is not the first to come out",
    run: |setup| ends::shared(setup, order(1, 3), queue(4, 1, 3), 2, [1, 1], []),
};

pub(super) const ITEM: Client = Client {
    name: "cnq/item",
    what: "an item in the queue, a thread pushes and pops while another one pops: nobody may find it empty (errata E17)",
    run: |setup| setup.asserting(item),
};

pub(super) const LEFT: Client = Client {
    name: "cnq/left",
    what: "a consumer leaves items behind while another one comes and goes: a third one, in a newer capsule, finds them (errata E18)",
    run: |setup| setup.asserting(left),
};

pub(super) const LEFT_NEWER: Client = Client {
    name: "cnq/left-newer",
    what: "a consumer leaves an item in a capsule that was begun after another one was refused, which finds it",
    run: |setup| setup.asserting(left_newer),
};

/// The thesis' clients (Table 3.1): capsules of one entry.
pub(super) const THESIS: &[Client] = &[
    Client {
        name: "cnq-thesis/c1",
        what: "Table 3.1: one capsule; two producers with two attempts and one, one consumer with three",
        run: |setup| thesis(setup, 1, [2, 1], [3]),
    },
    Client {
        name: "cnq-thesis/c2",
        what: "Table 3.1: one capsule; one producer with three attempts, two consumers with two and one",
        run: |setup| thesis(setup, 1, [3], [2, 1]),
    },
    Client {
        name: "cnq-thesis/c3",
        what: "Table 3.1: one capsule; two producers with two attempts and one, two consumers with two and one",
        run: |setup| thesis(setup, 1, [2, 1], [2, 1]),
    },
    Client { name: "cnq-thesis/c4", what: "as c1 with two capsules", run: |setup| thesis(setup, 2, [2, 1], [3]) },
    Client { name: "cnq-thesis/c5", what: "as c2 with two capsules", run: |setup| thesis(setup, 2, [3], [2, 1]) },
    Client { name: "cnq-thesis/c6", what: "as c3 with two capsules", run: |setup| thesis(setup, 2, [2, 1], [2, 1]) },
];

pub(super) const FRAGMENT: Client = Client {
    name: "cnq/fragment",
    what: "a consumer leaves with items in its capsule while another one looks for them",
    run: fragment,
};

/// Each end gives up its capsule when it has done its part, as unregistering does there; handles live on, for the thesis counts
/// none. What was pushed comes out once.
fn thesis<const PRODUCERS: usize, const CONSUMERS: usize>(
    setup: &Setup,
    capsules: usize,
    pushes: [u64; PRODUCERS],
    pops: [u64; CONSUMERS],
) -> Outcome {
    setup.asserting(move || {
        let tube = Hts::new(capsules).expect("a tube for capsules");
        let (tx, mut rx) = cnq::starting_at(0, tube, capsules, 1, capsules).expect("a capsule is a queue");
        // All handles are there before any thread is: their numbers are nobody's choice.
        let writers: [_; PRODUCERS] = std::array::from_fn(|me| (tx.clone(), me as u64, pushes[me]));
        let readers: [_; CONSUMERS] = std::array::from_fn(|me| (rx.clone(), pops[me]));
        let producers = writers.map(|(mut tx, me, attempts)| {
            thread::spawn(move || {
                let numbers = (0..attempts).map(|attempt| 10 * me + attempt);
                let pushed = numbers.filter(|&number| tx.try_push(Pair::new(number)).is_ok()).collect::<Vec<_>>();
                tx.flush();
                (pushed, tx)
            })
        });
        let consumers = readers.map(|(mut rx, attempts)| {
            thread::spawn(move || {
                let popped = (0..attempts).filter_map(|_| rx.try_pop().ok()).map(Pair::number).collect::<Vec<_>>();
                rx.flush();
                (popped, rx)
            })
        });
        let producers = producers.map(|thread| thread.join().unwrap());
        let consumers = consumers.map(|thread| thread.join().unwrap());
        let mut pushed = producers.iter().flat_map(|(pushed, _)| pushed).copied().collect::<Vec<_>>();
        let mut popped = consumers.iter().flat_map(|(popped, _)| popped).copied().collect::<Vec<_>>();
        popped.extend(std::iter::from_fn(|| rx.try_pop().ok()).map(Pair::number));
        pushed.sort_unstable();
        popped.sort_unstable();
        assert_eq!(popped, pushed, "each item comes out once");
    })
}

/// One producer has popped its item and pauses; the other one needs its capsule to be finished, not left.
fn idle(setup: &Setup) -> Outcome {
    setup.linearizable(order(2, 2), |recorder| {
        let (mut tx, mut rx) = queue(3, 2, 2)();
        let mut log = recorder.log(0);
        let mut idle = tx.clone();
        assert_eq!(idle.push_some(&mut log, 0, 1), 1);
        let mut other = recorder.log(1);
        let producer = thread::spawn(move || (tx.push_some(&mut other, 10, 2), tx));
        let mut popped = rx.pop_some(&mut log, 2);
        let (pushed, _tx) = producer.join().unwrap();
        popped += rx.drain(&mut log);
        assert_eq!((pushed, popped), (2, 3), "the idle producer stops the others");
    })
}

/// With D = 1, the second producer's first item closes the first one's capsule.
fn closed(setup: &Setup) -> Outcome {
    setup.linearizable(order(3, 1), |recorder| {
        let (mut tx, mut rx) = queue(3, 3, 1)();
        let mut log = recorder.log(0);
        let mut pushed = tx.push_some(&mut log, 0, 1);
        let (mut other, mut other_log) = (tx.clone(), recorder.log(1));
        let other = thread::spawn(move || (other.push_some(&mut other_log, 10, 1), other));
        pushed += tx.push_some(&mut log, 1, 1);
        let (others, _other) = other.join().unwrap();
        pushed += others + tx.push_some(&mut log, 2, 1);
        assert_eq!(rx.drain(&mut log), pushed);
    })
}

fn fragment(setup: &Setup) -> Outcome {
    setup.linearizable(order(3, 3), |recorder| {
        let (mut tx, mut rx) = queue(2, 3, 3)();
        let mut log = recorder.log(0);
        let pushed = tx.push_some(&mut log, 0, 3);
        let (mut other, mut other_log) = (rx.clone(), recorder.log(1));
        let giver = thread::spawn(move || other.pop_some(&mut other_log, 1));
        let mut popped = rx.pop_some(&mut log, 2);
        popped += giver.join().unwrap();
        assert_eq!(popped + rx.drain(&mut log), pushed);
    })
}

/// The light fences of producers and consumers and the heavy one of those who close a capsule under its producer. For the
/// checker all three are SeqCst, and order more than what they are there for; for the processor a light one is none. Where nobody
/// closes, the queue has to be right without.
const FENCES: &[&str] = &["cnq.18", "cnq.19", "cnq.20"];

/// The later of two new capsules closes the earlier one, whoever is first.
fn begun(setup: &Setup) -> Outcome {
    setup.linearizable(order(3, 1), |recorder| {
        // A tube that is not busy when two are half-way, and so waits.
        let (one, rx) = over(Mt::new(3).expect("a tube for capsules"), 3, 3, 1);
        let (mut one, mut rx) = (Kept::new(one), Kept::new(rx));
        let mut other = one.clone();
        let mut log = recorder.log(1);
        let producer = thread::spawn(move || (one.push_some(&mut log, 0, 1), one));
        let mut log = recorder.log(0);
        let mut pushed = other.push_some(&mut log, 10, 1);
        let (others, mut one) = producer.join().unwrap();
        pushed += others + one.push_some(&mut log, 1, 1);
        assert_eq!(rx.drain(&mut log), pushed);
    })
}

/// Of two items each consumer takes one, and holds no other: who finds none is told that the first one is awaited.
fn item() {
    let (mut tx, mut rx) = queue(2, 1, 2)();
    tx.try_push(Pair::new(0)).expect("there is room");
    let mut other = rx.clone();
    let other = thread::spawn(move || (other.try_pop().map(Pair::number), other));
    tx.try_push(Pair::new(1)).expect("there is room");
    let mine = rx.try_pop().map(Pair::number);
    let (others, other) = other.join().unwrap();
    // It may have drawn what it was not to take yet.
    drop(other);
    let mut popped = Vec::new();
    for found in [mine, others] {
        assert_ne!(found, Err(TryPopError::Empty), "with an item in the queue");
        popped.extend(found);
    }
    popped.extend(std::iter::from_fn(|| rx.try_pop().ok()).map(Pair::number));
    popped.sort_unstable();
    assert_eq!(popped, [0, 1]);
}

/// What a pop finds. If something was left before it, that is not nothing.
fn finds_what_was_left(has_left: &AtomicBool, rx: &mut Consumer<Pair, Yield, Hts<u32>>) -> Option<u64> {
    let has_left = has_left.load(Acquire);
    let found = rx.try_pop().map(Pair::number);
    assert!(!has_left || found != Err(TryPopError::Empty), "with items that nobody holds");
    found.ok()
}

/// Three capsules in one window: two with two items left, and the third one empty and open. Who comes and goes holds one of the two
/// at most.
fn left() {
    let (mut tx, mut rx) = queue(5, 3, 15)();
    (0..7).for_each(|number| tx.try_push(Pair::new(number)).expect("there is room"));
    let pop = |rx: &mut Consumer<Pair, Yield, Hts<u32>>| rx.try_pop().map(Pair::number);
    let [mut before, mut giver, mut visitor] = std::array::from_fn(|_| rx.clone());
    assert_eq!([pop(&mut before), pop(&mut giver), pop(&mut rx)], [Ok(0), Ok(3), Ok(6)]);
    assert_eq!(pop(&mut rx), Err(TryPopError::Empty), "others hold what is left");
    before.flush();
    let has_left = Arc::new(AtomicBool::new(false));
    let giver = thread::spawn({
        let has_left = has_left.clone();
        move || {
            giver.flush();
            has_left.store(true, Release);
            giver
        }
    });
    let visitor = thread::spawn(move || {
        let popped = pop(&mut visitor);
        visitor.flush();
        (popped, visitor)
    });
    let mut popped = vec![0, 3, 6];
    popped.extend(finds_what_was_left(&has_left, &mut rx));
    let (others, _visitor) = visitor.join().unwrap();
    popped.extend(others);
    let _giver = giver.join().unwrap();
    popped.extend(std::iter::from_fn(|| pop(&mut rx).ok()));
    popped.sort_unstable();
    assert!(popped.iter().copied().eq(0..7), "{popped:?}");
}

/// The consumer's own capsule was the only one when it was refused, and is the oldest.
fn left_newer() {
    let (mut tx, mut rx) = queue(3, 3, 9)();
    tx.try_push(Pair::new(0)).expect("there is room");
    assert_eq!(rx.try_pop().map(Pair::number), Ok(0));
    assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
    let (mut other_tx, mut other_rx) = (tx.clone(), rx.clone());
    let has_left = Arc::new(AtomicBool::new(false));
    let giver = thread::spawn({
        let has_left = has_left.clone();
        move || {
            (1..3).for_each(|number| other_tx.try_push(Pair::new(number)).expect("there is room"));
            let popped = other_rx.try_pop().map(Pair::number);
            other_rx.flush();
            has_left.store(true, Release);
            (popped, other_tx, other_rx)
        }
    });
    let mut popped = Vec::new();
    popped.extend(finds_what_was_left(&has_left, &mut rx));
    let (others, _other_tx, _other_rx) = giver.join().unwrap();
    popped.extend(others);
    popped.extend(std::iter::from_fn(|| rx.try_pop().ok()).map(Pair::number));
    popped.sort_unstable();
    assert_eq!(popped, [1, 2]);
}

/// Two items in a capsule, one in the next.
fn waits() {
    let (mut tx, mut rx) = queue(3, 2, 1)();
    (0..3).for_each(|number| tx.try_push(Pair::new(number)).expect("there is room"));
    let mut other = rx.clone();
    assert_eq!(rx.try_pop().map(Pair::number), Ok(0));
    let about_to = Arc::new(AtomicBool::new(false));
    let first = thread::spawn({
        let about_to = about_to.clone();
        move || {
            // Relaxed: the pops are what orders it.
            about_to.store(true, Relaxed);
            assert_eq!(rx.try_pop().map(Pair::number), Ok(1));
            rx
        }
    });
    for _ in 0..2 {
        if let Ok(item) = other.try_pop() {
            assert_eq!(item.number(), 2);
            assert!(about_to.load(Relaxed), "before the pop that it waits for");
        }
    }
    drop((first.join().unwrap(), tx));
}

/// Five capsules of two items in a window of two. Number 1 is finished before number 0, so who finishes number 2 counts both; who finishes
/// number 3 then may pop from number 4.
fn passed() {
    let (mut tx, mut rx) = queue(6, 2, 8)();
    (0..10).for_each(|number| tx.try_push(Pair::new(number)).expect("there is room"));
    let pop = |rx: &mut Consumer<Pair, Yield, Hts<u32>>| rx.try_pop().map(Pair::number);
    let [mut one, mut two, mut three] = std::array::from_fn(|_| rx.clone());
    assert_eq!(pop(&mut rx), Ok(0));
    assert_eq!([pop(&mut one), pop(&mut one), pop(&mut rx)], [Ok(2), Ok(3), Ok(1)]);
    assert_eq!([pop(&mut two), pop(&mut three)], [Ok(4), Ok(6)]);
    let about_to = Arc::new(AtomicBool::new(false));
    let counts = thread::spawn({
        let about_to = about_to.clone();
        move || {
            // Relaxed: as in `waits`.
            about_to.store(true, Relaxed);
            assert_eq!(pop(&mut two), Ok(5));
            two
        }
    });
    assert_eq!(pop(&mut three), Ok(7));
    if let Ok(number) = pop(&mut three) {
        assert_eq!(number, 8);
        assert!(about_to.load(Relaxed), "before the pop that it waits for");
    }
    drop((counts.join().unwrap(), tx));
}

/// With D = 1, the next capsule closes the one that is given up. It is the first to be begun again.
fn given_up(setup: &Setup) -> Outcome {
    setup.linearizable(order(3, 1), |recorder| {
        let (mut tx, mut rx) = queue(2, 3, 1)();
        let mut log = recorder.log(0);
        let mut other = tx.clone();
        let mut pushed = tx.push_some(&mut log, 0, 2);
        let giver = thread::spawn(move || {
            tx.flush();
            tx
        });
        pushed += other.push_some(&mut log, 10, 1);
        let mut popped = rx.pop_some(&mut log, 3);
        other.flush();
        pushed += other.push_some(&mut log, 11, 1);
        let _tx = giver.join().unwrap();
        popped += rx.drain(&mut log);
        assert_eq!(popped, pushed);
    })
}

/// Nothing but the capsule tells the consumer of the item, and another producer closes it.
fn shared_closed(setup: &Setup) -> Outcome {
    setup.linearizable(order(3, 1), |recorder| {
        let (mut tx, mut rx) = queue(3, 3, 1)();
        let mut log = recorder.log(0);
        let mut pushed = tx.push_some(&mut log, 0, 1);
        let mut popped = rx.pop_some(&mut log, 1);
        let (mut other, mut other_log) = (tx.clone(), recorder.log(1));
        let other = thread::spawn(move || other.push_some(&mut other_log, 10, 1));
        let mut consumer = recorder.log(2);
        let consumer = thread::spawn(move || (rx.pop_some(&mut consumer, 1), rx));
        pushed += tx.push_some(&mut log, 1, 1) + other.join().unwrap();
        let (others, mut rx) = consumer.join().unwrap();
        popped += others + rx.drain(&mut log);
        assert_eq!(popped, pushed);
    })
}

/// A producer and a consumer in one capsule, which nobody else closes. The producer may end it.
fn shared_bare(setup: &Setup, ends: bool) -> Outcome {
    setup.without(FENCES).linearizable(order(3, 6), move |recorder| {
        let (mut tx, mut rx) = queue(2, 3, 6)();
        let mut log = recorder.log(0);
        let mut pushed = tx.push_some(&mut log, 0, 1);
        let mut popped = rx.pop_some(&mut log, 1);
        let mut consumer = recorder.log(1);
        let consumer = thread::spawn(move || (rx.pop_some(&mut consumer, 2), rx));
        if ends {
            pushed += tx.push_some(&mut log, 1, 1);
            tx.flush();
        } else {
            pushed += tx.push_some(&mut log, 1, 2);
        }
        let (others, mut rx) = consumer.join().unwrap();
        popped += others + rx.drain(&mut log);
        assert_eq!(popped, pushed);
    })
}
