//! Trying to activate a kernel: the one primitive of every scheme.

use super::Post;
use super::midway::Beneath;
use super::stats::At;
use super::worker::Worker;
use crate::block::MOST_BYTES;
use crate::edge::Edge;
use crate::error::{BoxError, Caught, Cause, Payload, catch};
use crate::kernel::{Cx, Held, Host, Outcome, TOO_LONG, Task, Why};
use crate::observe::{Did, Ring};
use crate::scheme::Event;
use crate::topology::Kind;
use std::cell::{Cell, RefCell};
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
/// How long a kernel that had nothing is left alone, in nanoseconds: doubles from the first to the second, so that it is asked at most as long
/// after it has something as it had nothing, and an idle graph wakes a hundred times a second.
const ASK_AGAIN: (u64, u64) = (20_000, 10_000_000);

/// Helps within helps, at most.
const MOST_HELPS: u32 = 32;
/// What a help leaves of the stack, in bytes: half of it, at most so much.
const STACK_LEFT: usize = 512 << 10;

/// What became of an activation: the outcome, unless it failed, which was noted; and the edge on which something was handed on last.
type Ended = (Option<Outcome>, Option<usize>);

impl Worker<'_, '_> {
    /// Runs `kernel` once if it can do something and nobody else is at it, and says what happened.
    pub(crate) fn try_activate(&self, kernel: usize) -> Event {
        let core = self.core;
        let seat = &core.seats[kernel];
        if seat.done.load(Acquire) {
            return Event::Done;
        }
        if let Some(why) = core.look(kernel) {
            if core.scheme.is_counted() {
                self.row.worker.polls.add(1);
            }
            return self.count_refusal(kernel, why);
        }
        let component = core.topology.kernels[kernel].component;
        match &seat.post {
            Post::One(claim) => {
                let event = claim.try_enter(|task| {
                    if task.done {
                        return Event::Done;
                    }
                    core.count_in(component, 1);
                    let ended = self.run_code(kernel, |cx| task.activate(cx));
                    let event = self.conclude(kernel, task, ended);
                    core.count_in(component, -1);
                    event
                });
                event.unwrap_or_else(|| {
                    self.row.kernels[kernel].busy_elsewhere.add(1);
                    Event::Busy
                })
            }
            Post::Many(task) => {
                // Raised before the pop: who sees zero after the input has ended knows that all is done.
                seat.in_flight.fetch_add(1, AcqRel);
                core.count_in(component, 1);
                let beneath = self.enter_shared(seat.rank);
                let ended = self.run_code(kernel, |cx| task.activate(cx));
                self.shared.set(beneath);
                let over = ended.0.is_some_and(|outcome| outcome.why == Why::Done);
                let last = seat.in_flight.fetch_sub(1, AcqRel) == 1;
                if last && self.parallel_is_over(kernel, over) {
                    // What it did not take has destructors, which are somebody else's code.
                    match catch(|| task.drop_input(&self.cx(kernel))) {
                        Ok(lost) => {
                            self.row.worker.lost.add(lost);
                            core.finish(kernel);
                        }
                        Err(causes) => self.fail(kernel, causes),
                    }
                }
                let event = self.event_of(kernel, ended, over && !core.control.is_cancelled());
                core.count_in(component, -1);
                event
            }
        }
    }

    /// Runs the consumer of a full edge within its producer's activation. True if it did something.
    fn help(&self, producer: usize, consumer: usize) -> bool {
        let helped = matches!(self.nest((producer, Beneath::Helps), consumer), Event::Ran { .. } | Event::Done);
        if helped {
            self.row.kernels[consumer].helps.add(1);
        }
        helped
    }

