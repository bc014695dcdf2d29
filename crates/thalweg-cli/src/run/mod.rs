//! `thalweg run`: one file for each application.

mod fm;
mod frames;
mod search;
mod session;

use std::error::Error;
use std::process::ExitCode;

use clap::CommandFactory;
use thalweg::{Report, Scheme};

use crate::Outcome;
use crate::args::{App, ReportFormat, RunArgs, Running, Thalweg};
use crate::terminal::{complain, emit};

/// Runs the application that was asked for.
pub(crate) fn run(args: RunArgs) -> Outcome {
    match args.app {
        Some(App::Search(args)) => search::run(args),
        Some(App::Frames(args)) => frames::run(args),
        Some(App::Fm(args)) => fm::run(args),
        None => list(),
    }
}

fn list() -> Outcome {
    let command = Thalweg::command();
    let run = command.find_subcommand("run").expect("`run` is a subcommand");
    let lines: Vec<String> = run
        .get_subcommands()
        .map(|app| format!("{:8} {}\n", app.get_name(), app.get_about().map(ToString::to_string).unwrap_or_default()))
        .collect();
    emit(&lines.concat())?;
    Ok(ExitCode::SUCCESS)
}

impl Running {
    /// The scheme that was asked for.
    fn scheme(&self) -> Result<Scheme, Box<dyn Error>> {
        let mut scheme = match &self.scheme {
            Some(name) => Scheme::named(name)?,
            None => Scheme::default(),
        };
        if let Some(workers) = self.workers {
            if scheme.chooses_workers() {
                return Err(format!(
                    "the scheme {} has a thread for each kernel, not {workers} workers; leave out --workers, or take another scheme",
                    scheme.name()
                )
                .into());
            }
            scheme = scheme.workers(usize::from(workers));
        }
        Ok(scheme.pinned(self.pinned))
    }

    /// Prints what was done and the report. A report for programs has standard output to itself.
    fn print(&self, done: &str, report: &Report) -> std::io::Result<()> {
        match self.report {
            ReportFormat::Table => emit(&format!("{done}\n\n{report}\n")),
            ReportFormat::None => emit(&format!("{done}\n")),
            ReportFormat::Json => {
                complain(done);
                emit(&format!("{}\n", report.to_json()))
            }
            ReportFormat::Dot => {
                complain(done);
                emit(&format!("{}\n", report.to_dot()))
            }
        }
    }
}
