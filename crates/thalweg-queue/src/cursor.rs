//! Packed words of the queues whose blocks have cursors of their own, BBQ and FAAQ: a position in one block, and which block.

use crate::{BuildError, limits};

/// How many threads may be inside a push, or inside a pop, of one queue at once. Where a cursor moves by `fetch_add`, each can move it
/// past the end of a block by one (it looks before it adds), so the offset has room for that many.
const MAX_THREADS: usize = 1 << 20;

/// A position in one block, or a count of entries of one block, of one round. One word, so that one `fetch_add`
/// moves it.
///
/// | 63 ..= bits + 1            | bits                           | bits - 1 ..= 0                                     |
/// |----------------------------|--------------------------------|----------------------------------------------------|
/// | round, the paper's version | sealed: `reserved` of FAAQ only | offset; where a `fetch_add` moves it, past the end |
///
/// How many bits the offset has depends on the block size, see [`Layout`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cursor(pub(crate) u64);

impl Cursor {
    /// Whether `self` comes before `other`. Right across the wrap of the round, as cursors are never half of all
    /// rounds apart.
    #[inline(always)]
    pub(crate) fn is_before(self, other: Self) -> bool {
        (other.0.wrapping_sub(self.0) as i64) > 0
    }

    /// One further.
    #[inline(always)]
    pub(crate) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Which block, counted from the start of the queue over all rounds. Every 64-bit number of blocks is followed by
/// another one.
///
/// | 63 ..= log2(blocks)                             | log2(blocks) - 1 ..= 0 |
/// |-------------------------------------------------|------------------------|
/// | round; its low bits are the round of a `Cursor` | index of the block     |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Head(pub(crate) u64);

impl Head {
    /// The block after this one.
    #[inline(always)]
    pub(crate) fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// The same block one round earlier.
    #[inline(always)]
    pub(crate) fn last_round(self, layout: &Layout) -> Self {
        Self(self.0.wrapping_sub(layout.blocks as u64))
    }
}

/// The shape of the ring, and with it the places of the fields in the packed words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// How many blocks: a power of two, at least two.
    pub(crate) blocks: usize,
    /// How many entries a block has: at least one.
    pub(crate) entries: usize,
    index_bits: u32,
    /// How many bits the offset and the seal have.
    round_bits: u32,
    /// The bits of the offset.
    offset_mask: u64,
}

impl Layout {
    /// Checks the shape of a ring of entries of `entry_size` bytes.
    pub(crate) fn new(blocks: usize, entries: usize, entry_size: usize) -> Result<Self, BuildError> {
        limits::ring(blocks, ("entries", entries), |blocks, entries| Self::fits(blocks, entries, entry_size))?;
        let index_bits = blocks.trailing_zeros();
        let offset_bits = usize::BITS - (entries + MAX_THREADS).leading_zeros();
        // The index shares its word with the round too: the larger of the two fields limits the round.
        let offset_bits = offset_bits.max(index_bits);
        Ok(Self { blocks, entries, index_bits, round_bits: offset_bits + 1, offset_mask: (1 << offset_bits) - 1 })
    }

    /// Whether memory has so much room, and the words count so far.
    pub(crate) const fn fits(blocks: usize, entries: usize, entry_size: usize) -> bool {
        let entry_size = if entry_size == 0 { 1 } else { entry_size };
        let memory = isize::MAX as usize / entry_size / blocks;
        blocks <= 1 << 31 && entries <= memory && entries <= 1 << 31
    }

    /// How many entries all blocks have.
    #[inline(always)]
    pub(crate) fn capacity(&self) -> usize {
        self.blocks * self.entries
    }

    /// The start of the block at `head`, in the round of `head`.
    #[inline(always)]
    pub(crate) fn start(&self, head: Head) -> Cursor {
        Cursor(head.0 >> self.index_bits << self.round_bits)
    }

    /// The end of the block at `head`, in the round of `head`.
    #[inline(always)]
    pub(crate) fn end(&self, head: Head) -> Cursor {
        Cursor(self.start(head).0 + self.entries as u64)
    }

    /// The cursor at `offset` in the round of `cursor`, which is not sealed.
    #[inline(always)]
    pub(crate) fn at(&self, cursor: Cursor, offset: usize) -> Cursor {
        Cursor((cursor.0 & !self.offset_mask) + offset as u64)
    }

    /// Which block `head` is.
    #[inline(always)]
    pub(crate) fn index(&self, head: Head) -> usize {
        head.0 as usize & (self.blocks - 1)
    }

    /// Whether two cursors belong to the same round.
    #[inline(always)]
    pub(crate) fn same_round(&self, one: Cursor, other: Cursor) -> bool {
        one.0 >> self.round_bits == other.0 >> self.round_bits
    }

    /// Whether `cursor` belongs to the round of `head`.
    #[inline(always)]
    pub(crate) fn in_round(&self, cursor: Cursor, head: Head) -> bool {
        self.same_round(cursor, self.start(head))
    }

