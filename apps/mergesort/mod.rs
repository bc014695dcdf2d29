//! Sorts lines or numbers, also more than there is memory for.
//!
//! ```text
//!                    ┌═════════════┐
//!                    v             │
//! chunks >> sort => split ≡≡> merge ┘
//!                    └──────> result
//! ```
//!
//! Chunks of the input are sorted on all cores and become runs. Two runs at a time are cut into pairs of pieces that can be
//! merged alone, on all cores; the merged pieces go back and are a run again, until one is left. Runs are kept in memory, and
//! in temporary files where there is no room. The output is that of the sequential program ([`reference()`]), byte by byte, and
//! for lines that of `LC_ALL=C sort`.
//!
//! MergeSort of C. Min and Y. I. Eom, *DANBI: Dynamic Scheduling of Irregular Stream Programs for Many-Core Systems*, PACT
//! 2013, figure 2 and table II: 5 kernels and 9 edges. The paper does not say which the queues are. Here, what is said of a part of a
//! run ([`bytes`](Summary::bytes), whether it is the last one) goes over an edge of its own, as arguments do there, and the two sides of a merge over one each.

mod chunks;
mod ports;
mod record;
mod run;
pub mod synthetic;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use thalweg::prelude::*;
use thalweg_sync::thread;
use thalweg_sync::time::{self, Duration};

pub use record::{Form, reference};

use crate::error::must_differ;
use crate::until_error::UntilError;
use crate::{Error, Result, Watch};
use chunks::Chunks;
use ports::{Merge, Sort, Split};
use run::{Segment, Shelf};

/// What to sort.
#[derive(Clone, Debug)]
pub struct Config {
    /// What to read.
    pub input: Input,
    /// The file to write. Replaced if it exists.
    pub output: Option<PathBuf>,
    /// What is in them.
    pub form: Form,
    /// Bytes of memory for records; from 1 MiB on. A line that is longer than a small part of it takes more.
    pub memory: u64,
    /// Where temporary files are made: a folder. They are taken away.
    pub temporary: PathBuf,
    /// How the graph runs.
    pub scheme: Scheme,
}

/// Where records come from.
#[derive(Clone, Debug)]
pub enum Input {
    /// Files, one after the other.
    Files(Vec<PathBuf>),
    /// So many made-up ones, from memory.
    MadeUp(u64),
}

impl Config {
    /// In 1 GiB of memory and the system's folder for temporary files, with the default scheme.
    pub fn new(form: Form, input: Input, output: Option<PathBuf>) -> Self {
        let temporary = std::env::temp_dir();
        Self { input, output, form, memory: 1 << 30, temporary, scheme: Scheme::default() }
    }
}

/// What was sorted.
#[derive(Debug)]
pub struct Summary {
    /// Bytes that were written.
    pub bytes: u64,
    /// Records that were written.
    pub records: u64,
    /// Runs that the input was sorted in at first.
    pub runs: u64,
    /// Merges of two runs.
    pub merges: u64,
    /// Bytes that were written to temporary files.
    pub spilled: u64,
    /// The first and the last record, as text; the same if there is one only. `None` if there is none.
    pub ends: Option<(String, String)>,
    /// From the start of the run to its end.
    pub elapsed: Duration,
    /// What each kernel did.
    pub report: Report,
}

