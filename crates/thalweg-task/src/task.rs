//! What a task is made of, for those who schedule it and those who wait for it.
//!
//! # Invariants
//!
//! - **T1** A task has a *home*, the worker that began it. From then on it runs on that worker's thread only. Its [`Home`] part is touched by
//!   that thread alone, and before it begins by whoever holds it.
//! - **T2** `token` is [`EMPTY`], [`PARKED`] or [`NOTIFIED`]. The task writes `PARKED` before it leaves its stack; who finds `PARKED` when
//!   writing `NOTIFIED` schedules the task, and nobody else does. So a task is in at most one list of those that can run.
//! - **T3** A task that is `PARKED` does not end before it is scheduled, and its runtime does not end before the task.
//! - **T4** References are counted. One is the scheduler's until the task has ended, one the [`JoinHandle`](crate::JoinHandle)'s.
//! - **T5** The result belongs to whoever runs the task until its [`End`], then to the joiner; or, if nobody joins, again to whoever ended the
//!   task, who drops it before the end is announced anywhere else.

use crate::end::End;
use crate::fiber::Fiber;
use crate::runtime::Shared;
use crate::scope::Scoped;
use crate::wait::Reason;
use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::NonNull;
use core::task::{RawWaker, RawWakerVTable, Waker};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, fence};
use thalweg_sync::cell::Slot;
use thalweg_sync::sync::Arc;

/// Nobody sleeps, nobody was woken.
const EMPTY: u32 = 0;
/// The task sleeps.
const PARKED: u32 = 1;
/// A wake-up that no sleep has taken yet.
const NOTIFIED: u32 = 2;

/// A task's number: unique in its runtime, in no order that means anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(pub(crate) u64);

impl core::fmt::Display for TaskId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The panic that unwinds a task which is cancelled.
pub(crate) struct Cancelled;

/// How a task ended, if not by returning.
#[derive(Debug)]
pub(crate) enum Failed {
    Panicked(Box<dyn Any + Send>),
    Cancelled,
    NoStack(std::io::Error),
}

/// The part that the home alone touches (T1).
#[derive(Default)]
pub(crate) struct Home {
    /// The stack, while the task does not run.
    pub(crate) fiber: Cell<Option<Fiber>>,
    /// Its place among those that its worker has begun.
    pub(crate) place: Cell<usize>,
    pub(crate) reason: Cell<Option<Reason>>,
}

/// What all tasks have; the closure and its result come behind it.
#[repr(C)]
pub(crate) struct Task {
    calls: &'static Calls,
    refs: AtomicUsize,
    token: AtomicU32,
    end: End,
    /// What a wait was granted: see [`wait`](crate::wait).
    pub(crate) grant: AtomicU32,
    cancelled: AtomicBool,
    /// The home's number plus one, 0 before the task begins.
    home: AtomicUsize,
    /// The next in an inbox.
    pub(crate) next: AtomicPtr<Task>,
    pub(crate) shared: NonNull<Shared>,
    pub(crate) id: TaskId,
    pub(crate) name: Option<Arc<str>>,
    pub(crate) group: Option<usize>,
    scope: Option<NonNull<Scoped>>,
    pub(crate) at_home: Home,
}

// SAFETY: `at_home` is touched by one thread at a time (T1), `shared` is read only while the runtime lives (T3), the rest is atomic or
// handed over by `end` (T5).
unsafe impl Send for Task {}
// SAFETY: as above.
unsafe impl Sync for Task {}

/// What depends on the closure.
struct Calls {
    run: unsafe fn(NonNull<Task>),
    fail: unsafe fn(NonNull<Task>, Failed),
    /// Drops the result. True if that is a panic, which nobody has seen.
    discard: unsafe fn(NonNull<Task>) -> bool,
    free: unsafe fn(NonNull<Task>),
}

/// A task of a closure `F` that returns `T`.
#[repr(C)]
struct Spawned<F, T> {
    task: Task,
    stage: Slot<Stage<F, T>>,
}

enum Stage<F, T> {
    Body(F),
    Result(Result<T, Failed>),
    Taken,
}

/// What a new task is given.
pub(crate) struct Settings {
    pub(crate) shared: NonNull<Shared>,
    pub(crate) id: TaskId,
    pub(crate) name: Option<Arc<str>>,
    pub(crate) group: Option<usize>,
    /// The scope that the task ends before.
    pub(crate) scope: Option<NonNull<Scoped>>,
}

