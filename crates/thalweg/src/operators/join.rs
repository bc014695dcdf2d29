//! Several streams into one: as they come, in turn, by key, or in pairs.

use crate::error::BoxError;
use crate::graph::Graph;
use crate::graph::path::{End, Gives};
use crate::kernel::Flow;
use crate::kernel::ported::{Binder, In, Io, Kernel, Out};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::marker::PhantomData;

/// The ports of a kernel that makes one stream of several.
#[derive(Debug)]
pub struct JoinPorts<T> {
    /// One for each stream.
    pub inputs: Vec<In<T>>,
    /// The one stream.
    pub out: Out<T>,
}

impl<T> Clone for JoinPorts<T> {
    fn clone(&self) -> Self {
        Self { inputs: self.inputs.clone(), out: self.out }
    }
}

impl<T: Send> JoinPorts<T> {
    fn bind(bind: &mut Binder<'_>, inputs: usize) -> Self {
        Self { inputs: (0..inputs).map(|input| bind.input(&format!("in {input}"))).collect(), out: bind.output("out") }
    }
}

/// Gives on what comes, from whichever input it comes. Behind [`Graph::merge`].
///
/// The messages of one input stay in order. An activation takes from every input that has something, and begins with another one each time, so none is
/// left waiting for long.
pub struct Merge<T> {
    inputs: usize,
    /// Where the last activation began.
    first: usize,
    types: PhantomData<fn(T) -> T>,
}

impl<T> Merge<T> {
    /// With this many inputs.
    pub fn new(inputs: usize) -> Self {
        Self { inputs, first: 0, types: PhantomData }
    }
}

impl<T: Send> Kernel for Merge<T> {
    type Ports = JoinPorts<T>;

    fn ports(&mut self, bind: &mut Binder<'_>) -> JoinPorts<T> {
        JoinPorts::bind(bind, self.inputs)
    }

    fn run(&mut self, ports: &JoinPorts<T>, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        let inputs = &ports.inputs[..];
        if inputs.is_empty() {
            return Ok(Flow::Done);
        }
        self.first = (self.first + 1) % inputs.len();
        let (before, behind) = inputs.split_at(self.first);
        for &input in behind.iter().chain(before) {
            while let Some(message) = io.pop(input) {
                io.push(ports.out, message);
            }
        }
        Ok(Flow::More)
    }
}

/// Takes one message from each input in turn. Behind [`Graph::interleave`].
pub struct Interleave<T> {
    inputs: usize,
    /// Whose turn it is.
    turn: usize,
    types: PhantomData<fn(T) -> T>,
}

impl<T> Interleave<T> {
    /// With this many inputs.
    pub fn new(inputs: usize) -> Self {
        Self { inputs, turn: 0, types: PhantomData }
    }
}

impl<T: Send> Kernel for Interleave<T> {
    type Ports = JoinPorts<T>;

    fn ports(&mut self, bind: &mut Binder<'_>) -> JoinPorts<T> {
        JoinPorts::bind(bind, self.inputs)
    }

    fn begin(&mut self) {
        self.turn = 0;
    }

    fn run(&mut self, ports: &JoinPorts<T>, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        // One after the other that has ended.
        let mut ended = 0;
        while ended < ports.inputs.len() {
            let input = ports.inputs[self.turn];
            if let Some(message) = io.pop(input) {
                io.push(ports.out, message);
                ended = 0;
            } else if io.is_ended(input) {
                ended += 1;
            } else {
                return Ok(Flow::More);
            }
            self.turn = (self.turn + 1) % ports.inputs.len();
        }
        Ok(Flow::Done)
    }
}

/// Takes the message with the least key among the next ones of all inputs. Behind [`Graph::merge_by_key`].
pub struct MergeByKey<T, K, F> {
    inputs: usize,
    key: F,
    /// The keys of the next messages, with their inputs. The messages wait in their edges. Empty between activations: a run that is cancelled drops those.
    next: BinaryHeap<Reverse<(K, usize)>>,
    /// Inputs whose next message is not known, and which have not ended.
    unknown: Vec<usize>,
    types: PhantomData<fn(T) -> T>,
}

