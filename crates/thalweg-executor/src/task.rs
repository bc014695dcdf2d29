//! A task: one allocation with a future, and later its result.

use crate::join::JoinError;
use crate::shared::Shared;
use core::fmt;
use core::future::Future;
use core::mem::{ManuallyDrop, forget};
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use thalweg_sync::cell::Slot;
use thalweg_sync::sync::{Arc, Mutex};

/// It is in a queue, on its way there, or will be when the poll ends.
const SCHEDULED: usize = 1;
/// Somebody holds it: polls it, or drops its future.
const RUNNING: usize = 2;
/// The future is gone.
const DONE: usize = 4;
/// The future is to be dropped.
const CANCELLED: usize = 8;
/// There is a handle.
const JOIN: usize = 16;
/// The handle has left a waker.
const WAITS: usize = 32;

/// Takes the result out.
///
/// # Safety
///
/// It is that of the task's type, the task is done, and the result is the caller's, who takes it once (T3).
pub(crate) type Take<T> = unsafe fn(&TaskRef) -> Result<T, JoinError>;

struct Vtable {
    /// Polls. True if the task has a result now. The caller holds the task (T1).
    poll: unsafe fn(NonNull<Header>, &mut Context<'_>) -> bool,
    /// Drops the future; the result says that it was cancelled. The caller holds the task (T1), which has a future.
    cancel: unsafe fn(NonNull<Header>),
    /// Drops the result. It is the caller's (T3).
    discard: unsafe fn(NonNull<Header>),
    /// Frees the memory. The caller had the last reference (T5).
    free: unsafe fn(NonNull<Header>),
}

struct Header {
    state: AtomicUsize,
    references: AtomicUsize,
    vtable: &'static Vtable,
    shared: Arc<Shared>,
    /// Whom to wake when the task is done (T4).
    joiner: Mutex<Option<Waker>>,
    shard: usize,
    /// Where it is in the shard.
    place: AtomicUsize,
}

enum Stage<F: Future> {
    Future(F),
    Result(Result<F::Output, JoinError>),
    Empty,
}

#[repr(C)]
struct Cell<F: Future> {
    header: Header,
    stage: Slot<Stage<F>>,
}

/// A reference to a task. What is in a queue can run: whoever drops it instead of handing it on loses the task until its executor ends.
pub struct TaskRef(NonNull<Header>);

// SAFETY: a task's future and its result are `Send`, and are touched by one thread at a time (T1, T3); the rest is `Sync`.
unsafe impl Send for TaskRef {}
// SAFETY: as above.
unsafe impl Sync for TaskRef {}

impl TaskRef {
    /// A task, scheduled, in no queue yet; and what takes its result. `JOIN` is set, for its handle.
    pub(crate) fn new<F>(shared: Arc<Shared>, shard: usize, future: F) -> (Self, Take<F::Output>)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let header = Header {
            state: AtomicUsize::new(SCHEDULED | JOIN),
            references: AtomicUsize::new(1),
            vtable: const { &Vtable { poll: poll::<F>, cancel: cancel::<F>, discard: discard::<F>, free: free::<F> } },
            shared,
            joiner: Mutex::new(None),
            shard,
            place: AtomicUsize::new(0),
        };
        let cell = Box::leak(Box::new(Cell { header, stage: Slot::new(Stage::Future(future)) }));
        (Self(NonNull::from(cell).cast()), take::<F>)
    }

    fn header(&self) -> &Header {
        // SAFETY: a reference keeps the task (T5).
        unsafe { self.0.as_ref() }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.header().shared
    }

    /// Where the registry keeps it.
    pub(crate) fn shard(&self) -> usize {
        self.header().shard
    }

    /// Where in the shard. Relaxed: it is written by the thread that made the task, before anybody else has it.
    pub(crate) fn place(&self) -> usize {
        self.header().place.load(Relaxed)
    }

    pub(crate) fn set_place(&self, place: usize) {
        self.header().place.store(place, Relaxed);
    }

