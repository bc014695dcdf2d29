//! Marks: one byte for each entry of a block, by which the users of the entries say that they are done with them.

use crate::BuildError;
use crate::memory::{Provider, Region};
use core::ops::Range;
use thalweg_sync::atomic::{AtomicU8, Ordering};

/// What says in which round an entry was marked: the lowest bit of the round.
///
/// Each entry is marked once in each round, so a mark is of this round or of the last one, one bit tells them apart, and none
/// is ever cleared. The bit above says that the entry is a hole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mark(u8);

impl Mark {
    /// The mark of a round that is odd, or of one that is not. Zero is that of an odd one, as the round before the first is: marks of
    /// zero need not be written when a queue is built.
    #[inline(always)]
    pub(crate) fn of(odd: bool) -> Self {
        Self(u8::from(!odd))
    }

    /// The mark of the same round for an entry without an item.
    #[inline(always)]
    pub(crate) fn hole(self) -> Self {
        Self(self.0 | 2)
    }

    /// Whether it was set in the round of `mark`, which is of no hole: on an item or on a hole.
    #[inline(always)]
    pub(crate) fn is_of(self, mark: Self) -> bool {
        self.0 & 1 == mark.0
    }
}

/// How many marks share a line. Fewer in a model, to which each is an object.
pub(crate) const PER_LINE: usize = if cfg!(loom) { 2 } else { 64 };

/// A line of marks, and nothing else. In a model a mark is larger, and so is a line.
#[derive(Debug)]
#[cfg_attr(not(loom), repr(C, align(64)))]
#[cfg_attr(loom, repr(transparent))]
struct Line([AtomicU8; PER_LINE]);

/// The marks of one block that one side sets.
#[derive(Debug)]
pub(crate) struct Marks(Region<Line>);

impl Marks {
    #[cfg(not(loom))]
    const UNTOUCHED: Mark = Mark(0);

    /// Marks for `entries` entries, each `mark`.
    pub(crate) fn new(source: &mut impl Provider, entries: usize, mark: Mark) -> Result<Self, BuildError> {
        #[cfg(not(loom))]
        if mark == Self::UNTOUCHED {
            // SAFETY: an atomic is its number.
            return unsafe { Region::zeroes(source, entries.div_ceil(PER_LINE)) }.map(Self);
        }
        let line = || Line(core::array::from_fn(|_| AtomicU8::new(mark.0)));
        Region::new(source, entries.div_ceil(PER_LINE), |_, _| Ok(line())).map(Self)
    }

