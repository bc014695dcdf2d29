//! The walk from block to block, for any number of producers and of consumers; and the queue for many of both.

use super::block::Block;
use super::claim::{Allocate, Begun, Claim, Found, Glance, Room, Sight};
use super::contention::stand_back;
use super::users::{Many, Users, advance, among};
use super::{Consumer, Producer};
#[cfg(all(feature = "alloc", not(loom)))]
use crate::bytes::RawGrant;
use crate::cursor::{Cursor, Head, Layout};
use crate::drops::Drops;
use crate::edges::{edge, in_order};
use crate::handles::Handles;
#[cfg(feature = "alloc")]
use crate::memory::Heap;
use crate::memory::{Provider, Region};
use crate::share::{Home, Placed, Share};
use crate::wait::{Ordinary, Side, Wait, both};
use crate::{BuildError, TryPopError, TryPushError};
#[cfg(not(loom))]
use core::mem::MaybeUninit;
use core::ops::Range;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Release};
#[cfg(not(loom))]
use thalweg_sync::hint::Access;

/// Both ends of a queue.
pub type Ends<T, W = Ordinary> = (Producer<T, W>, Consumer<T, W>);

/// A queue of `blocks` blocks with `entries` entries each.
///
/// `blocks` must be a power of two and at least 2, `entries` at least 1. More blocks let more pushes in before the
/// oldest block is consumed; larger blocks mean fewer steps to a next one. [`with_capacity`] chooses for you.
///
/// Memory: the entries, two bytes for each (in lines of 64), and some 500 bytes per block.
///
/// ```
/// use thalweg_queue::mpmc;
///
/// let (tx, rx) = mpmc::shared(4, 16)?;
/// assert_eq!(tx.capacity(), 64);
/// std::thread::scope(|scope| {
///     for name in ["ann", "bob"] {
///         let tx = tx.clone();
///         scope.spawn(move || tx.push(format!("hello from {name}")));
///     }
/// });
/// drop(tx);
/// assert!(rx.pop()?.starts_with("hello"));
/// assert!(rx.pop()?.starts_with("hello"));
/// assert!(rx.pop().is_err()); // both producers are gone and the queue is drained
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "alloc")]
pub fn shared<T: Send>(blocks: usize, entries: usize) -> Result<Ends<T>, BuildError> {
    with_wait(blocks, entries, Ordinary::default())
}

/// As [`shared`], with ends that [wait](crate::wait) by `wait`.
///
/// ```
/// use thalweg_queue::{Park, mpmc};
///
/// let (tx, rx) = mpmc::with_wait(2, 8, Park::new())?;
/// let consumer = std::thread::spawn(move || rx.pop()); // sleeps until the push
/// tx.push("hello")?;
/// assert_eq!(consumer.join().unwrap(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "alloc")]
pub fn with_wait<T: Send, W: Wait>(blocks: usize, entries: usize, wait: W) -> Result<Ends<T, W>, BuildError> {
    shared_from(0, blocks, entries, wait)
}

/// As [`shared`], with at least `capacity` entries in a number of blocks chosen by [`heuristic_blocks`].
///
/// ```
/// let (tx, _rx) = thalweg_queue::mpmc::with_capacity::<u64>(4096)?;
/// assert_eq!(tx.capacity(), 4096);
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
#[cfg(feature = "alloc")]
pub fn with_capacity<T: Send>(capacity: usize) -> Result<Ends<T>, BuildError> {
    super::with_capacity_and_wait(capacity, Ordinary::default())
}

/// How many blocks a queue of `capacity` entries should have: `2^max(1, log2(capacity) / 4)`, rounded down (section
/// 2.6.2).
///
/// ```
/// use thalweg_queue::mpmc::heuristic_blocks;
///
/// assert_eq!([1, 64, 4096, 65536].map(heuristic_blocks), [2, 2, 8, 16]);
/// ```
pub const fn heuristic_blocks(capacity: usize) -> usize {
    let log = match capacity.checked_ilog2() {
        Some(log) => log / 4,
        None => 0,
    };
    if log == 0 { 2 } else { 1 << log }
}

/// As [`with_wait`], but the count of blocks starts at `head` instead of 0, and positions at `head * entries`: a queue
/// that is old already, so that tests reach the wrap of its counters.
#[doc(hidden)]
#[cfg(feature = "alloc")]
pub fn shared_from<T: Send, W: Wait>(
    head: u64,
    blocks: usize,
    entries: usize,
    wait: W,
) -> Result<Ends<T, W>, BuildError> {
    let shared = Shared::build(head, blocks, entries, wait)?;
    Ok((Producer::new(shared.clone()), Consumer::new(shared)))
}

