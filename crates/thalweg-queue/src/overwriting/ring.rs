//! The ring of items: where they are, and how they are copied. All unsafe code of the queue is here.

use super::cursors::Cursors;
use crate::mpmc::plain::{self, Plain};
use crate::mpmc::spot::{Shape, Spot};
use crate::wait::Wait;
use crate::{BuildError, TryPopError, TryPushError, limits, memory};
use alloc::boxed::Box;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use thalweg_sync::atomic::AtomicU64;

/// What all ends share.
#[derive(Debug)]
pub(crate) struct Ring<T, W: Wait> {
    pub(crate) cursors: Cursors<W>,
    /// The entries of all blocks, each in as many words as it takes.
    words: Box<[AtomicU64]>,
    /// Nothing of a `T` is here but bytes, and any thread may have those, as a `Plain` is `Send`.
    _items: PhantomData<fn(T) -> T>,
}

/// Where items are copied to that are taken together: they are nobody's before.
#[repr(align(16))]
struct Copies([MaybeUninit<u8>; 1024]);

impl<T: Plain, W: Wait> Ring<T, W> {
    /// How many words an entry takes.
    const WORDS: usize = plain::words::<T>();

    /// How many items are taken together at most.
    const MOST: usize = match size_of::<T>() {
        size if size > size_of::<Copies>() || align_of::<T>() > align_of::<Copies>() => 1,
        0 => 1024,
        size => size_of::<Copies>() / size,
    };

    /// Whether there can be a ring of that shape.
    pub(crate) fn check(blocks: usize, entries: usize) -> Result<(), BuildError> {
        limits::ring(blocks, ("entries", entries), |blocks, entries| {
            let memory = isize::MAX as usize / (8 * Self::WORDS.max(1)) / blocks;
            entries <= memory.min(1 << 31) && Shape::fits(blocks, entries, 1)
        })
    }

    /// An empty ring that starts at the block number `head`.
    pub(crate) fn new(head: u64, blocks: usize, entries: usize, wait: W) -> Result<Self, BuildError> {
        Self::check(blocks, entries)?;
        let cursors = Cursors::new(head, Shape::new(blocks, entries, 1), wait)?;
        let words = memory::words(cursors.shape.capacity() * Self::WORDS)?;
        Ok(Self { cursors, words, _items: PhantomData })
    }

    /// The words of the entry at `place`.
    #[inline(always)]
    fn words(&self, place: Spot) -> &[AtomicU64] {
        let first = self.cursors.unit(place) * Self::WORDS;
        &self.words[first..first + Self::WORDS]
    }

    /// Pushes, or says why not: `Busy` or `Closed`.
    #[inline(always)]
    pub(crate) fn push(&self, value: &T) -> Result<(), TryPushError<()>> {
        self.push_batch(core::slice::from_ref(value)).map(|_| ())
    }

    /// Pushes as many of `values`, of which there are some, as the block has room for, or says why not.
    #[inline(always)]
    pub(crate) fn push_batch(&self, values: &[T]) -> Result<usize, TryPushError<()>> {
        let (first, count) = self.cursors.allocate((1, values.len()), |_, _| {})?;
        self.cursors.before_writing();
        for (offset, value) in values[..count].iter().enumerate() {
            plain::store(self.words(Spot(first.0 + offset as u64)), value);
        }
        self.cursors.commit(first, count);
        Ok(count)
    }

    /// Pops the oldest item that survives, with its place.
    #[inline(always)]
    pub(crate) fn pop(&self) -> Result<(Spot, T), TryPopError> {
        let (place, value) = self.cursors.pop(1, |place, _| Some((1, plain::load::<T>(self.words(place)))))?;
        // SAFETY: the entry was committed, and nobody had allocated in a later round when all its words were read (D2): so they are
        // those of one value, which was a `T`.
        Ok((place, unsafe { value.assume_init() }))
    }

