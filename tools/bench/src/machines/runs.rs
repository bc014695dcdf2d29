//! Points on modelled machines: runs, records, tables.

use serde_json::json;
use thalweg_sim::{Cost, Device, Failure, FieldReport, Machine, Record, Report, Routing, Simulation, Trace};

use crate::report::columns::aligned;
use crate::worlds::experiment::Setting;
use crate::worlds::point::{Point, Run};

impl Point {
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

/// How many of a point's figures every point has; four of them are columns of the table, and what is behind them.
const COLUMNS: usize = 6;

/// The points of an experiment, curve by curve.
pub(crate) fn table(
    experiment: &str,
    (machine, setting): (&Machine, &Setting<'_>),
    points: &[Point],
    measured: &[Vec<Run>],
    lines: bool,
) -> String {
    let threads = setting.threads;
    let runs = measured.first().map_or(0, Vec::len);
    let device = match setting.routing {
        usual if usual == Routing::default() => String::new(),
        other => format!(", device: {other}"),
    };
    let (name, all) = (machine.name(), machine.threads());
    let mut text = format!("{experiment} on {name}, {threads} of {all} threads, seeds: {runs}{device}\n");
    let all: Vec<(&Point, &Vec<Run>)> = points.iter().zip(measured).collect();
    for curve in all.chunk_by(|(one, _), (next, _)| (one.workload, one.contender) == (next.workload, next.contender)) {
        let (first, runs) = curve[0];
        text += &format!("\n{}, {}\n", first.workload, first.contender);
        let more = first.figures(runs).into_iter().skip(COLUMNS).map(|(unit, _)| unit);
        let heads = ["", "Mmsg/s", "range", "ns", "misses", "inval.", "memory"].into_iter().chain(more);
        let mut rows: Vec<Vec<String>> = vec![heads.map(str::to_owned).collect()];
        rows.extend(curve.iter().map(|(point, runs)| row(point, runs)));
        text += &aligned(&rows);
        if lines && let Some((_, report)) = curve.last().and_then(|(_, runs)| runs.first()) {
            text += &accessed(report);
            text += &contended(report);
        }
    }
    text.push('\n');
    text
}

/// A point's row.
fn row(point: &Point, runs: &[Run]) -> Vec<String> {
    let figures = point.figures(runs);
    let rate = |nanos: f64| 1000.0 / nanos;
    let nanos = figures[0].1;
    let own = [
        point.label.clone(),
        format!("{:.2}", rate(nanos.median)),
        format!("{:.2} to {:.2}", rate(nanos.max), rate(nanos.min)),
        format!("{:.1}", nanos.median),
    ];
    let counts = figures[1..4].iter().chain(&figures[COLUMNS..]).map(|(_, spread)| format!("{:.2}", spread.median));
    own.into_iter().chain(counts).collect()
}

/// What was accessed in a run, and what that cost: the eight fields that were waited for most.
fn accessed(report: &Report) -> String {
    let columns =
        ["", "hits", "misses", "last level", "transfers", "upgrades", "memory", "inval.", "snoops", "ns waited"];
    let mut rows = vec![columns.map(str::to_owned).to_vec()];
    rows.extend(report.fields.iter().take(8).map(|FieldReport { name, cost, .. }| {
        let Cost { hits, misses, last_level, transfers, upgrades, invalidations, nanos, .. } = *cost;
        let (memory, snoops) = (cost.memory_transactions(), cost.snoops());
        let counts = [hits.unwrap_or(0), misses, last_level, transfers, upgrades, memory, invalidations, snoops, nanos];
        [name.clone()].into_iter().chain(counts.map(|count| count.to_string())).collect()
    }));
    "  what was accessed, with seed 0\n".to_owned() + &aligned(&rows)
}

/// The five lines that were missed most in a run.
fn contended(report: &Report) -> String {
    let mut rows = vec![["", "misses", "ns waited"].map(str::to_owned).to_vec()];
    rows.extend(report.lines.iter().take(5).map(|line| {
        let fields: Vec<_> = line.fields.iter().take(3).map(String::as_str).collect();
        vec![fields.join(", "), line.cost.misses.to_string(), line.cost.nanos.to_string()]
    }));
    "  contended lines, with seed 0\n".to_owned() + &aligned(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worlds::point::{Client, Role, together};
    use serde_json::Value;

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
        let row = table.lines().find(|line| line.contains(": ready ")).unwrap();
        let cells: Vec<_> =
            row.split_once(": ready").unwrap().1.split_whitespace().map(|cell| cell.parse::<u64>().ok()).collect();
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
