//! Handles of kernels, and paths: what `>>` builds.
//!
//! A handle is a number with types. It borrows nothing, so it can be copied and used in any number of statements. A path remembers what it
//! connects; only `graph += path` changes the graph.

use crate::edge::{Capacity, Storage};
use crate::graph::{EdgeSpec, Graph, Link, PortRef};
use crate::kernel::ported::{In, Out};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{AddAssign, Mul, Shr};

/// A kernel without an input: gives messages of type `T`.
pub struct Source<T>(pub(crate) PortRef, pub(crate) PhantomData<fn() -> T>);

/// A kernel that takes messages of type `T` and gives messages of type `U`.
pub struct Node<T, U>(pub(crate) PortRef, pub(crate) PhantomData<fn(T) -> U>);

/// A kernel without an output: takes messages of type `T`.
pub struct Sink<T>(pub(crate) PortRef, pub(crate) PhantomData<fn(T)>);

macro_rules! handle {
    ($name:ident<$($type:ident),*>) => {
        impl<$($type),*> Clone for $name<$($type),*> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<$($type),*> Copy for $name<$($type),*> {}
        impl<$($type),*> fmt::Debug for $name<$($type),*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}(kernel {})", stringify!($name), self.0.kernel)
            }
        }
        impl<$($type),*> Handle for $name<$($type),*> {
            fn kernel(self) -> PortRef {
                self.0
            }
        }
    };
}
handle!(Source<T>);
handle!(Node<T, U>);
handle!(Sink<T>);

/// A handle of a kernel, for [`Graph::name`].
pub trait Handle {
    #[doc(hidden)]
    fn kernel(self) -> PortRef;
}

impl<T> Handle for In<T> {
    fn kernel(self) -> PortRef {
        self.into()
    }
}

impl<T> Handle for Out<T> {
    fn kernel(self) -> PortRef {
        self.into()
    }
}

impl<T> From<In<T>> for PortRef {
    fn from(port: In<T>) -> Self {
        Self { graph: port.graph, kernel: port.kernel, port: port.port }
    }
}

impl<T> From<Out<T>> for PortRef {
    fn from(port: Out<T>) -> Self {
        Self { graph: port.graph, kernel: port.kernel, port: port.port }
    }
}

/// The front of a path that takes messages of type `T`.
#[derive(Clone, Copy, Debug)]
pub struct Head<T>(PhantomData<fn(T)>);

/// The end of a path that gives messages of type `T`.
#[derive(Clone, Copy, Debug)]
pub struct Tail<T>(PhantomData<fn() -> T>);

/// An end of a path that is closed: nothing can be connected there.
#[derive(Clone, Copy, Debug)]
pub struct End;

/// Kernels connected with `>>`.
#[must_use = "a path changes nothing until it is added: graph += a >> b"]
#[derive(Clone)]
pub struct Path<H, T> {
    pub(crate) first: PortRef,
    pub(crate) last: PortRef,
    /// What was asked of the edge that will leave `last`.
    pub(crate) leaving: EdgeSpec,
    pub(crate) links: Vec<Link>,
    pub(crate) hints: Vec<(PortRef, f32)>,
    /// Kernels that were hinted to stay together.
    pub(crate) groups: Vec<Vec<PortRef>>,
    ends: PhantomData<(H, T)>,
}

impl<H, T> fmt::Debug for Path<H, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Path").field("links", &self.links.len()).finish_non_exhaustive()
    }
}

impl<H, T> Path<H, T> {
    fn of(port: PortRef) -> Self {
        Self {
            first: port,
            last: port,
            leaving: EdgeSpec::default(),
            links: Vec::new(),
            hints: Vec::new(),
            groups: Vec::new(),
            ends: PhantomData,
        }
    }

    /// Every kernel on the path.
    fn members(&self) -> Vec<PortRef> {
        let inner = self.links.iter().flat_map(|link| [link.from, link.to]);
        inner.chain([self.first, self.last]).collect()
    }

