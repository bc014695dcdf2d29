//! Tubes in their phases: a thread takes entries before others run, or keeps them, so that what it does meanwhile goes through one side of
//! the tube only. Clients for what would have too many executions as a queue.

use super::Pair;
use super::ends::Outcome;
use crate::{Client, Setup};
use thalweg_queue::faaq::Faaq;
use thalweg_queue::tube::{ReserveError, Tube, scqd::Scqd};
use thalweg_sync::atomic::{AtomicU64, Ordering::Relaxed};
use thalweg_sync::sync::Arc;
use thalweg_sync::{spin, thread};

pub(super) const SCQD: &[Client] = &[
    Client {
        name: "scqd/hole",
        what: "an item in the queue, a thread pushes and pops, another one pops, a third one has drawn the ticket between: nobody may find it \
               empty (C1)",
        run: hole,
    },
    Client {
        name: "scqd/look",
        what: "an item in the queue, a thread pushes and pops while another one looks: it may not find it empty (C1)",
        run: look,
    },
    Client {
        name: "scqd/hidden",
        what: "a thread looks in vain as often as it may, another one puts two items where items were taken: none may be hidden",
        run: hidden,
    },
    Client {
        name: "scqd/heads",
        what: "a thread looks in vain as often as it may, another one passes the same tickets to put an item, a third one has drawn a ticket \
               between: the item may not be hidden",
        run: heads,
    },
];

pub(super) const FAAQ: &[Client] = &[
    Client {
        name: "faaq/two-rounds",
        what: "a consumer that looks in one round and draws its ticket two rounds later, in which a producer is half-way",
        run: two_rounds,
    },
    Client {
        name: "faaq/back",
        what: "a ticket drawn too late is given back, and a thread pushes before it takes that item: nobody may find it empty (C1)",
        run: |setup| back(setup, 1),
    },
    Client {
        name: "faaq/back-2",
        what: "as back, with blocks of 2, of which one is half full",
        run: |setup| back(setup, 2),
    },
];

fn scqd(capacity: usize) -> Arc<Scqd<Pair>> {
    Arc::new(Scqd::new(capacity).expect("entries are a tube"))
}

fn push(tube: &impl Tube<Item = Pair>, number: u64) -> bool {
    // SAFETY: allocated from this tube a moment ago.
    tube.allocate().map(|entry| unsafe { tube.produce(entry, Pair::new(number)) }).is_ok()
}

fn pop(tube: &impl Tube<Item = Pair>) -> Option<u64> {
    // SAFETY: reserved from this tube a moment ago.
    tube.reserve().ok().map(|entry| unsafe { tube.consume(entry) }.number())
}

/// Three items are the fewest: one in the queue, one that goes behind a hole, and the one that makes the hole as it comes late.
fn hole(setup: &Setup) -> Outcome {
    setup.asserting(|| {
        let tube = scqd(3);
        assert!(push(&*tube, 0), "there is room");
        let [late, own] = [(); 2].map(|()| tube.allocate().expect("there is room"));
        let producer = thread::spawn({
            let tube = tube.clone();
            // SAFETY: allocated from this tube above.
            move || unsafe { tube.produce(late, Pair::new(1)) }
        });
        let consumer = thread::spawn({
            let tube = tube.clone();
            move || tube.reserve().expect("an item was there all the time")
        });
        // SAFETY: allocated from this tube above.
        unsafe { tube.produce(own, Pair::new(2)) };
        let first = tube.reserve().expect("an item was there all the time");
        producer.join().unwrap();
        let second = consumer.join().unwrap();
        let third = tube.reserve().expect("an item is left");
        // SAFETY: reserved from this tube above.
        let mut popped = [first, second, third].map(|entry| unsafe { tube.consume(entry) }.number());
        popped.sort_unstable();
        assert_eq!(popped, [0, 1, 2]);
    })
}

fn look(setup: &Setup) -> Outcome {
    setup.asserting(|| {
        let tube = scqd(2);
        assert!(push(&*tube, 0), "there is room");
        let own = tube.allocate().expect("there is room");
        let other = thread::spawn({
            let tube = tube.clone();
            move || assert_eq!(tube.can_reserve(), Ok(()), "an item was there all the time")
        });
        // SAFETY: allocated from this tube above.
        unsafe { tube.produce(own, Pair::new(1)) };
        let first = tube.reserve().expect("an item was there all the time");
        other.join().unwrap();
        // SAFETY: reserved from this tube above.
        assert_eq!(unsafe { tube.consume(first) }.number(), 0);
        assert_eq!(pop(&*tube), Some(1));
    })
}

/// Whose turn it is. Relaxed: it says who goes on, and orders nothing, so threads see as little of each other as the tube lets them.
#[derive(Clone)]
struct Turn(Arc<AtomicU64>);

impl Turn {
    fn first() -> Self {
        Self(Arc::new(AtomicU64::new(0)))
    }

