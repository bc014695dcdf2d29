//! FAAQ: BBQ whose consumers reserve by addition. BBQ as a tube, too.
//!
//! | | |
//! |---|---|
//! | order | FIFO, linearizable, refusals one by one ([crate page](crate#what-is-promised)) |
//! | who | any number of producers and consumers; items are any `T: Send` |
//! | progress | deadlock-free, not lock-free: `Busy` while the oldest push, or a pop of the block that has to be free, is half-way |
//! | room | `(blocks - 1) * entries + 1` items for certain, up to `blocks * entries` |
//! | cost | a FAA and a store for a push, two FAA for a pop; a pop from a block that is still being filled has a CAS for one of them |
//! | delivered | an item that is committed, as soon as those before it are, however many pushes behind it are half-way |
//!
//! In BBQ, consumers of a block race for its next entry by CAS or MAX, and all but one lose. Once a block is filled to its
//! end, there is nothing that an addition could run into: each consumer draws a ticket, and tickets past the end are void.
//!
//! ```
//! let (tx, rx) = thalweg_queue::research::faaq::shared(4, 16)?;
//! std::thread::scope(|scope| {
//!     for name in ["ann", "bob"] {
//!         let tx = tx.clone();
//!         scope.spawn(move || tx.push(format!("hello from {name}")));
//!     }
//! });
//! drop(tx);
//! assert!(rx.pop()?.starts_with("hello"));
//! assert!(rx.pop()?.starts_with("hello"));
//! assert!(rx.pop().is_err()); // both producers are gone and the queue is drained
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From J. Wang, *Block-based queues* (thesis), section 3.7.4, and section 2.3 for BBQ, in this crate's form of it
//! ([`bbq`](crate::mpmc)): commits are marked, a byte for each entry, and not counted, as a count tells consumers of an item only when
//! no push behind it is half-way, or when the block is full. What is read is counted here, since a ticket says nothing of its
//! neighbours, and allocation is by FAA. The thesis leaves open what happens when a consumer looks at a filled block, and by the time it
//! adds, the block is empty and in its next round: its ticket is for an entry that may not be written. Here:
//!
//! - The consumer waits until the entry is readable, which makes it its own, or until nobody has a later ticket, which lets
//!   it give its ticket back. It waits for others in the same position and for nobody else. So a ticket never outlives its call,
//!   and an order is never broken by somebody who keeps one.
//! - A ticket past the end is void, and who has drawn it looks again. It stays in the word, which is *overdrawn* then, and
//!   means what the end means. If the block is still being filled, who has the last ticket before the end gives it back
//!   together with all void ones.
//! - Before consumers leave a block they seal it: one bit in the word of the tickets, after which none is given back. Else
//!   the last ticket could be given back when everybody has moved on.
//! - Comparisons are by `≥`, as the word may be ahead of what is committed: by `==`, as printed for BBQ, a consumer would take an entry
//!   that is not written (errata E4).
//! - In a block that is still being filled `Empty` asks that every entry that is allocated is read, too: a late ticket may cover an item
//!   and then be given back. Else the answer is `Busy`. What is read is looked at before what is allocated, or that item could be read in between,
//!   by somebody who pushed another one before.
//!
//! # Invariants, per round of a block
//!
//! - **Q1** `consumed ≤ allocated`. Only `allocated` and `reserved` may run past the end, by at most one per thread.
//! - **Q2** An offset goes once to a producer, whose addition returned it, and once to a consumer who does not give it back;
//!   it is read only after it and every entry before it are committed, which is when they have the mark of the round.
//! - **Q3** A round begins for producers when the one before is fully consumed, and for consumers when producers have begun
//!   it and the block before is sealed. `consumed` is reset before `reserved`, and both before the consumers' head.
//! - **Q4** `reserved` is past an entry that is not committed only by tickets that were drawn too late. Whoever drew one before the end is still
//!   settling it, so the round cannot end meanwhile, and the word cannot fall below that ticket but by its return. Those past
//!   the end are void: nobody has them, and they go with the last ticket when that is given back, or with the round.
//! - **Q5** A block is sealed only when all its entries are committed and have tickets, and a sealed word changes only by
//!   additions and by the next round.
//! - **Q6** `known`, in its round, points: every entry before it is committed.

