//! The ends of a queue of byte messages, with any way of waiting, in either mode.

use crate::bytes::BytesGrant;
use crate::end::Until;
use crate::status::Status;
use std::mem::{ManuallyDrop, MaybeUninit};
use thalweg_queue::bytes::{self, DropOld, Mode, PushBytesError, PushBytesTimeoutError, RetryNew};
use thalweg_queue::wait::Wait;

/// A writing end with any way of waiting.
pub(crate) trait Writer: WriteInPlace + Send + Sync {
    fn push(&self, message: &[u8], until: Until) -> Status;
    fn is_closed(&self) -> bool;
    fn len(&self) -> usize;
    fn max_message(&self) -> usize;
    fn capacity(&self) -> usize;
    fn another(&self) -> Box<dyn Writer>;
}

/// What a writing end can do in place: nothing, if what is there may be overwritten.
pub(crate) trait WriteInPlace {
    /// The grant, and where its bytes are.
    fn reserve(&self, _size: usize, _until: Until) -> Result<(BytesGrant, *mut u8), Status> {
        Err(Status::Invalid)
    }

    /// # Safety
    ///
    /// H6.
    unsafe fn end(&self, _grant: BytesGrant, _commit: Option<usize>) -> Status {
        Status::Invalid
    }
}

fn status(refused: PushBytesError) -> Status {
    match refused {
        PushBytesError::Full => Status::Full,
        PushBytesError::Busy => Status::Busy,
        PushBytesError::Closed => Status::Closed,
        _ => Status::Invalid,
    }
}

fn status_in_time(refused: PushBytesTimeoutError) -> Status {
    match refused {
        PushBytesTimeoutError::Refused(refused) => status(refused),
        _ => Status::Timeout,
    }
}

impl<W: Wait + 'static, M: Mode> Writer for bytes::Producer<W, M>
where
    Self: WriteInPlace,
{
    fn push(&self, message: &[u8], until: Until) -> Status {
        match until {
            Until::Now => self.try_push(message).map_err(status).into(),
            Until::Later(timeout) => self.push_timeout(message, timeout).map_err(status_in_time).into(),
            Until::Closed => self.push(message).map_err(status).into(),
        }
    }

    fn is_closed(&self) -> bool {
        self.is_closed()
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn max_message(&self) -> usize {
        self.max_message()
    }

    fn capacity(&self) -> usize {
        self.capacity()
    }

    fn another(&self) -> Box<dyn Writer> {
        Box::new(self.clone())
    }
}

impl<W: Wait> WriteInPlace for bytes::Producer<W, DropOld> {}

impl<W: Wait> WriteInPlace for bytes::Producer<W, RetryNew> {
    fn reserve(&self, size: usize, until: Until) -> Result<(BytesGrant, *mut u8), Status> {
        let mut grant = match until {
            Until::Now => self.reserve(size).map_err(status)?,
            Until::Later(timeout) => self.reserve_timeout(size, timeout).map_err(status_in_time)?,
            Until::Closed => self.wait_reserve(size).map_err(status)?,
        };
        let bytes = grant.as_mut_ptr();
        Ok((grant.into_raw().into(), bytes))
    }

    unsafe fn end(&self, grant: BytesGrant, commit: Option<usize>) -> Status {
        // SAFETY: by the caller's promise.
        let grant = ManuallyDrop::new(unsafe { self.grant_from_raw(grant.into()) });
        match commit {
            Some(size) if size > grant.len() => Status::Invalid,
            Some(size) => {
                ManuallyDrop::into_inner(grant).commit_first(size);
                Status::Ok
            }
            None => {
                drop(ManuallyDrop::into_inner(grant));
                Status::Ok
            }
        }
    }
}

/// A reading end with any way of waiting.
pub(crate) trait Reader: ReadInPlace + Send + Sync {
    fn pop(&self, into: &mut [MaybeUninit<u8>], until: Until) -> Result<usize, Status>;
    fn is_closed(&self) -> bool;
    fn len(&self) -> usize;
    fn max_message(&self) -> usize;
    fn capacity(&self) -> usize;
    fn another(&self) -> Box<dyn Reader>;
}

/// What a reading end can do in place: nothing, if what is there may be overwritten; but then it counts what is.
pub(crate) trait ReadInPlace {
    /// The grant, and where its bytes are.
    fn read(&self, _until: Until) -> Result<(BytesGrant, *const u8), Status> {
        Err(Status::Invalid)
    }

    /// # Safety
    ///
    /// H6.
    unsafe fn end(&self, _grant: BytesGrant) -> Status {
        Status::Invalid
    }

    fn dropped(&self) -> u64 {
        0
    }
}

impl<W: Wait + 'static, M: Mode> Reader for bytes::Consumer<W, M>
where
    Self: ReadInPlace,
{
    fn pop(&self, into: &mut [MaybeUninit<u8>], until: Until) -> Result<usize, Status> {
        match until {
            Until::Now => Ok(self.try_pop_uninit(into)?),
            Until::Later(timeout) => Ok(self.pop_uninit_timeout(into, timeout)?),
            Until::Closed => Ok(self.pop_uninit(into)?),
        }
    }

    fn is_closed(&self) -> bool {
        self.is_closed()
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn max_message(&self) -> usize {
        self.max_message()
    }

    fn capacity(&self) -> usize {
        self.capacity()
    }

    fn another(&self) -> Box<dyn Reader> {
        Box::new(self.clone())
    }
}

impl<W: Wait> ReadInPlace for bytes::Consumer<W, DropOld> {
    fn dropped(&self) -> u64 {
        self.dropped()
    }
}

impl<W: Wait> ReadInPlace for bytes::Consumer<W, RetryNew> {
    fn read(&self, until: Until) -> Result<(BytesGrant, *const u8), Status> {
        let grant = match until {
            Until::Now => self.readable()?,
            Until::Later(timeout) => self.readable_timeout(timeout)?,
            Until::Closed => self.wait_readable()?,
        };
        let bytes = grant.as_ptr();
        Ok((grant.into_raw().into(), bytes))
    }

    unsafe fn end(&self, grant: BytesGrant) -> Status {
        // SAFETY: by the caller's promise.
        drop(unsafe { self.grant_from_raw(grant.into()) });
        Status::Ok
    }
}