/// A queue with `P` producers and `C` consumers. Both heads are the paper's cached heads: at times behind, never ahead of the block in use.
#[derive(Debug)]
pub(crate) struct Shared<T, W: Wait, P: Users = Many, C: Users = Many> {
    pub(crate) layout: Layout,
    blocks: Region<Block<T, P, C>>,
    /// The block that producers fill.
    phead: CachePadded<AtomicU64>,
    /// The block that consumers empty.
    chead: CachePadded<AtomicU64>,
    pub(crate) handles: CachePadded<Handles>,
    pub(crate) wait: W,
    home: Option<&'static Home>,
}

impl<T, W: Wait, P: Users, C: Users> Placed for Shared<T, W, P, C> {
    fn home(&self) -> Option<&'static Home> {
        self.home
    }
}

/// A claim, and the block that it is in.
pub(crate) type Claims<'a, T, P, C> = (&'a Block<T, P, C>, Claim);

/// The same for a push, with the cursor of the first entry.
type Allocated<'a, T, P, C> = (Cursor, Claims<'a, T, P, C>);

/// Entries to read and consume.
pub(crate) struct Reserved<'a, T, P, C> {
    /// The head that led to them: theirs, or one that is out of date.
    head: Head,
    pub(crate) block: &'a Block<T, P, C>,
    first: Cursor,
    pub(crate) claim: Claim,
    /// Up to where entries are known to be written.
    pub(crate) known: usize,
}

impl<T, W: Wait, P: Users, C: Users> Shared<T, W, P, C> {
    /// A queue on the heap whose count of blocks starts at `head`, with one handle of each kind.
    #[cfg(feature = "alloc")]
    pub(crate) fn build(head: u64, blocks: usize, entries: usize, wait: W) -> Result<Share<Self>, BuildError> {
        Self::of(&mut Heap, head, (blocks, entries), wait).map(Share::new)
    }

    /// The same in memory of `source`.
    pub(crate) fn of(
        source: &mut impl Provider,
        head: u64,
        (blocks, entries): (usize, usize),
        wait: W,
    ) -> Result<Self, BuildError> {
        let (head, layout) = (Head(head), Layout::new(blocks, entries, size_of::<T>())?);
        let mut at = head;
        // In ring order from the first block, which is open; the others have just ended their last round.
        let mut blocks = Region::new(source, layout.blocks, |source, step| {
            let cursor = if step == 0 { layout.start(at) } else { layout.end(at.last_round(&layout)) };
            let block = Block::new(source, &layout, at, cursor);
            at = at.next();
            block
        })?;
        blocks.rotate_right(layout.index(head));
        Ok(Self {
            layout,
            blocks,
            phead: CachePadded(AtomicU64::new(head.0)),
            chead: CachePadded(AtomicU64::new(head.0)),
            handles: CachePadded(Handles::new()),
            wait,
            home: source.home(),
        })
    }

    #[inline(always)]
    fn block(&self, head: Head) -> &Block<T, P, C> {
        // SAFETY: the index is below the number of blocks, which is that of the layout.
        unsafe { self.blocks.get_unchecked(self.layout.index(head)) }
    }

    /// A claim in `block`, which is of this queue, as two numbers: the first has the block in its upper 31 bits.
    #[cfg(not(loom))]
    #[cfg(feature = "alloc")]
    pub(crate) fn raw_of(&self, block: &Block<T, P, C>, claim: &Claim) -> RawGrant {
        let index = self.index_of(block) as u64;
        RawGrant::from((index << 33 | claim.place(), claim.offsets.len()))
    }

    /// Which of the queue's blocks it is.
    #[cfg(not(loom))]
    #[inline]
    pub(crate) fn index_of(&self, block: &Block<T, P, C>) -> usize {
        let bytes = core::ptr::from_ref(block).addr() - self.blocks.as_ptr().addr();
        bytes / size_of::<Block<T, P, C>>()
    }

    /// The block of this index.
    #[cfg(all(feature = "alloc", not(loom)))]
    pub(super) fn block_at(&self, index: usize) -> &Block<T, P, C> {
        &self.blocks[index]
    }

