//! A set of capsules that threads put into and take from: the free ones, and those that wait for a consumer.

use crate::edges::edge;
use crate::{BuildError, memory};
use alloc::boxed::Box;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// One bit for each capsule. Being in the set is the right to take the capsule; one thread gets it.
#[derive(Debug)]
pub(super) struct Set(Box<[AtomicU64]>);

impl Set {
    /// A set for the capsules below `capsules`, with all of them or without any.
    pub(super) fn new(capsules: usize, full: bool) -> Result<Self, BuildError> {
        let word = |first: usize| match capsules - first {
            _ if !full => 0,
            64.. => u64::MAX,
            some => (1 << some) - 1,
        };
        memory::boxed((0..capsules).step_by(64).map(|first| AtomicU64::new(word(first)))).map(Self)
    }

    /// Puts `capsule` in. It must not be in the set.
    #[inline]
    pub(super) fn put(&self, capsule: usize) {
        // (cnq.1) Release, pairs with (cnq.2): what we did with the capsule comes before what its next owner does.
        // A read-modify-write, so that the bits of others carry on their edges.
        self.0[capsule / 64].fetch_or(1 << (capsule % 64), edge("cnq.1", Release));
    }

    /// Takes `capsule` out if it is in.
    #[inline]
    pub(super) fn take(&self, capsule: usize) -> bool {
        let bit = 1 << (capsule % 64);
        // (cnq.2) Acquire, pairs with (cnq.1).
        self.0[capsule / 64].fetch_and(!bit, edge("cnq.2", Acquire)) & bit != 0
    }

    /// Takes some capsule out: the first, so that few are used while few are needed, and those still in the cache.
    #[inline]
    pub(super) fn take_any(&self) -> Option<usize> {
        self.iter().find(|&capsule| self.take(capsule))
    }

    /// Whether nothing is in the set, lately.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        // Relaxed: as in `iter`.
        self.0.iter().all(|word| word.load(Relaxed) == 0)
    }

    /// The capsules that are in the set when it is looked at.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            // Relaxed: `take` decides; a word that others change is looked at anew by the next iteration.
            let mut bits = word.load(Relaxed);
            core::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(at * 64 + bit)
            })
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn has_each_once() {
        for capsules in [1, 2, 63, 64, 65, 128, 200] {
            let set = Set::new(capsules, true).unwrap();
            assert!((0..capsules).all(|expected| set.take_any() == Some(expected)));
            assert!(set.is_empty() && set.take_any().is_none());
            set.put(capsules - 1);
            assert_eq!(set.iter().collect::<alloc::vec::Vec<_>>(), [capsules - 1]);
            assert!(set.take(capsules - 1) && !set.take(capsules - 1));
            assert!(Set::new(capsules, false).unwrap().is_empty());
        }
    }
}
