//! Schemes: which kernel a worker tries next, and what is done when an edge is full.
//!
//! A scheme is a [`Policy`], asked after every attempt, and a few settings. Each policy is one short file in this folder, with the schemes that
//! are made of it; to add one, write the file and add its name to the two lists in `mod.rs`. A program gives a policy of its own with [`Scheme::custom`].
//!
//! The five actions on a blocked operation (BLQ §2) are all here: *poll* is an attempt that finds nothing to do, *yield* is
//! [`Choice::Yield`], *sleep* is [`Choice::Sleep`], *new* is [`OnFull::grow`] and *help* is [`OnFull::help`].

mod depth_first;
mod mix;
mod one_shot;
mod pw;
mod qes;
mod raft;
mod random;

use crate::edge::Storage;
use crate::error::{Error, Refusal, Result};
use crate::partition::Partition;
use crate::topology::Topology;
use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use thalweg_sync::random::Xorshift;
use thalweg_sync::thread;

/// What came of trying to activate a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It did something.
    Ran {
        /// The edge on which it last handed something on.
        emitted: Option<usize>,
        /// Its share of blocks was done; there may be more.
        more: bool,
    },
    /// Nothing to take on this edge.
    Empty {
        /// The edge.
        edge: usize,
    },
    /// No room on this edge.
    Full {
        /// The edge.
        edge: usize,
    },
    /// Too many of its results wait for an earlier one (DANBI's ticket order).
    Waiting,
    /// Another worker runs it.
    Busy,
    /// A source that has nothing now.
    Pending,
    /// It has finished.
    Done,
}

/// What a worker does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Tries this kernel.
    Run(usize),
    /// Gives up its time slice.
    Yield,
    /// Looks once more at every kernel it may run, then sleeps until there is something.
    Sleep,
}

/// What is done at once when a kernel finds its output full, within its activation.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnFull {
    /// The edge grows, up to the most it may hold (BLQ's *new*).
    pub grow: bool,
    /// The consumer runs here (BLQ's *help*).
    pub help: bool,
}

/// Which threads there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    /// A fixed number of workers.
    Fixed,
    /// As many as turn out to be useful, up to a number.
    Elastic,
    /// One for each kernel, or as many as its hint says.
    PerKernel,
}

/// Chooses kernels for one worker.
///
/// It is asked for each step. Whatever it answers is safe: a choice that cannot run now is an event like any other. What it owes is progress: when
/// nothing it tried did anything, it says [`Choice::Sleep`].
pub trait Policy {
    /// The first choice, and the one after waking up.
    fn first(&mut self, view: &View<'_>) -> Choice;

    /// The next choice, after trying `kernel` gave `event`.
    fn next(&mut self, view: &View<'_>, kernel: usize, event: Event) -> Choice;

    /// Whether this worker may run `kernel` at all. The same as long as the worker lives, and yes for some worker. One that says no needs
    /// [`Scheme::restricted`].
    fn may_run(&self, _view: &View<'_>, _kernel: usize) -> bool {
        true
    }
}

/// What a policy is made from.
#[derive(Debug)]
pub struct Setup<'a> {
    /// The graph as the worker sees it.
    pub view: &'a View<'a>,
}

/// Makes the policy of a worker.
type Make = &'static (dyn Fn(&Setup<'_>) -> Box<dyn Policy> + Sync);

/// A scheme.
#[derive(Clone, Copy)]
struct Recipe {
    name: &'static str,
    about: &'static str,
    make: Make,
    quantum: u32,
    on_full: OnFull,
    threads: Threads,
    /// Of edges with one taker that do not say; which must be one for them.
    storage: Option<Storage>,
    /// A worker may not run every kernel, so whoever makes one ready has to wake all.
    restricted: bool,
}

impl Recipe {
    /// Polling workers, as many as asked for, and queues of fixed size.
    const fn new(name: &'static str, about: &'static str, make: Make) -> Self {
        Self { name, about, make, quantum: 8, on_full: POLL, threads: Threads::Fixed, storage: None, restricted: false }
    }
}

/// The most workers, and the largest stack, that may be asked for: what is more is a mistake.
const MOST_WORKERS: usize = 1 << 15;
const MOST_STACK: usize = if usize::BITS > 40 { (1_u64 << 40) as usize } else { usize::MAX / 4 };

