//! Padding against false sharing.

use core::ops::{Deref, DerefMut};

/// A value alone on its cache lines.
///
/// Aligned to 128 bytes: x86 prefetches lines in pairs, and some ARM cores have lines of 128 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(128))]
pub struct CachePadded<T>(pub T);

impl<T> Deref for CachePadded<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for CachePadded<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
