//! What streams gain when their edges are the device's: the same graph with each storage of `thalweg`, of which one is lines of the device.

use serde_json::json;
use thalweg::Storage;
use thalweg::prelude::*;
use thalweg_sim::Device;

use crate::worlds;
use crate::worlds::experiment::{Base, EVERY, Experiment, Panel, Setting, said};
use crate::worlds::point::{Figures, MISSES, Point, Run, SNOOPS};

pub(crate) const EXPERIMENT: Experiment = Experiment::new("vl/streams", plan)
    .panels(&[Panel::Rate, Panel::SpeedUp(OVER_RING), Panel::Of(MISSES), Panel::Of(SNOOPS)])
    .note(|unit, workload| said("The paper", &[(OVER_RING.unit, &[(EVERY, SAYS)])], unit, workload))
    .paper(over_ring);

const OVER_RING: Base = Base { unit: "times as fast as by a ring", is: |_, other| other.contender == RING };
const RING: &str = "ring";
const SAYS: &str = "it has no stream runtime on its device";

/// Less than this is no gain.
const GAIN: f64 = 1.05;

const STORAGES: [(&str, Storage); 3] =
    [(RING, Storage::Ring), ("ring for many", Storage::Many), ("virtual-link", Storage::Device)];

/// Kernels between the source and the sink, and what each works for a message, in cycles.
const STAGES: usize = 6;
const WORK: u64 = 200;

/// A scheme, and what each edge holds: a block then has half of that.
const WORKLOADS: [(&str, &str, Option<usize>); 4] = [
    ("a thread for each kernel, a message a block", "raft", Some(2)),
    ("a thread for each kernel, blocks by cost", "raft", None),
    ("workers with queues, a message a block", "depth_first", Some(2)),
    ("workers with queues, blocks by cost", "depth_first", None),
];

fn plan(setting: &Setting<'_>) -> Vec<Point> {
    let workers = setting.threads.min(STAGES + 2);
    let mut points = Vec::new();
    for (workload, scheme, holds) in WORKLOADS {
        let messages = setting.part(20_000, 200);
        for (contender, storage) in STORAGES {
            points.push(Point {
                workload,
                contender,
                label: format!("{workers} workers"),
                params: json!({ "messages": messages, "workers": workers, "work_cycles": WORK, "holds": holds }),
                threads: setting.threads,
                messages,
                device: (storage == Storage::Device).then_some(Device::VirtualLink(setting.routing)),
                client: Box::new(move || {
                    let scheme = Scheme::named(scheme).expect("a scheme's name").workers(workers);
                    Figures::timed(messages, || run(scheme, storage, holds, messages))
                }),
            });
        }
    }
    points
}

fn run(scheme: Scheme, storage: Storage, holds: Option<usize>, messages: u64) {
    let mut next = STAGES as u64;
    let mut graph = Graph::new();
    let mut path = graph.source(0..messages).storage(storage);
    for _ in 0..STAGES {
        if let Some(most) = holds {
            path = path.fixed(most);
        }
        let stage = graph.sequential(|number: u64, out: &mut Output<u64>| {
            worlds::work(WORK);
            out.push(number + 1);
        });
        path = (path >> stage).storage(storage);
    }
    let sink = graph.sink(|number: u64| {
        assert_eq!(number, next, "in order");
        next += 1;
    });
    if let Some(most) = holds {
        path = path.fixed(most);
    }
    graph += path >> sink;
    graph.run(scheme).expect("the chain runs to its end");
    drop(graph);
    assert_eq!(next, STAGES as u64 + messages, "a message was lost");
}

/// The device's rate over the ring's.
fn over_ring(points: &[Point], measured: &[Vec<Run>]) -> String {
    let mut text = format!("{:52}{:>12}\n", "the device over the ring", "times");
    for at in (0..points.len()).step_by(STORAGES.len()) {
        let nanos = |number: usize| points[number].nanos(&measured[number]).median;
        let times = nanos(at) / nanos(at + STORAGES.len() - 1);
        let verdict = if times >= GAIN { "gains" } else { "gains nothing" };
        text += &format!("{:52}{times:>12.2}  {verdict}\n", points[at].workload);
    }
    text + "\n"
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use thalweg_sim::Machine;

    /// Seven edges a run, and a device of 64 queues.
    #[test]
    fn a_device_serves_any_number_of_runs_of_a_machine() {
        let machine = Machine::named("vl-16").unwrap();
        let setting = Setting::of(&machine, 2);
        let point = Point {
            device: Some(Device::VirtualLink(setting.routing)),
            client: Box::new(|| {
                let run = || run(Scheme::default().workers(2), Storage::Device, Some(2), 20);
                Figures::timed(240, || (0..12).for_each(|_| run()))
            }),
            ..plan(&setting).pop().unwrap()
        };
        point.run(&machine, 0).unwrap_or_else(|failure| panic!("{failure}"));
    }

    #[test]
    fn blocks_go_over_the_device_of_the_machine_and_only_there() {
        let machine = Machine::named("vl-16").unwrap();
        for point in plan(&Setting::of(&machine, 8)) {
            let (_, report) = point.run(&machine, 0).unwrap_or_else(|failure| panic!("{}: {failure}", point.title()));
            assert_eq!(report.counts.device.injections > 0, point.contender == STORAGES[2].0, "{}", point.title());
        }
    }
}
