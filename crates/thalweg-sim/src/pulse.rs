//! Whether a run goes on, seen from outside: code that waits for something which the simulator does not know of never comes back.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// How long a run may be silent unless told otherwise. The longest stretch of code between two accesses is a matter of
/// milliseconds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How many looks in a row see nothing new until its caller is told, and until the run is given up. Looks, not time, are
/// counted: a process that was stopped for an hour has been looked at once. Of a look, the part in which the run's thread waited for a processor
/// does not count: on a host with much to do, a run is slow and not silent.
const WARNED: u32 = 10;
const GIVEN_UP: u32 = 60;

/// Written by the run's thread, read by the one that waits for it. Relaxed: nothing is read on the strength of it.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    steps: AtomicU64,
    thread: AtomicUsize,
    /// Where Linux says how long the run's thread has waited for a processor.
    schedule: OnceLock<PathBuf>,
}

/// What is to be told of a silent run, and whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// It may be over soon.
    Long(usize),
    /// Nobody waits for its end any longer.
    GivenUp(usize),
}

impl Pulse {
    /// Something happened that the simulator sees.
    #[inline(always)]
    pub(crate) fn beat(&self) {
        // One thread writes.
        self.steps.store(self.steps.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// The calling thread is the run's.
    pub(crate) fn begin(&self) {
        if let Ok(own) = std::fs::read_link("/proc/thread-self") {
            let _ = self.schedule.set(PathBuf::from("/proc").join(own).join("schedstat"));
        }
    }

    /// How long the run's thread has waited for a processor so far; none where the system does not tell.
    pub(crate) fn starved(&self) -> Duration {
        let text = self.schedule.get().and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
        // Nanoseconds on a processor, waiting for one, and time slices.
        Duration::from_nanos(text.split(' ').nth(1).and_then(|nanos| nanos.parse().ok()).unwrap_or(0))
    }

    /// From here on it is the turn of this simulated thread.
    pub(crate) fn turn(&self, thread: usize) {
        self.thread.store(thread, Relaxed);
    }

    /// Waits until the other end of `ended` is gone. Tells, the first time, of a sixth of `patience` in which nothing
    /// happened, and of all of it. What is [`starved`](Self::starved) does not count.
    pub(crate) fn watch(
        &self,
        ended: &Receiver<Infallible>,
        patience: Duration,
        starved: impl Fn() -> Duration,
        mut tell: impl FnMut(Silence),
    ) {
        let look = patience / GIVEN_UP;
        let (mut before, mut waited, mut silent) = (self.steps.load(Relaxed), starved(), Duration::ZERO);
        let (mut warned, mut given_up) = (false, false);
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(look) {
            let (steps, thread, waits) = (self.steps.load(Relaxed), self.thread.load(Relaxed), starved());
            let counts = look.saturating_sub(waits.saturating_sub(waited));
            (silent, given_up) = if steps == before { (silent + counts, given_up) } else { (Duration::ZERO, false) };
            (before, waited) = (steps, waits);
            if silent >= look * WARNED && !warned {
                warned = true;
                tell(Silence::Long(thread));
            } else if silent >= look * GIVEN_UP && !given_up {
                given_up = true;
                tell(Silence::GivenUp(thread));
            }
        }
    }
}

impl Silence {
    /// What a user is told.
    pub(crate) fn text(self, patience: Duration) -> String {
        match self {
            Self::Long(thread) => format!(
                "simulation: thread {thread} has run for {:?} without anything that the simulator sees. If it waits for another thread, it \
                 will for ever: the atomics, locks, channels and threads of std are not simulated, those of thalweg_sync are",
                patience / GIVEN_UP * WARNED
            ),
            Self::GivenUp(thread) => format!(
                "error: simulation: thread {thread} has run for {patience:?} without anything that the simulator sees. A thread cannot be \
                 stopped from outside, so the process ends here. If it waits, let it wait by what thalweg_sync has instead of std's atomics, \
                 locks, channels, threads and clocks; clippy finds these with the lists in thalweg's clippy.toml. If it computes, \
                 let it say so now and then (hint::work), or give the run more time (Simulation::patience)"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const SHORT: Duration = Duration::from_millis(60);

    #[test]
    fn who_is_silent_is_told_and_then_given_up() {
        let pulse = Pulse::default();
        pulse.turn(3);
        let (run, ended) = mpsc::channel();
        let (mut run, mut told) = (Some(run), Vec::new());
        pulse.watch(
            &ended,
            SHORT,
            || Duration::ZERO,
            |silence| {
                told.push(silence);
                if silence == Silence::GivenUp(3) {
                    run = None;
                }
            },
        );
        assert_eq!(told, [Silence::Long(3), Silence::GivenUp(3)]);
    }

    #[test]
    fn a_step_begins_the_wait_anew_and_a_slow_run_is_told_of_once() {
        let pulse = Pulse::default();
        let (run, ended) = mpsc::channel::<Infallible>();
        let mut told = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _run = run;
                for _ in 0..4 {
                    std::thread::sleep(SHORT * 3);
                    pulse.beat();
                }
            });
            pulse.watch(&ended, SHORT * 10, || Duration::ZERO, |silence| told.push(silence));
        });
        assert_eq!(told, [Silence::Long(0)]);
    }

    #[test]
    fn the_end_is_no_silence() {
        let (run, ended) = mpsc::channel();
        drop(run);
        Pulse::default().watch(&ended, PATIENCE, || Duration::ZERO, |silence| panic!("{silence:?}, and it has ended"));
    }

    #[test]
    fn waiting_for_a_processor_is_no_silence() {
        let pulse = Pulse::default();
        let (run, ended) = mpsc::channel();
        let (mut run, looks) = (Some(run), std::cell::RefCell::new(0));
        // A second more at each look: all of it went by without a processor.
        let starved = || {
            *looks.borrow_mut() += 1;
            if *looks.borrow() > 3 * GIVEN_UP {
                run.take();
            }
            Duration::from_secs((*looks.borrow()).into())
        };
        let starved = std::cell::RefCell::new(starved);
        pulse.watch(&ended, SHORT, || (starved.borrow_mut())(), |silence| panic!("{silence:?}, and it could not run"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_tells_how_long_a_thread_waited_for_a_processor() {
        let pulse = Pulse::default();
        assert_eq!(pulse.starved(), Duration::ZERO, "nobody has begun");
        pulse.begin();
        let file = pulse.schedule.get().expect("there is /proc");
        let text = std::fs::read_to_string(file).unwrap();
        assert_eq!(text.split_whitespace().count(), 3, "{text}");
        assert!(pulse.starved() < Duration::from_secs(3600), "{text}");
    }
}
