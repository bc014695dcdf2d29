//! What is written and read in place: what is committed is pushed and nothing else, what is not released stays.

use crate::queue::{Ledger, Queue, Token, often};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use thalweg_queue::spsc::fast_forward::{self, InPlace};
use thalweg_queue::wait::Wait;
use thalweg_queue::{
    Pop, Push, TryPopError, TryPushError, growing, mpsc,
    research::{lamport, mesh},
    spmc, spsc,
};
use thalweg_sync::random::Xorshift;
use thalweg_sync::thread;

macro_rules! promises {
    ($($queues:tt)+) => {
        $crate::each! { grants [grants_of_every_size, a_panic_while_a_grant_is_filled, a_panic_while_items_are_released,
            refusals_of_grants, grants_between_threads] $($queues)+ }
    };
}
pub(crate) use promises;

/// For queues of which the writing end alone is as these tests have it.
macro_rules! write_promises {
    ($($queues:tt)+) => {
        $crate::each! { grants [a_panic_while_a_grant_is_filled] $($queues)+ }
    };
}
pub(crate) use write_promises;

/// For queues of which the reading end alone is.
macro_rules! read_promises {
    ($($queues:tt)+) => {
        $crate::each! { grants [a_panic_while_items_are_released] $($queues)+ }
    };
}
pub(crate) use read_promises;

/// A writing end with grants.
pub(crate) trait Reserve: Push<Item = Token> {
    /// Reserves `count` entries, writes what `values` gives, and commits if `commit` says so. Returns how many entries there were,
    /// and how many were written.
    fn write(
        &mut self,
        count: usize,
        values: impl Iterator<Item = Token>,
        commit: bool,
    ) -> Result<(usize, usize), TryPushError<()>>;
}

/// A reading end with grants.
pub(crate) trait Readable: Pop<Item = Token> {
    /// Asks for `count` items, and releases as many as `look` says. Returns how many there were.
    fn read(&mut self, count: usize, look: impl FnOnce(&[Token]) -> usize) -> Result<usize, TryPopError>;

    /// The number of the oldest one.
    fn peeked(&mut self) -> Result<usize, TryPopError>;
}

macro_rules! ends {
    ($(<$($parameter:ident: $bound:path),*> $tx:ty, $rx:ty;)+) => {
        $(writes! { <$($parameter: $bound),*> $tx }
        reads! { <$($parameter: $bound),*> $rx })+
    };
}

macro_rules! writes {
    (<$($parameter:ident: $bound:path),*> $tx:ty) => {
        impl<$($parameter: $bound),*> Reserve for $tx {
            fn write(
                &mut self,
                count: usize,
                values: impl Iterator<Item = Token>,
                commit: bool,
            ) -> Result<(usize, usize), TryPushError<()>> {
                let mut grant = self.reserve(count)?;
                let capacity = grant.capacity();
                let written = grant.extend(values);
                assert_eq!(grant.len(), written);
                if commit {
                    assert_eq!(grant.commit(), written);
                }
                Ok((capacity, written))
            }
        }
    };
}

macro_rules! reads {
    (<$($parameter:ident: $bound:path),*> $rx:ty) => {
        impl<$($parameter: $bound),*> Readable for $rx {
            fn read(&mut self, count: usize, look: impl FnOnce(&[Token]) -> usize) -> Result<usize, TryPopError> {
                let grant = self.readable(count)?;
                let there = grant.len();
                let release = look(&grant);
                grant.release(release);
                Ok(there)
            }

            fn peeked(&mut self) -> Result<usize, TryPopError> {
                Ok(self.peek()?.number())
            }
        }
    };
}

ends! {
    <W: Wait> fast_forward::Producer<Token, W, InPlace<Token>>, fast_forward::Consumer<Token, W, InPlace<Token>>;
    <W: Wait> spsc::Producer<Token, W>, spsc::Consumer<Token, W>;
    <W: Wait> growing::Producer<Token, W>, growing::Consumer<Token, W>;
    <W: Wait, L: lamport::Caching> lamport::Producer<Token, W, L>, lamport::Consumer<Token, W, L>;
    <W: Wait> mesh::Producer<Token, W>, mesh::Consumer<Token, W>;
}
writes! { <W: Wait> spmc::Producer<Token, W> }
reads! { <W: Wait> mpsc::Consumer<Token, W> }

/// A queue whose ends have grants.
pub(crate) trait Granting: Queue<Tx: Reserve, Rx: Readable> {}
impl<Q: Queue<Tx: Reserve, Rx: Readable>> Granting for Q {}

