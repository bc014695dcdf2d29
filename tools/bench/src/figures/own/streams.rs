//! Streams: graphs of our own, and how they scale with their workers.

use serde_json::json;
use thalweg::BoxError;
use thalweg::prelude::*;

use crate::worlds;
use crate::worlds::experiment::{Experiment, NANOS, Setting};
use crate::worlds::point::{Figures, Point};

pub(crate) const EXPERIMENTS: [Experiment; 2] =
    [Experiment::new("sim/chain", chain).here(&[NANOS]), Experiment::new("sim/farm", farm).here(&[NANOS])];

/// A source, kernels one behind the other, a sink.
#[derive(Clone, Copy)]
pub(crate) struct Chain {
    pub(crate) stages: usize,
    /// What each of them works for a message.
    pub(crate) cycles: u64,
    pub(crate) parallel: bool,
}

/// Runs so many messages through a chain, and looks whether they come in order.
pub(crate) fn run(scheme: Scheme, messages: u64, Chain { stages, cycles, parallel }: Chain) {
    let mut next = stages as u64;
    let mut graph = Graph::new();
    let numbers = graph.source(0..messages);
    let stage = move |x: u64, out: &mut Output<u64>| {
        worlds::work(cycles);
        out.push(x + 1);
    };
    let stages: Vec<_> =
        (0..stages).map(|_| if parallel { graph.parallel(stage) } else { graph.sequential(stage) }).collect();
    let sink = graph.sink(|x: u64| {
        assert_eq!(x, next, "in order");
        next += 1;
    });
    graph += numbers >> stages[0];
    stages.windows(2).for_each(|pair| graph += pair[0] >> pair[1]);
    graph += stages[stages.len() - 1] >> sink;
    graph.run(scheme).expect("the chain runs to its end");
    let through = stages.len() as u64 + messages;
    drop(graph);
    assert_eq!(next, through, "a message was lost");
}

/// What a kernel of [`rows`] does with a message, in instructions.
pub(crate) const WORK_OF_ROWS: u64 = 100;

/// Runs rows of so many kernels between a source and a sink each, all in one graph; a message is a line.
pub(crate) fn rows(scheme: Scheme, count: usize, length: usize, messages: u64) {
    let share = messages / count as u64;
    let mut done = vec![0; count];
    let mut graph = Graph::new();
    for done in &mut done {
        let mut path = graph.source((0..share).map(|number| [number; 8])).into_path();
        for _ in 0..length {
            path = path
                >> graph.map(|mut message: [u64; 8]| {
                    worlds::work(WORK_OF_ROWS);
                    message[0] += 1;
                    message
                });
        }
        graph += path
            >> graph.sink(move |message: [u64; 8]| {
                worlds::work(WORK_OF_ROWS);
                assert_eq!(message[0], message[1] + length as u64);
                *done += 1;
            });
    }
    graph.run(scheme).expect("the rows run to their ends");
    drop(graph);
    assert_eq!(done, vec![share; count], "a message was lost");
}

/// 1, 2, 4 … up to `most`, and that too.
pub(super) fn workers(most: usize) -> Vec<usize> {
    let mut steps: Vec<usize> = std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|&n| n < most).collect();
    steps.push(most);
    steps
}

fn points(workload: &'static str, setting: &Setting<'_>, most: usize, messages: u64, chain: Chain) -> Vec<Point> {
    (workers(setting.threads.min(most)).into_iter())
        .map(|workers| Point {
            workload,
            contender: "thalweg",
            label: format!("{workers} workers"),
            params: json!({ "messages": messages, "workers": workers, "work_cycles": chain.cycles }),
            threads: setting.threads,
            messages,
            device: None,
            client: Box::new(move || {
                Figures::timed(messages, || run(Scheme::default().workers(workers), messages, chain))
            }),
        })
        .collect()
}

/// At most eight kernels have work at a time.
fn chain(setting: &Setting<'_>) -> Vec<Point> {
    let chain = Chain { stages: 6, cycles: 200, parallel: false };
    points("six stages of 200 cycles", setting, 8, setting.part(100_000, 1), chain)
}

