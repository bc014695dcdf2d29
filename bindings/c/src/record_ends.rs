//! The ends of a queue of byte entries that any number of threads use at the same time: of any size, in either mode.

use crate::copied;
use crate::end::Until;
use crate::entry::{Bytes, Record};
use crate::records::RecordsGrant;
use crate::status::Status;
use std::ffi::c_void;
use std::time::Duration;
use thalweg_queue::mpmc::{self, Users};
use thalweg_queue::overwriting;
use thalweg_queue::wait;

/// What an end can do in place: nothing, if what is there may be overwritten.
pub(crate) trait InPlace {
    /// Up to `count` entries to write or to read, waiting for the first of them: the grant, and where they are.
    fn open(&self, _count: usize, _until: Until) -> Result<(RecordsGrant, *mut c_void), Status> {
        Err(Status::Invalid)
    }

    /// Ends the grant: pushes the first `count` entries, or gives all back that were read.
    ///
    /// # Safety
    ///
    /// H6; those that are pushed are written.
    unsafe fn end(&self, _grant: RecordsGrant, _count: usize) -> Status {
        Status::Invalid
    }
}

impl<const SIZE: usize, W: wait::Wait> InPlace for overwriting::Producer<Bytes<SIZE>, W> {}
impl<const SIZE: usize, W: wait::Wait> InPlace for overwriting::Consumer<Bytes<SIZE>, W> {}

impl<const SIZE: usize, W: wait::Wait, C: Users> InPlace for mpmc::Producer<Record<SIZE>, W, C> {
    fn open(&self, count: usize, until: Until) -> Result<(RecordsGrant, *mut c_void), Status> {
        let mut grant = match until {
            Until::Now => self.reserve(count)?,
            Until::Later(timeout) => self.reserve_timeout(count, timeout)?,
            Until::Closed => self.wait_reserve(count)?,
        };
        let entries = grant.uninit().as_mut_ptr();
        Ok((grant.into_raw().into(), entries.cast()))
    }

    unsafe fn end(&self, grant: RecordsGrant, count: usize) -> Status {
        if count > grant.count {
            return Status::Invalid;
        }
        // SAFETY: by the caller's promise, and a record takes any bytes.
        unsafe {
            let mut grant = self.grant_from_raw(grant.into());
            grant.assume_written(count);
            grant.commit();
        }
        Status::Ok
    }
}

impl<const SIZE: usize, W: wait::Wait, P: Users> InPlace for mpmc::Consumer<Record<SIZE>, W, P> {
    fn open(&self, count: usize, until: Until) -> Result<(RecordsGrant, *mut c_void), Status> {
        let mut grant = match until {
            Until::Now => self.readable(count)?,
            Until::Later(timeout) => self.readable_timeout(count, timeout)?,
            Until::Closed => self.wait_readable(count)?,
        };
        let entries = grant.as_mut_ptr();
        Ok((grant.into_raw().into(), entries.cast()))
    }

    unsafe fn end(&self, grant: RecordsGrant, _count: usize) -> Status {
        // SAFETY: by the caller's promise.
        drop(unsafe { self.grant_from_raw(grant.into()) });
        Status::Ok
    }
}

/// A writing end for entries of any size.
pub(crate) trait SharedWriter: InPlace + Send + Sync {
    /// # Safety
    ///
    /// H3, for one entry.
    unsafe fn try_push(&self, entry: *const c_void) -> Status;

    /// # Safety
    ///
    /// H3, for one entry.
    unsafe fn push(&self, entry: *const c_void, timeout: Option<Duration>) -> Status;

    /// # Safety
    ///
    /// H3, for `count` entries.
    unsafe fn try_push_many(&self, from: *const c_void, count: usize) -> Result<usize, Status>;

    /// # Safety
    ///
    /// H3, for `count` entries.
    unsafe fn push_many(&self, from: *const c_void, count: usize, timeout: Option<Duration>) -> (usize, Status);

    fn entry_size(&self) -> usize;
    fn is_closed(&self) -> bool;
    fn capacity(&self) -> usize;
    fn len(&self) -> usize;
    fn another(&self) -> Box<dyn SharedWriter>;
}

