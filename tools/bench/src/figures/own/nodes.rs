//! Memory of edges on nodes (BLQ §3.3): how often a worker waits for the memory of another node, by how long a run is. Blocks of an edge go
//! around between the workers that fill and empty them, so that they stay in caches: where their memory lies matters when they are touched
//! for the first time. If that is so, far reads for each message vanish as runs get longer, and no place of that memory can gain anything.

use serde_json::json;
use thalweg::Scheme;

use crate::figures::own::streams::{WORK_OF_ROWS, rows};
use crate::worlds::experiment::{Experiment, Panel, Setting};
use crate::worlds::point::{Figures, MISSES, Point, Run};

pub(crate) const EXPERIMENT: Experiment = Experiment::new("sim/nodes", points)
    .panels(&[Panel::Rate, Panel::Of(MISSES), Panel::Own(FAR, far)])
    .paper(far_reads);

const FAR: &str = "reads of another node's memory for 100 messages";
/// How many far reads a hundred messages may have for the place of memory to be no matter: with 64 bytes a message and a far read of 200 ns
/// that is at most 2 ns a message, over all workers.
const NONE: f64 = 1.0;

/// Times the shortest run.
const LENGTHS: [u64; 3] = [1, 4, 16];

/// Kernels of a row between its source and its sink.
const ROW: usize = 3;

/// A worker for each kernel, over all nodes.
fn points(setting: &Setting<'_>) -> Vec<Point> {
    let workers = setting.threads;
    let count = (workers / (ROW + 2)).max(1);
    let mut points = Vec::new();
    for (contender, partitioned) in [("ours, off", false), ("ours, on", true)] {
        for length in LENGTHS {
            let messages = setting.part(4_000, 100) * length / count as u64 * count as u64;
            points.push(Point {
                workload: "rows of five over all nodes",
                contender,
                label: format!("{messages} messages"),
                params: json!({ "messages": messages, "workers": workers, "rows": count, "work": WORK_OF_ROWS }),
                threads: setting.threads,
                messages,
                device: None,
                client: Box::new(move || {
                    let scheme = Scheme::default().workers(workers).pinned(true).partitioned(partitioned);
                    Figures::timed(messages, || rows(scheme, count, ROW, messages))
                }),
            });
        }
    }
    points
}

/// Reads from another node's memory for a hundred messages.
fn far(point: &Point, runs: &[Run]) -> f64 {
    let reads: u64 = runs.iter().map(|(_, report)| report.counts.memory_reads.other_socket).sum();
    100.0 * reads as f64 / (point.messages * runs.len() as u64) as f64
}

fn far_reads(points: &[Point], measured: &[Vec<Run>]) -> String {
    let mut text = format!("{:40}{:>36}\n", "", "far reads of 100 messages");
    for (point, runs) in points.iter().zip(measured) {
        text += &format!("{:40}{:>36.2}\n", format!("{}, {}", point.contender, point.label), far(point, runs));
    }
    for (points, measured) in points.chunks(LENGTHS.len()).zip(measured.chunks(LENGTHS.len())) {
        let (first, last) =
            (far(&points[0], &measured[0]), far(&points[LENGTHS.len() - 1], &measured[LENGTHS.len() - 1]));
        text += &format!(
            "{}: {first:.2} in the shortest run, {last:.2} in the longest: the place of an edge's memory {}\n",
            points[0].contender,
            if last <= NONE { "gains nothing" } else { "may gain something" }
        );
    }
    text + "\n"
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use thalweg_sim::Machine;

    #[test]
    fn rows_run_over_all_nodes_and_read_far_memory() {
        let machine = Machine::named("x86-40").unwrap();
        let setting = Setting::of(&machine, 20);
        for point in points(&setting) {
            let run = point.run(&machine, 0).unwrap_or_else(|error| panic!("{}: {error}", point.title()));
            assert!(far(&point, &[run]) > 0.0, "nobody read another node's memory in {}", point.title());
        }
    }
}
