//! Channels: the shared queue of `thalweg-queue`, with waits at which a task can be cancelled, and that [`select`](crate::select()) knows.
//!
//! # Invariants
//!
//! - **C1** A waiter is on its list before it looks for the last time, with a heavy fence in between; whoever makes an item or room
//!   visible does so before it looks at the list's length, with a light fence in between. So one of the two sees the other.
//! - **C2** A waiter that was granted something and leaves without an attempt grants it to the next.

use crate::wait::{self, Reason, WaitList, Waiter, Woken};
use core::fmt;
use core::mem::ManuallyDrop;
use thalweg_queue::Yield;
use thalweg_queue::mpmc::{self, Consumer, Producer};
use thalweg_queue::{BuildError, PopError, PopTimeoutError, PushError, PushTimeoutError, TryPopError, TryPushError};
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::{AcqRel, Relaxed};
use thalweg_sync::sync::Arc;
use thalweg_sync::time::{self, Duration, Instant};
use thalweg_sync::{fence, spin};

/// A channel with room for at least `capacity` items, from any number of senders to any number of receivers, tasks or threads.
///
/// It is [`mpmc`] with its promises; its order, what `Full` means, and its cost are told there. A send or a receive that waits costs a place on a
/// list and a switch of stacks besides.
///
/// # Errors
///
/// If the capacity is 0 or too large.
///
/// ```
/// use thalweg_task::{Runtime, channel, spawn};
///
/// let runtime = Runtime::builder().workers(1).start()?;
/// let sum = runtime.run(|| {
///     let (tx, rx) = channel(4).unwrap();
///     let producer = spawn(move || (1..=100).try_for_each(|n| tx.send(n)));
///     let sum: u32 = rx.iter().sum(); // ends when the last sender is gone
///     producer.join().unwrap().unwrap();
///     sum
/// });
/// assert_eq!(sum, 5050);
/// # Ok::<(), thalweg_task::StartError>(())
/// ```
pub fn channel<T: Send>(capacity: usize) -> Result<(Sender<T>, Receiver<T>), BuildError> {
    let (producer, consumer) = mpmc::with_room_and_wait(capacity, Yield)?;
    fence::prepare();
    let lists = Arc::new(Lists {
        items: WaitList::new(),
        room: WaitList::new(),
        senders: AtomicUsize::new(1),
        receivers: AtomicUsize::new(1),
    });
    let sender = Sender { producer: ManuallyDrop::new(producer), lists: lists.clone() };
    Ok((sender, Receiver { consumer: ManuallyDrop::new(consumer), lists }))
}

/// Who waits, and how many handles there are.
struct Lists {
    items: WaitList,
    room: WaitList,
    senders: AtomicUsize,
    receivers: AtomicUsize,
}

/// Something was made visible that one of `list` may wait for.
#[inline]
fn notify(list: &WaitList) {
    // (channel.1) Pairs with (channel.2), see C1.
    fence::light();
    if list.length() != 0 {
        list.grant_first(1);
    }
}

/// Makes `attempt` until it gives something, on `list` in between. `None` at the deadline.
fn until<R>(
    list: &WaitList,
    reason: Reason,
    deadline: Option<Instant>,
    mut attempt: impl FnMut() -> Option<R>,
) -> Option<R> {
    loop {
        if let Some(result) = attempt() {
            return Some(result);
        }
        wait::end_if_cancelled();
        let waiter = Waiter::new();
        let ticket = waiter.ticket();
        let key = list.with(|list| list.push_back(ticket, 0));
        // (channel.2) Pairs with (channel.1).
        fence::heavy();
        if let Some(result) = attempt() {
            if !list.delist(key) {
                list.grant_first(1); // C2
            }
            return Some(result);
        }
        match waiter.sleep(reason, deadline) {
            Woken::Granted(_) => {}
            woken => {
                let granted = !list.delist(key);
                if woken == Woken::Cancelled {
                    if granted {
                        list.grant_first(1); // C2
                    }
                    wait::end();
                }
                // What it was granted just now, this attempt sees.
                return attempt();
            }
        }
    }
}

