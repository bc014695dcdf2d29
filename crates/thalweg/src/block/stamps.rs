//! Stamps: when something that is in a block left a kernel.
//!
//! They travel with the block, not in messages, and only where a latency was asked for. What comes of a block's messages has the block's stamps, whichever of
//! the messages it comes of.

use std::mem;

/// Stamps of one block, at most: those that come after are lost.
const MOST: usize = 8;

/// When something left a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) kernel: usize,
    /// Nanoseconds of the clock.
    pub(crate) time: u64,
}

/// The stamps of a block. None are a null pointer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stamps(Option<Box<List>>);

#[derive(Clone, Debug, Default)]
struct List {
    stamps: [Stamp; MOST],
    len: usize,
}

impl Stamps {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Stamp> {
        self.0.iter().flat_map(|list| &list.stamps[..list.len]).copied()
    }

    /// Adds a stamp, once.
    pub(crate) fn add(&mut self, stamp: Stamp) {
        if self.iter().any(|other| other == stamp) {
            return;
        }
        let list = self.0.get_or_insert_default();
        if list.len < MOST {
            list.stamps[list.len] = stamp;
            list.len += 1;
        }
    }

    pub(crate) fn add_all(&mut self, others: &Self) {
        others.iter().for_each(|stamp| self.add(stamp));
    }

    /// Leaves none.
    pub(crate) fn take(&mut self) -> Self {
        mem::take(self)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_is_there_once_and_those_that_are_too_many_are_lost() {
        let mut stamps = Stamps::default();
        assert!(stamps.is_empty());
        let stamp = |time| Stamp { kernel: 1, time };
        (0..MOST as u64 + 3).for_each(|time| stamps.add(stamp(time)));
        let mut others = Stamps::default();
        others.add(stamp(2));
        others.add_all(&stamps);
        let times: Vec<_> = others.iter().map(|stamp| stamp.time).collect();
        assert_eq!(times, [2, 0, 1, 3, 4, 5, 6, 7]);
        assert_eq!(stamps.take().iter().count(), MOST);
        assert!(stamps.is_empty());
    }
}
