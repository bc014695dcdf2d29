//! Ends that sleep behind a filter of system calls that refuses `membarrier` since their queue was built.
#![cfg(all(target_os = "linux", target_arch = "x86_64", not(loom), not(miri), not(feature = "full-fences")))]

use futures_executor::block_on;
use std::time::Duration;
use thalweg_queue::wait::Timed;
use thalweg_queue::{PopTimeoutError, mpmc};
use thalweg_sync::thread;

/// Refuses `membarrier` to this thread and those it makes. False if the kernel does not let it.
fn refuse_membarrier() -> bool {
    // The number of the call; if it is that of `membarrier`, EPERM; and else, leave.
    const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let is_equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let answer = libc::BPF_RET | libc::BPF_K;
    let step = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut filter = [
        step(load, 0, 0, 0),
        step(is_equal, 0, 1, libc::SYS_membarrier as u32),
        step(answer, 0, 0, REFUSE),
        step(answer, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program and its filter live until the calls have returned.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    }
}

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
