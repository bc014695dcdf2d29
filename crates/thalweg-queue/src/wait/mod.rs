//! Waiting: how an end of a queue spends the time until there is room, or an item.
//!
//! The strategy is a type, chosen when the queue is built: by a constructor whose name has `wait` in it. All others have the default. Types name
//! first what is pushed (and how much of it, where that is in the type), then how ends wait, and last what the queue is made of, each with a
//! default: [`mpmc::Producer<T, W, C>`](crate::mpmc::Producer), [`cnq::Consumer<T, W, Q>`](crate::research::cnq::Consumer), `mpmc::Static<T, BLOCKS, ENTRIES, W, P, C>`.
//!
//! | strategy | waits by | take it when |
//! |---|---|---|
//! | [`Spin`] | pausing, never giving up its time slice | both ends have a core to themselves |
//! | [`Yield`] | pausing at first, then giving up its time slice | threads are few, and seldom wait for long |
//! | [`Park`], the default | the same for a moment, then sleeping until the other end says so | always but in the two cases above: it uses no processor time, and ends may be `async` |
//!
//! `Spin` and `Yield` cost nothing where nobody waits: nothing in a push looks for waiters. Under `Park` every push and every
//! pop looks at one word that is only written when somebody goes to sleep or wakes.
//!
//! ```
//! use std::time::Duration;
//! use thalweg_queue::{Park, PopTimeoutError, bytes, mpmc};
//!
//! let (tx, rx) = mpmc::with_wait(4, 16, Park::new())?;
//! let consumer = std::thread::spawn(move || {
//!     assert_eq!(rx.pop(), Ok(7)); // sleeps until the push
//!     assert_eq!(rx.pop_timeout(Duration::from_millis(1)), Err(PopTimeoutError::Timeout));
//! });
//! tx.push(7)?;
//! consumer.join().unwrap();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Blocking and async ends
//!
//! A queue under [`Park`] also has `push_async`, `push_many_async`, `pop_async` and `pop_many_async`. They wait on the same lists as
//! sleeping threads, so either end may be either, and they need no particular executor. A pending one uses no processor time.
//!
//! They can be dropped at any time. A future that popped an item has returned it. A future that did not has left the queue as it was, and
//! passes a wake-up that it got to the next waiter. The value of a push that is given up, by a timeout or in a `select`:
//!
//! | the push | its value |
//! |---|---|
//! | `push_async(value)`, dropped | is dropped too, unpushed: for values that are out of date by then |
//! | `push_async(value)`, polled as `&mut pushing` | comes back from [`pushing.into_value()`](Pushing::into_value), unless it is pushed |
//! | `push_many_async(&mut values)` | what is not pushed is still in the vector; nothing else is to be done |
//! | `ItemSink` (feature `stream`) | stays in the sink, which pushes it with its next `flush`; or comes back from `take_value` |
//!
//! An unpolled future keeps its place in the waiter list and can swallow a wake-up, and so can a leaked one. The next push, or pop, then wakes another
//! waiter. Until then, the waiters behind that future may sleep although there is an item.
//!
//! ```
//! use std::future::Future;
//! use std::pin::pin;
//! use std::task::{Context, Poll, Waker};
//! use thalweg_queue::{Park, spsc::fast_forward};
//!
//! let (mut tx, mut rx) = fast_forward::with_wait(8, Park::new())?;
//! let mut popping = pin!(rx.pop_async());
//! let mut cx = Context::from_waker(Waker::noop());
//! assert!(popping.as_mut().poll(&mut cx).is_pending());
//! tx.push(Box::new(7))?; // a blocking end; it wakes the other one
//! assert_eq!(popping.poll(&mut cx), Poll::Ready(Ok(Box::new(7))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The feature `stream` makes ends streams and sinks of the crate `futures`: `into_stream` and `into_sink` of the two
//! traits, which all ends have but those of [`bytes`](mod@crate::bytes) and [`bwos`](mod@crate::stealing).
//!
//! # What is promised
//!
//! - No wake-up is lost: while there is an item, no consumer sleeps unless another that was woken for it is on its way;
//!   the same for producers and room. `Busy` wakes nobody and lets nobody sleep for ever: every operation that ends half-way
//!   states looks for waiters when it ends.
//! - A waiter that is woken, and gets on, wakes the next waiter if there is more.
//! - The oldest waiter is woken first. An end that did not wait may still be faster.
//! - A wait with a timeout ends at the deadline, or as soon after it as the system lets the thread run.
//!
//! A thread that goes to sleep allocates; so may a future that becomes pending.
//!
//! A waker that panics does so in the operation that called it. The item of a push is pushed, or dropped if there is no room for it; items that a
//! batch has not pushed stay in its vector. Popped items are dropped, and items that were yet to be popped stay in the queue. The
//! other waiters are woken all the same. A second waker that panics meanwhile ends the process, as a second destructor does.
//!
//! # How a queue adopts it
//!
//! 1. What both ends share has a field `wait: W`, and the handles a parameter `W: Wait = Ordinary`. The constructor gets a
//!    sibling `with_wait` that takes the strategy; one that chooses something, `name_with_wait`, or `with_name_and_wait`.
//! 2. After each push has made its items visible, `wait.notify(Side::Items, how_many, || true)`. After each pop has given
//!    room back, `wait.notify(Side::Room, how_many, || ...)`, where the closure says whether a push could use the room: it is
//!    asked only if somebody waits, and keeps a producer asleep until a whole block is free, say. It may err towards yes,
//!    and must say yes to the pop that was the last one missing: of several at once, to the one whose fence comes last (P3).
//! 3. Where the last handle of a side leaves, after that can be seen: `wait.notify_all()`. Here and there, notifying comes last (P4).
//! 4. Each handle gets `try_push`, `is_closed`, `capacity`, `len`, `is_empty`, and for the crate `may_push` and `strategy` ([`Push`] says what
//!    they mean; a `may_push` that says yes where there is no room keeps an end awake). Then one line, `crate::wait::producer!(exclusive Producer[T])` (`shared` where the methods take
//!    `&self`), gives it `push`, `push_timeout`, `push_async` and [`Push`]. Consumers likewise, with [`Pop`].
//!
//! # Invariants
//!
//! - **P1** A waiter is on the list before it looks for the last time, with [`heavy`](thalweg_sync::fence::heavy) in between;
//!   who makes something visible does so before it looks at the list's length, with
//!   [`light`](thalweg_sync::fence::light) in between. So one of the two sees the other.
//! - **P2** Who takes a waiter off the list wakes it, and who is to wake several goes on when a waker panics. A waiter that
//!   finds itself taken off, and leaves without having tried since, takes the next one off.
//! - **P3** Who has seen by the length that somebody waits puts a full fence before it looks whether it is worthwhile. Those
//!   whose length was read too early were seen by the waiter's last look; the others all have that fence. So if what is
//!   waited for was done by several, one of them, or the waiter, sees all of it.
//! - **P4** Notifying comes last. It runs wakers, which are somebody else's code and may panic: so before an end notifies, it has written
//!   all that safety relies on: its own fields, what it shares and, when it leaves, where it was.

