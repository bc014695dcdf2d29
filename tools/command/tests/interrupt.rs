//! Interrupts, as Ctrl-C sends them: the first one stops a run in good order, the second one ends it at once.
//!
//! No result depends on time. The child reads from a pipe that holds less than what is written into it, so it has started
//! when the writing is done; and it waits at the pipe until more comes or an interrupt ends it.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};

use thalweg_sync::thread;
use thalweg_sync::time::Duration;

/// Far more than fits a pipe.
const FRAMES: usize = 20_000;

fn thalweg(dir: &Path, line: &str) -> Child {
    command(dir, line).spawn().unwrap()
}

fn command(dir: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.args(line.split(' ')).current_dir(dir);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Where these tests run in the background of a script, interrupts are ignored, and children inherit that.
    let as_at_a_terminal = || {
        // SAFETY: `signal` with `SIG_DFL` runs no code of ours when an interrupt comes.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
        Ok(())
    };
    // SAFETY: between fork and exec, `signal` is one of the functions that may be called.
    unsafe { command.pre_exec(as_at_a_terminal) };
    command
}

fn interrupt(child: &Child) {
    let sent = Command::new("sh").arg("-c").arg(format!("kill -INT {}", child.id())).status().unwrap();
    assert!(sent.success());
}

/// The line that says that the interrupt has come.
fn told(stderr: &mut BufReader<ChildStderr>) -> String {
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    line
}

/// Waits until every thread of the child sleeps, so that the one that reads is at an empty pipe and not between two reads.
fn wait_until_it_waits(child: &Child) {
    let threads = format!("/proc/{}/task", child.id());
    let sleeps = |stat: &str| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'));
    let at_rest = || {
        let mut tasks = fs::read_dir(&threads).unwrap();
        // One that has just ended cannot be read: look again.
        tasks.all(|task| fs::read_to_string(task.unwrap().path().join("stat")).is_ok_and(|stat| sleeps(&stat)))
    };
    let mut looks = 0;
    while looks < 3 {
        thread::sleep(Duration::from_millis(10));
        looks = if at_rest() { looks + 1 } else { 0 };
    }
}

/// Whether the child ends by itself within half a minute.
fn ends(child: &mut Child) -> bool {
    (0..3_000).any(|_| {
        thread::sleep(Duration::from_millis(10));
        child.try_wait().unwrap().is_some()
    })
}

fn capture(dir: &Path) -> Vec<u8> {
    let made = thalweg(dir, &format!("run frames --generate {FRAMES} --output in.pcap")).wait_with_output().unwrap();
    assert!(made.status.success());
    fs::read(dir.join("in.pcap")).unwrap()
}

#[test]
fn the_first_interrupt_finishes_what_was_read() {
    let dir = tempfile::tempdir().unwrap();
    let capture = capture(dir.path());
    let mut child = thalweg(dir.path(), "run frames --input /dev/stdin --output out.pcap");
    let (mut stdin, mut stderr) = (child.stdin.take().unwrap(), BufReader::new(child.stderr.take().unwrap()));
    let (first, second) = capture.split_at(capture.len() / 4);
    stdin.write_all(first).unwrap();
    interrupt(&child);
    let line = told(&mut stderr);
    assert!(line.contains("interrupted"), "{line}");
    // The child is gone before it has read all of this.
    let cut_off = stdin.write_all(second).is_err();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let mut more = String::new();
    stderr.read_to_string(&mut more).unwrap();

    assert_eq!(output.status.code(), Some(130));
    // One line, and the report.
    assert!(cut_off && more.trim_start().starts_with("stopped in ") && more.contains("application"), "{more}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    let frames: usize = stdout.split(' ').next().unwrap().replace(',', "").parse().unwrap();
    assert!(stdout.contains("frames written to out.pcap"), "{stdout}");
    let written = fs::read(dir.path().join("out.pcap")).unwrap();
    assert!(capture.starts_with(&written) && written.len() >= first.len() - (128 << 10) && frames < FRAMES);
}

#[test]
fn a_stream_ends_where_the_interrupt_found_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = thalweg(dir.path(), "run search --term fish --input - --report none");
    let (mut stdin, mut stderr) = (child.stdin.take().unwrap(), BufReader::new(child.stderr.take().unwrap()));
    let fish = b"fish\n".repeat(400_000);
    stdin.write_all(&fish).unwrap();
    interrupt(&child);
    assert!(told(&mut stderr).contains("interrupted"));
    let cut_off = stdin.write_all(&fish).is_err();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let stdout = String::from_utf8(output.stdout).unwrap();
    let matches: usize = stdout.split(' ').next().unwrap().replace(',', "").parse().unwrap();
    // Some may be in the pipe, and in a chunk that is not yet full.
    assert!(cut_off && (300_000..500_000).contains(&matches), "{stdout}");
}

