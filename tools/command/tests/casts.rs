//! `incast`, `outcast`, `chasing` and `fir` as a user meets them.

use std::process::Command;

/// Runs `thalweg run` with the words of `line`: the status, and what is printed.
fn run(line: &str) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_thalweg")).arg("run").args(line.split(' ')).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn messages_are_sent_and_counted() {
    let idle = "--messages 1000 --send 0 --receive 0 --report none";
    let (status, stdout, stderr) = run(&format!("incast --producers 3 {idle}"));
    assert_eq!((status, stderr.as_str(), stdout.lines().count()), (0, "", 4));
    assert!(stdout.starts_with("1,000 messages received in ") && stdout.contains("\nfrom producer 3: "), "{stdout}");
    let (status, stdout, _) = run(&format!("outcast --scheme raft {idle}"));
    assert!(status == 0 && stdout.contains("\nby consumer 4:          250  25.00 %"), "{stdout}");
    let (status, stdout, _) = run("chasing --messages 2000 --report none");
    assert!(status == 0 && stdout.starts_with("2 of 2,000 messages passed in "), "{stdout}");
    assert!(stdout.ends_with("16,000 lines read in front of the filter, from a table of 32.00 MiB\n"), "{stdout}");
    let (status, stdout, _) = run("chasing --messages 50 --all --copies 0 --lines 100 --report json");
    assert!(status == 0 && stdout.contains("\"name\":\"filter\""), "{stdout}");
}

#[test]
fn numbers_that_make_no_sense_are_refused() {
    for line in ["incast --producers 0", "outcast --consumers 0", "chasing --segment 0", "incast --paper --producers 2"]
    {
        assert_eq!(run(line).0, 2, "{line}");
    }
    let (status, _, stderr) = run("chasing --lines 3 --segment 4");
    assert!(status == 2 && stderr.contains("segments of 4 lines in a table of 3"), "{stderr}");
}

#[test]
fn a_sound_is_made_up_and_filtered() {
    let top = tempfile::tempdir().unwrap();
    let [made, dull] = ["made-up.wav", "dull.wav"].map(|name| top.path().join(name).to_str().unwrap().to_owned());
    assert_eq!(run(&format!("fir --generate 3000 --output {made}")).0, 0);
    let (status, stdout, stderr) = run(&format!("fir --input {made} --output {dull} --report none"));
    assert_eq!((status, stderr.as_str()), (0, ""));
    assert!(
        stdout.starts_with(&format!("3,000 samples written to {dull} in ")) && stdout.ends_with(" dB\n"),
        "{stdout}"
    );
    let (status, stdout, _) = run(&format!("fir --input {dull} --stages 3 --report none"));
    assert!(status == 0 && stdout.starts_with("3,000 samples in "), "{stdout}");
    assert_eq!(run(&format!("fir --input {dull} --output {dull}")).0, 2);
    assert_eq!(run(&format!("fir --input {dull} --stages 2")).0, 2);
}