/// The sending end of a [`channel`]. When the last one is dropped, receivers get what is left, and then an error.
pub struct Sender<T: Send> {
    producer: ManuallyDrop<Producer<T, Yield>>,
    lists: Arc<Lists>,
}

impl<T: Send> Sender<T> {
    /// Sends, and waits for room. A cancelled task that would have to wait ends here.
    ///
    /// # Errors
    ///
    /// If every receiver is gone; the value comes back.
    pub fn send(&self, value: T) -> Result<(), PushError<T>> {
        match self.send_until(value, None) {
            Ok(()) => Ok(()),
            Err(TryPushError::Full(value) | TryPushError::Busy(value) | TryPushError::Closed(value)) => {
                Err(PushError(value))
            }
        }
    }

    /// As [`send`](Self::send), but gives up after `timeout`.
    ///
    /// # Errors
    ///
    /// Then too; the value comes back.
    pub fn send_timeout(&self, value: T, timeout: Duration) -> Result<(), PushTimeoutError<T>> {
        self.send_until(value, Some(time::now().after(timeout))).map_err(|error| match error {
            TryPushError::Closed(value) => PushTimeoutError::Closed(value),
            TryPushError::Full(value) | TryPushError::Busy(value) => PushTimeoutError::Timeout(value),
        })
    }

    /// Sends if there is room.
    ///
    /// # Errors
    ///
    /// If there is none, or every receiver is gone; the value comes back.
    pub fn try_send(&self, value: T) -> Result<(), TryPushError<T>> {
        self.producer.try_push(value)?;
        notify(&self.lists.items);
        Ok(())
    }

    fn send_until(&self, value: T, deadline: Option<Instant>) -> Result<(), TryPushError<T>> {
        let mut value = Some(value);
        let mut attempt = || {
            spin::until(|| match self.producer.try_push(value.take().expect("it comes back")) {
                Ok(()) => Some(Some(Ok(()))),
                Err(TryPushError::Closed(closed)) => Some(Some(Err(TryPushError::Closed(closed)))),
                Err(TryPushError::Full(full)) => {
                    value = Some(full);
                    Some(None)
                }
                Err(TryPushError::Busy(busy)) => {
                    value = Some(busy);
                    None // some pop is half-way: soon
                }
            })
        };
        let sent = until(&self.lists.room, Reason::Room, deadline, &mut attempt);
        match sent {
            Some(Ok(())) => {
                notify(&self.lists.items);
                Ok(())
            }
            Some(Err(closed)) => Err(closed),
            None => Err(TryPushError::Full(value.expect("it came back"))),
        }
    }

    /// Whether every receiver is gone.
    pub fn is_closed(&self) -> bool {
        self.producer.is_closed()
    }
}

impl<T: Send> Clone for Sender<T> {
    fn clone(&self) -> Self {
        // Relaxed: whoever clones has a handle, so the count does not fall to 0 meanwhile.
        self.lists.senders.fetch_add(1, Relaxed);
        Self { producer: self.producer.clone(), lists: self.lists.clone() }
    }
}

impl<T: Send> Drop for Sender<T> {
    fn drop(&mut self) {
        // SAFETY: dropped here only, and not used afterwards. First: then receivers find the queue closed.
        unsafe { ManuallyDrop::drop(&mut self.producer) };
        // (channel.3) Pairs with itself: the last one comes after all others have closed their ends.
        if self.lists.senders.fetch_sub(1, AcqRel) == 1 {
            // (channel.1) again.
            fence::light();
            self.lists.items.grant_all(1);
        }
    }
}

impl<T: Send> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("len", &self.producer.len()).finish_non_exhaustive()
    }
}

/// The receiving end of a [`channel`]. When the last one is dropped, sends are refused.
pub struct Receiver<T: Send> {
    consumer: ManuallyDrop<Consumer<T, Yield>>,
    lists: Arc<Lists>,
}

