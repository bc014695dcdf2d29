//! `sim/workers`: the graphs of `streams/workers` and two farms of frames, with 1, 2, 4 … workers and with the number that the runtime finds.
//!
//! Every run takes far less than a second, so the time in which the number is found counts.

use serde_json::json;
use thalweg::prelude::*;
use thalweg_figure::Spread;

use crate::worlds;
use crate::worlds::experiment::{Experiment, NANOS, Setting};
use crate::worlds::point::{Figures, Point, Run};

pub(crate) const EXPERIMENT: Experiment = Experiment::new("sim/workers", points).here(&[NANOS]).paper(beside);

/// The share of the best fixed number's rate that the default may lose.
const TOLERANCE: f64 = 0.10;

const FIXED: &str = "thalweg, a fixed number";
const DEFAULT: &str = "thalweg, the default";

/// A source, kernels one behind the other, a sink.
#[derive(Clone, Copy)]
struct Shape {
    workload: &'static str,
    stages: usize,
    parallel: bool,
    /// What the source, each kernel and the sink work for a message, in cycles.
    cycles: (u64, u64, u64),
    messages: Messages,
}

/// How many messages go through: a full run takes 8 to 160 ms with the best number.
#[derive(Clone, Copy)]
enum Messages {
    /// So many, on any number of hardware threads.
    Always(u64),
    /// So many for each hardware thread, as more of them help.
    PerThread(u64),
}

impl Messages {
    fn of(self, setting: &Setting<'_>) -> u64 {
        match self {
            Messages::Always(full) => setting.part(full, 1_000),
            Messages::PerThread(full) => setting.part(full, 4) * setting.threads as u64,
        }
    }
}

/// A multiplication and an addition in each kernel, as in `streams/pipe3` and `streams/chain32`; sixteen taps, as in `streams/fir32`; some 0.8 us, as in
/// `streams/farm`. A frame takes the sink a fifteenth of what it takes the kernel, so no number of workers gives more than sixteen times the rate of one.
const SHAPES: [Shape; 7] = [
    Shape { workload: "pipe3", stages: 1, parallel: false, cycles: (1, 4, 1), messages: Messages::Always(8_000_000) },
    Shape {
        workload: "chain32",
        stages: 30,
        parallel: false,
        cycles: (1, 4, 1),
        messages: Messages::Always(1_000_000),
    },
    Shape { workload: "fir32", stages: 32, parallel: false, cycles: (1, 30, 1), messages: Messages::Always(400_000) },
    Shape { workload: "farm", stages: 1, parallel: true, cycles: (1, 2_000, 1), messages: Messages::PerThread(40_000) },
    Shape {
        workload: "one heavy sequential kernel",
        stages: 1,
        parallel: false,
        cycles: (1, 2_000, 1),
        messages: Messages::Always(40_000),
    },
    Shape {
        workload: "a farm of frames",
        stages: 1,
        parallel: true,
        cycles: (100, 6_000, 400),
        messages: Messages::PerThread(8_000),
    },
    Shape {
        workload: "a farm of long frames",
        stages: 1,
        parallel: true,
        cycles: (10_000, 1_500_000, 100_000),
        messages: Messages::PerThread(64),
    },
];

fn points(setting: &Setting<'_>) -> Vec<Point> {
    let steps = std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|&n| n < setting.threads);
    let numbers: Vec<Option<usize>> = steps.chain([setting.threads]).map(Some).chain([None]).collect();
    let point = |shape: Shape, workers: Option<usize>| {
        let messages = shape.messages.of(setting);
        let (contender, label) = match workers {
            Some(workers) => (FIXED, format!("{workers} workers")),
            None => (DEFAULT, "as found".to_owned()),
        };
        let scheme = move || workers.map_or(Scheme::default(), |workers| Scheme::default().workers(workers));
        let shown = workers.map_or(json!("default"), |workers| json!(workers));
        Point {
            workload: shape.workload,
            contender,
            label,
            params: json!({ "messages": messages, "workers": shown, "work_cycles": shape.cycles.1 }),
            threads: setting.threads,
            messages,
            device: None,
            client: Box::new(move || Figures::timed(messages, || run(scheme(), messages, shape))),
        }
    };
    SHAPES.iter().flat_map(|&shape| numbers.iter().map(move |&workers| point(shape, workers))).collect()
}

