//! `thalweg run fft`.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use indicatif::HumanCount;
use thalweg_apps::fft::{self, Config, Input, Summary, synthetic};

use super::samples;
use super::session::Session;
use crate::Outcome;
use crate::args::Running;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  thalweg run fft --generate 480000 --output made-up.wav
  thalweg run fft --input made-up.wav --points 1024 --output made-up.png
  thalweg run fft --input made-up.wav --output spectra.f32
  thalweg run fft --input radio.u8 --raw-rate 2048000 --form u8 \\
      --channels 2 --pairs --output radio.png
  thalweg run fft --paper

A file that ends in .png becomes a picture: time to the right, frequency upwards, 90 decibels from black to white. Any other \
file has all spectra one after the other, each number as two little-endian f32, from frequency zero up, then those below zero. \
The last block is filled with zeros.")]
pub(crate) struct Args {
    #[command(flatten)]
    samples: samples::Samples,
    /// The file to write: a picture if it ends in .png, else numbers; replaced if it exists
    #[arg(long, value_name = "FILE", required_unless_present = "paper")]
    output: Option<PathBuf>,
    /// Samples in a block: a power of two from 2 to 65536
    #[arg(long, value_name = "N", default_value_t = 64)]
    points: usize,
    /// Takes the two channels for the real and imaginary parts of complex samples, as receivers write them
    #[arg(long, requires = "input")]
    pairs: bool,
    /// Transforms the paper's 30 million blocks, made up, in memory, and writes nothing
    #[arg(long, conflicts_with_all = ["input", "output", "generate", "points"])]
    paper: bool,
    #[command(flatten)]
    running: Running,
}

pub(super) fn run(args: Args) -> Outcome {
    if let Some(status) = samples::made_up(&args.samples, args.output.as_deref(), synthetic::write)? {
        return Ok(status);
    }
    let input = match (args.samples.input.clone(), args.samples.raw()) {
        (Some(path), raw) if args.pairs => Input::Pairs { path, raw },
        (Some(path), raw) => Input::File { path, raw },
        (None, _) => Input::Counter { blocks: 30_000_000 },
    };
    let mut config = Config::new(input, args.output.clone());
    config.points = args.points;
    config.scheme = args.running.scheme()?;
    let session = Session::new(args.samples.bytes())?;
    let found = fft::run(&config, &session)?;
    args.running.end(&session, &text(&found, args.output.as_deref()), &found.report)
}

/// The summary: how much, how fast, and what is loud.
fn text(found: &Summary, output: Option<&Path>) -> String {
    let loudest: Vec<String> = found
        .loudest
        .iter()
        .map(|(frequency, share)| format!("{frequency:.0} Hz ({:.0} % of the power)", 100.0 * share))
        .collect();
    format!(
        "{} spectra of {} samples{}\nloudest: {}",
        HumanCount(found.spectra),
        HumanCount(found.samples),
        samples::pace(found.samples, found.elapsed, output),
        if loudest.is_empty() { "nothing, this is silence".to_owned() } else { loudest.join(", ") },
    )
}
