//! BBQ for one and one. Two blocks of one entry: every push and every pop goes to another block.

use super::Pair;
use super::ends::{self, Rx, Tx};
use crate::Client;
use thalweg_check::history::Bounded;
use thalweg_queue::spsc::{self, Consumer, Producer};
use thalweg_queue::{TryPopError, TryPushError, Yield};
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

/// With blocks of `entries`.
fn window(entries: usize) -> Bounded<u64> {
    Bounded::new(entries + 1, 2 * entries)
}

fn queue(head: u64, entries: usize) -> impl Fn() -> spsc::Ends<Pair, Yield> {
    move || spsc::spsc_from(head, 2, entries, Yield).expect("two blocks are a queue")
}

pub(super) const CLIENTS: &[Client] = &[
    Client {
        name: "spsc/1p1c-1",
        what: "one producer, one consumer, five attempts each, blocks of 1: the ring goes round twice",
        run: |setup| ends::between(setup, window(1), queue(0, 1), [5, 5]),
    },
    Client {
        name: "spsc/1p1c-2",
        what: "the same with blocks of 2, six attempts to push and five to pop",
        run: |setup| ends::between(setup, window(2), queue(0, 2), [6, 5]),
    },
    Client {
        name: "spsc/1p1c-old",
        what: "the same with blocks of 1, across the wrap of the counters",
        run: |setup| ends::between(setup, window(1), queue(u64::MAX - 1, 1), [4, 4]),
    },
    Client {
        name: "spsc/swap",
        what: "two threads, three attempts each, that then change ends and go on",
        run: |setup| ends::swap(setup, window(1), queue(0, 1), 3),
    },
    Client {
        name: "spsc/relay",
        what: "each end goes from one thread to another, two attempts in each",
        run: |setup| ends::relay(setup, window(1), queue(0, 1), 2),
    },
    Client {
        name: "spsc/end",
        what: "the producer leaves two items behind; the end comes after them",
        run: |setup| ends::end(setup, window(1), queue(0, 1)),
    },
    Client {
        name: "spsc/close",
        what: "the producer pushes two items and closes the queue, but stays; the end comes after them",
        run: |setup| ends::close(setup, window(1), queue(0, 1), spsc::Producer::close),
    },
    Client {
        name: "spsc/around",
        what: "both ends take grants that go round the end of a ring of two blocks of 1, two attempts each",
        run: |setup| setup.asserting(around),
    },
];

/// One item came and went, so the first grant has the last entry and then the first: it is committed as two blocks. The second one is in the
/// ring's next round.
fn around() {
    let (mut tx, mut rx) = ends::used(queue(0, 1), 1)();
    let producer = thread::spawn(move || {
        let mut next = 0;
        for attempt in 0..2 {
            if let Ok(mut grant) = tx.reserve_around(2) {
                let (end, start) = grant.uninit();
                assert!(attempt > 0 || (end.len(), start.len()) == (1, 1), "the ring is empty");
                next += grant.extend((next..).map(Pair::new)) as u64;
                grant.commit();
            }
        }
        (next, tx)
    });
    let mut expected = 0;
    let mut read = |rx: &mut Consumer<Pair, Yield>| {
        let there = rx.readable_around(2)?;
        let (end, start) = there.as_slices();
        for item in end.iter().chain(start) {
            assert_eq!(item.number(), expected, "in order");
            expected += 1;
        }
        let count = there.count();
        there.release(count);
        Ok::<_, TryPopError>(())
    };
    for _ in 0..2 {
        let _ = read(&mut rx);
    }
    let (pushed, _tx) = producer.join().unwrap();
    while read(&mut rx).is_ok() {}
    assert_eq!(expected, pushed, "all that was pushed");
}
