//! What a queue that overwrites its oldest items promises: order, nothing twice, nothing torn, the newest kept, what is lost counted.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use thalweg_check::Fuzz;
use thalweg_queue::overwriting::{self, Consumer, Plain, Producer, drop_old, drop_old_from};
use thalweg_queue::wait::Wait;
use thalweg_queue::{BuildError, Park, PopError, PopTimeoutError, Spin, TryPopError, TryPushError, Yield};
use thalweg_sync::random::Xorshift;
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

/// Shapes, and the number of the first block: 43 bits are left for it in small blocks.
const SHAPES: [(usize, usize, u64); 6] =
    [(2, 1, 0), (2, 4, 0), (4, 3, 0), (2, 300, 0), (4, 3, (1 << 43) - 9), (2, 1, (1 << 43) - 2)];

/// One thread, pushes and pops in any order: each answer is the one and only right one.
#[test]
fn one_thread_sees_what_it_must() {
    for (blocks, entries, head) in SHAPES {
        let (blocks_, entries_) = (blocks as u64, entries as u64);
        let (tx, rx) = drop_old_from(head, blocks, entries, Yield).unwrap();
        let mut dice = Xorshift::new(head);
        let (mut pushed, mut next, mut dropped) = (0_u64, 0, 0);
        // Miri is slow.
        for _ in 0..if cfg!(miri) { 10 } else { 200 } {
            let more = dice.below(2 * blocks_ * entries_);
            if dice.below(2) == 0 {
                let numbers: Vec<_> = (pushed..pushed + more).collect();
                assert_eq!(tx.try_push_slice(&numbers), Ok(more as usize));
            } else {
                (pushed..pushed + more).for_each(|number| tx.try_push(number).unwrap());
            }
            pushed += more;
            // What was pushed last lies in the open block.
            let open = pushed.saturating_sub(1) / entries_;
            let oldest = (open + 1).saturating_sub(blocks_) * entries_;
            assert_eq!(rx.len() as u64, pushed - next.max(oldest));
            for _ in 0..dice.below(blocks_ * entries_ + 2) {
                dropped += oldest.saturating_sub(next);
                next = next.max(oldest);
                if next < pushed && dice.below(2) == 0 {
                    let (limit, mut popped) = (1 + dice.below(300), Vec::new());
                    let end = pushed.min(next + limit);
                    assert_eq!(rx.try_pop_many(&mut popped, limit as usize), Ok((end - next) as usize));
                    assert!(popped.into_iter().eq(next..end));
                    next = end;
                } else if next < pushed {
                    assert_eq!(rx.try_pop(), Ok(next));
                    next += 1;
                } else {
                    assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
                }
                assert_eq!(rx.dropped(), dropped);
            }
        }
        assert!(dropped > 0 && pushed > 100 || cfg!(miri));
    }
}

/// An item that says who pushed it, and notices if it is of two halves.
#[derive(Clone, Copy)]
struct Item<const WORDS: usize>([u64; WORDS]);

// SAFETY: an array of numbers, and nothing besides.
unsafe impl<const WORDS: usize> Plain for Item<WORDS> {}

