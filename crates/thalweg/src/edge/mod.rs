//! An edge: how blocks get from one output port to one input port.
//!
//! Its two ends are values: the kernel that gives owns the [`Sender`], the kernel that takes owns a [`Receiver`] or a [`SharedReceiver`], and
//! whoever holds the kernel holds its ends. The [`Edge`] is what both of them count and what anybody may look at.
//!
//! # Invariants
//!
//! - **E1** What the sending side counts is counted by the `Sender` alone, so by one thread at a time.
//! - **E2** What the taking side counts is counted by the `Receiver` alone; or with atomic steps by several `SharedReceiver`s at once, or by the
//!   `Receiver` and by the `Sender` that drops what is old.
//! - **E4** `sent.closed` is set after the last block was sent, so who reads it *before* a pop that finds nothing has seen everything.

mod limits;
mod receiver;
pub(crate) mod reorder;
mod sender;
mod storage;

pub use limits::Capacity;
pub(crate) use receiver::{Receiver, SharedReceiver};
pub(crate) use sender::Sender;
pub(crate) use storage::Channels;
pub use storage::Storage;

use crate::block::Block;
use crate::block::windows::Assemble;
use std::fmt;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Counter, Ordering::*};
use thalweg_sync::sync::Arc;

/// Blocks an edge holds unless its capacity is given.
const FIRST_BLOCKS: usize = 16;
/// Blocks it may grow to unless its capacity is given.
const MOST_BLOCKS: usize = 256;
/// What a block takes beside its messages: a header of a line, and what is left of the last line.
const BLOCK_BYTES: usize = 128;
/// Ends of activations that a block which is not full may wait for: a kernel that gives rarely must not hold it back.
const MOST_KEPT: u32 = 4;
/// The longest queue of pointers; what exceeds it waits in the spill.
const MOST_SLOTS: usize = 4096;
/// Slots that all edges without a capacity have together, if they are very many: a graph of a hundred thousand kernels must not be made of empty queues.
const ALL_SLOTS: usize = 1 << 21;

/// What the graph asks of an edge.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Its number.
    pub(crate) id: usize,
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) capacity: Option<Capacity>,
    pub(crate) feedback: bool,
    /// It is never full: what is older than its capacity is dropped.
    pub(crate) newest: bool,
    pub(crate) window: Option<(usize, usize)>,
    pub(crate) storage: Storage,
    /// Why that one.
    pub(crate) chosen: &'static str,
    /// Several workers may pop at once.
    pub(crate) many_takers: bool,
    pub(crate) message_bytes: usize,
    /// Messages that a block of it may have, because of a capacity.
    pub(crate) longest: usize,
    /// The strongly connected component whose inside this edge belongs to.
    pub(crate) component: Option<usize>,
}

/// What one side counts.
#[derive(Default)]
struct Side {
    blocks: AtomicU64,
    messages: AtomicU64,
    /// Sending side: nothing more will come. Taking side: nothing more will be taken.
    closed: AtomicBool,
    /// Sending side: the number of blocks up to which there is certainly room, so that the other side's line is read rarely.
    credit: AtomicU64,
}

impl Side {
    fn count(&self, messages: u64, many: bool) {
        if many {
            self.messages.fetch_add(messages, Relaxed);
            self.blocks.fetch_add(1, Release);
        } else {
            self.messages.store(self.messages.load(Relaxed) + messages, Relaxed);
            // Release, with the loads in `backlog`: who sees this count finds the block in the queue.
            self.blocks.store(self.blocks.load(Relaxed) + 1, Release);
        }
    }
}

/// Samples of how full the edge was, and how often it grew.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    pub(crate) samples: Counter,
    pub(crate) sum: Counter,
    pub(crate) peak: Counter,
    /// Messages that were sent into a windowed edge.
    pub(crate) given: Counter,
    /// By several at once behind a parallel kernel, so no `Counter`.
    pub(crate) grown: AtomicU64,
    /// Messages that found the taker gone.
    pub(crate) lost: Counter,
    /// Messages that were dropped for newer ones.
    pub(crate) overwritten: Counter,
}

/// What both ends of an edge count, and what it may hold.
pub(crate) struct Edge {
    pub(crate) plan: Plan,
    /// Blocks the storage holds at least.
    slots: usize,
    sent: CachePadded<Side>,
    taken: CachePadded<Side>,
    /// Blocks that wait at the sending end for room in the storage.
    spilled: AtomicUsize,
    /// How many messages wait in a block that was taken in part, of which none counts as on the edge any more.
    held: AtomicUsize,
    /// See [`note_asked`](Self::note_asked).
    asked: AtomicUsize,
    /// See [`set_awaited`](Self::set_awaited).
    awaited: AtomicBool,
    limit_blocks: AtomicUsize,
    limit_messages: AtomicUsize,
    /// How many messages a new block is opened for.
    block_len: AtomicU32,
    pub(crate) gauge: Gauge,
}

