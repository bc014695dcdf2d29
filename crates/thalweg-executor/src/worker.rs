//! A worker: a thread that runs tasks.
//!
//! # Invariants
//!
//! - **W1** A worker is touched by its thread alone. No `RefCell` of it is borrowed while code of others runs: a poll, or a destructor.

use crate::local::LocalQueue;
use crate::shared::Shared;
use crate::task::TaskRef;
use core::cell::{Cell, RefCell};
use core::mem;
use core::task::Waker;
use thalweg_queue::stealing::Rng;
use thalweg_sync::host::{self, Calls, Host};
use thalweg_sync::park::Parker;
use thalweg_sync::spin;
use thalweg_sync::sync::Arc;
use thalweg_sync::time::{self, Duration, Instant};

/// More workers than any machine has.
pub(crate) const MOST_WORKERS: usize = 1 << 12;
/// In so many turns, the queue of all goes first.
const SHARED_TURN: u32 = 61;
/// How often in a row the next place goes before the queue.
const MOST_NEXT: u32 = 3;
/// In so many turns, the clock is looked at.
const CLOCK_TURN: u32 = 16;
/// A poll is long that takes longer than this, on average between two looks at the clock: some hundred times what sharing costs.
const LONG: Duration = Duration::from_micros(5);
/// How many tasks a worker takes from the queue of all at once, at most.
const MOST_SHARED: usize = 32;

/// What the code of a task finds of its worker.
pub(crate) struct Context {
    shared: *const Shared,
    pub(crate) index: usize,
    worker: *const (),
    push: unsafe fn(*const (), TaskRef),
}

/// Tasks are no user-level threads: what waits in one waits with the thread.
static CALLS: Calls = Calls { waker: no_waker, park: no_park, yield_now: no_yield };

unsafe fn no_waker(_: *const ()) -> Option<Waker> {
    None
}

unsafe fn no_park(_: *const (), _: Option<Instant>) {}

unsafe fn no_yield(_: *const ()) -> bool {
    false
}

impl Context {
    /// Runs `access` with the context of this thread, if it is a worker's.
    #[inline]
    pub(crate) fn current<R>(access: impl FnOnce(&Self) -> R) -> Option<R> {
        let context = host::current()?.scheduler(&CALLS)?;
        // SAFETY: these calls are given with contexts only, which live until their workers end.
        Some(access(unsafe { &*context.cast::<Self>() }))
    }

    /// As [`current`](Self::current), if the worker is one of these.
    pub(crate) fn of<R>(shared: &Arc<Shared>, access: impl FnOnce(&Self) -> R) -> Option<R> {
        Self::at(Arc::as_ptr(shared), access)
    }

    /// As [`of`](Self::of).
    #[inline]
    pub(crate) fn at<R>(shared: *const Shared, access: impl FnOnce(&Self) -> R) -> Option<R> {
        Self::current(|context| core::ptr::eq(context.shared, shared).then(|| access(context))).flatten()
    }

    /// What the worker shares with others.
    pub(crate) fn shared(&self) -> Arc<Shared> {
        // SAFETY: a worker has a handle until it ends, so one more can be made of the pointer, which comes from it.
        unsafe {
            let shared = mem::ManuallyDrop::new(Arc::from_raw(self.shared));
            Arc::clone(&shared)
        }
    }

    /// Takes a task that can run.
    #[inline]
    pub(crate) fn push(&self, task: TaskRef) {
        // SAFETY: the worker lives as long as its context, and this is its thread.
        unsafe { (self.push)(self.worker, task) }
    }
}

pub(crate) struct Worker<Q: LocalQueue> {
    shared: Arc<Shared>,
    index: usize,
    thieves: Arc<[Q::Thief]>,
    queue: RefCell<Q>,
    /// The queue may have some: set by a push, taken back by a pop that finds none.
    filled: Cell<bool>,
    /// Goes before the queue.
    next: Cell<Option<TaskRef>>,
    /// How often in a row it has.
    row: Cell<u32>,
    turn: Cell<u32>,
    looked: Cell<Instant>,
    /// Polls are long lately.
    long: Cell<bool>,
    rng: RefCell<Rng>,
    /// What was stolen or has overflowed, for a moment.
    loot: Cell<Vec<TaskRef>>,
}

unsafe fn push<Q: LocalQueue>(worker: *const (), task: TaskRef) {
    // SAFETY: contexts of these workers alone have this function, and the caller is on the worker's thread.
    unsafe { &*worker.cast::<Worker<Q>>() }.push(task);
}

impl<Q: LocalQueue> Worker<Q> {
    pub(crate) fn new(shared: Arc<Shared>, index: usize, queue: Q, thieves: Arc<[Q::Thief]>) -> Self {
        Self {
            shared,
            index,
            thieves,
            queue: RefCell::new(queue),
            filled: Cell::new(false),
            next: Cell::new(None),
            row: Cell::new(0),
            turn: Cell::new(0),
            looked: Cell::new(time::now()),
            long: Cell::new(false),
            rng: RefCell::new(Rng::new(index as u64)),
            loot: Cell::default(),
        }
    }

