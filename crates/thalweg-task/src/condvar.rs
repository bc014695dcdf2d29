//! Condition variables, of both kinds.

use crate::mutex::{HANDED, MutexGuard, RETRY};
use crate::wait::{self, Reason, WaitList, Waiter, Woken};
use thalweg_sync::time::{self, Duration, Instant};

/// Waits for what a [`Mutex`](crate::Mutex) protects to change.
///
/// Whoever changes it says so in one of two ways:
///
/// - [`notify_one`](Self::notify_one), [`notify_all`](Self::notify_all): the waiter goes on some time, when it gets the lock. By then others may have
///   had it, so it looks again whether what it waits for is so: [`wait_while`](Self::wait_while).
/// - [`signal`](Self::signal), after C. A. R. Hoare (*Monitors*, CACM 1974): the waiter gets the lock and runs at once, the caller gets both back when the
///   waiter gives up the lock or waits again. What was so at the signal is so behind the wait.
///
/// A wait returns only for one of these: never without a reason.
///
/// ```
/// use thalweg_task::{Condvar, Mutex, Runtime, scope};
///
/// let (full, changed) = (Mutex::new(false), Condvar::new());
/// Runtime::builder().workers(1).start()?.run(|| {
///     scope(|scope| {
///         scope.spawn(|| {
///             let mut full = changed.wait(full.lock());
///             assert!(*full, "nobody was in between");
///             *full = false;
///         });
///         thalweg_task::yield_now();
///         let mut guard = full.lock();
///         *guard = true;
///         let guard = changed.signal(guard); // the other one runs here
///         assert!(!*guard);
///     });
/// });
/// # Ok::<(), thalweg_task::StartError>(())
/// ```
#[derive(Debug, Default)]
pub struct Condvar {
    /// Each waiter's note is the address of its lock.
    waiters: WaitList,
}

impl Condvar {
    /// One that nobody waits for.
    pub const fn new() -> Self {
        Self { waiters: WaitList::new() }
    }

    /// Opens the lock, waits until told, and takes the lock again. A cancelled task ends here, without the lock.
    #[inline]
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.wait_until(guard, None).0
    }

    /// As [`wait`](Self::wait), but no longer than `timeout`. False behind the guard if nobody told it anything.
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        self.wait_until(guard, Some(time::now().after(timeout)))
    }

    /// Waits as long as `condition` holds for what the lock protects.
    #[inline]
    pub fn wait_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        while condition(&mut guard) {
            guard = self.wait(guard);
        }
        guard
    }

    #[inline]
    fn wait_until<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        deadline: Option<Instant>,
    ) -> (MutexGuard<'a, T>, bool) {
        wait::end_if_cancelled();
        let waiter = Waiter::new();
        let ticket = waiter.ticket();
        let address = guard.mutex().address();
        // Before the lock is open: whoever takes it next finds us.
        let key = self.waiters.with(|list| list.push_back(ticket, address));
        let mutex = guard.into_mutex();
        mutex.open();
        let woken = waiter.sleep(Reason::Condvar, deadline);
        let granted = match woken {
            Woken::Granted(what) => what,
            _ if self.waiters.delist(key) => 0,
            _ => waiter.granted(),
        };
        if woken == Woken::Cancelled {
            match granted {
                HANDED => mutex.open(),
                // It was for somebody who goes on.
                RETRY => self.notify_one(),
                _ => {}
            }
            wait::end();
        }
        let guard = match granted {
            HANDED => MutexGuard::new(mutex),
            _ => mutex.lock_for_good(),
        };
        (guard, granted != 0)
    }

    /// Wakes the one that has waited longest, if any waits.
    ///
    /// Whoever changed what is waited for did so with the lock; the caller need not have it any more.
    #[inline]
    pub fn notify_one(&self) {
        // A waiter enlists with the lock taken, so one that has to be woken is seen.
        if self.waiters.length() != 0 {
            self.waiters.grant_first(RETRY);
        }
    }

    /// Wakes all that wait.
    #[inline]
    pub fn notify_all(&self) {
        if self.waiters.length() != 0 {
            self.waiters.grant_all(RETRY);
        }
    }

    /// Hands the lock to the one that has waited longest, which runs at once if it is a task of this worker. Returns with the lock when
    /// that one gives it up or waits again; at once, if nobody waits.
    ///
    /// The caller goes before all who wait for the lock. It waits also if it is cancelled.
    ///
    /// # Panics
    ///
    /// If somebody waits with another lock: a condition variable belongs to one.
    #[inline]
    pub fn signal<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        let mutex = guard.mutex();
        let other = self.waiters.with(|list| list.first_note().map(|address| address != mutex.address()));
        match other {
            None => return guard,
            Some(false) => {}
            Some(true) => panic!("somebody waits on this Condvar with another Mutex: use one Condvar for each"),
        }
        let waiter = Waiter::new();
        // Before the grant: whoever has it may go on before it is woken, and give the lock back.
        let key = mutex.lend(&waiter);
        let Some((ticket, _)) = self.waiters.with(|list| list.claim_first(|_| HANDED)) else {
            // It has given up meanwhile.
            mutex.take_back(key);
            return guard;
        };
        let mutex = guard.into_mutex();
        ticket.wake_next();
        waiter.sleep_on(Reason::Lock);
        MutexGuard::new(mutex)
    }
}
