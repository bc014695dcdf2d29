//! Streams: how a graph scales with its workers.

use serde_json::json;
use thalweg::prelude::*;
use thalweg_sim::Machine;
use thalweg_sync::{hint, time};

use super::point::{Figures, Point};

/// 1, 2, 4 … up to `most`, and that too.
fn workers(most: usize) -> Vec<usize> {
    let mut steps: Vec<usize> = std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|&n| n < most).collect();
    steps.push(most);
    steps
}

fn points(
    workload: &'static str,
    threads: usize,
    most: usize,
    messages: u64,
    cycles: u64,
    run: fn(Scheme, u64),
) -> Vec<Point> {
    (workers(threads.min(most)).into_iter())
        .map(|workers| Point {
            workload,
            contender: "thalweg",
            label: format!("{workers} workers"),
            params: json!({ "messages": messages, "workers": workers, "work_cycles": cycles }),
            threads,
            messages,
            device: None,
            client: Box::new(move || {
                let before = time::now();
                run(Scheme::default().workers(workers), messages);
                Figures { messages, nanos: before.elapsed().as_nanos() as u64 }
            }),
        })
        .collect()
}

/// Six stages of 200 cycles: at most eight kernels have work at a time.
pub(super) fn chain(_machine: &Machine, threads: usize) -> Vec<Point> {
    fn run(scheme: Scheme, messages: u64) {
        let mut sum = 0;
        let mut graph = Graph::new();
        let numbers = graph.source(0..messages);
        let stage = |x: u64, out: &mut Output<u64>| {
            hint::work(200);
            out.push(x + 1);
        };
        let [a, b, c, d, e, f] = std::array::from_fn(|_| graph.sequential(stage));
        let sink = graph.sink(|x: u64| sum += x);
        graph += numbers >> a >> b >> c >> d >> e >> f >> sink;
        graph.run(scheme).expect("the chain runs to its end");
        drop(graph);
        assert_eq!(sum, messages * (messages - 1) / 2 + 6 * messages, "a message was lost");
    }
    points("six stages of 200 cycles", threads, 8, 100_000, 200, run)
}

/// One parallel kernel of 20 000 cycles, in order.
pub(super) fn farm(_machine: &Machine, threads: usize) -> Vec<Point> {
    fn run(scheme: Scheme, messages: u64) {
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
    points("a farm of 20000 cycles", threads, usize::MAX, if cfg!(test) { 2_000 } else { 20_000 }, 20_000, run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_farm_gains_from_workers_and_runs_the_same_twice() {
        let machine = Machine::named("x86-88t").unwrap();
        let points = farm(&machine, 8);
        let nanos = |i: usize| points[i].run(&machine, 0).unwrap_or_else(|failure| panic!("{failure}")).0.nanos;
        let (one, four) = (nanos(0), nanos(2));
        assert!(four * 2 < one, "{four} ns with four workers, {one} with one");
        assert_eq!(four, nanos(2));
    }

    /// CPUs that a stage keeps busy on so many hardware threads when nobody says how many workers there are.
    fn cpus(threads: usize, messages: u64, build: fn(&mut Graph<'static>) -> Node<u64, u64>) -> f64 {
        let client = move || {
            let mut graph = Graph::new();
            let numbers = graph.source(0..messages);
            let stage = build(&mut graph);
            let sink = graph.sink(|_: u64| ());
            graph += numbers >> stage >> sink;
            graph.run(Scheme::default()).expect("the graph runs to its end");
        };
        let machine = Machine::named("x86-88t").unwrap();
        let report = thalweg_sim::Simulation::new(machine).threads(threads).stack_bytes(1 << 20).run(client);
        let busy: u64 = report.per_thread.iter().map(|thread| thread.ended - thread.started - thread.off).sum();
        busy as f64 / report.nanos as f64
    }

    #[test]
    fn the_default_takes_as_many_cores_as_help() {
        fn costly(x: u64) -> u64 {
            hint::work(20_000);
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
}
