//! Kernels made of a closure that sees a sliding window.

use crate::block::{Block, Chain};
use crate::error::{BoxError, Verdict};
use crate::kernel::{SharedWork, Work};
use crate::output::{Core, Output};
use crate::run::Cx;
use std::marker::PhantomData;

/// Windows of `peek` messages, of which each pops `pop`.
pub(crate) struct Windowed<F, T, U> {
    pub(crate) kernel: F,
    pub(crate) peek: usize,
    pub(crate) pop: usize,
    pub(crate) types: PhantomData<fn(T) -> U>,
}

impl<F, T, U> Windowed<F, T, U> {
    /// Runs `kernel` over the windows of `block` until there is none or the output is full.
    #[inline(always)]
    fn slide<R: Verdict>(
        cx: &Cx<'_>,
        (peek, pop): (usize, usize),
        block: &mut Block,
        output: &mut Output<U>,
        mut kernel: impl FnMut(&[T], &mut Output<U>) -> R,
    ) -> Result<(), BoxError> {
        let slow = cx.takes_long();
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
            if output.should_stop() || slow && cx.is_cancelled() {
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
    fn run(&mut self, cx: &Cx<'_>, block: &mut Option<Block>) -> Result<(), BoxError> {
        let block = block.as_mut().expect("an activation has a block");
        let mut core = Core::new(cx, 0, None);
        // SAFETY: O1: dropped at the end of this function.
        let mut output = unsafe { Output::open(&mut core) };
        Self::slide(cx, (self.peek, self.pop), block, &mut output, &mut self.kernel)
    }
}

impl<F, T, U, R> SharedWork for Windowed<F, T, U>
where
    F: Fn(&[T], &mut Output<U>) -> R + Send + Sync,
    R: Verdict,
{
    fn run(&self, cx: &Cx<'_>, block: &mut Option<Block>, chain: &mut Chain) -> Result<(), BoxError> {
        let block = block.as_mut().expect("an activation has a block");
        let mut core = Core::new(cx, 0, Some(chain));
        // SAFETY: O1: dropped at the end of this function.
        let mut output = unsafe { Output::open(&mut core) };
        while block.unread() > 0 {
            Self::slide(cx, (self.peek, self.pop), block, &mut output, &self.kernel)?;
            if cx.is_cancelled() {
                break;
            }
        }
        Ok(())
    }
}
