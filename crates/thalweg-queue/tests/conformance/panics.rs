//! What a panic in somebody else's code leaves behind: a queue that goes on, and each item dropped once.

use crate::one_by_one;
use crate::queue::{Ledger, Queue, Token};
use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::ptr::NonNull;
use std::sync::Arc; // what a waker is made of
use std::task::{Context, Wake, Waker};
use thalweg_queue::growing::Most;
use thalweg_queue::research::tube::{self, ring, scqd::Scqd};
use thalweg_queue::spsc::fast_forward::Word;
use thalweg_queue::{
    Park, Pop, Push, TryPushError, growing, mpmc, mpsc,
    research::{cnq, faaq, lamport, locked, ticketed},
    spmc, spsc,
    spsc::fast_forward,
};

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

/// Every destructor panics: each runs once, when the consumer leaves or at the latest with the last handle, and one of the panics comes out.
pub(crate) fn items_panic_while_everybody_leaves(queue: impl Queue) {
    let count = queue.least().min(6);
    let bombs: Vec<_> = (0..count).collect();
    for consumer_first in [true, false] {
        let ledger = Ledger::new(count);
        let (mut tx, rx) = queue.build();
        push_all(&mut tx, &ledger, count, &bombs);
        let leaves: [Box<dyn FnOnce()>; 2] = match consumer_first {
            true => [Box::new(|| drop(rx)), Box::new(|| drop(tx))],
            false => [Box::new(|| drop(tx)), Box::new(|| drop(rx))],
        };
        let panics = leaves.map(|leave| catch_unwind(AssertUnwindSafe(leave)).is_err());
        assert_eq!(panics, [consumer_first, !consumer_first]);
        ledger.assert_balanced(count);
    }
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
    let (tx, rx) = mpmc::with_wait(2, 2, Park::new()).unwrap();
    check(tx, rx);
    let (tx, rx) = ticketed::with_wait(4, 1, Park::new()).unwrap();
    check(tx, rx);
    let (tx, rx) = cnq::with_wait(Scqd::new(4).unwrap(), 4, 2, 8, Park::new()).unwrap();
    check(tx, rx);
}

/// `$check`, given what builds a queue, for each kind of queue with sleeping ends.
macro_rules! each_kind {
    ($check:ident) => {
        $check(|| fast_forward::with_wait(1, Park::new()).unwrap());
        $check(|| fast_forward::in_place_with_wait(1, Park::new()).unwrap());
        $check(|| spsc::with_wait(2, 1, Park::new()).unwrap());
        $check(|| spsc::with_wait(2, 3, Park::new()).unwrap());
        $check(|| growing::with_wait(1, 5, Most::Entries(5), Park::new()).unwrap());
        $check(|| growing::with_wait(2, 3, Most::Entries(7), Park::new()).unwrap());
        $check(|| lamport::with_wait::<_, _, lamport::Plain>(4, Park::new()).unwrap());
        $check(|| lamport::with_wait::<_, _, lamport::Cached>(4, Park::new()).unwrap());
        $check(|| one_by_one(5, Park::new()).unwrap());
        $check(|| mpmc::with_wait(2, 3, Park::new()).unwrap());
        $check(|| mpsc::with_wait(2, 3, Park::new()).unwrap());
        $check(|| spmc::with_wait(2, 3, Park::new()).unwrap());
        $check(|| ticketed::with_wait(4, 1, Park::new()).unwrap());
        $check(|| locked::with_wait(4, Park::new()).unwrap());
        $check(|| tube::with_wait(ring::Mt::new(4).unwrap(), Park::new()));
        $check(|| tube::with_wait(ring::Hts::new(4).unwrap(), Park::new()));
        $check(|| tube::with_wait(ring::Rts::new(4).unwrap(), Park::new()));
        $check(|| tube::with_wait(Scqd::new(4).unwrap(), Park::new()));
        $check(|| tube::with_wait(faaq::Faaq::new(2, 3).unwrap(), Park::new()));
        $check(|| cnq::with_wait(Scqd::new(4).unwrap(), 4, 2, 8, Park::new()).unwrap());
    };
}

