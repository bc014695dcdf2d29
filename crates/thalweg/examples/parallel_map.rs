//! Draws the Mandelbrot set, row by row on all cores, and once more with a plain loop.
//!
//! `cargo run --release --example parallel_map` prints the picture, that both are the same, and the time of each. Rows cost very different amounts, and
//! still come out in order: `parallel_map` takes a `Fn`, which any number of cores may run, and hands on results in the order of its input.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program of its own measures by std's clock")]

use std::time::Instant;
use thalweg::prelude::*;

const ROWS: usize = 28;
const COLUMNS: usize = 78;
const MOST: u32 = 20_000;

/// How many steps the point stays near the origin.
fn steps(re: f64, im: f64) -> u32 {
    let (mut x, mut y) = (0.0, 0.0);
    for step in 0..MOST {
        if x * x + y * y > 4.0 {
            return step;
        }
        (x, y) = (x * x - y * y + re, 2.0 * x * y + im);
    }
    MOST
}

fn row(row: usize) -> String {
    let im = row as f64 / (ROWS - 1) as f64 * 2.4 - 1.2;
    let letter = |column: usize| match steps(column as f64 / COLUMNS as f64 * 3.2 - 2.2, im) {
        MOST => '#',
        12.. => '+',
        5.. => '.',
        _ => ' ',
    };
    (0..COLUMNS).map(letter).collect()
}

fn main() -> Result<(), thalweg::Error> {
    let begin = Instant::now();
    let plain: Vec<_> = (0..ROWS).map(row).collect();
    let plain_time = begin.elapsed();

    let mut graph = Graph::new();
    let (end, rows) = graph.collect();
    graph += graph.source(0..ROWS) >> graph.parallel_map(row) >> end;
    let begin = Instant::now();
    let report = graph.run(Scheme::default())?;
    let time = begin.elapsed();

    let rows = rows.take();
    rows.iter().for_each(|row| println!("{row}"));
    println!("the same rows in the same order: {}", rows == plain);
    println!("a loop took {plain_time:.1?}, the graph {time:.1?} with up to {} workers", report.workers);
    Ok(())
}
