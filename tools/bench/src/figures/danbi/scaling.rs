//! DANBI's Figures 3, 4, 6 and 7: three graphs on 1 to 40 cores under its four scheduling configurations, by its own runtime as the paper has
//! it and by ours; how many threads its own makes; and what the size of its queues changes.

use serde_json::json;
use thalweg::Scheme;

use crate::baselines::danbi::{self, BURST, Graph, Kernel, Scheduler};
use crate::figures::own::streams::{self, Chain};
use crate::report::verdict::{Claim, Verdict};
use crate::worlds::experiment::{Base, Experiment, NANOS, Panel, Setting};
use crate::worlds::point::{Client, Figures, Point, Run};
use crate::worlds::seen::{Seen, mean, range};

pub(crate) const EXPERIMENTS: [Experiment; 3] = [
    Experiment::new("danbi/scaling", paper)
        .here(&[NANOS, THREADS[0], THREADS[1]])
        .panels(&FIGURES_3_AND_4)
        .note(note)
        .paper(beside_the_paper)
        .verdicts(|seen| [speed_ups("danbi/scaling", seen), of_figures_4_and_6(seen)].concat()),
    Experiment::new("danbi/streams", ours)
        .here(&[NANOS])
        .panels(&[Panel::Rate, Panel::SpeedUp(OVER_ONE_CORE)])
        .note(note)
        .paper(beside_the_paper)
        .verdicts(|seen| speed_ups("danbi/streams", seen)),
    Experiment::new("danbi/sizes", sizes)
        .here(&[NANOS])
        .panels(&[Panel::Rate, Panel::SpeedUp(OVER_USUAL)])
        .paper(variations)
        .verdicts(of_figure_7),
];

const FIGURES_3_AND_4: [Panel; 6] = {
    let [application, queue, scheduler, stall] = *BREAKDOWN;
    let [application, queue, scheduler, stall] =
        [Panel::Of(application.0), Panel::Of(queue.0), Panel::Of(scheduler.0), Panel::Of(stall.0)];
    [Panel::Rate, Panel::SpeedUp(OVER_ONE_CORE), application, queue, scheduler, stall]
};
/// As in the paper.
const OVER_ONE_CORE: Base = Base {
    unit: "times as fast as one core under qes_pss_prs",
    is: |_, other| other.contender == CONFIGURATIONS[3].0 && other.threads == 1,
};

const OVER_USUAL: Base = Base {
    unit: "times as fast as with queues of the usual size",
    is: |one, other| other.contender == one.contender && other.label == USUAL,
};

/// The configurations of Figure 3a to 3d, and the mean speed-up on 40 cores that the paper has for its seven applications.
const CONFIGURATIONS: [(&str, Scheduler, f64); 4] = [
    ("random", Scheduler::Random, 25.3),
    ("qes", Scheduler::Qes, 28.9),
    ("qes_pss", Scheduler::Pss, 30.8),
    ("qes_pss_prs", Scheduler::Prs, 33.7),
];

/// Figure 4: where the time of all cores goes. The rest is start, end and sleep.
const BREAKDOWN: &[(&str, &str); 4] =
    &[("application, %", "application"), ("queue, %", "queue"), ("scheduler, %", "scheduler"), ("stall, %", "stall")];

/// Figure 6: user-level threads at a time.
const THREADS: [&str; 2] = ["threads, mean", "threads, most"];
/// What the paper has for 40 cores.
const FIGURE_6: [u32; 2] = [43, 83];

/// What stands in the paper's Figure 4 and its text for 40 cores, in percent of the time of all cores.
const FIGURE_4: [&str; 4] = [
    "the mean of all 91 under qes_pss_prs",
    "RG 51 under qes, 14 under qes_pss; the mean of all 3.9 under qes_pss_prs",
    "the mean of all 2.8 under qes_pss_prs",
    "MergeSort 19.0 and RG 24.8 under random, 13.8 and 13.3 under qes, RG 0.03 under qes_pss; the mean of all 1.5 under qes_pss_prs",
];

