//! The unit that travels: a block of messages in one allocation.
//!
//! # Invariants
//!
//! - **B1** A block holds messages of one type, fixed when its kernel opened it; `drop_rest` belongs to that type.
//! - **B2** The entries `first..len` are initialised and owned by the block, no others are.
//! - **B3** Whoever holds the [`Block`] is the only one with access: it moves through queues, it is never shared.

mod chain;
pub(crate) mod pool;
mod stamps;
pub(crate) mod windows;

pub(crate) use chain::Chain;
pub(crate) use stamps::{Stamp, Stamps};

use crate::error::{Payload, keep, resume};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::fmt;
use std::mem;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use thalweg_sync::hint::{self, Access};

/// Bytes of messages in a block, at most; a larger message is alone in its block.
pub(crate) const MOST_BYTES: usize = 16 * 1024;

/// One line in front of the entries.
#[repr(C, align(64))]
pub(super) struct Header {
    /// The first entry that nobody has taken yet.
    first: u32,
    /// One past the last initialised entry.
    len: u32,
    /// How many entries the block is used for; at most what fits.
    cap: u32,
    /// The output port that gave it, while it waits in a [`Chain`].
    port: u32,
    /// The next block of a [`Chain`].
    next: Option<NonNull<Header>>,
    /// Drops the entries `first..len`, and notes panics.
    drop_rest: unsafe fn(NonNull<Header>, &mut Vec<Payload>),
    /// Bytes behind the header.
    room: usize,
    /// Alignment of the allocation; also the distance from header to entries.
    align: usize,
    /// When something of it left a kernel.
    stamps: Stamps,
}

pub(crate) const HEADER: usize = mem::size_of::<Header>();
const _: () = assert!(HEADER == 64, "a header is a line");

/// The distance between two entries. Zero-sized messages get their alignment, so that a pointer can count them.
pub(crate) const fn stride<T>() -> usize {
    if mem::size_of::<T>() == 0 { mem::align_of::<T>() } else { mem::size_of::<T>() }
}

/// An owned block of messages whose type only its edge knows.
pub(crate) struct Block(NonNull<Header>);

// SAFETY: a block owns its messages (B2) and edges are only made for message types that are `Send`.
unsafe impl Send for Block {}

impl Block {
    /// A block with room for `bytes` bytes of entries aligned to `align`. It holds nothing and its type is not set yet.
    pub(crate) fn allocate(bytes: usize, align: usize) -> Self {
        let layout = Self::layout(bytes, align.max(HEADER));
        // SAFETY: the layout is not empty, it has at least a header.
        let memory = unsafe { alloc(layout) };
        let Some(header) = NonNull::new(memory.cast::<Header>()) else { handle_alloc_error(layout) };
        // SAFETY: fresh memory, large enough and aligned for a header.
        unsafe {
            header.write(Header {
                first: 0,
                len: 0,
                cap: 0,
                port: 0,
                next: None,
                drop_rest: nothing_to_drop,
                room: bytes,
                align: layout.align(),
                stamps: Stamps::default(),
            });
        }
        Self(header)
    }

    fn layout(bytes: usize, align: usize) -> Layout {
        let offset = align.max(HEADER);
        Layout::from_size_align(offset + bytes, align).expect("a block is at most a few messages long")
    }

    pub(super) fn header(&self) -> &Header {
        // SAFETY: B3.
        unsafe { self.0.as_ref() }
    }

    pub(super) fn header_mut(&mut self) -> &mut Header {
        // SAFETY: B3, and `&mut self`.
        unsafe { self.0.as_mut() }
    }

    /// Starts a new life as an empty block of up to `cap` messages of type `T`.
    pub(crate) fn open<T>(&mut self, cap: u32) {
        debug_assert!(cap as usize * stride::<T>() <= self.room() && mem::align_of::<T>() <= self.header().align);
        let header = self.header_mut();
        debug_assert!(header.first == header.len, "B2: an open block starts empty");
        (header.first, header.len, header.cap, header.next) = (0, 0, cap, None);
        header.drop_rest = if mem::needs_drop::<T>() { drop_rest::<T> } else { forget_rest };
    }

    /// Messages not yet taken.
    pub(crate) fn unread(&self) -> usize {
        (self.header().len - self.header().first) as usize
    }

    /// How many messages it is used for.
    pub(crate) fn capacity(&self) -> usize {
        self.header().cap as usize
    }

