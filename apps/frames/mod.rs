//! A frame forwarder in three stages, from a capture file to a capture file.
//!
//! ```text
//! input >> application >> output
//! ```
//!
//! The input stage reads frames and finds where each begins and ends, the application stage filters them and rewrites
//! their addresses, the output stage writes them. No stage can be split, as a filter may depend on every frame before; a
//! pipeline still uses three cores. What comes out is in order and, byte by byte, what the sequential program
//! ([`reference()`]) writes.
//!
//! A message is a [`Batch`]: what one read gives, most often some hundred frames, in a buffer that goes round. A
//! frame is not copied and nothing is allocated for it; a slow input is not held back, as a read gives what is there,
//! and no batch stays in the buffer of the output.
//!
//! From J. Giacomoni et al., *FastForward for Efficient Pipeline Parallelism*, PPoPP 2008, §2.2 and §5.7.

pub mod checksum;

mod capture;
mod filter;
mod layers;
#[cfg(target_os = "linux")]
mod live;
mod rewrite;
pub mod synthetic;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use thalweg::prelude::*;
use thalweg_sync::sync::{Arc, Mutex, PoisonError};

pub use capture::{Batch, Capture, Damage, Record};
pub use filter::{Filter, FilterError};
pub use layers::Link;
pub use rewrite::{Readdress, Reface, Rewrite, RewriteError};

use crate::error::must_differ;
use crate::{Error, Result, Watch, incoming};
use layers::Layers;

/// Collected before it is written, if frames that are left out have taken batches apart.
const BUFFER: usize = 64 << 10;
/// Batches that may wait between two stages: so few that they stay in the cache.
const BATCHES: usize = 4;

/// What to forward, and how.
#[derive(Clone, Debug)]
pub struct Config {
    /// The capture to read: pcap or pcapng; `-` is standard input.
    pub input: PathBuf,
    /// What comes at this interface is read instead, until the run is stopped and [halted](crate::Halt). On Linux, and with the right CAP_NET_RAW.
    pub interface: Option<String>,
    /// The capture to write, in the format of the input. Replaced if it exists; `-` is standard output.
    pub output: PathBuf,
    /// What becomes of each frame.
    pub rules: Rules,
    /// How the graph runs.
    pub scheme: Scheme,
}

