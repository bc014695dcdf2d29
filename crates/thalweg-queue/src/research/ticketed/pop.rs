//! The reading end.

use super::ring::{Owned, Span};
use super::ticket::Ticket;
use crate::drops::Drops;
#[cfg(feature = "std")]
use crate::wait::Sleep;
use crate::wait::{self, Deadline, Ordinary, Side, Wait, both};
use crate::{PopError, PopTimeoutError, TryPopError};
use alloc::vec::Vec;
use core::fmt;
use thalweg_sync::sync::Arc;
#[cfg(feature = "std")]
use thalweg_sync::time::{self, Duration};

/// A reading end. Clones read from the same queue; when the last one is dropped, pushes fail from then on and what is in
/// the queue is dropped.
///
/// A handle or a guard that is leaked (`mem::forget`) counts as alive for ever.
pub struct Consumer<T, W: Wait = Ordinary> {
    pub(super) ring: Arc<Owned<T, W>>,
}

impl<T, W: Wait> Consumer<T, W> {
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
        let count = self.checked(count);
        let span = self.ring.reserve(count, count, true)?;
        Ok(Take { ring: &self.ring, span, next: span.from, ticket: Some(self.ticket(span)) })
    }

    /// Reserves the next `count` items to take, waiting while there are fewer; else as [`try_reserve`](Self::try_reserve).
    ///
    /// # Panics
    ///
    /// If `count` is zero or above the capacity.
    pub fn reserve(&self, count: usize) -> Result<Take<'_, T, W>, PopError> {
        self.reserve_by(count, None).map_err(|_| PopError)
    }

    fn reserve_by(&self, count: usize, deadline: Option<Deadline>) -> Result<Take<'_, T, W>, PopTimeoutError> {
        let items = self.checked(count);
        self.wait_by(deadline, || self.try_reserve(count), || self.ring.may_reserve(items, items, true))
    }

    fn wait_by<R>(
        &self,
        deadline: Option<Deadline>,
        mut reserve: impl FnMut() -> Result<R, TryPopError>,
        may_reserve: impl FnMut() -> bool,
    ) -> Result<R, PopTimeoutError> {
        match wait::within(self.strategy(), Side::Items, deadline, || wait::popped(reserve()), may_reserve) {
            Some(Ok(reserved)) => Ok(reserved),
            Some(Err(PopError)) => Err(PopTimeoutError::Closed),
            None => Err(PopTimeoutError::Timeout),
        }
    }

    #[cfg(feature = "std")]
    fn when<R>(&self, mut reserve: impl FnMut() -> Result<R, TryPopError>) -> impl Future<Output = Result<R, PopError>>
    where
        W: Sleep,
    {
        // Who makes items visible wakes all, so nobody is left to be woken.
        wait::until(self.strategy().park(), Side::Items, move || wait::popped(reserve()), || false)
    }

    /// As [`reserve`](Self::reserve), but no longer than `timeout`.
    ///
    /// # Panics
    ///
    /// If `count` is zero or above the capacity.
    #[cfg(feature = "std")]
    pub fn reserve_timeout(&self, count: usize, timeout: Duration) -> Result<Take<'_, T, W>, PopTimeoutError> {
        self.reserve_by(count, Some(time::now().after(timeout)))
    }

    /// As [`reserve`](Self::reserve), pending while there are fewer items. Dropped before it is ready, it has taken none, and no ticket is
    /// issued.
    ///
    /// # Panics
    ///
    /// If `count` is zero or above the capacity.
    #[cfg(feature = "std")]
    pub fn reserve_async(&self, count: usize) -> impl Future<Output = Result<Take<'_, T, W>, PopError>>
    where
        W: Sleep,
    {
        self.checked(count);
        self.when(move || self.try_reserve(count))
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
            // Before the item is on its way out: this notifies, and a waker that panics is to drop it.
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
    fn checked(&self, count: usize) -> u64 {
        super::checked("count", count, self.capacity())
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

impl<T: Copy, W: Wait> Consumer<T, W> {
    #[track_caller]
    fn checked_window(&self, peek: usize, pop: usize) -> (u64, u64) {
        (super::checked("peek", peek, self.capacity()), super::checked("pop", pop, peek))
    }

    /// Reserves the next `peek` items to look at and the first `pop` of them to take, in one step; or says why not, as
    /// [`try_reserve`](Self::try_reserve) does. It is `Closed` when fewer than `peek` are left and no more will come.
    ///
    /// The next reservation begins `pop` items further on, so windows of several threads overlap: hence items that are `Copy`.
    ///
    /// # Panics
    ///
    /// If `pop` is zero or above `peek`, or `peek` above the capacity.
    pub fn try_window(&self, peek: usize, pop: usize) -> Result<Window<'_, T, W>, TryPopError> {
        let (peek, pop) = self.checked_window(peek, pop);
        let span = self.ring.reserve(peek, pop, false)?;
        Ok(Window { ring: &self.ring, span, end: span.from + peek, ticket: Some(self.ticket(span)) })
    }

    /// As [`try_window`](Self::try_window), waiting while there are fewer items.
    ///
    /// # Panics
    ///
    /// As [`try_window`](Self::try_window).
    pub fn window(&self, peek: usize, pop: usize) -> Result<Window<'_, T, W>, PopError> {
        self.window_by(peek, pop, None).map_err(|_| PopError)
    }

    fn window_by(
        &self,
        peek: usize,
        pop: usize,
        deadline: Option<Deadline>,
    ) -> Result<Window<'_, T, W>, PopTimeoutError> {
        let (look, count) = self.checked_window(peek, pop);
        self.wait_by(deadline, || self.try_window(peek, pop), || self.ring.may_reserve(look, count, false))
    }

    /// As [`window`](Self::window), but no longer than `timeout`.
    ///
    /// # Panics
    ///
    /// As [`try_window`](Self::try_window).
    #[cfg(feature = "std")]
    pub fn window_timeout(
        &self,
        peek: usize,
        pop: usize,
        timeout: Duration,
    ) -> Result<Window<'_, T, W>, PopTimeoutError> {
        self.window_by(peek, pop, Some(time::now().after(timeout)))
    }

    /// As [`window`](Self::window), pending while there are fewer items. Dropped before it is ready, it has taken none, and no ticket is
    /// issued.
    ///
    /// ```
    /// use futures_executor::block_on;
    /// use thalweg_queue::{Park, research::ticketed};
    ///
    /// let (tx, rx) = ticketed::with_wait(4, 0, Park::new())?;
    /// tx.push_all([1, 2, 3])?;
    /// let window = block_on(rx.window_async(3, 1))?;
    /// assert!(window.iter().eq(&[1, 2, 3]));
    /// # drop(window);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// As [`try_window`](Self::try_window).
    #[cfg(feature = "std")]
    pub fn window_async(&self, peek: usize, pop: usize) -> impl Future<Output = Result<Window<'_, T, W>, PopError>>
    where
        W: Sleep,
    {
        self.checked_window(peek, pop);
        self.when(move || self.try_window(peek, pop))
    }
}

