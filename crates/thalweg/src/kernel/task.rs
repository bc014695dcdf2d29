//! A kernel that runs on one worker at a time: its code and the ends of its edges, under one claim.

use super::io::Scratch;
use super::{Cx, Flow, Held, Outcome, Outside, Ported, Supply, WORTH_WAKING, Why, Work, ported};
use crate::block::Block;
use crate::edge::{Edge, Receiver, Sender};
use crate::error::{BoxError, Payload, resume};
use std::fmt;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::hint;
use thalweg_sync::sync::Arc;

/// What a worker gets with the claim of a kernel.
pub(crate) struct Task<'r> {
    code: Code<'r>,
    ins: Vec<Receiver>,
    outs: Vec<Sender<'r>>,
    /// It has said that it is done, and some of what it gave has no room yet: it is not called again.
    said_done: bool,
    /// It is finished. Looked at under the claim, so nothing runs after it.
    pub(crate) done: bool,
}

enum Code<'r> {
    Source(&'r mut (dyn Supply + 'r), Option<&'r dyn Outside>),
    /// With what it looks at of its input while the end itself is in use.
    Sequential(&'r mut (dyn Work + 'r), Arc<Edge>),
    Ported(&'r mut (dyn Ported + 'r), Scratch),
}

impl<'r> Task<'r> {
    fn new(code: Code<'r>, ins: Vec<Receiver>, outs: Vec<Sender<'r>>) -> Self {
        Self { code, ins, outs, said_done: false, done: false }
    }

    pub(crate) fn source(
        source: &'r mut (dyn Supply + 'r),
        outside: Option<&'r dyn Outside>,
        outs: Vec<Sender<'r>>,
    ) -> Self {
        Self::new(Code::Source(source, outside), Vec::new(), outs)
    }

    pub(crate) fn sequential(work: &'r mut (dyn Work + 'r), ins: Vec<Receiver>, outs: Vec<Sender<'r>>) -> Self {
        Self::new(Code::Sequential(work, ins[0].edge().clone()), ins, outs)
    }

    pub(crate) fn ported(kernel: &'r mut (dyn Ported + 'r), ins: Vec<Receiver>, outs: Vec<Sender<'r>>) -> Self {
        Self::new(Code::Ported(kernel, Scratch::default()), ins, outs)
    }

    /// Runs the kernel's code once.
    pub(crate) fn activate(&mut self, cx: &Cx<'_>) -> Result<Outcome, BoxError> {
        cx.flush(&mut self.outs);
        if self.said_done {
            return Ok(self.end(cx, Outcome::new(Why::Done, 0, 0)));
        }
        let outcome = match &mut self.code {
            Code::Source(source, outside) => drive_source(&mut **source, *outside, &mut self.outs, cx)?,
            Code::Sequential(work, edge) => drive_sequential(&mut **work, edge, &mut self.ins[0], &mut self.outs, cx)?,
            Code::Ported(kernel, scratch) => ported::drive(&mut **kernel, &mut self.ins, &mut self.outs, scratch, cx)?,
        };
        Ok(self.end(cx, outcome))
    }

    /// The end of an activation: partial blocks are handed on, unless the kernel is fast and certain to run again at once; and then too if they
    /// have waited through a few activations, since what it gives may be rare.
    fn end(&mut self, cx: &Cx<'_>, mut outcome: Outcome) -> Outcome {
        let more_to_take = || match &self.code {
            // An inlet may have given all there is without a look at whether there is more.
            Code::Source(_, outside) => !cx.gives_slowly() && outside.is_none_or(|outside| outside.is_ready()),
            _ => {
                (1..=WORTH_WAKING).contains(&cx.pace.block_time.load(Relaxed))
                    && self.ins.iter().any(|input| input.edge().has_input())
            }
        };
        let goes_on = outcome.why == Why::More && !cx.left.get() && !cx.is_draining() && more_to_take();
        // All or none: a block that goes may fill its edge, and a kernel is not called to hand on the others while an output is full.
        let mut stay = goes_on && full(&self.outs).is_none();
        if stay {
            self.outs.iter_mut().for_each(|sender| stay &= sender.may_stay_open());
        }
        if !stay {
            for port in 0..self.outs.len() {
                let edge = self.outs[port].edge();
                if edge.is_full() && self.outs[port].has_open() {
                    // It went on though it was told that there is no room.
                    let edge = edge.clone();
                    cx.host.wait_for_room(&edge, &mut OpenEnds { cx, outs: &mut self.outs });
                }
                hand_on_open(cx, &mut self.outs[port]);
            }
        }
        if outcome.why == Why::Done && !cx.is_cancelled() {
            cx.flush(&mut self.outs);
            let blocked = |edge: &&Edge| edge.has_spill() && !edge.is_hung_up();
            if let Some(edge) = self.outs.iter().map(|sender| &**sender.edge()).find(blocked) {
                self.said_done = true;
                outcome.said_done = true;
                outcome.why = Why::Full(edge.plan.id);
            }
        }
        outcome
    }

    /// Drops what a kernel that is over did not take, and says how many messages that were.
    pub(crate) fn drop_input(&mut self, cx: &Cx<'_>) -> u64 {
        let mut lost = 0;
        for input in &mut self.ins {
            input.edge().hang_up();
            while let Some(block) = input.take() {
                lost += input.edge().messages_of(&block);
                cx.close_block(block);
                cx.used_up(input.edge());
            }
        }
        let mut panics = Vec::new();
        self.let_go(&mut panics);
        resume(panics);
        lost
    }

    /// Drops what is left of a message that became many.
    fn let_go(&mut self, panics: &mut Vec<Payload>) {
        if let Code::Sequential(work, _) = &mut self.code {
            work.let_go(panics);
        }
    }

    /// Drops all messages at its ends, once the run is over. `note` gets the number of the kernel that would have taken them, and what their destructors
    /// panicked with.
    pub(crate) fn clear(&mut self, note: &mut dyn FnMut(usize, Vec<Payload>)) {
        let mut held = Vec::new();
        self.let_go(&mut held);
        for input in &mut self.ins {
            let mut panics = std::mem::take(&mut held);
            input.clear(&mut panics);
            note(input.edge().plan.to, panics);
        }
        clear_senders(&mut self.outs, note);
    }
}