    /// Entries of the block of this index, as memory.
    ///
    /// # Safety
    ///
    /// There is such a block, and they are entries of it.
    #[cfg(not(loom))]
    #[inline]
    #[track_caller]
    pub(crate) unsafe fn memory(&self, block: usize, offsets: Range<usize>, access: Access) -> *mut MaybeUninit<T> {
        // SAFETY: the caller's promise.
        unsafe { self.blocks.get_unchecked(block).memory(offsets, access) }
    }

    /// The claim that [`raw_of`](Self::raw_of) took apart, and its block.
    #[cfg(not(loom))]
    #[cfg(feature = "alloc")]
    pub(crate) fn claim_of(&self, raw: RawGrant) -> Claims<'_, T, P, C> {
        let (place, count) = raw.into();
        (&self.blocks[(place >> 33) as usize], Claim::at(place & ((1 << 33) - 1), count))
    }

    #[inline(always)]
    fn phead(&self) -> Head {
        // (bbq.12) Acquire, pairs with (bbq.13): who sees the head sees its block begun. Relaxed would look again
        // and again until it does.
        Head(self.phead.load(among::<P>("bbq.12", Acquire)))
    }

    #[inline(always)]
    fn chead(&self) -> Head {
        // (bbq.14) Acquire, pairs with (bbq.15): as (bbq.12), for a block that was entered.
        Head(self.chead.load(among::<C>("bbq.14", Acquire)))
    }

    /// Pushes. Only if it is `PATIENT` it stands back where another push is faster: a call that waits anyhow does.
    #[inline(always)]
    pub(crate) fn push<const PATIENT: bool>(&self, value: T) -> Result<(), TryPushError<T>> {
        match self.allocate::<PATIENT>(1) {
            Ok((first, (block, claim))) => {
                // SAFETY: allocated a moment ago, written and committed here.
                unsafe {
                    block.write(claim.offsets.start, value);
                    block.commit_in_turn(&self.layout, first, &claim);
                }
                self.wait.notify(Side::Items, 1, || true);
                Ok(())
            }
            Err(refused) => refused.refuse(value),
        }
    }

    /// Pushes up to `count` values, at least one. `write` gets as many places and fills them; it must not panic.
    #[inline]
    pub(crate) fn push_batch(
        &self,
        count: usize,
        write: impl FnOnce(&Block<T, P, C>, Range<usize>),
    ) -> Result<usize, TryPushError<()>> {
        let (first, (block, claim)) = self.allocate::<false>(count)?;
        let count = claim.offsets.len();
        write(block, claim.offsets.clone());
        // SAFETY: allocated above, and written.
        unsafe { block.commit_in_turn(&self.layout, first, &claim) };
        self.wait.notify(Side::Items, count, || true);
        Ok(count)
    }

    /// Up to `count` entries to write and commit at once: of many producers, by [`Block::commit_in_turn`]. And the cursor of the first one.
    #[inline(always)]
    fn allocate<const PATIENT: bool>(&self, count: usize) -> Result<Allocated<'_, T, P, C>, TryPushError<()>> {
        if self.consumers_gone() {
            return Err(TryPushError::Closed(()));
        }
        let mut losses = 0;
        loop {
            let head = self.phead();
            let block = self.block(head);
            match block.allocate(&self.layout, count) {
                Allocate::Entries(first, claim) => return Ok((first, (block, claim))),
                Allocate::Contended(seen) if PATIENT => {
                    stand_back(seen, losses, &self.handles.producers, || block.allocated_now());
                    losses += 1;
                }
                Allocate::Contended(_) => {}
                Allocate::Done => self.leave(head)?,
            }
        }
    }

    /// Up to `count` entries to write and commit some time: of many producers, consumers are warned, and tell that a push is half-way.
    #[cfg(not(loom))]
    pub(crate) fn claim(&self, count: usize) -> Result<Claims<'_, T, P, C>, TryPushError<()>> {
        let (first, (block, claim)) = self.allocate::<false>(count)?;
        if P::MANY {
            block.warn(self.layout.at(first, self.layout.entries));
        }
        Ok((block, claim))
    }

    /// Moves the producers on from the block at `head`, if it is still the one in use. Else says why they have to stay.
    #[inline(never)]
    fn leave(&self, head: Head) -> Result<(), TryPushError<()>> {
        if !self.block(head).is_allocated(&self.layout, head) {
            return Ok(());
        }
        let (next, after) = (head.next(), head.next().next());
        match self.block(next).room(&self.layout, next) {
            Room::Full => return Err(TryPushError::Full(())),
            Room::Busy => return Err(TryPushError::Busy(())),
            Room::Free => {}
        }
        let begins = || {
            self.block(next).begin(&self.layout, next);
            self.block(after).ask_for_room(&self.layout, after);
        };
        // (bbq.13) Release, pairs with (bbq.12).
        let moves = || advance::<P>(&self.phead, head.0, next.0, among::<P>("bbq.13", Release));
        // (bbq.31) The head last: ahead of the block's cursor it would have producers look again and again.
        let goes = || in_order("bbq.31", begins, moves);
        if P::MANY {
            let warns = || self.block(head).warn(self.layout.end(head));
            // (bbq.36) The other way round, a push could end in the next block with one half-way here, and consumers find nothing.
            in_order("bbq.36", warns, goes);
        } else {
            goes();
        }
        Ok(())
    }

    /// Whether a push would do anything but refuse for want of room. Writes nothing.
    ///
    /// Not inlined: a pop asks only where somebody sleeps.
    #[cold]
    #[inline(never)]
    pub(crate) fn may_push(&self) -> bool {
        let head = self.phead();
        !self.block(head).is_allocated(&self.layout, head)
            || matches!(self.block(head.next()).room(&self.layout, head.next()), Room::Free)
    }

    /// Pops. `PATIENT` as for [`push`](Self::push).
    #[inline(always)]
    pub(crate) fn pop<const PATIENT: bool>(&self) -> Result<T, TryPopError> {
        self.reserve::<PATIENT>(1).map(|reserved| self.take(&reserved))
    }

    /// As [`pop`](Self::pop), with a second look before it says `Closed`, as [`last_look`](crate::handles::last_look) has it.
    ///
    /// That one is out of line, and of its own: of a loop around one call the compiler makes the code of two.
    #[inline(always)]
    pub(crate) fn pop_to_the_end<const PATIENT: bool>(&self) -> Result<T, TryPopError> {
        match self.pop::<PATIENT>() {
            Err(TryPopError::Empty) if self.producers_gone() => self.pop_again(),
            settled => settled,
        }
    }

    /// Pops what producers that are gone have left.
    #[cold]
    #[inline(never)]
    fn pop_again(&self) -> Result<T, TryPopError> {
        match self.pop::<false>() {
            Err(TryPopError::Empty) => Err(TryPopError::Closed),
            settled => settled,
        }
    }

    /// As [`pop`](Self::pop), with the position.
    #[inline(always)]
    pub(crate) fn pop_numbered<const PATIENT: bool>(&self) -> Result<(u64, T), TryPopError> {
        let reserved = self.reserve::<PATIENT>(1)?;
        let item = self.take(&reserved);
        Ok((self.layout.position_of(reserved.first, reserved.head), item))
    }

    /// The one item of `reserved`.
    #[inline(always)]
    fn take(&self, reserved: &Reserved<'_, T, P, C>) -> T {
        let Reserved { block, claim, .. } = reserved;
        // SAFETY: reserved a moment ago, moved out and consumed here.
        let item = unsafe {
            let item = block.read(claim.offsets.start);
            block.consume(claim);
            item
        };
        self.wait.notify(Side::Room, 1, || self.may_push());
        item
    }

    /// Moves up to as many items as `into` has places into its first ones, which have nothing to drop: at least one, all of one block.
    #[cfg(not(loom))]
    #[inline]
    pub(crate) fn pop_into(&self, into: &mut [T]) -> Result<usize, TryPopError> {
        let Reserved { block, claim, known, .. } = self.reserve::<false>(into.len())?;
        let count = claim.offsets.len();
        // SAFETY: reserved a moment ago, moved out and consumed here.
        unsafe {
            block.read_all(claim.offsets.start, &mut into[..count]);
            block.consume(&claim);
        }
        block.ask_ahead(&claim, known);
        self.wait.notify(Side::Room, count, || self.may_push());
        Ok(count)
    }

    /// Pops up to `count` items, at least one, all of one block.
    #[inline]
    pub(crate) fn pop_batch(&self, count: usize) -> Result<Items<'_, T, W, P, C>, TryPopError> {
        let Reserved { block, claim, known, .. } = self.reserve::<false>(count)?;
        block.ask_ahead(&claim, known);
        Ok(Items { queue: self, block, left: claim.offsets.clone(), claim })
    }

    /// Up to `count` entries to read and consume.
    #[inline(always)]
    pub(crate) fn reserve<const PATIENT: bool>(&self, count: usize) -> Result<Reserved<'_, T, P, C>, TryPopError> {
        let mut losses = 0;
        loop {
            let head = self.chead();
            let block = self.block(head);
            let (first, mut ready) = block.ready();
            if ready == 0 {
                match block.glance(&self.layout, first) {
                    Glance::One => ready = 1,
                    Glance::Empty => return Err(TryPopError::Empty),
                    Glance::Unclear => {
                        self.find(head, count)?;
                        continue;
                    }
                }
            }
            match block.reserve(&self.layout, first, count.min(ready)) {
                Ok(claim) => {
                    let known = claim.offsets.start + ready;
                    return Ok(Reserved { head, block, first, claim, known });
                }
                Err(seen) if PATIENT => {
                    stand_back(seen, losses, &self.handles.consumers, || block.reserved_now());
                    losses += 1;
                }
                Err(_) => {}
            }
        }
    }

    /// Finds items to reserve in the block at `head`, or moves the consumers on, or sees that others did: it is worth to begin again. Else
    /// says why there is nothing to reserve.
    #[inline(never)]
    fn find(&self, head: Head, want: usize) -> Result<(), TryPopError> {
        let block = self.block(head);
        block.wait_to_look();
        match block.look(&self.layout, head, want) {
            Sight::Items(found) => self.found(block, head, &found),
            Sight::Holes(first, count) => self.pass_over(block, first, count),
            Sight::Moved => {}
            Sight::Empty => {
                block.end_slip();
                return Err(TryPopError::Empty);
            }
            Sight::Busy => return Err(TryPopError::Busy),
            Sight::Done => match self.block(head.next()).begun(&self.layout, head.next()) {
                Begun::Yes => self.enter(head),
                Begun::No => return Err(TryPopError::Empty),
                Begun::Moved => {}
            },
        }
        Ok(())
    }

    /// Lets all consumers know what was found.
    #[inline(never)]
    fn found(&self, block: &Block<T, P, C>, head: Head, found: &Found) {
        block.know(&self.layout, head, found);
        if found.end == self.layout.entries {
            self.block(head.next()).ask_to_enter();
        }
    }

    /// Gives entries back in which there is nothing, unless another consumer does.
    #[cold]
    fn pass_over(&self, block: &Block<T, P, C>, first: Cursor, count: usize) {
        if let Ok(claim) = block.reserve(&self.layout, first, count) {
            // SAFETY: reserved a moment ago, and nothing is in them.
            unsafe { block.consume(&claim) };
            self.wait.notify(Side::Room, count, || self.may_push());
        }
    }

    /// Whether a pop would find an item, or the end. Writes nothing.
    pub(crate) fn may_pop(&self) -> bool {
        let head = self.chead();
        match self.block(head).look(&self.layout, head, 1) {
            Sight::Items(_) | Sight::Holes(..) | Sight::Moved => true,
            Sight::Empty => self.producers_gone(),
            // Whoever is half-way notifies when it ends. A grant that is leaked never does: then nobody will find the end.
            Sight::Busy => false,
            Sight::Done => {
                let next = head.next();
                !matches!(self.block(next).begun(&self.layout, next), Begun::No) || self.producers_gone()
            }
        }
    }

    /// Moves the consumers on from the block at `head`.
    #[cold]
    fn enter(&self, head: Head) {
        let next = || self.block(head.next()).enter(&self.layout, head.next());
        // (bbq.15) Release, pairs with (bbq.14).
        let moves = || advance::<C>(&self.chead, head.0, head.next().0, among::<C>("bbq.15", Release));
        // (bbq.25) The head last: whoever sees it reserves in the new round.
        let enters = || in_order("bbq.25", next, moves);
        if C::MANY {
            let drains = || self.block(head).drain(&self.layout, self.layout.end(head));
            // (bbq.32) The other way round, who pops in the next block and then pushes could call a queue full that is empty.
            in_order("bbq.32", drains, enters);
        } else {
            enters();
        }
    }

    pub(crate) fn producers_gone(&self) -> bool {
        // (bbq.16) Acquire, pairs with (bbq.17) and (handles.3): everything they pushed is visible. Relaxed could report the end
        // before the last items.
        self.handles.producers.is_gone(edge("bbq.16", Acquire))
    }

    pub(crate) fn consumers_gone(&self) -> bool {
        self.handles.consumers_gone()
    }

    /// A producer leaves; the last one closes the queue.
    pub(crate) fn leave_producer(&self) {
        // (bbq.17) Release, pairs with (bbq.16): what was pushed comes before the count.
        if self.handles.producers.leave(edge("bbq.17", Release)) {
            self.wait.notify_all();
        }
    }

    /// A consumer leaves; the last one closes the queue and drops what is in it.
    pub(crate) fn leave_consumer(&self) {
        // (bbq.33) AcqRel, pairs with itself: the consumer that leaves last comes after the others, so it drops what they have seen or
        // pushed. Acquire or Release alone would leave that for as long as there are producers. What is left after its last look is
        // dropped with the queue.
        if self.handles.consumers.leave(among::<C>("bbq.33", AcqRel)) {
            let drops = || self.drop_items();
            both(|| self.wait.notify_all(), drops);
        }
    }

    /// Drops what is in the queue, where it lies, and gives the entries back. Nobody is told: the consumers are gone.
    fn drop_items(&self) {
        let mut drops = Drops::default();
        while let Ok(Reserved { block, claim, .. }) = self.reserve::<false>(1) {
            // SAFETY: reserved a moment ago, dropped and consumed here.
            let item = || drops.one(|| unsafe { block.discard(claim.offsets.start) });
            // SAFETY: as above.
            both(item, || unsafe { block.consume(&claim) });
        }
    }

    pub(crate) fn len(&self) -> usize {
        // The consumers' side first: what is allocated, read after it, is not below it. Acquire keeps the order.
        let chead = self.chead();
        let reserved = self.block(chead).reserved(&self.layout, chead) as i64;
        let phead = self.phead();
        let allocated = self.block(phead).allocated(&self.layout, phead) as i64;
        let blocks = phead.0.wrapping_sub(chead.0) as i64;
        let length = blocks.saturating_mul(self.layout.entries as i64) + allocated - reserved;
        length.clamp(0, self.layout.capacity() as i64) as usize
    }
}