#[test]
fn the_second_interrupt_does_not_wait() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("fish"), b"fish\n".repeat(1_000_000)).unwrap();
    let mut child = thalweg(dir.path(), "run search --lines --term fish --input fish");
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    // Nobody reads what it writes: a kernel waits for room, and an interrupt cannot end that.
    wait_until_it_waits(&child);
    interrupt(&child);
    assert!(told(&mut stderr).contains("interrupted"));
    wait_until_it_waits(&child);
    interrupt(&child);
    assert!(ends(&mut child));
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn an_interrupt_that_nobody_hears_of_ends_the_run_too() {
    let dir = tempfile::tempdir().unwrap();
    let (heard, mut told) = io::pipe().unwrap();
    // SAFETY: it only asks how much fits the pipe, which is open.
    let room = unsafe { libc::fcntl(told.as_raw_fd(), libc::F_GETPIPE_SZ) };
    told.write_all(&vec![b'.'; usize::try_from(room).unwrap()]).unwrap();
    let mut child = command(dir.path(), "run search --term fish --input - --count").stderr(told).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&b"fish\n".repeat(100_000)).unwrap();
    wait_until_it_waits(&child);
    interrupt(&child);
    // If it does not end, it may tell after all, so that the test does.
    let ended = ends(&mut child);
    drop(heard);
    let output = child.wait_with_output().unwrap();
    assert!(ended, "the run waits for who reads standard error");
    assert_eq!((output.status.code(), output.stdout), (Some(130), b"100000\n".to_vec()));
}

#[test]
fn an_interrupt_that_is_ignored_stays_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new("sh")
        .arg("-c")
        .arg(format!("trap '' INT; exec {} run search --term fish --input - --count", env!("CARGO_BIN_EXE_thalweg")))
        .current_dir(dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&b"fish\n".repeat(100_000)).unwrap();
    interrupt(&child);
    stdin.write_all(b"fish\n").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout, output.stderr), (Some(0), b"100001\n".to_vec(), Vec::new()));
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("sh").arg("-c").arg(format!("kill -{name} {}", child.id())).status().unwrap();
    assert!(sent.success());
}

/// Sorts lines from a pipe.
fn sorter(dir: &Path, output: &str) -> Child {
    fs::create_dir(dir.join("temporary")).unwrap();
    let line = "run mergesort --input /dev/stdin --memory 1M --temporary temporary --report none --output";
    thalweg(dir, &format!("{line} {output}"))
}

/// Has it put some lines into temporary files, and gives the pipe, which stays open.
fn fed(child: &mut Child, dir: &Path) -> ChildStdin {
    let mut stdin = child.stdin.take().unwrap();
    let lines: String = (0..400_000).map(|number| format!("{:06}\n", number * 7 % 400_000)).collect();
    stdin.write_all(lines.as_bytes()).unwrap();
    wait_until_it_waits(child);
    assert_eq!(fs::read_dir(dir.join("temporary")).unwrap().count(), 1);
    stdin
}

#[test]
fn a_run_that_is_terminated_ends_in_good_order_and_takes_its_temporary_files_away() {
    for (name, status) in [("TERM", 143), ("HUP", 129)] {
        let dir = tempfile::tempdir().unwrap();
        let mut child = sorter(dir.path(), "sorted");
        let stdin = fed(&mut child, dir.path());
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        signal(&child, name);
        assert!(told(&mut stderr).contains("terminated"));
        // The pipe is still open.
        let output = child.wait_with_output().unwrap();
        drop(stdin);
        assert_eq!(output.status.code(), Some(status));
        assert!(fs::read_dir(dir.path().join("temporary")).unwrap().next().is_none());
        let sorted = fs::read_to_string(dir.path().join("sorted")).unwrap();
        assert!(sorted.lines().count() > 100_000 && sorted.lines().is_sorted());
    }
}

