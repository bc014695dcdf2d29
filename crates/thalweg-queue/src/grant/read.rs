//! Reading in place.

use super::Read;
use crate::TryPopError;
use crate::drops::Drops;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use thalweg_sync::hint::Access;

/// Items to be read in place. Made by the `readable` of a consumer.
///
/// [`release`](Self::release) drops the first of them and gives their entries back. What is not released stays in the queue, so dropping
/// the grant pops nothing; [`bbq::ReadGrant`](crate::mpmc::ReadGrant) and [others](super#dropped) pop then.
///
/// Threads may share it if they may share the items:
///
/// ```
/// let (mut tx, mut rx) = thalweg_queue::spsc::spsc::<u64>(2, 8)?;
/// tx.push(7).unwrap();
/// let grant = rx.readable(1).unwrap();
/// std::thread::scope(|scope| scope.spawn(|| assert_eq!(grant[0], 7)).join().unwrap());
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
///
/// ```compile_fail,E0277
/// let (mut tx, mut rx) = thalweg_queue::spsc::spsc::<std::cell::Cell<u64>>(2, 8)?;
/// tx.push(std::cell::Cell::new(7)).unwrap();
/// let grant = rx.readable(1).unwrap();
/// std::thread::scope(|scope| scope.spawn(|| assert_eq!(grant[0].get(), 7)).join().unwrap());
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
pub struct ReadGrant<'a, E: Read> {
    end: &'a mut E,
    count: usize,
    /// It lends the items, so only items that are `Sync` let it be: the end alone would be for any.
    _items: PhantomData<E::Item>,
}

impl<'a, E: Read> ReadGrant<'a, E> {
    /// Up to `count` items of `end`, at least one.
    pub(crate) fn new(end: &'a mut E, count: usize) -> Result<Self, TryPopError> {
        let count = end.ready(count.max(1))?;
        Ok(Self::counted(end, count))
    }

    /// The `count` items that `end` has counted last.
    pub(super) fn counted(end: &'a mut E, count: usize) -> Self {
        Self { end, count, _items: PhantomData }
    }

    fn items(&self, access: Access) -> *mut E::Item {
        // SAFETY: `ready` counted them, and none is released before the grant is over.
        unsafe { self.end.items(self.count, access) }
    }

    /// Drops the first `count` items and gives their entries back. The others stay in the queue.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn release(self, count: usize) {
        assert!(count <= self.count, "{count} items are more than the {} that are there", self.count);
        /// Moves past the items, also if a destructor panics.
        struct Past<'a, E: Read>(&'a mut E, usize);
        impl<E: Read> Drop for Past<'_, E> {
            fn drop(&mut self) {
                // SAFETY: `ready` counted at least so many, and they are dropped.
                unsafe { self.0.release(self.1) };
            }
        }
        let items = self.items(Access::Write);
        let _past = (count > 0).then(|| Past(self.end, count));
        // SAFETY: the items are the end's alone, and it moves past them.
        unsafe { Drops::default().all(items, count) };
    }
}

impl<E: Read> Deref for ReadGrant<'_, E> {
    type Target = [E::Item];

    fn deref(&self) -> &[E::Item] {
        // SAFETY: the entries are the end's alone, which the grant borrows, and hold items.
        unsafe { core::slice::from_raw_parts(self.items(Access::Read), self.count) }
    }
}

impl<E: Read> DerefMut for ReadGrant<'_, E> {
    fn deref_mut(&mut self) -> &mut [E::Item] {
        // SAFETY: as in `deref`, and the grant is borrowed exclusively.
        unsafe { core::slice::from_raw_parts_mut(self.items(Access::Write), self.count) }
    }
}

impl<E: Read> fmt::Debug for ReadGrant<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadGrant").field("count", &self.count).finish()
    }
}

/// The oldest item, left where it is.
pub(crate) fn peek<E: Read>(end: &mut E) -> Result<&E::Item, TryPopError> {
    end.ready(1)?;
    // SAFETY: `ready` counted it, and nobody moves it while the end is borrowed.
    Ok(unsafe { &*end.items(1, Access::Read) })
}