const POLL: OnFull = OnFull { grow: false, help: false };
const NEW: OnFull = OnFull { grow: true, help: false };
const HELP: OnFull = OnFull { grow: false, help: true };
const NEW_HELP: OnFull = OnFull { grow: true, help: true };

/// Every scheme there is, file by file; the first is the default.
const ALL: &[&[Recipe]] =
    &[depth_first::SCHEMES, raft::SCHEMES, pw::SCHEMES, mix::SCHEMES, one_shot::SCHEMES, random::SCHEMES, qes::SCHEMES];

fn all() -> impl Iterator<Item = &'static Recipe> {
    ALL.iter().copied().flatten()
}

/// How a graph is run: a scheme, and how many workers.
///
/// ```
/// use thalweg::Scheme;
/// let two_pinned_workers = Scheme::named("qes_pss")?.workers(2).pinned(true);
/// assert_eq!(two_pinned_workers.name(), "qes_pss");
/// assert!(Scheme::named("qse").unwrap_err().to_string().contains("qes"));
/// # Ok::<(), thalweg::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Scheme {
    entry: Recipe,
    /// Where a policy of the user's own was given.
    place: Option<&'static Location<'static>>,
    workers: Option<usize>,
    stack: Option<usize>,
    pinned: bool,
    partitioned: bool,
    counted: bool,
}

impl Default for Scheme {
    /// The scheme that needs no choice.
    fn default() -> Self {
        Self {
            entry: ALL[0][0],
            place: None,
            workers: None,
            stack: None,
            pinned: false,
            partitioned: false,
            counted: true,
        }
    }
}

impl Scheme {
    /// The scheme of that name; `"default"` is the default one.
    ///
    /// # Errors
    ///
    /// If there is none. The error lists those there are.
    pub fn named(name: &str) -> Result<Self> {
        let default = Self::default();
        match all().find(|entry| entry.name == name || name == "default" && entry.name == default.name()) {
            Some(&entry) => Ok(Self { entry, ..default }),
            None => Err(Error::UnknownScheme { name: name.to_owned() }),
        }
    }

