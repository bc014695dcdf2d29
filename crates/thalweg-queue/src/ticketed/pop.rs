//! The reading end.

use super::ring::{Owned, Span};
use super::ticket::Ticket;
use crate::wait::{Side, Wait};
use crate::{PopError, TryPopError, Yield};
use alloc::vec::Vec;
use core::fmt;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::sync::Arc;

/// A reading end. Clones read from the same queue; when the last one is dropped, pushes fail from then on and what is in
/// the queue is dropped.
///
/// A handle or a guard that is leaked (`mem::forget`) counts as alive for ever.
pub struct Consumer<T: Send, W: Wait = Yield> {
    pub(super) ring: Arc<Owned<T, W>>,
}

impl<T: Send, W: Wait> Consumer<T, W> {
    /// Reserves the next `count` items to take, or says why not. At the end fewer may be left: then what is left, but at
    /// least one.
    ///
    /// - `Empty`: so many are not in the queue.
    /// - `Busy`: they will be when pushes end that have begun; or so many tickets are out that those at the front have to be
    ///   served first.
    /// - `Closed`: every producer is gone and the queue is drained.
    ///
    /// # Panics
    ///
    /// If `count` is zero or above the capacity.
    pub fn try_reserve(&self, count: usize) -> Result<Take<'_, T, W>, TryPopError> {
        let count = self.checked(1, count);
        let span = self.ring.reserve(count, count, true)?;
        Ok(Take { ring: &self.ring, span, next: span.from, ticket: Some(self.ticket(span)) })
    }

    /// Reserves the next `count` items to take, waiting while there are fewer; else as [`try_reserve`](Self::try_reserve).
    ///
    /// # Panics
    ///
    /// If `count` is zero or above the capacity.
    pub fn reserve(&self, count: usize) -> Result<Take<'_, T, W>, PopError> {
        loop {
            match self.try_reserve(count) {
                Ok(take) => return Ok(take),
                Err(TryPopError::Closed) => return Err(PopError),
                Err(TryPopError::Empty | TryPopError::Busy) => self.wait(count as u64, count as u64, true),
            }
        }
    }

    fn wait(&self, look: u64, count: u64, fewer: bool) {
        self.ring.desk.wait.wait(Side::Items, None, || self.ring.may_reserve(look, count, fewer));
    }

    fn ticket(&self, span: Span) -> Ticket<'_, W> {
        Ticket::new(&self.ring.desk, span)
    }

    /// Pops the oldest item, or says why not. The reasons are those of [`try_reserve`](Self::try_reserve).
    pub fn try_pop(&self) -> Result<T, TryPopError> {
        self.try_pop_numbered().map(|(_, item)| item)
    }

    /// Pops the oldest item and its position in the queue's order: they count from 0, without gaps but for holes.
    pub fn try_pop_numbered(&self) -> Result<(u64, T), TryPopError> {
        loop {
            let mut take = self.try_reserve(1)?;
            let (position, item) = (take.span.from, take.next());
            // Before the item is on its way out: this rings, and a waker that panics is to drop it.
            drop(take);
            if let Some(item) = item {
                return Ok((position, item));
            }
        }
    }

    /// Pops what is there, up to `limit` items, onto the end of `into`. Returns how many: at least one, unless `limit` is zero.
    ///
    /// They are reserved at once, so they stood one behind the other in the queue; their ticket is consumed.
    pub fn try_pop_many(&self, into: &mut Vec<T>, limit: usize) -> Result<usize, TryPopError> {
        self.pop_some(limit, |items| {
            let before = into.len();
            into.extend(items);
            into.len() - before
        })
    }

    /// Moves what is there into `into`, from the first place on, dropping what was in those places. Returns how many: at least
    /// one, unless `into` is empty. Otherwise as [`try_pop_many`](Self::try_pop_many).
    pub fn try_pop_slice(&self, into: &mut [T]) -> Result<usize, TryPopError> {
        self.pop_some(into.len(), |items| into.iter_mut().zip(items).map(|(place, item)| *place = item).count())
    }

    /// Hands what is there, up to `limit` items, to `take`, which says how many there were: none if all were holes.
    fn pop_some(&self, limit: usize, mut take: impl FnMut(&mut Take<'_, T, W>) -> usize) -> Result<usize, TryPopError> {
        let mut popped = 0;
        while limit > 0 && popped == 0 {
            let span = self.ring.reserve_some(limit.min(self.capacity()) as u64)?;
            popped = take(&mut Take { ring: &self.ring, span, next: span.from, ticket: Some(self.ticket(span)) });
        }
        Ok(popped)
    }

    fn may_pop(&self) -> bool {
        self.ring.may_reserve(1, 1, true)
    }

    fn strategy(&self) -> &W {
        &self.ring.desk.wait
    }

    #[track_caller]
    fn checked(&self, least: usize, count: usize) -> u64 {
        assert!((least..=self.capacity()).contains(&count), "a reservation of {count} entries of {}", self.capacity());
        count as u64
    }

    /// How many items are committed and not reserved by a pop, lately; holes count as items.
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Whether `len` is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many entries there are.
    pub fn capacity(&self) -> usize {
        self.ring.capacity() as usize
    }

    /// Whether every producer is gone. Then it stays so; items may still be left.
    pub fn is_closed(&self) -> bool {
        self.ring.producers_gone()
    }
}

