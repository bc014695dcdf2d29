//! `thalweg run gaussian`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use indicatif::HumanCount;
use thalweg_apps::gaussian::{self, Config, Summary, synthetic};

use super::pictures;
use super::session::Session;
use crate::Outcome;
use crate::args::Running;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  thalweg run gaussian --generate 2 --output made-up
  thalweg run gaussian --input made-up --output smooth --sigma 3
  thalweg run gaussian --input photo.jpg --output smooth
  thalweg run gaussian --paper

Reads PNG and JPEG, turns pictures the way the camera was held, and writes PNG with as many bits and channels. Colours are \
smoothed as they are in the file. A recursive filter takes as long for a sigma of 100 as for one of 1.

Exit status: 0 if every picture was smoothed, 2 if a file could not be read or something else went wrong, 130 if it was \
interrupted.")]
pub(crate) struct Args {
    #[command(flatten)]
    files: pictures::Files,
    /// How far a point spreads, in pixels: the standard deviation, from 0.1 to 1000
    #[arg(long, value_name = "PIXELS", default_value_t = 10.0)]
    sigma: f64,
    /// Smooths the paper's 3000 pictures of 512 x 512 pixels, made up, in memory
    #[arg(long, conflicts_with_all = ["input", "output", "generate", "size"])]
    paper: bool,
    #[command(flatten)]
    running: Running,
}

pub(super) fn run(args: Args) -> Outcome {
    if let Some(count) = args.files.generate {
        return args.files.generated(count, |side, folder| synthetic::pictures(count, side, folder));
    }
    let mut config = Config::new(args.files.input(args.paper.then_some(3000))?);
    config.sigma = args.sigma;
    config.scheme = args.running.scheme()?;
    let session = Session::new(args.files.bytes())?;
    let smoothed = gaussian::run(&config, &session)?;
    session.clear();

    let done = text(&smoothed, args.files.output.as_ref());
    pictures::end(&args.running, &session, &smoothed.spoiled, &done, &smoothed.report)
}

/// The summary: what was smoothed, by how much, and how fast.
fn text(smoothed: &Summary, output: Option<&PathBuf>) -> String {
    let (before, after) = smoothed.contrast;
    format!(
        "{} pictures smoothed{}\nneighbouring pixels differ by {after:.2} of 255 levels; it was {before:.2}",
        HumanCount(smoothed.pictures),
        pictures::pace(smoothed.pixels, smoothed.elapsed, output),
    )
}
