//! Queues without an allocator: `cargo run --example static_memory`.
//!
//! A driver has its queues in `static` memory. What an interrupt would do is done by a thread here; on a machine without an operating system the
//! crate is taken with `default-features = false`, and these lines stay as they are.
#![cfg(not(loom))]

use thalweg_queue::{TryPopError, Yield, mpmc, spsc};
use thalweg_sync::thread;

/// From the converter's interrupt to the main loop.
static SAMPLES: spsc::Static<u16, 2, 64, Yield> = spsc::Static::new();

/// From everybody to whoever has time.
static LOG: mpmc::Static<&str, 4, 8, Yield> = mpmc::Static::new();

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut converter, mut samples) = SAMPLES.take().ok_or("the samples are taken")?;
    let (log, lines) = LOG.take().ok_or("the log is taken")?;
    let interrupts = thread::spawn({
        let log = log.clone();
        move || {
            let _ = log.try_push("the converter is on");
            // An interrupt never waits: what there is no room for is lost, and counted.
            (0..1000).filter(|&n| converter.try_push(n).is_err()).count()
        }
    });

    let mut seen = 0;
    loop {
        match samples.try_pop() {
            Ok(_) => seen += 1,
            Err(TryPopError::Closed) => break,
            Err(TryPopError::Empty | TryPopError::Busy) => thread::yield_now(),
        }
    }
    log.push("the converter is off")?;
    drop(log);
    let lost = interrupts.join().expect("it does not panic");
    assert_eq!(seen + lost, 1000);
    lines.iter().for_each(|line| println!("{line}"));
    println!("{seen} samples seen, {lost} lost; {} and {} bytes", size_of_val(&SAMPLES), size_of_val(&LOG));
    Ok(())
}
