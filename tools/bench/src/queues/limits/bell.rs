//! What ends of limits sleep by: the standard library's means, and nothing for who has nobody to wake but a load.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use crossbeam_utils::CachePadded;
use thalweg_sync::{fence, spin};

/// How long a sleeper sleeps before it asks whether there is hope. So long that no run comes to it that goes well.
const PATIENCE: Duration = Duration::from_millis(500);

/// Where threads sleep until somebody rings, which wakes them all.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    /// True if somebody may sleep whom nobody is waking. Alone on its lines, as it is looked at often.
    asleep: CachePadded<AtomicBool>,
    /// Held by who goes to sleep until it does, and by who rings.
    bed: Mutex<()>,
    rung: Condvar,
}

impl Bell {
    /// Wakes whoever sleeps.
    #[inline(always)]
    pub(crate) fn ring(&self) {
        // Together with the heavy one in `wait`: either the sleeper is seen here, or what was done before is seen there.
        fence::light();
        if self.asleep.load(Relaxed) {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        let _held = self.hold();
        self.asleep.store(false, Relaxed);
        self.rung.notify_all();
    }

    fn hold(&self) -> MutexGuard<'_, ()> {
        self.bed.lock().expect("who holds it does not panic")
    }

    /// Waits until it is `ready`: on the processor for a moment, then asleep. False if it was `hopeless`, and is not ready either.
    pub(crate) fn wait(&self, mut ready: impl FnMut() -> bool, hopeless: impl Fn() -> bool) -> bool {
        if spin::briefly(|| ready().then_some(())).is_some() {
            return true;
        }
        let mut held = self.hold();
        let mut last = false;
        loop {
            self.asleep.store(true, Relaxed);
            fence::heavy();
            if ready() {
                return true;
            }
            if last {
                return false;
            }
            let (again, slept) = self.rung.wait_timeout(held, PATIENCE).expect("who holds it does not panic");
            held = again;
            if ready() {
                return true;
            }
            // One more look: what was done before that answer has to be there.
            last = slept.timed_out() && hopeless();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering::{Acquire, Release};

    use super::*;

    #[test]
    fn two_who_take_turns_wake_each_other() {
        let (turn, bells) = (AtomicU64::new(0), [Bell::default(), Bell::default()]);
        let play = |me: u64| {
            for now in (me..2_000).step_by(2) {
                assert!(bells[me as usize].wait(|| turn.load(Acquire) == now, || false));
                turn.store(now + 1, Release);
                bells[1 - me as usize].ring();
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| play(1));
            play(0);
        });
        assert_eq!(turn.load(Acquire), 2_000);
    }

    #[test]
    fn who_waits_for_nobody_does_not_sleep_for_ever() {
        assert!(!Bell::default().wait(|| false, || true));
    }
}
