//! `tc`, `dc` and `bc` as a user meets them.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs `thalweg run` with the words of `line` in `dir`: the status, and what is printed.
fn run(dir: &Path, line: &str) -> (i32, String, String) {
    let thalweg = env!("CARGO_BIN_EXE_thalweg");
    let output = Command::new(thalweg).arg("run").args(line.split(' ')).current_dir(dir).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn networks_go_from_a_file_to_a_summary() {
    let top = tempfile::tempdir().unwrap();
    // A square with one diagonal, and a tail.
    fs::write(top.path().join("square"), "# edges\n10 20\n20 30\n30 40\n40 10\n10 30\n40 50\n").unwrap();
    let (status, stdout, stderr) = run(top.path(), "tc --input square --report none");
    assert_eq!((status, stderr.as_str()), (0, ""));
    assert!(stdout.starts_with("square: 5 vertices, 6 edges\n2 triangles; "), "{stdout}");
    assert_eq!(stdout.lines().nth(3).unwrap().split_whitespace().collect::<Vec<_>>(), ["10", "2", "3", "66.67", "%"]);

    let (status, stdout, _) = run(top.path(), "bc --input square --report none");
    let best: Vec<&str> = stdout.lines().nth(3).unwrap().split_whitespace().collect();
    assert_eq!((status, &best[..2]), (0, &["40", "3.00"][..]), "{stdout}");

    let (status, stdout, _) = run(top.path(), "dc --input square --report none");
    assert!(
        status == 0 && stdout.contains("edges from a vertex: 0 to 2, 1 in the middle, 1.20 on average"),
        "{stdout}"
    );
    let (status, stdout, stderr) = run(top.path(), "dc --input square --undirected --report json");
    assert!(
        status == 0 && stdout.starts_with("{\"scheme\"") && stderr.contains("edges at a vertex"),
        "{stdout}{stderr}"
    );
}

#[test]
fn the_papers_size_is_made_up() {
    for app in ["tc", "dc", "bc"] {
        let (status, stdout, _) = run(Path::new("."), &format!("{app} --paper --report none"));
        assert!(status == 0 && stdout.contains(": 1000 vertices, 14895 edges\n"), "{app}: {stdout}");
    }
}

#[test]
fn bad_networks_are_refused() {
    let top = tempfile::tempdir().unwrap();
    fs::write(top.path().join("bad"), "1 2\n3\n").unwrap();
    for app in ["tc", "dc", "bc"] {
        let (status, stdout, stderr) = run(top.path(), &format!("{app} --input bad"));
        assert_eq!(
            (status, stdout.as_str(), stderr.as_str()),
            (2, "", "thalweg: bad, line 2: the second vertex is missing\n")
        );
        assert_eq!(run(top.path(), &format!("{app} --input missing")).0, 2);
        assert_eq!(run(top.path(), app).0, 2);
        assert_eq!(run(top.path(), &format!("{app} --generate 0")).0, 2);
    }
}
