//! Running a user's own program on a modelled machine: an example or a binary of the package around here.

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use serde_json::Value;

use super::Outcome;

/// What stands in every program whose `main` is [`thalweg_sim::main`], and in no other: how its `--help` begins.
const MARK: &[u8] = b"Runs this program on 1, 2, 4 ... hardware threads of a modelled machine";

/// A program that Cargo can build.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Program {
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

/// The examples and binaries of this name in the workspace around here. Errors with what Cargo says if it cannot read one.
pub(crate) fn find(name: &str) -> Result<Vec<Program>, Box<dyn Error>> {
    let mut metadata = Command::new(cargo());
    metadata.args(["metadata", "--no-deps", "--format-version", "1"]);
    let output = metadata.output().map_err(no_cargo)?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().into());
    }
    Ok(named(&serde_json::from_slice(&output.stdout)?, name))
}

fn no_cargo(error: std::io::Error) -> String {
    format!("cannot run cargo: {error}")
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
pub(crate) struct Options<'a> {
    pub(crate) on: &'a str,
    pub(crate) seeds: u64,
    /// In simulated seconds.
    pub(crate) limit: Option<u64>,
    pub(crate) json: Option<&'a Path>,
    pub(crate) svg: Option<&'a Path>,
    pub(crate) trace: Option<&'a Path>,
}

impl Program {
    fn cargo(&self, subcommand: &str) -> Command {
        let mut command = Command::new(cargo());
        command.args([subcommand, "--release", "--quiet", "--package", &self.package, self.kind, &self.name]);
        if !self.features.is_empty() {
            command.args(["--features", &self.features.join(",")]);
        }
        command
    }

    /// Builds it. Where it is.
    fn build(&self) -> Result<PathBuf, Box<dyn Error>> {
        let mut command = self.cargo("build");
        command.args(["--message-format", "json-render-diagnostics"]).stderr(Stdio::inherit());
        let output = command.output().map_err(no_cargo)?;
        if !output.status.success() {
            return Err(format!("{} does not build; cargo has said why", self.name).into());
        }
        let messages = output.stdout.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
        let path = executable(messages, &self.name).ok_or("cargo has built nothing that can be run")?;
        Ok(path)
    }
}

/// Where the program of that name is, by Cargo's messages.
fn executable(mut messages: impl Iterator<Item = Value>, name: &str) -> Option<PathBuf> {
    messages.find_map(|message| {
        let path = message["executable"].as_str().filter(|_| message["target"]["name"] == name)?;
        Some(path.into())
    })
}

/// Builds the program and runs it. Its `main` has to be [`thalweg_sim::main`], which knows what it is told: any other would
/// run natively, and what it prints would be taken for the model's.
pub(crate) fn run(program: &Program, options: &Options<'_>) -> Outcome {
    let path = program.build()?;
    let built = std::fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    if !built.windows(MARK.len()).any(|window| window == MARK) {
        let name = &program.name;
        return Err(format!(
            "{name} does not simulate: its main does not call thalweg_sim::main; see docs/simulator.md"
        )
        .into());
    }
    let mut command = program.cargo("run");
    command.args(["--", "--on", options.on, "--seeds", &options.seeds.to_string()]);
    if let Some(seconds) = options.limit {
        command.args(["--limit", &seconds.to_string()]);
    }
    for (option, file) in [("--json", options.json), ("--svg", options.svg), ("--trace", options.trace)] {
        if let Some(file) = file {
            command.arg(option).arg(file);
        }
    }
    let status = command.status().map_err(no_cargo)?;
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

    #[test]
    fn what_was_built_is_found_among_cargos_messages() {
        let of = |name: &str, path: Value| json!({ "target": { "name": name }, "executable": path });
        let messages =
            [json!({ "success": true }), of("wide", Value::Null), of("deep", json!("a")), of("wide", json!("b"))];
        assert_eq!(executable(messages.into_iter(), "wide"), Some("b".into()));
    }
}
