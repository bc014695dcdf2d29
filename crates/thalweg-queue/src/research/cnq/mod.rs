//! CNQ: a queue of capsules, each of which one producer fills while one consumer empties it.
//!
//! | | |
//! |---|---|
//! | order | k-FIFO: an item overtakes fewer than k others and is overtaken by fewer than k. With one consumer, each producer's items in order |
//! | who | any number of producers and consumers; handles are `Clone`, and their methods take `&mut self` |
//! | items | any `T: Send` |
//! | progress | nobody waits for anybody inside a capsule; a step to the next one is as good as the tube's |
//! | cost | a push: a store, a light fence and a load; a pop: a store. Per capsule: a push and a pop of the tube and some ten read-modify-writes |
//!
//! A FIFO queue makes all producers meet at its tail, and all consumers at its head. Here a producer meets others once per
//! capsule only. Pushes and pops in between touch words that two threads share, as in a queue for one and one, and an item
//! can be popped as soon as it is pushed: capsules are not batches.
//!
//! ```
//! use std::thread;
//!
//! let (tx, mut rx) = thalweg_queue::research::cnq::cnq(1024, 64)?; // room for 1024 items, 64-FIFO
//! thread::scope(|scope| {
//!     for producer in 0..2 {
//!         let mut tx = tx.clone();
//!         scope.spawn(move || (0..100).for_each(|n| tx.push(producer * 100 + n).unwrap()));
//!     }
//!     drop(tx);
//!     let mut sum = 0;
//!     while let Ok(number) = rx.pop() {
//!         sum += number;
//!     }
//!     assert_eq!(sum, (0..200).sum());
//! });
//! # Ok::<(), thalweg_queue::BuildError>(())
//! ```
//!
//! # What the answers mean
//!
//! | answer | means |
//! |---|---|
//! | `try_push`: `Full` | no capsule is free, or all others wait in the tube; so at least one item waits, or is half-way. Each capsule that is not free has an item that waits, or a producer or a consumer that has not left it |
//! | `try_push`: `Busy` | the tube was `Busy` |
//! | `try_pop`: `Empty` | a producer is there, and no item is in the queue but in capsules that other consumers hold |
//! | `try_pop`: `Busy` | items are in the queue, and may not be taken before older ones: another consumer holds those, or their push is half-way; or every producer is gone, and other consumers hold what is left |
//! | `try_pop`: `Closed` | every producer is gone and no item is left, in no capsule |
//!
//! Neither `Full` nor `Empty` is linearizable. Items that a consumer holds are those left in the capsule it popped from
//! last. A pop looks at what consumers have left behind, and then into the tube: of two others, one may leave items behind after the first look,
//! and the other one take the last capsule before the second. So `Empty` was true of each, and need not be of both at one instant.
//!
//! # Capacity
//!
//! `capacity` is the number of entries: one producer that pushes and does not flush fills them all. A capsule that is closed before its
//! end takes its place whole, and so does one that a handle keeps. So of `n` capsules, of which handles that pause keep `m`, only `n - m`
//! items are certain to fit, and always one. A capsule that a consumer has given back empty before its producer left it is free again when a
//! consumer looks for items next. Over a tube that has room for more than `n`, the spare capsule (below) may add one item to all of them.
//!
//! # Threads that pause
//!
//! A producer keeps its capsule open, and a consumer keeps the one it pops from. Items pushed are there at once, so a
//! producer that pauses hides nothing, but it may keep one capsule from being used again until it pushes, is
//! dropped, or calls [`Producer::flush`]. A consumer that pauses keeps up to one capsule of items from the others until it pops, is
//! dropped, or calls [`Consumer::flush`]; until then they get no further than the window that begins with it. A capsule of which nothing
//! is left does not stop them, but is not used again before. A handle keeps at most one, and one that waits in a push keeps none.
//!
//! So there should be more capsules than handles that pause without `flush`; [`cnq()`] makes `capacity` / `entries` of them. With fewer, all of
//! them may be kept while the queue is empty. Then there is a spare capsule, which takes one item at a time and which nobody
//! keeps: pushes go on, each by a capsule of its own and after the item of the one before was popped.
//!
//! Under [`Park`](crate::Park) a push wakes every consumer that sleeps, as only the one that has the capsule, or any but that one, may
//! see the item: not for many consumers that sleep while single items come.
//!
//! # Shape
//!
//! Every capsule has `entries` places and a number. Producers fill at most D capsules with consecutive numbers at a time, and
//! consumers empty at most D. An item can overtake, and be overtaken by, the items of the D - 1 capsules before its own and
//! the D - 1 after it: (2D - 2) · `entries` < k. So D is k / (2 · `entries`), rounded up. With D = 1, which is k ≤
//! 2 · `entries`, the queue is FIFO, and producers drive each other out of their capsules: with fewer than D of them
//! they do not.
//!
//! # Source
//!
//! From J. Wang, *Block-based queues* (thesis), chapter 3; names as there where they exist. Different from there:
//!
//! - The tube carries indices of capsules, and the set of free ones is apart. A capsule that somebody keeps does not keep a
//!   place in the tube, a block of it, or its order: any FIFO queue can be the tube, and k-FIFO does not rest on it. As printed, an idle
//!   producer keeps a place of the tube, and a queue with nothing in it may refuse a push (errata E8).
//! - A capsule gets its number with its first item in it, after the capsule at the other end of the window is closed. So
//!   there are no empty capsules, a full queue drives nobody out, nothing can be closed before it is open and then be
//!   opened again (errata E9), and a window cannot be violated by a thread that stops between two steps.
//! - An item counts if it is before the capsule's limit, which one exchange sets; as printed, a put into a capsule that is
//!   closed meanwhile is delivered twice (errata E7). Puts are stores, and who closes a capsule uses a heavy fence.
//! - *Finished* means that every item is taken, whoever keeps the capsule, and anybody may note it. As printed it waits for the producer,
//!   and an idle one stops all consumers (errata E8).
//! - *Finished* stands with the number, in a seat that only the next lap of numbers overwrites, so that nothing late can undo it. As
//!   printed it is a flag of the capsule, and with fewer than 2D capsules a late store erases a newer one (errata E10).
//! - A consumer that finds its capsule empty puts it among the fragments, open as it is, and looks for another: among all
//!   fragments, and then in the tube. The thesis does not say how `can_advance` looks, and where fragments older than the own capsule are left
//!   out, nobody finds them (errata E18). A capsule is closed by consumers only when its number holds up the window.
//! - A consumer that found few entries waits a fraction of a microsecond before it looks again, and not after it found none.
//! - An end that was refused, and has no capsule, looks before it takes: refusals in a row write nothing.
//! - D is rounded up, not down, so that it is never zero. The numbers before the first count as finished: the first D capsules have those
//!   before them, of which the thesis does not say what they are (errata E13).
//! - `Empty` promises only that no item is outside of the capsules that other consumers hold. The thesis promises an item whenever there
//!   are more than k: consumers that pause may hold more than that among them, and others find nothing (errata E17).
//! - `dequeue` returns the last item of a capsule, too: as printed, a `return` is missing there, and the item is lost
//!   (errata E11).
//! - There is one capsule more, so that those kept by idle threads never refuse an item to an empty queue.
//! - `Closed`, `Full`, `Empty` and `Busy` are told apart; handles close and hand over by being dropped.
//!
//! # Invariants
//!
//! - **C1** A capsule has at most one producer and one consumer at a time. The producer's right comes from the set of free
//!   capsules and ends when it leaves. The consumer's right is in the tube, in the set of fragments, or in one handle,
//!   and ends when it leaves. The capsule is free again when both have left.
//! - **C2** All words of a capsule carry its number. Who has found a capsule by a number changes nothing in it under another.
//! - **C3** When number n is given, every capsule with a number up to n - D is full or closed.
//! - **C4** The entries of a capsule that count are those before its limit: the number of entries, or what the exchange to
//!   *closed* wrote. Consumers take only entries that count; producers take back only one that does not.
//! - **C5** Of the numbers that were given, from the oldest unfinished one on, those within D of it may be finished, and each
//!   other has a capsule of its own.
//! - **C6** A consumer takes from number n only when every number up to n - D is finished, and a number is finished when all
//!   its entries that count are taken.
//! - **C7** The spare capsule is begun closed, with the one entry that counts. So its producer leaves it in that push, and its consumer
//!   in the pop that takes the entry.

