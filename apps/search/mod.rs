//! How often a word occurs in files and directories.
//!
//! ```text
//! files >> read >> search (on all cores) >> tally
//! ```
//!
//! The count is that of `LC_ALL=C grep -raoF WORD PATH... | wc -l`: bytes are compared, matches do not overlap, hidden
//! and binary files are searched, links inside directories are not followed. Files are read in chunks of bounded size,
//! so memory does not grow with them, nor with the length of their lines.
//!
//! From the search of BLQ, §4 and table 1; there a chunk is 37 bytes that overlap, here it is some 128 KiB that do not
//! ([`Term::cut`]).

mod chunks;
mod cut;
mod files;
mod read;
mod tally;

use std::path::PathBuf;

use thalweg::prelude::*;
use thalweg_sync::time::{self, Duration};

pub use cut::Term;
pub use files::Unreadable;

use crate::{Error, Result, Watch};
use chunks::Pool;
use read::{Piece, Reader};
use tally::{Counted, Tally};

/// Chunks that may wait for the search: enough that no worker waits for the disk, and a few MiB.
const CHUNKS: usize = 16;
/// Files in the summary's list.
const TOP: usize = 10;

/// What to search and where.
#[derive(Clone, Debug)]
pub struct Config {
    /// The bytes to find. Not empty, and without a line feed.
    pub term: Vec<u8>,
    /// Files and directories; `-` is standard input. Not empty.
    pub inputs: Vec<PathBuf>,
    /// Bytes in a chunk. At least twice the length of the term is taken.
    pub chunk: usize,
    /// How the graph runs.
    pub scheme: Scheme,
}

impl Config {
    /// Chunks of 128 KiB, which two of fit a core's cache, and the default scheme.
    pub fn new(term: impl Into<Vec<u8>>, inputs: Vec<PathBuf>) -> Self {
        Self { term: term.into(), inputs, chunk: 128 << 10, scheme: Scheme::default() }
    }
}

/// What was found.
#[derive(Debug)]
pub struct Summary {
    /// Matches that do not overlap.
    pub matches: u64,
    /// Files read.
    pub files: u64,
    /// Files with a match.
    pub files_with_matches: u64,
    /// Bytes read.
    pub bytes: u64,
    /// The ten files with the most matches, the most first.
    pub top: Vec<(PathBuf, u64)>,
    /// What could not be read, in the order in which it was met. The rest was searched.
    pub unreadable: Vec<Unreadable>,
    /// From the start of the run to its end.
    pub elapsed: Duration,
    /// What each kernel did.
    pub report: Report,
}

/// Searches.
///
/// ```
/// use thalweg_apps::search::{self, Config};
/// let found = search::run(&Config::new("fn ", vec!["search".into()]), &())?;
/// assert!(found.matches > 0 && found.files > 1 && found.unreadable.is_empty());
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Refused`] for a term that is empty or has a line feed, and if there is nothing to search. A file that
/// cannot be read is no error but in [`Summary::unreadable`].
pub fn run(config: &Config, watch: &dyn Watch) -> Result<Summary> {
    check(config)?;
    let term = Term::new(&config.term);
    let pool = Pool::new(config.chunk.max(2 * term.len()));
    let mut tally = Tally::new(TOP);
    let start = time::now();

    let mut graph = Graph::new();
    let files = graph.source(files::files(config.inputs.clone()));
    let read = graph.add(Reader::new(&term, &pool));
    let search = graph.parallel(|piece: Piece, counted: &mut Output<Counted>| {
        counted.push(piece.map(|chunk| {
            let bytes = chunk.text().len() as u64;
            let matches = term.count(chunk.text());
            pool.give(chunk);
            watch.read(bytes);
            (matches, bytes)
        }));
    });
    let add_up = graph.sink(|counted: Counted| tally.add(counted));
    graph.name(files, "files");
    graph.name(read.pieces, "read");
    graph.name(search, "search");
    graph.name(add_up, "tally");
    graph += files >> read.files;
    graph += read.pieces.fixed(CHUNKS) >> search >> add_up;
    watch.started(graph.stopper());
    let report = graph.run(config.scheme)?;
    drop(graph);

    Ok(tally.summary(start.elapsed(), report))
}

fn check(config: &Config) -> Result<()> {
    if config.term.is_empty() {
        return Err(Error::Refused("the term is empty, which matches everywhere; give at least one character".into()));
    }
    if config.term.contains(&b'\n') {
        let term = String::from_utf8_lossy(&config.term).escape_debug().to_string();
        return Err(Error::Refused(format!(
            "the term \"{term}\" has a line feed, and lines are searched one by one; search for a part of a line"
        )));
    }
    if config.inputs.is_empty() {
        return Err(Error::Refused(
            "there is nothing to search; give a file, a directory, or `-` for standard input".into(),
        ));
    }
    Ok(())
}
