//! What a block gives, and what it says.

use crate::cursor::Cursor;
use crate::marks::Mark;
use core::ops::Range;

/// Entries of one block, in one round, that belong to the caller: to a producer until it commits them, or to a consumer until it gives
/// them back.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) offsets: Range<usize>,
    pub(crate) mark: Mark,
}

impl Claim {
    /// The first `count` of the entries, which the rest is without.
    #[cfg(not(loom))]
    pub(crate) fn split_off(&mut self, count: usize) -> Self {
        let Range { start, .. } = self.offsets;
        self.offsets.start += count;
        Self { offsets: start..start + count, mark: self.mark }
    }

    /// Where the entries begin and in which round, as a number of 32 bits and one.
    #[cfg(not(loom))]
    pub(crate) fn place(&self) -> u64 {
        (self.offsets.start as u64) << 1 | u64::from(self.mark == Mark::of(true))
    }

    /// The `count` entries at a [`place`](Self::place).
    #[cfg(not(loom))]
    pub(crate) fn at(place: u64, count: usize) -> Self {
        let start = (place >> 1) as usize;
        Self { offsets: start..start + count, mark: Mark::of(place & 1 == 1) }
    }
}

/// What [`Block::allocate`](super::block::Block::allocate) found.
pub(crate) enum Allocate {
    /// The caller's, to write and commit, and the first one's cursor.
    Entries(Cursor, Claim),
    /// The block has no entry left in the round it is in.
    Done,
    /// Another producer took the entry. The cursor is there now.
    Contended(Cursor),
}

/// What [`Block::room`](super::block::Block::room) found.
pub(crate) enum Room {
    /// Everything is read: the round can begin, or has begun.
    Free,
    /// Entries of the last round are waiting for a consumer.
    Full,
    /// Every entry of the last round has its consumer, and some are still reading.
    Busy,
}

/// What [`Block::glance`](super::block::Block::glance) saw.
pub(crate) enum Glance {
    /// One entry is there, and no more.
    One,
    /// No entry is there that is not reserved.
    Empty,
    /// Only a [look](super::block::Block::look) can say.
    Unclear,
}

/// What [`Block::look`](super::block::Block::look) found.
pub(crate) enum Sight {
    /// Entries up to this offset, at least one, are committed, and the first was not reserved.
    Items(Found),
    /// So many entries from this one on, at least one, were given up, and the first was not reserved.
    Holes(Cursor, usize),
    /// Every entry that was allocated is reserved.
    Empty,
    /// The next entry is allocated and not committed.
    Busy,
    /// Every entry of this round is reserved.
    Done,
    /// The block is in another round: the head was out of date.
    Moved,
}

/// How far entries are committed.
pub(crate) struct Found {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// A producer is about to commit the next one.
    pub(crate) few: bool,
}

/// Whether producers have begun a round of a block.
pub(crate) enum Begun {
    /// Not yet.
    No,
    /// Yes: consumers can enter it.
    Yes,
    /// Yes, and it is over: the head was out of date.
    Moved,
}
