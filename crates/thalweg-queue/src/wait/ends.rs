//! The two ends of a queue, as traits: for code that works on any queue, and what waiting needs to know of one.

use super::{Deadline, Iter, Side, TryIter, Wait, is_over, or_hand_on};
#[cfg(feature = "std")]
use super::{Popping, PoppingMany, Pushing, PushingMany, Sleep};
#[cfg(feature = "alloc")]
use crate::left::Left;
use crate::{PopError, PopTimeoutError, PushError, PushTimeoutError, TryPopError, TryPushError};
#[cfg(feature = "alloc")]
use alloc::vec::Vec;
use core::mem::ManuallyDrop;
use core::ptr;
use thalweg_sync::spin;
#[cfg(feature = "std")]
use thalweg_sync::time::{self, Duration};

/// A writing end of any queue.
///
/// Producers have those methods themselves that push and wait; take the trait to write code for all of them, and for what is its alone:
/// `may_push`, `strategy` and, with the feature `stream`, `into_sink`. It is implemented for the handles, for `&mut` to them, and for `&` to those that can be shared.
///
/// ```
/// use thalweg_queue::{Push, PushError, mpmc, spsc::fast_forward};
///
/// fn count_to(limit: u64, mut tx: impl Push<Item = Box<u64>>) -> Result<(), PushError<Box<u64>>> {
///     (0..limit).try_for_each(|n| tx.push(Box::new(n)))
/// }
///
/// let (mut tx, _rx) = fast_forward::fast_forward(8)?;
/// count_to(3, &mut tx)?;
/// let (tx, _rx) = mpmc::with_capacity(8)?;
/// count_to(3, &tx)?;
/// count_to(3, tx)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Push {
    /// What is pushed.
    type Item;

    /// How this end waits.
    type Wait: Wait;

    /// Pushes now, or says why not and gives the value back.
    fn try_push(&mut self, value: Self::Item) -> Result<(), TryPushError<Self::Item>>;

    /// As `try_push`, for a call that waits: it may stand back for others of its side that are faster.
    #[doc(hidden)]
    #[inline(always)]
    fn push_patiently(&mut self, value: Self::Item) -> Result<(), TryPushError<Self::Item>> {
        self.try_push(value)
    }

    /// As [`try_push`](Self::try_push), but never `Busy`: waits for who is half-way, and for nothing else. That is some nanoseconds, unless
    /// that thread was interrupted.
    ///
    /// ```
    /// use thalweg_queue::{Push, TryPushError, mpmc};
    ///
    /// let (mut tx, _rx) = mpmc::exact(1)?;
    /// assert_eq!(tx.push_now(1), Ok(()));
    /// assert_eq!(tx.push_now(2), Err(TryPushError::Full(2)));
    /// # Ok::<(), thalweg_queue::BuildError>(())
    /// ```
    fn push_now(&mut self, value: Self::Item) -> Result<(), TryPushError<Self::Item>> {
        let mut value = Some(value);
        spin::until(|| match self.try_push(value.take()?) {
            Err(TryPushError::Busy(back)) => {
                value = Some(back);
                None
            }
            settled => Some(settled),
        })
    }

    /// Whether a `try_push` now would do anything but refuse for want of room; so it is true of a closed queue. Writes
    /// nothing.
    fn may_push(&self) -> bool;

    /// Whether every consumer is gone; then every push is refused. In the queues of this crate it stays so.
    fn is_closed(&self) -> bool;

    /// How many items the queue can hold; each says how exact that is.
    fn capacity(&self) -> usize;

    /// How many items are pushed and not popped, lately; each queue says how exact that is. An end that does not count says only whether it is
    /// full: its capacity then, and zero otherwise.
    fn len(&self) -> usize {
        if self.is_full() { self.capacity() } else { 0 }
    }

    /// Whether nothing is pushed that is not popped, lately; as exact as [`len`](Self::len).
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a push would be refused now for want of room.
    fn is_full(&self) -> bool {
        !self.may_push()
    }

    /// What both ends share in order to wait.
    fn strategy(&self) -> &Self::Wait;

    /// Copies as many of `values` as there is room for, from the first on. Returns how many: at least one, unless there are
    /// none.
    fn try_push_slice(&mut self, values: &[Self::Item]) -> Result<usize, TryPushError<()>>
    where
        Self::Item: Copy,
    {
        for (pushed, &value) in values.iter().enumerate() {
            match self.try_push(value) {
                Ok(()) => {}
                Err(refused) if pushed == 0 => return Err(refused.without_value()),
                Err(_) => return Ok(pushed),
            }
        }
        Ok(values.len())
    }

    /// Moves as many of `values` as there is room for into the queue, from the first on. Returns how many: at least one, unless
    /// there are none. The vector keeps its memory.
    #[cfg(feature = "alloc")]
    fn try_push_many(&mut self, values: &mut Vec<Self::Item>) -> Result<usize, TryPushError<()>> {
        let mut pushed = 0;
        let mut left = Left::new(values);
        for value in left.rest.by_ref() {
            match self.try_push(value) {
                Ok(()) => pushed += 1,
                Err(refused) => {
                    let (reason, value) = refused.split();
                    left.refused = Some(value);
                    return if pushed == 0 { Err(reason) } else { Ok(pushed) };
                }
            }
        }
        Ok(pushed)
    }

    /// Moves all of `values` into the queue, from the first on, waiting while there is no room. If every consumer leaves, those
    /// that are left stay where they are.
    #[cfg(feature = "alloc")]
    fn push_many(&mut self, values: &mut Vec<Self::Item>) -> Result<(), PushError<()>> {
        push_by(self, None, |end| push_rest(end, values)).map_err(|_| PushError(()))
    }

    /// As [`push_many`](Self::push_many), but no longer than `timeout`. What is not pushed by then stays where it is, too.
    #[cfg(feature = "std")]
    fn push_many_timeout(
        &mut self,
        values: &mut Vec<Self::Item>,
        timeout: Duration,
    ) -> Result<(), PushTimeoutError<()>> {
        push_by(self, Some(time::now().after(timeout)), |end| push_rest(end, values))
    }

    /// Pushes what `values` gives, one by one, waiting while there is no room. Returns how many. If every consumer leaves, the
    /// value that was refused comes back, and the iterator is asked for no more.
    fn push_all(&mut self, values: impl IntoIterator<Item = Self::Item>) -> Result<usize, PushError<Self::Item>>
    where
        Self: Sized,
    {
        let mut pushed = 0;
        for value in values {
            self.push(value)?;
            pushed += 1;
        }
        Ok(pushed)
    }

    /// Pushes, waiting while there is no room.
    #[inline]
    fn push(&mut self, value: Self::Item) -> Result<(), PushError<Self::Item>> {
        match self.push_patiently(value) {
            Ok(()) => Ok(()),
            Err(TryPushError::Closed(value)) => Err(PushError(value)),
            Err(TryPushError::Full(value) | TryPushError::Busy(value)) => {
                push_later(self, value, None).map_err(|refused| PushError(refused.into_inner()))
            }
        }
    }

    /// Pushes, waiting while there is no room, but no longer than `timeout`.
    #[cfg(feature = "std")]
    fn push_timeout(&mut self, value: Self::Item, timeout: Duration) -> Result<(), PushTimeoutError<Self::Item>> {
        match self.push_patiently(value) {
            Ok(()) => Ok(()),
            Err(TryPushError::Closed(value)) => Err(PushTimeoutError::Closed(value)),
            Err(TryPushError::Full(value) | TryPushError::Busy(value)) => {
                push_later(self, value, Some(time::now().after(timeout)))
            }
        }
    }

    /// Pushes, waiting while there is no room, but no longer than to `deadline`.
    #[cfg(feature = "std")]
    fn push_deadline(&mut self, value: Self::Item, deadline: Deadline) -> Result<(), PushTimeoutError<Self::Item>> {
        match self.push_patiently(value) {
            Ok(()) => Ok(()),
            Err(TryPushError::Closed(value)) => Err(PushTimeoutError::Closed(value)),
            Err(TryPushError::Full(value) | TryPushError::Busy(value)) => push_later(self, value, Some(deadline)),
        }
    }

    /// Pushes, pending while there is no room. What a push that is given up was to push comes back by [`Pushing::into_value`].
    #[cfg(feature = "std")]
    fn push_async(&mut self, value: Self::Item) -> Pushing<&mut Self>
    where
        Self: Push<Wait: Sleep> + Sized,
    {
        Pushing::new(self, value)
    }

    /// As [`push_many`](Self::push_many), pending while there is no room.
    #[cfg(feature = "std")]
    fn push_many_async<'a>(&'a mut self, values: &'a mut Vec<Self::Item>) -> PushingMany<'a, &'a mut Self>
    where
        Self: Push<Wait: Sleep> + Sized,
    {
        PushingMany::new(self, values)
    }

    /// This end as a sink of the crate `futures`.
    ///
    /// ```
    /// use futures_executor::{block_on, block_on_stream};
    /// use std::pin::Pin;
    /// use thalweg_queue::{Park, Pop, Push, mpmc};
    ///
    /// let (tx, rx) = mpmc::with_wait(2, 8, Park::new())?;
    /// let mut sink = tx.into_sink();
    /// block_on(async {
    ///     use futures_sink::Sink;
    ///     std::future::poll_fn(|cx| Pin::new(&mut sink).poll_ready(cx)).await?;
    ///     Pin::new(&mut sink).start_send(7)?;
    ///     std::future::poll_fn(|cx| Pin::new(&mut sink).poll_flush(cx)).await
    /// })?;
    /// drop(sink);
    /// assert!(block_on_stream(rx.into_stream()).eq([7]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "stream")]
    fn into_sink(self) -> super::ItemSink<Self>
    where
        Self: Push<Wait: Sleep> + Sized,
    {
        super::ItemSink::new(self)
    }
}

