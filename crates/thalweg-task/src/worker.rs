//! A worker: a thread that runs tasks.
//!
//! # Invariants
//!
//! - **W1** A worker is touched by its thread alone. No `RefCell` of it is borrowed while a task runs, or code of others.
//! - **W2** A task that has begun and can run is in `ready`, or in the inbox of its home, or is the one that `next` says; a task that has
//!   not begun is in one queue, the worker's or a shared one.
//! - **W3** `begun` has every task that the worker has begun and that has not ended; a task's `place` is where.

use crate::dump::{State, TaskInfo};
use crate::fiber::{self, Exit, Fiber, Left};
use crate::fork::{HalfRef, Item};
use crate::idle;
use crate::runtime::{Shared, Stop};
use crate::scope::Scoped;
use crate::stack::Stack;
use crate::task::{Failed, Task, TaskRef};
use crate::wait::Reason;
use core::cell::{Cell, RefCell};
use core::ptr::NonNull;
use core::task::Waker;
use std::collections::{BTreeMap, VecDeque};
use thalweg_queue::TryPushError;
use thalweg_queue::stealing::lifo::Owner;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed};
use thalweg_sync::host::{self, Calls, Host};
use thalweg_sync::park::Parker;
use thalweg_sync::sync::Arc;
use thalweg_sync::time::{self, Instant};
use thalweg_sync::{fence, hint};

/// In so many turns, tasks that have not begun go before those that have.
const FRESH_TURN: u32 = 16;
/// In so many turns, shared queues and the clock go first.
const SHARED_TURN: u32 = 64;
/// How many tasks a thief takes at most.
const LOOT: usize = 8;
/// How many stacks a worker keeps that no task has.
const MOST_FREE: usize = 1024;
/// About how many instructions a switch of stacks and the choice before it are, for engines that have time.
const SWITCH_INSTRUCTIONS: u64 = 40;

/// The panic that a worker ends by when an engine has given up its run.
struct GivenUp;

pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) index: usize,
    /// Tasks that have not begun, which others may steal.
    queue: RefCell<Owner<Item>>,
    /// The queue may have some: set by a push, taken back by a pop that finds none. Looking at its blocks would cost more.
    has_fresh: Cell<bool>,
    /// Begun tasks that can run.
    ready: RefCell<VecDeque<NonNull<Task>>>,
    /// Goes before all others.
    next: Cell<Option<NonNull<Task>>>,
    current: Cell<Option<NonNull<Task>>>,
    /// By which the current task leaves its stack.
    exit: Cell<Option<Exit>>,
    /// Fibers on which no task runs.
    free: RefCell<Vec<Fiber>>,
    begun: RefCell<Vec<NonNull<Task>>>,
    timers: RefCell<BTreeMap<(Instant, u64), NonNull<Task>>>,
    /// Numbers timers, so that no two are equal.
    timer: Cell<u64>,
    turn: Cell<u32>,
    /// A task has yielded: one that has not begun goes before it.
    yielded: Cell<bool>,
    /// Fibers that must not be unwound nor used again before the run is over.
    abandoned: RefCell<Vec<Fiber>>,
    /// How many tasks sleep while they unwind: their destructors wait. The standard library counts panics per thread, so meanwhile all tasks
    /// here seem to unwind, and none can be ended at a wait.
    unwinding: Cell<usize>,
    /// All that this worker has begun were told to end.
    told: Cell<bool>,
}

static CALLS: Calls = Calls { waker: host_waker, park: host_park, yield_now: host_yield };

unsafe fn host_waker(worker: *const ()) -> Option<Waker> {
    // SAFETY: `enter` was given a worker, which lives until its thread ends.
    let worker = unsafe { &*worker.cast::<Worker>() };
    // SAFETY: a task that runs has the scheduler's reference (T4).
    worker.current().map(|task| unsafe { TaskRef::to(task) }.into_waker())
}

unsafe fn host_park(worker: *const (), deadline: Option<Instant>) {
    // SAFETY: as above.
    unsafe { &*worker.cast::<Worker>() }.park(Reason::Park, deadline);
}

unsafe fn host_yield(worker: *const ()) -> bool {
    // SAFETY: as above.
    let worker = unsafe { &*worker.cast::<Worker>() };
    // Whoever spins while it unwinds waits for another thread: see `Worker::unwinding`.
    worker.current().is_some() && !std::thread::panicking() && worker.yields()
}