pub(crate) fn grants_of_every_size(queue: impl Granting) {
    let tokens = often(3_000);
    let ledger = Ledger::new(tokens);
    let (mut tx, mut rx) = queue.build();
    let mut model = VecDeque::new();
    let mut random = Xorshift::new(1);
    let mut made = 0;
    while made < tokens || !model.is_empty() {
        let state = random.number();
        let size = (state >> 33) as usize % (queue.most() + 2);
        let written = (state >> 20) as usize % (size + 1);
        let commit = state >> 60 != 0;
        if state & 1 == 0 {
            let before = made;
            let values = std::iter::from_fn(|| {
                (made < tokens).then(|| {
                    made += 1;
                    ledger.token(made - 1)
                })
            });
            match tx.write(size, values.take(written), commit) {
                Ok((capacity, written)) => {
                    assert!((1..=size.max(1)).contains(&capacity) && written <= capacity);
                    assert_eq!(written, made - before, "a value was taken for which there was no entry");
                    if commit {
                        model.extend(before..made);
                    }
                    assert!(model.len() <= queue.most());
                }
                Err(refused) => {
                    assert_eq!(refused, TryPushError::Full(()));
                    assert!(model.len() >= queue.least(), "full with {} items", model.len());
                }
            }
        } else {
            assert_eq!(rx.peeked(), model.front().copied().ok_or(TryPopError::Empty));
            let mut released = 0;
            let read = rx.read(size, |items| {
                assert!((1..=size.max(1)).contains(&items.len()));
                assert!(items.iter().map(Token::number).eq(model.iter().copied().take(items.len())));
                released = written.min(items.len());
                released
            });
            assert_eq!(read.is_err(), model.is_empty());
            for number in model.drain(..released) {
                assert_eq!(ledger.drops(number), 1);
            }
        }
    }
    drop((tx, rx));
    ledger.assert_balanced(tokens);
}

pub(crate) fn a_panic_while_a_grant_is_filled(queue: impl Queue<Tx: Reserve>) {
    let ledger = Ledger::new(21);
    let (mut tx, mut rx) = queue.build();
    let values = (0..2).map(|number| if number == 0 { ledger.token(0) } else { panic!("at the second") });
    // Where a grant has one entry, nothing is asked for the second, and the first is pushed.
    let pushed = catch_unwind(AssertUnwindSafe(|| tx.write(2, values, true).unwrap())).is_ok();
    match pushed {
        true => assert_eq!(rx.try_pop().unwrap().number(), 0),
        false => assert_eq!((rx.try_pop().err(), ledger.drops(0)), (Some(TryPopError::Empty), 1)),
    }
    for number in 1..21 {
        tx.try_push(ledger.token(number)).unwrap();
        assert_eq!(rx.try_pop().unwrap().number(), number);
    }
    ledger.assert_balanced(21);
}

pub(crate) fn a_panic_while_items_are_released(queue: impl Queue<Rx: Readable>) {
    let rounds = 3;
    let ledger = Ledger::new(rounds * queue.most());
    let (mut tx, mut rx) = queue.build();
    let mut made = 0;
    for _ in 0..rounds {
        for at in 0..queue.least() {
            let mut token = ledger.token(made);
            if at == 0 {
                token.panic_when_dropped();
            }
            tx.try_push(token).map_err(TryPushError::into_inner).map_err(|token| token.number()).unwrap();
            made += 1;
        }
        let released = catch_unwind(AssertUnwindSafe(|| rx.read(usize::MAX, <[Token]>::len)));
        assert!(released.is_err());
        while rx.try_pop().is_ok() {}
        assert_eq!(ledger.dropped(), made, "the others are dropped all the same");
    }
}

pub(crate) fn refusals_of_grants(queue: impl Granting) {
    let ledger = Ledger::new(queue.most() + 1);
    let (mut tx, mut rx) = queue.build();
    assert_eq!(rx.peeked(), Err(TryPopError::Empty));
    assert_eq!(rx.read(1, |_| 0), Err(TryPopError::Empty));
    let mut made = 0;
    while let Ok((_, 1)) = tx.write(1, std::iter::once_with(|| ledger.token(made)), true) {
        made += 1;
    }
    assert!((queue.least()..=queue.most()).contains(&made));
    assert_eq!(tx.write(1, std::iter::empty(), true), Err(TryPushError::Full(())));
    drop(rx);
    assert_eq!(tx.write(1, std::iter::empty(), true), Err(TryPushError::Closed(())));
    ledger.assert_balanced(made);
    let (tx, mut rx) = queue.build();
    drop(tx);
    assert_eq!(rx.peeked(), Err(TryPopError::Closed));
    assert_eq!(rx.read(1, |_| 0), Err(TryPopError::Closed));
}

pub(crate) fn grants_between_threads(queue: impl Granting) {
    const TOKENS: usize = often(10_000);
    let ledger = Ledger::new(TOKENS);
    let (mut tx, mut rx) = queue.build();
    thread::scope(|scope| {
        let ledger = &ledger;
        scope.spawn(move || {
            let mut made = 0;
            while made < TOKENS {
                let size = (1 + made % 23).min(TOKENS - made);
                match tx.write(size, (made..made + size).map(|number| ledger.token(number)), true) {
                    Ok((_, written)) => made += written,
                    Err(_) => thread::yield_now(),
                }
            }
        });
        let mut next = 0;
        loop {
            let mut released = 0;
            let read = rx.read(17, |items| {
                assert!(items.iter().map(Token::number).eq(next..next + items.len()));
                released = 1 + next % items.len();
                released
            });
            match read {
                Ok(_) => next += released,
                Err(TryPopError::Closed) => break,
                Err(_) => thread::yield_now(),
            }
        }
        assert_eq!(next, TOKENS);
    });
    ledger.assert_balanced(TOKENS);
}
