//! Dekker's lock: raise the own flag, then look at the other one.

use super::{finds, is_race, passes};
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use thalweg_sync::atomic::{AtomicBool, fence};
use thalweg_sync::cell::Slot;
use thalweg_sync::thread;

fn two_flags(fenced: bool) {
    let flags = [AtomicBool::new(false), AtomicBool::new(false)];
    let section = Slot::new(0);
    thread::scope(|scope| {
        for me in 0..2 {
            let (flags, section) = (&flags, &section);
            scope.spawn(move || {
                flags[me].store(true, Relaxed);
                if fenced {
                    fence(SeqCst);
                }
                if !flags[1 - me].load(Acquire) {
                    // SAFETY: the flags keep the other thread out, if they are used well.
                    section.with_mut(|n| unsafe { *n += 1 });
                }
                // Raised for good: who comes later does not enter.
                flags[me].store(true, Release);
            });
        }
    });
}

#[test]
fn dekker_without_fences() {
    assert!(is_race(&finds(|| two_flags(false))));
    passes(|| two_flags(true));
}
