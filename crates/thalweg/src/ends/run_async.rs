//! A run as a future.

use crate::control::Stopper;
use crate::error::{Error, Payload, Refusal, Result};
use crate::graph::Graph;
use crate::report::Report;
use crate::scheme::Scheme;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use thalweg_sync::sync::{Arc, Mutex, MutexGuard};
use thalweg_sync::thread;

/// What the future and the thread of the run share.
struct Shared(Mutex<State>);

#[derive(Default)]
struct State {
    /// Not while it runs.
    graph: Option<Graph<'static>>,
    /// What it came to, until the future has given it; or what the run panicked with.
    result: Option<std::result::Result<Result<Report>, Payload>>,
    is_over: bool,
    waker: Option<Waker>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn run(&self, scheme: Scheme) {
        let Some(mut graph) = self.lock().graph.take() else { return };
        let result = catch_unwind(AssertUnwindSafe(|| graph.run(scheme)));
        let waker = {
            let mut state = self.lock();
            *state = State { graph: Some(graph), result: Some(result), is_over: true, waker: state.waker.take() };
            state.waker.take()
        };
        // Not under the lock: it is somebody else's code.
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// A run that is awaited. Made by [`Graph::run_async`].
///
/// It runs whether it is polled or not. Dropped before it is ready, it [cancels](Stopper::cancel) the run and does not wait for it: the graph is
/// dropped when its workers have come home.
#[must_use = "dropped, it cancels the run"]
pub struct Run {
    shared: Arc<Shared>,
    stopper: Stopper,
}

impl Graph<'static> {
    /// Runs the graph on threads of its own, and is ready when it has come to its end. On any executor, which it does not keep waiting.
    ///
    /// [`run`](Self::run) holds the thread that calls it until the end. Kernels run on the run's threads, not on the executor's: what they
    /// await they give to a task, by an [outlet](Self::outlet), and get back by an [inlet](Self::inlet).
    ///
    /// ```
    /// use thalweg::prelude::*;
    ///
    /// # futures_executor::block_on(async {
    /// let mut graph = Graph::new();
    /// let (numbers, inlet) = graph.inlet(8)?;
    /// let square = graph.parallel_map(|n: u64| n * n);
    /// let (sink, outlet) = graph.outlet(8)?;
    /// graph += numbers >> square >> sink;
    /// let mut run = graph.run_async(Scheme::default());
    ///
    /// inlet.push_async(7).await?;
    /// assert_eq!(outlet.pop_async().await, Ok(49));
    /// drop(inlet);
    /// let report = (&mut run).await?;
    /// assert_eq!(report.end, thalweg::End::Complete);
    /// let graph = run.into_graph(); // to be run again
    /// # assert!(graph.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// The future gives those of [`run`](Self::run). If the system gives no thread, the run is [refused](Error::Refused), and
    /// [`into_graph`](Run::into_graph) has the graph as it was.
    pub fn run_async(self, scheme: Scheme) -> Run {
        let stopper = self.stopper();
        let shared = Arc::new(Shared(Mutex::new(State { graph: Some(self), ..State::default() })));
        let theirs = shared.clone();
        if let Err(error) = thread::try_start(scheme.spec("thalweg-run"), move || theirs.run(scheme)) {
            let reason =
                format!("the system gives no thread: {error}; let other threads end, then run the graph again");
            let refusal = Refusal { kernel: "the run".to_owned(), reason };
            let mut state = shared.lock();
            state.result = Some(Ok(Err(Error::Refused(vec![refusal]))));
            state.is_over = true;
        }
        Run { shared, stopper }
    }
}

impl Run {
    /// The graph, to be run again. None before the run is over: then it is cancelled.
    pub fn into_graph(self) -> Option<Graph<'static>> {
        let mut state = self.shared.lock();
        if state.is_over { state.graph.take() } else { None }
    }
}

impl Future for Run {
    type Output = Result<Report>;

    /// # Panics
    ///
    /// If it is polled after it was ready.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // Not under the lock, as to drop one: it is somebody else's code.
        let waker = cx.waker().clone();
        let mut state = self.shared.lock();
        if let Some(result) = state.result.take() {
            drop(state);
            return Poll::Ready(result.unwrap_or_else(|panic| resume_unwind(panic)));
        }
        assert!(!state.is_over, "polled after it was ready");
        let old = state.waker.replace(waker);
        drop(state);
        drop(old);
        Poll::Pending
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !self.shared.lock().is_over {
            self.stopper.cancel();
        }
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("is_over", &self.shared.lock().is_over).finish_non_exhaustive()
    }
}
