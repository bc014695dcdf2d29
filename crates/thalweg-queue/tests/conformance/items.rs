//! Items of every size and alignment, for the queues that carry any item; words of every kind.

use crate::one_by_one;
use std::fmt::Debug;
use std::num::{NonZeroU64, NonZeroUsize};
use std::ptr::NonNull;
use thalweg_queue::growing::{self, Most};
use thalweg_queue::research::tube::{self, ring, scqd::Scqd};
use thalweg_queue::spsc::fast_forward::Word;
use thalweg_queue::{
    Pop, Push, Yield, mpmc, mpsc,
    research::{cnq, faaq, lamport, locked, ticketed},
    spmc, spsc,
    spsc::fast_forward,
    stealing,
};
use thalweg_sync::sync::Arc;

/// Sends `items` through a queue with room for three, in steps of one to three.
fn through<T: Clone + PartialEq + Debug>(items: &[T], (mut tx, mut rx): (impl Push<Item = T>, impl Pop<Item = T>)) {
    for item in items {
        for step in 1..=3 {
            (0..step).for_each(|_| tx.try_push(item.clone()).map_err(|_| "no room").unwrap());
            (0..step).for_each(|_| assert_eq!(rx.try_pop().as_ref(), Ok(item)));
            assert!(rx.try_pop().is_err());
        }
    }
}

/// The same through every queue that carries any item.
fn through_all<T: Send + Clone + PartialEq + Debug>(items: &[T]) {
    through(items, fast_forward::in_place(3).unwrap());
    for (blocks, entries) in [(4, 1), (2, 3), (4, 2)] {
        through(items, mpmc::shared(blocks, entries).unwrap());
        through(items, mpsc::mpsc(blocks, entries).unwrap());
        through(items, spmc::spmc(blocks, entries).unwrap());
        through(items, spsc::spsc(blocks, entries).unwrap());
        through(items, faaq::shared(blocks, entries).unwrap());
        through(items, tube::queue(faaq::Bbq::new(blocks, entries).unwrap()));
    }
    for (chunk, most) in [(1, 9), (3, 20), (64, 64)] {
        through(items, growing::with_chunks(chunk, 2, Most::Entries(most)).unwrap());
    }
    through(items, one_by_one(8, Yield).unwrap());
    through(items, lamport::plain(3).unwrap());
    through(items, lamport::cached(3).unwrap());
    through(items, ticketed::ticketed(4).unwrap());
    through(items, locked::locked(3).unwrap());
    through(items, tube::queue(ring::Mt::new(3).unwrap()));
    through(items, tube::queue(ring::Rts::new(8).unwrap()));
    through(items, tube::queue(ring::Hts::new(3).unwrap()));
    through(items, tube::queue(Scqd::new(3).unwrap()));
    through(items, cnq::cnq(64, 16).unwrap());
    let (mut owner, _) = stealing::fifo(4, 2).unwrap();
    for item in items {
        (0..3).for_each(|_| owner.push(item.clone()).unwrap());
        (0..3).for_each(|_| assert_eq!(owner.pop().as_ref(), Some(item)));
    }
}

#[test]
fn zero_sized() {
    through_all(&[(); 20]);
}

#[test]
fn over_aligned() {
    #[derive(Clone, Copy, PartialEq, Debug)]
    #[repr(align(512))]
    struct Wide(u8);
    through_all(&[0, 1, 2, 3, 4, 5, 6].map(Wide));
}

#[test]
fn odd_sizes() {
    through_all(&[[1_u8, 2, 3], [4, 5, 6], [7, 8, 9]]);
    through_all(&[[7_u64; 100], [8; 100]]);
    through_all(&["a".to_owned(), "b".to_owned()]);
}

#[test]
fn words_of_every_kind() {
    fn through<T: Word + Send>(items: impl IntoIterator<Item = T>, check: impl Fn(usize, T)) {
        let (mut tx, mut rx) = fast_forward::fast_forward(3).unwrap();
        for (number, item) in items.into_iter().enumerate() {
            tx.push(item).unwrap();
            check(number, rx.pop().unwrap());
        }
    }
    static NUMBERS: [u64; 3] = [10, 11, 12];
    through((0..40).map(Box::new), |number, item| assert_eq!(*item, number));
    through((0..40).map(Arc::new), |number, item| assert_eq!(*item, number));
    // A build with engines has an `Arc` of its own; a user's is the standard library's in every build.
    through((0..40).map(std::sync::Arc::new), |number, item| assert_eq!(*item, number));
    through([(); 40].map(Box::new), |_, item| assert_eq!(*item, ()));
    through(&NUMBERS, |number, item| assert_eq!(*item, NUMBERS[number]));
    through((1..40).filter_map(NonZeroUsize::new), |number, item| assert_eq!(item.get(), number + 1));
    through([1, u64::MAX].into_iter().filter_map(NonZeroU64::new), |number, item| {
        assert_eq!(item.get(), [1, u64::MAX][number]);
    });
    let mut place = 7;
    let (mut tx, mut rx) = fast_forward::fast_forward(3).unwrap();
    tx.push(Address(NonNull::from(&mut place))).unwrap();
    assert_eq!(rx.pop().unwrap().0, NonNull::from(&mut place));
}

