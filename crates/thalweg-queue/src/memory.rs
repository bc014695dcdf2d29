//! Memory for a queue, asked for when it is built: a refusal is an error, not the end of the program.

use crate::BuildError;
use crate::share::Home;
#[cfg(feature = "alloc")]
use alloc::boxed::Box;
#[cfg(feature = "alloc")]
use alloc::vec::Vec;
use core::alloc::Layout;
use core::fmt;
#[cfg(feature = "alloc")]
use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
#[cfg(feature = "alloc")]
use thalweg_sync::atomic::AtomicU64;
#[cfg(feature = "alloc")]
use thalweg_sync::cell::Slot;

/// Where the memory of a queue comes from.
pub(crate) trait Provider {
    /// Memory for `count` items, which begins with a line and is not touched.
    fn room<T>(&mut self, count: usize) -> Result<Room<T>, BuildError>;

    /// The same of zeroes. Where there is much of it, it is not touched either, if the source can.
    fn zeroes<T>(&mut self, count: usize) -> Result<Room<T>, BuildError> {
        let room = self.room(count)?;
        // SAFETY: it is ours, and has room for so many.
        unsafe { room.first.write_bytes(0, count) };
        Ok(room)
    }

    /// The place that what is built of it lies in, if that is not the heap.
    fn home(&self) -> Option<&'static Home> {
        None
    }
}

/// The heap.
#[cfg(feature = "alloc")]
pub(crate) struct Heap;

#[cfg(feature = "alloc")]
impl Provider for Heap {
    fn room<T>(&mut self, count: usize) -> Result<Room<T>, BuildError> {
        let first = allocate(lines::<T>(count)?, alloc::alloc::alloc)?;
        Ok(Room { first: first.cast(), count, origin: Origin::Heap })
    }

    fn zeroes<T>(&mut self, count: usize) -> Result<Room<T>, BuildError> {
        let layout = lines::<T>(count)?;
        let Some(whole) = with_space(layout) else { return Err(BuildError::OutOfMemory { bytes: layout.size() }) };
        let start = allocate(whole, alloc::alloc::alloc_zeroed)?;
        let before = start.addr().get().wrapping_neg() & (layout.align() - 1);
        // SAFETY: there is space for that.
        let first = unsafe { start.add(before) };
        Ok(Room { first: first.cast(), count, origin: Origin::Zeroes { before } })
    }
}

/// A layout with little alignment in which `layout` has a place: where more is asked for, allocators write their zeroes.
#[cfg(feature = "alloc")]
fn with_space(layout: Layout) -> Option<Layout> {
    const LITTLE: usize = 8;
    Layout::from_size_align(layout.size().checked_add(layout.align() - LITTLE)?, LITTLE).ok()
}

/// Memory of this layout, if that has a size, by `alloc`, which is one of the allocator's ways.
#[cfg(feature = "alloc")]
fn allocate(layout: Layout, alloc: unsafe fn(Layout) -> *mut u8) -> Result<NonNull<u8>, BuildError> {
    match layout.size() {
        0 => Ok(NonNull::dangling()),
        // SAFETY: the layout has a size.
        bytes => NonNull::new(unsafe { alloc(layout) }).ok_or(BuildError::OutOfMemory { bytes }),
    }
}

/// What `count` items take that begin with a line.
pub(crate) fn lines<T>(count: usize) -> Result<Layout, BuildError> {
    let bytes = count.saturating_mul(size_of::<T>());
    Layout::array::<T>(count).and_then(|items| items.align_to(64)).map_err(|_| BuildError::OutOfMemory { bytes })
}

/// Memory for some items: of the heap, to which it goes back, or of a `static`. What is in it is not dropped.
pub(crate) struct Room<T> {
    first: NonNull<T>,
    count: usize,
    origin: Origin,
}

/// Where memory goes back to.
#[derive(Clone, Copy)]
enum Origin {
    /// Nowhere.
    Lent,
    /// The heap.
    #[cfg(feature = "alloc")]
    Heap,
    /// The heap, which gave it with so many bytes before it.
    #[cfg(feature = "alloc")]
    Zeroes { before: usize },
}

impl<T> Room<T> {
    /// Memory that is nobody else's for as long as this is there.
    ///
    /// # Safety
    ///
    /// It is so, from `first` on for `count` items, and aligned for them.
    pub(crate) unsafe fn lent(first: NonNull<T>, count: usize) -> Self {
        Self { first, count, origin: Origin::Lent }
    }

    /// All of it, whatever is in it.
    #[inline(always)]
    pub(crate) fn all(&self) -> NonNull<[T]> {
        NonNull::slice_from_raw_parts(self.first, self.count)
    }
}

impl<T> Drop for Room<T> {
    /// Gives the memory back.
    fn drop(&mut self) {
        #[cfg(feature = "alloc")]
        {
            let layout = || lines::<T>(self.count).expect("it was allocated with this layout");
            let (start, layout) = match self.origin {
                Origin::Lent => return,
                Origin::Heap => (self.first.cast::<u8>(), layout()),
                // SAFETY: so many bytes are before it.
                Origin::Zeroes { before } => unsafe {
                    (self.first.cast().sub(before), with_space(layout()).expect("it was allocated with this layout"))
                },
            };
            if layout.size() > 0 {
                // SAFETY: from an allocation with this layout, and ours.
                unsafe { alloc::alloc::dealloc(start.as_ptr(), layout) };
            }
        }
    }
}

/// Items in memory of their own.
pub(crate) struct Region<T> {
    room: Room<T>,
    /// How many are there, from the first place on.
    count: usize,
}

// SAFETY: as a box of such items.
unsafe impl<T: Send> Send for Region<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Region<T> {}

