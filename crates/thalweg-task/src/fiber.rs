//! A stack, and the tasks that run on it one after the other.

use crate::stack::Stack;
use crate::task::Task;
use core::cell::Cell;
use core::ptr::NonNull;
use corosensei::{Coroutine, CoroutineResult, Yielder};

/// Why a stack was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// The task sleeps until it is woken.
    Parks,
    /// The task goes behind the others that can run.
    Yields,
    /// The task has run to its end; the stack is free for the next one.
    Ends,
    /// An engine gives the run up, and what is on the stack must not be unwound: see [`abandon`](crate::worker::Worker::abandon).
    Abandoned,
}

/// What a stack is entered with: the task to begin, or nothing to go on.
type Enter = Option<NonNull<Task>>;

/// Where a fiber keeps what its tasks leave it by. Set when it is first entered.
pub(crate) type Exit = NonNull<Cell<Option<NonNull<Yielder<Enter, Left>>>>>;

/// A stack.
///
/// It stays alive when a task ends: the next one begins by a plain switch.
pub(crate) struct Fiber {
    coroutine: Box<Coroutine<Enter, Left, (), Stack>>,
    /// Alive as long as the coroutine.
    exit: Exit,
}

impl Fiber {
    pub(crate) fn new(stack: Stack) -> Self {
        let exit: Exit = NonNull::from(Box::leak(Box::new(Cell::new(None))));
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<Enter, Left>, task: Enter| {
            // SAFETY: freed by `into_stack` alone, when this has returned.
            unsafe { exit.as_ref() }.set(Some(NonNull::from(yielder)));
            let mut next = task;
            while let Some(task) = next {
                // SAFETY: whoever enters with a task begins it, once, and keeps it until it has ended.
                unsafe { task.as_ref().run() };
                next = yielder.suspend(Left::Ends);
            }
        });
        Self { coroutine: Box::new(coroutine), exit }
    }

    /// Switches to the stack, until it is left.
    #[inline(always)]
    pub(crate) fn enter(&mut self, task: Enter) -> Left {
        match self.coroutine.resume(task) {
            CoroutineResult::Yield(left) => left,
            CoroutineResult::Return(()) => Left::Ends,
        }
    }

    /// What the task on the stack leaves it by.
    #[inline]
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// The stack, for another fiber. What is still on it is forgotten, not dropped.
    pub(crate) fn into_stack(mut self) -> Stack {
        if !self.coroutine.done() {
            // SAFETY: between tasks nothing on the stack has a destructor. Otherwise a run is given up, and nobody looks at what is on
            // its stacks any more, nor at the stacks before all its threads have ended.
            unsafe { self.coroutine.force_reset() };
        }
        // SAFETY: made by `Box::leak`, and freed once: the coroutine does not run any more.
        drop(unsafe { Box::from_raw(self.exit.as_ptr()) });
        self.coroutine.into_stack()
    }
}

/// Leaves the stack that `exit` belongs to.
///
/// # Safety
///
/// The caller runs on that stack.
#[inline(always)]
pub(crate) unsafe fn leave(exit: Exit, why: Left) {
    // SAFETY: it lives as long as the fiber, which runs; and it was set when the fiber was entered.
    let next = unsafe { exit.as_ref().get().expect("a running fiber has a yielder").as_ref() }.suspend(why);
    debug_assert!(next.is_none(), "a stack with a task on it is entered to go on");
}