    /// Runs the task, if nobody holds it and it is not done. Gives it back if it is to run again: then it belongs in a queue.
    pub(crate) fn run(self) -> Option<Self> {
        match self.begin()? {
            Begun::Cancelled => self.drop_future(),
            Begun::Polls => {
                let waker = ManuallyDrop::new(self.borrowed_waker());
                // SAFETY: we hold the task (T1).
                if unsafe { (self.header().vtable.poll)(self.0, &mut Context::from_waker(&waker)) } {
                    self.complete();
                } else {
                    match self.pause() {
                        Paused::Idle => {}
                        Paused::Again => return Some(self),
                        Paused::Cancelled => self.drop_future(),
                    }
                }
            }
        }
        None
    }

    /// Takes the task, unless somebody has it.
    fn begin(&self) -> Option<Begun> {
        let state = &self.header().state;
        let mut seen = state.load(Relaxed);
        loop {
            if seen & (RUNNING | DONE) != 0 {
                return None;
            }
            // (task.1) Acquire, pairs with (task.2) and (task.3): what came before a wake-up, and what the last holder did, is visible.
            match state.compare_exchange(seen, (seen | RUNNING) & !SCHEDULED, Acquire, Relaxed) {
                Ok(_) if seen & CANCELLED != 0 => return Some(Begun::Cancelled),
                Ok(_) => return Some(Begun::Polls),
                Err(now) => seen = now,
            }
        }
    }

    /// Lets go of the task after a poll, unless it was cancelled.
    fn pause(&self) -> Paused {
        let state = &self.header().state;
        let mut seen = state.load(Relaxed);
        loop {
            if seen & CANCELLED != 0 {
                return Paused::Cancelled;
            }
            // (task.2) Release, pairs with (task.1): the next holder sees what this one did.
            match state.compare_exchange(seen, seen & !RUNNING, AcqRel, Relaxed) {
                Ok(_) if seen & SCHEDULED != 0 => return Paused::Again,
                Ok(_) => return Paused::Idle,
                Err(now) => seen = now,
            }
        }
    }

    /// Drops the future of a task that we hold, which ends it.
    fn drop_future(&self) {
        // SAFETY: we hold it (T1), and it was not done.
        unsafe { (self.header().vtable.cancel)(self.0) };
        self.complete();
    }

    /// Ends the task that we hold. Its result is there.
    fn complete(&self) {
        let header = self.header();
        // (task.4) Release, pairs with (task.5): whoever sees `DONE` sees the result (T3). Acquire, pairs with (task.6): the waker (T4).
        let before = header.state.fetch_xor(RUNNING | DONE, AcqRel);
        if before & JOIN == 0 {
            // SAFETY: there was no handle when `DONE` was set, so the result is ours (T3).
            unsafe { (header.vtable.discard)(self.0) };
        } else if before & WAITS != 0 {
            let waker = header.joiner.lock().unwrap_or_else(PoisonError::into_inner).take();
            // Of the user's own kind: the worker must not unwind.
            let _ignored = catch_unwind(AssertUnwindSafe(|| waker.map(Waker::wake)));
        }
        let registered = header.shared.registry.remove(self);
        drop(registered);
    }

    /// Sets `SCHEDULED`. True if the task is to be put in a queue by the caller (T2).
    fn schedule_bit(&self, and: usize) -> bool {
        // (task.3) Release, pairs with (task.1): the poll that follows sees what came before the wake-up, also if the bit was set.
        let before = self.header().state.fetch_or(SCHEDULED | and, AcqRel);
        before & (SCHEDULED | RUNNING | DONE) == 0
    }

    /// Wakes the task.
    fn wake(self) {
        if self.schedule_bit(0) {
            Shared::schedule(self);
        }
    }

    fn wake_by_ref(&self) {
        if self.schedule_bit(0) {
            Shared::schedule(self.clone());
        }
    }

    /// Cancels the task; a worker drops its future.
    pub(crate) fn abort(&self) {
        if self.schedule_bit(CANCELLED) {
            Shared::schedule(self.clone());
        }
    }

    /// Cancels the task and drops its future, here unless somebody holds it: then there.
    pub(crate) fn cancel_now(&self) {
        self.header().state.fetch_or(CANCELLED, AcqRel);
        if self.begin().is_some() {
            self.drop_future();
        }
    }

