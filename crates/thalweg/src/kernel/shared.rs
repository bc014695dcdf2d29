//! A kernel that runs on many workers at once.

use super::given::{Given, LineEnds, ResultLine, Turn};
use super::intake::Intake;
use super::task::{Hand, clear_senders};
use super::{Cx, Outcome, Why};
use crate::block::{Block, Chain};
use crate::edge::reorder::Reorder;
use crate::edge::{Edge, Sender};
use crate::error::{BoxError, Payload, resume};
use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::thread::panicking;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::thread;

/// Pieces that the rest of a block is cut into, at most.
const MOST_PIECES: usize = 1024;

/// Many workers at once.
pub(crate) trait SharedWork: Send + Sync {
    /// Takes messages of the block until it is empty, or the [rhythm](Cx::rhythm) says to leave, and leaves its output in `given`; leaves no block if
    /// that is there as it is.
    fn run(
        &self,
        cx: &Cx<'_>,
        out: &[Arc<Edge>],
        block: &mut Option<Block>,
        given: &mut Given<'_>,
    ) -> Result<(), BoxError>;

    /// Cuts what is left of a block into at most `most` pieces, in order.
    fn cut(&self, cx: &Cx<'_>, rest: Block, most: usize) -> Vec<Block>;

    /// What a block counts for.
    fn weigh(&self) -> fn(&Edge, &Block) -> u64 {
        Edge::messages_of
    }
}

/// A kernel that runs on many workers at once: its code, the taking ends of its inputs, and its sending ends in the order of tickets.
pub(crate) struct SharedTask<'r> {
    work: &'r (dyn SharedWork + 'r),
    input: Intake,
    /// The cycle that what it takes counts in.
    component: Option<usize>,
    out_edges: Vec<Arc<Edge>>,
    reorder: Reorder<Vec<Sender<'r>>>,
    /// Its results leave in the order of its input.
    ordered: bool,
    /// The next ticket of a kernel whose results leave as they come, and whether one of its activations waits for room: the others wait for that.
    next: CachePadded<AtomicU64>,
    at_edge: AtomicBool,
    /// Pieces of blocks that took too long: for anybody, before a new block.
    pieces: Mutex<VecDeque<(Turn, Block)>>,
    waiting_pieces: CachePadded<AtomicUsize>,
    workers: usize,
}