/// The taking end of a new edge, by its consumer's kind.
pub(crate) enum Taker {
    One(Receiver),
    Many(SharedReceiver),
}

/// A new edge with both ends, one of `edges`, of which `channels` has those on a device. `assembler` is there if it is windowed.
pub(crate) fn edge<'r>(
    edges: usize,
    channels: &mut Channels,
    plan: Plan,
    assembler: Option<Box<dyn Assemble + 'r>>,
    block_len: u32,
) -> (Arc<Edge>, Sender<'r>, Taker) {
    let share = (ALL_SLOTS / edges.max(1)).clamp(FIRST_BLOCKS * 2, MOST_BLOCKS * 2);
    let slots = plan.capacity.map_or(share, |capacity| capacity.most.clamp(2, MOST_SLOTS));
    if plan.many_takers {
        let (tx, rx) = storage::shared(plan.storage, slots);
        let edge = Arc::new(Edge::new(plan, slots, block_len));
        (edge.clone(), Sender::new(edge.clone(), tx, assembler), Taker::Many(SharedReceiver::new(edge, rx)))
    } else {
        let (tx, rx) = match channels.take(plan.id) {
            Some(ends) => ends,
            None if plan.newest => storage::newest(slots),
            None => storage::exclusive(plan.storage, slots),
        };
        let edge = Arc::new(Edge::new(plan, slots, block_len));
        (edge.clone(), Sender::new(edge.clone(), tx, assembler), Taker::One(Receiver::new(edge, rx)))
    }
}

impl Edge {
    fn new(plan: Plan, slots: usize, block_len: u32) -> Self {
        let (first_blocks, first_messages) = match plan.capacity {
            None => (FIRST_BLOCKS, usize::MAX),
            Some(capacity) => (slots, capacity.first),
        };
        let never_full = plan.feedback && plan.capacity.is_none();
        let edge = Self {
            plan,
            slots,
            sent: CachePadded::default(),
            taken: CachePadded::default(),
            spilled: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
            asked: AtomicUsize::new(0),
            awaited: AtomicBool::new(false),
            limit_blocks: AtomicUsize::new(if never_full { usize::MAX } else { first_blocks }),
            limit_messages: AtomicUsize::new(first_messages),
            block_len: AtomicU32::new(1),
            gauge: Gauge::default(),
        };
        edge.set_block_len(block_len);
        edge
    }

    // ---- the sending side ----

    /// Says that nothing more will be sent.
    pub(crate) fn close(&self) {
        // Release, pairs with the load in `is_closed` (E4): who sees it has every block that was sent before.
        self.sent.closed.store(true, Release);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.sent.closed.load(Acquire)
    }

    pub(crate) fn block_len(&self) -> usize {
        self.block_len.load(Relaxed) as usize
    }

    pub(crate) fn set_block_len(&self, messages: u32) {
        let longest = u32::try_from(self.plan.longest).unwrap_or(u32::MAX);
        self.block_len.store(messages.clamp(1, longest), Relaxed);
    }

    /// Whether a kernel may send a block of so many messages as it is, instead of filling blocks of this edge's length with them.
    pub(crate) fn takes_whole(&self, messages: usize) -> bool {
        // Lengths follow measurements, and those vary; a capacity is a promise.
        let slack = if self.plan.longest < usize::MAX { 1 } else { 2 };
        messages <= self.block_len().saturating_mul(slack)
    }

    /// Says whether the sender waits, in the middle of an activation, for room here, or holds something that it would send if there were.
    pub(crate) fn set_awaited(&self, awaited: bool) {
        // Relaxed: it belongs to the sender's mark (exec/midway, M3), and the fences of that mark order both.
        self.awaited.store(awaited, Relaxed);
    }

    /// What [`set_awaited`](Self::set_awaited) said.
    pub(crate) fn is_awaited(&self) -> bool {
        self.awaited.load(Relaxed)
    }

    // ---- the taking side ----

    /// Notes how many messages the taker wanted at once, and did not find: zero if it found all it wanted. For whoever reports a run that stalled.
    pub(crate) fn note_asked(&self, messages: usize) {
        self.asked.store(messages, Relaxed);
    }

