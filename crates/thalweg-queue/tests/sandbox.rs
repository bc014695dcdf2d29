//! Ends that sleep behind a filter of system calls that refuses `membarrier` since their queue was built.
#![cfg(all(target_os = "linux", target_arch = "x86_64", not(loom), not(miri), not(feature = "full-fences")))]

use futures_executor::block_on;
use std::time::Duration;
use thalweg_queue::wait::Timed;
use thalweg_queue::{PopTimeoutError, mpmc};
use thalweg_sync::thread;

#[path = "../../thalweg-sync/tests/common/refuse_membarrier.rs"]
mod refuse_membarrier;

use refuse_membarrier::refuse_membarrier;

/// No wait panics in the middle. An end whose time is over leaves no waiter behind, so each push wakes the end that sleeps.
#[test]
fn ends_sleep_behind_a_filter() {
    let (tx, rx) = mpmc::channel::<u32>(4).unwrap();
    let filtered = thread::spawn({
        let (tx, rx) = (tx.clone(), rx.clone());
        move || {
            if !refuse_membarrier() {
                eprintln!("skipped: no filter of system calls can be installed here");
                return;
            }
            for n in 0..20 {
                assert_eq!(rx.pop_timeout(Duration::from_millis(1)), Err(PopTimeoutError::Timeout));
                let pending = block_on(rx.pop_async().within(Duration::from_millis(1)));
                assert_eq!(pending, Err(PopTimeoutError::Timeout));
                tx.push(n).unwrap();
                assert_eq!(rx.pop(), Ok(n));
            }
            let sleeper = thread::spawn(move || rx.pop());
            tx.push(20).unwrap();
            assert_eq!(sleeper.join().unwrap(), Ok(20));
        }
    });
    filtered.join().unwrap();
    let sleeper = thread::spawn(move || rx.iter().sum::<u32>());
    (0..10).for_each(|n| tx.push(n).unwrap());
    drop(tx);
    assert_eq!(sleeper.join().unwrap(), 45);
}
