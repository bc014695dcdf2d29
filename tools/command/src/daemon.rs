//! `thalweg daemon`: shares out the machine, and shows who has what.

use std::path::PathBuf;
use std::process::ExitCode;

use thalweg_daemon::{Daemon, Options, Status};

use crate::Outcome;
use crate::args::{DaemonArgs, DaemonQuery};
use crate::terminal::{emit, remark};

/// Runs the daemon until it is told to end, or asks the one that runs.
pub(crate) fn run(args: DaemonArgs) -> Outcome {
    let path = place(args.socket);
    match args.query {
        Some(DaemonQuery::Status { json }) => {
            let status = Status::of(&path)?;
            emit(&format!("{}\n", if json { status.to_json() } else { status.to_string() }))?;
        }
        None => {
            let default = Options::default();
            let cores = args.cores.map_or(default.cores, u32::from);
            let policy = args.policy.unwrap_or(default.policy);
            let (mut daemon, stop) = Daemon::bind(&path, Options { cores, policy })?;
            stop.at_signals()?;
            let plural = if cores == 1 { "" } else { "s" };
            remark(&format!("shares out {cores} core{plural} by `{policy}` at {}", path.display()));
            remark(
                "`thalweg daemon status` shows who has what; an interrupt (Ctrl-C) ends it, and nobody is bounded any more",
            );
            daemon.run()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the daemon is: as applications look for it.
fn place(asked: Option<PathBuf>) -> PathBuf {
    let told = || std::env::var_os("THALWEG_DAEMON").filter(|path| !path.is_empty() && path != "0").map(PathBuf::from);
    asked.or_else(told).unwrap_or_else(|| thalweg::observe::folder().join("daemon.sock"))
}
