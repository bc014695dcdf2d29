//! Looking at a run from outside, and ending it.

use std::path::Path;

use thalweg::Stopper;

use crate::Halt;

/// Whoever watches a run: a progress bar, a handler of interrupts. `&()` does neither.
///
/// ```
/// use thalweg::Stopper;
/// use thalweg_apps::{Watch, search};
///
/// /// Has seen enough before it begins.
/// struct Impatient;
///
/// impl Watch for Impatient {
///     fn started(&self, stopper: Stopper) {
///         stopper.stop();
///     }
/// }
/// let found = search::run(&search::Config::new("fn", vec![".".into()]), &Impatient)?;
/// assert_eq!((found.files, found.report.end), (0, thalweg::End::Stopped));
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
pub trait Watch: Sync {
    /// That many bytes were read since the last call. Called now and then, from whichever thread read them.
    fn read(&self, _bytes: u64) {}

    /// Something about the input that the one who gave it should know, and that does not stop the run.
    fn notice(&self, _text: &str) {}

    /// The run keeps temporary files in this folder and takes it away at its end. Whoever ends the process before that does it instead.
    fn temporary(&self, _folder: &Path) {}

    /// What ends a read that waits for a pipe or the like. Asked for when such an input is opened; without one, reads wait for ever.
    fn halt(&self) -> Option<Halt> {
        None
    }

    /// The run starts now, and `stopper` ends it. Called before the first kernel runs, and again
    /// where a second graph follows the first: what reads the input, then what works on it.
    ///
    /// After [`Stopper::stop`] no more is read, what was read goes all the way through, and the summary is that of a
    /// run whose input ended there.
    fn started(&self, _stopper: Stopper) {}
}

impl Watch for () {}

/// Bytes between two calls of [`Watch::read`].
const STEP: u64 = 256 << 10;

/// Adds up small amounts, so that a call costs little per message.
pub(crate) struct Steps<'a> {
    watch: &'a dyn Watch,
    untold: u64,
}

impl<'a> Steps<'a> {
    pub(crate) fn new(watch: &'a dyn Watch) -> Self {
        Self { watch, untold: 0 }
    }

    pub(crate) fn add(&mut self, bytes: u64) {
        self.untold += bytes;
        if self.untold >= STEP {
            self.watch.read(std::mem::take(&mut self.untold));
        }
    }
}
