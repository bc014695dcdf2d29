//! One chunk: a link, a count and entries, in one allocation.

use crate::edges::edge;
use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::mem::MaybeUninit;
use core::ptr::{NonNull, slice_from_raw_parts_mut};
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicPtr, AtomicU64};
use thalweg_sync::cell::Slot;

/// What a header has to itself.
const LINE: usize = 64;

/// Added to a chunk's count when the producer has gone on to the next one. Counts never come to it.
const GONE: u64 = 1 << 63;

/// What stands before the entries, on a line of its own.
///
/// The chunk's memory does not begin with a line, as allocators take longer for that than the rest of growing takes: there is room for
/// the header to be moved up to one.
#[derive(Debug)]
pub(super) struct Header<T> {
    /// Written only when a chunk is linked in or out.
    next: AtomicPtr<Header<T>>,
    entries: usize,
    /// Where the memory begins that the chunk lies in.
    memory: NonNull<u8>,
    /// How many items were pushed into the ring when the last one came into this chunk, and [`GONE`]. Written by the producer, with each
    /// push while it is here.
    pushed: AtomicU64,
    _entries: core::marker::PhantomData<Slot<MaybeUninit<T>>>,
}

/// A chunk, by its address. Copies are the same chunk; whoever uses one answers for its being alive (R1).
#[derive(Debug)]
pub(super) struct Chunk<T>(NonNull<Header<T>>);

impl<T> Clone for Chunk<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Chunk<T> {}

// SAFETY: an address; whoever uses it answers for what it does there, and `T: Send` lets entries move between threads.
unsafe impl<T: Send> Send for Chunk<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Chunk<T> {}

impl<T> Chunk<T> {
    /// What the first entry's address is a multiple of: a line, or more if the items want it.
    const ALIGN: usize =
        if align_of::<Slot<MaybeUninit<T>>>() > LINE { align_of::<Slot<MaybeUninit<T>>>() } else { LINE };

    /// The bytes before the first entry, at most: the header, and what it is moved up by. Allocations begin with a multiple of 16.
    const BEFORE: usize = LINE + Self::ALIGN - 16;

    /// How many bytes a chunk of `entries` takes; `None` if that is beyond the address space.
    pub(super) fn bytes(entries: usize) -> Option<usize> {
        Self::layout(entries).map(|layout| layout.size())
    }

    /// How many entries a chunk of at most `bytes` bytes has.
    pub(super) fn entries_in(bytes: usize) -> usize {
        let bytes = bytes.min(isize::MAX as usize & !(Self::ALIGN - 1));
        bytes.saturating_sub(Self::BEFORE).checked_div(size_of::<Slot<MaybeUninit<T>>>()).unwrap_or(usize::MAX)
    }

    fn layout(entries: usize) -> Option<Layout> {
        let size = Layout::array::<Slot<MaybeUninit<T>>>(entries).ok()?.size().checked_add(Self::BEFORE)?;
        Layout::from_size_align(size, align_of::<Slot<MaybeUninit<T>>>().max(16)).ok()
    }

    /// A chunk that is linked to itself, or `None` if there is no memory for it.
    pub(super) fn allocate(entries: usize) -> Option<Self> {
        const { assert!(size_of::<Header<T>>() <= LINE) };
        let layout = Self::layout(entries)?;
        // SAFETY: the layout has the header's size at least.
        let memory = NonNull::new(unsafe { alloc(layout) })?;
        let before = (memory.addr().get() + LINE).next_multiple_of(Self::ALIGN) - LINE - memory.addr().get();
        // SAFETY: the allocation begins with a multiple of 16, or of `ALIGN` if that is what the items want, so the entries begin at most
        // `BEFORE` behind that, and the header a line before them.
        let chunk = Self(unsafe { memory.byte_add(before).cast() });
        // SAFETY: the memory is ours alone, and has room for the header and, behind it, for the entries.
        unsafe {
            chunk.0.write(Header {
                next: AtomicPtr::new(chunk.as_word()),
                entries,
                memory,
                pushed: AtomicU64::new(0),
                _entries: core::marker::PhantomData,
            });
            // Elsewhere a slot is nothing but its place, which may be uninitialised.
            #[cfg(loom)]
            for entry in 0..entries {
                chunk.first().add(entry).write(Slot::new(MaybeUninit::uninit()));
            }
        }
        Some(chunk)
    }

    /// Gives the memory back. What is in the entries is not dropped.
    ///
    /// # Safety
    ///
    /// The chunk is alive, and nobody uses any copy of it from now on.
    pub(super) unsafe fn free(self) {
        // SAFETY: by the caller's promise nobody else has the chunk, and it has come from `allocate`, with this layout.
        unsafe {
            let Header { entries, memory, .. } = *self.0.as_ref();
            slice_from_raw_parts_mut(self.first().as_ptr(), entries).drop_in_place();
            self.0.drop_in_place();
            let layout = Self::layout(entries).expect("it was allocated with this layout");
            dealloc(memory.as_ptr(), layout);
        }
    }

    /// # Safety
    ///
    /// The chunk is alive.
    #[inline(always)]
    unsafe fn first(self) -> NonNull<Slot<MaybeUninit<T>>> {
        // SAFETY: the entries are in the same allocation, a line behind the header.
        unsafe { self.0.byte_add(LINE).cast() }
    }

    /// The entry at `index`.
    ///
    /// # Safety
    ///
    /// The chunk is alive for `'a`, and `index` is below [`len`](Self::len).
    #[inline(always)]
    pub(super) unsafe fn entry<'a>(self, index: usize) -> &'a Slot<MaybeUninit<T>> {
        // SAFETY: by the caller's promise the entry is inside the allocation, and it was written by `allocate`.
        unsafe { self.first().add(index).as_ref() }
    }