    /// Whether the task is done.
    pub(crate) fn is_done(&self) -> bool {
        // (task.5) Acquire, pairs with (task.4).
        self.header().state.load(Acquire) & DONE != 0
    }

    /// Leaves the handle's waker. True if the task is done instead.
    pub(crate) fn leave_waker(&self, waker: &Waker) -> bool {
        let header = self.header();
        let old = {
            let mut joiner = header.joiner.lock().unwrap_or_else(PoisonError::into_inner);
            match &*joiner {
                Some(left) if left.will_wake(waker) => None,
                _ => joiner.replace(waker.clone()),
            }
        };
        drop(old);
        // (task.6) Release, pairs with (task.4): whoever sets `DONE` and sees `WAITS` finds the waker. Acquire, pairs with it the other way round: the
        // result.
        header.state.fetch_or(WAITS, AcqRel) & DONE != 0
    }

    /// There is no handle any more. True if the task was done before: then its result is the caller's (T3).
    pub(crate) fn detach(&self) -> bool {
        // (task.5) again; Release: the runner sees the handle as it was.
        self.header().state.fetch_and(!JOIN, AcqRel) & DONE != 0
    }

    /// A waker without a reference of its own.
    fn borrowed_waker(&self) -> Waker {
        // SAFETY: the calls below are those of a task. It must not be dropped, and not outlive `self`.
        unsafe { Waker::from_raw(RawWaker::new(self.0.as_ptr().cast_const().cast(), &WAKER)) }
    }

    /// # Safety
    ///
    /// `data` is that of a waker which lives. The reference is not dropped, unless it is the waker's.
    unsafe fn of_waker(data: *const ()) -> ManuallyDrop<Self> {
        // SAFETY: wakers are made of tasks.
        ManuallyDrop::new(Self(unsafe { NonNull::new_unchecked(data.cast_mut().cast()) }))
    }
}

enum Begun {
    Polls,
    Cancelled,
}

enum Paused {
    Idle,
    Again,
    Cancelled,
}

static WAKER: RawWakerVTable = RawWakerVTable::new(
    |data| {
        // SAFETY: called for a waker that lives. The clone's reference is the new waker's.
        let task = unsafe { TaskRef::of_waker(data) };
        forget(TaskRef::clone(&task));
        RawWaker::new(data, &WAKER)
    },
    // SAFETY: the waker is used up, and its reference is handed on.
    |data| ManuallyDrop::into_inner(unsafe { TaskRef::of_waker(data) }).wake(),
    // SAFETY: called for a waker that lives.
    |data| unsafe { TaskRef::of_waker(data) }.wake_by_ref(),
    // SAFETY: the waker is used up, and its reference with it.
    |data| drop(ManuallyDrop::into_inner(unsafe { TaskRef::of_waker(data) })),
);

impl Clone for TaskRef {
    fn clone(&self) -> Self {
        // Relaxed: who has a reference hands it on by other means. As with `Arc`, an overflow ends the process before it can do harm.
        if self.header().references.fetch_add(1, Relaxed) > isize::MAX as usize {
            std::process::abort();
        }
        Self(self.0)
    }
}

impl Drop for TaskRef {
    fn drop(&mut self) {
        let header = self.header();
        // (task.7) Release and Acquire, pairs with itself: whoever has the last reference sees what was done with all others.
        if header.references.fetch_sub(1, AcqRel) == 1 {
            // SAFETY: it was the last one (T5).
            unsafe { (header.vtable.free)(self.0) };
        }
    }
}

impl fmt::Debug for TaskRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskRef").field("done", &self.is_done()).finish_non_exhaustive()
    }
}

/// Runs `access` with the stage.
///
/// # Safety
///
/// The task is one of `F`, and its stage is the caller's (T1, T3).
unsafe fn with_stage<F: Future, R>(task: NonNull<Header>, access: impl FnOnce(&mut Stage<F>) -> R) -> R {
    // SAFETY: the header of a task is where the task is.
    let cell = unsafe { task.cast::<Cell<F>>().as_ref() };
    // SAFETY: the caller's promise.
    cell.stage.with_mut(|stage| access(unsafe { &mut *stage }))
}

