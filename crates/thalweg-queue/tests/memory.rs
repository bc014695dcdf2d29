//! Queues that there is no memory for are refused, whichever allocation fails, and what they had got until then is given back.
#![cfg(not(loom))]
#![allow(clippy::disallowed_macros, reason = "an allocator's own state, which no engine is to see")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::num::NonZeroU64;
use thalweg_queue::growing::Most;
use thalweg_queue::research::tube::{ring, scqd::Scqd};
use thalweg_queue::{
    BuildError, Yield, bytes, growing, mpmc, mpsc, overwriting,
    research::{cnq, faaq, lamport, locked, mesh, ticketed},
    spmc, spsc,
    spsc::fast_forward,
    stealing,
};

/// What is smaller is no queue's memory, and never fails.
const LARGE: usize = 4096;

thread_local! {
    /// How many large allocations this thread gets.
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
    /// How many bytes this thread has more than it has given back.
    static HELD: Cell<isize> = const { Cell::new(0) };
    /// How often this thread has allocated.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Limited;

// SAFETY: the system's, or nothing.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= LARGE && LEFT.get() != usize::MAX {
            match LEFT.get() {
                0 => return std::ptr::null_mut(),
                left => LEFT.set(left - 1),
            }
        }
        HELD.set(HELD.get() + layout.size() as isize);
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.set(HELD.get() - layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Limited = Limited;

/// Builds with no memory for the first large allocation, for the second, and so on until all are there.
#[track_caller]
fn refused<Q>(build: impl Fn() -> Result<Q, BuildError>) {
    let held = HELD.get();
    for large in 0..100 {
        LEFT.set(large);
        let built = build();
        LEFT.set(usize::MAX);
        match built {
            Ok(queue) => {
                drop(queue);
                assert!(large > 0, "it has no memory");
                assert_eq!(HELD.get(), held, "all is given back");
                return;
            }
            Err(BuildError::OutOfMemory { bytes }) => assert!(bytes >= LARGE, "{bytes} bytes were refused"),
            Err(other) => panic!("{other}"),
        }
        assert_eq!(HELD.get(), held, "without allocation number {large}, all others are given back");
    }
    panic!("there is an end");
}

#[test]
fn every_queue_is_refused_by_an_error() {
    refused(|| fast_forward::fast_forward::<NonZeroU64>(4096));
    refused(|| fast_forward::in_place::<u64>(4096));
    refused(|| mpmc::shared::<u64>(4, 4096));
    refused(|| mpsc::mpsc::<u64>(4, 4096));
    refused(|| spmc::spmc::<u64>(4, 4096));
    refused(|| spsc::spsc::<u64>(4, 4096));
    refused(|| overwriting::drop_old::<u64>(4, 4096));
    refused(|| bytes::bytes(4, 1 << 16));
    refused(|| growing::chunk_ring::<u64>(4096, Most::Entries(8192)));
    refused(|| mesh::mesh::<u64>(2, 2, 4096, 8192));
    refused(|| ticketed::with_counters::<u64>(4096, 2));
    refused(|| cnq::cnq::<u64>(1 << 16, 1024));
    refused(|| faaq::shared::<u64>(4, 4096));
    refused(|| ring::Mt::<u64>::new(4096));
    refused(|| Scqd::<u64>::new(4096));
    refused(|| lamport::plain::<u64>(4096));
    refused(|| locked::locked::<u64>(4096));
    refused(|| stealing::lifo::<u64>(64, 64));
    refused(|| stealing::fifo::<u64>(64, 64));
}

#[test]
fn the_refusal_says_how_much() {
    LEFT.set(0);
    let refusal = lamport::plain::<u64>(1023);
    LEFT.set(usize::MAX);
    let text = "there is no memory for 8192 bytes: ask for a smaller queue";
    assert_eq!(refusal.err().unwrap().to_string(), text);
}

/// A ring of many chunks asks for the memory of all before it takes the first one: each of them alone would be given.
#[test]
fn chunks_are_refused_as_a_whole() {
    LEFT.set(0);
    let refusal = growing::chunk_ring::<u64>(1 << 20, Most::Entries(1 << 20));
    LEFT.set(usize::MAX);
    assert!(matches!(refusal, Err(BuildError::OutOfMemory { bytes }) if bytes >= 8 << 20), "{:?}", refusal.map(drop));
}

/// More than half of the address space is beyond what a queue can have, and so is what does not fit into a number.
#[test]
fn sizes_that_overflow_are_refused() {
    type Page = [u8; 4096];
    for huge in [usize::MAX, usize::MAX / 4096 + 1, isize::MAX as usize / 4096 + 1] {
        let too_large =
            |built: Result<(), BuildError>| assert!(matches!(built, Err(BuildError::TooLarge { .. })), "{built:?}");
        too_large(fast_forward::in_place::<Page>(huge).map(drop));
        too_large(mpmc::with_capacity::<Page>(huge).map(drop));
        too_large(spsc::with_capacity::<Page>(huge).map(drop));
        too_large(overwriting::with_capacity::<Page>(huge).map(drop));
        too_large(lamport::plain::<Page>(huge).map(drop));
        too_large(locked::locked::<Page>(huge).map(drop));
        too_large(stealing::lifo::<Page>(2, huge).map(drop));
        too_large(ring::Mt::<Page>::new(huge).map(drop));
        too_large(Scqd::<Page>::new(huge).map(drop));
        too_large(cnq::cnq::<Page>(huge, 8).map(drop));
        too_large(growing::chunk_ring::<Page>(huge, Most::Entries(usize::MAX)).map(drop));
        too_large(mesh::mesh::<Page>(1, 1, huge, usize::MAX).map(drop));
    }
}

/// Neither the place nor a handle allocates, and nothing is left.
#[test]
fn a_static_queue_allocates_nothing() {
    static ONE: spsc::Static<[u64; 600], 2, 4, Yield> = spsc::Static::new();
    static MANY: mpmc::Static<[u64; 600], 2, 4, Yield> = mpmc::Static::new();
    let before = ALLOCATIONS.get();
    for _ in 0..2 {
        let (mut tx, mut rx) = ONE.take().unwrap();
        tx.push([7; 600]).unwrap();
        assert_eq!(rx.pop(), Ok([7; 600]));
        let (tx, rx) = MANY.take().unwrap();
        tx.clone().push([7; 600]).unwrap();
        assert_eq!(rx.clone().pop(), Ok([7; 600]));
    }
    assert_eq!(ALLOCATIONS.get(), before);
}
