//! What a graph promises, one test per promise.

use std::fmt::Debug;
use std::sync::Arc;
use thalweg::prelude::*;
use thalweg::{Cause, End, Error};

/// The sum of `0..n` through a chain of kernels, under every scheme and several numbers of workers.
#[test]
fn every_scheme_computes_the_same() {
    for name in Scheme::names() {
        for workers in [1, 2, 4] {
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let numbers = graph.source(0..5000_u64);
            let double = graph.map(|x: u64| x * 2);
            let spread = graph.parallel(|x: u64, out: &mut Output<u64>| (0..x % 3).for_each(|_| out.push(x)));
            let count = graph.sink(|x: u64| seen.push(x));
            graph += numbers >> double >> spread * 4 >> count * 0;
            let report = graph.run(Scheme::named(name).unwrap().workers(workers)).unwrap();
            assert_eq!(report.end, End::Complete);
            drop(graph);
            let expected: Vec<_> = (0..5000).map(|x| x * 2).flat_map(|x| (0..x % 3).map(move |_| x)).collect();
            assert_eq!(seen, expected, "{name} with {workers} workers");
        }
    }
}

#[test]
fn every_message_is_dropped_once_when_a_kernel_panics() {
    for workers in [1, 2] {
        let token = Arc::new(());
        let mut graph = Graph::new();
        let numbers = graph.source((0..10_000).map(|x| (x, token.clone())));
        let pass = graph.parallel(|(x, token): (u32, Arc<()>), out: &mut Output<(u32, Arc<()>)>| {
            assert!(x != 7777, "unlucky");
            out.push((x, token));
        });
        let sink = graph.sink(|_: (u32, Arc<()>)| ());
        graph.name(pass, "pass");
        graph += numbers >> pass >> sink;
        let error = graph.run(Scheme::default().workers(workers)).unwrap_err();
        let Error::Failed { failures, .. } = &error else { panic!("{error}") };
        assert_eq!(failures[0].kernel, "pass");
        assert!(matches!(&failures[0].cause, Cause::Panic(text) if text == "unlucky"));
        drop(graph);
        assert_eq!(Arc::strong_count(&token), 1);
    }
}

#[test]
fn an_error_stops_the_run_and_names_the_kernel() {
    let mut graph = Graph::new();
    let numbers = graph.source(0_u64..);
    let line = line!() + 1;
    let check = graph.sink(|x: u64| if x == 1000 { Err("a thousand is too much") } else { Ok(()) });
    graph.name(check, "check");
    graph += numbers >> check;
    let error = graph.run(Scheme::default()).unwrap_err();
    let text = format!("kernel check ({}:{line}:23) failed", file!());
    assert_eq!(error.to_string(), text);
    let whole = format!("{text}: a thousand is too much");
    assert_eq!(format!("{error:?}"), whole, "what `main` prints if it returns the error");
}

