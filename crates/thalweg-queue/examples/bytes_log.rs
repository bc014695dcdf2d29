//! A log of several threads: each line is written into the queue in place, and read from there.
//!
//! `cargo run --example bytes_log` prints the lines of three threads, then what a flight recorder still has. Messages have any size up to a block. A line
//! is formatted into the memory of the queue, so it is copied nowhere and allocates nothing. With `drop_old` nobody ever waits: the oldest
//! lines make room.

#![allow(clippy::disallowed_methods, reason = "a program of its own has std's threads")]

use std::error::Error;
use std::io::Write;
use std::thread;
use thalweg_queue::bytes;

/// More than any line needs.
const LINE: usize = 80;

fn main() -> Result<(), Box<dyn Error>> {
    let (log, lines) = bytes::bytes(4, 1024)?;
    let writers: Vec<_> = (0..3)
        .map(|writer| {
            let log = log.clone();
            thread::spawn(move || {
                for number in 0..4 {
                    let Ok(mut grant) = log.wait_reserve(LINE) else { return };
                    let mut rest = &mut grant[..];
                    let fits = write!(rest, "thread {writer} wrote line {number} of {:>width$}", 4, width = 1 + number);
                    let left = rest.len();
                    // What is dropped is no message.
                    if fits.is_ok() {
                        grant.commit_first(LINE - left);
                    }
                }
            })
        })
        .collect();
    drop(log);

    let mut count = 0;
    while let Ok(line) = lines.wait_readable() {
        println!("{}", String::from_utf8_lossy(&line));
        count += 1;
    }
    for writer in writers {
        writer.join().expect("it does not panic");
    }
    println!("{count} lines");

    let (recorder, recorded) = bytes::drop_old(4, 64)?;
    for number in 0..100 {
        recorder.push(format!("event {number:02}").as_bytes())?;
    }
    let mut event = Vec::new();
    let mut events = Vec::new();
    while recorded.try_pop(&mut event).is_ok() {
        events.push(String::from_utf8_lossy(&event).into_owned());
        event.clear();
    }
    println!("{} events are left of 100, the last is {:?}", events.len(), events.last());
    Ok(())
}