/// `NonNull` is not `Send`, whoever sends one says why it may be.
struct Address(NonNull<i32>);

// SAFETY: the test compares the address and never follows it.
unsafe impl Send for Address {}

impl Word for Address {
    fn into_word(self) -> NonNull<()> {
        self.0.into_word()
    }

    unsafe fn from_word(word: NonNull<()>) -> Self {
        // SAFETY: the word came from such a pointer, by the caller's promise.
        Self(unsafe { NonNull::from_word(word) })
    }
}

/// What the two ends say of a queue's length.
macro_rules! length_is {
    ($length:expr, $tx:expr, $rx:expr) => {
        assert_eq!(($tx.len(), $rx.len()), ($length, $length));
        assert_eq!(($tx.is_empty(), $rx.is_empty()), ($length == 0, $length == 0));
    };
}

#[test]
fn length_counts_what_waits() {
    macro_rules! check {
        ($($room:literal: $ends:expr,)+) => {
            $({
                #[allow(unused_mut, reason = "some handles are shared")]
                let (mut tx, mut rx) = $ends.unwrap();
                for _ in 0..3 {
                    for waiting in 1..=$room {
                        tx.try_push(waiting).unwrap();
                        length_is!(waiting, tx, rx);
                    }
                    for waiting in (0..$room).rev() {
                        rx.try_pop().unwrap();
                        length_is!(waiting, tx, rx);
                    }
                }
            })+
        };
    }
    check! {
        12: mpmc::shared::<usize>(4, 3),
        12: mpsc::mpsc::<usize>(4, 3),
        12: spmc::spmc::<usize>(4, 3),
        12: faaq::shared::<usize>(4, 3),
        12: faaq::Bbq::<usize>::new(4, 3).map(tube::queue),
        12: growing::with_chunks::<usize>(3, 6, Most::Entries(15)),
        12: one_by_one::<usize, _>(16, Yield),
        12: lamport::plain::<usize>(12),
        12: lamport::cached::<usize>(12),
        16: ticketed::ticketed::<usize>(16),
        12: locked::locked::<usize>(12),
        12: Scqd::<usize>::new(12).map(tube::queue),
        12: ring::Mt::<usize>::new(12).map(tube::queue),
        12: ring::Rts::<usize>::new(12).map(tube::queue),
        12: ring::Hts::<usize>::new(12).map(tube::queue),
        12: cnq::over::<usize, _>(Scqd::new(4).unwrap(), 4, 3, 12),
    }
}

/// FastForward's and the one-to-one BBQ's producers know no length; their consumers look.
#[test]
fn consumers_count_what_waits() {
    macro_rules! check {
        ($($ends:expr,)+) => {
            $({
                let (mut tx, mut rx) = $ends.unwrap();
                for round in 0..40_usize {
                    for waiting in 1..=5 {
                        tx.try_push(Box::new(round)).unwrap();
                        assert_eq!((rx.len(), rx.is_empty()), (waiting, false));
                    }
                    for waiting in (0..5).rev() {
                        rx.try_pop().unwrap();
                        assert_eq!((rx.len(), rx.is_empty()), (waiting, waiting == 0));
                    }
                }
            })+
        };
    }
    check! {
        fast_forward::fast_forward(5),
        fast_forward::fast_forward(61),
        fast_forward::in_place(5),
        spsc::spsc(2, 5),
        spsc::spsc(8, 1),
        spsc::spsc_from(u64::MAX - 5, 4, 3, Yield),
    }
}

/// Of nothing, all is pushed, whoever is there.
#[test]
fn an_empty_batch_is_not_refused() {
    macro_rules! check {
        ($($ends:expr,)+) => {
            $({
                #[allow(unused_mut, reason = "some handles are shared")]
                let (mut tx, rx) = $ends.unwrap();
                drop(rx);
                assert_eq!(tx.try_push_slice(&[]), Ok(0));
                assert_eq!(tx.try_push_many(&mut Vec::<&u8>::new()), Ok(0));
            })+
        };
    }
    check! {
        fast_forward::fast_forward::<&u8>(8),
        fast_forward::in_place::<&u8>(8),
        mpmc::shared::<&u8>(2, 4),
        spsc::spsc::<&u8>(2, 4),
        cnq::cnq::<&u8>(8, 4),
        lamport::cached::<&u8>(8),
        locked::locked::<&u8>(8),
        ticketed::ticketed::<&u8>(8),
    }
}
