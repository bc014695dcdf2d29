//! How many workers a graph is worth, found by trying.
//!
//! A second worker makes a cheap short pipeline slower, since its blocks change cores, and a costly one twice as fast. So the first
//! worker now and then compares: how much work was done in a short time with this many workers, and with more or fewer. It does so three
//! times, back and forth, and the median counts, or twice if both say the same: a system may take a CPU away for as long as one takes. Work is
//! counted in messages, each at what one has cost its kernel so far, so a source that runs ahead into empty queues hardly counts as a
//! gain. (What they cost within that time would be a guess: of the short activations one in sixteen is timed.)
//!
//! What a graph does in its first moments tells nothing: memory is touched for the first time, and blocks are small. So a second worker
//! is called first, and whether it helps is judged once both have worked for a while, by sending it away again.
//!
//! That takes some milliseconds for each number of workers. So at first there are up to twice as many every 50 µs, unmeasured, while there is work for them that
//! is clearly [worth it](super::worth). What that has led to is measured then, and if fewer
//! are better, one goes on down.
//!
//! While the first worker is at a message that takes long, it compares nothing. So where a kernel is parallel, the second one is there from the
//! start, and [watches](super::crew::watch) for a while before it sleeps on the bench.
//!
//! The run may be [allowed](super::bench) fewer than there could be, and the system may take [hardware threads](super::follow) away. Then no more are tried, and when that changes all begins anew.

use super::crew::set_target;
use super::worker::Worker;
use super::worth::{totals, worth};
use std::fmt;
use thalweg_sync::atomic::Ordering::*;

/// How long one side of a comparison takes, in nanoseconds.
const TRIAL: u64 = 400_000;
/// How many comparisons, of which the median counts.
const ROUNDS: usize = 3;
/// How long a changed number of workers runs before it is measured: a thread has to start, and blocks have to spread.
const SETTLE: u64 = 300_000;
/// How long it holds that more workers are no gain, or a small one: the graph may only just have begun, and a short time may mislead.
/// Doubles up to [`HOLD`].
const DOUBT: u64 = 5_000_000;
/// How long it holds that they are a clear gain. Doubles up to [`SURE`].
const HOLD: u64 = 50_000_000;
const SURE: u64 = 400_000_000;
/// The gain that twice as many workers must bring, as a share of what they would bring at best.
const WORTH: f64 = 0.08;
/// The share that is a clear gain.
const CLEAR: f64 = 0.25;
/// The share that says so at once.
const STEEP: f64 = 0.5;
/// How long a number of workers runs at first before it is looked whether there is work for more, in nanoseconds.
const RAMP: u64 = 50_000;
/// How long it is looked whether there is work for more, from the start and from the last that came: blocks are short at first, and cost little.
const RAMPS: u64 = 500_000;
/// How long it takes to see that more are allowed, while fewer are than there could be.
const BOUNDED: u64 = 2_000_000;
/// A worker that has nothing to do for more of its time than this needs no help.
const IDLE: f64 = 0.4;
/// A block that takes longer than this outlasts a comparison.
const SLOW: u64 = 1_000_000;
/// What was done in a phase.
#[derive(Debug, Default)]
struct Sample {
    workers: usize,
    nanos: u64,
    /// Nanoseconds in which the first worker looked for work or slept.
    idle: u64,
    /// Messages per kernel.
    messages: Vec<u64>,
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
    hire: &'a dyn Fn(usize) -> bool,
    /// How many there are at least, and at most.
    least: usize,
    most: usize,
    /// How many it asked for, and how many were allowed when that was looked at last.
    asked: usize,
    allowed: usize,
    phase: Phase,
    until: u64,
    /// When what was found is over, beyond looks at what is allowed.
    held_until: u64,
    /// Until when more are called without a comparison.
    ramps_until: u64,
    /// All that was done before the phase.
    start: Sample,
    /// What was done in it, once it is over.
    sample: Sample,
    /// The other side of the comparison.
    base: Sample,
    /// How many workers there were before the comparisons.
    present: usize,
    /// What each comparison so far says about the larger number.
    gains: Vec<f64>,
    /// Try fewer next.
    down: bool,
    /// How long the next verdict holds if it is not a clear gain.
    doubt: u64,
    /// And if it is.
    hold: u64,
}

