//! A pair of fences of which one side is used all the time and the other almost never.

use crate::edges::edge;
use thalweg_sync::atomic::Ordering::{Relaxed, SeqCst};
use thalweg_sync::atomic::fence;

/// The frequent side.
#[inline(always)]
pub(super) fn light() {
    if edge("cnq.f", SeqCst) != Relaxed {
        fence(SeqCst);
    }
}

/// The rare side.
#[cold]
pub(super) fn heavy() {
    fence(SeqCst);
}
