//! Virtual-Link: channels whose lines a device carries from a producer's cache into a consumer's.
//!
//! | | |
//! |---|---|
//! | order | FIFO: lines leave in the order in which they were taken, as long as the device is told to keep it |
//! | who | any number of producers and consumers of a channel, each with a line of its own, consumers also with several |
//! | items | [plain data](Item) of up to 56 bytes; several small ones travel in one line |
//! | progress | a push is answered in bounded time: taken, or `Full` |
//! | cost | one packet for a line each way; no line is shared between threads |
//!
//! From Q. Wu et al., *Virtual-Link: A Scalable Multi-Producer, Multi-Consumer Message Queue Architecture for Cross-Core
//! Communication*, IPDPS 2021, section III. The device is one that no processor has: `thalweg-sim` models it
//! ([`Supervisor::hardware`]), and natively a thread stands for it ([`Supervisor::software`]). Each line goes by way of
//! that thread, where a queue of `thalweg-queue` hands it over directly. So this crate is there to show what such a
//! device would bring.
//!
//! ```
//! use thalweg_link::{Limits, Supervisor};
//!
//! let supervisor = Supervisor::software(Limits::default())?;
//! let channel = supervisor.open("squares")?;
//! let (mut tx, mut rx) = (channel.producer::<u64>()?, channel.consumer::<u64>()?);
//! let squares = std::thread::spawn(move || (1..=10).for_each(|n| tx.collect(n * n).unwrap()));
//! let mut sum = 0;
//! while let Ok(square) = rx.pop() {
//!     sum += square;
//! }
//! assert_eq!(sum, 385);
//! squares.join().unwrap();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Different from the paper
//!
//! - A producer has one line, not a ring of lines: a push is answered before the next one. A consumer has one, or a ring with several requests under
//!   way ([`Channel::consumer_of`]). A line that is evicted, a context switch and a migration lose requests; so that they do not change
//!   the order, a line is asked for again only when the device has no older request for it ([`Requests`]). That needs no number in
//!   the line, of which one byte would be free: it could not tell lines of several producers from each other.
//! - A request is made only for a line that was empty after it was selected, and an injection ends the selection, as a
//!   foreign store ends a load-link. Otherwise asking again could overwrite what has just come.
//! - The two sides close, as those of `thalweg-queue`: a consumer asks the device what it still holds when no producer is
//!   left.
//!
//! # What is not promised
//!
//! - Order between lines across a consumer that is dropped: what it had received and not taken stays with the channel. The other
//!   consumers take it, item after item, when they find their own line empty; so it may come behind later lines.
//! - That the end comes while a consumer holds items: a consumer is told of the end when all items were taken. So a thread that has several
//!   consumers of a channel, and pops at one until the end, empties or drops the others first.
//! - Items that a producer has collected when its thread panics: they are not sent.
//! - `Full` means that the device had no room for this channel at that moment; how much there is depends on the others.
//! - A name stays until the supervisor is gone, and so do lines that nobody has taken.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests run natively"))]

mod control;
mod endpoint;
mod item;
mod queue;
mod requests;
mod router;
mod supervisor;

pub use control::Size;
pub use item::Item;
pub use queue::{Consumer, Producer};
pub use requests::Requests;
pub use router::Limits;
pub use supervisor::{Channel, LinkError, Supervisor};