mod block;

use crate::cursor::{Head, Layout};
use crate::drops::Drops;
use crate::edges::{edge, in_order};
use crate::marks::Mark;
use crate::mpmc::{in_blocks, of_room};
use crate::research::tube::{self, AllocateError, Consumer, Producer, ReserveError, Tube};
use crate::wait::{Ordinary, Wait, both};
use crate::{BuildError, memory};
use alloc::boxed::Box;
use block::{Allocate, Block, Reserve};
use core::fmt;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A ring of blocks as a tube; named [`Faaq`] and [`Bbq`].
pub struct Blocks<T, const ADD: bool> {
    layout: Layout,
    blocks: Box<[Block<T>]>,
    /// The block that producers fill.
    phead: CachePadded<AtomicU64>,
    /// The block that consumers empty.
    chead: CachePadded<AtomicU64>,
}

/// The tube whose consumers reserve by addition where they can. See the [module](self).
///
/// ```
/// use thalweg_queue::{research::{faaq::Faaq, tube::{ReserveError, Tube}}};
///
/// let tube = Faaq::new(2, 4)?;
/// let entry = tube.allocate()?;
/// assert_eq!(tube.reserve().err(), Some(ReserveError::Busy)); // until it is produced
/// // SAFETY: the entries are this tube's.
/// unsafe {
///     tube.produce(entry, "message");
///     assert_eq!(tube.consume(tube.reserve()?), "message");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Faaq<T> = Blocks<T, true>;

/// The tube whose consumers reserve by exchange: BBQ, in three phases. See the [module](self).
///
/// As a queue, take [`bbq`](crate::mpmc), which numbers its items too.
pub type Bbq<T> = Blocks<T, false>;

/// An entry that a producer has in its hands.
#[derive(Debug)]
#[must_use = "an entry that is not handed on stops the tube"]
pub struct Allocated {
    block: usize,
    offset: usize,
    mark: Mark,
}

/// An entry that a consumer has in its hands.
#[derive(Debug)]
#[must_use = "an entry that is not handed back stops the tube"]
pub struct Reserved {
    block: usize,
    offset: usize,
}

/// The two ends of a queue.
pub type Ends<T, W = Ordinary> = (Producer<Faaq<T>, W>, Consumer<Faaq<T>, W>);

/// A queue of `blocks` blocks with `entries` entries each. `blocks` must be a power of two and at least 2, `entries` at least 1.
pub fn shared<T: Send>(blocks: usize, entries: usize) -> Result<Ends<T>, BuildError> {
    with_wait(blocks, entries, Ordinary::default())
}

/// As [`shared`], with ends that [wait](crate::wait) by `wait`.
///
/// With the blocks chosen, it is `tube::with_wait(Faaq::with_room(capacity)?, wait)`.
///
/// ```
/// use thalweg_queue::{Park, research::faaq};
///
/// let (tx, rx) = faaq::with_wait(2, 8, Park::new())?;
/// let consumer = std::thread::spawn(move || rx.pop()); // sleeps until the push
/// tx.push("hello")?;
/// assert_eq!(consumer.join().unwrap(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_wait<T: Send, W: Wait>(blocks: usize, entries: usize, wait: W) -> Result<Ends<T, W>, BuildError> {
    Ok(tube::with_wait(Faaq::new(blocks, entries)?, wait))
}

impl<T, const ADD: bool> Blocks<T, ADD> {
    /// A tube of `blocks` blocks, a power of two and at least 2, with `entries` entries each, at least 1.
    pub fn new(blocks: usize, entries: usize) -> Result<Self, BuildError> {
        Self::starting_at(0, blocks, entries)
    }

    /// A tube with room for `capacity` items for certain, in a number of blocks as
    /// [`heuristic_blocks`](crate::mpmc::heuristic_blocks) has it.
    pub fn with_room(capacity: usize) -> Result<Self, BuildError> {
        of_room(capacity, in_blocks::<T>, Self::new)
    }

