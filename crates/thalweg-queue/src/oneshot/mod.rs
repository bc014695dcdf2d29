//! One value, once: from one sender to one receiver.
//!
//! | | |
//! |---|---|
//! | who | one sender, whose push consumes it, and one receiver. Each may wait in a thread or as a future |
//! | items | any `T: Send` |
//! | progress | a push and a `try_pop` never wait for the other end |
//! | cost | one allocation; a push: one compare-and-exchange; a pop and the receiver's leaving afterwards: a load each. Where an end sleeps: a lock that nobody holds for long, and one exchange more on either side |
//!
//! ```
//! use thalweg_queue::oneshot;
//!
//! let (reply, mut answer) = oneshot::channel();
//! let worker = std::thread::spawn(move || reply.push(6 * 7));
//! assert_eq!(answer.pop(), Ok(42)); // sleeps until the push
//! assert_eq!(worker.join().unwrap(), Ok(()));
//! ```
//!
//! The receiver is a future, so it is awaited as it is; it is [`Unpin`], and `(&mut answer).await` leaves it to be used again:
//!
//! ```
//! use thalweg_queue::{PopError, oneshot};
//!
//! # futures_executor::block_on(async {
//! let (reply, answer) = oneshot::channel();
//! reply.push("done").unwrap();
//! assert_eq!(answer.await, Ok("done"));
//!
//! let (reply, answer) = oneshot::channel::<u64>();
//! drop(reply);
//! assert_eq!(answer.await, Err(PopError)); // nobody is left to push
//! # });
//! ```
//!
//! # What the answers mean
//!
//! | answer | when |
//! |---|---|
//! | `push`: `Ok` | the value is the receiver's: it pops it, or drops it when it leaves |
//! | `push`: `Err` | the receiver has left or [closed](Receiver::close); the value comes back |
//! | `try_pop`: `Empty` | the sender is there and has not pushed |
//! | `try_pop`: `Closed` | no value comes any more: the sender left without a push, the value was popped, or the receiver closed before the push |
//!
//! What the sender did before the push is visible after the pop. An end that waits sleeps. A value that nobody pops is dropped
//! exactly once, with whoever has it last. A destructor that panics does so when nothing is left to be done.
//!
//! Needs the feature `std`, which has what an end sleeps by.
//!
//! # Invariants
//!
//! - **O1** The value's place is the sender's until `VALUE` is set, and the receiver's from then on. The receiver takes the value once. `VALUE`
//!   is never set once `CLOSED` is.
//! - **O2** Bits are set and never taken back. So of an end that announces a sleeper and the other end's event, both read-modify-writes of the
//!   one word, the second sees the first: the end finds the event, or the other end finds the sleeper.
//! - **O3** The lock of a sleeper's place is taken before the sleeper's bit is set, and taken again after the event that found the bit. So the
//!   sleeper is in its place then.
//! - **O4** An end sets its `LEFT` with its last access. The end that finds the other one's set frees the memory.

mod state;

use crate::wait::{Deadline, Sleeper, is_over, one};
use crate::{PopError, PopTimeoutError, PushError, TryPopError};
use core::fmt;
use core::future::{Future, poll_fn};
use core::mem::ManuallyDrop;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::pin::Pin;
use core::task::{Context, Poll};
use state::Link;
use thalweg_sync::time::{self, Duration};

/// Both ends of a new channel for one value. Allocates once.
pub fn channel<T: Send>() -> (Sender<T>, Receiver<T>) {
    let link = Link::new();
    (Sender { link }, Receiver { link, taken: false })
}

/// The writing end. Its push consumes it; dropped without one, it tells the receiver that no value comes.
///
/// ```compile_fail,E0382
/// let (tx, _rx) = thalweg_queue::oneshot::channel();
/// tx.push(1);
/// tx.push(2); // `tx` was moved by the first push
/// ```
pub struct Sender<T> {
    link: Link<T>,
}

// SAFETY: the value moves to the thread of the receiver, once (O1); all else is atomics and locks.
unsafe impl<T: Send> Send for Sender<T> {}
// SAFETY: by reference, a sender only looks at the state.
unsafe impl<T: Send> Sync for Sender<T> {}
impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}

impl<T> Sender<T> {
    /// Pushes the value and wakes the receiver. Never waits. If the receiver has left or closed, the value comes back.
    ///
    /// A waker that panics does so here, after the push.
    pub fn push(self, value: T) -> Result<(), PushError<T>> {
        ManuallyDrop::new(self).link.push(value).map_err(PushError)
    }

    /// Whether the receiver has left or [closed](Receiver::close). Then it stays so, and the push is refused.
    pub fn is_closed(&self) -> bool {
        self.link.closed()
    }

    /// Sleeps until the receiver has left or closed: until nobody wants the value any more.
    pub fn closed(&mut self) {
        self.wait_closed(None);
    }

    /// As [`closed`](Self::closed), but no longer than `timeout`. True if the receiver has left or closed.
    pub fn closed_timeout(&mut self, timeout: Duration) -> bool {
        self.wait_closed(Some(time::now().after(timeout)))
    }

    fn wait_closed(&mut self, deadline: Option<Deadline>) -> bool {
        let link = self.link;
        one::sleep(deadline, || link.closed(), |sleeper| link.wait_for_close(sleeper))
    }

