//! What is sorted is what the sequential program sorts, and `sort`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use thalweg::Scheme;
use thalweg_apps::Error;
use thalweg_apps::mergesort::{Config, Form, Input, reference, run, synthetic};

#[test]
fn equals_the_reference_under_every_scheme() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { dir.path().join(name) };
    fs::create_dir(path("temporary")).unwrap();
    // Of 1 MiB of memory half is for runs: the lines fit, the numbers do not.
    for (form, count) in [(Form::Lines, 30_000), (Form::Integers, 150_000)] {
        synthetic::write(form, count, &path("records")).unwrap();
        let expected = reference(form, &fs::read(path("records")).unwrap());
        for name in Scheme::names() {
            for workers in [1, 2, 4] {
                if form == Form::Integers && workers != 2 {
                    continue;
                }
                let mut config = Config::new(form, Input::Files(vec![path("records")]), Some(path("sorted")));
                config.memory = 1 << 20;
                config.temporary = path("temporary");
                config.scheme = Scheme::named(name).unwrap().workers(workers);
                let sorted = run(&config, &()).unwrap();
                let what = format!("{form:?} by {name} with {workers} workers");
                assert!(fs::read(path("sorted")).unwrap() == expected, "{what}");
                assert_eq!((sorted.records, sorted.bytes), (count, expected.len() as u64), "{what}");
                assert!(sorted.runs > 4 && sorted.merges == sorted.runs - 1, "{what}: {sorted:?}");
                assert!(form == Form::Lines || sorted.spilled > 0, "{what}: {sorted:?}");
                let graph = (sorted.report.kernels.len(), sorted.report.edges.len());
                assert_eq!(graph, (5, 9), "as in table II");
                assert_eq!(fs::read_dir(path("temporary")).unwrap().count(), 0, "{what}: nothing is left");
            }
        }
    }
}

#[test]
fn lines_are_sorted_as_sort_does() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { dir.path().join(name) };
    let odd: [&[u8]; 6] =
        [b"", b"no line feed", b"\n\n\nb\na", b"same\nsame\nsame\n", b"\xff\n\0\nab\na\x01\na\n", b"\n"];
    for (number, bytes) in odd.iter().enumerate() {
        fs::write(path(&number.to_string()), bytes).unwrap();
    }
    let files: Vec<PathBuf> = (0..odd.len()).map(|number| path(&number.to_string())).collect();
    for inputs in (0..odd.len()).map(|number| vec![files[number].clone()]).chain([files.clone()]) {
        let sorted = run(&Config::new(Form::Lines, Input::Files(inputs.clone()), Some(path("sorted"))), &()).unwrap();
        let Ok(ran) = Command::new("sort").env("LC_ALL", "C").args(&inputs).output() else {
            eprintln!("skipped: there is no `sort` on this machine");
            return;
        };
        let is = fs::read(path("sorted")).unwrap();
        assert!(ran.status.success() && is == ran.stdout, "{inputs:?}: {:?}", String::from_utf8_lossy(&is));
        assert_eq!(sorted.records, is.iter().filter(|&&byte| byte == b'\n').count() as u64);
        let text = String::from_utf8_lossy(&is).into_owned();
        let shown = |line: Option<&str>| line.map(|line| line.escape_debug().to_string());
        let (mut from_left, mut from_right) = (text.split_terminator('\n'), text.split_terminator('\n'));
        let ends = (shown(from_left.next()), shown(from_right.next_back()));
        assert_eq!((sorted.ends.clone().map(|ends| ends.0), sorted.ends.map(|ends| ends.1)), ends);
    }
}

#[test]
fn lines_longer_than_a_chunk_and_one_key_for_all() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { dir.path().join(name) };
    let long = [b'x'; 300_000];
    for bytes in
        [[&long[..], b"\n", &long[..7], b"\n", &long[..299_999], b"\n"].concat(), b"the same\n".repeat(100_000)]
    {
        fs::write(path("lines"), &bytes).unwrap();
        let mut config = Config::new(Form::Lines, Input::Files(vec![path("lines")]), Some(path("sorted")));
        config.memory = 1 << 20;
        run(&config, &()).unwrap();
        assert!(fs::read(path("sorted")).unwrap() == reference(Form::Lines, &bytes));
    }
}

#[test]
fn bad_input_is_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { dir.path().join(name) };
    fs::write(path("numbers"), [1; 11]).unwrap();
    let refused = |input: Input, memory: u64, told: &str| {
        let mut config = Config::new(Form::Integers, input, Some(path("sorted")));
        config.memory = memory;
        let refused = run(&config, &()).unwrap_err();
        assert!(matches!(refused, Error::Refused(_) | Error::File { .. }), "{refused}");
        assert!(refused.to_string().contains(told), "{refused}");
        assert!(!path("sorted").exists());
    };
    refused(Input::Files(vec![path("numbers")]), 1 << 20, "11 bytes, so its last number, at byte 8, is cut off");
    refused(Input::Files(vec![path("missing")]), 1 << 20, "cannot open");
    refused(Input::Files(vec![dir.path().to_owned()]), 1 << 20, "is a folder");
    refused(Input::Files(vec![]), 1 << 20, "nothing to sort");
    refused(Input::MadeUp(3), 1000, "1 MiB or more");
    let own = Config::new(Form::Lines, Input::Files(vec![path("numbers")]), Some(path("numbers")));
    assert!(run(&own, &()).unwrap_err().to_string().contains("both input and output"));
}
