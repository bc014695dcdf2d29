//! The smallest program: a source, a step and a sink, run until the source has ended.
//!
//! `cargo run --example hello -p thalweg` prints three greetings, then the report of the run.

use thalweg::prelude::*;

fn main() -> Result<(), thalweg::Error> {
    let mut graph = Graph::new();
    let names = graph.source(["Ada", "Grace", "Barbara"]);
    let greet = graph.map(|name: &str| format!("hello, {name}"));
    let print = graph.sink(|greeting: String| println!("{greeting}"));

    graph += names >> greet >> print;
    let report = graph.run(Scheme::default())?;

    println!("\n{report}");
    Ok(())
}
