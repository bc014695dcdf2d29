//! The queue with ordered ends and tickets. Two entries are the fewest in which a span is open while another one ends.

use super::Pair;
use super::ends::{self, Rx, Tx};
use crate::Client;
use thalweg_check::history::Bounded;
use thalweg_queue::research::ticketed::{self, Consumer, Producer, Ticket};
use thalweg_queue::{TryPopError, TryPushError, Yield};
use thalweg_sync::cell::Slot;
use thalweg_sync::thread;

impl Tx for Producer<Pair, Yield> {
    fn try_push(&mut self, item: Pair) -> Result<(), TryPushError<Pair>> {
        Self::try_push(self, item)
    }
}

impl Rx for Consumer<Pair, Yield> {
    fn try_pop(&mut self) -> Result<Pair, TryPopError> {
        Self::try_pop(self)
    }
}

fn queue() -> ticketed::Ends<Pair, Yield> {
    ticketed::with_wait(2, 0, Yield).expect("two entries are a queue")
}

fn two() -> Bounded<u64> {
    Bounded::new(2, 2)
}

pub(super) const CLIENTS: &[Client] = &[
    Client {
        name: "ticketed/1p1c",
        what: "one producer, one consumer, three attempts each",
        run: |setup| ends::between(setup, two(), queue, [3, 3]),
    },
    Client {
        name: "ticketed/roles",
        what: "two threads that push one and pop one each",
        run: |setup| ends::roles(setup, two(), queue),
    },
    Client {
        name: "ticketed/end",
        what: "the producer leaves two items behind; the end comes after them",
        run: |setup| ends::end(setup, two(), queue),
    },
    Client {
        name: "ticketed/close",
        what: "the producer pushes two items and closes the queue, but stays; the end comes after them",
        run: |setup| ends::close(setup, two(), queue, Producer::close),
    },
    Client {
        name: "ticketed/end-behind",
        what: "two threads push, and the second one closes the queue: the end comes after what it pushed",
        run: |setup| ends::behind(setup, queue, Producer::close),
    },
    Client {
        name: "ticketed/2p1c",
        what: "two producers and a consumer, one attempt each",
        run: |setup| ends::shared(setup, two(), queue, 0, [1, 1], [1]),
    },
    Client {
        name: "ticketed/1p2c",
        what: "an item in the queue, one producer and two consumers, one attempt each",
        run: |setup| ends::shared(setup, two(), queue, 1, [1], [1, 1]),
    },
    Client {
        name: "ticketed/open-take",
        what: "a thread takes, pushes, and then ends the take: who finds no room meanwhile is told that it is busy",
        run: |setup| setup.asserting(open_take),
    },
    Client {
        name: "ticketed/open-grant",
        what: "a thread reserves, pops, and then ends the grant: who finds nothing meanwhile is told that it is busy",
        run: |setup| setup.asserting(open_grant),
    },
    Client {
        name: "ticketed/holes",
        what: "a grant of two is given up after one item, while another thread pops: nobody reads what was not written",
        run: |setup| setup.asserting(holes),
    },
    Client {
        name: "ticketed/gone",
        what: "a thread pushes; it and another one let their consumers go: the last one drops the item",
        run: |setup| {
            let build = || ticketed::with_wait(2, 0, Yield).expect("two entries are a queue");
            ends::gone(setup, build, |tx, item| Producer::try_push(tx, item).is_ok())
        },
    },
    Client {
        name: "ticketed/spans",
        what: "two spans end at once; who ended the second writes where the first was read",
        run: |setup| setup.asserting(|| spans(false)),
    },
    Client {
        name: "ticketed/room",
        what: "two spans end at once; a third thread writes where they were read",
        run: |setup| setup.asserting(|| spans(true)),
    },
    Client {
        name: "ticketed/turns",
        what: "two threads work in the turn of their tickets; the one between was not used",
        run: |setup| setup.asserting(turns),
    },
    Client {
        name: "ticketed/stages",
        what: "two workers between two queues: what comes out is in order",
        run: |setup| setup.asserting(stages),
    },
    Client {
        name: "ticketed/two-stages",
        what: "two workers in two stages, the first of which hands on one item and drops the ticket of the other one",
        run: |setup| setup.asserting(two_stages),
    },
];

/// A queue with two items in it.
fn full() -> ticketed::Ends<Pair, Yield> {
    let (tx, rx) = queue();
    (0..2).for_each(|number| tx.try_push(Pair::new(number)).expect("there is room"));
    (tx, rx)
}

fn open_take() {
    let (tx, rx) = queue();
    tx.try_push(Pair::new(0)).expect("there is room");
    let other = tx.clone();
    let worker = thread::spawn(move || {
        let take = rx.try_reserve(1).expect("there is an item");
        let _ = other.try_push(Pair::new(1));
        take.for_each(drop);
        rx
    });
    if let Err(refused) = tx.try_push(Pair::new(2)) {
        assert!(matches!(refused, TryPushError::Busy(_)), "{refused:?} with room");
    }
    drop(worker.join().unwrap());
}

