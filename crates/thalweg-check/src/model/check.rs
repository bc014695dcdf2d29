//! Checking a client: the options, and what comes of it.

use super::estimate::Estimate;
use super::explore::Rules;
use super::graph::ExecutionGraph;
use super::guide::Guide;
use super::report::{Replay, Rule, Violation};
use super::run::Limits;
use super::search::Search;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

/// Which executions there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// The repaired C11 model, which is Rust's: all orderings, `SeqCst` included.
    #[default]
    Rc11,
    /// Release and acquire only: `SeqCst` counts as `AcqRel`. Allows more than RC11.
    Ra,
    /// Interleavings: every access as if `SeqCst`, of one memory. Allows less than RC11.
    Sc,
}

/// Which order there has to be on `SeqCst` events, in [`Memory::Rc11`].
///
/// They differ rarely: of the published litmus programs that the engine is tested with, on one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScAxiom {
    /// `psc` of RC11 as printed (PLDI 2017).
    #[default]
    Rc11,
    /// `[atomics.order]` of C++20, to which Rust's documentation refers, but with coherence-ordered before taken without its closure: so it allows more
    /// than the text where reads are `SeqCst` and writes are not. Forbids slightly more than the other.
    Cxx20,
}

pub(crate) type Hook = Arc<dyn Fn(&ExecutionGraph) + Send + Sync>;
type Watcher = Arc<dyn Fn(&Progress) + Send + Sync>;

/// A check of all executions of a client.
///
/// ```
/// use thalweg_check::Check;
/// use thalweg_sync::{atomic::{AtomicU64, Ordering::Relaxed}, sync::Arc, thread};
///
/// // Store buffering: each thread may miss the other's store.
/// let explored = Check::new().check(|| {
///     let flags = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
///     let threads = [0, 1].map(|me| {
///         let flags = flags.clone();
///         thread::spawn(move || {
///             flags[me].store(1, Relaxed);
///             flags[1 - me].load(Relaxed)
///         })
///     });
///     let _read = threads.map(|thread| thread.join().unwrap());
/// });
/// assert_eq!(explored.complete, 4);
/// ```
#[derive(Clone)]
pub struct Check {
    pub(super) rules: Rules,
    pub(super) limits: Limits,
    pub(super) max_executions: Option<u64>,
    pub(super) max_time: Option<Duration>,
    pub(super) leaks: bool,
    pub(super) sequential: bool,
    pub(super) threads: usize,
    pub(super) hook: Option<Hook>,
    pub(super) watcher: Option<Watcher>,
}

/// How far a check is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Executions so far in which every thread ended.
    pub complete: u64,
    /// Executions so far in which one waited.
    pub blocked: u64,
    /// How long it has taken so far.
    pub duration: Duration,
    /// How many complete executions there are, if that is known: it is estimated after a second.
    pub estimate: Option<Estimate>,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} executions", self.complete)?;
        match &self.estimate {
            Some(estimate) => write!(f, " of {estimate}"),
            None => Ok(()),
        }
    }
}

