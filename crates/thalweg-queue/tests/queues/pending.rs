//! Pending ends: what they cost, and what becomes of a wake-up whose future is not polled any more.

use crate::support::{Note, fuse};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use thalweg_queue::{Park, Push, mpmc};
use thalweg_sync::atomic::{AtomicUsize, Ordering::Relaxed};

fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// A waker that counts its clones.
fn counting(clones: &'static AtomicUsize) -> Waker {
    static TABLE: RawWakerVTable = RawWakerVTable::new(
        |data| {
            // SAFETY: the data is a counter that lives for ever.
            unsafe { &*data.cast::<AtomicUsize>() }.fetch_add(1, Relaxed);
            RawWaker::new(data, &TABLE)
        },
        |_| {},
        |_| {},
        |_| {},
    );
    // SAFETY: the functions of the table only count, in what lives for ever.
    unsafe { Waker::from_raw(RawWaker::new(std::ptr::from_ref(clones).cast(), &TABLE)) }
}

#[test]
fn a_waker_that_is_there_is_not_cloned_again() {
    let (tx, rx) = mpmc::channel::<u32>(2).unwrap();
    let clones = Box::leak(Box::new(AtomicUsize::new(0)));
    let waker = counting(clones);
    let mut popping = rx.pop_async();
    for _ in 0..5 {
        assert!(poll(&mut popping, &waker).is_pending());
    }
    assert_eq!(clones.load(Relaxed), 1);
    let note = Note::default();
    assert!(poll(&mut popping, &note.waker()).is_pending(), "another task may poll it");
    tx.push(1).unwrap();
    assert!(note.was_woken(), "and is the one to be woken");
}

/// Of three that wait, the first is woken for an item and never polled again. The next push wakes for that one, too.
#[test]
fn a_future_that_is_kept_or_leaked_swallows_no_wake_up() {
    let (tx, rx) = mpmc::channel(8).unwrap();
    let notes = [Note::default(), Note::default(), Note::default()];
    let mut first = rx.pop_async();
    let (mut second, mut third) = (rx.pop_async(), rx.pop_async());
    assert!(poll(&mut first, &notes[0].waker()).is_pending());
    assert!(poll(&mut second, &notes[1].waker()).is_pending());
    assert!(poll(&mut third, &notes[2].waker()).is_pending());
    tx.push(1).unwrap();
    assert!(notes[0].was_woken());
    std::mem::forget(first);
    tx.push(2).unwrap();
    assert!(notes[1].was_woken() && notes[2].was_woken(), "two items, and two that may take them");
    assert_eq!(poll(&mut second, &notes[1].waker()), Poll::Ready(Ok(1)));
    assert_eq!(poll(&mut third, &notes[2].waker()), Poll::Ready(Ok(2)));
}

#[test]
fn a_value_comes_back_or_is_dropped_beside_a_waker_that_panics() {
    let (tx, rx) = mpmc::with_wait::<Arc<()>, _>(2, 1, Park::new()).unwrap();
    let item = Arc::new(());
    tx.push_all([item.clone(), item.clone()]).unwrap();
    let (mut first, mut second) = (tx.push_async(item.clone()), tx.push_async(item.clone()));
    assert!(poll(&mut first, Waker::noop()).is_pending());
    assert!(poll(&mut second, &fuse()).is_pending());
    rx.pop().unwrap(); // wakes the first
    // It gives up: the wake-up goes to the second, whose waker panics.
    assert!(catch_unwind(AssertUnwindSafe(|| first.into_value())).is_err());
    drop(second);
    assert!(tx.may_push());
    drop((tx, rx));
    assert_eq!(Arc::strong_count(&item), 1);
}
