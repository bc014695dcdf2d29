//! The ring of entries, and the two cursors of each block. All unsafe code on entries is here.

use crate::cursor::Layout;
use crate::drops::Drops;
use crate::edges::edge;
use crate::ends::Ends;
#[cfg(not(loom))]
use crate::grant;
use crate::leave::Leaving;
use crate::lines::Lines;
use crate::memory::{Provider, Region};
use crate::share::{Home, Placed};
use crate::wait::Wait;
use crate::{BuildError, prefetch};
use core::mem::MaybeUninit;
use core::ops::Range;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::cell::Slot;
#[cfg(not(loom))]
use thalweg_sync::hint::Access;

/// A spot in the order of the queue: one entry, in one round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    /// How many entries come before it, over all rounds. Wraps.
    pub(super) position: u64,
    /// Which entry of the ring it is.
    pub(super) entry: usize,
    /// The block it lies in.
    pub(super) block: usize,
}

impl Spot {
    /// What is to be added to an entry of the block for its position. Wraps.
    #[inline(always)]
    pub(super) fn base(&self) -> u64 {
        self.position.wrapping_sub(self.entry as u64)
    }
}

/// What both sides share. Invariants S1 to S3 are in the module's documentation.
#[derive(Debug)]
pub(super) struct Ring<T, W: Wait> {
    layout: Layout,
    cursors: Region<Cursors>,
    entries: Lines<T>,
    pub(super) ends: Ends,
    pub(super) wait: W,
    /// Where the consumer stopped, once it is gone: the entry, and its position.
    stopped: [AtomicU64; 2],
    home: Option<&'static Home>,
}

impl<T, W: Wait> Placed for Ring<T, W> {
    fn home(&self) -> Option<&'static Home> {
        self.home
    }
}

/// The cursors of one block, each written by one side.
#[derive(Debug)]
pub(super) struct Cursors {
    /// The producer's: every position before it, in this block, is written.
    committed: CachePadded<AtomicU64>,
    /// The consumer's: the position at which the block may be filled from its start.
    granted: CachePadded<AtomicU64>,
}

impl<T, W: Wait> Ring<T, W> {
    /// How many entries make a line: how many steps there are from one prefetch to the next.
    pub(super) const PER_LINE: usize = {
        let size = if size_of::<T>() == 0 { 1 } else { size_of::<T>() };
        if size >= 64 { 1 } else { 64 / size }
    };

    /// How many entries ahead each side asks for lines: eight lines. With four the two sides still meet in one line, and
    /// with sixteen the lines are gone again before they are used.
    pub(super) const AHEAD: usize = 8 * Self::PER_LINE;

    /// A look that finds fewer came too soon: it costs the producer two lines, that of the cursor and that of its entry, which stores
    /// of so many items hide.
    pub(super) const FEW: usize = 4 * Self::AHEAD;

    /// How many entries ahead of a run, a slice or a grant, each side asks for lines: sixteen lines, which come while the caller is busy
    /// with the items of that run.
    pub(super) const RUN_AHEAD: usize = 2 * Self::AHEAD;

    /// An empty ring, and where both sides start: at the block number `head`.
    pub(super) fn new(
        source: &mut impl Provider,
        head: u64,
        (blocks, entries): (usize, usize),
        wait: W,
    ) -> Result<(Self, Spot), BuildError> {
        let layout = Layout::new(blocks, entries, size_of::<T>())?;
        let first = (head % blocks as u64) as usize;
        let cursors = |block: usize| {
            // The round of a block before the first one has just begun again.
            let ahead = (block + blocks - first) % blocks;
            let start = head.wrapping_add(ahead as u64).wrapping_mul(entries as u64);
            let at_start = || CachePadded(AtomicU64::new(start));
            Cursors { committed: at_start(), granted: at_start() }
        };
        let place = Spot { position: head.wrapping_mul(entries as u64), entry: first * entries, block: first };
        let ring = Self {
            layout,
            cursors: Region::new(source, blocks, |_, block| Ok(cursors(block)))?,
            entries: Lines::of(source, layout.capacity())?,
            ends: Ends::new(),
            wait,
            stopped: [AtomicU64::new(place.entry as u64), AtomicU64::new(place.position)],
            home: source.home(),
        };
        Ok((ring, place))
    }

    /// How many entries all blocks have.
    pub(super) fn capacity(&self) -> usize {
        self.layout.capacity()
    }

    /// How many entries a block has.
    #[inline(always)]
    pub(super) fn block_entries(&self) -> usize {
        self.layout.entries
    }

