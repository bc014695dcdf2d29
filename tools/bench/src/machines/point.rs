//! A point of a curve: what runs, and what came of it.

use serde_json::{Value, json};
use thalweg_figure::Spread;
use thalweg_sim::{
    Cost, Device, Failure, FieldReport, Latencies, Machine, Record, Report, Routing, Simulation, Trace, jitter,
};
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire};
use thalweg_sync::{CachePadded, spin, thread, time};

use super::experiment::Setting;

/// What a point gave with one seed.
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
                    thread::pin_current(cpu).expect("the machine has this thread");
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

/// What a simulation runs, on so many hardware threads.
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

    /// A run, for tests that compare points.
    #[cfg(test)]
    pub(crate) fn run(&self, machine: &Machine, seed: u64) -> Result<Run, Failure> {
        self.run_within(60_000_000_000, machine, seed, false)
    }

    /// A run, which is given up after so many simulated nanoseconds; with hits by what was accessed, if they are to be told: the figures
    /// are the same, and take longer to come.
    pub(crate) fn run_within(&self, limit: u64, machine: &Machine, seed: u64, hits: bool) -> Result<Run, Failure> {
        self.simulation(machine).limit(limit).seed(seed).count_hits(hits).try_run(&self.client)
    }

    /// Nanoseconds for a message with seed 0, for tests that compare points.
    #[cfg(test)]
    pub(crate) fn nanos_on(&self, machine: &Machine) -> f64 {
        let run = self.run(machine, 0).unwrap_or_else(|failure| panic!("{}: {failure}", self.title()));
        self.nanos(&[run]).median
    }

    fn simulation(&self, machine: &Machine) -> Simulation {
        let simulation = Simulation::new(machine.clone()).threads(self.threads).stack_bytes(1 << 20);
        match &self.device {
            Some(device) => simulation.device(device.clone()),
            None => simulation,
        }
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
            ("ns/msg", spread(&|(figures, _)| figures.nanos_per_message())),
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

    /// A line of JSON for each unit; the first one, with `lines`, has what was accessed and which lines were contended, with seed 0.
    pub(crate) fn records(&self, experiment: &str, machine: &Machine, runs: &[Run], lines: bool) -> String {
        let mut params = self.params.clone();
        params["threads"] = json!(self.threads);
        if let Some(Device::VirtualLink(routing)) = self.device
            && routing != Routing::default()
        {
            params["device"] = json!(routing.to_string());
        }
        let mut told = params.clone();
        if lines && let Some((_, report)) = runs.first() {
            told["fields"] = json!(report.fields);
            told["contended"] = json!(report.lines.iter().take(5).collect::<Vec<_>>());
        }
        let record = |(number, (unit, spread))| Record {
            experiment,
            workload: self.workload,
            contender: self.contender,
            unit,
            spread,
            runs: runs.len(),
            params: if number == 0 { told.clone() } else { params.clone() },
            machine,
        };
        self.figures(runs).into_iter().enumerate().map(|figure| record(figure).to_json()).collect()
    }

    /// Runs it once more, with seed 0, and tells what happened when.
    pub(crate) fn trace(&self, machine: &Machine) -> Result<Trace, Failure> {
        let (_, report) = self.simulation(machine).trace(EVENTS).try_run(&self.client)?;
        Ok(report.trace.expect("it was asked for"))
    }
}

/// How many events a trace has room for.
const EVENTS: usize = 500_000;

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

/// How many of a point's figures every point has; four of them are columns of the table, and what is behind them.
const COLUMNS: usize = 6;

/// The points of an experiment, curve by curve.
pub(crate) fn table(
    experiment: &str,
    setting: &Setting<'_>,
    points: &[Point],
    measured: &[Vec<Run>],
    lines: bool,
) -> String {
    let (machine, threads) = (setting.machine, setting.threads);
    let runs = measured.first().map_or(0, Vec::len);
    let device = match setting.routing {
        usual if usual == Routing::default() => String::new(),
        other => format!(", device: {other}"),
    };
    let (name, all) = (machine.name(), machine.threads());
    let mut text = format!("{experiment} on {name}, {threads} of {all} threads, seeds: {runs}{device}\n");
    let mut curve = ("", "");
    for (i, (point, runs)) in points.iter().zip(measured).enumerate() {
        if curve != (point.workload, point.contender) {
            curve = (point.workload, point.contender);
            text += &format!(
                "\n{}, {}\n{:>18}{:>10}{:>22}{:>10}{:>10}{:>10}{:>10}",
                point.workload, point.contender, "", "Mmsg/s", "range", "ns", "misses", "inval.", "memory"
            );
            point.figures(runs).iter().skip(COLUMNS).for_each(|(unit, _)| text += &format!("  {unit}"));
            text.push('\n');
        }
        let figures = point.figures(runs);
        let [nanos, misses, invalidations, memory] = [0, 1, 2, 3].map(|column| figures[column].1);
        let rate = |nanos: f64| 1000.0 / nanos;
        text += &format!(
            "{:>18}{:>10.2}{:>22}{:>10.1}{:>10.2}{:>10.2}{:>10.2}",
            point.label,
            rate(nanos.median),
            format!("{:.2} to {:.2}", rate(nanos.max), rate(nanos.min)),
            nanos.median,
            misses.median,
            invalidations.median,
            memory.median
        );
        for (unit, figure) in &figures[COLUMNS..] {
            text += &format!("{:>1$.2}", figure.median, unit.len() + 2);
        }
        text.push('\n');
        let last = points.get(i + 1).is_none_or(|next| (next.workload, next.contender) != curve);
        if lines
            && last
            && let Some((_, report)) = runs.first()
        {
            text += &accessed(report);
            text += &contended(report);
        }
    }
    text.push('\n');
    text
}

