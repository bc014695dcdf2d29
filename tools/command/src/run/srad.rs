//! `thalweg run srad`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use indicatif::HumanCount;
use thalweg_apps::srad::{self, Config, Summary, speckle};

use super::pictures;
use super::session::Session;
use crate::Outcome;
use crate::args::Running;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  thalweg run srad --generate 2 --output speckled
  thalweg run srad --input speckled --output clean --iterations 20 --lambda 0.25
  thalweg run srad --input scan.png --output clean
  thalweg run srad --paper --iterations 10

Reads PNG and JPEG, turns pictures the way the camera was held, and writes PNG with as many bits and channels. Each colour \
is worked on by itself; opacity stays as it is. What is made up has speckle: each value times a random number.

Exit status: 0 if every picture was worked on, 2 if a file could not be read or something else went wrong, 130 if it was \
interrupted.")]
pub(crate) struct Args {
    #[command(flatten)]
    files: pictures::Files,
    /// How often values move towards their neighbours: more takes away more, and takes longer
    #[arg(long, value_name = "N", default_value_t = 100)]
    iterations: u32,
    /// How far they move each time: above 0, at most 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    lambda: f32,
    /// Works on the paper's 5000 MiB, as 5000 pictures of 512 x 512 pixels in grey, made up, in memory
    #[arg(long, conflicts_with_all = ["input", "output", "generate", "size"])]
    paper: bool,
    #[command(flatten)]
    running: Running,
}

pub(super) fn run(args: Args) -> Outcome {
    if let Some(count) = args.files.generate {
        return args.files.generated(count, |side, folder| speckle::pictures(count, side, folder));
    }
    let mut config = Config::new(args.files.input(args.paper.then_some(5000))?);
    config.iterations = args.iterations;
    config.lambda = args.lambda;
    config.scheme = args.running.scheme()?;
    let session = Session::new(args.files.bytes())?;
    let cleaned = srad::run(&config, &session)?;
    session.clear();

    let done = text(&cleaned, args.files.output.as_ref());
    pictures::end(&args.running, &session, &cleaned.spoiled, &done, &cleaned.report)
}

/// The summary: how many, how much speckle was taken away, and how fast.
fn text(cleaned: &Summary, output: Option<&PathBuf>) -> String {
    let (before, after) = cleaned.variation;
    format!(
        "{} pictures despeckled{}\ncoefficient of variation in squares of 8 pixels: {after:.3}; it was {before:.3}",
        HumanCount(cleaned.pictures),
        pictures::pace(cleaned.pixels, cleaned.elapsed, output),
    )
}