#[test]
fn whoever_prints_an_error_with_its_causes_prints_each_text_once() {
    let mut graph = Graph::new();
    let numbers = graph.source(0..10_u64);
    let check = graph.sink(|x: u64| if x == 5 { Err("five is too much") } else { Ok(()) });
    graph += numbers >> check;
    let error = graph.run(Scheme::default()).unwrap_err();
    let causes = std::iter::successors(Some(&error as &(dyn std::error::Error + 'static)), |&cause| cause.source());
    let told: String = causes.map(|cause| cause.to_string()).collect();
    assert_eq!(told.matches("five is too much").count(), 1, "{told}");
    let Error::Failed { failures, .. } = &error else { panic!("{error}") };
    assert!(matches!(&failures[0].cause, Cause::Error(cause) if cause.to_string() == "five is too much"));
}

#[test]
fn windows_are_whole_and_in_order() {
    for workers in [1, 3] {
        let mut sums = Vec::new();
        let mut graph = Graph::new();
        let numbers = graph.source(0..1000_u64);
        let window =
            graph.parallel_window(10, 3, |window: &[u64], out: &mut Output<u64>| out.push(window.iter().sum()));
        let collect = graph.sink(|sum: u64| sums.push(sum));
        graph += numbers >> window >> collect;
        graph.run(Scheme::default().workers(workers)).unwrap();
        drop(graph);
        let all: Vec<u64> = (0..1000).collect();
        let expected: Vec<u64> = all.windows(10).step_by(3).map(|window| window.iter().sum()).collect();
        assert_eq!(sums, expected);
    }
}

/// Sends what is not finished round again.
struct Collatz;

#[derive(Clone)]
struct CollatzPorts {
    fresh: In<(u64, u32)>,
    again: In<(u64, u32)>,
    unfinished: Out<(u64, u32)>,
    finished: Out<u32>,
}

impl Kernel for Collatz {
    type Ports = CollatzPorts;

    fn ports(&mut self, bind: &mut Binder<'_>) -> CollatzPorts {
        CollatzPorts {
            fresh: bind.input("fresh"),
            again: bind.input("again"),
            unfinished: bind.output("unfinished"),
            finished: bind.output("finished"),
        }
    }

    fn run(&mut self, ports: &CollatzPorts, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some((x, steps)) = io.pop(ports.again).or_else(|| io.pop(ports.fresh)) {
            match x {
                1 => io.push(ports.finished, steps),
                x if x % 2 == 0 => io.push(ports.unfinished, (x / 2, steps + 1)),
                x => io.push(ports.unfinished, (3 * x + 1, steps + 1)),
            }
        }
        Ok(Flow::More)
    }
}

#[test]
fn a_cycle_ends_when_nothing_is_left_in_it() {
    for name in Scheme::names() {
        for workers in [1, 2] {
            let mut steps = Vec::new();
            let mut graph = Graph::new();
            let numbers = graph.source((1..=300_u64).map(|x| (x, 0)));
            let collatz = graph.add(Collatz);
            let collect = graph.sink(|count: u32| steps.push(count));
            graph += numbers >> collatz.fresh;
            graph += collatz.unfinished.feedback() >> collatz.again;
            graph += collatz.finished >> collect;
            graph.run(Scheme::named(name).unwrap().workers(workers)).unwrap();
            drop(graph);
            assert_eq!(steps.len(), 300, "{name}");
            assert_eq!(steps.iter().max(), Some(&127), "{name}");
        }
    }
}

#[test]
fn graphs_that_cannot_work_are_refused() {
    let refused = |build: &dyn Fn(&mut Graph<'static>)| {
        let mut graph = Graph::new();
        build(&mut graph);
        match graph.run(Scheme::default()) {
            Err(error @ Error::Refused(_)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let unconnected = refused(&|graph| {
        let _ = graph.sink(|_: u8| ());
    });
    assert!(unconnected.contains("sink-0") && unconnected.contains("nothing leads to its input in"), "{unconnected}");
    let nowhere = refused(&|graph| {
        let _ = graph.source(0..3);
    });
    assert!(nowhere.contains("source-0") && nowhere.contains("leads nowhere"), "{nowhere}");
    let window = refused(&|graph| {
        let numbers = graph.source(0..3);
        let wide = graph.window(100, 1, |_: &[i32], _: &mut Output<i32>| ());
        let sink = graph.sink(|_: i32| ());
        *graph += numbers.fixed(64) >> wide >> sink;
    });
    assert!(window.contains("window of 100 messages is larger than the 64"), "{window}");
    let cycle = refused(&|graph| {
        let numbers = graph.source((1..3).map(|x| (x, 0)));
        let collatz = graph.add(Collatz);
        let sink = graph.sink(|_: u32| ());
        *graph += numbers >> collatz.fresh;
        *graph += collatz.unfinished >> collatz.again;
        *graph += collatz.finished >> sink;
    });
    assert!(cycle.contains("has no feedback edge; declare one with .feedback()"), "{cycle}");
    let twice = refused(&|graph| {
        let numbers = graph.source(0..3);
        let (a, b) = (graph.sink(|_: i32| ()), graph.sink(|_: i32| ()));
        *graph += numbers >> a;
        *graph += numbers >> b;
    });
    assert!(twice.contains("2 edges leave its output out"), "{twice}");
    let capacity = refused(&|graph| {
        let numbers = graph.source(0..3);
        let sink = graph.sink(|_: i32| ());
        *graph += numbers.capacity(10, 5) >> sink;
    });
    assert!(capacity.contains("capacity 10 to 5"), "{capacity}");
}

/// Name, whether parallel, and messages in and out.
type KernelShape = (String, bool, u64, u64);
/// Ends, whether windowed, and messages.
type EdgeShape = ((usize, usize), bool, u64);

/// Names, edges and amounts of a run.
fn shape(mut graph: Graph<'_>) -> (Vec<KernelShape>, Vec<EdgeShape>) {
    let report = graph.run(Scheme::default()).unwrap();
    let kernels = report.kernels.iter();
    let kernels = kernels.map(|kernel| (kernel.name.clone(), kernel.parallel, kernel.messages_in, kernel.messages_out));
    let edges = report.edges.iter().map(|edge| (edge.ends, edge.windowed, edge.messages));
    (kernels.collect(), edges.collect())
}

#[test]
fn both_forms_build_the_same_graph() {
    let pass = |x: u64, out: &mut Output<u64>| out.push(x);
    let sum = |window: &[u64], out: &mut Output<u64>| out.push(window.iter().sum());
    let mut graph = Graph::new();
    let numbers = graph.source(0..100_u64);
    let (one, two) = (graph.sequential(pass), graph.parallel(pass));
    let (three, four) = (graph.window(3, 1, sum), graph.parallel_window(2, 2, sum));
    let end = graph.sink(drop::<u64>);
    graph += numbers >> one >> two >> three >> four >> end;
    let written_with_arrows = shape(graph);
    let graph = Graph::new();
    let chain = graph.stream(0..100_u64).sequential(pass).parallel(pass).window(3, 1, sum).parallel_window(2, 2, sum);
    chain.sink(drop::<u64>);
    assert_eq!(shape(graph), written_with_arrows);
}

#[test]
fn steps_on_one_handle_are_one_kernel() {
    let pass = |x: u64, out: &mut Output<u64>| out.push(x);
    let graph = Graph::new();
    let chain = graph.stream(0..100_u64).map(|x| x + 1).filter(|x| x % 2 == 0).flat_map(|x| [x, x]).inspect(|_| ());
    let chain = chain.sequential(pass).map(|x| x + 1).filter(|x| x % 3 == 0).flat_map(|x| [x, x]).inspect(|_| ());
    chain.update(|x| *x += 1).sink(drop::<u64>);
    let (kernels, edges) = shape(graph);
    let names: Vec<_> = kernels.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!((names, edges.len()), (vec!["source-0", "sequential-1", "chain-2", "sink-3"], 3));
}

/// Through a kernel of each sort, and with neighbours.
fn travel<T: Clone + Send + Sync + PartialEq + Debug + 'static>(make: fn(u64) -> T) {
    for workers in [1, 2] {
        let mut seen = Vec::new();
        let mut graph = Graph::new();
        let numbers = graph.source((0..300).map(make));
        let one = graph.sequential(|message: T, out: &mut Output<T>| out.push(message));
        let two = graph.parallel_map(|message: T| message);
        let three = graph.window(2, 1, |pair: &[T], out: &mut Output<T>| out.push(pair[1].clone()));
        let four = graph.map(|message: T| (message, 0_u8));
        let five = graph.map(|(message, _): (T, u8)| message);
        let [left, right] = graph.tee(numbers >> one >> two >> three >> four >> five);
        let (sink, other) = (graph.sink(|message: T| seen.push(message)), graph.sink(drop::<T>));
        graph += left >> sink;
        graph += right >> other;
        graph.run(Scheme::default().workers(workers)).unwrap();
        drop(graph);
        assert!(seen.iter().cloned().eq((1..300).map(make)), "{} with {workers} workers", std::any::type_name::<T>());
    }
}

#[test]
fn messages_of_any_size_and_alignment_travel() {
    #[derive(Clone, Debug, PartialEq)]
    #[repr(align(256))]
    struct Wide(u64);
    travel(|_| ());
    travel(|x| [x as u8; 3]);
    travel(|x| Some(Box::new(x)));
    travel(Wide);
    // More than a block has.
    travel(|x| [x; 4000]);
}

/// Takes pairs, and does not end when one side does.
struct Careless;

#[derive(Clone)]
struct CarelessPorts {
    left: In<u64>,
    right: In<u64>,
}

impl Kernel for Careless {
    type Ports = CarelessPorts;

    fn ports(&mut self, bind: &mut Binder<'_>) -> CarelessPorts {
        CarelessPorts { left: bind.input("left"), right: bind.input("right") }
    }

    fn run(&mut self, ports: &CarelessPorts, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while io.has(ports.left, 1) && io.has(ports.right, 1) {
            io.pop(ports.left);
            io.pop(ports.right);
        }
        Ok(Flow::More)
    }
}

#[test]
fn a_run_that_cannot_go_on_is_an_error_that_says_why() {
    for workers in [1, 2] {
        let mut graph = Graph::new();
        let (short, long) = (graph.source(0..10_u64), graph.source(0..1000_u64));
        let careless = graph.add(Careless);
        graph += short >> careless.left;
        graph += long >> careless.right;
        graph.name(careless.left, "careless");
        let error = graph.run(Scheme::default().workers(workers)).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::Stalled { .. }), "{text}");
        assert!(
            text.contains("careless (") && text.contains(") at right") && text.contains("left has ended"),
            "{text}"
        );
    }
}

#[test]
fn a_graph_can_be_run_again() {
    let mut seen = Vec::new();
    let mut graph = Graph::new();
    let fresh = graph.source_with(|| 0..5);
    let sink = graph.sink(|x: i32| seen.push(x));
    graph += fresh >> sink;
    graph.run(Scheme::default()).unwrap();
    graph.run(Scheme::default().workers(2)).unwrap();
    drop(graph);
    assert_eq!(seen, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
}

/// In order, whether blocks stay as they are or the next edge wants shorter ones; and what a block loses to a panic is dropped once.
#[test]
fn what_many_workers_change_stays_in_order() {
    for capacity in [None, Some(3)] {
        let mut seen = Vec::new();
        let mut graph = Graph::new();
        let numbers = graph.source(0..5000_u64);
        let change = graph.parallel_update(|number: &mut u64| *number += 7);
        let sink = graph.sink(|number: u64| seen.push(number));
        match capacity {
            None => graph += numbers >> change * 4 >> sink,
            Some(most) => graph += numbers >> (change * 4).fixed(most) >> sink,
        }
        graph.run(Scheme::default().workers(3)).unwrap();
        drop(graph);
        assert!(seen.into_iter().eq(7..5007), "{capacity:?}");
    }
}
