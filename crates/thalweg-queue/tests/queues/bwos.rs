//! What the work-stealing queues promise. Both orders run the same tests; the reference is a list.

use crate::support::Bomb;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use thalweg_queue::stealing::{self, Rng, StealError, Stealer};
use thalweg_queue::{BuildError, TryPushError};
use thalweg_sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

/// An owner of either order.
trait Owner<T: Send>: Send + Sized + Debug {
    /// Whether it pops what it pushed last.
    const LIFO: bool;
    fn build(blocks: usize, entries: usize) -> Result<(Self, Stealer<T>), BuildError>;
    fn push(&mut self, value: T) -> Result<(), TryPushError<T>>;
    fn pop(&mut self) -> Option<T>;
    fn share(&mut self);
    fn stealer(&self) -> Stealer<T>;
    fn len(&self) -> usize;
    fn capacity(&self) -> usize;
}

macro_rules! owner {
    ($order:ident, $lifo:literal) => {
        impl<T: Send> Owner<T> for stealing::$order::Owner<T> {
            const LIFO: bool = $lifo;
            fn build(blocks: usize, entries: usize) -> Result<(Self, Stealer<T>), BuildError> {
                stealing::$order(blocks, entries)
            }
            fn push(&mut self, value: T) -> Result<(), TryPushError<T>> {
                Self::push(self, value)
            }
            fn pop(&mut self) -> Option<T> {
                Self::pop(self)
            }
            fn share(&mut self) {
                Self::share(self);
            }
            fn stealer(&self) -> Stealer<T> {
                Self::stealer(self)
            }
            fn len(&self) -> usize {
                assert_eq!(Self::len(self) == 0, Self::is_empty(self));
                Self::len(self)
            }
            fn capacity(&self) -> usize {
                Self::capacity(self)
            }
        }
    };
}
owner!(lifo, true);
owner!(fifo, false);

/// Each test for both orders.
macro_rules! promises {
    ($($test:ident),+ $(,)?) => {
        mod lifo {
            $(#[test]
            fn $test() {
                super::$test::<thalweg_queue::stealing::lifo::Owner<super::Token>>();
            })+
        }
        mod fifo {
            $(#[test]
            fn $test() {
                super::$test::<thalweg_queue::stealing::fifo::Owner<super::Token>>();
            })+
        }
    };
}
promises! {
    agrees_with_a_list, every_shape_is_used_up_to_its_capacity, a_queue_near_empty_goes_round,
    one_item_in_each_block_is_what_fills_it, stolen_batches_are_whole_and_in_order,
    the_owner_leaves_the_rest_to_thieves, what_nobody_took_is_dropped_once, thieves_and_owner_share_all_out,
}

/// How often each token was dropped.
#[derive(Clone, Debug)]
struct Ledger(Arc<[AtomicU32]>);

/// An item that notes its drop.
#[derive(Debug)]
struct Token(Box<(usize, Ledger)>);

impl Ledger {
    fn new(tokens: usize) -> Self {
        Self((0..tokens).map(|_| AtomicU32::new(0)).collect())
    }

    fn token(&self, number: usize) -> Token {
        Token(Box::new((number, self.clone())))
    }

    /// The first `made` tokens were dropped once, the others never.
    #[track_caller]
    fn assert_dropped(&self, made: usize) {
        for (number, drops) in self.0.iter().enumerate() {
            assert_eq!(drops.load(Ordering::Relaxed), u32::from(number < made), "drops of token {number}");
        }
    }
}

impl Token {
    fn number(&self) -> usize {
        self.0.0
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.0.1.0[self.0.0].fetch_add(1, Ordering::Relaxed);
    }
}

