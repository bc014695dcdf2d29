//! A point of a curve: what runs, in any world, and what came of it.

use serde_json::Value;
use thalweg_figure::Spread;
use thalweg_sim::{Device, Latencies, Report, jitter};
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire};
use thalweg_sync::{CachePadded, spin, thread, time};

use super::experiment::NANOS;
use super::pin;

/// What a point gave with one seed on a modelled machine.
pub(crate) type Run = (Figures, Report);

/// What a run measured itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figures {
    /// Messages that went through in the time that was measured.
    pub(crate) messages: u64,
    /// That time.
    pub(crate) nanos: u64,
    /// What else it measured, by unit.
    pub(crate) more: Vec<(&'static str, f64)>,
    /// Tasks whose share of that time, of all threads', is a figure: unit and name.
    pub(crate) shares: &'static [(&'static str, &'static str)],
}

impl Figures {
    pub(crate) fn new(messages: u64, nanos: u64) -> Self {
        Self { messages, nanos, more: Vec::new(), shares: &[] }
    }

    /// The figures of `run`, which lets so many messages through.
    pub(crate) fn timed(messages: u64, run: impl FnOnce()) -> Self {
        let before = time::now();
        run();
        Self::new(messages, before.elapsed().as_nanos() as u64)
    }

    fn nanos_per_message(&self) -> f64 {
        self.nanos as f64 / self.messages.max(1) as f64
    }
}

/// What a thread does, once all are there.
pub(crate) type Role<'a> = Box<dyn FnOnce() + Send + 'a>;

/// Runs each role on its hardware thread, from the moment when all are there. The time ends when the first role does.
pub(crate) fn together(messages: u64, roles: Vec<(usize, Role<'_>)>) -> Figures {
    let count = roles.len();
    let ready = CachePadded(AtomicUsize::new(0));
    let nanos = thread::scope(|scope| {
        let mut threads: Vec<_> = (roles.into_iter())
            .map(|(cpu, role)| {
                let ready = &ready;
                scope.spawn(move || {
                    pin(cpu);
                    ready.fetch_add(1, AcqRel);
                    spin::until(|| (ready.load(Acquire) == count).then_some(()));
                    jitter();
                    let began = time::now();
                    role();
                    began.elapsed().as_nanos() as u64
                })
            })
            .collect();
        let first = threads.remove(0).join().expect("no role panics");
        threads.into_iter().for_each(|thread| _ = thread.join().expect("no role panics"));
        first
    });
    Figures::new(messages, nanos)
}

/// What is run, on so many hardware threads.
pub(crate) type Client = Box<dyn Fn() -> Figures + Send + Sync>;

/// One point of a curve.
pub(crate) struct Point {
    /// The curve.
    pub(crate) workload: &'static str,
    pub(crate) contender: &'static str,
    /// What tells it from the others of its curve, as the table shows it.
    pub(crate) label: String,
    pub(crate) params: Value,
    /// How many hardware threads the program may use.
    pub(crate) threads: usize,
    /// How many messages go through in all: what the counts are divided by.
    pub(crate) messages: u64,
    /// The machine's message device, if it needs one.
    pub(crate) device: Option<Device>,
    pub(crate) client: Client,
}

impl Point {
    pub(crate) fn title(&self) -> String {
        format!("{}, {}, {}", self.workload, self.contender, self.label)
    }

    /// Nanoseconds for a message.
    pub(crate) fn nanos(&self, runs: &[Run]) -> Spread {
        self.figures(runs)[0].1
    }

    /// The figures of all seeds, by unit.
    pub(crate) fn figures(&self, runs: &[Run]) -> Vec<(&'static str, Spread)> {
        let each = |n: u64| n as f64 / self.messages as f64;
        let spread = |of: &dyn Fn(&Run) -> f64| Spread::of(runs.iter().map(of));
        let mut figures = vec![
            (NANOS, spread(&|(figures, _)| figures.nanos_per_message())),
            (MISSES, spread(&|(_, report)| each(report.counts.misses()))),
            ("invalidations/msg", spread(&|(_, report)| each(report.counts.invalidations))),
            (MEMORY, spread(&|(_, report)| each(report.counts.memory_transactions()))),
            (SNOOPS, spread(&|(_, report)| each(report.counts.snoops()))),
            (UPGRADES, spread(&|(_, report)| each(report.counts.upgrades.total()))),
            (L1_MISSES, spread(&|(_, report)| each(report.counts.accesses - report.counts.l1_hits))),
        ];
        if runs.iter().all(|(_, report)| report.latencies.is_some()) {
            let latency = |of: fn(&Latencies) -> u64| {
                spread(&|(_, report)| report.latencies.as_ref().map_or(0.0, |latencies| of(latencies) as f64))
            };
            figures.push((LATENCY, latency(|latencies| latencies.mean)));
            figures.push(("ns, latency p50", latency(|latencies| latencies.p50)));
            figures.push(("ns, latency p99", latency(|latencies| latencies.p99)));
        }
        if let Some(((first, _), _)) = runs.split_first() {
            for (at, &(unit, _)) in first.more.iter().enumerate() {
                figures.push((unit, spread(&|(figures, _)| figures.more[at].1)));
            }
            for &(unit, task) in first.shares {
                figures.push((unit, self.share(runs, task)));
            }
        }
        figures
    }

    /// How long messages took, if any of them say so: so many percent of them no longer than so many nanoseconds.
    pub(crate) fn distribution(&self, runs: &[Run]) -> Option<[(f64, Spread); 9]> {
        let latencies: Vec<Latencies> = runs.iter().map(|(_, report)| report.latencies).collect::<Option<_>>()?;
        let nanos = |of: fn(&Latencies) -> u64| Spread::of(latencies.iter().map(|latencies| of(latencies) as f64));
        Some(PERCENTILES.map(|(percent, of)| (percent, nanos(of))))
    }

    /// How much of the time of all threads went into `task`, in percent.
    pub(crate) fn share(&self, runs: &[Run], task: &str) -> Spread {
        Spread::of(runs.iter().map(|(figures, report)| {
            let nanos: u64 = report.tasks.iter().filter(|one| one.name == task).map(|one| one.nanos).sum();
            100.0 * nanos as f64 / (figures.nanos * self.threads as u64) as f64
        }))
    }

    /// The middle figure of that unit, if the point has it.
    pub(crate) fn figure(&self, runs: &[Run], unit: &str) -> Option<f64> {
        self.figures(runs).into_iter().find(|figure| figure.0 == unit).map(|figure| figure.1.median)
    }
}

/// Units by which entries and panels find their figures.
pub(crate) const MISSES: &str = "misses/msg";
pub(crate) const MEMORY: &str = "memory/msg";
pub(crate) const SNOOPS: &str = "snoops/msg";
pub(crate) const UPGRADES: &str = "upgrades/msg";
pub(crate) const L1_MISSES: &str = "first-level misses/msg";
pub(crate) const LATENCY: &str = "ns, latency mean";

/// So many percent took no longer, and which of the latencies that is.
type Percentile = (f64, fn(&Latencies) -> u64);

/// What is drawn of a distribution.
const PERCENTILES: [Percentile; 9] = [
    (0.0, |all| all.min),
    (10.0, |all| all.p10),
    (25.0, |all| all.p25),
    (50.0, |all| all.p50),
    (75.0, |all| all.p75),
    (90.0, |all| all.p90),
    (99.0, |all| all.p99),
    (99.9, |all| all.p999),
    (100.0, |all| all.max),
];
