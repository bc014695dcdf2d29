//! Items of every size and alignment, for the queues that carry any item.

use std::num::{NonZeroU64, NonZeroUsize};
use std::ptr::NonNull;
use thalweg_queue::fast_forward::Word;
use thalweg_queue::{BuildError, bbq, chunk_ring, fast_forward};
use thalweg_sync::sync::Arc;

/// Sends `items` through a queue of every small shape and returns them.
fn through_bbq<T: Send + Clone + PartialEq + std::fmt::Debug>(items: &[T]) {
    for (blocks, entries) in [(2, 1), (2, 3), (4, 2)] {
        let (tx, rx) = bbq::shared(blocks, entries).unwrap();
        for item in items {
            tx.push(item.clone()).unwrap();
            tx.push(item.clone()).unwrap();
            assert_eq!(tx.len(), 2);
            assert_eq!(rx.pop().as_ref(), Ok(item));
            assert_eq!(rx.pop().as_ref(), Ok(item));
            assert!(rx.is_empty());
        }
    }
}

/// The same through the chunk ring, in steps of one to three, so that it grows.
fn through_chunk_ring<T: Send + Clone + PartialEq + std::fmt::Debug>(items: &[T]) {
    for (chunk, most) in [(1, 9), (3, 20), (64, 64)] {
        let (mut tx, mut rx) = chunk_ring::with_chunks(chunk, 2, chunk_ring::Most::Entries(most)).unwrap();
        for item in items {
            for step in 1..=3 {
                (0..step).for_each(|_| tx.push(item.clone()).unwrap());
                assert_eq!((tx.len(), rx.len()), (step, step));
                (0..step).for_each(|_| assert_eq!(rx.pop().as_ref(), Ok(item)));
            }
        }
    }
}

#[test]
fn zero_sized() {
    through_bbq(&[(); 20]);
    through_chunk_ring(&[(); 20]);
}

#[test]
fn over_aligned() {
    #[derive(Clone, Copy, PartialEq, Debug)]
    #[repr(align(512))]
    struct Wide(u8);
    let (tx, rx) = bbq::shared(2, 2).unwrap();
    for number in 0..20 {
        tx.push(Wide(number)).unwrap();
        let popped = rx.pop().unwrap();
        assert_eq!(popped.0, number);
    }
    through_bbq(&[Wide(1), Wide(2)]);
    through_chunk_ring(&[Wide(1), Wide(2)]);
}

#[test]
fn odd_sizes() {
    through_bbq(&[[1_u8, 2, 3], [4, 5, 6]]);
    through_bbq(&[[7_u64; 100], [8; 100]]);
    through_bbq(&["a".to_owned(), "b".to_owned()]);
    through_chunk_ring(&[[1_u8, 2, 3], [4, 5, 6]]);
    through_chunk_ring(&[[7_u64; 100], [8; 100]]);
    through_chunk_ring(&["a".to_owned(), "b".to_owned()]);
}

#[test]
fn words_of_every_kind() {
    fn through<T: Word + Send>(items: impl IntoIterator<Item = T>, check: impl Fn(usize, T)) {
        let (mut tx, mut rx) = fast_forward(3).unwrap();
        for (number, item) in items.into_iter().enumerate() {
            tx.push(item).unwrap();
            check(number, rx.pop().unwrap());
        }
    }
    static NUMBERS: [u64; 3] = [10, 11, 12];
    through((0..40).map(Box::new), |number, item| assert_eq!(*item, number));
    through((0..40).map(Arc::new), |number, item| assert_eq!(*item, number));
    through([(); 40].map(Box::new), |_, item| assert_eq!(*item, ()));
    through(&NUMBERS, |number, item| assert_eq!(*item, NUMBERS[number]));
    through((1..40).filter_map(NonZeroUsize::new), |number, item| assert_eq!(item.get(), number + 1));
    through([1, u64::MAX].into_iter().filter_map(NonZeroU64::new), |number, item| {
        assert_eq!(item.get(), [1, u64::MAX][number]);
    });
    let mut place = 7;
    let (mut tx, mut rx) = fast_forward(3).unwrap();
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

#[test]
fn wrong_shapes_are_named() {
    let text = |error: BuildError| error.to_string();
    assert_eq!(text(bbq::shared::<u8>(3, 1).unwrap_err()), "blocks must be a power of two, not 3; 4 is the next");
    assert_eq!(text(bbq::shared::<u8>(1, 1).unwrap_err()), "blocks must be at least 2, not 1");
    assert_eq!(text(bbq::shared::<u8>(2, 0).unwrap_err()), "entries must be at least 1, not 0");
    assert_eq!(text(fast_forward::<Box<u8>>(0).unwrap_err()), "capacity must be at least 1, not 0");
    assert!(text(fast_forward::<Box<u8>>(usize::MAX).unwrap_err()).starts_with("capacity must be at most "));
    assert!(bbq::with_capacity::<u8>(0).is_err());
}

#[test]
fn length_counts_what_waits() {
    let (tx, rx) = bbq::shared(4, 3).unwrap();
    for waiting in 1..=12 {
        tx.try_push(waiting).unwrap();
        assert_eq!((tx.len(), rx.len()), (waiting, waiting));
    }
    assert!(tx.try_push(13).is_err());
    for waiting in (0..12).rev() {
        rx.try_pop().unwrap();
        assert_eq!((tx.len(), rx.len()), (waiting, waiting));
    }
    assert!(tx.is_empty() && rx.is_empty());
}
