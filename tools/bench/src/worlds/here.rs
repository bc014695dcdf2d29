//! Figures on the machine at hand: what a plan needs to know of it, and its points as contenders.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use thalweg_sim::Routing;
use thalweg_sync::thread::{self, Shared, Topology};

use super::World;
use super::experiment::{Experiment, NANOS, Setting};
use super::point::{Figures, Point};
use super::seen::{Middles, Seen};
use crate::harness::{BoxError, Contender, Effort, Group, Role, Sample};
use crate::machine::{cpus, thread_cpu_time, timed};
use crate::report::record::Record;
use crate::report::verdict::Verdict;

/// Keeps this thread on one of [`cpus`]. Where a container refuses that, it goes where it likes.
pub(crate) fn pin(cpu: usize) {
    let _ = thread::pin_current(cpus()[cpu % cpus().len()]);
}

/// The clock of its cores now, by additions that wait for each other: one a cycle. By this thread's time alone, as others may be at work.
pub(crate) fn mhz() -> u64 {
    static MHZ: OnceLock<u64> = OnceLock::new();
    const TURNS: u64 = 1_000_000;
    *MHZ.get_or_init(|| {
        let once = || {
            let start = thread_cpu_time();
            // Not to be known beforehand: of constants a compiler makes one multiplication.
            black_box((0..TURNS).fold(black_box(1_u64), |x, turn| (x ^ turn).wrapping_add(black_box(turn) & 1)));
            (thread_cpu_time() - start).as_nanos() as u64
        };
        let nanos = (0..5).map(|_| once()).min().unwrap_or(1).max(1);
        // An exclusive or, an addition.
        (2 * TURNS * 1000 / nanos).max(1)
    })
}

/// As [`Machine::neighbours`](thalweg_sim::Machine::neighbours), of those that this process may use.
pub(crate) fn neighbours() -> Vec<(&'static str, usize)> {
    let (topology, all) = (Topology::read(), cpus());
    let mut found: Vec<(Shared, usize)> = Vec::new();
    for (at, &cpu) in all.iter().enumerate().skip(1) {
        if let Some(shared) = topology.shared(all[0], cpu)
            && found.iter().all(|(known, _)| *known != shared)
        {
            found.push((shared, at));
        }
    }
    found.sort_unstable();
    let name = |shared| match shared {
        Shared::All | Shared::Core => "same core",
        Shared::Cache(_) => "same cache",
        Shared::Node => "same node",
        Shared::Socket => "same socket",
        Shared::Nothing => "other socket",
    };
    found.into_iter().map(|(shared, at)| (name(shared), at)).collect()
}

/// Its points as contenders: those of one workload and label are a group.
///
/// # Errors
///
/// If it needs more hardware threads than there are.
pub(crate) fn groups(name: &'static str, effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let figure = crate::registry::on_machines().find(|one| one.name == name).expect("a test looks for each");
    let threads = cpus().len();
    if threads < figure.threads {
        let Experiment { name, threads: needed, .. } = figure;
        let text = format!(
            "it needs {needed} hardware threads, and here are {threads}; `cargo lab run {name} --on MACHINE` runs it on a modelled one"
        );
        return Err(text.into());
    }
    let mut groups: Vec<Group> = Vec::new();
    for point in (figure.plan)(&setting(effort)) {
        // As long as the process: a plan is made once for each run of an experiment.
        let workload: &str = match point.label.as_str() {
            "" => point.workload,
            _ => String::leak(workload(&point)),
        };
        let at = groups.iter().position(|group| group.workload == workload).unwrap_or_else(|| {
            groups.push(Group::new(workload, figure.here, Vec::new()));
            groups.len() - 1
        });
        match point.device {
            Some(_) => groups[at].absent.push(format!("{workload}: {} needs a routing device", point.contender)),
            None => groups[at].contenders.push(contender(point, figure.here)),
        }
    }
    groups.retain(|group| !group.contenders.is_empty());
    Ok(groups)
}

fn setting(effort: &Effort) -> Setting<'static> {
    let (threads, quick) = (cpus().len(), effort.is_quick());
    Setting { world: World::Here, threads, quick, longer: 1, fewer: 1, routing: Routing::default() }
}

/// The group that a point belongs to.
fn workload(point: &Point) -> String {
    match point.label.as_str() {
        "" => point.workload.to_owned(),
        label => format!("{}, {label}", point.workload),
    }
}

