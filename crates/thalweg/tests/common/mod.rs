//! What several tests need: messages that count their drops, a watch over threads, and a limit on how long a test may take.
#![allow(dead_code, reason = "each test is a crate of its own and takes what it needs")]

use std::fs;
use thalweg_sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering::*};
use thalweg_sync::park::Parker;
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::thread;
use thalweg_sync::time::{Duration, now};

/// Runs `body` on a thread of its own and gives what it gives. What should end and does not is a failure, not a hang.
#[track_caller]
pub(crate) fn within<R: Send + 'static>(limit: Duration, body: impl FnOnce() -> R + Send + 'static) -> R {
    let parker = Parker::new();
    let (unparker, result) = (parker.unparker(), Arc::new(Mutex::new(None)));
    let theirs = result.clone();
    let done = Arc::new(AtomicBool::new(false));
    let ended = done.clone();
    let handle = thread::spawn(move || {
        let given = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
        *theirs.lock().unwrap() = Some(given);
        ended.store(true, Release);
        unparker.unpark();
    });
    let start = now();
    while !done.load(Acquire) {
        let left = limit.saturating_sub(start.elapsed());
        assert!(!left.is_zero(), "still running after {limit:?}");
        parker.park_timeout(left);
    }
    handle.join().expect("panics are caught inside");
    let given = result.lock().unwrap().take().expect("set before the flag");
    given.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Long enough for anything that ends at all, on a machine that gives a tenth of its CPUs.
pub(crate) const SOON: Duration = Duration::from_secs(120);

/// Makes tokens and notes what becomes of them.
pub(crate) struct Ledger {
    made: AtomicUsize,
    /// By number: how often it was dropped.
    dropped: Box<[AtomicU8]>,
}

impl Ledger {
    /// For up to `most` tokens.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { made: AtomicUsize::new(0), dropped: (0..most).map(|_| AtomicU8::new(0)).collect() })
    }

    /// How many were made.
    pub(crate) fn made(&self) -> usize {
        self.made.load(Acquire)
    }

    /// Tokens that exist.
    pub(crate) fn alive(&self) -> usize {
        self.dropped[..self.made()].iter().filter(|count| count.load(Acquire) == 0).count()
    }

    /// Every token was dropped, and none twice.
    #[track_caller]
    pub(crate) fn is_settled(&self) {
        for (number, count) in self.dropped[..self.made()].iter().enumerate() {
            assert_eq!(count.load(Acquire), 1, "drops of token {number} of {}", self.made());
        }
    }
}

/// A message that may be dropped once.
pub(crate) struct Token {
    pub(crate) value: u64,
    number: usize,
    ledger: Arc<Ledger>,
}

impl Clone for Token {
    fn clone(&self) -> Self {
        Self::of(&self.ledger, self.value)
    }
}

impl Token {
    /// A new token.
    pub(crate) fn of(ledger: &Arc<Ledger>, value: u64) -> Self {
        let number = ledger.made.fetch_add(1, Relaxed);
        assert!(number < ledger.dropped.len(), "a ledger for {} tokens is too small", ledger.dropped.len());
        Self { value, number, ledger: ledger.clone() }
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.ledger.dropped[self.number].fetch_add(1, AcqRel);
    }
}

static CREWS: AtomicUsize = AtomicUsize::new(0);

/// The calling thread and those that it starts: on Linux a thread inherits the name of the one that starts it.
pub(crate) struct Crew {
    name: String,
}

impl Crew {
    /// Gives the calling thread a name that no other has.
    pub(crate) fn gather() -> Self {
        let name = format!("crew-{}", CREWS.fetch_add(1, Relaxed));
        if cfg!(target_os = "linux") {
            fs::write("/proc/thread-self/comm", &name).expect("a thread may name itself");
        }
        Self { name }
    }

    /// How many threads of it there are; 1 where that cannot be seen.
    pub(crate) fn size(&self) -> usize {
        if !cfg!(target_os = "linux") {
            return 1;
        }
        let tasks = fs::read_dir("/proc/self/task").expect("a process sees its threads");
        let names = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
        names.filter(|name| name.trim_end() == self.name).count()
    }

    /// Waits until only `left` threads are left. A thread that was joined may take a moment to disappear.
    #[track_caller]
    pub(crate) fn shrinks_to(&self, left: usize) {
        let start = now();
        while self.size() > left {
            assert!(start.elapsed() < SOON, "{} threads are left, not {left}", self.size());
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(self.size(), left);
    }
}

/// Keeps a core busy, so that other workers come by meanwhile.
pub(crate) fn toil(rounds: u32) -> u32 {
    (0..rounds).fold(rounds, |sum, round| std::hint::black_box(sum.rotate_left(3) ^ round))
}
