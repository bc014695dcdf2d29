//! The promises of every queue, with one thread on each side.

use crate::queue::{Ledger, Queue, Token, often};
use std::collections::VecDeque;
use thalweg_queue::{Pop, PopError, Push, TryPopError, TryPushError};
use thalweg_sync::random::Xorshift;
use thalweg_sync::thread;

macro_rules! promises {
    ($($queues:tt)+) => {
        $crate::each! { single [in_order, fills_refuses_and_recovers, room_whenever_promised, random_bursts, closes_when_the_producer_leaves, closes_when_the_consumer_leaves, leftovers_are_dropped_once, two_threads_in_order, waiting_pop_sees_the_end, waiting_push_sees_the_end, producer_leaves_in_a_race, consumer_leaves_in_a_race] $($queues)+ }
    };
}
pub(crate) use promises;

fn expect_number(result: Result<Token, TryPopError>, number: usize) {
    assert_eq!(result.map(|token| token.number()), Ok(number));
}

/// Pushes tokens from `first` on until the queue is full. Returns how many went in.
fn fill(tx: &mut impl Push<Item = Token>, ledger: &Ledger, first: usize) -> usize {
    for pushed in 0.. {
        match tx.try_push(ledger.token(first + pushed)) {
            Ok(()) => {}
            Err(TryPushError::Full(token)) => {
                assert_eq!(token.number(), first + pushed, "the refused token itself comes back");
                return pushed;
            }
            Err(other) => panic!("{other:?} with nobody else around"),
        }
    }
    unreachable!("no queue is endless")
}

pub(crate) fn in_order(queue: impl Queue) {
    let tokens = 4 * queue.most();
    let ledger = Ledger::new(tokens);
    let (mut tx, mut rx) = queue.build();
    assert_eq!(tx.capacity(), rx.capacity());
    for number in 0..tokens {
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
        assert!(rx.is_empty());
        tx.try_push(ledger.token(number)).unwrap();
        assert!(!rx.is_empty());
        expect_number(rx.try_pop(), number);
    }
    ledger.assert_balanced(tokens);
}

pub(crate) fn fills_refuses_and_recovers(queue: impl Queue) {
    let ledger = Ledger::new(8 * (queue.most() + 1));
    let (mut tx, mut rx) = queue.build();
    let (mut pushed, mut popped) = (0, 0);
    for round in 0..4 {
        let before = pushed;
        pushed += fill(&mut tx, &ledger, pushed);
        assert!((queue.least()..=queue.most()).contains(&(pushed - before)), "{} went in", pushed - before);
        assert_eq!(ledger.drops(pushed), 1, "only the refused token is dropped");
        pushed += 1; // the refused one's number is used up
        for number in popped..pushed - 1 {
            expect_number(rx.try_pop(), number);
        }
        popped = pushed;
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty), "round {round}");
    }
    ledger.assert_balanced(pushed);
}

pub(crate) fn room_whenever_promised(queue: impl Queue) {
    let tokens = 6 * queue.most() + 6;
    for waiting in (0..queue.least()).step_by(if cfg!(miri) { 17 } else { 1 }) {
        let (mut tx, mut rx) = queue.build();
        let mut next = 0;
        let ledger = Ledger::new(tokens);
        for number in 0..tokens {
            tx.try_push(ledger.token(number)).expect("fewer than `least` are waiting");
            if number >= waiting {
                expect_number(rx.try_pop(), next);
                next += 1;
            }
        }
        drop((tx, rx));
        ledger.assert_balanced(tokens);
    }
}

pub(crate) fn random_bursts(queue: impl Queue) {
    const TOKENS: usize = often(5_000);
    let ledger = Ledger::new(TOKENS);
    let (mut tx, mut rx) = queue.build();
    let mut model = VecDeque::new();
    let mut random = Xorshift::new(1);
    let mut made = 0;
    let mut refused = None;
    while made < TOKENS || refused.is_some() {
        let state = random.number();
        let burst = (state >> 33) as usize % (queue.most() + 2);
        for _ in 0..burst {
            if state & 1 == 0 {
                let token = match refused.take() {
                    Some(token) => token,
                    None if made < TOKENS => {
                        made += 1;
                        ledger.token(made - 1)
                    }
                    None => break,
                };
                let number = token.number();
                match tx.try_push(token) {
                    Ok(()) => {
                        model.push_back(number);
                        assert!(model.len() <= queue.most());
                    }
                    Err(TryPushError::Full(token)) => {
                        assert!(model.len() >= queue.least(), "full with {} items", model.len());
                        refused = Some(token);
                    }
                    Err(other) => panic!("{other:?} with nobody else around"),
                }
            } else {
                let popped = rx.try_pop().map(|token| token.number());
                assert_eq!(popped, model.pop_front().ok_or(TryPopError::Empty));
            }
        }
    }
    drop(tx);
    for number in model {
        expect_number(rx.try_pop(), number);
    }
    assert_eq!(rx.try_pop().err(), Some(TryPopError::Closed));
    ledger.assert_balanced(TOKENS);
}

