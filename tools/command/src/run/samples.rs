//! What the applications on samples have in common.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

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
    /// How raw samples lie in the file: u8, i8, i16, i24, i32, i64, f32, f64, alaw or ulaw
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

/// What comes before a run that writes a file: it is refused, or made-up samples are all there is to write.
pub(super) fn made_up(
    samples: &Samples,
    output: Option<&Path>,
    write: Write,
) -> Result<Option<ExitCode>, Box<dyn Error>> {
    let Some(output) = output else { return Ok(None) };
    super::check_files(samples.input.as_deref(), output)?;
    samples.generate.map(|count| generated(count, output, write)).transpose()
}

/// Where results were written, if anywhere.
pub(super) fn written_to(output: Option<&Path>) -> String {
    output.map_or_else(String::new, |output| format!(" written to {}", output.display()))
}

/// That, and how fast.
pub(super) fn pace(samples: u64, elapsed: Duration, output: Option<&Path>) -> String {
    let seconds = elapsed.as_secs_f64().max(1e-9);
    let millions = samples as f64 / seconds / 1e6;
    format!("{}, in {seconds:.3} s ({millions:.2} million samples/s)", written_to(output))
}

/// What writes so many made-up samples.
type Write = fn(u64, &Path) -> thalweg_apps::Result<()>;

/// Writes made-up samples, and says so.
pub(super) fn generated(count: u64, output: &Path, write: Write) -> Outcome {
    write(count, output)?;
    emit(&format!("{} made-up samples written to {}\n", HumanCount(count), output.display()))?;
    Ok(ExitCode::SUCCESS)
}
