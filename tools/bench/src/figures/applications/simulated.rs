//! `danbi/applications`: DANBI's Figure 3, its seven applications on 1 to 40 cores. `blq/applications`: BLQ's Figures 7, 8 and 12, its ten benchmarks
//! under its schemes, over `raft`.

use serde::Deserialize;
use serde_json::json;
use thalweg::{KernelReport, Report, Scheme};
use thalweg_sim::{Price, price};

use super::{Application, BLQ, DANBI};
use crate::report::verdict::{Claim, Verdict};
use crate::worlds::experiment::{Base, Experiment, NANOS, Panel, Setting};
use crate::worlds::point::{Figures, Point, Run};
use crate::worlds::seen::{Seen, geometric, mean};

pub(crate) const EXPERIMENTS: [Experiment; 2] = [
    Experiment::new("danbi/applications", danbi)
        .here(&[NANOS])
        .panels(&[Panel::SpeedUp(OVER_ONE_CORE)])
        .paper(|points, measured| beside(&FIGURE_3, points, measured))
        .verdicts(|seen| verdicts("danbi/applications", &FIGURE_3, seen)),
    Experiment::new("blq/applications", blq)
        .here(&[NANOS])
        .panels(&[Panel::SpeedUp(OVER_RAFT), Panel::Of(FULL), Panel::Of(EMPTY), Panel::Of(HELPS)])
        .paper(|points, measured| beside(&FIGURE_7, points, measured))
        .verdicts(|seen| verdicts("blq/applications", &FIGURE_7, seen)),
];

/// What BLQ's Figure 8 shows, per message and edge.
const FULL: &str = "found full/msg";
const EMPTY: &str = "found empty/msg";
const HELPS: &str = "helps per 1000 msgs";

const OVER_ONE_CORE: Base = Base {
    unit: "times as fast as one core under qes_pss_prs",
    is: |_, other| other.contender == "qes_pss_prs" && other.threads == 1,
};
const OVER_RAFT: Base = Base { unit: "times as fast as raft", is: |_, other| other.contender == "raft" };

/// What the table below shows: each contender at its most cores over the base.
struct Means {
    base: fn(&Point) -> bool,
    contenders: &'static [&'static str],
    arithmetic: bool,
    /// What a paper has for each of them, and where.
    papers: &'static [Paper],
}

/// What a paper has for each contender, where, on how many cores, and whether they are ARM's.
struct Paper {
    whose: &'static str,
    cores: usize,
    is_arm: bool,
    means: &'static [Option<f64>],
}

/// A third off the paper's number at most comes out: our streams run its programs, on fewer messages.
const WITHIN: f64 = 1.0 / 3.0;

/// The means of a paper on a machine of its kind with as many cores.
fn verdicts(figure: &'static str, means: &Means, seen: &Seen<'_>) -> Vec<Verdict> {
    let mut all = Vec::new();
    for Paper { cores, is_arm, means: values, whose } in means.papers {
        let is_there = seen.threads() == *cores && seen.is_arm() == *is_arm;
        for (name, paper) in means.contenders.iter().zip(*values) {
            // The first of a paper's means may be of its base.
            let Some(paper) = paper.filter(|paper| *paper != 1.0) else { continue };
            let what = String::leak(format!("{name}, mean speed-up ({whose})"));
            let here = if is_there { mean_of(means, name, *cores, seen) } else { None };
            all.push(Claim::new(figure, what, paper, WITHIN).verdict(here));
        }
    }
    all
}

/// A contender's mean speed-up on so many cores over the base.
fn mean_of(means: &Means, contender: &str, cores: usize, seen: &Seen<'_>) -> Option<f64> {
    let mut workloads: Vec<&str> = seen.places(|_| true).into_iter().map(|at| seen.point(at).workload).collect();
    workloads.dedup();
    let speed_up = |workload: &str| {
        let of = |fits: &dyn Fn(&Point) -> bool| {
            seen.nanos(*seen.places(|point| point.workload == workload && fits(point)).first()?)
        };
        Some(of(&means.base)? / of(&|point| point.contender == contender && point.threads == cores)?)
    };
    let all = workloads.into_iter().map(speed_up);
    if means.arithmetic { mean(all) } else { geometric(all) }
}

