//! An edge: how blocks get from one output port to one input port.
//!
//! # Invariants
//!
//! - **E1** The *sending side* (`tx`, and pushes into a one-to-one queue) is used by one thread at a time: the one that holds the claim of a
//!   sequential producer, or the drain flag of an ordered parallel one. An unordered parallel producer only uses the shared queue and the spill.
//! - **E2** The *taking side* (`rx`, and pops from a one-to-one queue) is used by the thread that holds the claim of a sequential
//!   consumer. A parallel consumer only uses the shared queue.
//! - **E3** Blocks of an ordered edge enter the queue in the order in which they were sent: once something is in the spill, all goes through it.
//! - **E4** `sent.closed` is set after the last block entered the queue, so who reads it *before* a pop that finds nothing has seen everything.

use crate::block::Block;
use crate::error::{Payload, resume};
use crate::graph::Capacity;
use crate::run::activate::MOST_BYTES;
use crate::window::Assemble;
use std::collections::VecDeque;
use std::fmt;
use thalweg_queue::{mpmc, spsc::fast_forward};
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Counter, Ordering::*, fence};
use thalweg_sync::cell::Slot;
use thalweg_sync::hint::Access;
use thalweg_sync::sync::Mutex;

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

/// What the graph asks of an edge.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) capacity: Option<Capacity>,
    pub(crate) feedback: bool,
    pub(crate) window: Option<(usize, usize)>,
    /// Several workers may pop at once.
    pub(crate) many_takers: bool,
    /// Several workers may push at once: an unordered parallel producer.
    pub(crate) many_senders: bool,
    pub(crate) message_bytes: usize,
    /// Messages that a block of it may have, because of a capacity.
    pub(crate) longest: usize,
    /// The strongly connected component whose inside this edge belongs to.
    pub(crate) component: Option<usize>,
}

enum Queue {
    OneToOne { tx: Box<Slot<fast_forward::Producer<Block>>>, rx: Box<Slot<fast_forward::Consumer<Block>>> },
    Shared { tx: mpmc::Producer<Block>, rx: mpmc::Consumer<Block> },
}

/// State of the sending side, under E1.
struct Tx {
    /// A block that is not full yet, kept from one activation to the next.
    open: Option<Block>,
    /// How many blocks had been sent when it was first kept with something in it, and at the ends of how many activations it was.
    kept: (u64, u32),
    /// Lays windows out contiguously, on a windowed edge.
    assembler: Option<Box<dyn Assemble>>,
}

/// State of the taking side, under E2.
struct Rx {
    /// A block of which some messages were taken.
    current: Option<Block>,
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
    /// As `grown`, on an unordered edge.
    pub(crate) lost: AtomicU64,
}

pub(crate) struct Edge {
    pub(crate) plan: Plan,
    queue: Queue,
    /// Blocks the queue holds at least.
    slots: usize,
    tx: CachePadded<Slot<Tx>>,
    rx: CachePadded<Slot<Rx>>,
    sent: CachePadded<Side>,
    taken: CachePadded<Side>,
    /// Blocks that found the queue full.
    spill: Mutex<VecDeque<Block>>,
    spilled: AtomicUsize,
    /// How many messages `rx.current` holds, of which none counts as on the edge any more.
    held: AtomicUsize,
    /// See [`note_asked`](Self::note_asked).
    asked: AtomicUsize,
    limit_blocks: AtomicUsize,
    limit_messages: AtomicUsize,
    /// How many messages a new block is opened for.
    block_len: AtomicU32,
    pub(crate) gauge: Gauge,
}

impl Edge {
    pub(crate) fn new(plan: Plan, assembler: Option<Box<dyn Assemble>>, block_len: u32) -> Self {
        let (first_blocks, first_messages, slots) = match plan.capacity {
            None => (FIRST_BLOCKS, usize::MAX, MOST_BLOCKS * 2),
            Some(capacity) => {
                let slots = capacity.most.clamp(2, MOST_SLOTS);
                (slots, capacity.first, slots)
            }
        };
        let shared = plan.many_takers || plan.many_senders;
        let queue = if shared {
            let (tx, rx) = mpmc::with_capacity(slots).expect("slots are within the limits of a queue");
            Queue::Shared { tx, rx }
        } else {
            let (tx, rx) = fast_forward::fast_forward(slots).expect("slots are within the limits of a queue");
            Queue::OneToOne { tx: Box::new(Slot::new(tx)), rx: Box::new(Slot::new(rx)) }
        };
        let never_full = plan.feedback && plan.capacity.is_none();
        Self {
            plan,
            queue,
            slots,
            tx: CachePadded(Slot::new(Tx { open: None, kept: (0, 0), assembler })),
            rx: CachePadded(Slot::new(Rx { current: None })),
            sent: CachePadded::default(),
            taken: CachePadded::default(),
            spill: Mutex::new(VecDeque::new()),
            spilled: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
            asked: AtomicUsize::new(0),
            limit_blocks: AtomicUsize::new(if never_full { usize::MAX } else { first_blocks }),
            limit_messages: AtomicUsize::new(first_messages),
            block_len: AtomicU32::new(block_len),
            gauge: Gauge::default(),
        }
    }

