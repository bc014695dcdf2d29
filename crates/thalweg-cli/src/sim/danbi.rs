//! `danbi/scaling`: three graphs on 1 to 40 cores under DANBI's four scheduling configurations, its Figures 3 and 4.

use serde_json::json;
use thalweg::BoxError;
use thalweg::prelude::*;
use thalweg_sim::Machine;
use thalweg_sync::{hint, time};

use super::point::{Figures, Point, Run};

/// The configurations of Figure 3a to 3d, and the mean speed-up on 40 cores that the paper has for its seven applications.
const SCHEMES: [(&str, f64); 4] = [("random", 25.3), ("qes", 28.9), ("qes_pss", 30.8), ("qes_pss_prs", 33.7)];

/// A graph: its name, how many messages go through, and how to run it.
type Shape = (&'static str, u64, fn(Scheme, u64));

const SHAPES: [Shape; 3] = [
    ("pipeline of six parallel kernels", if cfg!(test) { 200 } else { 40_000 }, pipeline),
    ("farm", if cfg!(test) { 100 } else { 8_000 }, farm),
    ("diamond with irregular work", if cfg!(test) { 160 } else { 20_000 }, diamond),
];

/// From 1 core to all of them, as the paper's figures go.
fn cores(most: usize) -> Vec<usize> {
    let mut cores: Vec<usize> = [1, 5, 10, 15, 20, 25, 30, 35].into_iter().filter(|&n| n < most).collect();
    cores.push(most);
    cores
}

pub(super) fn scaling(_machine: &Machine, threads: usize) -> Vec<Point> {
    let mut points = Vec::new();
    for (workload, messages, run) in SHAPES {
        for (contender, _) in SCHEMES {
            for cores in cores(threads) {
                points.push(Point {
                    workload,
                    contender,
                    label: format!("{cores} cores"),
                    params: json!({ "messages": messages, "workers": cores }),
                    threads: cores,
                    messages,
                    device: None,
                    client: Box::new(move || {
                        let before = time::now();
                        run(Scheme::named(contender).expect("a scheme's name").workers(cores), messages);
                        Figures { messages, nanos: before.elapsed().as_nanos() as u64 }
                    }),
                });
            }
        }
    }
    points
}

/// 2000 cycles in each stage.
fn pipeline(scheme: Scheme, messages: u64) {
    let mut sum = 0;
    let mut graph = Graph::new();
    let numbers = graph.source(0..messages);
    let stage = |x: u64, out: &mut Output<u64>| {
        hint::work(2_000);
        out.push(x + 1);
    };
    let [a, b, c, d, e, f] = std::array::from_fn(|_| graph.parallel(stage));
    let sink = graph.sink(|x: u64| sum += x);
    graph += numbers >> a >> b >> c >> d >> e >> f >> sink;
    graph.run(scheme).expect("the pipeline runs to its end");
    drop(graph);
    assert_eq!(sum, messages * (messages - 1) / 2 + 6 * messages, "a message was lost");
}

fn farm(scheme: Scheme, messages: u64) {
    let mut next = 0;
    let mut graph = Graph::new();
    let numbers = graph.source(0..messages);
    let work = graph.parallel(|x: u64, out: &mut Output<u64>| {
        hint::work(20_000);
        out.push(x);
    });
    let sink = graph.sink(|x: u64| {
        assert_eq!(x, next, "in order");
        next += 1;
    });
    graph += numbers >> work >> sink;
    graph.run(scheme).expect("the farm runs to its end");
    drop(graph);
    assert_eq!(next, messages, "a message was lost");
}

/// Gives each message to both sides.
struct Split;
#[derive(Clone)]
struct SplitPorts {
    numbers: In<u64>,
    sides: [Out<u64>; 2],
}

impl Kernel for Split {
    type Ports = SplitPorts;

    fn ports(&mut self, bind: &mut Binder<'_>) -> SplitPorts {
        SplitPorts { numbers: bind.input("numbers"), sides: [bind.output("left"), bind.output("right")] }
    }

    fn run(&mut self, ports: &SplitPorts, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(number) = io.pop(ports.numbers) {
            ports.sides.iter().for_each(|&side| io.push(side, number));
        }
        Ok(Flow::More)
    }
}

/// Takes one from each side.
struct Join;
#[derive(Clone)]
struct JoinPorts {
    sides: [In<u64>; 2],
    sums: Out<u64>,
}

impl Kernel for Join {
    type Ports = JoinPorts;

    fn ports(&mut self, bind: &mut Binder<'_>) -> JoinPorts {
        JoinPorts { sides: [bind.input("left"), bind.input("right")], sums: bind.output("sums") }
    }

    fn run(&mut self, ports: &JoinPorts, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while ports.sides.iter().all(|&side| io.has(side, 1)) {
            let (Some(left), Some(right)) = (io.pop(ports.sides[0]), io.pop(ports.sides[1])) else { break };
            io.push(ports.sums, left + right);
        }
        Ok(Flow::More)
    }
}

/// One side has 4000 cycles for each message; on the other side one message in eight has 40 000 and the others 2000.
fn diamond(scheme: Scheme, messages: u64) {
    let mut sum = 0;
    let mut graph = Graph::new();
    let numbers = graph.source(0..messages);
    let split = graph.add(Split);
    let regular = graph.parallel(|x: u64, out: &mut Output<u64>| {
        hint::work(4_000);
        out.push(x);
    });
    let irregular = graph.parallel(|x: u64, out: &mut Output<u64>| {
        let mixed = x.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61;
        hint::work(if mixed == 0 { 40_000 } else { 2_000 });
        out.push(x);
    });
    let join = graph.add(Join);
    let sink = graph.sink(|x: u64| sum += x);
    graph += numbers >> split.numbers;
    graph += split.sides[0] >> regular >> join.sides[0];
    graph += split.sides[1] >> irregular >> join.sides[1];
    graph += join.sums >> sink;
    graph.run(scheme).expect("the diamond runs to its end");
    drop(graph);
    assert_eq!(sum, messages * (messages - 1), "a message was lost");
}

/// Speed-ups with all cores, beside the paper's means, and where the time went.
pub(super) fn summary(points: &[Point], measured: &[Vec<Run>]) -> String {
    let mut text = format!("{:38}", "speed-up with all cores");
    SCHEMES.iter().for_each(|(scheme, _)| text += &format!("{scheme:>14}"));
    let nanos = |at: usize| points[at].nanos(&measured[at]).median;
    let find = |workload: &str, scheme: &str| {
        let fits = |at: &usize| points[*at].workload == workload && points[*at].contender == scheme;
        let curve: Vec<usize> = (0..points.len()).filter(fits).collect();
        (curve[0], curve[curve.len() - 1])
    };
    for (workload, ..) in SHAPES {
        // As in the paper: to the single core of the last configuration.
        let one = nanos(find(workload, SCHEMES[3].0).0);
        text += &format!("\n{workload:38}");
        SCHEMES.iter().for_each(|(scheme, _)| text += &format!("{:>14.1}", one / nanos(find(workload, scheme).1)));
    }
    text += &format!("\n{:38}", "the paper, mean of its applications");
    SCHEMES.iter().for_each(|(_, paper)| text += &format!("{paper:>14.1}"));
    text += "\n\nwhere the time of all cores went, %: kernels / runtime and memory / waiting";
    for (workload, ..) in SHAPES {
        text += &format!("\n{workload:38}");
        for (scheme, _) in SCHEMES {
            let (at, report) = (find(workload, scheme).1, &measured[find(workload, scheme).1][0].1);
            let all = (report.nanos * points[at].threads as u64) as f64 / 100.0;
            let kernels = report.tasks.iter().map(|task| task.nanos).sum::<u64>() as f64 / all;
            let there = |thread: &thalweg_sim::ThreadReport| {
                (thread.ended - thread.started).saturating_sub(thread.off + thread.wanting + thread.spinning)
            };
            let there = report.per_thread.iter().map(there).sum::<u64>() as f64 / all;
            let split = format!("{kernels:.0}/{:.0}/{:.0}", (there - kernels).max(0.0), (100.0 - there).max(0.0));
            text += &format!("{split:>14}");
        }
    }
    text + "\n\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_runs_under_every_configuration() {
        let machine = Machine::named("x86-40").unwrap();
        let points = scaling(&machine, 4);
        assert_eq!(points.len(), 3 * 4 * 2);
        let measured: Vec<Vec<Run>> = (points.iter())
            .map(|point| vec![point.run(&machine, 0).unwrap_or_else(|failure| panic!("{}: {failure}", point.title()))])
            .collect();
        for (point, runs) in points.iter().zip(&measured) {
            assert!(runs[0].1.tasks.len() >= 3, "{}: kernels have names", point.title());
        }
        let text = summary(&points, &measured);
        assert!(text.contains("qes_pss_prs") && text.contains("33.7"), "{text}");
        assert_eq!(cores(40), [1, 5, 10, 15, 20, 25, 30, 35, 40]);
    }
}
