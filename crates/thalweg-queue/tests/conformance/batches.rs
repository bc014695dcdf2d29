//! The promises of batches: as many as fit, in order, and what does not fit stays with the caller.

use crate::queue::{Ledger, Queue, Token, often};
use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use thalweg_queue::{Pop, PopError, Push, TryPopError, TryPushError};
use thalweg_sync::random::Xorshift;
use thalweg_sync::thread;

macro_rules! promises {
    ($($queues:tt)+) => {
        $crate::each! { batches [batches_of_every_size, what_does_not_fit_stays, a_batch_keeps_its_memory, batches_between_threads, closed_batches_stay, a_panic_while_a_batch_is_taken, iterators_push_and_pop, an_iterator_that_panics_stops_nobody] $($queues)+ }
    };
}
pub(crate) use promises;

fn numbers(tokens: &[Token]) -> impl Iterator<Item = usize> {
    tokens.iter().map(Token::number)
}

pub(crate) fn batches_of_every_size(queue: impl Queue) {
    const TOKENS: usize = often(4_000);
    let ledger = Ledger::new(TOKENS);
    let (mut tx, mut rx) = queue.build();
    let mut model = VecDeque::new();
    let mut random = Xorshift::new(1);
    let mut made = 0;
    let mut batch: Vec<Token> = Vec::new();
    while made < TOKENS || !batch.is_empty() || !model.is_empty() {
        let state = random.number();
        let size = (state >> 33) as usize % (2 * queue.most() + 2);
        if state & 1 == 0 {
            while batch.len() < size && made < TOKENS {
                batch.push(ledger.token(made));
                made += 1;
            }
            let (before, waiting) = (batch.len(), model.len());
            let first = numbers(&batch).next();
            match Push::try_push_many(&mut tx, &mut batch) {
                Ok(pushed) => {
                    assert_eq!(pushed, before - batch.len());
                    assert!(pushed > 0 || before == 0);
                    assert!(
                        batch.is_empty() || waiting + pushed >= queue.least(),
                        "{waiting} + {pushed}, and not full"
                    );
                    model.extend((0..pushed).map(|at| first.unwrap() + at));
                    assert!(model.len() <= queue.most());
                }
                Err(TryPushError::Full(())) => assert!(model.len() >= queue.least() && batch.len() == before),
                Err(other) => panic!("{other:?} with nobody else around"),
            }
            assert!(numbers(&batch).is_sorted(), "what is left is in order");
        } else {
            let mut popped = Vec::new();
            match Pop::try_pop_many(&mut rx, &mut popped, size) {
                Ok(count) => assert_eq!(count, size.min(model.len())),
                Err(refused) => assert_eq!((refused, model.len()), (TryPopError::Empty, 0)),
            }
            for number in numbers(&popped) {
                assert_eq!(Some(number), model.pop_front());
            }
        }
    }
    drop((tx, rx));
    ledger.assert_balanced(TOKENS);
}

pub(crate) fn what_does_not_fit_stays(queue: impl Queue) {
    let size = 3 * queue.most();
    let ledger = Ledger::new(size + 1);
    let (mut tx, mut rx) = queue.build();
    let mut batch: Vec<_> = (0..size).map(|number| ledger.token(number)).collect();
    let pushed = Push::try_push_many(&mut tx, &mut batch).unwrap();
    assert!((queue.least()..=queue.most()).contains(&pushed));
    assert!(numbers(&batch).eq(pushed..size));
    assert_eq!(Push::try_push_many(&mut tx, &mut batch), Err(TryPushError::Full(())));
    assert!(numbers(&batch).eq(pushed..size));
    // Into a slice: as many as it has places, and what was in them is dropped.
    let mut places = [ledger.token(size)];
    assert_eq!(Pop::try_pop_slice(&mut rx, &mut places), Ok(1));
    assert_eq!((places[0].number(), ledger.drops(size)), (0, 1));
    drop((batch, places, tx, rx));
    ledger.assert_balanced(size + 1);
}

/// What does not fit moves to the front of the caller's vector: nothing is allocated for it, and nothing is given back.
pub(crate) fn a_batch_keeps_its_memory(queue: impl Queue) {
    let size = queue.most() + 1;
    let ledger = Ledger::new(size);
    let (mut tx, rx) = queue.build();
    let mut batch = ledger.tokens(0..size);
    let memory = (batch.as_ptr(), batch.capacity());
    let pushed = Push::try_push_many(&mut tx, &mut batch).unwrap();
    assert!(numbers(&batch).eq(pushed..size));
    assert_eq!((batch.as_ptr(), batch.capacity()), memory, "{pushed} of {size} were pushed");
    drop((batch, tx, rx));
    ledger.assert_balanced(size);
}

