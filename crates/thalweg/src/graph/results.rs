//! Sinks whose result is taken after the run: nothing is borrowed around the graph.

use crate::error::BoxError;
use crate::graph::Graph;
use crate::graph::path::Sink;
use crate::kernel::Flow;
use crate::kernel::ported::{Binder, In, Io, Kernel};
use std::fmt;
use std::marker::PhantomData;
use thalweg_sync::sync::{Arc, Mutex};

/// What a sink of [`Graph::gather`], [`Graph::collect`] or [`Graph::count`] has made so far. Clones name the same value.
///
/// It may be looked at while the graph runs, and then waits until the sink's activation is over, or makes the sink wait. After a run that failed or was
/// cancelled it is what had come until then. Not to be used by the sink's own closure, which would wait for itself.
pub struct Gathered<S>(Arc<Mutex<S>>);

impl<S> Gathered<S> {
    /// The value; an empty one takes its place.
    pub fn take(&self) -> S
    where
        S: Default,
    {
        self.replace(S::default())
    }

    /// The value; `next` takes its place.
    pub fn replace(&self, next: S) -> S {
        self.with(|state| std::mem::replace(state, next))
    }

    /// Looks at the value where it is.
    pub fn with<R>(&self, look: impl FnOnce(&mut S) -> R) -> R {
        // A closure that panicked has failed the run, and what it left is what there is.
        look(&mut self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }
}

impl<S> Clone for Gathered<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S> fmt::Debug for Gathered<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gathered")
    }
}

struct Gather<S, F, T> {
    state: Gathered<S>,
    each: F,
    takes: PhantomData<fn(T)>,
}

impl<S: Send, F: FnMut(&mut S, T) + Send, T: Send> Kernel for Gather<S, F, T> {
    type Ports = In<T>;

    fn ports(&mut self, bind: &mut Binder<'_>) -> In<T> {
        bind.input("in")
    }

    fn run(&mut self, &input: &In<T>, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        // Once for an activation, not for each message.
        self.state.with(|state| {
            while let Some(message) = io.pop(input) {
                (self.each)(state, message);
            }
        });
        Ok(Flow::More)
    }
}

impl<'env> Graph<'env> {
    /// The end of a stream that changes a value with each message, on one worker at a time, and the value: yours after the run, while the
    /// graph is still there. A second run goes on with what is left in it.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let words = graph.source(["to", "be", "or", "not", "to", "be"]);
    /// let (end, longest) = graph.gather("", |longest: &mut &str, word: &str| if word.len() > longest.len() { *longest = word });
    /// graph += words >> end;
    /// graph.run(Scheme::default())?;
    /// assert_eq!(longest.take(), "not");
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn gather<T, S>(&self, state: S, each: impl FnMut(&mut S, T) + Send + 'env) -> (Sink<T>, Gathered<S>)
    where
        T: Send + 'env,
        S: Send + 'env,
    {
        let state = Gathered(Arc::new(Mutex::new(state)));
        let input = self.add(Gather { state: state.clone(), each, takes: PhantomData });
        (Sink(input.into(), PhantomData), state)
    }

    /// The end of a stream that keeps every message, in order, and what it has kept.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let (end, squares) = graph.collect();
    /// graph += graph.source(1..=3_u64) >> graph.parallel_map(|n: u64| n * n) >> end;
    /// graph.run(Scheme::default())?;
    /// assert_eq!(squares.take(), [1, 4, 9]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn collect<T: Send + 'env>(&self) -> (Sink<T>, Gathered<Vec<T>>) {
        self.gather(Vec::new(), Vec::push)
    }

    /// The end of a stream that counts messages, and how many there were.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let (end, count) = graph.count();
    /// graph += graph.source(0..1000_u32) >> end;
    /// graph.run(Scheme::default())?;
    /// assert_eq!(count.take(), 1000);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn count<T: Send + 'env>(&self) -> (Sink<T>, Gathered<u64>) {
        self.gather(0, |count: &mut u64, _| *count += 1)
    }
}
