//! Queues by what they are to hold: the blocks are chosen.

use super::shared::heuristic_blocks;
#[cfg(feature = "alloc")]
use super::shared::{Ends, with_wait};
use super::{Consumer, Producer};
use crate::cursor::Layout;
use crate::wait::{Ordinary, Wait};
use crate::{BuildError, limits};

/// The ordinary writing end: it sleeps while it waits, and may be `async`.
pub type Sender<T> = Producer<T, Ordinary>;

/// The ordinary reading end: it sleeps while it waits, and may be `async`.
pub type Receiver<T> = Consumer<T, Ordinary>;

/// A queue for any number of producers and consumers with room for `capacity` items at least. Its ends sleep while they wait, and may be
/// `async`.
///
/// ```
/// use thalweg_queue::mpmc;
///
/// let (tx, rx) = mpmc::channel(1024)?;
/// tx.clone().push("a")?;
/// assert_eq!(rx.clone().pop(), Ok("a"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Errors and memory are those of [`with_room`].
#[cfg(feature = "alloc")]
pub fn channel<T: Send>(capacity: usize) -> Result<(Sender<T>, Receiver<T>), BuildError> {
    with_room_and_wait(capacity, Ordinary::default())
}

/// As [`with_capacity`](super::with_capacity), with ends that [wait](crate::wait) by `wait`.
///
/// ```
/// use thalweg_queue::{Park, mpmc};
///
/// let (tx, rx) = mpmc::with_capacity_and_wait(4096, Park::new())?;
/// let consumer = std::thread::spawn(move || rx.pop()); // sleeps until the push
/// tx.push("hello")?;
/// assert_eq!(consumer.join().unwrap(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "alloc")]
pub fn with_capacity_and_wait<T: Send, W: Wait>(capacity: usize, wait: W) -> Result<Ends<T, W>, BuildError> {
    of_capacity(capacity, in_blocks::<T>, |blocks, entries| with_wait(blocks, entries, wait))
}

/// As [`shared`](super::shared()), with room for `capacity` items for certain, in a number of blocks chosen by [`heuristic_blocks`].
///
/// Its entries, which [`capacity`](super::Producer::capacity) says, are more: blocks are reused whole, so the last items of the oldest one keep all of its
/// entries.
///
/// ```
/// let (tx, rx) = thalweg_queue::mpmc::with_room(8)?;
/// tx.push("popped before")?;
/// rx.pop()?;
/// for word in ["all", "eight", "fit", "wherever", "the", "queue", "begins", "now"] {
///     tx.try_push(word)?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "alloc")]
pub fn with_room<T: Send>(capacity: usize) -> Result<Ends<T>, BuildError> {
    with_room_and_wait(capacity, Ordinary::default())
}

/// As [`with_room`], with ends that [wait](crate::wait) by `wait`.
#[cfg(feature = "alloc")]
pub fn with_room_and_wait<T: Send, W: Wait>(capacity: usize, wait: W) -> Result<Ends<T, W>, BuildError> {
    of_room(capacity, in_blocks::<T>, |blocks, entries| with_wait(blocks, entries, wait))
}

/// What `build` makes of blocks and entries that are at least `capacity` together. `check` refuses what it refuses of their numbers.
pub(crate) fn of_capacity<Q>(
    capacity: usize,
    check: impl Fn(usize, usize) -> Result<(), BuildError>,
    build: impl FnOnce(usize, usize) -> Result<Q, BuildError>,
) -> Result<Q, BuildError> {
    let (blocks, entries) = shape(capacity, usize::div_ceil, check)?;
    build(blocks, entries)
}

/// What `build` makes of blocks and entries that have room for `capacity` items for certain: those of all blocks but one, and one more.
/// `check` as above.
pub(crate) fn of_room<Q>(
    capacity: usize,
    check: impl Fn(usize, usize) -> Result<(), BuildError>,
    build: impl FnOnce(usize, usize) -> Result<Q, BuildError>,
) -> Result<Q, BuildError> {
    let entries = |capacity: usize, blocks| (capacity - 1).div_ceil(blocks - 1).max(1);
    let (blocks, entries) = shape(capacity, entries, check)?;
    build(blocks, entries)
}

