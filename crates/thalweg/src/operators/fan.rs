//! One stream into several: to all, or each message to one.

use crate::error::BoxError;
use crate::graph::Graph;
use crate::graph::path::{End, Gives};
use crate::kernel::Flow;
use crate::kernel::ported::{Binder, In, Io, Kernel, Out};
use crate::operators::hash::{hash_of, part_of};
use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;

/// The ports of a kernel that makes several streams of one.
#[derive(Debug)]
pub struct FanPorts<T> {
    /// The one stream.
    pub input: In<T>,
    /// The several.
    pub outputs: Vec<Out<T>>,
}

impl<T> Clone for FanPorts<T> {
    fn clone(&self) -> Self {
        Self { input: self.input, outputs: self.outputs.clone() }
    }
}

impl<T: Send> FanPorts<T> {
    fn bind(bind: &mut Binder<'_>, outputs: usize) -> Self {
        Self {
            input: bind.input("in"),
            outputs: (0..outputs).map(|output| bind.output(&format!("out {output}"))).collect(),
        }
    }
}

/// Gives each message to all outputs. Behind [`Graph::broadcast`].
pub struct Broadcast<T> {
    outputs: usize,
    types: PhantomData<fn(T) -> T>,
}

impl<T> Broadcast<T> {
    /// With this many outputs.
    pub fn new(outputs: usize) -> Self {
        Self { outputs, types: PhantomData }
    }
}

impl<T: Clone + Send> Kernel for Broadcast<T> {
    type Ports = FanPorts<T>;

    fn ports(&mut self, bind: &mut Binder<'_>) -> FanPorts<T> {
        FanPorts::bind(bind, self.outputs)
    }

    fn run(&mut self, ports: &FanPorts<T>, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        let Some((&last, others)) = ports.outputs.split_last() else { return Ok(Flow::Done) };
        while let Some(message) = io.pop(ports.input) {
            others.iter().for_each(|&output| io.push(output, message.clone()));
            io.push(last, message);
        }
        Ok(Flow::More)
    }
}

/// Gives each message to the output whose number `choose` says. Behind [`Graph::route`], [`Graph::split`] and [`Graph::partition`].
pub struct Route<T, F> {
    outputs: usize,
    choose: F,
    types: PhantomData<fn(T) -> T>,
}

impl<T, F: FnMut(&T) -> usize> Route<T, F> {
    /// With this many outputs, numbered from zero.
    pub fn new(outputs: usize, choose: F) -> Self {
        Self { outputs, choose, types: PhantomData }
    }
}

impl<T: Send, F: FnMut(&T) -> usize + Send> Kernel for Route<T, F> {
    type Ports = FanPorts<T>;

    fn ports(&mut self, bind: &mut Binder<'_>) -> FanPorts<T> {
        FanPorts::bind(bind, self.outputs)
    }

    fn run(&mut self, ports: &FanPorts<T>, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(message) = io.pop(ports.input) {
            let chosen = (self.choose)(&message);
            let Some(&output) = ports.outputs.get(chosen) else {
                let outputs = ports.outputs.len();
                return Err(format!("a message for output {chosen} of {outputs}; they are numbered from 0").into());
            };
            io.push(output, message);
        }
        Ok(Flow::More)
    }
}

impl<T> fmt::Debug for Broadcast<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broadcast").field("outputs", &self.outputs).finish()
    }
}

impl<T, F> fmt::Debug for Route<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Route").field("outputs", &self.outputs).finish_non_exhaustive()
    }
}

/// The outputs of a kernel that was made with `N` of them.
fn all<T, const N: usize>(outputs: &[Out<T>]) -> [Out<T>; N] {
    std::array::from_fn(|output| outputs[output])
}