/// A reading end of any queue.
///
/// Consumers have those methods themselves that pop and wait; take the trait to write code for all of them, and for what is its alone:
/// `may_pop`, `strategy` and, with the feature `stream`, `into_stream`. It is implemented for the handles, for `&mut` to them, and for `&` to those that can be shared.
///
/// ```
/// use thalweg_queue::{Pop, mpmc};
///
/// fn sum(mut rx: impl Pop<Item = u64>) -> u64 {
///     let mut sum = 0;
///     while let Ok(number) = rx.pop() {
///         sum += number;
///     }
///     sum
/// }
///
/// let (tx, rx) = mpmc::with_capacity(8)?;
/// (1..=4).try_for_each(|n| tx.push(n))?;
/// drop(tx);
/// assert_eq!(sum(rx), 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Pop {
    /// What is popped.
    type Item;

    /// How this end waits.
    type Wait: Wait;

    /// Pops now, or says why not.
    fn try_pop(&mut self) -> Result<Self::Item, TryPopError>;

    /// As `try_pop`, for a call that waits: it may stand back for others of its side that are faster.
    #[doc(hidden)]
    #[inline(always)]
    fn pop_patiently(&mut self) -> Result<Self::Item, TryPopError> {
        self.try_pop()
    }

    /// As [`try_pop`](Self::try_pop), but never `Busy`: as [`push_now`](Push::push_now).
    fn pop_now(&mut self) -> Result<Self::Item, TryPopError> {
        spin::until(|| match self.try_pop() {
            Err(TryPopError::Busy) => None,
            settled => Some(settled),
        })
    }

    /// Whether a `try_pop` now would do anything but find no item to take; so it is true of a closed queue. Writes nothing.
    fn may_pop(&self) -> bool;

    /// Whether every producer is gone; items may still be left. In the queues of this crate it stays so.
    fn is_closed(&self) -> bool;

    /// How many items the queue can hold; each says how exact that is.
    fn capacity(&self) -> usize;

    /// How many items are there to be popped, lately; each queue says how exact that is. An end that does not count says one where a `try_pop`
    /// would find an item, or the end, and zero otherwise.
    fn len(&self) -> usize {
        usize::from(self.may_pop())
    }

    /// Whether there is nothing to pop, lately; as exact as [`len`](Self::len).
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a push would be refused now for want of room, as far as this end can tell. Of a consumer without an `is_full` of its own: whether
    /// [`len`](Self::len) has come to [`capacity`](Self::capacity), where a push may have been refused before.
    ///
    /// ```
    /// use thalweg_queue::{Pop, Push, mpmc, spsc};
    ///
    /// fn fill<T: Default>(tx: &mut impl Push<Item = T>, rx: &impl Pop<Item = T>) -> usize {
    ///     (0..).take_while(|_| !Pop::is_full(rx) && tx.try_push(T::default()).is_ok()).count()
    /// }
    ///
    /// let (mut tx, rx) = mpmc::exact::<u8>(3)?;
    /// assert_eq!(fill(&mut tx, &rx), 3);
    /// let (mut tx, rx) = spsc::with_room::<u8>(3)?;
    /// assert!(fill(&mut tx, &rx) >= 3);
    /// # Ok::<(), thalweg_queue::BuildError>(())
    /// ```
    fn is_full(&self) -> bool {
        self.len() >= self.capacity()
    }

    /// What both ends share in order to wait.
    fn strategy(&self) -> &Self::Wait;

    /// Pops, waiting while there is nothing.
    #[inline]
    fn pop(&mut self) -> Result<Self::Item, PopError> {
        match self.pop_patiently() {
            Ok(item) => Ok(item),
            Err(TryPopError::Closed) => Err(PopError),
            Err(TryPopError::Empty | TryPopError::Busy) => pop_later(self, None).map_err(|_| PopError),
        }
    }

    /// Pops, waiting while there is nothing, but no longer than `timeout`.
    #[cfg(feature = "std")]
    fn pop_timeout(&mut self, timeout: Duration) -> Result<Self::Item, PopTimeoutError> {
        match self.pop_patiently() {
            Ok(item) => Ok(item),
            Err(TryPopError::Closed) => Err(PopTimeoutError::Closed),
            Err(TryPopError::Empty | TryPopError::Busy) => pop_later(self, Some(time::now().after(timeout))),
        }
    }

    /// Pops, waiting while there is nothing, but no longer than to `deadline`.
    #[cfg(feature = "std")]
    fn pop_deadline(&mut self, deadline: Deadline) -> Result<Self::Item, PopTimeoutError> {
        match self.pop_patiently() {
            Ok(item) => Ok(item),
            Err(TryPopError::Closed) => Err(PopTimeoutError::Closed),
            Err(TryPopError::Empty | TryPopError::Busy) => pop_later(self, Some(deadline)),
        }
    }

    /// Pops what is there, up to `limit` items, onto the end of `into`. Returns how many: at least one, unless `limit` is zero.
    ///
    /// What is pushed meanwhile is popped too: while producers keep up, only the limit ends it.
    #[cfg(feature = "alloc")]
    fn try_pop_many(&mut self, into: &mut Vec<Self::Item>, limit: usize) -> Result<usize, TryPopError> {
        let before = into.len();
        while into.len() - before < limit {
            match self.try_pop() {
                Ok(item) => into.push(item),
                Err(refused) if into.len() == before => return Err(refused),
                Err(_) => break,
            }
        }
        Ok(into.len() - before)
    }

    /// Moves what is there into `into`, from the first place on, dropping what was in those places. Returns how many: at least
    /// one, unless `into` is empty.
    fn try_pop_slice(&mut self, into: &mut [Self::Item]) -> Result<usize, TryPopError> {
        for (popped, place) in into.iter_mut().enumerate() {
            match self.try_pop() {
                Ok(item) => *place = item,
                Err(refused) if popped == 0 => return Err(refused),
                Err(_) => return Ok(popped),
            }
        }
        Ok(into.len())
    }

    /// Pops one item, waiting while there is nothing, and what else is there, up to `limit` items, onto the end of `into`.
    /// Returns how many.
    #[cfg(feature = "alloc")]
    fn pop_many(&mut self, into: &mut Vec<Self::Item>, limit: usize) -> Result<usize, PopError> {
        match self.try_pop_many(into, limit) {
            Ok(count) => Ok(count),
            Err(TryPopError::Closed) => Err(PopError),
            Err(TryPopError::Empty | TryPopError::Busy) => {
                into.push(self.pop()?);
                Ok(1 + self.try_pop_many(into, limit - 1).unwrap_or(0))
            }
        }
    }

    /// As [`pop_many`](Self::pop_many), but waiting for the first item no longer than `timeout`.
    #[cfg(feature = "std")]
    fn pop_many_timeout(
        &mut self,
        into: &mut Vec<Self::Item>,
        limit: usize,
        timeout: Duration,
    ) -> Result<usize, PopTimeoutError> {
        pop_by(self, Some(time::now().after(timeout)), |end| end.try_pop_many(into, limit))
    }

    /// The items as they come, waiting for each. Ends when every producer is gone and the queue is drained.
    ///
    /// ```
    /// use thalweg_queue::{Pop, Push, mpmc};
    ///
    /// let (mut tx, mut rx) = mpmc::with_capacity(8)?;
    /// assert_eq!(Push::push_all(&mut tx, 1..=4)?, 4);
    /// assert_eq!(Pop::try_iter(&mut rx).count(), 4);
    /// tx.push(5)?;
    /// drop(tx);
    /// assert_eq!(Pop::iter(&mut rx).collect::<Vec<_>>(), [5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn iter(&mut self) -> Iter<&mut Self>
    where
        Self: Sized,
    {
        Iter::new(self)
    }

    /// The items that are there. Ends where a `try_pop` says why not.
    fn try_iter(&mut self) -> TryIter<&mut Self>
    where
        Self: Sized,
    {
        TryIter::new(self)
    }

    /// Pops, pending while there is nothing.
    #[cfg(feature = "std")]
    fn pop_async(&mut self) -> Popping<&mut Self>
    where
        Self: Pop<Wait: Sleep> + Sized,
    {
        Popping::new(self)
    }

    /// As [`pop_many`](Self::pop_many), pending while there is nothing.
    #[cfg(feature = "std")]
    fn pop_many_async<'a>(&'a mut self, into: &'a mut Vec<Self::Item>, limit: usize) -> PoppingMany<'a, &'a mut Self>
    where
        Self: Pop<Wait: Sleep> + Sized,
    {
        PoppingMany::new(self, into, limit)
    }

    /// This end as a stream of the crate `futures`; see [`Push::into_sink`] for an example.
    #[cfg(feature = "stream")]
    fn into_stream(self) -> super::ItemStream<Self>
    where
        Self: Pop<Wait: Sleep> + Sized,
    {
        super::ItemStream::new(self)
    }
}