mod ends;
#[cfg(feature = "std")]
mod future;
mod iter;
mod lent;
#[cfg(feature = "std")]
mod line;
mod methods;
#[cfg(feature = "std")]
pub(crate) mod one;
#[cfg(feature = "std")]
mod park;
#[cfg(all(feature = "std", not(loom)))]
mod polled;
#[cfg(feature = "stream")]
mod stream;

pub use ends::{Pop, Push};
pub(crate) use ends::{pop, popped, push, pushed};
#[cfg(not(loom))]
pub(crate) use ends::{pop_by, push_by};
#[cfg(all(feature = "std", not(loom)))]
pub(crate) use future::Pending;
#[cfg(feature = "std")]
pub(crate) use future::until;
#[cfg(feature = "std")]
pub use future::{Popping, PoppingMany, Pushing, PushingMany};
#[cfg(all(feature = "std", not(loom)))]
pub(crate) use future::{pop_when, push_when};
pub use iter::{Iter, TryIter};
pub(crate) use methods::{closed, consumer, producer};
#[cfg(feature = "std")]
pub(crate) use park::Sleeper;
#[cfg(feature = "std")]
pub use park::{Park, Sleep};
#[cfg(all(feature = "std", not(loom)))]
pub use polled::{Polled, Timed, Within};
#[cfg(feature = "stream")]
pub use stream::{ItemSink, ItemStream};

use crate::drops::Drops;
use thalweg_sync::spin;

/// How ends wait that nobody has chosen a strategy for: they sleep. Without the feature `std` nothing can, and they are as [`Yield`].
#[cfg(all(feature = "std", not(loom)))]
pub type Ordinary = Park;

/// How ends wait that nobody has chosen a strategy for: as [`Yield`], since nothing can sleep without the feature `std`. Under loom as well: models of
/// sleeping choose it by name.
#[cfg(any(not(feature = "std"), loom))]
pub type Ordinary = Yield;

/// When a wait is over at the latest. Without the feature `std` there is no clock, and no value of this type.
#[cfg(feature = "std")]
pub type Deadline = thalweg_sync::time::Instant;

/// When a wait is over at the latest. Without the feature `std` there is no clock, and no value of this type.
#[cfg(not(feature = "std"))]
#[derive(Clone, Copy, Debug)]
pub enum Deadline {}

/// The deadline of a wait that begins now.
#[cfg(all(feature = "std", not(loom)))]
pub(crate) fn deadline(timeout: core::time::Duration) -> Option<Deadline> {
    Some(thalweg_sync::time::now().after(timeout))
}

