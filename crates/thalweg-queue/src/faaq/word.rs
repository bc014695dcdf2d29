//! Packed words: a position in one block, and which block.

use crate::BuildError;

/// How many threads may be inside `allocate`, or inside `reserve`, at once. Each can move a cursor past the end of a block by
/// one (it looks before it adds), so the offset has room for that many.
const MAX_THREADS: usize = 1 << 20;

/// A position in one block, or a count of its entries, in one round.
///
/// | 63 ..= bits + 1 | bits               | bits - 1 ..= 0                                               |
/// |-----------------|--------------------|--------------------------------------------------------------|
/// | round           | sealed: `reserved` | offset; `allocated` and `reserved` may run past the end      |
///
/// How many bits the offset has depends on the block size, see [`Layout`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cursor(pub(super) u64);

impl Cursor {
    /// Whether `self` comes before `other`. Right across the wrap of the round, as cursors are never half of all rounds
    /// apart.
    #[inline(always)]
    pub(super) fn is_before(self, other: Self) -> bool {
        (other.0.wrapping_sub(self.0) as i64) > 0
    }

    /// One further.
    #[inline(always)]
    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Which block, counted from the start over all rounds.
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
}

impl Layout {
    /// Checks the shape of a ring of entries of `entry_size` bytes.
    pub(super) fn new(blocks: usize, entries: usize, entry_size: usize) -> Result<Self, BuildError> {
        BuildError::check("blocks", blocks, 2, 1 << 30)?;
        if !blocks.is_power_of_two() {
            return Err(BuildError::NotPowerOfTwo { parameter: "blocks", value: blocks });
        }
        let memory = isize::MAX as usize / entry_size.max(1) / blocks;
        BuildError::check("entries", entries, 1, memory.min(1 << 30))?;
        let index_bits = blocks.trailing_zeros();
        let offset_bits = usize::BITS - (entries + MAX_THREADS).leading_zeros();
        Ok(Self { blocks, entries, index_bits, offset_bits: offset_bits.max(index_bits) })
    }

    /// The start of the block at `head`, in the round of `head`.
    #[inline(always)]
    pub(super) fn start(&self, head: Head) -> Cursor {
        Cursor(head.0 >> self.index_bits << (self.offset_bits + 1))
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

    /// Whether two cursors belong to the same round.
    #[inline(always)]
    pub(super) fn same_round(&self, one: Cursor, other: Cursor) -> bool {
        one.0 >> (self.offset_bits + 1) == other.0 >> (self.offset_bits + 1)
    }

    /// Whether `cursor` belongs to the round of `head`.
    #[inline(always)]
    pub(super) fn in_round(&self, cursor: Cursor, head: Head) -> bool {
        self.same_round(cursor, self.start(head))
    }

    /// The offset in the block, which may be past its end.
    #[inline(always)]
    pub(super) fn offset(&self, cursor: Cursor) -> usize {
        (cursor.0 & ((1 << self.offset_bits) - 1)) as usize
    }

    /// Whether the cursor is at the end of the block or past it.
    #[inline(always)]
    pub(super) fn at_end(&self, cursor: Cursor) -> bool {
        self.offset(cursor) >= self.entries
    }

    /// The same cursor, sealed.
    #[inline(always)]
    pub(super) fn sealed(&self, cursor: Cursor) -> Cursor {
        Cursor(cursor.0 | 1 << self.offset_bits)
    }

    /// Whether the cursor is sealed.
    #[inline(always)]
    pub(super) fn is_sealed(&self, cursor: Cursor) -> bool {
        self.sealed(cursor) == cursor
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_touch() {
        for entries in [1, 2, 3, 4096, 1 << 29] {
            let layout = Layout::new(2, entries, 8).unwrap();
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
        for (blocks, entries) in [(2, 1), (4, 3)] {
            let layout = Layout::new(blocks, entries, 8).unwrap();
            let last = Head(u64::MAX);
            assert_eq!(layout.index(last), blocks - 1);
            assert_eq!(layout.start(last.next()), Cursor(0));
            assert_eq!(layout.start(last.next().last_round(&layout)), layout.start(last));
            assert!(layout.end(last).is_before(layout.start(last.next())));
        }
    }
}