/// A producer of CNQ whose capsule was closed leaves it, which rings, and then begins another with what it has to push.
#[test]
fn a_waker_that_panics_for_a_closed_capsule_loses_nothing() {
    let (mut first, mut rx) = cnq::with_wait(Scqd::new(2).unwrap(), 2, 4, 4, Park::new()).unwrap();
    let (mut second, mut third) = (first.clone(), first.clone());
    first.try_push(1).unwrap();
    second.try_push(2).unwrap();
    assert_eq!([rx.try_pop(), rx.try_pop()], [Ok(1), Ok(2)]);
    third.try_push(3).unwrap();
    let waker = Waker::from(Arc::new(Bomb));
    {
        let mut pushing = pin!(third.push_async(4));
        assert!(pushing.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(catch_unwind(AssertUnwindSafe(|| first.try_push(5))).is_err());
    }
    let mut left = vec![rx.try_pop().unwrap(), rx.try_pop().unwrap()];
    left.sort_unstable();
    assert_eq!(left, [3, 5]);
}

/// Pushes tokens until there is no room. Returns the numbers of those that were pushed.
fn fill(tx: &mut impl Push<Item = Token>, ledger: &Ledger, made: &mut usize) -> Vec<usize> {
    let mut pushed = Vec::new();
    loop {
        let token = ledger.token(*made);
        *made += 1;
        match tx.try_push(token) {
            Ok(()) => pushed.push(*made - 1),
            Err(_) => return pushed,
        }
    }
}

/// The waker of a pending push panics in a pop: the pop may lose its item, and both ends go on.
#[test]
fn a_waker_that_panics_in_a_pop_loses_nothing_else() {
    fn check<P, C>(build: impl Fn() -> (P, C))
    where
        P: Push<Item = Token, Wait = Park>,
        C: Pop<Item = Token, Wait = Park>,
    {
        let ledger = Ledger::new(200);
        let (mut tx, mut rx) = build();
        let mut made = 0;
        let mut model = VecDeque::from(fill(&mut tx, &ledger, &mut made));
        {
            let waker = Waker::from(Arc::new(Bomb));
            let mut pushing = pin!(tx.push_async(ledger.token(made)));
            made += 1;
            assert!(pushing.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            while let Ok(popped) = catch_unwind(AssertUnwindSafe(|| rx.try_pop())) {
                assert_eq!(Some(popped.unwrap().number()), model.pop_front());
            }
        }
        // The pop may have had its item when it rang.
        if model.front().is_some_and(|&number| ledger.drops(number) == 1) {
            model.pop_front();
        }
        for _ in 0..3 {
            model.extend(fill(&mut tx, &ledger, &mut made));
            while let Ok(token) = rx.try_pop() {
                assert_eq!(Some(token.number()), model.pop_front());
            }
            assert!(model.is_empty(), "{model:?} are lost");
        }
        drop((tx, rx));
        ledger.assert_balanced(made);
    }
    each_kind! { check }
}

/// The waker of a pending push panics while the consumer leaves, wherever that is: each item is dropped once.
#[test]
fn a_waker_that_panics_while_the_consumer_leaves_loses_nothing() {
    fn check<P, C>(build: impl Fn() -> (P, C))
    where
        P: Push<Item = Token, Wait = Park>,
        C: Pop<Item = Token, Wait = Park>,
    {
        for popped in 0..=10 {
            let ledger = Ledger::new(100);
            let (mut tx, mut rx) = build();
            let mut made = 0;
            fill(&mut tx, &ledger, &mut made);
            (0..popped).for_each(|_| drop(rx.try_pop()));
            fill(&mut tx, &ledger, &mut made);
            {
                let waker = Waker::from(Arc::new(Bomb));
                let mut pushing = pin!(tx.push_async(ledger.token(made)));
                made += 1;
                assert!(pushing.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
                assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
            }
            drop(tx);
            ledger.assert_balanced(made);
        }
    }
    each_kind! { check }
}

/// A word that panics when it is turned back, if it is told to.
struct Picky(Box<(Token, bool)>);

impl Word for Picky {
    fn into_word(self) -> NonNull<()> {
        self.0.into_word()
    }

    unsafe fn from_word(word: NonNull<()>) -> Self {
        // SAFETY: the word came from such a box, by the caller's promise.
        let inside: Box<(Token, bool)> = unsafe { Box::from_word(word) };
        assert!(!inside.1, "told to panic");
        Self(inside)
    }
}

#[test]
fn a_word_that_panics_is_turned_back_once() {
    for bomb in 0..4 {
        for leaves in [false, true] {
            let ledger = Ledger::new(4);
            let (mut tx, mut rx) = fast_forward::fast_forward(4).unwrap();
            for number in 0..4 {
                tx.try_push(Picky(Box::new((ledger.token(number), number == bomb)))).unwrap();
            }
            for number in (0..4).filter(|_| !leaves) {
                match catch_unwind(AssertUnwindSafe(|| rx.try_pop())) {
                    Ok(popped) => assert_eq!(popped.unwrap().0.0.number(), number),
                    Err(_) => assert_eq!(number, bomb),
                }
            }
            assert_eq!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err(), leaves);
            drop(tx);
            ledger.assert_balanced(4);
        }
    }
}

/// The waker of a pending pop panics in a batch: what was not pushed stays the caller's.
#[test]
fn a_waker_that_panics_in_a_batch_leaves_the_rest() {
    fn check<P, C>(build: impl Fn() -> (P, C))
    where
        P: Push<Item = Token, Wait = Park>,
        C: Pop<Item = Token, Wait = Park>,
    {
        let ledger = Ledger::new(100);
        let (mut tx, mut rx) = build();
        let mut values: Vec<_> = (0..100).map(|number| ledger.token(number)).collect();
        {
            let waker = Waker::from(Arc::new(Bomb));
            let mut popping = pin!(rx.pop_async());
            assert!(popping.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            assert!(catch_unwind(AssertUnwindSafe(|| tx.try_push_many(&mut values))).is_err());
        }
        let mut pushed = 0;
        while let Ok(token) = rx.try_pop() {
            assert_eq!(token.number(), pushed);
            pushed += 1;
        }
        assert!(pushed > 0);
        assert!(
            values.iter().map(Token::number).eq(pushed..100),
            "{pushed} were pushed, and {} are left",
            values.len()
        );
        drop((tx, rx, values));
        ledger.assert_balanced(100);
    }
    each_kind! { check }
}

/// A word that panics when it is made, if it is told to.
struct Reluctant(Box<(Token, bool)>);

impl Word for Reluctant {
    fn into_word(self) -> NonNull<()> {
        assert!(!self.0.1, "told to panic");
        self.0.into_word()
    }

    unsafe fn from_word(word: NonNull<()>) -> Self {
        // SAFETY: the word came from such a box, by the caller's promise.
        Self(unsafe { Box::from_word(word) })
    }
}

#[test]
fn a_word_that_panics_in_a_batch_is_the_only_one_lost() {
    for bomb in 0..12 {
        let ledger = Ledger::new(13);
        let (mut tx, mut rx) = fast_forward::fast_forward(32).unwrap();
        let word = |number| Reluctant(Box::new((ledger.token(number), number == bomb)));
        let mut values: Vec<_> = (0..12).map(word).collect();
        assert!(catch_unwind(AssertUnwindSafe(|| tx.try_push_many(&mut values))).is_err());
        tx.try_push_many(&mut values).unwrap();
        tx.try_push(Reluctant(Box::new((ledger.token(12), false)))).unwrap_or_else(|_| panic!("there is room"));
        let popped = rx.try_iter().map(|word| word.0.0.number());
        assert!(popped.eq((0..13).filter(|&number| number != bomb)), "{bomb}");
        drop((tx, rx));
        ledger.assert_balanced(13);
    }
}
