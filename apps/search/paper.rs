//! The search as BLQ has it: text travels, in messages that fit a cache line.
//!
//! ```text
//! text >> search (on all cores) >> positions
//! ```
//!
//! A message is 37 bytes of a text, with its place, and overlaps the one before, so that no match is cut. What comes of it are the positions
//! of matches, those that overlap among them. The text is made up, in the length of the authors', and read again and again.

use thalweg::prelude::*;

use crate::{Error, Result, Watch};

/// Bytes of the authors' text.
const TEXT: usize = 105_032;
/// Bytes of text in a message.
const CHUNK: usize = 37;

/// What to search.
#[derive(Clone, Debug)]
pub struct Config {
    /// The bytes to find: 1 to 37.
    pub term: Vec<u8>,
    /// How often the text is read.
    pub repetitions: u64,
    /// Threads that search, for schemes that have threads for a kernel.
    pub searches: u32,
    /// How the graph runs.
    pub scheme: Scheme,
}

impl Config {
    /// A word of the text, four threads as in table 1, and the default scheme.
    pub fn new(repetitions: u64) -> Self {
        Self { term: b"rabbit".to_vec(), repetitions, searches: 4, scheme: Scheme::default() }
    }
}

/// Positions of matches: how many, and the sum of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// How many.
    pub matches: u64,
    /// Their sum, modulo 2^64.
    pub sum: u64,
}

impl Found {
    fn add(&mut self, position: u64) {
        self.matches += 1;
        self.sum = self.sum.wrapping_add(position);
    }
}

/// What was found.
#[derive(Debug)]
pub struct Summary {
    /// The positions.
    pub found: Found,
    /// Messages that were searched.
    pub chunks: u64,
    /// What each kernel did.
    pub report: Report,
}

/// Some of the text: 62 bytes, as the paper's.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Chunk {
    text: [u8; CHUNK + 1],
    start: u64,
    length: u64,
    index: u64,
}

const _: () = assert!(size_of::<Chunk>() == 62);

impl Chunk {
    /// The positions of `term` in it.
    fn positions(&self, term: &[u8], mut found: impl FnMut(u64)) {
        let text = &self.text[..self.length as usize];
        let places = (0..(text.len() + 1).saturating_sub(term.len())).filter(|&at| text[at..].starts_with(term));
        places.for_each(|at| found(self.start + at as u64));
    }
}

/// The made-up text.
fn text() -> Vec<u8> {
    const WORDS: [&str; 12] =
        ["the", "rabbit", "ran", "down", "a", "hole", "and", "she", "after", "it", "without", "thinking"];
    let (mut random, mut text) = (fastrand::Rng::with_seed(1865), String::new());
    while text.len() < TEXT {
        text += random.choice(WORDS).unwrap_or_default();
        text.push(if random.u8(..12) == 0 { '\n' } else { ' ' });
    }
    text.truncate(TEXT);
    text.into_bytes()
}

/// The messages of one reading.
fn chunks(text: &[u8], term: usize) -> impl Iterator<Item = Chunk> + '_ {
    let step = CHUNK - (term - 1);
    (0..text.len()).step_by(step).enumerate().map(move |(index, start)| {
        let part = &text[start..text.len().min(start + CHUNK)];
        let mut text = [0; CHUNK + 1];
        text[..part.len()].copy_from_slice(part);
        Chunk { text, start: start as u64, length: part.len() as u64, index: index as u64 }
    })
}

/// Searches.
///
/// ```
/// use thalweg_apps::search::paper::{Config, reference, run};
/// let config = Config::new(2);
/// assert_eq!(run(&config, &())?.found, reference(&config)?);
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Refused`] for a term that is empty or does not fit a message.
pub fn run(config: &Config, watch: &dyn Watch) -> Result<Summary> {
    let Config { term, repetitions, searches, scheme } = config;
    check(term)?;
    let text = &text();
    let (mut found, mut count) = (Found::default(), 0);

    let mut graph = Graph::new();
    let source = graph.source((0..*repetitions).flat_map(|_| chunks(text, term.len())).inspect(|chunk| {
        count += 1;
        if chunk.index == 0 {
            watch.read(TEXT as u64);
        }
    }));
    let search = graph.parallel(|chunk: Chunk, out: &mut Output<u64>| chunk.positions(term, |at| out.push(at)));
    let print = graph.sink(|position: u64| found.add(position));
    graph.name(source, "text");
    graph.name(search, "search");
    graph.name(print, "positions");
    graph += source >> search * *searches >> print;
    watch.started(graph.stopper());
    let report = graph.run(*scheme)?;
    drop(graph);
    Ok(Summary { found, chunks: count, report })
}

/// The same as a sequential program, over the text in one piece.
///
/// # Errors
///
/// As [`run`].
pub fn reference(config: &Config) -> Result<Found> {
    check(&config.term)?;
    let (text, mut found) = (text(), Found::default());
    for _ in 0..config.repetitions {
        let places = text.windows(config.term.len()).enumerate().filter(|(_, place)| *place == config.term);
        places.for_each(|(at, _)| found.add(at as u64));
    }
    Ok(found)
}

fn check(term: &[u8]) -> Result<()> {
    if !(1..=CHUNK).contains(&term.len()) {
        let length = term.len();
        return Err(Error::Refused(format!("a term of {length} bytes; a message has 1 to {CHUNK} bytes of text")));
    }
    Ok(())
}