    /// The entries from `index` on, `count` of them.
    ///
    /// # Safety
    ///
    /// The chunk is alive for `'a`, and `index + count` is at most [`len`](Self::len).
    #[cfg(not(loom))]
    #[inline(always)]
    pub(super) unsafe fn entries<'a>(self, index: usize, count: usize) -> &'a [Slot<MaybeUninit<T>>] {
        // SAFETY: by the caller's promise the entries are inside the allocation, and they were written by `allocate`.
        unsafe { core::slice::from_raw_parts(self.first().add(index).as_ptr(), count) }
    }

    /// How many entries the chunk has.
    ///
    /// # Safety
    ///
    /// The chunk is alive.
    #[inline(always)]
    pub(super) unsafe fn len(self) -> usize {
        // SAFETY: by the caller's promise.
        unsafe { self.0.as_ref() }.entries
    }

    /// How many items were pushed into the ring up to the last one in this chunk, and whether the producer has gone on from here.
    ///
    /// # Safety
    ///
    /// The chunk is alive.
    #[inline(always)]
    pub(super) unsafe fn pushed(self) -> (u64, bool) {
        // (chunk.2) Acquire, pairs with (chunk.1).
        //
        // SAFETY: by the caller's promise.
        let word = unsafe { self.0.as_ref() }.pushed.load(edge("chunk.2", Acquire));
        (word & !GONE, word & GONE != 0)
    }

    /// How many items were pushed into the ring so far. Goes through the chunks from this one to the producer's.
    ///
    /// # Safety
    ///
    /// The consumer calls it, and is in the chunk; or nobody else has the ring.
    pub(super) unsafe fn all_pushed(mut self) -> u64 {
        // SAFETY: where the producer has gone on, the link stays as it is (R3), and the chunks are alive (R1), as long as the consumer is
        // in the first.
        unsafe {
            loop {
                match self.pushed() {
                    (_, true) => self = self.next(),
                    (pushed, false) => return pushed,
                }
            }
        }
    }

    /// Hands out the first `pushed` items, of which the last are in this chunk, or in the one before.
    ///
    /// # Safety
    ///
    /// The chunk is alive, and the producer, who calls it, is there or comes there next.
    #[inline(always)]
    pub(super) unsafe fn publish(self, pushed: u64) {
        // (chunk.1) Release, pairs with (chunk.2): the entries are written before the count. Relaxed would hand out an unwritten
        // entry.
        //
        // SAFETY: by the caller's promise.
        unsafe { self.0.as_ref() }.pushed.store(pushed, edge("chunk.1", Release));
    }

    /// Says that the producer, who calls it, has gone on to the next chunk after `pushed` items, and has published those there.
    ///
    /// # Safety
    ///
    /// The chunk is alive.
    #[inline(always)]
    pub(super) unsafe fn go_on(self, pushed: u64) {
        // (chunk.5) Release, pairs with (chunk.2): the link by which the producer has gone on, and the next chunk's count, are written
        // before. Relaxed would let the consumer go on by an old link.
        //
        // SAFETY: by the caller's promise.
        unsafe { self.0.as_ref() }.pushed.store(pushed | GONE, edge("chunk.5", Release));
    }

    /// The chunk after this one.
    ///
    /// # Safety
    ///
    /// The chunk is alive.
    #[inline(always)]
    pub(super) unsafe fn next(self) -> Self {
        // Relaxed: the producer reads what it wrote itself; the consumer reads only after (chunk.2) has shown it that the producer
        // has gone on by this link (R3).
        //
        // SAFETY: by the caller's promise.
        let next = unsafe { self.0.as_ref() }.next.load(Relaxed);
        // SAFETY: a link is never null.
        Self(unsafe { NonNull::new_unchecked(next) })
    }

    /// Makes `next` the chunk after this one.
    ///
    /// # Safety
    ///
    /// The chunk is alive.
    pub(super) unsafe fn link(self, next: Self) {
        // Relaxed: see `next`.
        //
        // SAFETY: by the caller's promise.
        unsafe { self.0.as_ref() }.next.store(next.0.as_ptr(), Relaxed);
    }

    /// The chunk as a word, for [`from_word`](Self::from_word).
    pub(super) fn as_word(self) -> *mut Header<T> {
        self.0.as_ptr()
    }

    /// The chunk that the word stands for; `None` for null.
    pub(super) fn from_word(word: *mut Header<T>) -> Option<Self> {
        NonNull::new(word).map(Self)
    }
}

/// The chunks of a ring that nobody uses any more. Frees them when it is dropped.
pub(super) struct Free<T>(Chunk<T>);

impl<T> Free<T> {
    /// The chunks of the loop that `chunk` is in.
    ///
    /// # Safety
    ///
    /// They are alive, and nobody uses them after this is dropped.
    pub(super) unsafe fn new(chunk: Chunk<T>) -> Self {
        Self(chunk)
    }
}

impl<T> Drop for Free<T> {
    fn drop(&mut self) {
        let mut chunk = self.0;
        loop {
            // SAFETY: by the promise to `new` all are alive; each is freed once, after its link was read.
            let next = unsafe { chunk.next() };
            // SAFETY: as above.
            unsafe { chunk.free() };
            if next.as_word() == self.0.as_word() {
                return;
            }
            chunk = next;
        }
    }
}

/// How many entries lie on a line; at least one.
pub(super) const fn per_line<T>() -> usize {
    match size_of::<T>() {
        0 => 64,
        1..64 => 64 / size_of::<T>(),
        _ => 1,
    }
}
