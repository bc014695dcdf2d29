//! A sink that is polled, as a sink of futures is, and wakes the graph when it has room.

use super::polled::Signal;
use crate::block::Block;
use crate::control::Control;
use crate::edge::Sender;
use crate::error::{BoxError, Error, Verdict};
use crate::kernel::in_place::Unread;
use crate::kernel::{Cx, Outside, Why, Work};
use crate::report::Report;
use std::marker::PhantomData;
use std::task::{Context, Poll, Waker};
use thalweg_sync::sync::Arc;

/// `FnMut(&mut Context, &mut Option<T>) -> Poll<R>`.
pub(crate) struct PolledSink<F, T> {
    poll: F,
    signal: std::sync::Arc<Signal>,
    /// Why it left messages.
    held: Option<Why>,
    types: PhantomData<fn(T)>,
}

impl<F, T> PolledSink<F, T> {
    pub(crate) fn new(poll: F, control: &Arc<Control>) -> Self {
        Self { poll, signal: Signal::new(control), held: None, types: PhantomData }
    }

    /// What tells, from any thread, whether it is to be polled.
    pub(crate) fn watch(&self) -> Watch {
        Watch(self.signal.clone())
    }
}

impl<F, T: Send, R: Verdict> Work for PolledSink<F, T>
where
    F: FnMut(&mut Context<'_>, &mut Option<T>) -> Poll<R> + Send,
{
    fn run(&mut self, cx: &Cx<'_>, _out: &mut [Sender<'_>], block: &mut Option<Block>) -> Result<(), BoxError> {
        let block = block.as_mut().expect("an activation has a block");
        let mut rhythm = cx.rhythm(1);
        // SAFETY: an edge into this kernel carries `T` (B1).
        let mut unread = unsafe { Unread::<T>::new(block) };
        self.held = None;
        // Before it is polled: a waker that comes later is for another time.
        self.signal.listen();
        let waker = Waker::from(self.signal.clone());
        let mut context = Context::from_waker(&waker);
        while let Some(message) = unread.next() {
            let mut message = Some(message);
            let polled = (self.poll)(&mut context, &mut message);
            if let Some(message) = message {
                unread.put_back(message);
            }
            match polled {
                Poll::Ready(verdict) => _ = verdict.into_result()?,
                Poll::Pending => {
                    self.held = Some(Why::Pending);
                    return Ok(());
                }
            }
            if cx.should_leave(&mut rhythm) {
                break;
            }
        }
        // There may be room for more.
        self.signal.call();
        Ok(())
    }

    fn held(&self) -> Option<Why> {
        self.held
    }
}

/// Looks whether it was woken.
pub(crate) struct Watch(std::sync::Arc<Signal>);

impl Outside for Watch {
    fn is_ready(&self) -> bool {
        self.0.is_called()
    }

    fn reopen(&self) {
        // Whatever woke it before may have been seen by the run that is over.
        self.0.call();
    }

    fn run_is_over(&self, _result: &Result<Report, Error>) {}
}