/// What was accessed in a run, and what that cost: the eight fields that were waited for most.
fn accessed(report: &Report) -> String {
    let columns = ["hits", "misses", "last level", "transfers", "upgrades", "memory", "inval.", "snoops", "ns waited"];
    let row = |cells: [String; 9], name: &str| {
        cells.iter().map(|cell| format!("{cell:>11}")).collect::<String>() + &format!("  {name}\n")
    };
    let mut text = row(columns.map(str::to_owned), "what was accessed, with seed 0");
    for FieldReport { name, cost, .. } in report.fields.iter().take(8) {
        let Cost { hits, misses, last_level, transfers, upgrades, invalidations, nanos, .. } = *cost;
        let (memory, snoops) = (cost.memory_transactions(), cost.snoops());
        let counts = [hits.unwrap_or(0), misses, last_level, transfers, upgrades, memory, invalidations, snoops, nanos];
        text += &row(counts.map(|count| count.to_string()), name);
    }
    text
}

/// The five lines that were missed most in a run.
fn contended(report: &Report) -> String {
    let mut text = format!("{:>18}{:>10}{:>14}  contended lines, with seed 0\n", "", "misses", "ns waited");
    for line in report.lines.iter().take(5) {
        let fields: Vec<_> = line.fields.iter().take(3).map(String::as_str).collect();
        text += &format!("{:>18}{:>10}{:>14}  {}\n", "", line.cost.misses, line.cost.nanos, fields.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_fields_and_lines_if_they_are_asked_for() {
        let ping = || -> Role<'static> {
            Box::new(|| {
                let word = thalweg_sync::atomic::AtomicU64::new(0);
                word.store(1, thalweg_sync::atomic::Ordering::Release);
            })
        };
        let client: Client = Box::new(move || together(8, (0..2).map(|cpu| (cpu, ping())).collect()));
        let (workload, contender, label) = ("alone", "nobody", String::new());
        let point =
            Point { workload, contender, label, params: json!({}), threads: 2, messages: 8, device: None, client };
        let machine = Machine::named("x86-88t").unwrap();
        let runs = [point.run_within(60_000_000_000, &machine, 0, true).unwrap()];
        let silent = point.run(&machine, 0).unwrap();
        assert_eq!((&silent.0, &silent.1.counts), (&runs[0].0, &runs[0].1.counts), "to be told changes no figure");
        let records = |lines| -> Vec<Value> {
            let text = point.records("none", &machine, &runs, lines);
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
        };
        let (with, without) = (records(true), records(false));
        let ready = with[0]["params"]["fields"].as_array().unwrap().iter();
        let ready = ready.filter(|field| field["name"].as_str().unwrap().ends_with(": ready")).collect::<Vec<_>>();
        let &[ready] = &ready[..] else { panic!("one field has that name: {ready:?}") };
        assert!(ready["snoops"].as_u64() > Some(0) && ready["hits"].as_u64() > Some(0), "{ready}");
        for key in [
            "hits",
            "misses",
            "last_level",
            "transfers",
            "upgrades",
            "memory_reads",
            "memory_writes",
            "invalidations",
            "nanos",
            "snoops",
            "memory_transactions",
        ] {
            assert!(ready[key].is_u64(), "{key} is missing in {ready}");
        }
        assert!(ready["prefetches"]["transfers"].is_u64(), "{ready}");
        let table = accessed(&runs[0].1);
        let row = table.lines().find(|line| line.ends_with(": ready")).unwrap();
        let cells: Vec<_> = row.split_whitespace().take(9).map(|cell| cell.parse::<u64>().ok()).collect();
        let keys = [
            "hits",
            "misses",
            "last_level",
            "transfers",
            "upgrades",
            "memory_transactions",
            "invalidations",
            "snoops",
            "nanos",
        ];
        assert_eq!(cells, keys.map(|key| ready[key].as_u64()), "{table}");
        assert_eq!(
            (with[0]["unit"].as_str(), with[0]["params"]["contended"].as_array().map(Vec::len)),
            (Some("ns/msg"), Some(0))
        );
        assert_eq!(with[1..], without[1..]);
        assert!(without[0]["params"].get("fields").is_none());
    }
}
