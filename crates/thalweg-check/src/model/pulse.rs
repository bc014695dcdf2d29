//! Whether an execution goes on, seen from outside: code that waits for something which the checker does not see never comes back.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::time::Duration;

/// After how long without a step its caller is told, or twice that. An execution takes milliseconds.
const SILENCE: Duration = Duration::from_secs(10);

/// What nobody runs in.
const NOBODY: u64 = u64::MAX;

/// Relaxed: nothing is read on the strength of it.
#[derive(Debug)]
pub(super) struct Pulse {
    /// Written by the OS thread of a run, read by the one that looks after all of them.
    turns: AtomicU64,
    thread: AtomicU64,
    /// How many turns the last look found, and the last that told. For the one that looks.
    seen: AtomicU64,
    told: AtomicU64,
}

/// The pulses of all runs of the process.
static ALL: Mutex<Vec<Weak<Pulse>>> = Mutex::new(Vec::new());
static WATCH: Once = Once::new();

impl Pulse {
    /// One that is looked after.
    pub(super) fn new() -> Arc<Self> {
        // Without the thread, if the system gives none, nobody is told.
        WATCH.call_once(|| drop(std::thread::Builder::new().name("pulse".to_owned()).spawn(watch)));
        let pulse = Arc::new(Self { turns: 0.into(), thread: NOBODY.into(), seen: NOBODY.into(), told: NOBODY.into() });
        ALL.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&pulse));
        pulse
    }

    /// From here on it is the turn of `thread`.
    #[inline]
    pub(super) fn turn(&self, thread: u32) {
        // One thread writes.
        self.turns.store(self.turns.load(Relaxed) + 1, Relaxed);
        self.thread.store(thread.into(), Relaxed);
    }

    /// It is nobody's turn.
    pub(super) fn rest(&self) {
        self.thread.store(NOBODY, Relaxed);
    }

    /// Whose turn it is, if it was at the last look too. Once for each turn.
    fn look(&self) -> Option<u64> {
        let (turns, thread) = (self.turns.load(Relaxed), self.thread.load(Relaxed));
        let seen = self.seen.swap(turns, Relaxed);
        if thread == NOBODY || seen != turns || self.told.load(Relaxed) == turns {
            return None;
        }
        self.told.store(turns, Relaxed);
        Some(thread)
    }
}

/// Looks at all runs, as long as the process lives.
fn watch() {
    loop {
        std::thread::sleep(SILENCE);
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|pulse| {
            let pulse = pulse.upgrade();
            if let Some(thread) = pulse.as_ref().and_then(|pulse| pulse.look()) {
                eprintln!("{}", silent(thread));
            }
            pulse.is_some()
        });
    }
}

/// What is told of an execution in which `thread` does not come back.
fn silent(thread: u64) -> String {
    format!(
        "check: thread {thread} has run for {} s without anything that the checker sees. If it waits for another thread, it will for ever: the \
         atomics, locks, channels and threads of std are not explored, those of thalweg_sync are",
        SILENCE.as_secs()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_silent_is_told_once() {
        let pulse = Pulse::new();
        assert_eq!(pulse.look(), None, "nobody's turn");
        pulse.turn(3);
        assert_eq!(pulse.look(), None, "its turn may just have begun");
        assert_eq!(pulse.look(), Some(3));
        assert_eq!(pulse.look(), None, "told already");
        pulse.turn(4);
        assert_eq!(pulse.look(), None);
        pulse.rest();
        assert_eq!(pulse.look(), None, "the execution has ended");
        assert!(silent(3).contains("thread 3") && silent(3).contains("thalweg_sync"));
    }
}