mod capsule;
mod handles;
mod numbers;
mod set;
mod shared;
mod word;

pub use handles::{Consumer, Producer};

use crate::BuildError;
use crate::research::tube::{Tube, scqd::Scqd};
use crate::wait::{Ordinary, Wait};
use shared::Shared;
use thalweg_sync::sync::Arc;

/// The most entries that a capsule can have, and the most capsules.
const MAX_ENTRIES: usize = (1 << 20) - 1;

/// The tube of [`cnq`].
pub type DefaultTube = Scqd<u32>;

/// A k-FIFO queue with room for about `capacity` items.
///
/// With a larger `k` it is faster: a capsule has about k / 16 entries (at least 1, at most 128), and eight producers can fill capsules without
/// driving each other out. See the [module](self) for what else counts as taken room, and [`over`] to choose the shape: with few producers
/// larger capsules are faster, as a step to another one moves some ten lines between cores.
///
/// `BuildError` if
///
/// - `capacity` is below 2, or above what 2^20 - 1 capsules hold: 2^20 - 1 items for a `k` below 32, and 128 times as many from 2048 on;
/// - `k` is 0 or above `capacity`;
/// - there is not so much memory: the entries, of one capsule more than `capacity` needs, and less than a thousand bytes per capsule.
///
/// ```
/// let (mut tx, mut rx) = thalweg_queue::research::cnq::cnq(4096, 1024)?;
/// tx.push("hello")?;
/// assert_eq!(rx.pop()?, "hello");
/// drop(tx);
/// assert!(rx.pop().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cnq<T: Send>(capacity: usize, k: usize) -> Result<Ends<T>, BuildError> {
    cnq_with_wait(capacity, k, Ordinary::default())
}