/// Sorts.
///
/// ```
/// use thalweg_apps::mergesort::{self, Config, Form, Input};
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = |name| dir.path().join(name);
/// std::fs::write(path("words"), "pear\napple\nfig")?;
/// let config = Config::new(Form::Lines, Input::Files(vec![path("words")]), Some(path("sorted")));
/// let sorted = mergesort::run(&config, &())?;
/// assert_eq!(std::fs::read_to_string(path("sorted"))?, "apple\nfig\npear\n");
/// assert_eq!(sorted.ends, Some(("apple".into(), "pear".into())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`Error::Refused`] for less memory than 1 MiB, if there is no input or one is also the output; [`Error::File`] if a file
/// cannot be opened, read or written, or integers end in the middle of one; the output has what came before that.
pub fn run(config: &Config, watch: &dyn Watch) -> Result<Summary> {
    let Config { ref input, ref output, form, memory, ref temporary, scheme } = *config;
    if memory < 1 << 20 {
        return Err(Error::Refused(format!("{memory} bytes of memory; give 1 MiB or more")));
    }
    if let (Input::Files(files), Some(output)) = (input, output) {
        files.iter().try_for_each(|file| must_differ(file, output))?;
    }
    // Half of the memory is for runs. Of the other half each worker has a chunk, what sorts it, and the result, and some more
    // wait.
    let workers = thread::available_parallelism() as u64;
    let chunk = memory / 2 / (4 * workers + 4);
    let folder = tempfile::Builder::new().prefix("thalweg-sort-").tempdir_in(temporary);
    let folder = folder.map_err(|error| Error::file("write to", temporary, error))?;
    watch.temporary(folder.path());
    let shelf = Shelf::new(memory / 2, folder);
    let (mut damage, mut refused) = (None, None);
    let (mut runs, mut merges) = (0, 0);
    let chunks = Chunks::open(form, input, chunk as usize, watch)?;
    let mut sorted = Sorted::create(form, output.as_deref())?;
    let start = time::now();

    let mut graph = Graph::new();
    let source = graph.source(UntilError::new(chunks, &mut damage));
    let sort = graph.add_parallel(Sort { form, shelf: shelf.clone() });
    let split = graph.add(Split::new(form, chunk, &mut runs, &mut merges));
    let merge = graph.add_parallel(Merge { form, shelf: shelf.clone(), most: 4 * chunk });
    let sink = graph.sink(|segment: Segment| {
        sorted.take(&segment).map_err(|error| {
            refused = Some(error);
            "the result cannot be written"
        })
    });
    graph.name(source, "chunks");
    graph.name(sort.chunks, "sort");
    graph.name(split.whole, "split");
    graph.name(merge.merged, "merge");
    graph.name(sink, "result");
    graph += source.fixed(1) >> sort.chunks;
    graph += sort.sorted >> split.sorted.0;
    graph += sort.about >> split.sorted.1;
    graph += split.left >> merge.left;
    graph += split.right >> merge.right;
    graph += split.about >> merge.about;
    graph += merge.merged.feedback() >> split.merged.0;
    graph += merge.about_merged.feedback() >> split.merged.1;
    graph += split.whole >> sink;
    watch.started(graph.stopper());
    let ran = graph.run(scheme);
    drop(graph);

    // The graph knows the kernel, the user the file.
    if let (Some(error), Some(output)) = (refused, output) {
        return Err(Error::file("write", output, error));
    }
    let report = ran?;
    if let (Err(error), Some(output)) = (sorted.flush(), output) {
        return Err(Error::file("write", output, error));
    }
    if let Some(error) = damage {
        return Err(error);
    }
    let Sorted { bytes, records, first, last, .. } = sorted;
    let ends = first.map(|first| (form.shown(&first), form.shown(&last)));
    Ok(Summary { bytes, records, runs, merges, spilled: shelf.spilled(), ends, elapsed: start.elapsed(), report })
}

/// Where the result goes: the end of the graph.
struct Sorted {
    form: Form,
    file: Option<BufWriter<File>>,
    bytes: u64,
    records: u64,
    first: Option<Vec<u8>>,
    last: Vec<u8>,
}

impl Sorted {
    fn create(form: Form, output: Option<&Path>) -> Result<Self> {
        let file = match output {
            Some(path) => Some(BufWriter::new(File::create(path).map_err(|error| Error::file("create", path, error))?)),
            None => None,
        };
        Ok(Self { form, file, bytes: 0, records: 0, first: None, last: Vec::new() })
    }

    fn take(&mut self, segment: &Segment) -> io::Result<()> {
        if self.first.is_none() {
            self.first = segment.record_at(self.form, 0)?.map(|(_, record)| record);
        }
        segment.copy(self)
    }
}

/// Writes, counts, and remembers the last record.
impl Write for Sorted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(file) = &mut self.file {
            file.write_all(bytes)?;
        }
        self.bytes += bytes.len() as u64;
        let (records, border) = self.form.count(bytes, self.last.len());
        self.records += records;
        if let Some(border) = border {
            self.last.clear();
            self.last.extend_from_slice(&bytes[border..]);
        } else {
            self.last.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}