impl<T: Send + Sync + Copy, W: Wait> Consumer<T, W> {
    /// Reserves the next `peek` items to look at and the first `pop` of them to take, in one step; or says why not, as
    /// [`try_reserve`](Self::try_reserve) does. It is `Closed` when fewer than `peek` are left and no more will come.
    ///
    /// The next reservation begins `pop` items further on, so windows of several threads overlap: hence items that are `Copy`.
    ///
    /// # Panics
    ///
    /// If `pop` is zero or above `peek`, or `peek` above the capacity.
    pub fn try_window(&self, peek: usize, pop: usize) -> Result<Window<'_, T, W>, TryPopError> {
        let (peek, pop) = (self.checked(pop, peek), self.checked(1, pop));
        let span = self.ring.reserve(peek, pop, false)?;
        Ok(Window { ring: &self.ring, span, end: span.from + peek, ticket: Some(self.ticket(span)) })
    }

    /// As [`try_window`](Self::try_window), waiting while there are fewer items.
    ///
    /// # Panics
    ///
    /// As [`try_window`](Self::try_window).
    pub fn window(&self, peek: usize, pop: usize) -> Result<Window<'_, T, W>, PopError> {
        loop {
            match self.try_window(peek, pop) {
                Ok(window) => return Ok(window),
                Err(TryPopError::Closed) => return Err(PopError),
                Err(TryPopError::Empty | TryPopError::Busy) => self.wait(peek as u64, pop as u64, false),
            }
        }
    }
}

crate::wait::consumer!(shared batches Consumer[T: Send]);

impl<T: Send, W: Wait> Clone for Consumer<T, W> {
    fn clone(&self) -> Self {
        // Relaxed: this handle keeps the count above zero meanwhile.
        self.ring.handles.consumers.fetch_add(1, Relaxed);
        Self { ring: self.ring.clone() }
    }
}

impl<T: Send, W: Wait> Drop for Consumer<T, W> {
    fn drop(&mut self) {
        self.ring.leave_consumer();
    }
}

impl<T: Send, W: Wait> fmt::Debug for Consumer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

/// Items reserved to take: an iterator that moves them out. Dropping it drops the rest, gives the room back, and consumes the
/// [ticket](Self::ticket) unless [`commit`](Self::commit) took it.
#[must_use = "dropped at once, it drops the items"]
pub struct Take<'a, T: Send, W: Wait = Yield> {
    ring: &'a Owned<T, W>,
    span: Span,
    /// The next item to move out.
    next: u64,
    /// Until `commit` takes it.
    ticket: Option<Ticket<'a, W>>,
}