fn open_grant() {
    let (tx, rx) = queue();
    tx.try_push(Pair::new(0)).expect("there is room");
    let other = rx.clone();
    let worker = thread::spawn(move || {
        let mut grant = tx.try_reserve(1).expect("there is room");
        let _ = other.try_pop();
        assert!(grant.push(Pair::new(1)).is_ok());
        drop(grant);
        tx
    });
    if let Err(refused) = rx.try_pop() {
        assert_eq!(refused, TryPopError::Busy, "with an item in the queue");
    }
    drop(worker.join().unwrap());
}

fn holes() {
    let (tx, rx) = queue();
    let giver = thread::spawn(move || {
        let mut grant = tx.try_reserve(2).expect("there is room");
        assert!(grant.push(Pair::new(0)).is_ok());
        drop(grant);
        tx
    });
    let mut popped = (0..2).filter_map(|_| rx.try_pop().ok()).map(Pair::number).collect::<Vec<_>>();
    let _tx = giver.join().unwrap();
    popped.extend(std::iter::from_fn(|| rx.try_pop().ok()).map(Pair::number));
    assert_eq!(popped, [0]);
}

/// Two spans of pops end at once. The room is used by who ended the second one, or by a third thread.
fn spans(third: bool) {
    let (tx, rx) = full();
    let [first, second] = [(); 2].map(|()| rx.try_reserve(1).expect("there is an item"));
    let push = || {
        let _ = tx.try_push(Pair::new(2));
    };
    thread::scope(|scope| {
        scope.spawn(move || first.for_each(drop));
        scope.spawn(move || {
            second.for_each(drop);
            if !third {
                push();
            }
        });
        if third {
            push();
        }
    });
    // Whoever ended last has passed both.
    assert!(tx.try_push(Pair::new(3)).is_ok(), "a span that has ended is not passed");
}

/// Three tickets. The first and the third are used; the second is dropped.
fn turns() {
    let (tx, rx) = ticketed::with_wait::<u64, _>(4, 1, Yield).expect("four entries are a queue");
    (0..3).for_each(|number| tx.try_push(number).expect("there is room"));
    let list = Slot::new(0);
    let [first, second, third] = [(); 3].map(|()| rx.try_reserve(1).expect("there is an item").commit());
    let list = &list;
    thread::scope(|scope| {
        scope.spawn(move || {
            // SAFETY: it is the first one's turn, and nobody else's.
            list.with_mut(|list| unsafe { *list += 1 });
            drop(first);
        });
        scope.spawn(move || {
            third.wait_for_turn(0);
            // SAFETY: it is the third one's turn: the first one has been served.
            assert_eq!(list.with_mut(|list| unsafe { *list }), 1);
        });
        drop(second);
    });
}

/// An item, with its ticket.
fn take(rx: &Consumer<u64, Yield>) -> Option<(u64, Ticket<'_, Yield>)> {
    let mut take = rx.try_reserve(1).ok()?;
    let item = take.next().expect("it is not a hole");
    Some((item, take.commit()))
}

/// Pushes an item in the turn of its ticket.
fn hand_on((item, ticket): (u64, Ticket<'_, Yield>), out: &Producer<u64, Yield>) {
    let mut grant = out.reserve_in_turn(1, &ticket, 0).expect("the queue is not closed");
    assert!(grant.push(item).is_ok());
}

/// Two workers take an item each and hand it on in the order of what they took.
fn stages() {
    let (tx, rx) = ticketed::with_wait::<u64, _>(2, 1, Yield).expect("two entries are a queue");
    (0..2).for_each(|number| tx.try_push(number).expect("there is room"));
    let (out, results) = ticketed::with_wait::<u64, _>(2, 0, Yield).expect("two entries are a queue");
    let work =
        |rx: &Consumer<u64, Yield>, out: &Producer<u64, Yield>| hand_on(take(rx).expect("there is an item"), out);
    let other = thread::spawn({
        let (rx, out) = (rx.clone(), out.clone());
        move || work(&rx, &out)
    });
    work(&rx, &out);
    other.join().unwrap();
    assert_eq!([results.try_pop(), results.try_pop()], [Ok(0), Ok(1)]);
}

/// Each worker goes through both stages. The item that is handed on comes second, so who has it waits for the ticket that is dropped.
fn two_stages() {
    let [first, middle] =
        [(); 2].map(|()| ticketed::with_wait::<u64, _>(2, 1, Yield).expect("two entries are a queue"));
    [1, 0].into_iter().for_each(|number| first.0.try_push(number).expect("there is room"));
    let (out, results) = ticketed::with_wait::<u64, _>(2, 0, Yield).expect("two entries are a queue");
    let work = |rx: &Consumer<u64, Yield>, middle: &ticketed::Ends<u64, Yield>, out: &Producer<u64, Yield>| {
        let (item, ticket) = take(rx).expect("there is an item");
        if item == 0 {
            hand_on((item, ticket), &middle.0);
        } else {
            drop(ticket);
        }
        if let Some(taken) = take(&middle.1) {
            hand_on(taken, out);
        }
    };
    let other = thread::spawn({
        let (rx, middle, out) = (first.1.clone(), middle.clone(), out.clone());
        move || work(&rx, &middle, &out)
    });
    work(&first.1, &middle, &out);
    other.join().unwrap();
    assert_eq!([results.try_pop(), results.try_pop()], [Ok(0), Err(TryPopError::Empty)]);
}
