//! Kernels with several typed ports.

pub(crate) use super::io::Io;

use super::firing::{DropUpTo, drop_up_to, leave_window};
use super::intake::Rate;
use super::io::Scratch;
use super::{Cx, Flow, Outcome, Why, task};
use crate::edge::{Edge, Receiver, Sender};
use crate::error::BoxError;
use std::fmt;
use std::marker::PhantomData;

/// An input port of a [`Kernel`]: a handle, cheap to copy.
///
/// It gives messages of exactly this type, so none that live longer than those that come:
///
/// ```compile_fail
/// use thalweg::prelude::*;
/// fn longer<'a>(port: In<&'a str>) -> In<&'static str> {
///     port
/// }
/// ```
pub struct In<T> {
    pub(crate) graph: u64,
    pub(crate) kernel: usize,
    pub(crate) port: usize,
    types: PhantomData<fn(T) -> T>,
}

/// An output port of a [`Kernel`]: a handle, cheap to copy.
///
/// It takes messages of exactly this type, so none that live shorter than the edge says:
///
/// ```compile_fail
/// use thalweg::prelude::*;
/// fn shorter<'a>(port: Out<&'static str>) -> Out<&'a str> {
///     port
/// }
/// ```
pub struct Out<T> {
    pub(crate) graph: u64,
    pub(crate) kernel: usize,
    pub(crate) port: usize,
    types: PhantomData<fn(T) -> T>,
}

macro_rules! handle {
    ($name:ident) => {
        impl<T> $name<T> {
            /// The handle of this port, if its messages are of type `T` (B1).
            pub(crate) fn at(graph: u64, kernel: usize, port: usize) -> Self {
                Self { graph, kernel, port, types: PhantomData }
            }
        }
        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $name<T> {}
        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(
                    f,
                    "{}<{}>(kernel {}, port {})",
                    stringify!($name),
                    std::any::type_name::<T>(),
                    self.kernel,
                    self.port
                )
            }
        }
    };
}
handle!(In);
handle!(Out);

/// A sequential kernel with any number of typed inputs and outputs, and dynamic rates: an activation may take and give as much as it likes.
///
/// ```
/// use thalweg::prelude::*;
///
/// /// Adds up pairs.
/// struct Zip;
/// #[derive(Clone)]
/// struct ZipPorts { left: In<u64>, right: In<u64>, sum: Out<u64> }
///
/// impl Kernel for Zip {
///     type Ports = ZipPorts;
///     fn ports(&mut self, bind: &mut Binder<'_>) -> ZipPorts {
///         ZipPorts { left: bind.input("left"), right: bind.input("right"), sum: bind.output("sum") }
///     }
///     fn run(&mut self, ports: &ZipPorts, io: &mut Io<'_>) -> Result<Flow, BoxError> {
///         while io.has(ports.left, 1) && io.has(ports.right, 1) {
///             let sum = io.pop(ports.left).unwrap() + io.pop(ports.right).unwrap();
///             io.push(ports.sum, sum);
///         }
///         // When one side has ended, the rest of the other has no partner.
///         let ended = io.is_ended(ports.left) || io.is_ended(ports.right);
///         Ok(if ended { Flow::Done } else { Flow::More })
///     }
/// }
///
/// let mut sums = Vec::new();
/// let mut graph = Graph::new();
/// let (left, right) = (graph.source(0..4), graph.source(10..13));
/// let zip = graph.add(Zip);
/// let sink = graph.sink(|sum| sums.push(sum));
/// graph += left >> zip.left;
/// graph += right >> zip.right;
/// graph += zip.sum >> sink;
/// graph.run(Scheme::default())?;
/// drop(graph);
/// assert_eq!(sums, [10, 12, 14]);
/// # Ok::<(), thalweg::Error>(())
/// ```
pub trait Kernel: Send {
    /// The handles of its ports, usually a struct of [`In`]s and [`Out`]s.
    type Ports: Clone + Send;

