//! Reading the messages of a block, and rewriting them where they are.

use super::Cx;
use super::each::STRETCH;
use super::output::entries_between;
use crate::block::{Block, drop_each, stride};
use std::mem;
use std::ptr;
use thalweg_sync::hint::Access;

/// Messages of a block that is being read, each taken once.
///
/// The place is written back when this is dropped, also by a panic: what was taken is the reader's, the rest stays in the block.
pub(crate) struct Unread<'a, T> {
    next: *mut T,
    end: *mut T,
    block: &'a mut Block,
}

impl<'a, T> Unread<'a, T> {
    /// # Safety
    ///
    /// The block must hold messages of type `T` (B1).
    #[inline(always)]
    pub(crate) unsafe fn new(block: &'a mut Block) -> Self {
        Self { next: block.entry::<T>(block.first()), end: block.entry::<T>(block.end()), block }
    }

    /// How many are left.
    #[inline(always)]
    pub(crate) fn left(&self) -> usize {
        entries_between(self.next, self.end)
    }

    /// Takes the next message.
    ///
    /// # Safety
    ///
    /// There must be one.
    #[inline(always)]
    pub(crate) unsafe fn next_unchecked(&mut self) -> T {
        // SAFETY: the entry is initialised, by the caller's promise, and the block gives it up by the step.
        unsafe {
            let message = self.next.read();
            self.next = self.next.byte_add(stride::<T>());
            message
        }
    }

    /// Takes the next message.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<T> {
        if ptr::eq(self.next, self.end) {
            return None;
        }
        // SAFETY: `next < end`.
        Some(unsafe { self.next_unchecked() })
    }

    /// Gives the message back that was taken last.
    pub(crate) fn put_back(&mut self, message: T) {
        let first = self.block.entry::<T>(self.block.first());
        assert!(!ptr::eq(self.next, first), "one was taken");
        // SAFETY: the entry before `next` is in the block, and what was in it was moved out.
        unsafe {
            self.next = self.next.byte_sub(stride::<T>());
            self.next.write(message);
        }
    }
}

impl<T> Drop for Unread<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        let end = self.block.end();
        let left = self.left();
        // SAFETY: what is before `next` was moved out.
        unsafe { self.block.set_range(end - left, end) };
    }
}

/// Rewrites the messages of a block where they are: `T` in, `U` of the same layout out, at most one for each.
///
/// After a panic both what was written and what was not read is dropped.
pub(crate) struct InPlace<'a, 'c, T, U> {
    read: *mut T,
    end: *mut T,
    write: *mut U,
    /// There until it is finished.
    block: Option<Block>,
    /// The kernel that would have taken what was written.
    consumer: usize,
    cx: &'a Cx<'c>,
}

impl<'a, 'c, T, U> InPlace<'a, 'c, T, U> {
    /// Whether messages of type `U` fit where those of type `T` are.
    pub(crate) const FITS: bool =
        mem::size_of::<T>() == mem::size_of::<U>() && mem::align_of::<T>() == mem::align_of::<U>();

    /// # Safety
    ///
    /// The block must hold messages of type `T` (B1), and `FITS` must hold.
    #[inline(always)]
    pub(crate) unsafe fn new(cx: &'a Cx<'c>, consumer: usize, block: Block) -> Self {
        let first = block.entry::<T>(block.first());
        Self { read: first, end: block.entry::<T>(block.end()), write: first.cast(), block: Some(block), consumer, cx }
    }

    /// How many are left.
    #[inline(always)]
    fn left(&self) -> usize {
        entries_between(self.read, self.end)
    }

    /// Goes through the messages by `one`, which takes the next one, until none is left or it is time to leave; in `stretches` if they own nothing.
    #[inline(always)]
    pub(crate) fn go_through(&mut self, stretches: bool, mut one: impl FnMut(&mut Self)) {
        let mut rhythm = self.cx.rhythm(STRETCH);
        while stretches
            && const { !mem::needs_drop::<T>() && !mem::needs_drop::<U>() }
            && self.left() >= rhythm.stretch()
        {
            for _ in 0..STRETCH {
                one(self);
            }
            if self.cx.should_leave(&mut rhythm) {
                return;
            }
        }
        while self.left() > 0 {
            one(self);
            if self.cx.should_leave(&mut rhythm) {
                return;
            }
        }
    }

