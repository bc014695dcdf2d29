//! How often a word occurs in files and directories, or the lines it occurs in.
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
//! Lines are found on all cores too and written in the order of the files, since results come in the order of the
//! stretches. A buffer then grows with the longest line, and text of a stream is read by a thread of its own, so that
//! lines are written as they come ([`print()`]).
//!
//! From the search of BLQ, §4 and table 1; there a chunk is 37 bytes that overlap, here it is some 128 KiB that do not
//! ([`Term::cut`]), and the input is in memory. [`paper`] has it as it is there.

mod chunks;
mod cut;
mod far;
mod files;
mod glob;
mod lines;
pub mod paper;
mod print;
mod stream;
mod stretch;
mod tally;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thalweg::prelude::*;
use thalweg_sync::time::{self, Duration};

pub use cut::Term;
pub use files::Unreadable;
pub use glob::fits;

use crate::{Error, Result, Watch};
use chunks::{Chunks, Pool};
use files::{Found, Kind};
use lines::{Count, Lines, Wanted};
use print::{Part, Printer};
use stream::Text;
use stretch::Stretch;
use tally::{Counted, Tally};

/// Chunks in a stretch: enough that opening a file again is nothing, few enough that a long file has work for all.
const CHUNKS: u64 = 8;
/// Stretches that may wait for the search. Files that were found some time before they are read may have changed.
const STRETCHES: usize = 64;
/// Stretches whose lines may wait to be written.
const PRINTED: usize = 16;
/// Files in the summary's list.
const TOP: usize = 10;

/// What is written besides the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// Nothing.
    Summary,
    /// The lines that match, as `grep` does: behind the name of their file if there can be several.
    Lines {
        /// Behind their number in the file, from 1.
        numbers: bool,
    },
    /// The names of files with a match. No more is read of a part of a file that has one.
    Files,
    /// How many lines of each file match.
    LineCounts,
}

/// What to search and where.
#[derive(Clone, Debug)]
pub struct Config {
    /// The bytes to find. Not empty, and without a line feed.
    pub term: Vec<u8>,
    /// Letters of ASCII match in either case.
    pub any_case: bool,
    /// Only files whose name, without directories, [fits] one of these are searched; all, if there are none.
    pub include: Vec<Vec<u8>>,
    /// What [`print()`] writes.
    pub show: Show,
    /// It is for a terminal: matches, names and numbers have colours.
    pub colour: bool,
    /// Lines with a zero byte, and lines behind one, are text like others.
    pub text: bool,
    /// Files and directories; `-` is standard input. Not empty.
    pub inputs: Vec<PathBuf>,
    /// Bytes in a chunk. At least twice the length of the term is taken.
    pub chunk: usize,
    /// How the graph runs.
    pub scheme: Scheme,
}

impl Config {
    /// The summary of all files, by chunks of 128 KiB, which two of fit a core's cache, and with the default scheme.
    pub fn new(term: impl Into<Vec<u8>>, inputs: Vec<PathBuf>) -> Self {
        Self {
            term: term.into(),
            any_case: false,
            include: Vec::new(),
            show: Show::Summary,
            colour: false,
            text: false,
            inputs,
            chunk: 128 << 10,
            scheme: Scheme::default(),
        }
    }

    /// The files to search.
    fn files(&self) -> impl Iterator<Item = Result<Found, Unreadable>> + Send + 'static {
        let include = self.include.clone();
        files::files(self.inputs.clone()).filter(move |found| {
            let Ok(found) = found else { return true };
            let name = found.path.file_name().unwrap_or_default().as_encoded_bytes();
            include.is_empty() || include.iter().any(|glob| fits(glob, name))
        })
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

/// Searches, and writes nothing.
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
    print(&Config { show: Show::Summary, ..config.clone() }, watch, &mut io::sink())
}

