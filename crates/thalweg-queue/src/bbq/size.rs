//! Queues by what they are to hold: the blocks are chosen.

use super::shared::{Ends, heuristic_blocks, with_wait};
use crate::BuildError;
use crate::wait::{Wait, Yield};

/// As [`with_capacity`](super::with_capacity), with ends that [wait](crate::wait) by `wait`.
///
/// ```
/// use thalweg_queue::{Park, bbq};
///
/// let (tx, rx) = bbq::with_capacity_and_wait(4096, Park::new())?;
/// let consumer = std::thread::spawn(move || rx.pop()); // sleeps until the push
/// tx.push("hello")?;
/// assert_eq!(consumer.join().unwrap(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_capacity_and_wait<T: Send, W: Wait>(capacity: usize, wait: W) -> Result<Ends<T, W>, BuildError> {
    of_capacity(capacity, |blocks, entries| with_wait(blocks, entries, wait))
}

/// As [`shared`](super::shared()), with room for `capacity` items for certain, in a number of blocks chosen by [`heuristic_blocks`].
///
/// Its entries, which [`capacity`](super::Producer::capacity) says, are more: blocks are reused whole, so the last items of the oldest one keep all of its
/// entries.
///
/// ```
/// let (tx, rx) = thalweg_queue::bbq::with_room(8)?;
/// tx.push("popped before")?;
/// rx.pop()?;
/// for word in ["all", "eight", "fit", "wherever", "the", "queue", "begins", "now"] {
///     tx.try_push(word)?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_room<T: Send>(capacity: usize) -> Result<Ends<T>, BuildError> {
    with_room_and_wait(capacity, Yield)
}

/// As [`with_room`], with ends that [wait](crate::wait) by `wait`.
pub fn with_room_and_wait<T: Send, W: Wait>(capacity: usize, wait: W) -> Result<Ends<T, W>, BuildError> {
    of_room(capacity, |blocks, entries| with_wait(blocks, entries, wait))
}

/// What `build` makes of blocks and entries that are at least `capacity` together.
pub(super) fn of_capacity<Q>(
    capacity: usize,
    build: impl FnOnce(usize, usize) -> Result<Q, BuildError>,
) -> Result<Q, BuildError> {
    let blocks = heuristic_blocks(capacity);
    build(blocks, capacity.div_ceil(blocks)).map_err(|refused| refused.of_capacity(capacity, blocks))
}

/// What `build` makes of blocks and entries that have room for `capacity` items for certain: those of all blocks but one, and one more.
pub(crate) fn of_room<Q>(
    capacity: usize,
    build: impl FnOnce(usize, usize) -> Result<Q, BuildError>,
) -> Result<Q, BuildError> {
    BuildError::check("capacity", capacity, 1, isize::MAX as usize)?;
    let blocks = heuristic_blocks(capacity);
    build(blocks, (capacity - 1).div_ceil(blocks - 1).max(1))
        .map_err(|refused| refused.of_capacity(capacity, blocks - 1))
}