    /// As [`new`](Self::new), with the first block at `head`: tests start near the wrap.
    #[doc(hidden)]
    pub fn starting_at(head: u64, blocks: usize, entries: usize) -> Result<Self, BuildError> {
        let layout = Layout::new(blocks, entries, size_of::<T>())?;
        let head = Head(head);
        let mut ring = {
            let mut at = head;
            // In ring order from the first block, which is open; the others have just ended their last round.
            let in_ring_order = (0..blocks).map(|step| {
                let cursor = if step == 0 { layout.start(at) } else { layout.end(at.last_round(&layout)) };
                let block = Block::new(&layout, at, cursor);
                at = at.next();
                block
            });
            memory::try_boxed(in_ring_order)?
        };
        ring.rotate_right(layout.index(head));
        Ok(Self {
            layout,
            blocks: ring,
            phead: CachePadded(AtomicU64::new(head.0)),
            chead: CachePadded(AtomicU64::new(head.0)),
        })
    }

    #[inline(always)]
    fn block(&self, head: Head) -> &Block<T> {
        &self.blocks[self.layout.index(head)]
    }

    #[inline(always)]
    fn phead(&self) -> Head {
        // (faaq.12) Acquire, pairs with (faaq.13): who sees the head sees its block begun.
        Head(self.phead.load(edge("faaq.12", Acquire)))
    }

    #[inline(always)]
    fn chead(&self) -> Head {
        // (faaq.14) Acquire, pairs with (faaq.15): as (faaq.12), for a block that was entered.
        Head(self.chead.load(edge("faaq.14", Acquire)))
    }

    /// Moves the producers on from the block at `head`.
    #[cold]
    fn begin(&self, head: Head) {
        let next = || self.block(head.next()).begin(&self.layout, head.next());
        let moves = || {
            // (faaq.13) Release, pairs with (faaq.12). Failure is Relaxed: somebody else has moved it.
            let _ = self.phead.compare_exchange(head.0, head.next().0, edge("faaq.13", Release), Relaxed);
        };
        // (faaq.20) The head last: ahead of the block's cursor it would have producers look again and again.
        in_order("faaq.20", next, moves);
    }

    /// Moves the consumers on from the block at `head`, which is sealed, if producers have begun the next. Says whether
    /// to look again.
    #[cold]
    fn enter(&self, head: Head) -> bool {
        match self.block(head.next()).is_begun(&self.layout, head.next()) {
            Ok(false) => return false,
            Ok(true) => {
                let next = || self.block(head.next()).enter(&self.layout, head.next());
                let moves = || {
                    // (faaq.15) Release, pairs with (faaq.14). Failure is Relaxed: somebody else has moved it.
                    let _ = self.chead.compare_exchange(head.0, head.next().0, edge("faaq.15", Release), Relaxed);
                };
                // (faaq.22) The head last: whoever sees it reserves in the new round.
                in_order("faaq.22", next, moves);
            }
            Err(()) => {}
        }
        true
    }

    /// As [`Tube::reserve`].
    #[inline]
    fn take(&self) -> Result<Reserved, ReserveError> {
        loop {
            let head = self.chead();
            match self.block(head).reserve::<ADD>(&self.layout, head) {
                Reserve::Entry(offset) => return Ok(Reserved { block: self.layout.index(head), offset }),
                Reserve::None(why) => return Err(why),
                Reserve::Again => {}
                Reserve::Done if self.enter(head) => {}
                Reserve::Done => return Err(ReserveError::Empty),
            }
        }
    }

    /// As [`Tube::consume`].
    ///
    /// # Safety
    ///
    /// As there.
    #[inline]
    unsafe fn give_back(&self, entry: Reserved) -> T {
        let block = &self.blocks[entry.block];
        // SAFETY: the entry is the caller's alone, and written (Q2). Nobody writes it before (faaq.9).
        let item = block.entries[entry.offset].with(|slot| unsafe { (*slot).assume_init_read() });
        block.consume();
        item
    }

