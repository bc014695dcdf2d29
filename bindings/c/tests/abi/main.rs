//! The C functions, called as C calls them.

/// Calls a C function.
macro_rules! c {
    ($call:expr) => {{
        // SAFETY: the tests pass null where it is refused, and otherwise handles and memory that they own.
        unsafe { $call }
    }};
}

mod batches;
mod build;
mod bwos;
mod bwos_records;
mod bytes;
mod grants;
mod in_place;
mod misuse;
mod pointers;
mod records;
mod sided;
mod spsc_records;
mod status;

/// The sources of two modules, for the unit test in one of them: it needs what no user can name. The library has no tests of its own, as
/// `Cargo.toml` says.
#[allow(dead_code, reason = "the unit test in it uses a part of it")]
#[path = "../../src/end.rs"]
mod end;
#[allow(dead_code, reason = "the module above uses a part of it")]
#[path = "../../src/entry.rs"]
mod entry;

use std::ffi::c_void;
use thalweg_queue_c::Wait;

/// All ways of waiting, as they come in from C.
const WAITS: [u32; 3] = [Wait::Yield as u32, Wait::Spin as u32, Wait::Park as u32];

/// All sizes of an entry of bytes.
const SIZES: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// How many more than its capacity a queue of `thalweg_spsc_new` or `thalweg_spsc_records_new` takes at most: 16, or 32.
const MORE: usize = 128 / size_of::<usize>();

/// Bytes in which no two neighbours are equal, and entry differs from entry.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 7 + at / 251) as u8).collect()
}

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
