//! A chain's operators that are kernels of their own, and its other ends.

use crate::error::Verdict;
use crate::graph::Graph;
use crate::graph::chain::{Behind, Chain, Pending};
use crate::graph::path::{End, Gives, Node, Tail, Takes};
use crate::graph::results::Gathered;
use crate::kernel::output::Output;
use crate::kernel::ported::Out;

// Each is tracked and calls what makes the kernel directly: a closure in between would be the place that reports name.
impl<'g, 'env, P: Pending<'env>> Chain<'g, 'env, P> {
    /// Goes on with what `next` makes of the graph: any operator that a graph has, or a path of several.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// use std::time::Duration;
    /// let mut graph = Graph::new();
    /// let chunks = graph.stream(0..5_u64).then_with(|graph| graph.chunks_within(2, Duration::from_secs(60))).collect();
    /// graph.run(Scheme::default())?;
    /// assert_eq!(chunks.take(), [vec![0, 1], vec![2, 3], vec![4]]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn then_with<R, T>(self, next: impl FnOnce(&Graph<'env>) -> R) -> Behind<'g, 'env, T>
    where
        R: Takes<P::Item, Tail = Tail<T>>,
    {
        let chain = self.settle();
        let next = next(chain.graph);
        chain.follow(next)
    }

    /// Gives the last kernel so far a name; see [`Graph::name`]. Steps that were fused into it are part of it, and what follows is another kernel.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// graph.stream(["2", "x"]).named("words").map(|word: &str| word.parse::<u32>()).named("parse").sink(|_| ());
    /// let report = graph.run(Scheme::default())?;
    /// assert!(report.kernel("words").is_some() && report.kernel("parse").is_some());
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn named(self, name: &str) -> Behind<'g, 'env, P::Item> {
        let chain = self.settle();
        let last = chain.pending.path.last;
        let handle: Out<P::Item> = Out::at(last.graph, last.kernel, last.port);
        chain.graph.name(handle, name);
        chain
    }

    /// Changes each message, on many workers, in order; see [`Graph::parallel_map`].
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let squares = graph.stream(1..=3_u64).parallel_map(|x| x * x).collect();
    /// graph.run(Scheme::default())?;
    /// assert_eq!(squares.take(), [1, 4, 9]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn parallel_map<U: Send + 'env>(
        self,
        change: impl Fn(P::Item) -> U + Send + Sync + 'env,
    ) -> Behind<'g, 'env, U> {
        let chain = self.settle();
        let node: Node<P::Item, U> = chain.graph.parallel_map(change);
        chain.follow(node)
    }

    /// Lets through what `keep` says, on many workers, in order.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let primes = graph.stream(2..30_u64).parallel_filter(|&n| (2..n).all(|k| n % k > 0)).collect();
    /// graph.run(Scheme::default())?;
    /// assert_eq!(primes.take(), [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn parallel_filter(self, keep: impl Fn(&P::Item) -> bool + Send + Sync + 'env) -> Behind<'g, 'env, P::Item> {
        self.parallel(move |message: P::Item, out: &mut Output<P::Item>| {
            if keep(&message) {
                out.push(message);
            }
        })
    }

    /// Changes each message where it is, on many workers, in order; see [`Graph::parallel_update`].
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let first = graph.stream((0..3_u64).map(|n| [n; 512])).parallel_update(|page| page[0] += 1).map(|page| page[0]).collect();
    /// graph.run(Scheme::default())?;
    /// assert_eq!(first.take(), [1, 2, 3]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn parallel_update(self, change: impl Fn(&mut P::Item) + Send + Sync + 'env) -> Behind<'g, 'env, P::Item> {
        let chain = self.settle();
        let node: Node<P::Item, P::Item> = chain.graph.parallel_update(change);
        chain.follow(node)
    }

    /// Lets `count` messages through and ends the stream; see [`Graph::take`].
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let powers = graph.stream(0..).map(|n| 1_u64 << n).take(4).collect();
    /// graph.run(Scheme::default())?;
    /// assert_eq!(powers.take(), [1, 2, 4, 8]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn take(self, count: usize) -> Behind<'g, 'env, P::Item> {
        let chain = self.settle();
        let node: Node<P::Item, P::Item> = chain.graph.take(count);
        chain.follow(node)
    }

    /// Lets messages through as long as `keeps` says so, and ends the stream at the first for which it does not; see [`Graph::take_while`].
    #[track_caller]
    pub fn take_while(self, keeps: impl FnMut(&P::Item) -> bool + Send + 'env) -> Behind<'g, 'env, P::Item> {
        let chain = self.settle();
        let node: Node<P::Item, P::Item> = chain.graph.take_while(keeps);
        chain.follow(node)
    }

    /// Changes messages as long as `change` gives something, and ends the stream when it gives `None`; see [`Graph::map_while`].
    #[track_caller]
    pub fn map_while<U: Send + 'env>(
        self,
        change: impl FnMut(P::Item) -> Option<U> + Send + 'env,
    ) -> Behind<'g, 'env, U> {
        let chain = self.settle();
        let node: Node<P::Item, U> = chain.graph.map_while(change);
        chain.follow(node)
    }

    /// One value for the whole stream, given at its end; see [`Graph::fold`].
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let sum = graph.stream(1..=100_u64).fold(|| 0, |sum, x| *sum += x).collect();
    /// graph.run(Scheme::default())?;
    /// assert_eq!(sum.take(), [5050]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn fold<S: Send + 'env>(
        self,
        init: impl FnMut() -> S + Send + 'env,
        step: impl FnMut(&mut S, P::Item) + Send + 'env,
    ) -> Behind<'g, 'env, S> {
        let chain = self.settle();
        let node: Node<P::Item, S> = chain.graph.fold(init, step);
        chain.follow(node)
    }

    /// Puts `length` messages together in a vector; see [`Graph::chunks`].
    #[track_caller]
    pub fn chunks(self, length: usize) -> Behind<'g, 'env, Vec<P::Item>> {
        let chain = self.settle();
        let node: Node<P::Item, Vec<P::Item>> = chain.graph.chunks(length);
        chain.follow(node)
    }

    /// Pairs with the messages of another stream, and ends with the shorter one; see [`Graph::zip`].
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let letters = graph.source('a'..='z');
    /// let pairs = graph.stream(0..2).map(|n| n * n).zip(letters).collect();
    /// graph.run(Scheme::default())?;
    /// assert_eq!(pairs.take(), [(0, 'a'), (1, 'b')]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn zip<G>(self, other: G) -> Behind<'g, 'env, (P::Item, G::Message)>
    where
        G: Gives<Head = End, Message: Send + 'env>,
    {
        let chain = self.settle();
        let zipped = chain.graph.zip(chain.pending.path, other);
        chain.graph.from(zipped)
    }

    /// What comes here and from another stream, as it comes; see [`Graph::merge`].
    #[track_caller]
    pub fn merge(self, other: impl Gives<Message = P::Item, Head = End>) -> Behind<'g, 'env, P::Item> {
        let chain = self.settle();
        let merged = chain.graph.merge([chain.pending.path, other.into_path()]);
        chain.graph.from(merged)
    }

    /// Gives each message to `N` kernels: one output port for each; see [`Graph::tee`].
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let [left, right] = graph.stream(1..=4_u64).map(|x| x * 10).tee();
    /// let (all, sum) = (graph.from(left).collect(), graph.from(right).fold(|| 0, |sum, x| *sum += x).collect());
    /// graph.run(Scheme::default())?;
    /// assert_eq!((all.take(), sum.take()), (vec![10, 20, 30, 40], vec![100]));
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn tee<const N: usize>(self) -> [Out<P::Item>; N]
    where
        P::Item: Clone,
    {
        let chain = self.settle();
        chain.graph.tee(chain.pending.path)
    }

    /// Gives each message to one of two: to the first port where `test` says so; see [`Graph::split`].
    #[track_caller]
    pub fn split(self, test: impl FnMut(&P::Item) -> bool + Send + 'env) -> [Out<P::Item>; 2] {
        let chain = self.settle();
        chain.graph.split(chain.pending.path, test)
    }

    /// Ends the chain with a kernel on many workers at once, which sees messages in any order; see [`Graph::parallel_sink`].
    #[track_caller]
    pub fn parallel_sink<R>(self, kernel: impl Fn(P::Item) -> R + Send + Sync + 'env)
    where
        R: Verdict<Value = ()> + 'env,
    {
        let chain = self.settle();
        let sink = chain.graph.parallel_sink(kernel);
        chain.into(sink);
    }

    /// Ends the chain with a kernel that keeps every message, in order: what it has kept is yours after the run; see [`Graph::collect`].
    #[track_caller]
    pub fn collect(self) -> Gathered<Vec<P::Item>> {
        let chain = self.settle();
        let (sink, all) = chain.graph.collect();
        chain.into(sink);
        all
    }

    /// Ends the chain with a kernel that counts messages; see [`Graph::count`].
    #[track_caller]
    pub fn count(self) -> Gathered<u64> {
        let chain = self.settle();
        let (sink, count) = chain.graph.count();
        chain.into(sink);
        count
    }

    /// Ends the chain with a kernel that changes a value with each message; see [`Graph::gather`].
    #[track_caller]
    pub fn gather<S: Send + 'env>(self, state: S, each: impl FnMut(&mut S, P::Item) + Send + 'env) -> Gathered<S> {
        let chain = self.settle();
        let (sink, state) = chain.graph.gather(state, each);
        chain.into(sink);
        state
    }
}
