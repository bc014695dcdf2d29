//! The runtime: its workers, and what they share.

use crate::blocking::Helpers;
use crate::build::{Builder, StartError};
use crate::dump::{self, Dump, TaskInfo};
use crate::fork::Item;
use crate::idle;
use crate::join::JoinHandle;
use crate::short::Short;
use crate::stack::Stack;
use crate::task::{Failed, Settings, Task, TaskId, TaskRef};
use crate::watch::{self, Watch};
use crate::worker::Worker;
use core::fmt;
use core::ptr::NonNull;
use std::collections::VecDeque;
use thalweg_queue::stealing;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Counter};
use thalweg_sync::park::Unparker;
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;
use thalweg_sync::{CachePadded, fence, spin};

/// A queue of tasks that have not begun, per worker: blocks, and entries in each. Thieves see what is not in the block that the owner is in.
const QUEUE: (usize, usize) = (32, 16);

/// How a runtime ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    No,
    /// When all tasks have ended.
    Finish,
    /// The same, and all are cancelled.
    Cancel,
}

/// What others know of a worker.
pub(crate) struct Remote {
    /// Tasks of this worker that others have woken: the last one, and through `next` those before it.
    pub(crate) inbox: AtomicPtr<Task>,
    pub(crate) asleep: AtomicBool,
    /// How many threads are about to touch this, after they woke a task of this worker (T3).
    visitors: AtomicUsize,
    pub(crate) unparker: Short<Option<Unparker>>,
    pub(crate) stealer: stealing::Stealer<Item>,
    /// How many tasks were spawned, and have ended, on this worker. Written by it alone.
    spawned: AtomicU64,
    ended: AtomicU64,
    /// How often this worker has entered a task, and which one runs, plus one: for those who look from outside. Written by it alone.
    pub(crate) entered: Counter,
    pub(crate) running: Counter,
    /// Somebody wants to know what tasks this worker has; and what it says.
    pub(crate) asked: AtomicBool,
    pub(crate) answer: Short<Option<Vec<TaskInfo>>>,
}

/// What the workers share.
pub(crate) struct Shared {
    pub(crate) remotes: Box<[CachePadded<Remote>]>,
    /// For each worker, the others, the nearest first.
    victims: Box<[Box<[usize]>]>,
    pub(crate) stack_bytes: usize,
    /// How many workers look for something to do, and how many sleep: see the constants of `idle.rs`.
    pub(crate) idle: AtomicUsize,
    stop: AtomicU32,
    /// The shared queue, and behind it one for each group.
    queues: Box<[Injector]>,
    /// The names of the groups, and who is in them.
    pub(crate) groups: Box<[Group]>,
    /// Numbers tasks that are not spawned by workers, and how many there were.
    outside: AtomicU64,
    buried: Short<Vec<Stack>>,
    pub(crate) name: String,
    pub(crate) helpers: Helpers,
    pub(crate) watch: Option<Watch>,
}

/// Some of the workers.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) workers: Box<[usize]>,
}

/// A queue that several workers take from.
#[derive(Default)]
struct Injector {
    length: AtomicUsize,
    tasks: Short<Tasks>,
}

#[derive(Default)]
struct Tasks {
    list: VecDeque<Item>,
    /// Nothing comes from outside any more.
    closed: bool,
}

impl Injector {
    fn take(&self) -> Option<Item> {
        // Relaxed: a look; who sleeps looks behind a fence.
        if self.length.load(Relaxed) == 0 {
            return None;
        }
        self.tasks.with(|tasks| {
            let task = tasks.list.pop_front();
            self.length.store(tasks.list.len(), Relaxed);
            task
        })
    }

    /// Adds tasks. From outside only if it is open; they come back otherwise.
    fn add(&self, new: Vec<Item>, from_outside: bool) -> Result<(), Vec<Item>> {
        self.tasks.with(|tasks| {
            if from_outside && tasks.closed {
                return Err(new);
            }
            tasks.list.extend(new);
            self.length.store(tasks.list.len(), Relaxed);
            Ok(())
        })
    }
}

