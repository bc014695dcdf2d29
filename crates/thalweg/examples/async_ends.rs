//! A graph in an async program: tasks of Tokio push into it and take from it, and its run is awaited.
//!
//! `cargo run --example async_ends` prints the answer to each request of three clients. A full inlet makes a task wait, not a thread; kernels run on
//! threads of the graph, so a computation holds up no task. With the feature `stream`, `Inlet::into_sink` and `Outlet::into_stream` are a sink and
//! a stream of the crate `futures`.

use std::error::Error;
use thalweg::prelude::*;

struct Request {
    client: usize,
    number: u64,
}

/// Work that is too long for a task: the number of steps to 1, by halving or by three times plus one.
fn steps(mut number: u64) -> u64 {
    let mut steps = 0;
    while number != 1 {
        number = if number.is_multiple_of(2) { number / 2 } else { 3 * number + 1 };
        steps += 1;
    }
    steps
}

async fn serve() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut graph = Graph::new();
    let (requests, inlet) = graph.inlet::<Request>(4)?;
    let (answers, outlet) = graph.outlet(4)?;
    let work = graph.parallel_map(|Request { client, number }| (client, number, steps(number)));
    graph += requests >> work >> answers;
    let run = graph.run_async(Scheme::default());

    let clients: Vec<_> = (0..3)
        .map(|client| {
            let inlet = inlet.clone();
            tokio::spawn(async move {
                for number in [7, 27, 97] {
                    inlet.push_async(Request { client, number: number + client as u64 }).await?;
                }
                Ok::<_, thalweg::Closed<Request>>(())
            })
        })
        .collect();
    drop(inlet); // the stream ends when the clients' clones are gone too

    let mut all = Vec::new();
    while let Ok(answer) = outlet.pop_async().await {
        all.push(answer);
    }
    for client in clients {
        client.await?.map_err(|_| "the run has ended before its clients")?;
    }
    let report = run.await?;

    all.sort();
    for (client, number, steps) in &all {
        println!("client {client}: {number} takes {steps} steps");
    }
    println!("{} answers, the run is {:?}", all.len(), report.end);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?.block_on(serve())
}
