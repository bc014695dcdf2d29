//! How many workers a graph is worth, found by trying.
//!
//! A second worker makes a cheap short pipeline slower, since its blocks change cores, and a costly one twice as fast. So the first
//! worker now and then compares: how much work was done in a millisecond with this many workers, and with one more or one fewer. Work is
//! what the same messages cost when one worker did them all, so a source that runs ahead into empty queues does not count as a gain.

use crate::run::State;
use crate::run::worker::Worker;
use std::fmt;
use thalweg_sync::atomic::Ordering::*;
use thalweg_sync::park::{Parker, Unparker};
use thalweg_sync::sync::Mutex;

/// How long one side of a comparison takes, in nanoseconds.
const TRIAL: u64 = 1_000_000;
/// How long a changed number of workers runs before it is measured: a thread has to start, and blocks have to spread.
const SETTLE: u64 = 300_000;
/// How long it holds that more workers are no gain: the graph may only just have begun. Doubles up to [`HOLD`].
const DOUBT: u64 = 5_000_000;
/// How long it holds that they are one.
const HOLD: u64 = 50_000_000;
/// The gain that a further worker must bring.
const WORTH: f64 = 1.08;
/// A worker that is busy for less of its time than this needs no help.
const BUSY: f64 = 0.6;
/// A block that takes longer than this is worth spreading at once.
const LONG: u64 = 50_000;

/// Where workers sit that are not needed now.
#[derive(Debug, Default)]
pub(crate) struct Bench {
    seats: Mutex<Vec<Unparker>>,
}

impl Bench {
    /// Sits until `over`. Who changes what `over` looks at calls [`call`](Self::call) after that.
    pub(crate) fn wait(&self, _worker: usize, parker: &Parker, over: impl Fn() -> bool) {
        loop {
            let mut seats = self.seats.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            // Under the lock: `call` comes after the change, so it finds the seat taken or we see the change.
            if over() {
                return;
            }
            seats.push(parker.unparker());
            drop(seats);
            parker.park();
        }
    }

    /// Calls everybody back to look again.
    pub(crate) fn call(&self) {
        let mut seats = self.seats.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        seats.drain(..).for_each(|seat| seat.unpark());
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Measuring the present number.
    Base,
    /// One more, or one fewer: not measured yet.
    Settle { base: f64, from: usize },
    /// Measuring that.
    Trial { base: f64, from: usize },
    /// Going on with what was found.
    Hold,
}

pub(crate) struct Elastic<'a> {
    hire: &'a dyn Fn(usize),
    hired: usize,
    most: usize,
    phase: Phase,
    since: u64,
    until: u64,
    /// Messages and nanoseconds per kernel at the start of the phase.
    start: Vec<(u64, u64)>,
    /// What a message costs per kernel when one worker does all, in nanoseconds.
    cost: Vec<f64>,
    /// Trial downwards next time.
    down: bool,
    /// How long the next "no gain" holds.
    doubt: u64,
}

impl<'a> Elastic<'a> {
    pub(crate) fn new(worker: &Worker<'_>, hire: &'a dyn Fn(usize)) -> Self {
        let most = worker.core.rows.len();
        let kernels = worker.core.kernels.len();
        let target = worker.core.target.load(Relaxed);
        let mut elastic = Self {
            hire,
            hired: 1,
            most,
            phase: if target < most { Phase::Base } else { Phase::Hold },
            since: 0,
            until: 0,
            start: vec![(0, 0); kernels],
            cost: vec![0.0; kernels],
            down: false,
            doubt: DOUBT,
        };
        elastic.hire_up_to(target);
        if target == most {
            elastic.until = u64::MAX;
        }
        elastic
    }

    fn hire_up_to(&mut self, count: usize) {
        while self.hired < count {
            (self.hire)(self.hired);
            self.hired += 1;
        }
    }

