//! Runs a crate's examples as processes, as a user does, and looks for what each promises to print. The test of each crate's `examples`, which list
//! them as `EXAMPLES`.

use std::collections::BTreeSet;
use std::env::consts::EXE_SUFFIX;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::EXAMPLES;

/// An example, and what is known of its output.
pub(crate) struct Example {
    pub(crate) name: &'static str,
    pub(crate) arguments: &'static [&'static str],
    pub(crate) input: &'static str,
    /// Lines that it prints, whole or their beginning. Empty: it is built and not run, as it needs somebody or measures.
    pub(crate) prints: &'static [&'static str],
}

impl Example {
    #[allow(dead_code, reason = "a crate may have none of either kind")]
    pub(crate) const fn prints(name: &'static str, prints: &'static [&'static str]) -> Self {
        assert!(!prints.is_empty(), "an example that runs prints something");
        Self { name, arguments: &[], input: "", prints }
    }

    /// One that is built alone; `_reason` says why.
    #[allow(dead_code, reason = "a crate may have none of either kind")]
    pub(crate) const fn built(name: &'static str, _reason: &'static str) -> Self {
        Self { name, arguments: &[], input: "", prints: &[] }
    }

    /// What is wrong with it.
    fn fault(&self, folder: &Path) -> Option<String> {
        let name = self.name;
        let program = folder.join(format!("{name}{EXE_SUFFIX}"));
        if !program.exists() {
            return Some(format!("{name}: {} is missing; build it: cargo build --examples", program.display()));
        }
        if self.prints.is_empty() {
            return None;
        }
        let mut command = Command::new(&program);
        command.args(self.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut input = process.stdin.take().expect("a pipe");
        // Whether it reads its input is its own affair.
        let _ = input.write_all(self.input.as_bytes());
        drop(input);
        let output = process.wait_with_output().unwrap_or_else(|error| panic!("{name}: {error}"));
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let missing =
            self.prints.iter().find(|&&line| !out.lines().chain(err.lines()).any(|has| has.starts_with(line)));
        let wrong = match missing {
            _ if !output.status.success() => format!("{}", output.status),
            Some(line) => format!("no line {line:?}"),
            None => return None,
        };
        Some(format!("{name}: {wrong}\n{out}{err}"))
    }
}

/// One that is not listed is a fault.
#[test]
fn each_example_prints_what_it_promises() {
    let there: BTreeSet<String> = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples"))
        .expect("the crate has examples")
        .map(|entry| entry.expect("the folder is read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs") || path.join("main.rs").exists())
        .map(|path| path.file_stem().expect("a file has a name").to_string_lossy().into_owned())
        .collect();
    let listed: BTreeSet<String> = EXAMPLES.iter().map(|example| example.name.to_owned()).collect();
    assert_eq!(there, listed, "the examples that there are, and those that the test expects something of");

    // Tests are in `deps`, examples beside it.
    let test = std::env::current_exe().expect("the test knows its path");
    let folder = test.parent().and_then(Path::parent).expect("a test is in target/PROFILE/deps").join("examples");
    let faults: Vec<_> = EXAMPLES.iter().filter_map(|example| example.fault(&folder)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
