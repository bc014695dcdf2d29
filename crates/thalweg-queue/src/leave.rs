//! Leaving a cache line: dirtying consumed cache lines makes the producer's next store cheaper (AMD Zen).

use core::mem::MaybeUninit;
use core::ops::Range;
use thalweg_sync::cell::Slot;
use thalweg_sync::machine;

/// Which entries of a ring its consumer leaves by writing a byte of them when it has moved the item out: one on each line, if
/// [the machine](machine::slow_upgrades) asks for it.
///
/// A ring's consumer only reads, so both sides have each cache line that the producer comes to, and the producer has to take it from the
/// consumer before its next store. A producer that shows every item by a store to another line then gets on by one cache line for each
/// answer. A cache line that was left is fetched instead, while others are under way. On machines other than AMD's Zen, leaving a cache
/// line costs one more transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    /// The last entry of a line has an index of these bits alone, as far as they go. All bits: no entry has one.
    mask: usize,
}

impl Leaving {
    /// For a ring of `T` whose first entry begins a line.
    pub(crate) fn new<T>() -> Self {
        match machine::slow_upgrades() {
            Some(line) if size_of::<T>() > 0 => Self::lines_of::<T>(line),
            _ => Self { mask: usize::MAX },
        }
    }

    /// One entry for each `line` bytes: for as many as they have, or those of them that are a power of two.
    fn lines_of<T>(line: usize) -> Self {
        let entries = (line / size_of::<T>()).max(1);
        Self { mask: (1 << entries.ilog2()) - 1 }
    }

    /// Leaves the cache line of `entry`, which is number `index`, if it is the last entry of that line.
    ///
    /// # Safety
    ///
    /// The entry is the caller's, who has moved its item out and has not given it back.
    #[inline(always)]
    pub(crate) unsafe fn entry<T>(self, entry: &Slot<MaybeUninit<T>>, index: usize) {
        if index & self.mask == self.mask {
            // SAFETY: the caller's promise.
            unsafe { write(entry) };
        }
    }

    /// Leaves the cache lines whose last entry is one of `entries`; `at` gives the entry of an index.
    ///
    /// # Safety
    ///
    /// As [`entry`](Self::entry), for each of them.
    #[inline(always)]
    pub(crate) unsafe fn run<'a, T: 'a>(self, entries: Range<usize>, at: impl Fn(usize) -> &'a Slot<MaybeUninit<T>>) {
        if entries.end - entries.start == 1 {
            // Without a loop, where the compiler knows that it is one.
            // SAFETY: the caller's promise.
            unsafe { self.entry(at(entries.start), entries.start) };
        } else if self.mask < usize::MAX {
            // Not `step_by`, which divides: that takes longer than a short run.
            let mut index = entries.start | self.mask;
            while index < entries.end {
                // SAFETY: the caller's promise.
                unsafe { write(at(index)) };
                index += self.mask + 1;
            }
        }
    }
}

/// Whether a producer that pushes item by item does well to ask for its lines with each push.
///
/// Not where they are [left](Leaving): there the stores themselves have as many lines under way as it takes.
pub(crate) fn pushes_ask() -> bool {
    machine::slow_upgrades().is_none()
}

/// Runs `ask` if a push [asks](pushes_ask). The compiler puts it aside: pushes that do not ask run straight on, which counts where each
/// takes two nanoseconds, and the others jump there and back.
#[inline(always)]
pub(crate) fn ask_if(asks: bool, ask: impl FnOnce()) {
    #[cold]
    #[inline(always)]
    fn aside(ask: impl FnOnce()) {
        ask();
    }
    if asks {
        aside(ask);
    }
}

/// What is written. Not zero, the last byte of many an item: in an entry that is not empty it would be found out.
const LEFT: u8 = 0xa5;

/// Writes the last byte of an entry, and of each line before that which it fills.
///
/// # Safety
///
/// The caller owns the entry, and there is nothing in it.
#[inline(always)]
unsafe fn write<T>(entry: &Slot<MaybeUninit<T>>) {
    entry.with_mut(|slot| {
        for byte in (0..size_of::<T>()).rev().step_by(64) {
            // SAFETY: the byte is one of the entry, which is the caller's and empty, so whatever it is overwritten with is as good.
            unsafe { slot.cast::<u8>().add(byte).write(LEFT) };
        }
    });
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn left<T: Copy>(leaving: Leaving, full: T, leave: impl Fn(Leaving, &[Slot<MaybeUninit<T>>])) -> Vec<T> {
        let entries: Vec<_> = (0..20).map(|_| Slot::new(MaybeUninit::new(full))).collect();
        leave(leaving, &entries);
        // SAFETY: written above, and no other access is under way.
        entries.iter().map(|entry| entry.with(|slot| unsafe { (*slot).assume_init() })).collect()
    }

    fn one_by_one<T: Copy + PartialEq>(full: T) -> Vec<usize> {
        let leaving = Leaving::lines_of::<T>(64);
        let left = left(leaving, full, |leaving, entries| {
            // SAFETY: nobody else has the entries, and what is in them is not used.
            entries.iter().enumerate().for_each(|(index, entry)| unsafe { leaving.entry(entry, index) });
        });
        (0..20).filter(|&index| left[index] != full).collect()
    }

    #[test]
    fn the_last_entry_of_each_line_is_left() {
        assert_eq!(one_by_one(u64::MAX), [7, 15]);
        assert_eq!(one_by_one(u128::MAX), [3, 7, 11, 15, 19]);
        assert_eq!(one_by_one([u64::MAX; 3]), (1..20).step_by(2).collect::<Vec<_>>());
        assert_eq!(one_by_one([u64::MAX; 8]), (0..20).collect::<Vec<_>>());
        assert_eq!(one_by_one([u64::MAX; 9]), (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn a_run_leaves_what_single_items_leave() {
        let leaving = Leaving { mask: 7 };
        for (start, end) in [(0, 20), (3, 7), (3, 8), (7, 8), (8, 15), (15, 20), (4, 4)] {
            let run = left(leaving, u64::MAX, |leaving, entries| {
                // SAFETY: nobody else has the entries, and what is in them is not used.
                unsafe { leaving.run(start..end, |index| &entries[index]) };
            });
            let found: Vec<_> = (0..20).filter(|&index| run[index] != u64::MAX).collect();
            assert_eq!(found, (start..end).filter(|index| index % 8 == 7).collect::<Vec<_>>(), "{start}..{end}");
        }
    }

    #[test]
    fn an_entry_of_many_lines_is_left_on_each() {
        let leaving = Leaving { mask: 0 };
        // SAFETY: as above.
        let left = left(leaving, [u8::MAX; 200], |leaving, entries| unsafe { leaving.entry(&entries[0], 0) });
        let bytes: Vec<_> = (0..200).filter(|&byte| left[0][byte] == LEFT).collect();
        assert_eq!(bytes, [7, 71, 135, 199]);
        assert!(left[1..].iter().all(|entry| entry == &[u8::MAX; 200]));
    }

    #[test]
    fn elsewhere_nothing_is_written() {
        let leaving = Leaving { mask: usize::MAX };
        let left = left(leaving, u64::MAX, |leaving, entries| {
            // SAFETY: as above.
            unsafe {
                leaving.run(0..20, |index| &entries[index]);
                (0..20).for_each(|index| leaving.entry(&entries[index], index));
            }
        });
        assert!(left.iter().all(|&entry| entry == u64::MAX));
    }
}