    /// The marks without their lines: a push and a pop have one look for theirs.
    #[inline(always)]
    fn all(&self) -> &[AtomicU8] {
        // SAFETY: a line is its marks without padding, and the lines are one behind the other.
        unsafe { core::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * PER_LINE) }
    }

    #[inline(always)]
    fn at(&self, entry: usize) -> &AtomicU8 {
        &self.all()[entry]
    }

    /// The line in which the mark of `entry` is, for a prefetch.
    #[inline(always)]
    pub(crate) fn line(&self, entry: usize) -> Option<&impl Sized> {
        self.0.get(entry / PER_LINE)
    }

    /// As [`set`](Self::set), without a look at how many there are.
    ///
    /// # Safety
    ///
    /// There is such an entry.
    #[inline(always)]
    pub(crate) unsafe fn set_unchecked(&self, entry: usize, mark: Mark, order: Ordering) {
        // SAFETY: the caller's promise.
        unsafe { self.all().get_unchecked(entry) }.store(mark.0, order);
    }

    /// As [`get`](Self::get), without a look at how many there are.
    ///
    /// # Safety
    ///
    /// There is such an entry.
    #[inline(always)]
    pub(crate) unsafe fn get_unchecked(&self, entry: usize, order: Ordering) -> Mark {
        // SAFETY: the caller's promise.
        Mark(unsafe { self.all().get_unchecked(entry) }.load(order))
    }

    #[inline(always)]
    pub(crate) fn get(&self, entry: usize, order: Ordering) -> Mark {
        Mark(self.at(entry).load(order))
    }

    #[inline(always)]
    pub(crate) fn set(&self, entry: usize, mark: Mark, order: Ordering) {
        self.at(entry).store(mark.0, order);
    }

    /// The marks of `entries`, line by line.
    #[inline(always)]
    fn lines(&self, entries: Range<usize>) -> impl DoubleEndedIterator<Item = &[AtomicU8]> {
        let Range { start, end } = entries;
        let lines = self.0[..end.div_ceil(PER_LINE)].iter().enumerate().skip(start / PER_LINE);
        lines.map(move |(number, line)| {
            let first = number * PER_LINE;
            &line.0[start.saturating_sub(first)..(end - first).min(PER_LINE)]
        })
    }

    /// Marks all of `entries`, the first one last: who goes by them in order sees all or none.
    #[inline]
    pub(crate) fn set_all(&self, entries: Range<usize>, mark: Mark, order: Ordering) {
        for line in self.lines(entries).rev() {
            // By eights: a core does more than one such store in a cycle.
            let eights = line.rchunks_exact(8);
            let first = eights.remainder();
            for eight in eights {
                eight.iter().rev().for_each(|each| each.store(mark.0, order));
            }
            first.iter().rev().for_each(|each| each.store(mark.0, order));
        }
    }

    /// The first entry from `start` on, before `end`, that has another mark; `end` if there is none.
    #[inline]
    pub(crate) fn first_other(&self, mark: Mark, start: usize, end: usize, order: Ordering) -> usize {
        let mut at = start;
        for line in self.lines(start..end) {
            // If the last of many is marked, so are most likely all.
            let last = line.len() >= 8 && line.last().is_some_and(|last| last.load(order) == mark.0);
            if last && Self::are(line, mark, order) {
                at += line.len();
            } else {
                let same = line.iter().take_while(|each| each.load(order) == mark.0).count();
                at += same;
                if same < line.len() {
                    break;
                }
            }
        }
        at
    }

    /// Whether all of `marks` are `mark`. Without a branch for each: so the lines' transfers overlap.
    #[inline(always)]
    fn are(marks: &[AtomicU8], mark: Mark, order: Ordering) -> bool {
        let differ = |marks: &[AtomicU8]| marks.iter().fold(0, |differ, other| differ | (other.load(order) ^ mark.0));
        // By eights, as `set_all`.
        let eights = marks.chunks_exact(8);
        differ(eights.remainder()) | eights.fold(0, |all, eight| all | differ(eight)) == 0
    }

    /// Whether all of the first `entries` have this mark. Looks at the last one first, as the one that most likely has not.
    pub(crate) fn all_are(&self, mark: Mark, entries: usize, order: Ordering) -> bool {
        self.get(entries - 1, order) == mark && self.lines(0..entries).rev().all(|line| Self::are(line, mark, order))
    }
}

#[cfg(all(test, feature = "alloc", not(loom)))]
mod tests {
    use super::*;
    use Ordering::Relaxed;

    #[test]
    fn marks_of_every_place_count() {
        let (last, this) = (Mark::of(false), Mark::of(true));
        for entries in [1, 2, 63, 64, 65, 200] {
            let marks = Marks::new(&mut crate::memory::Heap, entries, last).unwrap();
            assert!(marks.all_are(last, entries, Relaxed));
            for entry in 0..entries {
                assert_eq!(marks.first_other(this, 0, entries, Relaxed), entry);
                assert!(!marks.all_are(this, entries, Relaxed));
                marks.set(entry, this, Relaxed);
                assert!(!marks.all_are(last, entries, Relaxed));
            }
            assert!(marks.all_are(this, entries, Relaxed));
            assert_eq!(marks.first_other(this, 0, entries, Relaxed), entries);
            for hole in [0, entries / 2, entries - 1] {
                marks.set(hole, this.hole(), Relaxed);
                assert!(!marks.all_are(this, entries, Relaxed));
                assert_eq!(marks.first_other(this, 0, entries, Relaxed), hole);
                marks.set(hole, this, Relaxed);
            }
            marks.set_all(entries / 2..entries, last, Relaxed);
            assert_eq!(marks.first_other(this, 0, entries, Relaxed), entries / 2);
            assert_eq!(marks.first_other(last, entries / 2, entries, Relaxed), entries);
        }
    }
}