    /// Runs tasks until the executor ends.
    pub(crate) fn run(&self) {
        let parker = Parker::new();
        self.shared.idle.arrive(self.index, parker.unparker());
        let worker = core::ptr::from_ref(self).cast();
        let context = Context { shared: Arc::as_ptr(&self.shared), index: self.index, worker, push: push::<Q> };
        let host = Host::new(core::ptr::from_ref(&context).cast(), &CALLS);
        // SAFETY: the context outlives the call, and the worker the context.
        unsafe { host::enter(host, || self.work(&parker)) };
    }

    fn work(&self, parker: &Parker) {
        // All search at first.
        let mut searches = true;
        while !self.shared.ends() {
            let task = self.choose().or_else(|| {
                if !mem::replace(&mut searches, true) {
                    self.shared.idle.search();
                }
                self.steal().or_else(|| self.rest(parker))
            });
            if let Some(task) = task {
                if mem::take(&mut searches) {
                    self.shared.idle.found();
                }
                self.poll(task);
            }
        }
        // Nobody else pushes here, and what is cancelled may push once more (E3).
        while let Some(task) = self.next.take().or_else(|| self.pop()) {
            task.cancel_now();
        }
    }

    /// The next to run, of what is not another worker's.
    #[inline]
    fn choose(&self) -> Option<TaskRef> {
        let turn = self.turn.get().wrapping_add(1);
        self.turn.set(turn);
        if turn.is_multiple_of(CLOCK_TURN) {
            self.look_at_the_clock();
        }
        if turn.is_multiple_of(SHARED_TURN)
            && let Some(task) = self.shared.take()
        {
            return Some(task);
        }
        if let Some(next) = self.next.take() {
            if self.row.get() < MOST_NEXT {
                self.row.set(self.row.get() + 1);
                return Some(next);
            }
            self.enqueue(next);
        }
        self.row.set(0);
        self.pop().or_else(|| self.take_shared())
    }

    #[inline]
    fn pop(&self) -> Option<TaskRef> {
        if !self.filled.get() {
            return None;
        }
        let task = self.queue.borrow_mut().pop();
        self.filled.set(task.is_some());
        task
    }

    /// Takes this worker's part of the queue of all.
    fn take_shared(&self) -> Option<TaskRef> {
        let first = self.shared.take()?;
        let part = (self.shared.waiting() / self.thieves.len()).min(MOST_SHARED);
        core::iter::from_fn(|| self.shared.take()).take(part).for_each(|task| self.enqueue(task));
        Some(first)
    }

    /// Takes all that another worker gives at once, from whom chance says.
    fn steal(&self) -> Option<TaskRef> {
        let workers = self.thieves.len();
        let mut loot = self.loot.take();
        let start = self.rng.borrow_mut().below(workers);
        let victims = (start..workers).chain(0..start).filter(|&victim| victim != self.index);
        let stolen = victims.into_iter().any(|victim| Q::steal(&self.thieves[victim], &mut loot));
        if stolen {
            self.shared.tallies[self.index].stole(loot.len());
        }
        let mut tasks = loot.drain(..);
        let first = tasks.next();
        tasks.for_each(|task| self.enqueue(task));
        self.loot.set(loot);
        first
    }

    fn poll(&self, task: TaskRef) {
        self.share();
        self.shared.tallies[self.index].polled();
        if let Some(again) = task.run() {
            self.enqueue(again);
        }
    }

    /// Lets thieves take what is here, if there may be any soon, and wakes one if nobody searches (S4).
    #[inline]
    fn share(&self) {
        if !self.filled.get() {
            return;
        }
        let idle = self.shared.idle.any();
        if (idle || self.long.get()) && !self.queue.borrow().is_empty() {
            self.queue.borrow_mut().share();
            if idle {
                self.shared.idle.notify();
            }
        }
    }

    fn look_at_the_clock(&self) {
        let now = time::now();
        self.long.set(now.since(self.looked.replace(now)) > LONG * CLOCK_TURN);
    }

    /// Takes a task that can run.
    fn push(&self, task: TaskRef) {
        // What a task wakes and spawns runs next, while what they share is in the cache. Of two, the other one is for thieves too.
        if let Some(before) = self.next.replace(Some(task)) {
            self.enqueue(before);
            self.share();
        }
    }

    fn enqueue(&self, task: TaskRef) {
        self.filled.set(true);
        let pushed = self.queue.borrow_mut().push(task);
        if let Err(task) = pushed {
            self.overflow(task);
        }
    }

    /// There is no room: half of the queue goes where everybody takes from.
    #[cold]
    fn overflow(&self, task: TaskRef) {
        let mut half = Vec::new();
        self.queue.borrow_mut().overflow(&mut half);
        half.into_iter().chain([task]).for_each(|task| self.shared.inject(task));
    }

    /// Looks around for a little while, then sleeps until there may be something to do.
    fn rest(&self, parker: &Parker) -> Option<TaskRef> {
        let look = || match self.shared.ends() {
            true => Some(None),
            false => self.take_shared().or_else(|| self.steal()).map(Some),
        };
        let slept = || {
            self.shared.tallies[self.index].slept();
            self.shared.idle.sleep(self.index, parker, look)
        };
        spin::briefly(look).or_else(slept).flatten()
    }
}