impl<'a, T: Send, W: Wait> Take<'a, T, W> {
    /// The ticket of this reservation.
    pub fn ticket(&self) -> &Ticket<'a, W> {
        self.ticket.as_ref().expect("only `commit` takes it, and that ends the reservation")
    }

    /// Drops what is left, and gives the room back once every reservation before this one has ended; does not wait for that.
    /// The ticket stays.
    pub fn commit(mut self) -> Ticket<'a, W> {
        let ticket = self.ticket.take();
        drop(self);
        ticket.expect("only `commit` takes it")
    }
}

impl<T: Send, W: Wait> Iterator for Take<'_, T, W> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        while self.next < self.span.to {
            let at = self.next;
            self.next += 1;
            if !self.ring.is_hole(at) {
                // SAFETY: the position is in our span, which has not ended, and is read once, as `next` moved on.
                return Some(unsafe { self.ring.read(at) });
            }
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some((self.span.to - self.next) as usize))
    }
}

impl<T: Send, W: Wait> Drop for Take<'_, T, W> {
    fn drop(&mut self) {
        /// Drops the rest and ends the span; goes on with the next item when a destructor panics.
        struct End<'b, 'a, T: Send, W: Wait>(&'b mut Take<'a, T, W>);
        impl<T: Send, W: Wait> Drop for End<'_, '_, T, W> {
            fn drop(&mut self) {
                self.0.by_ref().for_each(drop);
                self.0.ring.consume(self.0.span);
            }
        }
        let end = End(self);
        end.0.by_ref().for_each(drop);
    }
}

impl<T: Send, W: Wait> fmt::Debug for Take<'_, T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Take").field("at_most", &(self.span.to - self.next)).finish_non_exhaustive()
    }
}

/// Items reserved to look at, of which the first ones are popped when it is dropped or committed.
///
/// ```
/// let (tx, rx) = thalweg_queue::ticketed::ticketed(8)?;
/// (1..=4).try_for_each(|number| tx.push(number))?;
/// let first = rx.window(3, 1)?;
/// let second = rx.window(3, 1)?; // does not wait for the first one
/// assert!(first.iter().eq(&[1, 2, 3]));
/// assert!(second.iter().eq(&[2, 3, 4]));
/// assert_eq!(second.get(0), Some(&2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropped at once, it pops items unseen"]
pub struct Window<'a, T: Send + Sync + Copy, W: Wait = Yield> {
    ring: &'a Owned<T, W>,
    /// What is popped.
    span: Span,
    /// Where the window ends.
    end: u64,
    /// Until `commit` takes it.
    ticket: Option<Ticket<'a, W>>,
}

impl<'a, T: Send + Sync + Copy, W: Wait> Window<'a, T, W> {
    /// The item at `index`; `None` behind the end, and where a push was given up.
    pub fn get(&self, index: usize) -> Option<&T> {
        let at = self.span.from.checked_add(index as u64).filter(|&at| at < self.end)?;
        // SAFETY: the window is committed, ours until it is dropped, and items are `Copy`.
        (!self.ring.is_hole(at)).then(|| unsafe { self.ring.get(at) })
    }

    /// The items, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..(self.end - self.span.from) as usize).filter_map(|index| self.get(index))
    }

    /// The ticket of this reservation.
    pub fn ticket(&self) -> &Ticket<'a, W> {
        self.ticket.as_ref().expect("only `commit` takes it, and that ends the reservation")
    }

    /// Pops, once every reservation before this one has ended; does not wait for that. The ticket stays.
    pub fn commit(mut self) -> Ticket<'a, W> {
        self.ticket.take().expect("only `commit` takes it")
    }
}

impl<T: Send + Sync + Copy, W: Wait> Drop for Window<'_, T, W> {
    fn drop(&mut self) {
        self.ring.consume(self.span);
    }
}

impl<T: Send + Sync + Copy, W: Wait> fmt::Debug for Window<'_, T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window").field("at_most", &(self.end - self.span.from)).finish_non_exhaustive()
    }
}
