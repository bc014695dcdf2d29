//! A frame forwarder in three stages, from a capture file to a capture file.
//!
//! ```text
//! input >> application >> output
//! ```
//!
//! The input stage reads a frame and finds where it begins and ends, the application stage filters it and rewrites its
//! addresses, the output stage writes it. No stage can be split, as a filter may depend on every frame before; a
//! pipeline still uses three cores. What comes out is in order and, byte by byte, what the sequential program
//! ([`reference()`]) writes.
//!
//! From J. Giacomoni et al., *FastForward for Efficient Pipeline Parallelism*, PPoPP 2008, §2.2 and §5.7.

pub mod checksum;

mod capture;
mod filter;
mod layers;
mod rewrite;
pub mod synthetic;

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::PathBuf;

use thalweg::prelude::*;

pub use capture::{Capture, Damage, Record};
pub use filter::{Filter, FilterError};
pub use rewrite::{Readdress, Reface, Rewrite, RewriteError};

use crate::error::must_differ;
use crate::until_error::UntilError;
use crate::watch::Steps;
use crate::{Error, Result, Watch};
use layers::Layers;

/// Read and written at a time.
const BUFFER: usize = 256 << 10;
/// Frames that may wait between two stages: some hundred microseconds of either.
const FRAMES: usize = 1_024;

/// What to forward, and how.
#[derive(Clone, Debug)]
pub struct Config {
    /// The capture to read: pcap or pcapng, of Ethernet frames.
    pub input: PathBuf,
    /// The capture to write, in the format of the input. Replaced if it exists.
    pub output: PathBuf,
    /// What becomes of each frame.
    pub rules: Rules,
    /// How the graph runs.
    pub scheme: Scheme,
}

impl Config {
    /// Every frame as it is, with the default scheme.
    pub fn new(input: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        Self { input: input.into(), output: output.into(), rules: Rules::default(), scheme: Scheme::default() }
    }
}

/// What becomes of a frame.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// A frame goes on if one of these holds, or if there are none.
    pub keep: Vec<Filter>,
    /// And if none of these does.
    pub drop: Vec<Filter>,
    /// What is rewritten in it then.
    pub rewrite: Rewrite,
}

/// How many frames went which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames read.
    pub frames: u64,
    /// Of these, written.
    pub kept: u64,
    /// Of these, changed.
    pub rewritten: u64,
}

/// What was forwarded.
#[derive(Debug)]
pub struct Summary {
    /// How many frames went which way.
    pub counts: Counts,
    /// Where and why the capture could not be read further. What was good before is written.
    pub damage: Option<Damage>,
    /// What each stage did.
    pub report: Report,
}

/// The application stage.
#[derive(Debug)]
struct Application<'a> {
    rules: &'a Rules,
    counts: Counts,
}

impl Application<'_> {
    /// The record as it leaves, or `None` if its frame is dropped. A record without a frame leaves as it is.
    fn apply(&mut self, mut record: Record) -> Option<Record> {
        let Some(frame) = record.frame_mut() else { return Some(record) };
        self.counts.frames += 1;
        let layers = Layers::of(frame);
        let holds = |filter: &Filter| filter.holds_for(frame, &layers);
        if (!self.rules.keep.is_empty() && !self.rules.keep.iter().any(holds)) || self.rules.drop.iter().any(holds) {
            return None;
        }
        self.counts.kept += 1;
        self.counts.rewritten += u64::from(self.rules.rewrite.apply(frame, &layers));
        Some(record)
    }
}

/// Forwards the frames of a capture.
///
/// ```
/// use thalweg_apps::frames::{self, Config, synthetic};
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = |name| dir.path().join(name);
/// synthetic::capture(100, &mut std::fs::File::create(path("in.pcap")).unwrap()).unwrap();
/// let mut config = Config::new(path("in.pcap"), path("out.pcap"));
/// config.rules.keep.push("udp and port 53".parse().unwrap());
/// config.rules.rewrite.source.push("10.0.0.1=192.168.0.1".parse().unwrap());
/// let forwarded = frames::run(&config, &())?;
/// assert!(forwarded.counts.frames == 100 && (1..100).contains(&forwarded.counts.kept));
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Refused`] if the input is no capture of Ethernet frames or also the output, before anything is written;
/// [`Error::File`] if one of them cannot be opened or written. A capture that turns out to be cut off or corrupt later
/// is no error but in [`Summary::damage`].
pub fn run(config: &Config, watch: &dyn Watch) -> Result<Summary> {
    let (capture, mut output) = open(config)?;
    let mut damage = None;
    let mut application = Application { rules: &config.rules, counts: Counts::default() };
    let mut progress = Steps::new(watch);

    let mut graph = Graph::new();
    let read = graph.source(UntilError::new(capture, &mut damage));
    let apply = graph.sequential(|record: Record, out: &mut Output<Record>| {
        progress.add(record.bytes().len() as u64);
        if let Some(record) = application.apply(record) {
            out.push(record);
        }
    });
    let write = graph.sink(|record: Record| output.write_all(record.bytes()));
    graph.name(read, "input");
    graph.name(apply, "application");
    graph.name(write, "output");
    graph += read.fixed(FRAMES) >> apply.fixed(FRAMES) >> write;
    watch.started(graph.stopper());
    let report = graph.run(config.scheme)?;
    drop(graph);

    finish(config, output)?;
    Ok(Summary { counts: application.counts, damage, report })
}

/// The same as a sequential program: the reference for [`run`]. Gives the counts, and the damage if there is some.
///
/// # Errors
///
/// As [`run`].
pub fn reference(config: &Config) -> Result<(Counts, Option<Damage>)> {
    let (capture, mut output) = open(config)?;
    let mut damage = None;
    let mut application = Application { rules: &config.rules, counts: Counts::default() };
    for record in UntilError::new(capture, &mut damage) {
        if let Some(record) = application.apply(record) {
            output.write_all(record.bytes()).map_err(|error| Error::file("write", &config.output, error))?;
        }
    }
    finish(config, output)?;
    Ok((application.counts, damage))
}

type Input = Capture<BufReader<File>>;

fn open(config: &Config) -> Result<(Input, BufWriter<File>)> {
    let Config { input, output, .. } = config;
    must_differ(input, output)?;
    let file = File::open(input).map_err(|error| Error::file("open", input, error))?;
    let capture = Capture::open(BufReader::with_capacity(BUFFER, file))
        .map_err(|damage| Error::Refused(format!("{} cannot be forwarded: {damage}", input.display())))?;
    let file = File::create(output).map_err(|error| Error::file("create", output, error))?;
    Ok((capture, BufWriter::with_capacity(BUFFER, file)))
}

fn finish(config: &Config, output: BufWriter<File>) -> Result<()> {
    let written = output.into_inner().map_err(io::IntoInnerError::into_error);
    written.map(drop).map_err(|error| Error::file("write", &config.output, error))
}
