//! `thalweg run search`.

use std::fmt::Write;
use std::process::ExitCode;

use indicatif::{DecimalBytes, HumanCount};
use thalweg_apps::search::{self, Config, Summary};

use super::session::Session;
use crate::args::Search;
use crate::terminal::{complain, emit, name};
use crate::{Outcome, TROUBLE};

pub(super) fn run(args: Search) -> Outcome {
    let mut config = Config::new(args.term.as_encoded_bytes(), args.input);
    config.scheme = args.running.scheme()?;
    let session = Session::new(None)?;
    let found = search::run(&config, &session)?;
    session.clear();

    for unreadable in &found.unreadable {
        complain(&format!("{}: {}", name(&unreadable.path), unreadable.error));
    }
    if args.count {
        emit(&format!("{}\n", found.matches))?;
    } else {
        args.running.print(&text(&found), &found.report)?;
    }
    Ok(session.status(match (found.unreadable.len(), found.matches) {
        (0, 0) => ExitCode::FAILURE,
        (0, _) => ExitCode::SUCCESS,
        _ => ExitCode::from(TROUBLE),
    }))
}

/// The summary: what was found, how fast, and where most of it is.
fn text(found: &Summary) -> String {
    let seconds = found.elapsed.as_secs_f64().max(1e-9);
    let mut text = format!(
        "{} matches in {} of {} files, {} in {seconds:.3} s ({}/s)",
        HumanCount(found.matches),
        HumanCount(found.files_with_matches),
        // A file that was not read to its end counts if something was found in it.
        HumanCount(found.files.max(found.files_with_matches)),
        DecimalBytes(found.bytes),
        DecimalBytes((found.bytes as f64 / seconds) as u64),
    );
    for (path, matches) in &found.top {
        // Writing to a string does not fail.
        let _ = write!(text, "\n{:>12}  {}", HumanCount(*matches).to_string(), name(path));
    }
    text
}