impl Worker {
    pub(crate) fn new(shared: Arc<Shared>, index: usize, queue: Owner<Item>) -> Self {
        Self {
            shared,
            index,
            queue: RefCell::new(queue),
            has_fresh: Cell::new(false),
            ready: RefCell::default(),
            next: Cell::new(None),
            current: Cell::new(None),
            exit: Cell::new(None),
            free: RefCell::default(),
            begun: RefCell::default(),
            timers: RefCell::default(),
            timer: Cell::new(0),
            turn: Cell::new(0),
            yielded: Cell::new(false),
            abandoned: RefCell::default(),
            unwinding: Cell::new(0),
            told: Cell::new(false),
        }
    }

    /// Runs `access` with the worker of this thread, if it is one.
    #[inline(always)]
    pub(crate) fn with<R>(access: impl FnOnce(&Worker) -> R) -> Option<R> {
        let worker = host::current()?.scheduler(&CALLS)?;
        // SAFETY: these calls are given with workers only, which live until their threads end.
        Some(access(unsafe { &*worker.cast::<Worker>() }))
    }

    /// Whether it is this worker of this runtime.
    #[inline]
    pub(crate) fn is(&self, shared: NonNull<Shared>, index: usize) -> bool {
        core::ptr::eq(Arc::as_ptr(&self.shared), shared.as_ptr()) && self.index == index
    }

    /// The task that runs.
    #[inline]
    pub(crate) fn current(&self) -> Option<NonNull<Task>> {
        self.current.get()
    }

    /// Runs tasks until the runtime ends.
    pub(crate) fn run(&self) {
        let parker = Parker::new();
        self.shared.remotes[self.index].unparker.with(|place| *place = Some(parker.unparker()));
        let host = Host::new(core::ptr::from_ref(self).cast(), &CALLS);
        // SAFETY: `self` outlives the call, and its tasks run in it.
        unsafe {
            host::enter(host, || {
                loop {
                    self.take_inbox();
                    self.answer();
                    match self.pick() {
                        Some(task) => self.enter(task),
                        None if self.shared.stop() != Stop::No && self.stops() => break,
                        None => idle::sleep(self, &parker),
                    }
                }
            });
        }
        // Others may have looked before the last task had ended.
        self.shared.wake_all();
        self.shared.left(self.index);
    }

    /// The tasks of this worker have yet to be told to end.
    pub(crate) fn has_to_tell(&self) -> bool {
        self.shared.stop() == Stop::Cancel && !self.told.get()
    }

    /// Whether all is over; tells the tasks to end if that was asked for.
    fn stops(&self) -> bool {
        if self.shared.stop() == Stop::Cancel && !self.told.replace(true) {
            let begun = self.begun.borrow().clone();
            // SAFETY: they have not ended (W3), and none runs meanwhile.
            begun.into_iter().for_each(|task| unsafe { task.as_ref() }.cancel());
            return false;
        }
        self.shared.is_quiet()
    }

    // What can run.

    /// Moves what others have woken to `ready`.
    #[inline]
    fn take_inbox(&self) {
        let inbox = &self.shared.remotes[self.index].inbox;
        // Relaxed: a look; what is there is taken by the swap.
        if inbox.load(Relaxed).is_null() {
            return;
        }
        // (inbox.2) Acquire, pairs with (inbox.1): the links are visible.
        let mut task = NonNull::new(inbox.swap(core::ptr::null_mut(), Acquire));
        let mut ready = self.ready.borrow_mut();
        let first = ready.len();
        while let Some(some) = task {
            ready.push_back(some);
            // SAFETY: it was in the inbox, so it lives (T3). Relaxed: see (inbox.2).
            task = NonNull::new(unsafe { some.as_ref() }.next.load(Relaxed));
        }
        // The one that came last is first in the inbox.
        ready.make_contiguous()[first..].reverse();
    }

    /// The next to run.
    #[inline]
    fn pick(&self) -> Option<NonNull<Task>> {
        if let Some(next) = self.next.take() {
            return Some(next);
        }
        let turn = self.turn.get().wrapping_add(1);
        self.turn.set(turn);
        if turn.is_multiple_of(FRESH_TURN) {
            let fresh = match turn.is_multiple_of(SHARED_TURN) {
                true => {
                    self.fire();
                    self.shared_task()
                }
                false => self.fresh(),
            };
            if fresh.is_some() {
                return fresh;
            }
        }
        if self.yielded.take()
            && let Some(fresh) = self.fresh()
        {
            return Some(fresh);
        }
        let ready = self.ready.borrow_mut().pop_front();
        ready
            .or_else(|| self.fresh())
            .or_else(|| self.shared_task())
            .or_else(|| {
                self.fire();
                self.ready.borrow_mut().pop_front()
            })
            .or_else(|| self.steal())
    }

