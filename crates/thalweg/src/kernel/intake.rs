//! Where a parallel kernel's input comes from: one edge that many workers take from, or several of which one worker at a time takes.
//!
//! # Invariants
//!
//! - **G1** What is gathered from several inputs is taken under the lock, and so is its ticket: tickets follow the order of each input.
//! - **G2** A [`Batch`] has whole firings only: at each input as many messages as its firings take, and of a window copies of those that the last firing sees
//!   and the next one takes.
//! - **G3** Once `over` is set no firing is complete any more. It is set under the lock, by who found an input closed and then too little at it.
//! - **G4** One worker gathers at a time, and no other worker waits for the lock: waiting workers would take its cache lines away. Meanwhile the other
//!   workers find nothing to take. No message is forgotten by that: the gatherer looks again before it sleeps, as every worker does, and calls
//!   another worker if it left enough messages for a firing.

use super::Cx;
use crate::block::{Block, move_first};
use crate::edge::{Edge, Receiver, SharedReceiver};
use crate::error::{Payload, resume};
use std::collections::VecDeque;
use std::fmt;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use thalweg_sync::sync::{Arc, Mutex, TryLockError};

/// Moves the first messages of some blocks, so many of them, into one block; and of a window copies so many more.
pub(crate) type Carve = fn(&Cx<'_>, &mut VecDeque<Block>, usize, usize) -> Block;

/// What a firing takes at one input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    /// Messages that it takes; at least one.
    pub(crate) messages: usize,
    /// Messages that it sees: as many, or more of a window, which are copied.
    pub(crate) peek: usize,
    pub(crate) carve: Carve,
}

impl Rate {
    pub(crate) fn of<T>(messages: usize) -> Self {
        Self { messages, peek: messages, carve: carve::<T> }
    }

    /// A window of `peek` messages, of which it takes `pop`.
    pub(crate) fn window<T: Copy>(peek: usize, pop: usize) -> Self {
        Self { messages: pop, peek, carve: carve_window::<T> }
    }

    /// Messages that a firing sees and leaves to the next one.
    pub(crate) fn keeps(&self) -> usize {
        self.peek - self.messages
    }

    /// For how many firings so many messages are enough.
    fn firings(&self, messages: usize) -> usize {
        messages.saturating_sub(self.keeps()) / self.messages
    }
}

/// The messages of some firings: a block for each input (G2).
#[derive(Debug)]
pub(crate) struct Batch {
    /// The number of the first firing that is left.
    pub(crate) first: u64,
    pub(crate) inputs: Vec<Block>,
    /// Messages in them that firings after it take.
    pub(crate) keeps: usize,
}

impl Batch {
    fn messages(&self) -> usize {
        self.inputs.iter().map(Block::unread).sum::<usize>().saturating_sub(self.keeps)
    }
}

/// The messages in the batches of a block.
///
/// # Safety
///
/// The block must hold messages of type [`Batch`] (B1).
pub(crate) unsafe fn messages_in_batches(block: &Block) -> u64 {
    // SAFETY: by the caller's promise.
    unsafe { block.messages::<Batch>() }.iter().map(|batch| batch.messages() as u64).sum()
}

/// What a parallel kernel takes from.
pub(crate) enum Intake {
    One(SharedReceiver),
    Several(Box<Gather>),
}

impl Intake {
    /// The kernel that takes.
    pub(crate) fn kernel(&self) -> usize {
        self.first_edge().plan.to
    }

    /// The edge that stands for all of them where one is enough.
    pub(crate) fn first_edge(&self) -> &Arc<Edge> {
        match self {
            Self::One(input) => input.edge(),
            Self::Several(gather) => &gather.edges[0],
        }
    }

    /// Tickets that were drawn. A snapshot.
    pub(crate) fn drawn(&self) -> u64 {
        match self {
            Self::One(input) => input.edge().taken_blocks(),
            // Relaxed: see `SharedTask::is_waiting`.
            Self::Several(gather) => gather.drawn.load(Relaxed),
        }
    }

    /// Whether an attempt to take something would do something.
    pub(crate) fn can_take(&self) -> bool {
        match self {
            Self::One(input) => input.edge().can_take(),
            Self::Several(gather) => gather.can_take(),
        }
    }