/// Wakes the next one that waits for room.
fn next_push<P: Push + ?Sized>(end: &P) {
    end.strategy().notify(Side::Room, 1, || true);
}

/// Wakes the next one that waits for items.
fn next_pop<P: Pop + ?Sized>(end: &P) {
    end.strategy().notify(Side::Items, 1, || true);
}

/// Moves all of `values` into the queue, from the first on, or says why it had to stop before; what is left stays where it is.
#[cfg(feature = "alloc")]
pub(super) fn push_rest<P: Push + ?Sized>(end: &mut P, values: &mut Vec<P::Item>) -> Result<(), TryPushError<()>> {
    while !values.is_empty() {
        end.try_push_many(values)?;
    }
    Ok(())
}

/// What an attempt of a writing end gave; none if it is to be made again.
pub(crate) fn pushed<R>(result: Result<R, TryPushError<()>>) -> Option<Result<R, PushError<()>>> {
    match result {
        Ok(done) => Some(Ok(done)),
        Err(TryPushError::Closed(())) => Some(Err(PushError(()))),
        Err(TryPushError::Full(()) | TryPushError::Busy(())) => None,
    }
}

/// What an attempt of a reading end gave; none if it is to be made again.
pub(crate) fn popped<R>(result: Result<R, TryPopError>) -> Option<Result<R, PopError>> {
    match result {
        Ok(done) => Some(Ok(done)),
        Err(TryPopError::Closed) => Some(Err(PopError)),
        Err(TryPopError::Empty | TryPopError::Busy) => None,
    }
}

