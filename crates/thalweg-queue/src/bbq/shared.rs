//! Many producers, many consumers: the walk from block to block, and the two handles.

use super::block::{Allocate, Begun, Block, Look, Room};
use super::cursor::{Head, Layout};
use crate::edges::edge;
use crate::wait::{Side, Wait, Yield};
use crate::{BuildError, TryPopError, TryPushError};
use alloc::boxed::Box;
use core::fmt;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicU64, AtomicUsize};
use thalweg_sync::sync::Arc;

/// Both ends of a queue.
pub type Ends<T, W = Yield> = (Producer<T, W>, Consumer<T, W>);

/// A queue of `blocks` blocks with `entries` entries each.
///
/// `blocks` must be a power of two and at least 2, `entries` at least 1. More blocks let more pushes in before the
/// oldest block is consumed; larger blocks mean fewer steps to a next one. [`with_capacity`] chooses for you.
///
/// Memory: the entries, and some 400 bytes per block.
///
/// ```
/// use thalweg_queue::bbq;
///
/// let (tx, rx) = bbq::shared(4, 16)?;
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
pub fn shared<T: Send>(blocks: usize, entries: usize) -> Result<Ends<T>, BuildError> {
    with_wait(blocks, entries, Yield)
}

/// As [`shared`], with ends that [wait](crate::wait) by `wait`.
///
/// ```
/// use thalweg_queue::{Park, bbq};
///
/// let (tx, rx) = bbq::with_wait(2, 8, Park::new())?;
/// let consumer = std::thread::spawn(move || rx.pop()); // sleeps until the push
/// tx.push("hello")?;
/// assert_eq!(consumer.join().unwrap(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_wait<T: Send, W: Wait>(blocks: usize, entries: usize, wait: W) -> Result<Ends<T, W>, BuildError> {
    shared_from(0, blocks, entries, wait)
}

/// As [`shared`], with at least `capacity` entries in a number of blocks chosen by [`heuristic_blocks`].
///
/// ```
/// let (tx, _rx) = thalweg_queue::bbq::with_capacity::<u64>(4096)?;
/// assert_eq!(tx.capacity(), 4096);
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
pub fn with_capacity<T: Send>(capacity: usize) -> Result<Ends<T>, BuildError> {
    let blocks = heuristic_blocks(capacity);
    shared(blocks, capacity.div_ceil(blocks))
}

/// How many blocks a queue of `capacity` entries should have: `2^max(1, log2(capacity) / 4)`, rounded down (section
/// 2.6.2).
///
/// ```
/// use thalweg_queue::bbq::heuristic_blocks;
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
pub fn shared_from<T: Send, W: Wait>(
    head: u64,
    blocks: usize,
    entries: usize,
    wait: W,
) -> Result<Ends<T, W>, BuildError> {
    let shared = Arc::new(Shared::new(Head(head), Layout::new(blocks, entries, size_of::<T>())?, wait));
    Ok((Producer { shared: shared.clone() }, Consumer { shared }))
}

/// The queue. Both heads are the paper's cached heads: at times behind, never ahead of the block in use.
#[derive(Debug)]
struct Shared<T, W: Wait> {
    layout: Layout,
    blocks: Box<[Block<T>]>,
    /// The block that producers fill.
    phead: CachePadded<AtomicU64>,
    /// The block that consumers empty.
    chead: CachePadded<AtomicU64>,
    handles: CachePadded<Handles>,
    wait: W,
}

/// How many handles there are of each kind. A kind that has reached zero stays there.
#[derive(Debug)]
struct Handles {
    producers: AtomicUsize,
    consumers: AtomicUsize,
}

/// What a pop can do next.
enum Pop {
    /// Reserve this entry.
    Reserve(Head, usize),
    /// Enter the block after this one.
    Enter(Head),
    Empty,
    Busy,
}