    /// Nothing is left to be taken, and nothing will come.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            // Closed first: see E4.
            Self::One(input) => input.edge().is_closed() && !input.edge().has_input(),
            // Acquire: what was taken before that is seen with it.
            Self::Several(gather) => gather.over.load(Acquire),
        }
    }

    /// An edge at which there is too little.
    pub(crate) fn short(&self) -> usize {
        match self {
            Self::One(input) => input.edge().plan.id,
            Self::Several(gather) => gather.short().unwrap_or(&gather.edges[0]).plan.id,
        }
    }

    /// Whether who gathered last left as much as a firing takes (G4). A snapshot.
    pub(crate) fn left_some(&self) -> bool {
        match self {
            Self::One(_) => false,
            // Relaxed: who took writes it, and reads it; what another one wrote meanwhile is as good.
            Self::Several(gather) => gather.left.load(Relaxed),
        }
    }

    /// Takes a block with its ticket; of several inputs one that holds a [`Batch`]. Else the number of blocks that were brought together in vain.
    pub(crate) fn take(&self, cx: &Cx<'_>) -> Result<(u64, Block), u32> {
        match self {
            Self::One(input) => input.take().ok_or(0),
            Self::Several(gather) => gather.take(cx),
        }
    }

    /// Hangs up, and drops what was brought together and what is in the queues of several inputs. Says how many messages that were.
    pub(crate) fn drop_rest(&self, cx: &Cx<'_>) -> u64 {
        match self {
            Self::One(_) => 0,
            Self::Several(gather) => gather.drop_rest(cx),
        }
    }

    /// Drops all messages at this end, once the run is over, and notes the panics of their destructors.
    pub(crate) fn clear(&mut self, panics: &mut Vec<Payload>) {
        match self {
            Self::One(input) => input.clear(panics),
            Self::Several(gather) => gather.clear(panics),
        }
    }
}

/// Several inputs of which a firing takes so many messages each.
pub(crate) struct Gather {
    edges: Vec<Arc<Edge>>,
    rates: Vec<Rate>,
    inputs: Mutex<Vec<Input>>,
    /// The cycle that the kernel is on.
    component: Option<usize>,
    drawn: CachePadded<AtomicU64>,
    over: AtomicBool,
    /// Somebody gathers (G4).
    gathering: CachePadded<AtomicBool>,
    /// Who gathered last left as much as a firing takes.
    left: AtomicBool,
}

struct Input {
    receiver: Receiver,
    /// What was popped and not taken.
    stash: VecDeque<Block>,
    /// The messages in it.
    held: usize,
    /// Firings whose messages were taken here.
    fired: u64,
    /// Nothing more will come. It is read before the messages are counted (E4).
    closed: bool,
}

impl Input {
    /// Pops until `count` messages are there, or no more are. Says how many blocks that were.
    fn bring(&mut self, count: usize) -> u32 {
        let mut popped = 0;
        while self.held < count {
            let Some(block) = self.receiver.take() else { break };
            self.held += block.unread();
            self.stash.push_back(block);
            popped += 1;
        }
        if popped > 0 {
            self.receiver.note_held(self.held);
        }
        popped
    }

    /// Takes the messages of some firings.
    fn carve(&mut self, cx: &Cx<'_>, rate: Rate, firings: usize) -> Block {
        let before = self.stash.len();
        let block = (rate.carve)(cx, &mut self.stash, firings * rate.messages, rate.keeps());
        (self.stash.len()..before).for_each(|_| cx.used_up(self.receiver.edge()));
        self.held -= firings * rate.messages;
        self.fired += firings as u64;
        self.receiver.note_held(self.held);
        block
    }
}

impl Gather {
    pub(crate) fn new(receivers: Vec<Receiver>, rates: &[Rate], component: Option<usize>) -> Self {
        let edges: Vec<_> = receivers.iter().map(|receiver| receiver.edge().clone()).collect();
        edges.iter().zip(rates).for_each(|(edge, rate)| edge.note_asked(rate.peek));
        let inputs = receivers.into_iter().map(|receiver| Input {
            receiver,
            stash: VecDeque::new(),
            held: 0,
            fired: 0,
            closed: false,
        });
        Self {
            edges,
            rates: rates.to_vec(),
            inputs: Mutex::new(inputs.collect()),
            component,
            drawn: CachePadded::default(),
            over: AtomicBool::new(false),
            gathering: CachePadded::default(),
            left: AtomicBool::new(false),
        }
    }

    fn lock(&self) -> thalweg_sync::sync::MutexGuard<'_, Vec<Input>> {
        self.inputs.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn inputs(&self) -> impl Iterator<Item = (&Edge, usize)> {
        self.edges.iter().map(|edge| &**edge).zip(self.rates.iter().map(|rate| rate.peek))
    }

