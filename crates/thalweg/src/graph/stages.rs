//! Kernels of one stage of a [chain](super::chain), as nodes: those that change, choose or spread messages.

use crate::graph::Graph;
use crate::graph::path::Node;
use crate::kernel::Body;
use crate::kernel::fused::{Filter, FlatMap, Fused, Identity, Stage};
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

    #[track_caller]
    fn add_stage<T: Send + 'env, S: Stage<T> + 'env>(&self, kind: &str, stage: S) -> Node<T, S::Out> {
        self.add_node(kind, Body::Sequential(Box::new(Fused(stage, PhantomData::<fn(T)>))), None)
    }
}
