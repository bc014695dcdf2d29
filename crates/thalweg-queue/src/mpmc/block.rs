//! One block: its entries, and the cursors and marks that say who may touch which. All unsafe code of the queue is here.

use super::claim::{Allocate, Begun, Claim, Found, Glance, Room, Sight};
use super::users::{Users, advance, among};
use crate::cursor::{Cursor, Head, Layout};
use crate::edges::edge;
use crate::leave::Leaving;
use crate::lines::Lines;
use crate::marks::{self, Mark, Marks};
use crate::memory::Provider;
use crate::slip::Slip;
use crate::{BuildError, prefetch};
use core::marker::PhantomData;
use core::ops::Range;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicU32, AtomicU64};

/// A block of a queue with `P` producers and `C` consumers. Invariants I1 to I7 are in the module's documentation.
#[derive(Debug)]
pub(crate) struct Block<T, P, C> {
    producers: CachePadded<ProducerCursors>,
    consumers: CachePadded<ConsumerCursors>,
    /// The end of the last round in which an entry was committed before the one in front of it, or that producers have left, if they are
    /// many. They write it once a round at most, and consumers that find nothing look at it instead of at `allocated`.
    disordered: CachePadded<AtomicU64>,
    /// Which entries are written: set by producers.
    written: Marks,
    /// Which entries are read: set by consumers. Empty where there is one, as it gives the block back whole.
    read: Marks,
    entries: Lines<T>,
    leaving: Leaving,
    users: PhantomData<(P, C)>,
}

/// What producers look at.
#[derive(Debug)]
struct ProducerCursors {
    /// The next entry to give to a producer. A consumer that finds no item leaves it alone, if it can: by each such look the next push
    /// would wait for the line.
    allocated: AtomicU64,
    /// The end of entries that one of many producers has committed, lately.
    settled: AtomicU64,
    /// The end of the last round that consumers have reserved to its end; that one alone has read to its end. They write it once a round:
    /// producers that find the queue full look here again and again, and leave the consumers' own line alone.
    drained: AtomicU64,
}

/// What consumers look at, and nobody else.
#[derive(Debug)]
struct ConsumerCursors {
    /// The next entry to give to a consumer.
    reserved: AtomicU64,
    /// Every entry before it is written, as a consumer has seen.
    known: AtomicU64,
    /// How long to wait before the next look at the producers' marks ([`Slip`]).
    slip: AtomicU32,
}

impl<T, P: Users, C: Users> Block<T, P, C> {
    /// How many entries make a line.
    const PER_LINE: usize = {
        let size = if size_of::<T>() == 0 { 1 } else { size_of::<T>() };
        if size >= 64 { 1 } else { 64 / size }
    };

    /// How many entries ahead either side asks for lines: eight lines, as in the queue for one and one.
    const AHEAD: usize = 8 * Self::PER_LINE;

    /// How many entries ahead of a batch either side asks for lines: sixteen lines.
    const RUN_AHEAD: usize = 2 * Self::AHEAD;

    /// How many marks a consumer that takes many looks at beyond those that it wants: four lines.
    const LOOK_AHEAD: usize = 4 * marks::PER_LINE;

    /// How many marks ahead: half a line for who goes one by one, two lines for who takes many.
    const MARKS_AHEAD: [usize; 2] = [marks::PER_LINE / 2, 2 * marks::PER_LINE];

    /// A block whose cursors are all at `cursor`. The next round to be filled, or the one that is open, is that of `head`.
    pub(crate) fn new(
        source: &mut impl Provider,
        layout: &Layout,
        head: Head,
        cursor: Cursor,
    ) -> Result<Self, BuildError> {
        let end = layout.end(head.last_round(layout));
        let at = |cursor: Cursor| AtomicU64::new(cursor.0);
        let mark = Mark::of(layout.is_odd(end));
        Ok(Self {
            producers: CachePadded(ProducerCursors { allocated: at(cursor), settled: at(end), drained: at(end) }),
            consumers: CachePadded(ConsumerCursors {
                reserved: at(cursor),
                known: at(cursor),
                slip: AtomicU32::new(0),
            }),
            disordered: CachePadded(at(end)),
            written: Marks::new(source, layout.entries, mark)?,
            read: Marks::new(source, if C::MANY { layout.entries } else { 0 }, mark)?,
            entries: Lines::of(source, layout.entries)?,
            leaving: Leaving::new::<T>(),
            users: PhantomData,
        })
    }