    /// A task of the own queue.
    #[inline]
    fn fresh(&self) -> Option<NonNull<Task>> {
        if self.has_fresh.get() { self.pop() } else { None }
    }

    fn pop(&self) -> Option<NonNull<Task>> {
        let mut queue = self.queue.borrow_mut();
        let fresh = queue.pop();
        self.has_fresh.set(fresh.is_some());
        // What is left is for others, if they have nothing to do, before this one runs for long.
        if fresh.is_some() && self.shared.somebody_is_idle() && !queue.is_empty() {
            queue.share();
            drop(queue);
            idle::wake_one(&self.shared, self.index);
        }
        fresh.map(|item| self.task_of(item))
    }

    /// The task that `item` is, or a new one that runs it.
    fn task_of(&self, item: Item) -> NonNull<Task> {
        match item {
            Item::Task(task) => task.into_pointer(),
            Item::Half(half) => {
                let settings = self.shared.settings(Some(self.index), None, None);
                // SAFETY: whoever forked waits for the half's end, behind which the task touches nothing of it.
                let (task, _nobody_asks) = unsafe { TaskRef::new(settings, move || half.run()) };
                task.into_pointer()
            }
        }
    }

    /// A task of a queue that several workers take from.
    fn shared_task(&self) -> Option<NonNull<Task>> {
        self.shared.take(self.index).map(|item| self.task_of(item))
    }

    /// Takes what has not begun from another worker, the nearest that has some: half of a fork alone, as the oldest is the largest and
    /// will be divided further; of tasks, up to half of what is there.
    fn steal(&self) -> Option<NonNull<Task>> {
        let steal = |&victim: &usize| {
            let stealer = &self.shared.remotes[victim].stealer;
            stealer.steal().ok().map(|first| (first, stealer))
        };
        let (first, stealer) = self.shared.victims(self.index).iter().find_map(steal)?;
        if let Item::Task(_) = &first {
            let mut loot = Vec::new();
            let _none_left = stealer.steal_into(&mut loot, LOOT.min(stealer.len() / 2));
            // The oldest comes first, here as there.
            loot.into_iter().rev().for_each(|item| self.enqueue(item));
        }
        Some(self.task_of(first))
    }

    /// Takes what has not begun, for itself or whoever is idle.
    #[inline]
    pub(crate) fn push(&self, item: Item) {
        self.enqueue(item);
        // (idle.1) Pairs with (idle.2).
        fence::light();
        if self.shared.somebody_is_idle() {
            self.queue.borrow_mut().share();
            idle::wake_one(&self.shared, self.index);
        }
    }

    #[inline]
    fn enqueue(&self, item: Item) {
        self.has_fresh.set(true);
        let pushed = self.queue.borrow_mut().push(item);
        if let Err(TryPushError::Full(item) | TryPushError::Busy(item) | TryPushError::Closed(item)) = pushed {
            self.overflow(item);
        }
    }

    /// The queue has no room: half of it goes where everybody takes from, the oldest first. So the next pushes find room.
    #[cold]
    fn overflow(&self, item: Item) {
        let half = self.queue.borrow().len() / 2;
        let stealer = &self.shared.remotes[self.index].stealer;
        let mut overflow: Vec<_> = Vec::new();
        while overflow.len() < half && stealer.steal_into(&mut overflow, half).is_ok() {}
        overflow.push(item);
        self.shared.inject_all(overflow);
    }

    /// A task of this worker can run again.
    #[inline]
    pub(crate) fn make_ready(&self, task: NonNull<Task>) {
        self.ready.borrow_mut().push_back(task);
    }

