//! Stacks: memory with a guard below it, kept for the next task.
//!
//! Below what engines see, as the allocator is: who gets which stack decides nothing.
#![allow(
    clippy::disallowed_types,
    reason = "a lock around memory, as in an allocator: an engine that saw it would explore who allocates first"
)]

use corosensei::stack::{self, DefaultStack, StackPointer};
use std::io;
use std::sync::{Mutex, PoisonError};

/// How many stacks are kept when their runtime ends.
const KEPT: usize = 64;

/// Stacks without a runtime.
static FREE: Mutex<Vec<Stack>> = Mutex::new(Vec::new());

/// The stack of one task.
pub(crate) struct Stack {
    memory: DefaultStack,
    bytes: usize,
}

// SAFETY: base and limit are those of the default stack, which keeps them as long as it lives.
unsafe impl stack::Stack for Stack {
    #[inline]
    fn base(&self) -> StackPointer {
        self.memory.base()
    }

    #[inline]
    fn limit(&self) -> StackPointer {
        self.memory.limit()
    }
}

impl Stack {
    /// A stack of at least `bytes` bytes, and below it a page whose use ends the process.
    pub(crate) fn take(bytes: usize) -> io::Result<Self> {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = free.iter().rposition(|stack| stack.bytes == bytes) {
            return Ok(free.swap_remove(at));
        }
        drop(free);
        DefaultStack::new(bytes).map(|memory| Self { memory, bytes })
    }

    /// Keeps the stack for another runtime, or gives it back to the system.
    pub(crate) fn keep(self) {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < KEPT {
            free.push(self);
        }
    }
}