crate::handles::downgrade! { [T, W: Wait] Consumer<T, W>, ring, |end| end.ring.handles.consumers }
crate::wait::consumer!(shared batches Consumer[T]);

impl<T, W: Wait> Clone for Consumer<T, W> {
    fn clone(&self) -> Self {
        self.ring.handles.consumers.add();
        Self { ring: self.ring.clone() }
    }
}

impl<T, W: Wait> Drop for Consumer<T, W> {
    fn drop(&mut self) {
        self.ring.leave_consumer();
    }
}

impl<T, W: Wait> fmt::Debug for Consumer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

/// Items reserved to take: an iterator that moves them out. Dropping it drops the rest, gives the room back, and consumes the
/// [ticket](Self::ticket) unless [`commit`](Self::commit) took it.
///
/// ```
/// let (tx, rx) = thalweg_queue::research::ticketed::ticketed(8)?;
/// tx.push_all(["a", "b", "c"])?;
/// let mut first = rx.reserve(2)?;
/// let mut second = rx.reserve(1)?; // does not wait for the first one
/// assert_eq!(second.next(), Some("c"));
/// assert_eq!(first.peek(), Some(&"a")); // where it lies
/// assert!(first.eq(["a", "b"]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropped at once, it drops the items"]
pub struct Take<'a, T, W: Wait = Ordinary> {
    ring: &'a Owned<T, W>,
    span: Span,
    /// The next item to move out.
    next: u64,
    /// Until `commit` takes it.
    ticket: Option<Ticket<'a, W>>,
}

