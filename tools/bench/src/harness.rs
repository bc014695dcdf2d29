//! Runs contenders against each other: warm-up, interleaved rounds, every result checked.

use std::io::Write;

use serde_json::Value;
use thalweg_figure::Spread;

use crate::cores::{self, Steady};
use crate::machine::{self, Timing};
use crate::others::Others;
use crate::report::record::{At, Record};

pub use crate::report::record::Role;
pub use thalweg::BoxError;

/// How much work an experiment does.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Measured runs of each contender, after one warm-up run.
    pub runs: usize,
    divisor: u64,
}

impl Effort {
    /// For published figures.
    pub const FULL: Effort = Effort { runs: 7, divisor: 1 };
    /// For a first look: every experiment under half a minute, if it does not say otherwise.
    pub const QUICK: Effort = Effort { runs: 5, divisor: 4 };

    /// For tests: one run and almost no work.
    #[cfg(test)]
    pub(crate) const TINY: Effort = Effort { runs: 1, divisor: 4_000 };

    /// How many messages stand for `full` of them; at least 16.
    pub fn messages(&self, full: u64) -> u64 {
        (full / self.divisor).max(16)
    }

    /// True if the work is cut down.
    pub fn is_quick(&self) -> bool {
        self.divisor > 1
    }
}

/// One entry of the registry.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// `family/question`, as typed on the command line.
    pub name: &'static str,
    /// Sets the contenders up. Nothing in it is timed.
    pub plan: fn(&Effort) -> Result<Vec<Group>, BoxError>,
}

/// Contenders that do the same work and are measured in turn: A B C A B C.
#[derive(Debug)]
pub struct Group {
    /// The workload, as a heading.
    pub workload: &'static str,
    /// The unit of each figure that a run gives. Lower is better, but where [`compares`](crate::report::record::compares) says otherwise.
    pub units: &'static [&'static str],
    /// Who takes part, in the order of the table.
    pub contenders: Vec<Contender>,
    /// Adds a row `ideal`: the figures of this contender divided by the number of CPUs, or by that of workers if there are fewer.
    pub ideal_from: Option<(&'static str, usize)>,
    /// One line for each contender that cannot take part here.
    pub absent: Vec<String>,
    /// Set if the figures of a run are points of a curve.
    pub sweep: Option<Sweep>,
}

/// What the figures of a run are, if they are one quantity at several points: `units` then names the points.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    /// What the points are: entries, nanoseconds of work.
    pub axis: &'static str,
    /// The unit of every figure.
    pub unit: &'static str,
}

impl Group {
    /// A group without derived rows, in which everybody can take part.
    pub fn new(workload: &'static str, units: &'static [&'static str], contenders: Vec<Contender>) -> Self {
        Self { workload, units, contenders, ideal_from: None, absent: Vec::new(), sweep: None }
    }

    /// A group whose runs give one figure in `unit` for each of `points` along `axis`.
    pub fn sweep(
        workload: &'static str,
        axis: &'static str,
        unit: &'static str,
        points: &'static [&'static str],
        contenders: Vec<Contender>,
    ) -> Self {
        Self { sweep: Some(Sweep { axis, unit }), ..Self::new(workload, points, contenders) }
    }
}

/// One way to do a group's work.
pub struct Contender {
    /// As in the records; our own begin with `thalweg`.
    pub name: String,
    /// How to read its figures.
    pub role: Role,
    /// A JSON object: message count, capacity, placement and whatever else changes the figures.
    pub params: Value,
    run: Box<dyn FnMut() -> Result<Sample, BoxError> + Send>,
}

impl std::fmt::Debug for Contender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Contender").field("name", &self.name).field("role", &self.role).finish_non_exhaustive()
    }
}

impl Contender {
    /// A contender from what one run of it does. `run` checks its own result and fails if it is wrong.
    pub fn new(
        role: Role,
        name: impl Into<String>,
        params: Value,
        run: impl FnMut() -> Result<Sample, BoxError> + Send + 'static,
    ) -> Self {
        Self { name: name.into(), role, params, run: Box::new(run) }
    }

    /// One run on a thread of its own, so that pinning ends with the run. A panic becomes an error.
    fn run(&mut self) -> Result<Sample, BoxError> {
        let run = &mut self.run;
        let joined = std::thread::scope(|scope| scope.spawn(run).join());
        joined.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Err(format!("panicked: {text}").into())
        })
    }
}