impl Config {
    /// Every frame as it is, with the default scheme.
    pub fn new(input: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        Self {
            input: input.into(),
            interface: None,
            output: output.into(),
            rules: Rules::default(),
            scheme: Scheme::default(),
        }
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
    /// Frames of link types that are not understood ([`Link`]), beside these: written as they came, whatever the rules.
    pub foreign: u64,
}

/// What was forwarded.
#[derive(Debug)]
pub struct Summary {
    /// How many frames went which way.
    pub counts: Counts,
    /// Frames that came at the interface while there was no room for them.
    pub lost: u64,
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
    /// Takes out the frames that are dropped and rewrites the others. A record without a frame stays as it is.
    fn apply(&mut self, batch: &mut Batch) {
        self.counts.foreign += batch.foreign();
        batch.retain_frames(|link, frame| {
            self.counts.frames += 1;
            let layers = Layers::of(link, frame);
            let holds = |filter: &Filter| filter.holds_for(frame, &layers);
            let Rules { keep, drop, rewrite } = self.rules;
            if (!keep.is_empty() && !keep.iter().any(holds)) || drop.iter().any(holds) {
                return false;
            }
            self.counts.kept += 1;
            self.counts.rewritten += u64::from(rewrite.apply(frame, &layers));
            true
        });
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
/// [`Error::Refused`] if the input is no capture, corrupt before its first frame, or also the
/// output, before anything is written; [`Error::File`] if one of them cannot be opened or written. A capture that turns
/// out to be cut off, or to be corrupt later, is no error but in [`Summary::damage`].
pub fn run(config: &Config, watch: &dyn Watch) -> Result<Summary> {
    let (mut capture, mut output, losses) = open(config, watch)?;
    let (mut damage, mut refused) = (None, None);
    let mut application = Application { rules: &config.rules, counts: Counts::default() };
    // As many batches as were under way at the same time; the edges bound that.
    let free = Arc::new(Mutex::new(Vec::new()));
    let used: Arc<Mutex<Vec<Batch>>> = free.clone();
    let take = move || used.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
    let batches = std::iter::from_fn(move || capture.next(take()));

    let mut graph = Graph::new();
    // A pipe may wait for its writer; a thread of its own waits there, so each batch goes on as it comes, and a run that is stopped ends.
    let read = if config.interface.is_none() && config.input.is_file() && !is_standard(&config.input) {
        graph.source(batches)
    } else {
        graph.source_blocking(batches, BATCHES).expect("an inlet holds some batches")
    };
    let apply = graph.sequential(|batch: Result<Batch, Damage>, out: &mut Output<Batch>| match batch {
        Ok(mut batch) => {
            watch.read(batch.len());
            application.apply(&mut batch);
            out.push(batch);
            Flow::More
        }
        Err(reason) => {
            // Whoever ended the input knows that it is cut off.
            damage = Some(reason).filter(|_| !incoming::is_halted(watch));
            Flow::Done
        }
    });
    let write = graph.sink(|batch: Batch| {
        let written = batch.write_to(&mut output).and_then(|()| output.flush());
        free.lock().unwrap_or_else(PoisonError::into_inner).push(batch);
        match written {
            Ok(()) => Ok(Flow::More),
            Err(error) if has_gone(config, &error) => Ok(Flow::Done),
            Err(error) => {
                refused = Some(error);
                Err("the output cannot be written")
            }
        }
    });
    graph.name(read, "input");
    graph.name(apply, "application");
    graph.name(write, "output");
    graph += read.fixed(BATCHES) >> apply.fixed(BATCHES) >> write;
    watch.started(graph.stopper());
    let ran = graph.run(config.scheme);
    drop(graph);

    // The graph knows the kernel, the user the file.
    if let Some(error) = refused {
        return Err(Error::file("write", &config.output, error));
    }
    let report = ran?;
    finish(config, output)?;
    let lost =
        losses.map_or(Ok(0), |losses| losses.count()).map_err(|error| Error::file("ask", input_of(config), error))?;
    Ok(Summary { counts: application.counts, lost, damage, report })
}

/// The same as a sequential program: the reference for [`run`]. Gives the counts, and the damage if there is some.
///
/// # Errors
///
/// As [`run`].
pub fn reference(config: &Config) -> Result<(Counts, Option<Damage>)> {
    let (mut capture, mut output, _) = open(config, &())?;
    let mut application = Application { rules: &config.rules, counts: Counts::default() };
    let (mut batch, mut damage) = (Batch::default(), None);
    while let Some(next) = capture.next(batch) {
        match next {
            Ok(filled) => batch = filled,
            Err(reason) => {
                damage = Some(reason);
                break;
            }
        }
        application.apply(&mut batch);
        let written = batch.write_to(&mut output).and_then(|()| output.flush());
        written.map_err(|error| Error::file("write", &config.output, error))?;
    }
    finish(config, output)?;
    Ok((application.counts, damage))
}

/// Whether a path stands for standard input or output.
fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Where frames come from, by the name that is told.
fn input_of(config: &Config) -> &Path {
    config.interface.as_ref().map_or(&config.input, Path::new)
}

/// Where a capture comes from, and where one goes.
type Input = Capture<incoming::Input>;
type Written = BufWriter<Box<dyn Write + Send>>;

fn open(config: &Config, watch: &dyn Watch) -> Result<(Input, Written, Option<live::Losses>)> {
    let Config { input, output, .. } = config;
    let (file, losses) = match &config.interface {
        Some(name) => live::open(name, watch.halt()).map(|(file, losses)| (file, Some(losses)))?,
        None if is_standard(input) => {
            (incoming::standard(watch.halt()).map_err(|error| Error::file("open", input, error))?, None)
        }
        None => {
            if !is_standard(output) {
                must_differ(input, output)?;
            }
            (incoming::open(input, watch.halt()).map_err(|error| Error::file("open", input, error))?.0, None)
        }
    };
    let capture = Capture::open(file).map_err(|damage| {
        let input = input_of(config).display();
        incoming::or_halted(watch, Error::Refused(format!("{input} cannot be forwarded: {damage}")))
    })?;
    let file: Box<dyn Write + Send> = if is_standard(output) {
        Box::new(io::stdout())
    } else {
        Box::new(File::create(output).map_err(|error| Error::file("create", output, error))?)
    };
    Ok((capture, BufWriter::with_capacity(BUFFER, file), losses))
}

/// Whether whoever reads standard output has gone away (`| head`), having seen enough.
fn has_gone(config: &Config, error: &io::Error) -> bool {
    is_standard(&config.output) && error.kind() == io::ErrorKind::BrokenPipe
}

fn finish(config: &Config, mut output: Written) -> Result<()> {
    match output.flush() {
        Err(error) if !has_gone(config, &error) => Err(Error::file("write", &config.output, error)),
        _ => Ok(()),
    }
}

/// Where there are no packet sockets.
#[cfg(not(target_os = "linux"))]
mod live {
    use crate::{Error, Halt, Result, incoming};

    pub(super) struct Losses;

    impl Losses {
        pub(super) fn count(&self) -> std::io::Result<u64> {
            Ok(0)
        }
    }

    pub(super) fn open(name: &str, _halt: Option<Halt>) -> Result<(incoming::Input, Losses)> {
        Err(Error::Refused(format!("cannot listen at the interface {name}: that is possible on Linux only")))
    }
}

/// Rewrites a frame, and says whether that changed it.
pub(crate) fn changed(rewrite: &Rewrite, link: Link, frame: &mut [u8]) -> bool {
    let layers = Layers::of(link, frame);
    rewrite.apply(frame, &layers)
}
