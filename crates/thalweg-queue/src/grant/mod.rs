//! Entries to be written or read where they are, without a copy into the queue or out of it.
//!
//! | | |
//! |---|---|
//! | `reserve(count)` | up to `count` entries to write, at least one: a [`WriteGrant`] |
//! | [`WriteGrant::commit`] | pushes what is written, which may be less. Dropped instead, nothing is pushed |
//! | `readable(count)` | up to `count` items to read, at least one: a [`ReadGrant`] |
//! | [`ReadGrant::release`] | pops the first of them, which may be fewer. Dropped instead, all stay |
//! | `peek()` | the oldest item, left where it is; of [`spsc`](mod@crate::spsc) also [by a shared reference](crate::spsc::Consumer::front) |
//! | [`reserve_around`](crate::spsc::Producer::reserve_around), [`readable_around`](crate::spsc::Consumer::readable_around) | of `spsc`: all that is free or there, in two slices |
//! | [`reserve_many`](crate::mpmc::Producer::reserve_many) | of many producers: [permits](crate::mpmc::Permits) that own their handle, for pushes that find room for certain |
//! | `wait_reserve`, `wait_readable` | the same, waiting while there is no room, or nothing to read |
//! | `reserve_timeout`, `readable_timeout` | the same, for some time |
//! | `reserve_async`, `readable_async` | the same, pending; dropped before they are ready, they have reserved and taken nothing |
//!
//! All of them take `&mut self` where one end owns what it sees, `peek` too: a look remembers how far it has seen, which spares the next pop the
//! other side's line. By `&self` two threads could look at one item, which has to be `Sync` for that. Where consumers share the queue
//! there is no `peek`, as another may take the item meanwhile.
//!
//! The entries of a grant lie next to each other, so each queue says where its grants end before there is no more room, or no
//! more items. The ends of queues for one producer and one consumer have them: [`spsc`](mod@crate::spsc),
//! [`chunk_ring`](mod@crate::growing), [`lamport`](crate::research::lamport), [`fast_forward::in_place`](crate::spsc::fast_forward::in_place()),
//! and a [`mesh`](mod@crate::research::mesh) of such; so have the consumer of [`mpsc`](mod@crate::mpsc) and the producer of
//! [`spmc`](mod@crate::spmc). Of the queues for many, [`mpmc::shared`](crate::mpmc::shared()) has a [`WriteGrant`] too,
//! whose entries have their place in the order from the reservation on, and what it [reads](crate::mpmc::ReadGrant) in place is taken;
//! [`bytes`](mod@crate::bytes) and [`ticketed`](mod@crate::research::ticketed) have grants of their own, which wait in the same forms.
//!
//! ```
//! let (mut tx, mut rx) = thalweg_queue::growing::with_chunks::<u8>(64, 128, thalweg_queue::growing::Most::Entries(128))?;
//! let mut grant = tx.reserve(100)?; // 64: a grant ends with its chunk
//! grant.extend(*b"in place");
//! grant[0] = b'I';
//! assert_eq!(grant.commit(), 8);
//!
//! assert_eq!(rx.peek(), Ok(&b'I'));
//! let grant = rx.readable(usize::MAX)?;
//! assert_eq!(&grant[..], b"In place");
//! grant.release(3);
//! assert_eq!(rx.pop(), Ok(b'p'));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Ends of a queue under [`Park`](crate::Park) sleep meanwhile:
//!
//! ```
//! use thalweg_queue::{Park, spsc, mpsc, spmc, bytes, mpmc};
//!
//! let (mut tx, mut rx) = spsc::with_wait(2, 8, Park::new())?;
//! let reader = std::thread::spawn(move || {
//!     let mut sum = 0;
//!     while let Ok(grant) = rx.wait_readable(8) {
//!         sum += grant.iter().sum::<u32>();
//!         let count = grant.len();
//!         grant.release(count);
//!     }
//!     sum
//! });
//! let mut numbers = 1..=100;
//! while !numbers.is_empty() {
//!     let mut grant = tx.wait_reserve(8)?;
//!     grant.extend(&mut numbers);
//!     grant.commit();
//! }
//! drop(tx);
//! assert_eq!(reader.join().unwrap(), 5050);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Dropped
//!
//! A grant that is dropped does what is right in its queue, which is not the same in all of them. So say what is meant, by `commit` and
//! `release`, where there are such.
//!
//! | dropped | |
//! |---|---|
//! | [`WriteGrant`], [`bytes::WriteGrant`](crate::bytes::WriteGrant) | nothing is pushed. Of [`mpmc::shared`](crate::mpmc::shared()) and `bytes` it leaves a hole, which is passed over |
//! | [`ticketed::Grant`](crate::research::ticketed::Grant) | what is written is pushed, and the rest are holes: others may be waiting behind it |
//! | [`ReadGrant`], of one consumer | all items stay in the queue |
//! | [`mpmc::ReadGrant`](crate::mpmc::ReadGrant), [`bytes::ReadGrant`](crate::bytes::ReadGrant), [`ticketed::Take`](crate::research::ticketed::Take), [`ticketed::Window`](crate::research::ticketed::Window) | what it holds is popped: it was taken, and other consumers are past it |
//!
//! An item that is written in place is moved nowhere. A panic while a grant is filled, or in the destructor of an item that is
//! released, leaves the queue usable and drops each item once.

mod batch;
#[cfg(not(loom))]
mod read;
mod run;
#[cfg(not(loom))]
mod waiting;
#[cfg(not(loom))]
mod write;

#[cfg(feature = "alloc")]
pub(crate) use batch::{pop_many, push_many};
pub(crate) use batch::{pop_slice, push_slice};
#[cfg(not(loom))]
pub use read::ReadGrant;
#[cfg(not(loom))]
pub(crate) use read::peek;
pub use run::{Read, Write};
#[cfg(all(feature = "std", not(loom)))]
pub(crate) use waiting::{readable_async, reserve_async};
#[cfg(not(loom))]
pub(crate) use waiting::{wait_readable, wait_reserve};
#[cfg(not(loom))]
pub use write::WriteGrant;

#[cfg(not(loom))]
use core::mem::MaybeUninit;
#[cfg(not(loom))]
use thalweg_sync::cell::Slot;
#[cfg(not(loom))]
use thalweg_sync::hint::Access;

/// Slots as memory, which an engine sees as touched.
#[cfg(not(loom))]
#[inline]
#[track_caller]
pub(crate) fn memory<T>(slots: &[Slot<MaybeUninit<T>>], access: Access) -> *mut MaybeUninit<T> {
    thalweg_sync::hint::touch(slots.as_ptr().cast(), size_of_val(slots), access);
    // A slot is transparent, and shared writing through this pointer is what it is for.
    slots.as_ptr().cast::<MaybeUninit<T>>().cast_mut()
}

/// As [`memory`], of a range of slots. Without a look at how many there are: reading through a grant is then a plain access.
///
/// # Safety
///
/// The range is among them.
#[cfg(not(loom))]
#[inline]
#[track_caller]
pub(crate) unsafe fn memory_of<T>(
    slots: &[Slot<MaybeUninit<T>>],
    range: core::ops::Range<usize>,
    access: Access,
) -> *mut MaybeUninit<T> {
    // SAFETY: the caller's promise.
    memory(unsafe { slots.get_unchecked(range) }, access)
}
