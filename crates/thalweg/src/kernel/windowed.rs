//! Kernels made of a closure that sees a sliding window.

use super::Cx;
use super::given::Given;
use super::output::{ColdPart, Output};
use super::{SharedWork, Work};
use crate::block::Block;
use crate::edge::{Edge, Sender};
use crate::error::{BoxError, Verdict};
use std::marker::PhantomData;
use thalweg_sync::sync::Arc;

/// Windows of `peek` messages, of which each pops `pop`.
pub(crate) struct Windowed<F, T, U> {
    pub(crate) kernel: F,
    pub(crate) peek: usize,
    pub(crate) pop: usize,
    pub(crate) types: PhantomData<fn(T) -> U>,
}

impl<F, T, U> Windowed<F, T, U> {
    /// Runs `kernel` over the windows of `block` until there is none, the output is full, or it is time to leave.
    #[inline(always)]
    fn slide<R: Verdict>(
        cx: &Cx<'_>,
        (peek, pop): (usize, usize),
        block: &mut Block,
        output: &mut Output<U>,
        mut kernel: impl FnMut(&[T], &mut Output<U>) -> R,
    ) -> Result<(), BoxError> {
        let mut rhythm = cx.rhythm(1);
        while block.unread() >= peek {
            // SAFETY: an edge into this kernel carries `T` (B1).
            let verdict = kernel(unsafe { &block.messages::<T>()[..peek] }, output);
            let (first, end) = (block.first(), block.end());
            let next = (first + pop).min(end);
            for index in first..next {
                // SAFETY: these messages leave the window; the range gives each up before it is dropped.
                unsafe {
                    block.set_range(index + 1, end);
                    block.entry::<T>(index).drop_in_place();
                }
            }
            verdict.into_result()?;
            if output.should_stop() || cx.should_leave(&mut rhythm) {
                break;
            }
        }
        if block.unread() < peek {
            block.clear();
        }
        Ok(())
    }
}

impl<F, T, U, R> Work for Windowed<F, T, U>
where
    F: FnMut(&[T], &mut Output<U>) -> R + Send,
    R: Verdict,
{
    fn run(&mut self, cx: &Cx<'_>, out: &mut [Sender<'_>], block: &mut Option<Block>) -> Result<(), BoxError> {
        let block = block.as_mut().expect("an activation has a block");
        let mut cold = ColdPart::new(cx, &mut out[0]);
        // SAFETY: O1: dropped at the end of this function.
        let mut output = unsafe { Output::open(&mut cold) };
        Self::slide(cx, (self.peek, self.pop), block, &mut output, &mut self.kernel)
    }
}

impl<F, T, U, R> SharedWork for Windowed<F, T, U>
where
    F: Fn(&[T], &mut Output<U>) -> R + Send + Sync,
    T: Clone,
    R: Verdict,
{
    fn run(
        &self,
        cx: &Cx<'_>,
        out: &[Arc<Edge>],
        block: &mut Option<Block>,
        given: &mut Given<'_>,
    ) -> Result<(), BoxError> {
        let block = block.as_mut().expect("an activation has a block");
        let mut cold = ColdPart::chained(cx, given, 0, &out[0]);
        // SAFETY: O1: dropped at the end of this function.
        let mut output = unsafe { Output::open(&mut cold) };
        while block.unread() > 0 {
            Self::slide(cx, (self.peek, self.pop), block, &mut output, &self.kernel)?;
            if cx.left.get() {
                break;
            }
        }
        Ok(())
    }

    /// Windows that lie in different pieces share messages: those are cloned.
    fn cut(&self, cx: &Cx<'_>, mut rest: Block, most: usize) -> Vec<Block> {
        let windows = (rest.unread() - self.peek) / self.pop + 1;
        let length = windows.div_ceil(most);
        let mut pieces = Vec::with_capacity(windows.div_ceil(length));
        // SAFETY: an edge into this kernel carries `T` (B1).
        let messages = unsafe { rest.messages::<T>() };
        for first in (0..windows).step_by(length) {
            let count = (length.min(windows - first) - 1) * self.pop + self.peek;
            let mut piece = cx.open_block::<T>(count);
            for (index, message) in messages[first * self.pop..][..count].iter().enumerate() {
                // SAFETY: opened for `count`. The range follows each, since a clone may panic.
                unsafe {
                    piece.entry::<T>(index).write(message.clone());
                    piece.set_range(0, index + 1);
                }
            }
            pieces.push(piece);
        }
        rest.clear();
        cx.close_block(rest);
        pieces
    }
}