    /// Rewrites the next message.
    ///
    /// # Safety
    ///
    /// There must be one, and none before it may have fallen.
    #[inline(always)]
    pub(crate) unsafe fn change(&mut self, change: impl FnOnce(T) -> U) {
        // Read and written by one pointer, so the compiler sees that they are the same place and can take several messages at once.
        let place = self.read;
        debug_assert!(ptr::eq(place.cast(), self.write), "none has fallen");
        // SAFETY: initialised, by the caller's promise; it is moved out before it is written, and the layouts agree.
        unsafe {
            self.read = place.byte_add(stride::<T>());
            place.cast::<U>().write(change(place.read()));
        }
        self.write = self.read.cast();
    }

    /// Rewrites the next message, or lets it fall.
    ///
    /// # Safety
    ///
    /// There must be one.
    #[inline(always)]
    pub(crate) unsafe fn sift(&mut self, change: impl FnOnce(T) -> Option<U>) {
        // SAFETY: initialised, by the caller's promise; `write <= read` was moved out before (this entry just now), and the layouts agree.
        unsafe {
            let message = self.read.read();
            self.read = self.read.byte_add(stride::<T>());
            if let Some(changed) = change(message) {
                self.write.write(changed);
                self.write = self.write.byte_add(stride::<U>());
            }
        }
    }

    /// Changes the next message where it is, and lets it fall if `change` says false.
    ///
    /// It moves only when one before it has fallen.
    ///
    /// # Safety
    ///
    /// There must be one, and `U` must be `T`.
    #[inline(always)]
    pub(crate) unsafe fn alter(&mut self, change: impl FnOnce(&mut T) -> bool) {
        let message = self.read;
        // SAFETY: initialised, by the caller's promise, and stays the block's until it is passed, also if `change` panics.
        let kept = change(unsafe { &mut *message });
        // SAFETY: `write <= message`; what lies between was dropped or moved out.
        unsafe {
            self.read = message.byte_add(stride::<T>());
            if !kept {
                message.drop_in_place();
            } else {
                if !ptr::eq(self.write.cast(), message) {
                    self.write.cast::<T>().copy_from_nonoverlapping(message, 1);
                }
                self.write = self.write.byte_add(stride::<T>());
            }
        }
    }

    /// The block with what was written, and what was not read in one of its own.
    #[inline(always)]
    pub(crate) fn finish(mut self) -> (Block, Option<Block>) {
        let rest = self.left();
        let rest = (rest > 0).then(|| {
            let mut block = self.cx.open_block::<T>(rest);
            // SAFETY: opened for as many; these move, and `end` gives them up here.
            unsafe {
                block.entry::<T>(0).copy_from_nonoverlapping(self.read, rest);
                block.set_range(0, rest);
            }
            self.end = self.read;
            block
        });
        (self.close().expect("it is finished once"), rest)
    }

    #[inline(always)]
    fn close(&mut self) -> Option<Block> {
        let mut block = self.block.take()?;
        let first = block.first();
        let written = entries_between(block.entry::<U>(first), self.write);
        block.touch(first..first + written, mem::size_of::<U>(), Access::Write);
        // SAFETY: `first..first+written` holds `U`s; what was not read moved elsewhere, or is dropped by the caller.
        unsafe {
            block.set_range(first, first + written);
            block.retype::<U>();
        }
        Some(block)
    }
}

impl<T, U> Drop for InPlace<'_, '_, T, U> {
    /// After a panic.
    #[inline(always)]
    fn drop(&mut self) {
        let rest = self.left();
        if let Some(block) = self.close() {
            if rest > 0 {
                let mut panics = Vec::new();
                // SAFETY: these were not read, and the block has given them up.
                unsafe { drop_each(self.read, rest, &mut panics) };
                self.cx.host.note(self.cx.kernel, panics);
            }
            self.cx.drop_block(self.consumer, block);
        }
    }
}

/// Cuts the messages of a block into at most `most` blocks, in order.
pub(crate) fn cut<T>(cx: &Cx<'_>, mut block: Block, most: usize) -> Vec<Block> {
    let length = block.unread().div_ceil(most).max(1);
    let mut pieces = Vec::with_capacity(block.unread().div_ceil(length));
    while block.unread() > 0 {
        let count = length.min(block.unread());
        let (first, end) = (block.first(), block.end());
        let mut piece = cx.open_block::<T>(count);
        // SAFETY: the block holds `T` (B1); the piece was opened for as many, these move, and the block gives them up.
        unsafe {
            piece.entry::<T>(0).copy_from_nonoverlapping(block.entry::<T>(first), count);
            block.set_range(first + count, end);
            piece.set_range(0, count);
        }
        pieces.push(piece);
    }
    cx.close_block(block);
    pieces
}
