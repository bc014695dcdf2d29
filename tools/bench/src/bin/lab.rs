//! What `cargo lab`, `cargo sim` and `cargo proof` start: lists and help are printed at once, anything else by the command, built with what it takes.
//!
//! The first argument says for which of the three it was started.

use std::process::{Command, ExitCode};

use thalweg_lab::catalogue::{CLIENTS, help, list, list_on_machines};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["lab", "list"] => print(&list()),
        ["sim", "list"] => print(&list_on_machines()),
        ["proof", "--list"] => print(CLIENTS),
        [tool] => match help(tool, &["--help"]) {
            Some(text) => {
                eprint!("{}", by_cargo(text));
                ExitCode::from(TROUBLE)
            }
            None => command(tool, &[]),
        },
        [tool, rest @ ..] => match (help(tool, rest), rest) {
            (Some(text), _) => print(&by_cargo(text)),
            (None, ["tables", rest @ ..]) if *tool == "lab" => tables(rest),
            (None, rest) => command(tool, rest),
        },
        [] => {
            eprintln!("error: this is started by `cargo lab`, `cargo sim` and `cargo proof`");
            ExitCode::from(TROUBLE)
        }
    }
}

const TROUBLE: u8 = 2;

/// A reader that has gone away (`| head`) has seen enough.
fn print(text: &str) -> ExitCode {
    use std::io::Write;
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

/// The command's text, as it is called here.
fn by_cargo(text: &str) -> String {
    ["lab", "proof", "sim"]
        .iter()
        .fold(text.to_owned(), |text, tool| text.replace(&format!("thalweg {tool}"), &format!("cargo {tool}")))
}

/// Builds the command and runs it. What runs on this machine is built without engines, what runs on a modelled one with them.
fn command(tool: &str, arguments: &[&str]) -> ExitCode {
    let on_machine = arguments.iter().any(|argument| *argument == "--on" || argument.starts_with("--on="));
    let (feature, tool) = match tool {
        "lab" if on_machine || arguments.first() == Some(&"check") => ("instrument", "sim"),
        "lab" => ("lab", "lab"),
        other => ("instrument", other),
    };
    cargo(&["--package", "thalweg-cli", "--features", feature, "--", tool], arguments)
}

/// Writes the tables of the pages, or compares them.
fn tables(arguments: &[&str]) -> ExitCode {
    let build = ["--quiet", "--package", "thalweg-lab", "--no-default-features", "--features", "tables"];
    cargo(&[&build[..], &["--bin", "tables", "--"]].concat(), arguments)
}

/// Builds a program, and runs it with these arguments.
fn cargo(program: &[&str], arguments: &[&str]) -> ExitCode {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    match Command::new(cargo).args(["run", "--release"]).args(program).args(arguments).status() {
        // Ended by a signal: so is this.
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(TROUBLE)),
        Err(error) => {
            eprintln!("error: cannot run cargo: {error}");
            ExitCode::from(TROUBLE)
        }
    }
}
