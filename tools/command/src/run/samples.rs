//! What the applications on samples have in common.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use indicatif::HumanCount;
use thalweg_apps::samples::{Form, Raw};

use crate::Outcome;
use crate::terminal::emit;

/// Where samples come from.
#[derive(Debug, Args)]
pub(crate) struct Samples {
    /// The samples: a WAV file, or raw ones with --raw-rate; several channels are mixed
    #[arg(long, value_name = "FILE", required_unless_present_any = ["generate", "paper"])]
    pub(super) input: Option<PathBuf>,
    /// Takes the input for raw little-endian samples, N in a second
    #[arg(long, value_name = "N", requires = "input", value_parser = clap::value_parser!(u32).range(1..))]
    raw_rate: Option<u32>,
    /// How raw samples lie in the file: u8, i8, i16, i24, i32, i64, f32 or f64
    #[arg(long, value_name = "FORM", default_value = "f32", requires = "raw_rate")]
    form: Form,
    /// How many raw samples belong to one time
    #[arg(long, value_name = "N", default_value_t = 1, requires = "raw_rate", value_parser = clap::value_parser!(u16).range(1..))]
    channels: u16,
    /// Makes up N samples instead, and writes them as a WAV file: two tones, and one that rises
    #[arg(long, value_name = "N", conflicts_with_all = ["input", "scheme", "workers", "pinned", "partitioned", "report"])]
    pub(super) generate: Option<u64>,
}

impl Samples {
    /// What raw samples are, if they are raw.
    pub(super) fn raw(&self) -> Option<Raw> {
        self.raw_rate.map(|rate| Raw { rate, form: self.form, channels: self.channels })
    }

    /// How many bytes there are to read, if that is known.
    pub(super) fn bytes(&self) -> Option<u64> {
        let metadata = self.input.as_ref().and_then(|input| fs::metadata(input).ok());
        metadata.filter(fs::Metadata::is_file).map(|metadata| metadata.len())
    }
}

/// Writes made-up samples, and says so.
pub(super) fn generated(
    count: u64,
    output: &Path,
    write: impl FnOnce(u64, &Path) -> thalweg_apps::Result<()>,
) -> Outcome {
    write(count, output)?;
    emit(&format!("{} made-up samples written to {}\n", HumanCount(count), output.display()))?;
    Ok(ExitCode::SUCCESS)
}