pub(crate) fn batches_between_threads(queue: impl Queue) {
    const TOKENS: usize = often(5_000);
    let ledger = Ledger::new(TOKENS);
    let (mut tx, mut rx) = queue.build();
    thread::scope(|scope| {
        let ledger = &ledger;
        scope.spawn(move || {
            let mut next = 0;
            while next < TOKENS {
                let end = TOKENS.min(next + 1 + next % 37);
                let mut batch = (next..end).map(|number| ledger.token(number)).collect();
                Push::push_many(&mut tx, &mut batch).unwrap();
                next = end;
            }
        });
        let mut next = 0;
        let mut popped = Vec::new();
        while let Ok(count) = Pop::pop_many(&mut rx, &mut popped, 1 + next % 29) {
            assert!((1..=1 + next % 29).contains(&count) && count == popped.len());
            assert!(numbers(&popped).eq(next..next + count));
            next += count;
            popped.clear();
        }
        assert_eq!(next, TOKENS, "the end comes after the last item");
        assert_eq!(Pop::pop_many(&mut rx, &mut popped, 1), Err(PopError));
    });
    ledger.assert_balanced(TOKENS);
}

pub(crate) fn closed_batches_stay(queue: impl Queue) {
    let ledger = Ledger::new(3);
    let (mut tx, rx) = queue.build();
    drop(rx);
    let mut batch: Vec<_> = (0..3).map(|number| ledger.token(number)).collect();
    assert_eq!(Push::try_push_many(&mut tx, &mut batch), Err(TryPushError::Closed(())));
    assert!(Push::push_many(&mut tx, &mut batch).is_err());
    assert!(numbers(&batch).eq(0..3));
    drop(batch);
    ledger.assert_balanced(3);
}

pub(crate) fn a_panic_while_a_batch_is_taken(queue: impl Queue) {
    let size = queue.least().min(3);
    let ledger = Ledger::new(2 * size + queue.most() + 1);
    let (mut tx, mut rx) = queue.build();
    let mut batch: Vec<_> = (0..size).map(|number| ledger.token(number)).collect();
    assert_eq!(Push::try_push_many(&mut tx, &mut batch), Ok(size));
    // The token that the first item replaces panics when it is dropped.
    let mut places: Vec<_> = (size..2 * size).map(|number| ledger.token(number)).collect();
    places[0].panic_when_dropped();
    assert!(catch_unwind(AssertUnwindSafe(|| Pop::try_pop_slice(&mut rx, &mut places))).is_err());
    // The queue is not stuck: it takes as many items as ever, and gives them back.
    let mut next = 2 * size;
    let mut popped = Vec::new();
    let _ = Pop::try_pop_many(&mut rx, &mut popped, size);
    popped.clear();
    for _ in 0..queue.least().min(5) {
        Push::try_push(&mut tx, ledger.token(next)).unwrap();
        assert_eq!(Pop::try_pop(&mut rx).unwrap().number(), next);
        next += 1;
    }
    drop((places, popped, tx, rx));
    ledger.assert_balanced(next);
}

pub(crate) fn iterators_push_and_pop(queue: impl Queue) {
    let tokens = often(500);
    let ledger = Ledger::new(tokens + 2);
    let (mut tx, mut rx) = queue.build();
    assert!(Pop::try_iter(&mut rx).next().is_none());
    thread::scope(|scope| {
        let ledger = &ledger;
        scope.spawn(move || {
            assert_eq!(tx.push_all(ledger.tokens(0..tokens)).unwrap(), tokens);
        });
        assert!(Pop::iter(&mut rx).map(|token| token.number()).eq(0..tokens), "to the end, and in order");
    });
    // What is refused comes back, and the rest is not asked for.
    let (mut tx, rx) = queue.build();
    drop(rx);
    let mut rest = ledger.tokens(tokens..tokens + 2).into_iter();
    assert_eq!(tx.push_all(&mut rest).unwrap_err().0.number(), tokens);
    assert_eq!(rest.len(), 1);
    drop(rest);
    ledger.assert_balanced(tokens + 2);
}

pub(crate) fn an_iterator_that_panics_stops_nobody(queue: impl Queue) {
    let ledger = Ledger::new(3);
    let (mut tx, mut rx) = queue.build();
    let values = (0..2).map(|number| if number == 0 { ledger.token(0) } else { panic!("at the second") });
    assert!(catch_unwind(AssertUnwindSafe(|| tx.push_all(values))).is_err());
    assert_eq!(rx.pop().unwrap().number(), 0);
    for number in 1..3 {
        tx.push(ledger.token(number)).unwrap();
        assert_eq!(rx.pop().unwrap().number(), number);
    }
    ledger.assert_balanced(3);
}

/// Slices of every length through a queue of numbers.
pub(crate) fn through_slices<P, C>((mut tx, mut rx): (P, C))
where
    P: Push<Item: Copy + From<NonZeroU64>>,
    C: Pop<Item = P::Item>,
    P::Item: PartialEq + std::fmt::Debug,
{
    let item = |number: u64| P::Item::from(NonZeroU64::new(number + 1).unwrap());
    let (mut pushed, mut popped) = (0, 0);
    for length in (0..70).chain([200, 1_000]) {
        let values: Vec<_> = (pushed..pushed + length).map(item).collect();
        pushed += match tx.try_push_slice(&values) {
            Ok(count) => count as u64,
            Err(refused) => panic!("{refused:?} into an empty queue"),
        };
        let mut into = vec![item(u64::MAX - 1); 9];
        while let Ok(count) = rx.try_pop_slice(&mut into) {
            for &value in &into[..count] {
                assert_eq!(value, item(popped));
                popped += 1;
            }
        }
        assert_eq!(popped, pushed);
    }
    assert!(popped > 100, "{popped}: every ring went round");
}
