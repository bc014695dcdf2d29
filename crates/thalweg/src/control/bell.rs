//! Where idle workers sleep, and how they are woken: an event count.
//!
//! # Invariants
//!
//! - **W1** A worker goes to sleep only after it looked at every kernel that it may run, once it was on the list.
//! - **W2** Who makes a kernel ready and is no worker, or will not look again before it sleeps, rings after that. Between making it
//!   ready and reading `sleeping` it has a fence, as the sleeper has between writing `sleeping` and looking: one of them sees the other.

use std::mem;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::{AtomicUsize, Ordering::*, fence};
use thalweg_sync::park::Unparker;
use thalweg_sync::sync::{Mutex, MutexGuard};

#[derive(Debug)]
struct Sleeper {
    worker: usize,
    /// The only kernel that it may run, if it is so.
    only: Option<usize>,
    unparker: Unparker,
}

#[derive(Debug, Default)]
struct Sleepers {
    list: Vec<Sleeper>,
    /// Workers that are at work or on the list; those on the bench are neither.
    present: usize,
    /// Times a worker was taken off the list.
    risen: u64,
    /// A worker may not run every kernel, so the one that is needed is only found by waking all.
    restricted: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Bell {
    /// Length of the list, to be read without the lock.
    sleeping: CachePadded<AtomicUsize>,
    sleepers: Mutex<Sleepers>,
}

impl Bell {
    fn lock(&self) -> MutexGuard<'_, Sleepers> {
        self.sleepers.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Before a run: whether its workers may run some kernels only.
    pub(crate) fn set_restricted(&self, restricted: bool) {
        self.lock().restricted = restricted;
    }

    /// A worker starts to take part.
    pub(crate) fn join(&self) {
        self.lock().present += 1;
    }

    /// A worker takes no more part.
    pub(crate) fn leave(&self) {
        self.lock().present -= 1;
    }

    /// Puts a worker on the list. It must look at its kernels after this and before it parks (W1).
    pub(crate) fn lie_down(&self, worker: usize, only: Option<usize>, unparker: Unparker) {
        let mut sleepers = self.lock();
        sleepers.list.push(Sleeper { worker, only, unparker });
        self.sleeping.store(sleepers.list.len(), Relaxed);
        drop(sleepers);
        // W2, the sleeper's side.
        fence(SeqCst);
    }

    /// Takes a worker off the list. False if it was woken already: a token is on its way to it.
    pub(crate) fn get_up(&self, worker: usize) -> bool {
        let mut sleepers = self.lock();
        let before = sleepers.list.len();
        sleepers.list.retain(|other| other.worker != worker);
        self.sleeping.store(sleepers.list.len(), Relaxed);
        let was_there = sleepers.list.len() < before;
        sleepers.risen += u64::from(was_there);
        was_there
    }

    /// If every worker that takes part is on the list, a number. As long as it is the same, none of them got up meanwhile: a look at the
    /// kernels between two equal answers is a look at all there is, for one that gets up can do something and lie down again.
    pub(crate) fn all_asleep(&self) -> Option<u64> {
        let sleepers = self.lock();
        (sleepers.list.len() == sleepers.present).then_some(sleepers.risen)
    }

    /// Whether some worker is on the list. Cheap: the line is only written when somebody goes to sleep or wakes.
    #[inline]
    pub(crate) fn has_sleepers(&self) -> bool {
        // W2, the waker's side.
        fence(SeqCst);
        self.sleeping.load(Relaxed) > 0
    }

    /// Wakes a worker, the last that went to sleep; all of them if they are restricted. False if nobody slept.
    #[inline]
    pub(crate) fn ring(&self) -> bool {
        self.has_sleepers() && self.wake(false)
    }

    /// Wakes those that may run one of `kernels`, where a worker may not run every kernel; else as [`ring`](Self::ring).
    pub(crate) fn ring_for(&self, kernels: impl Iterator<Item = usize> + Clone) -> bool {
        if !self.has_sleepers() {
            return false;
        }
        let mut sleepers = self.lock();
        if !sleepers.restricted {
            drop(sleepers);
            return self.wake(false);
        }
        let before = sleepers.list.len();
        // Under the lock: each of these has a kernel to itself, so they are few.
        sleepers.list.retain(|sleeper| {
            let wakes = sleeper.only.is_none_or(|only| kernels.clone().any(|kernel| kernel == only));
            if wakes {
                sleeper.unparker.unpark();
            }
            !wakes
        });
        let woken = before - sleepers.list.len();
        sleepers.risen += woken as u64;
        self.sleeping.store(sleepers.list.len(), Relaxed);
        woken > 0
    }

