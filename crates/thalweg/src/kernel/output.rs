//! The writing end that a kernel sees.

use super::given::Given;
use super::{Cx, Held};
use crate::block::{Block, stride};
use crate::edge::{Edge, Sender};
use std::fmt;
use std::mem;
use std::ptr;
use thalweg_sync::hint::{self, Access};
use thalweg_sync::sync::Arc;

/// Where a kernel puts its messages.
///
/// A kernel gets it for the length of one activation. A block that is full is handed on at once. What finds its edge full is dealt with by the scheme (the
/// edge grows, the consumer is run here, or this kernel is not given more input for now), and [`push`](Self::push) waits for room if the kernel goes on all
/// the same.
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
    cold: *mut ColdPart,
}

/// What only the cold path needs. Apart from [`Output`], so that `cur` and `room` can stay in registers: their addresses never escape.
pub(crate) struct ColdPart {
    cx: *const Cx<'static>,
    target: Target,
    block: Option<Block>,
    /// A full block on its way out.
    filled: Option<Block>,
    full: bool,
    /// Up to where the open block had its messages when it was opened, or stamped.
    stamped: *const u8,
    /// A kernel that goes on though its edge is full waits for room.
    waits: bool,
}

/// Where finished blocks go.
#[derive(Clone, Copy)]
enum Target {
    /// Out, at once.
    Sender(*mut Sender<'static>),
    /// To the results of an activation, for a port whose edge is this.
    Given(*mut Given<'static>, usize, *const Edge),
}

impl ColdPart {
    /// For a sending end of the kernel that runs in `cx`. **O1** It is dropped before both of them.
    pub(crate) fn new(cx: &Cx<'_>, sender: &mut Sender<'_>) -> Self {
        Self::of(cx, Target::Sender(ptr::from_mut(sender).cast()))
    }

    /// For the output port `port` of a parallel kernel. **O1** It is dropped before all of them. Several ports may share the results.
    pub(crate) fn chained(cx: &Cx<'_>, given: *mut Given<'_>, port: usize, edge: &Edge) -> Self {
        Self::of(cx, Target::Given(given.cast(), port, ptr::from_ref(edge)))
    }

    fn of(cx: &Cx<'_>, target: Target) -> Self {
        Self {
            cx: ptr::from_ref(cx).cast(),
            target,
            block: None,
            filled: None,
            full: false,
            waits: true,
            stamped: ptr::null(),
        }
    }

    fn cx(&self) -> &Cx<'_> {
        // SAFETY: O1.
        unsafe { &*self.cx.cast::<Cx<'_>>() }
    }

    fn sender(&mut self) -> Option<&mut Sender<'_>> {
        match self.target {
            // SAFETY: O1, and nobody else uses the end meanwhile: it was borrowed for this.
            Target::Sender(sender) => Some(unsafe { &mut *sender.cast::<Sender<'_>>() }),
            Target::Given(..) => None,
        }
    }

    fn edge(&self) -> &Edge {
        match self.target {
            // SAFETY: O1.
            Target::Sender(sender) => unsafe { (*sender).edge() },
            // SAFETY: O1.
            Target::Given(_, _, edge) => unsafe { &*edge },
        }
    }

    /// Goes on with the block that the last activation left open. False if there is none.
    pub(crate) fn resume(&mut self) -> bool {
        if self.block.is_none() {
            self.block = self.sender().and_then(Sender::take_open);
        }
        self.block.is_some()
    }

    /// Where to write in the open block, and its end. Opens a block if there is none.
    pub(crate) fn room<T>(&mut self) -> (*mut T, *mut T) {
        if !self.resume() {
            self.block = Some(self.cx().open_block::<T>(self.edge().block_len()));
        }
        let block = self.block.as_ref().expect("there is one now");
        let next = block.entry::<T>(block.end());
        self.stamped = next.cast();
        (next, block.entry::<T>(block.capacity()))
    }

    /// Whether the kernel has gone on though it was told that its edge is full: then it waits before the next block.
    fn must_wait(&self) -> bool {
        self.full && self.waits && matches!(self.target, Target::Sender(_)) && self.edge().is_full()
    }

    /// After a wait: whether there is `room`.
    fn has_waited(&mut self, room: bool) {
        (self.full, self.waits) = (!room, room);
    }

    /// Waits for room if it must, and hands on a full block.
    fn hand_on(&mut self, block: Block) {
        if self.must_wait()
            && let Target::Sender(sender) = self.target
        {
            // SAFETY: O1, as in `sender`.
            let sender = unsafe { &mut *sender.cast::<Sender<'_>>() };
            let (edge, cx) = (sender.edge().clone(), self.cx());
            let room = cx.host.wait_for_room(&edge, &mut OneEnd { cx, sender });
            self.has_waited(room);
        }
        self.send(block);
    }

    /// Hands on a full block. Notes when the kernel should stop.
    fn send(&mut self, mut block: Block) {
        self.cx().stamp(&mut block);
        hint::gives(block.unread() as u64);
        match self.target {
            Target::Sender(sender) => {
                // SAFETY: O1, as in `sender`.
                let sender = unsafe { &mut *sender.cast::<Sender<'_>>() };
                let cx = self.cx();
                cx.hand_on(sender, block);
                let edge = sender.edge();
                if cx.is_cancelled() || edge.is_full() && !cx.host.make_room(edge) {
                    self.full = true;
                }
            }
            Target::Given(given, port, edge) => {
                // SAFETY: O1, and only this activation has its results: what runs nested in this call has its own.
                let (given, edge) = unsafe { (&mut *given.cast::<Given<'_>>(), &*edge) };
                given.push(self.cx(), port, edge, block);
                self.full |= self.cx().is_cancelled();
            }
        }
    }

    /// Hands on what the sending end has in its open block, though that is not full.
    fn send_open(&mut self) {
        let Target::Sender(sender) = self.target else { return };
        // SAFETY: O1, as in `sender`.
        let sender = unsafe { &mut *sender.cast::<Sender<'_>>() };
        match sender.take_open() {
            Some(block) if block.unread() > 0 => {
                hint::gives(block.unread() as u64);
                self.cx().hand_on(sender, block);
                self.full |= sender.edge().is_full();
            }
            Some(empty) => sender.keep_open(empty),
            None => {}
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

/// The only sending end of a kernel that waits.
struct OneEnd<'a, 'c, 's> {
    cx: &'a Cx<'c>,
    sender: &'a mut Sender<'s>,
}

impl Held for OneEnd<'_, '_, '_> {
    fn can_move(&self) -> bool {
        self.sender.edge().can_flush()
    }

    fn move_on(&mut self) {
        self.cx.flush(std::slice::from_mut(self.sender));
    }

    fn lies_at(&self, _port: usize) -> bool {
        self.sender.edge().has_spill()
    }
}

impl<T> Output<T> {
    /// An output of the activation that `cold` was made for.
    ///
    /// # Safety
    ///
    /// **O1** The output must be dropped before `cold`, its results and its context, and be the only one with this cold part.
    #[inline(always)]
    pub(crate) unsafe fn open(cold: &mut ColdPart) -> Self {
        let (cur, end) = cold.room::<T>();
        Self { cur, room: entries_between(cur, end), turned: false, cold }
    }

    /// Gives a message to the stream.
    ///
    /// It waits where the edge behind is full, and a block more is: so one message may become any number, and the edge holds its capacity and a block.
    /// Meanwhile this worker runs the consumer, or whatever else is ready, within this call, and sleeps when nothing is. So do not hold a lock while you push
    /// that a kernel behind takes, or a borrow of a thread's own variable.
    ///
    /// It does not wait for what cannot come. What it gives is kept beyond the capacity where kernels wait for each other (in a cycle, or where the
    /// consumer needs what another waiting kernel gives), where helping has used half of the stack, during a panic, and once the run is
    /// cancelled. In a parallel kernel it may wait for the turn of its results: see [`Graph::parallel`](crate::Graph::parallel).
    /// [`flat_map`](crate::Graph::flat_map) needs none of this: what it makes stays in its iterator.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let numbers = graph.sequential(|count: u64, out: &mut Output<u64>| (0..count).for_each(|n| out.push(n)));
    /// let (end, count) = graph.count();
    /// graph += graph.source([1_000_000]) >> numbers.fixed(64) >> end;
    /// let report = graph.run(Scheme::default())?;
    /// assert_eq!(count.take(), 1_000_000);
    /// assert!(report.edges[1].peak <= 64 + 32, "the capacity and a block");
    /// # Ok::<(), thalweg::Error>(())
    /// ```
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
        let (cur, end) = unsafe { next_block::<T>(self.cold, self.cur) };
        (self.cur, self.room, self.turned) = (cur, entries_between(cur, end), true);
        // SAFETY: O1. After the step, since it may run a message's code, which may panic, and the kernel may go on all the same.
        unsafe { hand_on_filled(self.cold) };
    }

    /// Says after a change of block whether the kernel should stop.
    #[inline(always)]
    pub(crate) fn should_stop(&mut self) -> bool {
        if !self.turned {
            return false;
        }
        self.turned = false;
        // SAFETY: O1.
        unsafe { (*self.cold).full }
    }

    /// Whether the edge behind has room, as far as this kernel knows: false from the block on that filled it. Pushing is still possible. In a parallel
    /// kernel, whose results leave when it is their turn, it is false once the run is cancelled.
    ///
    /// A kernel that could give more and returns instead is asked again when there is room:
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut next = 0;
    /// let mut graph = Graph::new();
    /// let numbers = graph.poll_source(|out: &mut Output<u64>| {
    ///     while next < 100_000 && out.has_room() {
    ///         out.push(next);
    ///         next += 1;
    ///     }
    ///     if next < 100_000 { Flow::More } else { Flow::Done }
    /// });
    /// let (end, count) = graph.count();
    /// graph += numbers.fixed(64) >> end;
    /// let report = graph.run(Scheme::default())?;
    /// assert_eq!(count.take(), 100_000);
    /// assert!(report.edges[0].peak <= 64 + 32, "the capacity and a block");
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    pub fn has_room(&self) -> bool {
        // SAFETY: O1.
        unsafe { !(*self.cold).full }
    }

    /// Writes a message, and leaves a block that is full by it to [`turn_if_full`](Self::turn_if_full).
    ///
    /// # Safety
    ///
    /// There must be [`room`](Self::room). Until `turn_if_full` was called O2 may not hold; after a panic in between nothing is written any more.
    #[inline(always)]
    pub(crate) unsafe fn push_within(&mut self, message: T) {
        // SAFETY: by the caller's promise this entry belongs to the open block and is not written yet (B2).
        unsafe {
            self.cur.write(message);
            self.cur = self.cur.byte_add(stride::<T>());
        }
        self.room -= 1;
    }

    /// See [`push_within`](Self::push_within).
    #[inline(always)]
    pub(crate) fn turn_if_full(&mut self) {
        if self.room == 0 {
            self.turn();
        }
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
        unsafe { end_output::<T>(self.cold, self.cur) };
    }
}

impl<T> fmt::Debug for Output<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Output<{}>", std::any::type_name::<T>())
    }
}

/// The writing end of a port whose type is known only where something is pushed. It opens a block then.
pub(crate) struct AnyOutput {
    cold: ColdPart,
    cur: *mut u8,
    end: *mut u8,
    close: unsafe fn(*mut ColdPart, *mut u8),
}

impl AnyOutput {
    pub(crate) fn new(cold: ColdPart) -> Self {
        unsafe fn nothing_open(_cold: *mut ColdPart, _cur: *mut u8) {}
        Self { cold, cur: ptr::null_mut(), end: ptr::null_mut(), close: nothing_open }
    }

    /// The outputs of an activation of a parallel kernel. **O1** They are dropped before `cx`, `given` and `edges`.
    pub(crate) fn chained(cx: &Cx<'_>, given: &mut Given<'_>, edges: &[Arc<Edge>]) -> Vec<Self> {
        let given = ptr::from_mut(given);
        edges.iter().enumerate().map(|(port, edge)| Self::new(ColdPart::chained(cx, given, port, edge))).collect()
    }

    /// Writes a message. Says whether a block is full by it. It was handed on then, unless the kernel [waits](Self::waits_at) before.
    ///
    /// # Safety
    ///
    /// O1, and the edge behind must carry messages of type `T` (B1).
    #[inline(always)]
    pub(crate) unsafe fn push<T>(&mut self, message: T) -> bool {
        if self.cur.is_null() {
            self.open::<T>();
        }
        // SAFETY: O2, as in `Output::push`.
        unsafe {
            self.cur.cast::<T>().write(message);
            self.cur = self.cur.byte_add(stride::<T>());
        }
        let full = ptr::eq(self.cur, self.end);
        if full {
            self.turn::<T>();
        }
        full
    }

    #[cold]
    fn open<T>(&mut self) {
        unsafe fn close<T>(cold: *mut ColdPart, cur: *mut u8) {
            // SAFETY: by the caller.
            unsafe { end_output::<T>(cold, cur.cast()) }
        }
        let (cur, end) = self.cold.room::<T>();
        (self.cur, self.end) = (cur.cast(), end.cast());
        self.close = close::<T>;
    }

    fn turn<T>(&mut self) {
        // SAFETY: `push`'s caller promises O1, and that the messages are of type `T`.
        let (cur, end) = unsafe { next_block::<T>(&mut self.cold, self.cur.cast()) };
        (self.cur, self.end) = (cur.cast(), end.cast());
        if !self.cold.must_wait() {
            // SAFETY: O1. After the step, as in `Output::turn`.
            unsafe { hand_on_filled(&mut self.cold) };
        }
    }

    /// The edge at which a full block is held back until there is room, or it is in vain to wait for that.
    pub(crate) fn waits_at(&self) -> Option<Arc<Edge>> {
        match self.cold.target {
            // SAFETY: O1.
            Target::Sender(sender) if self.cold.filled.is_some() => Some(unsafe { (*sender).edge().clone() }),
            _ => None,
        }
    }

    /// After a wait: hands on the full block.
    pub(crate) fn go_on(&mut self, room: bool) {
        self.cold.has_waited(room);
        // SAFETY: by `push`'s caller, O1.
        unsafe { hand_on_filled(&mut self.cold) };
    }

    /// Whether messages lie in the open block.
    fn has_open(&self) -> bool {
        match (&self.cold.block, self.cold.target) {
            // An open block is written from its first entry on.
            (Some(block), _) if !self.cur.is_null() => !ptr::eq(block.entry::<u8>(0), self.cur),
            // SAFETY: O1.
            (_, Target::Sender(sender)) => unsafe { (*sender).has_open() },
            (_, Target::Given(..)) => false,
        }
    }

    fn has_room_for_open(&self) -> bool {
        self.has_open() && !self.cold.edge().is_full()
    }

    /// See [`ColdPart`].
    pub(crate) fn is_full(&self) -> bool {
        self.cold.is_full()
    }

    /// Stamps what was pushed until now: what comes of another block is pushed next.
    pub(crate) fn stamp(&mut self) {
        if !self.cur.is_null() && !ptr::eq(self.cold.stamped, self.cur) {
            self.cold.stamped = self.cur;
            if let Some(mut block) = self.cold.block.take() {
                self.cold.cx().stamp(&mut block);
                self.cold.block = Some(block);
            }
        }
    }

    /// Publishes what was pushed, at the end of the activation.
    pub(crate) fn close(&mut self) {
        if !self.cur.is_null() {
            let cur = mem::replace(&mut self.cur, ptr::null_mut());
            // SAFETY: O1; also when a kernel panics: what it pushed is published.
            unsafe { (self.close)(&mut self.cold, cur) };
        }
    }
}

/// The outputs of a kernel with several ports that waits at one of them. What lies open at another one may be what the taker waits for. Where that edge is full
/// its own taker has enough, so it stays here.
pub(crate) struct Ends<'o>(pub(crate) &'o mut [AnyOutput]);

impl Held for Ends<'_> {
    fn can_move(&self) -> bool {
        self.0.iter().any(|output| output.cold.edge().can_flush() || output.has_room_for_open())
    }

    fn move_on(&mut self) {
        for output in &mut *self.0 {
            if let Target::Sender(sender) = output.cold.target {
                // SAFETY: O1, as in `ColdPart::sender`.
                let sender = unsafe { &mut *sender.cast::<Sender<'_>>() };
                output.cold.cx().flush(std::slice::from_mut(sender));
            }
            if output.has_room_for_open() {
                output.close();
                output.cold.send_open();
            }
        }
    }

    fn lies_at(&self, port: usize) -> bool {
        self.0[port].cold.edge().has_spill() || self.0[port].has_open()
    }
}

impl Drop for AnyOutput {
    fn drop(&mut self) {
        self.close();
    }
}

/// How many entries there are from `first` up to `end`, in the same block.
#[inline(always)]
pub(super) fn entries_between<T>(first: *mut T, end: *mut T) -> usize {
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
pub(crate) unsafe fn next_block<T>(cold: *mut ColdPart, cur: *mut T) -> (*mut T, *mut T) {
    // SAFETY: O1.
    let cold = unsafe { &mut *cold };
    if let Some(mut block) = cold.block.take() {
        // SAFETY: `cur` belongs to this block.
        unsafe { seal(&mut block, cur) };
        cold.filled = Some(block);
    }
    cold.room::<T>()
}

/// Hands on the block that [`next_block`] went on from.
#[inline(never)]
pub(crate) unsafe fn hand_on_filled(cold: *mut ColdPart) {
    // SAFETY: O1.
    let cold = unsafe { &mut *cold };
    if let Some(block) = cold.filled.take() {
        cold.hand_on(block);
    }
}

#[inline(never)]
pub(crate) unsafe fn end_output<T>(cold: *mut ColdPart, cur: *mut T) {
    // SAFETY: O1.
    let cold = unsafe { &mut *cold };
    if let Some(filled) = cold.filled.take() {
        // Held back, and whoever waited for it has failed.
        cold.send(filled);
    }
    let Some(mut block) = cold.block.take() else { return };
    // SAFETY: `cur` belongs to this block.
    unsafe { seal(&mut block, cur) };
    if !ptr::eq(cold.stamped, cur.cast()) {
        cold.cx().stamp(&mut block);
    }
    if let Some(sender) = cold.sender() {
        sender.keep_open(block);
    } else if block.unread() > 0 {
        cold.hand_on(block);
    } else {
        cold.cx().close_block(block);
    }
}