impl<T, K: Ord, F: FnMut(&T) -> K> MergeByKey<T, K, F> {
    /// With this many inputs, in each of which messages come with rising keys.
    pub fn new(inputs: usize, key: F) -> Self {
        Self { inputs, key, next: BinaryHeap::new(), unknown: Vec::new(), types: PhantomData }
    }
}

impl<T: Send, K: Ord + Send, F: FnMut(&T) -> K + Send> Kernel for MergeByKey<T, K, F> {
    type Ports = JoinPorts<T>;

    fn ports(&mut self, bind: &mut Binder<'_>) -> JoinPorts<T> {
        JoinPorts::bind(bind, self.inputs)
    }

    fn run(&mut self, ports: &JoinPorts<T>, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        self.next.clear();
        self.unknown.clear();
        self.unknown.extend(0..ports.inputs.len());
        loop {
            while let Some(&index) = self.unknown.last() {
                let input = ports.inputs[index];
                if let Some([message]) = io.peek(input, 1) {
                    self.next.push(Reverse(((self.key)(message), index)));
                } else if !io.is_ended(input) {
                    return Ok(Flow::More);
                }
                self.unknown.pop();
            }
            let Some(Reverse((_, least))) = self.next.peek() else { return Ok(Flow::Done) };
            let least = *least;
            // None while the output is full.
            let Some(message) = io.pop(ports.inputs[least]) else { return Ok(Flow::More) };
            self.next.pop();
            self.unknown.push(least);
            io.push(ports.out, message);
        }
    }
}

/// The ports of [`Zip`].
#[derive(Debug)]
pub struct ZipPorts<A, B> {
    /// The first of each pair.
    pub left: In<A>,
    /// The second of each pair.
    pub right: In<B>,
    /// The pairs.
    pub out: Out<(A, B)>,
}

impl<A, B> Clone for ZipPorts<A, B> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<A, B> Copy for ZipPorts<A, B> {}

/// Makes pairs of two streams. Behind [`Graph::zip`].
pub struct Zip<A, B>(PhantomData<fn(A, B)>);