impl<T: Send> Receiver<T> {
    /// Receives, and waits for an item. A cancelled task that would have to wait ends here.
    ///
    /// # Errors
    ///
    /// If every sender is gone and nothing is left.
    pub fn recv(&self) -> Result<T, PopError> {
        self.recv_until(None).map_err(|_| PopError)
    }

    /// As [`recv`](Self::recv), but gives up after `timeout`.
    ///
    /// # Errors
    ///
    /// Then too.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, PopTimeoutError> {
        self.recv_until(Some(time::now().after(timeout))).map_err(|error| match error {
            TryPopError::Closed => PopTimeoutError::Closed,
            TryPopError::Empty | TryPopError::Busy => PopTimeoutError::Timeout,
        })
    }

    /// Receives if there is an item.
    ///
    /// # Errors
    ///
    /// If there is none; or if every sender is gone and nothing is left.
    pub fn try_recv(&self) -> Result<T, TryPopError> {
        let value = self.consumer.try_pop()?;
        notify(&self.lists.room);
        Ok(value)
    }

    fn recv_until(&self, deadline: Option<Instant>) -> Result<T, TryPopError> {
        let attempt = || {
            spin::until(|| match self.consumer.try_pop() {
                Ok(value) => Some(Some(Ok(value))),
                Err(TryPopError::Closed) => Some(Some(Err(TryPopError::Closed))),
                Err(TryPopError::Empty) => Some(None),
                // Some push is half-way: soon.
                Err(TryPopError::Busy) => None,
            })
        };
        let received = until(&self.lists.items, Reason::Item, deadline, attempt);
        if let Some(Ok(_)) = received {
            notify(&self.lists.room);
        }
        received.unwrap_or(Err(TryPopError::Empty))
    }

    /// The items, until every sender is gone.
    pub fn iter(&self) -> impl Iterator<Item = T> {
        core::iter::from_fn(|| self.recv().ok())
    }

    /// How many items there are, now or lately.
    pub fn len(&self) -> usize {
        self.consumer.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.consumer.is_empty()
    }

    /// Whether every sender is gone. Items may be left.
    pub fn is_closed(&self) -> bool {
        self.consumer.is_closed()
    }
}

impl<T: Send> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        // Relaxed: as in `Sender`.
        self.lists.receivers.fetch_add(1, Relaxed);
        Self { consumer: self.consumer.clone(), lists: self.lists.clone() }
    }
}

impl<T: Send> Drop for Receiver<T> {
    fn drop(&mut self) {
        // SAFETY: as in `Sender`.
        unsafe { ManuallyDrop::drop(&mut self.consumer) };
        // (channel.3) again.
        if self.lists.receivers.fetch_sub(1, AcqRel) == 1 {
            fence::light();
            self.lists.room.grant_all(1);
        }
    }
}

impl<T: Send> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// What [`select`](crate::select()) waits for.
pub trait Ready: sealed::Sealed {}

pub(crate) mod sealed {
    use crate::wait::WaitList;

    /// Those who wait for the same.
    #[derive(Debug)]
    pub struct List<'a>(pub(crate) &'a WaitList);

    /// What a wait for one of several asks.
    pub trait Sealed {
        /// Whether an attempt would not wait.
        #[doc(hidden)]
        fn is_ready(&self) -> bool;
        #[doc(hidden)]
        fn list(&self) -> List<'_>;
    }
}

impl<T: Send> Ready for Sender<T> {}

impl<T: Send> sealed::Sealed for Sender<T> {
    fn is_ready(&self) -> bool {
        !self.producer.is_full() || self.is_closed()
    }

    fn list(&self) -> sealed::List<'_> {
        sealed::List(&self.lists.room)
    }
}

impl<T: Send> Ready for Receiver<T> {}

impl<T: Send> sealed::Sealed for Receiver<T> {
    fn is_ready(&self) -> bool {
        !self.is_empty() || self.is_closed()
    }

    fn list(&self) -> sealed::List<'_> {
        sealed::List(&self.lists.items)
    }
}