/// A reference to a task (T4).
pub(crate) struct TaskRef(NonNull<Task>);

// SAFETY: `Task` is `Sync`, and the count is atomic.
unsafe impl Send for TaskRef {}
// SAFETY: as above.
unsafe impl Sync for TaskRef {}

impl TaskRef {
    /// A new task: the scheduler's reference, and another one that can take the result.
    ///
    /// # Safety
    ///
    /// What `body` borrows lives until the task has ended, and what `T` borrows until the result was taken or dropped.
    pub(crate) unsafe fn new<F, T>(settings: Settings, body: F) -> (TaskRef, Outcome<T>)
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        let Settings { shared, id, name, group, scope } = settings;
        let task = Task {
            calls: &const { Calls { run: run::<F, T>, fail: fail::<F, T>, discard: discard::<F, T>, free: free::<F, T> } },
            refs: AtomicUsize::new(2),
            token: AtomicU32::new(EMPTY),
            end: End::new(),
            grant: AtomicU32::new(0),
            cancelled: AtomicBool::new(false),
            home: AtomicUsize::new(0),
            next: AtomicPtr::new(core::ptr::null_mut()),
            shared,
            id,
            name,
            group,
            scope,
            at_home: Home::default(),
        };
        let spawned = Box::new(Spawned { task, stage: Slot::new(Stage::<F, T>::Body(body)) });
        let task = NonNull::from(Box::leak(spawned)).cast::<Task>();
        (TaskRef(task), Outcome { task: TaskRef(task), take: take::<F, T>, _result: PhantomData })
    }

    pub(crate) fn pointer(&self) -> NonNull<Task> {
        self.0
    }

    /// The pointer; [`from_pointer`](Self::from_pointer) makes it a reference again.
    pub(crate) fn into_pointer(self) -> NonNull<Task> {
        let pointer = self.0;
        core::mem::forget(self);
        pointer
    }

    /// # Safety
    ///
    /// `pointer` comes from [`into_pointer`](Self::into_pointer), and is given back once.
    pub(crate) unsafe fn from_pointer(pointer: NonNull<Task>) -> Self {
        Self(pointer)
    }

    /// Another reference to a task that lives.
    ///
    /// # Safety
    ///
    /// Somebody has a reference now.
    pub(crate) unsafe fn to(pointer: NonNull<Task>) -> Self {
        // Relaxed: whoever has a reference keeps the task, and a new one orders nothing.
        // SAFETY: the caller's promise.
        unsafe { pointer.as_ref() }.refs.fetch_add(1, Relaxed);
        Self(pointer)
    }

    /// Wakes the task when the waker says so.
    pub(crate) fn into_waker(self) -> Waker {
        // SAFETY: `WAKER` treats the pointer as the reference that it is.
        unsafe { Waker::from_raw(RawWaker::new(self.into_pointer().as_ptr().cast(), &WAKER)) }
    }
}

impl core::ops::Deref for TaskRef {
    type Target = Task;
    #[inline(always)]
    fn deref(&self) -> &Task {
        // SAFETY: the reference keeps the task (T4).
        unsafe { self.0.as_ref() }
    }
}

impl Clone for TaskRef {
    fn clone(&self) -> Self {
        // SAFETY: `self` is a reference.
        unsafe { Self::to(self.0) }
    }
}

impl Drop for TaskRef {
    #[inline]
    fn drop(&mut self) {
        // (task.1) Release, pairs with (task.2): what others did with the task comes before its end.
        if self.refs.fetch_sub(1, Release) == 1 {
            // (task.2) Acquire, pairs with (task.1).
            fence(Acquire);
            // SAFETY: this was the last reference.
            unsafe { (self.calls.free)(self.0) };
        }
    }
}

