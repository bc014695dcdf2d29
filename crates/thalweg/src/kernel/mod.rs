//! What runs: kernels behind three small traits, and the loops that feed them.
//!
//! | trait | who | called |
//! |---|---|---|
//! | [`Source`] | gives messages, takes none | by one worker at a time |
//! | [`Work`] | takes from one input | by one worker at a time |
//! | [`SharedWork`] | takes from one input, has no state | by many workers at once |
//!
//! [`Kernel`](crate::Kernel) with several ports is the fourth; its loop is in [`ported`].

pub(crate) mod each;
pub(crate) mod fused;
pub(crate) mod ported;
pub(crate) mod reorder;
mod resident;
pub(crate) mod source;
pub(crate) mod steps;
pub(crate) mod tee;
pub(crate) mod windowed;

use crate::block::{Block, Chain};
use crate::edge::Edge;
use crate::error::{BoxError, Error};
use crate::report::Report;
use crate::run::{Cx, Outcome, Why};
use std::fmt;
use std::mem;
use thalweg_sync::cell::Slot;

/// What a source or a kernel with several ports says after an activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// There is more to do.
    More,
    /// Nothing now; ask again later. A worker with nothing else to do sleeps in between: for 20 us at first, then each time for twice as long, up to
    /// 10 ms. What comes from outside is handed on without that delay by an [`inlet`](crate::Graph::inlet).
    Pending,
    /// Finished: this kernel will not run again, and its outputs end.
    Done,
}

/// Gives messages.
pub(crate) trait Source: Send {
    /// Gives about a block of messages.
    fn give(&mut self, cx: &Cx<'_>) -> Result<Flow, BoxError>;

    /// Called before each run. An error refuses the run.
    fn begin(&mut self) -> Result<(), BoxError> {
        Ok(())
    }

    /// Called when it will not be asked again in this run.
    fn end(&mut self) {}
}

/// Looks at a source that somebody outside the graph feeds, or at a sink that somebody outside empties.
pub(crate) trait Outside: Send + Sync {
    /// Whether there is something to give, or room for what is taken; or the end to be noticed.
    fn is_ready(&self) -> bool;

    /// Opens the outer end for the next run.
    fn reopen(&self);

    /// The run has ended: who waits at the outer end goes away.
    fn run_is_over(&self, result: &Result<Report, Error>);
}

/// Takes from one input, one worker at a time.
pub(crate) trait Work: Send {
    /// Takes messages until the block is empty or the output is full. Leaves none if it was handed on as it is.
    fn run(&mut self, cx: &Cx<'_>, block: &mut Option<Block>) -> Result<(), BoxError>;

    /// Why it left messages, if not for want of room in its output: it waits for somebody outside, or has had enough.
    fn held(&self) -> Option<Why> {
        None
    }

    /// Called when everything was taken and no more comes.
    fn end(&mut self, _cx: &Cx<'_>) {}
}

/// Takes from one input, many workers at once.
pub(crate) trait SharedWork: Send + Sync {
    /// Takes all messages of the block, unless the run is cancelled meanwhile, and leaves its output in `chain`; leaves no block if that is there
    /// as it is.
    fn run(&self, cx: &Cx<'_>, block: &mut Option<Block>, chain: &mut Chain) -> Result<(), BoxError>;
}

/// A kernel's code.
pub(crate) enum Body<'env> {
    Source(Slot<Box<dyn Source + 'env>>),
    Sequential(Slot<Box<dyn Work + 'env>>),
    Parallel(Box<dyn SharedWork + 'env>),
    Ported(Slot<Box<dyn ported::Ported + 'env>>),
}

impl fmt::Debug for Body<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source(_) => "Source",
            Self::Sequential(_) => "Sequential",
            Self::Parallel(_) => "Parallel",
            Self::Ported(_) => "Ported",
        })
    }
}

/// One activation of a source: up to a quantum of blocks.
pub(crate) fn drive_source(source: &mut dyn Source, cx: &Cx<'_>) -> Result<Outcome, BoxError> {
    let mut blocks = 0;
    cx.flush_outputs();
    if cx.has_said_done() {
        return Ok(cx.end_activation(Why::Done, 0, 0));
    }
    let why = loop {
        if let Some(edge) = cx.blocked_output() {
            break Why::Full(edge);
        }
        if cx.is_cancelled() || cx.outputs_hung_up() {
            break Why::Done;
        }
        // A source that is fed from outside gives what has arrived; any other stops here.
        // Asked before it gives: what had arrived when the wish to stop came is still to be given.
        let draining = cx.is_draining();
        if draining && !cx.waits_outside() {
            break Why::Done;
        }
        match source.give(cx)? {
            Flow::More => {}
            Flow::Pending if draining => break Why::Done,
            Flow::Pending => break Why::Pending,
            Flow::Done => break Why::Done,
        }
        blocks += 1;
        if blocks >= cx.quantum() || cx.gives_slowly() {
            break Why::More;
        }
    };
    if why == Why::Done {
        source.end();
    }
    Ok(cx.end_activation(why, blocks, 0))
}

/// What a kernel has in hand while its code runs: the block it takes from, and what it gave if it runs on many workers.
///
/// However the kernel comes out of it, what it took counts: to the message, or all of a block that is changed in place. If it failed, what is left
/// is dropped here, and not by the way: in the midst of a panic another one, out of a destructor, would end the process.
struct Hand<'a> {
    block: Option<Block>,
    chain: Chain,
    /// What the block counted for when it was taken, or when it was last counted.
    messages: u64,
    edge: &'a Edge,
    cx: &'a Cx<'a>,
}

impl<'a> Hand<'a> {
    fn new(cx: &'a Cx<'a>, edge: &'a Edge, block: Block) -> Self {
        Self { messages: edge.messages_of(&block), block: Some(block), chain: Chain::default(), edge, cx }
    }