/// Makes `attempt` until it is not refused for want of room, waiting in between.
pub(crate) fn push_by<P: Push + ?Sized, R>(
    end: &mut P,
    deadline: Option<Deadline>,
    mut attempt: impl FnMut(&mut P) -> Result<R, TryPushError<()>>,
) -> Result<R, PushTimeoutError<()>> {
    loop {
        match or_hand_on(end, next_push, &mut attempt) {
            Ok(done) => {
                // What `push_later` notifies of.
                end.strategy().notify(Side::Room, 1, || end.may_push());
                return Ok(done);
            }
            Err(TryPushError::Closed(())) => return Err(PushTimeoutError::Closed(())),
            Err(TryPushError::Full(()) | TryPushError::Busy(())) => {}
        }
        if deadline.is_some_and(is_over) || !end.strategy().wait(Side::Room, deadline, || end.may_push()) {
            return Err(PushTimeoutError::Timeout(()));
        }
    }
}

/// Runs `cold` with the end moved elsewhere for that time, and back when it is done or unwinds.
///
/// What has its address taken lies in memory. This way an end that is local to a loop is not what has, so it lives in registers while nobody waits:
/// between one and one that is more than half of the time of an item.
#[inline(always)]
fn aside<E, R>(end: &mut E, cold: impl FnOnce(&mut E) -> R) -> R {
    struct Back<E> {
        from: *mut ManuallyDrop<E>,
        to: *mut E,
    }
    impl<E> Drop for Back<E> {
        #[inline(always)]
        fn drop(&mut self) {
            // SAFETY: both pointers are those of `aside`, which still has what they point to and uses neither; what is overwritten was moved out.
            unsafe { self.to.write(ManuallyDrop::take(&mut *self.from)) };
        }
    }
    // SAFETY: `Back` moves it back before anybody can use it, also if `cold` unwinds.
    let mut moved = ManuallyDrop::new(unsafe { ptr::read(end) });
    let back = Back { from: &raw mut moved, to: end };
    // SAFETY: nobody else has it.
    cold(unsafe { &mut *back.from })
}

