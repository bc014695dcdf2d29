//! What only the chunk ring does: it grows, shrinks, keeps to its limits, and gets on without memory.
#![cfg(not(loom))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::ptr::null_mut;
use std::sync::Arc;
use std::task::{Context, Wake};
use thalweg_queue::growing::{Most, Producer, chunk_ring, with_chunks, with_wait};
use thalweg_queue::wait::Wait;
use thalweg_queue::{Park, Push, TryPopError, TryPushError};
use thalweg_sync::atomic::{AtomicUsize, Ordering};

/// Refuses whatever has exactly this size: the tests run side by side, and each has a size of its own.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

struct Sometimes;

// SAFETY: it is the system's allocator, or it has no memory.
unsafe impl GlobalAlloc for Sometimes {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() == REFUSED.load(Ordering::Relaxed) {
            return null_mut();
        }
        // SAFETY: by the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: by the caller's promise; `alloc` had it from there.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Sometimes = Sometimes;

/// What a chunk takes besides its entries: a line, and what it is moved up by to begin with one.
const HEADER: usize = 64 + 48;

/// Pushes `count` numbers from `first` on.
fn push<W: Wait>(tx: &mut Producer<u64, W>, first: u64, count: u64) -> Result<(), TryPushError<u64>> {
    (first..first + count).try_for_each(|number| tx.try_push(number))
}

#[test]
fn grows_by_doubling_up_to_the_largest_chunk() {
    let (mut tx, mut rx) = with_chunks::<u64>(16, 4, Most::Entries(100)).unwrap();
    assert_eq!((tx.growth().chunks, tx.growth().entries, tx.capacity()), (2, 4, 100));
    let mut entries = Vec::new();
    for number in 0..100 {
        tx.try_push(number).unwrap();
        entries.push(tx.growth().entries);
    }
    entries.dedup();
    assert_eq!(entries, [4, 8, 16, 32, 48, 64, 80, 96, 100]);
    assert_eq!(tx.growth().grown, 8);
    assert_eq!(tx.try_push(100), Err(TryPushError::Full(100)));
    assert_eq!((tx.len(), rx.len()), (100, 100));
    for number in 0..100 {
        assert_eq!(rx.try_pop(), Ok(number));
    }
    assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
}

/// However often it was refused, and whatever it did meanwhile.
#[test]
fn a_full_ring_takes_more_once_a_chunk_is_left() {
    let (mut tx, mut rx) = with_chunks::<u64>(4, 4, Most::Entries(8)).unwrap();
    push(&mut tx, 0, 8).unwrap();
    let mut next = 8;
    for number in 0..40 {
        assert_eq!(rx.try_pop(), Ok(number));
        for _ in 0..2 {
            while tx.try_push(next).is_ok() {
                next += 1;
            }
            assert!(next >= number + 5, "{next} were pushed when {number} was popped");
            tx.shrink();
        }
    }
}

/// The step to a chunk with fewer entries wakes a producer, whose waker panics.
#[test]
fn a_step_that_ends_in_a_panic_is_made() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker panics");
        }
    }
    let (mut tx, mut rx) = with_wait::<u64, _>(4, 5, Most::Entries(5), Park::new()).unwrap();
    // A chunk of two and one of three; and two more in the first.
    push(&mut tx, 0, 5).unwrap();
    (0..3).for_each(|number| assert_eq!(rx.try_pop(), Ok(number)));
    push(&mut tx, 5, 2).unwrap();
    let mut waiting = pin!(tx.push_async(7));
    let waker = Arc::new(Panics).into();
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    (3..5).for_each(|number| assert_eq!(rx.try_pop(), Ok(number)));
    assert!(catch_unwind(AssertUnwindSafe(|| rx.try_pop())).is_err());
    assert_eq!([(); 3].map(|()| rx.try_pop()), [Ok(5), Ok(6), Err(TryPopError::Empty)]);
}

#[test]
fn bytes_are_a_limit_too() {
    const MOST: usize = 4096;
    let (mut tx, _rx) = with_chunks::<u64>(64, 8, Most::Bytes(MOST)).unwrap();
    let mut pushed = 0;
    while tx.try_push(pushed).is_ok() {
        pushed += 1;
        assert!(tx.growth().bytes <= MOST);
    }
    // Full: not one more entry would fit with its header, and every one that there is holds an item.
    assert!(tx.growth().bytes + HEADER + 8 > MOST, "{:?}", tx.growth());
    assert_eq!(pushed as usize, tx.growth().entries);
    // The headers make them fewer than one chunk would have.
    assert!(tx.growth().entries < tx.capacity() - 64, "{:?}", tx.growth());
    assert_eq!(tx.growth().bytes, 8 * tx.growth().entries + HEADER * tx.growth().chunks);
}