impl<T, W: Wait> Shared<T, W> {
    fn new(head: Head, layout: Layout, wait: W) -> Self {
        let mut blocks: Box<[Block<T>]> = {
            let mut at = head;
            // In ring order from the first block, which is open; the others have just ended their last round.
            let in_ring_order = (0..layout.blocks).map(|step| {
                let cursor = if step == 0 { layout.start(at) } else { layout.end(at.last_round(&layout)) };
                at = at.next();
                Block::new(&layout, cursor)
            });
            in_ring_order.collect()
        };
        blocks.rotate_right(layout.index(head));
        Self {
            layout,
            blocks,
            phead: CachePadded(AtomicU64::new(head.0)),
            chead: CachePadded(AtomicU64::new(head.0)),
            handles: CachePadded(Handles { producers: AtomicUsize::new(1), consumers: AtomicUsize::new(1) }),
            wait,
        }
    }

    #[inline(always)]
    fn block(&self, head: Head) -> &Block<T> {
        &self.blocks[self.layout.index(head)]
    }

    #[inline(always)]
    fn phead(&self) -> Head {
        // (bbq.12) Acquire, pairs with (bbq.13): who sees the head sees its block begun. Relaxed would look again
        // and again until it does.
        Head(self.phead.load(edge("bbq.12", Acquire)))
    }

    #[inline(always)]
    fn chead(&self) -> Head {
        // (bbq.14) Acquire, pairs with (bbq.15): as (bbq.12), for a block that was entered.
        Head(self.chead.load(edge("bbq.14", Acquire)))
    }

    #[inline(always)]
    fn push(&self, value: T) -> Result<(), TryPushError<T>> {
        if self.consumers_gone() {
            return Err(TryPushError::Closed(value));
        }
        loop {
            let head = self.phead();
            let block = self.block(head);
            match block.allocate(&self.layout, head) {
                Allocate::Entry(offset) => {
                    // SAFETY: allocated a moment ago, committed here.
                    unsafe { block.commit(offset, value) };
                    self.wait.ring(Side::Items, 1, || true);
                    return Ok(());
                }
                Allocate::Moved => {}
                Allocate::Done => match self.block(head.next()).room(&self.layout, head.next()) {
                    Room::Free => self.begin(head),
                    Room::Full => return Err(TryPushError::Full(value)),
                    Room::Busy => return Err(TryPushError::Busy(value)),
                },
            }
        }
    }

    /// Whether a push would do anything but refuse for want of room. Writes nothing.
    fn may_push(&self) -> bool {
        let head = self.phead();
        match self.block(head).allocation(&self.layout, head) {
            Allocate::Entry(_) | Allocate::Moved => true,
            Allocate::Done => matches!(self.block(head.next()).room(&self.layout, head.next()), Room::Free),
        }
    }

    /// Moves the producers on from the block at `head`.
    #[cold]
    fn begin(&self, head: Head) {
        self.block(head.next()).begin(&self.layout, head.next());
        // The head last: ahead of the block's cursors it would let producers skip the block.
        //
        // (bbq.13) Release, pairs with (bbq.12). Failure is Relaxed: somebody else has moved it.
        let _ = self.phead.compare_exchange(head.0, head.next().0, edge("bbq.13", Release), Relaxed);
    }

    #[inline(always)]
    fn pop(&self) -> Result<(u64, T), TryPopError> {
        loop {
            match self.look() {
                Pop::Reserve(head, offset) => {
                    let block = self.block(head);
                    if block.reserve(&self.layout, head, offset) {
                        // SAFETY: seen committed by `look`, reserved a moment ago, consumed here.
                        let value = unsafe { block.consume(offset) };
                        self.wait.ring(Side::Room, 1, || self.may_push());
                        return Ok((self.layout.position(head, offset), value));
                    }
                }
                Pop::Enter(head) => self.enter(head),
                Pop::Empty => return Err(TryPopError::Empty),
                Pop::Busy => return Err(TryPopError::Busy),
            }
        }
    }