/// A third off the paper's number at most comes out: it is the mean of its applications, and here it is of three graphs.
const WITHIN: f64 = 1.0 / 3.0;
/// Cores of the paper's machine: on another number of them its numbers are not to be compared with.
const CORES: usize = 40;
/// The last configuration, whose time and threads the paper tells.
const PRS: &str = CONFIGURATIONS[3].0;
const MEANS_OF_3: [&str; 4] = [
    "random, mean speed-up with 40 cores",
    "qes, mean speed-up with 40 cores",
    "qes_pss, mean speed-up with 40 cores",
    "qes_pss_prs, mean speed-up with 40 cores",
];
/// In the order of the breakdown.
const CLAIMS_OF_4: [Claim; 4] = [
    Claim::new("danbi/scaling", "qes_pss_prs, application, %", 91.0, WITHIN),
    Claim::new("danbi/scaling", "qes_pss_prs, queue, %", 3.9, WITHIN),
    Claim::new("danbi/scaling", "qes_pss_prs, scheduler, %", 2.8, WITHIN),
    Claim::new("danbi/scaling", "qes_pss_prs, stall, %", 1.5, WITHIN),
];
const CLAIMS_OF_6: [Claim; 2] = [
    Claim::new("danbi/scaling", "qes_pss_prs, user-level threads on average", FIGURE_6[0] as f64, WITHIN),
    Claim::new("danbi/scaling", "qes_pss_prs, user-level threads at most", FIGURE_6[1] as f64, WITHIN),
];
const CLAIM_OF_7: Claim =
    Claim::new("danbi/sizes", "qes_pss_prs, queues of half and double the size change the time by, %,", 2.0, WITHIN)
        .at_most();

/// The figure of each graph under a configuration with all 40 cores.
fn with_all(seen: &Seen<'_>, contender: &str, unit: &str) -> [Option<f64>; 3] {
    SHAPES.each_ref().map(|shape| seen.figure(seen.find(shape.workload, contender, &format!("{CORES} cores"))?, unit))
}

fn speed_ups(figure: &'static str, seen: &Seen<'_>) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for ((contender, _, paper), what) in CONFIGURATIONS.into_iter().zip(MEANS_OF_3) {
        let all = with_all(seen, contender, NANOS);
        let one = SHAPES.each_ref().map(|shape| seen.nanos_of(shape.workload, PRS, "1 cores"));
        let faster = one.into_iter().zip(all).map(|(one, all)| Some(one? / all?));
        verdicts.push(Claim::new(figure, what, paper, WITHIN).verdict(mean(faster)));
    }
    verdicts
}

fn of_figures_4_and_6(seen: &Seen<'_>) -> Vec<Verdict> {
    let shares = BREAKDOWN.iter().zip(CLAIMS_OF_4);
    let shares = shares.map(|((unit, _), claim)| claim.verdict(mean(with_all(seen, PRS, unit))));
    let [average, most] = CLAIMS_OF_6;
    let of_6 = [
        average.verdict(mean(with_all(seen, PRS, THREADS[0]))),
        most.verdict(range(with_all(seen, PRS, THREADS[1])).map(|range| range.1)),
    ];
    shares.chain(of_6).collect()
}

/// Of the sizes that are within the paper's, the change of the time that is largest.
fn of_figure_7(seen: &Seen<'_>) -> Vec<Verdict> {
    let change = |workload: &str, label: &str| {
        let nanos = |label| seen.nanos_of(workload, PRS, label);
        Some(100.0 * (nanos(label)? / nanos(USUAL)? - 1.0).abs())
    };
    let all = SHAPES.iter().flat_map(|shape| ["1/2 x", "2 x"].map(|label| change(shape.workload, label)));
    vec![CLAIM_OF_7.verdict(range(all).map(|range| range.1).filter(|_| seen.threads() == CORES))]
}

/// What the paper has of a panel's figure on 40 cores.
fn note(unit: &str, _: &str) -> String {
    let says = match BREAKDOWN.iter().position(|share| share.0 == unit) {
        Some(share) => FIGURE_4[share].to_owned(),
        None if unit == OVER_ONE_CORE.unit => {
            let means = CONFIGURATIONS.map(|(name, _, mean)| format!("{mean:.1} under {name}"));
            "the mean of all ".to_owned() + &means.join(", ")
        }
        None => return String::new(),
    };
    format!("The paper, 40 cores: {says}")
}

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
            let capacity = danbi::capacity(cores);
            let ran = danbi::run(&(shape.danbi)(), scheduler, cores, capacity, messages);
            let more = vec![(THREADS[0], ran.mean), (THREADS[1], ran.most as f64)];
            Figures { shares: BREAKDOWN, more, ..Figures::new(messages, ran.nanos) }
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

