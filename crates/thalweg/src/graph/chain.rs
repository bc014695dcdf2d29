//! The fluent form: plain chains, written as iterators are.
//!
//! `map`, `filter`, `filter_map`, `flat_map`, `flatten`, `inspect` and `update` fuse with what stands before them on the same handle: with an iterator into its
//! source, with each other into one kernel. What makes a kernel of its own is said so: [`then`](Chain::then), [`sequential`](Chain::sequential), …

use crate::error::Verdict;
use crate::graph::Graph;
use crate::graph::path::{End, Gives, Node, Path, Sink, Tail, Takes};
use crate::kernel::fused::{Filter, FlatMap, Fused, Identity, Inspect, Map, Stage, Update};
use crate::kernel::output::Output;
use crate::kernel::source;
use crate::kernel::steps::{Begin, Change, ForEach, Keep, Look, Spread, Steps};
use crate::kernel::{Body, Flow};
use std::fmt;
use std::iter;
use std::marker::PhantomData;

/// What a chain holds back until it knows what follows.
pub trait Pending<'env> {
    /// What it will give.
    type Item: Send + 'env;
    /// Makes it a kernel, if it is one, and gives the path so far. The kernel's place is the caller's.
    #[track_caller]
    fn settle(self, graph: &Graph<'env>) -> Path<End, Tail<Self::Item>>;
}

/// An iterator that will be a source.
#[derive(Debug)]
pub struct FromIter<I>(I);

impl<'env, I: Iterator<Item: Send + 'env> + Send + 'env> Pending<'env> for FromIter<I> {
    type Item = I::Item;
    fn settle(self, graph: &Graph<'env>) -> Path<End, Tail<I::Item>> {
        graph.source(self.0).into_path()
    }
}

/// Steps behind an iterator that will be a source.
#[derive(Debug)]
pub struct Stepwise<S>(S);

impl<'env, S: Steps<Item: 'env> + 'env> Pending<'env> for Stepwise<S> {
    type Item = S::Item;
    fn settle(self, graph: &Graph<'env>) -> Path<End, Tail<S::Item>> {
        graph.source_of_steps(self.0).into_path()
    }
}

/// A path, and stages that will be a kernel behind it.
#[derive(Debug)]
pub struct After<T, S> {
    pub(super) path: Path<End, Tail<T>>,
    stages: S,
}

impl<'env, T: Send + 'env> Pending<'env> for After<T, Identity> {
    type Item = T;
    fn settle(self, _graph: &Graph<'env>) -> Path<End, Tail<T>> {
        self.path
    }
}

macro_rules! stages_settle {
    ($stage:ident $(, $U:ident: $bound:ident)?) => {
        impl<'env, T, S $(, $U: $bound)?, F> Pending<'env> for After<T, $stage<S $(, $U)?, F>>
        where
            T: Send + 'env,
            $stage<S $(, $U)?, F>: Stage<T, Out: 'env> + 'env,
        {
            type Item = <$stage<S $(, $U)?, F> as Stage<T>>::Out;
            fn settle(self, graph: &Graph<'env>) -> Path<End, Tail<Self::Item>> {
                let body = Body::Sequential(Box::new(Fused(self.stages, PhantomData::<fn(T)>)));
                let node: Node<T, Self::Item> = graph.add_node("chain", body, None);
                self.path >> node
            }
        }
    };
}
stages_settle!(Map);
stages_settle!(Filter);
stages_settle!(FlatMap, U: IntoIterator);
stages_settle!(Update);
stages_settle!(Inspect);

/// A chain under construction. Made by [`Graph::stream`] and [`Graph::from`].
///
/// ```
/// use thalweg::prelude::*;
///
/// let mut sum = 0;
/// let mut graph = Graph::new();
/// graph
///     .stream(1..=10_u64)
///     .filter(|x| x % 2 == 0)                                             // fused with the source
///     .parallel(|x: u64, out: &mut Output<u64>| out.push(x * x))          // a kernel on many workers
///     .map(|x| x + 1)                                                     // a kernel …
///     .inspect(|x| assert!(*x > 4))                                       // … fused with the one before
///     .sink(|x| sum += x);
/// graph.run(Scheme::default())?;
/// drop(graph);
/// assert_eq!(sum, 5 + 17 + 37 + 65 + 101);
/// # Ok::<(), thalweg::Error>(())
/// ```
#[must_use = "a chain is added to the graph by its end: .sink(..), .for_each(..) or .into(..)"]
pub struct Chain<'g, 'env, P> {
    pub(super) graph: &'g Graph<'env>,
    pub(super) pending: P,
}

