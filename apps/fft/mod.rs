//! The spectrum of a sound over time.
//!
//! ```text
//! samples >> reorder >> combine >> spectra
//! ```
//!
//! A block of samples is brought in the order of reversed bits, and then combined by butterflies, level by level
//! ([`transform`]). Both are parallel windowed kernels, and a message is a complex number. The spectra are those of the
//! sequential program ([`transform::reference`]), bit by bit. They are written as numbers, or drawn as a picture.
//!
//! FFT2 of the StreamIt benchmarks, in the size used by C. Min and Y. I. Eom, *DANBI: Dynamic Scheduling of Irregular
//! Stream Programs for Many-Core Systems*, PACT 2013, table II: 4 kernels and 3 queues, 64 points.

mod spectrogram;
pub mod transform;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use thalweg::prelude::*;
use thalweg_sync::time::{self, Duration};

pub use crate::samples::{Form, Raw, synthetic};

use crate::error::must_differ;
use crate::pictures::store;
use crate::samples::{self, Samples};
use crate::until_error::UntilError;
use crate::watch::Steps;
use crate::{Error, Result, Watch};
use spectrogram::Spectrogram;
use transform::{Complex, Fft};

/// What to transform.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the samples come from.
    pub input: Input,
    /// What to write: a picture if it ends in `.png`, else all spectra, each number as two little-endian `f32`. Replaced
    /// if it exists.
    pub output: Option<PathBuf>,
    /// Samples in a block: a power of two from 2 to 65536. The paper has 64.
    pub points: usize,
    /// How the graph runs.
    pub scheme: Scheme,
}

/// Where samples come from.
#[derive(Clone, Debug)]
pub enum Input {
    /// A file of samples, which are real numbers; several channels are mixed.
    File {
        /// Its path.
        path: PathBuf,
        /// For raw samples, what they are. `None` for a WAV file.
        raw: Option<Raw>,
    },
    /// A file with two channels, which are the real and the imaginary parts of complex numbers, as receivers write them.
    Pairs {
        /// Its path.
        path: PathBuf,
        /// For raw samples, what they are. `None` for a WAV file.
        raw: Option<Raw>,
    },
    /// The paper's made-up input, so many blocks: numbers that count from 0 to 1000, again and again.
    Counter {
        /// How many blocks.
        blocks: u64,
    },
}

impl Config {
    /// Of the paper's 64 points, with the default scheme.
    pub fn new(input: Input, output: Option<PathBuf>) -> Self {
        Self { input, output, points: 64, scheme: Scheme::default() }
    }
}

/// What was found.
#[derive(Debug)]
pub struct Summary {
    /// Samples read.
    pub samples: u64,
    /// Spectra made of them. The last one is of a block that was filled with zeros, if it was not full.
    pub spectra: u64,
    /// The frequencies with the most power over all, the first the most, in Hz, and their shares of all power but that at
    /// zero; at most three, neighbours of a stronger one left out.
    pub loudest: Vec<(f64, f64)>,
    /// From the start of the run to its end.
    pub elapsed: Duration,
    /// What each kernel did.
    pub report: Report,
}

