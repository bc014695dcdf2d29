//! A place for one waiter: where at most one end waits, and each end knows by a bit in its own word whether it does.

use super::{Deadline, park::Sleeper};
use thalweg_sync::park::Parker;
use thalweg_sync::sync::{Mutex, PoisonError};
use thalweg_sync::{spin, time};

/// A place for one waiter.
///
/// It has no fence: whoever leaves a sleeper here says so afterwards by a read-modify-write of the word that it waits for, and looks at what
/// that word was. Whoever changes the word by a read-modify-write sees by the bit that there is one to take.
#[derive(Debug)]
pub(crate) struct One(Mutex<Option<Sleeper>>);

impl One {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Leaves `sleeper` in the place of who was there.
    pub(crate) fn put(&self, sleeper: Sleeper) {
        let old = self.swap(Some(sleeper));
        // Dropped after the lock, since that is somebody else's code.
        drop(old);
    }

    /// Takes who is there.
    pub(crate) fn take(&self) -> Option<Sleeper> {
        self.swap(None)
    }

    fn swap(&self, new: Option<Sleeper>) -> Option<Sleeper> {
        // Nothing panics while the lock is held.
        core::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), new)
    }
}

/// Waits until `ready`, but no longer than to the deadline, and returns its last answer. `put` leaves a sleeper in its place and looks again.
pub(crate) fn sleep(
    deadline: Option<Deadline>,
    mut ready: impl FnMut() -> bool,
    mut put: impl FnMut(Sleeper) -> bool,
) -> bool {
    if spin::briefly(|| ready().then_some(())).is_some() {
        return true;
    }
    let parker = Parker::new();
    let mut done = put(Sleeper::Thread(parker.unparker()));
    while !done {
        let woken = match deadline {
            None => {
                parker.park();
                true
            }
            Some(deadline) => parker.park_timeout(deadline.since(time::now())),
        };
        done = ready();
        if !woken {
            break;
        }
    }
    done
}
