//! A run as the user lives with it: how far it is, and how to end it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};

use indicatif::{ProgressBar, ProgressDrawTarget};
use thalweg::Stopper;
use thalweg_apps::{Error, Halt, Watch};
use thalweg_sync::atomic::{AtomicU8, Ordering::Relaxed};
use thalweg_sync::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

use crate::Outcome;
use crate::seen::asked::asked;
use crate::terminal::{self, complain, remark};

/// The number of the signal that Ctrl-C sends.
const INTERRUPT: u8 = 2;
/// The exit status of what a signal ended is this and the number of the signal, as shells have it.
const SIGNALLED: u8 = 128;
/// Attempts at taking a folder away in which a worker may still make files.
const ATTEMPTS: usize = 10;

/// How often it is looked, a millisecond apart, whether a signal was told of before the report is: where nobody reads standard error, that takes for ever.
const LOOKS: usize = 200;

/// The exit status of what a signal ended before there was any result.
static ENDED_BY: AtomicU8 = AtomicU8::new(0);

/// What a program gave; and if its input was ended by a signal before it had begun, the exit status that says so.
pub(super) fn ended(outcome: Outcome) -> Outcome {
    match outcome {
        Err(error) if matches!(error.downcast_ref(), Some(Error::Halted)) => {
            // Relaxed: set before the input was ended, whose end was seen since.
            Ok(ExitCode::from(ENDED_BY.load(Relaxed)))
        }
        outcome => outcome,
    }
}

/// A progress bar, and signals: the first interrupt (Ctrl-C), termination or hang-up stops the run, the second one ends the process at
/// once, temporary files taken away.
pub(super) struct Session {
    bar: ProgressBar,
    interrupts: Arc<Mutex<Interrupts>>,
}

#[derive(Default)]
struct Interrupts {
    /// The number of the first signal, if there was one.
    seen: Option<u8>,
    /// It was told of.
    told: bool,
    /// What ends a read that waits.
    halt: Option<Halt>,
    /// What is to be taken away if the process ends at once.
    temporary: Vec<PathBuf>,
    /// What ends the run, once it has started.
    stopper: Option<Stopper>,
}

impl Session {
    /// Begins to look out for signals. `total` is how many bytes there are to read, if that is known.
    ///
    /// Where a signal is ignored already, as interrupts in a background job of a shell script and hang-ups under `nohup`, it stays ignored.
    pub(super) fn new(total: Option<u64>) -> Result<Self, ctrlc::Error> {
        let halt = Some(Halt::new().map_err(ctrlc::Error::System)?);
        let interrupts = Arc::new(Mutex::new(Interrupts { halt, ..Interrupts::default() }));
        let session = Self { bar: terminal::bar(total), interrupts };
        #[cfg(unix)]
        session.look_out_for_the_end().map_err(ctrlc::Error::System)?;
        let (bar, interrupts) = (session.bar.clone(), session.interrupts.clone());
        match ctrlc::try_set_handler(move || interrupt(&bar, &interrupts, INTERRUPT)) {
            Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(session),
            Err(error) => Err(error),
        }
    }

    /// Termination and hang-ups do as interrupts do.
    #[cfg(unix)]
    fn look_out_for_the_end(&self) -> std::io::Result<()> {
        use signal_hook::consts::{SIGHUP, SIGTERM};

        let wanted = [SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal));
        let mut signals = signal_hook::iterator::Signals::new(wanted)?;
        let (bar, interrupts) = (self.bar.clone(), self.interrupts.clone());
        let wait = move || {
            for signal in signals.forever() {
                interrupt(&bar, &interrupts, u8::try_from(signal).unwrap_or(INTERRUPT));
            }
        };
        thread::start("signals", wait).map(drop)
    }

    /// Does without the bar: results go to the same screen while it runs.
    pub(super) fn hide(&self) {
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
    }

    /// Takes the bar off the screen; the run is over, also for who records it or looks at it.
    pub(super) fn clear(&self) {
        self.let_it_be_told();
        if let Some(told) = asked().end() {
            self.tell(&told);
        }
        if !self.bar.is_finished() {
            self.bar.finish_and_clear();
        }
    }

    /// The exit status: `otherwise`, unless there was an interrupt.
    pub(super) fn status(&self, otherwise: ExitCode) -> ExitCode {
        lock(&self.interrupts).seen.map_or(otherwise, |signal| ExitCode::from(SIGNALLED + signal))
    }
}

impl Session {
    /// The run may be over before the thread that tells of the signal comes to that; the report would come first, or the process end.
    fn let_it_be_told(&self) {
        for _ in 0..LOOKS {
            let interrupts = lock(&self.interrupts);
            if interrupts.seen.is_none() || interrupts.told {
                return;
            }
            drop(interrupts);
            thread::sleep(Duration::from_millis(1));
        }
    }

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

    fn temporary(&self, folder: &Path) {
        lock(&self.interrupts).temporary.push(folder.to_owned());
    }

    fn halt(&self) -> Option<Halt> {
        lock(&self.interrupts).halt.clone()
    }

    fn started(&self, stopper: Stopper) {
        if let Some(told) = asked().started(&stopper) {
            self.tell(&told);
        }
        let mut interrupts = lock(&self.interrupts);
        if interrupts.seen.is_some() {
            stopper.stop();
        }
        interrupts.stopper = Some(stopper);
    }
}

fn lock(interrupts: &Mutex<Interrupts>) -> MutexGuard<'_, Interrupts> {
    interrupts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a signal is ignored: the bit of its number in what Linux tells of the process. Elsewhere that is not known.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

/// What a signal does. Runs on a thread of its own, not in the signal handler.
fn interrupt(bar: &ProgressBar, all: &Mutex<Interrupts>, signal: u8) {
    let mut interrupts = lock(all);
    if interrupts.seen.is_some() {
        for folder in &interrupts.temporary {
            // A worker may make a file while others are taken away.
            let _ = (0..ATTEMPTS).find(|_| fs::remove_dir_all(folder).is_ok() || !folder.exists());
        }
        process::exit(i32::from(SIGNALLED + signal));
    }
    interrupts.seen = Some(signal);
    // Relaxed: read by who finds the input ended, which comes behind it.
    ENDED_BY.store(SIGNALLED + signal, Relaxed);
    // First the run, then its input: who finds that ended knows why.
    if let Some(stopper) = &interrupts.stopper {
        stopper.stop();
    }
    if let Some(halt) = &interrupts.halt {
        halt.halt();
    }
    // Where nobody reads standard error, telling waits; with a lock in hand, the run would too.
    drop(interrupts);
    let what = if signal == INTERRUPT { "interrupted" } else { "terminated" };
    let text = format!("{what}: no more is read, what was read is finished; a second signal ends at once");
    let tell = || complain(&text);
    if bar.is_hidden() {
        tell()
    } else {
        bar.suspend(tell)
    }
    lock(all).told = true;
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
        interrupt(&session.bar, &session.interrupts, INTERRUPT);
        let found = run(&Config::new("fn", vec!["src".into()]), &session).unwrap();
        assert_eq!((found.files, found.report.end), (0, thalweg::End::Stopped));
        assert_eq!(session.status(ExitCode::SUCCESS), ExitCode::from(SIGNALLED + INTERRUPT));
    }
}
