//! Ends that sleep, under loom: a wake-up that is lost is a deadlock in some execution.

use crate::support::Leaked;
use std::sync::Arc; // what a waker is made of
use std::task::{Context, Wake, Waker};
use thalweg_queue::edges::table::{Strength, Table, install, weakened};
use thalweg_queue::{Park, mpmc, spsc::fast_forward};
use thalweg_sync::atomic::{AtomicBool, Ordering};
use thalweg_sync::thread;

/// A waker that notes that it was woken.
struct Note(AtomicBool);

impl Wake for Note {
    fn wake(self: Arc<Self>) {
        // Relaxed: read after the threads are joined.
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One item for one consumer that may be asleep. The smallest client in which a push and a sleeper miss each other.
fn a_push_wakes() {
    thalweg_sync::model_bounded(3, || {
        let (mut tx, mut rx) = fast_forward::with_wait::<Box<u32>, _>(1, Park::new()).unwrap();
        let producer = thread::spawn(move || {
            tx.push(Box::new(7)).unwrap();
            tx // not dropped before the item is popped: closing would wake the consumer too
        });
        assert_eq!(*rx.pop().unwrap(), 7);
        drop(producer.join().unwrap());
    });
}

/// Three items through a queue of two blocks of one: the producer sleeps until the consumer has freed a block.
fn a_pop_wakes() {
    thalweg_sync::model_bounded(2, || {
        let (tx, rx) = mpmc::with_wait::<u32, _>(2, 1, Park::new()).unwrap();
        tx.try_push(0).unwrap();
        tx.try_push(1).unwrap();
        let producer = thread::spawn(move || {
            tx.push(2).unwrap();
            tx
        });
        assert_eq!(rx.pop(), Ok(0));
        drop(producer.join().unwrap());
        assert_eq!([rx.pop(), rx.pop()], [Ok(1), Ok(2)]);
    });
}

/// A consumer that sleeps sees the end.
fn the_end_wakes() {
    thalweg_sync::model_bounded(3, || {
        let (tx, rx) = mpmc::with_wait::<u32, _>(2, 1, Park::new()).unwrap();
        let producer = thread::spawn(move || drop(tx));
        assert!(rx.pop().is_err());
        producer.join().unwrap();
    });
}

/// Two producers, one of which may be half-way through its push while the other ends, and a consumer that wants both items.
fn a_push_that_was_half_way_wakes() {
    thalweg_sync::model_bounded(2, || {
        let (tx, rx) = mpmc::with_wait::<u32, _>(2, 2, Park::new()).unwrap();
        let other = tx.clone();
        let producer = thread::spawn(move || {
            other.push(1).unwrap();
            other
        });
        tx.push(2).unwrap();
        assert_eq!(rx.pop().unwrap() + rx.pop().unwrap(), 3);
        drop(producer.join().unwrap());
    });
}

/// Two consumers give back one half of a block each, with a producer that waits for it since before: whoever comes last rings.
fn the_second_half_wakes() {
    thalweg_sync::model_bounded(2, || {
        let (tx, rx) = mpmc::with_wait::<u32, _>(2, 2, Park::new()).unwrap();
        let (tx, rx) = (Leaked::new(tx), Leaked::new(rx));
        (0..4).for_each(|number| tx.try_push(number).unwrap());
        let note = Arc::new(Note(AtomicBool::new(false)));
        let waker = Waker::from(note.clone());
        let mut pushing = Box::pin(tx.push_async(4));
        assert!(pushing.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        let other = Leaked::new((*rx).clone());
        let half = thread::spawn(move || {
            other.try_pop().unwrap();
            other
        });
        rx.try_pop().unwrap();
        drop(half.join().unwrap());
        drop(pushing);
        assert!(note.0.load(Ordering::Relaxed), "the producer sleeps beside a free block");
    });
}

#[test]
fn model_push() {
    a_push_wakes();
}

#[test]
fn model_pop() {
    a_pop_wakes();
}

#[test]
fn model_end() {
    the_end_wakes();
}

#[test]
fn model_half_way() {
    a_push_that_was_half_way_wakes();
}

#[test]
#[should_panic(expected = "deadlock")]
fn canary_sleeper() {
    weakened("wait.1", a_push_wakes);
}

#[test]
#[should_panic(expected = "deadlock")]
fn canary_ringer() {
    weakened("wait.2", a_push_wakes);
}

/// For the processor a light fence is none, so here too.
#[test]
fn model_halves() {
    weakened("wait.2", the_second_half_wakes);
}

#[test]
#[should_panic(expected = "the producer sleeps beside a free block")]
fn canary_halves() {
    // Within `weakened`, which puts the table back.
    weakened("wait.2", || {
        let none = Strength::Ordering(Ordering::Relaxed);
        install(Some(Arc::new(Table::new().with("wait.2", none).with("wait.3", none))));
        the_second_half_wakes();
    });
}
