//! BBQ at the last version: who advances to a block gives it the next version by MAX, as printed (lines 29 to 31), or by an exchange.
//!
//! Section 2.4.1 gives the version what bits the offset leaves, and does not say what comes after the last.

use super::{finds, passes};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire};
use thalweg_sync::thread;

const ENTRIES: u64 = 2;

const OFFSET_BITS: u32 = 2;
const LAST: u64 = u64::MAX >> OFFSET_BITS;

/// A cursor: the version above, the offset below.
const fn cursor(version: u64, offset: u64) -> u64 {
    version << OFFSET_BITS | offset
}

/// Begins the version after `version` in a block, unless another thread has.
fn reset(allocated: &AtomicU64, version: u64, as_printed: bool) {
    let new = cursor(version.wrapping_add(1), 0);
    if as_printed {
        allocated.fetch_max(new, AcqRel);
    } else {
        let is_before = |old: u64| old >> OFFSET_BITS == version;
        let _ = allocated.fetch_update(AcqRel, Acquire, |old| is_before(old).then_some(new));
    }
}

/// Two producers advance to a block, and allocate an entry each.
fn advance(version: u64, as_printed: bool) {
    let allocated = AtomicU64::new(cursor(version, ENTRIES));
    let allocate = || {
        reset(&allocated, version, as_printed);
        let offset = allocated.fetch_add(1, AcqRel) & (cursor(1, 0) - 1);
        assert!(offset < ENTRIES, "the block is at its end again, at offset {offset}");
        offset
    };
    let [one, two] = thread::scope(|scope| {
        let other = scope.spawn(allocate);
        [allocate(), other.join().unwrap()]
    });
    assert_ne!(one, two, "an entry is allocated twice");
}

#[test]
fn e15_the_version_after_the_last() {
    passes(|| advance(LAST - 1, true));
    let violation = finds(|| advance(LAST, true)).to_string();
    assert!(violation.contains("the block is at its end again"), "{violation}");
    passes(|| advance(LAST, false));
}