    /// What a pop can do. Writes nothing; looks again when the head was out of date, which means that others got on.
    #[inline(always)]
    fn look(&self) -> Pop {
        loop {
            let head = self.chead();
            match self.block(head).look(&self.layout, head) {
                Look::Entry(offset) => return Pop::Reserve(head, offset),
                Look::Empty => return Pop::Empty,
                Look::Busy => return Pop::Busy,
                Look::Moved => {}
                Look::Done => match self.block(head.next()).begun(&self.layout, head.next()) {
                    Begun::Yes => return Pop::Enter(head),
                    Begun::No => return Pop::Empty,
                    Begun::Moved => {}
                },
            }
        }
    }

    /// Moves the consumers on from the block at `head`.
    #[cold]
    fn enter(&self, head: Head) {
        self.block(head.next()).enter(&self.layout, head.next());
        // (bbq.15) Release, pairs with (bbq.14). Failure is Relaxed: somebody else has moved it.
        let _ = self.chead.compare_exchange(head.0, head.next().0, edge("bbq.15", Release), Relaxed);
    }

    fn producers_gone(&self) -> bool {
        // (bbq.16) Acquire, pairs with (bbq.17): everything they pushed is visible. Relaxed could report the end
        // before the last items.
        self.handles.producers.load(edge("bbq.16", Acquire)) == 0
    }

    fn consumers_gone(&self) -> bool {
        // Relaxed: a refusal hands the value back and touches nothing else.
        self.handles.consumers.load(Relaxed) == 0
    }

    fn len(&self) -> usize {
        // The consumers' side first: a count of commits read after it is not below it. Acquire keeps the order.
        let chead = self.chead();
        let reserved = self.block(chead).reserved(&self.layout, chead) as i64;
        let phead = self.phead();
        let committed = self.block(phead).committed(&self.layout, phead) as i64;
        let blocks = phead.0.wrapping_sub(chead.0) as i64;
        let length = blocks.saturating_mul(self.layout.entries as i64) + committed - reserved;
        length.clamp(0, self.layout.capacity() as i64) as usize
    }
}

impl<T, W: Wait> Drop for Shared<T, W> {
    /// Drops what was pushed while the last consumer left.
    fn drop(&mut self) {
        while let Ok((_, item)) = self.pop() {
            drop(item);
        }
    }
}

/// A writing end. Clones write to the same queue; dropping the last one closes it, and consumers drain what is left.
///
/// A handle that is leaked (`mem::forget`) counts as alive for ever.
pub struct Producer<T: Send, W: Wait = Yield> {
    shared: Arc<Shared<T, W>>,
}

impl<T: Send, W: Wait> Producer<T, W> {
    /// Pushes, or says why not and gives the value back.
    ///
    /// - `Full`: at least `(blocks - 1) * entries + 1` pushed items are still waiting for a pop to begin.
    /// - `Busy`: room depends only on pops that have begun and not ended.
    /// - `Closed`: every consumer is gone. A push while the last one leaves may still succeed; its item is dropped
    ///   with the queue.
    #[inline]
    pub fn try_push(&self, value: T) -> Result<(), TryPushError<T>> {
        self.shared.push(value)
    }

    fn may_push(&self) -> bool {
        self.shared.may_push() || self.shared.consumers_gone()
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }

    /// How many items are pushed and not popped, lately. Exact when nobody else uses the queue.
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    /// Whether `len` is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many entries all blocks have. As few as `capacity - entries + 1` items may fill the queue, as blocks are
    /// reused whole.
    pub fn capacity(&self) -> usize {
        self.shared.layout.capacity()
    }

    /// Whether every consumer is gone. Then it stays so, and every push is refused.
    pub fn is_closed(&self) -> bool {
        self.shared.consumers_gone()
    }
}

impl<T: Send, W: Wait> Clone for Producer<T, W> {
    fn clone(&self) -> Self {
        // Relaxed: this handle keeps the count above zero meanwhile.
        self.shared.handles.producers.fetch_add(1, Relaxed);
        Self { shared: self.shared.clone() }
    }
}

