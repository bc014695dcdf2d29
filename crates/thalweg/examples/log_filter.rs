//! Reads a log, keeps the slow requests, and reports the lines that are none.
//!
//! A line is `path status milliseconds`. Lines are parsed on many cores and stay in order; those that do not parse have an output of their own, so
//! one bad line stops nothing. `printf '/a 200 5\n/b 500 120\noops\n' | cargo run --example log_filter -- 100` prints the requests of 100 ms and more;
//! bad lines and the report of the run go to standard error.

use std::error::Error;
use std::io::{self, BufRead, BufReader};
use thalweg::prelude::*;

struct Request {
    path: String,
    status: u16,
    millis: u64,
}

fn parse(line: &str) -> Result<Request, String> {
    let [path, status, millis] = line.split_whitespace().collect::<Vec<_>>()[..] else {
        return Err(format!("not three words: {line:?}"));
    };
    Ok(Request {
        path: path.to_owned(),
        status: status.parse().map_err(|error| format!("status {status:?}: {error}"))?,
        millis: millis.parse().map_err(|error| format!("time {millis:?}: {error}"))?,
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let least: u64 = std::env::args().nth(1).map_or(Ok(100), |least| least.parse())?;

    let mut graph = Graph::new();
    let lines = graph.source_blocking(BufReader::new(io::stdin()).lines().enumerate(), 1024)?;
    graph.name(lines, "lines");
    // An error of the input itself ends the run; an error of a line is a message.
    let whole = graph.sequential(
        |(number, line): (usize, io::Result<String>), out: &mut Output<(usize, String)>| -> io::Result<()> {
            out.push((number + 1, line?));
            Ok(())
        },
    );
    let parsed = graph.parallel_map(|(number, line): (usize, String)| {
        parse(&line).map_err(|error| format!("line {number}: {error}"))
    });
    graph.name(parsed, "parse");
    let (requests, errors) = graph.try_map(lines >> whole >> parsed, |result| result);
    let slow = graph.filter(move |request: &Request| request.millis >= least);
    graph.name(slow, "slow");
    let print = graph.sink(|Request { path, status, millis }| println!("{millis:>6} ms  {status}  {path}"));
    let complain = graph.sink(|error: String| eprintln!("{error}"));

    graph += requests >> slow >> print;
    graph += errors >> complain;
    let report = graph.run(Scheme::default())?;
    eprintln!("{report}");
    Ok(())
}
