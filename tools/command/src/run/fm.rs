//! `thalweg run fm`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use indicatif::HumanCount;
use thalweg_apps::fm::{self, Input, receiver, synthetic};
use thalweg_apps::samples::{Form, Raw};

use super::samples::{self, generated};
use super::session::Session;
use crate::Outcome;
use crate::args::Running;

/// The paper's input in samples.
const PAPER: u64 = 256_000_000;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  rtl_sdr -f 98.5M -s 240000 -n 2400000 iq.u8
  thalweg run fm --iq --input iq.u8 --raw-rate 240000 --form u8 \\
      --output sound.wav
  thalweg run fm --iq --input iq.u8 --raw-rate 240000 --form u8 \\
      --carrier=-50000 --deemphasis 75 --output sound.wav
  thalweg run fm --iq --generate 1000000 --output iq.wav
  thalweg run fm --iq --input iq.wav --output sound.wav
  thalweg run fm --generate 1000000 --output signal.wav
  thalweg run fm --input signal.wav --output sound.wav
  thalweg run fm --paper

With --iq a station is received from a recording of I and Q, a WAV file with two channels or raw samples in turn, of 120 000 \
in a second or more. The carrier is expected in the middle of the recording, or --carrier Hz above it; how far from there it was \
is told. The sound is a WAV file of two channels, 48 000 in a second; without a pilot tone both are the same.

Without --iq this is FMRadio of the StreamIt benchmarks: its filters are made for its own rate, 250 MHz, whatever the file's, it \
expects the carrier at a twentieth of the file's rate, and the sound is a WAV file of f32 that is not scaled to -1 ... 1. It has a \
fifth of the samples, and the input has to be a regular file: its length is asked for first.

The output cannot be a pipe: its header is written last.")]
pub(crate) struct Args {
    /// The samples: a WAV file, or raw ones with --raw-rate; of one channel, with --iq of two
    #[arg(long, value_name = "FILE", required_unless_present_any = ["generate", "paper"])]
    input: Option<PathBuf>,
    /// Takes the input for raw little-endian samples, N in a second
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    raw_rate: Option<u32>,
    /// How raw samples lie in the file: u8, i8, i16, i24, i32, i64, f32, f64, alaw or ulaw
    #[arg(long, value_name = "FORM", default_value = "f32", requires = "raw_rate")]
    form: Form,
    /// Receives a station in stereo from a recording of I and Q
    #[arg(long)]
    iq: bool,
    /// How far above the middle of the recording the carrier is, in Hz
    #[arg(long, value_name = "HZ", default_value_t = 0.0, allow_hyphen_values = true, requires = "iq")]
    carrier: f64,
    /// The time constant by which treble is taken back, in microseconds: 50 in most countries, 75 in the Americas, 0 for none
    #[arg(long, value_name = "US", default_value_t = 50.0, requires = "iq")]
    deemphasis: f64,
    /// The WAV file to write; replaced if it exists
    #[arg(long, value_name = "FILE", required_unless_present = "paper")]
    output: Option<PathBuf>,
    /// Makes up a signal of N samples instead of receiving one
    #[arg(long, value_name = "N", conflicts_with_all = ["input", "raw_rate", "scheme", "workers", "pinned", "partitioned", "report"])]
    generate: Option<u64>,
    /// Receives the paper's 256 million samples, made up, in memory, and writes nothing
    #[arg(long, conflicts_with_all = ["input", "output", "generate", "raw_rate", "iq"])]
    paper: bool,
    #[command(flatten)]
    running: Running,
}

pub(super) fn run(args: Args) -> Outcome {
    let Some(output) = &args.output else {
        return benchmark(&args, Input::Benchmark { samples: PAPER }, &Session::new(None)?);
    };
    super::check_files(args.input.as_deref(), output)?;
    let Some(input) = &args.input else {
        let write = if args.iq { synthetic::write_recording } else { synthetic::signal };
        return generated(args.generate.unwrap_or(0), output, write);
    };
    let session = Session::new(fs::metadata(input).ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len()))?;
    match args.iq {
        true => station(&args, input, output, &session),
        false => benchmark(&args, Input::File { path: input.clone(), raw: raw(&args, 1) }, &session),
    }
}

/// What raw samples are, if they are raw.
fn raw(args: &Args, channels: u16) -> Option<Raw> {
    args.raw_rate.map(|rate| Raw { rate, form: args.form, channels })
}

fn benchmark(args: &Args, input: Input, session: &Session) -> Outcome {
    let mut config = fm::Config::new(input, args.output.clone());
    config.scheme = args.running.scheme()?;
    let received = fm::run(&config, session)?;
    let (samples, sound) = (HumanCount(received.samples), HumanCount(received.sound));
    let place = samples::written_to(args.output.as_deref());
    args.running.end(session, &format!("{sound} samples of sound from {samples} samples{place}"), &received.report)
}

fn station(args: &Args, input: &Path, output: &Path, session: &Session) -> Outcome {
    let mut config = receiver::Config::new(input, output);
    config.raw = raw(args, 2);
    config.carrier = args.carrier;
    config.deemphasis = args.deemphasis;
    config.scheme = args.running.scheme()?;
    let received = receiver::run(&config, session)?;
    let done = format!(
        "{:.3} s of sound in stereo from {} samples written to {}; the carrier was {:+.0} Hz from where it was expected",
        received.sound as f64 / 48_000.0,
        HumanCount(received.samples),
        output.display(),
        received.off,
    );
    args.running.end(session, &done, &received.report)
}
