//! Padding against false sharing.

use core::ops::{Deref, DerefMut};

/// A value alone on its cache lines.
///
/// Aligned to 128 bytes: x86 prefetches lines in pairs, and some ARM cores have lines of 128 bytes. Machines of 32 bits without an operating
/// system have little memory and seldom a cache that cores share: there it is not aligned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(all(target_os = "none", target_pointer_width = "32")), repr(align(128)))]
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