/// DANBI's Figure 3: the mean of its applications on 40 cores, arithmetic. The default is ours.
const FIGURE_3: Means = Means {
    base: |point| point.contender == "qes_pss_prs" && point.threads == 1,
    contenders: &["random", "qes", "qes_pss", "qes_pss_prs", "depth_first"],
    arithmetic: true,
    papers: &[Paper {
        whose: "the paper, on 40 cores",
        cores: 40,
        is_arm: false,
        means: &[Some(25.3), Some(28.9), Some(30.8), Some(33.7), None],
    }],
};

/// BLQ's Figures 7 and 12: the geometric mean of its benchmarks.
const FIGURE_7: Means = Means {
    base: |point| point.contender == "raft",
    contenders: &["raft", "raft_dyn", "pw_dyn", "mix", "mix_dyn", "depth_first"],
    arithmetic: false,
    papers: &[
        Paper {
            whose: "the paper's 7, 32 cores of ARM",
            cores: 32,
            is_arm: true,
            means: &[Some(1.0), None, Some(1.52), Some(1.29), Some(1.34), None],
        },
        Paper {
            whose: "the paper's 12, 4 cores of x86",
            cores: 4,
            is_arm: false,
            means: &[Some(1.0), None, Some(1.40), Some(1.23), Some(1.35), None],
        },
    ],
};

/// A line of the file that `lab prices` writes.
#[derive(Deserialize)]
struct Line {
    application: String,
    kernel: String,
    by: String,
    ns: f64,
    per: f64,
    end: bool,
}

/// What a kernel costs, by its name.
pub(crate) type Prices = Vec<(String, Price)>;

/// What the kernels of an application cost.
pub(crate) fn prices(application: &Application) -> Prices {
    let lines = include_str!("../../../../../docs/measured/prices.jsonl").lines().skip(1);
    let lines = lines.map(|line| serde_json::from_str::<Line>(line).expect("a line that `lab prices` wrote"));
    let mine: Vec<Line> = lines.filter(|line| line.application == application.name).collect();
    let unit: f64 = mine.iter().filter(|line| !line.end).map(|line| line.ns * line.per).sum();
    let charged = |line: &Line| match application.grain {
        Some(grain) if line.end => grain.end,
        Some(grain) => line.ns * grain.unit / unit,
        None => line.ns,
    };
    let priced = mine.iter().map(|line| {
        let ns = charged(line);
        let price = match line.by.as_str() {
            "given" => Price { given: ns, taken: 0.0 },
            _ => Price { taken: ns, given: 0.0 },
        };
        (line.kernel.clone(), price)
    });
    priced.collect()
}

/// A run on so many cores, with a worker for each.
fn point(setting: &Setting<'_>, application: &'static Application, contender: &'static str, cores: usize) -> Point {
    // What applications compute is computed: a look takes less than an eighth.
    let full = if setting.quick { application.size / 2 } else { application.size };
    run(application, setting.part(full, application.least), contender, cores)
}

/// A run of that size on so many cores, with a worker for each.
pub(crate) fn run(application: &'static Application, size: u64, contender: &'static str, cores: usize) -> Point {
    let prices = prices(application);
    Point {
        workload: application.name,
        contender,
        label: format!("{cores} cores"),
        params: json!({ "messages": size, "workers": cores }),
        threads: cores,
        messages: size,
        device: None,
        client: Box::new(move || {
            prices.iter().for_each(|(kernel, cost)| price(kernel, *cost));
            let scheme = Scheme::named(contender).expect("a scheme's name").workers(cores);
            let mut report = None;
            let figures = Figures::timed(size, || {
                report = Some((application.run)(scheme, size).expect("the application runs to its end"));
            });
            let more = report.as_ref().map_or_else(Vec::new, counted);
            Figures { more, ..figures }
        }),
    }
}

/// BLQ's Figure 8: of each message over an edge, and how many edges grew.
fn counted(report: &Report) -> Vec<(&'static str, f64)> {
    let sum = |of: fn(&KernelReport) -> u64| report.kernels.iter().map(of).sum::<u64>() as f64;
    let hops = report.edges.iter().map(|edge| edge.messages).sum::<u64>().max(1) as f64;
    let grown = report.edges.iter().filter(|edge| edge.grown > 0).count();
    vec![
        (FULL, sum(|kernel| kernel.blocked_full) / hops),
        (EMPTY, sum(|kernel| kernel.blocked_empty) / hops),
        (HELPS, 1000.0 * sum(|kernel| kernel.helps) / hops),
        ("edges that grew, %", 100.0 * grown as f64 / report.edges.len().max(1) as f64),
    ]
}

