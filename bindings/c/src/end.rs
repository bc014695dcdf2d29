//! Ends of queues whose type is chosen at run time: by the queue, the way of waiting, and the size of an entry.
//!
//! The traits can be made into objects. Their implementations are the methods of [`Push`] and [`Pop`], with a [`Status`] for every
//! error. A handle in C is a box with such an object in it. What is popped goes into memory that was perhaps never written.

use crate::entry::{AnyBytes, Bytes, Entry};
use crate::status::Status;
use std::mem::MaybeUninit;
use std::time::Duration;
use thalweg_queue::mpmc::Users;
use thalweg_queue::overwriting;
use thalweg_queue::stealing::Stealer;
use thalweg_queue::wait::Wait;
use thalweg_queue::{Pop, Push, TryPushError, mpmc, mpsc, spsc, spsc::fast_forward};

/// How long something waits.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    /// Not at all.
    Now,
    /// For some time.
    Later(Duration),
    /// Until it can be done, or the other side is gone.
    Closed,
}

impl Until {
    pub(crate) fn after(nanoseconds: u64) -> Self {
        Self::Later(Duration::from_nanos(nanoseconds))
    }
}

/// A writing end that one thread at a time uses.
pub(crate) trait Producer<E: Entry>: Send {
    fn try_push(&mut self, entry: E) -> Status;
    fn push(&mut self, entry: E) -> Status;
    fn push_timeout(&mut self, entry: E, timeout: Duration) -> Status;
    fn try_push_many(&mut self, entries: &[E]) -> Result<usize, Status>;
    /// Pushes all of them, waiting for room. How many it has pushed, and why no more.
    fn push_many(&mut self, entries: &[E], timeout: Option<Duration>) -> (usize, Status);
    fn is_closed(&self) -> bool;
    fn capacity(&self) -> usize;
}

impl<E: Entry, P: Push<Item = E> + Send> Producer<E> for P {
    #[inline]
    fn try_push(&mut self, entry: E) -> Status {
        Push::try_push(self, entry).map_err(Status::from).into()
    }

    fn push(&mut self, entry: E) -> Status {
        Push::push(self, entry).map_err(Status::from).into()
    }

    fn push_timeout(&mut self, entry: E, timeout: Duration) -> Status {
        Push::push_timeout(self, entry, timeout).map_err(Status::from).into()
    }

    fn try_push_many(&mut self, entries: &[E]) -> Result<usize, Status> {
        Ok(Push::try_push_slice(self, entries)?)
    }

    fn push_many(&mut self, entries: &[E], timeout: Option<Duration>) -> (usize, Status) {
        let pushed = match Push::try_push_slice(self, entries) {
            Ok(pushed) => pushed,
            Err(TryPushError::Closed(())) => return (0, Status::Closed),
            Err(_) => 0,
        };
        // What waits is in a vector, as the queue wants it.
        let mut left = entries[pushed..].to_vec();
        let status = match timeout {
            Some(timeout) => Push::push_many_timeout(self, &mut left, timeout).map_err(Status::from).into(),
            None => Push::push_many(self, &mut left).map_err(Status::from).into(),
        };
        (entries.len() - left.len(), status)
    }

    fn is_closed(&self) -> bool {
        Push::is_closed(self)
    }

    fn capacity(&self) -> usize {
        Push::capacity(self)
    }
}

/// A reading end that one thread at a time uses.
pub(crate) trait Consumer<E: Entry>: Send {
    fn try_pop(&mut self) -> Result<E, Status>;
    fn pop(&mut self) -> Result<E, Status>;
    fn pop_timeout(&mut self, timeout: Duration) -> Result<E, Status>;
    fn try_pop_many(&mut self, places: &mut [MaybeUninit<E>]) -> Result<usize, Status>;

    /// Pops one, waiting for it, and what else is there then.
    fn pop_many(&mut self, places: &mut [MaybeUninit<E>], timeout: Option<Duration>) -> Result<usize, Status> {
        match self.try_pop_many(places) {
            Err(Status::Empty | Status::Busy) => {}
            done => return done,
        }
        let first = match timeout {
            Some(timeout) => self.pop_timeout(timeout)?,
            None => self.pop()?,
        };
        // There is a place: for none, nothing was refused.
        places[0].write(first);
        Ok(1 + self.try_pop_many(&mut places[1..]).unwrap_or(0))
    }

    fn is_closed(&self) -> bool;
    fn capacity(&self) -> usize;
}

impl<E: AnyBytes, P: Pop<Item = E> + Send> Consumer<E> for P {
    #[inline]
    fn try_pop(&mut self) -> Result<E, Status> {
        Ok(Pop::try_pop(self)?)
    }