#[test]
fn without_memory_it_is_full() {
    // The ring begins with two chunks of half this many entries, and asks for one of so many next.
    const ENTRIES: usize = 1214;
    let (mut tx, mut rx) = with_chunks::<u64>(ENTRIES, ENTRIES, Most::Entries(2 * ENTRIES)).unwrap();
    REFUSED.store(HEADER + 8 * ENTRIES, Ordering::Relaxed);
    push(&mut tx, 0, ENTRIES as u64).unwrap();
    for _ in 0..3 {
        assert_eq!(tx.try_push(7), Err(TryPushError::Full(7)));
    }
    assert!(!Push::may_push(&tx), "an end that waits would try again and again");
    // It goes on with what it has,
    for number in 0..=ENTRIES as u64 / 2 {
        assert_eq!(rx.try_pop(), Ok(number));
    }
    push(&mut tx, ENTRIES as u64, 10).unwrap();
    assert_eq!(tx.growth().grown, 0);
    // and grows when there is memory again.
    REFUSED.store(0, Ordering::Relaxed);
    push(&mut tx, ENTRIES as u64 + 10, ENTRIES as u64).unwrap();
    assert_eq!((tx.growth().grown, tx.growth().entries), (1, 2 * ENTRIES));
    for number in ENTRIES as u64 / 2 + 1..2 * ENTRIES as u64 + 10 {
        assert_eq!(rx.try_pop(), Ok(number));
    }
    assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
}

#[test]
fn a_burst_is_forgotten() {
    let (mut tx, mut rx) = with_chunks::<u64>(8, 16, Most::Entries(1024)).unwrap();
    push(&mut tx, 0, 1024).unwrap();
    for number in 0..1024 {
        assert_eq!(rx.try_pop(), Ok(number));
    }
    let grown = tx.growth().grown;
    // A steady trickle turns the ring, which shrinks as it does; by one chunk at a time, and not below its first size.
    let mut before = tx.growth();
    for number in 0..200_000 {
        tx.try_push(number).unwrap();
        assert_eq!(rx.try_pop(), Ok(number));
        let now = tx.growth();
        assert!(now.entries >= 16 && now.chunks + 1 >= before.chunks, "{before:?} {now:?}");
        before = now;
    }
    assert!(before.entries <= 32, "{before:?}");
    assert_eq!(before.grown, grown, "it does not grow and shrink in turn");
    assert!(before.bytes <= 8 * (before.entries + 8) + HEADER * (before.chunks + 1), "one spare chunk: {before:?}");
}

#[test]
fn a_load_that_comes_and_goes_stays_off_the_allocator() {
    let (mut tx, mut rx) = with_chunks::<u64>(8, 16, Most::Entries(1024)).unwrap();
    for _ in 0..10_000 {
        push(&mut tx, 0, 100).unwrap();
        for number in 0..100 {
            assert_eq!(rx.try_pop(), Ok(number));
        }
    }
    // More than half of the ring is in use each time, so it stays as it is.
    let growth = tx.growth();
    assert!(growth.grown < 20 && growth.shrunk < 10, "{growth:?}");
}

#[test]
fn shrink_gives_back_what_is_free() {
    let (mut tx, mut rx) = with_chunks::<u64>(8, 16, Most::Entries(256)).unwrap();
    push(&mut tx, 0, 200).unwrap();
    for number in 0..150 {
        assert_eq!(rx.try_pop(), Ok(number));
    }
    let before = tx.growth();
    tx.shrink();
    let after = tx.growth();
    // 50 items in chunks of eight: seven or eight in use, one free, and none to spare.
    assert!(after.chunks <= 9 && after.chunks < before.chunks, "{before:?} {after:?}");
    assert_eq!(after.bytes, 8 * after.entries + HEADER * after.chunks);
    push(&mut tx, 200, 200).unwrap();
    for number in 150..400 {
        assert_eq!(rx.try_pop(), Ok(number));
    }
    tx.shrink();
    assert_eq!(tx.growth().entries, 16);
}

#[test]
fn wrong_sizes_are_named() {
    let text = |first, most| chunk_ring::<u64>(first, most).unwrap_err().to_string();
    assert_eq!(text(1, Most::Entries(8)), "first must be at least 2, not 1");
    assert_eq!(text(16, Most::Entries(8)), "most entries must be at least 16, not 8");
    assert!(text(16, Most::Bytes(128)).starts_with("most bytes must be at least "));
    assert!(text(usize::MAX, Most::Entries(usize::MAX)).starts_with("first must be at most "));
    assert!(with_chunks::<u64>(0, 2, Most::Entries(8)).is_err());
    // So many chunks that nobody has the time to count them one by one.
    let first = 1 << (usize::BITS - 14);
    let refusal = with_chunks::<u8>(1, first, Most::Bytes(4096)).unwrap_err();
    assert_eq!(refusal.to_string(), format!("most bytes must be at least {}, not 4096", (HEADER + 1) * first));
}