impl Shared {
    #[inline]
    pub(crate) fn somebody_is_idle(&self) -> bool {
        // Relaxed: behind the caller's fence, or a hint.
        self.idle.load(Relaxed) != 0
    }

    #[inline]
    pub(crate) fn victims(&self, worker: usize) -> &[usize] {
        &self.victims[worker]
    }

    #[inline]
    pub(crate) fn stop(&self) -> Stop {
        // Acquire, pairs with the Release in `ask_to_stop`: the queues are seen closed.
        match self.stop.load(Acquire) {
            0 => Stop::No,
            1 => Stop::Finish,
            _ => Stop::Cancel,
        }
    }

    /// Schedules a task that was parked, on its home.
    ///
    /// # Safety
    ///
    /// The caller has found the task parked, and so is the only one to schedule it (T2).
    #[inline]
    pub(crate) unsafe fn schedule(pointer: NonNull<Task>) {
        // SAFETY: a parked task lives, and so does its runtime (T3).
        let (shared, home) = unsafe { (pointer.as_ref().shared, pointer.as_ref().home()) };
        let home = home.expect("a task that was parked has begun");
        let here = Worker::with(|worker| {
            let here = worker.is(shared, home);
            if here {
                worker.make_ready(pointer);
            }
            here
        });
        if here != Some(true) {
            // SAFETY: the caller's promise.
            unsafe { Self::schedule_there(pointer, shared, home) };
        }
    }

    /// As [`schedule`](Self::schedule), and if its home is this worker, the task runs next.
    ///
    /// # Safety
    ///
    /// As there.
    pub(crate) unsafe fn schedule_next(pointer: NonNull<Task>) {
        // SAFETY: as there.
        let (shared, home) = unsafe { (pointer.as_ref().shared, pointer.as_ref().home()) };
        let home = home.expect("a task that was parked has begun");
        let here = Worker::with(|worker| {
            let here = worker.is(shared, home);
            if here {
                worker.run_next(pointer);
            }
            here
        });
        if here != Some(true) {
            // SAFETY: the caller's promise.
            unsafe { Self::schedule_there(pointer, shared, home) };
        }
    }

    /// Schedules a task of another worker.
    ///
    /// # Safety
    ///
    /// As [`schedule`](Self::schedule); `shared` and `home` are the task's.
    unsafe fn schedule_there(pointer: NonNull<Task>, shared: NonNull<Shared>, home: usize) {
        // SAFETY: as there.
        let remote = unsafe { &shared.as_ref().remotes[home] };
        // Before the task can run: until we leave, the worker does not (T3). Relaxed: the push publishes it.
        remote.visitors.fetch_add(1, Relaxed);
        let mut last = remote.inbox.load(Relaxed);
        loop {
            // SAFETY: nobody else has the task.
            unsafe { pointer.as_ref() }.next.store(last, Relaxed);
            // (inbox.1) Release, pairs with (inbox.2): the link is visible. A read-modify-write, so that it carries those of the others.
            match remote.inbox.compare_exchange_weak(last, pointer.as_ptr(), Release, Relaxed) {
                Ok(_) => break,
                Err(now) => last = now,
            }
        }
        // (idle.1) Pairs with (idle.2).
        fence::light();
        // SAFETY: `visitors` keeps the worker, and that the runtime's memory.
        idle::wake(unsafe { shared.as_ref() }, home);
        // (visit.1) Release, pairs with (visit.2): what we did is over.
        remote.visitors.fetch_sub(1, Release);
    }

    /// A worker leaves.
    pub(crate) fn left(&self, worker: usize) {
        let visitors = &self.remotes[worker].visitors;
        // (visit.2) Acquire, pairs with (visit.1).
        spin::until(|| (visitors.load(Acquire) == 0).then_some(()));
    }

