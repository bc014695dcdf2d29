//! A mesh: M producers and N consumers, connected by queues of one producer and one consumer each.
//!
//! | | |
//! |---|---|
//! | order | FIFO from each producer to each consumer, until a consumer goes on with rings that another has left: then in each ring; none between producers, and none between consumers |
//! | who | as many producers and consumers as asked for when it is built, each with its own handle; handles are not `Clone` |
//! | items | any `T: Send` |
//! | progress | `try_push` and `try_pop` are wait-free, but for the allocator when a ring grows, and for taking over rings that another consumer has left |
//! | cost | a push or pop of a [`chunk_ring`](mod@crate::growing): no read-modify-write, and no line that more than two threads write. A refused push has tried all rings of its producer, an empty pop all of its consumer |
//!
//! From Q. Wu et al., *BLQ: Light-Weight Locality-Aware Runtime for Blocking-Less Queuing*, CC 2024, section 3.4: as many
//! rings as the least common multiple of M and N. Ring `i` leads from producer `i % M` to consumer `i % N`, so each producer
//! has `N / gcd(M, N)` rings, each consumer `M / gcd(M, N)`, and no two rings connect the same pair. With M = N a producer has
//! one ring, to one consumer. Producers go round their rings item by item, past those that are full; consumers take up to
//! [`BURST`] items from a ring before they go on to the next. A batch or a grant goes to one ring as far as its chunk has room,
//! and the rest to the next. Different from the paper: ends close and leave.
//!
//! ```
//! let (producers, consumers) = thalweg_queue::research::mesh::mesh(2, 3, 64, 1024)?;
//! assert_eq!(producers[0].rings(), 3); // six rings in all
//! std::thread::scope(|scope| {
//!     for mut tx in producers {
//!         scope.spawn(move || (0..300).for_each(|number| tx.push(number).unwrap()));
//!     }
//!     let sums: Vec<_> = consumers
//!         .into_iter()
//!         .map(|mut rx| scope.spawn(move || std::iter::from_fn(|| rx.pop().ok()).sum::<u32>()))
//!         .collect();
//!     let sum: u32 = sums.into_iter().map(|sum| sum.join().unwrap()).sum();
//!     assert_eq!(sum, 2 * (0..300).sum::<u32>());
//! });
//! # Ok::<(), thalweg_queue::BuildError>(())
//! ```
//!
//! # When to take it
//!
//! Where every thread is busy, the numbers of both sides are small and fixed, and one divides the other: then there are few
//! rings, and no line is fought for. Not with numbers like 4 and 3: that makes twelve rings to go round, and a slow consumer
//! keeps what is in its rings to itself. [`bbq`](mod@crate::mpmc) gives each item to whoever comes first, in one order for all.
//! Under [`Park`](crate::Park) a push wakes every consumer that sleeps, as the mesh has one list of them.
//!
//! # What the answers mean
//!
//! | answer | means |
//! |---|---|
//! | `try_push`: `Full` | each ring of this producer was full, one after the other; rings of other producers may have room |
//! | `try_pop`: `Empty` | each ring of this consumer was empty, one after the other, and some ring is not drained or may get items yet: another consumer's too, which may leave it to this one |
//! | `try_push`: `Closed` | every consumer is gone |
//! | `try_pop`: `Closed` | every producer is gone, and every ring was drained by its consumer. All consumers get it, and it is final |
//!
//! `Full` and `Empty` are not linearizable, as the rings are not seen at one instant. Neither is ever `Busy`.
//!
//! # Leaving
//!
//! - A producer that leaves closes its rings; what is in them is popped as before.
//! - A consumer that leaves hands its rings to those that stay: whoever comes by first goes on with them, when it has been
//!   round its own. So what was pushed is popped as long as a consumer stays to the end, and the end is one for all: a consumer
//!   whose own rings are drained waits for the others', as it may have to go on with them. A consumer that is kept and not popped from
//!   keeps the others from the end: drop it. For the same reason one thread cannot drain consumers one after the other by `pop`; by
//!   `try_pop` in turns it can.
//! - When the last consumer leaves, what is in the rings is dropped, and pushes are refused.
//! - `close` of any end closes the mesh for all: consumers drain their rings and then wait for the others, as at the other end.
//!
//! # Invariants
//!
//! - **M1** Each end of a ring has one owner: a handle, or the list of rings that were left. Both hand it on by value.
//! - **M2** A ring is taken off a handle's list only when it can never be used by it again: closed, it or the mesh, and for a consumer
//!   drained.
//! - **M3** A ring counts as undrained until a consumer takes it off its list by M2, or leaves with it in that state. One that is handed
//!   on still counts.

mod consumer;
mod producer;

pub use consumer::{BURST, Consumer};
pub use producer::Producer;

use crate::edges::edge;
use crate::handles::Handles;
use crate::wait::{Ordinary, Side, Wait};
use crate::{BuildError, Yield, growing, memory, mpmc};
use alloc::vec::Vec;
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::{Acquire, Release};
use thalweg_sync::sync::Arc;

