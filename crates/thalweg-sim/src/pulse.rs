//! Whether a run goes on, seen from outside: code that waits for something which the simulator does not know of never comes back.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// How long a run may be silent unless told otherwise. The longest stretch of code between two accesses is a matter of
/// milliseconds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How many looks in a row see nothing new until its caller is told, and until the run is given up. Looks, not time, are
/// counted: a process that was stopped for an hour has been looked at once.
const WARNED: u32 = 10;
const GIVEN_UP: u32 = 60;

/// Written by the run's thread, read by the one that waits for it. Relaxed: nothing is read on the strength of it.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    steps: AtomicU64,
    thread: AtomicUsize,
}

/// What is to be told of a silent run, and whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// It may be over soon.
    Long(usize),
    /// Nobody waits for its end any longer.
    GivenUp(usize),
}

impl Pulse {
    /// Something happened that the simulator sees.
    #[inline(always)]
    pub(crate) fn beat(&self) {
        // One thread writes.
        self.steps.store(self.steps.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// From here on it is the turn of this simulated thread.
    pub(crate) fn turn(&self, thread: usize) {
        self.thread.store(thread, Relaxed);
    }

    /// Waits until the other end of `ended` is gone. Tells, the first time, of a sixth of `patience` in which nothing
    /// happened, and of all of it.
    pub(crate) fn watch(&self, ended: &Receiver<Infallible>, patience: Duration, mut tell: impl FnMut(Silence)) {
        let (mut before, mut looks, mut warned) = (self.steps.load(Relaxed), 0, false);
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(patience / GIVEN_UP) {
            let (steps, thread) = (self.steps.load(Relaxed), self.thread.load(Relaxed));
            looks = if steps == before { looks + 1 } else { 0 };
            before = steps;
            if looks == WARNED && !warned {
                warned = true;
                tell(Silence::Long(thread));
            } else if looks == GIVEN_UP {
                tell(Silence::GivenUp(thread));
            }
        }
    }
}

impl Silence {
    /// What a user is told.
    pub(crate) fn text(self, patience: Duration) -> String {
        match self {
            Self::Long(thread) => format!(
                "simulation: thread {thread} has run for {:?} without anything that the simulator sees. If it waits for another thread, it \
                 will for ever: the atomics, locks, channels and threads of std are not simulated, those of thalweg_sync are",
                patience / GIVEN_UP * WARNED
            ),
            Self::GivenUp(thread) => format!(
                "error: simulation: thread {thread} has run for {patience:?} without anything that the simulator sees. A thread cannot be \
                 stopped from outside, so the process ends here. If it waits, let it wait by what thalweg_sync has instead of std's atomics, \
                 locks, channels, threads and clocks; clippy finds these with the lists in thalweg's clippy.toml. If it computes, \
                 let it say so now and then (hint::work), or give the run more time (Simulation::patience)"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const SHORT: Duration = Duration::from_millis(60);

    #[test]
    fn who_is_silent_is_told_and_then_given_up() {
        let pulse = Pulse::default();
        pulse.turn(3);
        let (run, ended) = mpsc::channel();
        let (mut run, mut told) = (Some(run), Vec::new());
        pulse.watch(&ended, SHORT, |silence| {
            told.push(silence);
            if silence == Silence::GivenUp(3) {
                run = None;
            }
        });
        assert_eq!(told, [Silence::Long(3), Silence::GivenUp(3)]);
    }

    #[test]
    fn a_step_begins_the_wait_anew_and_a_slow_run_is_told_of_once() {
        let pulse = Pulse::default();
        let (run, ended) = mpsc::channel::<Infallible>();
        let mut told = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _run = run;
                for _ in 0..4 {
                    std::thread::sleep(SHORT * 3);
                    pulse.beat();
                }
            });
            pulse.watch(&ended, SHORT * 10, |silence| told.push(silence));
        });
        assert_eq!(told, [Silence::Long(0)]);
    }

    #[test]
    fn the_end_is_no_silence() {
        let (run, ended) = mpsc::channel();
        drop(run);
        Pulse::default().watch(&ended, PATIENCE, |silence| panic!("{silence:?}, and it has ended"));
    }
}