    /// Names the ports and gives their handles. Called once, by [`Graph::add`](crate::Graph::add).
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports;

    /// Called before each run: what a run that was cancelled or that failed has left is dropped here.
    fn begin(&mut self) {}

    /// One activation: takes what it can, gives what comes of it, and returns when it finds no more.
    ///
    /// Once all inputs have ended and are empty it is called again, so that it can give what it held back; until it says [`Flow::More`] and gives
    /// nothing, or says [`Flow::Done`].
    ///
    /// # Errors
    ///
    /// Whatever the kernel likes; an error stops the run and is returned from it.
    fn run(&mut self, ports: &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError>;
}

/// A kernel's port, as the graph keeps it.
#[derive(Clone, Debug)]
pub(crate) struct PortName {
    pub(crate) name: String,
    pub(crate) message: &'static str,
}

/// Names the ports of a [`Kernel`].
#[derive(Debug)]
pub struct Binder<'a> {
    pub(crate) graph: u64,
    pub(crate) kernel: usize,
    pub(crate) inputs: &'a mut Vec<PortName>,
    pub(crate) outputs: &'a mut Vec<PortName>,
    /// What a firing takes at each input, and what drops it.
    pub(crate) rates: &'a mut Vec<(Rate, DropUpTo)>,
}

impl Binder<'_> {
    /// Adds an input port. A firing of a [`ParallelKernel`](crate::ParallelKernel) takes one message there.
    pub fn input<T: Send>(&mut self, name: &str) -> In<T> {
        self.input_of(name, 1)
    }

    /// Adds an input port at which a firing of a [`ParallelKernel`](crate::ParallelKernel) takes so many messages: at least one. A [`Kernel`] takes as
    /// many as it likes, whatever is said here.
    pub fn input_of<T: Send>(&mut self, name: &str, messages: usize) -> In<T> {
        self.rates.push((Rate::of::<T>(messages), drop_up_to::<T>));
        self.inputs.push(PortName { name: name.to_owned(), message: std::any::type_name::<T>() });
        In { graph: self.graph, kernel: self.kernel, port: self.inputs.len() - 1, types: PhantomData }
    }

    /// Adds an input port at which a firing of a [`ParallelKernel`](crate::ParallelKernel) sees a window of `peek` messages, and takes the first `pop` of them, at least
    /// one and at most all. What is too little for a window at the end is dropped. A [`Kernel`] takes as many as it likes, whatever is said here.
    ///
    /// ```
    /// use thalweg::prelude::*;
    ///
    /// /// The differences of neighbours, and their squares.
    /// struct Differences;
    /// impl ParallelKernel for Differences {
    ///     type Ports = (In<i64>, Out<i64>, Out<i64>);
    ///     fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
    ///         (bind.input_window("numbers", 2, 1), bind.output("differences"), bind.output("squares"))
    ///     }
    ///     fn fire(&self, &(numbers, differences, squares): &Self::Ports, firing: &mut Firing<'_>) -> Result<(), BoxError> {
    ///         let window = firing.slice(numbers);
    ///         let difference = window[1] - window[0];
    ///         firing.push(differences, difference);
    ///         firing.push(squares, difference * difference);
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let mut graph = Graph::new();
    /// let (numbers, differences, squares) = graph.add_parallel(Differences);
    /// let ((first, some), (second, others)) = (graph.collect(), graph.collect());
    /// graph += graph.source([1, 5, 7, 4]) >> numbers;
    /// graph += differences >> first;
    /// graph += squares >> second;
    /// graph.run(Scheme::default())?;
    /// assert_eq!((some.take(), others.take()), (vec![4, 2, -3], vec![16, 4, 9]));
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    pub fn input_window<T: Copy + Send>(&mut self, name: &str, peek: usize, pop: usize) -> In<T> {
        let port = self.input_of::<T>(name, pop);
        if let Some(rate) = self.rates.last_mut() {
            *rate = (Rate::window::<T>(peek, pop), leave_window);
        }
        port
    }

    /// Adds an output port.
    pub fn output<T: Send>(&mut self, name: &str) -> Out<T> {
        self.outputs.push(PortName { name: name.to_owned(), message: std::any::type_name::<T>() });
        Out { graph: self.graph, kernel: self.kernel, port: self.outputs.len() - 1, types: PhantomData }
    }
}

