//! Values that outlive their thread when an execution is given up (R6).

use super::run::{Fiber, Run, Wake, current_run};
use super::state::Status;
use crate::heap::{client_side, engine_side};
use corosensei::CoroutineResult;
use std::collections::VecDeque;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

/// A value that is not dropped while its thread is unwound, but when all threads are.
///
/// An execution that is given up, as a thread in it waits, unwinds its threads one by one. A destructor that waits for
/// another thread, or wakes one, then meets threads that will never go on: that of a handle, say, which drains its queue. What is in a `Kept` is dropped when all of them are gone. If its destructor waits
/// for ever even then, it is left as it is, with what it owns.
///
/// A panic that the client catches keeps what it unwinds too, to the end of the execution.
///
/// Where nothing unwinds, and outside of a [`Check`](super::Check), it is dropped as it would be without.
///
/// ```
/// use thalweg_check::{Check, Kept};
/// use thalweg_sync::{atomic::{AtomicBool, Ordering::Relaxed}, spin, sync::Arc, thread};
///
/// /// Waits, when it is dropped, until it may go.
/// struct Patient(Arc<[AtomicBool; 2]>);
///
/// impl Drop for Patient {
///     fn drop(&mut self) {
///         spin::until(|| self.0[1].load(Relaxed).then_some(()));
///     }
/// }
///
/// Check::new().check(|| {
///     let flags = Arc::new([false, false].map(AtomicBool::new));
///     let patient = Kept::new(Patient(flags.clone()));
///     let other = thread::spawn({
///         let flags = flags.clone();
///         move || {
///             // An execution in which this looks too early is given up, and then nobody lets the other one go.
///             spin::until(|| flags[0].load(Relaxed).then_some(()));
///             flags[1].store(true, Relaxed);
///         }
///     });
///     flags[0].store(true, Relaxed);
///     other.join().unwrap();
///     drop(patient);
/// });
/// ```
#[derive(Clone)]
pub struct Kept<T: 'static>(ManuallyDrop<T>);

impl<T: 'static> Kept<T> {
    /// Keeps `value`.
    pub fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }
}

impl<T: 'static> Deref for Kept<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: 'static> DerefMut for Kept<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: fmt::Debug + 'static> fmt::Debug for Kept<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: 'static> Drop for Kept<T> {
    fn drop(&mut self) {
        // SAFETY: taken here only, and not used again.
        let value = unsafe { ManuallyDrop::take(&mut self.0) };
        match current_run() {
            Some(run) if std::thread::panicking() => run.keep(value),
            _ => drop(value),
        }
    }
}

/// Anything that can be dropped.
pub(super) trait Droppable {}
impl<T> Droppable for T {}

/// What is to be dropped, the oldest first.
pub(super) type Keeps = VecDeque<Box<dyn Droppable>>;

impl Run {
    fn keep(&self, value: impl Droppable + 'static) {
        let _engine = engine_side();
        self.keeps.borrow_mut().push_back(Box::new(value));
    }

    /// Drops what was kept, when no thread is left (R6).
    pub(super) fn drop_kept(&self) {
        let mut stuck = Vec::new();
        while !self.keeps.borrow().is_empty() {
            let stack = self.another_stack();
            let run = NonNull::from(self);
            let mut fiber = Fiber::with_stack(stack, move |yielder, _| {
                // SAFETY: the coroutine is done with before this function returns, which borrows the run.
                let run = unsafe { run.as_ref() };
                run.state().of_mut(0).yielder = Some(NonNull::from(yielder));
                let next = || run.keeps.borrow_mut().pop_front();
                while let Some(value) = next() {
                    // Each has the patience that the first one has.
                    {
                        let mut state = run.state();
                        let thread = state.of_mut(0);
                        (thread.retries, thread.passive_steps) = (0, 0);
                    }
                    // What a destructor says of an execution that was given up says nothing of the client.
                    let _ = catch_unwind(AssertUnwindSafe(|| {
                        let _client = client_side();
                        drop(value);
                    }));
                }
            });
            // It stands where the client's own thread stood, which has ended.
            {
                let mut state = self.state();
                state.current = 0;
                state.of_mut(0).status = Status::Keeps;
            }
            let result = fiber.resume(Wake::Go);
            let mut state = self.state();
            let thread = state.of_mut(0);
            (thread.yielder, thread.status) = (None, Status::Ended);
            match result {
                CoroutineResult::Yield(()) => stuck.push(fiber),
                CoroutineResult::Return(()) => state.stacks.push(fiber.into_stack()),
            }
        }
        self.stuck.set(self.stuck.get() || !stuck.is_empty());
        for mut fiber in stuck {
            // SAFETY: on its stack is a destructor that waits for ever, with what it is to drop: both are forgotten. By now
            // every other thread and value of the execution is gone, so nobody looks for anything on this stack.
            unsafe { fiber.force_reset() };
            self.state().stacks.push(fiber.into_stack());
        }
    }
}
