//! Whether a run goes on, seen from outside: code that waits for something which the simulator does not know of never comes back.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// After how long without a step of the run its caller is told. The longest stretch of code between two accesses is a matter of
/// milliseconds.
pub(crate) const SILENCE: Duration = Duration::from_secs(10);

/// Written by the run's thread, read by the one that waits for it. Relaxed: nothing is read on the strength of it.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    steps: AtomicU64,
    thread: AtomicUsize,
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

    /// Waits until the other end of `ended` is gone. Tells once, and which thread's turn it is, if nothing happened for as long as
    /// `silence`.
    pub(crate) fn watch(&self, ended: &Receiver<Infallible>, silence: Duration, tell: impl FnOnce(usize)) {
        let mut tell = Some(tell);
        let mut before = self.steps.load(Relaxed);
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(silence) {
            let steps = self.steps.load(Relaxed);
            if steps == before
                && let Some(tell) = tell.take()
            {
                tell(self.thread.load(Relaxed));
            }
            before = steps;
        }
    }
}

/// What is told of a run in which `thread` does not come back.
pub(crate) fn silent(thread: usize) -> String {
    format!(
        "simulation: thread {thread} has run for {} s without anything that the simulator sees. If it waits for another thread, it will for ever: \
         the atomics, locks, channels and threads of std are not simulated, those of thalweg_sync are",
        SILENCE.as_secs()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn who_is_silent_is_told() {
        let pulse = Pulse::default();
        pulse.turn(3);
        let (run, ended) = mpsc::channel();
        let mut told = None;
        pulse.watch(&ended, Duration::from_millis(1), |thread| {
            told = Some(thread);
            drop(run);
        });
        assert_eq!(told, Some(3));
    }

    #[test]
    fn the_end_is_no_silence() {
        let (run, ended) = mpsc::channel();
        drop(run);
        Pulse::default().watch(&ended, SILENCE, |thread| panic!("thread {thread} has ended"));
    }

    #[test]
    fn what_to_use_is_named() {
        assert!(silent(3).contains("thread 3") && silent(3).contains("thalweg_sync"));
    }
}