/// Random operations of the owner and a thief, one at a time: so every answer is known but for the choice of a block.
fn agrees_with_a_list<O: Owner<Token>>() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let (blocks, entries) = (2 + rng.below(4), 1 + rng.below(5));
        let ledger = Ledger::new(2_000);
        let (mut owner, thief) = O::build(blocks, entries).unwrap();
        // Numbers ascend, so the next to pop is the last or the first of what is left.
        let mut left: VecDeque<usize> = VecDeque::new();
        let mut made = 0;
        // Phases of more pushes and of more pops reach full and empty queues.
        for step in 0..1_500 {
            let pushes = if step / 50 % 2 == 0 { 6 } else { 2 };
            match rng.below(10) {
                choice if choice < pushes => {
                    match owner.push(ledger.token(made)) {
                        Ok(()) => left.push_back(made),
                        Err(TryPushError::Full(token)) => {
                            assert_eq!(token.number(), made);
                            assert!(left.len() >= blocks, "full with {} items", left.len());
                        }
                        Err(refused) => panic!("{refused:?} without a thief under way"),
                    }
                    made += 1;
                }
                choice if choice < 7 => {
                    let expected = if O::LIFO { left.pop_back() } else { left.pop_front() };
                    assert_eq!(owner.pop().map(|token| token.number()), expected);
                }
                7 => {
                    owner.share();
                    assert_eq!(thief.len(), left.len());
                }
                8 => match thief.steal() {
                    Ok(token) => assert!(take(&mut left, token.number())),
                    Err(error) => assert_eq!((error, thief.len()), (StealError::Empty, 0)),
                },
                _ => {
                    let granted = thief.len();
                    let (mut batch, most) = (Vec::new(), rng.below(entries + 2));
                    match thief.steal_into(&mut batch, most) {
                        Ok(count) => assert_eq!(count, batch.len()),
                        Err(error) => assert_eq!((error, granted), (StealError::Empty, 0)),
                    }
                    assert!(batch.len() <= most.min(entries) && (!batch.is_empty() || most == 0 || granted == 0));
                    assert!(batch.iter().all(|token| take(&mut left, token.number())));
                }
            }
            assert_eq!(owner.len(), left.len());
            assert!(thief.len() <= left.len());
        }
        drop((owner, thief));
        ledger.assert_dropped(made);
    }
}

/// Removes `number`. Whether it was there.
fn take(left: &mut VecDeque<usize>, number: usize) -> bool {
    let at = left.binary_search(&number);
    at.is_ok_and(|at| left.remove(at).is_some())
}

fn every_shape_is_used_up_to_its_capacity<O: Owner<Token>>() {
    for (blocks, entries) in [(2, 1), (2, 4), (3, 5), (8, 8)] {
        let capacity = blocks * entries;
        let ledger = Ledger::new(4 * (capacity + 1));
        let (mut owner, thief) = O::build(blocks, entries).unwrap();
        assert_eq!([owner.capacity(), thief.capacity()], [capacity; 2]);
        for round in 0..4 {
            let first = round * (capacity + 1);
            for number in first..first + capacity {
                owner.push(ledger.token(number)).unwrap();
            }
            assert_eq!(owner.len(), capacity);
            let refused = owner.push(ledger.token(first + capacity)).unwrap_err();
            assert!(matches!(&refused, TryPushError::Full(token) if token.number() == first + capacity));
            drop(refused);
            for popped in 0..capacity {
                let expected = first + if O::LIFO { capacity - 1 - popped } else { popped };
                assert_eq!(owner.pop().unwrap().number(), expected);
            }
            assert!(owner.pop().is_none());
        }
        ledger.assert_dropped(4 * (capacity + 1));
    }
}

/// One in, one out, with and without sharing in between.
fn a_queue_near_empty_goes_round<O: Owner<Token>>() {
    for (share, waiting) in [(false, 1), (true, 1), (false, 3), (true, 3)] {
        let ledger = Ledger::new(200);
        let (mut owner, thief) = O::build(2, 4).unwrap();
        let mut left = VecDeque::new();
        for number in 0..200 {
            owner.push(ledger.token(number)).unwrap();
            left.push_back(number);
            if share {
                owner.share();
                assert_eq!((owner.len(), thief.len()), (left.len(), left.len()));
            }
            if left.len() == waiting {
                let expected = if O::LIFO { left.pop_back() } else { left.pop_front() };
                assert_eq!(owner.pop().map(|token| token.number()), expected);
            }
        }
        drop((owner, thief));
        ledger.assert_dropped(200);
    }
}

/// Thieves take all but an item here and there. A block is free as soon as nothing is in it, wherever it is.
fn one_item_in_each_block_is_what_fills_it<O: Owner<Token>>() {
    const BLOCKS: usize = 4;
    const ENTRIES: usize = 4;
    for keep in 0..BLOCKS {
        let ledger = Ledger::new(BLOCKS * ENTRIES + (BLOCKS - 1) * ENTRIES);
        let (mut owner, thief) = O::build(BLOCKS, ENTRIES).unwrap();
        for number in 0..BLOCKS * ENTRIES {
            owner.push(ledger.token(number)).unwrap();
        }
        owner.share();
        // Blocks are first used in their order. One keeps its last item.
        for block in 0..BLOCKS {
            let mut batch = Vec::new();
            thief.steal_into_in(block, &mut batch, ENTRIES - usize::from(block == keep)).unwrap();
        }
        assert_eq!(owner.len(), 1);
        // The owner holds an item of the kept block: the oldest, and the newest.
        let popped = owner.pop().unwrap();
        assert_eq!(popped.number(), keep * ENTRIES + ENTRIES - 1);
        owner.push(popped).unwrap();
        for number in BLOCKS * ENTRIES..BLOCKS * ENTRIES + (BLOCKS - 1) * ENTRIES {
            owner.push(ledger.token(number)).unwrap();
        }
        drop((owner, thief));
        ledger.assert_dropped(BLOCKS * ENTRIES + (BLOCKS - 1) * ENTRIES);
    }
}

