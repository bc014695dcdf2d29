//! `std::alloc`, and loom's word for a value whose leak is to be told.

pub use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};

/// A value. Leaks are seen by [`Heap`](crate::Heap), so it needs no more than that.
#[derive(Clone, Debug, Default)]
pub struct Track<T>(T);

impl<T> Track<T> {
    /// With this value.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value.
    pub fn get_ref(&self) -> &T {
        &self.0
    }

    /// The value.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.0
    }

    /// The value, taken out.
    pub fn into_inner(self) -> T {
        self.0
    }
}
