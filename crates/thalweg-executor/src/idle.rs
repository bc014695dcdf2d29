//! Workers that have nothing to do: those that search, and those that sleep.

use crate::worker::MOST_WORKERS;
use std::sync::PoisonError;
use thalweg_sync::atomic::Ordering::{AcqRel, Relaxed};
use thalweg_sync::atomic::{AtomicBool, AtomicUsize};
use thalweg_sync::park::{Parker, Unparker};
use thalweg_sync::sync::Mutex;
use thalweg_sync::{CachePadded, fence};

/// One that sleeps, in the word.
const SLEEPS: usize = 1;
/// One that searches.
const SEARCHES: usize = 1 << 16;
const _: () = assert!(MOST_WORKERS < SEARCHES);

pub(crate) struct Idle {
    /// How many sleep, and how many search.
    word: CachePadded<AtomicUsize>,
    seats: Box<[CachePadded<Seat>]>,
}

#[derive(Default)]
struct Seat {
    asleep: AtomicBool,
    unparker: Mutex<Option<Unparker>>,
}

impl Idle {
    /// For so many workers, which all search at first.
    pub(crate) fn new(workers: usize) -> Self {
        let seats = (0..workers).map(|_| CachePadded(Seat::default())).collect();
        Self { word: CachePadded(AtomicUsize::new(workers * SEARCHES)), seats }
    }

    /// Leaves what wakes a worker.
    pub(crate) fn arrive(&self, worker: usize, unparker: Unparker) {
        *self.seats[worker].unparker.lock().unwrap_or_else(PoisonError::into_inner) = Some(unparker);
    }

    /// Whether some worker searches or sleeps, now or lately.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        // Relaxed: a look.
        self.word.load(Relaxed) != 0
    }

    /// The caller has made a task visible: wakes a worker for it, unless one searches or none sleeps.
    #[inline]
    pub(crate) fn notify(&self) {
        // (idle.1) Pairs with (idle.2): a worker that is about to sleep is seen here, or sees the task (S1).
        fence::light();
        // Relaxed: ordered by the fence.
        let word = self.word.load(Relaxed);
        if word >= SEARCHES || word == 0 {
            return;
        }
        self.wake_one();
    }

    #[cold]
    fn wake_one(&self) {
        (0..self.seats.len()).any(|worker| self.wake(worker));
    }

    /// Wakes all: the end is visible to them.
    pub(crate) fn wake_all(&self) {
        // (idle.1) again.
        fence::heavy();
        (0..self.seats.len()).for_each(|worker| _ = self.wake(worker));
    }

    fn wake(&self, worker: usize) -> bool {
        let seat = &self.seats[worker];
        // Relaxed: a look. AcqRel: whoever takes the flag back has it alone (S3).
        if !seat.asleep.load(Relaxed) || !seat.asleep.swap(false, AcqRel) {
            return false;
        }
        // Before the token, so that the worker finds itself counted (S3).
        self.word.fetch_add(SEARCHES.wrapping_sub(SLEEPS), AcqRel);
        let unparker = seat.unparker.lock().unwrap_or_else(PoisonError::into_inner).clone();
        unparker.expect("a worker that sleeps has left what wakes it").unpark();
        true
    }

    /// The caller, a worker, begins to search.
    pub(crate) fn search(&self) {
        self.word.fetch_add(SEARCHES, AcqRel);
    }

    /// The caller searched and has found something. If it was the last one, another searches on: whoever made a task visible may have
    /// relied on this one (S2).
    pub(crate) fn found(&self) {
        let before = self.word.fetch_sub(SEARCHES, AcqRel);
        if before > SEARCHES && before < 2 * SEARCHES {
            self.wake_one();
        }
    }

    /// The caller searched and found nothing: it looks once more, and sleeps until it is woken if that gives nothing. It searches again then.
    pub(crate) fn sleep<T>(&self, worker: usize, parker: &Parker, look: impl FnOnce() -> Option<T>) -> Option<T> {
        let asleep = &self.seats[worker].asleep;
        self.word.fetch_add(SLEEPS.wrapping_sub(SEARCHES), AcqRel);
        // Relaxed: ordered by the fence.
        asleep.store(true, Relaxed);
        // (idle.2) Pairs with (idle.1).
        fence::heavy();
        let found = look();
        if found.is_some() && asleep.swap(false, AcqRel) {
            self.word.fetch_add(SEARCHES.wrapping_sub(SLEEPS), AcqRel);
        } else {
            // Somebody wakes us, or has: the token is ours to take (S3).
            parker.park();
        }
        found
    }
}