/// A [`Kernel`] whose type the runtime does not see.
pub(crate) trait Ported: Send {
    fn begin(&mut self) {}

    fn run(&mut self, io: &mut Io<'_>) -> Result<Flow, BoxError>;
}

/// Stands for a kernel that has not named its ports.
pub(crate) struct Portless;

impl Ported for Portless {
    fn run(&mut self, _io: &mut Io<'_>) -> Result<Flow, BoxError> {
        Ok(Flow::Done)
    }
}

pub(crate) struct WithPorts<K: Kernel> {
    pub(crate) kernel: K,
    pub(crate) ports: K::Ports,
}

impl<K: Kernel> Ported for WithPorts<K> {
    fn begin(&mut self) {
        self.kernel.begin();
    }

    fn run(&mut self, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        self.kernel.run(&self.ports, io)
    }
}

/// One activation of a kernel with ports.
pub(crate) fn drive(
    kernel: &mut dyn Ported,
    ins: &mut [Receiver],
    outs: &mut [Sender<'_>],
    scratch: &mut Scratch,
    cx: &Cx<'_>,
) -> Result<Outcome, BoxError> {
    if let Some(edge) = task::blocked(outs, cx) {
        return Ok(Outcome::new(Why::Full(edge), 0, 0));
    }
    // One without inputs is a source: it stops here.
    let generates = ins.is_empty();
    if cx.is_cancelled() || task::hung_up(outs) || generates && cx.is_draining() {
        return Ok(Outcome::new(Why::Done, 0, 0));
    }
    // Before the kernel looks: what changes meanwhile makes it worth another activation.
    let signature = {
        let edges = ins.iter().map(Receiver::edge).chain(outs.iter().map(Sender::edge));
        signature(edges.map(|edge| &**edge))
    };
    let ended = !generates && ins.iter().all(|input| input.edge().is_closed() && !input.edge().has_input());
    let (flow, given) = Io::run(cx, ins, outs, scratch, |io| kernel.run(io));
    let flow = flow?;
    let idle = given.messages == 0 && !given.pushed;
    let why = match flow {
        Flow::Done => Why::Done,
        // Who has input no more and nothing to give is over, unless it waits for something else.
        Flow::More if ended && idle => Why::Done,
        Flow::Pending | Flow::PendingFor(_) if ended && idle && cx.is_draining() => Why::Done,
        _ if given.full.is_some() => Why::Full(outs[given.full.unwrap_or(0)].edge().plan.id),
        Flow::Pending | Flow::PendingFor(_) => Why::Pending,
        Flow::More if idle => {
            let emptiest = ins.iter().map(Receiver::edge).min_by(|a, b| a.fill().total_cmp(&b.fill()));
            emptiest.map_or(Why::More, |edge| Why::Empty(edge.plan.id))
        }
        Flow::More => Why::More,
    };
    // What it takes of a block that it has in hand changes no edge, so after that it is worth another activation whatever they say.
    let seen = if idle && !generates && !cx.left.get() { signature } else { 0 };
    Ok(Outcome { seen, idle, ask_in: flow.ask_in(), ..Outcome::new(why, given.blocks, given.messages) })
}

/// A number that changes whenever one of the edges does. Never zero.
pub(crate) fn signature<'a>(edges: impl Iterator<Item = &'a Edge>) -> u64 {
    edges.fold(1_u64, |sum, edge| sum.rotate_left(7).wrapping_add(edge.signature())).max(1)
}