/// What one run gives.
#[derive(Clone, Debug)]
pub struct Sample {
    /// One figure for each unit of the group.
    pub figures: Vec<f64>,
    /// CPUs used on average; `None` where the work is done by other processes.
    pub cpus: Option<f64>,
}

impl Sample {
    /// A run whose figure is nanoseconds for each of `units` units of work.
    pub fn nanos_per(timing: Timing, units: u64) -> Self {
        Self { figures: vec![timing.nanos_per(units)], cpus: Some(timing.cpus()) }
    }

    /// A run whose figure is milliseconds of wall time.
    pub fn millis(timing: Timing) -> Self {
        Self { figures: vec![timing.wall.as_secs_f64() * 1e3], cpus: Some(timing.cpus()) }
    }
}

/// What an experiment gave.
#[derive(Debug, Default)]
pub struct Outcome {
    /// One record for each contender and unit.
    pub records: Vec<Record>,
    /// One line for each contender that failed. Its records are left out.
    pub failures: Vec<String>,
}

/// Runs one experiment. Progress goes to `progress`, a line for each round.
///
/// # Errors
/// When the plan cannot be made, or `progress` cannot be written.
pub fn measure(experiment: &Experiment, effort: &Effort, progress: &mut dyn Write) -> Result<Outcome, BoxError> {
    // Tests run beside each other, and measure nothing.
    let mut watched = (!cfg!(test)).then(|| (Others::new(), Steady::new(&cores::first_looks())));
    let mut disturbed = || {
        let watched = watched.as_mut();
        watched.is_some_and(|(others, steady)| others.take_much() || steady.is_disturbed_now())
    };
    measure_while(experiment, effort, &mut disturbed, progress)
}

/// [`measure`], on a machine that is disturbed while `disturbed` says so.
pub(crate) fn measure_while(
    experiment: &Experiment,
    effort: &Effort,
    disturbed: &mut dyn FnMut() -> bool,
    progress: &mut dyn Write,
) -> Result<Outcome, BoxError> {
    measure_groups(experiment.name, (experiment.plan)(effort)?, effort, disturbed, progress)
}

/// [`measure_while`], of these groups alone.
pub(crate) fn measure_groups(
    experiment: &'static str,
    groups: Vec<Group>,
    effort: &Effort,
    disturbed: &mut dyn FnMut() -> bool,
    progress: &mut dyn Write,
) -> Result<Outcome, BoxError> {
    let mut outcome = Outcome::default();
    for group in groups {
        for line in &group.absent {
            writeln!(progress, "{experiment}: {line}")?;
        }
        measure_group(experiment, group, effort, disturbed, progress, &mut outcome)?;
    }
    Ok(outcome)
}

/// A run, and whether the machine was disturbed before or after it.
struct Run {
    sample: Sample,
    disturbed: bool,
}

/// How often a disturbed run is made once more. The machine decides that, and never the run's figures.
const AGAIN: usize = 3;

/// What tells whether the machine is disturbed, and how many runs may still be made again because of it.
struct Calm<'a> {
    disturbed: &'a mut dyn FnMut() -> bool,
    /// What it was when it was last asked.
    was_disturbed: bool,
    again: usize,
}

impl Calm<'_> {
    /// A run of `contender`, if possible one before and after which the machine is not disturbed.
    fn run(&mut self, contender: &mut Contender) -> Result<Run, BoxError> {
        let mut left = self.again.min(AGAIN);
        loop {
            let sample = contender.run()?;
            let before = std::mem::replace(&mut self.was_disturbed, (self.disturbed)());
            let disturbed = before || self.was_disturbed;
            if !disturbed || left == 0 {
                return Ok(Run { sample, disturbed });
            }
            (left, self.again) = (left - 1, self.again - 1);
        }
    }
}