fn stolen_batches_are_whole_and_in_order<O: Owner<Token>>() {
    for most in [1, 3, 8, 9, usize::MAX] {
        let ledger = Ledger::new(24);
        let (mut owner, thief) = O::build(3, 8).unwrap();
        for number in 0..24 {
            owner.push(ledger.token(number)).unwrap();
        }
        owner.share();
        let mut batch = Vec::new();
        assert_eq!(thief.steal_into(&mut batch, 0), Ok(0));
        // From the oldest block to the newest, each from its start.
        while batch.len() < 24 {
            let left_of_block = 8 - batch.len() % 8;
            assert_eq!(thief.steal_into(&mut batch, most), Ok(left_of_block.min(most)));
        }
        assert_eq!(thief.steal_into(&mut batch, most), Err(StealError::Empty));
        assert!(batch.iter().map(Token::number).eq(0..24));
        drop(batch);
        ledger.assert_dropped(24);
    }
}

fn the_owner_leaves_the_rest_to_thieves<O: Owner<Token>>() {
    for pushed in [0, 1, 5, 8] {
        let ledger = Ledger::new(pushed);
        let (mut owner, thief) = O::build(2, 4).unwrap();
        for number in 0..pushed {
            owner.push(ledger.token(number)).unwrap();
        }
        let late = owner.stealer();
        assert!(!thief.is_closed());
        drop(owner);
        assert!(thief.is_closed() && thief.is_drained() == (pushed == 0));
        for number in 0..pushed {
            let thief = if number % 2 == 0 { &thief } else { &late };
            assert_eq!(thief.steal().map(|token| token.number()), Ok(number));
        }
        assert_eq!(late.steal().err(), Some(StealError::Closed));
        assert!(thief.is_drained());
        ledger.assert_dropped(pushed);
    }
}

fn what_nobody_took_is_dropped_once<O: Owner<Token>>() {
    for owner_last in [false, true] {
        for shared in [false, true] {
            let ledger = Ledger::new(30);
            let (mut owner, thief) = O::build(4, 8).unwrap();
            for number in 0..30 {
                owner.push(ledger.token(number)).unwrap();
            }
            drop(thief.steal());
            drop(owner.pop());
            if shared {
                owner.share();
            }
            if owner_last {
                drop(thief);
                drop(owner);
            } else {
                drop(owner);
                drop(thief);
            }
            ledger.assert_dropped(30);
        }
    }
}

#[test]
fn a_destructor_that_panics_in_the_last_handle_stops_no_other() {
    fn check<O: Owner<Bomb>>() {
        for bomb in 0..12 {
            let counted = Arc::new(());
            let (mut owner, thief) = O::build(4, 4).unwrap();
            for number in 0..12 {
                owner.push(Bomb(number == bomb, counted.clone())).map_err(|_| "no room").unwrap();
            }
            drop(owner);
            assert!(catch_unwind(AssertUnwindSafe(|| drop(thief))).is_err());
            assert_eq!(Arc::strong_count(&counted), 1, "the others are dropped all the same");
        }
    }
    check::<stealing::fifo::Owner<Bomb>>();
    check::<stealing::lifo::Owner<Bomb>>();
}

