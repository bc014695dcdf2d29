//! `thalweg run fm`.

use std::fs;
use std::process::ExitCode;

use indicatif::HumanCount;
use thalweg_apps::fm::{self, Config, synthetic};

use super::session::Session;
use crate::Outcome;
use crate::args::Fm;
use crate::terminal::emit;

pub(super) fn run(args: Fm) -> Outcome {
    super::check_files(args.input.as_deref(), &args.output)?;
    let output = args.output.display();
    let Some(input) = args.input else {
        let count = args.generate.unwrap_or(0);
        synthetic::signal(count, &args.output)?;
        emit(&format!("{} made-up samples written to {output}\n", HumanCount(count)))?;
        return Ok(ExitCode::SUCCESS);
    };
    let mut config = Config::new(&input, &args.output);
    config.raw_rate = args.raw_rate;
    config.scheme = args.running.scheme()?;
    let session = Session::new(fs::metadata(&input).ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len()))?;
    let received = fm::run(&config, &session)?;
    session.clear();

    let (samples, sound) = (HumanCount(received.samples), HumanCount(received.sound));
    args.running
        .print(&format!("{sound} samples of sound from {samples} samples written to {output}"), &received.report)?;
    Ok(session.status(ExitCode::SUCCESS))
}