/// The ends of one mode, with the entries that it takes, and whose other side may be one or many.
macro_rules! writer {
    ($queue:ident, $Entry:ident $(, $Consumers:ident)?) => {
        impl<const SIZE: usize, W: wait::Wait + 'static $(, $Consumers: Users)?> SharedWriter
            for $queue::Producer<$Entry<SIZE>, W $(, $Consumers)?>
        {
            unsafe fn try_push(&self, entry: *const c_void) -> Status {
                let mut end = self;
                // SAFETY: by the caller's promise.
                unsafe { copied::try_push::<$Entry<SIZE>>(&mut end, entry) }
            }

            unsafe fn push(&self, entry: *const c_void, timeout: Option<Duration>) -> Status {
                let mut end = self;
                // SAFETY: by the caller's promise.
                unsafe { copied::push::<$Entry<SIZE>>(&mut end, entry, timeout) }
            }

            unsafe fn try_push_many(&self, from: *const c_void, count: usize) -> Result<usize, Status> {
                let mut end = self;
                // SAFETY: by the caller's promise.
                unsafe { copied::try_push_many::<$Entry<SIZE>>(&mut end, from, count) }
            }

            unsafe fn push_many(&self, from: *const c_void, count: usize, timeout: Option<Duration>) -> (usize, Status) {
                let mut end = self;
                // SAFETY: by the caller's promise.
                unsafe { copied::push_many::<$Entry<SIZE>>(&mut end, from, count, timeout) }
            }

            fn entry_size(&self) -> usize {
                SIZE
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

            fn another(&self) -> Box<dyn SharedWriter> {
                Box::new(self.clone())
            }
        }
    };
}

writer!(mpmc, Record, C);
writer!(overwriting, Bytes);

/// A reading end for entries of any size.
pub(crate) trait SharedReader: InPlace + Send + Sync {
    /// # Safety
    ///
    /// H3, for one entry.
    unsafe fn try_pop(&self, entry: *mut c_void) -> Status;

    /// # Safety
    ///
    /// H3, for one entry.
    unsafe fn pop(&self, entry: *mut c_void, timeout: Option<Duration>) -> Status;

    /// # Safety
    ///
    /// H3, for `count` entries.
    unsafe fn try_pop_many(&self, to: *mut c_void, count: usize) -> Result<usize, Status>;

    /// # Safety
    ///
    /// H3, for `count` entries.
    unsafe fn pop_many(&self, to: *mut c_void, count: usize, timeout: Option<Duration>) -> Result<usize, Status>;

    fn entry_size(&self) -> usize;
    fn is_closed(&self) -> bool;
    fn capacity(&self) -> usize;
    fn len(&self) -> usize;
    fn another(&self) -> Box<dyn SharedReader>;
    /// How many entries were overwritten and passed over.
    fn dropped(&self) -> u64;
}

/// The ends of one mode, with the entries that it takes, and whose other side may be one or many.
macro_rules! reader {
    ($queue:ident, $Entry:ident $(, $Producers:ident)?; $dropped:expr) => {
        impl<const SIZE: usize, W: wait::Wait + 'static $(, $Producers: Users)?> SharedReader
            for $queue::Consumer<$Entry<SIZE>, W $(, $Producers)?>
        {
            unsafe fn try_pop(&self, entry: *mut c_void) -> Status {
                let mut end = self;
                // SAFETY: by the caller's promise.
                unsafe { copied::try_pop::<$Entry<SIZE>>(&mut end, entry) }
            }

            unsafe fn pop(&self, entry: *mut c_void, timeout: Option<Duration>) -> Status {
                let mut end = self;
                // SAFETY: by the caller's promise.
                unsafe { copied::pop::<$Entry<SIZE>>(&mut end, entry, timeout) }
            }

            unsafe fn try_pop_many(&self, to: *mut c_void, count: usize) -> Result<usize, Status> {
                let mut end = self;
                // SAFETY: by the caller's promise.
                unsafe { copied::try_pop_many::<$Entry<SIZE>>(&mut end, to, count) }
            }

            unsafe fn pop_many(&self, to: *mut c_void, count: usize, timeout: Option<Duration>) -> Result<usize, Status> {
                let mut end = self;
                // SAFETY: by the caller's promise.
                unsafe { copied::pop_many::<$Entry<SIZE>>(&mut end, to, count, timeout) }
            }

            fn entry_size(&self) -> usize {
                SIZE
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

            fn another(&self) -> Box<dyn SharedReader> {
                Box::new(self.clone())
            }

            fn dropped(&self) -> u64 {
                $dropped(self)
            }
        }
    };
}

reader!(mpmc, Record, P; |_: &Self| 0);
reader!(overwriting, Bytes; |this: &Self| this.dropped());
