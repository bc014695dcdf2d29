//! What the machine is slow at, as far as it changes what concurrent code had better do.

/// Whether a core is slow to write a line that it wrote before and that another core has read since: then, of how many bytes a line is.
///
/// Such a line is in both caches, and the other core has to drop it: an upgrade. On AMD's Zen a store that waits for one keeps those
/// behind it that go to other lines; a line that the other core has *written* is fetched, and many are under way at once. So whoever is
/// the last to read a line does well to write a byte of it that nobody needs any more.
///
/// Natively it asks the processor, once. An engine answers for its machine ([`Engine::slow_upgrades`](crate::engine::Engine)); to those that
/// have none, and to loom and Miri, each byte is a line, so that they see all that may be done then.
///
/// ```
/// let mut read = [7; 200];
/// if let Some(line) = thalweg_sync::machine::slow_upgrades() {
///     read.iter_mut().step_by(line).for_each(|byte| *byte = 0);
/// }
/// ```
#[inline]
#[track_caller]
pub fn slow_upgrades() -> Option<usize> {
    match crate::engine::current() {
        Some(engine) => engine.slow_upgrades(),
        None if cfg!(any(loom, miri)) => Some(1),
        None => native::upgrades_slowly().then_some(64),
    }
}

#[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
mod native {
    #[allow(clippy::disallowed_types, reason = "a constant of the machine, found by whoever asks first")]
    use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

    /// Not asked yet, no, yes. Relaxed: whoever finds it unasked finds out the same.
    static ANSWER: AtomicU8 = AtomicU8::new(0);

    #[inline]
    pub(super) fn upgrades_slowly() -> bool {
        match ANSWER.load(Relaxed) {
            0 => ask(),
            answer => answer == 2,
        }
    }

    /// Kept, as a hypervisor takes microseconds to answer for the processor.
    #[cold]
    fn ask() -> bool {
        #[allow(unused_unsafe, reason = "safe since a later Rust than the oldest that is promised")]
        // SAFETY: every processor of this kind has the instruction.
        let vendor = unsafe { core::arch::x86_64::__cpuid(0) };
        let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
        let slowly = name.as_flattened() == b"AuthenticAMD";
        ANSWER.store(1 + u8::from(slowly), Relaxed);
        slowly
    }
}

#[cfg(not(all(target_arch = "x86_64", not(loom), not(miri))))]
mod native {
    pub(super) fn upgrades_slowly() -> bool {
        false
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    #[test]
    fn the_answer_stays() {
        let first = super::slow_upgrades();
        assert!((0..3).all(|_| super::slow_upgrades() == first));
    }
}
