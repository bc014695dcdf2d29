//! Packed words: a position in one block, and which block.

use crate::BuildError;

/// How many threads may be inside `try_push` of one queue at once. Each can move `allocated` past the end of a
/// block by one (it looks before it adds), so the offset has room for that many.
const MAX_THREADS: usize = 1 << 20;

/// A position in one block, or a count of entries of one block, of one round. One word, so that one `fetch_add`
/// moves it.
///
/// | 63 ..= bits                  | bits - 1 ..= 0                                         |
/// |------------------------------|--------------------------------------------------------|
/// | round, the paper's version   | offset; `allocated` alone may run past the end         |
///
/// How many bits the offset has depends on the block size, see [`Layout`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cursor(pub(super) u64);

impl Cursor {
    /// Whether `self` comes before `other`. Right across the wrap of the round, as cursors are never half of all
    /// rounds apart.
    #[inline(always)]
    pub(super) fn is_before(self, other: Self) -> bool {
        (other.0.wrapping_sub(self.0) as i64) > 0
    }
}

/// Which block, counted from the start of the queue over all rounds. Every 64-bit number of blocks is followed by
/// another one.
///
/// | 63 ..= log2(blocks)                             | log2(blocks) - 1 ..= 0 |
/// |-------------------------------------------------|------------------------|
/// | round; its low bits are the round of a `Cursor` | index of the block     |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head(pub(super) u64);

impl Head {
    /// The block after this one.
    #[inline(always)]
    pub(super) fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// The same block one round earlier.
    #[inline(always)]
    pub(super) fn last_round(self, layout: &Layout) -> Self {
        Self(self.0.wrapping_sub(layout.blocks as u64))
    }
}

/// The shape of the ring, and with it the places of the fields in the packed words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// How many blocks: a power of two, at least two.
    pub(super) blocks: usize,
    /// How many entries a block has: at least one.
    pub(super) entries: usize,
    index_bits: u32,
    offset_bits: u32,
    /// The bits of the offset.
    offset_mask: u64,
}

impl Layout {
    /// Checks the shape of a ring of entries of `entry_size` bytes.
    pub(super) fn new(blocks: usize, entries: usize, entry_size: usize) -> Result<Self, BuildError> {
        // With one block the next block would be the one that is being filled.
        BuildError::check("blocks", blocks, 2, 1 << 31)?;
        if !blocks.is_power_of_two() {
            return Err(BuildError::NotPowerOfTwo { parameter: "blocks", value: blocks });
        }
        let memory = isize::MAX as usize / entry_size.max(1) / blocks;
        BuildError::check("entries", entries, 1, memory.min(1 << 31))?;
        let index_bits = blocks.trailing_zeros();
        let offset_bits = usize::BITS - (entries + MAX_THREADS).leading_zeros();
        // The index shares its word with the round too: the larger of the two fields limits the round.
        let offset_bits = offset_bits.max(index_bits);
        Ok(Self { blocks, entries, index_bits, offset_bits, offset_mask: (1 << offset_bits) - 1 })
    }

    /// How many entries all blocks have.
    #[inline(always)]
    pub(super) fn capacity(&self) -> usize {
        self.blocks * self.entries
    }

    /// The start of the block at `head`, in the round of `head`.
    #[inline(always)]
    pub(super) fn start(&self, head: Head) -> Cursor {
        Cursor(head.0 >> self.index_bits << self.offset_bits)
    }

    /// The end of the block at `head`, in the round of `head`.
    #[inline(always)]
    pub(super) fn end(&self, head: Head) -> Cursor {
        Cursor(self.start(head).0 + self.entries as u64)
    }

    /// Which block `head` is.
    #[inline(always)]
    pub(super) fn index(&self, head: Head) -> usize {
        head.0 as usize & (self.blocks - 1)
    }

    /// Whether `cursor` belongs to the round of `head`.
    #[inline(always)]
    pub(super) fn in_round(&self, cursor: Cursor, head: Head) -> bool {
        cursor.0 >> self.offset_bits == self.start(head).0 >> self.offset_bits
    }

    /// The offset in the block.
    #[inline(always)]
    pub(super) fn offset(&self, cursor: Cursor) -> usize {
        (cursor.0 & self.offset_mask) as usize
    }

    /// Whether the round of `cursor` is odd.
    #[inline(always)]
    pub(super) fn is_odd(&self, cursor: Cursor) -> bool {
        cursor.0 & self.round_step() != 0
    }

    /// How far apart the same offsets of two rounds are.
    #[inline(always)]
    pub(super) fn round_step(&self) -> u64 {
        self.offset_mask + 1
    }

    /// How many entries of the block at `head` the cursor has passed.
    #[inline]
    pub(super) fn passed(&self, cursor: Cursor, head: Head) -> usize {
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
    pub(super) fn position_of(&self, cursor: Cursor, head: Head) -> u64 {
        let rounds = cursor.0.wrapping_sub(self.start(head).0) >> self.offset_bits;
        let head = Head(head.0.wrapping_add(rounds << self.index_bits));
        self.position(head, self.offset(cursor))
    }

    /// The position in the queue's order of the entry at `offset` of the block at `head`, from 0.
    #[inline(always)]
    pub(super) fn position(&self, head: Head, offset: usize) -> u64 {
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
    fn offset_has_room_for_every_thread() {
        for entries in [1, 2, 3, 4096, 1 << 30] {
            let layout = layout(2, entries);
            let past_the_end = Cursor(layout.end(Head(6)).0 + MAX_THREADS as u64);
            assert!(layout.in_round(past_the_end, Head(6)));
            assert_eq!(layout.offset(past_the_end), entries + MAX_THREADS);
        }
    }

    #[test]
    fn rounds_wrap_and_stay_consecutive() {
        for (blocks, entries) in [(2, 1), (4, 3), (1 << 24, 1)] {
            let layout = layout(blocks, entries);
            // The last block of the last round, by the bits of the round in a cursor and by those of the head.
            let rounds = 1_u64 << (64 - layout.offset_bits);
            for last in [rounds.wrapping_mul(blocks as u64).wrapping_sub(1), u64::MAX] {
                let last = Head(last);
                assert_eq!(layout.index(last), blocks - 1);
                assert_eq!(layout.index(last.next()), 0);
                assert_eq!(layout.start(last.next()), Cursor(0));
                assert_eq!(layout.start(last).0 >> layout.offset_bits, rounds - 1);
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