impl<P> fmt::Debug for Chain<'_, '_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain").finish_non_exhaustive()
    }
}

impl<'env> Graph<'env> {
    /// Begins a chain with what an iterator gives; see [`source`](Self::source).
    pub fn stream<I>(&self, messages: I) -> Chain<'_, 'env, FromIter<I::IntoIter>>
    where
        I: IntoIterator<IntoIter: Send + 'env, Item: Send + 'env>,
    {
        Chain { graph: self, pending: FromIter(messages.into_iter()) }
    }

    /// Begins a chain behind a source, a path that begins with one, or an output port.
    pub fn from<G>(&self, giver: G) -> Chain<'_, 'env, After<G::Message, Identity>>
    where
        G: Gives<Head = End>,
    {
        Chain { graph: self, pending: After { path: giver.into_path(), stages: Identity } }
    }
}

type Mapped<I, F> = iter::Map<I, F>;
/// What spreads messages that are collections: by a function that gives what it gets.
type Flat<S, U> = Spread<S, U, fn(U) -> U>;
/// The same as a stage.
type FlatStage<S, U> = FlatMap<S, U, fn(U) -> U>;
/// A chain that is a source of steps.
type Stepped<'g, 'env, S> = Chain<'g, 'env, Stepwise<S>>;
/// A chain of stages behind a kernel.
type Staged<'g, 'env, T, S> = Chain<'g, 'env, After<T, S>>;

/// A filter, or a `flat_map`, that lets nothing through sees a wish to stop or to cancel all the same.
impl<'g, 'env, I: Iterator<Item: Send + 'env> + Send + 'env> Chain<'g, 'env, FromIter<I>> {
    /// Changes each message.
    pub fn map<U: Send + 'env, F>(self, change: F) -> Chain<'g, 'env, FromIter<Mapped<I, F>>>
    where
        F: FnMut(I::Item) -> U + Send + 'env,
    {
        Chain { graph: self.graph, pending: FromIter(self.pending.0.map(change)) }
    }

    /// Lets through what `keep` says.
    pub fn filter<F>(self, keep: F) -> Chain<'g, 'env, Stepwise<Keep<Begin<I>, F>>>
    where
        F: FnMut(&I::Item) -> bool + Send + 'env,
    {
        Chain { graph: self.graph, pending: Stepwise(Keep(Begin(self.pending.0), keep)) }
    }

    /// Makes any number of messages of each.
    pub fn flat_map<U, F>(self, spread: F) -> Chain<'g, 'env, Stepwise<Spread<Begin<I>, U, F>>>
    where
        U: IntoIterator<IntoIter: Send + 'env, Item: Send + 'env> + 'env,
        F: FnMut(I::Item) -> U + Send + 'env,
    {
        Chain { graph: self.graph, pending: Stepwise(Spread::new(Begin(self.pending.0), spread)) }
    }

    /// Changes messages, and lets those fall of which nothing comes.
    pub fn filter_map<U: Send + 'env, F>(self, change: F) -> Stepped<'g, 'env, Spread<Begin<I>, Option<U>, F>>
    where
        F: FnMut(I::Item) -> Option<U> + Send + 'env,
    {
        self.flat_map(change)
    }

    /// Gives what is in each message, one by one.
    pub fn flatten(self) -> Stepped<'g, 'env, Flat<Begin<I>, I::Item>>
    where
        I::Item: IntoIterator<IntoIter: Send + 'env, Item: Send + 'env>,
    {
        self.flat_map(std::convert::identity)
    }

    /// Looks at each message.
    pub fn inspect<F>(self, look: F) -> Chain<'g, 'env, FromIter<iter::Inspect<I, F>>>
    where
        F: FnMut(&I::Item) + Send + 'env,
    {
        Chain { graph: self.graph, pending: FromIter(self.pending.0.inspect(look)) }
    }

    /// Ends the chain within the same kernel: no edge, no hop, close to a plain loop. After a panic in `each` the chain is over, also in a second run.
    #[track_caller]
    pub fn for_each(self, each: impl FnMut(I::Item) + Send + 'env) {
        self.graph.add_fused(Box::new(source::Fused(Some((self.pending.0, each)))));
    }
}

impl<'g, 'env, S: Steps<Item: 'env> + 'env> Chain<'g, 'env, Stepwise<S>> {
    /// Changes each message.
    pub fn map<U: Send + 'env, F>(self, change: F) -> Chain<'g, 'env, Stepwise<Change<S, F>>>
    where
        F: FnMut(S::Item) -> U + Send + 'env,
    {
        Chain { graph: self.graph, pending: Stepwise(Change(self.pending.0, change)) }
    }

