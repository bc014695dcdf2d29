//! The writing end.

use super::ring::{Owned, Span};
use super::ticket::Ticket;
use crate::left::Left;
#[cfg(feature = "std")]
use crate::wait::Sleep;
use crate::wait::{self, Deadline, Ordinary, Side, Wait};
use crate::{PushError, PushTimeoutError, TryPushError};
use alloc::vec::Vec;
use core::fmt;
use core::mem::MaybeUninit;
use thalweg_sync::sync::Arc;
#[cfg(feature = "std")]
use thalweg_sync::time::{self, Duration};

/// A writing end. Clones write to the same queue; dropping the last one closes it, and consumers drain what is left.
///
/// A handle or a grant that is leaked (`mem::forget`) counts as alive for ever.
pub struct Producer<T, W: Wait = Ordinary> {
    pub(super) ring: Arc<Owned<T, W>>,
}

impl<T, W: Wait> Producer<T, W> {
    /// Reserves `count` entries to write, next to each other in the queue's order, or says why not.
    ///
    /// - `Full`: there is no room until pops begin that have not.
    /// - `Busy`: there will be when those end that have begun.
    /// - `Closed`: every consumer is gone.
    ///
    /// # Panics
    ///
    /// If `count` is zero or above the capacity.
    pub fn try_reserve(&self, count: usize) -> Result<Grant<'_, T, W>, TryPushError<()>> {
        let span = self.ring.allocate(self.checked(count))?;
        Ok(Grant { ring: &self.ring, span, next: span.from })
    }

    /// Reserves `count` entries to write, waiting while there is no room.
    ///
    /// # Panics
    ///
    /// If `count` is zero or above the capacity.
    pub fn reserve(&self, count: usize) -> Result<Grant<'_, T, W>, PushError<()>> {
        self.reserve_by(count, None).map_err(|_| PushError(()))
    }

    fn reserve_by(&self, count: usize, deadline: Option<Deadline>) -> Result<Grant<'_, T, W>, PushTimeoutError<()>> {
        let room = self.checked(count);
        let attempt = || wait::pushed(self.try_reserve(count));
        match wait::within(self.strategy(), Side::Room, deadline, attempt, || self.ring.may_allocate(room)) {
            Some(Ok(grant)) => Ok(grant),
            Some(Err(PushError(()))) => Err(PushTimeoutError::Closed(())),
            None => Err(PushTimeoutError::Timeout(())),
        }
    }

    /// As [`try_reserve`](Self::try_reserve), in the turn of `ticket` at its `counter`; before that it is `Busy`.
    ///
    /// Serves the ticket at this counter, so the next one's turn has come. A refusal does not serve it.
    ///
    /// # Panics
    ///
    /// If `count` is zero or above the capacity, if there is no such counter, or if it has served the ticket already.
    pub fn try_reserve_in_turn<V: Wait>(
        &self,
        count: usize,
        ticket: &Ticket<'_, V>,
        counter: usize,
    ) -> Result<Grant<'_, T, W>, TryPushError<()>> {
        if !ticket.is_turn(counter) {
            return Err(TryPushError::Busy(()));
        }
        let grant = self.try_reserve(count)?;
        ticket.consume(counter);
        Ok(grant)
    }

    /// As [`reserve`](Self::reserve), in the turn of `ticket` at its `counter`. Waits for the turn first, then for room.
    ///
    /// # Panics
    ///
    /// As [`try_reserve_in_turn`](Self::try_reserve_in_turn).
    pub fn reserve_in_turn<V: Wait>(
        &self,
        count: usize,
        ticket: &Ticket<'_, V>,
        counter: usize,
    ) -> Result<Grant<'_, T, W>, PushError<()>> {
        self.reserve_in_turn_by(count, ticket, counter, None).map_err(|_| PushError(()))
    }

    fn reserve_in_turn_by<V: Wait>(
        &self,
        count: usize,
        ticket: &Ticket<'_, V>,
        counter: usize,
        deadline: Option<Deadline>,
    ) -> Result<Grant<'_, T, W>, PushTimeoutError<()>> {
        if !ticket.wait_for_turn_by(counter, deadline) {
            return Err(PushTimeoutError::Timeout(()));
        }
        let grant = self.reserve_by(count, deadline)?;
        ticket.consume(counter);
        Ok(grant)
    }

    /// Pushes one item, or says why not and gives it back. The reasons are those of [`try_reserve`](Self::try_reserve).
    pub fn try_push(&self, value: T) -> Result<(), TryPushError<T>> {
        match self.try_reserve(1) {
            Ok(mut grant) => {
                let _ = grant.push(value);
                Ok(())
            }
            Err(refused) => Err(refused.with_value(value)),
        }
    }

    /// Copies as many of `values` as there is room for, from the first on. Returns how many: at least one, unless there are none.
    ///
    /// They are reserved at once, so they stand one behind the other in the queue.
    ///
    /// ```
    /// let (tx, rx) = thalweg_queue::research::ticketed::ticketed(4)?;
    /// assert_eq!(tx.try_push_slice(&[1, 2, 3, 4, 5])?, 4);
    /// assert_eq!(rx.try_iter().sum::<u32>(), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_push_slice(&self, values: &[T]) -> Result<usize, TryPushError<()>>
    where
        T: Copy,
    {
        self.push_some(values.len(), &mut values.iter().copied())
    }

    /// Moves as many of `values` as there is room for into the queue, from the first on. Returns how many: at least one, unless
    /// there are none. Otherwise as [`try_push_slice`](Self::try_push_slice).
    pub fn try_push_many(&self, values: &mut Vec<T>) -> Result<usize, TryPushError<()>> {
        let mut left = Left::new(values);
        self.push_some(left.rest.len(), &mut left.rest)
    }

    /// Pushes up to `count` values, of which there are as many.
    fn push_some(&self, count: usize, values: &mut impl Iterator<Item = T>) -> Result<usize, TryPushError<()>> {
        if count == 0 {
            return Ok(0);
        }
        let span = self.ring.allocate_some(count.min(self.capacity()) as u64)?;
        let mut grant = Grant { ring: &self.ring, span, next: span.from };
        let room = grant.remaining();
        for value in values.take(room) {
            let _ = grant.push(value);
        }
        Ok(room)
    }

    fn may_push(&self) -> bool {
        self.ring.may_allocate(1)
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

    /// Whether every consumer is gone. Then it stays so, and every push is refused.
    pub fn is_closed(&self) -> bool {
        self.ring.consumers_gone()
    }
}