    fn hinted(mut self, hint: f32) -> Self {
        for kernel in self.members() {
            if self.hints.iter().all(|(hinted, _)| hinted.kernel != kernel.kernel) {
                self.hints.push((kernel, hint));
            }
        }
        self
    }

    /// Hints that the kernels on this path exchange much and should stay close (BLQ §3.2.2). In a [partitioned](crate::Scheme::partitioned) run they
    /// belong to one worker. Polling workers take such kernels one after the other; other schemes ignore it.
    pub fn together(mut self) -> Self {
        self.groups.push(self.members());
        self
    }

    fn with(mut self, change: impl FnOnce(&mut EdgeSpec)) -> Self {
        change(&mut self.leaving);
        self
    }

    fn connect<M, H2, T2>(mut self, next: Path<H2, T2>) -> Path<H, T2> {
        self.links.push(Link {
            from: self.last,
            to: next.first,
            spec: self.leaving,
            bytes: crate::block::stride::<M>(),
        });
        self.links.extend(next.links);
        self.hints.extend(next.hints);
        self.groups.extend(next.groups);
        Path {
            first: self.first,
            last: next.last,
            leaving: next.leaving,
            links: self.links,
            hints: self.hints,
            groups: self.groups,
            ends: PhantomData,
        }
    }
}

/// What can follow a stream of messages of type `T`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot follow a stream of `{T}`",
    label = "this does not take `{T}`",
    note = "both ends of an edge have the same message type; a source cannot follow anything"
)]
pub trait Takes<T> {
    /// What the path ends with then.
    type Tail;
    /// As a path.
    fn into_path(self) -> Path<Head<T>, Self::Tail>;
}

impl<T, U> Takes<T> for Node<T, U> {
    type Tail = Tail<U>;
    fn into_path(self) -> Path<Head<T>, Tail<U>> {
        Path::of(self.0)
    }
}

impl<T> Takes<T> for Sink<T> {
    type Tail = End;
    fn into_path(self) -> Path<Head<T>, End> {
        Path::of(self.0)
    }
}

impl<T> Takes<T> for In<T> {
    type Tail = End;
    fn into_path(self) -> Path<Head<T>, End> {
        Path::of(self.into())
    }
}

impl<T, E> Takes<T> for Path<Head<T>, E> {
    type Tail = E;
    fn into_path(self) -> Path<Head<T>, E> {
        self
    }
}

/// What gives a stream of messages: sources, nodes, output ports, and paths that end with one.
pub trait Gives: Sized {
    /// The messages.
    type Message;
    /// What the path begins with.
    type Head;
    /// As a path.
    fn into_path(self) -> Path<Self::Head, Tail<Self::Message>>;

    /// The edge that leaves here holds `first` messages, and may grow to `most` if the scheme grows edges, or if it leads to a kernel with several
    /// inputs and nobody has anything to do otherwise.
    ///
    /// Counted by the block: the edge may hold up to one block more, at most half of `first`, and each worker at its ends has one in hand. Behind a
    /// parallel kernel each worker may have [as much again](crate::Graph::parallel). Where kernels wait for each other,
    /// what a kernel pushes for a single message is not held back ([`Output::push`](crate::Output::push), [`Io::push`](crate::Io::push)).
    fn capacity(self, first: usize, most: usize) -> Path<Self::Head, Tail<Self::Message>> {
        self.into_path().with(|spec| spec.capacity = Some(Capacity { first, most }))
    }

    /// The edge that leaves here holds `messages` messages and never grows.
    fn fixed(self, messages: usize) -> Path<Self::Head, Tail<Self::Message>> {
        self.capacity(messages, messages)
    }

    /// The edge that leaves here holds as many messages as fit in so many bytes, at least one, and never grows. What messages point to does not count.
    fn fixed_bytes(self, bytes: usize) -> Path<Self::Head, Tail<Self::Message>> {
        self.fixed((bytes / size_of::<Self::Message>().max(1)).max(1))
    }