    #[inline(always)]
    fn claim(layout: &Layout, first: Cursor, count: usize) -> Claim {
        let offset = layout.offset(first);
        Claim { offsets: offset..offset + count, mark: Mark::of(layout.is_odd(first)) }
    }

    /// Takes up to `count` entries to write, of whatever round the block is in.
    ///
    /// That is the round of the head, or a later one if the head is out of date: the block before is done then, so these are the
    /// entries to fill next all the same.
    ///
    /// By an exact exchange, unlike the paper's `fetch_add`: it never runs past the end (errata C3), and who loses knows that
    /// there is another producer at work, and lets it.
    #[inline(always)]
    pub(crate) fn allocate(&self, layout: &Layout, count: usize) -> Allocate {
        let allocated = self.allocated_by();
        let left = layout.entries - layout.offset(allocated);
        if left == 0 {
            return Allocate::Done;
        }
        let count = count.min(left);
        if !P::MANY {
            // Nobody else allocates meanwhile (I7), so it is `commit` that moves the cursor: what is not committed holds nothing back.
            return Allocate::Entries(allocated, Self::claim(layout, allocated, count));
        }
        // (bbq.1) Release, pairs with (bbq.2): who finds the block done also sees what we popped before, else it could call a
        // queue full that never was. Failure is Relaxed: the caller looks again.
        let order = edge("bbq.1", Release);
        match self.producers.allocated.compare_exchange(allocated.0, allocated.0 + count as u64, order, Relaxed) {
            Ok(_) => Allocate::Entries(allocated, Self::claim(layout, allocated, count)),
            Err(seen) => Allocate::Contended(Cursor(seen)),
        }
    }

    #[inline(always)]
    fn allocated_by(&self) -> Cursor {
        // (bbq.2) Acquire, pairs with (bbq.1), and with (bbq.5): the consumers of the last round have read the entry before we
        // write it. Relaxed would overwrite an entry that is being read.
        Cursor(self.producers.allocated.load(among::<P>("bbq.2", Acquire)))
    }

    /// Where the producers' cursor is, or was lately.
    pub(crate) fn allocated_now(&self) -> Cursor {
        // Relaxed: for who waits, it decides nothing but time.
        Cursor(self.producers.allocated.load(Relaxed))
    }

    /// Where the consumers' cursor is, or was lately.
    pub(crate) fn reserved_now(&self) -> Cursor {
        // Relaxed: as above.
        Cursor(self.consumers.reserved.load(Relaxed))
    }

    /// Whether every entry of the round of `head` is allocated, and no later round has begun. Writes nothing.
    #[inline(always)]
    pub(crate) fn is_allocated(&self, layout: &Layout, head: Head) -> bool {
        self.allocated_by() == layout.end(head)
    }

    /// Writes the entry at `offset`. Consumers see it after [`commit`](Self::commit).
    ///
    /// # Safety
    ///
    /// It is of a claim from [`allocate`](Self::allocate) that is not committed yet.
    #[inline(always)]
    pub(crate) unsafe fn write(&self, offset: usize, value: T) {
        // Else the producer waits at each line until the consumers' core gives it up, and both sides work in one line.
        if let Some(later) = self.entries.get(offset + Self::AHEAD) {
            prefetch::for_write(later);
        }
        // SAFETY: a claim's offsets are below the number of entries (I2).
        unsafe { self.entries.get_unchecked(offset) }.with_mut(|entry| {
            // SAFETY: the offset is ours alone (I2): its consumer of the last round is done, as (bbq.2) saw, and
            // none of this round gets it before (bbq.3). Moving the value runs no user code, so nothing can come
            // between the two.
            unsafe { (*entry).write(value) };
        });
    }

