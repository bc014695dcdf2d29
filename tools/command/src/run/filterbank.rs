//! `thalweg run filterbank`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use indicatif::HumanCount;
use thalweg_apps::filterbank::bank::Size;
use thalweg_apps::filterbank::{self, Config, Input, Summary, synthetic};

use super::samples;
use super::session::Session;
use crate::Outcome;
use crate::args::Running;

/// The paper's input in samples.
const PAPER: u64 = 25_600_000;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  thalweg run filterbank --generate 48000 --output made-up.wav
  thalweg run filterbank --input made-up.wav --gains=-60,-60,0,0,0,0,0,0 \\
      --output thin.wav
  thalweg run filterbank --input made-up.wav --bands 16 --gains 6 \\
      --output bass.wav
  thalweg run filterbank --paper

The bands are equally wide, from zero to half of the samples per second. Without --gains the sound comes out as it went in \
to a hundredth or so, quieter at the edges of bands; with more --taps these are narrower. The output is a WAV file of f32, as long as the input.")]
pub(crate) struct Args {
    #[command(flatten)]
    samples: samples::Samples,
    /// The WAV file to write; replaced if it exists. Not a pipe
    #[arg(long, value_name = "FILE", required_unless_present = "paper")]
    output: Option<PathBuf>,
    /// What each band gains, in decibels from the lowest band on; bands behind the last number gain nothing
    #[arg(long, value_name = "DB", value_delimiter = ',', allow_hyphen_values = true, conflicts_with = "paper")]
    gains: Vec<f32>,
    /// How many bands: 2 to 32
    #[arg(long, value_name = "N", default_value_t = Size::default().bands)]
    bands: usize,
    /// Taps of each filter: an even number from 16 to 1024
    #[arg(long, value_name = "N", default_value_t = Size::default().taps)]
    taps: usize,
    /// Filters the paper's 25.6 million samples, made up, in memory, by its filters, which let pass all but the band
    #[arg(long, conflicts_with_all = ["input", "output", "generate"])]
    paper: bool,
    #[command(flatten)]
    running: Running,
}

pub(super) fn run(args: Args) -> Outcome {
    if let Some(status) = samples::made_up(&args.samples, args.output.as_deref(), synthetic::write)? {
        return Ok(status);
    }
    let input = match (args.samples.input.clone(), args.samples.raw()) {
        (Some(path), raw) => Input::File { path, raw },
        (None, _) => Input::Benchmark { samples: PAPER },
    };
    let mut config = Config::new(input, args.output.clone());
    config.size = Size { bands: args.bands, taps: args.taps };
    config.gains = args.gains.iter().map(|decibels| 10.0_f32.powf(decibels / 20.0)).collect();
    config.scheme = args.running.scheme()?;
    let session = Session::new(args.samples.bytes())?;
    let filtered = filterbank::run(&config, &session)?;
    args.running.end(&session, &text(&filtered, args.output.as_deref()), &filtered.report)
}

/// The summary: how much, how fast, and how loud each band was.
fn text(filtered: &Summary, output: Option<&Path>) -> String {
    let mut text = format!(
        "{} samples of sound from {} samples{}",
        HumanCount(filtered.sound),
        HumanCount(filtered.samples),
        samples::pace(filtered.samples, filtered.elapsed, output),
    );
    let width = f64::from(filtered.rate) / 2.0 / filtered.shares.len() as f64;
    for (number, share) in filtered.shares.iter().enumerate() {
        let (from, to) = (number as f64 * width, (number + 1) as f64 * width);
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "\n{from:>7.0} to {to:>6.0} Hz {:>5.1} % {}",
            100.0 * share,
            "#".repeat((share * 40.0).round() as usize)
        );
    }
    text
}
