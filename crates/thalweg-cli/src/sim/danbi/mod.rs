//! DANBI's Figures 3 and 4: three graphs on 1 to 40 cores under its four scheduling configurations, by its own runtime as
//! the paper has it and by ours.

mod runtime;

use serde_json::json;
use thalweg::Scheme;

use super::experiment::{Experiment, Setting};
use super::point::{Client, Figures, Point, Run};
use super::streams::{self, Chain};
use runtime::{BURST, Graph, Kernel, Scheduler};

pub(super) const EXPERIMENTS: [Experiment; 2] = [
    Experiment::new(
        "danbi/scaling",
        "DANBI's Figures 3 and 4, by its own runtime: three graphs on 1 to 40 cores",
        paper,
    )
    .paper(beside_the_paper),
    Experiment::new("danbi/streams", "the same graphs and configurations, by the streams of thalweg", ours)
        .paper(beside_the_paper),
];

/// The configurations of Figure 3a to 3d, and the mean speed-up on 40 cores that the paper has for its seven applications.
const CONFIGURATIONS: [(&str, Scheduler, f64); 4] = [
    ("random", Scheduler::Random, 25.3),
    ("qes", Scheduler::Qes, 28.9),
    ("qes_pss", Scheduler::Pss, 30.8),
    ("qes_pss_prs", Scheduler::Prs, 33.7),
];

/// Figure 4: where the time of all cores goes. The rest is start, end and sleep.
const BREAKDOWN: &[(&str, &str)] =
    &[("application, %", "application"), ("queue, %", "queue"), ("scheduler, %", "scheduler"), ("stall, %", "stall")];

/// What stands in the paper's Figure 4 and its text for 40 cores, in percent of the time of all cores.
const FIGURE_4: &str = "\
the paper, 40 cores: stall 19.0 (MergeSort) and 24.8 (RG) under random, 13.8 and 13.3 under qes, 0.03 (RG) under qes_pss;
queue of RG 51 under qes, 14 under qes_pss; the mean of all under qes_pss_prs: application 91, queue 3.9, scheduler 2.8,
stall 1.5";

/// A graph, for both runtimes.
struct Shape {
    workload: &'static str,
    messages: u64,
    danbi: fn() -> Graph,
    ours: fn(Scheme, u64),
}

/// Cycles of a kernel for a message: what FFT2's two kernels take for a block (table III: 228.6 s for 30 million blocks at 2 GHz).
const FIRING: u64 = 7_600;

const PIPELINE: Chain = Chain { stages: 6, cycles: FIRING, parallel: true };
const FARM: Chain = Chain { stages: 1, cycles: 10 * FIRING, parallel: true };

const SHAPES: [Shape; 3] = [
    Shape {
        workload: "pipeline of six parallel kernels",
        messages: 64_000,
        danbi: || row(6, |_| FIRING),
        ours: |scheme, messages| streams::run(scheme, messages, PIPELINE),
    },
    Shape {
        workload: "farm",
        messages: 16_000,
        danbi: || row(1, |_| 10 * FIRING),
        ours: |scheme, messages| streams::run(scheme, messages, FARM),
    },
    Shape { workload: "diamond with irregular work", messages: 32_000, danbi: diamond, ours: streams::diamond },
];

fn kernel(parallel: bool, work: fn(u64) -> u64) -> Kernel {
    Kernel { parallel, work }
}

/// A source, so many kernels one behind the other, a sink.
fn row(stages: usize, work: fn(u64) -> u64) -> Graph {
    let mut kernels = vec![kernel(false, |_| 0)];
    kernels.extend((0..stages).map(|_| kernel(true, work)));
    kernels.push(kernel(false, |_| 0));
    Graph { queues: (0..=stages).map(|stage| (stage, stage + 1)).collect(), kernels }
}

/// A source, a kernel that gives each message to both sides, the sides, a kernel that takes one from each, a sink.
fn diamond() -> Graph {
    let (ends, free) = (|| kernel(false, |_| 0), || kernel(true, |_| 0));
    let kernels =
        vec![ends(), free(), kernel(true, |_| streams::REGULAR), kernel(true, streams::irregular), free(), ends()];
    Graph { kernels, queues: vec![(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5)] }
}

/// From 1 core to all of them, as the paper's figures go.
fn cores(most: usize) -> Vec<usize> {
    let mut cores: Vec<usize> = [1, 5, 10, 15, 20, 25, 30, 35].into_iter().filter(|&n| n < most).collect();
    cores.push(most);
    cores
}

/// A point for each shape, configuration and number of cores; `client` makes what runs so many messages there, and may
/// want more of them.
fn points(
    setting: &Setting<'_>,
    more: u64,
    client: impl Fn(&'static Shape, (&'static str, Scheduler), usize, u64) -> Client,
) -> Vec<Point> {
    let mut points = Vec::new();
    for shape in &SHAPES {
        let messages = setting.part(more * shape.messages / BURST, 1) * BURST;
        for (contender, scheduler, _) in CONFIGURATIONS {
            for cores in cores(setting.threads) {
                points.push(Point {
                    workload: shape.workload,
                    contender,
                    label: format!("{cores} cores"),
                    params: json!({ "messages": messages, "workers": cores }),
                    threads: cores,
                    messages,
                    device: None,
                    client: client(shape, (contender, scheduler), cores, messages),
                });
            }
        }
    }
    points
}

