//! The ring of slots, and the two flags that say who has left.

use super::Entry;
use crate::drops::Drops;
use crate::edges::in_order;
use crate::ends::Ends;
use crate::memory::{Heap, Region};
use crate::share::Placed;
use crate::{BuildError, prefetch};
use core::marker::PhantomData;

/// Slots per line: how many the consumer empties and the producer checks at a time.
///
/// As many words as fit 64 bytes, also where items are in place and take more lines than one; two in a model, so that a ring of two
/// lines wraps within four items.
pub(super) const LINE: usize = if cfg!(loom) { 2 } else { 64 / size_of::<usize>() };

/// How many lines ahead the producer asks for.
///
/// Without asking it stops at the start of each line until the consumer's core gives the line up, the consumer
/// catches up, and both work in one line. With fewer than eight that still happens.
const AHEAD: usize = 8;

#[derive(Debug)]
#[repr(align(64))]
struct Line<S>([S; LINE]);

/// Slots shared by the two sides. Invariants F1 to F3 are in the module's documentation.
#[derive(Debug)]
pub(super) struct Ring<T, W, S: Entry<T>> {
    lines: Region<Line<S>>,
    /// How many items fit for certain; the ring is up to two lines longer.
    pub(super) capacity: usize,
    pub(super) ends: Ends,
    pub(super) wait: W,
    /// Invariant in `T`, as a cell is: a word knows no lifetime, so neither end may take the items for shorter lived ones than the
    /// other does.
    _items: PhantomData<fn(T) -> T>,
}

impl<T, W, S: Entry<T>> Placed for Ring<T, W, S> {}

// SAFETY: the ring hands each item from one thread to another (F1, F2), which `T: Send` allows, and never shares one.
unsafe impl<T: Send, W: Sync, S: Entry<T>> Sync for Ring<T, W, S> {}
// SAFETY: as above; items that are left are dropped by whoever has the ring last.
unsafe impl<T: Send, W: Send, S: Entry<T>> Send for Ring<T, W, S> {}

impl<T, W, S: Entry<T>> Ring<T, W, S> {
    /// An empty ring for `capacity` items, whose ends wait by `wait`.
    pub(super) fn new(capacity: usize, wait: W) -> Result<Self, BuildError> {
        // Two lines come on top.
        let most = (isize::MAX as usize / size_of::<Line<S>>()).saturating_sub(2) * LINE;
        BuildError::check("capacity", capacity, 1, most)?;
        // The consumer may hold back the emptying of a line; it comes on top. Two lines at least, so that a line of taken
        // slots does not end where it begins.
        let lines = (capacity + LINE).div_ceil(LINE).max(2);
        // Slots of zeroes are vacant, and not touched. In a model they are more than that.
        #[cfg(not(loom))]
        // SAFETY: a line is an array of slots.
        let lines = unsafe { Region::zeroes(&mut Heap, lines) }?;
        #[cfg(loom)]
        let lines = Region::new(&mut Heap, lines, |_, _| {
            let mut line = core::mem::MaybeUninit::<Line<S>>::uninit();
            let first = line.as_mut_ptr().cast::<S>();
            // SAFETY: a line is an array of so many slots, and ours.
            Ok(unsafe {
                (0..LINE).for_each(|slot| S::vacate(first.add(slot)));
                line.assume_init()
            })
        })?;
        Ok(Self { lines, capacity, ends: Ends::new(), wait, _items: PhantomData })
    }

    /// How many slots there are: `capacity` and at most two lines more.
    pub(super) fn slots(&self) -> usize {
        self.lines.len() * LINE
    }

    /// The first slot if `slot` is behind the last one.
    #[inline(always)]
    pub(super) fn wrapped(&self, slot: usize) -> usize {
        if slot == self.slots() { 0 } else { slot }
    }

    /// Empties the line before the one that begins with `slot`. Only the consumer may, when it has taken all of it.
    #[inline(always)]
    pub(super) fn clear_line_before(&self, slot: usize) {
        let end = if slot == 0 { self.slots() } else { slot };
        let [before @ .., last] = &self.lines[end / LINE - 1].0;
        // (ff.11) The last slot last: it tells the producer of all of them. The other way round, an item could be emptied that the
        // producer has put there since.
        in_order("ff.11", || before.iter().for_each(S::clear), || last.clear());
    }

    #[inline(always)]
    pub(super) fn slot(&self, slot: usize) -> &S {
        &self.lines[slot / LINE].0[slot % LINE]
    }

    /// Asks for the line [`AHEAD`] of `slot`, to fill it.
    #[inline(always)]
    pub(super) fn ask_ahead(&self, slot: usize) {
        let line = slot / LINE + AHEAD;
        self.ask_for(if line < self.lines.len() { line } else { line % self.lines.len() });
    }

    /// Asks for number `line`, to write it.
    #[inline(always)]
    pub(super) fn ask_for(&self, line: usize) {
        prefetch::for_write(&self.lines[line]);
    }
}

impl<T, W, S: Entry<T>> Drop for Ring<T, W, S> {
    /// Drops what was pushed while the consumer left.
    fn drop(&mut self) {
        if !S::IS_DROPPED {
            return;
        }
        let mut drops = Drops::default();
        for slot in 0..self.slots() {
            // SAFETY: both sides are gone, so this is the only access. The consumer cleared whatever it took (F3),
            // so what is left in a slot was taken by nobody.
            unsafe { self.slot(slot).discard(&mut drops) };
        }
    }
}