    /// Counts what was taken, and how much is left.
    fn count(&mut self) -> (u64, u64) {
        let left = self.block.as_ref().map_or(0, |block| self.edge.messages_of(block));
        let taken = self.messages - left;
        self.messages = left;
        self.cx.stats().messages.add(taken);
        (taken, left)
    }

    /// Gives up what the kernel left, which counts when it is taken again.
    fn open(mut self) -> (Option<Block>, Chain) {
        self.messages = 0;
        (self.block.take(), mem::take(&mut self.chain))
    }
}

impl Drop for Hand<'_> {
    fn drop(&mut self) {
        self.count();
        let (core, kernel) = (self.cx.worker.core, self.cx.kernel);
        if let Some(block) = self.block.take() {
            core.drop_block(kernel, block);
        }
        while let Some(block) = self.chain.pop() {
            core.drop_given(kernel, block);
        }
    }
}

/// One activation of a sequential kernel: up to a quantum of blocks.
pub(crate) fn drive_sequential(work: &mut dyn Work, cx: &Cx<'_>) -> Result<Outcome, BoxError> {
    let input_id = cx.inputs()[0];
    let input = cx.edge(input_id);
    let (mut blocks, mut messages) = (0, 0);
    cx.flush_outputs();
    let why = loop {
        if let Some(edge) = cx.blocked_output() {
            break Why::Full(edge);
        }
        if cx.is_cancelled() || cx.outputs_hung_up() {
            break Why::Done;
        }
        // Before the pop that finds nothing: see E4.
        let closed = input.is_closed();
        // SAFETY: E2: this worker holds the claim of the only kernel that takes from this edge.
        let Some(block) = (unsafe { input.take() }) else {
            if closed {
                work.end(cx);
            }
            break if closed { Why::Done } else { Why::Empty(input_id) };
        };
        let mut hand = Hand::new(cx, input, block);
        blocks += 1;
        cx.note_room();
        work.run(cx, &mut hand.block)?;
        let (count, left) = hand.count();
        messages += count;
        match hand.open().0 {
            Some(block) if left > 0 => {
                // SAFETY: E2, as above.
                unsafe { input.put_back(block) };
                if let Some(why) = work.held() {
                    break why;
                }
                if let Some(edge) = cx.full_output() {
                    break Why::Full(edge);
                }
            }
            rest => {
                if let Some(block) = rest {
                    cx.close_block(block);
                }
                cx.settle(input_id);
            }
        }
        if blocks >= cx.quantum() {
            break Why::More;
        }
    };
    Ok(cx.end_activation(why, blocks, messages))
}

/// One activation of a parallel kernel.
pub(crate) fn drive_parallel(work: &dyn SharedWork, cx: &Cx<'_>) -> Result<Outcome, BoxError> {
    let input_id = cx.inputs()[0];
    let input = cx.edge(input_id);
    let (mut blocks, mut messages) = (0, 0);
    cx.drain_reorder();
    let why = loop {
        if let Some(edge) = cx.blocked_output() {
            break Why::Full(edge);
        }
        if cx.is_cancelled() || cx.outputs_hung_up() {
            break Why::Done;
        }
        if cx.reorder_is_full() {
            break Why::Waiting;
        }
        let closed = input.is_closed();
        let Some((ticket, block)) = input.take_shared() else {
            break if closed && !input.has_input() { Why::Done } else { Why::Empty(input_id) };
        };
        blocks += 1;
        cx.note_room();
        let mut hand = Hand::new(cx, input, block);
        work.run(cx, &mut hand.block, &mut hand.chain)?;
        messages += hand.count().0;
        let (block, chain) = hand.open();
        block.into_iter().for_each(|block| cx.close_block(block));
        cx.complete(ticket, chain);
        cx.settle(input_id);
        if blocks >= cx.parallel_quantum() {
            break Why::More;
        }
    };
    Ok(Outcome { why, blocks, messages })
}