    /// What [`note_asked`](Self::note_asked) noted.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Relaxed)
    }

    /// Says that nothing more will be taken: what is sent from now on is dropped.
    pub(crate) fn hang_up(&self) {
        self.taken.closed.store(true, Relaxed);
    }

    pub(crate) fn is_hung_up(&self) -> bool {
        self.taken.closed.load(Relaxed)
    }

    // ---- looking from outside ----

    /// Blocks that were sent and not taken. A snapshot; it may be one too few or too many while others work.
    pub(crate) fn backlog(&self) -> u64 {
        // `taken` first: it never passes `sent`, so the difference is not negative but for a pop that overtakes its count.
        let taken = self.taken.blocks.load(Acquire);
        self.sent.blocks.load(Acquire).saturating_sub(taken)
    }

    /// Messages that were sent and not taken. A snapshot.
    pub(crate) fn messages(&self) -> usize {
        let taken = self.taken.messages.load(Relaxed);
        self.sent.messages.load(Relaxed).saturating_sub(taken) as usize
    }

    /// Messages that the taker has not used: those sent and not taken, and those it put back. A snapshot.
    pub(crate) fn unused_messages(&self) -> usize {
        self.messages() + self.held.load(Relaxed)
    }

    /// What was sent, as messages count where they are taken: on a windowed edge those that windows pop.
    pub(crate) fn sent_messages(&self) -> u64 {
        self.sent.messages.load(Relaxed)
    }

    /// Messages that the sending side gave.
    pub(crate) fn given_messages(&self) -> u64 {
        if self.plan.window.is_some() { self.gauge.given.get() } else { self.sent_messages() }
    }

    /// Messages at the end of a windowed edge that were in no window, as they were too few.
    pub(crate) fn left_over(&self) -> u64 {
        let Some((peek, pop)) = self.plan.window else { return 0 };
        let (peek, pop, given) = (peek as u64, pop as u64, self.gauge.given.get());
        match given.checked_sub(peek) {
            None => given,
            // What lies between two windows is passed over by design.
            Some(beyond) => given.saturating_sub(beyond / pop * pop + peek.max(pop)),
        }
    }

    /// Something is on its way: in the queue, in the spill, or taken in part.
    pub(crate) fn has_input(&self) -> bool {
        self.held.load(Relaxed) > 0 || self.backlog() > 0
    }

    /// Something can be taken at once: what is in the spill has to be moved by the producer first.
    pub(crate) fn can_take(&self) -> bool {
        self.held.load(Relaxed) > 0 || self.can_pop()
    }

    /// A block is in the queue.
    pub(crate) fn can_pop(&self) -> bool {
        self.backlog() > self.spilled.load(Relaxed) as u64
    }

    /// Messages that nobody took because the taker had hung up: those that found it so, and those that were on their way.
    pub(crate) fn lost(&self) -> u64 {
        self.gauge.lost.get()
            + self.gauge.overwritten.get()
            + if self.is_hung_up() { self.messages() as u64 } else { 0 }
    }

    /// Blocks that were sent.
    pub(crate) fn sent_blocks(&self) -> u64 {
        self.sent.blocks.load(Relaxed)
    }

    pub(crate) fn taken_blocks(&self) -> u64 {
        self.taken.blocks.load(Relaxed)
    }

    /// Something waits in the spill, and the queue has room for it.
    pub(crate) fn can_flush(&self) -> bool {
        let spilled = self.spilled.load(Relaxed);
        spilled > 0 && self.backlog() < (self.plan.storage.tries_again_below(self.slots) + spilled) as u64
    }

    /// Something waits in the spill, and there is no room for it yet.
    pub(crate) fn is_stuck(&self) -> bool {
        self.has_spill() && !self.can_flush() && !self.is_hung_up()
    }

    pub(crate) fn has_spill(&self) -> bool {
        self.spilled.load(Relaxed) > 0
    }

    /// Changes whenever a kernel at either end could find something new. The spill counts too: what leaves it was sent before.
    pub(crate) fn signature(&self) -> u64 {
        let closed = u64::from(self.is_closed()) + u64::from(self.is_hung_up());
        self.sent.blocks.load(Acquire).wrapping_mul(0x9E37_79B9_7F4A_7C15)
            ^ self.taken.blocks.load(Acquire).wrapping_mul(0xC2B2_AE3D_27D4_EB4F)
            ^ (self.spilled.load(Acquire) as u64).wrapping_mul(0x1656_67B1_9E37_79F9)
            ^ closed
    }

    /// Counts messages as sent that are not there, in a block each, for tests of what is decided by the counts.
    #[cfg(test)]
    pub(crate) fn pretend(&self, messages: u64) {
        (0..messages).for_each(|_| self.sent.count(1, false));
    }

    /// What a block counts for: its messages, or on a windowed edge the messages that its windows pop.
    pub(crate) fn messages_of(&self, block: &Block) -> u64 {
        match self.plan.window {
            None => block.unread() as u64,
            Some((peek, pop)) => block.unread().checked_sub(peek).map_or(0, |rest| (rest / pop + 1) * pop) as u64,
        }
    }

    pub(crate) fn sample(&self) {
        let sent = self.sent.blocks.load(Relaxed);
        if sent % 16 != 1 {
            return;
        }
        // `sent` first, unlike in `messages`: so this is no more than was on the edge at that moment, however long this thread is kept from the
        // second look while others send and take. Acquire keeps the order.
        let sent = self.sent.messages.load(Acquire);
        let messages = sent.saturating_sub(self.taken.messages.load(Relaxed));
        self.gauge.samples.add(1);
        self.gauge.sum.add(messages);
        self.gauge.peak.set(self.gauge.peak.get().max(messages));
    }
}

impl fmt::Debug for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Edge").field("plan", &self.plan).field("backlog", &self.backlog()).finish_non_exhaustive()
    }
}