    /// Lets through what `keep` says.
    pub fn filter<F>(self, keep: F) -> Chain<'g, 'env, Stepwise<Keep<S, F>>>
    where
        F: FnMut(&S::Item) -> bool + Send + 'env,
    {
        Chain { graph: self.graph, pending: Stepwise(Keep(self.pending.0, keep)) }
    }

    /// Makes any number of messages of each.
    pub fn flat_map<U, F>(self, spread: F) -> Chain<'g, 'env, Stepwise<Spread<S, U, F>>>
    where
        U: IntoIterator<IntoIter: Send + 'env, Item: Send + 'env> + 'env,
        F: FnMut(S::Item) -> U + Send + 'env,
    {
        Chain { graph: self.graph, pending: Stepwise(Spread::new(self.pending.0, spread)) }
    }

    /// Changes messages, and lets those fall of which nothing comes.
    pub fn filter_map<U: Send + 'env, F>(self, change: F) -> Stepped<'g, 'env, Spread<S, Option<U>, F>>
    where
        F: FnMut(S::Item) -> Option<U> + Send + 'env,
    {
        self.flat_map(change)
    }

    /// Gives what is in each message, one by one.
    pub fn flatten(self) -> Stepped<'g, 'env, Flat<S, S::Item>>
    where
        S::Item: IntoIterator<IntoIter: Send + 'env, Item: Send + 'env>,
    {
        self.flat_map(std::convert::identity)
    }

    /// Looks at each message.
    pub fn inspect<F>(self, look: F) -> Chain<'g, 'env, Stepwise<Look<S, F>>>
    where
        F: FnMut(&S::Item) + Send + 'env,
    {
        Chain { graph: self.graph, pending: Stepwise(Look(self.pending.0, look)) }
    }

    /// Ends the chain within the same kernel: no edge, no hop, close to a plain loop. After a panic in `each` the chain is over, also in a second run.
    #[track_caller]
    pub fn for_each(self, each: impl FnMut(S::Item) + Send + 'env) {
        self.graph.add_fused(Box::new(ForEach(Some((self.pending.0, each)))));
    }
}

impl<'g, 'env, T: Send + 'env, S> Chain<'g, 'env, After<T, S>> {
    /// Changes each message.
    pub fn map<U: Send + 'env, F>(self, change: F) -> Chain<'g, 'env, After<T, Map<S, F>>>
    where
        S: Stage<T>,
        F: FnMut(S::Out) -> U + Send + 'env,
    {
        self.stage(|stages| Map(stages, change))
    }

    /// Lets through what `keep` says.
    pub fn filter<F>(self, keep: F) -> Chain<'g, 'env, After<T, Filter<S, F>>>
    where
        S: Stage<T>,
        F: FnMut(&S::Out) -> bool + Send + 'env,
    {
        self.stage(|stages| Filter(stages, keep))
    }

    /// Makes any number of messages of each.
    pub fn flat_map<U, F>(self, spread: F) -> Chain<'g, 'env, After<T, FlatMap<S, U, F>>>
    where
        S: Stage<T>,
        U: IntoIterator<IntoIter: Send + 'env, Item: Send + 'env> + 'env,
        F: FnMut(S::Out) -> U + Send + 'env,
    {
        self.stage(|stages| FlatMap::new(stages, spread))
    }

    /// Changes messages, and lets those fall of which nothing comes.
    pub fn filter_map<U: Send + 'env, F>(self, change: F) -> Staged<'g, 'env, T, FlatMap<S, Option<U>, F>>
    where
        S: Stage<T>,
        F: FnMut(S::Out) -> Option<U> + Send + 'env,
    {
        self.flat_map(change)
    }

    /// Gives what is in each message, one by one.
    pub fn flatten(self) -> Staged<'g, 'env, T, FlatStage<S, S::Out>>
    where
        S: Stage<T>,
        S::Out: IntoIterator<IntoIter: Send + 'env, Item: Send + 'env> + 'env,
    {
        self.flat_map(std::convert::identity)
    }

    /// Changes each message where it is: large messages are not moved.
    pub fn update<F>(self, change: F) -> Chain<'g, 'env, After<T, Update<S, F>>>
    where
        S: Stage<T>,
        F: FnMut(&mut S::Out) + Send + 'env,
    {
        self.stage(|stages| Update(stages, change))
    }

    /// Looks at each message.
    pub fn inspect<F>(self, look: F) -> Chain<'g, 'env, After<T, Inspect<S, F>>>
    where
        S: Stage<T>,
        F: FnMut(&S::Out) + Send + 'env,
    {
        self.stage(|stages| Inspect(stages, look))
    }

    fn stage<S2>(self, make: impl FnOnce(S) -> S2) -> Chain<'g, 'env, After<T, S2>> {
        let After { path, stages } = self.pending;
        Chain { graph: self.graph, pending: After { path, stages: make(stages) } }
    }
}

