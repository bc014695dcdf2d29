//! `thalweg run tde`.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use indicatif::HumanCount;
use thalweg_apps::tde::stages::Size;
use thalweg_apps::tde::{self, Config, Input, Summary, synthetic};

use super::samples;
use super::session::Session;
use crate::Outcome;
use crate::args::Running;

/// The paper's steady states, of six blocks each.
const PAPER: u64 = 600_000 * 6;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  thalweg run tde --generate 54000 --output made-up.wav
  thalweg run tde --input made-up.wav --delay 2.5 --output later.wav
  thalweg run tde --input pulses.f32 --raw-rate 1000000 --gates 100 --pulses 8 \\
      --output same.wav
  thalweg run tde --paper

A block has the first range gate of all pulses, then the next one. Zeros fill the last block. What is delayed beyond the last \
gate is gone.")]
pub(crate) struct Args {
    #[command(flatten)]
    samples: samples::Samples,
    /// The WAV file to write; replaced if it exists. Not a pipe
    #[arg(long, value_name = "FILE", required_unless_present = "paper")]
    output: Option<PathBuf>,
    /// Numbers that a pulse gives: 3 to 16384
    #[arg(long, value_name = "N", default_value_t = Size::default().gates)]
    gates: usize,
    /// Pulses in a block: 1 to 1024
    #[arg(long, value_name = "N", default_value_t = Size::default().pulses)]
    pulses: usize,
    /// By how many gates pulses come later, or earlier below zero; parts of one too
    #[arg(long, value_name = "GATES", default_value_t = 0.0, allow_hyphen_values = true)]
    delay: f64,
    /// Works on the paper's 600,000 steady states, made up, in memory, and writes nothing
    #[arg(long, conflicts_with_all = ["input", "output", "generate", "gates", "pulses"])]
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
        (None, _) => Input::MadeUp { blocks: PAPER },
    };
    let mut config = Config::new(input, args.output.clone());
    config.size = Size { gates: args.gates, pulses: args.pulses, delay: args.delay };
    config.scheme = args.running.scheme()?;
    let session = Session::new(args.samples.bytes())?;
    let delayed = tde::run(&config, &session)?;
    args.running.end(&session, &text(&delayed, args.output.as_deref()), &delayed.report)
}

/// The summary: how much, how fast, and how loud.
fn text(delayed: &Summary, output: Option<&Path>) -> String {
    format!(
        "{} blocks of {} samples{}\nlevel: {:.4}",
        HumanCount(delayed.blocks),
        HumanCount(delayed.samples),
        samples::pace(delayed.samples, delayed.elapsed, output),
        delayed.level,
    )
}
