//! DANBI's shared queue: parts of it are reserved, and committed in the order of the reservations; pops issue tickets, by
//! which pushes keep the order of pops.
//!
//! | | |
//! |---|---|
//! | order | FIFO, linearizable, refusals one by one ([crate page](crate#what-is-promised)); pushes take effect in the order of their reservations |
//! | who | any number of producers and consumers; handles are `Clone` and their methods take `&self` |
//! | items | any `T: Send`; windows that overlap, `T: Copy + Sync` |
//! | progress | a reservation waits for no other one's end, nor does an end. Items behind a reservation that has not ended are held back by it: `Busy` |
//! | cost | a reservation: one compare-and-exchange. Its end: one store, one fence, and one compare-and-exchange if all before it have ended; whatever is ready behind it goes along |
//!
//! A kernel that many threads run takes a few items, works, and has to hand its results on in the order of what it took.
//! Here both ends of that are one thing: a span of positions that somebody has, and that takes effect in its turn.
//!
//! ```
//! use thalweg_queue::research::ticketed;
//!
//! // Moving averages over three numbers, by several threads, in order.
//! let (numbers_tx, numbers) = ticketed::with_counters(64, 1)?;
//! let (averages_tx, averages) = ticketed::ticketed(64)?;
//! std::thread::scope(|scope| {
//!     for _ in 0..4 {
//!         let (numbers, averages) = (numbers.clone(), averages_tx.clone());
//!         scope.spawn(move || {
//!             while let Ok(window) = numbers.window(3, 1) {
//!                 let average = window.iter().sum::<u32>() / 3;
//!                 let ticket = window.commit();
//!                 let mut out = averages.reserve_in_turn(1, &ticket, 0).unwrap();
//!                 out.push(average).unwrap();
//!             }
//!         });
//!     }
//!     drop(averages_tx);
//!     scope.spawn(move || (0..100).for_each(|number| numbers_tx.push(number).unwrap()));
//!     for number in 1..99 {
//!         assert_eq!(averages.pop(), Ok(number));
//!     }
//!     assert!(averages.pop().is_err());
//! });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From C. Min, Y. I. Eom, *DANBI: Dynamic Scheduling of Irregular Stream Programs for Many-Core Systems*, PACT 2013, section II
//! (data queue, ticket synchronization) and Table I. The paper leaves the data structure out (errata E24); section III says that
//! it waits for commits in a list like that of an MCS lock, and for tickets in an array. Different here:
//!
//! - **An end does not wait.** In a list the one in front hands over to the one behind, so each waits for its turn to end; if the
//!   one in front is suspended, or a task on the same worker, all behind it wait with their threads. Here an end writes one word of its
//!   own and whoever is at the front takes along what is ready, as in DPDK's staged ordered ring. No two threads wait at
//!   one line, because none waits.
//! - **Tickets are positions.** A pop reservation draws its place in the order with the very exchange that reserves, so issuing
//!   costs nothing and cannot be overtaken by the reservation. A turn is noted in the word of the position whose turn it is:
//!   who waits for it reads its own word, and neighbouring words are two lines apart.
//! - **Guards.** A grant that is dropped before it is full leaves holes, which pops pass over; a ticket that is dropped is consumed.
//!   A panic in a kernel stops nobody.
//!
//! # Capacity
//!
//! `capacity` entries, a power of two, reserved and committed ones together. Tickets that are out may span as many positions:
//! pops are `Busy` beyond that.
//!
//! # What the answers mean
//!
//! Of `count` entries, which is 1 where no count is said:
//!
//! | answer | at one instant between call and return |
//! |---|---|
//! | push: `Full` | more than `capacity - count` entries are reserved for pushes, ended or not, and not reserved for pops |
//! | push: `Busy` | there is room but for pops that have begun and not ended; or it is not the ticket's turn |
//! | pop: `Empty` | fewer than `count` entries are reserved for pushes and not for pops |
//! | pop: `Busy` | else there are too few that are committed, as pushes have not ended; or so many tickets are out that those at the front have to be served first |
//! | either: `Closed` | no handle of the other side is left, and for a pop no item |
//!
//! Under [`Park`](crate::Park) whoever passes spans wakes all that sleep on the other side, as each may wait for another number of
//! entries. A span that ends behind one that has not wakes nobody.
//!
//! `reserve` and `window` wait; elsewhere in this crate `reserve` does not, and here that is `try_reserve`. `reserve_timeout`, `reserve_async` and
//! their likes wait for some time, and as futures. One that is given up has reserved nothing, issued no ticket, and served none: the ticket
//! it waited with keeps its turn, to be used or dropped.
//!
//! # Deadlocks
//!
//! [`Producer::reserve_in_turn`] waits for its turn first and for room then, so that room is never held by a ticket that waits for
//! another. So do its other forms. Reserving room without the ticket and waiting for its turn afterwards may wait for ever: a ticket before it may
//! need that room. So may a cycle of queues that are all full, and a thread that reserves again what it has reserved and not ended.
//!
//! # Invariants
//!
//! - **T1** A position goes once to a producer, whose exchange moved `allocated` past it, and only when the round before is consumed; the
//!   entry is that producer's until its span is passed in `committed`.
//! - **T2** A position goes once to a consumer, whose exchange moved `reserved` past it, and only when it is committed; the entry is not
//!   written again until that consumer's span is passed in `consumed`.
//! - **T3** Besides its consumer, those look at an entry whose windows began before it, and only if items are `Copy`: nobody moves or drops
//!   what others look at. Their spans come before its consumer's, so they too have ended when it is passed.
//! - **T4** `consumed ≤ reserved ≤ committed ≤ allocated ≤ consumed + capacity`; none ever goes back. Positions are 62 bits wide and do
//!   not wrap: that is a hundred years.

