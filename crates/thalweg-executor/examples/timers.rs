//! Timers: tasks that wait, one that is given up after a time, and one that is aborted.
//!
//! `cargo run -p thalweg-executor --example timers` needs the feature `io`, and prints who was done when. A thousand tasks wait on one worker for about
//! as long as one of them.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;
use thalweg_executor::io::Timer;
use thalweg_executor::{Executor, spawn};
use thalweg_sync::time;

/// What `future` gives, or `None` if it takes longer than `limit`.
async fn within<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    let (mut future, mut timer) = (pin!(future), pin!(Timer::after(limit)));
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => timer.as_mut().poll(cx).map(|_| None),
    })
    .await
}

fn main() -> Result<(), thalweg_executor::StartError> {
    let executor = Executor::builder().workers(1).start()?;
    let begin = time::now();
    executor.run(async {
        let sleepers: Vec<_> =
            (0..1000).map(|_| spawn(async { Timer::after(Duration::from_millis(50)).await })).collect();
        let mut woken = 0;
        for sleeper in sleepers {
            woken += u32::from(sleeper.await.is_ok());
        }
        println!("{woken} tasks waited 50 ms each");

        let quick = within(Duration::from_secs(60), async { 42 }).await;
        let slow = within(Duration::from_millis(10), Timer::after(Duration::from_secs(3600))).await;
        println!("in time: {quick:?}; given up: {}", slow.is_none());

        let endless = spawn(async { Timer::after(Duration::from_secs(3600)).await });
        endless.abort();
        println!("aborted: {}", endless.await.is_err());
    });
    println!("all of it took {:.0?}", begin.elapsed());
    Ok(())
}