    fn wait(&self, turn: u64) {
        spin::until(|| (self.0.load(Relaxed) == turn).then_some(()));
    }

    fn pass(&self, turn: u64) {
        self.0.store(turn, Relaxed);
    }
}

/// Slots whose items were taken say nothing of who took them. Six looks in vain bring the threshold to zero, three of them before each of such slots.
fn hidden(setup: &Setup) -> Outcome {
    setup.asserting(|| {
        let (tube, turn) = (scqd(2), Turn::first());
        assert!(push(&*tube, 0), "there is room");
        assert_eq!(pop(&*tube), Some(0));
        let entries = [(); 2].map(|()| tube.allocate().expect("there is room"));
        let producer = thread::spawn({
            let (tube, turn) = (tube.clone(), turn.clone());
            move || {
                for (number, entry) in (1..).zip(entries) {
                    turn.wait(2 * number - 1);
                    // SAFETY: allocated from this tube above.
                    unsafe { tube.produce(entry, Pair::new(number)) };
                    turn.pass(2 * number);
                }
            }
        });
        for number in [1, 2] {
            for _ in 0..3 {
                assert!(tube.reserve().is_err(), "nothing is there");
            }
            turn.pass(2 * number - 1);
            turn.wait(2 * number);
            assert!(tube.reserve().is_ok(), "an item is hidden");
        }
        producer.join().unwrap();
    })
}

/// No slot is safe, so the producer goes by the head. With room for one, three looks in vain bring the threshold to zero. Once an item is found, all is
/// well.
fn heads(setup: &Setup) -> Outcome {
    setup.asserting(|| {
        let tube = Arc::new(Scqd::passed(1).expect("an entry is a tube"));
        let entry = tube.allocate().expect("there is room");
        let producer = thread::spawn({
            let tube = tube.clone();
            // SAFETY: allocated from this tube above.
            move || unsafe { tube.produce(entry, Pair::new(0)) }
        });
        let look = || tube.reserve().is_ok();
        if look() || look() {
            return;
        }
        let late = thread::spawn({
            let tube = tube.clone();
            move || tube.reserve().is_ok()
        });
        if look() {
            return;
        }
        producer.join().unwrap();
        assert!(look() || late.join().unwrap(), "an item is hidden");
    })
}

fn faaq(entries: usize) -> Arc<Faaq<Pair>> {
    Arc::new(Faaq::new(2, entries).expect("two blocks are a tube"))
}

/// Marks of one round and of the next but one are the same.
fn two_rounds(setup: &Setup) -> Outcome {
    setup.asserting(|| {
        let (tube, turn) = (faaq(1), Turn::first());
        assert!(push(&*tube, 0), "there is room");
        // It may see the first item still, however late it comes.
        let late = thread::spawn({
            let (tube, turn) = (tube.clone(), turn.clone());
            move || {
                turn.wait(1);
                assert!(tube.reserve().is_err(), "nothing is written");
            }
        });
        for number in 0..3 {
            assert_eq!(pop(&*tube), Some(number));
            assert!(push(&*tube, number + 1), "there is room");
        }
        assert_eq!(pop(&*tube), Some(3));
        let entry = tube.allocate().expect("there is room");
        assert!(tube.reserve().is_err(), "nothing is written");
        turn.pass(1);
        late.join().unwrap();
        // SAFETY: allocated from this tube above.
        unsafe { tube.produce(entry, Pair::new(4)) };
        assert_eq!(pop(&*tube), Some(4));
    })
}

/// In the second round of the first block: its first item, and one more, in the same block or the next.
fn back(setup: &Setup, entries: usize) -> Outcome {
    setup.asserting(move || {
        let (tube, turn) = (faaq(entries), Turn::first());
        let fill = || (0..entries as u64).for_each(|number| assert!(push(&*tube, number), "there is room"));
        let empty = || (0..entries as u64).for_each(|number| assert_eq!(pop(&*tube), Some(number)));
        fill();
        // It may see the block full still, and draws a ticket of the second round then.
        let late = thread::spawn({
            let (tube, turn) = (tube.clone(), turn.clone());
            move || {
                turn.wait(1);
                let found = tube.reserve().is_ok();
                turn.pass(2);
                found
            }
        });
        empty();
        fill();
        empty();
        let entry = tube.allocate().expect("there is room");
        assert!(tube.reserve().is_err(), "nothing is written");
        // SAFETY: allocated from this tube above.
        unsafe { tube.produce(entry, Pair::new(10)) };
        let other = thread::spawn({
            let (tube, turn) = (tube.clone(), turn.clone());
            move || {
                turn.wait(2);
                assert!(push(&*tube, 11), "there is room");
                assert!(pop(&*tube).is_some(), "an item was there all the time");
                turn.pass(3);
            }
        });
        turn.pass(1);
        turn.wait(3);
        let answer = tube.reserve().map(drop);
        other.join().unwrap();
        assert!(late.join().unwrap() || answer != Err(ReserveError::Empty), "an item was there all the time");
    })
}
