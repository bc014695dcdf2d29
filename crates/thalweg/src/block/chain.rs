//! Finished blocks of one activation.

use super::{Block, Header};
use std::fmt;
use std::ptr::NonNull;
use thalweg_sync::hint::Access;

/// Finished blocks of one activation, in the order they were filled, across all its output ports.
///
/// A list through the headers, so that a whole activation's output travels as one word.
#[derive(Default)]
pub(crate) struct Chain {
    head: Option<NonNull<Header>>,
    tail: Option<NonNull<Header>>,
    /// Messages that were pushed.
    messages: usize,
}

// SAFETY: a chain owns its blocks, and those are `Send`.
unsafe impl Send for Chain {}

impl Chain {
    /// Adds a block that leaves by the output port `port`, whatever it came by.
    pub(crate) fn push(&mut self, port: usize, mut block: Block) {
        block.set_port(port);
        self.messages += block.unread();
        block.header_mut().next = None;
        let header = block.into_raw();
        match self.tail {
            // SAFETY: the tail is owned by this chain.
            Some(mut tail) => unsafe { tail.as_mut().next = Some(header) },
            None => self.head = Some(header),
        }
        self.tail = Some(header);
    }

    pub(crate) fn pop(&mut self) -> Option<Block> {
        let mut block = Block(self.head?);
        block.touch(0..0, 0, Access::Write);
        self.head = block.header_mut().next.take();
        if self.head.is_none() {
            self.tail = None;
        }
        Some(block)
    }

    /// Adds all of `more`.
    pub(crate) fn append(&mut self, mut more: Self) {
        let (head, tail) = (more.head.take(), more.tail.take());
        match self.tail {
            // SAFETY: the tail is owned by this chain.
            Some(mut last) if head.is_some() => unsafe { last.as_mut().next = head },
            Some(_) => return,
            None => self.head = head,
        }
        self.messages += more.messages;
        self.tail = tail;
    }

    /// How many messages were pushed; zero for one that was made of a word.
    pub(crate) fn messages(&self) -> usize {
        self.messages
    }

    /// Whether no block is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.head.is_none()
    }

    /// The chain as one word; null if it is empty.
    pub(crate) fn into_word(mut self) -> *mut u8 {
        self.tail = None;
        self.head.take().map_or(std::ptr::null_mut(), |head| head.as_ptr().cast())
    }

    /// The chain that [`into_word`](Self::into_word) made this word of; it can only be popped from.
    ///
    /// # Safety
    ///
    /// `word` must come from `into_word`, once.
    pub(crate) unsafe fn from_word(word: *mut u8) -> Self {
        let head = NonNull::new(word.cast::<Header>());
        Self { head, tail: head, messages: 0 }
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain").field("empty", &self.head.is_none()).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::block::tests::filled;
    use std::rc::Rc;

    #[test]
    fn a_chain_keeps_order_and_drops_what_is_left() {
        let message = Rc::new(());
        let mut chain = Chain::default();
        for port in 0..3 {
            chain.push(port, filled(vec![message.clone()]));
        }
        // SAFETY: the word comes from a chain.
        let mut chain = unsafe { Chain::from_word(chain.into_word()) };
        assert_eq!(chain.pop().unwrap().port(), 0);
        drop(chain);
        assert_eq!(Rc::strong_count(&message), 1);
    }
}
