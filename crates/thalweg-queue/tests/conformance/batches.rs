//! The promises of batches: as many as fit, in order, and what does not fit stays with the caller.

use crate::queue::{Ledger, Queue, Token};
use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use thalweg_queue::{Pop, PopError, Push, TryPopError, TryPushError, bbq, fast_forward};
use thalweg_sync::thread;

/// A queue whose ends are [`Push`] and [`Pop`].
pub(crate) trait Batches: Queue<Tx: Push<Item = Token>, Rx: Pop<Item = Token>> {}

impl<Q: Queue<Tx: Push<Item = Token>, Rx: Pop<Item = Token>>> Batches for Q {}

/// One module per queue, each with every test of this file.
macro_rules! promises {
    ($($name:ident: $queue:expr,)+) => {
        $(mod $name {
            use super::*;
            $crate::batches::tests!($queue; batches_of_every_size, what_does_not_fit_stays, batches_between_threads,
                closed_batches_stay, a_panic_while_a_batch_is_taken);
        })+
    };
}
macro_rules! tests {
    ($queue:expr; $($test:ident),+) => {
        $(#[test]
        fn $test() {
            $crate::batches::$test($queue);
        })+
    };
}
pub(crate) use {promises, tests};

fn numbers(tokens: &[Token]) -> impl Iterator<Item = usize> {
    tokens.iter().map(Token::number)
}

pub(crate) fn batches_of_every_size(queue: impl Batches) {
    const TOKENS: usize = 4_000;
    let ledger = Ledger::new(TOKENS);
    let (mut tx, mut rx) = queue.build();
    let mut model = VecDeque::new();
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut made = 0;
    let mut batch: Vec<Token> = Vec::new();
    while made < TOKENS || !batch.is_empty() || !model.is_empty() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
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

pub(crate) fn what_does_not_fit_stays(queue: impl Batches) {
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

pub(crate) fn batches_between_threads(queue: impl Batches) {
    const TOKENS: usize = 20_000;
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

pub(crate) fn closed_batches_stay(queue: impl Batches) {
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

pub(crate) fn a_panic_while_a_batch_is_taken(queue: impl Batches) {
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

/// Slices of every length through a queue of `u64`.
fn through_slices<P, C>((mut tx, mut rx): (P, C))
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

#[test]
fn slices_of_every_length() {
    through_slices(fast_forward::<NonZeroU64>(61).unwrap());
    for (blocks, entries) in [(2, 1), (2, 40), (4, 33), (8, 64)] {
        through_slices(bbq::shared::<NonZeroU64>(blocks, entries).unwrap());
        through_slices(bbq::spsc::<u64>(blocks, entries).unwrap());
    }
}