    /// Drops the item at `offset` where it lies.
    ///
    /// # Safety
    ///
    /// As [`read`](Self::read), instead of it.
    #[inline]
    pub(crate) unsafe fn discard(&self, offset: usize) {
        // SAFETY: the caller's promise, as for moving it out.
        self.entries[offset].with_mut(|entry| unsafe { (*entry).assume_init_drop() });
    }

    /// Copies `values` into the entries from `offset` on.
    ///
    /// # Safety
    ///
    /// As [`write`](Self::write), for as many entries.
    #[inline]
    pub(crate) unsafe fn write_all(&self, offset: usize, values: &[T])
    where
        T: Copy,
    {
        #[cfg(not(loom))]
        {
            // SAFETY: the entries are ours alone, as in `write`, and as many as the values.
            unsafe {
                let entries = self.memory(offset..offset + values.len(), thalweg_sync::hint::Access::Write);
                core::ptr::copy_nonoverlapping(values.as_ptr(), entries.cast(), values.len());
            }
        }
        #[cfg(loom)]
        for (offset, &value) in (offset..).zip(values) {
            // SAFETY: the caller's promise.
            unsafe { self.write(offset, value) };
        }
    }

    /// As [`commit`](Self::commit), where it is not known whether consumers are warned of the round: sees to it that they are before, if an
    /// entry in front of these, of which `first` is the first, is not committed (I8).
    ///
    /// # Safety
    ///
    /// As [`commit`](Self::commit).
    #[inline(always)]
    pub(crate) unsafe fn commit_in_turn(&self, layout: &Layout, first: Cursor, claim: &Claim) {
        // (bbq.34) Acquire, pairs with (bbq.35): whoever committed the entry in front warned before, or saw who did. Relaxed would hide the
        // warning from who learns of this push by other ways, and finds the queue empty. In front of the first entry is another block: who
        // left that one warned.
        let in_turn = || self.producers.settled.load(edge("bbq.34", Acquire)) == first.0;
        if P::MANY && claim.offsets.start > 0 && !in_turn() {
            self.warn_in_round(layout, first);
        }
        // SAFETY: the caller's promise.
        unsafe { self.commit(claim) };
        if P::MANY {
            // (bbq.35) Release, pairs with (bbq.34). One that comes late puts it back, and others warn in vain.
            self.producers.settled.store(first.0 + claim.offsets.len() as u64, edge("bbq.35", Release));
        }
    }

    /// Lets consumers see the entries of `claim`.
    ///
    /// # Safety
    ///
    /// They were allocated, and all are written.
    #[inline(always)]
    pub(crate) unsafe fn commit(&self, claim: &Claim) {
        // In either order: no consumer looks at `allocated` but for its round, which is that of the mark.
        if !P::MANY {
            let allocated = self.producers.allocated.load(Relaxed) + claim.offsets.len() as u64;
            // (bbq.28) Release, pairs with (bbq.11): passes on what (bbq.5) does, as the exchanges of many do by themselves. Relaxed
            // would look again and again.
            self.producers.allocated.store(allocated, edge("bbq.28", Release));
        }
        // (bbq.3) Release, pairs with (bbq.7): who sees the mark sees the entry. Relaxed would hand out an unwritten entry.
        // SAFETY: a claim's entries are the block's (I2).
        unsafe { Self::mark(&self.written, claim, edge("bbq.3", Release)) };
        let Range { start, end } = claim.offsets;
        if end - start > 1 {
            self.ask_to_write(end.max(start + Self::RUN_AHEAD)..end + Self::RUN_AHEAD);
        }
    }

    /// Lets consumers pass over the entries of `claim`, in which there is nothing.
    ///
    /// # Safety
    ///
    /// They were allocated by one of many, who warned, and not committed.
    #[cfg(not(loom))]
    pub(crate) unsafe fn give_up(&self, claim: &Claim) {
        // (bbq.26) Release, pairs with (bbq.27): what was written here and dropped again comes before the next round's writes.
        self.written.set_all(claim.offsets.clone(), claim.mark.hole(), edge("bbq.26", Release));
    }

