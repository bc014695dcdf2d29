//! Whether two CPUs are two cores at this moment.
//!
//! A virtual machine says that its CPUs are of different cores, and its host runs them as the hardware threads of one when it sees fit, for
//! milliseconds or for minutes. Then a line goes from one to the other in half the time, two threads compute hardly more than one, and
//! queues come in another order: by instructions, and not by lines. No list of cores tells; computing does.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use thalweg_sync::thread;

use crate::machine;

/// Two threads of one core take 1.6 to 1.9 times as long as one, those of two cores 0.95 to 1.1.
const MUCH: f64 = 1.4;

/// True if the first two of [`machine::cpus`] are the hardware threads of one core. Takes a third of a millisecond.
pub fn are_one() -> bool {
    let &[first, second, ..] = machine::cpus() else { return false };
    slowdown(first, second).is_some_and(|slowdown| slowdown > MUCH)
}

/// How many times as long some work takes on the first CPU while the second one works too. None if a container refuses to pin.
fn slowdown(first: usize, second: usize) -> Option<f64> {
    let (alone_is_over, works, done) = (Barrier::new(2), AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        // Both of them threads of its own: the pins end with them, and one that is pinned has no children elsewhere.
        let measures = scope.spawn(|| {
            let pinned = thread::pin_current(first);
            let alone = nanos();
            alone_is_over.wait();
            while !works.load(Relaxed) {
                std::thread::yield_now();
            }
            let together = nanos();
            done.store(true, Relaxed);
            pinned.ok().map(|()| together / alone)
        });
        let works_too = scope.spawn(|| {
            let pinned = thread::pin_current(second);
            alone_is_over.wait();
            while !done.load(Relaxed) {
                steps(500);
                works.store(true, Relaxed);
            }
            pinned.ok()
        });
        let slowdown = measures.join().ok().flatten();
        works_too.join().ok().flatten().and(slowdown)
    })
}

/// What some work takes where nothing interrupts it.
pub(crate) fn nanos() -> f64 {
    let once = || {
        let start = Instant::now();
        steps(20_000);
        start.elapsed().as_nanos() as f64
    };
    (0..5).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// Work that keeps a core's units busy, and no memory.
#[inline(never)]
fn steps(count: u64) {
    let mut chains = [1_u64, 2, 3, 4, 5, 6];
    for step in 0..count {
        for chain in &mut chains {
            *chain = (*chain ^ step).wrapping_add(*chain << 1);
        }
    }
    black_box(chains);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_threads_go_where_they_are_sent() {
        let &[first, second, ..] = machine::cpus() else { return };
        if std::thread::spawn(move || thread::pin_current(second)).join().unwrap().is_ok() {
            assert!(slowdown(first, second).unwrap() > 0.0);
        }
        let nowhere = usize::MAX;
        assert_eq!((slowdown(nowhere, second), slowdown(first, nowhere)), (None, None));
    }
}
