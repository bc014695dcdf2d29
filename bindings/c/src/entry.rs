//! What travels through the queues: pointers, and records of bytes.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use thalweg_queue::overwriting::Plain;
use thalweg_queue::spsc::fast_forward::Word;

/// A pointer of the caller's. It has no meaning to the queues.
///
/// `MaybeUninit`, so that the caller's array of pointers is an array of these before anything was written to it.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Item(MaybeUninit<*mut c_void>);

impl Item {
    #[inline(always)]
    pub(crate) fn new(item: *mut c_void) -> Self {
        Self(MaybeUninit::new(item))
    }

    #[inline(always)]
    pub(crate) fn get(self) -> *mut c_void {
        // SAFETY: made of a pointer, or read from an array of pointers that the caller has filled (H3).
        unsafe { self.0.assume_init() }
    }
}

// SAFETY: the queues do not look at what it points to. Whether another thread may is the caller's business.
unsafe impl Send for Item {}

impl Word for Item {
    #[inline(always)]
    fn into_word(self) -> NonNull<()> {
        // SAFETY: not null by H4.
        unsafe { NonNull::new_unchecked(self.get().cast()) }
    }

    #[inline(always)]
    unsafe fn from_word(word: NonNull<()>) -> Self {
        Self::new(word.as_ptr().cast())
    }
}

/// `SIZE` bytes of the caller's. They are moved, not looked at, so padding may be among them.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Record<const SIZE: usize>([MaybeUninit<u8>; SIZE]);

/// `SIZE` bytes of the caller's, each of which was written (H5): they may be copied while they are overwritten.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Bytes<const SIZE: usize>([u8; SIZE]);

// SAFETY: bytes, and nothing besides.
unsafe impl<const SIZE: usize> Plain for Bytes<SIZE> {}

/// Something whose bytes may be taken from the caller's memory.
///
/// # Safety
///
/// Any bytes are a valid value, also those that were never written, unless H5 says that they were.
pub(crate) unsafe trait Entry: Copy + Send {}

// SAFETY: a `MaybeUninit` takes any bytes.
unsafe impl Entry for Item {}
// SAFETY: a `MaybeUninit` takes any bytes.
unsafe impl<const SIZE: usize> Entry for Record<SIZE> {}
// SAFETY: any bytes that were written are bytes (H5).
unsafe impl<const SIZE: usize> Entry for Bytes<SIZE> {}

/// An entry that is never looked at: memory for entries may be taken for entries before anything was written to it.
///
/// # Safety
///
/// Any bytes are a valid value, also those that were never written.
pub(crate) unsafe trait AnyBytes: Entry {
    /// Memory for entries, as entries.
    fn in_memory(places: &mut [MaybeUninit<Self>]) -> &mut [Self] {
        // SAFETY: the same layout; any bytes are a value, and any value may stand in the memory.
        unsafe { &mut *(std::ptr::from_mut(places) as *mut [Self]) }
    }
}

// SAFETY: a `MaybeUninit` takes any bytes.
unsafe impl AnyBytes for Item {}
// SAFETY: a `MaybeUninit` takes any bytes.
unsafe impl<const SIZE: usize> AnyBytes for Record<SIZE> {}

/// The `count` entries at `entries`, or none if they would not fit into the address space.
///
/// # Safety
///
/// As H3, for as long as the slice lives.
pub(crate) unsafe fn entries<'a, E: Entry>(entries: *const E, count: usize) -> Option<&'a [E]> {
    if count == 0 {
        return Some(&[]);
    }
    let fits = !entries.is_null() && entries.is_aligned() && count <= isize::MAX as usize / size_of::<E>();
    // SAFETY: not null, not too long, and otherwise by the caller's promise, which makes any bytes that are there a value.
    fits.then(|| unsafe { std::slice::from_raw_parts(entries, count) })
}

/// The memory for `count` values at `places`, which was perhaps never written, or none if they would not fit into the address space.
///
/// # Safety
///
/// As H3, for as long as the slice lives.
pub(crate) unsafe fn places<'a, T>(places: *mut T, count: usize) -> Option<&'a mut [MaybeUninit<T>]> {
    if count == 0 {
        return Some(&mut []);
    }
    let fits = !places.is_null() && places.is_aligned() && count <= isize::MAX as usize / size_of::<T>();
    // SAFETY: not null, not too long, and otherwise by the caller's promise; a `MaybeUninit` takes any bytes.
    fits.then(|| unsafe { std::slice::from_raw_parts_mut(places.cast(), count) })
}
