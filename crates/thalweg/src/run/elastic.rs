//! How many workers a graph is worth, found by trying.
//!
//! A second worker makes a cheap short pipeline slower, since its blocks change cores, and a costly one twice as fast. So the first
//! worker now and then compares: how much work was done in a millisecond with this many workers, and with more or fewer. Work is
//! what the same messages cost with the fewer workers of the two, so a source that runs ahead into empty queues does not count as a gain.
//!
//! What a graph does in its first moments tells nothing: memory is touched for the first time, and blocks are small. So a second worker
//! is called first, and whether it helps is judged once both have worked for a while, by sending it away again for a millisecond.

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
/// How long it holds that more workers are no gain, or a small one: the graph may only just have begun, and a millisecond may mislead.
/// Doubles up to [`HOLD`].
const DOUBT: u64 = 5_000_000;
/// How long it holds that they are a clear gain.
const HOLD: u64 = 50_000_000;
/// The gain that twice as many workers must bring, as a share of what they would bring at best.
const WORTH: f64 = 0.08;
/// The share that is a clear gain.
const CLEAR: f64 = 0.25;
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

/// What was done in a phase.
#[derive(Debug, Default)]
struct Sample {
    workers: usize,
    nanos: u64,
    /// Messages and nanoseconds per kernel.
    done: Vec<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The first moments of the run.
    Begin,
    /// Measuring the present number.
    Base,
    /// More, or fewer: not measured yet.
    Settle,
    /// Measuring that, to compare it with the sample kept.
    Trial,
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
    /// The other side of the comparison.
    base: Sample,
    /// Try fewer next.
    down: bool,
    /// How long the next verdict holds if it is not a clear gain.
    doubt: u64,
}

impl<'a> Elastic<'a> {
    pub(crate) fn new(worker: &Worker<'_>, hire: &'a dyn Fn(usize)) -> Self {
        let most = worker.core.rows.len();
        let target = worker.core.target.load(Relaxed);
        let mut elastic = Self {
            hire,
            hired: 1,
            most,
            phase: Phase::Begin,
            since: 0,
            until: if target < most { 0 } else { u64::MAX },
            start: Vec::new(),
            base: Sample::default(),
            down: true,
            doubt: DOUBT,
        };
        elastic.hire_up_to(target);
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
        self.start.clear();
        self.start.extend((0..worker.core.kernels.len()).map(|kernel| Self::totals(worker, kernel)));
    }

    /// What was done since the phase began.
    fn sample(&self, worker: &Worker<'_>, clock: u64, workers: usize) -> Sample {
        let since = |(kernel, &(messages, busy)): (usize, &(u64, u64))| {
            let (messages_now, busy_now) = Self::totals(worker, kernel);
            (messages_now - messages, busy_now.saturating_sub(busy))
        };
        let done = self.start.iter().enumerate().map(since).collect();
        Sample { workers, nanos: (clock - self.since).max(1), done }
    }

    fn set_target(&mut self, worker: &Worker<'_>, target: usize) {
        self.hire_up_to(target);
        worker.core.target.store(target, Release);
        worker.core.bench.call();
        // Who should sit out now may be asleep; who was called back should find what there is.
        worker.core.control.bell.ring_all();
    }

    /// Changes the number of workers, and measures once that has settled.
    fn try_with(&mut self, worker: &Worker<'_>, clock: u64, target: usize, base: Sample) {
        self.base = base;
        self.set_target(worker, target);
        self.begin(worker, clock, Phase::Settle, SETTLE);
    }