    /// What a new task of `worker` is given, or of somebody outside.
    pub(crate) fn settings(&self, worker: Option<usize>, name: Option<Arc<str>>, group: Option<usize>) -> Settings {
        let id = match worker {
            Some(worker) => {
                let spawned = &self.remotes[worker].spawned;
                // Relaxed: its own. Release, pairs with the Acquire in `is_quiet`.
                let number = spawned.load(Relaxed);
                spawned.store(number + 1, Release);
                (worker as u64 + 1) << 48 | number
            }
            // Release, pairs with the Acquire in `is_quiet`.
            None => self.outside.fetch_add(1, Release),
        };
        Settings { shared: NonNull::from(self), id: TaskId(id), name, group, scope: None }
    }

    /// A task has ended on `worker`.
    #[inline]
    pub(crate) fn finished(&self, worker: usize) {
        let ended = &self.remotes[worker].ended;
        // Relaxed: its own. Release, pairs with the Acquire in `is_quiet`: what the task spawned is counted.
        ended.store(ended.load(Relaxed) + 1, Release);
        if self.stop() != Stop::No && self.is_quiet() {
            self.wake_all();
        }
    }

    /// How many tasks there are.
    pub(crate) fn live(&self) -> usize {
        // Ends first: so no task is counted that ended without having been spawned.
        let ended: u64 = self.remotes.iter().map(|remote| remote.ended.load(Acquire)).sum();
        let spawned: u64 = self.remotes.iter().map(|remote| remote.spawned.load(Acquire)).sum();
        (spawned + self.outside.load(Acquire)).saturating_sub(ended) as usize
    }

    /// Whether there are no tasks. Then, if nobody outside can spawn, it stays so: both counts only grow, and if the ends, counted first,
    /// are as many as all that were spawned later, there was no task at the time between.
    pub(crate) fn is_quiet(&self) -> bool {
        self.live() == 0
    }

    /// A task that `worker` may begin, from the queues that it shares with others.
    pub(crate) fn take(&self, worker: usize) -> Option<Item> {
        self.queues_of(worker).find_map(Injector::take)
    }

    pub(crate) fn has_some_for(&self, worker: usize) -> bool {
        // Relaxed: behind the caller's fence.
        self.queues_of(worker).any(|queue| queue.length.load(Relaxed) != 0)
    }

    fn queues_of(&self, worker: usize) -> impl Iterator<Item = &Injector> {
        let groups = self.groups.iter().zip(&self.queues[1..]);
        let own = groups.filter(move |(group, _)| group.workers.contains(&worker)).map(|(_, queue)| queue);
        own.chain(self.queues.first())
    }

    /// Takes tasks that have not begun, from a worker.
    pub(crate) fn inject_all(&self, tasks: Vec<Item>) {
        let added = self.queues[0].add(tasks, false);
        debug_assert!(added.is_ok());
        // (idle.1) Pairs with (idle.2).
        fence::light();
        if self.somebody_is_idle() {
            idle::wake_any(self);
        }
    }

    /// Takes a task from outside, or one for a group. It ends at once if the runtime takes none any more.
    pub(crate) fn inject(&self, task: TaskRef, from_outside: bool) {
        let group = task.group;
        let queue = &self.queues[group.map_or(0, |group| group + 1)];
        if let Err(refused) = queue.add(vec![Item::Task(task)], from_outside) {
            for item in refused {
                if let Item::Task(task) = item {
                    // Counted first: its end is not counted on any worker.
                    self.outside.fetch_sub(1, AcqRel);
                    // SAFETY: it has not begun, and does not.
                    unsafe { task.fail(Failed::Cancelled) };
                }
            }
            return;
        }
        // (idle.1) Pairs with (idle.2).
        fence::light();
        match group {
            None => idle::wake_any(self),
            Some(group) => {
                self.groups[group].workers.iter().any(|&worker| idle::wake(self, worker));
            }
        }
    }

