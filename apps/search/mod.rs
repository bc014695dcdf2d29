//! How often a word occurs in files and directories.
//!
//! ```text
//! files >> search (on all cores) >> tally
//! ```
//!
//! The count is that of `LC_ALL=C grep -rahoF WORD PATH... | wc -l`: bytes are compared, matches do not overlap, hidden
//! and binary files are searched, links inside directories are not followed.
//!
//! A message is a stretch of a file, not its text: whoever searches it opens and reads it too, so several files, and
//! several parts of a long one, are read at a time, and text stays in the cache of the core that read it. Each worker has
//! one buffer, through which a stretch passes in chunks; memory grows neither with files nor with the length of lines.
//!
//! From the search of BLQ, §4 and table 1; there a chunk is 37 bytes that overlap, here it is some 128 KiB that do not
//! ([`Term::cut`]), and the input is in memory.

mod chunks;
mod cut;
mod far;
mod files;
mod stretch;
mod tally;

use std::io;
use std::path::PathBuf;

use thalweg::prelude::*;
use thalweg_sync::time::{self, Duration};

pub use cut::Term;
pub use files::Unreadable;

use crate::{Error, Result, Watch};
use chunks::{Chunks, Pool};
use stretch::Stretch;
use tally::{Counted, Tally};

/// Chunks in a stretch: enough that opening a file again is nothing, few enough that a long file has work for all.
const CHUNKS: u64 = 8;
/// Stretches that may wait for the search. Files that were found some time before they are read may have changed.
const STRETCHES: usize = 64;
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
    /// Files read to their end.
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
    let size = config.chunk.max(2 * term.len());
    let mut tally = Tally::new(TOP);
    let start = time::now();

    let mut graph = Graph::new();
    let searcher = Searcher { term, pool: Pool::new(size), stopper: graph.stopper(), watch };
    let stretches = files::files(config.inputs.clone()).flat_map(|file| -> Box<dyn Iterator<Item = _> + Send> {
        match file {
            Ok(file) => Box::new(stretch::stretches(file, CHUNKS * size as u64).map(Ok)),
            Err(unreadable) => Box::new(std::iter::once(Err(unreadable))),
        }
    });
    let files = graph.source(stretches);
    let search = graph.parallel_map(move |stretch| searcher.search(stretch));
    let add_up = graph.sink(|counted: Counted| tally.add(counted));
    graph.name(files, "files");
    graph.name(search, "search");
    graph.name(add_up, "tally");
    graph += files.fixed(STRETCHES) >> search >> add_up;
    watch.started(graph.stopper());
    let report = graph.run(config.scheme)?;
    drop(graph);

    Ok(tally.summary(start.elapsed(), report))
}

/// What all workers share.
struct Searcher<'a> {
    term: Term,
    pool: Pool,
    stopper: Stopper,
    watch: &'a dyn Watch,
}

impl Searcher<'_> {
    /// Reads a stretch and counts the matches in it.
    fn search(&self, stretch: Result<Stretch, Unreadable>) -> Counted {
        match stretch {
            Ok(stretch) => {
                let (path, is_last) = (stretch.path.clone(), stretch.is_last());
                let mut counted = Counted { path, matches: 0, bytes: 0, result: Ok(()), stopped: false, is_last };
                counted.result = self.count(&stretch, &mut counted);
                counted
            }
            Err(Unreadable { path, error }) => {
                Counted { path: path.into(), matches: 0, bytes: 0, result: Err(error), stopped: false, is_last: true }
            }
        }
    }

    /// Adds to `counted` what is in `stretch`, up to the first error.
    fn count(&self, stretch: &Stretch, counted: &mut Counted) -> io::Result<()> {
        // Many stretches may have waited until now, and to open a pipe is to wait for its writer.
        if self.stopper.is_stopping() {
            counted.stopped = true;
            return Ok(());
        }
        let input = stretch.open(&self.term)?;
        let mut chunks = Chunks::new(UntilStopped { input, stopper: &self.stopper, stopped: &mut counted.stopped });
        while let Some(chunk) = chunks.next(&self.term, &self.pool) {
            let chunk = chunk?;
            let bytes = chunk.text().len() as u64;
            counted.matches += self.term.count(chunk.text());
            counted.bytes += bytes;
            self.pool.give(chunk);
            self.watch.read(bytes);
        }
        Ok(())
    }
}

/// An input that ends when the run is stopped: a stream may never end, nor fill a chunk, and files there are that grow.
struct UntilStopped<'a, R> {
    input: R,
    stopper: &'a Stopper,
    /// Whether that is why it ended.
    stopped: &'a mut bool,
}

impl<R: io::Read> io::Read for UntilStopped<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stopper.is_stopping() {
            *self.stopped = true;
            return Ok(0);
        }
        self.input.read(buffer)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_buffer_is_enough_for_any_file_and_after_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"a word and another word\n".repeat(10_000)).unwrap();
        let searcher =
            Searcher { term: Term::new(b"word"), pool: Pool::new(64), stopper: Graph::new().stopper(), watch: &() };
        let mut matches = 0;
        for input in [file.path(), std::path::Path::new("no such file"), file.path()] {
            let found = files::files(vec![input.to_owned()]).next().unwrap();
            match found {
                Ok(found) => {
                    matches +=
                        stretch::stretches(found, 999).map(|part| searcher.search(Ok(part)).matches).sum::<u64>();
                }
                Err(unreadable) => assert!(searcher.search(Err(unreadable)).result.is_err()),
            }
        }
        assert_eq!((matches, searcher.pool.buffers()), (40_000, 1));
    }

    /// Stops the run as soon as something is read.
    struct EnoughSeen(Stopper);

    impl Watch for EnoughSeen {
        fn read(&self, _bytes: u64) {
            self.0.stop();
        }
    }

    #[test]
    fn nothing_more_is_read_nor_opened_once_the_run_is_stopped() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"a word and another word\n".repeat(1_000)).unwrap();
        let found = files::files(vec![file.path().to_owned()]).next().unwrap().unwrap();
        let stretch = stretch::stretches(found, 100_000).next().unwrap();
        let stopper = Graph::new().stopper();
        let watch = EnoughSeen(stopper.clone());
        let searcher = Searcher { term: Term::new(b"word"), pool: Pool::new(64), stopper, watch: &watch };
        let counted = searcher.search(Ok(stretch.clone()));
        assert!(counted.stopped && counted.matches > 0 && counted.bytes <= 64, "{counted:?}");
        // To open it now would be an error.
        drop(file);
        let counted = searcher.search(Ok(stretch));
        assert!(counted.stopped && counted.result.is_ok() && counted.bytes == 0, "{counted:?}");
    }
}
