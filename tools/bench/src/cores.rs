//! Whether two CPUs are two cores at this moment, and whether they are as fast as before.
//!
//! A virtual machine says that its CPUs are of different cores, and its host runs them as the hardware threads of one when it sees fit, for
//! milliseconds or for minutes. Then a line goes from one to the other in half the time, two threads compute hardly more than one, and
//! queues come in another order: by instructions, and not by lines. No list of cores tells; computing does. Neighbours on the host
//! slow its clock as well, for milliseconds or for minutes.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use thalweg_sync::thread;

use crate::machine;

/// Two threads of one core take 1.6 to 1.9 times as long as one, those of two cores 0.95 to 1.1.
const MUCH: f64 = 1.4;

/// Times as long as at best that the same work may take.
pub(crate) const JUMP: f64 = 1.25;
/// Looks at a machine before anything runs on it, and what passes between two.
const FIRST: (usize, Duration) = (30, Duration::from_millis(10));
/// So many looks in a row, of which each finds it disturbed, and what passes between two.
const LASTING: (usize, Duration) = (4, Duration::from_millis(5));

/// What a look saw.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    /// Some work, where nothing interrupts it.
    pub(crate) nanos: f64,
    /// The first two of [`machine::cpus`] are the hardware threads of one core, and the system does not say so.
    pub(crate) one_core: bool,
}

/// Looks at this machine. Takes a third of a millisecond.
pub(crate) fn look() -> Probe {
    Probe { nanos: nanos(), one_core: machine::cores() >= 2 && are_one() }
}

/// Looks at a machine before anything runs on it. Takes a third of a second.
pub(crate) fn first_looks() -> Vec<Probe> {
    let looks = std::iter::repeat_with(|| {
        std::thread::sleep(FIRST.1);
        look()
    });
    looks.take(FIRST.0).collect()
}

/// Tells disturbed looks from those that are not.
#[derive(Debug)]
pub(crate) struct Steady {
    /// The shortest time that the work has taken.
    least: f64,
}

impl Steady {
    /// After the first looks.
    pub(crate) fn new(looks: &[Probe]) -> Self {
        Self { least: looks.iter().map(|look| look.nanos).fold(f64::INFINITY, f64::min) }
    }

    /// The machine is disturbed now, and for some time: what a run leaves behind, such as a thousand threads that the system buries, is
    /// none of it. Takes a third of a millisecond where it is not.
    pub(crate) fn is_disturbed_now(&mut self) -> bool {
        (0..LASTING.0).all(|turn| {
            if turn > 0 {
                std::thread::sleep(LASTING.1);
            }
            self.is_disturbed(look())
        })
    }

    /// The two CPUs are one core, or the clock is much slower than it was at best.
    pub(crate) fn is_disturbed(&mut self, look: Probe) -> bool {
        self.least = self.least.min(look.nanos);
        look.one_core || look.nanos > JUMP * self.least
    }
}

/// True if the first two of [`machine::cpus`] are the hardware threads of one core.
fn are_one() -> bool {
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
fn nanos() -> f64 {
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
    fn one_core_and_a_slow_clock_disturb() {
        let look = |nanos, one_core| Probe { nanos, one_core };
        let mut steady = Steady::new(&[look(1300.0, false), look(1100.0, false)]);
        assert!(!steady.is_disturbed(look(1300.0, false)));
        assert!(steady.is_disturbed(look(1100.0, true)));
        // From here on it is known to be faster.
        assert!(!steady.is_disturbed(look(1000.0, false)));
        assert!(steady.is_disturbed(look(1300.0, false)));
    }

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