/// Searches, and writes to `output` what [`Config::show`] says: files in the order in which they were found, lines in the
/// order of the file. Lines of a file with a zero byte are not written from there on ([`Config::text`]), and `watch` is told if
/// there is a match. With [`Show::Files`] and [`Show::LineCounts`] the summary does not have all matches.
///
/// ```
/// use thalweg_apps::search::{self, Config, Show};
/// let mut config = Config::new("pub fn print(", vec!["search/mod.rs".into()]);
/// config.show = Show::Lines { numbers: false };
/// let mut lines = Vec::new();
/// search::print(&config, &(), &mut lines)?;
/// let lines = String::from_utf8(lines).expect("it is text");
/// assert!(lines.lines().any(|line| line.starts_with("pub fn print(config: &Config")));
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// As [`run`], and [`Error::File`] if `output` cannot be written. If nobody reads it any more (`| head`), the run ends as if it
/// was stopped.
pub fn print(config: &Config, watch: &dyn Watch, output: &mut (dyn Write + Send)) -> Result<Summary> {
    check(config)?;
    let term = if config.any_case { Term::any_case(&config.term) } else { Term::new(&config.term) };
    let is_by_lines = matches!(config.show, Show::Lines { .. } | Show::LineCounts);
    let term = if is_by_lines { term.of_lines() } else { term };
    let size = config.chunk.max(2 * term.len());
    let several = config.inputs.len() > 1 || config.inputs.iter().any(|input| input.is_dir());
    let mut printer = Printer::new(output, watch, config.show, several, config.colour);
    let mut tally = Tally::new(TOP);
    let mut refused = None;
    let start = time::now();

    let mut graph = Graph::new();
    let wanted =
        Wanted { numbers: config.show == Show::Lines { numbers: true }, colour: config.colour, text: config.text };
    let searcher = Searcher { term, show: config.show, wanted, pool: Pool::new(size), stopper: graph.stopper(), watch };
    let halt = watch.halt();
    let is_printed = matches!(config.show, Show::Lines { .. });
    let works = config.files().flat_map(move |file| -> Box<dyn Iterator<Item = _> + Send> {
        match file {
            Ok(Found { path, kind: kind @ (Kind::Stream | Kind::StandardInput) }) if is_printed => {
                Box::new(stream::texts(path, kind, halt.clone()).map(Work::of_stream))
            }
            Ok(file) => Box::new(stretch::stretches(file, CHUNKS * size as u64).map(Work::Stretch)),
            Err(unreadable) => Box::new(std::iter::once(Work::Unreadable(unreadable))),
        }
    });
    // A thread of its own waits for a stream, so that lines are written as they come.
    let files = if is_printed && config.inputs.iter().any(|input| !input.is_file() && !input.is_dir()) {
        graph.source_blocking(works, STRETCHES).expect("an inlet holds some stretches")
    } else {
        graph.source(works)
    };
    let search = graph.parallel_map(move |work| searcher.search(work));
    let add_up = graph.sink(|counted: Counted| {
        let Counted { path, part, matches, is_last, is_stream, .. } = &counted;
        let mut written = printer.add(path, part, *matches, *is_last);
        if *is_stream {
            written = written.and_then(|()| printer.flush());
        }
        tally.add(counted);
        match written {
            Ok(()) => Flow::More,
            Err(error) => {
                refused = Some(error);
                Flow::Done
            }
        }
    });
    graph.name(files, "files");
    graph.name(search, "search");
    graph.name(add_up, "tally");
    graph += files.fixed(STRETCHES) >> search.fixed(PRINTED) >> add_up;
    watch.started(graph.stopper());
    let report = graph.run(config.scheme)?;
    drop(graph);

    let flushed = if refused.is_none() { printer.flush() } else { Ok(()) };
    match refused.or(flushed.err()) {
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::file("write", Path::new("standard output"), error))
        }
        _ => Ok(tally.summary(start.elapsed(), report)),
    }
}

/// What there is to search.
enum Work {
    Stretch(Stretch),
    Text(Text),
    Unreadable(Unreadable),
}

impl Work {
    fn of_stream(text: Result<Text, Unreadable>) -> Self {
        text.map_or_else(Self::Unreadable, Self::Text)
    }
}

/// What all workers share.
struct Searcher<'a> {
    term: Term,
    show: Show,
    wanted: Wanted,
    pool: Pool,
    stopper: Stopper,
    watch: &'a dyn Watch,
}

