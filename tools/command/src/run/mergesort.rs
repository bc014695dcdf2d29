//! `thalweg run mergesort`.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args as ClapArgs;
use indicatif::{BinaryBytes, HumanCount};
use thalweg_apps::mergesort::{self, Config, Form, Input, Summary, synthetic};

use super::session::Session;
use crate::Outcome;
use crate::args::Running;
use crate::terminal::{emit, remark};

/// The paper's input has ten times as many numbers.
const PAPER: u64 = 100_000_000;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  thalweg run mergesort --generate 1000000 --output made-up.txt
  thalweg run mergesort --input made-up.txt --output sorted.txt
  thalweg run mergesort --input numbers.i32 --form i32 --memory 256M \\
      --output sorted.i32
  thalweg run mergesort --paper

Lines are sorted as bytes, as `LC_ALL=C sort` does. What does not fit the memory goes to temporary files, which are taken away \
at the end; two runs at a time are merged, and each time what does not fit is written once.")]
pub(crate) struct Args {
    /// The files to sort, one after the other
    #[arg(long, value_name = "FILE", num_args = 1.., required_unless_present_any = ["generate", "paper"])]
    input: Vec<PathBuf>,
    /// The file to write; replaced if it exists
    #[arg(long, value_name = "FILE", required_unless_present = "paper")]
    output: Option<PathBuf>,
    /// What is in the files: lines, or i32 for little-endian integers of 32 bits
    #[arg(long, value_name = "FORM", default_value = "lines")]
    form: Form,
    /// Memory for what is sorted, in bytes or with K, M or G behind; from 1M on
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = bytes)]
    memory: u64,
    /// The folder for temporary files [default: the system's]
    #[arg(long, value_name = "FOLDER")]
    temporary: Option<PathBuf>,
    /// Makes up N lines or numbers instead, and writes them
    #[arg(long, value_name = "N", conflicts_with_all = ["input", "scheme", "workers", "pinned", "partitioned", "report"])]
    generate: Option<u64>,
    /// Sorts 100 million made-up numbers, a tenth of the paper's, and writes nothing but temporary files
    #[arg(long, conflicts_with_all = ["input", "output", "form", "generate"])]
    paper: bool,
    #[command(flatten)]
    running: Running,
}

/// A number of bytes.
fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = match text.strip_suffix(['K', 'M', 'G', 'k', 'm', 'g']) {
        Some(number) => (number, 1 << (10 * (1 + "kmg".find(&text[number.len()..].to_lowercase()).unwrap_or(0)))),
        None => (text, 1),
    };
    let number = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    number.ok_or_else(|| format!("`{text}` is no number of bytes; such are 67108864, 64M and 2G"))
}

pub(super) fn run(args: Args) -> Outcome {
    if let Some(output) = &args.output {
        super::check_files(None, output)?;
        for input in &args.input {
            super::check_files(Some(input), output)?;
        }
        if let Some(count) = args.generate {
            synthetic::write(args.form, count, output)?;
            emit(&format!("{} made-up records written to {}\n", HumanCount(count), output.display()))?;
            return Ok(ExitCode::SUCCESS);
        }
    }
    let scheme = args.running.scheme()?;
    let (form, input) = if args.paper {
        remark("the paper sorts a thousand million numbers, this a tenth of them");
        (Form::Integers, Input::MadeUp(PAPER))
    } else {
        (args.form, Input::Files(args.input.clone()))
    };
    let mut config = Config::new(form, input, args.output.clone());
    config.memory = args.memory;
    if let Some(folder) = args.temporary {
        config.temporary = folder;
    }
    config.scheme = scheme;
    let lengths = args.input.iter().map(|input| fs::metadata(input).ok().filter(fs::Metadata::is_file));
    let length = lengths.map(|metadata| metadata.map(|metadata| metadata.len())).sum::<Option<u64>>();
    let session = Session::new(length.filter(|_| !args.input.is_empty()))?;
    let sorted = mergesort::run(&config, &session)?;
    args.running.end(&session, &text(&sorted, args.output.as_ref()), &sorted.report)
}

/// The summary: how much, how, how fast, and from where to where.
fn text(sorted: &Summary, output: Option<&PathBuf>) -> String {
    let seconds = sorted.elapsed.as_secs_f64().max(1e-9);
    let place = output.map_or_else(String::new, |output| format!(" to {}", output.display()));
    let ends = match &sorted.ends {
        Some((first, last)) => format!("from {} to {}", cut(first), cut(last)),
        None => "there was nothing to sort".to_owned(),
    };
    format!(
        "{} records sorted{place}, {} in {seconds:.3} s ({}/s)\n{} runs in {} merges, {} by way of temporary files; {ends}",
        HumanCount(sorted.records),
        BinaryBytes(sorted.bytes),
        BinaryBytes((sorted.bytes as f64 / seconds) as u64),
        HumanCount(sorted.runs),
        HumanCount(sorted.merges),
        BinaryBytes(sorted.spilled),
    )
}

/// As much of a record as is worth reading.
fn cut(record: &str) -> String {
    match record.char_indices().nth(40) {
        Some((at, _)) => format!("{}…", &record[..at]),
        None => record.to_owned(),
    }
}
