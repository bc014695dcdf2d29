//! Ends of queues whose type is chosen at run time: by the queue, the way of waiting, and the size of an entry.
//!
//! The traits can be made into objects. Their implementations are the methods of [`Push`] and [`Pop`], with a [`Status`] for every
//! error. A handle in C is a box with such an object in it.

use crate::entry::Entry;
use crate::status::Status;
use std::time::Duration;
use thalweg_queue::bbq::drop_old::{self, Plain};
use thalweg_queue::wait::Wait;
use thalweg_queue::{Pop, Push, bbq};

/// A writing end that one thread at a time uses.
pub(crate) trait Producer<E: Entry>: Send {
    fn try_push(&mut self, entry: E) -> Status;
    fn push(&mut self, entry: E) -> Status;
    fn push_timeout(&mut self, entry: E, timeout: Duration) -> Status;
    fn try_push_many(&mut self, entries: &[E]) -> Result<usize, Status>;
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
    fn try_pop_many(&mut self, places: &mut [E]) -> Result<usize, Status>;
    fn is_closed(&self) -> bool;
    fn capacity(&self) -> usize;
}

impl<E: Entry, P: Pop<Item = E> + Send> Consumer<E> for P {
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

    fn try_pop_many(&mut self, places: &mut [E]) -> Result<usize, Status> {
        Ok(Pop::try_pop_slice(self, places)?)
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
    fn is_closed(&self) -> bool;
    fn capacity(&self) -> usize;
    fn len(&self) -> usize;
    fn another(&self) -> Box<dyn SharedProducer<E>>;
}

/// The methods of a handle that is shared, as a trait.
macro_rules! shared_producer {
    ($Producer:ty, $($bound:tt)+) => {
        impl<E: $($bound)+ + 'static, W: Wait + 'static> SharedProducer<E> for $Producer {
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
    };
}

shared_producer!(bbq::Producer<E, W>, Entry);
shared_producer!(drop_old::Producer<E, W>, Entry + Plain);

/// A reading end that any number of threads use at the same time, and that can be doubled.
pub(crate) trait SharedConsumer<E: Entry>: Send + Sync {
    fn try_pop(&self) -> Result<E, Status>;
    fn pop(&self) -> Result<E, Status>;
    fn pop_timeout(&self, timeout: Duration) -> Result<E, Status>;
    fn try_pop_many(&self, places: &mut [E]) -> Result<usize, Status>;
    fn is_closed(&self) -> bool;
    fn capacity(&self) -> usize;
    fn len(&self) -> usize;
    fn another(&self) -> Box<dyn SharedConsumer<E>>;
}

/// As `shared_producer`.
macro_rules! shared_consumer {
    ($Consumer:ty, $($bound:tt)+) => {
        impl<E: $($bound)+ + 'static, W: Wait + 'static> SharedConsumer<E> for $Consumer {
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

            fn try_pop_many(&self, places: &mut [E]) -> Result<usize, Status> {
                Ok(self.try_pop_slice(places)?)
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
    };
}

shared_consumer!(bbq::Consumer<E, W>, Entry);
shared_consumer!(drop_old::Consumer<E, W>, Entry + Plain);
