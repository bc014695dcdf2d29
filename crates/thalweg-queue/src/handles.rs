//! How many handles each side of a queue has, and what all kinds of queue say of that alike.

use crate::TryPopError;
use crate::edges::edge;
use core::fmt;
use core::mem::ManuallyDrop;
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::{self, Acquire, Relaxed, Release};

/// How many handles one side has, and whether somebody has [closed](Self::close) it. A side that is gone stays gone.
///
/// The highest bit says closed: so a side is gone whose count is not above zero as a signed number.
#[derive(Debug)]
pub(crate) struct Count(AtomicUsize);

impl Count {
    const CLOSED: usize = 1 << (usize::BITS - 1);

    /// So many handles.
    pub(crate) fn new(handles: usize) -> Self {
        Self(AtomicUsize::new(handles))
    }

    /// One handle more, cloned from one that is there.
    pub(crate) fn add(&self) {
        // Relaxed: the handle that is cloned keeps the count above zero meanwhile.
        self.0.fetch_add(1, Relaxed);
    }

    /// One handle more, unless none is left. True if there is one.
    pub(crate) fn add_to_some(&self) -> bool {
        // Relaxed: only the number of handles is asked. It publishes nothing that a handle did.
        let add = |count: usize| (count & !Self::CLOSED != 0).then(|| count + 1);
        self.0.fetch_update(Relaxed, Relaxed, add).is_ok()
    }

    /// One handle less. True for the last one.
    pub(crate) fn leave(&self, ordering: Ordering) -> bool {
        self.0.fetch_sub(1, ordering) & !Self::CLOSED == 1
    }

    /// Nobody is to be counted on any more.
    pub(crate) fn close(&self, ordering: Ordering) {
        self.0.fetch_or(Self::CLOSED, ordering);
    }

    /// Whether no handle is left, or it was closed.
    #[inline(always)]
    pub(crate) fn is_gone(&self, ordering: Ordering) -> bool {
        self.0.load(ordering) as isize <= 0
    }

    /// How many handles there are, lately.
    pub(crate) fn now(&self) -> usize {
        // Relaxed: a number, lately.
        self.0.load(Relaxed) & !Self::CLOSED
    }
}

/// Two counts.
#[derive(Debug)]
pub(crate) struct Handles {
    pub(crate) producers: Count,
    pub(crate) consumers: Count,
}

impl Handles {
    /// One of each.
    pub(crate) fn new() -> Self {
        Self::of(1, 1)
    }

    /// So many of each.
    pub(crate) fn of(producers: usize, consumers: usize) -> Self {
        Self { producers: Count::new(producers), consumers: Count::new(consumers) }
    }

    /// One producer less. True for the last one.
    pub(crate) fn leave_producer(&self) -> bool {
        // (handles.1) Release, pairs with (handles.2): what was pushed comes before the count.
        self.producers.leave(edge("handles.1", Release))
    }

    /// One consumer less. True for the last one.
    pub(crate) fn leave_consumer(&self) -> bool {
        // Relaxed: nothing that the consumer did is read by who sees the count.
        self.consumers.leave(Relaxed)
    }

    #[inline(always)]
    pub(crate) fn producers_gone(&self) -> bool {
        // (handles.2) Acquire, pairs with (handles.1) and (handles.3): everything they pushed is visible. Relaxed could report the end
        // before the last items.
        self.producers.is_gone(edge("handles.2", Acquire))
    }

    #[inline(always)]
    pub(crate) fn consumers_gone(&self) -> bool {
        // Relaxed: a refusal hands the value back and touches nothing else.
        self.consumers.is_gone(Relaxed)
    }

    /// Each side sees the other as if all of its handles were gone. The caller wakes the waiting threads afterwards.
    pub(crate) fn close(&self) {
        // Pushes first: who sees the end sees that they are refused, unless they are under way.
        self.consumers.close(Relaxed);
        // (handles.3) Release, pairs with (handles.2): what was pushed before comes before the end.
        self.producers.close(edge("handles.3", Release));
    }

    /// As [`last_look`], with these producers.
    #[inline(always)]
    pub(crate) fn last_look<R>(&self, mut pop: impl FnMut() -> Result<R, TryPopError>) -> Result<R, TryPopError> {
        last_look(self, Self::producers_gone, |_| pop())
    }
}

