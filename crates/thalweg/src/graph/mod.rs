//! The graph: kernels, and what connects them.

pub(crate) mod chain;
mod check;
mod cycles;
mod outside;
pub(crate) mod path;
pub(crate) mod results;
mod run;

use crate::block::windows::{Assemble, Windows};
use crate::control::{Control, Stopper};
use crate::edge::Capacity;
use crate::error::{Error, Refusal, Verdict};
use crate::kernel::each;
use crate::kernel::fused::{Fused, Identity, Map, Update};
use crate::kernel::output::Output;
use crate::kernel::ported::{Binder, Kernel, Out, PortName, Portless, WithPorts};
use crate::kernel::source;
use crate::kernel::steps::{FromSteps, Steps};
use crate::kernel::tee::Tee;
use crate::kernel::windowed::Windowed;
use crate::kernel::{Body, Flow, Outside};
use path::{End, Gives, Handle, Node, Sink, Source};
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use thalweg_sync::sync::Arc;

/// What was asked of an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EdgeSpec {
    pub(crate) capacity: Option<Capacity>,
    pub(crate) unordered: bool,
    pub(crate) feedback: bool,
}

/// A port of a kernel of some graph.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRef {
    /// The graph's number, `Control::graph`.
    pub(crate) graph: u64,
    pub(crate) kernel: usize,
    pub(crate) port: usize,
}

/// One connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) from: PortRef,
    pub(crate) to: PortRef,
    pub(crate) spec: EdgeSpec,
    pub(crate) bytes: usize,
}

/// The window that a kernel's input asks for.
pub(crate) struct WindowSpec<'env> {
    pub(crate) peek: usize,
    pub(crate) pop: usize,
    pub(crate) assembler: Box<dyn Fn() -> Box<dyn Assemble + 'env> + Send + Sync + 'env>,
}