    /// The edge that leaves here keeps the newest `messages`. Nobody waits for room in it: what is older is dropped, and the report says how much
    /// ([`EdgeReport::overwritten`](crate::EdgeReport::overwritten)).
    ///
    /// Counted by the block as [`capacity`](Self::capacity) is: a block that is dropped has at most half of `messages`, and the kernel behind the edge has one
    /// in hand besides. Not into a parallel kernel or one with windows, which need every message: put a [`map`](crate::Graph::map) between.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let (end, all) = graph.collect();
    /// graph += graph.source(0..1_000_000_u64).newest(64) >> end;
    /// let report = graph.run(Scheme::default())?;
    /// assert_eq!(all.take().len() as u64 + report.edges[0].overwritten, 1_000_000);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    fn newest(self, messages: usize) -> Path<Self::Head, Tail<Self::Message>> {
        self.fixed(messages).with(|spec| spec.newest = true)
    }

    /// The edge that leaves here keeps the latest message alone: as [`newest`](Self::newest) with one.
    fn latest(self) -> Path<Self::Head, Tail<Self::Message>> {
        self.newest(1)
    }

    /// What carries the blocks of the edge that leaves here: see [`Storage`]. Without this the kind of the kernel behind it decides, or the scheme; the
    /// report says which it is, and why ([`EdgeReport::storage`](crate::EdgeReport::storage)).
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// use thalweg::Storage;
    /// let mut graph = Graph::new();
    /// let (end, sum) = graph.gather(0, |sum: &mut u64, n: u64| *sum += n);
    /// graph += graph.source(0..1000_u64).fixed(64).storage(Storage::Growing) >> end;
    /// let report = graph.run(Scheme::default())?;
    /// assert_eq!((sum.take(), report.edges[0].storage, report.edges[0].chosen), (499_500, "chunk_ring", "chosen"));
    ///
    /// // One that only one worker can take from does not lead to a parallel kernel.
    /// let mut graph = Graph::new();
    /// graph += graph.source(0..1000_u64).storage(Storage::Ring) >> graph.parallel_sink(|_: u64| ());
    /// assert!(graph.run(Scheme::default()).unwrap_err().to_string().contains("take Storage::Many or Storage::Linked"));
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    fn storage(self, storage: Storage) -> Path<Self::Head, Tail<Self::Message>> {
        self.into_path().with(|spec| spec.storage = Some(storage))
    }

    /// The results of a parallel kernel leave here as they come, not in the order of its inputs.
    fn unordered(self) -> Path<Self::Head, Tail<Self::Message>> {
        self.into_path().with(|spec| spec.unordered = true)
    }

    /// The edge that leaves here closes a cycle. It ends when nothing is left in the cycle and nothing more comes into it; it holds
    /// any number of messages unless its capacity is given. What a kernel of the cycle keeps to itself does not count: given into the cycle after
    /// its end, it may be dropped.
    ///
    /// ```
    /// use thalweg::prelude::*;
    ///
    /// /// Halves numbers until they are odd: what is still even goes round.
    /// struct Halve;
    /// #[derive(Clone)]
    /// struct Ports { fresh: In<u64>, again: In<u64>, odd: Out<u64>, even: Out<u64> }
    ///
    /// impl Kernel for Halve {
    ///     type Ports = Ports;
    ///     fn ports(&mut self, bind: &mut Binder<'_>) -> Ports {
    ///         Ports {
    ///             fresh: bind.input("fresh"),
    ///             again: bind.input("again"),
    ///             odd: bind.output("odd"),
    ///             even: bind.output("even"),
    ///         }
    ///     }
    ///     fn run(&mut self, ports: &Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
    ///         while let Some(n) = io.pop(ports.again).or_else(|| io.pop(ports.fresh)) {
    ///             if n % 2 == 0 { io.push(ports.even, n / 2) } else { io.push(ports.odd, n) }
    ///         }
    ///         Ok(Flow::More)
    ///     }
    /// }
    ///
    /// let mut odd = Vec::new();
    /// let mut graph = Graph::new();
    /// let numbers = graph.source([12, 7, 80]);
    /// let halve = graph.add(Halve);
    /// let collect = graph.sink(|n: u64| odd.push(n));
    /// graph += numbers >> halve.fresh;
    /// graph += halve.even.feedback() >> halve.again;
    /// graph += halve.odd >> collect;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// odd.sort();
    /// assert_eq!(odd, [3, 5, 7]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    fn feedback(self) -> Path<Self::Head, Tail<Self::Message>> {
        self.into_path().with(|spec| spec.feedback = true)
    }
}