impl<const WORDS: usize> Item<WORDS> {
    fn new(producer: u64, number: u64) -> Self {
        Self(core::array::from_fn(|word| (producer << 32 | number) ^ (word as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// The producer and the number.
    fn open(self) -> (u64, u64) {
        let first = self.0[0];
        let whole = Self::new(first >> 32, first & 0xffff_ffff);
        assert_eq!(self.0, whole.0, "torn");
        (first >> 32, first & 0xffff_ffff)
    }
}

/// What consumers popped: by position, who pushed it and as which.
type Popped = BTreeMap<u64, (u64, u64)>;

/// Pops with `pop` until the queue is closed. Positions rise.
fn pop_all<const WORDS: usize, W: Wait>(rx: &Consumer<Item<WORDS>, W>, mut pause: impl FnMut()) -> Popped {
    let mut popped = Popped::new();
    loop {
        match rx.try_pop_numbered() {
            Ok((position, item)) => {
                assert!(popped.last_key_value().is_none_or(|(last, _)| *last < position), "out of order");
                popped.insert(position, item.open());
                pause();
            }
            Err(TryPopError::Closed) => return popped,
            Err(_) => thread::yield_now(),
        }
    }
}

/// Several producers and consumers: what was popped is a subsequence of what was pushed, in order, and the rest is counted.
fn many<const WORDS: usize, W: Wait>(
    (tx, rx): (Producer<Item<WORDS>, W>, Consumer<Item<WORDS>, W>),
    producers: u64,
    consumers: u64,
    each: u64,
    pause: fn(),
) {
    let lists: Vec<Popped> = thread::scope(|scope| {
        for producer in 0..producers {
            let tx = tx.clone();
            scope.spawn(move || {
                // Every other one pushes in batches.
                let size = if producer % 2 == 0 { 1 } else { 3 };
                let numbers: Vec<_> = (0..each).collect();
                for numbers in numbers.chunks(size) {
                    let mut items: Vec<_> = numbers.iter().map(|&number| Item::new(producer, number)).collect();
                    match size {
                        1 => tx.push(items[0]).unwrap(),
                        _ => tx.push_many(&mut items).unwrap(),
                    }
                }
            });
        }
        drop(tx);
        let consumers: Vec<_> =
            (0..consumers).map(|_| rx.clone()).map(|rx| scope.spawn(move || pop_all(&rx, pause))).collect();
        consumers.into_iter().map(|consumer| consumer.join().unwrap()).collect()
    });
    let all: Popped = lists.iter().flatten().map(|(&position, &item)| (position, item)).collect();
    assert_eq!(all.len(), lists.iter().map(BTreeMap::len).sum::<usize>(), "popped twice");
    let mut next = BTreeMap::new();
    for &(producer, number) in all.values() {
        let next = next.entry(producer).or_insert(0);
        assert!(number >= *next, "item {number} of {producer} after item {}", *next - 1);
        *next = number + 1;
    }
    assert_eq!(all.len() as u64 + rx.dropped(), producers * each, "neither popped nor dropped");
    assert!(all.last_key_value().is_some_and(|(&last, _)| last + 1 == producers * each), "the newest is lost");
    assert_eq!((rx.len(), rx.is_closed()), (0, true));
}

#[test]
fn natively() {
    let each = if cfg!(debug_assertions) { 20_000 } else { 1_000_000 };
    many::<1, _>(drop_old(2, 1).unwrap(), 2, 2, each, || {});
    many::<3, _>(drop_old(2, 8).unwrap(), 2, 1, each, || {});
    many::<16, _>(drop_old(4, 64).unwrap(), 1, 1, each, || {});
    many::<2, _>(overwriting::with_wait(4, 3, Spin).unwrap(), 1, 2, each, || {});
}

/// Writers that are ten times as fast as the reader.
#[test]
fn a_slow_reader_sees_whole_items() {
    let each = if cfg!(debug_assertions) { 50_000 } else { 500_000 };
    many::<7, _>(drop_old(4, 4).unwrap(), 1, 1, each, || (0..200).for_each(|_| std::hint::black_box(())));
}

#[test]
fn under_the_fuzzer() {
    for (blocks, entries) in [(2, 1), (2, 2), (4, 1)] {
        Fuzz::new().seeds(0..150).run(|| many::<2, _>(drop_old(blocks, entries).unwrap(), 3, 2, 5, || {}));
        Fuzz::new().seeds(0..100).run(|| {
            let ends = overwriting::with_wait(blocks, entries, Park::new()).unwrap();
            many::<2, _>(ends, 3, 1, 4, || {});
        });
    }
}

/// Consumers that sleep, and producers that a late push keeps waiting: a lost wake-up would be a deadlock.
#[test]
fn nobody_sleeps_for_ever() {
    Fuzz::new().seeds(0..300).run(|| {
        let (tx, rx) = overwriting::with_wait(2, 1, Park::new()).unwrap();
        thread::scope(|scope| {
            for _ in 0..3 {
                let tx = tx.clone();
                scope.spawn(move || (0..4_u64).for_each(|number| tx.push(number).unwrap()));
            }
            drop(tx);
            for _ in 0..2 {
                let rx = rx.clone();
                scope.spawn(move || while rx.pop().is_ok() {});
            }
        });
    });
}

/// A request is answered before the next one: who sleeps is woken by the push itself.
#[test]
fn a_push_wakes_who_sleeps() {
    Fuzz::new().seeds(0..200).run(|| {
        let (ask, asked) = overwriting::with_wait(2, 2, Park::new()).unwrap();
        let (answer, answered) = overwriting::with_wait(2, 1, Park::new()).unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                while let Ok(request) = asked.pop() {
                    answer.push(request + 1_u32).unwrap();
                }
            });
            for request in 0..6 {
                ask.push(request).unwrap();
                assert_eq!(answered.pop(), Ok(request + 1));
            }
            drop(ask);
        });
    });
}