#[cfg(feature = "std")]
impl<T, W: Wait> Producer<T, W> {
    /// As [`reserve`](Self::reserve), but no longer than `timeout`.
    ///
    /// # Panics
    ///
    /// If `count` is zero or above the capacity.
    pub fn reserve_timeout(&self, count: usize, timeout: Duration) -> Result<Grant<'_, T, W>, PushTimeoutError<()>> {
        self.reserve_by(count, Some(time::now().after(timeout)))
    }

    /// As [`reserve`](Self::reserve), pending while there is no room. Dropped before it is ready, it has reserved nothing.
    ///
    /// # Panics
    ///
    /// If `count` is zero or above the capacity.
    pub fn reserve_async(&self, count: usize) -> impl Future<Output = Result<Grant<'_, T, W>, PushError<()>>>
    where
        W: Sleep,
    {
        self.checked(count);
        let attempt = move || wait::pushed(self.try_reserve(count));
        // Who makes room wakes all, so nobody is left to be woken.
        wait::until(self.strategy().park(), Side::Room, attempt, || false)
    }

    /// As [`reserve_in_turn`](Self::reserve_in_turn), but no longer than `timeout` for the turn and the room together. Refused, it
    /// has not served the ticket, which keeps its turn.
    ///
    /// # Panics
    ///
    /// As [`try_reserve_in_turn`](Self::try_reserve_in_turn).
    pub fn reserve_in_turn_timeout<V: Wait>(
        &self,
        count: usize,
        ticket: &Ticket<'_, V>,
        counter: usize,
        timeout: Duration,
    ) -> Result<Grant<'_, T, W>, PushTimeoutError<()>> {
        self.reserve_in_turn_by(count, ticket, counter, Some(time::now().after(timeout)))
    }

    /// As [`reserve_in_turn`](Self::reserve_in_turn), pending until it is the ticket's turn and while there is no room. Dropped before it
    /// is ready, it has reserved nothing and not served the ticket, which keeps its turn. That ticket holds the others up then, until
    /// it is used or dropped.
    ///
    /// The ticket is borrowed exclusively, so that the future may go from thread to thread.
    ///
    /// ```
    /// use futures_executor::block_on;
    /// use thalweg_queue::{Park, research::ticketed};
    ///
    /// let (numbers_tx, numbers) = ticketed::with_wait(4, 1, Park::new())?;
    /// let (squares_tx, squares) = ticketed::with_wait(4, 0, Park::new())?;
    /// numbers_tx.push_all([2, 3])?;
    /// block_on(async {
    ///     let mut first = numbers.reserve_async(1).await?;
    ///     let mut second = numbers.reserve_async(1).await?;
    ///     let (two, three) = (first.next().unwrap(), second.next().unwrap());
    ///     let mut ticket = second.commit();
    ///     drop(first); // pushes nothing: its ticket is consumed
    ///     squares_tx.reserve_in_turn_async(1, &mut ticket, 0).await?.push(three * three)?;
    ///     assert_eq!((two, squares.pop_async().await?), (2, 9));
    ///     Ok::<_, Box<dyn std::error::Error>>(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// As [`try_reserve_in_turn`](Self::try_reserve_in_turn), when it is polled.
    pub async fn reserve_in_turn_async<V: Sleep>(
        &self,
        count: usize,
        ticket: &mut Ticket<'_, V>,
        counter: usize,
    ) -> Result<Grant<'_, T, W>, PushError<()>>
    where
        W: Sleep,
    {
        ticket.wait_for_turn_async(counter).await;
        let grant = self.reserve_async(count).await?;
        ticket.consume(counter);
        Ok(grant)
    }
}