    /// As [`Tube::discard`].
    ///
    /// # Safety
    ///
    /// As there.
    unsafe fn drop_item(&self, entry: Reserved) {
        let block = &self.blocks[entry.block];
        // SAFETY: as in `give_back`.
        let item = || block.entries[entry.offset].with_mut(|slot| unsafe { (*slot).assume_init_drop() });
        both(item, || block.consume());
    }
}

// SAFETY: Q2 gives each entry to one thread at a time; (faaq.3) with (faaq.7), and (faaq.9) with (faaq.4) and (faaq.5) with
// (faaq.1), order its holders.
unsafe impl<T: Send, const ADD: bool> Tube for Blocks<T, ADD> {
    type Item = T;
    type Allocated = Allocated;
    type Reserved = Reserved;

    #[inline]
    fn allocate(&self) -> Result<Allocated, AllocateError> {
        loop {
            let head = self.phead();
            match self.block(head).allocate(&self.layout, head) {
                Allocate::Entry(offset, mark) => {
                    return Ok(Allocated { block: self.layout.index(head), offset, mark });
                }
                Allocate::Moved => {}
                Allocate::Done => {
                    self.block(head.next()).room(&self.layout, head.next())?;
                    self.begin(head);
                }
            }
        }
    }

    #[inline]
    unsafe fn produce(&self, entry: Allocated, item: T) {
        let block = &self.blocks[entry.block];
        block.ask_ahead(entry.offset);
        // SAFETY: the entry is the caller's alone (Q2). Moving the item runs no user code.
        block.entries[entry.offset].with_mut(|slot| unsafe { (*slot).write(item) });
        block.commit(entry.offset, entry.mark);
    }

    #[inline]
    fn reserve(&self) -> Result<Reserved, ReserveError> {
        self.take()
    }

    #[inline]
    unsafe fn consume(&self, entry: Reserved) -> T {
        // SAFETY: the caller's promise.
        unsafe { self.give_back(entry) }
    }

    unsafe fn discard(&self, entry: Reserved) {
        // SAFETY: the caller's promise.
        unsafe { self.drop_item(entry) }
    }

    fn can_allocate(&self) -> Result<(), AllocateError> {
        let head = self.phead();
        match self.block(head).allocation(&self.layout, head) {
            Allocate::Entry(..) | Allocate::Moved => Ok(()),
            Allocate::Done => self.block(head.next()).room(&self.layout, head.next()),
        }
    }

    fn can_reserve(&self) -> Result<(), ReserveError> {
        let head = self.chead();
        match self.block(head).reservation::<ADD>(&self.layout, head) {
            Reserve::Entry(_) | Reserve::Again => Ok(()),
            Reserve::None(why) => Err(why),
            Reserve::Done => {
                let nothing = self.block(head).nothing::<ADD>(&self.layout, head);
                match self.block(head.next()).is_begun(&self.layout, head.next()) {
                    Ok(false) => Err(nothing),
                    _ => Ok(()),
                }
            }
        }
    }

    fn capacity(&self) -> usize {
        (self.layout.blocks - 1) * self.layout.entries + 1
    }

    fn len(&self) -> usize {
        // The consumers' side first: what is committed, read after it, is not below it.
        let chead = self.chead();
        let reserved = self.block(chead).reserved(&self.layout, chead) as i64;
        let phead = self.phead();
        let committed = self.block(phead).committed(&self.layout, phead) as i64;
        let blocks = phead.0.wrapping_sub(chead.0) as i64;
        let length = blocks.saturating_mul(self.layout.entries as i64) + committed - reserved;
        length.clamp(0, (self.layout.blocks * self.layout.entries) as i64) as usize
    }
}

impl<T, const ADD: bool> Drop for Blocks<T, ADD> {
    /// Drops what is produced and not reserved.
    fn drop(&mut self) {
        let mut drops = Drops::default();
        while let Ok(entry) = self.take() {
            // SAFETY: taken from this tube a moment ago.
            drops.one(|| unsafe { self.drop_item(entry) });
        }
    }
}

impl<T, const ADD: bool> fmt::Debug for Blocks<T, ADD> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Layout { blocks, entries, .. } = self.layout;
        f.debug_struct("Blocks").field("blocks", &blocks).field("entries", &entries).finish_non_exhaustive()
    }
}
