//! Functions of a stream as tasks: a port that is full or empty switches to other tasks, also where there is one worker.

use thalweg::prelude::*;
use thalweg::{Closed, TaskBody};
use thalweg_task::Runtime;

/// Each adds one.
fn row(runtime: &Runtime, tasks: usize, count: u64) {
    let mut graph = Graph::new();
    let spawn = |body: TaskBody| drop(runtime.spawn(|| body.run()));
    let mut before = graph.source(0..count).into_path();
    for _ in 0..tasks {
        let (to, from) = graph
            .task_on(spawn, 4, |(input, output): (Outlet<u64>, Inlet<u64>)| {
                while let Ok(x) = input.pop() {
                    output.push(x + 1)?;
                }
                Ok::<(), Closed<u64>>(())
            })
            .unwrap();
        graph += before >> to;
        before = from.into_path();
    }
    let (end, all) = graph.collect();
    graph += before >> end;
    graph.run(Scheme::default()).unwrap();
    assert!(all.take().into_iter().eq((0..count).map(|x| x + tasks as u64)));
}

#[test]
fn thirty_functions_share_a_worker() {
    let runtime = Runtime::builder().workers(1).start().unwrap();
    row(&runtime, 30, 200);
}

#[test]
fn a_task_that_runs_the_graph_and_its_functions_share_a_worker() {
    let runtime = Runtime::builder().workers(1).start().unwrap();
    runtime.run(|| row(&runtime, 5, 200));
}