/// [`Push::push`], for an end that may live in registers.
#[inline(always)]
pub(crate) fn push<P: Push>(end: &mut P, value: P::Item) -> Result<(), PushError<P::Item>> {
    match end.push_patiently(value) {
        Ok(()) => Ok(()),
        Err(TryPushError::Closed(value)) => Err(PushError(value)),
        Err(TryPushError::Full(value) | TryPushError::Busy(value)) => {
            aside(end, |end| push_later(end, value, None)).map_err(|refused| PushError(refused.into_inner()))
        }
    }
}

/// [`Pop::pop`], for an end that may live in registers.
#[inline(always)]
pub(crate) fn pop<P: Pop>(end: &mut P) -> Result<P::Item, PopError> {
    match end.pop_patiently() {
        Ok(item) => Ok(item),
        Err(TryPopError::Closed) => Err(PopError),
        Err(TryPopError::Empty | TryPopError::Busy) => aside(end, |end| pop_later(end, None)).map_err(|_| PopError),
    }
}

/// A push that was refused for want of room.
#[cold]
fn push_later<P: Push + ?Sized>(
    end: &mut P,
    mut value: P::Item,
    deadline: Option<Deadline>,
) -> Result<(), PushTimeoutError<P::Item>> {
    while end.strategy().wait(Side::Room, deadline, || end.may_push()) {
        match or_hand_on(end, next_push, |end| end.push_patiently(value)) {
            Ok(()) => {
                // Several pops may have made room and woken this thread alone.
                end.strategy().notify(Side::Room, 1, || end.may_push());
                return Ok(());
            }
            Err(TryPushError::Closed(value)) => return Err(PushTimeoutError::Closed(value)),
            Err(TryPushError::Full(refused) | TryPushError::Busy(refused)) => value = refused,
        }
        // The wait goes by what looks likely, at once if it does.
        if deadline.is_some_and(is_over) {
            break;
        }
    }
    Err(PushTimeoutError::Timeout(value))
}