/// Runs so many messages through, and looks whether they come in order.
fn run(scheme: Scheme, messages: u64, Shape { stages, parallel, cycles, .. }: Shape) {
    let (given, worked, taken) = cycles;
    let mut next = stages as u64;
    let mut graph = Graph::new();
    let source = graph.source((0..messages).inspect(move |_| worlds::work(given)));
    let stage = move |x: u64, out: &mut Output<u64>| {
        worlds::work(worked);
        out.push(x + 1);
    };
    let mut path = source.into_path();
    for _ in 0..stages {
        path = path >> if parallel { graph.parallel(stage) } else { graph.sequential(stage) };
    }
    graph += path
        >> graph.sink(|x: u64| {
            worlds::work(taken);
            assert_eq!(x, next, "in order");
            next += 1;
        });
    graph.run(scheme).expect("the row runs to its end");
    drop(graph);
    assert_eq!(next, stages as u64 + messages, "a message was lost");
}

/// The default over the best fixed number of each graph.
fn beside(points: &[Point], measured: &[Vec<Run>]) -> String {
    let mut text = format!(
        "{:30}{:>12}{:>12}{:>12}{:>8}{:>16}{:>8}\n",
        "", "best fixed", "times one", "default's", "CPUs", "over the best", "within"
    );
    let all: Vec<_> = points.iter().zip(measured).collect();
    for graph in all.chunk_by(|(one, _), (next, _)| one.workload == next.workload) {
        let nanos = |contender: &'static str| {
            let of = graph.iter().filter(move |(point, _)| point.contender == contender);
            of.map(|&(point, runs)| (point.nanos(runs).median, point, runs))
        };
        let best = nanos(FIXED).min_by(|one, other| one.0.total_cmp(&other.0));
        let (Some(one), Some(best), Some(found)) = (nanos(FIXED).next(), best, nanos(DEFAULT).next()) else { continue };
        let (share, within) = verdict(best.0, found.0);
        text += &format!(
            "{:30}{:>12}{:>12.2}{:>12.2}{:>8.1}{share:>16.3}{within:>8}\n",
            best.1.workload,
            best.1.label,
            one.0 / best.0,
            one.0 / found.0,
            cpus(found.2),
        );
    }
    let most = TOLERANCE * 100.0;
    text + &format!("within: the default reaches the best fixed number's rate, less {most:.0} % at most\n\n")
}

/// The default's rate over that of the best fixed number, and whether that is within the tolerance; from times for a message.
fn verdict(best: f64, found: f64) -> (f64, &'static str) {
    let share = best / found;
    (share, if share >= 1.0 - TOLERANCE { "yes" } else { "no" })
}

/// CPUs that were busy on the average, in the middle one of the runs.
fn cpus(runs: &[Run]) -> f64 {
    let busy = |(_, report): &Run| {
        let busy: u64 = report.per_thread.iter().map(|thread| thread.ended - thread.started - thread.off).sum();
        busy as f64 / report.nanos.max(1) as f64
    };
    Spread::of(runs.iter().map(busy)).median
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use thalweg_sim::Machine;

    #[test]
    fn a_tenth_less_than_the_best_is_within() {
        assert_eq!(verdict(10.0, 10.0), (1.0, "yes"));
        assert_eq!(verdict(10.0, 8.0).1, "yes", "better than any fixed number");
        assert_eq!(verdict(9.0, 9.9).1, "yes");
        assert_eq!(verdict(8.9, 10.0).1, "no");
        assert_eq!(verdict(10.4, 14.6).1, "no", "the rate counts, so the times stand the other way round");
    }

    #[test]
    fn every_graph_runs_with_every_number_and_has_a_verdict() {
        let machine = Machine::named("arm-96t").unwrap();
        let points = points(&Setting::of(&machine, 3));
        let labels: Vec<&str> = points.iter().map(|point| point.label.as_str()).collect();
        assert!(labels.chunks(4).all(|of| of == ["1 workers", "2 workers", "3 workers", "as found"]), "{labels:?}");
        let run =
            |point: &Point| vec![point.run(&machine, 0).unwrap_or_else(|error| panic!("{}: {error}", point.title()))];
        let measured: Vec<_> = points.iter().map(run).collect();
        let text = beside(&points, &measured);
        for shape in SHAPES {
            let row = text.lines().find(|line| line.starts_with(&format!("{:30}", shape.workload)));
            let row = row.unwrap_or_else(|| panic!("{} has no row in\n{text}", shape.workload));
            let cells: Vec<&str> = row.split_whitespace().rev().collect();
            let share: f64 = cells[1].parse().unwrap();
            assert_eq!(cells[0], if share >= 0.9 { "yes" } else { "no" }, "{row}");
        }
    }
}
