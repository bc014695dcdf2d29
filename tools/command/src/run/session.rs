//! A run as the user lives with it: how far it is, and how to end it.

use std::process::{self, ExitCode};

use indicatif::{ProgressBar, ProgressDrawTarget};
use thalweg::Stopper;
use thalweg_apps::Watch;
use thalweg_sync::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::seen::asked::asked;
use crate::terminal::{self, complain, remark};

/// The exit status of what an interrupt ended: 128 and the number of the signal, as shells have it.
const INTERRUPTED: u8 = 130;

/// A progress bar, and interrupts (Ctrl-C): the first one stops the run, the second one ends the process at once.
pub(super) struct Session {
    bar: ProgressBar,
    interrupts: Arc<Mutex<Interrupts>>,
}

#[derive(Default)]
struct Interrupts {
    /// Whether there was one.
    seen: bool,
    /// What ends the run, once it has started.
    stopper: Option<Stopper>,
}

impl Session {
    /// Begins to look out for interrupts. `total` is how many bytes there are to read, if that is known.
    ///
    /// Where interrupts are ignored already, as in a background job of a shell script, they stay ignored.
    pub(super) fn new(total: Option<u64>) -> Result<Self, ctrlc::Error> {
        let session = Self { bar: terminal::bar(total), interrupts: Arc::default() };
        let (bar, interrupts) = (session.bar.clone(), session.interrupts.clone());
        match ctrlc::try_set_handler(move || interrupt(&bar, &interrupts)) {
            Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(session),
            Err(error) => Err(error),
        }
    }

    /// Does without the bar: results go to the same screen while it runs.
    pub(super) fn hide(&self) {
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
    }

    /// Takes the bar off the screen; the run is over, also for who records it or looks at it.
    pub(super) fn clear(&self) {
        if let Some(told) = asked().end() {
            self.tell(&told);
        }
        if !self.bar.is_finished() {
            self.bar.finish_and_clear();
        }
    }

    /// The exit status: `otherwise`, unless there was an interrupt.
    pub(super) fn status(&self, otherwise: ExitCode) -> ExitCode {
        if lock(&self.interrupts).seen { ExitCode::from(INTERRUPTED) } else { otherwise }
    }
}

impl Session {
    fn tell(&self, text: &str) {
        if self.bar.is_hidden() { remark(text) } else { self.bar.suspend(|| remark(text)) }
    }
}

/// After a run that failed nobody else does it, and the reason comes next.
impl Drop for Session {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Watch for Session {
    fn read(&self, bytes: u64) {
        self.bar.inc(bytes);
    }

    fn notice(&self, text: &str) {
        if self.bar.is_hidden() { complain(text) } else { self.bar.suspend(|| complain(text)) }
    }

    fn started(&self, stopper: Stopper) {
        if let Some(told) = asked().started(&stopper) {
            self.tell(&told);
        }
        let mut interrupts = lock(&self.interrupts);
        if interrupts.seen {
            stopper.stop();
        }
        interrupts.stopper = Some(stopper);
    }
}

fn lock(interrupts: &Mutex<Interrupts>) -> MutexGuard<'_, Interrupts> {
    interrupts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What an interrupt does. Runs on a thread of its own, not in the signal handler.
fn interrupt(bar: &ProgressBar, interrupts: &Mutex<Interrupts>) {
    let mut interrupts = lock(interrupts);
    if interrupts.seen {
        process::exit(i32::from(INTERRUPTED));
    }
    interrupts.seen = true;
    if let Some(stopper) = &interrupts.stopper {
        stopper.stop();
    }
    // Where nobody reads standard error, telling waits; with a lock in hand, the run would too.
    drop(interrupts);
    let tell = || complain("interrupted: no more is read, what was read is finished; a second interrupt ends at once");
    if bar.is_hidden() { tell() } else { bar.suspend(tell) }
}

#[cfg(test)]
mod tests {
    use thalweg_apps::search::{Config, run};

    use super::*;

    /// What the library does with a watch is tried there. Here: who is interrupted first, and begins then.
    #[test]
    fn an_interrupt_that_comes_before_the_run_stops_it_too() {
        let session = Session { bar: ProgressBar::hidden(), interrupts: Arc::default() };
        assert_eq!(session.status(ExitCode::SUCCESS), ExitCode::SUCCESS);
        interrupt(&session.bar, &session.interrupts);
        let found = run(&Config::new("fn", vec!["src".into()]), &session).unwrap();
        assert_eq!((found.files, found.report.end), (0, thalweg::End::Stopped));
        assert_eq!(session.status(ExitCode::SUCCESS), ExitCode::from(INTERRUPTED));
    }
}