    // ---- the sending side ----

    /// Sends a block. On a windowed edge it becomes a block of whole windows, or waits until there is one. Returns how many blocks entered the edge.
    ///
    /// # Safety
    ///
    /// E1.
    pub(crate) unsafe fn send(&self, block: Block) -> usize {
        if self.plan.window.is_none() {
            return self.enter(block);
        }
        self.gauge.given.add(block.unread() as u64);
        let mut panics = Vec::new();
        let block = self.tx.with_mut(|tx| {
            // SAFETY: E1, by the caller.
            let assembler = unsafe { (*tx).assembler.as_mut() };
            assembler.expect("a windowed edge has an assembler").assemble(block, &mut panics)
        });
        let entered = block.map_or(0, |block| self.enter(block));
        resume(panics);
        entered
    }

    fn enter(&self, block: Block) -> usize {
        let messages = self.messages_of(&block);
        if messages == 0 {
            return 0;
        }
        if self.taken.closed.load(Relaxed) {
            self.gauge.lost.fetch_add(messages, Relaxed);
            return 0;
        }
        let refused = if self.spilled.load(Acquire) > 0 { Some(block) } else { self.try_queue(block) };
        if let Some(block) = refused {
            let mut spill = self.spill.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            spill.push_back(block);
            self.spilled.store(spill.len(), Release);
        }
        self.sent.count(messages, self.plan.many_senders);
        self.sample();
        1
    }

    /// Pushes into the queue, or gives the block back.
    fn try_queue(&self, block: Block) -> Option<Block> {
        match &self.queue {
            Queue::OneToOne { tx, .. } => tx.with_mut(|tx| {
                // SAFETY: E1; every path here comes from the sending side.
                unsafe { (*tx).try_push(block) }.err().map(|refused| refused.into_inner())
            }),
            Queue::Shared { tx, .. } => tx.try_push(block).err().map(|refused| refused.into_inner()),
        }
    }

    /// Moves what is in the spill into the queue as far as there is room. True if something was moved.
    ///
    /// # Safety
    ///
    /// E1, unless the producer is unordered.
    pub(crate) unsafe fn flush(&self) -> bool {
        if self.spilled.load(Acquire) == 0 {
            return false;
        }
        let mut spill = self.spill.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let before = spill.len();
        while let Some(block) = spill.pop_front() {
            if let Some(block) = self.try_queue(block) {
                spill.push_front(block);
                break;
            }
        }
        self.spilled.store(spill.len(), Release);
        spill.len() < before
    }

    /// Takes the block that was left open.
    ///
    /// # Safety
    ///
    /// E1.
    pub(crate) unsafe fn take_open(&self) -> Option<Block> {
        // SAFETY: E1, by the caller.
        self.tx.with_mut(|tx| unsafe { (*tx).open.take() })
    }

    /// Whether the open block may wait for the end of another activation: [`MOST_KEPT`] in all.
    ///
    /// # Safety
    ///
    /// E1.
    pub(crate) unsafe fn may_stay_open(&self) -> bool {
        self.tx.with_mut(|tx| {
            // SAFETY: E1, by the caller.
            let tx = unsafe { &mut *tx };
            if tx.open.as_ref().is_none_or(|block| block.unread() == 0) {
                return true;
            }
            let sent = self.sent.blocks.load(Relaxed);
            tx.kept = if tx.kept.0 == sent { (sent, tx.kept.1 + 1) } else { (sent, 1) };
            let stays = tx.kept.1 < MOST_KEPT;
            if !stays {
                // It goes now. On a windowed edge that may not count as sent yet.
                tx.kept.1 = 0;
            }
            stays
        })
    }

