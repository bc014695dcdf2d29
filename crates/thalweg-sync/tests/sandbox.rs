//! A filter of system calls that refuses `membarrier` after fences rely on it.
#![cfg(all(target_os = "linux", target_arch = "x86_64", not(loom), not(miri), not(feature = "full-fences")))]

use thalweg_sync::atomic::{AtomicBool, Ordering::Relaxed};
use thalweg_sync::sync::Arc;
use thalweg_sync::{fence, spin, thread};

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

#[test]
fn a_kernel_that_takes_its_part_back_is_done_without() {
    fence::prepare();
    let done = thread::spawn(|| {
        if !refuse_membarrier() {
            eprintln!("skipped: no filter of system calls can be installed here");
            return;
        }
        // The pair orders as before, between this thread and one that has no filter.
        let shared = Arc::new((AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false)));
        for _ in 0..1000 {
            let other = shared.clone();
            let often = thread::spawn(move || {
                spin::until(|| other.2.load(Relaxed).then_some(()));
                other.0.store(true, Relaxed);
                fence::light();
                other.1.load(Relaxed)
            });
            shared.2.store(true, Relaxed);
            shared.1.store(true, Relaxed);
            fence::heavy();
            let seen = shared.0.load(Relaxed);
            assert!(often.join().unwrap() || seen, "one of them sees the other");
            for flag in [&shared.0, &shared.1, &shared.2] {
                flag.store(false, Relaxed);
            }
        }
    });
    done.join().unwrap();
}
