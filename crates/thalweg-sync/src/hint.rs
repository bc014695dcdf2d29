//! What an engine should know about the time between accesses. Natively nothing.

/// How memory behind a pointer is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    Read,
    /// Written.
    Write,
}

/// Says that `bytes` bytes behind `address` are read or written, outside the facade's own types.
#[inline(always)]
pub fn touch(_address: *const u8, _bytes: usize, _access: Access) {}

/// Says that about `cycles` cycles of work were done that touch no shared memory.
#[inline(always)]
pub fn work(_cycles: u64) {}