    /// A scheme of a policy of your own, which `make` makes for each worker, on that worker's thread. What it chooses is safe, whatever it is; if it panics,
    /// the run fails, and the error names the worker and the line of this call.
    ///
    /// It has as many workers as there are cores, or [as asked for](Self::workers); queues have a fixed size, unless [`on_full`](Self::on_full) says otherwise.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// use thalweg::scheme::{Choice, Event, Policy, View};
    ///
    /// /// Runs the ready kernel that is nearest to the end.
    /// struct LastFirst;
    /// impl Policy for LastFirst {
    ///     fn first(&mut self, view: &View<'_>) -> Choice {
    ///         (0..view.kernels()).rev().find(|&kernel| view.is_ready(kernel)).map_or(Choice::Sleep, Choice::Run)
    ///     }
    ///     fn next(&mut self, view: &View<'_>, _kernel: usize, _event: Event) -> Choice {
    ///         self.first(view)
    ///     }
    /// }
    ///
    /// let mut graph = Graph::new();
    /// let (end, sum) = graph.gather(0, |sum: &mut u64, n: u64| *sum += n);
    /// graph += graph.source(1..=100_u64) >> graph.map(|n: u64| 2 * n) >> end;
    /// let report = graph.run(Scheme::custom("last first", &|_setup| Box::new(LastFirst)).workers(2))?;
    /// assert_eq!((sum.take(), report.scheme), (10_100, "last first"));
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn custom(name: &'static str, make: &'static (dyn Fn(&Setup<'_>) -> Box<dyn Policy> + Sync)) -> Self {
        let place = Some(Location::caller());
        Self { entry: Recipe::new(name, "a policy of its own", make), place, ..Self::default() }
    }

    /// What is done at once when a kernel finds its output full.
    #[must_use]
    pub fn on_full(mut self, on_full: OnFull) -> Self {
        self.entry.on_full = on_full;
        self
    }

    /// For a policy that does not let every worker run every kernel: whoever makes a kernel ready then wakes all that may run it. Without this, a
    /// policy that [says no](Policy::may_run) to a kernel fails the run.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// use thalweg::scheme::{Choice, Event, Policy, View};
    ///
    /// /// The first worker runs sources, the others what is behind them.
    /// struct Apart;
    /// impl Policy for Apart {
    ///     fn first(&mut self, view: &View<'_>) -> Choice {
    ///         let mut mine = (0..view.kernels()).filter(|&kernel| self.may_run(view, kernel));
    ///         mine.find(|&kernel| view.is_ready(kernel)).map_or(Choice::Sleep, Choice::Run)
    ///     }
    ///     fn next(&mut self, view: &View<'_>, _kernel: usize, _event: Event) -> Choice {
    ///         self.first(view)
    ///     }
    ///     fn may_run(&self, view: &View<'_>, kernel: usize) -> bool {
    ///         (view.worker() == 0) == view.is_source(kernel)
    ///     }
    /// }
    ///
    /// let mut graph = Graph::new();
    /// let (end, count) = graph.count();
    /// graph += graph.source(0..1000_u64) >> end;
    /// graph.run(Scheme::custom("apart", &|_setup| Box::new(Apart)).restricted(true).workers(2))?;
    /// assert_eq!(count.take(), 1000);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[must_use]
    pub fn restricted(mut self, restricted: bool) -> Self {
        self.entry.restricted = restricted;
        self
    }

    /// The names of all schemes; the first is the default one.
    pub fn names() -> impl Iterator<Item = &'static str> {
        all().map(|entry| entry.name)
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// What it does, in a line.
    pub fn about(&self) -> &'static str {
        self.entry.about
    }

    /// Runs with exactly `workers` workers; zero means one. More than there are cores works, but gains nothing. Of a scheme that
    /// [chooses itself](Self::chooses_workers) it changes nothing.
    ///
    /// If the system gives fewer threads, or more than 32 768 are asked for, the run is [refused](Error::Refused) before any kernel runs.
    ///
    /// Without this the number respects affinity masks and cgroup quotas, and the default scheme uses no more of them than help. If those change while the run goes on, workers beyond
    /// them sit down within a second, and get up again when they are back; there are never more than at the start. (Linux.)
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers.max(1));
        self
    }

    /// Whether the graph alone says how many workers there are: one for each kernel, or as many as its hint says.
    ///
    /// ```
    /// use thalweg::Scheme;
    /// assert!(Scheme::named("raft")?.chooses_workers() && !Scheme::default().chooses_workers());
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    pub fn chooses_workers(&self) -> bool {
        self.entry.threads == Threads::PerKernel
    }

    /// Binds each worker to a hardware thread of its own, if there are as many as workers and the system can do it: to cores before their second
    /// hardware threads, and to neighbours first ([`Topology::places`](thalweg_sync::thread::Topology::places)).
    #[must_use]
    pub fn pinned(mut self, pinned: bool) -> Self {
        self.pinned = pinned;
        self
    }

    /// Gives each worker kernels to keep to, before the run: those with much traffic between them to one worker or to neighbours, the load in balance, and copies
    /// of a parallel kernel apart (BLQ §3.3). Traffic is the size of a message times how often it comes, load is a message each; hints change both: `kernel * 4` is four times the work of its
    /// producer and has four workers, `kernel * 0` gives rarely, and [`together`](crate::Path::together) keeps kernels on one worker. A worker that has nothing to do there takes what is nearest, so
    /// a wrong hint costs time, not progress. Workers are [pinned](Self::pinned).
    ///
    /// A second after the start, and then after twice as long each time up to a minute, what kernels took and what went over edges meanwhile takes the place of
    /// the hints: kernels move to other workers if that takes a tenth from the one with most to do, or a fifth from the way that messages go. Policies are then made
    /// anew. Under a [restricted](Self::restricted) scheme, and under `raft`, nothing moves.
    ///
    /// The default scheme, polling workers (`pw`, `pw_dyn`, `mix`, `mix_dyn`) and policies that ask [`View::any_from`] keep to it. It pays where kernels share caches and there are many cores; by default it is off.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let (end, count) = graph.count();
    /// graph += graph.source(0..1000_u64) >> graph.parallel_map(|n: u64| n * n) * 2 >> end;
    /// graph.run(Scheme::named("pw_dyn")?.workers(4).partitioned(true))?;
    /// assert_eq!(count.take(), 1000);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[must_use]
    pub fn partitioned(mut self, partitioned: bool) -> Self {
        self.partitioned = partitioned;
        self
    }

    pub(crate) fn is_partitioned(&self) -> bool {
        self.partitioned
    }

    /// The stack of each worker's thread, in bytes, up to 1 TiB, or a quarter of all addresses where those have 32 bits; the system rounds it up. Not that of the thread which calls [`run`](crate::Graph::run): it is
    /// a worker too.
    ///
    /// Without this it is the standard library's, 2 MiB or `RUST_MIN_STACK`.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// // Only for a thread of its own: `run_async` has one for the first worker too.
    /// let deep = graph.sink(|n: u64| assert_eq!([n; 1 << 19].iter().sum::<u64>(), n << 19));
    /// graph += graph.source(0..10_u64) >> deep;
    /// futures_executor::block_on(graph.run_async(Scheme::default().stack_size(16 << 20)))?;
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[must_use]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack = Some(bytes);
        self
    }

    /// What its threads are started with.
    pub(crate) fn spec<'a>(&self, name: &'a str) -> thread::Spec<'a> {
        thread::Spec { name, stack: self.stack.filter(|&bytes| bytes <= MOST_STACK) }
    }

    /// What cannot be had, whatever the system: `most` workers, or such a stack.
    pub(crate) fn refusals(&self, most: usize) -> Vec<Refusal> {
        let refusal = |reason| Refusal { kernel: format!("the scheme {}", self.name()), reason };
        let many = (most > MOST_WORKERS)
            .then(|| format!("{most} workers are more than {MOST_WORKERS}; ask for as many as there are cores, or leave it to the scheme"));
        let large = (self.stack.filter(|&bytes| bytes > MOST_STACK))
            .map(|bytes| format!("a stack of {bytes} bytes is more than {MOST_STACK}; ask for less"));
        many.into_iter().chain(large).map(refusal).collect()
    }

    /// Where the policy was given; a place in here if it is one of ours.
    pub(crate) fn place(&self) -> &'static Location<'static> {
        self.place.unwrap_or(Location::caller())
    }

    /// Leaves out what is counted for the report alone, to measure what counting costs.
    #[doc(hidden)]
    #[must_use]
    pub fn counted(mut self, counted: bool) -> Self {
        self.counted = counted;
        self
    }

    pub(crate) fn is_counted(&self) -> bool {
        self.counted
    }

    pub(crate) fn is_pinned(&self) -> bool {
        self.pinned || self.partitioned
    }

    pub(crate) fn quantum(&self) -> u32 {
        self.entry.quantum
    }

    pub(crate) fn actions(&self) -> OnFull {
        self.entry.on_full
    }

    /// What carries edges with one taker that do not say.
    pub(crate) fn storage(&self) -> Option<Storage> {
        self.entry.storage
    }

    pub(crate) fn is_restricted(&self) -> bool {
        self.entry.restricted
    }

    pub(crate) fn policy(&self, setup: &Setup<'_>) -> Box<dyn Policy> {
        (self.entry.make)(setup)
    }

    /// Whether nobody asked for a number of workers.
    pub(crate) fn has_default_workers(&self) -> bool {
        self.workers.is_none() && self.entry.threads != Threads::PerKernel
    }

    /// Whether it finds the number of workers itself.
    pub(crate) fn is_elastic(&self) -> bool {
        self.entry.threads == Threads::Elastic && self.workers.is_none()
    }

    /// How many workers there may be, and how many start, for kernels with these hints (`None`: sequential).
    pub(crate) fn crew(&self, kernels: impl Iterator<Item = (bool, Option<f32>)>) -> (usize, usize) {
        let cores = thread::available_parallelism();
        match (self.entry.threads, self.workers) {
            (Threads::PerKernel, _) => {
                let all = kernels.map(|(parallel, hint)| raft::threads_for(parallel, hint)).sum::<usize>().max(1);
                (all, all)
            }
            (_, Some(workers)) => (workers, workers),
            (Threads::Fixed, None) => (cores, cores),
            (Threads::Elastic, None) => (cores, 1),
        }
    }
}