    fn pop(&mut self) -> Result<E, Status> {
        Ok(Pop::pop(self)?)
    }

    fn pop_timeout(&mut self, timeout: Duration) -> Result<E, Status> {
        Ok(Pop::pop_timeout(self, timeout)?)
    }

    fn try_pop_many(&mut self, places: &mut [MaybeUninit<E>]) -> Result<usize, Status> {
        Ok(Pop::try_pop_slice(self, E::in_memory(places))?)
    }

    fn is_closed(&self) -> bool {
        Pop::is_closed(self)
    }

    fn capacity(&self) -> usize {
        Pop::capacity(self)
    }
}

/// A reading end that says how many items are left. Where it is the only one it always does, and the only writing end does not: for one
/// and one, it does not look at what the consumer writes, which is what makes it fast.
pub(crate) trait Len {
    fn len(&self) -> usize;
}

impl<T, W: Wait, S: fast_forward::Entry<T>> Len for fast_forward::Consumer<T, W, S> {
    fn len(&self) -> usize {
        self.len()
    }
}

impl<T: Send, W: Wait> Len for spsc::Consumer<T, W> {
    fn len(&self) -> usize {
        self.len()
    }
}

impl<T: Send, W: Wait> Len for mpsc::Consumer<T, W> {
    fn len(&self) -> usize {
        self.len()
    }
}

/// The reading end of a queue that has no other.
pub(crate) trait OnlyConsumer<E: Entry>: Consumer<E> + Len {}

impl<E: Entry, C: Consumer<E> + Len> OnlyConsumer<E> for C {}

/// The memory that a batch goes to does not hold [`Bytes`] before: those were written (H5).
impl<const SIZE: usize, W: Wait> Consumer<Bytes<SIZE>> for &overwriting::Consumer<Bytes<SIZE>, W> {
    #[inline]
    fn try_pop(&mut self) -> Result<Bytes<SIZE>, Status> {
        Ok(Pop::try_pop(self)?)
    }

    fn pop(&mut self) -> Result<Bytes<SIZE>, Status> {
        Ok(Pop::pop(self)?)
    }

    fn pop_timeout(&mut self, timeout: Duration) -> Result<Bytes<SIZE>, Status> {
        Ok(Pop::pop_timeout(self, timeout)?)
    }

    fn try_pop_many(&mut self, places: &mut [MaybeUninit<Bytes<SIZE>>]) -> Result<usize, Status> {
        Ok(self.try_pop_uninit(places)?)
    }

    fn is_closed(&self) -> bool {
        Pop::is_closed(self)
    }

    fn capacity(&self) -> usize {
        Pop::capacity(self)
    }
}

/// A writing end that any number of threads use at the same time, and that can be doubled.
pub(crate) trait SharedProducer<E: Entry>: Send + Sync {
    fn try_push(&self, entry: E) -> Status;
    fn push(&self, entry: E) -> Status;
    fn push_timeout(&self, entry: E, timeout: Duration) -> Status;
    fn try_push_many(&self, entries: &[E]) -> Result<usize, Status>;
    /// Pushes all of them, waiting for room. How many it has pushed, and why no more.
    fn push_many(&self, entries: &[E], timeout: Option<Duration>) -> (usize, Status);
    fn is_closed(&self) -> bool;
    fn capacity(&self) -> usize;
    fn len(&self) -> usize;
    fn another(&self) -> Box<dyn SharedProducer<E>>;
}

impl<E: Entry + 'static, W: Wait + 'static, C: Users> SharedProducer<E> for mpmc::Producer<E, W, C> {
    #[inline]
    fn try_push(&self, entry: E) -> Status {
        self.try_push(entry).map_err(Status::from).into()
    }

    fn push(&self, entry: E) -> Status {
        self.push(entry).map_err(Status::from).into()
    }

    fn push_timeout(&self, entry: E, timeout: Duration) -> Status {
        self.push_timeout(entry, timeout).map_err(Status::from).into()
    }

    fn try_push_many(&self, entries: &[E]) -> Result<usize, Status> {
        Ok(self.try_push_slice(entries)?)
    }

    fn push_many(&self, entries: &[E], timeout: Option<Duration>) -> (usize, Status) {
        Producer::push_many(&mut &*self, entries, timeout)
    }

    fn is_closed(&self) -> bool {
        self.is_closed()
    }