static WAKER: RawWakerVTable = RawWakerVTable::new(
    |task| {
        // SAFETY: the waker that is cloned is a reference.
        let task = unsafe { TaskRef::to(NonNull::new_unchecked(task.cast_mut().cast())) };
        RawWaker::new(task.into_pointer().as_ptr().cast(), &WAKER)
    },
    |task| {
        // SAFETY: the waker was a reference, and is used up.
        let task = unsafe { TaskRef::from_pointer(NonNull::new_unchecked(task.cast_mut().cast())) };
        task.unpark();
    },
    |task| {
        // SAFETY: the waker is a reference.
        unsafe { &*task.cast::<Task>() }.unpark();
    },
    |task| {
        // SAFETY: the waker was a reference, and is used up.
        drop(unsafe { TaskRef::from_pointer(NonNull::new_unchecked(task.cast_mut().cast())) });
    },
);

impl Task {
    /// Runs the closure and keeps its result, or its panic. The caller is on the task's own stack.
    ///
    /// # Safety
    ///
    /// Called once, and not after [`fail`](Self::fail).
    pub(crate) unsafe fn run(&self) {
        // SAFETY: `self` is the header of what `calls` was made for.
        unsafe { (self.calls.run)(NonNull::from(self)) };
    }

    /// Ends a task that has not begun.
    ///
    /// # Safety
    ///
    /// As [`run`](Self::run).
    pub(crate) unsafe fn fail(&self, why: Failed) {
        // SAFETY: as above.
        unsafe { (self.calls.fail)(NonNull::from(self), why) };
        self.ended();
    }

    /// The result is there: whoever waits for it is told.
    pub(crate) fn ended(&self) {
        if !self.end.finish() {
            // SAFETY: nobody asks for the result (T5).
            unsafe { self.discard() };
        }
    }

    /// Nobody asks for the result any more: it is dropped now, or by whoever ends the task.
    ///
    /// # Safety
    ///
    /// Only the one joiner calls this, last, and not if it has taken the result.
    pub(crate) unsafe fn detach(&self) {
        if !self.end.detach() {
            // SAFETY: it has ended, so the result is the joiner's (T5), whose handle lives no longer than the scope.
            unsafe { self.discard() };
        }
    }

    #[inline]
    pub(crate) fn has_ended(&self) -> bool {
        self.end.is_over()
    }

    /// Where the one joiner waits.
    pub(crate) fn end(&self) -> &End {
        &self.end
    }

    /// Drops the result.
    ///
    /// # Safety
    ///
    /// It is the caller's (T5), and its scope has not ended.
    unsafe fn discard(&self) {
        // SAFETY: the caller's promise. A destructor that panics ends here: there is nobody to tell.
        let dropped = catch_unwind(AssertUnwindSafe(|| unsafe { (self.calls.discard)(NonNull::from(self)) }));
        if let (Some(scope), true) = (self.scope, dropped.unwrap_or(true)) {
            // SAFETY: the caller's promise.
            unsafe { scope.as_ref() }.panicked();
        }
    }

    /// The scope that waits for the task. To be told when nobody touches what the task borrows any more.
    pub(crate) fn scope(&self) -> Option<NonNull<Scoped>> {
        self.scope
    }

    /// The home's number; none if the task has not begun.
    #[inline]
    pub(crate) fn home(&self) -> Option<usize> {
        // Relaxed: whoever asks has been told of the task by its home, or takes either answer.
        self.home.load(Relaxed).checked_sub(1)
    }

    pub(crate) fn begins_on(&self, worker: usize) {
        // Relaxed: others learn of it by the token, or do not care.
        self.home.store(worker + 1, Relaxed);
    }

    /// Asks the task to end at its next wait.
    pub(crate) fn cancel(&self) {
        // Release, pairs with the Acquire in `is_cancelled`: what the one who cancels did before is visible to the task.
        self.cancelled.store(true, Release);
        self.unpark();
    }

    #[inline]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Acquire)
    }

    /// About to leave the stack. False if a wake-up is there already; it is taken.
    #[inline]
    pub(crate) fn parks(&self) -> bool {
        // (task.6) Acquire, pairs with (task.7): what came before the wake-up is visible. Release, pairs with the Acquire there.
        match self.token.compare_exchange(EMPTY, PARKED, AcqRel, Acquire) {
            Ok(_) => true,
            Err(_) => {
                // Relaxed: it was read above; a wake-up that comes in between is the same wake-up.
                self.token.store(EMPTY, Relaxed);
                false
            }
        }
    }

    /// Back on the stack: takes the wake-up.
    #[inline]
    pub(crate) fn unparked(&self) {
        // (task.6) again. A swap, so that none gets lost in between.
        self.token.swap(EMPTY, Acquire);
    }

    /// Wakes the task, now or at its next wait.
    #[inline]
    pub(crate) fn unpark(&self) {
        // (task.7) Release, pairs with (task.6). Acquire, pairs with its Release: the task is seen as it went to sleep.
        if self.token.swap(NOTIFIED, AcqRel) == PARKED {
            // SAFETY: it was parked, and only we schedule it (T2), so it and its runtime live (T3).
            unsafe { Shared::schedule(NonNull::from(self)) };
        }
    }
}

