//! `thalweg sim` as a user meets it: what it prints where, and its exit status.
#![cfg(feature = "instrument")]

use std::process::Command;

struct Ran {
    status: i32,
    stdout: String,
    stderr: String,
}

/// Runs `thalweg sim` with the words of `line`.
fn sim(line: &str) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_thalweg")).arg("sim").args(line.split(' ')).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { status: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn two_processes_print_the_same_numbers() {
    let line = "run sim/fast-forward --on x86-88t:23 --quick --seeds 2 --json -";
    let (one, other) = (sim(line), sim(line));
    assert_eq!((one.status, one.stderr.as_str()), (0, ""));
    assert_eq!(one.stdout, other.stdout);
    // Two distances, in eleven units.
    assert_eq!(one.stdout.lines().count(), 22);
    assert!(one.stdout.lines().all(|line| line.starts_with('{') && line.contains("\"world\":\"x86-88t\"")));
}

#[test]
fn a_table_has_a_row_for_each_point_and_names_the_lines() {
    let ran = sim("run sim/chunk-ring --on arm-32:3 --seeds 1 --lines");
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    for word in ["sim/chunk-ring on arm-32", "same cluster", "same die", "contended lines", "chunk_ring"] {
        assert!(ran.stdout.contains(word), "{word} is missing in {}", ran.stdout);
    }
}

#[test]
fn machines_and_experiments_are_listed() {
    assert!(sim("machines").stdout.contains("x86-88t     88 threads"));
    assert!(sim("machines vl-16").stdout.contains("Guesses"));
    let list = sim("list").stdout;
    assert!(
        ["sim/bbq", "danbi/scaling", "thesis/4.11", "ff/figure8", "blq/schemes"].iter().all(|name| list.contains(name))
    );
}

#[test]
fn what_is_not_there_is_named_with_what_is() {
    for (line, words) in [
        ("run sim/nothing --on x86-88t", ["sim/nothing", "sim/bbq"]),
        ("run sim/bbq --on vax", ["vax", "arm-96t"]),
        ("run sim/bbq --on vl-16:17", ["17", "from 1 to 16"]),
        ("run sim/bbq --on vl-16:1", ["vl-16:1", "2 threads"]),
        ("run sim/bbq --on vl-16:many", ["many", "from 1 to 16"]),
        ("run no-such-graph --on vl-16", ["no-such-graph", "no example or binary"]),
        ("run sim/bbq sim/nothing --on vl-16", ["sim/nothing", "sim/bbq"]),
        ("calibrate --native none.json", ["none.json", "cannot read"]),
        ("calibrate --native Cargo.toml", ["Cargo.toml", "not what `micro` prints"]),
        ("run sim/bbq --on none.toml", ["none.toml", "cannot read"]),
        ("run sim/bbq --on vl-16 --svg -", ["--svg -", "choose a file"]),
        ("run wide --on vl-16 --trace -", ["--trace -", "choose a file"]),
        ("run sim/bbq --on vl-16 --limit 9", ["--limit", "a program of yours"]),
        ("run sim/bbq --on vl-16 --svg no-such-directory/a.svg", ["no-such-directory/a.svg", "cannot write"]),
        ("calibrate --native Cargo.toml --out no-such-directory/a.toml", ["no-such-directory/a.toml", "cannot write"]),
    ] {
        let ran = sim(line);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
        assert!(words.iter().all(|word| ran.stderr.contains(word)), "{line}: {}", ran.stderr);
    }
}
