//! `thalweg daemon` as its users have it: applications find it, the status tells, an interrupt ends it.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use thalweg_sync::thread;
use thalweg_sync::time::Duration;

fn thalweg(home: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.args(line.split(' ')).env("XDG_RUNTIME_DIR", home);
    for variable in ["THALWEG_OBSERVE", "THALWEG_DAEMON", "THALWEG_DAEMON_WEIGHT"] {
        command.env_remove(variable);
    }
    command
}

/// Killed when it is dropped.
struct Process(Child);

impl Process {
    fn start(mut command: Command) -> Self {
        Self(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// A daemon that is ready.
    fn daemon(home: &Path, more: &str) -> Self {
        let mut daemon = Self::start(thalweg(home, &format!("daemon{more}")));
        let mut first = String::new();
        BufReader::new(daemon.0.stderr.as_mut().unwrap()).read_line(&mut first).unwrap();
        assert!(first.starts_with("shares out "), "{first}");
        daemon
    }

    /// A run that goes on until its input ends.
    fn application(home: &Path, weight: &str) -> Self {
        let mut command = thalweg(home, "run search --term fish --input - --count");
        command.env("THALWEG_DAEMON_WEIGHT", weight);
        let mut application = Self::start(command);
        application.0.stdin.as_mut().unwrap().write_all(b"one fish\n").unwrap();
        application
    }

    fn end(&mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn status(home: &Path, more: &str) -> Output {
    thalweg(home, &format!("daemon status{more}")).output().unwrap()
}

/// Asks until the status shows what is looked for.
#[track_caller]
fn shows(home: &Path, what: impl Fn(&str) -> bool) -> String {
    let mut last = String::new();
    for _ in 0..600 {
        last = String::from_utf8(status(home, " --json").stdout).unwrap();
        if what(&last) {
            return last;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("it never came: {last}");
}

#[test]
fn applications_join_by_themselves_and_one_that_is_killed_is_gone() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let daemon = Process::daemon(home, " --cores 4 --policy fixed");
    assert_eq!(
        String::from_utf8(status(home, "").stdout).unwrap(),
        "4 cores, shared out by `fixed`; no application has joined\n"
    );
    let mut one = Process::application(home, "3");
    let granted =
        |text: &str, weight: u32, cores: u32| text.contains(&format!("\"weight\":{weight},\"granted\":{cores},"));
    shows(home, |text| granted(text, 3, 4));
    let other = Process::application(home, "1");
    let json = shows(home, |text| granted(text, 3, 3) && granted(text, 1, 1));
    assert!(json.starts_with("{\"cores\":4,\"policy\":\"fixed\",\"applications\":[{\"pid\":"), "{json}");
    assert!(json.contains(&format!("\"pid\":{},\"name\":\"thalweg run search --term fish", one.0.id())), "{json}");
    let table = String::from_utf8(status(home, "").stdout).unwrap();
    assert!(table.lines().nth(2).unwrap().ends_with("granted  at work  could use   waiting  application"), "{table}");
    drop(other);
    shows(home, |text| granted(text, 3, 4) && text.matches("\"pid\"").count() == 1);
    // The daemon is killed: its successor is found.
    drop(daemon);
    let refused = status(home, "");
    assert_eq!(refused.status.code(), Some(2));
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(text.contains("no daemon runs there; `thalweg daemon` starts one"), "{text}");
    let _successor = Process::daemon(home, " --cores 2");
    shows(home, |text| text.contains("\"policy\":\"delay\"") && text.matches("\"pid\"").count() == 1);
    one.end();
    shows(home, |text| text.ends_with("\"applications\":[]}\n"));
}

#[test]
fn a_core_that_an_idle_application_has_no_use_for_goes_to_a_busy_one() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let _daemon = Process::daemon(home, " --cores 4");
    let busy = |text: &str, cores: u32| {
        let applications = text.split("{\"pid\"").skip(1);
        let mut busy = applications.filter(|one| one.contains("run incast"));
        busy.next().is_some_and(|one| one.contains(&format!("\"granted\":{cores},")))
    };
    let endless = |home| Process::start(thalweg(home, "run incast --messages 1000000000000 --workers 4"));
    let _one = endless(home);
    shows(home, |text| busy(text, 4));
    // It waits for its input. A core is its own, the others are not.
    let _idle = Process::application(home, "1");
    shows(home, |text| text.matches("\"pid\"").count() == 2 && busy(text, 3));
    // With another that has work, each has its share; and all but the idle one's again when that has ended.
    let other = endless(home);
    shows(home, |text| text.matches("\"pid\"").count() == 3 && !busy(text, 3));
    drop(other);
    shows(home, |text| text.matches("\"pid\"").count() == 2 && busy(text, 3));
}

#[test]
fn it_ends_at_a_signal_and_a_second_one_does_not_begin() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let mut daemon = Process::daemon(home, "");
        let second = thalweg(home, "daemon").output().unwrap();
        assert_eq!(second.status.code(), Some(2));
        let text = String::from_utf8(second.stderr).unwrap();
        assert!(text.contains("a daemon runs there already; `thalweg daemon status` shows it"), "{text}");
        // SAFETY: a process that was started here, and was not waited for.
        assert_eq!(unsafe { libc::kill(daemon.0.id() as libc::pid_t, signal) }, 0);
        assert!(daemon.0.wait().unwrap().success());
        assert!(!home.join("thalweg/daemon.sock").exists());
    }
}

#[test]
fn whoever_takes_no_part_runs_as_without_a_daemon() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    fs::write(home.join("fish.txt"), "one fish\ntwo fish\n").unwrap();
    let _daemon = Process::daemon(home, "");
    for place in ["0", "/nowhere/at/all.sock"] {
        let mut command = thalweg(home, "run search --term fish --input fish.txt --count");
        let ran = command.current_dir(home).env("THALWEG_DAEMON", place).output().unwrap();
        assert_eq!((ran.status.code(), &*ran.stdout, &*ran.stderr), (Some(0), &b"2\n"[..], &b""[..]), "{place}");
        assert!(shows(home, |_| true).ends_with("\"applications\":[]}\n"));
    }
    let wrong = thalweg(home, "daemon --policy fast").output().unwrap();
    let text = String::from_utf8(wrong.stderr).unwrap();
    assert!(text.contains("there is no policy \"fast\"; take `delay`, `fair` or `fixed`"), "{text}");
}