    /// An edge that has less than a firing takes.
    fn short(&self) -> Option<&Edge> {
        self.inputs().find(|(edge, rate)| edge.unused_messages() < *rate).map(|(edge, _)| edge)
    }

    /// See [`Intake::can_take`]. A snapshot: while somebody moves blocks from a queue to a stash they are in neither, and who does so looks again.
    fn can_take(&self) -> bool {
        // Relaxed: G4; who gathers sees its own store, and so looks for itself.
        if self.over.load(Relaxed) || self.gathering.load(Relaxed) {
            return false;
        }
        let mut complete = true;
        for (edge, rate) in self.inputs() {
            // Closed first: see E4.
            let closed = edge.is_closed();
            if edge.unused_messages() < rate {
                complete = false;
                // Either the end is to be noticed, or what is there is to be brought together, which makes room for more.
                if closed || edge.can_pop() {
                    return true;
                }
            }
        }
        complete
    }

    /// How many firings one batch has at most: a block's worth at each input.
    fn most(&self) -> usize {
        let of_block = |(edge, rate): (&Arc<Edge>, &Rate)| rate.firings(edge.block_len()).max(1);
        self.edges.iter().zip(&self.rates).map(of_block).min().unwrap_or(1)
    }

    fn take(&self, cx: &Cx<'_>) -> Result<(u64, Block), u32> {
        let mut inputs = match self.inputs.try_lock() {
            Ok(inputs) => inputs,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(0),
        };
        self.gathering.store(true, Relaxed);
        let gathered = self.gather(cx, &mut inputs);
        // Before the lock is free: the next one to have it sets this again.
        self.gathering.store(false, Relaxed);
        drop(inputs);
        gathered.map(|(ticket, batch)| (ticket, batch_block(cx, batch)))
    }

    /// The next batch and its ticket, or how many blocks were brought together in vain. The caller holds the lock.
    fn gather(&self, cx: &Cx<'_>, inputs: &mut [Input]) -> Result<(u64, Batch), u32> {
        if self.over.load(Relaxed) {
            return Err(0);
        }
        for input in &mut *inputs {
            input.closed = input.receiver.edge().is_closed();
        }
        let there = |input: &Input, rate: &Rate| rate.firings(input.held + input.receiver.edge().messages());
        let firings = |inputs: &[Input], count: &dyn Fn(&Input, &Rate) -> usize| {
            inputs.iter().zip(&self.rates).map(|(input, rate)| count(input, rate)).min().unwrap_or(0)
        };
        let available = firings(inputs, &there);
        let wanted = available.min(self.most()).max(1);
        let mut popped = 0;
        for (input, rate) in inputs.iter_mut().zip(&self.rates) {
            popped += input.bring(wanted * rate.messages + rate.keeps());
        }
        let count = firings(inputs, &|input, rate| rate.firings(input.held)).min(wanted);
        self.left.store(available > count, Relaxed);
        if count == 0 {
            if inputs.iter().zip(&self.rates).any(|(input, rate)| input.closed && input.held < rate.peek) {
                // Release, pairs with the load in `is_over` (G3).
                self.over.store(true, Release);
            }
            return Err(popped);
        }
        // U3: the batch counts before what it is made of does not any more.
        cx.host.count_in(self.component, 1);
        let first = inputs[0].fired;
        let blocks = inputs.iter_mut().zip(&self.rates).map(|(input, &rate)| input.carve(cx, rate, count)).collect();
        // G1. Only the lock's holder draws, so a load and a store are a step.
        let ticket = self.drawn.load(Relaxed);
        self.drawn.store(ticket + 1, Relaxed);
        Ok((ticket, Batch { first, inputs: blocks, keeps: keeps(&self.rates) }))
    }

    fn drop_rest(&self, cx: &Cx<'_>) -> u64 {
        let mut lost = 0;
        let mut panics = Vec::new();
        for (input, rate) in self.lock().iter_mut().zip(&self.rates) {
            let edge = input.receiver.edge().clone();
            edge.hang_up();
            input.bring(usize::MAX);
            // The last firing has seen these.
            let seen = if input.fired > 0 { rate.keeps() } else { 0 };
            lost += std::mem::take(&mut input.held).saturating_sub(seen) as u64;
            input.receiver.note_held(0);
            for mut block in input.stash.drain(..) {
                block.clear_noting(&mut panics);
                cx.close_block(block);
                cx.used_up(&edge);
            }
        }
        resume(panics);
        lost
    }

