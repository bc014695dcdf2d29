//! Go's part in `tasks/table3`, where Go is installed: a program that is built when the experiment is planned.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use crate::harness::BoxError;

const SOURCE: &str = include_str!("table3.go");

/// The program, or why there is none.
fn program() -> Result<&'static PathBuf, BoxError> {
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = PROGRAM.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("thalweg-table3-{}", std::process::id()));
        let (source, program) = (folder.join("table3.go"), folder.join("table3"));
        std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&source, SOURCE)).map_err(|e| e.to_string())?;
        let build = Command::new("go").args(["build", "-o"]).arg(&program).arg(&source).output();
        let build = build.map_err(|error| format!("Go is not installed: {error}"))?;
        match build.status.success() {
            true => Ok(program),
            false => Err(format!("Go does not build its program: {}", String::from_utf8_lossy(&build.stderr))),
        }
    });
    built.as_ref().map_err(|error| error.clone().into())
}

/// Why Go cannot take part; nothing if it can.
pub(super) fn absent() -> Option<String> {
    if cfg!(test) {
        return Some("Go is left out of tests: its first build takes half a minute".into());
    }
    program().err().map(|error| format!("Go is left out: {error}"))
}

/// Nanoseconds for each of `rounds` rounds of a row of the table, on one processor.
pub(super) fn run(row: &str, rounds: u64) -> Result<f64, BoxError> {
    let output = Command::new(program()?).env("GOMAXPROCS", "1").args([row, &rounds.to_string()]).output()?;
    if !output.status.success() {
        return Err(format!("Go's program failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}