    /// The first entry of the block after the one at `place`, which ends there.
    #[inline(always)]
    pub(super) fn next_block(&self, place: Spot) -> Spot {
        let block = (place.block + 1) & (self.layout.blocks - 1);
        Spot { position: place.position, entry: block * self.layout.entries, block }
    }

    /// The cursors of `block`, which is one of the ring.
    #[inline(always)]
    fn cursors(&self, block: usize) -> &Cursors {
        debug_assert!(block < self.cursors.len());
        // SAFETY: blocks come from the first place and from `next_block`, which stays below their number.
        unsafe { self.cursors.get_unchecked(block) }
    }

    /// The entry number `entry`.
    ///
    /// # Safety
    ///
    /// It is below the capacity.
    #[inline(always)]
    unsafe fn entry(&self, entry: usize) -> &Slot<MaybeUninit<T>> {
        debug_assert!(entry < self.entries.len());
        // SAFETY: the caller's promise.
        unsafe { self.entries.get_unchecked(entry) }
    }

    /// Whether the producer may fill the block that starts at `place`.
    #[inline]
    pub(super) fn is_granted(&self, place: Spot) -> bool {
        // (spsc.1) Acquire, pairs with (spsc.2): what was in the block has been read. Relaxed would overwrite an entry that is
        // being read.
        self.cursors(place.block).granted.load(edge("spsc.1", Acquire)) == place.position
    }

    /// Gives the block back that ends at `place`. Only the consumer may.
    #[inline]
    pub(super) fn grant(&self, place: Spot) {
        let next_round = place.position.wrapping_add((self.layout.capacity() - self.layout.entries) as u64);
        // (spsc.2) Release, pairs with (spsc.1).
        self.cursors(place.block).granted.store(next_round, edge("spsc.2", Release));
    }

    /// Lets the consumer see everything before `end`, which lies in `block` or at its end. Only the producer may, and only
    /// what it has written.
    #[inline(always)]
    pub(super) fn commit(&self, block: usize, end: u64) {
        // (spsc.3) Release, pairs with (spsc.4): the entries are written before they can be seen. Relaxed would hand out an
        // unwritten entry.
        self.cursors(block).committed.store(end, edge("spsc.3", Release));
    }

    /// How many items are committed from `place` to the end of its block.
    #[inline]
    pub(super) fn committed(&self, place: Spot) -> usize {
        // (spsc.4) Acquire, pairs with (spsc.3).
        let committed = self.cursors(place.block).committed.load(edge("spsc.4", Acquire));
        // In an earlier round the cursor is behind (S2).
        (committed.wrapping_sub(place.position) as i64).max(0) as usize
    }

    /// Asks for the line that the producer writes [`AHEAD`](Self::AHEAD) of `entry`.
    #[inline(always)]
    pub(super) fn ask_to_write(&self, entry: usize) {
        let ahead = entry + Self::AHEAD;
        // Beyond the end of the ring its start comes next: a branch that is easily foreseen, and shorter than none. In a ring that is
        // shorter than that there is nothing to ask for.
        match self.entries.get(ahead) {
            Some(later) => prefetch::for_write(later),
            None => {
                if let Some(later) = self.entries.get(ahead - self.entries.len()) {
                    prefetch::for_write(later);
                }
            }
        }
    }

    /// Asks for the two lines that a push into `entry` writes: that of the entry and, behind it, that of its block's cursor.
    ///
    /// A consumer that polls has taken both. The two stores would fetch them one after the other if many stores are on their way
    /// before them; asked for, they come together.
    ///
    /// # Safety
    ///
    /// The entry is the caller's (S1), and lies in `block`.
    #[inline(always)]
    pub(super) unsafe fn ask_to_push(&self, entry: usize, block: usize) {
        // SAFETY: the entry is the caller's, so it is one of the ring.
        prefetch::for_write(unsafe { self.entry(entry) });
        prefetch::for_write(&self.cursors(block).committed);
    }

    /// Asks for the lines of `entries`, which are the producer's, to write them.
    #[inline(always)]
    pub(super) fn ask_to_write_run(&self, entries: Range<usize>) {
        entries.step_by(Self::PER_LINE).filter_map(|entry| self.entries.get(entry)).for_each(prefetch::for_write);
    }

    /// Asks for the lines of `entries`, which are committed, to read them.
    #[inline(always)]
    pub(super) fn ask_to_read_run(&self, entries: Range<usize>) {
        entries.step_by(Self::PER_LINE).filter_map(|entry| self.entries.get(entry)).for_each(prefetch::for_read);
    }