/// What [`of_capacity`] and [`of_room`] check for queues whose entries are a `T` each, and a block has cursors of its own.
pub(crate) fn in_blocks<T>(blocks: usize, entries: usize) -> Result<(), BuildError> {
    Layout::new(blocks, entries, size_of::<T>()).map(drop)
}

/// The blocks for `capacity`, and how many `entries` each has then, if `check` allows them.
fn shape(
    capacity: usize,
    entries: impl Fn(usize, usize) -> usize,
    check: impl Fn(usize, usize) -> Result<(), BuildError>,
) -> Result<(usize, usize), BuildError> {
    BuildError::check("capacity", capacity, 1, usize::MAX)?;
    let chosen = |capacity| {
        let blocks = heuristic_blocks(capacity);
        (blocks, entries(capacity, blocks))
    };
    let is_possible = |capacity| {
        let (blocks, entries) = chosen(capacity);
        check(blocks, entries).is_ok()
    };
    if is_possible(capacity) {
        return Ok(chosen(capacity));
    }
    // Of those with as many blocks, all up to one are possible. With more blocks, which are smaller, the first may be possible where the
    // last with fewer was not.
    let (mut first, mut above) = (0, capacity);
    while first == 0 && above > 1 {
        let least = 1 << ((above - 1).ilog2() / 4 * 4);
        if is_possible(least) { first = least } else { above = least }
    }
    let max = if first == 0 { 0 } else { limits::last(first, above, is_possible) };
    Err(BuildError::TooLarge { parameter: "capacity", value: capacity, max })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::overwriting;
    use alloc::format;

    /// The capacity that a refusal of `capacity` names is possible, and one more is not; nothing is allocated.
    fn names_the_last(what: &str, capacity: usize, try_shape: impl Fn(usize) -> Result<(usize, usize), BuildError>) {
        let Err(BuildError::TooLarge { parameter: "capacity", value, max }) = try_shape(capacity) else { return };
        assert_eq!(value, capacity);
        assert!(max < capacity, "{what}: {max} of {capacity}");
        assert!(try_shape(max).is_ok(), "{what}: {max} was named for {capacity}");
        let next = try_shape(max + 1);
        assert_eq!(next, Err(BuildError::TooLarge { parameter: "capacity", value: max + 1, max }), "{what}");
    }

    fn of_items<T>() {
        let room = |capacity| of_room(capacity, in_blocks::<T>, |blocks, entries| Ok((blocks, entries)));
        let all = |capacity| of_capacity(capacity, in_blocks::<T>, |blocks, entries| Ok((blocks, entries)));
        let huge = (20..usize::BITS)
            .flat_map(|log| [(1 << log) - (1 << (log - 12)), (1 << log) - 1, 1 << log, 3 << (log - 1)]);
        for capacity in huge.chain([usize::MAX, usize::MAX - 1, usize::MAX / 2]) {
            names_the_last(&format!("room, {} bytes", size_of::<T>()), capacity, room);
            names_the_last(&format!("capacity, {} bytes", size_of::<T>()), capacity, all);
        }
        assert!(matches!(room(usize::MAX), Err(BuildError::TooLarge { .. })));
        assert!(matches!(all(usize::MAX), Err(BuildError::TooLarge { .. })));
    }

    #[test]
    fn a_refusal_names_the_last_capacity() {
        of_items::<()>();
        of_items::<u8>();
        of_items::<[u64; 3]>();
        of_items::<[u8; 1000]>();
        of_items::<[u64; 1 << 17]>();
        of_items::<[u8; (1 << 26) - 5]>();
        let check = overwriting::check::<[u32; 5]>;
        let old = |capacity| of_capacity(capacity, check, |blocks, entries| Ok((blocks, entries)));
        names_the_last("drop_old", usize::MAX, old);
        assert!(old(usize::MAX).is_err());
    }
}
