//! The lookout: a thread that finds workers which are long in one block.
//!
//! A loop over cheap messages has no time to look at the clock, and what was cheap may turn slow in the middle of a block. So in a run that lasts longer
//! than a millisecond a thread of its own looks now and then which workers have begun no block since it looked last, and tells them to
//! [leave](crate::kernel::Cx::should_leave) the one they are in. It also [follows](super::follow) what the system gives. While there is no such thread, as in a short run, under an engine, or where the
//! system gives none, loops look at the clock themselves.

use super::Core;
use super::follow::Follow;
use std::fmt;
use thalweg_sync::atomic::Ordering::*;
use thalweg_sync::park::{Parker, Unparker};
use thalweg_sync::sync::Mutex;
use thalweg_sync::time::Duration;

/// The time between two looks while somebody works: a worker is told after one to two of them.
const WATCHFUL: Duration = Duration::from_millis(1);
/// It doubles up to this while all do well, and up to [`IDLE`] while all sleep.
const CALM: Duration = Duration::from_millis(4);
const IDLE: Duration = Duration::from_millis(64);

/// The thread that looks out for a run.
#[derive(Default)]
pub(crate) struct Lookout(Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    NotBegun,
    Looking(Unparker),
    Over,
}

impl Core<'_> {
    /// Looks out until the [`lookout`](Self::lookout) is dropped.
    pub(super) fn look_out(&self) {
        let parker = Parker::new();
        {
            let mut state = self.lookout.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if matches!(*state, State::Over) {
                return;
            }
            *state = State::Looking(parker.unparker());
        }
        self.control.set_lookout(true);
        let mut before: Vec<_> = self.rows.iter().map(|row| row.worker.beats.get()).collect();
        let mut pause = WATCHFUL;
        let mut follow = Follow::new(self);
        while !parker.park_timeout(pause) {
            let (mut working, mut late) = (false, false);
            for (row, before) in self.rows.iter().zip(&mut before) {
                let beats = row.worker.beats.get();
                // Relaxed, as all that is here: a worker that is told without need leaves a block, and takes it up again.
                if row.worker.in_code.load(Relaxed) {
                    working = true;
                    if beats == *before {
                        row.hurry.store(true, Relaxed);
                        late = true;
                    }
                }
                *before = beats;
            }
            if late {
                self.control.call_attention();
            }
            follow.look(self);
            pause = match (working, late) {
                (_, true) => WATCHFUL,
                (true, false) => (pause * 2).min(CALM),
                (false, false) => (pause * 2).min(IDLE),
            };
        }
        self.control.set_lookout(false);
    }

    /// The lookout, if there is one or will be, ends with this.
    pub(super) fn lookout(&self) -> Shift<'_> {
        Shift(&self.lookout)
    }
}

/// While a run may have a lookout.
pub(super) struct Shift<'a>(&'a Lookout);

impl Drop for Shift<'_> {
    fn drop(&mut self) {
        let mut state = self.0.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let State::Looking(looking) = std::mem::replace(&mut *state, State::Over) {
            looking.unpark();
        }
    }
}

impl fmt::Debug for Lookout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lookout")
    }
}