/// All ends of a mesh.
pub type Ends<T, W = Ordinary> = (Vec<Producer<T, W>>, Vec<Consumer<T, W>>);

/// A mesh whose rings have `first` entries each, and may grow to `most`.
///
/// `BuildError` if there are no producers or no consumers, if there would be more than 2^16 rings, or if
/// [`chunk_ring()`](crate::growing::chunk_ring()) refuses the sizes. Memory: that of the rings.
pub fn mesh<T: Send>(producers: usize, consumers: usize, first: usize, most: usize) -> Result<Ends<T>, BuildError> {
    with_wait(producers, consumers, first, most, Ordinary::default())
}

/// As [`mesh`], with ends that [wait](crate::wait) by `wait`.
///
/// ```
/// use thalweg_queue::{Park, research::mesh};
///
/// let (mut producers, mut consumers) = mesh::with_wait(1, 1, 64, 1024, Park::new())?;
/// let (mut tx, mut rx) = (producers.remove(0), consumers.remove(0));
/// let consumer = std::thread::spawn(move || rx.pop()); // sleeps until the push
/// tx.push("hello")?;
/// assert_eq!(consumer.join().unwrap(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_wait<T: Send, W: Wait>(
    producers: usize,
    consumers: usize,
    first: usize,
    most: usize,
    wait: W,
) -> Result<Ends<T, W>, BuildError> {
    const MOST: usize = 1 << 16;
    BuildError::check("producers", producers, 1, usize::MAX)?;
    BuildError::check("consumers", consumers, 1, usize::MAX)?;
    let of = |producers: usize, consumers: usize| (producers / gcd(producers, consumers)).saturating_mul(consumers);
    let rings = of(producers, consumers);
    if rings > MOST {
        // Which numbers are possible depends on their divisors: the largest that is, below the one that is not.
        let largest = |value: usize, rings: &dyn Fn(usize) -> usize| {
            (1..value.min(MOST + 1)).rev().find(|fewer| rings(*fewer) <= MOST).unwrap_or(MOST)
        };
        let (parameter, value, max) = if producers > MOST {
            ("producers", producers, largest(producers, &|producers| of(producers, consumers)))
        } else {
            ("consumers", consumers, largest(consumers, &|consumers| of(producers, consumers)))
        };
        return Err(BuildError::TooLarge { parameter, value, max });
    }
    let shared =
        Arc::new(Shared { wait, handles: Handles::of(producers, consumers), undrained: AtomicUsize::new(rings) });
    // Room for all rings, also while the oldest block is being read.
    let (leave, left) = mpmc::with_wait(2, rings, Yield)?;
    let mut writing = memory::try_boxed((0..producers).map(|_| memory::room(rings / producers)))?.into_vec();
    let mut reading = memory::try_boxed((0..consumers).map(|_| memory::room(rings / consumers)))?.into_vec();
    for ring in 0..rings {
        let (tx, rx) = growing::chunk_ring_with_wait(first, growing::Most::Entries(most), Yield)?;
        writing[ring % producers].push(tx);
        reading[ring % consumers].push(rx);
    }
    Ok((
        writing.into_iter().map(|rings| Producer::new(rings, shared.clone(), consumers)).collect(),
        reading
            .into_iter()
            .map(|rings| Consumer::new(rings, shared.clone(), producers, leave.clone(), left.clone()))
            .collect(),
    ))
}

/// What all ends share.
#[derive(Debug)]
struct Shared<W> {
    wait: W,
    handles: Handles,
    /// How many rings are not known to be drained for good (M3).
    undrained: AtomicUsize,
}

impl<W: Wait> Shared<W> {
    /// A producer has closed its rings.
    fn leave_producer(&self) {
        // (mesh.1) Release, pairs with (mesh.2): what it pushed comes before the count.
        self.handles.producers.leave(edge("mesh.1", Release));
        self.wait.notify_all();
    }

    /// Whether every producer is gone; if so, all that they pushed is visible now.
    fn producers_gone(&self) -> bool {
        // (mesh.2) Acquire, pairs with (mesh.1) and (handles.3): Relaxed could report the end before the last items.
        self.handles.producers.is_gone(edge("mesh.2", Acquire))
    }

    /// A ring was drained for good. Tells all consumers if it was the last.
    fn drained(&self) {
        // (mesh.3) Release, pairs with (mesh.4): what was done with a ring, on either end, comes before its count.
        if self.undrained.fetch_sub(1, edge("mesh.3", Release)) == 1 {
            self.wait.notify(Side::Items, usize::MAX, || true);
        }
    }

    /// Whether every ring was drained for good. Then it stays so.
    fn is_drained(&self) -> bool {
        // (mesh.4) Acquire, pairs with (mesh.3): who sees the end comes after all that producers did, those without a ring to it
        // included. Relaxed would be the end of the items alone.
        self.undrained.load(edge("mesh.4", Acquire)) == 0
    }
}

const fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}