    /// Runs `kernel` within the activation of another one, `outer`.
    pub(super) fn nest(&self, (outer, does): (usize, Beneath), kernel: usize) -> Event {
        let beneath = &self.core.seats[outer];
        let does = matches!(beneath.post, Post::Many(_)).then_some(does);
        let left = self.stack.left();
        if let Some(at) = self.helped_at.get() {
            self.help_frame.set(self.help_frame.get().max(at.saturating_sub(left)));
        }
        let helped_at = self.helped_at.replace(Some(left));
        self.depth.set(self.depth.get() + 1);
        let at = self.row.worker.at.get();
        let above = &self.row.kernels[outer].above;
        let before = above.swap(kernel + 1, Relaxed);
        beneath.midway.cover(does);
        let event = self.try_activate(kernel);
        beneath.midway.uncover(does);
        above.store(before, Relaxed);
        self.row.worker.at.set(at);
        self.depth.set(self.depth.get() - 1);
        self.helped_at.set(helped_at);
        event
    }

    /// Whether there is stack for one more activation within this one: each may take what the largest so far took, and has code of its own.
    pub(super) fn may_help(&self) -> bool {
        let least = STACK_LEFT.min(self.stack.size() / 2) + 2 * self.help_frame.get();
        self.depth.get() < MOST_HELPS && self.stack.left() >= least
    }

