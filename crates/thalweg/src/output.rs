//! The writing end that a kernel sees.

use crate::block::{Block, Chain, drop_each, stride};
use crate::run::Cx;
use std::fmt;
use std::mem;
use std::ptr;
use thalweg_sync::hint::Access;

/// Where a kernel puts its messages.
///
/// A kernel gets it for the length of one activation. [`push`](Self::push) never waits: a block that is full is handed on at once, and what finds its edge
/// full is dealt with by the scheme (the edge grows, the consumer is run here, or this kernel is not given more input for now).
///
/// Cost: a write, a step and a count per message; about 30 ns per block.
///
/// **O2** There is always room for one more message at `cur`: when a block becomes full, the next one is opened and the full one handed on. So a
/// message is written before anything is checked, and the compiler can finish computing it where it is computed.
pub struct Output<T> {
    cur: *mut T,
    /// How many messages fit at `cur`; at least one. A count, because a compiler that knows a lower bound of it drops the checks of that many
    /// pushes, which it cannot do for two pointers.
    room: usize,
    /// Whether a block was handed on since [`should_stop`](Self::should_stop) last looked.
    turned: bool,
    core: *mut Core,
}

/// What only the cold path needs. Apart from [`Output`], so that `cur` and `room` can stay in registers: their addresses never escape.
pub(crate) struct Core {
    cx: *const Cx<'static>,
    edge: usize,
    port: usize,
    /// Where finished blocks go; null if they are handed on at once.
    chain: *mut Chain,
    block: Option<Block>,
    /// A full block on its way out.
    filled: Option<Block>,
    full: bool,
}

impl Core {
    /// For output port `port` of the kernel that runs in `cx`.
    pub(crate) fn new(cx: &Cx<'_>, port: usize, chain: Option<&mut Chain>) -> Self {
        Self {
            cx: ptr::from_ref(cx).cast(),
            edge: cx.outputs()[port],
            port,
            chain: chain.map_or(ptr::null_mut(), ptr::from_mut),
            block: None,
            filled: None,
            full: false,
        }
    }

    fn cx(&self) -> &Cx<'_> {
        // SAFETY: an `Output` is made and dropped within the activation whose context this is (O1 at `Output::open`).
        unsafe { &*self.cx.cast::<Cx<'_>>() }
    }

    /// Goes on with the block that the last activation left open. False if there is none.
    pub(crate) fn resume(&mut self) -> bool {
        if self.chain.is_null() && self.block.is_none() {
            // SAFETY: as in `hand_on`.
            self.block = unsafe { self.cx().edge(self.edge).take_open() };
        }
        self.block.is_some()
    }

    /// Where to write in the open block, and its end. Opens a block if there is none.
    pub(crate) fn room<T>(&mut self) -> (*mut T, *mut T) {
        if !self.resume() {
            let cx = self.cx();
            self.block = Some(cx.open_block::<T>(cx.edge(self.edge).block_len()));
        }
        let block = self.block.as_ref().expect("there is one now");
        (block.entry::<T>(block.end()), block.entry::<T>(block.capacity()))
    }

    /// Hands on a full block. Notes when the kernel should stop.
    fn hand_on(&mut self, mut block: Block) {
        if self.chain.is_null() {
            // SAFETY: an output without a chain belongs to a sequential kernel, whose claim this thread holds (E1).
            unsafe { self.cx().hand_on(self.edge, block) };
            let (cx, edge) = (self.cx(), self.edge);
            if cx.is_cancelled() || cx.edge(edge).is_full() && !cx.make_room(edge) {
                self.full = true;
            }
        } else {
            block.set_port(self.port);
            // SAFETY: the chain outlives the output (O1), and only this activation has it.
            unsafe { (*self.chain).push(block) };
            self.full |= self.cx().is_cancelled();
        }
    }

    /// Hands on a block that was not filled through this output.
    pub(crate) fn pass_on(&mut self, block: Block) {
        self.hand_on(block);
    }

    pub(crate) fn is_full(&self) -> bool {
        self.full
    }
}

impl<T> Output<T> {
    /// An output of the activation that `core` was made for.
    ///
    /// # Safety
    ///
    /// **O1** The output must be dropped before `core`, its chain and its context, and be the only one with this core.
    #[inline(always)]
    pub(crate) unsafe fn open(core: &mut Core) -> Self {
        let (cur, end) = core.room::<T>();
        Self { cur, room: entries_between(cur, end), turned: false, core }
    }

    /// Gives a message to the stream. It never waits.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut all = Vec::new();
    /// let mut graph = Graph::new();
    /// let words = graph.source(["a b", "c"]);
    /// let split = graph.sequential(|line: &'static str, words: &mut Output<&'static str>| {
    ///     for word in line.split(' ') {
    ///         words.push(word);
    ///     }
    /// });
    /// let collect = graph.sink(|word: &'static str| all.push(word));
    /// graph += words >> split >> collect;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(all, ["a", "b", "c"]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[inline(always)]
    pub fn push(&mut self, message: T) {
        // SAFETY: O2, so this entry belongs to the open block and is not written yet (B2).
        unsafe {
            self.cur.write(message);
            self.cur = self.cur.byte_add(stride::<T>());
        }
        self.room -= 1;
        if self.room == 0 {
            self.turn();
        }
    }

