//! `thalweg proof` as a user meets it: what it prints where, and its exit status.
#![cfg(feature = "instrument")]

use std::fs;
use std::process::Command;

struct Ran {
    status: i32,
    stdout: String,
    stderr: String,
}

fn proof(words: &[&str]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_thalweg")).arg("proof").args(words).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { status: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// The first word of each line.
fn names(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.split_whitespace().next()).collect()
}

#[test]
fn what_is_asked_for_is_proved_and_nothing_else() {
    let list = proof(&["--list"]);
    assert_eq!((list.status, list.stderr.as_str()), (0, ""));
    let one = proof(&["ff/end"]);
    assert_eq!((one.status, names(&one.stdout)), (0, vec!["client", "ff/end"]), "{}", one.stderr);
    // Of one queue each of its clients is named, of the others the queue.
    let others = names(&list.stdout).into_iter().filter(|&name| name != "ff/end");
    let mut except: Vec<_> =
        others.map(|name| if name.starts_with("ff/") { name } else { name.split('/').next().unwrap() }).collect();
    except.dedup();
    let left = proof(&[&["--all", "--except"][..], &except].concat());
    assert_eq!((left.status, names(&left.stdout)), (0, vec!["client", "ff/end"]), "{}", left.stderr);
    let but_one = proof(&["ticketed/end", "ticketed/gone", "--except", "ticketed/end"]);
    assert_eq!((but_one.status, names(&but_one.stdout)), (0, vec!["client", "ticketed/gone"]), "{}", but_one.stderr);
}

/// A file for a picture is tried before the run; where nothing fails it is left as it was.
#[test]
fn without_a_failure_there_is_no_picture() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    fs::write(path("old.dot"), "old").unwrap();
    for name in ["new.dot", "old.dot"] {
        let ran = proof(&["ff/end", "--dot", &path(name)]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
    assert!(fs::metadata(path("new.dot")).is_err());
    assert_eq!(fs::read_to_string(path("old.dot")).unwrap(), "old");
}

#[test]
fn what_is_not_proved_to_the_end_does_not_hold() {
    let ran = proof(&["ff/end", "bbq/laps", "--seconds", "1"]);
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!((ran.status, names(&ran.stdout)), (1, vec!["client", "ff/end", "bbq/laps"]), "{}", ran.stdout);
    assert!(lines[2].ends_with("not all: out of time") && !lines[1].contains("out of time"), "{}", ran.stdout);
}

#[test]
fn what_is_not_there_is_trouble() {
    for (words, told) in [
        (&["ff", "bbq/none"][..], "there is no client `bbq/none`"),
        (&["ff/en"], "there is no client `ff/en`"),
        (&["--all", "--except", "nothing"], "there is no client `nothing`"),
        (&["--litmus", "none.litmus"], "cannot read none.litmus"),
        (&["--weaken", "nothing"], "nothing"),
        (&["--throughput", "--json", "no-such-directory/a.json"], "cannot write no-such-directory/a.json"),
        (&["ff/1p1c", "--dot", "no-such-directory/a.dot"], "cannot write no-such-directory/a.dot"),
    ] {
        let ran = proof(words);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{words:?}");
        assert!(ran.stderr.contains(told), "{words:?}: {}", ran.stderr);
    }
}

#[test]
fn litmus_tests_are_counted_and_one_that_fails_is_seen_in_the_status() {
    let dir = tempfile::tempdir().unwrap();
    let test = |name: &str, executions: u32| {
        let path = dir.path().join(name);
        let text = format!("name: {name}\ninit: x=0\nT0: W x 1 rlx\nT1: a = R x rlx\nexecutions: {executions}\n");
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (right, wrong) = (test("right", 2), test("wrong", 3));
    let ran = proof(&["--litmus", &right]);
    assert!(ran.status == 0 && ran.stdout.ends_with("1 passed, 0 failed\n"), "{}{}", ran.stdout, ran.stderr);
    let ran = proof(&["--litmus", &right, &wrong]);
    assert!(ran.status == 1 && ran.stdout.ends_with("1 passed, 1 failed\n"), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("FAILED"), "{}", ran.stdout);
}