impl<'a, T, W: Wait> Take<'a, T, W> {
    /// The ticket of this reservation.
    pub fn ticket(&self) -> &Ticket<'a, W> {
        self.ticket.as_ref().expect("only `commit` takes it, and that ends the reservation")
    }

    /// The next item, left where it lies: [`next`](Iterator::next) takes it, and the end of the reservation drops it.
    pub fn peek(&mut self) -> Option<&T> {
        while self.next < self.span.to && self.ring.is_hole(self.next) {
            self.next += 1;
        }
        // SAFETY: the position is in our span, which does not end while this is borrowed; it is no hole, and not read yet.
        (self.next < self.span.to).then(|| unsafe { self.ring.get(self.next) })
    }

    /// Drops what is left, and gives the room back once every reservation before this one has ended; does not wait for that.
    /// The ticket stays.
    pub fn commit(mut self) -> Ticket<'a, W> {
        let ticket = self.ticket.take();
        drop(self);
        ticket.expect("only `commit` takes it")
    }
}

impl<T, W: Wait> Iterator for Take<'_, T, W> {
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

impl<T, W: Wait> Drop for Take<'_, T, W> {
    fn drop(&mut self) {
        let (ring, span) = (self.ring, self.span);
        let items = || {
            let mut drops = Drops::default();
            if core::mem::needs_drop::<T>() {
                // SAFETY: the positions are in our span, which has not ended, and were not read.
                (self.next..span.to).for_each(|at| drops.one(|| unsafe { ring.discard(at) }));
            }
        };
        both(items, || ring.consume(span));
    }
}

impl<T, W: Wait> fmt::Debug for Take<'_, T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Take").field("at_most", &(self.span.to - self.next)).finish_non_exhaustive()
    }
}

/// Items reserved to look at, of which the first ones are popped when it is dropped or committed.
///
/// ```
/// let (tx, rx) = thalweg_queue::research::ticketed::ticketed(8)?;
/// (1..=4).try_for_each(|number| tx.push(number))?;
/// let first = rx.window(3, 1)?;
/// let second = rx.window(3, 1)?; // does not wait for the first one
/// assert!(first.iter().eq(&[1, 2, 3]));
/// assert!(second.iter().eq(&[2, 3, 4]));
/// assert_eq!(second.get(0), Some(&2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropped at once, it pops items unseen"]
pub struct Window<'a, T: Copy, W: Wait = Ordinary> {
    ring: &'a Owned<T, W>,
    /// What is popped.
    span: Span,
    /// Where the window ends.
    end: u64,
    /// Until `commit` takes it.
    ticket: Option<Ticket<'a, W>>,
}

impl<'a, T: Copy, W: Wait> Window<'a, T, W> {
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

impl<T: Copy, W: Wait> Drop for Window<'_, T, W> {
    fn drop(&mut self) {
        self.ring.consume(self.span);
    }
}

impl<T: Copy, W: Wait> fmt::Debug for Window<'_, T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window").field("at_most", &(self.end - self.span.from)).finish_non_exhaustive()
    }
}