pub(crate) fn closes_when_the_producer_leaves(queue: impl Queue) {
    for left in (0..=queue.least()).step_by(if cfg!(miri) { 17 } else { 1 }) {
        let ledger = Ledger::new(left);
        let (mut tx, mut rx) = queue.build();
        assert!(!rx.is_closed());
        for number in 0..left {
            tx.try_push(ledger.token(number)).unwrap();
        }
        drop(tx);
        assert!(rx.is_closed());
        for number in 0..left {
            expect_number(rx.try_pop(), number);
        }
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Closed));
        assert_eq!(rx.pop().err(), Some(PopError));
        ledger.assert_balanced(left);
    }
}

pub(crate) fn closes_when_the_consumer_leaves(queue: impl Queue) {
    for left in (0..=queue.least()).step_by(if cfg!(miri) { 17 } else { 1 }) {
        let ledger = Ledger::new(left + 2);
        let (mut tx, mut rx) = queue.build();
        assert!(!tx.is_closed());
        for number in 0..left {
            tx.try_push(ledger.token(number)).unwrap();
        }
        if left > 1 {
            expect_number(rx.try_pop(), 0);
        }
        drop(rx);
        ledger.assert_balanced(left); // at once, while the producer lives on
        assert!(tx.is_closed());
        match tx.try_push(ledger.token(left)) {
            Err(TryPushError::Closed(token)) => assert_eq!(token.number(), left),
            other => panic!("{other:?} without a consumer"),
        }
        assert_eq!(tx.push(ledger.token(left + 1)).unwrap_err().0.number(), left + 1);
        ledger.assert_balanced(left + 2);
    }
}

pub(crate) fn leftovers_are_dropped_once(queue: impl Queue) {
    // Popped in the middle of a round, so that taken and untaken entries lie side by side.
    for popped in (0..queue.least()).step_by(if cfg!(miri) { 17 } else { 1 }) {
        for producer_first in [true, false] {
            let ledger = Ledger::new(queue.least());
            let (mut tx, mut rx) = queue.build();
            for number in 0..queue.least() {
                tx.try_push(ledger.token(number)).unwrap();
            }
            for number in 0..popped {
                expect_number(rx.try_pop(), number);
            }
            if producer_first {
                drop(tx);
                drop(rx);
            } else {
                drop(rx);
                drop(tx);
            }
            ledger.assert_balanced(queue.least());
        }
    }
}

pub(crate) fn two_threads_in_order(queue: impl Queue) {
    const TOKENS: usize = often(5_000);
    let ledger = Ledger::new(TOKENS);
    let (tx, mut rx) = queue.build();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut tx = tx;
            for number in 0..TOKENS {
                tx.push(ledger.token(number)).unwrap();
            }
        });
        for number in 0..TOKENS {
            assert_eq!(rx.pop().unwrap().number(), number);
        }
        assert_eq!(rx.pop().err(), Some(PopError));
    });
    ledger.assert_balanced(TOKENS);
}

pub(crate) fn waiting_pop_sees_the_end(queue: impl Queue) {
    let (tx, mut rx) = queue.build();
    thread::scope(|scope| {
        let waiting = scope.spawn(move || rx.pop().err());
        thread::yield_now();
        drop(tx);
        assert_eq!(waiting.join().unwrap(), Some(PopError));
    });
}

pub(crate) fn waiting_push_sees_the_end(queue: impl Queue) {
    let ledger = Ledger::new(queue.most() + 2);
    let (mut tx, rx) = queue.build();
    let next = fill(&mut tx, &ledger, 0) + 1;
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut tx = tx;
            tx.push(ledger.token(next)).map_err(|refused| refused.0.number())
        });
        thread::yield_now();
        drop(rx);
        // The push may find its room while the consumer drains: then the token goes with the queue.
        assert!([Ok(()), Err(next)].contains(&waiting.join().unwrap()));
    });
    ledger.assert_balanced(next + 1);
}

pub(crate) fn producer_leaves_in_a_race(queue: impl Queue) {
    for round in 0..often(100) {
        let tokens = round % (2 * queue.most() + 1);
        let ledger = Ledger::new(tokens);
        let (tx, mut rx) = queue.build();
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut tx = tx;
                for number in 0..tokens {
                    tx.push(ledger.token(number)).unwrap();
                }
            });
            let mut seen = 0;
            loop {
                match rx.try_pop() {
                    Ok(token) => {
                        assert_eq!(token.number(), seen);
                        seen += 1;
                    }
                    Err(TryPopError::Empty | TryPopError::Busy) => thread::yield_now(),
                    Err(TryPopError::Closed) => break,
                }
            }
            assert_eq!(seen, tokens, "closed before the last item");
        });
        ledger.assert_balanced(tokens);
    }
}

pub(crate) fn consumer_leaves_in_a_race(queue: impl Queue) {
    for round in 0..often(100) {
        let tokens = 3 * queue.most();
        let ledger = Ledger::new(tokens);
        let (tx, mut rx) = queue.build();
        let made = thread::scope(|scope| {
            let producer = scope.spawn(|| {
                let mut tx = tx;
                for number in 0..tokens {
                    if let Err(refused) = tx.push(ledger.token(number)) {
                        assert_eq!(refused.0.number(), number);
                        assert!(tx.is_closed());
                        return number + 1;
                    }
                }
                tokens
            });
            for number in 0..round % queue.most() {
                assert_eq!(rx.pop().unwrap().number(), number);
            }
            drop(rx);
            producer.join().unwrap()
        });
        ledger.assert_balanced(made);
    }
}
