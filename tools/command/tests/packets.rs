//! `pipeline` and `firewall` as a user meets them.

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
fn packets_go_from_a_capture_to_a_summary() {
    let top = tempfile::tempdir().unwrap();
    let dir = top.path();
    let (status, _, stderr) = run(dir, "frames --generate 500 --output capture.pcap");
    assert_eq!((status, stderr.as_str()), (0, ""));
    for options in ["", " --acyclic", " --slots 7", " --fan-out 2 --scheme raft"] {
        let (status, stdout, stderr) = run(dir, &format!("pipeline --input capture.pcap --report none{options}"));
        assert_eq!((status, stderr.as_str()), (0, ""));
        assert!(
            stdout.starts_with("500 packets verified in ") && stdout.contains(" right, 0 wrong\n   TCP: "),
            "{stdout}"
        );
    }
    let (status, stdout, _) = run(dir, "firewall --input capture.pcap --report none");
    assert!(status == 0 && stdout.starts_with("500 packets let through and 0 held back"), "{stdout}");

    let capture = fs::read(dir.join("capture.pcap")).unwrap();
    fs::write(dir.join("cut.pcap"), &capture[..capture.len() - 1]).unwrap();
    for app in ["pipeline", "firewall"] {
        let (status, stdout, stderr) = run(dir, &format!("{app} --input cut.pcap --report none"));
        assert!(
            status == 2 && stdout.starts_with("499 ") && stderr.contains("(record 501): the file ends"),
            "{stderr}"
        );
    }
}

#[test]
fn packets_are_made_up_and_one_of_eight_is_wrong() {
    let (status, stdout, _) = run(Path::new("."), "firewall --generate 80 --report none");
    assert!(status == 0 && stdout.starts_with("70 packets let through and 10 held back"), "{stdout}");
    assert!(stdout.contains("packet 9, 0.0.0.8:8 > 0.0.0.1:8, IPv4 has 3ac9, not 3ac8, TCP has "), "{stdout}");
    let (status, stdout, _) = run(Path::new("."), "pipeline --generate 80 --report json");
    assert!(status == 0 && stdout.starts_with("{\"scheme\""), "{stdout}");
    assert_eq!(run(Path::new("."), "pipeline --generate 80 --acyclic --slots 3").0, 2, "slots that go nowhere");
}
