//! Packed words of the modes in which one cursor serves all consumers: a spot in the order of the whole queue.

use crate::marks::Mark;

/// How many threads may be inside a push of one queue at once. Each can move `allocated` past the end of a block once (it looks
/// before it adds), so the offset has room for that.
const THREADS: u64 = 1 << 20;

/// A spot in the order of the queue: a block, and an entry of it. Also a count of entries of a block. One word, so that one
/// `fetch_add` moves it.
///
/// | 63 ..= bits                                                             | bits - 1 ..= 0                                  |
/// |-------------------------------------------------------------------------|-------------------------------------------------|
/// | number of the block, over all rounds; its low bits say which one it is  | offset; `allocated` alone may run past the end  |
///
/// The number wraps at the end of its bits, and every number is followed by another one. How many bits there are, says [`Shape`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Spot(pub(crate) u64);

impl Spot {
    /// Whether `self` comes before `other`. Right across the wrap, as no two spots in use are half of all numbers apart.
    #[inline(always)]
    pub(crate) fn is_before(self, other: Self) -> bool {
        (other.0.wrapping_sub(self.0) as i64) > 0
    }
}

/// The shape of the ring, and with it where the fields of a [`Spot`] are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// How many blocks: a power of two, at least two.
    pub(crate) blocks: usize,
    /// How many entries a block has: at least one.
    pub(crate) entries: usize,
    bits: u32,
}

impl Shape {
    /// How many bits an offset needs where a block has `entries` entries and a push takes up to `most` at once.
    const fn bits(entries: usize, most: usize) -> u32 {
        u64::BITS - (entries as u64 + THREADS * most as u64).leading_zeros()
    }

    /// Whether a ring of so many blocks is possible: sixteen rounds at least are told apart. The other two are below 2^38.
    pub(crate) const fn fits(blocks: usize, entries: usize, most: usize) -> bool {
        let log = 60 - Self::bits(entries, most);
        blocks <= 1 << if log < 31 { log } else { 31 }
    }

    /// A ring of `blocks` blocks of `entries` entries, of which a push takes up to `most` at once. The ring [fits](Self::fits), and the
    /// blocks are a power of two.
    pub(crate) fn new(blocks: usize, entries: usize, most: usize) -> Self {
        debug_assert!(blocks.is_power_of_two() && Self::fits(blocks, entries, most));
        Self { blocks, entries, bits: Self::bits(entries, most) }
    }

    /// How many entries all blocks have.
    #[inline(always)]
    pub(crate) fn capacity(&self) -> usize {
        self.blocks * self.entries
    }

    /// The start of block `number`.
    pub(crate) fn block(&self, number: u64) -> Spot {
        Spot(number << self.bits)
    }

    /// The start of the block that `place` lies in.
    #[inline(always)]
    pub(crate) fn start(&self, place: Spot) -> Spot {
        Spot(place.0 >> self.bits << self.bits)
    }

    /// The end of the block that `place` lies in.
    #[inline(always)]
    pub(crate) fn end(&self, place: Spot) -> Spot {
        Spot(self.start(place).0 + self.entries as u64)
    }

    /// The start of the block `count` blocks after the one that `place` lies in.
    #[inline(always)]
    pub(crate) fn after(&self, place: Spot, count: usize) -> Spot {
        Spot(self.start(place).0.wrapping_add((count as u64) << self.bits))
    }

    /// The start of the block `count` blocks before the one that `place` lies in.
    #[inline(always)]
    pub(crate) fn before(&self, place: Spot, count: usize) -> Spot {
        Spot(self.start(place).0.wrapping_sub((count as u64) << self.bits))
    }

    /// The place `count` entries further on, which is at most the end of the block. The end of a block is the start of the next one.
    #[inline(always)]
    pub(crate) fn forward(&self, place: Spot, count: usize) -> Spot {
        if self.offset(place) + count >= self.entries { self.after(place, 1) } else { Spot(place.0 + count as u64) }
    }

    /// Which block of the ring `place` lies in.
    #[inline(always)]
    pub(crate) fn index(&self, place: Spot) -> usize {
        (place.0 >> self.bits) as usize & (self.blocks - 1)
    }