impl Searcher<'_> {
    /// Reads what there is to search, unless that was done, and finds the matches in it.
    fn search(&self, work: Work) -> Counted {
        match work {
            Work::Stretch(stretch) => {
                let mut counted = Counted::new(stretch.path.clone(), stretch.is_last());
                counted.result = self.stretch(&stretch, &mut counted);
                counted
            }
            Work::Text(Text { path, text, is_last }) => {
                let mut counted = Counted { is_stream: true, ..Counted::new(path, is_last) };
                let mut lines = Lines::default();
                lines.add(&text, &self.term, self.wanted);
                counted.bytes = text.len() as u64;
                self.watch.read(counted.bytes);
                counted.of_lines(lines);
                counted
            }
            Work::Unreadable(Unreadable { path, error }) => {
                Counted { result: Err(error), ..Counted::new(path.into(), true) }
            }
        }
    }

    /// Adds to `counted` what is in `stretch`, up to the first error.
    fn stretch(&self, stretch: &Stretch, counted: &mut Counted) -> io::Result<()> {
        // Many stretches may have waited until now, and to open a pipe is to wait for its writer.
        if self.stopper.is_stopping() {
            counted.stopped = true;
            return Ok(());
        }
        let input = stretch.open(&self.term, self.watch)?;
        let mut stopped = false;
        let mut input = UntilStopped { input, stopper: &self.stopper, stopped: &mut stopped };
        let result = match self.show {
            Show::Summary => self.chunks(Chunks::new(&mut input), counted, |chunk, counted| {
                counted.matches += self.term.count(chunk);
                true
            }),
            Show::Files => self.chunks(Chunks::new(&mut input), counted, |chunk, counted| {
                counted.matches = u64::from(self.term.find(chunk).is_some());
                counted.matches == 0
            }),
            Show::LineCounts => {
                let mut count = Count::default();
                let result = self.chunks(Chunks::new(&mut input), counted, |chunk, _| {
                    count.add(chunk, &self.term);
                    true
                });
                counted.matches = count.lines;
                counted.part = Part::Count(count.lines);
                result
            }
            Show::Lines { .. } => {
                let mut lines = Lines::default();
                let result = self.chunks(Chunks::of_whole_lines(&mut input, !self.wanted.text), counted, |chunk, _| {
                    lines.add(chunk, &self.term, self.wanted)
                });
                counted.of_lines(lines);
                result
            }
        };
        counted.stopped = stopped;
        result
    }

    /// Hands `see` one chunk after the other, as long as it wants another one.
    fn chunks<R: io::Read>(
        &self,
        mut chunks: Chunks<R>,
        counted: &mut Counted,
        mut see: impl FnMut(&[u8], &mut Counted) -> bool,
    ) -> io::Result<()> {
        let mut more = true;
        while more && let Some(chunk) = chunks.next(&self.term, &self.pool) {
            let chunk = chunk?;
            let bytes = chunk.text().len() as u64;
            more = see(chunk.text(), counted);
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

    fn searcher(stopper: Stopper, watch: &dyn Watch) -> Searcher<'_> {
        let wanted = Wanted { numbers: false, colour: false, text: false };
        Searcher { term: Term::new(b"word"), show: Show::Summary, wanted, pool: Pool::new(64), stopper, watch }
    }

    #[test]
    fn one_buffer_is_enough_for_any_file_and_after_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"a word and another word\n".repeat(10_000)).unwrap();
        let searcher = searcher(Graph::new().stopper(), &());
        let mut matches = 0;
        for input in [file.path(), std::path::Path::new("no such file"), file.path()] {
            let found = files::files(vec![input.to_owned()]).next().unwrap();
            match found {
                Ok(found) => {
                    matches += stretch::stretches(found, 999)
                        .map(|part| searcher.search(Work::Stretch(part)).matches)
                        .sum::<u64>();
                }
                Err(unreadable) => assert!(searcher.search(Work::Unreadable(unreadable)).result.is_err()),
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
        let searcher = searcher(stopper, &watch);
        let counted = searcher.search(Work::Stretch(stretch.clone()));
        assert!(counted.stopped && counted.matches > 0 && counted.bytes <= 64, "{counted:?}");
        // To open it now would be an error.
        drop(file);
        let counted = searcher.search(Work::Stretch(stretch));
        assert!(counted.stopped && counted.result.is_ok() && counted.bytes == 0, "{counted:?}");
    }
}
