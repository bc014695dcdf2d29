//! The C functions, called as C calls them.

/// Calls a C function.
macro_rules! c {
    ($call:expr) => {{
        // SAFETY: the tests pass null where it is refused, and otherwise handles and memory that they own.
        unsafe { $call }
    }};
}

mod build;
mod bwos;
mod bytes;
mod misuse;
mod pointers;
mod records;

use std::ffi::c_void;
use thalweg_queue_c::Wait;

/// All ways of waiting, as they come in from C.
const WAITS: [u32; 3] = [Wait::Yield as u32, Wait::Spin as u32, Wait::Park as u32];

/// A pointer that nobody follows.
fn item(number: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(number)
}

/// A handle on its way to another thread.
struct Sent<H>(*mut H);

// SAFETY: C may use handles from any thread; which of them at the same time is what the tests are careful with.
unsafe impl<H> Send for Sent<H> {}

impl<H> Sent<H> {
    /// The handle. A method, so that a closure takes all of this and not the pointer alone.
    fn get(&self) -> *mut H {
        self.0
    }
}