impl<T> Gives for Source<T> {
    type Message = T;
    type Head = End;
    fn into_path(self) -> Path<End, Tail<T>> {
        Path::of(self.0)
    }
}

impl<T, U> Gives for Node<T, U> {
    type Message = U;
    type Head = Head<T>;
    fn into_path(self) -> Path<Head<T>, Tail<U>> {
        Path::of(self.0)
    }
}

impl<T> Gives for Out<T> {
    type Message = T;
    type Head = End;
    fn into_path(self) -> Path<End, Tail<T>> {
        Path::of(self.into())
    }
}

impl<H, T> Gives for Path<H, Tail<T>> {
    type Message = T;
    type Head = H;
    fn into_path(self) -> Self {
        self
    }
}

macro_rules! connects {
    ([$($generics:ident),*] $type:ty) => {
        impl<$($generics,)* R> Shr<R> for $type
        where
            $type: Gives,
            R: Takes<<$type as Gives>::Message>,
        {
            type Output = Path<<$type as Gives>::Head, R::Tail>;
            fn shr(self, next: R) -> Self::Output {
                Gives::into_path(self).connect::<<$type as Gives>::Message, _, _>(next.into_path())
            }
        }
    };
}
connects!([T] Source<T>);
connects!([T, U] Node<T, U>);
connects!([T] Out<T>);

impl<H, T, R: Takes<T>> Shr<R> for Path<H, Tail<T>> {
    type Output = Path<H, R::Tail>;
    fn shr(self, next: R) -> Self::Output {
        self.connect::<T, _, _>(next.into_path())
    }
}

macro_rules! hints {
    ([$($generics:ident),*] $type:ty => $path:ty) => {
        impl<$($generics),*> Mul<u32> for $type {
            type Output = $path;
            fn mul(self, hint: u32) -> $path {
                <$path>::from(self).hinted(hint as f32)
            }
        }
        impl<$($generics),*> Mul<f32> for $type {
            type Output = $path;
            fn mul(self, hint: f32) -> $path {
                <$path>::from(self).hinted(hint)
            }
        }
    };
}
hints!([T] Source<T> => Path<End, Tail<T>>);
hints!([T, U] Node<T, U> => Path<Head<T>, Tail<U>>);
hints!([T] Sink<T> => Path<Head<T>, End>);
hints!([H, T] Path<H, T> => Path<H, T>);

impl<T> From<Source<T>> for Path<End, Tail<T>> {
    fn from(node: Source<T>) -> Self {
        Self::of(node.0)
    }
}

impl<T, U> From<Node<T, U>> for Path<Head<T>, Tail<U>> {
    fn from(node: Node<T, U>) -> Self {
        Self::of(node.0)
    }
}

impl<T> From<Sink<T>> for Path<Head<T>, End> {
    fn from(node: Sink<T>) -> Self {
        Self::of(node.0)
    }
}

impl<H, T> AddAssign<Path<H, T>> for Graph<'_> {
    /// Adds the connections of a path. What is wrong with them is said by [`run`](Graph::run).
    fn add_assign(&mut self, path: Path<H, T>) {
        self.connect(path);
    }
}
