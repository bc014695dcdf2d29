//! A point of a curve: what runs, and what came of it.

use serde::Serialize;
use serde_json::{Value, json};
use thalweg_sim::{Device, Failure, Machine, Report, Simulation};

use super::Run;

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

/// A line of JSON, as the lab's.
#[derive(Serialize)]
struct Record<'a> {
    experiment: &'a str,
    workload: &'a str,
    contender: &'a str,
    unit: &'a str,
    median: f64,
    min: f64,
    max: f64,
    runs: usize,
    world: &'a str,
    cpus: Option<f64>,
    params: Value,
    machine: &'a str,
}

impl Point {
    pub(super) fn title(&self) -> String {
        format!("{}, {}, {}", self.workload, self.contender, self.label)
    }

    pub(super) fn run(&self, machine: &Machine, seed: u64) -> Result<Run, Failure> {
        let simulation = Simulation::new(machine.clone()).threads(self.threads).seed(seed).stack_bytes(1 << 20);
        let simulation = match &self.device {
            Some(device) => simulation.device(device.clone()),
            None => simulation,
        };
        simulation.try_run(&self.client)
    }

    /// The figures of all seeds, by unit.
    fn figures(&self, runs: &[Run]) -> [(&'static str, Spread); 6] {
        let each = |n: u64| n as f64 / self.messages as f64;
        let spread = |of: &dyn Fn(&Run) -> f64| Spread::of(runs.iter().map(of).collect());
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
    pub(super) fn records(&self, experiment: &str, machine: &Machine, runs: &[Run]) -> serde_json::Result<String> {
        let mut lines = String::new();
        for (unit, Spread { median, min, max }) in self.figures(runs) {
            let mut params = self.params.clone();
            params["threads"] = json!(self.threads);
            let record = Record {
                experiment,
                workload: self.workload,
                contender: self.contender,
                unit,
                median,
                min,
                max,
                runs: runs.len(),
                world: machine.name(),
                cpus: None,
                params,
                machine: machine.about(),
            };
            lines += &serde_json::to_string(&record)?;
            lines.push('\n');
        }
        Ok(lines)
    }
}

/// The middle of some figures, and their range.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    median: f64,
    min: f64,
    max: f64,
}

impl Spread {
    /// The spread of at least one figure.
    fn of(mut figures: Vec<f64>) -> Self {
        figures.sort_by(f64::total_cmp);
        let runs = figures.len();
        let median = (figures[(runs - 1) / 2] + figures[runs / 2]) / 2.0;
        Self { median, min: figures[0], max: figures[runs - 1] }
    }
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
        let sites: Vec<_> = line.sites.iter().take(3).map(|site| format!("{} ({})", site.site, site.misses)).collect();
        text += &format!("{:>16}{:>10}{:>14}  {}\n", "", line.misses, line.nanos, sites.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_the_range() {
        assert_eq!(Spread::of(vec![3.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(Spread::of(vec![4.0, 1.0]).median, 2.5);
    }
}
