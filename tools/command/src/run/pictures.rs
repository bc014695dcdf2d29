//! What the applications on pictures have in common.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use indicatif::HumanCount;
use thalweg::Report;
use thalweg_apps::pictures::{Input, Spoiled};

use super::session::Session;
use crate::args::Running;
use crate::terminal::{complain, emit, name};
use crate::{Outcome, TROUBLE};

/// Where pictures come from, and where they go.
#[derive(Debug, Args)]
pub(crate) struct Files {
    /// The pictures: PNG and JPEG files, and folders of them
    #[arg(long, value_name = "PATH", num_args = 1.., required_unless_present_any = ["generate", "paper"])]
    pub(super) input: Vec<PathBuf>,
    /// The folder for the results, each with the name of its picture; files of these names are replaced
    #[arg(long, value_name = "FOLDER", required_unless_present = "paper")]
    pub(super) output: Option<PathBuf>,
    /// Makes up N pictures instead, and writes them to the folder
    #[arg(long, value_name = "N", conflicts_with_all = ["input", "scheme", "workers", "pinned", "partitioned", "report"])]
    pub(super) generate: Option<u64>,
    /// The pixels on a side of those that are made up
    #[arg(
        long,
        value_name = "PIXELS",
        default_value_t = 512,
        requires = "generate",
        value_parser = clap::value_parser!(u16).range(1..=16384)
    )]
    pub(super) size: u16,
}

impl Files {
    /// The inputs and the output folder.
    pub(super) fn named(&self) -> Result<(Vec<PathBuf>, PathBuf), String> {
        for input in &self.input {
            super::check_files(Some(input), Path::new("."))?;
        }
        let output = self.output.clone().ok_or("give a folder for the results, by --output")?;
        super::check_files(None, &output)?;
        Ok((self.input.clone(), output))
    }

    /// Writes made-up pictures, and says so.
    pub(super) fn generated(
        &self,
        count: u64,
        write: impl FnOnce(usize, &Path) -> thalweg_apps::Result<()>,
    ) -> Outcome {
        let (_, output) = self.named()?;
        write(usize::from(self.size), &output)?;
        emit(&format!("{} made-up pictures written to {}\n", HumanCount(count), output.display()))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Where pictures come from: the paper has so many squares of 512 pixels.
    pub(super) fn input(&self, paper: Option<u64>) -> Result<Input, String> {
        if let Some(count) = paper {
            return Ok(Input::MadeUp { count, side: 512 });
        }
        let (inputs, output) = self.named()?;
        Ok(Input::Files { inputs, output })
    }

    /// How many bytes there are to read, if only files were named.
    pub(super) fn bytes(&self) -> Option<u64> {
        let lengths = self.input.iter().map(|input| match fs::metadata(input) {
            Ok(metadata) if metadata.is_file() => Some(metadata.len()),
            _ => None,
        });
        lengths.sum::<Option<u64>>().filter(|_| !self.input.is_empty())
    }
}

/// Tells which files could not be read and what was done, and gives the exit status.
pub(super) fn end(running: &Running, session: &Session, spoiled: &[Spoiled], done: &str, report: &Report) -> Outcome {
    for Spoiled { path, reason } in spoiled {
        complain(&format!("{} {reason}", name(path)));
    }
    running.print(done, report)?;
    Ok(session.status(if spoiled.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(TROUBLE) }))
}

/// Where results were written, how much that was, and how fast.
pub(super) fn pace(pixels: u64, elapsed: Duration, output: Option<&PathBuf>) -> String {
    let seconds = elapsed.as_secs_f64().max(1e-9);
    let millions = pixels as f64 / 1e6;
    let place = output.map_or_else(String::new, |output| format!(" to {}", output.display()));
    format!("{place}: {millions:.1} million pixels in {seconds:.3} s ({:.1} million/s)", millions / seconds)
}
