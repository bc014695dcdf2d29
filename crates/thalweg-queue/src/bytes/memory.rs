//! Where messages are: granules of bytes, and what starts at each. All unsafe code on messages that is not a grant's.

use crate::mpmc::spot::Shape;
use crate::{BuildError, limits, memory};
use alloc::boxed::Box;
#[cfg(not(loom))]
use core::ops::Range;
use thalweg_sync::atomic::{AtomicU32, Ordering};
use thalweg_sync::cell::Slot;
#[cfg(not(loom))]
use thalweg_sync::hint::{Access, touch};

/// Messages start at multiples of so many bytes, and an empty one takes as many.
pub(super) const GRANULE: usize = 16;

/// How many granules a message of `bytes` bytes takes.
#[inline(always)]
pub(super) const fn granules(bytes: usize) -> usize {
    if bytes == 0 { 1 } else { bytes.div_ceil(GRANULE) }
}

/// The shape of a ring of `blocks` blocks of `block_bytes` bytes each, if there can be one. Its entries are granules; `most` says how many
/// of those of a block a push takes at once.
pub(super) fn shape(blocks: usize, block_bytes: usize, most: impl Fn(usize) -> usize) -> Result<Shape, BuildError> {
    limits::ring(blocks, ("block_bytes", block_bytes), |blocks, bytes| {
        let memory = isize::MAX as usize / 2 / blocks;
        bytes <= memory.min(1 << 30) && Shape::fits(blocks, granules(bytes), most(granules(bytes)))
    })?;
    let entries = granules(block_bytes);
    Ok(Shape::new(blocks, entries, most(entries)))
}

#[derive(Debug)]
#[repr(C, align(16))]
struct Granule([u8; GRANULE]);

/// What starts at a granule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Header {
    /// A message of so many bytes.
    Message(usize),
    /// So many granules without a message.
    Skip(usize),
}

impl Header {
    /// Set in a header of granules without a message.
    const SKIP: u32 = 1 << 31;

    /// As a number that is not zero.
    #[inline(always)]
    fn pack(self) -> u32 {
        match self {
            Self::Message(bytes) => bytes as u32 + 1,
            Self::Skip(granules) => granules as u32 | Self::SKIP,
        }
    }

    /// What was packed. Zero is nothing.
    #[inline(always)]
    fn unpack(bits: u32) -> Option<Self> {
        let number = (bits & !Self::SKIP) as usize;
        if bits & Self::SKIP == 0 { number.checked_sub(1).map(Self::Message) } else { Some(Self::Skip(number)) }
    }

    /// How many granules it stands for.
    #[inline(always)]
    pub(super) fn granules(self) -> usize {
        match self {
            Self::Message(bytes) => granules(bytes),
            Self::Skip(granules) => granules,
        }
    }
}

/// What starts at each granule.
///
/// They have a place of their own, as a consumer that was overtaken may read one that is being written. Beside the bytes of messages,
/// which are no atomics, that would be a data race.
#[derive(Debug)]
pub(super) struct Headers(Box<[AtomicU32]>);

impl Headers {
    /// For so many granules: nothing at any of them.
    pub(super) fn new(granules: usize) -> Result<Self, BuildError> {
        // SAFETY: an atomic is its number.
        unsafe { memory::zeroed(granules, || AtomicU32::new(0)) }.map(Self)
    }

    /// What starts at `granule`, if something was noted there and not cleared. It may be out of date if that was taken meanwhile.
    #[inline(always)]
    pub(super) fn get(&self, granule: usize, order: Ordering) -> Option<Header> {
        Header::unpack(self.0[granule].load(order))
    }

    /// Notes what starts at `granule`.
    #[inline(always)]
    pub(super) fn note(&self, granule: usize, header: Header, order: Ordering) {
        self.0[granule].store(header.pack(), order);
    }

    /// Notes that nothing starts at `granule`.
    #[inline(always)]
    pub(super) fn clear(&self, granule: usize, order: Ordering) {
        self.0[granule].store(0, order);
    }
}

