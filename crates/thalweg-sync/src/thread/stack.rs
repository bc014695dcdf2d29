//! How much stack a thread has left.

use crate::engine;

/// What a thread is taken to have where nobody can tell, in bytes.
const ASSUMED: usize = 256 << 10;

/// The stack of a thread.
///
/// ```
/// let stack = thalweg_sync::thread::current_stack();
/// assert!(stack.left() > 0 && stack.left() <= stack.size());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    lowest: usize,
    size: usize,
}

impl Stack {
    /// Bytes from its lowest address to its highest.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Bytes between the caller's frame and the lowest address: only for the thread whose stack it is. Cost: none to speak of.
    #[inline(never)]
    pub fn left(&self) -> usize {
        here().saturating_sub(self.lowest).min(self.size)
    }
}

/// An address in the frame of the caller.
#[inline(always)]
fn here() -> usize {
    let local = 0_u8;
    core::ptr::from_ref(core::hint::black_box(&local)).addr()
}

/// The stack of the calling thread. Where the system does not tell (Linux does), or an engine runs the thread on a stack of its own, 256 KiB below
/// the caller. Cost: a system call or two.
pub fn current_stack() -> Stack {
    let here = here();
    let told = if engine::current().is_some() { None } else { system::bounds() };
    let (lowest, size) = told
        .filter(|&(lowest, size)| (lowest..lowest + size).contains(&here))
        .unwrap_or((here.saturating_sub(ASSUMED), ASSUMED));
    Stack { lowest, size }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    use core::mem::MaybeUninit;

    /// Lowest address and size.
    pub(super) fn bounds() -> Option<(usize, usize)> {
        let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
        let (mut lowest, mut size) = (core::ptr::null_mut(), 0);
        // SAFETY: the calls fill what they are given pointers to; attributes that were initialised are destroyed once.
        let told = unsafe {
            if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
                return None;
            }
            let told = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut lowest, &raw mut size) == 0;
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            told
        };
        told.then(|| (lowest.addr(), size))
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod system {
    pub(super) fn bounds() -> Option<(usize, usize)> {
        None
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_deeper_frame_has_less_left() {
        #[inline(never)]
        fn deeper(stack: Stack) -> usize {
            let block = core::hint::black_box([0_u8; 10_000]);
            stack.left() + usize::from(block[0])
        }
        let stack = current_stack();
        let (here, there) = (stack.left(), deeper(stack));
        assert!(there + 10_000 <= here && here - there < 200_000, "{here} and {there}");
        let other = std::thread::Builder::new().stack_size(1 << 20).spawn(|| current_stack().size()).unwrap();
        let size = other.join().unwrap();
        assert!(size == ASSUMED || ((1 << 20)..(2 << 20)).contains(&size), "{size}");
    }
}
