//! Destructors and wakers that panic, more than one at a time: the first panic comes out of the call, and the process goes on.

use crate::support::fuse;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Context;
use thalweg_queue::broadcast::graph::{self, Graph};
use thalweg_queue::{Push, broadcast, mpmc, oneshot, overwriting::any, rendezvous, stealing, unbounded, watch};
use thalweg_sync::atomic::{AtomicUsize, Ordering::Relaxed};
use thalweg_sync::sync::Arc;

/// Counts its drop, and panics then.
#[derive(Clone)]
struct Bomb(Arc<AtomicUsize>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
        panic!("told to panic");
    }
}

#[derive(Default)]
struct Count(Arc<AtomicUsize>);

impl Count {
    fn bomb(&self) -> Bomb {
        Bomb(self.0.clone())
    }

    /// `run` panics, and so many bombs have gone off in all.
    #[track_caller]
    fn is_after(&self, bombs: usize, run: impl FnOnce()) {
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        assert_eq!(self.0.load(Relaxed), bombs);
    }
}

/// Three items are left in the queue, and whoever goes last drops them.
fn all_go<P, C>(build: impl Fn() -> (P, C), push: impl Fn(&mut P, Bomb)) {
    for consumer_first in [true, false] {
        let count = Count::default();
        let (mut tx, rx) = build();
        (0..3).for_each(|_| push(&mut tx, count.bomb()));
        count.is_after(3, || match consumer_first {
            true => drop((rx, tx)),
            false => drop((tx, rx)),
        });
    }
}

fn try_push<P: Push<Item = Bomb>>(tx: &mut P, bomb: Bomb) {
    tx.try_push(bomb).unwrap_or_else(|_| unreachable!("there is room"));
}

fn ring() -> graph::Ends<Bomb> {
    let mut graph = Graph::new(4).unwrap();
    graph.first();
    graph.build().unwrap()
}

#[test]
fn destructors_of_what_is_left() {
    all_go(|| any::channel(4).unwrap(), try_push);
    all_go(unbounded::mpsc::channel, try_push);
    all_go(unbounded::mpmc::channel, try_push);
    all_go(|| mpmc::exact(4).unwrap(), try_push);
    all_go(|| broadcast::channel(4).unwrap(), try_push);
    all_go(ring, try_push);
    all_go(|| stealing::fifo(2, 2).unwrap(), |tx, bomb| assert!(tx.push(bomb).is_ok()));
    all_go(|| stealing::lifo(2, 2).unwrap(), |tx, bomb| assert!(tx.push(bomb).is_ok()));
}

/// A consumer has the value that it saw, and the channel the latest one.
#[test]
fn watched_values() {
    let count = Count::default();
    let (tx, rx) = watch::channel(count.bomb());
    assert!(tx.push(count.bomb()).is_ok());
    count.is_after(2, || drop((tx, rx)));

    let count = Count::default();
    let (tx, mut rx) = watch::channel(count.bomb());
    let first = rx.snapshot();
    assert!(tx.push(count.bomb()).is_ok());
    rx.latest();
    let second = rx.snapshot();
    assert!(tx.push(count.bomb()).is_ok());
    count.is_after(1, || drop(first));
    drop(second);
    count.is_after(3, || drop((rx, tx)));
}

/// Offers that nobody waits for any more.
#[test]
fn offers_that_are_leaked() {
    let count = Count::default();
    let (tx, rx) = rendezvous::channel();
    for _ in 0..3 {
        let mut offer = Box::pin(tx.push_async(count.bomb()));
        assert!(offer.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop())).is_pending());
        std::mem::forget(offer);
    }
    count.is_after(3, || drop((tx, rx)));
}

/// A push takes the place of an item whose destructor panics, and wakes by a waker that does.
#[test]
fn a_waker_and_a_destructor() {
    let count = Count::default();
    let (tx, mut rx) = broadcast::channel(1).unwrap();
    try_push(&mut &tx, count.bomb());
    std::mem::forget(rx.try_pop());
    let waker = fuse();
    let mut popping = pin!(rx.pop_async());
    assert!(popping.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    count.is_after(1, || try_push(&mut &tx, count.bomb()));
    std::mem::forget(tx);
}

/// A sender left a waker that panics, and then pushed a value whose destructor does.
#[test]
fn a_oneshot_is_left() {
    let count = Count::default();
    let (mut tx, rx) = oneshot::channel();
    {
        let waker = fuse();
        let mut closed = pin!(tx.closed_async());
        assert!(closed.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    assert!(tx.push(count.bomb()).is_ok());
    count.is_after(1, || drop(rx));
}

/// Wakers that all panic: each is called.
#[test]
fn wakers_one_after_the_other() {
    let (tx, rx) = mpmc::channel::<u64>(4).unwrap();
    let waker = fuse();
    let mut pops: Vec<_> = (0..3).map(|_| Box::pin(rx.pop_async())).collect();
    for pop in &mut pops {
        assert!(pop.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    assert!(catch_unwind(AssertUnwindSafe(|| drop(tx))).is_err());
    drop(pops);
    assert!(rx.pop().is_err());
}
