//! A filter of system calls that refuses `membarrier` after fences rely on it.
#![cfg(all(target_os = "linux", target_arch = "x86_64", not(loom), not(miri), not(feature = "full-fences")))]

use thalweg_sync::atomic::{AtomicBool, Ordering::Relaxed};
use thalweg_sync::sync::Arc;
use thalweg_sync::{fence, spin, thread};

#[path = "common/refuse_membarrier.rs"]
mod refuse_membarrier;

use refuse_membarrier::refuse_membarrier;

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