    /// Hands on the full block and opens the next one.
    #[inline(always)]
    fn turn(&mut self) {
        // SAFETY: O1, and `cur` is one past the last written entry.
        let (cur, end) = unsafe { next_block::<T>(self.core, self.cur) };
        (self.cur, self.room, self.turned) = (cur, entries_between(cur, end), true);
        // SAFETY: O1. After the step, since it may run a message's code, which may panic, and the kernel may go on all the same.
        unsafe { hand_on_filled(self.core) };
    }

    /// Says after a change of block whether the kernel should stop.
    #[inline(always)]
    pub(crate) fn should_stop(&mut self) -> bool {
        if !self.turned {
            return false;
        }
        self.turned = false;
        // SAFETY: O1.
        unsafe { (*self.core).full }
    }

    /// How many messages fit into the open block.
    #[inline(always)]
    pub(crate) fn room(&self) -> usize {
        self.room
    }

    /// Writes one message for each that `next` gives, `count` at most and no more than there is room for in the open block. Returns whether
    /// `next` gave as many as that.
    #[inline(always)]
    pub(crate) fn fill(&mut self, count: usize, mut next: impl FnMut() -> Option<T>) -> bool {
        let mut left = count.min(self.room);
        let Some(mut message) = (if left > 0 { next() } else { None }) else { return left == 0 };
        // The next message is asked for at the end of a round: a loop that writes before it may end can be made of vector instructions.
        let whole = loop {
            // SAFETY: `left` entries are free in the open block.
            unsafe {
                self.cur.write(message);
                self.cur = self.cur.byte_add(stride::<T>());
            }
            self.room -= 1;
            left -= 1;
            if left == 0 {
                break true;
            }
            let Some(another) = next() else { break false };
            message = another;
        };
        if self.room == 0 {
            self.turn();
        }
        whole
    }
}

impl<T> Drop for Output<T> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: O1. Also when a kernel panics: what it pushed is published.
        unsafe { end_output::<T>(self.core, self.cur) };
    }
}

impl<T> fmt::Debug for Output<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Output<{}>", std::any::type_name::<T>())
    }
}

/// How many entries there are from `first` up to `end`, in the same block.
#[inline(always)]
fn entries_between<T>(first: *mut T, end: *mut T) -> usize {
    (end.addr() - first.addr()) / stride::<T>()
}

/// Notes how far the open block is written.
unsafe fn seal<T>(block: &mut Block, cur: *mut T) {
    let end = entries_between(block.entry::<T>(0), cur);
    block.touch(block.end()..end, mem::size_of::<T>(), Access::Write);
    let first = block.first();
    // SAFETY: `Output::push` wrote every entry before `cur` (B2).
    unsafe { block.set_range(first, end) };
}

#[cold]
#[inline(never)]
pub(crate) unsafe fn next_block<T>(core: *mut Core, cur: *mut T) -> (*mut T, *mut T) {
    // SAFETY: O1.
    let core = unsafe { &mut *core };
    if let Some(mut block) = core.block.take() {
        // SAFETY: `cur` belongs to this block.
        unsafe { seal(&mut block, cur) };
        core.filled = Some(block);
    }
    core.room::<T>()
}

/// Hands on the block that [`next_block`] went on from.
#[inline(never)]
pub(crate) unsafe fn hand_on_filled(core: *mut Core) {
    // SAFETY: O1.
    let core = unsafe { &mut *core };
    if let Some(block) = core.filled.take() {
        core.hand_on(block);
    }
}

#[inline(never)]
pub(crate) unsafe fn end_output<T>(core: *mut Core, cur: *mut T) {
    // SAFETY: O1.
    let core = unsafe { &mut *core };
    let Some(mut block) = core.block.take() else { return };
    // SAFETY: `cur` belongs to this block.
    unsafe { seal(&mut block, cur) };
    if core.chain.is_null() {
        // SAFETY: as in `hand_on`.
        unsafe { core.cx().edge(core.edge).keep_open(block) };
    } else if block.unread() > 0 {
        core.hand_on(block);
    } else {
        core.cx().close_block(block);
    }
}

/// Messages of a block that is being read, each taken once.
///
/// The place is written back when this is dropped, also by a panic: what was taken is the reader's, the rest stays in the block.
pub(crate) struct Unread<'a, T> {
    next: *mut T,
    end: *mut T,
    block: &'a mut Block,
}

impl<'a, T> Unread<'a, T> {
    /// # Safety
    ///
    /// The block must hold messages of type `T` (B1).
    #[inline(always)]
    pub(crate) unsafe fn new(block: &'a mut Block) -> Self {
        Self { next: block.entry::<T>(block.first()), end: block.entry::<T>(block.end()), block }
    }