/// As [`cnq()`], with ends that [wait](crate::wait) by `wait`. Refused as there.
///
/// A consumer that sleeps is woken by every push, as it may be the only one that can see the item.
///
/// ```
/// use thalweg_queue::{Park, research::cnq};
///
/// let (mut tx, mut rx) = cnq::cnq_with_wait(4096, 1024, Park::new())?;
/// let consumer = std::thread::spawn(move || rx.pop()); // sleeps until the push
/// tx.push("hello")?;
/// assert_eq!(consumer.join().unwrap(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cnq_with_wait<T: Send, W: Wait>(capacity: usize, k: usize, wait: W) -> Result<Ends<T, W>, BuildError> {
    // How many items all capsules hold at most that have `entries` entries each: there is a spare one.
    let most = |entries: usize| entries * most_capsules::<T>(entries, 1);
    BuildError::check("capacity", capacity, 2, usize::MAX)?;
    BuildError::check("k", k, 1, capacity.min(most(128)))?;
    // Eight capsules at least, and a window of about eight.
    let entries = (k / 16).min(capacity / 8).clamp(1, 128);
    BuildError::check("capacity", capacity, 2, most(entries))?;
    let capsules = capacity.div_ceil(entries);
    with_wait(Scqd::new(capsules)?, capsules, entries, k, wait)
}