impl<'a> Elastic<'a> {
    pub(crate) fn new(worker: &Worker<'_, '_>, hire: &'a dyn Fn(usize) -> bool) -> Self {
        let core = worker.core;
        let target = core.target.load(Relaxed);
        let watched = target < core.rows.len() && core.topology.kernels.iter().any(|facts| facts.is_parallel());
        let first = target + usize::from(watched);
        let most = core.crew.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).hire_up_to(first, hire);
        Self {
            hire,
            least: target,
            most,
            asked: target,
            allowed: usize::MAX,
            phase: Phase::Begin,
            until: if target < most && core.scheme.is_elastic() { 0 } else { u64::MAX },
            held_until: 0,
            ramps_until: 0,
            start: Sample::default(),
            sample: Sample::default(),
            base: Sample::default(),
            present: 0,
            gains: Vec::with_capacity(ROUNDS),
            down: true,
            doubt: DOUBT,
            hold: HOLD,
        }
    }

    /// Nanoseconds that a block of a kernel took so far, on the average: a single one may have been interrupted.
    fn block_cost(worker: &Worker<'_, '_>, kernel: usize) -> u64 {
        let stats = worker.core.rows.iter().map(|row| &row.kernels[kernel]);
        let (blocks, busy) = stats.fold((0, 0), |(b, t), stats| (b + stats.blocks.get(), t + stats.busy.get()));
        busy.checked_div(blocks).unwrap_or(0)
    }

    /// Looks whether it is time to compare. Costs nothing unless the last activation was timed.
    #[inline]
    pub(crate) fn look(&mut self, worker: &Worker<'_, '_>) {
        let clock = worker.clock.get();
        if clock >= self.until && clock != 0 {
            self.turn(worker, clock);
        }
    }

    fn begin(&mut self, worker: &Worker<'_, '_>, clock: u64, phase: Phase, length: u64) {
        self.phase = phase;
        self.until = clock + length;
        if phase == Phase::Hold && self.allowed < self.most {
            self.held_until = self.until;
            self.until = clock + length.min(BOUNDED);
        }
        self.start.take(worker, clock);
    }

    /// Looks at what is allowed. If that has changed, what was measured does not count, and all begins as it did first. False if there is nothing else to do now.
    fn follow(&mut self, worker: &Worker<'_, '_>, clock: u64) -> bool {
        let by_others = worker.core.control.eyes.pane().map_or(usize::MAX, |pane| pane.allowed());
        let allowed = by_others.min(worker.core.ceiling.load(Relaxed));
        if allowed != self.allowed {
            self.allowed = allowed;
            self.gains.clear();
            (self.base.workers, self.held_until) = (0, 0);
            (self.phase, self.start.nanos) = (Phase::Begin, 0);
        }
        if self.phase == Phase::Hold && clock < self.held_until {
            self.until = self.held_until.min(clock + BOUNDED);
            return false;
        }
        true
    }

    fn set_target(&mut self, worker: &Worker<'_, '_>, target: usize) {
        self.asked = target;
        self.most = set_target(worker, target, self.hire);
    }

    /// Changes the number of workers, and measures once that has settled.
    fn try_with(&mut self, worker: &Worker<'_, '_>, clock: u64, target: usize) {
        self.set_target(worker, target);
        self.begin(worker, clock, Phase::Settle, SETTLE);
    }

    fn turn(&mut self, worker: &Worker<'_, '_>, clock: u64) {
        if !self.follow(worker, clock) {
            return;
        }
        let (target, most) = (worker.core.target.load(Relaxed), self.most.min(self.allowed));
        // A source gives on one worker whatever their number.
        let is_slow = |kernel: usize| {
            !worker.core.topology.kernels[kernel].is_source()
                && worker.core.seats[kernel].pace.block_time.load(Relaxed) >= SLOW
                && Self::block_cost(worker, kernel) >= SLOW
        };
        if (0..worker.core.seats.len()).any(is_slow) {
            // Who is not needed finds nothing, and sleeps. Those that are not allowed come as soon as they are.
            if self.asked.max(target) < self.most {
                self.set_target(worker, self.most);
            }
            self.gains.clear();
            self.begin(worker, clock, Phase::Hold, HOLD);
            return;
        }
        if self.start.nanos == 0 {
            // That a kernel is parallel is believed for a while: in a short run the time without the second worker would show.
            self.down = !worker.core.topology.kernels.iter().any(|facts| facts.is_parallel());
            self.ramps_until = clock + RAMPS;
            self.begin(worker, clock, Phase::Begin, RAMP);
            return;
        }
        self.sample.take(worker, clock);
        self.sample.subtract(&self.start, target);
        // A look may come late, as the first worker was at a message that takes long.
        let more = match self.phase {
            Phase::Begin => worth(worker.core, target).min(target).min(most.saturating_sub(target)),
            _ => 0,
        };
        match self.phase {
            Phase::Begin if more > 0 => {
                self.set_target(worker, target + more);
                self.ramps_until = clock + RAMPS;
                self.begin(worker, clock, Phase::Begin, RAMP);
            }
            Phase::Begin if self.ramps_until > clock => self.begin(worker, clock, Phase::Begin, RAMP),
            // So many, as fast as they could come. Whether fewer do as well is measured once that has settled.
            Phase::Begin if target > self.least => {
                self.down = true;
                self.begin(worker, clock, Phase::Settle, SETTLE);
            }
            Phase::Begin if target >= most || self.sample.is_idle() => {
                self.begin(worker, clock, Phase::Hold, self.doubt)
            }
            Phase::Begin => self.try_with(worker, clock, target + 1),
            // Nothing to compare with yet.
            Phase::Settle if self.base.workers == 0 => self.begin(worker, clock, Phase::Base, TRIAL),
            Phase::Settle => self.begin(worker, clock, Phase::Trial, TRIAL),
            Phase::Hold => self.begin(worker, clock, Phase::Base, TRIAL),
            Phase::Base if !self.gains.is_empty() => {
                let other = self.base.workers;
                std::mem::swap(&mut self.base, &mut self.sample);
                self.try_with(worker, clock, other);
            }
            Phase::Base => {
                let down = self.down && target > self.least;
                let next = if down { target - (target / 4).max(1) } else { (target * 2).min(most) };
                self.down = !down;
                if next == target || most < target {
                    self.begin(worker, clock, Phase::Hold, HOLD);
                } else if next > target && self.sample.is_idle() {
                    self.begin(worker, clock, Phase::Hold, self.doubt);
                } else {
                    self.present = target;
                    std::mem::swap(&mut self.base, &mut self.sample);
                    self.try_with(worker, clock, next);
                }
            }
            Phase::Trial => self.compare(worker, clock),
        }
    }

    /// One comparison is made: another one the other way round, from the number that there is now, or the verdict.
    fn compare(&mut self, worker: &Worker<'_, '_>, clock: u64) {
        let (one, other) = (&self.base, &self.sample);
        if one.workers == other.workers {
            // Who watched called everybody meanwhile.
            self.gains.clear();
            self.begin(worker, clock, Phase::Hold, self.doubt);
            return;
        }
        let (fewer, more) = if one.workers < other.workers { (one, other) } else { (other, one) };
        let (few, many) = (fewer.workers, more.workers);
        self.gains.push(more.gain_over(fewer, |kernel| {
            let (messages, busy) = totals(worker.core, kernel);
            busy as f64 / messages.max(1) as f64
        }));
        if !is_decided(&self.gains, few, many, self.present) {
            self.begin(worker, clock, Phase::Base, TRIAL);
        } else {
            self.judge(worker, clock, few, many);
        }
    }

    fn judge(&mut self, worker: &Worker<'_, '_>, clock: u64, few: usize, many: usize) {
        let share = share(&mut self.gains, few, many);
        self.gains.clear();
        let climbed = many > self.present;
        let keep_more = share > WORTH;
        self.set_target(worker, if keep_more { many } else { few });
        if keep_more && many < self.most.min(self.allowed) && (climbed || few == 1) {
            self.down = false;
            self.begin(worker, clock, Phase::Settle, SETTLE);
            self.base.workers = 0;
            return;
        }
        if !keep_more && few < self.present && few > self.least {
            // Who finds that fewer do goes on down.
            self.down = true;
            self.begin(worker, clock, Phase::Settle, SETTLE);
            self.base.workers = 0;
            return;
        }
        self.down = keep_more;
        let clear = share > CLEAR;
        let length = if clear { self.hold } else { self.doubt };
        (self.doubt, self.hold) =
            if clear { (DOUBT, (self.hold * 2).min(SURE)) } else { ((self.doubt * 2).min(HOLD), HOLD) };
        if let (false, Some(pane)) = (keep_more, worker.core.control.eyes.pane()) {
            pane.judge(few, clock + length);
        }
        self.begin(worker, clock, Phase::Hold, length);
    }
}

