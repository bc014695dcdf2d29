//! The ends of a queue of byte entries that are the only ones of their side: of any size.

use crate::copied;
use crate::end::{Len, Until};
use crate::entry::{AnyBytes, Entry, Record};
use crate::status::Status;
use std::ffi::c_void;
use std::time::Duration;
use thalweg_queue::spsc::fast_forward::InPlace;
use thalweg_queue::wait::Wait;
use thalweg_queue::{Pop, Push, mpsc, spmc, spsc, spsc::fast_forward};

/// A writing end for entries of any size.
pub(crate) trait Writer: WriteInPlace + Send {
    /// # Safety
    ///
    /// H3, for one entry.
    unsafe fn try_push(&mut self, entry: *const c_void) -> Status;

    /// # Safety
    ///
    /// H3, for one entry.
    unsafe fn push(&mut self, entry: *const c_void, timeout: Option<Duration>) -> Status;

    /// # Safety
    ///
    /// H3, for `count` entries.
    unsafe fn try_push_many(&mut self, from: *const c_void, count: usize) -> Result<usize, Status>;

    /// # Safety
    ///
    /// H3, for `count` entries.
    unsafe fn push_many(&mut self, from: *const c_void, count: usize, timeout: Option<Duration>) -> (usize, Status);

    fn entry_size(&self) -> usize;
    fn is_closed(&self) -> bool;
    fn capacity(&self) -> usize;
}

impl<E: Entry, P: Push<Item = E> + WriteInPlace + Send> Writer for P {
    unsafe fn try_push(&mut self, entry: *const c_void) -> Status {
        // SAFETY: by the caller's promise.
        unsafe { copied::try_push::<E>(self, entry) }
    }

    unsafe fn push(&mut self, entry: *const c_void, timeout: Option<Duration>) -> Status {
        // SAFETY: by the caller's promise.
        unsafe { copied::push::<E>(self, entry, timeout) }
    }

    unsafe fn try_push_many(&mut self, from: *const c_void, count: usize) -> Result<usize, Status> {
        // SAFETY: by the caller's promise.
        unsafe { copied::try_push_many::<E>(self, from, count) }
    }

    unsafe fn push_many(&mut self, from: *const c_void, count: usize, timeout: Option<Duration>) -> (usize, Status) {
        // SAFETY: by the caller's promise.
        unsafe { copied::push_many::<E>(self, from, count, timeout) }
    }

    fn entry_size(&self) -> usize {
        size_of::<E>()
    }

    fn is_closed(&self) -> bool {
        Push::is_closed(self)
    }

    fn capacity(&self) -> usize {
        Push::capacity(self)
    }
}

/// What a writing end does in place. What is reserved is not in the queue, and remains free while nothing is pushed: so it can be asked for
/// again when it is to be pushed.
pub(crate) trait WriteInPlace {
    /// Where the next entries are, up to `count` and at least one, waiting for the first of them, and how many.
    fn reserve(&mut self, count: usize, until: Until) -> Result<(*mut c_void, usize), Status>;

    /// Pushes the next `count` entries, with what is in them.
    fn commit(&mut self, count: usize) -> Result<(), Status>;
}

macro_rules! write_in_place {
    ($End:ty) => {
        impl<const SIZE: usize, W: Wait> WriteInPlace for $End {
            fn reserve(&mut self, count: usize, until: Until) -> Result<(*mut c_void, usize), Status> {
                let mut grant = match until {
                    Until::Now => self.reserve(count)?,
                    Until::Later(timeout) => self.reserve_timeout(count, timeout)?,
                    Until::Closed => self.wait_reserve(count)?,
                };
                let entries = grant.uninit();
                Ok((entries.as_mut_ptr().cast(), entries.len()))
            }

            fn commit(&mut self, count: usize) -> Result<(), Status> {
                if count > 0 {
                    let mut grant = self.reserve(count)?;
                    // SAFETY: a record takes any bytes. There are so many entries, as nothing was pushed since they were reserved.
                    unsafe { grant.assume_written(count) };
                    grant.commit();
                }
                Ok(())
            }
        }
    };
}

