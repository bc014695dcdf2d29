//! One chunk: a link and entries, in one allocation.

use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::mem::MaybeUninit;
use core::ptr::{NonNull, slice_from_raw_parts_mut};
use thalweg_sync::atomic::AtomicPtr;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::cell::Slot;

/// What a chunk begins with. Written only when a chunk is linked in or out.
///
/// The entries begin with the line after it. The chunk does not, as allocators take longer for memory that begins with a line
/// than the rest of growing takes: there is room for the entries to be moved up.
#[derive(Debug)]
pub(super) struct Header<T> {
    next: AtomicPtr<Header<T>>,
    entries: usize,
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
    const ALIGN: usize = if align_of::<Slot<MaybeUninit<T>>>() > 64 { align_of::<Slot<MaybeUninit<T>>>() } else { 64 };

    /// The bytes before the first entry, at most. Allocations begin with a multiple of 16.
    const BEFORE: usize = size_of::<Header<T>>().next_multiple_of(16) + Self::ALIGN - 16;

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
        let layout = Self::layout(entries)?;
        // SAFETY: the layout has the header's size at least.
        let header = NonNull::new(unsafe { alloc(layout) })?.cast::<Header<T>>();
        let chunk = Self(header);
        // SAFETY: the memory is ours alone, and has room for the header and, behind it, for the entries.
        unsafe {
            header.write(Header {
                next: AtomicPtr::new(header.as_ptr()),
                entries,
                _entries: core::marker::PhantomData,
            });
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
            let entries = self.0.as_ref().entries;
            slice_from_raw_parts_mut(self.first().as_ptr(), entries).drop_in_place();
            self.0.drop_in_place();
            let layout = Self::layout(entries).expect("it was allocated with this layout");
            dealloc(self.0.as_ptr().cast(), layout);
        }
    }

    /// # Safety
    ///
    /// The chunk is alive.
    #[inline(always)]
    unsafe fn first(self) -> NonNull<Slot<MaybeUninit<T>>> {
        let start = self.0.addr().get();
        let offset = (start + size_of::<Header<T>>()).next_multiple_of(Self::ALIGN) - start;
        // SAFETY: the entries are in the same allocation, from this offset on: it is at most `BEFORE`, as the allocation begins
        // with a multiple of 16, or of `ALIGN` if that is what the items want.
        unsafe { self.0.byte_add(offset).cast() }
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

    /// The chunk after this one.
    ///
    /// # Safety
    ///
    /// The chunk is alive.
    #[inline(always)]
    pub(super) unsafe fn next(self) -> Self {
        // Relaxed: the producer reads what it wrote itself; the consumer reads only after (chunk.2) has shown it an entry
        // behind this chunk, which was published after the link was written (R3).
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
