//! What a kernel's code sees of the run that it is part of.

use crate::block::pool::Pool;
use crate::block::{Block, Chain, Stamps};
use crate::control::Control;
use crate::edge::{Edge, Sender};
use crate::error::{Payload, resume_for};
use crate::observe::Probes;
use std::cell::{Cell, RefCell};
use std::fmt;
use thalweg_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Counter, Ordering::*};
use thalweg_sync::hint;
use thalweg_sync::time::now;

/// A block that takes longer than this, in nanoseconds, is worth waking another worker for, and worth handing on half full.
pub(crate) const WORTH_WAKING: u64 = 20_000;
/// A kernel that has spent so long in one block, in nanoseconds, leaves the rest to others or to later, and looks between any two messages.
pub(crate) const TOO_LONG: u64 = 1_000_000;
/// Messages between two looks at the clock while nobody else watches the time.
const CLOCKED: usize = 32;

/// What an activation asks of the run.
pub(crate) trait Host {
    /// Raises or lowers the count of blocks and activations inside a cycle.
    fn count_in(&self, component: Option<usize>, by: i64);
    /// A block of `kernel` has entered `edge`: wakes a worker if there is more than this one will see to.
    fn sent(&self, kernel: usize, edge: &Edge);
    /// `kernel` has taken a block: wakes a worker that could fill the room, if it will be busy for a while.
    fn took(&self, kernel: usize);
    /// `kernel` has left work to others: wakes as many workers as there are `pieces`, if so many sleep.
    fn share(&self, kernel: usize, pieces: usize);
    /// The scheme's actions on a full edge: it grows, or its consumer runs here. True if there is room now.
    fn make_room(&self, edge: &Edge) -> bool;
    /// Something has arrived, by the number of its pair of kernels, that left at `start`.
    fn arrived(&self, pair: usize, start: u64, end: u64);
    /// Waits for room on a full edge in the middle of its sender's activation, and runs other kernels meanwhile. False if there is none, and it is in
    /// vain to wait for it: the sender goes on all the same.
    fn wait_for_room(&self, edge: &Edge, held: &mut dyn Held) -> bool;
    /// Waits in the middle of an activation of a parallel kernel that gives to `edge`, until its turn `is_up`, and runs other kernels meanwhile. False if it
    /// may be in vain to wait for that.
    fn wait_for_turn(&self, edge: &Edge, is_up: &dyn Fn() -> bool) -> bool;
    /// The results of an activation of `kernel` have left: wakes those who wait for their turn.
    fn turned(&self, kernel: usize);
    /// Notes what destructors of messages panicked with that `kernel` did not take.
    fn note(&self, kernel: usize, panics: Vec<Payload>);
}

/// How long a kernel takes, as last measured.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Nanoseconds for a block; zero if it is not known yet.
    pub(crate) block_time: AtomicU64,
    /// Messages that a source made of an iterator gives before it looks up.
    pub(crate) give_len: AtomicU32,
}

impl Pace {
    pub(crate) fn new(give_len: u32) -> Self {
        Self { block_time: AtomicU64::new(0), give_len: AtomicU32::new(give_len) }
    }

    /// A block takes long enough that what comes of it is worth waking somebody for.
    pub(crate) fn is_worth_waking(&self) -> bool {
        self.block_time.load(Relaxed) > WORTH_WAKING
    }
}

/// The context of one activation.
pub(crate) struct Cx<'a> {
    pub(crate) host: &'a dyn Host,
    pub(crate) control: &'a Control,
    pub(crate) pool: &'a Pool<'a>,
    pub(crate) pace: &'a Pace,
    /// Raised by whoever finds that this worker is long in one block.
    pub(crate) hurry: &'a AtomicBool,
    /// Counts the blocks that this worker begins.
    pub(crate) beats: &'a Counter,
    pub(crate) kernel: usize,
    /// Blocks an activation may take.
    pub(crate) quantum: u32,
    /// Messages that were taken.
    pub(crate) taken: Cell<u64>,
    /// The edge on which something was handed on last.
    pub(crate) emitted: Cell<Option<usize>>,
    /// The block in hand is gone through to its end, however long it takes.
    pub(crate) whole: Cell<bool>,
    /// The block in hand was left before its end, for the time it takes.
    pub(crate) left: Cell<bool>,
    /// When the block in hand was begun, if this activation looks at the clock.
    pub(crate) begun: Cell<u64>,
    /// Looks that are left until the next one at the clock.
    pub(crate) until_clock: Cell<u32>,
    /// Whose latency is asked for, if any is.
    pub(crate) probes: Option<&'a Probes>,
    /// The stamps of what is in hand.
    pub(crate) carried: RefCell<Stamps>,
}