fn danbi(setting: &Setting<'_>) -> Vec<Point> {
    let mut cores: Vec<usize> = [1, 5, 10, 15, 20, 25, 30, 35].into_iter().filter(|&n| n < setting.threads).collect();
    cores.push(setting.threads);
    let mut points = Vec::new();
    for application in &DANBI {
        for &contender in FIGURE_3.contenders {
            points.extend(cores.iter().map(|&cores| point(setting, application, contender, cores)));
        }
    }
    points
}

fn blq(setting: &Setting<'_>) -> Vec<Point> {
    let schemes = |application| {
        let of = move |&contender: &&'static str| point(setting, application, contender, setting.threads);
        FIGURE_7.contenders.iter().map(of)
    };
    BLQ.iter().flat_map(schemes).collect()
}

/// Each application's speed-ups with all cores, and the means beside the paper's.
fn beside(means: &Means, points: &[Point], measured: &[Vec<Run>]) -> String {
    let mut text = format!("{:36}", "speed-up with all cores");
    means.contenders.iter().for_each(|name| text += &format!("{name:>13}"));
    let nanos = |at: usize| points[at].nanos(&measured[at]).median;
    let most = points.iter().map(|point| point.threads).max().unwrap_or_default();
    let mut workloads: Vec<&str> = points.iter().map(|point| point.workload).collect();
    workloads.dedup();
    let mut sums = vec![0.0; means.contenders.len()];
    for workload in &workloads {
        let of = |fits: &dyn Fn(&Point) -> bool| {
            (0..points.len()).find(|&at| points[at].workload == *workload && fits(&points[at])).map(nanos)
        };
        text += &format!("\n{workload:36}");
        let Some(base) = of(&means.base) else { continue };
        for (name, sum) in means.contenders.iter().zip(&mut sums) {
            let faster = of(&|point| point.contender == *name && point.threads == most).map_or(f64::NAN, |n| base / n);
            *sum += if means.arithmetic { faster } else { faster.ln() };
            text += &format!("{faster:>13.2}");
        }
    }
    text += &format!("\n{:36}", if means.arithmetic { "arithmetic mean" } else { "geometric mean" });
    for sum in sums {
        let mean = sum / workloads.len() as f64;
        text += &format!("{:>13.2}", if means.arithmetic { mean } else { mean.exp() });
    }
    for Paper { whose, means: values, .. } in means.papers {
        text += &format!("\n{whose:36}");
        for value in *values {
            text += &value.map_or_else(|| format!("{:>13}", "-"), |value| format!("{value:>13.2}"));
        }
    }
    text + "\n\n"
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use thalweg_sim::Machine;

    #[test]
    fn every_application_runs_on_a_modelled_machine_and_each_of_its_kernels_has_a_price() {
        let machine = Machine::named("x86-40").unwrap();
        let setting = Setting::of(&machine, 4);
        for application in BLQ.iter().chain(&DANBI) {
            let at = |cores| {
                let point = point(&setting, application, "depth_first", cores);
                point.run(&machine, 0).unwrap_or_else(|failure| panic!("{}: {failure}", point.title()))
            };
            let ((figures, one), _) = (at(1), at(4));
            assert_eq!(one, at(1).1, "{}: the same again", application.name);
            if let Some(grain) = application.grain {
                let unit = figures.nanos as f64 / figures.messages as f64 / grain.unit;
                // Few records of mergesort go through few merges.
                let least = if application.name == "mergesort" { 0.1 } else { 0.8 };
                assert!(
                    (least..2.0).contains(&unit),
                    "{}: one core takes {unit} times the paper's time",
                    application.name
                );
            }
            let mut priced: Vec<_> = prices(application).into_iter().map(|(kernel, _)| kernel).collect();
            let mut done: Vec<_> = one.tasks.iter().map(|task| task.name.clone()).collect();
            priced.sort_unstable();
            done.sort_unstable();
            assert_eq!(priced, done, "{}", application.name);
        }
    }
}
