//! Trying to activate a kernel: the one primitive of every scheme.

use crate::edge::Edge;
use crate::error::Cause;
use crate::run::worker::Worker;
use crate::run::{Cx, Outcome, Why};
use crate::scheme::Event;
use std::panic::{AssertUnwindSafe, catch_unwind};
use thalweg_sync::atomic::Ordering::*;
use thalweg_sync::hint;
use thalweg_sync::time::{Instant, now};

/// An activation shorter than this is timed one time in [`STRIDE`].
const SHORT: u64 = 4_000;
const STRIDE: u64 = 16;
/// How long a block should keep a parallel kernel busy, in nanoseconds: short enough to spread, long enough that handing it on is nothing.
const PARALLEL_BLOCK: u64 = 64_000;
/// How long a block should keep other kernels busy.
const SEQUENTIAL_BLOCK: u64 = 50_000;
/// How long a source should give before it looks up, in nanoseconds.
const SOURCE_GIVE: u64 = 10_000;
/// Messages it gives at most before it looks up.
const MOST_GIVEN: u64 = 4096;
/// Bytes of messages in a block, at most.
pub(crate) const MOST_BYTES: usize = 16 * 1024;
/// How long a kernel that had nothing is left alone, in nanoseconds: doubles from the first to the second, so that it is asked at most as long
/// after it has something as it had nothing, and an idle graph wakes a hundred times a second.
const ASK_AGAIN: (u64, u64) = (20_000, 10_000_000);

