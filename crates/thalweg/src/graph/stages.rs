//! Kernels that choose or spread messages, or have a state for each worker.

use crate::error::Verdict;
use crate::graph::Graph;
use crate::graph::path::Node;
use crate::kernel::Body;
use crate::kernel::fused::{Filter, FlatMap, Fused, Identity, Stage};
use crate::kernel::output::Output;
use crate::kernel::with_state::ParallelWith;
use std::marker::PhantomData;

impl<'env> Graph<'env> {
    /// A kernel that lets through what `keep` says, on one worker at a time.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let (end, count) = graph.count();
    /// graph += graph.source(1..=30_u64) >> graph.filter(|n| n % 3 == 0) >> end;
    /// graph.run(Scheme::default())?;
    /// assert_eq!(count.take(), 10);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn filter<T: Send + 'env>(&self, keep: impl FnMut(&T) -> bool + Send + 'env) -> Node<T, T> {
        self.add_stage("filter", Filter(Identity, keep))
    }

    /// A kernel that makes any number of messages of each, on one worker at a time: those that an iterator gives.
    ///
    /// They are pulled: when the edge behind is full the iterator waits, however many it has left, and a [capacity](crate::Gives::capacity) holds. It is
    /// gone on with before the next message is taken; if nobody takes what it would give, or the run is cancelled, it is dropped.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let (end, count) = graph.count();
    /// let (names, lines) = (graph.source(["a", "b"]), graph.flat_map(|_name: &str| 0..100_000));
    /// graph += names >> lines.fixed(64) >> end;
    /// let report = graph.run(Scheme::default())?;
    /// assert_eq!(count.take(), 200_000);
    /// assert!(report.edges[1].peak <= 64 + 32, "the capacity and a block");
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn flat_map<T, U>(&self, spread: impl FnMut(T) -> U + Send + 'env) -> Node<T, U::Item>
    where
        T: Send + 'env,
        U: IntoIterator<IntoIter: Send + 'env, Item: Send + 'env> + 'env,
    {
        self.add_stage("flat_map", FlatMap::new(Identity, spread))
    }

    /// As [`parallel`](Self::parallel), with a state for each worker that is at it: a scratch buffer, a random generator, a connection.
    ///
    /// `init` makes a state when a worker finds none that is free, so at most as many times as there are workers. States are kept from run to run, and
    /// dropped with the graph. Which messages see which state is not said, so results should not depend on what is in it. One in whose use `kernel` panicked
    /// is not used again. Cost: a lock, twice for each block of messages.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let (end, digits) = graph.collect();
    /// // The buffer is written anew for each message, and allocated once for each worker.
    /// let sum = graph.parallel_with(String::new, |text: &mut String, n: u64, out: &mut Output<u32>| {
    ///     text.clear();
    ///     text.extend(n.to_string().chars().rev());
    ///     out.push(text.chars().filter_map(|digit| digit.to_digit(10)).sum());
    /// });
    /// graph += graph.source([19_u64, 204, 7]) >> sum >> end;
    /// graph.run(Scheme::default())?;
    /// assert_eq!(digits.take(), [10, 6, 7]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn parallel_with<S, T, U, R>(
        &self,
        init: impl Fn() -> S + Send + Sync + 'env,
        kernel: impl Fn(&mut S, T, &mut Output<U>) -> R + Send + Sync + 'env,
    ) -> Node<T, U>
    where
        S: Send + 'env,
        T: Send + 'env,
        U: Send + 'env,
        R: Verdict<Value = ()> + 'env,
    {
        self.add_node("parallel", Body::Parallel(Box::new(ParallelWith::<_, S, _, T, U>::new(init, kernel))), None)
    }

    #[track_caller]
    fn add_stage<T: Send + 'env, S: Stage<T> + 'env>(&self, kind: &str, stage: S) -> Node<T, S::Out> {
        self.add_node(kind, Body::Sequential(Box::new(Fused(stage, PhantomData::<fn(T)>))), None)
    }
}