/// What lies at the sending ends of a kernel that waits for room in the middle of its activation. Nobody else may move it, and somebody may wait for it.
pub(crate) trait Held {
    /// Whether some of it has room now.
    fn can_move(&self) -> bool;
    /// Moves what has room.
    fn move_on(&mut self);
    /// Whether something lies at the output `port`.
    fn lies_at(&self, port: usize) -> bool;
}

/// How a kernel's loop goes through the messages of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rhythm<'a> {
    /// See [`stretch`](Self::stretch).
    stretch: usize,
    /// A reference of its own: a loop that writes messages would read one behind the context anew for each.
    attention: &'a AtomicU32,
    /// What it was at the last look; one less while this loop looks at the clock, so that each look goes the long way.
    seen: u32,
    /// Looks from one at the clock to the next; zero if somebody else watches the time.
    clocked: u32,
}

impl Rhythm<'_> {
    /// How many messages have to be left for [`STRETCH`] of them to be taken without a look: out of reach where they are slow.
    #[inline(always)]
    pub(crate) fn stretch(&self) -> usize {
        self.stretch
    }

    /// Steps up to the next look, where a message is several.
    pub(crate) fn steps(&self) -> usize {
        if self.stretch == usize::MAX { 1 } else { self.stretch }
    }
}

impl<'a> Cx<'a> {
    /// Messages a source may give before it looks up.
    pub(crate) fn give_len(&self) -> u32 {
        self.pace.give_len.load(Relaxed)
    }

    /// A source that is slow, or of which nothing is known yet, gives little at a time and hands it on at once.
    pub(crate) fn gives_slowly(&self) -> bool {
        let time = self.pace.block_time.load(Relaxed);
        time == 0 || time > WORTH_WAKING * 2
    }

    /// A block of this kernel takes long, or nothing is known of it: its loop looks up between any two messages.
    pub(crate) fn takes_long(&self) -> bool {
        let time = self.pace.block_time.load(Relaxed);
        time == 0 || time > TOO_LONG
    }

