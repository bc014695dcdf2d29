//! Requests and answers: a store that one thread has alone, asked by others.
//!
//! `cargo run --example oneshot_reply` prints the answers. Each request carries the sender of a `oneshot`, by which its answer comes back. Whoever waits
//! for an answer may give up after a time; the store then finds that nobody takes it.

#![allow(clippy::disallowed_methods, reason = "a program of its own has std's threads")]

use std::collections::HashMap;
use std::error::Error;
use std::thread;
use std::time::Duration;
use thalweg_queue::{mpsc, oneshot};

enum Request {
    Set { key: String, value: u64, before: oneshot::Sender<Option<u64>> },
    Get { key: String, value: oneshot::Sender<Option<u64>> },
    Slow { done: oneshot::Sender<()> },
}

/// Has the data, so that it needs no lock. Gives how many answers nobody took.
fn store(mut requests: mpsc::Receiver<Request>) -> u64 {
    let mut data = HashMap::new();
    let mut unheard = 0;
    for request in &mut requests {
        let heard = match request {
            Request::Set { key, value, before } => before.push(data.insert(key, value)).is_ok(),
            Request::Get { key, value } => value.push(data.get(&key).copied()).is_ok(),
            Request::Slow { mut done } => {
                done.closed(); // until the one who asked has gone
                done.push(()).is_ok()
            }
        };
        unheard += u64::from(!heard);
    }
    unheard
}

fn set(store: &mpsc::Sender<Request>, key: &str, value: u64) -> Result<Option<u64>, Box<dyn Error>> {
    let (before, mut answer) = oneshot::channel();
    store.push(Request::Set { key: key.to_owned(), value, before }).map_err(|_| "the store is gone")?;
    Ok(answer.pop()?)
}

fn get(store: &mpsc::Sender<Request>, key: &str) -> Result<Option<u64>, Box<dyn Error>> {
    let (value, mut answer) = oneshot::channel();
    store.push(Request::Get { key: key.to_owned(), value }).map_err(|_| "the store is gone")?;
    Ok(answer.pop()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let (requests, served) = mpsc::channel(16)?;
    let server = thread::spawn(move || store(served));

    println!("apples were {:?}", set(&requests, "apples", 3)?);
    println!("apples were {:?}", set(&requests, "apples", 5)?);
    println!("apples are {:?}, pears are {:?}", get(&requests, "apples")?, get(&requests, "pears")?);

    let (done, mut answer) = oneshot::channel();
    requests.push(Request::Slow { done }).map_err(|_| "the store is gone")?;
    println!("in time: {}", answer.pop_timeout(Duration::from_millis(20)).is_ok());
    drop(answer);
    drop(requests);
    println!("{} answer was not heard", server.join().expect("it does not panic"));
    Ok(())
}
