//! `cargo lab tables`, with what it takes and nothing else built in.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (check, proved) = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => (false, false),
        ["--check"] => (true, false),
        ["--proved"] => (false, true),
        other => {
            eprintln!("error: `lab tables` takes `--check`, `--proved` or nothing, not `{}`", other.join(" "));
            return ExitCode::from(2);
        }
    };
    thalweg_lab::tables::run(check, proved)
}
