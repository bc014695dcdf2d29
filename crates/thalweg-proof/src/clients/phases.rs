//! Tubes in their phases: a thread takes entries before others run, or keeps them, so that what it does meanwhile goes through one side of
//! the tube only. Clients for what would have too many executions as a queue.

use super::Pair;
use super::ends::Outcome;
use crate::{Client, Setup};
use thalweg_queue::tube::{Tube, scqd::Scqd};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

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