/// The memory of all blocks.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) headers: Headers,
    granules: Box<[Slot<Granule>]>,
}

impl Memory {
    /// So many granules, all zero.
    pub(super) fn new(granules: usize) -> Result<Self, BuildError> {
        Ok(Self {
            headers: Headers::new(granules)?,
            // SAFETY: a slot is transparent, and a granule is its bytes.
            granules: unsafe { memory::zeroed(granules, || Slot::new(Granule([0; GRANULE]))) }?,
        })
    }

    /// The granules as memory. An engine sees `bytes` bytes as touched.
    ///
    /// # Safety
    ///
    /// There are such granules.
    #[cfg(not(loom))]
    #[inline]
    #[track_caller]
    pub(super) unsafe fn bytes(&self, granules: Range<usize>, bytes: usize, access: Access) -> *mut u8 {
        // SAFETY: the caller's promise.
        let slots = unsafe { self.granules.get_unchecked(granules) };
        touch(slots.as_ptr().cast(), bytes, access);
        // A slot is transparent, and shared writing through this pointer is what it is for.
        slots.as_ptr().cast::<u8>().cast_mut()
    }

    /// Copies `message` to the granules from `granule` on.
    ///
    /// # Safety
    ///
    /// The caller has allocated as many as it takes, and not committed them (V2).
    #[inline]
    pub(super) unsafe fn write(&self, granule: usize, message: &[u8]) {
        #[cfg(not(loom))]
        {
            // SAFETY: the granules are the caller's alone, and have room for the message.
            unsafe {
                let to = self.bytes(granule..granule + granules(message.len()), message.len(), Access::Write);
                core::ptr::copy_nonoverlapping(message.as_ptr(), to, message.len());
            }
        }
        #[cfg(loom)]
        for (slot, part) in self.granules[granule..].iter().zip(message.chunks(GRANULE)) {
            // SAFETY: the granules are the caller's alone.
            slot.with_mut(|to| unsafe { (&mut (*to).0)[..part.len()].copy_from_slice(part) });
        }
    }

    /// Copies the message of `bytes` bytes from `granule` on to `to`.
    ///
    /// # Safety
    ///
    /// The caller has taken it, and not given it back (V2); at `to` is room for so many bytes.
    #[inline]
    pub(super) unsafe fn read(&self, granule: usize, bytes: usize, to: *mut u8) {
        #[cfg(not(loom))]
        {
            // SAFETY: the caller has taken them.
            let from = unsafe { self.bytes(granule..granule + granules(bytes), bytes, Access::Read) };
            // SAFETY: nobody writes the granules meanwhile, and by the caller's promise there is room.
            unsafe { core::ptr::copy_nonoverlapping(from.cast_const(), to, bytes) };
        }
        #[cfg(loom)]
        for (number, slot) in self.granules[granule..granule + granules(bytes)].iter().enumerate() {
            let count = GRANULE.min(bytes - number * GRANULE);
            // SAFETY: as above.
            slot.with(|from| unsafe { to.add(number * GRANULE).copy_from_nonoverlapping((*from).0.as_ptr(), count) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_say_what_was_noted() {
        for header in [Header::Message(0), Header::Message(1 << 30), Header::Skip(1), Header::Skip(1 << 26)] {
            assert_eq!(Header::unpack(header.pack()), Some(header));
        }
        assert_eq!(Header::unpack(0), None);
        assert_eq!([0, 1, 16, 17, 4096].map(granules), [1, 1, 1, 2, 256]);
    }

    #[cfg(not(loom))]
    #[test]
    fn a_refusal_names_the_last_that_is_possible() {
        use crate::limits::tests::names_the_last;
        names_the_last("block_bytes", |blocks, bytes| shape(blocks, bytes, |granules| granules).map(drop));
        names_the_last("block_bytes", |blocks, bytes| shape(blocks, bytes, |_| 1).map(drop));
    }
}