crate::handles::counted! {
    [T, W: Wait] Producer<T, W>;
    [T, W: Wait] super::Consumer<T, W>;
    |end| end.ring.handles, end.ring.desk.wait
}
crate::handles::downgrade! { [T, W: Wait] Producer<T, W>, ring, |end| end.ring.handles.producers }
crate::wait::producer!(shared batches Producer[T]);

impl<T, W: Wait> Clone for Producer<T, W> {
    fn clone(&self) -> Self {
        self.ring.handles.producers.add();
        Self { ring: self.ring.clone() }
    }
}

impl<T, W: Wait> Drop for Producer<T, W> {
    fn drop(&mut self) {
        self.ring.leave_producer();
    }
}

impl<T, W: Wait> fmt::Debug for Producer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

/// Entries reserved to write. Dropping it commits them.
///
/// Entries that are not written by then become holes: positions without an item, which pops pass over. So a panic in the
/// middle loses no item and stops nobody.
///
/// ```
/// let (tx, rx) = thalweg_queue::research::ticketed::ticketed(8)?;
/// let mut first = tx.reserve(2)?;
/// let mut second = tx.reserve(1)?; // does not wait for the first one
/// second.push("c")?;
/// second.commit();
/// assert!(rx.try_pop().is_err()); // but takes effect after it
/// first.push("a")?;
/// first.push("b")?;
/// assert!(first.push("x").is_err()); // two were reserved
/// first.commit();
/// assert_eq!([rx.pop(), rx.pop(), rx.pop()], [Ok("a"), Ok("b"), Ok("c")]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropped at once, it commits holes"]
pub struct Grant<'a, T, W: Wait = Ordinary> {
    ring: &'a Owned<T, W>,
    span: Span,
    /// The next entry to write.
    next: u64,
}

impl<T, W: Wait> Grant<'_, T, W> {
    /// Writes the next entry. `Full` if all are written.
    pub fn push(&mut self, value: T) -> Result<(), TryPushError<T>> {
        if self.next == self.span.to {
            return Err(TryPushError::Full(value));
        }
        // SAFETY: the position is in our span, which has not ended, and is written once, as `next` moves on.
        unsafe { self.ring.write(self.next, value) };
        self.next += 1;
        Ok(())
    }

    /// The next entry, for code that writes the item where it will lie; then [`assume_written`](Self::assume_written). `None` if all are
    /// written.
    ///
    /// ```
    /// let (tx, rx) = thalweg_queue::research::ticketed::ticketed::<[u8; 1500]>(8)?;
    /// let mut grant = tx.reserve(1)?;
    /// grant.next_uninit().unwrap().write([0; 1500])[..5].copy_from_slice(b"frame");
    /// // SAFETY: written above.
    /// unsafe { grant.assume_written() };
    /// grant.commit();
    ///
    /// let mut taken = rx.reserve(1)?;
    /// assert_eq!(&taken.peek().unwrap()[..5], b"frame"); // where it lies
    /// drop(taken);
    /// assert!(rx.try_pop().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next_uninit(&mut self) -> Option<&mut MaybeUninit<T>> {
        if self.next == self.span.to {
            return None;
        }
        // SAFETY: the position is in our span, which does not end while the grant is borrowed, and is not written yet.
        Some(unsafe { &mut *self.ring.place(self.next) })
    }

    /// Says that the next entry is written.
    ///
    /// # Safety
    ///
    /// It is, through [`next_uninit`](Self::next_uninit).
    ///
    /// # Panics
    ///
    /// If all were written before.
    pub unsafe fn assume_written(&mut self) {
        assert!(
            self.next < self.span.to,
            "all {} entries of the grant were written before",
            self.span.to - self.span.from
        );
        self.next += 1;
    }

    /// How many entries are left to write.
    pub fn remaining(&self) -> usize {
        (self.span.to - self.next) as usize
    }

    /// Lets consumers see the items, once every reservation before this one is committed. Does not wait for that.
    pub fn commit(self) {}
}

impl<T, W: Wait> Drop for Grant<'_, T, W> {
    fn drop(&mut self) {
        self.ring.commit(self.span, self.next);
    }
}

impl<T, W: Wait> fmt::Debug for Grant<'_, T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant").field("remaining", &self.remaining()).finish_non_exhaustive()
    }
}