    fn count_refusal(&self, kernel: usize, why: Why) -> Event {
        let stats = &self.row.kernels[kernel];
        if let Why::Full(edge) = why
            && self.core.edges[edge].plan.newest
        {
            // It is never full: its taker is in the midst of taking what lies where the last blocks are to go.
            return Event::Full { edge };
        }
        if let Some(ring) = &self.row.ring {
            self.note_wait(ring, why);
        }
        if self.core.scheme.is_counted() {
            match why {
                Why::Empty(edge) => self.row.edges[edge].empty.add(1),
                Why::Full(edge) => self.row.edges[edge].full.add(1),
                Why::Waiting => stats.ticket.add(1),
                Why::Pending => stats.pending.add(1),
                Why::Done | Why::More => {}
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

    /// Notes an edge at which a kernel was left; again and again found so it is noted once.
    pub(super) fn note_wait(&self, ring: &Ring, why: Why) {
        let did = match why {
            Why::Full(edge) => Did::WaitedFull(edge),
            Why::Empty(edge) => Did::WaitedEmpty(edge),
            _ => return,
        };
        if self.waited.replace(Some(did)) != Some(did) {
            let clock = now().as_nanos();
            ring.note(did, clock, clock);
        }
    }

    /// Notes that an edge grew, if it was this worker that let it. True if it has grown.
    pub(super) fn note_growth(&self, edge: usize, grown: Option<bool>) -> bool {
        if let (Some(ring), Some(true)) = (&self.row.ring, grown) {
            let clock = now().as_nanos();
            ring.note(Did::Grew(edge), clock, clock);
        }
        grown.is_some()
    }

    fn cx(&self, kernel: usize) -> Cx<'_> {
        let core = self.core;
        Cx {
            host: self,
            control: &core.control,
            pool: &self.pool,
            pace: &core.seats[kernel].pace,
            hurry: &self.row.hurry,
            beats: &self.row.worker.beats,
            kernel,
            quantum: core.scheme.quantum(),
            taken: Cell::new(0),
            emitted: Cell::new(None),
            whole: Cell::new(false),
            left: Cell::new(false),
            begun: Cell::new(0),
            until_clock: Cell::new(0),
            probes: core.probes.as_deref(),
            carried: RefCell::default(),
        }
    }

    /// Runs the kernel's code, timed now and then.
    fn run_code(&self, kernel: usize, code: impl FnOnce(&Cx<'_>) -> Result<Outcome, BoxError>) -> Ended {
        let stats = &self.row.kernels[kernel];
        let round = self.core.patrol.round();
        if self.core.seats[kernel].ran_in.load(Relaxed) != round {
            self.core.seats[kernel].ran_in.store(round, Relaxed);
        }
        let count = stats.activations.get();
        stats.activations.set(count + 1);
        let stride = match self.core.seats[kernel].pace.block_time.load(Relaxed) {
            _ if stats.timed.get() < STRIDE => 1,
            0..=SHORT => STRIDE,
            _ => 1,
        };
        // Within a timed activation everything is timed, so that what a help costs is not counted twice.
        let timed = self.timing.get() || count.is_multiple_of(stride);
        let (outer, helped) = (self.timing.replace(timed), self.helped_time.replace(0));
        let start = if timed || self.row.ring.is_some() { now() } else { Instant::default() };
        let cx = self.cx(kernel);
        // Raised for a block before this one.
        if self.row.hurry.load(Relaxed) {
            self.row.hurry.store(false, Relaxed);
        }
        self.row.worker.at.set(At::Kernel(kernel).number());
        self.row.worker.in_code.store(true, Relaxed);
        let result = {
            let _task = hint::task(&self.core.topology.kernels[kernel].name);
            catch(|| code(&cx))
        };
        self.row.worker.in_code.store(self.depth.get() > 0, Relaxed);
        if let Some(ring) = &self.row.ring {
            let did = if self.depth.get() > 0 { Did::Helped(kernel) } else { Did::Ran(kernel) };
            ring.note(did, start.as_nanos(), now().as_nanos());
            self.waited.set(None);
        }
        stats.messages.add(cx.taken.get());
        if timed || cx.left.get() {
            let end = now();
            let whole = match cx.begun.get() {
                _ if timed => end.since(start).as_nanos() as u64,
                // It was told to leave, so it took longer than that.
                0 => TOO_LONG + 1,
                begun => end.since(Instant::from_nanos(begun)).as_nanos() as u64,
            };
            let own = whole.saturating_sub(self.helped_time.get());
            self.helped_time.set(helped + whole);
            if timed {
                self.row.worker.busy.add(stats.time(count + 1, own, end.as_nanos()));
            }
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
                return (Some(outcome), cx.emitted.get());
            }
            Ok(Err(error)) => Cause::all_of(error).into_iter().map(|cause| Caught { kernel: None, cause }).collect(),
            Err(caught) => caught,
        };
        self.fail(kernel, causes);
        (None, cx.emitted.get())
    }

    fn fail(&self, kernel: usize, causes: Vec<Caught>) {
        causes.into_iter().for_each(|caught| self.core.fail(caught.kernel.unwrap_or(kernel), caught.cause));
    }

    /// Notes what an activation says of a kernel that runs on one worker at a time, and finishes the kernel if it is over. Under its claim.
    fn conclude(&self, kernel: usize, task: &mut Task<'_>, (outcome, emitted): Ended) -> Event {
        let core = self.core;
        let seat = &core.seats[kernel];
        let cancelled = core.control.is_cancelled();
        let why = outcome.map_or(Why::Done, |outcome| outcome.why);
        let over = outcome.is_some() && why == Why::Done && !cancelled;
        let kind = core.topology.kernels[kernel].kind;
        if matches!(kind, Kind::Ported | Kind::Source { outside: false }) {
            let gave = outcome.is_some_and(|outcome| outcome.blocks > 0) || emitted.is_some();
            self.note_pending(kernel, why, gave, outcome.and_then(|outcome| outcome.ask_in));
        }
        if let Some(outcome) = outcome.filter(|_| kind == Kind::Ported) {
            seat.seen.store(outcome.seen, Relaxed);
            if why == Why::Pending {
                core.stir(kernel, true);
            } else if outcome.idle && !matches!(why, Why::Full(_)) {
                core.stir(kernel, false);
            }
        }
        let said_done = outcome.is_some_and(|outcome| outcome.said_done) && !cancelled;
        if said_done {
            seat.said_done.store(true, Relaxed);
        }
        if over || said_done {
            task.done = over;
            // What it did not take has destructors, which are somebody else's code.
            match catch(|| task.drop_input(&self.cx(kernel))) {
                Ok(lost) => {
                    self.row.worker.lost.add(lost);
                    if over { core.finish(kernel) } else { core.close_early(kernel) }
                }
                Err(causes) => self.fail(kernel, causes),
            }
        }
        self.event_of(kernel, (outcome, emitted), over)
    }

    /// What the policy should know.
    fn event_of(&self, kernel: usize, (outcome, emitted): Ended, over: bool) -> Event {
        let why = outcome.map_or(Why::Done, |outcome| outcome.why);
        let progress = emitted.is_some() || outcome.is_some_and(|outcome| outcome.blocks > 0 || outcome.messages > 0);
        if self.core.scheme.is_restricted() && (progress || over) {
            self.core.ring_neighbours(kernel);
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
        let seat = &self.core.seats[kernel];
        let facts = &self.core.topology.kernels[kernel];
        let Post::Many(task) = &seat.post else { return false };
        let edges = &self.core.edges;
        let hung_up = !facts.outputs.is_empty() && facts.outputs.iter().all(|&edge| edges[edge].is_hung_up());
        // In this order: closed and empty, so whoever took the last block is counted; then nobody in flight, so it was handed on, or left pieces. An
        // activation that began after this one ended may have taken it. Acquire: its spill and its pieces are seen below.
        let ended = task.input_is_over() && seat.in_flight.load(Acquire) == 0 && !task.has_pieces();
        let spilled = |&edge: &usize| edges[edge].has_spill() && !edges[edge].is_hung_up();
        (ended || over && hung_up) && !facts.outputs.iter().any(spilled) && !self.core.control.is_cancelled()
    }

    /// Notes when a kernel that has nothing now may be asked again: after `ask_in` nanoseconds, or ever later while it gives nothing.
    fn note_pending(&self, kernel: usize, why: Why, gave: bool, ask_in: Option<u64>) {
        let seat = &self.core.seats[kernel];
        if why != Why::Pending {
            if seat.pending.load(Relaxed) {
                seat.pending.store(false, Relaxed);
            }
            return;
        }
        let again = if gave || !seat.pending.load(Relaxed) {
            ASK_AGAIN.0
        } else {
            (seat.ask_after.load(Relaxed) * 2).min(ASK_AGAIN.1)
        };
        seat.ask_after.store(again, Relaxed);
        seat.ask_at.store(now().as_nanos().saturating_add(ask_in.unwrap_or(again)), Relaxed);
        if !seat.pending.swap(true, Relaxed) && !self.core.scheme.is_restricted() {
            // Who sleeps without a limit must not go on so: this worker may be busy elsewhere when it is time to ask again.
            self.core.control.bell.ring();
        }
    }

    /// Sets the length of blocks by what a message costs here.
    fn tune(&self, kernel: usize, outcome: &Outcome, nanos: u64) {
        let (seat, facts) = (&self.core.seats[kernel], &self.core.topology.kernels[kernel]);
        if outcome.blocks == 0 {
            return;
        }
        let block_time = (nanos / u64::from(outcome.blocks)).max(1);
        seat.pace.block_time.store(block_time, Relaxed);
        if facts.is_source() {
            let now = u64::from(seat.pace.give_len.load(Relaxed));
            let length = (now * SOURCE_GIVE / block_time).clamp(1, now * 4).min(MOST_GIVEN);
            seat.pace.give_len.store(length as u32, Relaxed);
            return;
        }
        if outcome.messages == 0 {
            return;
        }
        let target = if facts.is_parallel() { PARALLEL_BLOCK } else { SEQUENTIAL_BLOCK };
        let wished = (target * outcome.messages / nanos.max(1)).max(1);
        // Of what a firing takes at several inputs each has its share.
        let all: usize = facts.rates.iter().map(|(_, pop)| pop).sum();
        let firings = wished.checked_div(all as u64).unwrap_or(1).max(1);
        for (port, edge) in facts.inputs.iter().map(|&edge| &self.core.edges[edge]).enumerate() {
            let (keeps, share) = facts.rates.get(port).map_or((0, wished), |&(peek, pop)| {
                let keeps = (peek - pop) as u64;
                (keeps, firings * pop as u64 + keeps)
            });
            let length = next_length(edge, share, keeps);
            if length as usize != edge.block_len() {
                edge.set_block_len(length);
            }
        }
    }
}

impl Host for Worker<'_, '_> {
    fn count_in(&self, component: Option<usize>, by: i64) {
        self.core.count_in(component, by);
    }

    fn sent(&self, kernel: usize, edge: &Edge) {
        if let Some(ring) = &self.row.ring
            && edge.sent_blocks() % 16 == 1
        {
            let clock = now().as_nanos();
            ring.note(Did::Held { edge: edge.plan.id, messages: edge.messages() as u64 }, clock, clock);
        }
        let (core, bell) = (self.core, &self.core.control.bell);
        if bell.has_sleepers() {
            // The first block is this worker's own to carry on; waking somebody for it would only move it to another core.
            let slow = [edge.plan.to, kernel].iter().any(|&kernel| core.seats[kernel].pace.is_worth_waking());
            if (slow || edge.backlog() > 1) && bell.ring_for(std::iter::once(edge.plan.to)) {
                self.make_way();
            }
        }
    }

    fn took(&self, kernel: usize) {
        let core = self.core;
        let producers = || core.topology.kernels[kernel].inputs.iter().map(|&edge| core.topology.edges[edge].from);
        if core.seats[kernel].pace.is_worth_waking() && core.control.bell.ring_for(producers()) {
            self.make_way();
        }
        core.call_midway(kernel);
    }

    fn share(&self, kernel: usize, pieces: usize) {
        let bell = &self.core.control.bell;
        let woken =
            (0..pieces.min(self.core.rows.len())).take_while(|_| bell.ring_for(std::iter::once(kernel))).count();
        if woken > 0 {
            self.make_way();
        }
    }

    fn make_room(&self, edge: &Edge) -> bool {
        let on_full = self.core.scheme.actions();
        if on_full.grow && self.note_growth(edge.plan.id, edge.grow()) {
            return true;
        }
        on_full.help
            && self.may_help()
            && !self.waits_beneath(edge.plan.to)
            && self.help(edge.plan.from, edge.plan.to)
            && !edge.is_full()
    }

    fn wait_for_room(&self, edge: &Edge, held: &mut dyn Held) -> bool {
        self.wait_midway(edge, held)
    }

    fn wait_for_turn(&self, edge: &Edge, is_up: &dyn Fn() -> bool) -> bool {
        self.wait_in_line(edge, is_up)
    }

    fn turned(&self, kernel: usize) {
        self.core.call_line(kernel);
    }

    fn arrived(&self, pair: usize, start: u64, end: u64) {
        if let Some(ring) = &self.row.ring {
            ring.note(Did::Arrived(pair), start, end);
        }
    }

    fn note(&self, kernel: usize, panics: Vec<Payload>) {
        self.core.note(kernel, panics);
    }
}

/// A step from the present length of blocks to the one wished for: down at once, up by a factor of four, within the bytes of a block; but twice as
/// long as what is copied from one batch of firings to the next, `keeps`.
fn next_length(edge: &Edge, wished: u64, keeps: u64) -> u32 {
    let now = edge.block_len() as u64;
    let most = ((MOST_BYTES / edge.plan.message_bytes.max(1)).max(1) as u64).max(2 * keeps);
    let mut length = wished.min(now * 4).min(most);
    if let Some((peek, pop)) = edge.plan.window {
        // Enough windows in a block that the messages which two blocks share are few.
        length = length.max((peek.saturating_sub(pop)) as u64 * 2).max((pop as u64).min(most));
    }
    // Small changes are not worth a change.
    if length.abs_diff(now) * 4 <= now && length < most { now as u32 } else { length as u32 }
}