/// What the usual size of a queue is divided by and multiplied with. The paper has 1/3, 2/3, 2 and 3; these queues have powers of two.
const SIZES: [(&str, usize, usize); 5] =
    [("1/4 x", 1, 4), ("1/2 x", 1, 2), (USUAL, 1, 1), ("2 x", 2, 1), ("4 x", 4, 1)];
const USUAL: &str = "1 x";

/// Figure 7: queues of other sizes, on all cores.
fn sizes(setting: &Setting<'_>) -> Vec<Point> {
    let mut points = Vec::new();
    let cores = setting.threads;
    for shape in &SHAPES {
        let messages = setting.part(shape.messages / BURST, 1) * BURST;
        for (contender, scheduler, _) in CONFIGURATIONS {
            for (label, times, part) in SIZES {
                let capacity = (danbi::capacity(cores) * times / part).max(BURST as usize);
                points.push(Point {
                    workload: shape.workload,
                    contender,
                    label: label.to_owned(),
                    params: json!({ "messages": messages, "workers": cores, "capacity": capacity }),
                    threads: cores,
                    messages,
                    device: None,
                    client: Box::new(move || {
                        let ran = danbi::run(&(shape.danbi)(), scheduler, cores, capacity, messages);
                        Figures::new(messages, ran.nanos)
                    }),
                });
            }
        }
    }
    points
}

/// How far the time with other sizes is from the time with the usual one, beside the paper's 2 %.
fn variations(points: &[Point], measured: &[Vec<Run>]) -> String {
    let mut text = format!("{:38}", "time over that with 1 x, %");
    SIZES.iter().for_each(|(label, ..)| text += &format!("{label:>9}"));
    for (points, measured) in points.chunks(SIZES.len()).zip(measured.chunks(SIZES.len())) {
        text += &format!("\n{:38}", format!("{}, {}", points[0].workload, points[0].contender));
        let nanos = |at: usize| points[at].nanos(&measured[at]).median;
        let usual = SIZES.iter().position(|size| size.0 == USUAL).expect("it is one of them");
        (0..SIZES.len()).for_each(|at| text += &format!("{:>+9.1}", 100.0 * (nanos(at) / nanos(usual) - 1.0)));
    }
    text + "\nThe paper: below 2 % under qes_pss_prs, from 1/3 x to 3 x\n\n"
}

/// Speed-ups with all cores and their arithmetic mean, as in the paper (Table III and Figure 3 agree only so), and where the time went.
fn beside_the_paper(points: &[Point], measured: &[Vec<Run>]) -> String {
    let mut text = format!("{:38}", "speed-up with all cores");
    CONFIGURATIONS.iter().for_each(|(name, ..)| text += &format!("{name:>14}"));
    let curve = |workload: &str, contender: &str| -> Vec<usize> {
        let fits = |at: &usize| points[*at].workload == workload && points[*at].contender == contender;
        (0..points.len()).filter(fits).collect()
    };
    let nanos = |at: usize| points[at].nanos(&measured[at]).median;
    let mut means = [0.0; 4];
    for shape in &SHAPES {
        // As in the paper: to the single core of the last configuration.
        let one = nanos(curve(shape.workload, CONFIGURATIONS[3].0)[0]);
        text += &format!("\n{:38}", shape.workload);
        for ((name, ..), mean) in CONFIGURATIONS.iter().zip(&mut means) {
            let curve = curve(shape.workload, name);
            let faster = one / nanos(curve[curve.len() - 1]);
            *mean += faster / SHAPES.len() as f64;
            text += &format!("{faster:>14.1}");
        }
    }
    text += &format!("\n{:38}", "mean");
    means.iter().for_each(|mean| text += &format!("{mean:>14.1}"));
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
    if let Some(text_of_6) = footprint(points, measured) {
        text += &text_of_6;
    }
    text += "the paper, 40 cores:\n";
    BREAKDOWN.iter().zip(FIGURE_4).for_each(|((_, share), says)| text += &format!("{share:14}{says}\n"));
    text + "\n"
}

