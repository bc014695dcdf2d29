//! Telling how far a run is.

/// Told how many bytes were read since the last call, now and then, from whichever thread read them. For a progress
/// bar; `&|_| ()` if nobody wants to know.
pub type Progress<'a> = &'a (dyn Fn(u64) + Sync);

/// Bytes between two calls of a [`Progress`].
const STEP: u64 = 256 << 10;

/// Adds up small amounts, so that a call costs little per message.
pub(crate) struct Steps<'a> {
    progress: Progress<'a>,
    untold: u64,
}

impl<'a> Steps<'a> {
    pub(crate) fn new(progress: Progress<'a>) -> Self {
        Self { progress, untold: 0 }
    }

    pub(crate) fn add(&mut self, bytes: u64) {
        self.untold += bytes;
        if self.untold >= STEP {
            (self.progress)(std::mem::take(&mut self.untold));
        }
    }
}