    /// As [`closed`](Self::closed), as a future: to give up work whose result nobody wants. May be dropped at any time.
    ///
    /// ```
    /// # futures_executor::block_on(async {
    /// let (mut reply, answer) = thalweg_queue::oneshot::channel::<u64>();
    /// drop(answer);
    /// reply.closed_async().await;
    /// assert!(reply.push(7).is_err());
    /// # });
    /// ```
    pub fn closed_async(&mut self) -> impl Future<Output = ()> + Send {
        let link = Shared(self.link);
        poll_fn(move |cx| {
            let link = &link;
            match link.0.closed() || link.0.wait_for_close(Sleeper::Task(cx.waker().clone())) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
    }
}

/// A link that a future of the sender borrows.
struct Shared<T>(Link<T>);

// SAFETY: as for the sender, for whose borrow it stands: of a sleeper and the state alone.
unsafe impl<T> Send for Shared<T> {}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.link.end();
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("is_closed", &self.is_closed()).finish_non_exhaustive()
    }
}

/// The reading end, and a future of what it pops. Dropped, it drops a value that was pushed and not popped.
#[must_use = "dropped, it refuses the push"]
pub struct Receiver<T> {
    link: Link<T>,
    taken: bool,
}

// SAFETY: the value comes from the thread of the sender, once (O1); all else is atomics and locks.
unsafe impl<T: Send> Send for Receiver<T> {}
// SAFETY: by reference, a receiver only looks at the state.
unsafe impl<T: Send> Sync for Receiver<T> {}
impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}
// Nothing is pinned inside.
impl<T> Unpin for Receiver<T> {}

impl<T> Receiver<T> {
    /// Pops the value now, or says why not. Never `Busy`.
    pub fn try_pop(&mut self) -> Result<T, TryPopError> {
        let seen = self.link.look();
        if seen.value() && !self.taken {
            self.taken = true;
            // SAFETY: it was seen, and the flag says that it was not taken before (O1).
            return Ok(unsafe { self.link.take() });
        }
        Err(if seen.value() || seen.ended() { TryPopError::Closed } else { TryPopError::Empty })
    }

    /// Pops the value, sleeping until it is pushed.
    pub fn pop(&mut self) -> Result<T, PopError> {
        self.pop_until(None).map_err(|_| PopError)
    }

    /// Pops the value, sleeping until it is pushed, but no longer than `timeout`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use thalweg_queue::{PopTimeoutError, oneshot};
    ///
    /// let (reply, mut answer) = oneshot::channel();
    /// assert_eq!(answer.pop_timeout(Duration::from_millis(1)), Err(PopTimeoutError::Timeout));
    /// reply.push(7)?; // it may still come
    /// assert_eq!(answer.pop_timeout(Duration::from_millis(1)), Ok(7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pop_timeout(&mut self, timeout: Duration) -> Result<T, PopTimeoutError> {
        self.pop_until(Some(time::now().after(timeout)))
    }

    /// As [`pop_timeout`](Self::pop_timeout), until a point in time.
    pub fn pop_deadline(&mut self, deadline: impl Into<Deadline>) -> Result<T, PopTimeoutError> {
        self.pop_until(Some(deadline.into()))
    }

    fn pop_until(&mut self, deadline: Option<Deadline>) -> Result<T, PopTimeoutError> {
        loop {
            match self.try_pop() {
                Ok(value) => return Ok(value),
                Err(TryPopError::Closed) => return Err(PopTimeoutError::Closed),
                Err(TryPopError::Empty | TryPopError::Busy) => {}
            }
            let link = self.link;
            let ready = || {
                let seen = link.look();
                seen.value() || seen.ended()
            };
            if deadline.is_some_and(is_over) || !one::sleep(deadline, ready, |sleeper| link.wait_for_push(sleeper)) {
                return Err(PopTimeoutError::Timeout);
            }
        }
    }

    /// Pops the value, pending until it is pushed: the receiver itself, by reference. Dropped before it is ready, it has popped nothing.
    pub fn pop_async(&mut self) -> &mut Self {
        self
    }

    /// Leaves a sleeper. True if there is nothing to wait for any more.
    #[cfg(not(loom))]
    pub(crate) fn wait(&mut self, sleeper: Sleeper) -> bool {
        self.link.wait_for_push(sleeper)
    }

    /// Takes no push from now on. A value that was pushed before can still be popped.
    ///
    /// ```
    /// use thalweg_queue::{PushError, TryPopError, oneshot};
    ///
    /// let (tx, mut rx) = oneshot::channel();
    /// rx.close();
    /// assert_eq!(tx.push(7), Err(PushError(7)));
    /// assert_eq!(rx.try_pop(), Err(TryPopError::Closed));
    /// ```
    pub fn close(&mut self) {
        self.link.close();
    }

    /// Whether no push follows: the sender has pushed or left, or this end has closed. A value may still be there to be popped.
    pub fn is_closed(&self) -> bool {
        let seen = self.link.look();
        seen.sender_gone() || seen.ended()
    }

    /// Whether a `try_pop` now would give nothing.
    pub fn is_empty(&self) -> bool {
        self.taken || !self.link.look().value()
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, PopError>;

    /// Ready with an error if it is polled again after the value was popped.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let receiver = self.get_mut();
        let popped = match receiver.try_pop() {
            Err(TryPopError::Empty) if receiver.link.wait_for_push(Sleeper::Task(cx.waker().clone())) => {
                receiver.try_pop()
            }
            popped => popped,
        };
        match popped {
            Ok(value) => Poll::Ready(Ok(value)),
            Err(TryPopError::Closed) => Poll::Ready(Err(PopError)),
            Err(TryPopError::Empty | TryPopError::Busy) => Poll::Pending,
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.link.leave_receiver(self.taken);
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("is_empty", &self.is_empty())
            .field("is_closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