/// What the graph knows of a kernel.
pub(crate) struct Definition<'env> {
    pub(crate) name: String,
    pub(crate) place: &'static Location<'static>,
    pub(crate) body: Body<'env>,
    /// Of a source that is fed from outside. Dropped after the body: see `inlet::Watch`.
    pub(crate) outside: Option<Box<dyn Outside + 'env>>,
    pub(crate) inputs: Vec<PortName>,
    pub(crate) outputs: Vec<PortName>,
    pub(crate) window: Option<WindowSpec<'env>>,
    pub(crate) hint: Option<f32>,
    pub(crate) group: Option<usize>,
}

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
/// A kernel can be made where it is connected. What makes kernels borrows the graph shared, so no handle has to be bound first:
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
/// What also connects, such as [`tee`](Self::tee), borrows it alone: bind what it gives, in a statement of its own.
pub struct Graph<'env> {
    /// Without those in `fresh`: see [`adopt`](Self::adopt).
    pub(crate) kernels: Vec<Definition<'env>>,
    /// Kernels that were made through a shared reference since the last `adopt`. Their numbers go on from those of `kernels`.
    fresh: RefCell<Vec<Definition<'env>>>,
    pub(crate) links: Vec<Link>,
    /// Connections with kernels of other graphs; with them the graph does not run.
    foreign: Vec<Link>,
    refusals: Vec<Refusal>,
    groups: usize,
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
        Self {
            kernels: Vec::new(),
            fresh: RefCell::default(),
            links: Vec::new(),
            foreign: Vec::new(),
            refusals: Vec::new(),
            groups: 0,
            control,
        }
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
        self.add_source("source", Box::new(source::Fresh { make, iterator: None }))
    }

    /// A source that is asked again and again, and gives any number of messages each time.
    ///
    /// [`Flow::More`]: ask again soon. [`Flow::Pending`]: nothing now, so ask again after a while, at most 10 ms. [`Flow::Done`]: finished. What it
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
    #[track_caller]
    pub fn sequential<T, U, R>(&self, kernel: impl FnMut(T, &mut Output<U>) -> R + Send + 'env) -> Node<T, U>
    where
        T: Send + 'env,
        U: Send + 'env,
        R: Verdict<Value = ()> + 'env,
    {
        let body = Body::Sequential(Box::new(each::Sequential(kernel, PhantomData::<fn(T) -> U>)));
        self.add_node("sequential", body, None)
    }

    /// A kernel without state that runs on many workers at once. Its results leave in the order of its inputs, unless the edge
    /// behind it is [`unordered`](path::Gives::unordered).
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
    /// Messages at the end of the stream that do not fill a window are dropped.
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

    /// The end of a stream, on one worker at a time.
    #[track_caller]
    pub fn sink<T, R>(&self, kernel: impl FnMut(T) -> R + Send + 'env) -> Sink<T>
    where
        T: Send + 'env,
        R: Verdict<Value = ()> + 'env,
    {
        let body = Body::Sequential(Box::new(each::Sink(kernel, PhantomData::<fn(T)>)));
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
        // There before it names its ports: should that panic, no other kernel gets the number that the handles made so far carry.
        let made = self.add_kernel(&short_name::<K>(), Body::Ported(Box::new(Portless)), &[], &[], None);
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        let mut binder = Binder { graph: made.graph, kernel: made.kernel, inputs: &mut inputs, outputs: &mut outputs };
        let ports = kernel.ports(&mut binder);
        let mut fresh = self.fresh.borrow_mut();
        let definition = &mut fresh[made.kernel - self.kernels.len()];
        (definition.inputs, definition.outputs) = (inputs, outputs);
        definition.body = Body::Ported(Box::new(WithPorts { kernel, ports: ports.clone() }));
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
    pub fn tee<T, const N: usize>(&mut self, from: impl Gives<Message = T, Head = End>) -> [Out<T>; N]
    where
        T: Clone + Send + 'env,
    {
        let (input, copies) = self.add(Tee::<T, N>(PhantomData));
        *self += from.into_path() >> input;
        copies
    }

    // ---- names, control ----

    /// Gives a kernel the name that the report and errors use. Names are unique: when the graph runs, the second kernel of a name gets
    /// ` (2)` behind it, and so on.
    pub fn name(&mut self, kernel: impl Handle, name: &str) {
        let port = kernel.kernel();
        if port.graph == self.id() {
            name.clone_into(&mut self.definition(port).name);
        } else {
            self.refusals.push(Refusal {
                kernel: name.to_owned(),
                reason: "the kernel that was given this name belongs to another graph; name it there".to_owned(),
            });
        }
    }

    /// What ends a run from another thread.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.control.clone())
    }

    // ---- inside ----

    fn id(&self) -> u64 {
        self.control.graph
    }

    /// Moves kernels that were made through a shared reference to the others.
    pub(crate) fn adopt(&mut self) {
        self.kernels.append(self.fresh.get_mut());
    }

    /// What is known of a kernel of this graph.
    fn definition(&mut self, kernel: PortRef) -> &mut Definition<'env> {
        self.adopt();
        &mut self.kernels[kernel.kernel]
    }

    /// Notes why `kernel` cannot work, for [`run`](Self::run) to say.
    pub(crate) fn refuse(&mut self, kernel: impl Handle, reason: &str) {
        let Definition { name, place, .. } = self.definition(kernel.kernel());
        let kernel = format!("{name} ({place})");
        self.refusals.push(Refusal { kernel, reason: reason.to_owned() });
    }

    #[track_caller]
    fn add_source<T: Send + 'env>(&self, kind: &str, body: Box<dyn crate::kernel::Source + 'env>) -> Source<T> {
        Source(self.add_kernel(kind, Body::Source(body), &[], &[name_of::<T>("out")], None), PhantomData)
    }

    #[track_caller]
    pub(crate) fn source_of_steps<S: Steps<Item: 'env> + 'env>(&self, steps: S) -> Source<S::Item> {
        self.add_source("source", Box::new(FromSteps::new(steps)))
    }

    #[track_caller]
    pub(crate) fn add_fused(&self, body: Box<dyn crate::kernel::Source + 'env>) {
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
        let mut fresh = self.fresh.borrow_mut();
        let kernel = self.kernels.len() + fresh.len();
        fresh.push(Definition {
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

    pub(crate) fn add_path(&mut self, links: Vec<Link>, hints: &[(PortRef, f32)], groups: &[Vec<PortRef>]) {
        self.adopt();
        let id = self.id();
        for link in links {
            match (link.from.graph == id, link.to.graph == id) {
                (true, true) => self.links.push(link),
                (false, false) => self.refusals.push(Refusal {
                    kernel: "a path".to_owned(),
                    reason: "both ends of one of its edges belong to another graph; add it there".to_owned(),
                }),
                _ => self.foreign.push(link),
            }
        }
        for &(port, hint) in hints.iter().filter(|(port, _)| port.graph == id) {
            self.kernels[port.kernel].hint = Some(hint);
        }
        for group in groups {
            for port in group.iter().filter(|port| port.graph == id) {
                self.kernels[port.kernel].group = Some(self.groups);
            }
            self.groups += 1;
        }
    }
}

impl fmt::Debug for Graph<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fresh = self.fresh.borrow();
        let kernels: Vec<_> = self.kernels.iter().chain(&*fresh).map(|kernel| &kernel.name).collect();
        f.debug_struct("Graph").field("kernels", &kernels).field("edges", &self.links.len()).finish()
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