    /// Leaves a block open for the next activation.
    ///
    /// # Safety
    ///
    /// E1.
    pub(crate) unsafe fn keep_open(&self, block: Block) {
        // SAFETY: E1, by the caller.
        let before = self.tx.with_mut(|tx| unsafe { (*tx).open.replace(block) });
        debug_assert!(before.is_none(), "an output goes on with the block that was left open");
    }

    /// Says that nothing more will be sent.
    pub(crate) fn close(&self) {
        // Release, pairs with the load in `is_closed` (E4): who sees it has every block that was sent before.
        self.sent.closed.store(true, Release);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.sent.closed.load(Acquire)
    }

    /// Whether the sender should stop for now.
    pub(crate) fn is_full(&self) -> bool {
        let limit = self.limit_blocks.load(Relaxed);
        if limit == usize::MAX {
            return false;
        }
        let sent = self.sent.blocks.load(Relaxed);
        if sent < self.sent.credit.load(Relaxed) {
            return false;
        }
        // What was on its way when the taker hung up stays, and must not stop a sender that others still take from.
        if self.is_hung_up() {
            return false;
        }
        let taken = self.taken.blocks.load(Relaxed);
        let by_messages = self.limit_messages.load(Relaxed);
        // Its blocks were short then, and may be long now.
        let stretched = limit > MOST_BLOCKS && self.plan.capacity.is_none();
        if by_messages == usize::MAX && !stretched {
            self.sent.credit.store(taken + limit as u64, Relaxed);
        }
        // Beyond its slots (see `stretch`) some of it is in the spill by rights.
        self.spilled.load(Relaxed) > 0 && limit <= self.slots
            || sent >= taken + limit as u64
            || (by_messages != usize::MAX && self.messages() >= by_messages)
            || stretched && !self.has_room()
    }

    /// Whether so many messages more would be all that it may hold, if a capacity was given.
    pub(crate) fn is_filled_by(&self, more: usize) -> bool {
        self.plan.capacity.is_some()
            && !self.is_hung_up()
            && self.messages().saturating_add(more) >= self.limit_messages.load(Relaxed)
    }

    /// Raises the limit, up to the most the edge may hold. False if it is there already.
    pub(crate) fn grow(&self) -> bool {
        let (limit, most) = match self.plan.capacity {
            None => (&self.limit_blocks, MOST_BLOCKS),
            Some(capacity) => (&self.limit_messages, capacity.most),
        };
        let now = limit.load(Relaxed);
        // It may be beyond the most already: see `stretch`.
        let next = now.saturating_mul(2).min(most);
        if next <= now {
            return false;
        }
        // Several workers of a parallel kernel may come here at once: one of them takes the step, and all have the room.
        if limit.compare_exchange(now, next, Relaxed, Relaxed).is_ok() {
            self.gauge.grown.fetch_add(1, Relaxed);
        }
        true
    }

    /// Whether it holds fewer messages than its capacity says; or if none was given, fewer bytes of messages and headers than its most blocks do
    /// when they are full.
    fn has_room(&self) -> bool {
        let messages = self.messages();
        match self.plan.capacity {
            Some(_) => messages < self.limit_messages.load(Relaxed),
            None => {
                let blocks = self.backlog() as usize * BLOCK_BYTES;
                messages.saturating_mul(self.plan.message_bytes).saturating_add(blocks) < MOST_BLOCKS * MOST_BYTES
            }
        }
    }