    /// Bytes behind the header.
    pub(crate) fn room(&self) -> usize {
        self.header().room
    }

    /// Alignment of the entries.
    pub(crate) fn align(&self) -> usize {
        self.header().align
    }

    /// The entry `index`, initialised or not.
    pub(crate) fn entry<T>(&self, index: usize) -> *mut T {
        let offset = self.header().align.max(HEADER) + index * stride::<T>();
        // SAFETY: within the allocation or one past it, by `open` and B2.
        unsafe { self.0.as_ptr().byte_add(offset).cast() }
    }

    /// Index of the first message not yet taken.
    pub(crate) fn first(&self) -> usize {
        self.header().first as usize
    }

    /// One past the last message.
    pub(crate) fn end(&self) -> usize {
        self.header().len as usize
    }

    /// Says that the entries `first..end` are now the initialised ones.
    ///
    /// # Safety
    ///
    /// That must be true, and messages outside that range must have been moved out (B2).
    pub(crate) unsafe fn set_range(&mut self, first: usize, end: usize) {
        debug_assert!(first <= end && end <= self.capacity());
        let header = self.header_mut();
        (header.first, header.len) = (first as u32, end as u32);
    }

    /// The unread messages.
    ///
    /// # Safety
    ///
    /// The block must hold messages of type `T` (B1).
    pub(crate) unsafe fn messages<T>(&self) -> &[T] {
        // SAFETY: B1 and B2; entries are `size_of::<T>()` apart, or of size zero.
        unsafe { std::slice::from_raw_parts(self.entry::<T>(self.first()), self.unread()) }
    }

    /// Changes the type of the messages to one of the same size and alignment.
    ///
    /// # Safety
    ///
    /// The unread messages must already be of type `T` (B1).
    pub(crate) unsafe fn retype<T>(&mut self) {
        self.header_mut().drop_rest = if mem::needs_drop::<T>() { drop_rest::<T> } else { forget_rest };
    }

    /// Its stamps.
    pub(crate) fn stamps_mut(&mut self) -> &mut Stamps {
        &mut self.header_mut().stamps
    }

    /// The output port that it leaves by, while it is in a [`Chain`].
    pub(crate) fn port(&self) -> usize {
        self.header().port as usize
    }

    /// Notes the output port.
    fn set_port(&mut self, port: usize) {
        self.header_mut().port = port as u32;
    }

    /// Drops the unread messages and keeps the memory. Panics if destructors do, once all messages are dropped.
    pub(crate) fn clear(&mut self) {
        let mut panics = Vec::new();
        self.clear_noting(&mut panics);
        resume(panics);
    }

    /// As [`clear`](Self::clear), but notes panics instead.
    pub(crate) fn clear_noting(&mut self, panics: &mut Vec<Payload>) {
        if self.unread() == 0 {
            return;
        }
        let drop_rest = self.header().drop_rest;
        // SAFETY: B1 and B2. `drop_rest` empties the range before it drops, so a message is not dropped twice.
        unsafe { drop_rest(self.0, panics) }
    }

    /// Says that the header and the entries of `entries`, of so many `bytes` each, are read or written. Natively nothing; a simulated machine
    /// moves their lines. Said once by who fills a block, for what it filled, and once by who takes it.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn touch(&self, entries: Range<usize>, bytes: usize, access: Access) {
        let header = self.0.as_ptr().cast::<u8>();
        hint::touch(header, HEADER, access);
        let first = header.wrapping_add(self.align().max(HEADER) + entries.start * bytes);
        if entries.len() * bytes > 0 {
            hint::touch(first, entries.len() * bytes, access);
        }
    }

    pub(super) fn into_raw(self) -> NonNull<Header> {
        let header = self.0;
        mem::forget(self);
        header
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let mut panics = Vec::new();
        self.clear_noting(&mut panics);
        self.stamps_mut().take();
        let layout = Self::layout(self.room(), self.header().align);
        // SAFETY: allocated by `allocate` with this layout, and owned (B3).
        unsafe { dealloc(self.0.as_ptr().cast(), layout) }
        if panics.is_empty() {
            return;
        }
        if std::thread::panicking() { keep(panics) } else { resume(panics) }
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Block({} of {})", self.unread(), self.capacity())
    }
}

unsafe fn nothing_to_drop(_header: NonNull<Header>, _panics: &mut Vec<Payload>) {}