impl<A, B> Zip<A, B> {
    /// With two inputs.
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<A, B> Default for Zip<A, B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<A: Send, B: Send> Kernel for Zip<A, B> {
    type Ports = ZipPorts<A, B>;

    fn ports(&mut self, bind: &mut Binder<'_>) -> ZipPorts<A, B> {
        ZipPorts { left: bind.input("left"), right: bind.input("right"), out: bind.output("out") }
    }

    fn run(&mut self, ports: &ZipPorts<A, B>, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while io.has(ports.left, 1) && io.has(ports.right, 1) {
            let (Some(left), Some(right)) = (io.pop(ports.left), io.pop(ports.right)) else { break };
            io.push(ports.out, (left, right));
        }
        let ended = io.is_ended(ports.left) || io.is_ended(ports.right);
        Ok(if ended { Flow::Done } else { Flow::More })
    }
}

macro_rules! named {
    ($name:ident<$($type:ident),*>) => {
        impl<$($type),*> fmt::Debug for $name<$($type),*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}
named!(Merge<T>);
named!(Interleave<T>);
named!(MergeByKey<T, K, F>);
named!(Zip<A, B>);

impl<'env> Graph<'env> {
    /// One stream of several, as messages come; those of each stay in order.
    ///
    /// Which comes first depends on the run. For an order that does not, there are [`interleave`](Self::interleave) and [`merge_by_key`](Self::merge_by_key). In a
    /// cycle, or where the streams are not made yet, add a [`Merge`](crate::operators::Merge) and connect its ports.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut all = Vec::new();
    /// let mut graph = Graph::new();
    /// let streams = [graph.source(0..3), graph.source(10..13)];
    /// let merged = graph.merge(streams);
    /// let collect = graph.sink(|x| all.push(x));
    /// graph += merged >> collect;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// all.sort();
    /// assert_eq!(all, [0, 1, 2, 10, 11, 12]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn merge<T>(&self, from: impl IntoIterator<Item: Gives<Message = T, Head = End>>) -> Out<T>
    where
        T: Send + 'env,
    {
        let from: Vec<_> = from.into_iter().collect();
        let ports = self.add(Merge::new(from.len()));
        self.join(from, ports)
    }

    /// One stream of several, one message from each in turn; those that have ended are passed over.
    ///
    /// Waits for whose turn it is. What the others give meanwhile waits in their edges, which grow if nothing else can go on, unless their capacity was given.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut all = Vec::new();
    /// let mut graph = Graph::new();
    /// let streams = [graph.source(0..2), graph.source(10..14)];
    /// let merged = graph.interleave(streams);
    /// let collect = graph.sink(|x| all.push(x));
    /// graph += merged >> collect;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(all, [0, 10, 1, 11, 12, 13]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn interleave<T>(&self, from: impl IntoIterator<Item: Gives<Message = T, Head = End>>) -> Out<T>
    where
        T: Send + 'env,
    {
        let from: Vec<_> = from.into_iter().collect();
        let ports = self.add(Interleave::new(from.len()));
        self.join(from, ports)
    }

    /// One stream of several that are each sorted by `key`: sorted as a whole. Among equal keys, the stream that was named first comes first.
    ///
    /// `key` may be called more than once for a message. A message goes on once the next one of every stream is known, so a stream that gives nothing for long holds back
    /// the others, which wait in their edges as with [`interleave`](Self::interleave). What comes with a lower key than the one before it in the same stream goes on as
    /// soon as it is seen, out of order. Costs a heap operation of the number of streams for each message.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut all = Vec::new();
    /// let mut graph = Graph::new();
    /// let (monday, tuesday) = (graph.source([(1, "a"), (4, "b")]), graph.source([(2, "c"), (4, "d"), (9, "e")]));
    /// let merged = graph.merge_by_key([monday, tuesday], |&(time, _)| time);
    /// let collect = graph.sink(|(_, event)| all.push(event));
    /// graph += merged >> collect;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(all, ["a", "c", "b", "d", "e"]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn merge_by_key<T, K>(
        &self,
        from: impl IntoIterator<Item: Gives<Message = T, Head = End>>,
        key: impl FnMut(&T) -> K + Send + 'env,
    ) -> Out<T>
    where
        T: Send + 'env,
        K: Ord + Send + 'env,
    {
        let from: Vec<_> = from.into_iter().collect();
        let ports = self.add(MergeByKey::new(from.len(), key));
        self.join(from, ports)
    }

    /// Pairs of the messages of two streams. It ends with the shorter one; what the other one still has is dropped, as the report counts.
    ///
    /// What one stream gives while the other gives nothing waits in its edge, which grows if nothing else can go on, unless its capacity was given.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut all = Vec::new();
    /// let mut graph = Graph::new();
    /// let (numbers, words) = (graph.source(1..), graph.source(["one", "two"]));
    /// let pairs = graph.zip(numbers, words);
    /// let collect = graph.sink(|pair| all.push(pair));
    /// graph += pairs >> collect;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(all, [(1, "one"), (2, "two")]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn zip<A, B>(
        &self,
        left: impl Gives<Message = A, Head = End>,
        right: impl Gives<Message = B, Head = End>,
    ) -> Out<(A, B)>
    where
        A: Send + 'env,
        B: Send + 'env,
    {
        let ports = self.add(Zip::new());
        self.connect(left.into_path() >> ports.left);
        self.connect(right.into_path() >> ports.right);
        ports.out
    }

    fn join<T>(&self, from: Vec<impl Gives<Message = T, Head = End>>, ports: JoinPorts<T>) -> Out<T> {
        for (path, input) in from.into_iter().zip(ports.inputs) {
            self.connect(path.into_path() >> input);
        }
        ports.out
    }
}