    /// Pops the oldest items that survive and lie in one block, up to `limit`, and hands them to `take`. Returns how many: at least
    /// one, if `limit` is not zero.
    pub(crate) fn pop_batch(&self, limit: usize, take: impl FnOnce(&[T])) -> Result<usize, TryPopError> {
        if Self::MOST == 1 || limit == 1 {
            let (_, item) = self.pop()?;
            take(&[item]);
            return Ok(1);
        }
        let mut copies = Copies([MaybeUninit::uninit(); 1024]);
        let copies = copies.0.as_mut_ptr().cast::<MaybeUninit<T>>();
        let (_, count) = self.cursors.pop(limit.min(Self::MOST), |first, count| {
            for offset in 0..count {
                let item = plain::load::<T>(self.words(Spot(first.0 + offset as u64)));
                // SAFETY: there is room for so many, and it is aligned for them.
                unsafe { copies.add(offset).write(item) };
            }
            Some((count, count))
        })?;
        // SAFETY: as in `pop`, for `count` entries.
        take(unsafe { core::slice::from_raw_parts(copies.cast::<T>().cast_const(), count) });
        Ok(count)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::cursors::Sight;
    use super::*;
    use crate::Yield;
    use alloc::collections::VecDeque;

    /// A push that is half-way, to be ended later.
    fn begun(ring: &Ring<usize, Yield>, value: usize) -> Spot {
        let (place, _) = ring.cursors.allocate((1, 1), |_, _| {}).unwrap();
        plain::store(ring.words(place), &value);
        place
    }

    /// Producers that are always half-way with something, as when several never rest, and a consumer that looks between any two steps:
    /// whatever is committed in front of the first of them is delivered, and nothing behind it.
    #[test]
    fn what_is_committed_is_delivered_while_pushes_are_half_way() {
        for half_way in 1..=3 {
            let ring = Ring::new(0, 2, 64, Yield).unwrap();
            let mut open = VecDeque::new();
            for number in 0..200 {
                while open.len() < half_way {
                    open.push_back(begun(&ring, number + open.len()));
                }
                ring.cursors.commit(open.pop_front().unwrap(), 1);
                assert!(ring.cursors.may_pop(), "{number} is not delivered");
                assert_eq!(ring.pop().map(|(_, value)| value), Ok(number));
                let nothing = if open.is_empty() { TryPopError::Empty } else { TryPopError::Busy };
                assert_eq!(ring.pop(), Err(nothing));
                assert!(!ring.cursors.may_pop());
            }
            // The last one that is half-way ends first.
            while let Some(last) = open.pop_back() {
                assert!(!ring.cursors.may_pop());
                ring.cursors.commit(last, 1);
            }
            let left = core::iter::from_fn(|| ring.pop().ok()).map(|(_, value)| value);
            assert!(left.eq(200..199 + half_way));
        }
    }

    /// Half of a push, then a whole round of others: they wait for it, and a consumer does not call the queue empty.
    #[test]
    fn a_push_that_was_overtaken_keeps_others_busy() {
        let ring = Ring::new(0, 2, 2, Yield).unwrap();
        let late = begun(&ring, 0);
        for number in 1..4 {
            ring.push(&number).unwrap();
        }
        assert_eq!(ring.push(&4), Err(TryPushError::Busy(())));
        assert!(matches!(ring.pop(), Err(TryPopError::Busy)));
        assert!(!ring.cursors.may_push(1) && !ring.cursors.may_pop());
        ring.cursors.commit(late, 1);
        assert!(ring.cursors.may_push(1));
        ring.push(&4).unwrap();
        assert_eq!(ring.pop().unwrap().1, 2);
        assert_eq!(ring.cursors.dropped(), 2);
    }

    /// A consumer that has copied an item when its block is begun again does not take it, and one that was overrun by several
    /// rounds goes to the oldest survivor.
    #[test]
    fn what_is_overwritten_while_it_is_read_is_not_taken() {
        for rounds in 1..4 {
            let ring = Ring::new(0, 4, 2, Yield).unwrap();
            ring.push(&0).unwrap();
            let Sight::Units(place, 1) = ring.cursors.look(1) else { panic!("no item") };
            let pushed = 8 * rounds + 3;
            for number in 1..pushed {
                ring.push(&number).unwrap();
            }
            assert!(!ring.cursors.is_current(place));
            // The open block is the second of its round; the three blocks that end with it are left.
            assert_eq!(ring.cursors.dropped(), pushed as u64 - 7);
            assert_eq!(ring.pop().unwrap().1, pushed - 7);
        }
    }
}
