//! A source that is polled, as a stream of futures is, and wakes the graph when it has something.

use super::RingOnDrop;
use crate::control::Control;
use crate::edge::Sender;
use crate::error::{BoxError, Error};
use crate::kernel::output::{ColdPart, Output};
use crate::kernel::{Cx, Flow, Outside, Supply};
use crate::report::Report;
use std::marker::PhantomData;
use std::task::{Context, Poll, Wake, Waker};
use thalweg_sync::atomic::{AtomicBool, Ordering::*};
use thalweg_sync::sync::Arc;

/// What wakers of a polled end do.
pub(super) struct Signal {
    /// The end is to be polled.
    woken: AtomicBool,
    bell: RingOnDrop,
}

impl Signal {
    pub(super) fn new(control: &Arc<Control>) -> std::sync::Arc<Self> {
        std::sync::Arc::new(Self { woken: AtomicBool::new(true), bell: RingOnDrop(control.clone()) })
    }

    /// What woke it so far is seen by the poll that comes next.
    pub(super) fn listen(&self) {
        self.woken.swap(false, AcqRel);
    }

    /// It is to be polled again, without a waker.
    pub(super) fn call(&self) {
        self.woken.store(true, Relaxed);
    }

    /// Whether it is to be polled.
    pub(super) fn is_called(&self) -> bool {
        self.woken.load(Acquire)
    }
}

impl Wake for Signal {
    fn wake(self: std::sync::Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &std::sync::Arc<Self>) {
        // Release, pairs with the swap in `listen`: what the waker brought is there when it is polled.
        self.woken.store(true, Release);
        // L2.
        self.bell.0.bell.ring();
    }
}

/// `FnMut(&mut Context) -> Poll<Option<T>>`.
pub(crate) struct Polled<F, T> {
    poll: F,
    signal: std::sync::Arc<Signal>,
    ended: bool,
    types: PhantomData<fn() -> T>,
}

impl<F, T> Polled<F, T> {
    pub(crate) fn new(poll: F, control: &Arc<Control>) -> Self {
        Self { poll, signal: Signal::new(control), ended: false, types: PhantomData }
    }

    /// What tells, from any thread, whether it is to be polled.
    pub(crate) fn watch(&self) -> Watch {
        Watch(self.signal.clone())
    }
}

impl<F, T: Send> Supply for Polled<F, T>
where
    F: FnMut(&mut Context<'_>) -> Poll<Option<T>> + Send,
{
    fn begin(&mut self) -> Result<(), BoxError> {
        // Whatever woke it before may have been seen by the run that is over.
        self.signal.call();
        Ok(())
    }

    fn give(&mut self, cx: &Cx<'_>, out: &mut [Sender<'_>]) -> Result<Flow, BoxError> {
        // It is no inlet: what it has yet to give is the next run's.
        if self.ended || cx.is_draining() {
            return Ok(Flow::Done);
        }
        // Before it is polled: a waker that comes later is for another time.
        self.signal.listen();
        let waker = Waker::from(self.signal.clone());
        let mut context = Context::from_waker(&waker);
        let most = out[0].edge().block_len();
        let mut cold = ColdPart::new(cx, &mut out[0]);
        // SAFETY: O1: dropped at the end of this function.
        let mut output = unsafe { Output::open(&mut cold) };
        for _ in 0..most {
            match (self.poll)(&mut context) {
                Poll::Ready(Some(message)) => output.push(message),
                Poll::Ready(None) => {
                    self.ended = true;
                    return Ok(Flow::Done);
                }
                Poll::Pending => return Ok(Flow::Pending),
            }
        }
        // There may be more.
        self.signal.call();
        Ok(Flow::More)
    }
}

/// Looks whether it was woken.
pub(crate) struct Watch(std::sync::Arc<Signal>);

impl Outside for Watch {
    fn is_ready(&self) -> bool {
        self.0.is_called()
    }

    fn reopen(&self) {}

    fn run_is_over(&self, _result: &Result<Report, Error>) {}
}
