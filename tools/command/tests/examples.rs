//! The examples in the help of each application run as they stand there.
#![cfg(unix)]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

/// In a shell, as a reader would type it.
fn shell(home: &Path, line: &str) -> Output {
    let path = std::env::var_os("PATH").unwrap();
    let path = std::env::join_paths(std::iter::once(home.join("bin")).chain(std::env::split_paths(&path))).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(home).env("PATH", path);
    for variable in ["THALWEG_OBSERVE", "THALWEG_DAEMON", "THALWEG_DAEMON_WEIGHT"] {
        command.env_remove(variable);
    }
    command.output().unwrap()
}

/// The word behind `option`, if it is in the line.
fn behind<'a>(line: &'a str, option: &str) -> Option<&'a str> {
    line.split_whitespace().skip_while(|word| *word != option).nth(1)
}

/// Those whose input is there, or made up, and whose output is a file: one that an earlier example has written is input to the next.
#[test]
fn examples_of_the_help_run_one_after_the_other() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    std::fs::create_dir(home.join("bin")).unwrap();
    symlink(env!("CARGO_BIN_EXE_thalweg"), home.join("bin/thalweg")).unwrap();
    let names = String::from_utf8(shell(home, "thalweg run --list").stdout).unwrap();
    let mut ran = 0;
    for name in names.lines().filter_map(|line| line.split_whitespace().next()) {
        let help = String::from_utf8(shell(home, &format!("thalweg run {name} --help")).stdout).unwrap();
        // An example may go on in the next line.
        let help = help.replace("\\\n", "");
        for line in help.lines().map(str::trim).filter(|line| line.starts_with("thalweg run ") && !line.contains('|')) {
            let is_there = |input: &str| home.join(input).exists();
            let has_input = behind(line, "--generate").is_some() || behind(line, "--input").is_some_and(is_there);
            if !has_input || behind(line, "--output").is_none() {
                continue;
            }
            let output = shell(home, line);
            assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
            assert!(home.join(behind(line, "--output").unwrap()).exists(), "{line}");
            ran += 1;
        }
    }
    assert!(ran >= 18, "{ran} examples");
}
