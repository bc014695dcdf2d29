//! `thalweg sim` as a user meets it: what it prints where, and its exit status.
#![cfg(feature = "instrument")]

use std::path::Path;
use std::process::Command;

struct Ran {
    status: i32,
    stdout: String,
    stderr: String,
}

/// Runs `thalweg sim` with the words of `line`.
fn sim(line: &str) -> Ran {
    sim_in(Path::new("."), line)
}

fn sim_in(directory: &Path, line: &str) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    let output = command.arg("sim").args(line.split(' ')).current_dir(directory).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { status: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn two_processes_print_the_same_numbers() {
    let line = "run sim/fast-forward --on x86-88t:23 --quick --seeds 2 --json -";
    let (one, other) = (sim(line), sim(line));
    assert_eq!((one.status, one.stderr.as_str()), (0, ""));
    assert_eq!(one.stdout, other.stdout);
    // Two distances, in fourteen units.
    assert_eq!(one.stdout.lines().count(), 28);
    assert!(one.stdout.lines().all(|line| line.starts_with('{') && line.contains("\"world\":\"x86-88t\"")));
}

#[test]
fn a_table_has_a_row_for_each_point_and_names_the_lines() {
    let ran = sim("run sim/chunk-ring --on arm-32:3 --seeds 1 --lines");
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    for word in ["sim/chunk-ring on arm-32", "same cluster", "same die", "contended lines", "growing/", "hits"] {
        assert!(ran.stdout.contains(word), "{word} is missing in {}", ran.stdout);
    }
}

#[test]
fn a_part_of_a_figure_runs_alone() {
    let ran = sim("run blq/schemes vl/ping-pong --on arm-32:12 --quick --json - --only incast --only raft");
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert!(!ran.stdout.is_empty());
    for line in ran.stdout.lines() {
        assert!(line.contains("\"workload\":\"incast\"") && line.contains("\"contender\":\"raft\""), "{line}");
    }
    let table = sim("run blq/schemes --on arm-32:12 --quick --only incast").stdout;
    assert!(table.contains("incast") && !table.contains("outcast") && !table.contains("The paper"), "{table}");
    let line = "blq/schemes: mix over raft, geometric mean of three shapes, the paper 1.29: not run\n";
    assert!(table.contains(line), "{table}");
}

/// What has all its points has a word, and what lacks one has none.
#[test]
fn a_figure_ends_with_what_became_of_the_papers_numbers() {
    let lines = |only: &str| -> Vec<String> {
        let ran = sim(&format!("run thesis/2.8 --on x86-88t:2 --quick{only}"));
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        ran.stdout.trim_end().lines().rev().take(2).map(str::to_owned).collect()
    };
    let of = |line: &str, words: &str, rest: &str| line.starts_with(words) && line.ends_with(rest);
    let off = "(a third off at most comes out)";
    let whole = lines("");
    assert!(of(&whole[1], "thesis/2.8: simple 5.", &format!(", the thesis 11.3: differs {off}")), "{whole:?}");
    assert!(of(&whole[0], "thesis/2.8: complex ", &format!(", the thesis 2: comes out {off}")), "{whole:?}");
    let part = lines(" --only complex");
    assert_eq!((part[1].as_str(), &part[0]), ("thesis/2.8: simple, the thesis 11.3: not run", &whole[0]));
    // BBQ beside Boost's queue alone is another comparison.
    let without_some = lines(" --only b");
    assert_eq!(without_some[0], "thesis/2.8: complex, the thesis 2: not run");
}

/// A longer run has as many times the messages at every point.
#[test]
fn a_longer_run_has_so_many_times_the_messages() {
    let messages = |options: &str| -> Vec<u64> {
        let ran = sim(&format!("run sim/lamport --on x86-88t:2 --seeds 1 --json - {options}"));
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{options}");
        let records = ran.stdout.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        records.map(|record| record["params"]["messages"].as_u64().unwrap()).collect()
    };
    let usual = messages("--longer 1");
    assert!(!usual.is_empty() && usual.iter().all(|&messages| messages > 0), "{usual:?}");
    let twice: Vec<u64> = usual.iter().map(|messages| 2 * messages).collect();
    assert_eq!(messages("--longer 2"), twice);
    for (options, told) in [("--longer 0", "1..=1000"), ("--longer 2 --quick", "cannot be used with")] {
        let ran = sim(&format!("run sim/lamport --on x86-88t:2 --json - {options}"));
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{options}");
        assert!(ran.stderr.contains(told), "{options}: {}", ran.stderr);
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
        ("run blq/schemes --on arm-32:12 --only tcp", ["--only tcp", "incast, raft, 5 workers"]),
        ("run sim/bbq --on vax", ["vax", "arm-96t"]),
        ("run sim/bbq --on vl-16:17", ["17", "from 1 to 16"]),
        ("run sim/bbq --on vl-16:1", ["vl-16:1", "2 threads"]),
        ("run ff/figure11 ff/figure10 --on x86-4:2", ["ff/figure10", "3 threads"]),
        ("run sim/bbq --on vl-16:many", ["many", "from 1 to 16"]),
        ("run no-such-graph --on vl-16", ["no-such-graph", "no example or binary"]),
        ("run sim/bbq sim/nothing --on vl-16", ["sim/nothing", "sim/bbq"]),
        ("run wide speed --on vl-16", ["wide is a program", "one program at a time"]),
        ("run sim/bbq wide --on vl-16", ["wide is a program", "no experiment beside it"]),
        ("run vl/ping-pong --on vl-16 --device entries=0", ["entries is 0", "from 1 to 65536"]),
        ("run vl/ping-pong --on vl-16 --device entry=4", ["\"entry\"", "devices, links, entries"]),
        ("run vl/ping-pong --on vl-16 --quick --device links=1", ["channel 1", "--device with more links"]),
        ("run sim/bbq --on vl-16 --device entries=4", ["no experiment of these has routing devices", "vl/"]),
        ("run wide --on vl-16 --device entries=4", ["--device", "for experiments"]),
        ("publish ff/figure10 --on x86-4:2", ["ff/figure10", "3 threads"]),
        ("publish sim/bbq --on ../../crates/thalweg-sim/machines/vl-16.toml", ["vl-16.toml", "machines that all have"]),
        ("calibrate --native none.json", ["none.json", "cannot read"]),
        ("calibrate --native Cargo.toml", ["Cargo.toml", "not what `micro` prints"]),
        ("run sim/bbq --on none.toml", ["none.toml", "cannot read"]),
        ("run sim/bbq --on vl-16 --svg -", ["--svg -", "choose a file"]),
        ("run wide --on vl-16 --trace -", ["--trace -", "choose a file"]),
        ("run sim/bbq --on vl-16 --limit 0", ["--limit", "1..=1000000"]),
        ("run sim/bbq --on vl-16 --svg no-such-directory/a.svg", ["no-such-directory/a.svg", "cannot write"]),
        ("calibrate --native Cargo.toml --out no-such-directory/a.toml", ["no-such-directory/a.toml", "cannot write"]),
    ] {
        let ran = sim(line);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
        assert!(words.iter().all(|word| ran.stderr.contains(word)), "{line}: {}", ran.stderr);
    }
}

/// Each of two devices has room for one of the two channels.
#[test]
fn routing_devices_are_as_asked_for_and_what_is_not_usual_is_recorded() {
    let records = |device: &str| -> Vec<serde_json::Value> {
        let ran = sim(&format!("run vl/ping-pong --on vl-16 --quick --json -{device}"));
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{device}");
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let (usual, other) = (records(""), records(" --device way=40,links=1,devices=2"));
    assert!(usual.iter().all(|record| record["params"].get("device").is_none()));
    assert_eq!(usual.len(), other.len());
    for (usual, other) in usual.iter().zip(&other) {
        let of_device = other["contender"] == "virtual-link";
        let expected = if of_device { serde_json::json!("devices=2,links=1,way=40") } else { serde_json::Value::Null };
        assert_eq!(other["params"]["device"], expected, "{other}");
        let is_time = other["unit"] == "ns/msg";
        assert_eq!(usual["median"] != other["median"], of_device && is_time, "{usual} {other}");
    }
    let table = sim("run vl/ping-pong --on vl-16 --quick --device way=40").stdout;
    assert!(table.starts_with("vl/ping-pong on vl-16, 16 of 16 threads, seeds: 1, device: way=40\n"), "{table}");
}

/// The table of docs/simulator.md, by the command that stands there, and the machine file that came of it.
#[test]
fn the_machine_that_was_measured_is_fitted_and_compared_as_published() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ran = sim_in(&root, "calibrate --native docs/measured/zen4-2t/micro.jsonl");
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let rows = ran.stdout.lines().skip(1).take_while(|line| !line.is_empty());
    let simulated: Vec<&str> = rows.map(|line| line[52..64].trim()).collect();
    let published = std::fs::read_to_string(root.join("docs/measured/zen4-2t/calibration.jsonl")).unwrap();
    let published = published.lines().skip(1).map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap());
    assert_eq!(simulated, published.map(|row| row["simulated"].as_str().unwrap().to_owned()).collect::<Vec<_>>());
    let file = std::fs::read_to_string(root.join("crates/thalweg-sim/machines/zen4-2t.toml")).unwrap();
    let keys = file.split_once("\nstore_buffer").unwrap().1;
    assert!(ran.stdout.trim_end().ends_with(keys.trim_end()), "{}", ran.stdout);
}

