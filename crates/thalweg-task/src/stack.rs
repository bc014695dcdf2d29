//! Stacks: memory with a guard below it, kept for the next task.
//!
//! A guard as a mapping of its own makes two mappings of each stack, and a Linux process has 65 530 of them unless it is told otherwise. So, where the
//! kernel can (6.13 and newer), many stacks are cut from one mapping, and their guards are marks in the page table (`MADV_GUARD_INSTALL`). Elsewhere a
//! stack is corosensei's, a mapping and a guard.
//!
//! Below what engines see, as the allocator is: who gets which stack decides nothing.
#![allow(
    clippy::disallowed_types,
    reason = "a lock around memory, as in an allocator: an engine that saw it would explore who allocates first"
)]

use corosensei::stack::{self, DefaultStack, StackPointer};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many stacks without a runtime keep their memory. Of the others only the addresses are kept.
const WARM: usize = 64;

/// Stacks without a runtime.
static FREE: Mutex<Vec<Stack>> = Mutex::new(Vec::new());

fn free() -> MutexGuard<'static, Vec<Stack>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The stack of one task.
pub(crate) struct Stack {
    memory: Memory,
    bytes: usize,
}

enum Memory {
    Own(DefaultStack),
    #[cfg(target_os = "linux")]
    Cut(slab::Cut),
}

// SAFETY: base and limit are those of memory that stays as it is as long as the stack lives: of the default stack, or of a mapping that is
// never taken away.
unsafe impl stack::Stack for Stack {
    #[inline]
    fn base(&self) -> StackPointer {
        match &self.memory {
            Memory::Own(own) => own.base(),
            #[cfg(target_os = "linux")]
            Memory::Cut(cut) => cut.base(),
        }
    }

    #[inline]
    fn limit(&self) -> StackPointer {
        match &self.memory {
            Memory::Own(own) => own.limit(),
            #[cfg(target_os = "linux")]
            Memory::Cut(cut) => cut.limit(),
        }
    }

    #[cfg(windows)]
    #[inline]
    fn teb_fields(&self) -> stack::StackTebFields {
        let Memory::Own(own) = &self.memory;
        own.teb_fields()
    }

    #[cfg(windows)]
    #[inline]
    fn update_teb_fields(&mut self, stack_limit: usize, guaranteed_stack_bytes: usize) {
        let Memory::Own(own) = &mut self.memory;
        own.update_teb_fields(stack_limit, guaranteed_stack_bytes);
    }
}

impl Stack {
    /// A stack of at least `bytes` bytes, and below it a page whose use ends the process.
    pub(crate) fn take(bytes: usize) -> io::Result<Self> {
        let mut free = free();
        let of_that_size = |free: &Vec<Stack>| free.iter().rposition(|stack| stack.bytes == bytes);
        if let Some(at) = of_that_size(&free) {
            return Ok(free.swap_remove(at));
        }
        #[cfg(target_os = "linux")]
        if let Some(cuts) = slab::cut(bytes)? {
            free.extend(cuts.map(|cut| Self { memory: Memory::Cut(cut), bytes }));
            let at = of_that_size(&free).expect("a slab has at least one");
            return Ok(free.swap_remove(at));
        }
        drop(free);
        DefaultStack::new(bytes).map(|own| Self { memory: Memory::Own(own), bytes })
    }

    /// Keeps the stack for another runtime. If there are many already, it gives its memory back to the system.
    pub(crate) fn keep(self) {
        let mut free = free();
        if free.len() >= WARM {
            match &self.memory {
                Memory::Own(_) => return,
                #[cfg(target_os = "linux")]
                Memory::Cut(cut) => cut.cool(),
            }
        }
        free.push(self);
    }
}

#[cfg(target_os = "linux")]
mod slab {
    use super::StackPointer;
    use std::io;
    use std::sync::OnceLock;

    /// A mapping is about so large.
    const SLAB: usize = 8 << 20;
    /// `MADV_GUARD_INSTALL` of `linux/mman.h`, for libc crates that do not have it.
    const GUARD_INSTALL: libc::c_int = 102;

    /// A stack in a mapping that is never taken away.
    pub(super) struct Cut {
        /// Behind the highest byte.
        base: StackPointer,
        /// The lowest byte, of the guard.
        limit: StackPointer,
    }

    impl Cut {
        pub(super) fn base(&self) -> StackPointer {
            self.base
        }

        pub(super) fn limit(&self) -> StackPointer {
            self.limit
        }

        /// Gives the memory back; the addresses stay, and read as zeros.
        pub(super) fn cool(&self) {
            let (bottom, bytes) = (self.limit.get() + page(), self.base.get() - self.limit.get() - page());
            // SAFETY: the range is this stack's, on which nothing is any more. If the system refuses, the memory stays.
            unsafe { libc::madvise(core::ptr::without_provenance_mut(bottom), bytes, libc::MADV_DONTNEED) };
        }
    }

    fn page() -> usize {
        static PAGE: OnceLock<usize> = OnceLock::new();
        // SAFETY: it only asks.
        *PAGE.get_or_init(|| usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096))
    }

    /// Whether the kernel has no guards without mappings of their own; found by whoever asks first.
    static REFUSED: OnceLock<()> = OnceLock::new();

    /// Stacks of at least `bytes` bytes, each with a guard page below; none if the kernel cannot.
    pub(super) fn cut(bytes: usize) -> io::Result<Option<impl Iterator<Item = Cut>>> {
        if REFUSED.get().is_some() {
            return Ok(None);
        }
        let page = page();
        // Not more bytes than there are addresses: a larger stack would not fit into memory either.
        let each = bytes.div_ceil(page).saturating_add(1).saturating_mul(page);
        let count = (SLAB / each).max(1);
        let length = each.saturating_mul(count);
        // SAFETY: a new mapping, wherever the system puts it.
        let start = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // Pages of their own size: a huge one would be all of many stacks as soon as one is used. If it is refused, it is a matter of memory.
        // SAFETY: the range is the mapping.
        unsafe { libc::madvise(start, length, libc::MADV_NOHUGEPAGE) };
        let limits = (0..count).map(move |at| start.expose_provenance() + at * each);
        for limit in limits.clone() {
            // SAFETY: the page is in the mapping, in which nothing is yet.
            if unsafe { libc::madvise(core::ptr::with_exposed_provenance_mut(limit), page, GUARD_INSTALL) } != 0 {
                let error = io::Error::last_os_error();
                // SAFETY: nobody knows of the mapping.
                unsafe { libc::munmap(start, length) };
                return match error.raw_os_error() {
                    Some(libc::EINVAL) => {
                        REFUSED.get_or_init(|| ());
                        Ok(None)
                    }
                    _ => Err(error),
                };
            }
        }
        let pointer = |at: usize| StackPointer::new(at).expect("no mapping is at address 0");
        Ok(Some(limits.map(move |limit| Cut { base: pointer(limit + each), limit: pointer(limit) })))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn stacks_do_not_overlap_and_have_their_sizes() {
            let Some(cuts) = cut(20_000).unwrap() else { return };
            let cuts: Vec<_> = cuts.collect();
            assert!(cuts.len() > 100);
            assert!(cuts.iter().all(|cut| cut.base().get() - cut.limit().get() - page() >= 20_000));
            assert!(cuts.windows(2).all(|two| two[0].base() == two[1].limit()));
            cuts[0].cool();
        }

        #[test]
        fn one_that_is_larger_than_a_slab_is_cut_alone() {
            if let Some(cuts) = cut(SLAB + 1).unwrap() {
                assert_eq!(cuts.count(), 1);
            }
        }
    }
}
