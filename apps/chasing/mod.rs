//! Chases pointers through a table that is larger than the caches, in several stages.
//!
//! ```text
//! sequence >> generate * 4 >> filter >> copy 1 >> … >> copy 9 >> count
//! ```
//!
//! A message stands for a segment of the table: some lines in a cycle, each with the place of the next. Generate writes to each line of
//! the segment, filter goes round it twice and lets one of a thousand pass, each copy and count go round once more. So nearly all the
//! work is in front of the filter, and what is behind it rarely has something to do: hints say so.
//!
//! From the pointer chasing of BLQ, table 1. There the table is written and read without protection; here its words are atomic, as two
//! messages may stand for one segment.

pub mod reference;
mod table;

use thalweg::prelude::*;
use thalweg_sync::time::{self, Duration};

use crate::bursts::work;
use crate::watch::Steps;
use crate::{Error, Result, Watch};
pub use table::LINES;
use table::{Chunk, Table};

/// What to chase.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Messages.
    pub messages: u64,
    /// Threads that generate, for schemes that have threads for a kernel.
    pub generators: u32,
    /// Threads that filter; of one, the kernel is not parallel.
    pub filters: u32,
    /// Kernels that copy.
    pub copies: usize,
    /// How long each message takes to generate, at least.
    pub delay: Duration,
    /// Lines of the table, [`LINES`] in the paper.
    pub lines: usize,
    /// Lines in a segment.
    pub segment: usize,
    /// How often filter goes round.
    pub rounds: u64,
    /// Turns of an empty loop in filter.
    pub nops: u64,
    /// All messages pass.
    pub all: bool,
    /// How the graph runs.
    pub scheme: Scheme,
}

impl Config {
    /// As in the paper, with the default scheme.
    pub fn new(messages: u64) -> Self {
        Self {
            messages,
            generators: 4,
            filters: 1,
            copies: 9,
            delay: Duration::ZERO,
            lines: LINES,
            segment: 4,
            rounds: 2,
            nops: 100,
            all: false,
            scheme: Scheme::default(),
        }
    }

    /// The work of the filter. Says whether the message passes, and gives the sum of what was read.
    fn filter(&self, table: &Table, chunk: Chunk) -> (bool, u64) {
        let mut read = 0;
        for _ in 0..self.rounds {
            read += table.walk(chunk);
            work(self.nops / 10 / self.rounds);
        }
        let Chunk { sequence, .. } = chunk;
        (self.all || sequence / 1_000 % 1_000 == sequence % 1_000, read)
    }

    fn check(&self) -> Result<()> {
        if self.segment < 1 || self.lines < self.segment {
            let (segment, lines) = (self.segment, self.lines);
            return Err(Error::Refused(format!(
                "segments of {segment} lines in a table of {lines}; a segment has 1 to {lines}"
            )));
        }
        if u32::try_from(self.lines).is_err() {
            return Err(Error::Refused(format!("a table of {} lines; at most {} are possible", self.lines, u32::MAX)));
        }
        Ok(())
    }
}

/// What passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Messages.
    pub messages: u64,
    /// Their numbers in their order, as the digits of a number to the base 31 that loses what is above 64 bits.
    pub sequences: u64,
    /// The sum of what count read in their segments: what generate wrote there.
    pub read: u64,
}

impl Passed {
    fn add(&mut self, table: &Table, chunk: Chunk) {
        self.messages += 1;
        self.sequences = self.sequences.wrapping_mul(31).wrapping_add(chunk.sequence);
        self.read += table.walk(chunk);
    }
}

/// What was chased.
#[derive(Debug)]
pub struct Summary {
    /// What passed.
    pub passed: Passed,
    /// What each kernel did.
    pub report: Report,
}

/// Chases.
///
/// ```
/// use thalweg_apps::chasing::{Config, reference, run};
/// let config = Config { lines: 4_096, ..Config::new(5_000) };
/// let chased = run(&config, &())?;
/// // 0, 1001, 2002, 3003 and 4004.
/// assert_eq!(chased.passed.messages, 5);
/// assert_eq!(chased.passed, reference::chase(&config)?);
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Refused`] if segments have no lines, or more than the table.
pub fn run(config: &Config, watch: &dyn Watch) -> Result<Summary> {
    config.check()?;
    let table = &Table::new(config.lines, config.segment);
    let mut passed = Passed::default();

    let mut graph = Graph::new();
    let mut progress = Steps::new(watch);
    let sequence = graph.source((0..config.messages).inspect(move |_| progress.add(table.segment_bytes())));
    let generate = graph.parallel_map(|sequence: u64| {
        let start = (config.delay > Duration::ZERO).then(time::now);
        let chunk = table.generate(sequence);
        while start.is_some_and(|start| start.elapsed() < config.delay) {
            work(1);
        }
        chunk
    });
    let filter = if config.filters == 1 {
        graph.filter(|&chunk: &Chunk| config.filter(table, chunk).0)
    } else {
        graph.parallel(|chunk: Chunk, out: &mut Output<Chunk>| {
            if config.filter(table, chunk).0 {
                out.push(chunk);
            }
        })
    };
    graph.name(sequence, "sequence");
    graph.name(generate, "generate");
    graph.name(filter, "filter");
    let mut path = sequence >> (generate * config.generators >> filter * config.filters).together();
    for number in 1..=config.copies {
        let copy = graph.map(|chunk: Chunk| {
            std::hint::black_box(table.walk(chunk));
            chunk
        });
        graph.name(copy, &format!("copy {number}"));
        path = path >> copy * 0;
    }
    let count = graph.sink(|chunk: Chunk| passed.add(table, chunk));
    graph.name(count, "count");
    graph += path >> count * 0;
    watch.started(graph.stopper());
    let report = graph.run(config.scheme)?;
    drop(graph);
    Ok(Summary { passed, report })
}
