//! Memory for a queue, asked for when it is built: a refusal is an error, not the end of the program.

use crate::BuildError;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::MaybeUninit;
use thalweg_sync::cell::Slot;

/// An empty vector with room for `count` items, and no more.
pub(crate) fn room<T>(count: usize) -> Result<Vec<T>, BuildError> {
    let mut items = Vec::new();
    match items.try_reserve_exact(count) {
        Ok(()) => Ok(items),
        Err(_) => Err(BuildError::OutOfMemory { bytes: count.saturating_mul(size_of::<T>()) }),
    }
}

/// What `items` gives, in one allocation.
pub(crate) fn boxed<T>(items: impl ExactSizeIterator<Item = T>) -> Result<Box<[T]>, BuildError> {
    let mut all = room(items.len())?;
    all.extend(items);
    Ok(all.into_boxed_slice())
}

/// What `items` gives, in one allocation, up to the first that there is no memory for.
pub(crate) fn try_boxed<T>(
    mut items: impl ExactSizeIterator<Item = Result<T, BuildError>>,
) -> Result<Box<[T]>, BuildError> {
    let mut all = room(items.len())?;
    items.try_for_each(|item| item.map(|item| all.push(item)))?;
    Ok(all.into_boxed_slice())
}

/// `count` places in one allocation, whose memory is not touched.
pub(crate) fn places<T>(count: usize) -> Result<Box<[MaybeUninit<T>]>, BuildError> {
    let mut places = room(count)?;
    // SAFETY: there is room for so many, and a place need not be initialised.
    unsafe { places.set_len(count) };
    Ok(places.into_boxed_slice())
}

/// `count` slots without items in one allocation. Their memory is not touched, and no item's size is moved about: a slot is nothing but its
/// place, which may be uninitialised. Under loom it is more than that.
pub(crate) fn slots<T>(count: usize) -> Result<Box<[Slot<MaybeUninit<T>>]>, BuildError> {
    #[cfg(loom)]
    return boxed((0..count).map(|_| Slot::new(MaybeUninit::uninit())));
    #[cfg(not(loom))]
    // SAFETY: a slot is transparent, and what is in it may be uninitialised.
    places(count).map(|places| unsafe { places.assume_init() })
}
