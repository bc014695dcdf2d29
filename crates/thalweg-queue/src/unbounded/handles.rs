//! The ends.

use super::block;
use super::list::{Head, List};
use crate::wait::{Side, Wait, both};
use crate::{Park, TryPopError, TryPushError};
use core::fmt;
use thalweg_sync::sync::Arc;

/// A writing end. Clones write to the same queue; when the last one is dropped, consumers drain what is left.
pub struct Producer<T, W: Wait = Park> {
    list: Arc<List<T, W>>,
}

impl<T, W: Wait> Producer<T, W> {
    /// Pushes, unless every consumer is gone: then the value comes back. Never `Full` or `Busy`.
    pub fn try_push(&self, value: T) -> Result<(), TryPushError<T>> {
        if self.list.handles.consumers_gone() {
            return Err(TryPushError::Closed(value));
        }
        self.list.push(value);
        self.list.wait.notify(Side::Items, 1, || true);
        Ok(())
    }

    fn may_push(&self) -> bool {
        true
    }

    fn strategy(&self) -> &W {
        &self.list.wait
    }

    /// How many items are in the queue, lately; those included whose push is half-way.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether `len` is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `usize::MAX`: there is always room.
    pub fn capacity(&self) -> usize {
        usize::MAX
    }

    /// Whether every consumer is gone. Then it stays so, and every push is refused.
    pub fn is_closed(&self) -> bool {
        self.list.handles.consumers_gone()
    }
}

impl<T, W: Wait> Clone for Producer<T, W> {
    fn clone(&self) -> Self {
        self.list.handles.producers.add();
        Self { list: self.list.clone() }
    }
}

impl<T, W: Wait> Drop for Producer<T, W> {
    fn drop(&mut self) {
        if self.list.handles.leave_producer() {
            self.list.wait.notify_all();
        }
    }
}

impl<T, W: Wait> fmt::Debug for Producer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("len", &self.len()).finish_non_exhaustive()
    }
}

crate::handles::counted! {
    [T, W: Wait] Producer<T, W>;
    [T, W: Wait] mpsc::Consumer<T, W>;
    [T, W: Wait] mpmc::Consumer<T, W>;
    |end| end.list.handles, end.list.wait
}
crate::handles::downgrade! { [T, W: Wait] Producer<T, W>, list, |end| end.list.handles.producers }
crate::handles::downgrade! { [T, W: Wait] mpmc::Consumer<T, W>, list, |end| end.list.handles.consumers }
crate::wait::producer!(shared Producer[T]);

fn list<T: Send, W: Wait>(shift: u32, wait: W) -> Arc<List<T, W>> {
    Arc::new(List::new(shift, wait))
}

pub mod mpsc {
    //! Any number of producers, one consumer. See the [page of both](crate::unbounded).

    use super::*;

    /// A producer; ends sleep when they wait.
    pub type Sender<T> = Producer<T, Park>;

    /// The consumer; ends sleep when they wait.
    pub type Receiver<T> = Consumer<T, Park>;

    /// A queue without a capacity.
    ///
    /// ```
    /// let (tx, mut rx) = thalweg_queue::unbounded::mpsc::channel();
    /// (0..1000).for_each(|n| tx.push(n).unwrap()); // never waits
    /// drop(tx);
    /// assert!(rx.iter().eq(0..1000));
    /// ```
    pub fn channel<T: Send>() -> (Sender<T>, Receiver<T>) {
        with_wait(Park::new())
    }

    /// As [`channel`], with ends that [wait](crate::wait) by `wait`.
    pub fn with_wait<T: Send, W: Wait>(wait: W) -> (Producer<T, W>, Consumer<T, W>) {
        with_blocks(block::shift::<T>(), wait)
    }

    /// With blocks of `1 << shift` entries, for tests.
    #[doc(hidden)]
    pub fn with_blocks<T: Send, W: Wait>(shift: u32, wait: W) -> (Producer<T, W>, Consumer<T, W>) {
        let list = list(shift, wait);
        let head = *list.head();
        (Producer { list: list.clone() }, Consumer { list, head })
    }

    /// The reading end. When it is dropped, pushes are refused, and what is in the queue is dropped.
    ///
    /// ```compile_fail,E0599
    /// let (_tx, rx) = thalweg_queue::unbounded::mpsc::channel::<u64>();
    /// let second = rx.clone(); // there is one
    /// ```
    pub struct Consumer<T, W: Wait = Park> {
        pub(super) list: Arc<List<T, W>>,
        /// The list's own is out of date until this one is dropped.
        head: Head<T>,
    }

    impl<T, W: Wait> Consumer<T, W> {
        /// Pops the oldest item, or says why not.
        pub fn try_pop(&mut self) -> Result<T, TryPopError> {
            let (list, head) = (&self.list, &mut self.head);
            list.handles.last_look(|| list.pop(head))
        }