/// Items on their way out: reserved, and not consumed until this is dropped. Those that nobody takes are dropped with it.
pub(crate) struct Items<'a, T, W: Wait, P: Users, C: Users> {
    queue: &'a Shared<T, W, P, C>,
    block: &'a Block<T, P, C>,
    claim: Claim,
    left: Range<usize>,
}

#[cfg(not(loom))]
impl<'a, T, W: Wait, P: Users, C: Users> Items<'a, T, W, P, C> {
    /// For items that are reserved.
    pub(crate) fn new(queue: &'a Shared<T, W, P, C>, (block, claim): Claims<'a, T, P, C>) -> Self {
        Items { queue, block, left: claim.offsets.clone(), claim }
    }

    /// As two numbers, none of the items being dropped.
    #[cfg(feature = "alloc")]
    pub(crate) fn into_raw(self) -> RawGrant {
        let this = core::mem::ManuallyDrop::new(self);
        this.queue.raw_of(this.block, &this.claim)
    }

    /// What is left, as memory.
    #[inline]
    #[track_caller]
    pub(crate) fn memory(&self, access: thalweg_sync::hint::Access) -> *mut T {
        // SAFETY: what is left is in the claim.
        unsafe { self.block.memory(self.left.clone(), access).cast() }
    }
}

