//! Asking for cache lines before they are needed.

#[cfg(not(loom))]
use thalweg_sync::hint::{self, Access};

/// Asks for the line of `value` in order to write it. A hint: it changes nothing but time.
///
/// By name, since the compiler's own hint turns into one for reading unless it is told of a processor that has this
/// instruction. All have that are not very old; those do nothing.
#[inline(always)]
pub(crate) fn for_write<T>(value: &T) {
    #[cfg(not(loom))]
    hint::prefetch(value, Access::Write);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch has no effect that a program can see, whatever the address; processors that do not know this one
    // take it for a no-operation.
    unsafe {
        core::arch::asm!(
            "prefetchw [{}]",
            in(reg) core::ptr::from_ref(value).addr(),
            options(nomem, nostack, preserves_flags)
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = value;
}

/// Asks for the line of `value` in order to read it. A hint: it changes nothing but time.
#[inline(always)]
pub(crate) fn for_read<T>(value: &T) {
    #[cfg(not(loom))]
    hint::prefetch(value, Access::Read);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch has no effect that a program can see, whatever the address.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(value).cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = value;
}
