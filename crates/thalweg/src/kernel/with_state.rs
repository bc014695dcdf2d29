//! Kernels on many workers, each of which has a state of its own.

use super::each::{each, pace};
use super::given::Given;
use super::in_place::cut;
use super::output::{ColdPart, Output};
use super::{Cx, SharedWork};
use crate::block::Block;
use crate::edge::Edge;
use crate::error::{BoxError, Verdict};
use std::marker::PhantomData;
use thalweg_sync::sync::{Arc, Mutex};

/// `Fn(&mut S, T, &mut Output<U>)`, on many workers, each of which takes one of the states that nobody has, or makes one.
pub(crate) struct ParallelWith<I, S, F, T, U> {
    init: I,
    kernel: F,
    free: Mutex<Vec<S>>,
    /// States in whose use the kernel panicked: not used again, and not dropped while that unwinds.
    spoilt: Mutex<Vec<S>>,
    types: PhantomData<fn(T) -> U>,
}

impl<I, S, F, T, U> ParallelWith<I, S, F, T, U> {
    pub(crate) fn new(init: I, kernel: F) -> Self {
        Self { init, kernel, free: Mutex::default(), spoilt: Mutex::default(), types: PhantomData }
    }
}

/// A state in use.
struct Lent<'a, S> {
    state: Option<S>,
    free: &'a Mutex<Vec<S>>,
    spoilt: &'a Mutex<Vec<S>>,
}

impl<S> Drop for Lent<'_, S> {
    fn drop(&mut self) {
        let home = if std::thread::panicking() { self.spoilt } else { self.free };
        home.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).extend(self.state.take());
    }
}

impl<I, S, F, T, U, R> SharedWork for ParallelWith<I, S, F, T, U>
where
    I: Fn() -> S + Send + Sync,
    S: Send,
    F: Fn(&mut S, T, &mut Output<U>) -> R + Send + Sync,
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
        // The last one that came back: it may still lie in this core's cache.
        let free = self.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop();
        let state = Some(free.unwrap_or_else(&self.init));
        let mut lent = Lent { state, free: &self.free, spoilt: &self.spoilt };
        let state = lent.state.as_mut().expect("it was just put there");
        let mut cold = ColdPart::chained(cx, given, 0, &out[0]);
        // SAFETY: O1: dropped at the end of this function.
        let mut output = unsafe { Output::open(&mut cold) };
        each(cx, block, &mut output, const { pace::<(F, S)>() }, |message, output| {
            (self.kernel)(state, message, output)
        })
    }

    fn cut(&self, cx: &Cx<'_>, rest: Block, most: usize) -> Vec<Block> {
        cut::<T>(cx, rest, most)
    }
}