    pub(crate) fn wake_all(&self) {
        fence::light();
        (0..self.remotes.len()).for_each(|worker| {
            idle::wake(self, worker);
        });
    }

    fn ask_to_stop(&self, how: Stop) {
        self.queues.iter().for_each(|queue| queue.tasks.with(|tasks| tasks.closed = true));
        self.stop.store(if how == Stop::Cancel { 2 } else { 1 }, Release);
        self.wake_all();
        if let Some(watch) = &self.watch {
            watch.wake();
        }
    }

    /// Keeps stacks on which a run was given up until nobody looks at them any more.
    pub(crate) fn bury(&self, stacks: Vec<Stack>) {
        self.buried.with(|buried| buried.extend(stacks));
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.buried.with(core::mem::take).into_iter().for_each(Stack::keep);
    }
}

/// Worker threads, and the tasks that they run.
///
/// Dropping it cancels all tasks and waits for them: one that has not begun never does, the others unwind at their next wait. Use
/// [`finish`](Self::finish) to let them run to their ends.
///
/// ```
/// use thalweg_task::Runtime;
///
/// let runtime = Runtime::new()?;
/// let answer = runtime.spawn(|| 6 * 7);
/// assert_eq!(answer.join()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Runtime {
    shared: Arc<Shared>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("workers", &self.workers())
            .field("tasks", &self.tasks())
            .finish_non_exhaustive()
    }
}

impl Runtime {
    /// As many workers as the process may run at once, with default settings.
    ///
    /// # Errors
    ///
    /// If the system gives no more threads.
    pub fn new() -> Result<Self, StartError> {
        Self::builder().start()
    }

    /// To choose the settings.
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn start(builder: Builder, victims: Box<[Box<[usize]>]>) -> Result<Self, StartError> {
        fence::prepare();
        let (owners, stealers): (Vec<_>, Vec<_>) = (0..builder.workers)
            .map(|_| stealing::lifo::<Item>(QUEUE.0, QUEUE.1).expect("the shape of the queue is fixed"))
            .unzip();
        let remote = |stealer| {
            CachePadded(Remote {
                inbox: AtomicPtr::new(core::ptr::null_mut()),
                asleep: AtomicBool::new(false),
                visitors: AtomicUsize::new(0),
                unparker: Short::new(None),
                stealer,
                spawned: AtomicU64::new(0),
                ended: AtomicU64::new(0),
                entered: Counter::new(),
                running: Counter::new(),
                asked: AtomicBool::new(false),
                answer: Short::new(None),
            })
        };
        let shared = Arc::new(Shared {
            remotes: stealers.into_iter().map(remote).collect(),
            victims,
            stack_bytes: builder.stack_bytes,
            idle: AtomicUsize::new(0),
            stop: AtomicU32::new(0),
            queues: (0..=builder.groups.len()).map(|_| Injector::default()).collect(),
            groups: builder.groups.into(),
            outside: AtomicU64::new(0),
            buried: Short::new(Vec::new()),
            name: builder.name.clone(),
            helpers: Helpers::default(),
            watch: builder.watch.map(|(after, tell)| Watch::new(after, tell)),
        });
        let mut runtime = Self { shared, threads: Vec::new() };
        for (index, owner) in owners.into_iter().enumerate() {
            let shared = runtime.shared.clone();
            let name = format!("{}-{index}", builder.name);
            // Dropping the runtime ends those that have been started.
            let thread = thread::start(&name, move || Worker::new(shared, index, owner).run());
            runtime.threads.push(thread.map_err(|error| StartError::NoThread { started: index, error })?);
        }
        if runtime.shared.watch.is_some() {
            let shared = runtime.shared.clone();
            let thread = thread::start(&format!("{}-watch", builder.name), move || watch::run(&shared));
            runtime.threads.push(thread.map_err(|error| StartError::NoThread { started: builder.workers, error })?);
        }
        Ok(runtime)
    }

