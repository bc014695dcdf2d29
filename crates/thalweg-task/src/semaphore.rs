//! Permits.

use crate::wait::{self, Reason, WaitList, Waiter, Woken};
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::time::{self, Duration, Instant};

/// A number of permits, which tasks and threads take and give back.
///
/// Waiters are served in the order of arrival; a permit that is given back goes to the first of them. Whoever comes along meanwhile takes
/// one only if more are there than wait.
///
/// ```
/// use thalweg_task::{Runtime, Semaphore, scope};
///
/// let two_at_a_time = Semaphore::new(2);
/// Runtime::builder().workers(2).start()?.run(|| {
///     scope(|scope| {
///         for _ in 0..8 {
///             scope.spawn(|| {
///                 let _permit = two_at_a_time.acquire();
///                 thalweg_task::yield_now();
///             });
///         }
///     });
/// });
/// assert_eq!(two_at_a_time.permits(), 2);
/// # Ok::<(), thalweg_task::StartError>(())
/// ```
#[derive(Debug)]
pub struct Semaphore {
    /// Those that nobody has. While somebody waits there are none: changed from 0 with the list locked.
    permits: AtomicUsize,
    waiters: WaitList,
}

impl Semaphore {
    /// So many permits.
    pub const fn new(permits: usize) -> Self {
        Self { permits: AtomicUsize::new(permits), waiters: WaitList::new() }
    }

    /// Waits for a permit, and takes it. A cancelled task that would have to wait ends here.
    pub fn acquire(&self) -> Permit<'_> {
        if !self.take() {
            self.wait(None);
        }
        Permit { semaphore: self }
    }

    /// Takes a permit if there is one.
    pub fn try_acquire(&self) -> Option<Permit<'_>> {
        self.take().then_some(Permit { semaphore: self })
    }

    /// As [`acquire`](Self::acquire), but gives up after `timeout`.
    pub fn acquire_timeout(&self, timeout: Duration) -> Option<Permit<'_>> {
        (self.take() || self.wait(Some(time::now().after(timeout)))).then_some(Permit { semaphore: self })
    }

    /// Gives back permits, or new ones.
    pub fn release(&self, permits: usize) {
        for _ in 0..permits {
            let first = self.waiters.with(|list| {
                let first = list.claim_first(|_| 1);
                if first.is_none() {
                    // (semaphore.1) Release, pairs with (semaphore.2): what was done with the permit is visible.
                    self.permits.fetch_add(1, Release);
                }
                first
            });
            if let Some((ticket, _)) = first {
                ticket.wake();
            }
        }
    }

    /// How many permits nobody has, now or lately.
    pub fn permits(&self) -> usize {
        self.permits.load(Relaxed)
    }

    fn take(&self) -> bool {
        // Relaxed: a guess, which the exchange checks.
        let mut permits = self.permits.load(Relaxed);
        while let Some(less) = permits.checked_sub(1) {
            // (semaphore.2) Acquire, pairs with (semaphore.1).
            match self.permits.compare_exchange_weak(permits, less, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => permits = now,
            }
        }
        false
    }

    #[cold]
    fn wait(&self, deadline: Option<Instant>) -> bool {
        let waiter = Waiter::new();
        let ticket = waiter.ticket();
        let place = self.waiters.with(|list| if self.take() { None } else { Some(list.push_back(ticket, 0)) });
        let Some(key) = place else { return true };
        let woken = waiter.sleep(Reason::Permit, deadline);
        let has_it = matches!(woken, Woken::Granted(_)) || !self.waiters.delist(key);
        if woken == Woken::Cancelled {
            if has_it {
                self.release(1);
            }
            wait::end();
        }
        has_it
    }
}

/// A permit of a [`Semaphore`], until dropped.
#[derive(Debug)]
#[must_use = "the permit is given back when this is dropped"]
pub struct Permit<'a> {
    semaphore: &'a Semaphore,
}

impl Permit<'_> {
    /// Keeps the permit for good: there is one less, until [`Semaphore::release`].
    pub fn forget(self) {
        core::mem::forget(self);
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.semaphore.release(1);
    }
}
