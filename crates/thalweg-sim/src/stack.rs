//! The stacks of simulated threads.

use corosensei::stack::DefaultStack;

/// A stack for `thread`, of at least `bytes` bytes.
pub(crate) fn new(bytes: usize, thread: usize) -> Stack {
    let memory = DefaultStack::new(bytes + system::REACH).unwrap_or_else(|error| {
        panic!("no memory for the stack of thread {thread}: {error}; use fewer threads or smaller stacks")
    });
    system::from(memory, thread)
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
    // a multiple of 64; it is not smaller than was asked for, for `REACH` was added.
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