    /// Asks for the line [`AHEAD`](Self::AHEAD) of `entry`, to read it.
    ///
    /// # Safety
    ///
    /// The entry that far ahead is the consumer's (S1), in the same block.
    #[inline(always)]
    pub(super) unsafe fn ask_to_read_ahead(&self, entry: usize) {
        // SAFETY: the entry is the caller's, so it is one of the ring.
        prefetch::for_read(unsafe { self.entry(entry + Self::AHEAD) });
    }

    /// Asks for the line of `entry`, to read it.
    #[inline(always)]
    pub(super) fn ask_to_read(&self, entry: usize) {
        if let Some(later) = self.entries.get(entry) {
            prefetch::for_read(later);
        }
    }

    /// Writes `value` into `entry`.
    ///
    /// # Safety
    ///
    /// The caller is the producer and owns the entry (S1).
    #[inline(always)]
    pub(super) unsafe fn write(&self, entry: usize, value: T) {
        // SAFETY: the entry is the caller's alone, so it is one of the ring.
        unsafe { self.entry(entry).with_mut(|slot| (*slot).write(value)) };
    }

    /// Moves the item out of `entry`.
    ///
    /// # Safety
    ///
    /// The caller is the consumer, owns the entry (S1), and moves it out once.
    #[inline(always)]
    pub(super) unsafe fn read(&self, entry: usize) -> T {
        // SAFETY: written, and the caller's alone, so it is one of the ring.
        unsafe { self.entry(entry).with(|slot| (*slot).assume_init_read()) }
    }

    /// Drops the item of an entry where it lies.
    ///
    /// # Safety
    ///
    /// As [`read`](Self::read), instead of it.
    pub(super) unsafe fn discard(&self, entry: usize) {
        // SAFETY: written, and the caller's alone, so it is one of the ring.
        unsafe { self.entry(entry).with_mut(|slot| (*slot).assume_init_drop()) };
    }

    /// Leaves the lines that end in `entries`, all of one block.
    ///
    /// # Safety
    ///
    /// The caller is the consumer, owns the entries (S1), and has moved their items out.
    #[inline(always)]
    pub(super) unsafe fn leave(&self, leaving: Leaving, entries: Range<usize>) {
        // SAFETY: the entries are the caller's, so they are some of the ring.
        unsafe { leaving.run(entries, |entry| self.entry(entry)) };
    }

    /// As [`leave`](Self::leave), of one entry.
    ///
    /// # Safety
    ///
    /// As there.
    #[inline(always)]
    pub(super) unsafe fn leave_entry(&self, leaving: Leaving, entry: usize) {
        // SAFETY: as above.
        unsafe { leaving.entry(self.entry(entry), entry) };
    }

    /// Entries as memory, for grants and slices. An engine sees the range as touched.
    ///
    /// # Safety
    ///
    /// They are entries of this ring.
    #[cfg(not(loom))]
    #[inline]
    #[track_caller]
    pub(super) unsafe fn memory(&self, entries: Range<usize>, access: Access) -> *mut MaybeUninit<T> {
        // SAFETY: the caller's promise.
        unsafe { grant::memory_of(&self.entries, entries, access) }
    }

    /// The `count` entries from `entry` on as memory, with those that go on at the start of the ring.
    #[cfg(not(loom))]
    #[track_caller]
    pub(super) fn around(&self, entry: usize, count: usize, access: Access) -> [(*mut MaybeUninit<T>, usize); 2] {
        let first = count.min(self.capacity() - entry);
        let rest = count - first;
        let [end, start] = [entry..entry + first, 0..rest].map(|range| grant::memory(&self.entries[range], access));
        [(end, first), (start, rest)]
    }

    /// Notes where the consumer stopped, for the ring's own drop.
    pub(super) fn stop(&self, place: Spot) {
        // Relaxed: read under the `Arc`'s own edge.
        self.stopped[0].store(place.entry as u64, Relaxed);
        self.stopped[1].store(place.position, Relaxed);
    }
}

impl<T, W: Wait> Drop for Ring<T, W> {
    /// Drops what was pushed while the consumer left.
    fn drop(&mut self) {
        let entry = self.stopped[0].load(Relaxed) as usize;
        let mut place = Spot { position: self.stopped[1].load(Relaxed), entry, block: entry / self.layout.entries };
        let mut drops = Drops::default();
        loop {
            let end = (place.block + 1) * self.layout.entries;
            let items = self.committed(place);
            for entry in place.entry..place.entry + items {
                // SAFETY: both sides are gone, so this is the only access, and the consumer came no further than `place`.
                drops.one(|| unsafe { self.discard(entry) });
            }
            if place.entry + items < end {
                return;
            }
            place = self.next_block(Spot { position: place.position.wrapping_add(items as u64), ..place });
        }
    }
}