/// A k-FIFO queue of `capsules` capsules with `entries` entries each, over `tube`.
///
/// The tube must have room for all capsules; `k` is at least 1 and at most the number of all entries.
///
/// ```
/// use thalweg_queue::{research::{cnq, tube::ring}};
///
/// let (mut tx, mut rx) = cnq::over(ring::Rts::new(16)?, 16, 4, 32)?;
/// assert_eq!((tx.capacity(), tx.k()), (64, 32));
/// tx.push('a')?;
/// assert_eq!(rx.pop()?, 'a');
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// What cannot be is refused:
///
/// ```
/// use thalweg_queue::{research::{cnq, tube::ring}};
///
/// let refused = cnq::over::<u8, _>(ring::Mt::new(8)?, 16, 4, 32).unwrap_err();
/// assert_eq!(refused.to_string(), "the tube's capacity must be at least 16, not 8");
/// let refused = cnq::over::<u8, _>(ring::Mt::new(16)?, 16, 4, 65).unwrap_err();
/// assert_eq!(refused.to_string(), "k must be at most 64, not 65");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn over<T: Send, Q: Tube<Item = u32>>(
    tube: Q,
    capsules: usize,
    entries: usize,
    k: usize,
) -> Result<Ends<T, Ordinary, Q>, BuildError> {
    with_wait(tube, capsules, entries, k, Ordinary::default())
}

/// As [`over`], with ends that wait as `wait` does.
///
/// A consumer that sleeps is woken by every push, as it may be the only one that can see the item.
///
/// ```
/// use thalweg_queue::{Park, research::{cnq, tube::scqd::Scqd}};
///
/// let (mut tx, mut rx) = cnq::with_wait(Scqd::new(16)?, 16, 4, 32, Park::new())?;
/// let consumer = std::thread::spawn(move || rx.pop());
/// tx.push(7)?;
/// assert_eq!(consumer.join().unwrap(), Ok(7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_wait<T: Send, W: Wait, Q: Tube<Item = u32>>(
    tube: Q,
    capsules: usize,
    entries: usize,
    k: usize,
    wait: W,
) -> Result<Ends<T, W, Q>, BuildError> {
    BuildError::check("capsules", capsules, 2, usize::MAX)?;
    build(0, tube, (capsules, 1), (entries, k), wait)
}

/// The two ends of a queue.
pub type Ends<T, W = Ordinary, Q = DefaultTube> = (Producer<T, W, Q>, Consumer<T, W, Q>);

/// As [`over`], with the first capsule at `number`: tests start near the wrap. One capsule will do, and there is no spare one, as in
/// the thesis' clients.
#[doc(hidden)]
pub fn starting_at<T: Send, Q: Tube<Item = u32>>(
    number: u64,
    tube: Q,
    capsules: usize,
    entries: usize,
    k: usize,
) -> Result<Ends<T, Ordinary, Q>, BuildError> {
    build(number, tube, (capsules, 0), (entries, k), Ordinary::default())
}

/// How many capsules of so many entries there can be, beside the spare ones.
fn most_capsules<T>(entries: usize, spare: usize) -> usize {
    let memory = isize::MAX as usize / size_of::<T>().max(1) / entries.max(1);
    memory.saturating_sub(spare).min(MAX_ENTRIES)
}

fn build<T: Send, W: Wait, Q: Tube<Item = u32>>(
    number: u64,
    tube: Q,
    (capsules, spare): (usize, usize),
    (entries, k): (usize, usize),
    wait: W,
) -> Result<Ends<T, W, Q>, BuildError> {
    let most = if capsules > MAX_ENTRIES { most_capsules::<T>(entries, spare).max(2) } else { MAX_ENTRIES };
    BuildError::check("capsules", capsules, 1, most)?;
    let memory = isize::MAX as usize / size_of::<T>().max(1) / (capsules + spare);
    BuildError::check("entries", entries, 1, memory.min(MAX_ENTRIES))?;
    BuildError::check("k", k, 1, capsules * entries)?;
    BuildError::check("the tube's capacity", tube.capacity(), capsules, usize::MAX)?;
    thalweg_sync::fence::prepare();
    let shared = Arc::new(Shared::new(number, tube, (capsules, spare), entries, k, wait)?);
    // What is in it would be taken for capsules of ours. Not asked earlier, as on a stack: an engine that has lines sees the steps of this.
    BuildError::check("the number of items in the tube", shared.tube.len(), 0, 0)?;
    Ok((Producer::new(shared.clone()), Consumer::new(shared)))
}
