//! Queues for exactly so many items.

use crate::BuildError;
use crate::research::tube::{self, scqd::Scqd};
use crate::wait::{Ordinary, Wait};

/// The writing end of a queue for exactly so many items.
pub type ExactSender<T, W = Ordinary> = tube::Producer<Scqd<T>, W>;

/// The reading end of a queue for exactly so many items.
pub type ExactReceiver<T, W = Ordinary> = tube::Consumer<Scqd<T>, W>;

/// Both ends of a queue for exactly so many items.
pub type ExactEnds<T, W = Ordinary> = (ExactSender<T, W>, ExactReceiver<T, W>);

/// A queue for any number of producers and consumers and exactly `capacity` items, from one on. Its ends sleep while they wait, and may be `async`.
///
/// For bounds that mean something: a semaphore's permits, one item in flight. Where they do not, take [`channel`](super::channel), which
/// costs less: it reuses whole blocks, and so has some entries more than it was asked for. This one hands entries over one by one
/// ([SCQD](crate::research::tube::scqd)): each push and each pop takes two additions and two exchanges, half of them on lines that the
/// other side has just written. A push or a pop of `channel` takes one exchange. Nothing is read or written in place. With fewer entries
/// than threads it is slow.
///
/// Memory: the items, which are not touched, and 32 bytes for each, after rounding the capacity up to a power of two. These are written when it is
/// built, as every free entry has a number in them: `exact(1 << 30)` writes 32 GiB first. [Most other
/// queues](crate::compared#what-is-touched) touch next to nothing of their memory then.
///
/// ```
/// use thalweg_queue::{TryPushError, mpmc};
///
/// let (tx, rx) = mpmc::exact(13)?;
/// (0..13).try_for_each(|n| tx.try_push(n))?;
/// assert_eq!(tx.try_push(13), Err(TryPushError::Full(13)));
/// assert_eq!(rx.pop(), Ok(0));
/// tx.try_push(13)?; // one out, one in
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn exact<T: Send>(capacity: usize) -> Result<ExactEnds<T>, BuildError> {
    exact_with_wait(capacity, Ordinary::default())
}

/// As [`exact`], with ends that [wait](crate::wait) by `wait`.
pub fn exact_with_wait<T: Send, W: Wait>(capacity: usize, wait: W) -> Result<ExactEnds<T, W>, BuildError> {
    Ok(tube::with_wait(Scqd::new(capacity)?, wait))
}
