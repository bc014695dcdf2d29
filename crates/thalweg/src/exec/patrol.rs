//! What a scheme does not see to: a kernel that it never chooses, and a cycle of waits beside work that goes on.
//!
//! Now and then, between two activations, one worker goes round all kernels. One that could run and was not run by anybody since the last round
//! gets an activation; and an edge whose sender waits for room, which only comes through that edge itself, grows as it would if all were asleep.
//!
//! **F1** The fairness floor: under every scheme, a kernel that could run all along runs within two rounds. A round is due a millisecond after the last
//! one, or 32 times as long as it took where that is longer (but no more than 32 us for each kernel: a thread may be stopped meanwhile), and begins as soon as some worker comes back from an activation. Under `raft` each
//! kernel has a thread, and the system is fair to those.

use super::worker::Worker;
use super::{Core, Post};
use crate::kernel::Why;
use thalweg_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use thalweg_sync::time::now;

/// Nanoseconds between two rounds at least, and how many times as long as a round takes.
const PERIOD: u64 = 1_000_000;
const SHARE: u64 = 32;
/// What a look at a kernel takes at most while its thread runs, in nanoseconds. What a round takes beyond that, the system gave to other threads.
const LOOK: u64 = 1_000;
/// Activations between two looks at the clock.
pub(super) const STEPS: u32 = 64;

/// The time between a round over so many `kernels` that took `took` nanoseconds, and the next one.
fn pause(took: u64, kernels: usize) -> u64 {
    PERIOD.max(took.min(LOOK * kernels as u64) * SHARE)
}

/// The kernels that a search has come to, of several searches one after the other.
#[derive(Debug, Default)]
pub(super) struct Seen {
    search: usize,
    last: Vec<usize>,
}

impl Seen {
    fn begin(&mut self, kernels: usize) {
        self.search += 1;
        self.last.resize(kernels, 0);
    }

    /// Whether this search has come to `kernel` before.
    fn again(&mut self, kernel: usize) -> bool {
        std::mem::replace(&mut self.last[kernel], self.search) == self.search
    }
}

/// When the next round is due, and which it is.
#[derive(Debug, Default)]
pub(crate) struct Patrol {
    due: AtomicU64,
    under_way: AtomicBool,
    /// The number of the round; each seat notes the one in which it ran last.
    round: AtomicU32,
}

impl Patrol {
    /// The number that an activation notes.
    #[inline(always)]
    pub(super) fn round(&self) -> u32 {
        // Relaxed, as all that is here: who is late gives a kernel an activation too many, or one round later.
        self.round.load(Relaxed)
    }
}

impl Worker<'_, '_> {
    /// Goes round all kernels if that is due at `clock`, which is zero while this worker does not know the time. The first round calls for a
    /// `lookout`. `may_run` says which kernels this worker may run.
    pub(super) fn patrol(&self, clock: u64, lookout: &dyn Fn(), may_run: impl Fn(usize) -> bool) {
        let (core, patrol) = (self.core, &self.core.patrol);
        if clock == 0 || clock < patrol.due.load(Relaxed) || patrol.under_way.swap(true, Acquire) {
            return;
        }
        if patrol.due.load(Relaxed) == 0 {
            // The first look begins the first period.
            patrol.due.store(clock + PERIOD, Relaxed);
            patrol.under_way.store(false, Release);
            return;
        }
        let (round, start) = (patrol.round(), now());
        if round == 0 {
            lookout();
        }
        let (mut left_out, mut seen) = (Vec::new(), Seen::default());
        for kernel in 0..core.seats.len() {
            let seat = &core.seats[kernel];
            core.judge_line(kernel);
            if seat.ran_in.load(Relaxed) == round || seat.done.load(Relaxed) {
                continue;
            }
            if let Some(Why::Full(edge)) = core.look(kernel) {
                // What it looks at changes meanwhile: so it has to be found in two rounds, one after the other.
                if !core.is_stuck(edge, &mut seen) || seat.stuck_in.swap(round, Relaxed) != round.wrapping_sub(1) {
                    continue;
                }
                if !self.note_growth(edge, core.edges[edge].stretch()) {
                    core.let_go(kernel);
                } else {
                    core.call_sender(kernel);
                }
            } else if may_run(kernel) && self.is_ready_here(kernel) {
                left_out.push(kernel);
            }
        }
        // There is one first round.
        patrol.round.store(round.wrapping_add(1).max(1), Relaxed);
        let end = now();
        let took = end.since(start).as_nanos() as u64;
        patrol.due.store(end.as_nanos() + pause(took, core.seats.len()), Relaxed);
        if core.homes.as_ref().is_some_and(|homes| homes.look(core, end.as_nanos())) {
            self.row.worker.decisions.add(1);
            // Who sleeps by the old partition looks again.
            core.control.bell.ring_all();
        }
        patrol.under_way.store(false, Release);
        // Somebody else may go round meanwhile: one of these may wait in the middle.
        for kernel in left_out {
            if core.is_over() {
                break;
            }
            match self.outer.get() {
                None => self.try_activate(kernel),
                Some(outer) => self.nest(outer, kernel),
            };
        }
    }
}

impl Core<'_> {
    /// Whether the room that the sender of `edge` waits for can only come by what it sends: each kernel on the way waits for the next one, back to
    /// the sender, and none of them runs or waits for somebody outside. One in the middle of an activation may wait for the kernel
    /// that runs above it on its worker's stack; a parallel one that has several is taken to wait for each of these.
    pub(super) fn is_stuck(&self, edge: usize, seen: &mut Seen) -> bool {
        let ends = &self.topology.edges;
        let sender = ends[edge].from;
        // A kernel with one input takes from a full edge as soon as it can.
        let mut left = vec![ends[edge].to];
        seen.begin(self.seats.len());
        while let Some(kernel) = left.pop() {
            if kernel == sender {
                return true;
            }
            let seat = &self.seats[kernel];
            if seen.again(kernel) || seat.done.load(Acquire) || !seat.rests() {
                continue;
            }
            let why = self.look(kernel);
            let above = self.those_above(kernel, why);
            let goes_on = matches!(seat.post, Post::Many(_)) || above.is_empty();
            left.extend(above);
            match why.filter(|_| goes_on) {
                // Its sender waits elsewhere, holds something for it, and is called.
                Some(Why::Empty(edge)) if self.is_called(edge) => {}
                Some(Why::Empty(edge)) => left.push(ends[edge].from),
                Some(Why::Full(edge)) => left.push(ends[edge].to),
                _ => {}
            }
        }
        false
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_round_whose_thread_was_stopped_does_not_put_off_the_next_one() {
        assert_eq!(pause(500, 4), PERIOD);
        assert_eq!(pause(60_000_000, 4), PERIOD, "a time slice of others");
        assert_eq!(pause(5_000_000, 100_000), 32 * 5_000_000, "a graph that is large");
    }
}