impl Task {
    /// As [`unpark`](Self::unpark), and if the task's home is this worker, it runs next.
    pub(crate) fn unpark_next(&self) {
        // (task.7) again.
        if self.token.swap(NOTIFIED, AcqRel) == PARKED {
            // SAFETY: as there.
            unsafe { Shared::schedule_next(NonNull::from(self)) };
        }
    }
}

impl core::fmt::Debug for TaskRef {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Task").field("id", &self.id.0).field("name", &self.name).finish_non_exhaustive()
    }
}

/// A reference that can take the result, once.
pub(crate) struct Outcome<T> {
    pub(crate) task: TaskRef,
    take: unsafe fn(NonNull<Task>) -> Result<T, Failed>,
    _result: PhantomData<fn() -> T>,
}

impl<T> Outcome<T> {
    /// The result.
    ///
    /// # Safety
    ///
    /// The task [has ended](Task::has_ended), and nobody has taken it yet.
    pub(crate) unsafe fn take(&self) -> Result<T, Failed> {
        // SAFETY: `take` was made for this task.
        unsafe { (self.take)(self.task.pointer()) }
    }
}

unsafe fn run<F: FnOnce() -> T, T>(task: NonNull<Task>) {
    // SAFETY: the header of a task is where the task is.
    let spawned = unsafe { task.cast::<Spawned<F, T>>().as_ref() };
    // SAFETY: until the end is announced the stage belongs to whoever runs the task.
    let body = spawned.stage.with_mut(|stage| match unsafe { core::mem::replace(&mut *stage, Stage::Taken) } {
        Stage::Body(body) => body,
        _ => unreachable!("a task runs once"),
    });
    let result = catch_unwind(AssertUnwindSafe(body)).map_err(|panic| match panic.downcast::<Cancelled>() {
        Ok(_) => Failed::Cancelled,
        Err(panic) => Failed::Panicked(panic),
    });
    // SAFETY: as above.
    spawned.stage.with_mut(|stage| unsafe { *stage = Stage::Result(result) });
}

unsafe fn fail<F, T>(task: NonNull<Task>, why: Failed) {
    // SAFETY: as in `run`.
    let spawned = unsafe { task.cast::<Spawned<F, T>>().as_ref() };
    // SAFETY: as in `run`.
    let old = spawned.stage.with_mut(|stage| unsafe { core::mem::replace(&mut *stage, Stage::Result(Err(why))) });
    drop(old);
}

unsafe fn take<F, T>(task: NonNull<Task>) -> Result<T, Failed> {
    // SAFETY: as in `run`.
    let spawned = unsafe { task.cast::<Spawned<F, T>>().as_ref() };
    // SAFETY: the task has ended, so the stage belongs to the one joiner.
    spawned.stage.with_mut(|stage| match unsafe { core::mem::replace(&mut *stage, Stage::Taken) } {
        Stage::Result(result) => result,
        _ => unreachable!("a result is taken once, after the end"),
    })
}

unsafe fn discard<F, T>(task: NonNull<Task>) -> bool {
    // SAFETY: as in `run`.
    let spawned = unsafe { task.cast::<Spawned<F, T>>().as_ref() };
    // SAFETY: the caller's promise. There is no result if an engine has given up the run.
    let stage = spawned.stage.with_mut(|stage| unsafe { core::mem::replace(&mut *stage, Stage::Taken) });
    matches!(stage, Stage::Result(Err(Failed::Panicked(_))))
}

unsafe fn free<F, T>(task: NonNull<Task>) {
    // SAFETY: it was made by `Box::leak`, and nobody has a reference any more.
    drop(unsafe { Box::from_raw(task.cast::<Spawned<F, T>>().as_ptr()) });
}
