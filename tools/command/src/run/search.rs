//! `thalweg run search`.

use std::env;
use std::ffi::OsString;
use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use indicatif::{DecimalBytes, HumanCount};
use thalweg_apps::search::{self, Config, Show, Summary};

use super::session::Session;
use crate::args::{ReportFormat, Running};
use crate::terminal::{complain, emit, name};
use crate::{Outcome, TROUBLE};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  thalweg run search --term fn --input .
  thalweg run search --term ERROR --input /var/log --count
  thalweg run search --paper
  thalweg run search -ni --term todo --input . --include '*.rs'
  tail -f log | thalweg run search --lines --term ERROR --input -

Lines, names and counts are printed as by `LC_ALL=C grep -r -F`, in the order in which files are found, with any number of \
workers. The summary and the report then go to standard error.

The count is that of `LC_ALL=C grep -rahoF WORD PATH... | wc -l`: matches do not overlap, hidden and binary files are \
searched, links inside directories are not followed.

Exit status: 0 if something was found, 1 if not, 2 if a file could not be read or something else went wrong, \
130 if it was interrupted.")]
pub(crate) struct Search {
    /// The word to find: any bytes but a line feed
    #[arg(long, value_name = "WORD", allow_hyphen_values = true, required_unless_present = "paper")]
    term: Option<OsString>,
    /// Files and directories to search; `-` is standard input
    #[arg(long, value_name = "PATH", num_args = 1.., required_unless_present = "paper")]
    input: Vec<PathBuf>,
    /// Prints the lines that match
    #[arg(long)]
    lines: bool,
    /// Prints the lines that match, with their numbers
    #[arg(short = 'n', long)]
    line_number: bool,
    /// Prints the names of files with a match only
    #[arg(short = 'l', long, conflicts_with_all = ["lines", "line_number", "count_lines", "count"])]
    files_with_matches: bool,
    /// Prints for each file how many of its lines match
    #[arg(short = 'c', long, conflicts_with_all = ["lines", "line_number", "count"])]
    count_lines: bool,
    /// Prints the number of matches in all files and nothing else
    #[arg(long, conflicts_with_all = ["report", "lines", "line_number"])]
    count: bool,
    /// Letters match in either case: those of ASCII
    #[arg(short = 'i', long)]
    ignore_case: bool,
    /// Searches only files with such a name, as `*.rs`; again for another one
    #[arg(long, value_name = "GLOB")]
    include: Vec<OsString>,
    /// Prints lines of binary files too, which have a zero byte
    #[arg(short = 'a', long)]
    text: bool,
    /// Whether matches, names and numbers are coloured
    #[arg(long, visible_alias = "colour", value_enum, default_value = "auto", value_name = "WHEN")]
    color: Colour,
    /// Searches as the paper does: a made-up text of its length, in messages of 37 bytes. How often it is read is not published: 1000 times
    #[arg(long, conflicts_with_all = ["term", "input"])]
    paper: bool,
    #[command(flatten)]
    running: Running,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Colour {
    /// If standard output is a terminal, and NO_COLOR is not set
    Auto,
    Always,
    Never,
}

impl Colour {
    fn is_on(self) -> bool {
        match self {
            Self::Auto => io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
            Self::Always => true,
            Self::Never => false,
        }
    }
}

impl Search {
    fn show(&self) -> Show {
        match self {
            Self { line_number: true, .. } => Show::Lines { numbers: true },
            Self { lines: true, .. } => Show::Lines { numbers: false },
            Self { files_with_matches: true, .. } => Show::Files,
            Self { count_lines: true, .. } => Show::LineCounts,
            _ => Show::Summary,
        }
    }
}

pub(super) fn run(args: Search) -> Outcome {
    let show = args.show();
    let for_programs = matches!(args.running.report, ReportFormat::Json | ReportFormat::Dot);
    if show != Show::Summary && for_programs {
        return Err("standard output has what was found, and cannot have the report too; \
            choose `--report table` or `none`, or see --record"
            .into());
    }
    let Some(term) = &args.term else { return paper(&args) };
    let mut config = Config::new(term.as_encoded_bytes(), args.input);
    config.any_case = args.ignore_case;
    config.include = args.include.into_iter().map(OsString::into_encoded_bytes).collect();
    config.show = show;
    config.colour = args.color.is_on();
    config.text = args.text;
    config.scheme = args.running.scheme()?;
    let session = Session::new(None)?;
    if show != Show::Summary && io::stdout().is_terminal() {
        session.hide();
    }
    let found = search::print(&config, &session, &mut io::stdout())?;
    session.clear();

    for unreadable in &found.unreadable {
        complain(&format!("{}: {}", name(&unreadable.path), unreadable.error));
    }
    if args.count {
        emit(&format!("{}\n", found.matches))?;
    } else if show == Show::Summary {
        args.running.print(&text(&found), &found.report)?;
    } else {
        args.running.tell(&searched(&found), &found.report);
    }
    Ok(session.status(match (found.unreadable.len(), found.matches) {
        (0, 0) => ExitCode::FAILURE,
        (0, _) => ExitCode::SUCCESS,
        _ => ExitCode::from(TROUBLE),
    }))
}

/// How often the paper's text is read.
const REPETITIONS: u64 = 1_000;

fn paper(args: &Search) -> Outcome {
    let mut config = search::paper::Config::new(REPETITIONS);
    config.scheme = args.running.scheme()?;
    let session = Session::new(None)?;
    let searched = search::paper::run(&config, &session)?;
    let seconds = searched.report.wall.as_secs_f64();
    let done = format!(
        "{} matches in {} messages of 37 bytes in {seconds:.3} s, {:.0} ns for each",
        HumanCount(searched.found.matches),
        HumanCount(searched.chunks),
        seconds * 1e9 / searched.chunks.max(1) as f64,
    );
    args.running.end(&session, &done, &searched.report)
}

/// The summary: what was found, how fast, and where most of it is.
fn text(found: &Summary) -> String {
    let mut text = format!("{} matches in {}", HumanCount(found.matches), searched(found));
    for (path, matches) in &found.top {
        // Writing to a string does not fail.
        let _ = write!(text, "\n{:>12}  {}", HumanCount(*matches).to_string(), name(path));
    }
    text
}

/// How much was searched, and how fast.
fn searched(found: &Summary) -> String {
    let seconds = found.elapsed.as_secs_f64().max(1e-9);
    format!(
        "{} of {} files, {} in {seconds:.3} s ({}/s)",
        HumanCount(found.files_with_matches),
        // A file that was not read to its end counts if something was found in it.
        HumanCount(found.files.max(found.files_with_matches)),
        DecimalBytes(found.bytes),
        DecimalBytes((found.bytes as f64 / seconds) as u64),
    )
}