/// What was explored without finding anything wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explored {
    /// Executions in which every thread ended. No two are the same.
    pub complete: u64,
    /// Executions in which a wait had not seen the newest value, or an assumption was wrong.
    pub blocked: u64,
    /// Beginnings that turned out not to be consistent. They are not run.
    pub dropped: u64,
    /// Executions of which something stays in memory: they were given up, and a destructor then waited for ever, even that of a
    /// [`Kept`](super::Kept).
    pub stuck: u64,
    /// How many of the complete ones were also run with two [`equal`](super::equal()) threads exchanged.
    pub exchanged: u64,
    /// The events of the complete executions together.
    pub events: u64,
    /// The most threads that an execution had, the client's own one included.
    pub threads: u32,
    /// How long it took.
    pub duration: Duration,
    /// A bound on executions or time was reached: there may be more.
    pub bounded: bool,
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { complete, blocked, exchanged, events, duration, .. } = self;
        write!(f, "{complete} executions, {blocked} blocked, {events} events, {:.3} s", duration.as_secs_f64())?;
        if *exchanged > 0 {
            write!(f, ", {exchanged} also with two equal threads exchanged")?;
        }
        if self.stuck > 0 {
            write!(f, ", {} that left something in memory, as a destructor waits for ever", self.stuck)?;
        }
        if self.bounded {
            write!(f, ", and a bound was reached: there may be more")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl Default for Check {
    fn default() -> Self {
        Self::new()
    }
}

impl Check {
    /// All executions under RC11, of at most 10 000 events each; no compare-exchange fails without a reason.
    pub fn new() -> Self {
        Self {
            rules: Rules { memory: Memory::default(), axiom: ScAxiom::default(), spurious: false, reuse: 1 },
            limits: Limits {
                events: 10_000,
                repeats: None,
                stack_bytes: 256 << 10,
                any_ordering: false,
                equal: true,
                unseen_handles: false,
            },
            max_executions: None,
            max_time: None,
            leaks: false,
            sequential: false,
            threads: 1,
            hook: None,
            watcher: None,
        }
    }

    /// The memory model.
    pub fn memory(mut self, memory: Memory) -> Self {
        self.rules.memory = memory;
        self
    }

    /// Which order there has to be on `SeqCst` events.
    pub fn sc(mut self, axiom: ScAxiom) -> Self {
        self.rules.axiom = axiom;
        self
    }

    /// How many events an execution may have. One with more is a violation, as it probably has a loop without end.
    pub fn max_events(mut self, events: usize) -> Self {
        self.limits.events = events;
        self
    }

    /// How often in a row a thread may do the same before it is a violation, as it is taken to wait in a way that has no
    /// end: reads what it has just read, or tries an attempt of a wait that writes and fails. Unless set, a hundredth of
    /// [`max_events`](Self::max_events), at least 50; 0 counts as 1.
    ///
    /// For loops that have an end and are longer.
    ///
    /// ```
    /// use thalweg_check::{Check, Rule};
    /// use thalweg_sync::atomic::{AtomicBool, Ordering::Relaxed};
    ///
    /// let client = || {
    ///     let stops = AtomicBool::new(false);
    ///     for _ in 0..128 {
    ///         assert!(!stops.load(Relaxed));
    ///     }
    /// };
    /// let check = Check::new().sequential(true);
    /// assert!(matches!(check.run(client).unwrap_err().rule(), Rule::Polls { .. }));
    /// check.max_repeats(128).check(client);
    /// ```
    pub fn max_repeats(mut self, repeats: u32) -> Self {
        self.limits.repeats = Some(repeats.max(1));
        self
    }

    /// After how many executions, blocked ones included, to stop.
    pub fn max_executions(mut self, executions: Option<u64>) -> Self {
        self.max_executions = executions;
        self
    }

    /// After how much time to stop.
    pub fn max_time(mut self, time: Option<Duration>) -> Self {
        self.max_time = time;
        self
    }

    /// Whether a weak compare-exchange may fail though it read the value that it expected, and a
    /// [`Condvar::wait`](thalweg_sync::sync::Condvar::wait) may return though nobody notified it: of the waits of a thread at one place, not
    /// two in a row. An `if` in place of a `while` around a wait is found by that. A [`Parker`](thalweg_sync::park::Parker) returns
    /// with a token only, in any case; a [`park`](crate::std::thread::park) of [`crate::std`] as a wait does.
    ///
    /// An execution in which an exchange does so over and over, as often as [`max_repeats`](Self::max_repeats) says, is given up: it would have
    /// no end. A loop around it has as many executions as that, so set it low.
    pub fn spurious(mut self, spurious: bool) -> Self {
        self.rules.spurious = spurious;
        self
    }

    /// How often in an execution a freed block may be handed out again, 1 unless set. Only with [`Heap`](crate::Heap).
    ///
    /// A client that compares pointers can take a new object for an old one at the same address: the ABA problem. So an allocation
    /// is a choice between a new address and the freed ones of its size and alignment. It is one only where that can matter: among blocks of
    /// which some pointer in an atomic has held the address before the free. The free then happens before the allocation.
    ///
    /// With 0 no address comes back within an execution, and there are fewer executions.
    ///
    /// ```
    /// use thalweg_check::{Check, Heap};
    /// use thalweg_sync::atomic::{AtomicPtr, Ordering::Relaxed};
    ///
    /// #[global_allocator]
    /// static HEAP: Heap = Heap::new();
    ///
    /// let client = || {
    ///     let first = Box::into_raw(Box::new(1));
    ///     let shared = AtomicPtr::new(first);
    ///     assert_eq!(shared.load(Relaxed), first);
    ///     // SAFETY: it comes from `into_raw`, and is not used any more.
    ///     drop(unsafe { Box::from_raw(first) });
    ///     let second = Box::new(2);
    ///     assert!(!std::ptr::eq(&raw const *second, shared.load(Relaxed)), "the same address");
    /// };
    /// let check = Check::new().sequential(true);
    /// assert!(check.run(client).is_err());
    /// assert!(check.reuse(0).run(client).is_ok());
    /// ```
    pub fn reuse(mut self, times: u32) -> Self {
        self.rules.reuse = times;
        self
    }

    /// Whether a complete execution that has not freed what it allocated is a violation. The client is run once more,
    /// before the others, for what is allocated once per process.
    ///
    /// # Panics
    ///
    /// A check with it, if [`Heap`](crate::Heap) is not the program's allocator.
    pub fn leaks(mut self, leaks: bool) -> Self {
        self.leaks = leaks;
        self
    }

    /// Whether the client may be sequential: start no thread, or none that uses anything of the facade. Otherwise that is
    /// a violation, as threads, atomics and cells of the standard library are not seen, and nothing is checked.
    ///
    /// ```
    /// use thalweg_check::{Check, choose};
    ///
    /// let explored = Check::new().sequential(true).check(|| assert!(choose(3) < 3));
    /// assert_eq!(explored.complete, 3);
    /// ```
    pub fn sequential(mut self, sequential: bool) -> Self {
        self.sequential = sequential;
        self
    }

    /// Whether an access may have an ordering that there is natively not, as an acquire store, which then is a relaxed one;
    /// otherwise it panics, as it does natively. For tools that try out orderings.
    pub fn any_ordering(mut self, any: bool) -> Self {
        self.limits.any_ordering = any;
        self
    }

    /// Whether handles may be counted where the checker does not see it, as by [`std::sync::Arc`]. Then an object that is dropped while
    /// an access of another thread does not happen before is no violation, for the count may be what orders the two.
    ///
    /// For code that was not written for the facade: [`std::model`](mod@crate::std::model) has it.
    pub fn unseen_handles(mut self, unseen: bool) -> Self {
        self.limits.unseen_handles = unseen;
        self
    }

    /// Whether of threads that are declared [`equal`](super::equal()) only one order is explored, as is done unless set; otherwise all are.
    pub fn equal_threads(mut self, equal: bool) -> Self {
        self.limits.equal = equal;
        self
    }

    /// The size of each thread's stack. Memory is used only as far as the stack grows.
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.limits.stack_bytes = bytes;
        self
    }

    /// On how many OS threads to explore, each of which runs executions of its own. 1 unless set; there is no gain from
    /// more than there are cores.
    ///
    /// The result is the same, also which violation is found. The client and the hook of [`on_complete`](Self::on_complete)
    /// then run on several threads at the same time: what they share must be made for that, and what a client leaves
    /// outside for the hook may be another execution's.
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = threads.get();
        self
    }

    /// Calls `watcher` about ten times a second, between executions.
    pub fn on_progress(mut self, watcher: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.watcher = Some(Arc::new(watcher));
        self
    }

    /// Calls `hook` after each complete execution, and after some with [`equal`](super::equal()) threads exchanged. If it panics, the execution is a violation.
    pub fn on_complete(mut self, hook: impl Fn(&ExecutionGraph) + Send + Sync + 'static) -> Self {
        self.hook = Some(Arc::new(hook));
        self
    }

    /// What [`on_complete`](Self::on_complete) has set.
    pub(crate) fn hook(&self) -> Option<Hook> {
        self.hook.clone()
    }

    /// Runs every execution of `client`, up to the first that does something wrong.
    ///
    /// # Errors
    ///
    /// With the first [`Violation`].
    pub fn run(&self, client: impl Fn() + Send + Sync + 'static) -> Result<Explored, Violation> {
        Search::new(self, None, &client).run()
    }

    /// Runs every execution of `client`.
    ///
    /// # Panics
    ///
    /// With the first [`Violation`].
    #[track_caller]
    pub fn check(&self, client: impl Fn() + Send + Sync + 'static) -> Explored {
        match self.run(client) {
            Ok(explored) => explored,
            Err(violation) => panic!("{violation}"),
        }
    }

    /// Runs one execution of `client` only: the one that a [`Violation`] of the same client showed, as
    /// [`Violation::replay`] wrote it. For a look with a debugger. For a client that records a history:
    /// [`replay_linearizable`](Self::replay_linearizable).
    ///
    /// # Errors
    ///
    /// With the violation, if it is still there; with [`Rule::NoSuchExecution`] if `execution` is no such text, or the client
    /// does not do that, or not any more.
    pub fn replay(&self, execution: &str, client: impl Fn() + Send + Sync + 'static) -> Result<Explored, Violation> {
        match Guide::from_text(execution) {
            Ok(guide) => Search::new(self, Some(guide), &client).run(),
            Err(why) => {
                let rule = Rule::NoSuchExecution { why };
                Err(Violation { rule, graph: Box::default(), complete: 0, replay: Replay::Plain })
            }
        }
    }
}