    fn capacity(&self) -> usize {
        self.capacity()
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn another(&self) -> Box<dyn SharedProducer<E>> {
        Box::new(self.clone())
    }
}

/// A reading end that any number of threads use at the same time, and that can be doubled.
pub(crate) trait SharedConsumer<E: Entry>: Send + Sync {
    fn try_pop(&self) -> Result<E, Status>;
    fn pop(&self) -> Result<E, Status>;
    fn pop_timeout(&self, timeout: Duration) -> Result<E, Status>;
    fn try_pop_many(&self, places: &mut [MaybeUninit<E>]) -> Result<usize, Status>;
    /// Pops one, waiting for it, and what else is there.
    fn pop_many(&self, places: &mut [MaybeUninit<E>], timeout: Option<Duration>) -> Result<usize, Status>;
    fn is_closed(&self) -> bool;
    fn capacity(&self) -> usize;
    fn len(&self) -> usize;
    fn another(&self) -> Box<dyn SharedConsumer<E>>;
}

impl<E: AnyBytes + 'static, W: Wait + 'static, P: Users> SharedConsumer<E> for mpmc::Consumer<E, W, P> {
    #[inline]
    fn try_pop(&self) -> Result<E, Status> {
        Ok(self.try_pop()?)
    }

    fn pop(&self) -> Result<E, Status> {
        Ok(self.pop()?)
    }

    fn pop_timeout(&self, timeout: Duration) -> Result<E, Status> {
        Ok(self.pop_timeout(timeout)?)
    }

    fn try_pop_many(&self, places: &mut [MaybeUninit<E>]) -> Result<usize, Status> {
        Ok(self.try_pop_slice(E::in_memory(places))?)
    }

    fn pop_many(&self, places: &mut [MaybeUninit<E>], timeout: Option<Duration>) -> Result<usize, Status> {
        Consumer::pop_many(&mut &*self, places, timeout)
    }

    fn is_closed(&self) -> bool {
        self.is_closed()
    }

    fn capacity(&self) -> usize {
        self.capacity()
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn another(&self) -> Box<dyn SharedConsumer<E>> {
        Box::new(self.clone())
    }
}

/// A thief, and where a batch stands before it is in the caller's memory. That is kept, so that only the first batches allocate.
pub(crate) struct Thief<E: Entry> {
    pub(crate) stealer: Stealer<E>,
    batch: Vec<E>,
}

impl<E: Entry> Thief<E> {
    pub(crate) fn new(stealer: Stealer<E>) -> Self {
        Self { stealer, batch: Vec::new() }
    }

    pub(crate) fn another(&self) -> Self {
        Self::new(self.stealer.clone())
    }

    /// Steals up to as many entries of one block as there are places, the oldest first. Returns how many.
    pub(crate) fn steal_many(&mut self, places: &mut [MaybeUninit<E>]) -> Result<usize, Status> {
        self.batch.clear();
        let stolen = self.stealer.steal_into(&mut self.batch, places.len())?;
        for (place, &entry) in places.iter_mut().zip(&self.batch) {
            place.write(entry);
        }
        Ok(stolen)
    }
}

/// Moves `items`, what an owner has, to `places`, from the first on. Returns how many: none with an error.
pub(crate) fn pop_each<E: Entry>(
    places: &mut [MaybeUninit<E>],
    items: impl Iterator<Item = E>,
) -> Result<usize, Status> {
    let none = if places.is_empty() { Ok(0) } else { Err(Status::Empty) };
    match places.iter_mut().zip(items).map(|(place, item)| place.write(item)).count() {
        0 => none,
        popped => Ok(popped),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Item;

    /// Nothing at first; three items once somebody waited for one.
    struct Later(usize);

    impl Consumer<Item> for Later {
        fn try_pop(&mut self) -> Result<Item, Status> {
            Err(Status::Empty)
        }

        fn pop(&mut self) -> Result<Item, Status> {
            self.0 = 2;
            Ok(Item::new(std::ptr::null_mut()))
        }

        fn pop_timeout(&mut self, _: Duration) -> Result<Item, Status> {
            Err(Status::Timeout)
        }

        fn try_pop_many(&mut self, places: &mut [MaybeUninit<Item>]) -> Result<usize, Status> {
            let count = self.0.min(places.len());
            self.0 -= count;
            if count > 0 { Ok(count) } else { Err(Status::Empty) }
        }

        fn is_closed(&self) -> bool {
            false
        }

        fn capacity(&self) -> usize {
            3
        }
    }

    #[test]
    fn a_batch_that_has_waited_takes_what_else_is_there_then() {
        let mut places = [const { MaybeUninit::uninit() }; 4];
        assert_eq!(Later(0).pop_many(&mut places, None), Ok(3));
        assert_eq!(Later(0).pop_many(&mut places[..2], None), Ok(2));
        assert_eq!(Later(0).pop_many(&mut places, Some(Duration::ZERO)), Err(Status::Timeout));
    }
}
