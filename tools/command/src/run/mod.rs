//! `thalweg run`: one file for each application.

pub(crate) mod bc;
mod bursts;
pub(crate) mod chasing;
pub(crate) mod dc;
pub(crate) mod fft;
pub(crate) mod filterbank;
pub(crate) mod fir;
pub(crate) mod firewall;
pub(crate) mod fm;
mod frames;
pub(crate) mod gaussian;
pub(crate) mod incast;
pub(crate) mod mergesort;
mod network;
pub(crate) mod outcast;
mod packets;
mod pictures;
pub(crate) mod pipeline;
mod samples;
pub(crate) mod search;
mod session;
pub(crate) mod srad;
pub(crate) mod tc;
pub(crate) mod tde;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;
use thalweg::{Report, Scheme};

use crate::Outcome;
use crate::args::{App, ReportFormat, RunArgs, Running, Thalweg};
use crate::seen::asked;
use crate::terminal::{complain, emit, remark};
use session::Session;

/// Runs the application that was asked for.
pub(crate) fn run(args: RunArgs) -> Outcome {
    asked::ask(&args.looking)?;
    session::ended(match args.app {
        Some(App::Search(args)) => search::run(args),
        Some(App::Frames(args)) => frames::run(args),
        Some(App::Fm(args)) => fm::run(args),
        Some(App::Fir(args)) => fir::run(args),
        Some(App::Incast(args)) => incast::run(args),
        Some(App::Outcast(args)) => outcast::run(args),
        Some(App::Chasing(args)) => chasing::run(args),
        Some(App::Pipeline(args)) => pipeline::run(args),
        Some(App::Firewall(args)) => firewall::run(args),
        Some(App::Tc(args)) => tc::run(args),
        Some(App::Dc(args)) => dc::run(args),
        Some(App::Bc(args)) => bc::run(args),
        Some(App::Fft(args)) => fft::run(args),
        Some(App::Tde(args)) => tde::run(args),
        Some(App::Filterbank(args)) => filterbank::run(args),
        Some(App::Mergesort(args)) => mergesort::run(args),
        Some(App::Gaussian(args)) => gaussian::run(args),
        Some(App::Srad(args)) => srad::run(args),
        None => list(),
    })
}

fn list() -> Outcome {
    let command = Thalweg::command();
    let run = command.find_subcommand("run").expect("`run` is a subcommand");
    let width = run.get_subcommands().map(|app| app.get_name().len()).max().unwrap_or(0);
    let about = |app: &clap::Command| app.get_about().map(ToString::to_string).unwrap_or_default();
    let lines: String =
        run.get_subcommands().map(|app| format!("{:width$}  {}\n", app.get_name(), about(app))).collect();
    emit(&lines)?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses `-`, and an output that is standard output, where the summary would go over or behind what was written.
fn check_files(input: Option<&Path>, output: &Path) -> Result<(), String> {
    if input.is_some_and(|input| input.as_os_str() == "-") {
        return Err("the input `-` is not understood here; use /dev/stdin, or ./- for a file of that name".into());
    }
    if output.as_os_str() == "-" {
        return Err("the output `-` is not understood here; choose a file, or ./- for one of that name".into());
    }
    if is_standard_output(output) {
        return Err(format!("{} is standard output, which has the summary; choose another file", output.display()));
    }
    Ok(())
}

/// Whether what is said would be in the middle of `path`. Not in a device that keeps nothing, such as /dev/null.
#[cfg(unix)]
fn is_standard_output(path: &Path) -> bool {
    use std::fs::metadata;
    use std::io::{IsTerminal, stdout};
    use std::os::unix::fs::{FileTypeExt, MetadataExt};

    let (Ok(file), Ok(standard)) = (metadata(path), metadata("/dev/stdout")) else { return false };
    (file.dev(), file.ino()) == (standard.dev(), standard.ino())
        && (!file.file_type().is_char_device() || stdout().is_terminal())
}

#[cfg(not(unix))]
fn is_standard_output(_path: &Path) -> bool {
    false
}

/// The schemes that keep to a partition, the default first. Under a partition `random` would choose nothing at random, and all
/// others look at it only where they have nothing else to do, or not at all.
fn partitioned() -> [&'static str; 5] {
    [Scheme::default().name(), "pw", "pw_dyn", "mix", "mix_dyn"]
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
        if self.partitioned && !partitioned().contains(&scheme.name()) {
            return Err(format!(
                "the scheme {} does not keep to a partition; leave out --partitioned, or take one of {}",
                scheme.name(),
                partitioned().join(" ")
            )
            .into());
        }
        Ok(scheme.pinned(self.pinned).partitioned(self.partitioned))
    }

    /// Says what was done on standard error, with the report, where standard output has the results.
    fn tell(&self, done: &str, report: &Report) {
        if self.report == ReportFormat::Table {
            remark(&format!("{done}\n\n{report}"));
        }
    }

    /// Ends a run that went well: takes the bar off the screen, [prints](Self::print), and gives the exit status.
    fn end(&self, session: &Session, done: &str, report: &Report) -> Outcome {
        session.clear();
        self.print(done, report)?;
        Ok(session.status(ExitCode::SUCCESS))
    }

    /// Prints what was done to standard output, and the report to standard error. A report for programs has standard output to itself.
    fn print(&self, done: &str, report: &Report) -> std::io::Result<()> {
        match self.report {
            ReportFormat::Table => {
                emit(&format!("{done}\n"))?;
                remark(&format!("\n{report}"));
                Ok(())
            }
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