mod order;
mod pop;
mod push;
mod ring;
mod ticket;

pub use pop::{Consumer, Take, Window};
pub use push::{Grant, Producer};
pub use ticket::Ticket;

use crate::BuildError;
use crate::wait::{Ordinary, Wait};
use ring::{Owned, Ring};
use thalweg_sync::sync::Arc;

/// The two ends of a queue.
pub type Ends<T, W = Ordinary> = (Producer<T, W>, Consumer<T, W>);

/// A queue of `capacity` entries, a power of two. Its tickets are served nowhere.
///
/// `BuildError` if `capacity` is not possible. Memory: the entries, and two words for each.
pub fn ticketed<T: Send>(capacity: usize) -> Result<Ends<T>, BuildError> {
    with_wait(capacity, 0, Ordinary::default())
}

/// As [`ticketed`], with `counters` counters, at most 64, each of which serves every ticket once.
///
/// Take one for each queue that is pushed to in the order of pops from this one. Memory: one word more per entry and counter.
pub fn with_counters<T: Send>(capacity: usize, counters: usize) -> Result<Ends<T>, BuildError> {
    with_wait(capacity, counters, Ordinary::default())
}

/// As [`with_counters`], with ends that [wait](crate::wait) by `wait`.
///
/// ```
/// use thalweg_queue::{Park, research::ticketed};
///
/// let (tx, rx) = ticketed::with_wait(8, 0, Park::new())?;
/// let consumer = std::thread::spawn(move || rx.pop()); // sleeps until the push
/// tx.push("hello")?;
/// assert_eq!(consumer.join().unwrap(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_wait<T: Send, W: Wait>(capacity: usize, counters: usize, wait: W) -> Result<Ends<T, W>, BuildError> {
    let ring = Arc::new(Owned(Ring::new(capacity, counters, wait)?));
    Ok((Producer { ring: ring.clone() }, Consumer { ring }))
}

/// How many entries somebody asks for, who says so as `what`.
#[track_caller]
fn checked(what: &str, count: usize, most: usize) -> u64 {
    assert!((1..=most).contains(&count), "{what} must be 1 to {most}, not {count}");
    count as u64
}
