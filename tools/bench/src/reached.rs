//! What lies in memory, where other code may reach it, with nothing else that does.

/// Lets the compiler believe that `value` is read and written here. [`std::hint::black_box`] would add a store of its own, of the pointer that it
/// is given, and a store more for each item tells.
#[inline(always)]
pub(crate) fn reached<T>(value: &mut T) -> &mut T {
    // SAFETY: it does nothing.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    unsafe {
        std::arch::asm!("/* {0} */", in(reg) std::ptr::from_mut(value), options(nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let value = std::hint::black_box(value);
    value
}
