//! Counts the words of a file, or of standard input, with a count for each word on as many cores as help.
//!
//! `cargo run --example word_count -- README.md` prints the ten most frequent words, and how many words and different ones there are.
//! Words go to their counts by key, so each word is counted in one place and no lock is taken.

use std::cmp::Reverse;
use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use thalweg::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let text: Box<dyn BufRead + Send> = match std::env::args().nth(1) {
        Some(path) => Box::new(BufReader::new(File::open(&path).map_err(|error| format!("{path}: {error}"))?)),
        None => Box::new(BufReader::new(io::stdin())),
    };

    let mut graph = Graph::new();
    // Standard input may keep its reader waiting, so the reader has a thread of its own.
    let lines = graph.source_blocking(text.lines(), 1024)?;
    let words = graph.sequential(|line: io::Result<String>, out: &mut Output<(String, u64)>| -> io::Result<()> {
        for word in line?.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()) {
            out.push((word.to_lowercase(), 1));
        }
        Ok(())
    });
    let counts = graph.keyed(lines >> words).fold(|| 0, |count: &mut u64, one| *count += one);
    let (end, counted) = graph.collect();
    graph += counts >> end;
    graph.run(Scheme::default())?;

    let mut counted = counted.take();
    // The words of the same count by name: keys come in no order.
    counted.sort_by_key(|(word, count)| (Reverse(*count), word.clone()));
    for (word, count) in counted.iter().take(10) {
        println!("{count:>6}  {word}");
    }
    let all: u64 = counted.iter().map(|(_, count)| count).sum();
    println!("{all} words, {} different ones", counted.len());
    Ok(())
}
