//! Arms that wait for time.

use super::arm::{Arm, ToPop, Waiter};
use crate::wait::{Deadline, Sleeper, is_over};
use alloc::collections::BTreeMap;
use core::panic::AssertUnwindSafe;
use core::task::Waker;
use thalweg_sync::atomic::unique;
use thalweg_sync::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use thalweg_sync::thread;
use thalweg_sync::time::{self, Duration};

/// An arm that is ready from a point in time on.
#[derive(Debug)]
pub struct At {
    deadline: Deadline,
    /// Its number among those that a waker is kept for.
    number: Option<u64>,
}

/// An arm that is ready when `time` is over, from now on.
pub fn after(time: Duration) -> At {
    at(time::now().after(time))
}

/// An arm that is ready from `deadline` on. It may be an `Instant` of the standard library.
pub fn at(deadline: impl Into<Deadline>) -> At {
    At { deadline: deadline.into(), number: None }
}

impl At {
    /// Has `waker` called when the time is over.
    pub(crate) fn remember(&mut self, waker: &Waker) {
        let number = *self.number.get_or_insert_with(unique);
        drop(timers().change(|due| due.insert((self.deadline, number), waker.clone())));
    }

    /// Calls nobody.
    pub(crate) fn forget(&mut self) {
        if let Some(number) = self.number.take() {
            drop(timers().change(|due| due.remove(&(self.deadline, number))));
        }
    }

    pub(crate) fn deadline(&self) -> Deadline {
        self.deadline
    }
}

impl Drop for At {
    fn drop(&mut self) {
        self.forget();
    }
}

impl Arm for At {
    type Output = ();

    fn attempt(&mut self) -> Option<()> {
        is_over(self.deadline).then_some(())
    }

    fn enlist(&mut self, sleeper: Waiter) -> bool {
        // A thread sleeps until the earliest deadline by itself.
        if let Sleeper::Task(waker) = sleeper.0 {
            self.remember(&waker);
        }
        false
    }

    fn leave(&mut self, _chosen: bool) {
        self.forget();
    }

    fn deadline(&self) -> Option<Deadline> {
        Some(self.deadline)
    }

    fn is_end(_output: &()) -> bool {
        true
    }
}

/// Points in time, one a period. Popped in a select, it gives the point that is due.
///
/// Who comes late gets one point, not all that have gone by.
///
/// ```
/// use std::time::Duration;
/// use thalweg_queue::select;
/// use thalweg_queue::select::Tick;
///
/// let mut tick = Tick::new(Duration::from_millis(1));
/// for _ in 0..3 {
///     select! { pop(tick) -> _ => {} }
/// }
/// ```
#[derive(Debug)]
pub struct Tick {
    next: Deadline,
    period: Duration,
}

impl Tick {
    /// Points of which the first is a `period` away.
    pub fn new(period: Duration) -> Self {
        Self { next: time::now().after(period), period }
    }
}

impl<'a> ToPop for &'a mut Tick {
    type Arm = Ticking<'a>;

    fn to_pop(self) -> Ticking<'a> {
        Ticking { at: at(self.next), tick: self }
    }
}

/// A pop of the next point.
#[doc(hidden)]
#[derive(Debug)]
pub struct Ticking<'a> {
    at: At,
    tick: &'a mut Tick,
}

impl Arm for Ticking<'_> {
    type Output = Deadline;

    fn attempt(&mut self) -> Option<Deadline> {
        self.at.attempt()?;
        let (due, now) = (self.tick.next, time::now());
        let next = due.after(self.tick.period);
        self.tick.next = if next <= now { now.after(self.tick.period) } else { next };
        self.at.leave(true);
        self.at.deadline = self.tick.next;
        Some(due)
    }

    fn enlist(&mut self, sleeper: Waiter) -> bool {
        self.at.enlist(sleeper)
    }

    fn leave(&mut self, chosen: bool) {
        self.at.leave(chosen);
    }

    fn deadline(&self) -> Option<Deadline> {
        Arm::deadline(&self.at)
    }

    fn is_end(_output: &Deadline) -> bool {
        false
    }
}

/// The wakers of async selects that wait for time, and the thread that calls them.
struct Timers {
    due: Mutex<Due>,
    changed: Condvar,
}

type Due = BTreeMap<(Deadline, u64), Waker>;

fn timers() -> &'static Timers {
    static TIMERS: OnceLock<Timers> = OnceLock::new();
    static THREAD: OnceLock<()> = OnceLock::new();
    let timers = TIMERS.get_or_init(|| Timers { due: Mutex::new(Due::new()), changed: Condvar::new() });
    THREAD.get_or_init(|| drop(thread::spawn(|| timers.run())));
    timers
}

impl Timers {
    fn lock(&self) -> MutexGuard<'_, Due> {
        // Nothing panics while it is locked.
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is due. What comes out is dropped by the caller, without the lock: it is somebody else's code.
    fn change<R>(&self, change: impl FnOnce(&mut Due) -> R) -> R {
        let mut due = self.lock();
        let before = due.keys().next().copied();
        let result = change(&mut due);
        let earlier = due.keys().next().copied() != before;
        drop(due);
        if earlier {
            self.changed.notify_one();
        }
        result
    }

    fn run(&self) {
        let mut due = self.lock();
        loop {
            due = match due.first_entry() {
                None => self.changed.wait(due).unwrap_or_else(PoisonError::into_inner),
                Some(first) if is_over(first.key().0) => {
                    let waker = first.remove();
                    drop(due);
                    // A waker that panics is not to end the timers of all others; the hook has told of it.
                    let _ = std::panic::catch_unwind(AssertUnwindSafe(|| waker.wake()));
                    self.lock()
                }
                Some(first) => {
                    let left = first.key().0.since(time::now());
                    self.changed.wait_timeout(due, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}
