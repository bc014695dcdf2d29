//! FastForward's pipeline in a loop (its Figure 7, section 5.1), which every contender runs.

use std::hint::spin_loop;

use thalweg_sync::thread;

use super::super::one_to_one::Ends;
use super::super::stamps::Clock;
use crate::harness::BoxError;
use crate::machine::{cpus, timed};

/// Stages: three, each on a CPU, or two where there are no more CPUs.
pub(super) fn stages() -> usize {
    if cpus().len() >= 3 { 3 } else { 2 }
}

/// Items that are missing in the first queue for it to be full, as in the paper.
const MISSING: u64 = 16;

/// A stage takes an item, works on it, and hands it on, the last one to the first. The first queue is nearly full at the start.
#[derive(Clone, Debug)]
pub(super) struct Looped {
    /// Of every queue.
    pub(super) entries: usize,
    /// How often each stage does that.
    pub(super) iterations: u64,
    /// Nanoseconds of work of each stage, for one item after the other, again and again.
    pub(super) work: Vec<Vec<f64>>,
}

/// What a stage sees of its operations.
pub(super) trait Watch: Default + Send {
    /// A stage took an item, or handed it on, in so many ticks.
    fn note(&mut self, ticks: u64, push: bool);
    /// Whether to look at the clock at all.
    const WATCHES: bool;
}

/// Nobody looks.
impl Watch for () {
    fn note(&mut self, _ticks: u64, _push: bool) {}
    const WATCHES: bool = false;
}

impl Looped {
    /// As many stages with the same work.
    pub(super) fn balanced(entries: usize, iterations: u64, nanos: f64) -> Self {
        Self { entries, iterations, work: vec![vec![nanos]; stages()] }
    }

    /// Nanoseconds of one queue operation: half of what an item takes beyond the work of the slowest stage, which has two.
    pub(super) fn cost<Q: Ends>(&self, clock: &Clock) -> Result<f64, BoxError> {
        Ok(self.run::<Q, ()>(clock)?.0)
    }

    /// As [`cost`](Self::cost), and what each stage saw.
    pub(super) fn run<Q: Ends, W: Watch>(&self, clock: &Clock) -> Result<(f64, Vec<W>), BoxError> {
        let stages = self.work.len();
        let items = self.entries as u64 - MISSING;
        let work: Vec<Vec<u64>> =
            self.work.iter().map(|work| work.iter().map(|&nanos| clock.ticks(nanos)).collect()).collect();
        let work_alone = work.iter().map(|work| alone(clock, work)).fold(0.0, f64::max);
        let (mut writing, mut reading): (Vec<Q::Tx>, Vec<Q::Rx>) = (0..stages).map(|_| Q::build(self.entries)).unzip();
        for item in 1..=items {
            if !Q::push(&mut writing[0], item) {
                return Err(format!("{item} items do not fit into {} entries", self.entries).into());
            }
        }
        // Stage n reads queue n and writes the next one.
        writing.rotate_left(1);
        let (seen, timing) = timed(|| {
            std::thread::scope(|scope| {
                let ends = reading.drain(..).zip(writing.drain(..)).zip(&work).enumerate();
                let stages = ends.map(|(stage, ((mut rx, mut tx), work))| {
                    scope.spawn(move || {
                        // A container may refuse: the run is still right, only its spread is wider.
                        let _ = thread::pin_current(cpus()[stage % cpus().len()]);
                        let seen = turn::<Q, W>(clock, &mut rx, &mut tx, work, self.iterations, items);
                        (seen, rx, tx)
                    })
                });
                let stages: Vec<_> = stages.collect();
                stages.into_iter().map(|stage| stage.join().expect("stages do not panic")).collect::<Vec<_>>()
            })
        });
        let seen: Result<Vec<W>, String> = seen.into_iter().map(|(seen, _, _)| seen).collect();
        // What the stages wait at the start, one after the other, is no operation's.
        let slipped = self.work.iter().map(|work| 2_000.0 + 48.0 * work[0]).sum::<f64>() / self.iterations as f64;
        Ok(((timing.nanos_per(self.iterations) - work_alone - slipped) / 2.0, seen?))
    }
}

/// One stage. An error if an item is not the one that belongs there.
fn turn<Q: Ends, W: Watch>(
    clock: &Clock,
    rx: &mut Q::Rx,
    tx: &mut Q::Tx,
    work: &[u64],
    iterations: u64,
    items: u64,
) -> Result<W, String> {
    let mut seen = W::default();
    let (mut expected, mut at) = (0, 0);
    for iteration in 0..iterations {
        let item = loop {
            let before = if W::WATCHES { clock.now() } else { 0 };
            match Q::pop(rx) {
                Some(item) => {
                    if W::WATCHES {
                        seen.note(clock.now() - before, false);
                    }
                    break item;
                }
                None => spin_loop(),
            }
        };
        expected = if expected == items { 1 } else { expected + 1 };
        if item != expected {
            return Err(format!("item {item} came in the place of {expected}"));
        }
        if iteration == 0 {
            // Stages start slipped.
            wait(clock, clock.ticks(2_000.0) + 48 * work[0]);
        }
        wait(clock, work[at]);
        at = if at + 1 == work.len() { 0 } else { at + 1 };
        loop {
            let before = if W::WATCHES { clock.now() } else { 0 };
            if Q::push(tx, item) {
                if W::WATCHES {
                    seen.note(clock.now() - before, true);
                }
                break;
            }
            spin_loop();
        }
    }
    Ok(seen)
}

/// Works for so many ticks, which is to look at the clock, as in the paper. Not at all for none.
#[inline(always)]
fn wait(clock: &Clock, ticks: u64) {
    if ticks > 0 {
        let start = clock.now();
        while clock.now() - start < ticks {}
    }
}

/// Nanoseconds that such work takes by itself, for an item. It overshoots by up to a look at the clock.
fn alone(clock: &Clock, work: &[u64]) -> f64 {
    const TIMES: u64 = 4_000;
    let (_, timing) = timed(|| (0..TIMES).for_each(|time| wait(clock, work[time as usize % work.len()])));
    timing.nanos_per(TIMES)
}