    /// Warns consumers of the round of `first`. Out of line: each push of a program has the call.
    #[cold]
    #[inline(never)]
    fn warn_in_round(&self, layout: &Layout, first: Cursor) {
        self.warn(layout.at(first, layout.entries));
    }

    /// Warns consumers of the round that ends at `end`: what is behind an entry without a mark may be committed.
    #[cold]
    #[inline(never)]
    pub(crate) fn warn(&self, end: Cursor) {
        // Relaxed, here and below: who has to see it sees what comes after it.
        let mut seen = self.disordered.load(Relaxed);
        // Not by a store: one that leaves the block may come rounds late.
        while Cursor(seen).is_before(end) {
            match self.disordered.compare_exchange(seen, end.0, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    /// # Safety
    ///
    /// The claim's entries have marks.
    #[inline(always)]
    unsafe fn mark(marks: &Marks, claim: &Claim, order: core::sync::atomic::Ordering) {
        let Range { start, end } = claim.offsets;
        if let Some(later) = marks.line(end + Self::MARKS_AHEAD[usize::from(end - start > 1)]) {
            prefetch::for_write(later);
        }
        match end - start {
            // SAFETY: the caller's promise.
            1 => unsafe { marks.set_unchecked(start, claim.mark, order) },
            _ => marks.set_all(start..end, claim.mark, order),
        }
    }

    /// Whether the round of `head` can begin. Writes nothing.
    pub(crate) fn room(&self, layout: &Layout, head: Head) -> Room {
        let last = layout.end(head.last_round(layout));
        if !C::MANY {
            // (bbq.30) Acquire, pairs with (bbq.29): everything was read, as (bbq.4).
            let drained = Cursor(self.producers.drained.load(edge("bbq.30", Acquire)));
            return if drained.is_before(last) { Room::Full } else { Room::Free };
        }
        // Relaxed: the pops that came before this push are seen by (bbq.2). If it is out of date, the queue was full a moment ago.
        if Cursor(self.producers.drained.load(Relaxed)).is_before(last) {
            return Room::Full;
        }
        // (bbq.4) Acquire, pairs with (bbq.9): everything was read, and (bbq.5) passes that on to the writers.
        // Relaxed would let them overwrite what is being read.
        if self.read.all_are(Mark::of(layout.is_odd(last)), layout.entries, edge("bbq.4", Acquire)) {
            return Room::Free;
        }
        // Marks of the round of `head` look like missing ones. Relaxed: who has seen one of them by (bbq.4) sees that round begun.
        match self.producers.allocated.load(Relaxed) == last.0 {
            true => Room::Busy,
            false => Room::Free,
        }
    }

    /// Begins the round of `head` for producers, unless somebody has. Only after [`room`](Self::room) was `Free`.
    pub(crate) fn begin(&self, layout: &Layout, head: Head) {
        self.ask_to_write(0..Self::RUN_AHEAD);
        let last = layout.end(head.last_round(layout)).0;
        // (bbq.5) Release, pairs with (bbq.2) and (bbq.11).
        advance::<P>(&self.producers.allocated, last, layout.start(head).0, edge("bbq.5", Release));
    }

    /// Asks for what [`room`](Self::room) and [`begin`](Self::begin) will look at, if consumers have left.
    pub(crate) fn ask_for_room(&self, layout: &Layout, head: Head) {
        // Relaxed: a hint.
        let drained = Cursor(self.producers.drained.load(Relaxed));
        if !drained.is_before(layout.end(head.last_round(layout))) {
            (0..layout.entries)
                .step_by(marks::PER_LINE)
                .filter_map(|entry| self.read.line(entry))
                .for_each(prefetch::for_read);
        }
    }

    /// How many entries can be reserved from which cursor on, of whatever round the block is in, by what consumers have seen.
    ///
    /// As in [`allocate`](Self::allocate), a head that is out of date leads to the oldest items all the same.
    #[inline(always)]
    pub(crate) fn ready(&self) -> (Cursor, usize) {
        // (bbq.8) Acquire, as in `look`, for `glance`.
        let reserved = self.consumers.reserved.load(among::<C>("bbq.8", Acquire));
        // (bbq.21) Acquire, pairs with (bbq.20): the entries are written. Relaxed would hand out unwritten ones.
        let known = self.consumers.known.load(among::<C>("bbq.21", Acquire));
        (Cursor(reserved), (known.wrapping_sub(reserved) as i64).max(0) as usize)
    }

    /// What the mark of the entry at `reserved`, from [`ready`](Self::ready), says, and the one behind it. A [look](Self::look) takes three times
    /// as long, and says no more where this says something.
    ///
    /// A call, as it is half of a pop's code, and most pops find their item without it.
    #[inline(never)]
    pub(crate) fn glance(&self, layout: &Layout, reserved: Cursor) -> Glance {
        let (offset, mark, slip) = (layout.offset(reserved), Mark::of(layout.is_odd(reserved)), self.slip());
        if offset >= layout.entries || slip.waits() {
            return Glance::Unclear;
        }
        // (bbq.7) Acquire, pairs with (bbq.3), as in `look`.
        // SAFETY: each of the block's entries has a mark, and this is one.
        let marked = unsafe { self.written.get_unchecked(offset, edge("bbq.7", Acquire)) };
        if !marked.is_of(mark) {
            // Relaxed: a push that has ended behind this entry has come after its warning (I8).
            let warned = P::MANY && layout.same_round(Cursor(self.disordered.load(Relaxed)), reserved);
            // Relaxed: if the mark is of the next round, by (bbq.7) this is not what it was before.
            if warned || C::MANY && self.reserved_now() != reserved {
                return Glance::Unclear;
            }
            self.set_slip(slip, Slip::caught_up);
            return Glance::Empty;
        }
        // What ends a line or the block is for a look: it also sees to what comes after.
        if marked != mark || (offset + 1) % marks::PER_LINE == 0 || offset + 1 >= layout.entries {
            return Glance::Unclear;
        }
        // Relaxed: it decides nothing but the way.
        // SAFETY: as above.
        if unsafe { self.written.get_unchecked(offset + 1, Relaxed) }.is_of(mark) {
            return Glance::Unclear;
        }
        self.set_slip(slip, |slip| slip.found(1, true));
        Glance::One
    }

    /// Looks for entries to read, in the round of `head`: `want` of them, or up to the end of a line of marks. Writes nothing.
    pub(crate) fn look(&self, layout: &Layout, head: Head, want: usize) -> Sight {
        // (bbq.8) Acquire, pairs with (bbq.18), and with (bbq.10): who sees a later round also sees the head that
        // led to it, so looking again is enough; and all marks are of this round or the last.
        let reserved = Cursor(self.consumers.reserved.load(among::<C>("bbq.8", Acquire)));
        if !layout.in_round(reserved, head) {
            return Sight::Moved;
        }
        let offset = layout.offset(reserved);
        if offset == layout.entries {
            return Sight::Done;
        }
        // (bbq.7) Acquire, pairs with (bbq.3): if the mark is of a later round, we see that below. Who polls in vain looks at this one
        // alone, and counts none.
        if self.written.get(offset, edge("bbq.7", Acquire)).is_of(Mark::of(layout.is_odd(reserved)))
            && let Some(marked) = self.marked(layout, reserved, want)
        {
            return marked;
        }
        // Relaxed: by (bbq.8) this reads at least what was allocated when the entries before were reserved.
        let allocated = Cursor(self.producers.allocated.load(Relaxed));
        if !layout.in_round(allocated, head) {
            Sight::Moved
        } else if allocated == reserved || !P::MANY {
            // By one alone, nothing behind an entry is committed before it: without its mark, there is no item.
            Sight::Empty
        } else {
            Sight::Busy
        }
    }

    /// What [`look`](Self::look) finds from `reserved` on, which is marked. Nothing, if that has gone to another consumer since, and round.
    #[inline(never)]
    fn marked(&self, layout: &Layout, reserved: Cursor, want: usize) -> Option<Sight> {
        let (offset, mark) = (layout.offset(reserved), Mark::of(layout.is_odd(reserved)));
        // Beyond the line a producer may be at work: each look there takes the line away from it.
        let line = (offset / marks::PER_LINE + 1) * marks::PER_LINE;
        let most = layout.entries.min(line.max(offset.saturating_add(want)));
        // Who takes many looks further, as long as lines are marked to their end, and touches one such line all the same.
        let further = if want > 1 { layout.entries.min(most + Self::LOOK_AHEAD) } else { most };
        // (bbq.7) Acquire, pairs with (bbq.3).
        let end = self.written.first_other(mark, offset, further, edge("bbq.7", Acquire));
        if end > offset {
            return Some(Sight::Items(Found { start: offset, end, few: end < most }));
        }
        if P::MANY {
            // (bbq.27) Acquire, pairs with (bbq.26), and passes it on by (bbq.9) or (bbq.29).
            let holes = self.written.first_other(mark.hole(), offset, most, edge("bbq.27", Acquire)) - offset;
            if holes > 0 {
                return Some(Sight::Holes(reserved, holes));
            }
        }
        None
    }

    /// Asks for what [`begun`](Self::begun) and [`look`](Self::look) will look at.
    pub(crate) fn ask_to_enter(&self) {
        prefetch::for_read(&self.producers.allocated);
        (0..2).filter_map(|line| self.written.line(line * marks::PER_LINE)).for_each(prefetch::for_read);
    }

    /// Asks for the lines of the items that come after those of `claim`, up to `known`. Those before them were asked for earlier.
    #[inline(always)]
    pub(crate) fn ask_ahead(&self, claim: &Claim, known: usize) {
        let Range { start, end } = claim.offsets;
        self.ask_to_read(end.max(start + Self::RUN_AHEAD)..known.min(end + Self::RUN_AHEAD));
    }

    /// Lets all consumers know what [`look`](Self::look) has found.
    ///
    /// It may come late and put `known` back, even into the last round: what it says was true, and whoever finds nothing by it
    /// looks again.
    pub(crate) fn know(&self, layout: &Layout, head: Head, found: &Found) {
        self.ask_to_read(found.start..found.end.min(found.start + Self::RUN_AHEAD));
        let known = layout.start(head).0 + found.end as u64;
        // (bbq.20) Release, pairs with (bbq.21): passes on what (bbq.7) saw.
        self.consumers.known.store(known, among::<C>("bbq.20", Release));
        self.set_slip(self.slip(), |slip| slip.found(found.end - found.start, found.few));
    }

    /// Waits a little before a look, if the last ones found few entries.
    pub(crate) fn wait_to_look(&self) {
        self.set_slip(self.slip(), |slip| slip.wait(|| self.allocated_now().0));
    }

    /// The next look does not wait: this one found nothing.
    pub(crate) fn end_slip(&self) {
        self.set_slip(self.slip(), Slip::found_none);
    }

    #[inline(always)]
    fn slip(&self) -> Slip<1> {
        // Relaxed, here and below: it decides nothing but time.
        Slip::from(self.consumers.slip.load(Relaxed))
    }

    #[inline(always)]
    fn set_slip(&self, before: Slip<1>, change: impl FnOnce(Slip<1>) -> Slip<1>) {
        let now = change(before);
        if now != before {
            self.consumers.slip.store(now.into(), Relaxed);
        }
    }

    /// Takes `count` entries from `reserved` on to read. If the first has gone to another consumer, says where the cursor is now.
    #[inline(always)]
    pub(crate) fn reserve(&self, layout: &Layout, reserved: Cursor, count: usize) -> Result<Claim, Cursor> {
        if !C::MANY {
            // Nobody else reserves meanwhile (I7), so it is `consume` that moves the cursor.
            return Ok(Self::claim(layout, reserved, count));
        }
        let next = reserved.0 + count as u64;
        // (bbq.18) Release, pairs with (bbq.8): who finds the entry taken also sees what we pushed before, else it
        // could call a queue empty that never was. Failure is Relaxed: the caller looks again.
        self.consumers.reserved.compare_exchange(reserved.0, next, edge("bbq.18", Release), Relaxed).map_err(Cursor)?;
        let claim = Self::claim(layout, reserved, count);
        if claim.offsets.end == layout.entries {
            self.drain(layout, Cursor(next));
        }
        Ok(claim)
    }

    /// Tells producers that the round that ends at `end` is reserved to its end.
    ///
    /// Whoever of many reserved the last entry tells, and whoever enters the next block, so that no pop there comes before. An exact
    /// exchange: one that comes a round late does nothing. One alone tells by [`consume`](Self::consume).
    #[cold]
    pub(crate) fn drain(&self, layout: &Layout, end: Cursor) {
        let before = end.0.wrapping_sub(layout.round_step());
        // Relaxed: see `room`.
        let _ = self.producers.drained.compare_exchange(before, end.0, Relaxed, Relaxed);
    }

    /// Moves the value out of the entry at `offset`. Its place is given back by [`consume`](Self::consume).
    ///
    /// # Safety
    ///
    /// It is of a claim from [`reserve`](Self::reserve), and its value has not been moved out.
    #[inline(always)]
    pub(crate) unsafe fn read(&self, offset: usize) -> T {
        // SAFETY: the offset is one of the block's and ours alone (I2), and its value is written, as (bbq.21) saw. Nobody writes it before
        // (bbq.9).
        unsafe { self.entries.get_unchecked(offset).with(|entry| (*entry).assume_init_read()) }
    }

    /// Moves as many values from `offset` on into `into`, which has nothing to drop.
    ///
    /// # Safety
    ///
    /// As [`read`](Self::read), for each of them.
    #[cfg(not(loom))]
    #[inline]
    pub(crate) unsafe fn read_all(&self, offset: usize, into: &mut [T]) {
        debug_assert!(!core::mem::needs_drop::<T>());
        // SAFETY: the entries are ours alone and written, as in `read`, and as many as the places.
        unsafe {
            let entries = self.memory(offset..offset + into.len(), thalweg_sync::hint::Access::Read);
            core::ptr::copy_nonoverlapping(entries.cast_const().cast(), into.as_mut_ptr(), into.len());
        }
    }

    /// Entries as memory. An engine sees the range as touched.
    ///
    /// # Safety
    ///
    /// They are entries of this block.
    #[cfg(not(loom))]
    #[inline]
    #[track_caller]
    pub(crate) unsafe fn memory(
        &self,
        offsets: Range<usize>,
        access: thalweg_sync::hint::Access,
    ) -> *mut core::mem::MaybeUninit<T> {
        // SAFETY: the caller's promise.
        unsafe { crate::grant::memory_of(&self.entries, offsets, access) }
    }

    /// Asks for the lines of `offsets`, to write them.
    #[inline(always)]
    fn ask_to_write(&self, offsets: Range<usize>) {
        let lines = (offsets.start..offsets.end.min(self.entries.len())).step_by(Self::PER_LINE);
        lines.filter_map(|entry| self.entries.get(entry)).for_each(prefetch::for_write);
    }

    /// Asks for the lines of `offsets`, to read them. Only such as are written: one that a producer still writes would be taken away from
    /// it.
    #[inline(always)]
    fn ask_to_read(&self, offsets: Range<usize>) {
        let lines = offsets.step_by(Self::PER_LINE);
        lines.filter_map(|entry| self.entries.get(entry)).for_each(prefetch::for_read);
    }

    /// Gives the places of the entries of `claim` back.
    ///
    /// # Safety
    ///
    /// They were reserved, and all values are moved out.
    #[inline(always)]
    pub(crate) unsafe fn consume(&self, claim: &Claim) {
        // SAFETY: by the caller's promise the entries are ours, and empty; a claim's are the block's (I2).
        unsafe { self.leaving.run(claim.offsets.clone(), |offset| self.entries.get_unchecked(offset)) };
        if !C::MANY {
            let reserved = self.consumers.reserved.load(Relaxed) + claim.offsets.len() as u64;
            // Relaxed: others look at it for nothing but `len`. So it may as well come second.
            self.consumers.reserved.store(reserved, Relaxed);
            if claim.offsets.end == self.entries.len() {
                // (bbq.29) Release, pairs with (bbq.30): as (bbq.9), once for all the entries.
                self.producers.drained.store(reserved, edge("bbq.29", Release));
            }
            return;
        }
        // (bbq.9) Release, pairs with (bbq.4): the reads come before the entries' next writes.
        // SAFETY: a claim's entries are the block's (I2).
        unsafe { Self::mark(&self.read, claim, edge("bbq.9", Release)) };
    }

    /// Whether producers have begun the round of `head`. Writes nothing.
    #[inline]
    pub(crate) fn begun(&self, layout: &Layout, head: Head) -> Begun {
        // (bbq.11) Acquire, pairs with (bbq.5) and (bbq.28): as (bbq.8). One alone is never in a round that is over.
        let allocated = Cursor(self.producers.allocated.load(among::<C>("bbq.11", Acquire)));
        if layout.in_round(allocated, head) {
            Begun::Yes
        } else if allocated.is_before(layout.start(head)) {
            Begun::No
        } else {
            Begun::Moved
        }
    }

    /// Begins the round of `head` for consumers, unless somebody has. Only after [`begun`](Self::begun) was `Yes`
    /// and the block before was [`Sight::Done`].
    pub(crate) fn enter(&self, layout: &Layout, head: Head) {
        let end = layout.end(head.last_round(layout)).0;
        // (bbq.10) Release, pairs with (bbq.8).
        advance::<C>(&self.consumers.reserved, end, layout.start(head).0, among::<C>("bbq.10", Release));
    }

    /// How many entries of the round of `head` are allocated, now or lately.
    pub(crate) fn allocated(&self, layout: &Layout, head: Head) -> usize {
        // Acquire: see `Shared::len`.
        layout.passed(Cursor(self.producers.allocated.load(Acquire)), head)
    }

    /// How many entries of the round of `head` are reserved, now or lately.
    pub(crate) fn reserved(&self, layout: &Layout, head: Head) -> usize {
        // Acquire: see `Shared::len`.
        layout.passed(Cursor(self.consumers.reserved.load(Acquire)), head)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::users::Many;
    use super::*;

    /// Pushes that are half-way all the time, as with producers that never rest: what is committed in front of them is delivered.
    #[test]
    fn what_is_committed_is_delivered_while_a_push_is_half_way() {
        const ENTRIES: usize = 64;
        let layout = Layout::new(2, ENTRIES, size_of::<usize>()).unwrap();
        let head = Head(0);
        let block = Block::<_, Many, Many>::new(&mut crate::memory::Heap, &layout, head, layout.start(head)).unwrap();
        let allocate = || match block.allocate(&layout, 1) {
            Allocate::Entries(first, claim) => (first, claim),
            _ => panic!("no entry"),
        };
        let (mut first, mut claim) = allocate();
        for number in 0..ENTRIES - 1 {
            let next = allocate();
            assert!(matches!(block.look(&layout, head, 1), Sight::Busy));
            // SAFETY: allocated in the step before.
            unsafe {
                block.write(number, number);
                block.commit_in_turn(&layout, first, &claim);
            }
            (first, claim) = next;
            let Sight::Items(found) = block.look(&layout, head, 1) else { panic!("{number} is not delivered") };
            block.know(&layout, head, &found);
            let (reserved, ready) = block.ready();
            assert_eq!(ready, 1);
            let item = block.reserve(&layout, reserved, 1).unwrap();
            assert_eq!(item.offsets, number..number + 1);
            // SAFETY: reserved above.
            unsafe {
                assert_eq!(block.read(number), number);
                block.consume(&item);
            }
        }
    }
}