/// Makes `attempt` until it is not refused because there is nothing, waiting in between.
pub(crate) fn pop_by<P: Pop + ?Sized, R>(
    end: &mut P,
    deadline: Option<Deadline>,
    mut attempt: impl FnMut(&mut P) -> Result<R, TryPopError>,
) -> Result<R, PopTimeoutError> {
    loop {
        // The rings are those of `pop_later`.
        match or_hand_on(end, next_pop, &mut attempt) {
            Ok(done) => {
                end.strategy().notify(Side::Items, 1, || end.may_pop());
                return Ok(done);
            }
            Err(TryPopError::Closed) => {
                end.strategy().notify(Side::Items, 1, || true);
                return Err(PopTimeoutError::Closed);
            }
            Err(TryPopError::Empty | TryPopError::Busy) => {}
        }
        if deadline.is_some_and(is_over) || !end.strategy().wait(Side::Items, deadline, || end.may_pop()) {
            return Err(PopTimeoutError::Timeout);
        }
    }
}

/// A pop that found nothing.
#[cold]
fn pop_later<P: Pop + ?Sized>(end: &mut P, deadline: Option<Deadline>) -> Result<P::Item, PopTimeoutError> {
    while end.strategy().wait(Side::Items, deadline, || end.may_pop()) {
        match or_hand_on(end, next_pop, |end| end.pop_patiently()) {
            Ok(item) => {
                // Several pushes may have woken this thread alone: the items behind one that was half-way come into
                // sight with it.
                end.strategy().notify(Side::Items, 1, || end.may_pop());
                return Ok(item);
            }
            Err(TryPopError::Closed) => {
                // The last item may have been half-way when the others looked: one was woken for the end, and wakes the next.
                end.strategy().notify(Side::Items, 1, || true);
                return Err(PopTimeoutError::Closed);
            }
            Err(TryPopError::Empty | TryPopError::Busy) => {}
        }
        // As in `push_later`.
        if deadline.is_some_and(is_over) {
            break;
        }
    }
    Err(PopTimeoutError::Timeout)
}

#[cfg(all(test, feature = "std", not(loom)))]
mod tests {
    use super::aside;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::vec;

    #[test]
    fn what_was_moved_aside_comes_back_as_it_is_then() {
        let mut end = vec![1];
        let seen = aside(&mut end, |end| {
            end.extend(2..100);
            end.len()
        });
        assert_eq!((seen, end.len()), (99, 99));
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            aside(&mut end, |end| {
                end.extend(0..1_000);
                panic!("a waker");
            })
        }));
        assert!(unwound.is_err());
        assert_eq!((end.len(), end[98], end[1_098]), (1_099, 99, 999));
    }
}