/// Pops from `queue` by `pop`. A producer may have pushed after it looked and before it left, so it looks again before this says `Closed`.
///
/// A `pop` that is a function to be inlined is; a closure around it is one function for all who call this, and called.
#[inline(always)]
pub(crate) fn last_look<'a, Q, R>(
    queue: &'a Q,
    producers_gone: impl Fn(&'a Q) -> bool,
    mut pop: impl FnMut(&'a Q) -> Result<R, TryPopError>,
) -> Result<R, TryPopError> {
    // One call in a loop, not two: of two, neither is inlined, and what a call returns goes through memory, in pieces that the caller
    // waits for when it takes them as a whole.
    let mut last = false;
    loop {
        match pop(queue) {
            Ok(popped) => return Ok(popped),
            Err(TryPopError::Empty) if last => return Err(TryPopError::Closed),
            // `Busy` stays so: a push that `close` has overtaken may be half-way in front of one that it has not.
            Err(TryPopError::Empty) if producers_gone(queue) => last = true,
            Err(refused) => return Err(refused),
        }
    }
}

/// A handle that keeps its side of the queue not alive: made by `downgrade` of a handle that can be cloned.
///
/// It keeps the memory of the queue, and neither counts as a producer nor as a consumer. So who holds one for later, as a registry or
/// a timer, does not keep the other side waiting.
///
/// ```
/// use thalweg_queue::mpmc;
///
/// let (tx, rx) = mpmc::channel(64)?;
/// let weak = tx.downgrade();
/// weak.upgrade().expect("a producer is there").push(7)?;
/// drop(tx);
/// assert!(weak.upgrade().is_none());
/// assert_eq!(rx.iter().collect::<Vec<_>>(), [7]); // the queue has ended
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Weak<E: Downgrade>(ManuallyDrop<E>);

impl<E: Downgrade> Weak<E> {
    pub(crate) fn new(end: &E) -> Self {
        Self(ManuallyDrop::new(end.uncounted()))
    }

    /// A handle that counts, or none if no handle of this side is left: a side that is gone stays gone.
    pub fn upgrade(&self) -> Option<E> {
        self.0.count().then(|| self.0.uncounted())
    }
}

impl<E: Downgrade> Clone for Weak<E> {
    fn clone(&self) -> Self {
        Self::new(&self.0)
    }
}

impl<E: Downgrade> Drop for Weak<E> {
    fn drop(&mut self) {
        // SAFETY: the only time that it is taken, as this is the last that is done with it.
        unsafe { ManuallyDrop::take(&mut self.0) }.release();
    }
}

impl<E: Downgrade> fmt::Debug for Weak<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Weak(..)")
    }
}

/// A handle that can be cloned, and so also [`Weak`].
pub trait Downgrade: Sized + sealed::Sealed {
    /// Another handle of the queue, which is not counted.
    #[doc(hidden)]
    fn uncounted(&self) -> Self;

    /// Counts one more, unless none is left. True if it did.
    #[doc(hidden)]
    fn count(&self) -> bool;

    /// Drops a handle that is not counted.
    #[doc(hidden)]
    fn release(self);
}

pub(crate) mod sealed {
    /// What a weak handle does not count is what its handle counts.
    pub trait Sealed {}
}

/// Gives both ends of a queue with [`Handles`] what all of them have: `close`, and how many there are of each side. `$handles` and `$wait` are
/// those of `$end`.
macro_rules! counted {
    ($([$($bounds:tt)*] $Handle:ty;)+ |$end:ident| $handles:expr, $wait:expr) => {$(
        impl<$($bounds)*> $Handle {
            $crate::handles::close! { |$end| { $handles.close(); $wait.notify_all() } }

            /// How many producers there are, lately.
            pub fn producers(&self) -> usize {
                let $end = self;
                $handles.producers.now()
            }

            /// How many consumers there are, lately.
            pub fn consumers(&self) -> usize {
                let $end = self;
                $handles.consumers.now()
            }
        }
    )+};
}

/// The method `close`, by `$close`.
macro_rules! close {
    (|$end:ident| $close:expr) => {
        /// Closes the queue for all handles: pushes are refused from now on, and pops take what is there and then see the end. Who waits is
        /// woken. No handle has to be dropped for that.
        ///
        /// A push that another thread is in meanwhile may still be accepted. If it ends after a pop has seen the end, its item is popped by
        /// a later one, or dropped with the queue.
        pub fn close(&self) {
            let $end = self;
            $close
        }
    };
}

/// Makes a handle that is counted in `$side` of the `Handles` and has one field, an `Arc`, [`Downgrade`].
macro_rules! downgrade {
    ([$($bounds:tt)*] $Handle:ty, $field:ident, |$end:ident| $count:expr) => {
        impl<$($bounds)*> $Handle {
            /// A handle that does not keep this side alive.
            pub fn downgrade(&self) -> $crate::Weak<Self> {
                $crate::Weak::new(self)
            }
        }

        impl<$($bounds)*> $crate::handles::sealed::Sealed for $Handle {}

        impl<$($bounds)*> $crate::handles::Downgrade for $Handle {
            fn uncounted(&self) -> Self {
                Self { $field: self.$field.clone() }
            }

            fn count(&self) -> bool {
                let $end = self;
                $count.add_to_some()
            }

            fn release(self) {
                let this = core::mem::ManuallyDrop::new(self);
                // SAFETY: a handle that is not dropped does not use its field again.
                drop(unsafe { core::ptr::read(&this.$field) });
            }
        }
    };
}

pub(crate) use {close, counted, downgrade};
