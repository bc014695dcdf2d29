//! Memory for a queue, asked for when it is built: a refusal is an error, not the end of the program.

use crate::BuildError;
use alloc::boxed::Box;
use alloc::vec::Vec;

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
