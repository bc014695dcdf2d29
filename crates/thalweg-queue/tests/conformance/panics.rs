//! What a panic in somebody else's code leaves behind: a queue that goes on, and each item dropped once.

use crate::queue::{Ledger, Queue, Token};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc; // what a waker is made of
use std::task::{Context, Wake, Waker};
use thalweg_queue::{Park, Pop, Push, TryPushError, bbq, fast_forward};

macro_rules! promises {
    ($($queues:tt)+) => {
        $crate::each! { panics [an_item_panics_while_the_consumer_leaves, items_panic_while_everybody_leaves] $($queues)+ }
    };
}
pub(crate) use promises;

/// Pushes tokens into an empty queue, those of `bombs` to panic when they are dropped.
fn push_all(tx: &mut impl Push<Item = Token>, ledger: &Ledger, count: usize, bombs: &[usize]) {
    for number in 0..count {
        let mut token = ledger.token(number);
        if bombs.contains(&number) {
            token.panic_when_dropped();
        }
        tx.try_push(token).unwrap();
    }
}

pub(crate) fn an_item_panics_while_the_consumer_leaves(queue: impl Queue) {
    let count = queue.least().min(12);
    for bomb in 0..count {
        let ledger = Ledger::new(count + 1);
        let (mut tx, mut rx) = queue.build();
        push_all(&mut tx, &ledger, count, &[bomb]);
        if bomb > 1 {
            assert_eq!(rx.try_pop().unwrap().number(), 0);
        }
        assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err(), "bomb {bomb}");
        assert!(tx.is_closed());
        match tx.try_push(ledger.token(count)) {
            Err(TryPushError::Closed(token)) => assert_eq!(token.number(), count),
            other => panic!("{other:?} without a consumer"),
        }
        drop(tx);
        ledger.assert_balanced(count + 1);
    }
}

pub(crate) fn items_panic_while_everybody_leaves(queue: impl Queue) {
    let count = queue.least().min(6);
    let ledger = Ledger::new(count);
    let (mut tx, rx) = queue.build();
    push_all(&mut tx, &ledger, count, &[0, 1]);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
    // What a second panic leaves may be leaked, but is not dropped twice.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(tx)));
    assert!(ledger.dropped() >= count.min(2));
}

struct Bomb;

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        panic!("told to panic");
    }
}

/// An executor's waker panics: the push that woke it has pushed, and both ends go on.
#[test]
fn a_waker_that_panics_loses_nothing() {
    fn check(mut tx: impl Push<Item = Box<u32>, Wait = Park>, mut rx: impl Pop<Item = Box<u32>, Wait = Park>) {
        let waker = Waker::from(Arc::new(Bomb));
        {
            let mut popping = pin!(rx.pop_async());
            assert!(popping.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            assert!(catch_unwind(AssertUnwindSafe(|| tx.try_push(Box::new(7)))).is_err());
        }
        assert_eq!(rx.try_pop(), Ok(Box::new(7)));
        for number in 0..20 {
            tx.push(Box::new(number)).unwrap();
            assert_eq!(rx.pop(), Ok(Box::new(number)));
        }
    }
    let (tx, rx) = fast_forward::with_wait(4, Park::new()).unwrap();
    check(tx, rx);
    let (tx, rx) = bbq::with_wait(2, 2, Park::new()).unwrap();
    check(tx, rx);
}