impl<'r> SharedTask<'r> {
    /// For at most `workers` workers, with room for `tickets` results that wait for an earlier one.
    pub(crate) fn new(
        work: &'r (dyn SharedWork + 'r),
        input: Intake,
        component: Option<usize>,
        outs: Vec<Sender<'r>>,
        ordered: bool,
        tickets: usize,
        workers: usize,
    ) -> Self {
        let out_edges: Vec<_> = outs.iter().map(|sender| sender.edge().clone()).collect();
        let bounded = out_edges.iter().any(|edge| edge.plan.capacity.is_some());
        Self {
            work,
            input,
            component,
            out_edges,
            reorder: Reorder::new(tickets, bounded, outs),
            ordered,
            next: CachePadded::default(),
            at_edge: AtomicBool::new(false),
            pieces: Mutex::default(),
            waiting_pieces: CachePadded::default(),
            workers,
        }
    }

    /// Whether pieces of a block wait for somebody.
    pub(crate) fn has_pieces(&self) -> bool {
        self.waiting_pieces.load(Acquire) > 0
    }

    /// Whether no more blocks are to be taken: the ring has no room, or what waits in it is as much as the edge behind it may hold.
    pub(crate) fn is_waiting(&self) -> bool {
        if self.out_edges.is_empty() {
            return false;
        }
        // Relaxed: one that does not see the latest tickets is one of the `workers` that the ring keeps room for.
        let drawn = if self.ordered { self.input.drawn() } else { self.next.load(Relaxed) };
        let waiting = self.reorder.waiting();
        self.reorder.is_full(drawn, self.workers)
            || waiting > 0 && self.out_edges.iter().any(|edge| edge.is_filled_by(waiting))
    }

    /// Takes a piece of a block that took too long.
    fn take_piece(&self) -> Option<(Turn, Block)> {
        if !self.has_pieces() {
            return None;
        }
        let mut pieces = self.pieces.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let piece = pieces.pop_front();
        self.waiting_pieces.store(pieces.len(), Release);
        piece
    }

    fn take_block(&self, cx: &Cx<'_>) -> Result<(Turn, Block), u32> {
        let (ticket, block) = self.input.take(cx)?;
        Ok((if self.ordered { Turn::Ticket(ticket) } else { Turn::Free }, block))
    }

    /// Nothing is left to be taken from an edge, and nothing will come.
    pub(crate) fn input_is_over(&self) -> bool {
        self.input.is_over()
    }

    /// An input edge at which there is too little.
    pub(crate) fn short(&self) -> usize {
        self.input.short()
    }

    /// Drops what a kernel that is over did not take of several inputs, and what it had taken and left to others. Says how many messages that were.
    ///
    /// A part that is dropped is completed: what later tickets gave waits behind it, and is counted where it finds the edge hung up.
    pub(crate) fn drop_input(&self, cx: &Cx<'_>) -> u64 {
        let (mut lost, mut panics) = (0, Vec::new());
        while let Some((turn, mut piece)) = self.take_piece() {
            lost += (self.work.weigh())(self.input.first_edge(), &piece);
            piece.clear_noting(&mut panics);
            cx.close_block(piece);
            self.complete(cx, turn, Chain::default());
            cx.host.count_in(self.component, -1);
        }
        lost += self.input.drop_rest(cx);
        resume(panics);
        lost
    }

    /// Whether something can be taken now: `None` if nothing is there, and whether it has to wait for results that are out.
    pub(crate) fn can_take(&self) -> Option<bool> {
        let has_pieces = self.has_pieces();
        if has_pieces && self.ordered {
            // Others wait for it: it has a ticket already.
            return Some(true);
        }
        (has_pieces || self.input.can_take()).then(|| !self.is_waiting())
    }

    /// Runs the kernel's code over one block.
    pub(crate) fn activate(&self, cx: &Cx<'_>) -> Result<Outcome, BoxError> {
        let edge = self.input.first_edge();
        if self.out_edges.iter().any(|edge| edge.has_spill()) {
            self.flush(cx);
        }
        let full = |edge: &&Arc<Edge>| edge.is_full() && !cx.host.make_room(edge);
        if let Some(edge) = self.out_edges.iter().find(full) {
            return Ok(Outcome::new(Why::Full(edge.plan.id), 0, 0));
        }
        let hung_up = || !self.out_edges.is_empty() && self.out_edges.iter().all(|edge| edge.is_hung_up());
        if cx.is_cancelled() || hung_up() {
            return Ok(Outcome::new(Why::Done, 0, 0));
        }
        // The parts of a split ticket have theirs, and others wait for them.
        let part = if self.ordered { self.take_piece() } else { None };
        if part.is_none() && self.is_waiting() {
            return Ok(Outcome::new(Why::Waiting, 0, 0));
        }
        let piece = part.or_else(|| self.take_piece());
        let is_piece = piece.is_some();
        let (turn, mut block) = match piece.map_or_else(|| self.take_block(cx), Ok) {
            Ok(taken) => taken,
            Err(popped) => {
                if popped > 0 {
                    // It has made room, though it is too little for a firing.
                    cx.host.took(cx.kernel);
                }
                let why = if self.input.is_over() { Why::Done } else { Why::Empty(self.input.short()) };
                return Ok(Outcome::new(why, popped, 0));
            }
        };
        cx.host.took(cx.kernel);
        if !is_piece && self.input.left_some() {
            cx.host.share(cx.kernel, 1);
        }
        // A piece is short, and is not cut again.
        cx.whole.set(is_piece);
        cx.carry(&mut block);
        let mut hand = SharedHand {
            hand: Hand::weighed(cx, edge, block, self.work.weigh()),
            given: Given::new(turn, self),
            out_edges: &self.out_edges,
        };
        self.work.run(cx, &self.out_edges, &mut hand.hand.block, &mut hand.given)?;
        let (messages, left) = hand.hand.count();
        let (block, turn, chain) = hand.open();
        match block {
            Some(rest) if left > 0 && !cx.is_cancelled() => self.share(cx, turn, rest, chain),
            rest => {
                rest.into_iter().for_each(|block| cx.close_block(block));
                cx.arrive();
                self.complete(cx, turn, chain);
            }
        }
        cx.host.count_in(self.component, -1);
        Ok(Outcome::new(Why::More, 1, messages))
    }

    /// Hands on what one block or piece gave.
    fn complete(&self, cx: &Cx<'_>, turn: Turn, chain: Chain) {
        if self.out_edges.is_empty() {
            return;
        }
        let deliver = |outs: &mut Vec<Sender<'r>>, block| deliver(cx, outs, block);
        match turn {
            Turn::Ticket(ticket) => self.reorder.complete(ticket, chain, deliver),
            Turn::Part { split, part, .. } => self.reorder.add_to_part(&split, part, chain, true, deliver),
            Turn::Free => {
                // R1: the ring keeps room for one from each worker, which may have several activations within each other. All that are out are
                // complete, so whoever hands them on is about to make room.
                while self.reorder.is_full(self.next.load(Relaxed), self.workers) {
                    self.flush(cx);
                    thread::yield_now();
                }
                self.reorder.complete(self.next.fetch_add(1, Relaxed), chain, deliver);
            }
        }
        cx.host.turned(cx.kernel);
    }

    /// Hands on some of what an activation gives, whose turn it is.
    fn give(&self, cx: &Cx<'_>, turn: &mut Turn, chain: Chain) {
        let deliver = |outs: &mut Vec<Sender<'r>>, block| deliver(cx, outs, block);
        match turn {
            &mut Turn::Ticket(ticket) => {
                let split = self.reorder.split(ticket, 1, chain, false, deliver);
                *turn = Turn::Part { ticket, split, part: 0 };
            }
            Turn::Part { split, part, .. } => self.reorder.add_to_part(split, *part, chain, false, deliver),
            Turn::Free => self.complete(cx, Turn::Free, chain),
        }
    }

    /// Whether all results that leave before those of `turn` have left, or are about to.
    fn is_up(&self, turn: &Turn) -> bool {
        match turn {
            Turn::Ticket(ticket) => self.reorder.front() == *ticket,
            Turn::Part { ticket, split, part } => self.reorder.front() == *ticket && split.is_first(*part),
            Turn::Free => !self.at_edge.load(Relaxed),
        }
    }

    /// Whether what was handed on before, as this `turn`, is still with a worker that hands it on: the edge does not count it yet.
    fn is_on_its_way(&self, turn: &Turn) -> bool {
        match turn {
            Turn::Ticket(_) => false,
            Turn::Part { split, part, .. } => split.holds(*part),
            Turn::Free => self.reorder.waiting() > 0,
        }
    }

    /// Moves what waits at the sending ends, and hands on what is at the front.
    fn flush(&self, cx: &Cx<'_>) {
        self.reorder.drain(|outs| cx.flush(outs), |outs, block| deliver(cx, outs, block));
        cx.host.turned(cx.kernel);
    }

    /// The ticket whose results leave next.
    pub(crate) fn front(&self) -> u64 {
        self.reorder.front()
    }

    /// Leaves the rest of a block to others: it has taken too long.
    fn share(&self, cx: &Cx<'_>, turn: Turn, rest: Block, chain: Chain) {
        let mut cut = self.work.cut(cx, rest, MOST_PIECES);
        cut.iter_mut().for_each(|piece| piece.stamps_mut().add_all(&cx.carried.borrow()));
        cx.arrive();
        let count = cut.len();
        // U3: they count before anyone can take them.
        cx.host.count_in(self.component, count as i64);
        let deliver = |outs: &mut Vec<Sender<'r>>, block| deliver(cx, outs, block);
        let turns: Vec<_> = match turn {
            Turn::Ticket(ticket) if !self.out_edges.is_empty() => {
                let split = self.reorder.split(ticket, count + 1, chain, true, deliver);
                cx.host.turned(cx.kernel);
                (1..=count).map(|part| Turn::Part { ticket, split: split.clone(), part }).collect()
            }
            // It has handed on some of its results, as the only part.
            Turn::Part { ticket, split, part } => {
                let first = split.extend(count);
                self.complete(cx, Turn::Part { ticket, split: split.clone(), part }, chain);
                (first..first + count).map(|part| Turn::Part { ticket, split: split.clone(), part }).collect()
            }
            _ => {
                self.complete(cx, Turn::Free, chain);
                (0..count).map(|_| Turn::Free).collect()
            }
        };
        let mut pieces = self.pieces.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // Before those that wait already: they come from later blocks, or wait as long there as here.
        for piece in turns.into_iter().zip(cut).rev() {
            pieces.push_front(piece);
        }
        self.waiting_pieces.store(pieces.len(), Release);
        drop(pieces);
        cx.host.share(cx.kernel, count);
    }

    /// Drops all messages at its ends, once the run is over: as [`Task::clear`](super::Task::clear).
    pub(crate) fn clear(&mut self, note: &mut dyn FnMut(usize, Vec<Payload>)) {
        let mut panics = Vec::new();
        let pieces = self.pieces.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        pieces.iter_mut().for_each(|(_, block)| block.clear_noting(&mut panics));
        self.input.clear(&mut panics);
        note(self.input.kernel(), panics);
        let edges = &self.out_edges;
        self.reorder.take_rest(|mut block| {
            let mut panics = Vec::new();
            block.clear_noting(&mut panics);
            note(edges[block.port()].plan.to, panics);
        });
        clear_senders(self.reorder.outs_mut(), note);
    }
}

