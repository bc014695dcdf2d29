//! A capsule of CNQ: one producer, one consumer, and whoever closes it. The producer's index and the closed bit are in
//! one word.

use super::{finds, passes};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::thread;

const CLOSED: u64 = 1 << 32;

/// Puts at `index`. True if it is in; as printed (line 109), the index moves before it is known whether it may.
fn put(word: &AtomicU64, entry: &AtomicU64, item: u64, as_printed: bool) -> bool {
    entry.store(item, Relaxed);
    if as_printed {
        return word.fetch_add(1, Release) & CLOSED == 0;
    }
    let index = word.load(Relaxed);
    index & CLOSED == 0 && word.compare_exchange(index, index + 1, Release, Relaxed).is_ok()
}

/// The item is in the capsule, or comes back to the producer: never both.
fn close_while_putting(as_printed: bool) {
    let (word, entry) = (AtomicU64::new(0), AtomicU64::new(0));
    let (accepted, got) = thread::scope(|scope| {
        let producer = scope.spawn(|| put(&word, &entry, 7, as_printed));
        word.fetch_or(CLOSED, Relaxed);
        let got = ((word.load(Acquire) & !CLOSED) > 0).then(|| entry.load(Relaxed));
        (producer.join().unwrap(), got)
    });
    assert!(accepted || got.is_none(), "{got:?} was refused, and will be put again elsewhere");
}

#[test]
fn e7_a_put_into_a_closed_capsule() {
    let violation = finds(|| close_while_putting(true)).to_string();
    assert!(violation.contains("was refused, and will be put again"), "{violation}");
    passes(|| close_while_putting(false));
}