#[cfg(feature = "std")]
pub(crate) fn is_over(deadline: Deadline) -> bool {
    thalweg_sync::time::now() >= deadline
}

#[cfg(not(feature = "std"))]
pub(crate) fn is_over(deadline: Deadline) -> bool {
    match deadline {}
}

/// What somebody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Producers wait for room.
    Room,
    /// Consumers wait for items.
    Items,
    /// Ends wait until nobody is on the other side.
    Closed,
}

/// A strategy: what both ends of a queue share in order to wait. The [module](self) says which one to take, and how a queue
/// calls it.
pub trait Wait: sealed::Sealed + Default + core::fmt::Debug + Send + Sync {
    /// Up to `count` who wait on `side` have something to look for. `worthwhile` is asked only if somebody waits.
    fn notify(&self, side: Side, count: usize, worthwhile: impl FnOnce() -> bool);

    /// Everybody has something to look for: a side has left.
    fn notify_all(&self);

    /// Waits until `ready`, but no longer than to the deadline. Returns the last answer of `ready`, which writes nothing.
    fn wait(&self, side: Side, deadline: Option<Deadline>, ready: impl FnMut() -> bool) -> bool;
}

/// Does `first`, then `second`, also if `first` panics: it may notify, and so run a waker.
#[inline(always)]
pub(crate) fn both(first: impl FnOnce(), second: impl FnOnce()) {
    /// The second one, if the first unwinds.
    struct Then<F: FnOnce()>(Option<F>);
    impl<F: FnOnce()> Drop for Then<F> {
        #[inline(always)]
        fn drop(&mut self) {
            if let Some(second) = self.0.take() {
                Drops::default().one(second);
            }
        }
    }
    let mut then = Then(Some(second));
    first();
    if let Some(second) = then.0.take() {
        second();
    }
}

/// `attempt`, made until it gives something, waiting with the others on `side` while it is not `ready`. None at the deadline.
///
/// It hands no wake-up on: who notifies it notifies all.
pub(crate) fn within<W: Wait, R>(
    strategy: &W,
    side: Side,
    deadline: Option<Deadline>,
    mut attempt: impl FnMut() -> Option<R>,
    mut ready: impl FnMut() -> bool,
) -> Option<R> {
    loop {
        if let Some(result) = attempt() {
            return Some(result);
        }
        if deadline.is_some_and(is_over) || !strategy.wait(side, deadline, &mut ready) {
            return None;
        }
    }
}

/// Makes an attempt of an end that was woken. If it unwinds, by a waker of the other side, the next one is woken: this one may have
/// been woken for more than it took (P2).
pub(crate) fn or_hand_on<E: ?Sized, R>(end: &mut E, hand_on: fn(&E), attempt: impl FnOnce(&mut E) -> R) -> R {
    struct HandOn<'a, E: ?Sized>(&'a mut E, fn(&E));
    impl<E: ?Sized> Drop for HandOn<'_, E> {
        fn drop(&mut self) {
            (self.1)(self.0);
        }
    }
    let guard = HandOn(end, hand_on);
    let result = attempt(&mut *guard.0);
    core::mem::forget(guard);
    result
}

mod sealed {
    /// Queues rely on what strategies do.
    pub trait Sealed {}
    impl Sealed for super::Spin {}
    impl Sealed for super::Yield {}
    #[cfg(feature = "std")]
    impl Sealed for super::Park {}
}

/// Waits on the processor and keeps its time slice. For ends that have a core to themselves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spin;

/// Waits on the processor for about a microsecond, then gives up its time slice over and over.
#[derive(Clone, Copy, Debug, Default)]
pub struct Yield;

impl Wait for Spin {
    #[inline(always)]
    fn notify(&self, _side: Side, _count: usize, _worthwhile: impl FnOnce() -> bool) {}

    #[inline(always)]
    fn notify_all(&self) {}

    #[inline]
    fn wait(&self, _side: Side, deadline: Option<Deadline>, ready: impl FnMut() -> bool) -> bool {
        spin::hold(attempt(deadline, ready))
    }
}

impl Wait for Yield {
    #[inline(always)]
    fn notify(&self, _side: Side, _count: usize, _worthwhile: impl FnOnce() -> bool) {}

    #[inline(always)]
    fn notify_all(&self) {}

    #[inline]
    fn wait(&self, _side: Side, deadline: Option<Deadline>, ready: impl FnMut() -> bool) -> bool {
        spin::until(attempt(deadline, ready))
    }
}

/// One look at what is waited for, and then at the clock.
fn attempt(deadline: Option<Deadline>, mut ready: impl FnMut() -> bool) -> impl FnMut() -> Option<bool> {
    move || match ready() {
        true => Some(true),
        false => deadline.is_some_and(is_over).then_some(false),
    }
}