    /// Whether there is anything to do here, without a look at others.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        !self.ready.borrow().is_empty()
            || !self.shared.remotes[self.index].inbox.load(Relaxed).is_null()
            || self.has_fresh.get()
    }

    // Time.

    /// Wakes those whose time has come.
    fn fire(&self) {
        if self.timers.borrow().is_empty() {
            return;
        }
        let now = time::now();
        loop {
            let task = {
                let mut timers = self.timers.borrow_mut();
                match timers.first_entry() {
                    Some(first) if first.key().0 <= now => first.remove(),
                    _ => return,
                }
            };
            // SAFETY: a task takes its timer away before it goes on, so this one is parked, or woken and not yet run: it lives.
            unsafe { task.as_ref() }.unpark();
        }
    }

    pub(crate) fn next_timer(&self) -> Option<Instant> {
        self.timers.borrow().first_key_value().map(|(&(at, _), _)| at)
    }

    // Running.

    /// Runs a task until it leaves its stack.
    #[inline]
    fn enter(&self, pointer: NonNull<Task>) {
        // SAFETY: what can run has not ended, and has the scheduler's reference.
        let task = unsafe { pointer.as_ref() };
        let (mut fiber, begins) = match task.at_home.fiber.take() {
            Some(fiber) => (fiber, None),
            None => match self.begin(task) {
                Some(fiber) => (fiber, Some(pointer)),
                None => return,
            },
        };
        self.current.set(Some(pointer));
        let remote = &self.shared.remotes[self.index];
        remote.running.set(task.id.0 + 1);
        remote.entered.add(1);
        self.exit.set(Some(fiber.exit()));
        hint::work(SWITCH_INSTRUCTIONS);
        let left = fiber.enter(begins);
        self.current.set(None);
        remote.running.set(0);
        match left {
            Left::Parks => task.at_home.fiber.set(Some(fiber)),
            Left::Yields => {
                task.at_home.fiber.set(Some(fiber));
                self.make_ready(pointer);
            }
            Left::Ends => {
                self.keep(fiber);
                self.end(pointer);
            }
            Left::Abandoned => {
                self.abandoned.borrow_mut().push(fiber);
                std::panic::resume_unwind(Box::new(GivenUp));
            }
        }
    }

    /// A stack for a task that begins. None if the task ends here.
    fn begin(&self, task: &Task) -> Option<Fiber> {
        if task.is_cancelled() || self.shared.stop() == Stop::Cancel {
            // SAFETY: it has not begun, and does not.
            unsafe { task.fail(Failed::Cancelled) };
            self.release(NonNull::from(task));
            return None;
        }
        let fiber = self.free.borrow_mut().pop();
        let fiber = match fiber {
            Some(fiber) => fiber,
            None => match Stack::take(self.shared.stack_bytes) {
                Ok(stack) => Fiber::new(stack),
                Err(error) => {
                    // SAFETY: as above.
                    unsafe { task.fail(Failed::NoStack(error)) };
                    self.release(NonNull::from(task));
                    return None;
                }
            },
        };
        task.begins_on(self.index);
        let mut begun = self.begun.borrow_mut();
        task.at_home.place.set(begun.len());
        begun.push(NonNull::from(task));
        Some(fiber)
    }

    /// Keeps a stack for the next task; if there are many, for whoever has none.
    #[inline]
    fn keep(&self, fiber: Fiber) {
        let mut free = self.free.borrow_mut();
        if free.len() < MOST_FREE {
            free.push(fiber);
        } else {
            fiber.into_stack().keep();
        }
    }

    /// A task has run to its end.
    fn end(&self, pointer: NonNull<Task>) {
        // SAFETY: the scheduler's reference is still there.
        let task = unsafe { pointer.as_ref() };
        {
            let mut begun = self.begun.borrow_mut();
            let place = task.at_home.place.get();
            begun.swap_remove(place);
            if let Some(moved) = begun.get(place) {
                // SAFETY: it has begun here and not ended (W3).
                unsafe { moved.as_ref() }.at_home.place.set(place);
            }
        }
        task.ended();
        self.release(pointer);
    }

    /// Gives the scheduler's reference back, and tells those who wait for the end of all tasks of a scope, or of the runtime.
    fn release(&self, pointer: NonNull<Task>) {
        // SAFETY: the scheduler's reference, which is used for nothing else any more.
        let task = unsafe { TaskRef::from_pointer(pointer) };
        let scope = task.scope();
        drop(task);
        if let Some(scope) = scope {
            // SAFETY: the scope waits until it was told of each of its tasks.
            unsafe { Scoped::leave(scope) };
        }
        self.shared.finished(self.index);
    }

    // What tasks do.

    /// Leaves the stack of the current task.
    #[inline(always)]
    fn leave(&self, why: Left) {
        let exit = self.exit.get().expect("a task runs");
        // SAFETY: the caller runs on the stack of the current task, whose exit that is.
        unsafe { fiber::leave(exit, why) };
    }

    /// The current task sleeps until it is woken or the clock shows `deadline`; or returns at once, if it was woken before.
    #[inline(always)]
    pub(crate) fn park(&self, reason: Reason, deadline: Option<Instant>) {
        let Some(pointer) = self.current() else { return };
        // SAFETY: it is the task that calls.
        let task = unsafe { pointer.as_ref() };
        if !task.parks() {
            return;
        }
        task.at_home.reason.set(Some(reason));
        let timer = deadline.map(|deadline| {
            let timer = (deadline, self.timer.replace(self.timer.get() + 1));
            self.timers.borrow_mut().insert(timer, pointer);
            timer
        });
        let unwinds = std::thread::panicking();
        self.unwinding.set(self.unwinding.get() + usize::from(unwinds));
        self.leave(Left::Parks);
        if unwinds {
            self.one_goes_on_unwinding();
        }
        if let Some(timer) = timer {
            self.timers.borrow_mut().remove(&timer);
        }
        task.at_home.reason.set(None);
        task.unparked();
    }

    /// A task that slept while it unwound goes on. Those that were cancelled and could not end meanwhile look again.
    #[cold]
    fn one_goes_on_unwinding(&self) {
        self.unwinding.set(self.unwinding.get() - 1);
        let begun = self.begun.borrow().clone();
        // SAFETY: they have not ended (W3), and none of them runs meanwhile but this one.
        let tasks = begun.into_iter().map(|task| unsafe { task.as_ref() });
        tasks.filter(|task| task.is_cancelled()).for_each(Task::unpark);
    }

    /// The current task lets others run. False if there are none.
    #[inline(always)]
    pub(crate) fn yields(&self) -> bool {
        let turn = self.turn.get();
        if !self.has_work() && !turn.wrapping_add(1).is_multiple_of(SHARED_TURN) {
            self.turn.set(turn.wrapping_add(1));
            return false;
        }
        self.yielded.set(true);
        self.leave(Left::Yields);
        true
    }

    /// `task` runs next, before all others that can.
    pub(crate) fn run_next(&self, task: NonNull<Task>) {
        if let Some(other) = self.next.replace(Some(task)) {
            self.ready.borrow_mut().push_front(other);
        }
    }

    /// The current task goes behind all others, and the one that [`run_next`](Self::run_next) was told runs.
    pub(crate) fn switch(&self) {
        self.leave(Left::Yields);
    }

    /// `task`, if it is the newest in the own queue, runs next.
    pub(crate) fn run_next_if_newest(&self, task: &TaskRef) {
        let newest = self.queue.borrow_mut().pop();
        match newest {
            Some(Item::Task(newest)) if newest.pointer() == task.pointer() => self.run_next(newest.into_pointer()),
            Some(other) => self.enqueue(other),
            None => {}
        }
    }

    /// Takes a half back that was pushed here. False if somebody else has it.
    #[inline]
    pub(crate) fn take_back(&self, half: HalfRef) -> bool {
        let newest = self.queue.borrow_mut().pop();
        match newest {
            Some(Item::Half(newest)) if newest == half => true,
            Some(newer) => self.search(half, newer),
            None => false,
        }
    }

    /// As [`take_back`](Self::take_back), below `newer`, which was started later and has not begun.
    #[cold]
    fn search(&self, half: HalfRef, newer: Item) -> bool {
        let mut above = vec![newer];
        let found = loop {
            let next = self.queue.borrow_mut().pop();
            match next {
                Some(Item::Half(other)) if other == half => break true,
                Some(other) => above.push(other),
                None => break false,
            }
        };
        above.into_iter().rev().for_each(|item| self.enqueue(item));
        found
    }

    /// An engine gives up the run, and others may still look at what is on the stack of the current task: nothing on it is dropped, and
    /// it is not used again before the run is over.
    pub(crate) fn abandon(&self) -> ! {
        self.leave(Left::Abandoned);
        unreachable!("a stack that was abandoned is not entered");
    }
}