    fn totals(worker: &Worker<'_>, kernel: usize) -> (u64, u64) {
        let stats = worker.core.rows.iter().map(|row| &row.kernels[kernel]);
        let sent: u64 =
            worker.core.kernels[kernel].outputs.iter().map(|&edge| worker.core.edges[edge].sent_messages()).sum();
        let (messages, busy) = stats.fold((0, 0), |(m, b), stats| (m + stats.messages.get(), b + stats.busy.get()));
        (if worker.core.kernels[kernel].source { sent } else { messages }, busy)
    }

    /// Looks whether it is time to compare. Costs nothing unless the last activation was timed.
    #[inline]
    pub(crate) fn look(&mut self, worker: &Worker<'_>) {
        let clock = worker.clock.get();
        if clock >= self.until && clock != 0 {
            self.turn(worker, clock);
        }
    }

    fn begin(&mut self, worker: &Worker<'_>, clock: u64, phase: Phase, length: u64) {
        self.phase = phase;
        self.since = clock;
        self.until = clock + length;
        for kernel in 0..self.start.len() {
            self.start[kernel] = Self::totals(worker, kernel);
        }
    }

    /// Work done since the start of the phase, per worker-nanosecond of one worker.
    fn rate(&mut self, worker: &Worker<'_>, clock: u64, learn: bool) -> f64 {
        let mut work = 0.0;
        for kernel in 0..self.start.len() {
            let (messages, busy) = Self::totals(worker, kernel);
            let (messages, busy) = (messages - self.start[kernel].0, busy.saturating_sub(self.start[kernel].1));
            if messages == 0 {
                continue;
            }
            if learn || self.cost[kernel] == 0.0 {
                self.cost[kernel] = busy as f64 / messages as f64;
            }
            work += self.cost[kernel] * messages as f64;
        }
        work / (clock - self.since).max(1) as f64
    }

    fn set_target(&mut self, worker: &Worker<'_>, target: usize) {
        self.hire_up_to(target);
        worker.core.target.store(target, Release);
        worker.core.bench.call();
        // Who should sit out now may be asleep; who was called back should find what there is.
        worker.core.control.bell.ring_all();
    }

    fn turn(&mut self, worker: &Worker<'_>, clock: u64) {
        let target = worker.core.target.load(Relaxed);
        if self.since == 0 {
            // A kernel that was declared parallel is likely worth spreading, and so is one that takes long: do not wait to try.
            let eager = |state: &State| state.parallel || state.block_time.load(Relaxed) > LONG;
            let long = worker.core.kernels.iter().any(|state| eager(state));
            self.begin(worker, clock, Phase::Base, if long { TRIAL / 20 } else { TRIAL / 4 });
            return;
        }
        match self.phase {
            Phase::Base => {
                let base = self.rate(worker, clock, target == 1);
                let down = self.down && target > 1;
                let next = if down { target - 1 } else { (target * 2).min(self.most) };
                self.down = !down;
                if next == target || (next > target && base < BUSY * target as f64 && target == 1) {
                    self.begin(worker, clock, Phase::Hold, self.doubt);
                    return;
                }
                self.set_target(worker, next);
                self.begin(worker, clock, Phase::Settle { base, from: target }, SETTLE);
            }
            Phase::Settle { base, from } => self.begin(worker, clock, Phase::Trial { base, from }, TRIAL),
            Phase::Trial { base, from } => {
                let trial = self.rate(worker, clock, target == 1);
                let (more, fewer) = if target > from { (trial, base) } else { (base, trial) };
                let keep_more = more > fewer * WORTH;
                let best = if keep_more { target.max(from) } else { target.min(from) };
                if best != target {
                    self.set_target(worker, best);
                }
                let climbing = keep_more && target > from && target < self.most;
                self.down = keep_more && !climbing;
                let length = if keep_more { HOLD } else { self.doubt };
                self.doubt = if keep_more { DOUBT } else { (self.doubt * 2).min(HOLD) };
                let (phase, length) = if climbing { (Phase::Base, TRIAL) } else { (Phase::Hold, length) };
                self.begin(worker, clock, phase, length);
            }
            Phase::Hold => self.begin(worker, clock, Phase::Base, TRIAL),
        }
    }
}

impl fmt::Debug for Elastic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elastic").field("phase", &self.phase).field("hired", &self.hired).finish_non_exhaustive()
    }
}