    fn clear(&mut self, panics: &mut Vec<Payload>) {
        for input in self.inputs.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner()) {
            input.stash.iter_mut().for_each(|block| block.clear_noting(panics));
            input.receiver.clear(panics);
        }
    }
}

/// What a batch of such firings has beside what they take.
fn keeps(rates: &[Rate]) -> usize {
    rates.iter().map(Rate::keeps).sum()
}

/// A block that holds one batch.
fn batch_block(cx: &Cx<'_>, mut batch: Batch) -> Block {
    let mut block = cx.open_block::<Batch>(1);
    for input in &mut batch.inputs {
        block.stamps_mut().add_all(&input.stamps_mut().take());
    }
    // SAFETY: opened for one message of this type, and written.
    unsafe {
        block.entry::<Batch>(0).write(batch);
        block.set_range(0, 1);
    }
    block
}

/// Cuts the firings that are left of a block of batches into at most `most` pieces, in order.
///
/// # Safety
///
/// The block must hold messages of type [`Batch`] (B1).
pub(crate) unsafe fn cut_batches(cx: &Cx<'_>, mut rest: Block, rates: &[Rate], most: usize) -> Vec<Block> {
    let (first, end) = (rest.first(), rest.end());
    let mut pieces = Vec::new();
    for index in first..end {
        // SAFETY: by the caller's promise; the range gives the batch up.
        let Batch { mut first, inputs, keeps } = unsafe {
            rest.set_range(index + 1, end);
            rest.entry::<Batch>(index).read()
        };
        let firings = rates[0].firings(inputs[0].unread());
        let mut left: Vec<VecDeque<Block>> = inputs.into_iter().map(|block| VecDeque::from([block])).collect();
        // One batch is all there is in a block that was gathered.
        let each = firings.div_ceil(most.max(1)).max(1);
        for from in (0..firings).step_by(each) {
            let count = each.min(firings - from);
            let inputs = left
                .iter_mut()
                .zip(rates)
                .map(|(left, rate)| (rate.carve)(cx, left, count * rate.messages, rate.keeps()));
            pieces.push(batch_block(cx, Batch { first, inputs: inputs.collect(), keeps }));
            first += count as u64;
        }
        left.into_iter().flatten().for_each(|copies| cx.close_block(copies));
    }
    cx.close_block(rest);
    pieces
}

/// See [`Carve`]. The edges that the blocks came over carry `T` (B1).
fn carve<T>(cx: &Cx<'_>, from: &mut VecDeque<Block>, count: usize, _more: usize) -> Block {
    if from.front().is_some_and(|block| block.unread() == count)
        && let Some(whole) = from.pop_front()
    {
        return whole;
    }
    let mut to = cx.open_block::<T>(count);
    fill::<T>(cx, from, &mut to, count);
    to
}

/// As [`carve`], with copies of the next `more` messages.
fn carve_window<T: Copy>(cx: &Cx<'_>, from: &mut VecDeque<Block>, count: usize, more: usize) -> Block {
    let mut to = cx.open_block::<T>(count + more);
    fill::<T>(cx, from, &mut to, count);
    for block in from {
        // SAFETY: the edge that it came over carries `T` (B1).
        let messages = unsafe { block.messages::<T>() };
        for &message in messages.iter().take(count + more - to.unread()) {
            let (first, end) = (to.first(), to.end());
            // SAFETY: opened for all of them, and this is behind the last one.
            unsafe {
                to.entry::<T>(end).write(message);
                to.set_range(first, end + 1);
            }
        }
    }
    to
}

/// Moves the first messages of `from` into `to`, which has room for them, until it has `count`.
fn fill<T>(cx: &Cx<'_>, from: &mut VecDeque<Block>, to: &mut Block, count: usize) {
    while to.unread() < count {
        let front = from.front_mut().expect("as many are there");
        let some = front.unread().min(count - to.unread());
        // SAFETY: both hold `T` (B1), and `to` was opened for all of them.
        unsafe { move_first::<T>(front, to, some) };
        if front.unread() == 0
            && let Some(empty) = from.pop_front()
        {
            cx.close_block(empty);
        }
    }
}

impl fmt::Debug for Intake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(input) => f.debug_tuple("One").field(input).finish(),
            Self::Several(gather) => f.debug_tuple("Several").field(&gather.edges).finish(),
        }
    }
}