unsafe fn forget_rest(mut header: NonNull<Header>, _panics: &mut Vec<Payload>) {
    // SAFETY: called by the owner (B3).
    let header = unsafe { header.as_mut() };
    header.first = header.len;
}

unsafe fn drop_rest<T>(header: NonNull<Header>, panics: &mut Vec<Payload>) {
    let mut block = mem::ManuallyDrop::new(Block(header));
    let (first, len) = (block.first(), block.unread());
    let entries = block.entry::<T>(first);
    let header = block.header_mut();
    header.first = header.len;
    // SAFETY: B1 and B2; the range was emptied above.
    unsafe { drop_each(entries, len, panics) }
}

/// Drops `len` messages from `first` on, all of them, and notes the panics of their destructors.
///
/// # Safety
///
/// They must be there, and the caller must have given them up.
pub(crate) unsafe fn drop_each<T>(first: *mut T, len: usize, panics: &mut Vec<Payload>) {
    let mut next = 0;
    while next < len {
        // Not as a slice: that goes on after a panic too, but ends the process at the second one.
        let rest = AssertUnwindSafe(|| {
            while next < len {
                next += 1;
                // SAFETY: by the caller's promise; counted before, so that it is not dropped again if it panics.
                unsafe { first.add(next - 1).drop_in_place() };
            }
        });
        if let Err(payload) = catch_unwind(rest) {
            panics.push(payload);
        }
    }
}

/// Moves the first `count` messages of one block behind those of another.
///
/// # Safety
///
/// Both must hold messages of type `T` (B1), one so many, and the other must have room for them.
pub(crate) unsafe fn move_first<T>(from: &mut Block, to: &mut Block, count: usize) {
    let (first, end) = (from.first(), from.end());
    debug_assert!(count <= end - first && to.end() + count <= to.capacity());
    let stamps = from.stamps_mut().take();
    to.stamps_mut().add_all(&stamps);
    to.touch(to.end()..to.end() + count, mem::size_of::<T>(), Access::Write);
    // SAFETY: by the caller's promise; the messages move, so the old block gives them up and the new one owns them.
    unsafe {
        to.entry::<T>(to.end()).copy_from_nonoverlapping(from.entry::<T>(first), count);
        from.set_range(first + count, end);
        to.set_range(to.first(), to.end() + count);
    }
}

impl thalweg_queue::spsc::fast_forward::Word for Block {
    fn into_word(self) -> NonNull<()> {
        self.into_raw().cast()
    }

    unsafe fn from_word(word: NonNull<()>) -> Self {
        Self(word.cast())
    }
}

#[cfg(all(test, not(loom)))]
pub(crate) mod tests {
    use super::*;
    use std::rc::Rc;

    pub(crate) fn filled<T>(messages: Vec<T>) -> Block {
        let mut block = Block::allocate(messages.len().max(1) * stride::<T>(), mem::align_of::<T>());
        block.open::<T>(messages.len() as u32);
        let len = messages.len();
        for (index, message) in messages.into_iter().enumerate() {
            // SAFETY: room for `len` messages was asked for.
            unsafe { block.entry::<T>(index).write(message) }
        }
        // SAFETY: just written.
        unsafe { block.set_range(0, len) };
        block
    }

    #[test]
    fn drops_exactly_the_unread_messages() {
        let message = Rc::new(());
        let mut block = filled(vec![message.clone(), message.clone(), message.clone()]);
        // SAFETY: the first message is moved out and the range says so.
        let taken = unsafe { block.entry::<Rc<()>>(0).read() };
        // SAFETY: as above.
        unsafe { block.set_range(1, 3) };
        assert_eq!(Rc::strong_count(&message), 4);
        drop(block);
        assert_eq!(Rc::strong_count(&message), 2);
        drop(taken);
    }

    #[test]
    fn holds_zero_sized_and_over_aligned_messages() {
        #[derive(Clone, Copy, PartialEq, Debug)]
        #[repr(align(256))]
        struct Wide(u8);
        let block = filled(vec![Wide(1), Wide(2)]);
        assert_eq!(block.entry::<Wide>(0).addr() % 256, 0);
        // SAFETY: it holds `Wide`.
        assert_eq!(unsafe { block.messages::<Wide>() }, [Wide(1), Wide(2)]);
        let block = filled(vec![(), (), ()]);
        // SAFETY: it holds `()`.
        assert_eq!(unsafe { block.messages::<()>() }.len(), 3);
    }
}