fn farm(setting: &Setting<'_>) -> Vec<Point> {
    let farm = Chain { stages: 1, cycles: 20_000, parallel: true };
    points("a farm of 20000 cycles", setting, usize::MAX, setting.part(20_000, 2_000), farm)
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

/// Cycles of a message on the one side of the diamond.
pub(crate) const REGULAR: u64 = 8_000;

/// Cycles of a message on the other side: of sixteen in a row all have many, in one such row of four.
pub(crate) fn irregular(message: u64) -> u64 {
    let mixed = (message / 16).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62;
    if mixed == 0 { 20_000 } else { 4_000 }
}

/// Gives each message to both sides and takes one from each.
pub(crate) fn diamond(scheme: Scheme, messages: u64) {
    let mut sum = 0;
    let mut graph = Graph::new();
    let numbers = graph.source(0..messages);
    let split = graph.add(Split);
    let regular = graph.parallel(|x: u64, out: &mut Output<u64>| {
        worlds::work(REGULAR);
        out.push(x);
    });
    let irregular = graph.parallel(|x: u64, out: &mut Output<u64>| {
        worlds::work(irregular(x));
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

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use thalweg::{Firing, ParallelKernel};
    use thalweg_sim::Machine;

    #[test]
    fn a_farm_gains_from_workers_and_runs_the_same_twice() {
        let machine = Machine::named("x86-88t").unwrap();
        let points = farm(&Setting::of(&machine, 8));
        let nanos = |i: usize| points[i].run(&machine, 0).unwrap_or_else(|failure| panic!("{failure}")).0.nanos;
        let (one, four) = (nanos(0), nanos(2));
        assert!(four * 2 < one, "{four} ns with four workers, {one} with one");
        assert_eq!(four, nanos(2));
    }

    /// CPUs that a stage keeps busy on so many hardware threads when nobody says how many workers there are: the middle one of three seeds,
    /// as the number of workers is found by trials, which one delay may turn.
    fn cpus(threads: usize, messages: u64, build: fn(&mut Graph<'static>) -> Node<u64, u64>) -> f64 {
        let client = || {
            let mut graph = Graph::new();
            let numbers = graph.source(0..messages);
            let stage = build(&mut graph);
            let sink = graph.sink(|_: u64| ());
            graph += numbers >> stage >> sink;
            graph.run(Scheme::default()).expect("the graph runs to its end");
        };
        let mut cpus = [0, 1, 2].map(|seed| {
            let machine = Machine::named("x86-88t").unwrap();
            let simulation = thalweg_sim::Simulation::new(machine).threads(threads).seed(seed).stack_bytes(1 << 20);
            let report = simulation.run(client);
            let busy: u64 = report.per_thread.iter().map(|thread| thread.ended - thread.started - thread.off).sum();
            busy as f64 / report.nanos as f64
        });
        cpus.sort_by(f64::total_cmp);
        cpus[1]
    }

    #[test]
    fn the_default_spreads_a_few_long_messages_at_once() {
        // All at once; with the first one alone it would be four.
        let stage = |graph: &mut Graph<'static>| {
            graph.parallel(|x: u64, out: &mut Output<u64>| {
                worlds::work(20_000_000);
                out.push(x);
            })
        };
        let few = cpus(8, 8, stage);
        assert!(few > 5.0, "{few} of 8 CPUs for eight long messages");
    }

    #[test]
    fn the_default_takes_as_many_cores_as_help() {
        fn costly(x: u64) -> u64 {
            worlds::work(20_000);
            x
        }
        // Nearly all the work is in one kernel that only one worker may run.
        let alone = cpus(8, 20_000, |graph| graph.map(costly));
        assert!(alone < 1.1, "{alone} CPUs for one sequential kernel");
        let spread = |graph: &mut Graph<'static>| graph.parallel(|x: u64, out: &mut Output<u64>| out.push(costly(x)));
        let few = cpus(8, 20_000, spread);
        assert!(few > 6.0, "{few} of 8 CPUs for one parallel kernel");
        let many = cpus(88, 200_000, spread);
        assert!(many > 40.0, "{many} of 88 CPUs for one parallel kernel");
    }

    /// Gives each message to eight kernels.
    struct Copies;
    /// Takes one from each of eight kernels.
    struct Sum;

    impl ParallelKernel for Copies {
        type Ports = (In<u64>, [Out<u64>; 8]);

        fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
            (bind.input("in"), std::array::from_fn(|copy| bind.output(&format!("copy {copy}"))))
        }

        fn fire(&self, ports: &Self::Ports, firing: &mut Firing<'_>) -> Result<(), BoxError> {
            let number = firing.take(ports.0);
            ports.1.iter().for_each(|&copy| firing.push(copy, number));
            Ok(())
        }
    }

    impl ParallelKernel for Sum {
        type Ports = ([In<u64>; 8], Out<u64>);

        fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
            (std::array::from_fn(|part| bind.input(&format!("part {part}"))), bind.output("out"))
        }

        fn fire(&self, ports: &Self::Ports, firing: &mut Firing<'_>) -> Result<(), BoxError> {
            let sum = ports.0.iter().map(|&part| firing.take(part)).sum();
            firing.push(ports.1, sum);
            Ok(())
        }
    }

    /// Nobody waits for who gathers a firing's messages, nor for who is at the store of blocks: with forty workers that wait, this takes thirty times
    /// as long as with ten.
    #[test]
    fn kernels_with_many_ports_do_not_get_slower_by_many_workers() {
        const MESSAGES: u64 = 4_000;
        let nanos = |workers: usize| {
            let client = move || {
                let mut sum = 0;
                let mut graph = Graph::new();
                let numbers = graph.source(0..MESSAGES);
                let (copies, parts) = (graph.add_parallel(Copies), graph.add_parallel(Sum));
                let sink = graph.sink(|number: u64| sum += number);
                graph += numbers >> copies.0;
                for (copy, part) in copies.1.into_iter().zip(parts.0) {
                    let filter = graph.parallel(|number: u64, out: &mut Output<u64>| {
                        worlds::work(500);
                        out.push(number);
                    });
                    graph += copy >> filter >> part;
                }
                graph += parts.1 >> sink;
                graph.run(Scheme::default().workers(workers)).expect("the graph runs to its end");
                drop(graph);
                assert_eq!(sum, 8 * MESSAGES * (MESSAGES - 1) / 2);
            };
            let machine = Machine::named("x86-40").unwrap();
            thalweg_sim::Simulation::new(machine).threads(40).stack_bytes(1 << 20).run(client).nanos
        };
        let (ten, forty) = (nanos(10), nanos(40));
        assert!(forty < 10 * ten, "{forty} ns with forty workers, {ten} with ten");
    }
}