/// Whether no further comparison changes the verdict, as the median of three lies between any two of them. One is enough for leaving it at the `present`
/// number if that is far better: it is doubted again later, and each comparison costs what fewer workers do less.
fn is_decided(gains: &[f64], few: usize, many: usize, present: usize) -> bool {
    let verdict = |gain: f64| {
        let share = share(&mut [gain], few, many);
        (share > WORTH, share > CLEAR)
    };
    match gains {
        [one] => many == present && share(&mut [*one], few, many) > STEEP,
        [one, other] => verdict(*one) == verdict(*other),
        _ => gains.len() == ROUNDS,
    }
}

/// What the median of `gains` says that `many` workers bring beyond `few`: 1 if each further worker brings as much as those that there were.
fn share(gains: &mut [f64], few: usize, many: usize) -> f64 {
    gains.sort_by(f64::total_cmp);
    (gains[gains.len() / 2] - 1.0) / (many as f64 / few as f64 - 1.0)
}

impl Sample {
    /// All that was done until now.
    fn take(&mut self, worker: &Worker<'_, '_>, clock: u64) {
        self.nanos = clock;
        self.idle = worker.row.worker.idle.get();
        self.messages.clear();
        self.messages.extend((0..worker.core.seats.len()).map(|kernel| totals(worker.core, kernel).0));
    }