impl<T> Region<T> {
    /// What `items` gives, one behind the other, up to the first that there is no memory for. Each may take its own memory from `source`.
    pub(crate) fn new<S: Provider>(
        source: &mut S,
        count: usize,
        mut item: impl FnMut(&mut S, usize) -> Result<T, BuildError>,
    ) -> Result<Self, BuildError> {
        let mut region = Self { room: source.room(count)?, count: 0 };
        for index in 0..count {
            let item = item(source, index)?;
            // SAFETY: the room has so many places, of which this is the next one.
            unsafe { region.room.first.add(index).write(item) };
            region.count += 1;
        }
        Ok(region)
    }
}

impl<T> Region<T> {
    /// `count` items of zeroes, whose memory is not touched where it is the heap's.
    ///
    /// # Safety
    ///
    /// Zeroes are such an item.
    #[cfg(not(loom))]
    pub(crate) unsafe fn zeroes<S: Provider>(source: &mut S, count: usize) -> Result<Self, BuildError> {
        Ok(Self { room: source.zeroes(count)?, count })
    }
}

impl<T> Deref for Region<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: so many were written, and are ours.
        unsafe { NonNull::slice_from_raw_parts(self.room.first, self.count).as_ref() }
    }
}

impl<T> DerefMut for Region<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { NonNull::slice_from_raw_parts(self.room.first, self.count).as_mut() }
    }
}

impl<T> Drop for Region<T> {
    fn drop(&mut self) {
        // SAFETY: so many were written, and are not used any more.
        unsafe { NonNull::slice_from_raw_parts(self.room.first, self.count).drop_in_place() };
    }
}

impl<T: fmt::Debug> fmt::Debug for Region<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// An empty vector with room for `count` items, and no more.
#[cfg(feature = "alloc")]
pub(crate) fn room<T>(count: usize) -> Result<Vec<T>, BuildError> {
    let mut items = Vec::new();
    match items.try_reserve_exact(count) {
        Ok(()) => Ok(items),
        Err(_) => Err(BuildError::OutOfMemory { bytes: count.saturating_mul(size_of::<T>()) }),
    }
}

/// What `items` gives, in one allocation.
#[cfg(feature = "alloc")]
pub(crate) fn boxed<T>(items: impl ExactSizeIterator<Item = T>) -> Result<Box<[T]>, BuildError> {
    let mut all = room(items.len())?;
    all.extend(items);
    Ok(all.into_boxed_slice())
}

/// What `items` gives, in one allocation, up to the first that there is no memory for.
#[cfg(feature = "alloc")]
pub(crate) fn try_boxed<T>(
    mut items: impl ExactSizeIterator<Item = Result<T, BuildError>>,
) -> Result<Box<[T]>, BuildError> {
    let mut all = room(items.len())?;
    items.try_for_each(|item| item.map(|item| all.push(item)))?;
    Ok(all.into_boxed_slice())
}

/// `count` places in one allocation, whose memory is not touched.
#[cfg(feature = "alloc")]
pub(crate) fn places<T>(count: usize) -> Result<Box<[MaybeUninit<T>]>, BuildError> {
    let mut places = room(count)?;
    // SAFETY: there is room for so many, and a place need not be initialised.
    unsafe { places.set_len(count) };
    Ok(places.into_boxed_slice())
}

/// As [`places`], of zeroes.
#[cfg(all(feature = "alloc", not(loom)))]
pub(crate) fn zeroes<T>(count: usize) -> Result<Box<[MaybeUninit<T>]>, BuildError> {
    let bytes = count.saturating_mul(size_of::<T>());
    let layout = Layout::array::<T>(count).map_err(|_| BuildError::OutOfMemory { bytes })?;
    if layout.size() == 0 {
        return places(count);
    }
    let first = allocate(layout, alloc::alloc::alloc_zeroed)?.cast::<MaybeUninit<T>>();
    // SAFETY: allocated with the layout that a box of so many places has.
    Ok(unsafe { Box::from_raw(NonNull::slice_from_raw_parts(first, count).as_ptr()) })
}

/// `count` times what `zero` gives, in one allocation, whose memory is not touched. Under loom such a thing is more than its memory.
///
/// # Safety
///
/// But for loom, that is nothing but zeroes.
#[cfg(feature = "alloc")]
pub(crate) unsafe fn zeroed<T>(count: usize, zero: impl Fn() -> T) -> Result<Box<[T]>, BuildError> {
    #[cfg(loom)]
    return boxed((0..count).map(|_| zero()));
    #[cfg(not(loom))]
    {
        let _ = zero;
        // SAFETY: by the caller's promise.
        zeroes(count).map(|all| unsafe { all.assume_init() })
    }
}

/// `count` words of zero in one allocation, whose memory is not touched.
#[cfg(feature = "alloc")]
pub(crate) fn words(count: usize) -> Result<Box<[AtomicU64]>, BuildError> {
    // SAFETY: an atomic is its number.
    unsafe { zeroed(count, || AtomicU64::new(0)) }
}

/// `count` slots without items in one allocation. Their memory is not touched, and no item's size is moved about: a slot is nothing but its
/// place, which may be uninitialised. Under loom it is more than that.
#[cfg(feature = "alloc")]
pub(crate) fn slots<T>(count: usize) -> Result<Box<[Slot<MaybeUninit<T>>]>, BuildError> {
    #[cfg(loom)]
    return boxed((0..count).map(|_| Slot::new(MaybeUninit::uninit())));
    #[cfg(not(loom))]
    // SAFETY: a slot is transparent, and what is in it may be uninitialised.
    places(count).map(|places| unsafe { places.assume_init() })
}