fn measure_group(
    experiment: &'static str,
    group: Group,
    effort: &Effort,
    disturbed: &mut dyn FnMut() -> bool,
    progress: &mut dyn Write,
    outcome: &mut Outcome,
) -> Result<(), BoxError> {
    let Group { workload, units, contenders, ideal_from, sweep, .. } = group;
    let mut field: Vec<(Contender, Vec<Run>)> = contenders.into_iter().map(|c| (c, Vec::new())).collect();
    let was_disturbed = disturbed();
    let mut calm = Calm { disturbed, was_disturbed, again: 0 };
    for round in 0..=effort.runs {
        // From the warm-up on, which is no run: as many as there are runs, so that a machine that stays so takes twice the time at most.
        if round == 1 {
            calm.again = effort.runs * field.len();
        }
        match round {
            0 => writeln!(progress, "{experiment}: {workload}: warm-up of {} contenders", field.len())?,
            _ => writeln!(progress, "{experiment}: {workload}: run {round} of {}", effort.runs)?,
        }
        field.retain_mut(|(contender, runs)| match calm.run(contender) {
            Ok(run) => {
                debug_assert_eq!(run.sample.figures.len(), units.len(), "{}: one figure for each unit", contender.name);
                if round > 0 {
                    runs.push(run);
                }
                true
            }
            Err(error) => {
                outcome.failures.push(format!("{experiment}: {workload}: {}: {error}", contender.name));
                false
            }
        });
        // Back and forth, so that nobody has the same one before it in every round.
        field.reverse();
    }
    if effort.runs.is_multiple_of(2) {
        field.reverse();
    }
    let first = outcome.records.len();
    for (contender, runs) in field {
        let cpus: Option<Vec<f64>> = runs.iter().map(|run| run.sample.cpus).collect();
        let disturbed = runs.iter().filter(|run| run.disturbed).count();
        for (at, unit) in units.iter().enumerate() {
            let spread = Spread::of(runs.iter().map(|run| run.sample.figures[at]));
            // A point of a curve that cannot be.
            if spread.median.is_nan() {
                continue;
            }
            outcome.records.push(Record {
                experiment,
                workload,
                contender: contender.name.clone(),
                role: contender.role,
                unit: sweep.map_or(unit, |sweep| sweep.unit),
                at: sweep.map(|sweep| At { axis: sweep.axis, point: unit }),
                spread,
                runs: runs.len(),
                world: "native",
                cpus: cpus.as_ref().map(|cpus| Spread::of(cpus.clone()).median),
                disturbed,
                params: contender.params.clone(),
                machine: machine::describe(),
            });
        }
    }
    if let Some((from, workers)) = ideal_from {
        let cpus = machine::cpus().len().min(workers) as f64;
        let ideal = outcome.records[first..].iter().filter(|record| record.contender == from).map(|record| Record {
            contender: "ideal".into(),
            role: Role::Bound,
            spread: record.spread.divided_by(cpus),
            cpus: Some(cpus),
            params: serde_json::json!({ "derived": format!("{from} / {cpus} CPUs") }),
            ..record.clone()
        });
        let ideal: Vec<Record> = ideal.collect();
        outcome.records.extend(ideal);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    fn experiment(plan: fn(&Effort) -> Result<Vec<Group>, BoxError>) -> Outcome {
        let experiment = Experiment { name: "test/harness", plan };
        measure_while(&experiment, &Effort { runs: 3, divisor: 1 }, &mut || false, &mut Vec::new()).unwrap()
    }

    #[test]
    fn contenders_take_turns_after_a_warm_up() {
        static CALLS: Mutex<Vec<&str>> = Mutex::new(Vec::new());
        let outcome = experiment(|_| {
            let contender = |name: &'static str| {
                let calls = Arc::new(Mutex::new(0.0));
                Contender::new(Role::Peer, name, Value::Null, move || {
                    CALLS.lock().unwrap().push(name);
                    *calls.lock().unwrap() += 1.0;
                    // The median is not the mean.
                    let figure = [9.0, 2.0, 3.0, 7.0][*calls.lock().unwrap() as usize - 1];
                    Ok(Sample { figures: vec![figure], cpus: Some(figure / 2.0) })
                })
            };
            let mut group = Group::new("turns", &["calls"], vec![contender("a"), contender("b")]);
            group.ideal_from = Some(("a", 2));
            Ok(vec![group])
        });
        assert_eq!(*CALLS.lock().unwrap(), ["a", "b", "b", "a", "a", "b", "b", "a"]);
        // The first call was the warm-up and does not count.
        assert_eq!(outcome.records[0].spread, Spread { median: 3.0, min: 2.0, max: 7.0 });
        assert_eq!((outcome.records[0].cpus, outcome.records[0].world), (Some(1.5), "native"));
        let (ideal, cpus) = (&outcome.records[2], machine::cpus().len().min(2) as f64);
        assert_eq!((ideal.contender.as_str(), ideal.role), ("ideal", Role::Bound));
        assert_eq!(ideal.spread, Spread { median: 3.0 / cpus, min: 2.0 / cpus, max: 7.0 / cpus });
    }

    #[test]
    fn a_disturbed_run_is_made_again_and_counted_if_that_is_in_vain() {
        let mut calls = 0.0;
        let count = move || {
            calls += 1.0;
            Ok(Sample { figures: vec![calls], cpus: None })
        };
        let group = Group::new("calm", &["runs"], vec![Contender::new(Role::Peer, "a", Value::Null, count)]);
        let looks = [
            // Before all, and after the warm-up, which is not made again.
            vec![false, true],
            vec![true, false, false],
            vec![false],
            // There are as many again as runs: two of three are used up, so that it ends.
            vec![true, true],
        ];
        let (mut looks, mut outcome) = (looks.into_iter().flatten(), Outcome::default());
        let effort = Effort { runs: 3, divisor: 1 };
        let mut disturbed = || looks.next().unwrap();
        measure_group("test/harness", group, &effort, &mut disturbed, &mut Vec::new(), &mut outcome).unwrap();
        let Record { spread, disturbed, .. } = outcome.records[0];
        assert_eq!(spread, Spread { median: 5.0, min: 4.0, max: 7.0 });
        assert_eq!(disturbed, 1);
    }

    #[test]
    fn records_are_in_the_order_of_the_plan_whatever_the_number_of_runs() {
        let plan: fn(&Effort) -> Result<Vec<Group>, BoxError> = |_| {
            let fine = || Ok(Sample { figures: vec![1.0], cpus: None });
            let contender = |name| Contender::new(Role::Peer, name, Value::Null, fine);
            let mut group = Group::new("order", &["s"], ["a", "b", "c"].map(contender).into());
            group.absent.push("d is not installed".into());
            Ok(vec![group])
        };
        for runs in [1, 2, 5, 6] {
            let (experiment, mut progress) = (Experiment { name: "test/harness", plan }, Vec::new());
            let outcome = measure(&experiment, &Effort { runs, divisor: 1 }, &mut progress).unwrap();
            let names: Vec<_> = outcome.records.iter().map(|record| record.contender.as_str()).collect();
            assert_eq!(names, ["a", "b", "c"], "{runs} runs");
            let progress = String::from_utf8(progress).unwrap();
            assert!(progress.starts_with("test/harness: d is not installed\n"), "{progress}");
        }
    }

    #[test]
    fn a_point_that_cannot_be_leaves_no_record() {
        let outcome = experiment(|_| {
            let run = || Ok(Sample { figures: vec![1.0, f64::NAN, 3.0], cpus: None });
            let contender = Contender::new(Role::Ours, "curve", Value::Null, run);
            Ok(vec![Group::sweep("points", "entries", "ns", &["2", "4", "8"], vec![contender])])
        });
        let points: Vec<_> = outcome.records.iter().map(|record| record.at.map(|at| at.point)).collect();
        assert_eq!(points, [Some("2"), Some("8")]);
        assert_eq!(outcome.failures, [""; 0]);
    }

    #[test]
    fn a_wrong_result_or_a_panic_is_reported_and_the_others_go_on() {
        let outcome = experiment(|_| {
            let fine = || Ok(Sample { figures: vec![1.0], cpus: None });
            Ok(vec![Group::new(
                "failures",
                &["s"],
                vec![
                    Contender::new(Role::Ours, "wrong", Value::Null, || Err("the sum is 1, not 2".into())),
                    Contender::new(Role::Ours, "loud", Value::Null, || panic!("at the disco")),
                    Contender::new(Role::Peer, "fine", Value::Null, fine),
                ],
            )])
        });
        assert_eq!(outcome.records.len(), 1);
        assert_eq!(outcome.failures[0], "test/harness: failures: wrong: the sum is 1, not 2");
        assert_eq!(outcome.failures[1], "test/harness: failures: loud: panicked: at the disco");
    }
}