#[test]
fn published_figures_stay_as_they_are_digit_by_digit() {
    let ran = sim("check");
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    assert_eq!(ran.stdout, "46 figures and the calibration are as they were, digit by digit\n");
}

#[test]
fn a_broken_package_is_told_as_cargo_tells_it() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("Cargo.toml"), "[package]\nnam = 1\n").unwrap();
    let ran = sim_in(directory.path(), "run mine --on vl-16");
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert!(
        ["`mine`", "cargo cannot say", "Cargo.toml"].iter().all(|word| ran.stderr.contains(word)),
        "{}",
        ran.stderr
    );
}

/// A look that takes the lock wakes the others that wait for it, who look in turn: four and four never ended.
#[test]
fn many_ends_that_wait_at_a_lock_come_to_an_end() {
    let ran = sim("run sim/locked --on arm-32:8 --quick --seeds 1");
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.contains("4P4C"), "{}", ran.stdout);
}

/// Who loses an entry to another end of its side stands back for a time, the longer the more of them there are. For a number of pauses,
/// which are short on this machine, a message took 2202 ns with 64 producers, and 1610 with 64 consumers.
#[test]
fn many_ends_of_a_side_get_on_where_pauses_are_short() {
    let ran = sim("run sim/bbq --on arm-96t:65 --quick --seeds 1 --json -");
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let records = ran.stdout.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let of_64: Vec<_> = records
        .filter(|record| record["contender"] == "bbq" && record["unit"] == "ns/msg")
        .filter(|record| record["params"]["at"].as_str().unwrap().contains("64"))
        .map(|record| record["median"].as_f64().unwrap())
        .collect();
    assert!(of_64.len() == 2 && of_64.iter().all(|&nanos| nanos < 500.0), "{of_64:?}");
}

/// What docs/simulator.md lets a newcomer do first. Both programs are built for it, with optimisation.
#[test]
fn a_program_scales_on_a_machine_and_one_that_does_not_simulate_is_refused() {
    let ran = sim("run wide --on vl-16:2 --seeds 1");
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    for words in ["wide on vl-16, up to 2 of 16 threads, 200000 messages, 1 seed\n", "Fastest with 2", "square"] {
        assert!(ran.stdout.contains(words), "{words} is missing in {}", ran.stdout);
    }
    assert!(!ran.stderr.contains("two runs") && !ran.stdout.contains("allocator"), "{}{}", ran.stderr, ran.stdout);
    let ran = sim("run speed --on vl-16:2");
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("its main does not call thalweg_sim::main"), "{}", ran.stderr);
}
