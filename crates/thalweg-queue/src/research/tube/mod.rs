//! Tubes: queues cut into their three phases, and four of them.
//!
//! A push takes an entry, fills it and hands it on; a pop takes an entry, empties it and hands it back. A [`Tube`] gives
//! the steps one by one, so that more than copying a value can happen in between, and so that another queue can be
//! built on any of them: [`cnq`](crate::research::cnq) is.
//!
//! | step | who may touch the entry from then on |
//! |---|---|
//! | [`allocate`](Tube::allocate) | one producer |
//! | [`produce`](Tube::produce) | any consumer, but none yet |
//! | [`reserve`](Tube::reserve) | one consumer |
//! | [`consume`](Tube::consume) | any producer, but none yet |
//!
//! | tube | order | progress | cost, push + pop |
//! |---|---|---|---|
//! | [`ring::Mt`] | FIFO | a thread stopped half-way stops its whole side, which spins | one CAS each, and a wait for those before |
//! | [`ring::Rts`] | FIFO | a thread stopped half-way hides what came since nobody was half-way, and nobody spins | two CAS each |
//! | [`ring::Hts`] | FIFO | one thread at a time on each side, others are `Busy` | one CAS each |
//! | [`scqd::Scqd`] | FIFO by the time of `produce` | nobody waits for anybody | two FAA and two CAS each |
//! | [`faaq::Faaq`](crate::research::faaq::Faaq) | FIFO | a thread stopped half-way holds up those behind it, who are `Busy`; nobody spins but who drew a ticket too late | a FAA for a push, two for a pop |
//! | [`faaq::Bbq`](crate::research::faaq::Bbq) | FIFO | the same, and nobody spins | a FAA for a push, a CAS and a FAA for a pop |
//!
//! What is produced can be reserved as soon as what was allocated before it is produced too, and in `Scqd` at once: an entry behind it
//! that is half-way holds nothing back. `Rts` is the exception: there it is delivered when no producer is half-way, which producers that
//! never rest bring about only where they are refused, an eighth of the capacity after the last time.
//!
//! Each is a queue of its own with [`queue`], which speaks the words of this crate. Alone or not, a tube that is dropped drops the items
//! that could still be reserved. It leaks those that cannot: in an entry that was reserved and not consumed, or behind one that was
//! allocated and not produced.
//!
//! A thread may have several entries of a side at once. It hands them on in the order in which it took them: `Mt` waits for those
//! before, and so would wait for itself, for ever. The other tubes take any order.
//!
//! What its answers mean, at one instant between call and return:
//!
//! | tube | `Full` | `Empty` | `Busy` |
//! |---|---|---|---|
//! | the rings | `capacity` entries are allocated and not reserved | none is allocated and not reserved | neither: threads that are half-way, on either side, have what there is. [`Rts`](ring::Rts): or an eighth of the capacity is half-way on this side. [`Hts`](ring::Hts): or any entry is |
//! | [`Scqd`](scqd::Scqd) | all entries are filled, or half-way | none is filled | never |
//! | [`Faaq`](crate::research::faaq::Faaq), [`Bbq`](crate::research::faaq::Bbq) | as in [`bbq`](crate::mpmc#what-the-answers-mean) | the same | the same; of `Faaq` also where all items of a block have consumers, some of which are half-way, and who drew a ticket too late waits, see [there](crate::research::faaq) |
//!
//! ```
//! use thalweg_queue::research::tube::{queue, scqd::Scqd};
//!
//! let (tx, rx) = queue(Scqd::new(64)?);
//! tx.push("a")?;
//! tx.clone().push("b")?;
//! assert_eq!((rx.pop()?, rx.pop()?), ("a", "b"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From J. Wang, *Block-based queues* (thesis), sections 3.3.1 and 3.7. Different from there: refusals say `Full`, `Empty`
//! and `Busy` apart (there, null is all of them, and a conflict too, so that a queue may look full or empty that is neither: errata E16);
//! entries are not addressed by index; a value travels, so that `put` and `get` are part of `produce` and `consume`.

mod handles;
pub mod ring;
pub mod scqd;

pub use handles::{Consumer, Ends, Producer, queue, with_wait};

use core::fmt;

/// A bounded queue in three phases, for any number of threads on either side.
///
/// Between its two halves an operation is *half-way*. What that means to others is in the table of the
/// [module](self).
///
/// # Safety
///
/// An entry belongs to the caller alone from `allocate` to `produce` and from `reserve` to `consume`, each produced value
/// is reserved once, and what happens before `produce` happens before the `consume` of that entry.
pub unsafe trait Tube: Send + Sync + fmt::Debug {
    /// What travels.
    type Item: Send;
    /// An entry between `allocate` and `produce`.
    type Allocated;
    /// An entry between `reserve` and `consume`.
    type Reserved;

    /// Takes an entry to fill.
    ///
    /// An entry that is taken and never produced stays taken, and may hide all that come after it. Who takes several
    /// produces them in the order in which they were taken; only [`Mt`](ring::Mt) waits for ever otherwise.
    fn allocate(&self) -> Result<Self::Allocated, AllocateError>;

    /// Fills the entry and hands it to the consumers.
    ///
    /// # Safety
    ///
    /// The entry is this tube's.
    unsafe fn produce(&self, entry: Self::Allocated, item: Self::Item);

    /// Takes the oldest filled entry.
    ///
    /// An entry that is taken and never consumed stays taken, and its item is leaked. For several, as in
    /// [`allocate`](Self::allocate).
    fn reserve(&self) -> Result<Self::Reserved, ReserveError>;

    /// Empties the entry and hands it back to the producers.
    ///
    /// # Safety
    ///
    /// The entry is this tube's.
    unsafe fn consume(&self, entry: Self::Reserved) -> Self::Item;

    /// As [`consume`](Self::consume), and drops the item: where it lies, if the tube can. The entry is handed back also if the item's
    /// destructor panics.
    ///
    /// # Safety
    ///
    /// The entry is this tube's.
    unsafe fn discard(&self, entry: Self::Reserved) {
        // SAFETY: the caller's promise.
        drop(unsafe { self.consume(entry) });
    }

    /// What `allocate` would find. Writes nothing, so it can be waited for.
    fn can_allocate(&self) -> Result<(), AllocateError>;

    /// What `reserve` would find. Writes nothing, so it can be waited for.
    fn can_reserve(&self) -> Result<(), ReserveError>;

    /// How many items fit for certain when nobody is half-way.
    fn capacity(&self) -> usize;

    /// How many items are produced and not reserved, lately. Exact when nobody else uses the tube, but of `Scqd`, where a ticket that was passed over may
    /// count; zero is exact there too.
    fn len(&self) -> usize;

    /// Whether `len` is zero.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Why [`Tube::allocate`] gave no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocateError {
    /// No room: a consumer has to reserve first.
    Full,
    /// No room until operations that are half-way have ended.
    Busy,
}

impl fmt::Display for AllocateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the tube is full: reserve and consume first",
            Self::Busy => "the tube has no entry until an operation under way ends: try again soon",
        })
    }
}

impl core::error::Error for AllocateError {}

/// Why [`Tube::reserve`] gave no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReserveError {
    /// Nothing is there: a producer has to allocate first.
    Empty,
    /// Nothing is there until operations that are half-way have ended.
    Busy,
}

impl fmt::Display for ReserveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the tube is empty: allocate and produce first",
            Self::Busy => "the next entry is still being produced: try again soon",
        })
    }
}

impl core::error::Error for ReserveError {}