write_in_place!(fast_forward::Producer<Record<SIZE>, W, InPlace<Record<SIZE>>>);
write_in_place!(spsc::Producer<Record<SIZE>, W>);
write_in_place!(spmc::Producer<Record<SIZE>, W>);

/// A reading end for entries of any size.
pub(crate) trait Reader: ReadInPlace + Send {
    /// # Safety
    ///
    /// H3, for one entry.
    unsafe fn try_pop(&mut self, entry: *mut c_void) -> Status;

    /// # Safety
    ///
    /// H3, for one entry.
    unsafe fn pop(&mut self, entry: *mut c_void, timeout: Option<Duration>) -> Status;

    /// # Safety
    ///
    /// H3, for `count` entries.
    unsafe fn try_pop_many(&mut self, to: *mut c_void, count: usize) -> Result<usize, Status>;

    /// # Safety
    ///
    /// H3, for `count` entries.
    unsafe fn pop_many(&mut self, to: *mut c_void, count: usize, timeout: Option<Duration>) -> Result<usize, Status>;

    fn entry_size(&self) -> usize;
    fn is_closed(&self) -> bool;
    fn capacity(&self) -> usize;
    fn len(&self) -> usize;
}

impl<E: AnyBytes, P: Pop<Item = E> + ReadInPlace + Len + Send> Reader for P {
    unsafe fn try_pop(&mut self, entry: *mut c_void) -> Status {
        // SAFETY: by the caller's promise.
        unsafe { copied::try_pop::<E>(self, entry) }
    }

    unsafe fn pop(&mut self, entry: *mut c_void, timeout: Option<Duration>) -> Status {
        // SAFETY: by the caller's promise.
        unsafe { copied::pop::<E>(self, entry, timeout) }
    }

    unsafe fn try_pop_many(&mut self, to: *mut c_void, count: usize) -> Result<usize, Status> {
        // SAFETY: by the caller's promise.
        unsafe { copied::try_pop_many::<E>(self, to, count) }
    }

    unsafe fn pop_many(&mut self, to: *mut c_void, count: usize, timeout: Option<Duration>) -> Result<usize, Status> {
        // SAFETY: by the caller's promise.
        unsafe { copied::pop_many::<E>(self, to, count, timeout) }
    }

    fn entry_size(&self) -> usize {
        size_of::<E>()
    }

    fn is_closed(&self) -> bool {
        Pop::is_closed(self)
    }

    fn capacity(&self) -> usize {
        Pop::capacity(self)
    }

    fn len(&self) -> usize {
        Len::len(self)
    }
}

/// What a reading end does in place. What is being read is in the queue until it is released: so it can be asked for again then.
pub(crate) trait ReadInPlace {
    /// Where the oldest entries are, up to `count` and at least one, waiting for the first of them, and how many.
    fn read(&mut self, count: usize, until: Until) -> Result<(*mut c_void, usize), Status>;

    /// Pops the oldest `count` entries, and looks at none.
    fn release(&mut self, count: usize) -> Result<(), Status>;
}

macro_rules! read_in_place {
    ($End:ty) => {
        impl<const SIZE: usize, W: Wait> ReadInPlace for $End {
            fn read(&mut self, count: usize, until: Until) -> Result<(*mut c_void, usize), Status> {
                let mut grant = match until {
                    Until::Now => self.readable(count)?,
                    Until::Later(timeout) => self.readable_timeout(count, timeout)?,
                    Until::Closed => self.wait_readable(count)?,
                };
                Ok((grant.as_mut_ptr().cast(), grant.len()))
            }

            fn release(&mut self, count: usize) -> Result<(), Status> {
                if count > 0 {
                    self.readable(count)?.release(count);
                }
                Ok(())
            }
        }
    };
}

read_in_place!(fast_forward::Consumer<Record<SIZE>, W, InPlace<Record<SIZE>>>);
read_in_place!(spsc::Consumer<Record<SIZE>, W>);
read_in_place!(mpsc::Consumer<Record<SIZE>, W>);
