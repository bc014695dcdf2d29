//! The `thalweg` command.
//!
//! Exit status: 0 if all went well (for `search`: something was found), 1 if a search found nothing, 2 if there was
//! trouble, 130 if an interrupt ended the run, 143 if it was terminated, 129 if its terminal went away.

mod args;
#[cfg(target_os = "linux")]
mod daemon;
#[cfg(feature = "instrument")]
mod proof;
mod run;
mod seen;
mod terminal;
mod topology;

use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use thalweg::Scheme;
use thalweg_apps::with_causes;

use args::{Command, Thalweg};
use terminal::{complain, emit};

/// The exit status for trouble, as `grep` has it; clap's for wrong usage is the same.
const TROUBLE: u8 = 2;

/// What the functions behind the subcommands give: an exit status, or what to tell the user.
type Outcome = Result<ExitCode, Box<dyn std::error::Error>>;

/// Numbers that do not depend on the host; and the checker sees what its clients free.
#[cfg(feature = "instrument")]
#[global_allocator]
static HEAP: thalweg_check::Heap<thalweg_sim::Heap> = thalweg_check::Heap::over(thalweg_sim::Heap);

fn main() -> ExitCode {
    let outcome = match Thalweg::parse().command {
        Command::Run(args) => run::run(*args),
        #[cfg(unix)]
        Command::Top(args) => seen::top::run(args),
        #[cfg(target_os = "linux")]
        Command::Daemon(args) => daemon::run(args),
        Command::Report(args) => seen::report::run(&args),
        Command::Schemes => schemes(),
        Command::Topology(args) => topology::run(&args),
        Command::Completions { shell } => completions(shell),
        Command::Man { folder } => man(&folder),
        Command::Proof(args) => proof(&args),
        Command::Lab { args } => lab(args),
        Command::Sim { args } => sim(args),
    };
    outcome.unwrap_or_else(|error| {
        complain(&with_causes(&*error));
        ExitCode::from(TROUBLE)
    })
}

/// Lists the schemes, one on a line, the default first.
fn schemes() -> Outcome {
    let width = Scheme::names().map(str::len).max().unwrap_or(0);
    let mut lines = String::new();
    for name in Scheme::names() {
        lines += &format!("{name:width$}  {}\n", Scheme::named(name)?.about());
    }
    emit(&lines)?;
    Ok(ExitCode::SUCCESS)
}

/// The command with the words of the lab and the simulator, which take theirs apart themselves.
fn whole() -> clap::Command {
    let with_words = |own: clap::Command, tool: clap::Command| {
        let about = own.get_about().cloned().unwrap_or_default();
        tool.about(about).no_binary_name(false)
    };
    Thalweg::command()
        .mut_subcommand("lab", |own| with_words(own, thalweg_lab::words::lab()))
        .mut_subcommand("sim", |own| with_words(own, thalweg_lab::words::sim()))
}

/// Prints the completions for a shell.
fn completions(shell: clap_complete::Shell) -> Outcome {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut whole(), "thalweg", &mut text);
    emit(&String::from_utf8(text)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the manual pages, and says which.
fn man(folder: &Path) -> Outcome {
    let cannot = |error: std::io::Error| format!("cannot write to {}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(cannot)?;
    let mut command = whole().disable_help_subcommand(true);
    command.build();
    pages(&command, folder).map_err(cannot)?;
    emit(&format!("{} has thalweg.1 and the pages of its subcommands\n", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the page of a command and those of its subcommands. All say that they are of thalweg, and which version.
fn pages(command: &clap::Command, folder: &Path) -> std::io::Result<()> {
    for subcommand in command.get_subcommands() {
        pages(subcommand, folder)?;
    }
    let source = concat!("thalweg ", env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(command.clone()).source(source).generate_to(folder).map(drop)
}

#[cfg(feature = "instrument")]
fn proof(args: &args::Proof) -> Outcome {
    proof::run(args)
}

#[cfg(not(feature = "instrument"))]
fn proof(args: &args::Proof) -> Outcome {
    if args.list {
        emit(thalweg_lab::catalogue::CLIENTS)?;
        return Ok(ExitCode::SUCCESS);
    }
    Err("built without the model checker; in a checkout of thalweg, `cargo proof` builds and runs it".into())
}

/// The words of a command, for an error.
fn words(tool: &str, args: &[String]) -> String {
    [tool].into_iter().chain(args.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
}

fn lab(args: Vec<String>) -> Outcome {
    if let Some(answer) = thalweg_lab::catalogue::answer(&args) {
        emit(&answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    let on_machine = args.iter().any(|word| word == "--on" || word.starts_with("--on="))
        || args.first().is_some_and(|word| word == "check");
    #[cfg(all(feature = "lab", not(feature = "instrument")))]
    if !on_machine {
        return Ok(thalweg_lab::run(args.into_iter()));
    }
    understand(thalweg_lab::words::lab(), &args);
    if on_machine {
        return sim(args);
    }
    let command = words("cargo lab", &args);
    if cfg!(feature = "lab") {
        return Err(format!("nothing is measured in a build with the feature `instrument`, where each access asks for an engine: `{command}` builds without").into());
    }
    Err(format!("built without the lab; in a checkout of thalweg, `{command}` builds and runs it").into())
}

/// Answers a question for help, and words that make no sense, whatever is built in.
fn understand(tool: clap::Command, args: &[String]) {
    if let Err(error) = tool.try_get_matches_from(args) {
        error.exit();
    }
}

fn sim(args: Vec<String>) -> Outcome {
    if args == ["list"] {
        emit(&thalweg_lab::catalogue::list_on_machines())?;
        return Ok(ExitCode::SUCCESS);
    }
    #[cfg(feature = "instrument")]
    return thalweg_lab::machines::run(
        args,
        &thalweg_lab::machines::Console { emit, complain, spinner: terminal::spinner },
    );
    #[cfg(not(feature = "instrument"))]
    {
        understand(thalweg_lab::words::sim(), &args);
        let command = words("cargo sim", &args);
        Err(format!("built without the simulated machine; in a checkout of thalweg, `{command}` builds and runs it")
            .into())
    }
}
