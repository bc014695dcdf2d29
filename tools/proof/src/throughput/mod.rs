//! `check/throughput`: distinct executions a second, this checker's and loom's on the same clients.
//!
//! loom runs here as an ordinary library: its own types, no `--cfg loom`. It comes back to executions that it has seen,
//! so what counts is how many different ones it finds in a second. It may also leave some out, such as a
//! compare-exchange that fails on an old value; these are told in the column *found*.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "loom's own types are what is compared with; what is noted of an execution is no part of it"
)]

mod clients;

use clients::{Notes, ours, theirs};
use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use thalweg_check::Check;
use thalweg_sync::time::now;

/// The experiment's name.
pub const NAME: &str = "check/throughput";

/// What a checker did with a client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Executions that were run, also those that were seen before.
    pub executions: u64,
    /// How many of them are different.
    pub distinct: u64,
    /// How long it took; the median of the runs.
    pub duration: Duration,
    /// How long the shortest and the longest run took.
    pub range: [Duration; 2],
    /// How often it was run.
    pub runs: usize,
    /// The time was over first.
    pub bounded: bool,
}

impl Pace {
    /// Different executions a second.
    pub fn rate(&self) -> f64 {
        self.distinct as f64 / self.duration.as_secs_f64().max(1e-9)
    }

    /// How many microseconds a different execution takes: in the median run, in the shortest and in the longest run.
    pub fn micros(&self) -> [f64; 3] {
        let [shortest, longest] = self.range;
        [self.duration, shortest, longest].map(|time| time.as_secs_f64() * 1e6 / self.distinct.max(1) as f64)
    }
}

/// A client under both checkers.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The client.
    pub client: &'static str,
    /// What it does.
    pub what: &'static str,
    /// This checker.
    pub ours: Pace,
    /// loom.
    pub loom: Pace,
}

impl Comparison {
    /// How many times as many different executions this checker explores in a second.
    pub fn ratio(&self) -> f64 {
        self.ours.rate() / self.loom.rate()
    }
}

type Run = fn(Duration) -> Pace;

/// Name, what it does, under this checker, under loom.
const CLIENTS: &[(&str, &str, Run, Run)] = &[
    (
        "ring-4",
        "Lamport's queue, two entries, four attempts a side",
        |t| run_ours(t, ours::ring(4)),
        |t| run_loom(t, theirs::ring(4)),
    ),
    (
        "1p1c-3",
        "shared queue, two entries, three attempts a side",
        |t| run_ours(t, ours::queue(&[3], &[3])),
        |t| run_loom(t, theirs::queue(&[3], &[3])),
    ),
    (
        "2p1c-1",
        "shared queue, three threads with one attempt",
        |t| run_ours(t, ours::queue(&[1, 1], &[1])),
        |t| run_loom(t, theirs::queue(&[1, 1], &[1])),
    ),
    (
        "2p2c-1",
        "shared queue, four threads with one attempt",
        |t| run_ours(t, ours::queue(&[1, 1], &[1, 1])),
        |t| run_loom(t, theirs::queue(&[1, 1], &[1, 1])),
    ),
    (
        "count-3x2",
        "three threads add twice to a counter",
        |t| run_ours(t, ours::count(3, 2)),
        |t| run_loom(t, theirs::count(3, 2)),
    ),
];

/// Runs every client under both checkers, in turns, at most `each` long. `progress` is told which.
///
/// # Panics
///
/// If a client fails, or this checker runs an execution twice.
pub fn compare(each: Duration, mut progress: impl FnMut(&str)) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for &(client, what, ours, loom) in CLIENTS {
        progress(&format!("{client}, thalweg-check"));
        let ours = ours(each);
        assert_eq!(ours.executions, ours.distinct, "{client}: an execution twice");
        progress(&format!("{client}, loom"));
        comparisons.push(Comparison { client, what, ours, loom: loom(each) });
    }
    comparisons
}

/// The executions that were met.
#[derive(Clone, Default)]
struct Met(Arc<Mutex<(u64, HashSet<Notes>)>>);

impl Met {
    fn note(&self, notes: Notes) {
        let mut met = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        met.0 += 1;
        met.1.insert(notes);
    }

    fn pace(&self, duration: Duration, bounded: bool) -> Pace {
        let met = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Pace { executions: met.0, distinct: met.1.len() as u64, duration, range: [duration; 2], runs: 1, bounded }
    }
}

/// What is over sooner is run again, or the time would be that of starting.
const AT_LEAST: Duration = Duration::from_millis(500);

/// The median of as many runs as there are in `AT_LEAST`.
fn again(mut run: impl FnMut() -> Pace) -> Pace {
    let mut pace = run();
    let mut times = vec![pace.duration];
    while times.iter().sum::<Duration>() < AT_LEAST && !pace.bounded {
        times.push(run().duration);
    }
    times.sort_unstable();
    pace.duration = times[times.len() / 2];
    pace.range = [times[0], times[times.len() - 1]];
    pace.runs = times.len();
    pace
}

fn run_ours(time: Duration, client: impl Fn(&dyn Fn(Notes)) + Copy + Send + Sync + 'static) -> Pace {
    again(|| {
        let (met, last) = (Met::default(), Arc::new(Mutex::new(Notes::new())));
        let (counted, left) = (met.clone(), last.clone());
        // By the hook: now and then a client is run again, to see whether it does the same. That is no other execution.
        let check = Check::new().max_time(Some(time)).on_complete(move |_| {
            counted.note(std::mem::take(&mut *left.lock().unwrap_or_else(PoisonError::into_inner)));
        });
        let explored = check.check(move || {
            client(&|notes| *last.lock().unwrap_or_else(PoisonError::into_inner) = notes);
        });
        met.pace(explored.duration, explored.bounded)
    })
}

fn run_loom(time: Duration, client: impl Fn(&dyn Fn(Notes)) + Copy + Send + Sync + 'static) -> Pace {
    again(|| {
        let met = Met::default();
        let note = met.clone();
        let mut model = loom::model::Builder::new();
        // Exhaustive, as ours is; the time is looked at so often.
        (model.preemption_bound, model.max_branches) = (None, 100_000);
        (model.max_duration, model.checkpoint_interval) = (Some(time), 1000);
        let start = now();
        model.check(move || client(&|notes| note.note(notes)));
        let duration = start.elapsed();
        met.pace(duration, duration >= time)
    })
}

/// A line for each client and checker, with the ratio.
#[derive(Debug)]
pub struct Table<'a>(pub &'a [Comparison]);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<10} {:<14} {:>10} {:>10} {:>9} {:>12} {:>8}",
            "client", "checker", "executions", "distinct", "time", "distinct/s", "ratio"
        )?;
        for comparison in self.0 {
            for (checker, pace) in [("thalweg-check", &comparison.ours), ("loom", &comparison.loom)] {
                let Pace { executions, distinct, duration, bounded, .. } = pace;
                let (seconds, rate) = (duration.as_secs_f64(), pace.rate());
                write!(
                    f,
                    "{:<10} {checker:<14} {executions:>10} {distinct:>10} {seconds:>7.2} s {rate:>12.0}",
                    comparison.client
                )?;
                let ratio = if checker == "loom" { String::new() } else { format!("{:.1}", comparison.ratio()) };
                writeln!(f, " {ratio:>8}{}", if *bounded { "  out of time" } else { "" })?;
            }
        }
        Ok(())
    }
}