    /// Raises the limit when nobody can go on else: beyond the most blocks too, as long as it [has room](Self::has_room), for blocks may be short.
    pub(crate) fn stretch(&self) -> bool {
        if self.grow() {
            return true;
        }
        if !self.has_room() {
            return false;
        }
        self.limit_blocks.store(self.limit_blocks.load(Relaxed).saturating_mul(2), Relaxed);
        self.gauge.grown.fetch_add(1, Relaxed);
        true
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

    // ---- the taking side ----

    /// Takes the next block, or what was left of the last one.
    ///
    /// # Safety
    ///
    /// E2, on an edge with one taker.
    pub(crate) unsafe fn take(&self) -> Option<Block> {
        if self.held.load(Relaxed) > 0 {
            // SAFETY: E2, by the caller.
            if let Some(block) = self.rx.with_mut(|rx| unsafe { (*rx).current.take() }) {
                self.held.store(0, Relaxed);
                return Some(block);
            }
        }
        let Queue::OneToOne { rx, .. } = &self.queue else { return self.take_shared().map(|(_, block)| block) };
        // SAFETY: E2, by the caller.
        let block = rx.with_mut(|rx| unsafe { (*rx).try_pop() }).ok()?;
        block.touch(block.first()..block.end(), self.plan.message_bytes, Access::Read);
        self.taken.count(self.messages_of(&block), false);
        Some(block)
    }

    /// Takes the next block and its ticket, its place in the order of the edge.
    pub(crate) fn take_shared(&self) -> Option<(u64, Block)> {
        let Queue::Shared { rx, .. } = &self.queue else { unreachable!("an edge with several takers is shared") };
        let (ticket, block) = rx.try_pop_numbered().ok()?;
        // (9) Acquire, pairs with the release of the pops before this one (bbq.18, bbq.10): see (7) of the reorder ring.
        fence(Acquire);
        block.touch(block.first()..block.end(), self.plan.message_bytes, Access::Read);
        self.taken.count(self.messages_of(&block), self.plan.many_takers);
        Some((ticket, block))
    }

    /// Puts back a block that was taken in part.
    ///
    /// # Safety
    ///
    /// E2.
    pub(crate) unsafe fn put_back(&self, block: Block) {
        let messages = self.messages_of(&block) as usize;
        // SAFETY: E2, by the caller.
        self.rx.with_mut(|rx| unsafe { (*rx).current = Some(block) });
        self.held.store(messages, Relaxed);
    }

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

    /// Drops all messages, once nobody uses either side any more, and notes the panics of their destructors.
    pub(crate) fn clear(&mut self, panics: &mut Vec<Payload>) {
        // SAFETY: E1 and E2, by `&mut self`.
        while let Some(mut block) = unsafe { self.take() } {
            block.clear_noting(panics);
        }
        let spill = self.spill.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        spill.iter_mut().for_each(|block| block.clear_noting(panics));
        let tx = self.tx.get_mut();
        tx.open.iter_mut().for_each(|block| block.clear_noting(panics));
        tx.assembler.iter_mut().for_each(|assembler| assembler.clear(panics));
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

    /// Something is on its way: in the queue, in the spill, or taken in part.
    pub(crate) fn has_input(&self) -> bool {
        self.held.load(Relaxed) > 0 || self.backlog() > 0
    }

    /// Something can be taken at once: what is in the spill has to be moved by the producer first.
    pub(crate) fn can_take(&self) -> bool {
        self.held.load(Relaxed) > 0 || self.backlog() > self.spilled.load(Relaxed) as u64
    }

    /// Messages that nobody took because the taker had hung up: those that found it so, and those that were on their way.
    pub(crate) fn lost(&self) -> u64 {
        self.gauge.lost.load(Relaxed) + if self.is_hung_up() { self.messages() as u64 } else { 0 }
    }

    pub(crate) fn taken_blocks(&self) -> u64 {
        self.taken.blocks.load(Relaxed)
    }

    /// Something waits in the spill, and the queue has room for it.
    pub(crate) fn can_flush(&self) -> bool {
        let spilled = self.spilled.load(Relaxed);
        spilled > 0 && self.backlog() < (self.slots / 2 + spilled) as u64
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

    /// How full, from 0 to 1.
    pub(crate) fn fill(&self) -> f32 {
        let by_messages = self.limit_messages.load(Relaxed);
        let ratio = if by_messages == usize::MAX {
            self.backlog() as f32 / self.limit_blocks.load(Relaxed) as f32
        } else {
            self.messages() as f32 / by_messages as f32
        };
        ratio.min(1.0)
    }

    /// What a block counts for: its messages, or on a windowed edge the messages that its windows pop.
    pub(crate) fn messages_of(&self, block: &Block) -> u64 {
        match self.plan.window {
            None => block.unread() as u64,
            Some((peek, pop)) => block.unread().checked_sub(peek).map_or(0, |rest| (rest / pop + 1) * pop) as u64,
        }
    }

    fn sample(&self) {
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

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::report::End;
    use thalweg_sync::time::Duration;

    #[test]
    fn occupancy_is_the_peak_and_the_mean_of_a_look_every_16_blocks() {
        let mut graph = Graph::new();
        let (source, sink) = (graph.source(0..0_u64), graph.sink(|_: u64| ()));
        graph += source >> sink;
        graph.looked_at(Scheme::default(), |core, _| {
            let edge = &core.edges[0];
            for _ in 0..48 {
                edge.pretend(1);
                edge.sample();
            }
            // With 1, 17 and 33 messages in it.
            let report = &Report::new(core, Duration::ZERO, End::Complete).edges[0];
            assert_eq!((edge.gauge.samples.get(), report.peak, report.mean), (3, 33, 17.0));
        });
    }
}