/// Figure 6: user-level threads on all cores, where the runtime has them.
fn footprint(points: &[Point], measured: &[Vec<Run>]) -> Option<String> {
    let mut text = "\nuser-level threads with all cores, mean and most\n".to_owned();
    for shape in &SHAPES {
        text += &format!("{:38}", shape.workload);
        for (name, ..) in CONFIGURATIONS {
            let fits = |at: &usize| points[*at].workload == shape.workload && points[*at].contender == name;
            let at = (0..points.len()).filter(fits).max_by_key(|&at| points[at].threads)?;
            let [mean, most] = THREADS.map(|unit| points[at].figure(&measured[at], unit));
            text += &format!("{:>14}", format!("{:.0} {:.0}", mean?, most?));
        }
        text += "\n";
    }
    let [mean, most] = FIGURE_6;
    Some(text + &format!("the paper, 40 cores, under qes_pss_prs: {mean} on average, {most} at most\n\n"))
}

/// The shares of what threads said that they did, in the order of the first seed, the largest first; the rest is start, end and
/// sleep.
fn breakdown(point: &Point, runs: &[Run]) -> String {
    let tasks = runs.first().map_or(&[][..], |(_, report)| &report.tasks);
    tasks.iter().map(|task| format!("  {} {:.1}", task.name, point.share(runs, &task.name).median)).collect()
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use crate::worlds::pictures::plots;
    use thalweg_sim::Machine;

    #[test]
    fn every_shape_runs_under_every_configuration() {
        let machine = Machine::named("x86-40").unwrap();
        for experiment in &EXPERIMENTS[..2] {
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
            let drawn: Vec<_> = plots(experiment, &points, &measured);
            let shares = ["application, %", "queue, %", "scheduler, %", "stall, %"];
            let mut units = vec!["million messages a second", "times as fast as one core under qes_pss_prs"];
            units.extend(shares.iter().filter(|_| experiment.name == "danbi/scaling"));
            assert_eq!(drawn.iter().map(|plot| plot.unit.as_str()).collect::<Vec<_>>(), units.repeat(3));
            let notes = ["", "33.7 under qes_pss_prs", "91", "RG 51", "2.8", "MergeSort"];
            for (plot, note) in drawn.iter().zip(notes[..units.len()].repeat(3)) {
                assert_eq!(plot.curves().len(), 4, "{} ({}): every configuration", plot.title, plot.unit);
                assert!(
                    plot.note.contains(note) && plot.note.is_empty() == note.is_empty(),
                    "{}: {}",
                    plot.unit,
                    plot.note
                );
            }
        }
    }

    #[test]
    fn threads_are_few_more_than_cores_and_sizes_are_compared() {
        let machine = Machine::named("x86-40").unwrap();
        let setting = Setting::of(&machine, 4);
        let run = |point: &Point| vec![point.run(&machine, 0).unwrap_or_else(|e| panic!("{}: {e}", point.title()))];
        let points = paper(&setting);
        let last = points.iter().rfind(|point| point.contender == CONFIGURATIONS[3].0 && point.threads == 4).unwrap();
        let runs = run(last);
        let [mean, most] = THREADS.map(|unit| last.figure(&runs, unit).unwrap());
        assert!((3.0..=most).contains(&mean) && most >= 4.0, "{mean} threads on average, {most} at most, on 4 cores");
        let points = sizes(&setting);
        assert_eq!(points.len(), SHAPES.len() * CONFIGURATIONS.len() * SIZES.len());
        let measured: Vec<_> = points[..SIZES.len()].iter().map(run).collect();
        let text = variations(&points[..SIZES.len()], &measured);
        assert!(text.contains("1/4 x") && text.contains("+0.0"), "{text}");
    }

    #[test]
    fn curves_go_from_one_core_to_all() {
        assert_eq!(cores(40), [1, 5, 10, 15, 20, 25, 30, 35, 40]);
    }
}