/// The owner and three thieves at full speed. Everything is taken once; the owner's order holds.
fn thieves_and_owner_share_all_out<O: Owner<Token>>() {
    const TOKENS: usize = 30_000;
    for (blocks, entries) in [(2, 1), (2, 4), (8, 32)] {
        let ledger = Ledger::new(TOKENS);
        let taken = AtomicUsize::new(0);
        let (mut owner, thief) = O::build(blocks, entries).unwrap();
        thread::scope(|scope| {
            for most in [1, 2, usize::MAX] {
                let (thief, taken) = (thief.clone(), &taken);
                scope.spawn(move || {
                    let mut batch = Vec::new();
                    loop {
                        match thief.steal_into(&mut batch, most) {
                            Ok(_) => {
                                taken.fetch_add(batch.len(), Ordering::Relaxed);
                                let ascends = batch.windows(2).all(|pair| pair[0].number() < pair[1].number());
                                assert!(ascends);
                                batch.clear();
                            }
                            Err(StealError::Closed) => break,
                            Err(_) => thread::yield_now(),
                        }
                    }
                });
            }
            let mut rng = Rng::new(7);
            let mut popped = Vec::new();
            for number in 0..TOKENS {
                let mut token = ledger.token(number);
                while let Err(refused) = owner.push(token) {
                    token = refused.into_inner();
                    popped.extend(owner.pop());
                }
                match rng.below(8) {
                    0 => owner.share(),
                    1 | 2 => popped.extend(owner.pop()),
                    _ => {}
                }
            }
            if !O::LIFO {
                assert!(popped.windows(2).all(|pair| pair[0].number() < pair[1].number()));
            }
            taken.fetch_add(popped.len(), Ordering::Relaxed);
            drop(owner);
        });
        assert_eq!(taken.load(Ordering::Relaxed), TOKENS);
        ledger.assert_dropped(TOKENS);
    }
}

/// Sends items through queues of both orders and all small shapes, by pop and by steal.
fn through<T: Send + Clone + PartialEq + Debug>(items: &[T]) {
    fn order<T: Send + Clone + PartialEq + Debug, O: Owner<T>>(items: &[T]) {
        for (blocks, entries) in [(2, 1), (2, 3), (5, 2)] {
            let (mut owner, thief) = O::build(blocks, entries).unwrap();
            for item in items {
                owner.push(item.clone()).unwrap();
                assert_eq!(owner.pop().as_ref(), Some(item));
                owner.push(item.clone()).unwrap();
                owner.share();
                assert_eq!(thief.steal().as_ref(), Ok(item));
                assert_eq!(owner.pop(), None);
            }
        }
    }
    order::<T, stealing::lifo::Owner<T>>(items);
    order::<T, stealing::fifo::Owner<T>>(items);
}

#[test]
fn items_of_every_size() {
    #[derive(Clone, PartialEq, Debug)]
    #[repr(align(512))]
    struct Wide(u8);
    through(&[(); 20]);
    through(&[Wide(1), Wide(2), Wide(3)]);
    through(&[[1_u8, 2, 3], [4, 5, 6]]);
    through(&[[7_u64; 100], [8; 100]]);
    through(&["a".to_owned(), "b".to_owned()]);
}

#[test]
fn wrong_shapes_are_named() {
    let text = |error: BuildError| error.to_string();
    assert_eq!(text(stealing::lifo::<u8>(1, 1).unwrap_err()), "blocks must be at least 2, not 1");
    assert_eq!(text(stealing::fifo::<u8>(2, 0).unwrap_err()), "entries must be at least 1, not 0");
    assert!(text(stealing::fifo::<u8>(2, usize::MAX).unwrap_err()).starts_with("entries must be at most "));
}

/// Batches of an owner: what does not fit stays, in its order, and nothing is lost or dropped twice.
#[test]
fn batches_are_pushed_as_far_as_they_fit() {
    macro_rules! check {
        ($order:ident) => {
            let counted = Arc::new(());
            let (mut owner, thief) = stealing::$order(2, 3).unwrap();
            let mut items: Vec<_> = (0..9).map(|number| (number, counted.clone())).collect();
            assert_eq!(owner.push_many(&mut items), Ok(6));
            assert!(items.iter().map(|item| item.0).eq(6..9));
            assert_eq!(owner.push_many(&mut items), Err(TryPushError::Full(())));
            assert_eq!((items.len(), owner.push_many(&mut Vec::new())), (3, Ok(0)));
            owner.share();
            assert_eq!(thief.steal().unwrap().0, 0);
            items.clear();
            assert_eq!((owner.pop_many(&mut items, 2), owner.pop_many(&mut items, 0)), (2, 0));
            assert_eq!((owner.pop_many(&mut items, 9), items.len()), (3, 5));
            assert_eq!(owner.pop_many(&mut items, 9), 0);
            let popped = items.drain(..).map(|item| item.0);
            assert!(if stringify!($order) == "lifo" { popped.rev().eq(1..6) } else { popped.eq(1..6) });
            assert_eq!(Arc::strong_count(&counted), 1);
        };
    }
    check!(lifo);
    check!(fifo);
}