    fn turn(&mut self, worker: &Worker<'_>, clock: u64) {
        let target = worker.core.target.load(Relaxed);
        if self.since == 0 {
            // A kernel that was declared parallel is likely worth spreading, and so is one that takes long: do not wait to try.
            let eager = |state: &State| state.parallel || state.block_time.load(Relaxed) > LONG;
            let long = worker.core.kernels.iter().any(|state| eager(state));
            self.begin(worker, clock, Phase::Begin, if long { TRIAL / 20 } else { TRIAL / 4 });
            return;
        }
        let sample = self.sample(worker, clock, target);
        match self.phase {
            Phase::Begin if sample.is_idle() => self.begin(worker, clock, Phase::Hold, self.doubt),
            Phase::Begin => self.try_with(worker, clock, target + 1, Sample::default()),
            // Nothing to compare with yet.
            Phase::Settle if self.base.workers == 0 => self.begin(worker, clock, Phase::Base, TRIAL),
            Phase::Settle => self.begin(worker, clock, Phase::Trial, TRIAL),
            Phase::Hold => self.begin(worker, clock, Phase::Base, TRIAL),
            Phase::Base => {
                let down = self.down && target > 1;
                let next = if down { target - (target / 4).max(1) } else { (target * 2).min(self.most) };
                self.down = !down;
                if next == target || (next > target && sample.is_idle()) {
                    self.begin(worker, clock, Phase::Hold, self.doubt);
                } else {
                    self.try_with(worker, clock, next, sample);
                }
            }
            Phase::Trial => self.judge(worker, clock, sample),
        }
    }

    fn judge(&mut self, worker: &Worker<'_>, clock: u64, trial: Sample) {
        let climbed = trial.workers > self.base.workers;
        let base = std::mem::take(&mut self.base);
        let (fewer, more) = if climbed { (base, trial) } else { (trial, base) };
        // 1 if each further worker brings as much as those that there were.
        let share = (more.gain_over(&fewer) - 1.0) / (more.workers as f64 / fewer.workers as f64 - 1.0);
        let keep_more = share > WORTH;
        if keep_more && more.workers < self.most && (climbed || fewer.workers == 1) {
            let next = (more.workers * 2).min(self.most);
            self.try_with(worker, clock, next, more);
            return;
        }
        if keep_more != climbed {
            self.set_target(worker, if keep_more { more.workers } else { fewer.workers });
        }
        self.down = keep_more;
        let length = if share > CLEAR { HOLD } else { self.doubt };
        self.doubt = if share > CLEAR { DOUBT } else { (self.doubt * 2).min(HOLD) };
        self.begin(worker, clock, Phase::Hold, length);
    }
}

impl Sample {
    /// Whether a single worker had time to spare.
    fn is_idle(&self) -> bool {
        let busy: u64 = self.done.iter().map(|&(_, busy)| busy).sum();
        self.workers == 1 && (busy as f64) < BUSY * self.nanos as f64
    }

    /// How much more work was done per nanosecond than in `fewer`, if each message costs what it cost there.
    fn gain_over(&self, fewer: &Self) -> f64 {
        let (mut ours, mut theirs) = (0.0, 0.0);
        for (&(messages, busy), &(messages_there, busy_there)) in self.done.iter().zip(&fewer.done) {
            let cost = if messages_there > 0 {
                busy_there as f64 / messages_there as f64
            } else {
                busy as f64 / messages.max(1) as f64
            };
            ours += cost * messages as f64;
            theirs += cost * messages_there as f64;
        }
        (ours / self.nanos as f64) / (theirs / fewer.nanos as f64).max(f64::MIN_POSITIVE)
    }
}

impl fmt::Debug for Elastic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elastic").field("phase", &self.phase).field("hired", &self.hired).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_counts_at_the_price_of_fewer_workers() {
        let one = Sample { workers: 1, nanos: 1000, done: vec![(100, 500), (100, 500)] };
        let gain = |done: &[(u64, u64)]| Sample { workers: 2, nanos: 1000, done: done.to_vec() }.gain_over(&one);
        assert_eq!(gain(&[(200, 1000), (200, 1000)]), 2.0);
        // Busier with the same messages, since their lines now come from the other core.
        assert_eq!(gain(&[(100, 1000), (100, 1000)]), 1.0);
        // The source ran ahead by a tenth.
        assert_eq!(gain(&[(110, 550), (90, 450)]), 1.0);
    }

    #[test]
    fn a_kernel_that_did_nothing_with_fewer_workers_counts_at_its_own_price() {
        let one = Sample { workers: 1, nanos: 1000, done: vec![(10, 1000), (0, 0)] };
        let two = Sample { workers: 2, nanos: 1000, done: vec![(10, 1000), (5, 500)] };
        assert_eq!(two.gain_over(&one), 1.5);
    }
}
