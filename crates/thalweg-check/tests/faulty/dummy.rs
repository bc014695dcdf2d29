//! The dummy entry at the end of a block of BBQ with entries of any size: who finds it gives back what it takes (section 2.4.4).

use super::{finds, is_race, passes};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{Acquire, Release};
use thalweg_sync::cell::Slot;
use thalweg_sync::thread;

const BLOCK_SIZE: u64 = 4;

/// Where the dummy begins, behind an entry that is reserved and still being read.
const DUMMY: u64 = 2;

/// A consumer reads an entry, another one finds the dummy behind it, and a producer looks whether the block is free.
fn reuse(as_printed: bool) {
    let (entry, consumed) = (Slot::new(1_u64), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: reserved: nobody writes before it is consumed. That the printed form breaks this is what is to be found.
            let item = entry.with(|item| unsafe { *item });
            assert_eq!(item, 1);
            consumed.fetch_add(DUMMY, Release);
        });
        scope.spawn(|| match as_printed {
            true => consumed.store(BLOCK_SIZE, Release),
            false => _ = consumed.fetch_add(BLOCK_SIZE - DUMMY, Release),
        });
        if consumed.load(Acquire) == BLOCK_SIZE {
            // SAFETY: all of the block is consumed, so nobody reads it any more.
            entry.with_mut(|item| unsafe { *item = 2 });
        }
    });
}

#[test]
fn e6_the_dummy_frees_what_others_read() {
    let violation = finds(|| reuse(true));
    assert!(is_race(&violation), "{violation}");
    passes(|| reuse(false));
}
