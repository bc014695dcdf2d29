//! The stacks of simulated threads.

use corosensei::stack::{DefaultStack, MIN_STACK_SIZE, Stack as _};
use std::ops::Range;

/// A stack for `thread`, of at least `bytes` bytes.
pub(crate) fn new(bytes: usize, thread: usize) -> Stack {
    let bytes = bytes.max(MIN_STACK_SIZE).saturating_add(system::REACH);
    let memory = DefaultStack::new(bytes).unwrap_or_else(|error| {
        panic!("no memory for the stack of thread {thread}: {error}; use fewer threads or smaller stacks")
    });
    system::from(memory, thread)
}

/// Where a stack is in the host's memory.
pub(crate) fn range(stack: &Stack) -> Range<usize> {
    stack.limit().get()..stack.base().get()
}

pub(crate) use system::Stack;

#[cfg(unix)]
mod system {
    use corosensei::stack::{DefaultStack, StackPointer};

    /// A stack whose top is not where other stacks' tops are.
    ///
    /// Stacks are pages, so without this all tops would fall into the same few sets of the host's caches, and each
    /// switch to another thread would miss there.
    pub(crate) struct Stack {
        memory: DefaultStack,
        /// How far below the end of its memory it begins, in bytes.
        offset: usize,
    }

    /// How far apart the tops of neighbours are: more than what a switch touches.
    const STEP: usize = 5 * 64;
    /// How far below the end of its memory a stack may begin.
    pub(super) const REACH: usize = 1 << 13;

    pub(super) fn from(memory: DefaultStack, thread: usize) -> Stack {
        Stack { memory, offset: thread * STEP % REACH }
    }

    // SAFETY: it is the lower part of `memory`, so it has that one's guard page; its base is as aligned, for `offset` is
    // a multiple of 64; it is not smaller than was asked for, nor than `MIN_STACK_SIZE`, for `REACH` was added.
    unsafe impl corosensei::stack::Stack for Stack {
        fn base(&self) -> StackPointer {
            let base = self.memory.base().get() - self.offset;
            StackPointer::new(base).expect("an address within a stack")
        }

        fn limit(&self) -> StackPointer {
            self.memory.limit()
        }
    }
}

#[cfg(not(unix))]
mod system {
    use corosensei::stack::DefaultStack;

    pub(crate) type Stack = DefaultStack;
    pub(super) const REACH: usize = 0;

    pub(super) fn from(memory: DefaultStack, _thread: usize) -> Stack {
        memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However little was asked for, and however far below the end of its memory it begins.
    #[test]
    fn a_stack_is_never_smaller_than_a_coroutine_needs() {
        for thread in 0..30 {
            let bytes = range(&new(0, thread)).len();
            // With its guard page, which is no smaller than that either.
            assert!(bytes >= 2 * MIN_STACK_SIZE, "{bytes} bytes for thread {thread}");
        }
    }
}