/// Transforms.
///
/// ```
/// use thalweg_apps::fft::{self, Config, Input, synthetic};
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = |name| dir.path().join(name);
/// synthetic::write(48_000, &path("sound.wav"))?;
/// let input = Input::File { path: path("sound.wav"), raw: None };
/// let mut config = Config::new(input, Some(path("sound.png")));
/// config.points = 1024;
/// let found = fft::run(&config, &())?;
/// assert_eq!(found.spectra, 48_000_u64.div_ceil(1024));
/// assert!((found.loudest[0].0 - 440.0).abs() < 48_000.0 / 1024.0);
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Refused`] if the input or the number of points is not as it has to be, or the input is also the output, before
/// anything is written; [`Error::File`] if one of them cannot be opened, read or written.
pub fn run(config: &Config, watch: &dyn Watch) -> Result<Summary> {
    // First: a number of points that cannot be is wrong for any input.
    let fft = Fft::new(config.points)?;
    match &config.input {
        &Input::Counter { blocks } => {
            let numbers = (0..2 * blocks * config.points as u64).step_by(2);
            let values = numbers.map(|number| Ok([number % 1001, (number + 1) % 1001].map(|n| n as f32)));
            transform(config, &fft, Opened { values, rate: synthetic::RATE, bytes: 0, complex: true }, watch)
        }
        Input::File { path, raw } => {
            let samples = open(config, path, *raw, watch)?;
            let (rate, bytes) = (samples.rate, samples.bytes_each());
            let values = samples.mixed().map(|sample| Ok([sample?, 0.0]));
            transform(config, &fft, Opened { values, rate, bytes, complex: false }, watch)
        }
        Input::Pairs { path, raw } => {
            let mut samples = open(config, path, *raw, watch)?;
            let (rate, bytes) = (samples.rate, samples.bytes_each());
            if samples.channels != 2 {
                return Err(Error::Refused(format!(
                    "{} has {} channels, and pairs are two; leave out --pairs",
                    path.display(),
                    samples.channels
                )));
            }
            let values = std::iter::from_fn(move || {
                let real = samples.next()?;
                let imaginary = samples.next()?;
                Some(real.and_then(|real| Ok([real, imaginary?])))
            });
            transform(config, &fft, Opened { values, rate, bytes, complex: true }, watch)
        }
    }
}

/// [`run`], with its input open. For each kind of input by itself: a value that comes by a call through a table goes by way of memory.
fn transform(
    config: &Config,
    fft: &Fft,
    input: Opened<impl Iterator<Item = std::io::Result<Complex>> + Send>,
    watch: &dyn Watch,
) -> Result<Summary> {
    let Opened { values, rate, bytes, complex } = input;
    let (mut damage, mut refused, mut samples) = (None, None, 0);
    let mut progress = Steps::new(watch);
    let mut spectra = Spectra::create(config.output.as_deref(), config.points, complex)?;
    let start = time::now();

    let values = UntilError::new(values, &mut damage).inspect(|_| {
        samples += 1;
        progress.add(bytes);
    });
    let mut graph = Graph::new();
    let points = config.points;
    let source = graph.source(padded(values, points));
    let reorder = graph.parallel_window(points, points, |block: &[Complex], out: &mut Output<Complex>| {
        fft.reorder(block).for_each(|number| out.push(number))
    });
    let combine = graph.parallel_window(points, points, |block: &[Complex], out: &mut Output<Complex>| {
        fft.combine(block).into_iter().for_each(|number| out.push(number))
    });
    let sink = graph.sink(|number: Complex| {
        spectra.take(number).map_err(|error| {
            refused = Some(error);
            "the spectra cannot be written"
        })
    });
    graph.name(source, "samples");
    graph.name(reorder, "reorder");
    graph.name(combine, "combine");
    graph.name(sink, "spectra");
    graph += source >> reorder >> combine >> sink;
    watch.started(graph.stopper());
    let ran = graph.run(config.scheme);
    drop(graph);

    // The graph knows the kernel, the user the file.
    if let (Some(error), Some(output)) = (refused, &config.output) {
        return Err(Error::file("write", output, error));
    }
    let report = ran?;
    let (spectra, loudest) = spectra.finish(config.output.as_deref(), rate)?;
    if let (Some(error), Input::File { path, .. } | Input::Pairs { path, .. }) = (damage, &config.input) {
        return Err(Error::file("read all of", path, error));
    }
    Ok(Summary { samples, spectra, loudest, elapsed: start.elapsed(), report })
}

/// An input that was opened.
struct Opened<I> {
    values: I,
    rate: u32,
    /// Bytes of a sample in the file.
    bytes: u64,
    complex: bool,
}

fn open(config: &Config, path: &Path, raw: Option<Raw>, watch: &dyn Watch) -> Result<Samples> {
    if let Some(output) = &config.output {
        must_differ(path, output)?;
    }
    let samples = samples::open(path, raw, watch)?;
    if samples.times() == Some(0) {
        return Err(Error::Refused(format!("{} has no samples", path.display())));
    }
    Ok(samples)
}

/// Zeros behind the last value until the last block is full.
fn padded(values: impl Iterator<Item = Complex> + Send, points: usize) -> impl Iterator<Item = Complex> + Send {
    // So many of the block that was begun are missing.
    let (mut values, mut missing) = (values.fuse(), 0);
    std::iter::from_fn(move || {
        let next = values.next().or_else(|| (missing > 0).then_some([0.0; 2]))?;
        missing = if missing == 0 { points - 1 } else { missing - 1 };
        Some(next)
    })
}

/// Where spectra go: the end of the graph.
struct Spectra {
    /// The numbers of the spectrum that is not whole yet.
    numbers: Vec<Complex>,
    points: usize,
    count: u64,
    complex: bool,
    spectrogram: Spectrogram,
    file: Option<BufWriter<File>>,
}

impl Spectra {
    fn create(output: Option<&Path>, points: usize, complex: bool) -> Result<Self> {
        let file = match output {
            Some(path) if !is_picture(path) => {
                Some(BufWriter::new(File::create(path).map_err(|error| Error::file("create", path, error))?))
            }
            _ => None,
        };
        let spectrogram = Spectrogram::new(if complex { points } else { points / 2 + 1 });
        Ok(Self { numbers: Vec::with_capacity(points), points, count: 0, complex, spectrogram, file })
    }

    #[inline]
    fn take(&mut self, number: Complex) -> std::io::Result<()> {
        self.numbers.push(number);
        if self.numbers.len() == self.points { self.whole() } else { Ok(()) }
    }

    /// Sees to a spectrum that is whole.
    fn whole(&mut self) -> std::io::Result<()> {
        self.count += 1;
        // Frequencies from the lowest to the highest: of complex samples the upper half is below zero.
        let (above, below) = self.numbers.split_at(self.points.div_ceil(2));
        let of = |&[real, imaginary]: &Complex| real * real + imaginary * imaginary;
        if self.complex {
            self.spectrogram.add(below.iter().chain(above).map(of));
        } else {
            self.spectrogram.add(self.numbers[..self.points / 2 + 1].iter().map(of));
        }
        if let Some(file) = &mut self.file {
            self.numbers.iter().flatten().try_for_each(|part| file.write_all(&part.to_le_bytes()))?;
        }
        self.numbers.clear();
        Ok(())
    }

    /// Writes what is left. Gives the number of spectra, and the frequencies with the most power and their shares.
    fn finish(self, output: Option<&Path>, rate: u32) -> Result<(u64, Vec<(f64, f64)>)> {
        let zero = if self.complex { self.points / 2 } else { 0 };
        let width = f64::from(rate) / self.points as f64;
        let loudest = self.spectrogram.loudest(zero, 3);
        let loudest = loudest.into_iter().map(|(bin, share)| ((bin as f64 - zero as f64) * width, share)).collect();
        if let (Some(path), None) = (output, &self.file) {
            store(path, &self.spectrogram.picture().encode().map_err(Error::Refused)?)?;
        }
        if let (Some(path), Some(mut file)) = (output, self.file) {
            file.flush().map_err(|error| Error::file("write", path, error))?;
        }
        Ok((self.count, loudest))
    }
}

fn is_picture(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png"))
}
