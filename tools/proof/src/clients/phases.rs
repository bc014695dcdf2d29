//! Tubes in their phases: a thread takes entries before others run, or keeps them, so that what it does meanwhile goes through one side of
//! the tube only. Clients for what would have too many executions as a queue.

use super::Pair;
use super::ends::Outcome;
use crate::{Client, Setup};
use thalweg_queue::research::faaq::Faaq;
use thalweg_queue::research::tube::{ReserveError, Tube, scqd::Scqd};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
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
    Client {
        name: "scqd/chain",
        what: "a thread looks in vain as often as it may, another one draws each of its tickets just before it would move the tail, a third \
               one puts two items where it sees nothing of the first but through the second: none may be hidden",
        run: chain,
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

/// Whose turn it is.
#[derive(Clone)]
struct Turn {
    word: Arc<AtomicU64>,
    pass: Ordering,
    wait: Ordering,
}

impl Turn {
    /// It says who goes on, and orders nothing, so threads see as little of each other as the tube lets them.
    fn first() -> Self {
        Self { word: Arc::new(AtomicU64::new(0)), pass: Relaxed, wait: Relaxed }
    }

    /// Whoever has the turn sees all of who had it before.
    fn first_of_a_chain() -> Self {
        Self { pass: Release, wait: Acquire, ..Self::first() }
    }

    fn wait(&self, turn: u64) {
        spin::until(|| (self.word.load(self.wait) >= turn).then_some(()));
    }

    fn pass(&self, turn: u64) {
        self.word.store(turn, self.pass);
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

/// No slot is safe, so the producer goes by the head. With room for one, three looks in vain bring the threshold to zero; the thread that is late keeps
/// the producer from what the last of them left.
fn heads(setup: &Setup) -> Outcome {
    setup.asserting(|| {
        let (tube, draws, drawn) =
            (Arc::new(Scqd::passed(1).expect("an entry is a tube")), Turn::first(), Turn::first());
        let entry = tube.allocate().expect("there is room");
        let producer = thread::spawn({
            let (tube, draws, drawn) = (tube.clone(), draws.clone(), drawn.clone());
            move || {
                let mut next = 0;
                let in_turn = || {
                    drawn.pass(next);
                    next += 1;
                    draws.wait(next);
                };
                // SAFETY: allocated from this tube above.
                unsafe { tube.produce_after(entry, Pair::new(0), in_turn) };
                drawn.pass(u64::MAX);
            }
        });
        // Before the first two looks at the tail the producer draws a ticket each, before the third one three: the last is beyond the head.
        let (mut before, mut draw) = ([1, 1, 3].into_iter(), 0);
        let mut look = || {
            let between = || {
                draw += before.next().unwrap_or(0);
                draws.pass(draw);
                drawn.wait(draw);
            };
            tube.reserve_around(between).is_ok()
        };
        assert!(!look() && !look(), "nothing is there");
        let go_on = Turn::first();
        let late = thread::spawn({
            let (tube, go_on) = (tube.clone(), go_on.clone());
            move || tube.reserve_around(|| go_on.wait(1)).is_ok()
        });
        let mut found = look();
        draws.pass(u64::MAX);
        producer.join().unwrap();
        found = found || look();
        go_on.pass(1);
        assert!(late.join().unwrap() || found, "an item is hidden");
    })
}

/// Twelve looks in vain bring the threshold to zero, five of them before a slot whose item is taken and seven between that and the same slot one lap later.
/// The second thread draws what the first has passed, so it alone moves the tail. These two may see all of each other.
fn chain(setup: &Setup) -> Outcome {
    setup.asserting(|| {
        let (tube, draws, puts) = (scqd(3), Turn::first_of_a_chain(), Turn::first());
        assert!(push(&*tube, 0), "there is room");
        assert_eq!(pop(&*tube), Some(0));
        let [own, one, two] = [(); 3].map(|()| tube.allocate().expect("there is room"));
        let drawing = thread::spawn({
            let (tube, draws) = (tube.clone(), draws.clone());
            move || {
                let mut next = 1;
                let in_turn = || {
                    if next > 1 {
                        draws.pass(next - 1);
                    }
                    draws.wait(next);
                    next += 2;
                };
                // SAFETY: allocated from this tube above.
                unsafe { tube.produce_after(own, Pair::new(1), in_turn) }
            }
        });
        let producer = thread::spawn({
            let (tube, puts) = (tube.clone(), puts.clone());
            move || {
                for (number, entry) in (1..).zip([one, two]) {
                    puts.wait(2 * number - 1);
                    // SAFETY: allocated from this tube above.
                    unsafe { tube.produce(entry, Pair::new(number + 1)) };
                    puts.pass(2 * number);
                }
            }
        });
        let mut draw = 1;
        for (number, looks) in [(1, 5), (2, 7)] {
            for _ in 0..looks {
                let between = || {
                    draws.pass(draw);
                    draws.wait(draw + 1);
                    draw += 2;
                };
                assert!(tube.reserve_around(between).is_err(), "nothing is there");
            }
            puts.pass(2 * number - 1);
            puts.wait(2 * number);
            let found = tube.reserve().expect("an item is hidden");
            // SAFETY: reserved from this tube a moment ago.
            assert_eq!(unsafe { tube.consume(found) }.number(), number + 1);
        }
        draws.pass(draw);
        [drawing, producer].into_iter().for_each(|thread| thread.join().unwrap());
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