    /// Wakes every worker.
    pub(crate) fn ring_all(&self) {
        if self.has_sleepers() {
            self.wake(true);
        }
    }

    #[cold]
    fn wake(&self, all: bool) -> bool {
        let mut sleepers = self.lock();
        let Some(last) = sleepers.list.pop() else { return false };
        // No allocation on the way of a lone message.
        let others = if all || sleepers.restricted { mem::take(&mut sleepers.list) } else { Vec::new() };
        sleepers.risen += 1 + others.len() as u64;
        self.sleeping.store(sleepers.list.len(), Relaxed);
        drop(sleepers);
        last.unparker.unpark();
        others.iter().for_each(|other| other.unparker.unpark());
        true
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use thalweg_sync::atomic::AtomicBool;
    use thalweg_sync::park::Parker;
    use thalweg_sync::sync::Arc;
    use thalweg_sync::{model, thread};

    /// A worker that looks, lies down, looks again and parks never misses what was made ready: loom reports a lost wake-up as a deadlock.
    #[test]
    fn no_wake_up_is_lost() {
        model(|| {
            let shared = Arc::new((Bell::default(), AtomicBool::new(false)));
            shared.0.join();
            let other = shared.clone();
            let waker = thread::spawn(move || {
                // Relaxed, as the counters that a worker looks at: the fences of W2 alone must do.
                other.1.store(true, Relaxed);
                other.0.ring();
            });
            let (bell, ready) = &*shared;
            let parker = Parker::new();
            while !ready.load(Relaxed) {
                bell.lie_down(0, None, parker.unparker());
                if !ready.load(Relaxed) || !bell.get_up(0) {
                    parker.park();
                }
            }
            waker.join().unwrap();
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use thalweg_sync::park::Parker;
    use thalweg_sync::time::Duration;

    /// A bell with so many workers asleep, and which of them it woke since they were looked at.
    fn asleep(workers: usize) -> (Bell, impl Fn() -> Vec<usize>) {
        let (bell, parkers) = (Bell::default(), Vec::from_iter((0..workers).map(|_| Parker::new())));
        for (worker, parker) in parkers.iter().enumerate() {
            bell.join();
            bell.lie_down(worker, Some(worker), parker.unparker());
        }
        let woken = move || (0..workers).filter(|&worker| parkers[worker].park_timeout(Duration::ZERO)).collect();
        (bell, woken)
    }

    #[test]
    fn one_worker_is_woken_and_it_is_the_last_that_went_to_sleep() {
        let (bell, woken) = asleep(3);
        assert!(bell.ring());
        assert_eq!(woken(), [2]);
        assert!(!bell.get_up(2), "a token was on its way");
        assert!(bell.get_up(0));
        assert!(bell.ring());
        assert_eq!(woken(), [1]);
        assert!(!bell.ring(), "nobody sleeps");
    }

    #[test]
    fn all_are_woken_where_one_may_not_do() {
        let (bell, woken) = asleep(3);
        bell.ring_all();
        assert_eq!(woken(), [0, 1, 2]);
        let (bell, woken) = asleep(3);
        bell.set_restricted(true);
        assert!(bell.ring());
        assert_eq!(woken(), [0, 1, 2]);
    }

    #[test]
    fn only_those_are_woken_that_may_run_what_is_ready() {
        let (bell, woken) = asleep(4);
        bell.set_restricted(true);
        assert!(bell.ring_for([2, 0].into_iter()));
        assert_eq!(woken(), [0, 2]);
        assert!(!bell.ring_for([2].into_iter()), "it is up");
        assert!(bell.get_up(1), "it sleeps");
    }

    #[test]
    fn a_night_in_which_somebody_got_up_is_another_one() {
        let parker = Parker::new();
        let (bell, woken) = asleep(2);
        let first = bell.all_asleep();
        assert!(first.is_some());
        assert_eq!(bell.all_asleep(), first);
        for wakes in [true, false] {
            let before = bell.all_asleep();
            if wakes {
                bell.ring();
                assert_eq!(woken(), [1]);
            } else {
                bell.get_up(1);
            }
            assert_eq!(bell.all_asleep(), None);
            bell.lie_down(1, None, parker.unparker());
            assert!(bell.all_asleep().is_some_and(|night| Some(night) != before));
        }
    }
}