impl Worker {
    /// Tells those who ask what tasks there are.
    #[inline]
    fn answer(&self) {
        let remote = &self.shared.remotes[self.index];
        // Relaxed: a look; the answer is handed over by its lock.
        if remote.asked.load(Relaxed) {
            remote.asked.store(false, Relaxed);
            let tasks = self.describe();
            remote.answer.with(|answer| *answer = Some(tasks));
        }
    }

    /// The tasks that this worker has begun.
    pub(crate) fn describe(&self) -> Vec<TaskInfo> {
        let begun = self.begun.borrow();
        begun
            .iter()
            .map(|&task| {
                let state = if self.current() == Some(task) { Some(State::Running) } else { None };
                // SAFETY: it has not ended (W3).
                TaskInfo::of(unsafe { task.as_ref() }, self.index, state)
            })
            .collect()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.free.take().into_iter().for_each(|fiber| fiber.into_stack().keep());
        // Where an engine has given up the run, tasks are left. Others may still look at what is on their stacks.
        // SAFETY: this thread's tasks, none of which runs.
        let left = self.begun.take().into_iter().filter_map(|task| unsafe { task.as_ref() }.at_home.fiber.take());
        let left: Vec<_> = left.chain(self.abandoned.take()).map(Fiber::into_stack).collect();
        if !left.is_empty() {
            self.shared.bury(left);
        }
    }
}
