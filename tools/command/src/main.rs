//! The `thalweg` command.
//!
//! Exit status: 0 if all went well (for `search`: something was found), 1 if a search found nothing, 2 if there was
//! trouble, 130 if an interrupt ended the run.

mod args;
#[cfg(feature = "instrument")]
mod proof;
mod run;
#[cfg(feature = "instrument")]
mod sim;
mod terminal;

use std::process::ExitCode;

use clap::Parser;
use thalweg::Scheme;

use args::{Command, Thalweg};
use terminal::{complain, emit};

/// The exit status for trouble, as `grep` has it; clap's for wrong usage is the same.
const TROUBLE: u8 = 2;

/// What the functions behind the subcommands give: an exit status, or what to tell the user.
type Outcome = Result<ExitCode, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let outcome = match Thalweg::parse().command {
        Command::Run(args) => run::run(*args),
        Command::Schemes => schemes(),
        Command::Proof(args) => proof(&args),
        Command::Lab { args } => lab(args),
        Command::Sim { args } => sim(args),
    };
    outcome.unwrap_or_else(|error| {
        complain(&error.to_string());
        ExitCode::from(TROUBLE)
    })
}

/// Lists the schemes, one on a line, the default first.
fn schemes() -> Outcome {
    let mut lines = String::new();
    for name in Scheme::names() {
        lines += &format!("{name:12} {}\n", Scheme::named(name)?.about());
    }
    emit(&lines)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(feature = "instrument")]
fn proof(args: &args::Proof) -> Outcome {
    proof::run(args)
}

#[cfg(not(feature = "instrument"))]
fn proof(_args: &args::Proof) -> Outcome {
    Err("built without the model checker; in a checkout of thalweg, `cargo proof` builds and runs it".into())
}

#[cfg(all(feature = "lab", not(feature = "instrument")))]
fn lab(args: Vec<String>) -> Outcome {
    Ok(thalweg_lab::run(args.into_iter()))
}

#[cfg(not(all(feature = "lab", not(feature = "instrument"))))]
fn lab(args: Vec<String>) -> Outcome {
    let command = ["cargo lab".to_owned()].into_iter().chain(args).collect::<Vec<_>>().join(" ");
    if cfg!(feature = "lab") {
        return Err(format!("nothing is measured in a build with the feature `instrument`, where each access asks for an engine: `{command}` builds without").into());
    }
    Err(format!("built without the lab; in a checkout of thalweg, `{command}` builds and runs it").into())
}

#[cfg(feature = "instrument")]
fn sim(args: Vec<String>) -> Outcome {
    sim::run(args)
}

#[cfg(not(feature = "instrument"))]
fn sim(args: Vec<String>) -> Outcome {
    let command = ["cargo sim".to_owned()].into_iter().chain(args).collect::<Vec<_>>().join(" ");
    Err(format!("built without the simulated machine; in a checkout of thalweg, `{command}` builds and runs it").into())
}
