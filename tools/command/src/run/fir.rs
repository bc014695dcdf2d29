//! `thalweg run fir`.

use std::path::PathBuf;

use clap::Args;
use indicatif::HumanCount;
use thalweg_apps::fir::{self, Config, Input, Summary};
use thalweg_apps::samples::synthetic;

use super::samples::{self, Samples};
use super::session::Session;
use crate::Outcome;
use crate::args::Running;

/// Samples that `--paper` makes up.
const PAPER: u64 = 10_000_000;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  thalweg run fir --generate 480000 --output made-up.wav
  thalweg run fir --input made-up.wav --output dull.wav
  thalweg run fir --input samples.f32 --raw-rate 48000 --stages 6 \\
      --output dull.wav
  thalweg run fir --paper

Without an --output it is measured how loud the sound is, and nothing written.")]
pub(crate) struct Fir {
    #[command(flatten)]
    samples: Samples,
    /// The WAV file to write; replaced if it exists
    #[arg(long, value_name = "FILE", required_unless_present_any = ["input", "paper"])]
    output: Option<PathBuf>,
    /// How many kernels there are in a row, with the first and the last
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(3..=4096))]
    stages: u16,
    /// Filters whole numbers by chance, as the paper does; how many it has is not published, and ten million are made up
    #[arg(long, conflicts_with_all = ["input", "generate", "output"])]
    paper: bool,
    #[command(flatten)]
    running: Running,
}

pub(super) fn run(args: Fir) -> Outcome {
    if let Some(status) = samples::made_up(&args.samples, args.output.as_deref(), synthetic::write)? {
        return Ok(status);
    }
    let input = match (&args.samples.input, args.samples.raw()) {
        (Some(path), raw) => Input::File { path: path.clone(), raw },
        (None, _) => Input::Random(PAPER),
    };
    let mut config = Config::new(input);
    config.output = args.output;
    config.stages = args.stages.into();
    config.scheme = args.running.scheme()?;
    let session = Session::new(args.samples.bytes())?;
    let filtered = fir::run(&config, &session)?;
    let place = samples::written_to(config.output.as_deref());
    args.running.end(&session, &text(&filtered, &place), &filtered.report)
}

/// The summary: how much, how fast, and how loud.
fn text(filtered: &Summary, place: &str) -> String {
    let Summary { before, after, .. } = filtered;
    let seconds = filtered.report.wall.as_secs_f64().max(1e-9);
    let change = match (before.mean(), after.mean()) {
        (0.0, _) => "silence".to_owned(),
        (_, 0.0) => "silence is left".to_owned(),
        (before, after) => format!("{:+.1} dB", 20.0 * (after / before).log10()),
    };
    format!(
        "{} samples{place} in {seconds:.3} s, {:.0} ns for each\npeak {:.4} before, {:.4} after; mean {:.4} before, {:.4} after: {change}",
        HumanCount(after.samples),
        seconds * 1e9 / after.samples.max(1) as f64,
        before.peak,
        after.peak,
        before.mean(),
        after.mean(),
    )
}