    /// The offset in the block, or past its end.
    #[inline(always)]
    pub(crate) fn offset(&self, cursor: Cursor) -> usize {
        (cursor.0 & self.offset_mask) as usize
    }

    /// Whether the cursor is at the end of the block or past it.
    #[inline(always)]
    pub(crate) fn at_end(&self, cursor: Cursor) -> bool {
        self.offset(cursor) >= self.entries
    }

    /// The same cursor, sealed.
    #[inline(always)]
    pub(crate) fn sealed(&self, cursor: Cursor) -> Cursor {
        Cursor(cursor.0 | (self.offset_mask + 1))
    }

    /// Whether the cursor is sealed.
    #[inline(always)]
    pub(crate) fn is_sealed(&self, cursor: Cursor) -> bool {
        self.sealed(cursor) == cursor
    }

    /// Whether the round of `cursor` is odd.
    #[inline(always)]
    pub(crate) fn is_odd(&self, cursor: Cursor) -> bool {
        cursor.0 & self.round_step() != 0
    }

    /// How far apart the same offsets of two rounds are.
    #[inline(always)]
    pub(crate) fn round_step(&self) -> u64 {
        // From the mask, which is at hand: a sealed cursor's bit is the one between.
        (self.offset_mask + 1) << 1
    }

    /// How many entries of the block at `head` the cursor has passed.
    #[inline]
    pub(crate) fn passed(&self, cursor: Cursor, head: Head) -> usize {
        if self.in_round(cursor, head) {
            self.offset(cursor).min(self.entries)
        } else if cursor.is_before(self.start(head)) {
            0
        } else {
            self.entries
        }
    }

    /// The position in the queue's order of the entry at `cursor`. `head` is that of its block, or one that is some rounds out of date.
    #[inline(always)]
    pub(crate) fn position_of(&self, cursor: Cursor, head: Head) -> u64 {
        let rounds = cursor.0.wrapping_sub(self.start(head).0) >> self.round_bits;
        let head = Head(head.0.wrapping_add(rounds << self.index_bits));
        self.position(head, self.offset(cursor))
    }

    /// The position in the queue's order of the entry at `offset` of the block at `head`, from 0.
    #[inline(always)]
    pub(crate) fn position(&self, head: Head, offset: usize) -> u64 {
        head.0.wrapping_mul(self.entries as u64).wrapping_add(offset as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(blocks: usize, entries: usize) -> Layout {
        Layout::new(blocks, entries, 8).unwrap()
    }

    #[test]
    fn offset_and_seal_do_not_touch_the_round() {
        for entries in [1, 2, 3, 4096, 1 << 30] {
            let layout = layout(2, entries);
            let past_the_end = Cursor(layout.end(Head(6)).0 + MAX_THREADS as u64);
            for cursor in [past_the_end, layout.sealed(past_the_end)] {
                assert!(layout.in_round(cursor, Head(6)) && layout.at_end(cursor));
                assert_eq!(layout.offset(cursor), entries + MAX_THREADS);
            }
            assert!(layout.is_sealed(layout.sealed(past_the_end)) && !layout.is_sealed(past_the_end));
        }
    }

    #[test]
    fn rounds_wrap_and_stay_consecutive() {
        for (blocks, entries) in [(2, 1), (4, 3), (1 << 24, 1)] {
            let layout = layout(blocks, entries);
            // The last block of the last round, by the bits of the round in a cursor and by those of the head.
            let rounds = 1_u64 << (64 - layout.round_bits);
            for last in [rounds.wrapping_mul(blocks as u64).wrapping_sub(1), u64::MAX] {
                let last = Head(last);
                assert_eq!(layout.index(last), blocks - 1);
                assert_eq!(layout.index(last.next()), 0);
                assert_eq!(layout.start(last.next()), Cursor(0));
                assert_eq!(layout.start(last).0 >> layout.round_bits, rounds - 1);
                assert_eq!(layout.start(last.next().last_round(&layout)), layout.start(last));
            }
        }
    }

    #[test]
    fn shapes_are_checked() {
        let shape = |blocks, entries| Layout::new(blocks, entries, 8).map(|layout| layout.capacity());
        assert_eq!(shape(2, 1), Ok(2));
        assert_eq!(shape(1, 8), Err(BuildError::TooSmall { parameter: "blocks", value: 1, min: 2 }));
        assert_eq!(shape(12, 8), Err(BuildError::NotPowerOfTwo { parameter: "blocks", value: 12 }));
        assert_eq!(shape(2, 0), Err(BuildError::TooSmall { parameter: "entries", value: 0, min: 1 }));
        assert!(matches!(shape(2, usize::MAX), Err(BuildError::TooLarge { parameter: "entries", .. })));
        assert!(matches!(Layout::new(2, 1 << 20, 1 << 50), Err(BuildError::TooLarge { .. })));
    }
}