    /// Starts a task. It runs as soon as a worker is free.
    pub fn spawn<F, T>(&self, body: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let settings = self.shared.settings(None, None, None);
        // SAFETY: it borrows nothing: `F` and `T` are `'static`.
        let (task, outcome) = unsafe { TaskRef::new(settings, body) };
        self.shared.inject(task, true);
        JoinHandle::new(outcome)
    }

    /// Runs `body` as a task, waits for it, and gives what it returns. It may borrow.
    ///
    /// From a thread, or from a task of this or another runtime.
    ///
    /// # Panics
    ///
    /// If `body` panics, with the same panic; or if there is no memory for its stack.
    ///
    /// ```
    /// use thalweg_task::{Runtime, spawn};
    ///
    /// let words = ["a", "stream", "of", "words"];
    /// let runtime = Runtime::builder().workers(2).start()?;
    /// let letters = runtime.run(|| words.iter().map(|word| word.len()).sum::<usize>());
    /// assert_eq!(letters, 14);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run<F, T>(&self, body: F) -> T
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        let settings = self.shared.settings(None, None, None);
        // SAFETY: `wait` returns when the task has ended, or never.
        let (task, outcome) = unsafe { TaskRef::new(settings, body) };
        self.shared.inject(task, true);
        let handle = JoinHandle::new(outcome);
        handle.wait_for_good();
        match handle.join() {
            Ok(value) => value,
            Err(error) => error.resume(),
        }
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.shared.remotes.len()
    }

    /// How many tasks there are that have not ended, now or lately.
    pub fn tasks(&self) -> usize {
        self.shared.live()
    }

    /// All tasks that have begun, and what they wait for.
    ///
    /// Each worker tells of its own when it comes to choose a task, which takes some microseconds where tasks wait often. A worker whose task does not
    /// let go for 50 ms is named instead. From a thread, or from a task.
    ///
    /// ```
    /// use thalweg_task::{Options, Reason, Runtime, Semaphore, State, yield_now};
    ///
    /// let runtime = Runtime::builder().workers(1).start()?;
    /// let never: &Semaphore = Box::leak(Box::new(Semaphore::new(0)));
    /// let waits = runtime.run(|| {
    ///     let waits = Options::new().name("patient").spawn(|| drop(never.acquire()));
    ///     yield_now();
    ///     waits
    /// });
    /// let dump = runtime.dump();
    /// assert_eq!(dump.tasks[0].name.as_deref(), Some("patient"));
    /// assert_eq!(dump.tasks[0].state, State::Waits(Reason::Permit));
    /// println!("{dump}");
    /// waits.cancel();
    /// # Ok::<(), thalweg_task::StartError>(())
    /// ```
    pub fn dump(&self) -> Dump {
        dump::of(&self.shared)
    }

    /// Waits until all tasks have ended, and ends the workers.
    ///
    /// Tasks may go on to spawn others. Nobody else can: the runtime is used up.
    pub fn finish(mut self) {
        self.stop(Stop::Finish);
    }

    fn stop(&mut self, how: Stop) {
        self.shared.ask_to_stop(how);
        let is_own_worker =
            Worker::with(|worker| core::ptr::eq(Arc::as_ptr(&worker.shared), Arc::as_ptr(&self.shared)));
        if is_own_worker == Some(true) || std::thread::panicking() {
            // The task that we are has to end first; or a panic goes on, which must not wait for tasks that wait for the one who panics.
            return self.threads.clear();
        }
        for thread in self.threads.drain(..) {
            // A worker panics only if an engine has given up the run.
            let _ = thread.join();
        }
        // No task is left, so no call either.
        for helper in self.shared.helpers.end() {
            let _ = helper.join();
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if !self.threads.is_empty() {
            self.stop(Stop::Cancel);
        }
    }
}