impl<T: Send, W: Wait> Drop for Producer<T, W> {
    fn drop(&mut self) {
        // (bbq.17) Release, pairs with (bbq.16): what was pushed comes before the count.
        if self.shared.handles.producers.fetch_sub(1, edge("bbq.17", Release)) == 1 {
            self.shared.wait.ring_all();
        }
    }
}

impl<T: Send, W: Wait> fmt::Debug for Producer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

/// A reading end. Clones read from the same queue; when the last one is dropped, pushes fail from then on and what
/// is in the queue is dropped.
///
/// A handle that is leaked (`mem::forget`) counts as alive for ever.
pub struct Consumer<T: Send, W: Wait = Yield> {
    shared: Arc<Shared<T, W>>,
}

impl<T: Send, W: Wait> Consumer<T, W> {
    /// Pops the oldest item, or says why not.
    ///
    /// - `Empty`: every item is taken.
    /// - `Busy`: a push is half-way, and items behind it, if any, have to wait for it.
    /// - `Closed`: every producer is gone and the queue is drained.
    #[inline]
    pub fn try_pop(&self) -> Result<T, TryPopError> {
        self.try_pop_numbered().map(|(_, value)| value)
    }

    /// Pops the oldest item and its position in the queue's order.
    ///
    /// Positions count from 0 without gaps: the n-th item to be pushed has position n, whoever pops it. Whoever
    /// pops draws a ticket, so to say, by which results can be put in order again. A position is a `u64` and wraps
    /// at its end.
    ///
    /// ```
    /// let (tx, rx) = thalweg_queue::bbq::shared(2, 8)?;
    /// for word in ["tick", "tock"] {
    ///     tx.push(word)?;
    /// }
    /// let other = rx.clone();
    /// assert_eq!(rx.try_pop_numbered()?, (0, "tick"));
    /// assert_eq!(other.try_pop_numbered()?, (1, "tock"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn try_pop_numbered(&self) -> Result<(u64, T), TryPopError> {
        match self.shared.pop() {
            // A producer may have pushed after our look and before it left, so look again before saying `Closed`.
            Err(TryPopError::Empty) if self.shared.producers_gone() => {
                self.shared.pop().map_err(|_| TryPopError::Closed)
            }
            result => result,
        }
    }

    fn may_pop(&self) -> bool {
        !matches!(self.shared.look(), Pop::Empty | Pop::Busy) || self.shared.producers_gone()
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }

    /// How many items are pushed and not popped, lately. Exact when nobody else uses the queue.
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    /// Whether `len` is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many entries all blocks have. As few as `capacity - entries + 1` items may fill the queue, as blocks are
    /// reused whole.
    pub fn capacity(&self) -> usize {
        self.shared.layout.capacity()
    }

    /// Whether every producer is gone. Then it stays so; items may still be left.
    pub fn is_closed(&self) -> bool {
        self.shared.producers_gone()
    }
}

impl<T: Send, W: Wait> Clone for Consumer<T, W> {
    fn clone(&self) -> Self {
        // Relaxed: this handle keeps the count above zero meanwhile.
        self.shared.handles.consumers.fetch_add(1, Relaxed);
        Self { shared: self.shared.clone() }
    }
}

impl<T: Send, W: Wait> Drop for Consumer<T, W> {
    fn drop(&mut self) {
        // AcqRel: the consumer that leaves last comes after the others. What is left after its last look is dropped
        // by `Shared`.
        if self.shared.handles.consumers.fetch_sub(1, AcqRel) == 1 {
            self.shared.wait.ring_all();
            while let Ok((_, item)) = self.shared.pop() {
                drop(item);
            }
        }
    }
}

impl<T: Send, W: Wait> fmt::Debug for Consumer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

crate::wait::producer!(shared Producer[T: Send]);
crate::wait::consumer!(shared Consumer[T: Send]);