impl ResultLine for SharedTask<'_> {
    fn relieve(&self, cx: &Cx<'_>, edge: &Edge, given: &mut Given<'_>) {
        let in_hand = given.chain.messages();
        let enough = edge.is_enough(in_hand);
        if panicking() || !(enough || edge.is_filled_by(in_hand) && self.is_up(&given.turn)) {
            return;
        }
        let free = matches!(given.turn, Turn::Free);
        // Relaxed: who is at the edge guards nothing, it is one that others wait for.
        while !self.is_up(&given.turn) || free && self.at_edge.swap(true, Relaxed) {
            if !enough || !given.waits {
                return;
            }
            given.waits = cx.host.wait_for_turn(edge, &|| self.is_up(&given.turn));
        }
        // That worker may have lost its processor: what is given meanwhile would pile up behind its back.
        while self.is_on_its_way(&given.turn) {
            self.flush(cx);
            thread::yield_now();
        }
        if edge.is_full() && !cx.host.make_room(edge) && given.waits {
            let mut held = LineEnds { edges: &self.out_edges, flush: || self.flush(cx) };
            given.waits = cx.host.wait_for_room(edge, &mut held);
        }
        self.give(cx, &mut given.turn, mem::take(&mut given.chain));
        if free {
            self.at_edge.store(false, Relaxed);
            cx.host.turned(cx.kernel);
        }
    }
}

fn deliver(cx: &Cx<'_>, outs: &mut [Sender<'_>], block: Block) {
    cx.hand_on(&mut outs[block.port()], block);
}

/// What a worker has in hand while the code of a parallel kernel runs: see [`Hand`].
struct SharedHand<'a, 'c> {
    hand: Hand<'a, 'c>,
    given: Given<'a>,
    out_edges: &'a [Arc<Edge>],
}

impl SharedHand<'_, '_> {
    fn open(mut self) -> (Option<Block>, Turn, Chain) {
        (self.hand.give_up(), mem::replace(&mut self.given.turn, Turn::Free), mem::take(&mut self.given.chain))
    }
}

impl Drop for SharedHand<'_, '_> {
    fn drop(&mut self) {
        let edges = self.out_edges;
        self.hand.cx.drop_chain(&mut self.given.chain, |port| edges[port].plan.to);
    }
}

impl fmt::Debug for SharedTask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedTask").field("input", &self.input).field("reorder", &self.reorder).finish_non_exhaustive()
    }
}