/// A chain behind a kernel that gives messages of type `T`.
pub(super) type Behind<'g, 'env, T> = Chain<'g, 'env, After<T, Identity>>;

impl<'g, 'env, T> Behind<'g, 'env, T> {
    pub(super) fn follow<R, U>(self, next: R) -> Behind<'g, 'env, U>
    where
        R: Takes<T, Tail = Tail<U>>,
    {
        let path = self.pending.path >> next;
        Chain { graph: self.graph, pending: After { path, stages: Identity } }
    }
}

// What makes a kernel here is tracked and calls what makes it directly: a closure in between would be the place that reports name.
impl<'g, 'env, P: Pending<'env>> Chain<'g, 'env, P> {
    /// Holds nothing back any more.
    #[track_caller]
    pub(super) fn settle(self) -> Behind<'g, 'env, P::Item> {
        let path = self.pending.settle(self.graph);
        Chain { graph: self.graph, pending: After { path, stages: Identity } }
    }

    /// Goes on with a node or a path.
    #[track_caller]
    pub fn then<R, T>(self, next: R) -> Behind<'g, 'env, T>
    where
        R: Takes<P::Item, Tail = Tail<T>>,
    {
        self.settle().follow(next)
    }

    /// Goes on with a kernel; see [`Graph::sequential`].
    #[track_caller]
    pub fn sequential<U, R>(self, kernel: impl FnMut(P::Item, &mut Output<U>) -> R + Send + 'env) -> Behind<'g, 'env, U>
    where
        U: Send + 'env,
        R: Verdict<Value: Into<Flow>> + 'env,
    {
        let chain = self.settle();
        let node: Node<P::Item, U> = chain.graph.sequential(kernel);
        chain.follow(node)
    }

    /// Goes on with a kernel on many workers; see [`Graph::parallel`].
    #[track_caller]
    pub fn parallel<U, R>(
        self,
        kernel: impl Fn(P::Item, &mut Output<U>) -> R + Send + Sync + 'env,
    ) -> Behind<'g, 'env, U>
    where
        U: Send + 'env,
        R: Verdict<Value = ()> + 'env,
    {
        let chain = self.settle();
        let node: Node<P::Item, U> = chain.graph.parallel(kernel);
        chain.follow(node)
    }

    /// Goes on with a kernel that sees a sliding window; see [`Graph::window`].
    #[track_caller]
    pub fn window<U, R>(
        self,
        peek: usize,
        pop: usize,
        kernel: impl FnMut(&[P::Item], &mut Output<U>) -> R + Send + 'env,
    ) -> Behind<'g, 'env, U>
    where
        P::Item: Clone,
        U: Send + 'env,
        R: Verdict<Value = ()> + 'env,
    {
        let chain = self.settle();
        let node: Node<P::Item, U> = chain.graph.window(peek, pop, kernel);
        chain.follow(node)
    }

    /// Goes on with a kernel that sees a sliding window, on many workers; see [`Graph::parallel_window`].
    #[track_caller]
    pub fn parallel_window<U, R>(
        self,
        peek: usize,
        pop: usize,
        kernel: impl Fn(&[P::Item], &mut Output<U>) -> R + Send + Sync + 'env,
    ) -> Behind<'g, 'env, U>
    where
        P::Item: Clone,
        U: Send + 'env,
        R: Verdict<Value = ()> + 'env,
    {
        let chain = self.settle();
        let node: Node<P::Item, U> = chain.graph.parallel_window(peek, pop, kernel);
        chain.follow(node)
    }

    /// Ends the chain with a kernel; see [`Graph::sink`].
    #[track_caller]
    pub fn sink<R>(self, kernel: impl FnMut(P::Item) -> R + Send + 'env)
    where
        R: Verdict<Value: Into<Flow>> + 'env,
    {
        let path = self.pending.settle(self.graph);
        let sink: Sink<P::Item> = self.graph.sink(kernel);
        self.graph.connect(path >> sink);
    }

    /// Ends the chain at a sink, an input port, or a path that ends with one.
    #[track_caller]
    pub fn into<R: Takes<P::Item, Tail = End>>(self, end: R) {
        let path = self.pending.settle(self.graph);
        self.graph.connect(path >> end);
    }

    /// The chain so far as a path, to be connected with `>>`.
    #[track_caller]
    pub fn path(self) -> Path<End, Tail<P::Item>> {
        self.pending.settle(self.graph)
    }
}