impl fmt::Debug for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheme")
            .field("name", &self.entry.name)
            .field("workers", &self.workers)
            .field("pinned", &self.pinned)
            .finish()
    }
}

/// What changes while a run goes on, as far as policies look at it.
pub(crate) trait Board {
    /// How full an edge is, from 0 to 1.
    fn fill(&self, edge: usize) -> f32;
    /// Whether an activation of a kernel could do something now.
    fn is_ready(&self, kernel: usize) -> bool;
}

/// The graph as a policy sees it. Kernels and edges are numbers, in the order in which they were made.
pub struct View<'a> {
    topology: &'a Topology,
    board: &'a dyn Board,
    partition: Option<&'a Partition>,
    worker: usize,
    workers: usize,
    random: RefCell<Xorshift>,
}

impl<'a> View<'a> {
    pub(crate) fn new(
        topology: &'a Topology,
        board: &'a dyn Board,
        partition: Option<&'a Partition>,
        worker: usize,
        workers: usize,
    ) -> Self {
        let random = Xorshift::from_state(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(worker as u64 + 1)).into();
        Self { topology, board, partition, worker, workers, random }
    }

    /// How many kernels there are.
    pub fn kernels(&self) -> usize {
        self.topology.kernels.len()
    }

    /// The number of this worker, from 0.
    pub fn worker(&self) -> usize {
        self.worker
    }