impl Worker<'_> {
    /// Runs `kernel` once if it can do something and nobody else is at it, and says what happened.
    pub(crate) fn try_activate(&self, kernel: usize) -> Event {
        let state = &self.core.kernels[kernel];
        let stats = &self.row.kernels[kernel];
        if state.done.load(Acquire) {
            return Event::Done;
        }
        if let Some(why) = self.core.look(self.bodies, kernel) {
            if self.core.scheme.is_counted() {
                self.row.worker.polls.add(1);
            }
            return self.count_refusal(kernel, why);
        }
        if state.parallel {
            // Raised before the pop: who sees zero after the input has ended knows that all is done.
            state.in_flight.fetch_add(1, AcqRel);
        } else if state.claimed.load(Relaxed) || state.claimed.swap(true, Acquire) {
            // U1. Relaxed is enough for the first look: the swap decides.
            stats.busy_elsewhere.add(1);
            return Event::Busy;
        }
        self.core.count_in(state.component, 1);
        let outer = self.emitted.replace(None);
        let outcome = self.run_body(kernel);
        let emitted = self.emitted.replace(outer);
        let event = self.settle_outcome(kernel, outcome, emitted);
        self.core.count_in(state.component, -1);
        event
    }

    /// Runs the consumer of a full edge within its producer's activation. True if it did something.
    pub(crate) fn help(&self, consumer: usize) -> bool {
        self.depth.set(self.depth.get() + 1);
        let event = self.try_activate(consumer);
        self.depth.set(self.depth.get() - 1);
        let helped = matches!(event, Event::Ran { .. } | Event::Done);
        if helped {
            self.row.kernels[consumer].helps.add(1);
        }
        helped
    }

    fn count_refusal(&self, kernel: usize, why: Why) -> Event {
        let stats = &self.row.kernels[kernel];
        if self.core.scheme.is_counted() {
            match why {
                Why::Empty(edge) => self.row.edges[edge].empty.add(1),
                Why::Full(edge) => self.row.edges[edge].full.add(1),
                Why::Waiting => stats.ticket.add(1),
                Why::Pending | Why::Done | Why::More => {}
            }
        }
        match why {
            Why::Empty(edge) => Event::Empty { edge },
            Why::Full(edge) => Event::Full { edge },
            Why::Waiting => Event::Waiting,
            Why::Pending => Event::Pending,
            Why::Done => Event::Done,
            Why::More => Event::Ran { emitted: None, more: true },
        }
    }

    /// Runs the kernel's code, timed now and then. `None` if it failed.
    fn run_body(&self, kernel: usize) -> Option<Outcome> {
        let stats = &self.row.kernels[kernel];
        let cx = Cx { worker: self, kernel };
        let count = stats.activations.get();
        stats.activations.set(count + 1);
        let stride = if stats.timed.get() < STRIDE || self.core.kernels[kernel].block_time.load(Relaxed) > SHORT {
            1
        } else {
            STRIDE
        };
        // Within a timed activation everything is timed, so that what a help costs is not counted twice.
        let timed = self.timing.get() || count.is_multiple_of(stride);
        let (outer, helped) = (self.timing.replace(timed), self.helped_time.replace(0));
        let start = if timed { now() } else { Instant::default() };
        let result = {
            let _task = hint::task(&self.core.kernels[kernel].name);
            catch_unwind(AssertUnwindSafe(|| self.bodies.activate(kernel, &cx)))
        };
        if timed {
            let end = now();
            let whole = end.since(start).as_nanos() as u64;
            let own = whole.saturating_sub(self.helped_time.get());
            self.helped_time.set(helped + whole);
            // Those that are timed only for the sake of the one around them are stood for by those that are timed anyway.
            let weight = if count.is_multiple_of(stride) { stride } else { 0 };
            stats.timed.add(1);
            stats.busy.add(own * weight);
            if let Ok(Ok(outcome)) = &result {
                self.tune(kernel, outcome, own);
            }
            self.clock.set(end.as_nanos());
        } else {
            self.helped_time.set(helped);
        }
        self.timing.set(outer);
        let causes = match result {
            Ok(Ok(outcome)) => {
                stats.blocks.add(u64::from(outcome.blocks));
                return Some(outcome);
            }
            Ok(Err(error)) => vec![Cause::Error(error)],
            Err(payload) => Cause::all(payload),
        };
        causes.into_iter().for_each(|cause| self.core.fail(kernel, cause));
        None
    }

    /// Gives the claim back, finishes the kernel if it is over, and says what the policy should know.
    fn settle_outcome(&self, kernel: usize, outcome: Option<Outcome>, emitted: Option<usize>) -> Event {
        let state = &self.core.kernels[kernel];
        let why = outcome.map_or(Why::Done, |outcome| outcome.why);
        let over = why == Why::Done && outcome.is_some() && !self.core.control.is_cancelled();
        if state.ported || state.source && !self.bodies.source_waits_outside(kernel) {
            self.note_pending(kernel, why, outcome.is_some_and(|outcome| outcome.blocks > 0) || emitted.is_some());
        }
        if state.parallel {
            let last = state.in_flight.fetch_sub(1, AcqRel) == 1;
            if last && self.parallel_is_over(kernel, over) {
                self.core.finish(kernel);
            }
        } else {
            let said_done = outcome.is_some() && state.said_done.load(Relaxed) && !self.core.control.is_cancelled();
            if over || said_done {
                // What it did not take has destructors, which are somebody else's code.
                match catch_unwind(AssertUnwindSafe(|| self.drop_input(kernel))) {
                    Ok(()) if over => self.core.finish(kernel),
                    Ok(()) => self.core.close_early(kernel),
                    Err(payload) => Cause::all(payload).into_iter().for_each(|cause| self.core.fail(kernel, cause)),
                }
            }
            // U1. Release: the next holder sees the kernel and its edges as this activation left them.
            state.claimed.store(false, Release);
        }
        let progress = emitted.is_some() || outcome.is_some_and(|outcome| outcome.blocks > 0 || outcome.messages > 0);
        if self.core.scheme.is_restricted() && (progress || over) {
            self.core.control.bell.ring_all();
        }
        if over && !progress {
            return Event::Done;
        }
        if progress {
            return Event::Ran { emitted, more: matches!(why, Why::More) };
        }
        self.count_refusal(kernel, why)
    }

    /// Whether a parallel kernel whose last activation has just ended is finished.
    fn parallel_is_over(&self, kernel: usize, over: bool) -> bool {
        let state = &self.core.kernels[kernel];
        let edges = &self.core.edges;
        let input = &edges[state.inputs[0]];
        let hung_up = !state.outputs.is_empty() && state.outputs.iter().all(|&edge| edges[edge].is_hung_up());
        // In this order: closed and empty, so whoever took the last block is counted; then nobody in flight, so it was handed on. An
        // activation that began after this one ended may have taken it. Acquire: its spill is seen below.
        let ended = input.is_closed() && !input.has_input() && state.in_flight.load(Acquire) == 0;
        let spilled = |&edge: &usize| edges[edge].has_spill() && !edges[edge].is_hung_up();
        (ended || over && hung_up) && !state.outputs.iter().any(spilled) && !self.core.control.is_cancelled()
    }

    /// Drops what a finished kernel did not take.
    fn drop_input(&self, kernel: usize) {
        let cx = Cx { worker: self, kernel };
        for &edge in cx.inputs() {
            self.core.edges[edge].hang_up();
            // SAFETY: E2: the claim of the kernel that takes from this edge is still held.
            while let Some(block) = unsafe { self.core.edges[edge].take() } {
                self.row.worker.lost.add(self.core.edges[edge].messages_of(&block));
                cx.close_block(block);
                cx.settle(edge);
            }
        }
    }

    fn note_pending(&self, kernel: usize, why: Why, gave: bool) {
        let state = &self.core.kernels[kernel];
        if why != Why::Pending {
            if state.pending.load(Relaxed) {
                state.pending.store(false, Relaxed);
            }
            return;
        }
        let again = if gave || !state.pending.load(Relaxed) {
            ASK_AGAIN.0
        } else {
            (state.ask_after.load(Relaxed) * 2).min(ASK_AGAIN.1)
        };
        state.ask_after.store(again, Relaxed);
        state.ask_at.store(now().as_nanos() + again, Relaxed);
        if !state.pending.swap(true, Relaxed) {
            // Who sleeps without a limit must not go on so: this worker may be busy elsewhere when it is time to ask again.
            self.core.control.bell.ring();
        }
    }

    /// Sets the length of blocks by what a message costs here.
    fn tune(&self, kernel: usize, outcome: &Outcome, nanos: u64) {
        let state = &self.core.kernels[kernel];
        if outcome.blocks == 0 {
            return;
        }
        let block_time = (nanos / u64::from(outcome.blocks)).max(1);
        state.block_time.store(block_time, Relaxed);
        if state.source {
            let now = u64::from(state.give_len.load(Relaxed));
            let length = (now * SOURCE_GIVE / block_time).clamp(1, now * 4).min(MOST_GIVEN);
            state.give_len.store(length as u32, Relaxed);
            return;
        }
        if outcome.messages == 0 {
            return;
        }
        let target = if state.parallel { PARALLEL_BLOCK } else { SEQUENTIAL_BLOCK };
        let wished = (target * outcome.messages / nanos.max(1)).max(1);
        for edge in state.inputs.iter().map(|&edge| &self.core.edges[edge]) {
            let length = next_length(edge, wished);
            if length as usize != edge.block_len() {
                edge.set_block_len(length);
            }
        }
    }
}

/// A step from the present length of blocks to the one wished for: down at once, up by a factor of four, within the bytes of a block.
fn next_length(edge: &Edge, wished: u64) -> u32 {
    let now = edge.block_len() as u64;
    let most = (MOST_BYTES / edge.plan.message_bytes.max(1)).max(1) as u64;
    let mut length = wished.min(now * 4).min(most);
    if let Some((peek, pop)) = edge.plan.window {
        // Enough windows in a block that the messages which two blocks share are few.
        length = length.max((peek.saturating_sub(pop)) as u64 * 2).max((pop as u64).min(most));
    }
    // Small changes are not worth a change.
    if length.abs_diff(now) * 4 <= now && length < most { now as u32 } else { length as u32 }
}
