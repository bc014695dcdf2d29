//! `--record`: what a run counts, kept in a file.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thalweg::Observer;
use thalweg_sync::sync::{Arc, Condvar, Mutex, PoisonError};
use thalweg_sync::thread::{self, JoinHandle};
use thalweg_sync::time::{Duration, now};

use crate::terminal::complain;

/// Between two snapshots.
const EVERY: Duration = Duration::from_millis(100);
/// Taking and writing them gets one part in so many of the time at most.
const SHARE: u32 = 50;

/// A file that is open already, so that one which cannot be written is told before the run.
pub(crate) struct Tape {
    file: File,
    path: PathBuf,
}

/// A run that is being recorded.
pub(crate) struct Recorder {
    over: Arc<Over>,
    thread: Option<JoinHandle<Option<Tape>>>,
}

/// Whether the run is over, and what wakes who waits for that.
#[derive(Default)]
struct Over(Mutex<bool>, Condvar);

impl Over {
    fn set(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.1.notify_all();
    }

    /// Waits for that, and no longer than `limit`.
    fn wait(&self, limit: Duration) -> bool {
        let over = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if *over {
            return true;
        }
        // Woken for nothing, it records sooner.
        *self.1.wait_timeout(over, limit).unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Tape {
    /// Replaces the file if it exists.
    pub(crate) fn create(path: &Path) -> Result<Self, String> {
        match File::create(path) {
            Ok(file) => Ok(Self { file, path: path.to_owned() }),
            Err(error) => Err(format!("cannot write to {}: {error}; choose another file", path.display())),
        }
    }

    /// Writes it once, as a whole.
    pub(crate) fn write(&mut self, text: &str) {
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            complain(&format!("cannot write {}: {error}; it is not whole", self.path.display()));
        }
    }

    /// Records until the recorder is dropped, which is to happen when the run is over.
    pub(crate) fn record(self, observer: Observer) -> Recorder {
        let over = Arc::new(Over::default());
        let theirs = over.clone();
        let thread = thread::spawn(move || match write(&observer, &self.file, &theirs) {
            Ok(()) => Some(self),
            Err(error) => {
                complain(&format!(
                    "cannot record to {} any further: {error}; the run goes on, and `thalweg report` reads what is there",
                    self.path.display()
                ));
                None
            }
        });
        Recorder { over, thread: Some(thread) }
    }
}

fn write(observer: &Observer, mut file: impl Write, over: &Over) -> io::Result<()> {
    let mut pause = EVERY;
    loop {
        let is_last = over.wait(pause);
        let start = now();
        if let Some(snapshot) = observer.snapshot() {
            file.write_all((snapshot.to_json() + "\n").as_bytes())?;
        }
        if is_last {
            return file.flush();
        }
        pause = EVERY.max(start.elapsed() * SHARE);
    }
}

impl Recorder {
    /// The run is over: writes the last snapshot. Gives the tape back, unless it cannot be written any more.
    pub(crate) fn end(mut self) -> Option<Tape> {
        self.over.set();
        // A panic of the recorder was told; the run's results are not to be lost by it.
        self.thread.take()?.join().ok().flatten()
    }
}