/// As [`Task::clear`], at sending ends.
pub(crate) fn clear_senders(senders: &mut [Sender<'_>], note: &mut dyn FnMut(usize, Vec<Payload>)) {
    for sender in senders {
        let mut panics = Vec::new();
        sender.clear(&mut panics);
        note(sender.edge().plan.to, panics);
    }
}

impl fmt::Debug for Task<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("ins", &self.ins).field("outs", &self.outs).finish_non_exhaustive()
    }
}

/// An output edge that is full.
pub(crate) fn full(outs: &[Sender<'_>]) -> Option<usize> {
    outs.iter().map(Sender::edge).find(|edge| edge.is_full()).map(|edge| edge.plan.id)
}

/// An output edge that is full, and that the scheme's actions did not make room on.
pub(crate) fn blocked(outs: &[Sender<'_>], cx: &Cx<'_>) -> Option<usize> {
    let mut edges = outs.iter().map(Sender::edge);
    edges.find(|edge| edge.is_full() && !cx.host.make_room(edge)).map(|edge| edge.plan.id)
}

/// Nobody takes from any output any more.
pub(crate) fn hung_up(outs: &[Sender<'_>]) -> bool {
    !outs.is_empty() && outs.iter().all(|sender| sender.edge().is_hung_up())
}

/// One activation of a source: up to a quantum of blocks.
fn drive_source(
    source: &mut dyn Supply,
    outside: Option<&dyn Outside>,
    outs: &mut [Sender<'_>],
    cx: &Cx<'_>,
) -> Result<Outcome, BoxError> {
    let (mut blocks, mut ask_in) = (0, None);
    let why = loop {
        if let Some(edge) = blocked(outs, cx) {
            break Why::Full(edge);
        }
        if cx.is_cancelled() || hung_up(outs) {
            break Why::Done;
        }
        // A source that is fed from outside gives what has arrived; any other stops here.
        // Asked before it gives: what had arrived when the wish to stop came is still to be given.
        let draining = cx.is_draining();
        if draining && outside.is_none() {
            break Why::Done;
        }
        cx.beats.add(1);
        let flow = source.give(cx, outs)?;
        match flow {
            Flow::More => {}
            Flow::Pending | Flow::PendingFor(_) if draining => break Why::Done,
            Flow::Pending | Flow::PendingFor(_) => {
                ask_in = flow.ask_in();
                break Why::Pending;
            }
            Flow::Done => break Why::Done,
        }
        blocks += 1;
        if blocks >= cx.quantum || cx.gives_slowly() || cx.left.get() {
            break Why::More;
        }
    };
    if why == Why::Done {
        source.end();
    }
    Ok(Outcome { ask_in, ..Outcome::new(why, blocks, 0) })
}

/// Hands on what a sending end has in its open block.
fn hand_on_open(cx: &Cx<'_>, sender: &mut Sender<'_>) {
    match sender.take_open() {
        Some(block) if block.unread() > 0 => {
            hint::gives(block.unread() as u64);
            cx.hand_on(sender, block);
        }
        Some(block) => cx.close_block(block),
        None => {}
    }
}

/// The sending ends of a kernel that waits at the end of its activation. What lies open at another one may be what the taker waits for.
struct OpenEnds<'a, 'c, 's> {
    cx: &'a Cx<'c>,
    outs: &'a mut [Sender<'s>],
}

fn has_room_for_open(sender: &Sender<'_>) -> bool {
    sender.has_open() && !sender.edge().is_full()
}

impl Held for OpenEnds<'_, '_, '_> {
    fn can_move(&self) -> bool {
        self.outs.iter().any(|sender| sender.edge().can_flush() || has_room_for_open(sender))
    }

    fn move_on(&mut self) {
        self.cx.flush(self.outs);
        let cx = self.cx;
        self.outs.iter_mut().filter(|sender| has_room_for_open(sender)).for_each(|sender| hand_on_open(cx, sender));
    }

    fn lies_at(&self, port: usize) -> bool {
        self.outs[port].edge().has_spill() || self.outs[port].has_open()
    }
}

/// What a kernel has in hand while its code runs.
///
/// However the kernel comes out of it, what it took counts: to the message, or all of a block that is changed in place. If it failed, what is left
/// is dropped here, and not by the way: in the midst of a panic another one, out of a destructor, would end the process.
pub(super) struct Hand<'a, 'c> {
    pub(super) block: Option<Block>,
    /// What the block counted for when it was taken, or when it was last counted.
    messages: u64,
    edge: &'a Edge,
    /// What a block of the edge counts for.
    weigh: fn(&Edge, &Block) -> u64,
    pub(super) cx: &'a Cx<'c>,
}

impl<'a, 'c> Hand<'a, 'c> {
    pub(super) fn new(cx: &'a Cx<'c>, edge: &'a Edge, block: Block) -> Self {
        Self::weighed(cx, edge, block, Edge::messages_of)
    }

    pub(super) fn weighed(cx: &'a Cx<'c>, edge: &'a Edge, block: Block, weigh: fn(&Edge, &Block) -> u64) -> Self {
        Self { messages: weigh(edge, &block), block: Some(block), edge, weigh, cx }
    }

    /// Counts what was taken, and how much is left.
    pub(super) fn count(&mut self) -> (u64, u64) {
        let left = self.block.as_ref().map_or(0, |block| (self.weigh)(self.edge, block));
        let taken = self.messages - left;
        self.messages = left;
        self.cx.count(taken);
        (taken, left)
    }

    /// Gives up what the kernel left, which counts when it is taken again.
    pub(super) fn give_up(&mut self) -> Option<Block> {
        self.messages = 0;
        self.block.take()
    }
}

impl Drop for Hand<'_, '_> {
    fn drop(&mut self) {
        self.count();
        if let Some(block) = self.block.take() {
            self.cx.drop_block(self.cx.kernel, block);
        }
    }
}

/// One activation of a sequential kernel: up to a quantum of blocks.
fn drive_sequential(
    work: &mut dyn Work,
    edge: &Edge,
    input: &mut Receiver,
    outs: &mut [Sender<'_>],
    cx: &Cx<'_>,
) -> Result<Outcome, BoxError> {
    let id = edge.plan.id;
    let (mut blocks, mut messages) = (0, 0);
    let why = loop {
        if let Some(edge) = blocked(outs, cx) {
            break Why::Full(edge);
        }
        if cx.is_cancelled() || hung_up(outs) {
            break Why::Done;
        }
        // Before the pop that finds nothing: see E4.
        let closed = edge.is_closed();
        let Some(mut block) = input.take() else {
            if closed {
                work.end(cx);
            }
            break if closed { Why::Done } else { Why::Empty(id) };
        };
        cx.carry(&mut block);
        let mut hand = Hand::new(cx, edge, block);
        blocks += 1;
        cx.host.took(cx.kernel);
        work.run(cx, outs, &mut hand.block)?;
        let (count, left) = hand.count();
        messages += count;
        let holds = work.holds();
        match hand.give_up() {
            Some(mut block) if left > 0 || holds => {
                cx.put_down(&mut block);
                input.put_back(block, holds);
                if work.is_done() {
                    break Why::Done;
                }
                if let Some(why) = work.held() {
                    break why;
                }
                if let Some(edge) = full(outs) {
                    break Why::Full(edge);
                }
                if cx.left.get() {
                    break Why::More;
                }
            }
            rest => {
                if let Some(block) = rest {
                    cx.close_block(block);
                }
                cx.arrive();
                cx.used_up(edge);
                if work.is_done() {
                    break Why::Done;
                }
            }
        }
        if blocks >= cx.quantum {
            break Why::More;
        }
    };
    Ok(Outcome::new(why, blocks, messages))
}