    /// The offset in the block.
    #[inline(always)]
    pub(crate) fn offset(&self, place: Spot) -> usize {
        // Where a `usize` has 32 bits, an offset that ran far past the end must not come out as one before it.
        usize::try_from(place.0 & ((1 << self.bits) - 1)).unwrap_or(usize::MAX)
    }

    /// What marks the entries of the block of `place`, in its round.
    #[inline(always)]
    pub(crate) fn mark(&self, place: Spot) -> Mark {
        Mark::of((place.0 >> self.bits) & self.blocks as u64 != 0)
    }

    /// Whether two places lie in one block, in one round.
    #[inline(always)]
    pub(crate) fn in_one_block(&self, a: Spot, b: Spot) -> bool {
        a.0 >> self.bits == b.0 >> self.bits
    }

    /// How many entries lie between two places, of which `from` is not behind `to`.
    pub(crate) fn distance(&self, from: Spot, to: Spot) -> u64 {
        let blocks = self.start(to).0.wrapping_sub(self.start(from).0) >> self.bits;
        (blocks * self.entries as u64).wrapping_add(self.offset(to) as u64).wrapping_sub(self.offset(from) as u64)
    }

    /// How many entries come before `place`, since block number 0.
    #[inline(always)]
    pub(crate) fn position(&self, place: Spot) -> u64 {
        (place.0 >> self.bits).wrapping_mul(self.entries as u64) + self.offset(place) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_has_room_for_every_thread() {
        for (entries, most) in [(1, 1), (4096, 1), (1 << 31, 1), (4096, 4096), (1 << 27, 1 << 10)] {
            let shape = Shape::new(2, entries, most);
            let past = Spot(shape.end(shape.block(6)).0 + THREADS * most as u64);
            assert!(shape.in_one_block(past, shape.block(6)));
            assert_eq!(shape.offset(past) as u64, entries as u64 + THREADS * most as u64);
        }
    }

    #[test]
    fn numbers_wrap_and_stay_consecutive() {
        for (blocks, entries) in [(2, 1), (4, 3), (1 << 20, 1)] {
            let shape = Shape::new(blocks, entries, 1);
            let last = shape.block(u64::MAX);
            let first = shape.after(last, 1);
            assert_eq!((first, shape.index(last), shape.index(first)), (Spot(0), blocks - 1, 0));
            assert!(last.is_before(first) && shape.end(last).is_before(first));
            assert_eq!(shape.before(first, 1), last);
            assert_eq!(shape.forward(last, entries), first);
            assert_eq!(shape.distance(last, Spot(1)), entries as u64 + 1);
            assert_eq!(shape.distance(Spot(last.0 + 1), first), entries as u64 - 1);
        }
    }

    #[test]
    fn rounds_of_a_block_have_two_marks_in_turn() {
        for blocks in [2, 8, 1 << 20] {
            let shape = Shape::new(blocks, 3, 1);
            for number in [0, 1, blocks as u64 - 1, u64::MAX] {
                let place = shape.block(number);
                assert_ne!(shape.mark(place), shape.mark(shape.after(place, blocks)));
                assert_eq!(shape.mark(place), shape.mark(shape.before(place, 2 * blocks)));
                assert_eq!(shape.mark(place), shape.mark(shape.end(place)));
            }
        }
    }

    #[test]
    fn places_count_entries() {
        let shape = Shape::new(4, 3, 1);
        let mut place = shape.block(0);
        for position in 0..30 {
            assert_eq!((shape.position(place), shape.distance(Spot(0), place)), (position, position));
            place = shape.forward(place, 1);
        }
    }

    #[test]
    fn blocks_and_entries_share_a_word() {
        assert!(Shape::fits(2, 1, 1) && Shape::fits(1 << 31, 1, 1) && !Shape::fits(1 << 32, 1, 1));
        assert!(Shape::fits(1 << 28, 1 << 31, 1) && !Shape::fits(1 << 29, 1 << 31, 1));
    }
}
