//! Batches over runs of entries: as many as fit, or as are there, with one update of a cursor for each run.

use super::{Read, Write};
#[cfg(feature = "alloc")]
use crate::left::Left;
use crate::{TryPopError, TryPushError};
#[cfg(feature = "alloc")]
use alloc::vec::Vec;

/// Copies as many of `values` as there is room for. Returns how many: at least one, unless there are none.
#[inline]
pub(crate) fn push_slice<E: Write<Item: Copy>>(end: &mut E, values: &[E::Item]) -> Result<usize, TryPushError<()>> {
    let mut left = values;
    while !left.is_empty() {
        match end.room(left.len()) {
            Ok(count) => {
                let (now, later) = left.split_at(count);
                #[cfg(not(loom))]
                // SAFETY: `room` counted them, so they are the end's alone, and as many as the values.
                unsafe {
                    core::ptr::copy_nonoverlapping(now.as_ptr(), end.entries(count).cast(), count);
                }
                #[cfg(loom)]
                for (offset, &value) in now.iter().enumerate() {
                    // SAFETY: `room` counted it.
                    unsafe { end.write(offset, value) };
                }
                // SAFETY: counted and written.
                unsafe { end.commit(count) };
                left = later;
            }
            Err(refused) if left.len() == values.len() => return Err(refused),
            Err(_) => break,
        }
    }
    Ok(values.len() - left.len())
}

/// Moves as many of `values` as there is room for into the queue. Returns how many: at least one, unless there are none.
#[cfg(feature = "alloc")]
pub(crate) fn push_many<E: Write>(end: &mut E, values: &mut Vec<E::Item>) -> Result<usize, TryPushError<()>> {
    let mut left = Left::new(values);
    let mut pushed = 0;
    let mut result = Ok(());
    while left.rest.len() > 0 {
        let count = match end.room(left.rest.len()) {
            Ok(count) => count,
            Err(refused) => {
                result = Err(refused);
                break;
            }
        };
        for (offset, value) in (0..count).zip(left.rest.by_ref()) {
            // SAFETY: `room` counted it.
            unsafe { end.write(offset, value) };
        }
        // SAFETY: counted and written: `count` is at most the number of values that were left.
        unsafe { end.commit(count) };
        pushed += count;
    }
    if pushed == 0 { result.map(|()| 0) } else { Ok(pushed) }
}

/// Moves what is there into `into`, dropping what was in those places. Returns how many: at least one, unless it is empty.
#[inline]
pub(crate) fn pop_slice<E: Read>(end: &mut E, into: &mut [E::Item]) -> Result<usize, TryPopError> {
    pop_runs(end, into.len(), |done, mut items| {
        #[cfg(not(loom))]
        if !core::mem::needs_drop::<E::Item>() {
            return items.copy_into(&mut into[done..]);
        }
        for (place, item) in into[done..].iter_mut().zip(items.by_ref()) {
            *place = item;
        }
    })
}

/// Pops what is there, up to `limit` items, onto the end of `into`. Returns how many: at least one, unless `limit` is zero.
#[cfg(feature = "alloc")]
pub(crate) fn pop_many<E: Read>(end: &mut E, into: &mut Vec<E::Item>, limit: usize) -> Result<usize, TryPopError> {
    pop_runs(end, limit, |_, items| into.extend(items))
}

/// Hands up to `limit` items to `take`, run by run, with the count of those that came before.
#[inline]
fn pop_runs<E: Read>(
    end: &mut E,
    limit: usize,
    mut take: impl FnMut(usize, Items<'_, E>),
) -> Result<usize, TryPopError> {
    let mut done = 0;
    while done < limit {
        match end.ready(limit - done) {
            Ok(count) => {
                take(done, Items { end, taken: 0, count });
                done += count;
            }
            Err(refused) if done == 0 => return Err(refused),
            Err(_) => break,
        }
    }
    Ok(done)
}

/// Items on their way out of one run. When dropped, also by a panic of whoever takes them, the end moves past those that were
/// taken; the others stay.
struct Items<'a, E: Read> {
    end: &'a mut E,
    taken: usize,
    count: usize,
}

#[cfg(not(loom))]
impl<E: Read> Items<'_, E> {
    /// Moves all of them, of which none is taken yet, into the first places of `into`, which has as many and nothing to drop.
    #[inline]
    fn copy_into(&mut self, into: &mut [E::Item]) {
        debug_assert!(!core::mem::needs_drop::<E::Item>());
        let into = &mut into[..self.count];
        self.taken = self.count;
        // SAFETY: `ready` counted them, so the entries are the end's alone and hold items, and `drop` moves past them.
        unsafe {
            let items = self.end.items(self.count, thalweg_sync::hint::Access::Read);
            core::ptr::copy_nonoverlapping(items.cast_const(), into.as_mut_ptr(), self.count);
        }
    }
}

impl<E: Read> Iterator for Items<'_, E> {
    type Item = E::Item;

    #[inline(always)]
    fn next(&mut self) -> Option<E::Item> {
        if self.taken == self.count {
            return None;
        }
        let offset = self.taken;
        self.taken += 1;
        // SAFETY: `ready` counted it, and `drop` moves past it.
        Some(unsafe { self.end.read(offset) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count - self.taken, Some(self.count - self.taken))
    }
}

impl<E: Read> ExactSizeIterator for Items<'_, E> {}

impl<E: Read> Drop for Items<'_, E> {
    fn drop(&mut self) {
        if self.taken > 0 {
            // SAFETY: `ready` counted these, and they are moved out.
            unsafe { self.end.release(self.taken) };
        }
    }
}
