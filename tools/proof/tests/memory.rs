//! What a client leaves behind of executions that were given up: nothing.
#![cfg(not(loom))]
#![allow(clippy::disallowed_types, reason = "an allocator stands below the facade")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use thalweg_check::Heap;
use thalweg_proof::{Setup, named};

/// The system's allocator, with a count of the bytes that it has given out.
struct Counted;

static BYTES: AtomicUsize = AtomicUsize::new(0);
/// The most that there were.
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every block is the system's, and goes back to it.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc(layout) };
        if !block.is_null() {
            let before = BYTES.fetch_add(layout.size(), Relaxed);
            MOST.fetch_max(before + layout.size(), Relaxed);
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) };
    }
}

#[global_allocator]
static HEAP: Heap<Counted> = Heap::over(Counted);

/// Many executions of these two are given up, with handles that ring or drain when they are dropped. The only test here, as
/// it counts what the process has.
#[test]
fn executions_that_are_given_up_leave_nothing() {
    for name in ["wait/half-way", "wait/2c"] {
        let run = |executions| {
            let setup = Setup::default().max_executions(Some(executions));
            named(name)
                .expect("it is in the list")
                .check(&setup)
                .unwrap_or_else(|violation| panic!("{name}: {violation}"))
        };
        // For what is made once per process.
        run(100);
        let before = BYTES.load(Relaxed);
        MOST.store(before, Relaxed);
        let explored = run(800);
        assert!(explored.blocked > 0, "{name}: nothing was given up in {explored}");
        let left = BYTES.load(Relaxed).saturating_sub(before);
        assert!(left < 64 << 10, "{name}: {left} bytes are left of {explored}");
        let most = MOST.load(Relaxed) - before;
        assert!(most < 64 << 20, "{name}: {most} bytes at most in {explored}");
    }
}