    /// How many workers may take part.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// The kernel that sends on `edge`.
    pub fn producer(&self, edge: usize) -> usize {
        self.topology.edges[edge].from
    }

    /// The kernel that takes from `edge`.
    pub fn consumer(&self, edge: usize) -> usize {
        self.topology.edges[edge].to
    }

    /// The edges `kernel` takes from.
    pub fn inputs(&self, kernel: usize) -> &'a [usize] {
        &self.topology.kernels[kernel].inputs
    }

    /// The edges `kernel` sends on.
    pub fn outputs(&self, kernel: usize) -> &'a [usize] {
        &self.topology.kernels[kernel].outputs
    }

    /// How full `edge` is, from 0 to 1.
    pub fn fill(&self, edge: usize) -> f32 {
        self.board.fill(edge)
    }

    /// Whether several workers may run `kernel` at once.
    pub fn is_parallel(&self, kernel: usize) -> bool {
        self.topology.kernels[kernel].is_parallel()
    }

    /// Whether `kernel` is a source.
    pub fn is_source(&self, kernel: usize) -> bool {
        self.topology.kernels[kernel].is_source()
    }

    /// The hint of `kernel`: about how many workers it needs for one of its producer's. Zero: it is rarely fed.
    pub fn hint(&self, kernel: usize) -> Option<f32> {
        self.topology.kernels[kernel].hint
    }

    /// The group of `kernel`, if it was hinted to stay together with others.
    pub fn group(&self, kernel: usize) -> Option<usize> {
        self.topology.kernels[kernel].group
    }

    /// Whether trying `kernel` now would do something. A snapshot.
    pub fn is_ready(&self, kernel: usize) -> bool {
        self.board.is_ready(kernel)
    }

    /// The kernels that this worker keeps to, if the run is [partitioned](Scheme::partitioned).
    pub fn own(&self) -> Option<&'a [usize]> {
        self.partition.map(|partition| partition.own(self.worker))
    }

    /// The first kernel that is ready, from `start` on and around. In a [partitioned](Scheme::partitioned) run it is the first one from this worker's own outward.
    pub fn find_ready(&self, start: usize) -> Option<usize> {
        if let Some(partition) = self.partition {
            return partition.order(self.worker).iter().copied().find(|&kernel| self.is_ready(kernel));
        }
        let count = self.kernels();
        (0..count).map(|step| (start + step) % count).find(|&kernel| self.is_ready(kernel))
    }

    /// Tries any kernel that is ready, from `start` on, or else sleeps.
    pub fn any_from(&self, start: usize) -> Choice {
        self.find_ready(start).map_or(Choice::Sleep, Choice::Run)
    }

    /// Good enough to choose among kernels.
    fn random(&self) -> u64 {
        self.random.borrow_mut().number()
    }

    /// A random number below `bound`.
    pub fn random_below(&self, bound: usize) -> usize {
        (self.random() % bound.max(1) as u64) as usize
    }

    /// True with this probability.
    pub fn chance(&self, probability: f32) -> bool {
        (self.random() >> 40) as f32 / ((1_u64 << 24) as f32) < probability
    }
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "View of worker {}", self.worker)
    }
}
