//! Batches, block by block, for the handles of any number.

use super::shared::Shared;
use super::users::Users;
use crate::handles;
#[cfg(feature = "alloc")]
use crate::left::Left;
use crate::wait::Wait;
use crate::{TryPopError, TryPushError};
#[cfg(feature = "alloc")]
use alloc::vec::Vec;

impl<T, W: Wait, P: Users, C: Users> Shared<T, W, P, C> {
    /// Copies as many of `values` as there is room for, from the first on. Returns how many: at least one, unless there are none.
    pub(crate) fn push_slice(&self, values: &[T]) -> Result<usize, TryPushError<()>>
    where
        T: Copy,
    {
        let mut pushed = 0;
        while pushed < values.len() {
            let result = self.push_batch(values.len() - pushed, |block, offsets| {
                // SAFETY: `push_batch` has allocated the offsets.
                unsafe { block.write_all(offsets.start, &values[pushed..pushed + offsets.len()]) };
            });
            match result {
                Ok(count) => pushed += count,
                Err(refused) if pushed == 0 => return Err(refused),
                Err(_) => break,
            }
        }
        Ok(pushed)
    }

    /// Moves as many of `values` as there is room for into the queue, from the first on. Returns how many: at least one, unless
    /// there are none.
    #[cfg(feature = "alloc")]
    pub(crate) fn push_many(&self, values: &mut Vec<T>) -> Result<usize, TryPushError<()>> {
        let mut left = Left::new(values);
        let mut pushed = 0;
        let mut result = Ok(());
        while left.rest.len() > 0 && result.is_ok() {
            let batch = self.push_batch(left.rest.len(), |block, offsets| {
                for (offset, value) in offsets.zip(left.rest.by_ref()) {
                    // SAFETY: `push_batch` has allocated the offset.
                    unsafe { block.write(offset, value) };
                }
            });
            result = batch.map(|count| pushed += count);
        }
        if pushed == 0 { result.map(|()| 0) } else { Ok(pushed) }
    }

    /// As [`handles::last_look`], with the queue's producers.
    #[inline(always)]
    pub(crate) fn last_look<'a, R>(
        &'a self,
        pop: impl FnMut(&'a Self) -> Result<R, TryPopError>,
    ) -> Result<R, TryPopError> {
        handles::last_look(self, Self::producers_gone, pop)
    }

    /// Pops what is there, up to `limit` items, onto the end of `into`. Returns how many: at least one, unless `limit` is zero.
    #[cfg(feature = "alloc")]
    pub(crate) fn pop_many(&self, into: &mut Vec<T>, limit: usize) -> Result<usize, TryPopError> {
        self.pop_all(limit, |done| {
            let items = self.pop_batch(limit - done)?;
            let count = items.len();
            into.extend(items);
            Ok(count)
        })
    }

    /// Moves what is there into `into`, from the first place on, dropping what was in those places. Returns how many: at least
    /// one, unless `into` is empty.
    pub(crate) fn pop_slice(&self, into: &mut [T]) -> Result<usize, TryPopError> {
        self.pop_all(into.len(), |done| {
            #[cfg(not(loom))]
            if !core::mem::needs_drop::<T>() {
                return self.pop_into(&mut into[done..]);
            }
            let places = into[done..].iter_mut();
            let items = self.pop_batch(places.len())?;
            Ok(places.zip(items).map(|(place, item)| *place = item).count())
        })
    }

    /// Pops up to `limit` items by `pop`, which is told how many there are already and pops one or more of one block.
    #[inline]
    fn pop_all(
        &self,
        limit: usize,
        mut pop: impl FnMut(usize) -> Result<usize, TryPopError>,
    ) -> Result<usize, TryPopError> {
        let mut popped = 0;
        while popped < limit {
            match self.last_look(|_| pop(popped)) {
                Ok(count) => popped += count,
                Err(refused) if popped == 0 => return Err(refused),
                Err(_) => break,
            }
        }
        Ok(popped)
    }
}