    /// How many are left.
    #[inline(always)]
    pub(crate) fn left(&self) -> usize {
        entries_between(self.next, self.end)
    }

    /// Takes the next message.
    ///
    /// # Safety
    ///
    /// There must be one.
    #[inline(always)]
    pub(crate) unsafe fn next_unchecked(&mut self) -> T {
        // SAFETY: the entry is initialised, by the caller's promise, and the block gives it up by the step.
        unsafe {
            let message = self.next.read();
            self.next = self.next.byte_add(stride::<T>());
            message
        }
    }

    /// Takes the next message.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<T> {
        if ptr::eq(self.next, self.end) {
            return None;
        }
        // SAFETY: `next < end`.
        Some(unsafe { self.next_unchecked() })
    }
}

impl<T> Drop for Unread<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        let end = self.block.end();
        let left = self.left();
        // SAFETY: what is before `next` was moved out.
        unsafe { self.block.set_range(end - left, end) };
    }
}

/// Rewrites the messages of a block where they are: `T` in, `U` of the same layout out, at most one for each.
///
/// After a panic both what was written and what was not read is dropped.
pub(crate) struct InPlace<'a, T, U> {
    read: *mut T,
    end: *mut T,
    write: *mut U,
    /// There until it is finished.
    block: Option<Block>,
    cx: &'a Cx<'a>,
}

impl<'a, T, U> InPlace<'a, T, U> {
    /// Whether messages of type `U` fit where those of type `T` are.
    pub(crate) const FITS: bool =
        mem::size_of::<T>() == mem::size_of::<U>() && mem::align_of::<T>() == mem::align_of::<U>();

    /// # Safety
    ///
    /// The block must hold messages of type `T` (B1), and `FITS` must hold.
    #[inline(always)]
    pub(crate) unsafe fn new(cx: &'a Cx<'a>, block: Block) -> Self {
        let first = block.entry::<T>(block.first());
        Self { read: first, end: block.entry::<T>(block.end()), write: first.cast(), block: Some(block), cx }
    }

    /// Rewrites the next message; `change` may keep it or let it fall. False at the end.
    #[inline(always)]
    pub(crate) fn step(&mut self, change: impl FnOnce(T) -> Option<U>) -> bool {
        if ptr::eq(self.read, self.end) {
            return false;
        }
        // SAFETY: `read < end` is initialised; `write <= read` was moved out before (this entry just now), and the layouts agree.
        unsafe {
            let message = self.read.read();
            self.read = self.read.byte_add(stride::<T>());
            if let Some(changed) = change(message) {
                self.write.write(changed);
                self.write = self.write.byte_add(stride::<U>());
            }
        }
        true
    }

    /// Changes the next message where it is, or lets it fall if `change` says false. False at the end.
    ///
    /// Only if `U` is `T`. A message moves only when one before it has fallen.
    #[inline(always)]
    pub(crate) fn alter(&mut self, change: impl FnOnce(&mut T) -> bool) -> bool {
        if ptr::eq(self.read, self.end) {
            return false;
        }
        let message = self.read;
        // SAFETY: `message < end` is initialised, and stays the block's until it is passed, also if `change` panics.
        let kept = change(unsafe { &mut *message });
        // SAFETY: `write <= message`; what lies between was dropped or moved out.
        unsafe {
            self.read = message.byte_add(stride::<T>());
            if !kept {
                message.drop_in_place();
            } else {
                if !ptr::eq(self.write.cast(), message) {
                    self.write.cast::<T>().copy_from_nonoverlapping(message, 1);
                }
                self.write = self.write.byte_add(stride::<T>());
            }
        }
        true
    }
}

impl<T, U> InPlace<'_, T, U> {
    /// The block with what was written; what was not read is dropped.
    #[inline(always)]
    pub(crate) fn finish(mut self) -> Block {
        self.close().expect("it is finished once")
    }

    #[inline(always)]
    fn close(&mut self) -> Option<Block> {
        let mut block = self.block.take()?;
        let first = block.first();
        let written = entries_between(block.entry::<U>(first), self.write);
        let rest = entries_between(self.read, self.end);
        block.touch(first..first + written, mem::size_of::<U>(), Access::Write);
        // SAFETY: `first..first+written` holds `U`s; the rest is dropped here, after a panic or once the run is cancelled.
        unsafe {
            block.set_range(first, first + written);
            block.retype::<U>();
            if rest > 0 {
                let mut panics = Vec::new();
                drop_each(self.read, rest, &mut panics);
                self.cx.worker.core.note(self.cx.kernel, panics);
            }
        }
        Some(block)
    }
}

impl<T, U> Drop for InPlace<'_, T, U> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(block) = self.close() {
            let core = self.cx.worker.core;
            core.drop_block(core.edges[self.cx.outputs()[0]].plan.to, block);
        }
    }
}