/// Drops what is in the stage where it lies, as a pinned future has to be.
fn empty<F: Future>(stage: &mut Stage<F>) -> Result<(), JoinError> {
    let place: *mut Stage<F> = stage;
    // SAFETY: it is valid, and written anew below, whatever the destructor does.
    let dropped = catch_unwind(AssertUnwindSafe(|| unsafe { place.drop_in_place() }));
    // SAFETY: as above; what was there is dropped.
    unsafe { place.write(Stage::Empty) };
    dropped.map_err(JoinError::Panicked)
}

unsafe fn poll<F: Future>(task: NonNull<Header>, context: &mut Context<'_>) -> bool {
    let poll = |stage: &mut Stage<F>| {
        let Stage::Future(future) = stage else { unreachable!("a task that is held has a future") };
        // SAFETY: a task is not moved, and its future is dropped where it lies.
        let future = unsafe { Pin::new_unchecked(future) };
        let result = match catch_unwind(AssertUnwindSafe(|| future.poll(context))) {
            Ok(Poll::Pending) => return false,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(panic) => Err(JoinError::Panicked(panic)),
        };
        let result = match (result, empty(stage)) {
            (Ok(output), Err(panicked)) => {
                let _ignored = catch_unwind(AssertUnwindSafe(|| drop(output)));
                Err(panicked)
            }
            (result, _) => result,
        };
        *stage = Stage::Result(result);
        true
    };
    // SAFETY: the caller holds the task.
    unsafe { with_stage(task, poll) }
}

unsafe fn cancel<F: Future>(task: NonNull<Header>) {
    let cancel = |stage: &mut Stage<F>| {
        let why = empty(stage).err().unwrap_or(JoinError::Cancelled);
        *stage = Stage::Result(Err(why));
    };
    // SAFETY: the caller holds the task.
    unsafe { with_stage(task, cancel) }
}

unsafe fn discard<F: Future>(task: NonNull<Header>) {
    // SAFETY: the result is the caller's. A panic of its destructor has nobody to go to.
    let _ignored = unsafe { with_stage(task, empty::<F>) };
}

unsafe fn free<F: Future>(task: NonNull<Header>) {
    // SAFETY: it was made by `Box::leak`, and nobody has a reference any more.
    drop(unsafe { Box::from_raw(task.cast::<Cell<F>>().as_ptr()) });
}

unsafe fn take<F: Future>(task: &TaskRef) -> Result<F::Output, JoinError> {
    let take = |stage: &mut Stage<F>| match core::mem::replace(stage, Stage::Empty) {
        Stage::Result(result) => result,
        _ => unreachable!("a task that is done has a result, which is taken once"),
    };
    // SAFETY: the caller's promise.
    unsafe { with_stage(task.0, take) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::future::poll_fn;
    use thalweg_check::Check;
    use thalweg_sync::atomic::AtomicBool;
    use thalweg_sync::thread;

    /// One thread wakes a task while another polls it: before, meanwhile, behind. The poll that follows sees what came before the wake-up, which
    /// nothing orders but the task's state where it was scheduled or running. All executions.
    #[test]
    fn a_wake_up_is_followed_by_a_poll() {
        Check::new().check(|| {
            let shared = Arc::new(Shared::new(1));
            assert_eq!(shared.registry.close().count(), 0);
            let flag = Arc::new(AtomicBool::new(false));
            let seen = flag.clone();
            let poll = move |_: &mut Context<'_>| if seen.load(Relaxed) { Poll::Ready(()) } else { Poll::Pending };
            let (task, _) = TaskRef::new(shared.clone(), 0, poll_fn(poll));
            let other = thread::spawn({
                let task = task.clone();
                move || {
                    flag.store(true, Relaxed);
                    task.wake();
                }
            });
            let again = task.clone().run().and_then(TaskRef::run);
            assert!(again.is_none(), "there is one wake-up");
            let was_idle = !task.is_done();
            other.join().unwrap();
            if was_idle {
                // So the wake-up has put it in a queue.
                assert!(shared.take().expect("it is scheduled").run().is_none());
            }
            assert!(task.is_done());
        });
    }
}
