//! Progress on a terminal, and nothing of it elsewhere.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Command, Stdio};

/// The two ends of a terminal: what is written to the second is read from the first.
fn terminal() -> (File, OwnedFd) {
    let (mut ours, mut theirs) = (0, 0);
    let size = libc::winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the two numbers are written, the size is read, and there is no name nor setting.
    let opened = unsafe { libc::openpty(&mut ours, &mut theirs, std::ptr::null_mut(), std::ptr::null(), &size) };
    assert_eq!(opened, 0);
    // SAFETY: both were just opened, and nobody else has them.
    unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) }
}

fn search() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.args("run search --term fish --input - --count".split(' ')).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// A million bytes.
fn fish() -> Vec<u8> {
    b"fish\n".repeat(200_000)
}

#[test]
fn a_terminal_shows_how_much_is_read_until_the_run_is_over() {
    let (mut screen, theirs) = terminal();
    let mut child = search().stderr(theirs).spawn().unwrap();
    // The first changes are shown at once; later ones some times a second.
    child.stdin.take().unwrap().write_all(&fish()).unwrap();
    let (mut shown, mut buffer) = (String::new(), [0; 1024]);
    // The terminal ends when nobody has its other end any more, which is an error to who reads.
    while let Ok(count @ 1..) = screen.read(&mut buffer) {
        shown += &String::from_utf8_lossy(&buffer[..count]);
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout), (Some(0), b"200000\n".to_vec()));
    assert!(shown.contains(" kB"), "{shown:?}");
    // A line is cleared by going to its start and erasing it.
    assert!(shown.trim_end().ends_with("\u{1b}[2K"), "the bar is taken away: {shown:?}");
}

#[test]
fn what_is_no_terminal_is_left_alone() {
    let mut child = search().stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&fish()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.stdout, output.stderr), (b"200000\n".to_vec(), Vec::new()));
}
