//! Two tasks that send a number back and forth through channels.
//!
//! `cargo run --release --example ping_pong` prints how often it went round on one worker, and on two. A task that waits for its channel leaves the worker to
//! the other one, which costs a switch of stacks and no call of the system.

use thalweg_task::{Runtime, channel, spawn};

const ROUNDS: u64 = 20_000;

/// Gives what the number has come to.
fn play() -> Result<u64, Box<dyn std::error::Error + Send + Sync>> {
    let (ping, pings) = channel(1)?;
    let (pong, pongs) = channel(1)?;
    let other = spawn(move || {
        // Until the first task drops its end.
        for number in pings.iter() {
            if pong.send(number + 1).is_err() {
                return;
            }
        }
    });
    let mut number = 0;
    for _ in 0..ROUNDS {
        ping.send(number)?;
        number = pongs.recv()?;
    }
    drop(ping);
    other.join().expect("it does not panic");
    Ok(number)
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    for workers in [1, 2] {
        let runtime = Runtime::builder().workers(workers).start()?;
        println!("workers: {workers}, rounds: {}", runtime.run(play)?);
    }
    Ok(())
}
