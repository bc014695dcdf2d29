//! Running a user's own program on a modelled machine: an example or a binary of the package around here.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

use serde_json::Value;

use crate::Outcome;

/// A program that Cargo can build.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    package: String,
    /// `--example` or `--bin`.
    kind: &'static str,
    name: String,
    features: Vec<String>,
}

/// Cargo, as it was called.
fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// The examples and binaries of this name in the workspace around here; none if there is no workspace.
pub(super) fn find(name: &str) -> Vec<Program> {
    let Ok(output) = Command::new(cargo()).args(["metadata", "--no-deps", "--format-version", "1"]).output() else {
        return Vec::new();
    };
    serde_json::from_slice(&output.stdout).map_or_else(|_| Vec::new(), |metadata| named(&metadata, name))
}

fn named(metadata: &Value, name: &str) -> Vec<Program> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut programs = Vec::new();
    for package in list(&metadata["packages"]) {
        for target in list(&package["targets"]) {
            let kind = match text(&target["kind"][0]).as_str() {
                "example" => "--example",
                "bin" => "--bin",
                _ => continue,
            };
            if target["name"] == name {
                let features = list(&target["required-features"]).iter().map(text).collect();
                programs.push(Program { package: text(&package["name"]), kind, name: name.to_owned(), features });
            }
        }
    }
    programs
}

/// What the program is told beside the machine.
#[derive(Debug)]
pub(super) struct Options<'a> {
    pub(super) on: &'a str,
    pub(super) seeds: u64,
    /// In simulated seconds.
    pub(super) limit: Option<u64>,
    pub(super) json: Option<&'a Path>,
    pub(super) svg: Option<&'a Path>,
    pub(super) trace: Option<&'a Path>,
}

/// Builds the program and runs it. Its `main` is [`thalweg_sim::main`], so it knows what it is told.
pub(super) fn run(program: &Program, options: &Options<'_>) -> Outcome {
    let mut command = Command::new(cargo());
    command.args(["run", "--release", "--quiet", "--package", &program.package, program.kind, &program.name]);
    if !program.features.is_empty() {
        command.args(["--features", &program.features.join(",")]);
    }
    command.args(["--", "--on", options.on, "--seeds", &options.seeds.to_string()]);
    if let Some(seconds) = options.limit {
        command.args(["--limit", &seconds.to_string()]);
    }
    for (option, file) in [("--json", options.json), ("--svg", options.svg), ("--trace", options.trace)] {
        if let Some(file) = file {
            command.arg(option).arg(file);
        }
    }
    let status = command.status().map_err(|error| format!("cannot run cargo: {error}"))?;
    match status.code().and_then(|code| u8::try_from(code).ok()) {
        Some(code) => Ok(ExitCode::from(code)),
        None => Err(format!("{} was ended: {status}", program.name).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn examples_and_binaries_are_found_by_name() {
        let target = |kind: &str, name: &str| json!({ "kind": [kind], "name": name, "required-features": ["sim"] });
        let targets = json!([target("lib", "wide"), target("example", "wide"), target("bin", "deep")]);
        let metadata = json!({ "packages": [{ "name": "mine", "targets": targets }] });
        let found = named(&metadata, "wide");
        let expected =
            Program { package: "mine".into(), kind: "--example", name: "wide".into(), features: vec!["sim".into()] };
        assert_eq!(found, [expected]);
        assert_eq!(named(&metadata, "deep")[0].kind, "--bin");
        assert_eq!(named(&metadata, "flat"), []);
        assert_eq!(named(&Value::Null, "wide"), []);
    }
}
