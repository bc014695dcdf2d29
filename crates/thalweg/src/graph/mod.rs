//! The graph: kernels, and what connects them.

pub(crate) mod chain;
mod chain_ops;
mod check;
mod cycles;
mod draft;
mod outside;
pub(crate) mod path;
pub(crate) mod results;
mod run;
mod seen;
mod stages;
mod tasks;

use crate::block::windows::Windows;
use crate::control::{Control, Stopper};
use crate::error::{Error, Refusal, Verdict};
use crate::exec::Hook;
use crate::kernel::each;
use crate::kernel::firing::{DropUpTo, Firings, ParallelKernel};
use crate::kernel::fused::{Fused, Identity, Map, Update};
use crate::kernel::intake::Rate;
use crate::kernel::output::Output;
use crate::kernel::ported::{Binder, Kernel, Out, PortName, Portless, WithPorts};
use crate::kernel::source;
use crate::kernel::steps::{FromSteps, Steps};
use crate::kernel::tee::Tee;
use crate::kernel::windowed::Windowed;
use crate::kernel::{Body, Flow};
use draft::Draft;
pub(crate) use draft::{Definition, EdgeSpec, Link, PortRef, WindowSpec};
use path::{End, Gives, Handle, Node, Path, Sink, Source};
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use thalweg_sync::sync::Arc;

/// Kernels and the edges between them.
///
/// Kernels may borrow what outlives the graph, as threads of [`std::thread::scope`] may: declare it before the graph, and drop the graph
/// before you look at it again.
///
/// ```
/// use thalweg::prelude::*;
///
/// let mut squares = Vec::new();
/// let mut graph = Graph::new();
/// let numbers = graph.source(1..=5_u64);
/// let square = graph.parallel(|x: u64, out: &mut Output<u64>| out.push(x * x));
/// let collect = graph.sink(|x: u64| squares.push(x));
///
/// graph += numbers >> square * 4 >> collect;
/// graph.run(Scheme::default())?;
/// drop(graph);
/// assert_eq!(squares, [1, 4, 9, 16, 25]);
/// # Ok::<(), thalweg::Error>(())
/// ```
///
/// Both ends of an edge have the same message type:
///
/// ```compile_fail,E0277
/// use thalweg::prelude::*;
/// let mut graph = Graph::new();
/// let numbers = graph.source(0..5_u64);
/// let words = graph.sink(|word: String| println!("{word}"));
/// graph += numbers >> words;
/// ```
///
/// A parallel kernel has no state:
///
/// ```compile_fail,E0594
/// use thalweg::prelude::*;
/// let mut graph = Graph::new();
/// let mut n = 0;
/// let count = graph.parallel(|x: u64, out: &mut Output<u64>| { n += 1; out.push(x + n) });
/// ```
///
/// Nothing leads into a source, and nothing out of a sink:
///
/// ```compile_fail,E0277
/// use thalweg::prelude::*;
/// let mut graph = Graph::new();
/// let (numbers, others) = (graph.source(0..5_u64), graph.source(0..5_u64));
/// graph += numbers >> others;
/// ```
///
/// ```compile_fail,E0369
/// use thalweg::prelude::*;
/// let mut graph = Graph::new();
/// let (end, other) = (graph.sink(|x: u64| ()), graph.sink(|x: u64| ()));
/// graph += end >> other;
/// ```
///
/// A kernel can be made where it is connected. What makes and connects kernels borrows the graph shared, so no handle has to be bound first:
///
/// ```
/// use thalweg::prelude::*;
/// let mut graph = Graph::new();
/// let (end, sum) = graph.gather(0, |sum: &mut u64, n: u64| *sum += n);
/// graph += graph.source(1..=4_u64) >> graph.map(|n: u64| n * n) * 2 >> end;
/// graph.run(Scheme::default())?;
/// assert_eq!(sum.take(), 30);
/// # Ok::<(), thalweg::Error>(())
/// ```
///
/// `graph += path` itself borrows it alone, after the path is made; in a function that has a shared reference, [`connect`](Self::connect) does the same.
pub struct Graph<'env> {
    draft: RefCell<Draft<'env>>,
    pub(crate) control: Arc<Control>,
}