fn paper(setting: &Setting<'_>) -> Vec<Point> {
    points(setting, 1, |shape, (_, scheduler), cores, messages| {
        Box::new(move || {
            let nanos = runtime::run(&(shape.danbi)(), scheduler, cores, messages);
            Figures { shares: BREAKDOWN, ..Figures::new(messages, nanos) }
        })
    })
}

/// Starting the workers is part of these runs, so they are longer.
fn ours(setting: &Setting<'_>) -> Vec<Point> {
    points(setting, 2, |shape, (scheme, _), cores, messages| {
        let scheme = move || Scheme::named(scheme).expect("a scheme's name").workers(cores);
        Box::new(move || Figures::timed(messages, || (shape.ours)(scheme(), messages)))
    })
}

/// Speed-ups with all cores, beside the paper's means, and where the time went.
fn beside_the_paper(points: &[Point], measured: &[Vec<Run>]) -> String {
    let mut text = format!("{:38}", "speed-up with all cores");
    CONFIGURATIONS.iter().for_each(|(name, ..)| text += &format!("{name:>14}"));
    let curve = |workload: &str, contender: &str| -> Vec<usize> {
        let fits = |at: &usize| points[*at].workload == workload && points[*at].contender == contender;
        (0..points.len()).filter(fits).collect()
    };
    let nanos = |at: usize| points[at].nanos(&measured[at]).median;
    let mut logarithms = [0.0; 4];
    for shape in &SHAPES {
        // As in the paper: to the single core of the last configuration.
        let one = nanos(curve(shape.workload, CONFIGURATIONS[3].0)[0]);
        text += &format!("\n{:38}", shape.workload);
        for ((name, ..), sum) in CONFIGURATIONS.iter().zip(&mut logarithms) {
            let curve = curve(shape.workload, name);
            let faster = one / nanos(curve[curve.len() - 1]);
            *sum += faster.ln() / SHAPES.len() as f64;
            text += &format!("{faster:>14.1}");
        }
    }
    text += &format!("\n{:38}", "mean");
    logarithms.iter().for_each(|mean| text += &format!("{:>14.1}", mean.exp()));
    text += &format!("\n{:38}", "the paper, mean of its applications");
    CONFIGURATIONS.iter().for_each(|(.., paper)| text += &format!("{paper:>14.1}"));
    text += "\n\nwhere the time of all cores went, %\n";
    for shape in &SHAPES {
        for (name, ..) in CONFIGURATIONS {
            let curve = curve(shape.workload, name);
            let at = curve[curve.len() - 1];
            text += &format!("{:38}{name:14}{}\n", shape.workload, breakdown(&points[at], &measured[at]));
        }
    }
    text + FIGURE_4 + "\n\n"
}

/// The shares of what threads said that they did, in the order of the first seed, the largest first; the rest is start, end and
/// sleep.
fn breakdown(point: &Point, runs: &[Run]) -> String {
    let tasks = runs.first().map_or(&[][..], |(_, report)| &report.tasks);
    tasks.iter().map(|task| format!("  {} {:.1}", task.name, point.share(runs, &task.name).median)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_sim::Machine;

    #[test]
    fn every_shape_runs_under_every_configuration() {
        let machine = Machine::named("x86-40").unwrap();
        for experiment in &EXPERIMENTS {
            let points = (experiment.plan)(&Setting::of(&machine, 4));
            assert_eq!(points.len(), 3 * 4 * 2);
            let run =
                |point: &Point| point.run(&machine, 0).unwrap_or_else(|failure| panic!("{}: {failure}", point.title()));
            let measured: Vec<Vec<Run>> = points.iter().map(|point| vec![run(point)]).collect();
            for (point, runs) in points.iter().zip(&measured) {
                assert!(runs[0].1.tasks.len() >= 3, "{}: what is done has a name", point.title());
                let named: f64 = runs[0].1.tasks.iter().map(|task| point.share(runs, &task.name).median).sum();
                assert!(named > 0.0 && named < 100.1, "{}: {named} % have a name", point.title());
                // Figure 4 is part of the records of the paper's runtime.
                let records = point.records(experiment.name, &machine, runs, false);
                let of_figure_4 = BREAKDOWN.iter().filter(|(unit, _)| records.contains(unit)).count();
                assert_eq!(of_figure_4, if experiment.name == "danbi/scaling" { 4 } else { 0 });
            }
            assert_eq!(run(&points[1]).1, measured[1][0].1, "the same again");
            let text = beside_the_paper(&points, &measured);
            assert!(text.contains("qes_pss_prs") && text.contains("33.7"), "{text}");
        }
    }

    #[test]
    fn curves_go_from_one_core_to_all() {
        assert_eq!(cores(40), [1, 5, 10, 15, 20, 25, 30, 35, 40]);
    }
}