    /// Begins a block: how its messages are gone through, `most` from one look to the next at most.
    #[inline]
    pub(crate) fn rhythm(&self, most: usize) -> Rhythm<'a> {
        self.beat(most, !self.control.has_lookout())
    }

    /// As [`rhythm`](Self::rhythm), of a source, whose gives are short: it looks at the clock only where it is known to be slow.
    #[inline]
    pub(crate) fn rhythm_of_items(&self, most: usize) -> Rhythm<'a> {
        self.beat(most, false)
    }

    #[inline]
    fn beat(&self, most: usize, clocked: bool) -> Rhythm<'a> {
        self.beats.add(1);
        let slow = self.takes_long();
        let clocked = clocked || slow;
        if clocked {
            self.begun.set(now().as_nanos());
        }
        let stretch = if slow { usize::MAX } else { most };
        // A kernel that looks after each message has long ones.
        let looks = if slow || most == 1 { 1 } else { (CLOCKED / most).max(1) as u32 };
        let clocked = if clocked { looks } else { 0 };
        let seen = self.seen(clocked > 0);
        self.until_clock.set(clocked);
        Rhythm { stretch, attention: self.control.attention(), seen, clocked }
    }

    /// What a loop compares with until its next look: while it is `clocked` that differs, so that one comparison serves both.
    #[inline(always)]
    fn seen(&self, clocked: bool) -> u32 {
        self.control.attention().load(Relaxed).wrapping_sub(u32::from(clocked))
    }

    /// Whether the loop should leave the rest of its block: the run is cancelled, or the block takes too long. A load and a comparison while nobody calls.
    #[inline(always)]
    pub(crate) fn should_leave(&self, rhythm: &mut Rhythm<'a>) -> bool {
        // Relaxed: a loop that sees it late looks up a few messages later.
        if rhythm.attention.load(Relaxed) == rhythm.seen {
            return false;
        }
        let (leaves, next) = self.look_up(*rhythm);
        *rhythm = next;
        leaves
    }

    /// As [`should_leave`](Self::should_leave), of a source: it leaves for a wish to stop too.
    #[inline(always)]
    pub(crate) fn should_end(&self, rhythm: &mut Rhythm<'a>) -> bool {
        if rhythm.attention.load(Relaxed) == rhythm.seen {
            return false;
        }
        let (leaves, next) = self.look_up(*rhythm);
        *rhythm = next;
        leaves || self.is_draining()
    }

    /// By value: a rhythm whose address is known elsewhere is read and written in memory at each message.
    #[cold]
    #[inline(never)]
    fn look_up(&self, rhythm: Rhythm<'a>) -> (bool, Rhythm<'a>) {
        let seen = self.seen(rhythm.clocked > 0);
        let until_clock = self.until_clock.get();
        if seen == rhythm.seen && until_clock > 1 {
            // Nobody calls, and it is not time yet.
            self.until_clock.set(until_clock - 1);
            return (false, rhythm);
        }
        self.until_clock.set(rhythm.clocked);
        let late = || rhythm.clocked > 0 && now().as_nanos().saturating_sub(self.begun.get()) > TOO_LONG;
        let leaves = self.is_cancelled() || !self.whole.get() && (self.hurry.load(Relaxed) || late());
        self.left.set(leaves);
        (leaves, Rhythm { seen, ..rhythm })
    }

    /// Whether the run is cancelled; cancels it when the time for draining is over, for the workers may all be busy then.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.control.is_draining() && self.control.is_over_time()
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.control.is_draining()
    }

    pub(crate) fn open_block<T>(&self, messages: usize) -> Block {
        self.pool.open::<T>(messages)
    }

    pub(crate) fn close_block(&self, block: Block) {
        self.pool.close(block);
    }

    /// Takes note of `messages` that were taken.
    pub(crate) fn count(&self, messages: u64) {
        hint::took(messages);
        self.taken.set(self.taken.get() + messages);
    }

    /// This block has something new of the kernel, and leaves or is kept.
    #[inline(always)]
    pub(crate) fn stamp(&self, block: &mut Block) {
        if let Some(probes) = self.probes {
            probes.stamp(self.kernel, block, &self.carried.borrow());
        }
    }

    /// This block is in hand: what is given now comes of it.
    #[inline(always)]
    pub(crate) fn carry(&self, block: &mut Block) {
        if self.probes.is_some() {
            self.carried.replace(block.stamps_mut().take());
        }
    }

    /// This block is left for another activation.
    #[inline(always)]
    pub(crate) fn put_down(&self, block: &mut Block) {
        if self.probes.is_some() {
            *block.stamps_mut() = self.carried.take();
        }
    }

    /// The kernel is done with the block in hand.
    #[inline(always)]
    pub(crate) fn arrive(&self) {
        if self.probes.is_some() {
            self.arrive_with(&self.carried.take());
        }
    }

    /// The kernel is done with a block that had these stamps.
    pub(crate) fn arrive_with(&self, stamps: &Stamps) {
        if let Some(probes) = self.probes {
            probes.arrive(self.kernel, stamps, |pair, start, end| self.host.arrived(pair, start, end));
        }
    }

    /// A block that came over `edge` is used up.
    pub(crate) fn used_up(&self, edge: &Edge) {
        self.host.count_in(edge.plan.component, -1);
    }

    /// Sends a block.
    pub(crate) fn hand_on(&self, sender: &mut Sender<'_>, mut block: Block) {
        if sender.edge().plan.feedback {
            block.stamps_mut().take();
        }
        let component = sender.edge().plan.component;
        // U3: the block counts before anyone can take it.
        self.host.count_in(component, 1);
        let mut panics = Vec::new();
        let entered = sender.send(block, self.pool, &mut panics);
        let overwritten = sender.take_overwritten();
        if overwritten > 0 {
            self.host.count_in(component, -(overwritten as i64));
        }
        if entered == 0 {
            self.host.count_in(component, -1);
            return resume_for(sender.edge().plan.to, panics);
        }
        self.emitted.set(Some(sender.edge().plan.id));
        self.host.sent(self.kernel, sender.edge());
        resume_for(sender.edge().plan.to, panics);
    }

    /// Moves what waits at the sending ends.
    pub(crate) fn flush(&self, senders: &mut [Sender<'_>]) {
        for sender in senders.iter_mut().filter(|sender| sender.edge().has_spill()) {
            if sender.flush() {
                self.emitted.set(Some(sender.edge().plan.id));
            }
        }
    }

    /// Drops messages that `kernel` did not take, in a run that is over.
    pub(crate) fn drop_block(&self, kernel: usize, mut block: Block) {
        let mut panics = Vec::new();
        block.clear_noting(&mut panics);
        self.host.note(kernel, panics);
    }

    /// Drops what an activation gave that does not get to its edges any more.
    pub(crate) fn drop_chain(&self, chain: &mut Chain, consumer: impl Fn(usize) -> usize) {
        while let Some(block) = chain.pop() {
            let kernel = consumer(block.port());
            self.drop_block(kernel, block);
        }
    }
}

impl fmt::Debug for Cx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx").field("kernel", &self.kernel).finish_non_exhaustive()
    }
}
