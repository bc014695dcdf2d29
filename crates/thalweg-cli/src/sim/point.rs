//! A point of a curve: what runs, and what came of it.

use serde_json::{Value, json};
use thalweg_sim::{Curve, Device, Failure, Machine, Plot, Record, Report, Simulation, Spread};

/// What a point gave with one seed.
pub(super) type Run = (Figures, Report);

/// What a run measured itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figures {
    /// Messages that went through in the time that was measured.
    pub(super) messages: u64,
    /// That time.
    pub(super) nanos: u64,
}

impl Figures {
    fn nanos_per_message(&self) -> f64 {
        self.nanos as f64 / self.messages.max(1) as f64
    }
}

/// What a simulation runs, on so many hardware threads.
type Client = Box<dyn Fn() -> Figures + Send + Sync>;

/// One point of a curve.
pub(super) struct Point {
    /// The curve.
    pub(super) workload: &'static str,
    pub(super) contender: &'static str,
    /// What tells it from the others of its curve, as the table shows it.
    pub(super) label: String,
    pub(super) params: Value,
    /// How many hardware threads the program may use.
    pub(super) threads: usize,
    /// How many messages go through in all: what the counts are divided by.
    pub(super) messages: u64,
    /// The machine's message device, if it needs one.
    pub(super) device: Option<Device>,
    pub(super) client: Client,
}

impl Point {
    pub(super) fn title(&self) -> String {
        format!("{}, {}, {}", self.workload, self.contender, self.label)
    }

    pub(super) fn run(&self, machine: &Machine, seed: u64) -> Result<Run, Failure> {
        self.simulation(machine).seed(seed).try_run(&self.client)
    }

    fn simulation(&self, machine: &Machine) -> Simulation {
        let simulation = Simulation::new(machine.clone()).threads(self.threads).stack_bytes(1 << 20);
        match &self.device {
            Some(device) => simulation.device(device.clone()),
            None => simulation,
        }
    }

    /// Nanoseconds for a message.
    pub(super) fn nanos(&self, runs: &[Run]) -> Spread {
        self.figures(runs)[0].1
    }

    /// The figures of all seeds, by unit.
    fn figures(&self, runs: &[Run]) -> [(&'static str, Spread); 6] {
        let each = |n: u64| n as f64 / self.messages as f64;
        let spread = |of: &dyn Fn(&Run) -> f64| Spread::of(runs.iter().map(of));
        [
            ("ns/msg", spread(&|(figures, _)| figures.nanos_per_message())),
            ("misses/msg", spread(&|(_, report)| each(report.counts.misses()))),
            ("invalidations/msg", spread(&|(_, report)| each(report.counts.invalidations))),
            ("memory/msg", spread(&|(_, report)| each(report.counts.memory_transactions()))),
            ("snoops/msg", spread(&|(_, report)| each(report.counts.snoops()))),
            ("upgrades/msg", spread(&|(_, report)| each(report.counts.upgrades.total()))),
        ]
    }

    /// A line of JSON for each unit.
    pub(super) fn records(&self, experiment: &str, machine: &Machine, runs: &[Run]) -> String {
        let mut params = self.params.clone();
        params["threads"] = json!(self.threads);
        let record = |(unit, spread)| Record {
            experiment,
            workload: self.workload,
            contender: self.contender,
            unit,
            spread,
            runs: runs.len(),
            params: params.clone(),
            machine,
        };
        self.figures(runs).map(|figure| record(figure).to_json()).concat()
    }

    /// Runs it once more, with seed 0, and tells what happened when.
    pub(super) fn trace(&self, machine: &Machine) -> Result<String, Failure> {
        let (_, report) = self.simulation(machine).trace(EVENTS).try_run(&self.client)?;
        Ok(report.trace.expect("it was asked for").to_json())
    }
}

/// How many events a trace has room for.
const EVENTS: usize = 500_000;

/// A picture of each workload, with a curve for each contender.
pub(super) fn plots(experiment: &str, points: &[Point], measured: &[Vec<Run>]) -> Vec<Plot> {
    let mut plots: Vec<Plot> = Vec::new();
    for (point, runs) in points.iter().zip(measured) {
        let title = format!("{experiment}: {}", point.workload);
        if plots.last().is_none_or(|plot| plot.title != title) {
            let (across, unit) = ("as in the table".to_owned(), "million messages a second".to_owned());
            plots.push(Plot { title, across, unit, curves: Vec::new() });
        }
        let curves = &mut plots.last_mut().expect("one was just made").curves;
        if curves.last().is_none_or(|curve| curve.name != point.contender) {
            curves.push(Curve { name: point.contender.to_owned(), dashed: false, points: Vec::new() });
        }
        let curve = &mut curves.last_mut().expect("one was just made").points;
        let [(_, nanos), ..] = point.figures(runs);
        curve.push((curve.len() as f64, point.label.clone(), nanos.inverted(|nanos| 1000.0 / nanos)));
    }
    plots
}

/// The points of an experiment, curve by curve.
pub(super) fn table(
    experiment: &str,
    machine: &Machine,
    threads: usize,
    points: &[Point],
    measured: &[Vec<Run>],
    lines: bool,
) -> String {
    let runs = measured.first().map_or(0, Vec::len);
    let mut text =
        format!("{experiment} on {}, {threads} of {} threads, {runs} seeds\n", machine.name(), machine.threads());
    let mut curve = ("", "");
    for (i, (point, runs)) in points.iter().zip(measured).enumerate() {
        if curve != (point.workload, point.contender) {
            curve = (point.workload, point.contender);
            text += &format!(
                "\n{}, {}\n{:>16}{:>10}{:>18}{:>10}{:>10}{:>10}{:>10}\n",
                point.workload, point.contender, "", "Mmsg/s", "range", "ns", "misses", "inval.", "memory"
            );
        }
        let [(_, nanos), (_, misses), (_, invalidations), (_, memory), ..] = point.figures(runs);
        let rate = |nanos: f64| 1000.0 / nanos;
        text += &format!(
            "{:>16}{:>10.2}{:>18}{:>10.1}{:>10.2}{:>10.2}{:>10.2}\n",
            point.label,
            rate(nanos.median),
            format!("{:.2} to {:.2}", rate(nanos.max), rate(nanos.min)),
            nanos.median,
            misses.median,
            invalidations.median,
            memory.median
        );
        let last = points.get(i + 1).is_none_or(|next| (next.workload, next.contender) != curve);
        if lines
            && last
            && let Some((_, report)) = runs.first()
        {
            text += &contended(report);
        }
    }
    text.push('\n');
    text
}

/// The five lines that were missed most in a run.
fn contended(report: &Report) -> String {
    let mut text = format!("{:>16}{:>10}{:>14}  contended lines, with seed 0\n", "", "misses", "ns waited");
    for line in report.lines.iter().take(5) {
        let fields: Vec<_> = line.fields.iter().take(3).map(String::as_str).collect();
        text += &format!("{:>16}{:>10}{:>14}  {}\n", "", line.cost.misses, line.cost.nanos, fields.join(", "));
    }
    text
}