impl Default for Graph<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'env> Graph<'env> {
    /// An empty graph.
    pub fn new() -> Self {
        let control = Arc::new(Control::default());
        Self { draft: RefCell::new(Draft::new(control.graph)), control }
    }

    // ---- sources ----

    /// A source that gives what an iterator gives.
    ///
    /// `next` should not wait: what was given before it, at first up to sixteen messages, may be held until it returns. A source whose `next` takes
    /// long hands on little at a time. For iterators that wait for input, a receiver of a channel among them, there is
    /// [`source_blocking`](Self::source_blocking), which hands on each message as it comes. A second run goes on where the first stopped.
    #[track_caller]
    pub fn source<I>(&self, messages: I) -> Source<I::Item>
    where
        I: IntoIterator<IntoIter: Send + 'env, Item: Send + 'env>,
    {
        self.add_source("source", Box::new(source::Iter::new(messages.into_iter())))
    }

    /// A source that makes a fresh iterator for every run.
    #[track_caller]
    pub fn source_with<I>(&self, make: impl FnMut() -> I + Send + 'env) -> Source<I::Item>
    where
        I: IntoIterator<IntoIter: Send + 'env, Item: Send + 'env> + 'env,
    {
        self.add_source("source", Box::new(source::Fresh::new(make)))
    }

    /// A source that is asked again and again, and gives any number of messages each time.
    ///
    /// [`Flow::More`]: ask again soon. [`Flow::Pending`]: nothing now, so ask again after a while, at most 10 ms. [`Flow::PendingFor`]: nothing for that long. [`Flow::Done`]: finished. What it
    /// gave is handed on when a call says `Pending`, or after a few calls, so a trickle is never held back.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// use std::sync::mpsc;
    ///
    /// let (sender, receiver) = mpsc::channel();
    /// std::thread::spawn(move || (1..=3_u64).for_each(|n| sender.send(n).unwrap()));
    ///
    /// let mut sum = 0;
    /// let mut graph = Graph::new();
    /// let numbers = graph.poll_source(move |out: &mut Output<u64>| match receiver.try_recv() {
    ///     Ok(number) => {
    ///         out.push(number);
    ///         Flow::More
    ///     }
    ///     Err(mpsc::TryRecvError::Empty) => Flow::Pending,
    ///     Err(mpsc::TryRecvError::Disconnected) => Flow::Done,
    /// });
    /// let add = graph.sink(|n: u64| sum += n);
    /// graph += numbers >> add;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(sum, 6);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn poll_source<T, R>(&self, give: impl FnMut(&mut Output<T>) -> R + Send + 'env) -> Source<T>
    where
        T: Send + 'env,
        R: Verdict<Value = Flow> + 'env,
    {
        self.add_source("poll", Box::new(source::Poll(give, PhantomData)))
    }

    // ---- kernels ----

    /// A kernel that runs on one worker at a time and may keep state.
    ///
    /// The closure returns nothing, or a [`Flow`], or a `Result` of these. After [`Flow::Done`] it is not called again in this run: what has come is dropped
    /// and counted, and the kernels before it end if they have no other consumer. See [`sequential_with`](Self::sequential_with) for what is to be
    /// done at the end.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut total = 0;
    /// let mut graph = Graph::new();
    /// let (end, sums) = graph.collect();
    /// let add = graph.sequential(|n: u64, out: &mut Output<u64>| {
    ///     total += n;
    ///     out.push(total);
    ///     if total > 10 { Flow::Done } else { Flow::More }
    /// });
    /// graph += graph.source(1..) >> add >> end;
    /// graph.run(Scheme::default())?;
    /// assert_eq!(sums.take(), [1, 3, 6, 10, 15]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn sequential<T, U, R>(&self, kernel: impl FnMut(T, &mut Output<U>) -> R + Send + 'env) -> Node<T, U>
    where
        T: Send + 'env,
        U: Send + 'env,
        R: Verdict<Value: Into<Flow>> + 'env,
    {
        let body = Body::Sequential(Box::new(each::Sequential::<_, T, U>::new(kernel)));
        self.add_node("sequential", body, None)
    }

    /// A kernel without state that runs on many workers at once. Its results leave in the order of its inputs, unless the edge
    /// behind it is [`unordered`](path::Gives::unordered).
    ///
    /// One message may become any number. It takes no block while as many results wait as the edge behind may hold. In the middle of a block, the activation whose
    /// results leave next waits for room when the edge is full; each of the others keeps as many as the edge may hold (of an edge without a capacity, 1 MiB), and then waits for its
    /// turn. So what waits, on the edge and in the hands of `workers`, is at most `capacity + workers * (capacity + block)`, where a block is at most half of
    /// the capacity. What [`Output::push`] says of waiting holds here too: whoever waits runs other kernels meanwhile, it does not wait for what cannot come, and a
    /// lock that another activation needs must not be held.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let (end, sum) = graph.gather(0, |sum: &mut u64, n: u64| *sum += n);
    /// let numbers = graph.parallel(|n: u64, out: &mut Output<u64>| (0..n * 100_000).for_each(|n| out.push(n)));
    /// graph += graph.source(0..4_u64) >> numbers.fixed(64) >> end;
    /// let report = graph.run(Scheme::default())?;
    /// assert_eq!(sum.take(), (0..4).map(|n| (0..n * 100_000).sum::<u64>()).sum());
    /// assert!(report.edges[1].peak <= 64 + report.workers as u64 * (64 + 32));
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn parallel<T, U, R>(&self, kernel: impl Fn(T, &mut Output<U>) -> R + Send + Sync + 'env) -> Node<T, U>
    where
        T: Send + 'env,
        U: Send + 'env,
        R: Verdict<Value = ()> + 'env,
    {
        let body = Body::Parallel(Box::new(each::Parallel(kernel, PhantomData::<fn(T) -> U>)));
        self.add_node("parallel", body, None)
    }

    /// A kernel that gives one message for each, on one worker at a time. Faster than [`sequential`](Self::sequential): nothing is checked per message, and if
    /// both types have the same layout a block is changed where it is and passed on, unless the next edge wants shorter ones.
    #[track_caller]
    pub fn map<T, U>(&self, change: impl FnMut(T) -> U + Send + 'env) -> Node<T, U>
    where
        T: Send + 'env,
        U: Send + 'env,
    {
        let body = Body::Sequential(Box::new(Fused(Map(Identity, change), PhantomData::<fn(T)>)));
        self.add_node("map", body, None)
    }

    /// A kernel that changes each message where it is, on one worker at a time. The block is passed on as it is, unless the next edge wants shorter
    /// ones; a message of more than 8 KiB is alone in its block, so it is never copied.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut sums = Vec::new();
    /// let mut graph = Graph::new();
    /// let images = graph.source_with(|| (0..3_u64).map(|n| [n; 512]));
    /// let brighten = graph.update(|image: &mut [u64; 512]| image.iter_mut().for_each(|pixel| *pixel += 1));
    /// let sum = graph.sink(|image: [u64; 512]| sums.push(image.iter().sum::<u64>()));
    /// graph += images >> brighten >> sum;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(sums, [512, 1024, 1536]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn update<T: Send + 'env>(&self, change: impl FnMut(&mut T) + Send + 'env) -> Node<T, T> {
        let body = Body::Sequential(Box::new(Fused(Update(Identity, change), PhantomData::<fn(T)>)));
        self.add_node("update", body, None)
    }

    /// A kernel without state that gives one message for each, on many workers at once, in order.
    #[track_caller]
    pub fn parallel_map<T, U>(&self, change: impl Fn(T) -> U + Send + Sync + 'env) -> Node<T, U>
    where
        T: Send + 'env,
        U: Send + 'env,
    {
        self.parallel(move |message: T, output: &mut Output<U>| output.push(change(message)))
    }

    /// As [`update`](Self::update), without state and on many workers at once, in order.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let images = graph.source_with(|| (0..8_u64).map(|n| [n; 512]));
    /// let brighten = graph.parallel_update(|image: &mut [u64; 512]| image.iter_mut().for_each(|pixel| *pixel += 1));
    /// let check = graph.sink(|image: [u64; 512]| assert!(image[0] > 0));
    /// graph += images >> brighten * 4 >> check;
    /// graph.run(Scheme::default())?;
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn parallel_update<T>(&self, change: impl Fn(&mut T) + Send + Sync + 'env) -> Node<T, T>
    where
        T: Send + 'env,
    {
        self.add_node("parallel", Body::Parallel(Box::new(each::ParallelUpdate(change, PhantomData::<fn(T)>))), None)
    }

    /// A kernel that sees a sliding window: `peek` messages as one slice, `pop` of which leave before the next.
    ///
    /// Messages at the end of the stream that do not fill a window are dropped, and counted in the report; [`window_partial`](Self::window_partial) gives them.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let (mut before, mut rises) = (0, Vec::new());
    /// let mut graph = Graph::new();
    /// let numbers = graph.source([5, 1, 4, 2, 8, 3]);
    /// // Two at a time, without overlap; the sum of the pair before is state.
    /// let rise = graph.window(2, 2, |pair: &[i32], out: &mut Output<i32>| {
    ///     let sum = pair[0] + pair[1];
    ///     out.push(sum - before);
    ///     before = sum;
    /// });
    /// let collect = graph.sink(|rise: i32| rises.push(rise));
    /// graph += numbers >> rise >> collect;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(rises, [6, 0, 5]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn window<T, U, R>(
        &self,
        peek: usize,
        pop: usize,
        kernel: impl FnMut(&[T], &mut Output<U>) -> R + Send + 'env,
    ) -> Node<T, U>
    where
        T: Clone + Send + 'env,
        U: Send + 'env,
        R: Verdict<Value = ()> + 'env,
    {
        let windowed = Windowed { kernel, peek, pop, types: PhantomData::<fn(T) -> U> };
        let body = Body::Sequential(Box::new(windowed));
        self.add_node("window", body, Some(window_spec::<T>(peek, pop)))
    }

    /// As [`window`](Self::window), without state, on many workers at once, in order.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut averages = Vec::new();
    /// let mut graph = Graph::new();
    /// let numbers = graph.source([1.0, 3.0, 5.0, 7.0]);
    /// let average = graph.parallel_window(2, 1, |pair: &[f64], out: &mut Output<f64>| out.push((pair[0] + pair[1]) / 2.0));
    /// let collect = graph.sink(|average: f64| averages.push(average));
    /// graph += numbers >> average >> collect;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(averages, [2.0, 4.0, 6.0]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn parallel_window<T, U, R>(
        &self,
        peek: usize,
        pop: usize,
        kernel: impl Fn(&[T], &mut Output<U>) -> R + Send + Sync + 'env,
    ) -> Node<T, U>
    where
        T: Clone + Send + 'env,
        U: Send + 'env,
        R: Verdict<Value = ()> + 'env,
    {
        let windowed = Windowed { kernel, peek, pop, types: PhantomData::<fn(T) -> U> };
        self.add_node("window", Body::Parallel(Box::new(windowed)), Some(window_spec::<T>(peek, pop)))
    }

    /// The end of a stream, on one worker at a time. It may end early, as [`sequential`](Self::sequential).
    #[track_caller]
    pub fn sink<T, R>(&self, kernel: impl FnMut(T) -> R + Send + 'env) -> Sink<T>
    where
        T: Send + 'env,
        R: Verdict<Value: Into<Flow>> + 'env,
    {
        let body = Body::Sequential(Box::new(each::Sink::<_, T>::new(kernel)));
        Sink(self.add_kernel("sink", body, &[name_of::<T>("in")], &[], None), PhantomData)
    }

    /// The end of a stream, on many workers at once; messages come in any order.
    #[track_caller]
    pub fn parallel_sink<T, R>(&self, kernel: impl Fn(T) -> R + Send + Sync + 'env) -> Sink<T>
    where
        T: Send + 'env,
        R: Verdict<Value = ()> + 'env,
    {
        let body = Body::Parallel(Box::new(each::ParallelSink(kernel, PhantomData::<fn(T)>)));
        Sink(self.add_kernel("sink", body, &[name_of::<T>("in")], &[], None), PhantomData)
    }

    /// A kernel with several ports. Returns their handles. Its name is that of its type and its number, such as `Merge-3`.
    #[track_caller]
    pub fn add<K>(&self, mut kernel: K) -> K::Ports
    where
        K: Kernel<Ports: 'env> + 'env,
    {
        self.add_bound(&short_name::<K>(), move |binder| {
            let ports = kernel.ports(binder);
            (ports.clone(), |_| Body::Ported(Box::new(WithPorts { kernel, ports })))
        })
    }

    /// A kernel with several ports that runs on many workers at once: see [`ParallelKernel`]. Returns their handles. It is named as one of
    /// [`add`](Self::add) is.
    #[track_caller]
    pub fn add_parallel<K>(&self, mut kernel: K) -> K::Ports
    where
        K: ParallelKernel<Ports: 'env> + 'env,
    {
        self.add_bound(&short_name::<K>(), move |binder| {
            let ports = kernel.ports(binder);
            (ports.clone(), |bound: Vec<(Rate, DropUpTo)>| {
                let (rates, drops): (Vec<_>, Vec<_>) = bound.into_iter().unzip();
                Body::Firing(Box::new(Firings { kernel, ports, rates: rates.clone(), drops }), rates)
            })
        })
    }

    /// A kernel that names its ports itself, and is made by what they take.
    #[track_caller]
    fn add_bound<P, B>(&self, name: &str, bind: impl FnOnce(&mut Binder<'_>) -> (P, B)) -> P
    where
        B: FnOnce(Vec<(Rate, DropUpTo)>) -> Body<'env>,
    {
        // There before it names its ports: should that panic, no other kernel gets the number that the handles made so far carry.
        let made = self.add_kernel(name, Body::Ported(Box::new(Portless)), &[], &[], None);
        let (mut inputs, mut outputs, mut rates) = (Vec::new(), Vec::new(), Vec::new());
        let (ports, body) = bind(&mut Binder {
            graph: made.graph,
            kernel: made.kernel,
            inputs: &mut inputs,
            outputs: &mut outputs,
            rates: &mut rates,
        });
        let body = body(rates);
        self.change(made, |definition| {
            (definition.inputs, definition.outputs) = (inputs, outputs);
            definition.body = body;
        });
        ports
    }

    /// Gives each message of a source, or of a path that begins with one, to `N` kernels: one output port for each.
    ///
    /// Copies are clones, made one message at a time on one worker; wrap what is large in an [`Arc`](std::sync::Arc). Where one consumer takes
    /// nothing more before another has gone on, as with a window beside a plain edge, the edge grows up to 64 MiB of messages and headers, unless its capacity was
    /// given: then give it room for what has to wait.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let (mut sum, mut most) = (0, 0);
    /// let mut graph = Graph::new();
    /// let numbers = graph.source([3, 9, 4_u64]);
    /// let [left, right] = graph.tee(numbers);
    /// let add = graph.sink(|x| sum += x);
    /// let keep = graph.sink(|x| most = most.max(x));
    /// graph += left >> add;
    /// graph += right >> keep;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!((sum, most), (16, 9));
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn tee<T, const N: usize>(&self, from: impl Gives<Message = T, Head = End>) -> [Out<T>; N]
    where
        T: Clone + Send + 'env,
    {
        let (input, copies) = self.add(Tee::<T, N>(PhantomData));
        self.connect(from.into_path() >> input);
        copies
    }

    // ---- names, control ----

    /// In each run, every worker calls `hook` with its number before it begins, on its thread: to give the thread a priority or a memory node, or to set up
    /// what is local to it. Worker 0 is the thread that calls [`run`](Self::run). If it panics, the run fails, and the error names the worker. The
    /// last hook given counts.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    /// use thalweg::prelude::*;
    /// let started = AtomicUsize::new(0);
    /// let mut graph = Graph::new();
    /// graph.on_thread_start(|_worker| _ = started.fetch_add(1, Relaxed));
    /// graph += graph.source(0..10_u64) >> graph.sink(drop::<u64>);
    /// graph.run(Scheme::default().workers(3))?;
    /// drop(graph);
    /// assert_eq!(started.into_inner(), 3);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn on_thread_start(&self, hook: impl Fn(usize) + Send + Sync + 'env) {
        self.draft.borrow_mut().hook = Some(Hook { call: Box::new(hook), place: Location::caller() });
    }

    /// Gives a kernel the name that the report and errors use. Names are unique: when the graph runs, the second kernel of a name gets
    /// ` (2)` behind it, and so on.
    pub fn name(&self, kernel: impl Handle, name: &str) {
        let port = kernel.kernel();
        if port.graph == self.id() {
            self.change(port, |definition| name.clone_into(&mut definition.name));
        } else {
            let reason = "the kernel that was given this name belongs to another graph; name it there";
            self.draft.borrow_mut().refusals.push(Refusal { kernel: name.to_owned(), reason: reason.to_owned() });
        }
    }

    /// Adds the connections of a path, as `graph += path` does. What is wrong with them is said by [`run`](Self::run).
    ///
    /// It borrows the graph shared, so it can stand in a function that builds a part of a graph.
    ///
    /// ```
    /// use thalweg::prelude::*;
    ///
    /// fn print_all(graph: &Graph<'_>, words: Source<&'static str>) {
    ///     graph.connect(words >> graph.sink(|word| println!("{word}")));
    /// }
    ///
    /// let mut graph = Graph::new();
    /// print_all(&graph, graph.source(["a", "b"]));
    /// graph.run(Scheme::default())?;
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    pub fn connect<H, T>(&self, path: Path<H, T>) {
        self.draft.borrow_mut().add_path(path);
    }

    /// What ends a run from another thread.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.control.clone())
    }

    // ---- inside ----

    fn id(&self) -> u64 {
        self.control.graph
    }

    /// Changes what is known of a kernel of this graph.
    fn change(&self, kernel: PortRef, change: impl FnOnce(&mut Definition<'env>)) {
        change(&mut self.draft.borrow_mut().kernels[kernel.kernel]);
    }

    /// Notes why `kernel` cannot work, for [`run`](Self::run) to say.
    pub(crate) fn refuse(&self, kernel: impl Handle, reason: &str) {
        self.draft.borrow_mut().refuse(kernel.kernel(), reason);
    }

    #[track_caller]
    fn add_source<T: Send + 'env>(&self, kind: &str, body: Box<dyn crate::kernel::Supply + 'env>) -> Source<T> {
        Source(self.add_kernel(kind, Body::Source(body), &[], &[name_of::<T>("out")], None), PhantomData)
    }

    #[track_caller]
    pub(crate) fn source_of_steps<S: Steps<Item: 'env> + 'env>(&self, steps: S) -> Source<S::Item> {
        self.add_source("source", Box::new(FromSteps::new(steps)))
    }

    #[track_caller]
    pub(crate) fn add_fused(&self, body: Box<dyn crate::kernel::Supply + 'env>) {
        self.add_kernel("chain", Body::Source(body), &[], &[], None);
    }

    #[track_caller]
    pub(crate) fn add_node<T, U>(&self, kind: &str, body: Body<'env>, window: Option<WindowSpec<'env>>) -> Node<T, U> {
        Node(self.add_kernel(kind, body, &[name_of::<T>("in")], &[name_of::<U>("out")], window), PhantomData)
    }

    #[track_caller]
    fn add_kernel(
        &self,
        kind: &str,
        body: Body<'env>,
        inputs: &[PortName],
        outputs: &[PortName],
        window: Option<WindowSpec<'env>>,
    ) -> PortRef {
        let mut draft = self.draft.borrow_mut();
        let kernel = draft.kernels.len();
        draft.kernels.push(Definition {
            name: format!("{kind}-{kernel}"),
            place: Location::caller(),
            body,
            outside: None,
            inputs: inputs.to_vec(),
            outputs: outputs.to_vec(),
            window,
            hint: None,
            group: None,
        });
        PortRef { graph: self.id(), kernel, port: 0 }
    }
}

impl fmt::Debug for Graph<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let draft = self.draft.borrow();
        let kernels: Vec<_> = draft.kernels.iter().map(|kernel| &kernel.name).collect();
        f.debug_struct("Graph").field("kernels", &kernels).field("edges", &draft.links.len()).finish()
    }
}

/// The name of a type, without its path and what is in angle brackets.
fn short_name<T>() -> String {
    let path = std::any::type_name::<T>();
    let path = path.split('<').next().unwrap_or(path);
    path.rsplit("::").next().unwrap_or(path).to_owned()
}

fn name_of<T>(port: &str) -> PortName {
    PortName { name: port.to_owned(), message: std::any::type_name::<T>() }
}

fn window_spec<'env, T: Clone + Send + 'env>(peek: usize, pop: usize) -> WindowSpec<'env> {
    WindowSpec { peek, pop, assembler: Box::new(move || Box::new(Windows::<T>::new(peek, pop))) }
}

/// For errors about building: keeps the first of several.
impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(vec![refusal])
    }
}