#[test]
fn ends_close() {
    let (tx, rx) = drop_old(2, 2).unwrap();
    (0..3_u8).for_each(|number| tx.try_push(number).unwrap());
    let other = tx.clone();
    drop(tx);
    assert!(!rx.is_closed());
    drop(other);
    assert!(rx.is_closed());
    assert_eq!([(); 4].map(|()| rx.try_pop()), [Ok(0), Ok(1), Ok(2), Err(TryPopError::Closed)]);
    assert_eq!(rx.pop(), Err(PopError));

    let (tx, rx) = drop_old(2, 2).unwrap();
    let other = rx.clone();
    drop(rx);
    assert_eq!(tx.try_push('a'), Ok(()));
    drop(other);
    assert!(tx.is_closed());
    assert_eq!(tx.try_push('b'), Err(TryPushError::Closed('b')));
    assert_eq!(tx.push('c').unwrap_err().0, 'c');
}

#[test]
fn waits_end() {
    let (tx, rx) = overwriting::with_wait(2, 2, Park::new()).unwrap();
    assert_eq!(rx.pop_timeout(Duration::from_millis(1)), Err(PopTimeoutError::Timeout));
    tx.push_timeout(1_u32, Duration::from_millis(1)).unwrap();
    assert_eq!(rx.pop_timeout(Duration::from_millis(1)), Ok(1));
    let consumer = thread::spawn(move || (rx.pop(), rx.pop()));
    thread::sleep(Duration::from_millis(2));
    tx.push(2).unwrap();
    drop(tx);
    assert_eq!(consumer.join().unwrap(), (Ok(2), Err(PopError)));
}

#[test]
fn batches_and_any_size() {
    fn survives<T: Plain + PartialEq + core::fmt::Debug>(items: [T; 3]) {
        let (tx, rx) = drop_old(2, 2).unwrap();
        assert_eq!(tx.try_push_slice(&items), Ok(3));
        let mut popped = Vec::new();
        assert_eq!(rx.try_pop_many(&mut popped, 9), Ok(3));
        assert_eq!(popped, items);
    }
    survives([(), (), ()]);
    survives([1_u8, 2, 3]);
    survives([[1_u8; 3], [2; 3], [3; 3]]);
    survives([u128::MAX, 1, 2]);
    survives(core::array::from_fn(|item| core::array::from_fn::<u8, 61, _>(|byte| (item * 61 + byte) as u8)));
}

/// Several batches, of two blocks; the places behind them are left as they are.
#[test]
fn places_need_not_hold_anything() {
    let (tx, rx) = drop_old(2, 300).unwrap();
    let mut places = [MaybeUninit::uninit(); 600];
    places[500..].fill(MaybeUninit::new(u64::MAX));
    assert_eq!(rx.try_pop_uninit(&mut places), Err(TryPopError::Empty));
    (0..500).for_each(|number| tx.try_push(number).unwrap());
    assert_eq!(rx.try_pop_uninit(&mut []), Ok(0));
    assert_eq!(rx.try_pop_uninit(&mut places), Ok(500));
    // SAFETY: the first ones were written by the pop, the others above.
    let places = places.map(|place| unsafe { place.assume_init() });
    assert!(places.into_iter().eq((0..500).chain([u64::MAX; 100])));
}

#[test]
fn wrong_shapes_are_named() {
    let shape = |blocks, entries| overwriting::drop_old::<[u64; 2]>(blocks, entries).map(|(tx, _)| tx.capacity());
    assert_eq!(shape(2, 3), Ok(6));
    assert_eq!(shape(1, 8), Err(BuildError::TooSmall { parameter: "blocks", value: 1, min: 2 }));
    assert_eq!(shape(12, 8), Err(BuildError::NotPowerOfTwo { parameter: "blocks", value: 12 }));
    assert_eq!(shape(2, 0), Err(BuildError::TooSmall { parameter: "entries", value: 0, min: 1 }));
    assert_eq!(shape(2, 1 << 40), Err(BuildError::TooLarge { parameter: "entries", value: 1 << 40, max: 1 << 31 }));
    for blocks in [1 << 40, usize::MAX] {
        assert_eq!(shape(blocks, 8), Err(BuildError::TooLarge { parameter: "blocks", value: blocks, max: 1 << 31 }));
    }
}