        fn may_pop(&self) -> bool {
            self.list.front(&self.head).is_some() || self.is_closed()
        }

        fn strategy(&self) -> &W {
            &self.list.wait
        }

        /// How many items are in the queue, lately; those included whose push is half-way.
        pub fn len(&self) -> usize {
            self.list.len()
        }

        /// Whether `len` is zero.
        pub fn is_empty(&self) -> bool {
            self.len() == 0
        }

        /// `usize::MAX`: there is always room.
        pub fn capacity(&self) -> usize {
            usize::MAX
        }

        /// Never: there is always room.
        pub fn is_full(&self) -> bool {
            false
        }

        /// Whether every producer is gone. Then it stays so; items may still be left.
        pub fn is_closed(&self) -> bool {
            self.list.handles.producers_gone()
        }
    }

    impl<T, W: Wait> Drop for Consumer<T, W> {
        fn drop(&mut self) {
            let Self { list, head } = self;
            list.handles.leave_consumer();
            both(|| list.wait.notify_all(), || list.drain(*head));
        }
    }

    impl<T, W: Wait> fmt::Debug for Consumer<T, W> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("Consumer").field("len", &self.len()).finish_non_exhaustive()
        }
    }

    crate::wait::consumer!(exclusive (Consumer [T] [] T [T] is_full));
}

pub mod mpmc {
    //! Any number of producers and consumers. See the [page of both](crate::unbounded).
    //!
    //! Consumers take turns: a pop holds a lock while it moves one item out, so a `try_pop` may wait for another thread's.

    use super::*;

    /// A producer; ends sleep when they wait.
    pub type Sender<T> = Producer<T, Park>;

    /// A consumer; ends sleep when they wait.
    pub type Receiver<T> = Consumer<T, Park>;

    /// A queue without a capacity.
    ///
    /// ```
    /// let (tx, rx) = thalweg_queue::unbounded::mpmc::channel();
    /// let workers = [rx.clone(), rx].map(|rx| std::thread::spawn(move || rx.iter().sum::<u64>()));
    /// (0..1000).for_each(|n| tx.push(n).unwrap()); // never waits
    /// drop(tx);
    /// assert_eq!(workers.map(|worker| worker.join().unwrap()).iter().sum::<u64>(), (0..1000).sum());
    /// ```
    pub fn channel<T: Send>() -> (Sender<T>, Receiver<T>) {
        with_blocks(block::shift::<T>(), Park::new())
    }

    /// With blocks of `1 << shift` entries, for tests.
    #[doc(hidden)]
    pub fn with_blocks<T: Send>(shift: u32, wait: Park) -> (Sender<T>, Receiver<T>) {
        let list = list(shift, wait);
        (Producer { list: list.clone() }, Consumer { list })
    }

    /// A reading end. Clones read from the same queue; when the last one is dropped, pushes are refused, and what is in the queue is dropped.
    pub struct Consumer<T, W: Wait = Park> {
        pub(super) list: Arc<List<T, W>>,
    }

    impl<T, W: Wait> Consumer<T, W> {
        /// Pops the oldest item, or says why not.
        pub fn try_pop(&self) -> Result<T, TryPopError> {
            let list = &self.list;
            list.handles.last_look(|| list.pop(&mut list.head()))
        }

        /// It takes the lock, so it cannot be what a strategy spins on: all ends sleep.
        fn may_pop(&self) -> bool {
            let there = self.list.front(&self.list.head()).is_some();
            there || self.is_closed()
        }

        fn strategy(&self) -> &W {
            &self.list.wait
        }

        /// How many items are in the queue, lately; those included whose push is half-way.
        pub fn len(&self) -> usize {
            self.list.len()
        }

        /// Whether `len` is zero.
        pub fn is_empty(&self) -> bool {
            self.len() == 0
        }

        /// `usize::MAX`: there is always room.
        pub fn capacity(&self) -> usize {
            usize::MAX
        }

        /// Never: there is always room.
        pub fn is_full(&self) -> bool {
            false
        }

        /// Whether every producer is gone. Then it stays so; items may still be left.
        pub fn is_closed(&self) -> bool {
            self.list.handles.producers_gone()
        }
    }

    impl<T, W: Wait> Clone for Consumer<T, W> {
        fn clone(&self) -> Self {
            self.list.handles.consumers.add();
            Self { list: self.list.clone() }
        }
    }

    impl<T, W: Wait> Drop for Consumer<T, W> {
        fn drop(&mut self) {
            let list = &self.list;
            if list.handles.leave_consumer() {
                both(
                    || list.wait.notify_all(),
                    || {
                        let head = *list.head();
                        list.drain(head);
                    },
                );
            }
        }
    }

    impl<T, W: Wait> fmt::Debug for Consumer<T, W> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("Consumer").field("len", &self.len()).finish_non_exhaustive()
        }
    }

    crate::wait::consumer!(shared (Consumer [T] [] T [T] is_full));
}