impl<'env> Graph<'env> {
    /// Gives each message to `outputs` kernels, a number that is known at run time; [`tee`](Self::tee) is the same for one that the program says.
    ///
    /// Copies are clones; wrap what is large in an [`Arc`](std::sync::Arc).
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut sums = [0; 3];
    /// let mut graph = Graph::new();
    /// let numbers = graph.source(1..=4_u64);
    /// let copies = graph.broadcast(numbers, sums.len());
    /// for (sum, copy) in sums.iter_mut().zip(copies) {
    ///     let add = graph.sink(|x| *sum += x);
    ///     graph += copy >> add;
    /// }
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(sums, [10; 3]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn broadcast<T>(&self, from: impl Gives<Message = T, Head = End>, outputs: usize) -> Vec<Out<T>>
    where
        T: Clone + Send + 'env,
    {
        let ports = self.add(Broadcast::new(outputs));
        self.connect(from.into_path() >> ports.input);
        ports.outputs
    }

    /// Gives each message to one of two kernels: the first gets those for which `is_first` is true, the second the others.
    ///
    /// Each stream keeps its order. While one of them has no room, neither gets anything: what meets again further on, as with [`zip`](Self::zip), needs edges with
    /// room for what waits.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let (mut small, mut large) = (Vec::new(), Vec::new());
    /// let mut graph = Graph::new();
    /// let numbers = graph.source([3, 70, 5, 90]);
    /// let [below, above] = graph.split(numbers, |&x| x < 50);
    /// let keep_small = graph.sink(|x| small.push(x));
    /// let keep_large = graph.sink(|x| large.push(x));
    /// graph += below >> keep_small;
    /// graph += above >> keep_large;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!((small, large), (vec![3, 5], vec![70, 90]));
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn split<T>(
        &self,
        from: impl Gives<Message = T, Head = End>,
        mut is_first: impl FnMut(&T) -> bool + Send + 'env,
    ) -> [Out<T>; 2]
    where
        T: Send + 'env,
    {
        self.route(from, move |message| usize::from(!is_first(message)))
    }

    /// Gives each message to one of `N` kernels by the hash of its key: equal keys always go to the same one, and many different keys to all of them
    /// about equally often.
    ///
    /// The hash is the same in every run; an adversary who picks the keys can send all to one kernel. For state for each key there is [`key_by`](Self::key_by).
    /// Each stream keeps its order. For a number that is known at run time, add a [`Route`](crate::operators::Route).
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut words = [const { Vec::new() }; 4];
    /// let mut graph = Graph::new();
    /// let all = graph.source(["tea", "milk", "tea", "sugar", "milk"]);
    /// let parts: [_; 4] = graph.partition(all, |word| *word);
    /// for (words, part) in words.iter_mut().zip(parts) {
    ///     let keep = graph.sink(|word| words.push(word));
    ///     graph += part >> keep;
    /// }
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// // Every word is in one part only, as often as it came.
    /// let with_tea: Vec<_> = words.iter().filter(|words| words.contains(&"tea")).collect();
    /// assert_eq!(with_tea.len(), 1);
    /// assert_eq!(with_tea[0].iter().filter(|&&word| word == "tea").count(), 2);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn partition<T, K, const N: usize>(
        &self,
        from: impl Gives<Message = T, Head = End>,
        mut key: impl FnMut(&T) -> K + Send + 'env,
    ) -> [Out<T>; N]
    where
        T: Send + 'env,
        K: Hash,
    {
        self.route(from, move |message| part_of(hash_of(&key(message)), N))
    }

    /// Gives each message to the one of `N` kernels whose number `choose` says, from zero. A number that is too high is an error and ends the run.
    ///
    /// Each stream keeps its order. While one of them has no room, none gets anything.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut sums = [0; 3];
    /// let mut graph = Graph::new();
    /// let numbers = graph.source(0..9_usize);
    /// let thirds: [_; 3] = graph.route(numbers, |x| x % 3);
    /// for (sum, third) in sums.iter_mut().zip(thirds) {
    ///     let add = graph.sink(|x| *sum += x);
    ///     graph += third >> add;
    /// }
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(sums, [9, 12, 15]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn route<T, const N: usize>(
        &self,
        from: impl Gives<Message = T, Head = End>,
        choose: impl FnMut(&T) -> usize + Send + 'env,
    ) -> [Out<T>; N]
    where
        T: Send + 'env,
    {
        let ports = self.add(Route::new(N, choose));
        self.connect(from.into_path() >> ports.input);
        all(&ports.outputs)
    }
}