#[test]
fn the_second_signal_takes_temporary_files_away_too() {
    let dir = tempfile::tempdir().unwrap();
    assert!(Command::new("mkfifo").arg(dir.path().join("unread")).status().unwrap().success());
    let mut child = sorter(dir.path(), "unread");
    // Nobody reads it, so the run cannot end; but somebody could.
    let unread = fs::File::open(dir.path().join("unread")).unwrap();
    let stdin = fed(&mut child, dir.path());
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    signal(&child, "TERM");
    assert!(told(&mut stderr).contains("terminated"));
    wait_until_it_waits(&child);
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    drop((stdin, unread));
    assert_eq!(output.status.code(), Some(130));
    assert!(fs::read_dir(dir.path().join("temporary")).unwrap().next().is_none());
}

#[test]
fn a_hang_up_that_is_ignored_stays_ignored() {
    let mut child = Command::new("sh")
        .arg("-c")
        .arg(format!("trap '' HUP; exec {} run search --term fish --input - --count", env!("CARGO_BIN_EXE_thalweg")))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&b"fish\n".repeat(100_000)).unwrap();
    signal(&child, "HUP");
    stdin.write_all(b"fish\n").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout, output.stderr), (Some(0), b"100001\n".to_vec(), Vec::new()));
}

/// A sound of which only the end of the file tells how long it is.
fn endless(dir: &Path) -> Vec<u8> {
    let made = thalweg(dir, "run fir --generate 9000 --output tone.wav").wait_with_output().unwrap();
    assert!(made.status.success());
    let mut sound = fs::read(dir.join("tone.wav")).unwrap();
    let data = sound.windows(4).position(|id| id == b"data").unwrap();
    sound[data + 4..data + 8].fill(0xff);
    // Half of a sample at the end.
    sound.truncate(sound.len() - 2);
    sound
}

#[test]
fn a_pipe_that_idles_keeps_no_program_from_ending() {
    let dir = tempfile::tempdir().unwrap();
    let mut frames = capture(dir.path());
    frames.truncate(50_001);
    let (sound, signal) = (endless(dir.path()), vec![0x80; 60_001]);
    let edges = (0..5_000).fold("0\t1".to_owned(), |text, n| text + &format!("\n{n}\t{}", n * 7 % 1_000 + 5_000));
    let lines = "one fish\n".repeat(5_000) + "half a fi";
    for (line, input) in [
        ("run frames --input - --output out.pcap", &frames[..]),
        ("run pipeline --input /dev/stdin", &frames),
        ("run firewall --input /dev/stdin", &frames),
        ("run fir --input /dev/stdin --output fir.wav", &sound),
        ("run fft --input /dev/stdin --output fft.png", &sound),
        ("run tde --input /dev/stdin --output tde.wav", &sound),
        ("run filterbank --input /dev/stdin --output filterbank.wav", &sound),
        ("run fm --iq --raw-rate 240000 --form u8 --input /dev/stdin --output fm.wav", &signal),
        ("run tc --input -", edges.as_bytes()),
        ("run dc --input /dev/stdin", edges.as_bytes()),
        ("run bc --input -", edges.as_bytes()),
        ("run mergesort --input /dev/stdin --output sorted", lines.as_bytes()),
        ("run search --term fish --input -", lines.as_bytes()),
        ("run search --lines --term fish --input /dev/stdin", lines.as_bytes()),
        ("run gaussian --input /dev/stdin --output smooth", &sound),
    ] {
        for input in [input, b""] {
            let mut child = thalweg(dir.path(), &(line.to_owned() + " --report none"));
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(input).unwrap();
            wait_until_it_waits(&child);
            interrupt(&child);
            let ended = ends(&mut child);
            drop(stdin);
            let output = child.wait_with_output().unwrap();
            let said = format!("{line}, {} bytes: {:?} {output:?}", input.len(), output.status);
            assert!(ended && output.status.code() == Some(130), "{said}");
            // No program says of what it was told to end that it is damaged; a picture that is cut off is none.
            assert!(output.stderr.split_inclusive(|&byte| byte == b'\n').count() <= 3, "{said}");
        }
    }
    let written = fs::read(dir.path().join("out.pcap")).unwrap();
    assert!(frames.starts_with(&written) && written.len() > frames.len() - 2_000, "whole records");
    assert_eq!(fs::read(dir.path().join("sorted")).unwrap(), b"", "of no lines");
}
