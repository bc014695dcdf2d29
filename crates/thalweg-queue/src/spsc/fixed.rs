//! The queue in the memory of a `static`.

use super::ring::{Cursors, Ring};
use super::{Consumer, Ends, Producer};
use crate::fixed::{Row, StaticMemory, check};
use crate::wait::{Ordinary, Wait};
use core::fmt;
use core::mem::MaybeUninit;
use thalweg_sync::cell::Slot;

/// Memory for one queue with `BLOCKS` blocks of `ENTRIES` entries, in a `static`: neither it nor a handle of it allocates.
///
/// The queue and its ends are those of [`with_wait`](super::with_wait), which says what the numbers mean; here they are checked when the program
/// is compiled. On a machine without an operating system the crate is built without default features, and needs no allocator then.
///
/// ```
/// use thalweg_queue::spsc;
///
/// static SAMPLES: spsc::Static<u16, 2, 64> = spsc::Static::new();
///
/// let (mut tx, mut rx) = SAMPLES.take().expect("nobody else takes it");
/// tx.try_push(7)?; // in an interrupt, say
/// assert_eq!(rx.try_pop(), Ok(7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// ```compile_fail
/// static SAMPLES: thalweg_queue::spsc::Static<u16, 3, 64> = thalweg_queue::spsc::Static::new(); // no power of two
/// ```
///
/// Memory: the entries, 256 bytes for each block and some 500 more; on a machine of 32 bits without an operating system, where nothing is kept
/// apart for caches, 16 for each block and some 200 more.
pub struct Static<T, const BLOCKS: usize, const ENTRIES: usize, W: Wait = Ordinary>(
    StaticMemory<Ring<T, W>, Memory<T, BLOCKS, ENTRIES>>,
);

/// What the ring asks for, in this order.
#[repr(C)]
struct Memory<T, const BLOCKS: usize, const ENTRIES: usize> {
    cursors: Row<Cursors, BLOCKS>,
    entries: Row<[Slot<MaybeUninit<T>>; ENTRIES], BLOCKS>,
}

impl<T: Send, const BLOCKS: usize, const ENTRIES: usize, W: Wait> Static<T, BLOCKS, ENTRIES, W> {
    /// No queue yet.
    pub const fn new() -> Self {
        const { check::<T>(BLOCKS, ENTRIES) };
        Self(StaticMemory::new())
    }

    /// Builds the queue and takes its ends, which wait by a strategy of this type. `None` while there is an end of a queue that was taken here
    /// before.
    ///
    /// ```
    /// use thalweg_queue::{Spin, spsc};
    ///
    /// static QUEUE: spsc::Static<u64, 2, 8, Spin> = spsc::Static::new();
    ///
    /// let ends = QUEUE.take();
    /// assert!(ends.is_some() && QUEUE.take().is_none());
    /// drop(ends);
    /// assert!(QUEUE.take().is_some());
    /// ```
    pub fn take(&'static self) -> Option<Ends<T, W>> {
        let (ring, start) = self.0.build(|memory| Ring::new(memory, 0, (BLOCKS, ENTRIES), W::default()))?;
        Some((Producer::new(ring.clone(), start), Consumer::new(ring, start)))
    }
}

impl<T: Send, const BLOCKS: usize, const ENTRIES: usize, W: Wait> Default for Static<T, BLOCKS, ENTRIES, W> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, const BLOCKS: usize, const ENTRIES: usize, W: Wait> fmt::Debug for Static<T, BLOCKS, ENTRIES, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Static").field("blocks", &BLOCKS).field("entries", &ENTRIES).finish_non_exhaustive()
    }
}