/// What became of the paper's numbers, if it is one of these figures.
pub(crate) fn verdicts(name: &str, effort: &Effort, records: &[Record]) -> Vec<Verdict> {
    let is_it = |figure: &&Experiment| figure.name == name && !figure.here.is_empty();
    let Some(figure) = crate::registry::on_machines().find(is_it) else { return Vec::new() };
    let points = (figure.plan)(&setting(effort));
    let middles = |at: usize| -> Option<Middles> {
        let (workload, contender) = (workload(&points[at]), points[at].contender);
        let is_same = |point: &Point| point.contender == contender && self::workload(point) == workload;
        // Points may have one name: their records come in the same order, unless one is missing.
        let [all, before] = [&points[..], &points[..at]].map(|points| points.iter().filter(|one| is_same(one)).count());
        let of = |unit: &str| -> Vec<f64> {
            let fits = |one: &&Record| one.workload == workload && one.contender == contender && one.unit == unit;
            records.iter().filter(fits).map(|record| record.spread.median).collect()
        };
        let figures = figure.here.iter().map(|&unit| (unit, of(unit))).filter(|(_, found)| found.len() == all);
        let middles: Middles = figures.map(|(unit, found)| (unit, found[before])).collect();
        (!middles.is_empty()).then_some(middles)
    };
    let seen = (0..points.len()).map(|at| (&points[at], middles(at))).collect();
    (figure.verdicts)(&Seen::new(seen, cfg!(any(target_arch = "aarch64", target_arch = "arm"))))
}

/// How long a run takes at least: a client that is done sooner, as a modelled machine wants them, runs again.
const LEAST: Duration = Duration::from_millis(if cfg!(test) { 0 } else { 100 });

fn contender(point: Point, units: &'static [&'static str]) -> Contender {
    let Point { contender, params, client, .. } = point;
    // Nobody is the base: a figure may compare ours alone.
    Contender::new(Role::Peer, contender, params, move || {
        let (all, timing) = timed(|| {
            let (began, mut all) = (Instant::now(), vec![client()]);
            while began.elapsed() < LEAST {
                all.push(client());
            }
            all
        });
        let sum = |of: fn(&Figures) -> u64| all.iter().map(of).sum::<u64>() as f64;
        let of = |&unit: &&str| match unit {
            NANOS => sum(|figures| figures.nanos) / sum(|figures| figures.messages).max(1.0),
            // A point may not have it: then there is no figure.
            _ => {
                let each: Vec<f64> = all
                    .iter()
                    .flat_map(|figures| &figures.more)
                    .filter(|more| more.0 == unit)
                    .map(|more| more.1)
                    .collect();
                each.iter().sum::<f64>() / each.len() as f64
            }
        };
        Ok(Sample { figures: units.iter().map(of).collect(), cpus: Some(timing.cpus()) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::measure_groups;
    use crate::registry::NATIVE;

    /// By each name that modelled machines know, too: the first points and the last ones run to their end, and say what counts here.
    #[test]
    fn figures_of_modelled_machines_run_here() {
        for figure in crate::registry::on_machines().filter(|figure| !figure.here.is_empty()) {
            let experiment = NATIVE.iter().find(|one| one.name == figure.name).expect("a test looks for each");
            if cpus().len() < figure.threads {
                assert!((experiment.plan)(&Effort::TINY).unwrap_err().to_string().contains("hardware threads"));
                continue;
            }
            let mut groups = (experiment.plan)(&Effort::TINY).unwrap();
            groups.drain(1..groups.len().max(2) - 1);
            let outcome = measure_groups(figure.name, groups, &Effort::TINY, &mut || false, &mut Vec::new()).unwrap();
            assert_eq!(outcome.failures, [""; 0]);
            assert!(!outcome.records.is_empty(), "{}", figure.name);
            for record in &outcome.records {
                assert!(record.spread.median.is_finite(), "{record:?}");
            }
        }
    }

    #[test]
    fn work_takes_as_many_cycles_as_it_says() {
        // Not a measurement: a build that is not optimized takes longer.
        let start = thread_cpu_time();
        crate::worlds::work(3_000_000);
        assert!((thread_cpu_time() - start).as_nanos() as u64 * 4 > 3_000_000 * 1000 / mhz());
    }
}