impl<T, W: Wait, P: Users, C: Users> Iterator for Items<'_, T, W, P, C> {
    type Item = T;

    #[inline(always)]
    fn next(&mut self) -> Option<T> {
        let offset = self.left.next()?;
        // SAFETY: reserved when this was made, and each offset comes once.
        Some(unsafe { self.block.read(offset) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl<T, W: Wait, P: Users, C: Users> ExactSizeIterator for Items<'_, T, W, P, C> {}

impl<T, W: Wait, P: Users, C: Users> Drop for Items<'_, T, W, P, C> {
    fn drop(&mut self) {
        let Items { queue, block, ref claim, ref left } = *self;
        let items = || {
            let mut drops = Drops::default();
            if core::mem::needs_drop::<T>() {
                // SAFETY: reserved when this was made, and these were not moved out.
                left.clone().for_each(|offset| drops.one(|| unsafe { block.discard(offset) }));
            }
        };
        let consume = || {
            // SAFETY: they were reserved when this was made, and all of them are moved out or dropped.
            unsafe { block.consume(claim) };
            queue.wait.notify(Side::Room, claim.offsets.len(), || queue.may_push());
        };
        both(items, consume);
    }
}

impl<T, W: Wait, P: Users, C: Users> Drop for Shared<T, W, P, C> {
    /// Drops what was pushed while the last consumer left.
    fn drop(&mut self) {
        self.drop_items();
    }
}