    /// Leaves what `workers` workers did since `start`.
    fn subtract(&mut self, start: &Self, workers: usize) {
        self.workers = workers;
        self.nanos = (self.nanos - start.nanos).max(1);
        self.idle -= start.idle;
        self.messages.iter_mut().zip(&start.messages).for_each(|(now, then)| *now -= then);
    }

    /// Whether a single worker had time to spare.
    fn is_idle(&self) -> bool {
        self.workers == 1 && self.idle as f64 > IDLE * self.nanos as f64
    }

    /// How much more work was done per nanosecond than in `fewer`, if a message costs each kernel its `price`.
    fn gain_over(&self, fewer: &Self, price: impl Fn(usize) -> f64) -> f64 {
        let rate = |sample: &Self| {
            let work = |(kernel, &messages): (usize, &u64)| messages as f64 * price(kernel);
            sample.messages.iter().enumerate().map(work).sum::<f64>() / sample.nanos as f64
        };
        rate(self) / rate(fewer).max(f64::MIN_POSITIVE)
    }
}

impl fmt::Debug for Elastic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elastic").field("phase", &self.phase).field("most", &self.most).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::crew::Crew;
    use crate::exec::worth::{WORTH_MOVING, WORTH_SHARING};
    use crate::observe::{self, By, Observed};
    use crate::prelude::*;

    #[test]
    fn a_source_that_runs_ahead_is_no_gain() {
        let sample = |workers, messages: &[u64]| Sample { workers, nanos: 1000, idle: 0, messages: messages.to_vec() };
        let one = sample(1, &[100, 100]);
        let percent = |messages: &[u64], prices: &[f64]| {
            let gain = sample(2, messages).gain_over(&one, |kernel| prices[kernel]);
            (gain * 100.0).round() as u64
        };
        assert_eq!(percent(&[200, 200], &[5.0, 5.0]), 200);
        assert_eq!(percent(&[150, 100], &[1.0, 99.0]), 101, "the source ran ahead");
        assert_eq!(percent(&[100, 150], &[1.0, 99.0]), 150);
    }

    /// Lets `act` see a run of a source and a sink with one of eight workers; how many there are then, and for how long.
    fn after(act: impl FnOnce(&mut Elastic<'_>, &Worker<'_, '_>)) -> (usize, u64) {
        let mut graph = Graph::new();
        let (source, sink) = (graph.source(0..0_u64), graph.sink(|_: u64| ()));
        graph += source >> sink;
        graph.looked_at(Scheme::default(), |core, _| {
            *core.crew.lock().unwrap() = Crew::new(8);
            let (worker, hire) = (Worker::new(core, 0), |_: usize| true);
            let mut elastic = Elastic::new(&worker, &hire);
            act(&mut elastic, &worker);
            (core.target.load(Relaxed), elastic.until - 1)
        })
    }

    #[test]
    fn all_are_called_where_a_block_outlasts_a_comparison() {
        // Source or sink, how long its last block took, and two of them together.
        let look = |kernel: usize, last: u64, both: u64| {
            after(|elastic, worker| {
                worker.core.seats[kernel].pace.block_time.store(last, Relaxed);
                let stats = &worker.row.kernels[kernel];
                stats.blocks.add(2);
                stats.busy.add(both);
                elastic.turn(worker, 1);
            })
        };
        assert_eq!(look(1, SLOW, 2 * SLOW), (8, HOLD));
        assert_eq!(look(1, SLOW, SLOW).0, 1, "one was interrupted");
        assert_eq!(look(1, SLOW - 1, 2 * SLOW).0, 1);
        assert_eq!(look(0, SLOW, 2 * SLOW).0, 1, "a source gives on one worker whatever their number");
    }

    /// How many of eight workers there are when `few` and `many` were compared, and for how long, if there were so many at `present`.
    fn verdict(gain: f64, few: usize, many: usize, present: usize) -> (usize, u64) {
        after(|elastic, worker| {
            (elastic.present, elastic.gains) = (present, vec![gain; ROUNDS]);
            elastic.judge(worker, 1, few, many);
        })
    }

    #[test]
    fn who_brings_little_is_sent_away() {
        for present in [1, 2] {
            assert_eq!(verdict(0.5, 1, 2, present), (1, DOUBT), "slower");
            assert_eq!(verdict(1.0, 1, 2, present), (1, DOUBT), "no gain");
            assert_eq!(verdict(1.07, 1, 2, present), (1, DOUBT), "not worth it");
        }
        assert_eq!(verdict(1.07, 2, 4, 2).0, 2);
        assert_eq!(verdict(1.09, 2, 4, 4), (4, DOUBT), "worth it, but no clear gain");
        assert_eq!(verdict(2.0, 2, 4, 4), (4, HOLD), "what is clear holds longer");
        // Who climbs goes on: more are tried as soon as these have settled.
        assert_eq!(verdict(1.09, 1, 2, 1), (2, SETTLE));
        assert_eq!(verdict(2.0, 4, 8, 4), (8, HOLD), "there are no more");
    }

    #[test]
    fn one_comparison_of_three_that_went_wrong_does_not_count() {
        let percent = |mut gains: [f64; ROUNDS], few, many| (share(&mut gains, few, many) * 100.0).round() as i64;
        assert_eq!(percent([1.5, 40.0, 1.4], 1, 2), 50);
        assert_eq!(percent([0.01, 1.5, 1.6], 1, 2), 50);
        assert_eq!(percent([1.0, 1.0, 2.0], 1, 2), 0);
        assert_eq!(percent([0.7, 0.7, 0.7], 1, 2), -30, "it got slower");
        assert_eq!(percent([1.5, 1.5, 1.5], 2, 4), 50, "half of what twice as many bring at best");
        assert_eq!(percent([4.0 / 3.0; ROUNDS], 3, 4), 100, "one more of four");
    }

    /// Nanoseconds of a block that is worth a worker of its own.
    const LONG: u64 = 50_000;

    #[test]
    fn two_comparisons_that_agree_are_enough() {
        let decided = |gains: &[f64]| is_decided(gains, 1, 2, 1);
        assert!(!decided(&[2.0]));
        assert!(decided(&[2.0, 1.5]) && decided(&[1.0, 0.5]) && decided(&[1.1, 1.2]));
        assert!(!decided(&[1.0, 1.5]), "worth it or not");
        assert!(!decided(&[1.2, 1.5]), "clear or not");
        assert!(decided(&[1.0, 1.5, 1.2]));
        assert!(is_decided(&[1.6], 1, 2, 2), "what is there is far better");
        assert!(!is_decided(&[1.4], 1, 2, 2) && !is_decided(&[0.4], 1, 2, 2));
    }

    /// How many of `most` workers there are after each of `turns` looks.
    fn looks(core: &crate::exec::Core<'_>, most: usize, turns: u64) -> Vec<usize> {
        *core.crew.lock().unwrap() = Crew::new(most);
        let (worker, hire) = (Worker::new(core, 0), |_: usize| true);
        let mut elastic = Elastic::new(&worker, &hire);
        let mut look = |turn| {
            elastic.turn(&worker, 1 + turn * RAMP);
            core.target.load(Relaxed)
        };
        (0..turns).map(&mut look).collect()
    }

    /// How many of eight workers there are after each of `turns` looks, of a graph of a source, a kernel and a sink, if a block takes `nanos` and so
    /// many blocks wait before the kernel and behind it.
    fn ramp(parallel: bool, nanos: u64, waiting: (u64, u64), turns: u64) -> Vec<usize> {
        let mut graph = Graph::new();
        let (source, sink) = (graph.source(0..0_u64), graph.sink(|_: u64| ()));
        let kernel = if parallel { graph.parallel_map(|x: u64| x) } else { graph.map(|x: u64| x) };
        graph += source >> kernel >> sink;
        graph.looked_at(Scheme::default(), |core, _| {
            core.edges[0].pretend(waiting.0);
            core.edges[1].pretend(waiting.1);
            core.seats[2].pace.block_time.store(nanos, Relaxed);
            looks(core, 8, turns)
        })
    }

    #[test]
    fn twice_as_many_are_called_while_work_waits_that_is_worth_it() {
        assert_eq!(ramp(true, LONG, (100, 0), 5), [1, 2, 4, 8, 8]);
        assert_eq!(ramp(true, LONG, (2, 0), 5), [1, 2, 4, 6, 8], "no more than wait");
        assert_eq!(ramp(true, LONG, (100, 3), 5), [1, 1, 1, 1, 1], "its results wait already");
        assert_eq!(ramp(true, WORTH_MOVING / 8 - 1, (100, 0), 3), [1, 1, 1], "on its way as long as in a kernel");
        assert_eq!(ramp(false, WORTH_MOVING - 1, (100, 0), 3), [1, 1, 1]);
        assert_eq!(ramp(false, LONG, (100, 0), 3), [1, 2, 3], "one worker at a time runs it");
    }

    /// How many of 64 workers there are after each of `turns` looks, of a source, so many kernels and a sink whose blocks take `nanos`, each but the second
    /// kernel's, which take `slowest`.
    fn chain(kernels: usize, nanos: u64, slowest: u64, turns: u64) -> Vec<usize> {
        let mut graph = Graph::new();
        let mut path = graph.source(0..0_u64).into_path();
        for _ in 0..kernels {
            path = path >> graph.map(|x: u64| x);
        }
        graph += path >> graph.sink(drop::<u64>);
        graph.looked_at(Scheme::default(), |core, _| {
            for (kernel, seat) in core.seats.iter().enumerate() {
                seat.pace.block_time.store(if kernel == 2 { slowest } else { nanos }, Relaxed);
            }
            looks(core, 64, turns)
        })
    }

    #[test]
    fn a_chain_gets_a_worker_for_each_share_though_nothing_waits_in_it() {
        const SHARE: u64 = WORTH_SHARING;
        assert_eq!(chain(30, SHARE, SHARE, 8), [1, 2, 4, 8, 16, 32, 32, 32]);
        assert_eq!(chain(30, SHARE / 4, SHARE / 4, 6), [1, 2, 4, 8, 8, 8], "four kernels are a share");
        assert_eq!(chain(1, SHARE / 2, SHARE / 2, 4), [1, 1, 1, 1], "all together are one");
        assert_eq!(chain(30, SHARE, 8 * SHARE, 4), [1, 2, 4, 4], "none is faster than the slowest");
    }

    #[test]
    fn a_second_worker_is_on_call_where_somebody_pushes_from_outside_beside_a_source() {
        let workers = |sources: usize, inlets: usize| {
            let mut graph = Graph::new();
            for _ in 0..sources {
                graph += graph.source(0..0_u64) >> graph.sink(drop::<u64>);
            }
            for _ in 0..inlets {
                let (source, _) = graph.inlet::<u64>(4).unwrap();
                graph += source >> graph.sink(drop::<u64>);
            }
            graph.looked_at(Scheme::default(), |core, _| core.target.load(Relaxed))
        };
        let both = core::cmp::min(2, thalweg_sync::thread::available_parallelism());
        assert_eq!([workers(1, 1), workers(0, 2)], [both; 2]);
        assert_eq!([workers(2, 0), workers(0, 1)], [1; 2]);
    }

    #[test]
    fn no_more_are_tried_than_are_allowed_and_all_begins_anew_when_that_changes() {
        struct Run<'a, 'r>(&'a crate::exec::Core<'r>);
        impl Observed for Run<'_, '_> {
            fn snapshot(&self) -> crate::Snapshot {
                unreachable!("nobody looks")
            }
            fn crew(&self) -> Option<observe::Crew> {
                Some(observe::Crew { asked: 1, least: 1 })
            }
            fn let_work(&self, workers: usize) {
                self.0.target.store(workers, Relaxed);
            }
            fn demand(&self) -> observe::Demand {
                unreachable!("nobody asks")
            }
        }
        let (asked, _) = after(|elastic, worker| {
            let (core, pane) = (worker.core, worker.core.control.eyes.observe().pane);
            let run = Run(core);
            let shown = pane.show(&run);
            pane.allow(By::Program, 2);
            (elastic.phase, elastic.gains) = (Phase::Trial, vec![2.0]);
            elastic.turn(worker, 1);
            assert_eq!((elastic.phase, elastic.gains.len()), (Phase::Begin, 0), "what was measured does not count");
            (elastic.present, elastic.gains) = (1, vec![2.0; ROUNDS]);
            elastic.judge(worker, 1, 1, 2);
            assert_eq!(
                (elastic.phase, core.target.load(Relaxed)),
                (Phase::Hold, 2),
                "worth it, and no more are allowed"
            );
            assert_eq!(elastic.until, 1 + BOUNDED, "whether more are is looked at soon");
            elastic.turn(worker, 1 + BOUNDED);
            assert_eq!((elastic.phase, elastic.until), (Phase::Hold, 1 + 2 * BOUNDED), "and nothing else");
            pane.allow(By::Daemon, 1);
            assert_eq!(core.target.load(Relaxed), 1);
            pane.allow(By::Daemon, 8);
            pane.allow(By::Program, 1);
            // What takes long calls all, who come as soon as they are allowed.
            core.seats[1].pace.block_time.store(SLOW, Relaxed);
            worker.row.kernels[1].blocks.add(2);
            worker.row.kernels[1].busy.add(2 * SLOW);
            elastic.turn(worker, 1 + 3 * BOUNDED);
            assert_eq!(core.target.load(Relaxed), 1);
            pane.allow(By::Program, usize::MAX);
            drop(shown);
        });
        assert_eq!(asked, 8);
    }

    #[test]
    fn only_a_single_worker_is_idle() {
        let sample = |workers, idle| Sample { workers, nanos: 1000, idle, messages: Vec::new() };
        assert!(sample(1, 500).is_idle());
        assert!(!sample(1, 300).is_idle());
        assert!(!sample(2, 500).is_idle());
    }
}
