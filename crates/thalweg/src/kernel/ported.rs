//! Kernels with several typed ports.

use crate::block::{Block, stride};
use crate::error::BoxError;
use crate::kernel::Flow;
use crate::output::{Core, end_output, hand_on_filled, next_block};
use crate::run::{Cx, Outcome, Why};
use std::fmt;
use std::marker::PhantomData;
use thalweg_sync::hint::Access;

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
}

impl Binder<'_> {
    /// Adds an input port.
    pub fn input<T: Send>(&mut self, name: &str) -> In<T> {
        self.inputs.push(PortName { name: name.to_owned(), message: std::any::type_name::<T>() });
        In { graph: self.graph, kernel: self.kernel, port: self.inputs.len() - 1, types: PhantomData }
    }

    /// Adds an output port.
    pub fn output<T: Send>(&mut self, name: &str) -> Out<T> {
        self.outputs.push(PortName { name: name.to_owned(), message: std::any::type_name::<T>() });
        Out { graph: self.graph, kernel: self.kernel, port: self.outputs.len() - 1, types: PhantomData }
    }
}

/// Access to the ports of a [`Kernel`] during an activation.
///
/// While an output is full, or the activation has taken its share, the inputs give nothing: [`has`](Self::has) is false and [`pop`](Self::pop)
/// is `None`. So a loop over what there is ends by itself. Whether more will come is another question: [`is_ended`](Self::is_ended).
pub struct Io<'a> {
    cx: &'a Cx<'a>,
    /// The graph and the kernel that ports have to be of.
    own: (u64, usize),
    inputs: Vec<Input>,
    outputs: Vec<Port>,
    blocks: u32,
    messages: u64,
    pushed: bool,
}

struct Input {
    edge: usize,
    block: Option<Block>,
    /// Blocks taken in this activation.
    taken: u32,
    /// How many messages were asked for at once, the last time that there were not so many; zero if there always were.
    asked: usize,
}

struct Port {
    core: Core,
    cur: *mut u8,
    end: *mut u8,
    close: unsafe fn(*mut Core, *mut u8),
}

impl<'a> Io<'a> {
    fn new(cx: &'a Cx<'a>) -> Self {
        unsafe fn nothing_open(_core: *mut Core, _cur: *mut u8) {}
        let inputs = cx.inputs().iter().map(|&edge| Input { edge, block: None, taken: 0, asked: 0 }).collect();
        let outputs = (0..cx.outputs().len())
            .map(|port| Port {
                core: Core::new(cx, port, None),
                cur: std::ptr::null_mut(),
                end: std::ptr::null_mut(),
                close: nothing_open,
            })
            .collect();
        let own = (cx.worker.core.control.graph, cx.kernel);
        Self { cx, own, inputs, outputs, blocks: 0, messages: 0, pushed: false }
    }

    fn output_is_full(&self) -> bool {
        self.outputs.iter().any(|port| port.core.is_full())
    }

    /// Refuses ports of other kernels: the type of a handle is that of the messages only where the handle was made (B1).
    #[track_caller]
    fn check(&self, graph: u64, kernel: usize) {
        assert!((graph, kernel) == self.own, "a port of another kernel; use those that this kernel's `ports` gave");
    }

    /// Brings at least `count` messages together in the block at `port`, if there are so many.
    #[track_caller]
    fn gather<T>(&mut self, port: In<T>, count: usize) -> bool {
        self.check(port.graph, port.kernel);
        let cx = self.cx;
        if self.output_is_full() {
            return false;
        }
        let mut have = self.inputs[port.port].block.as_ref().map_or(0, Block::unread);
        while have < count.max(1) {
            // Each input has its own share, so that a kernel with many inputs sees all of them. A window is gathered whatever it takes.
            let share_is_used = have == 0 && self.inputs[port.port].taken >= cx.quantum();
            if share_is_used || cx.is_cancelled() {
                return false;
            }
            let input = &mut self.inputs[port.port];
            // SAFETY: E2: this worker holds the claim of the only kernel that takes from this edge.
            let Some(next) = (unsafe { cx.edge(input.edge).take() }) else {
                input.asked = count.max(1);
                return false;
            };
            self.blocks += 1;
            input.taken += 1;
            input.block = Some(match input.block.take() {
                Some(block) if block.unread() > 0 => join::<T>(cx, input.edge, block, next),
                Some(empty) => {
                    cx.close_block(empty);
                    cx.settle(input.edge);
                    next
                }
                None => next,
            });
            have = input.block.as_ref().map_or(0, Block::unread);
        }
        true
    }

    /// Whether at least `count` messages are there to be taken now. Zero counts as one. It stays so until the next [`push`](Self::push).
    ///
    /// `count` may be more than the edge holds at once: what is there is brought together here, and makes room for more. A run that ends because
    /// there never were so many says [how many there were](crate::Error::Stalled).
    ///
    /// # Panics
    ///
    /// This and the other methods, if the port is another kernel's.
    #[track_caller]
    pub fn has<T: Send>(&mut self, port: In<T>, count: usize) -> bool {
        self.gather(port, count)
    }

    /// Takes the next message.
    #[track_caller]
    pub fn pop<T: Send>(&mut self, port: In<T>) -> Option<T> {
        if !self.gather(port, 1) {
            return None;
        }
        let block = self.inputs[port.port].block.as_mut()?;
        let (first, end) = (block.first(), block.end());
        self.messages += 1;
        // SAFETY: `gather` found a message, the edge carries `T` (B1), and the range gives it up.
        unsafe {
            let message = block.entry::<T>(first).read();
            block.set_range(first + 1, end);
            Some(message)
        }
    }

    /// The next `count` messages as one slice, without taking them; `None` if there are not so many now.
    #[track_caller]
    pub fn peek<T: Send>(&mut self, port: In<T>, count: usize) -> Option<&[T]> {
        if !self.gather(port, count) {
            return None;
        }
        let block = self.inputs[port.port].block.as_ref()?;
        // SAFETY: the edge carries `T` (B1).
        Some(unsafe { &block.messages::<T>()[..count] })
    }

    /// Drops the next `count` messages, or as many as there are now. Returns how many.
    #[track_caller]
    pub fn skip<T: Send>(&mut self, port: In<T>, count: usize) -> usize {
        self.check(port.graph, port.kernel);
        (0..count).take_while(|_| self.pop(port).is_some()).count()
    }

    /// Whether the input has ended: nothing is left and nothing will come.
    #[track_caller]
    pub fn is_ended<T: Send>(&mut self, port: In<T>) -> bool {
        self.check(port.graph, port.kernel);
        let input = &self.inputs[port.port];
        let edge = self.cx.edge(input.edge);
        // Closed first: see E4.
        edge.is_closed() && !edge.has_input() && input.block.as_ref().is_none_or(|block| block.unread() == 0)
    }

    /// Gives a message to the stream. It never waits.
    #[track_caller]
    pub fn push<T: Send>(&mut self, port: Out<T>, message: T) {
        self.check(port.graph, port.kernel);
        let output = &mut self.outputs[port.port];
        self.pushed = true;
        if output.cur.is_null() {
            let (cur, end) = output.core.room::<T>();
            (output.cur, output.end) = (cur.cast(), end.cast());
            output.close = close_port::<T>;
        }
        // SAFETY: O2, as in `Output::push`.
        unsafe {
            output.cur.cast::<T>().write(message);
            output.cur = output.cur.byte_add(stride::<T>());
        }
        if std::ptr::eq(output.cur, output.end) {
            // SAFETY: O1: the core lives as long as this `Io`, and the port was bound to messages of type `T`.
            let (cur, end) = unsafe { next_block::<T>(&mut output.core, output.cur.cast()) };
            (output.cur, output.end) = (cur.cast(), end.cast());
            // SAFETY: O1. After the step, as in `Output::turn`.
            unsafe { hand_on_filled(&mut output.core) };
        }
    }

    /// Whether the edge behind `port` is full for now; pushing is still possible.
    #[track_caller]
    pub fn is_full<T: Send>(&self, port: Out<T>) -> bool {
        self.check(port.graph, port.kernel);
        self.outputs[port.port].core.is_full()
    }
}

unsafe fn close_port<T>(core: *mut Core, cur: *mut u8) {
    // SAFETY: by the caller.
    unsafe { end_output::<T>(core, cur.cast()) }
}

/// The messages of two blocks in one.
fn join<T>(cx: &Cx<'_>, edge: usize, mut first: Block, mut second: Block) -> Block {
    let total = first.unread() + second.unread();
    assert!(u32::try_from(total).is_ok(), "fewer than 2^32 messages can be brought together");
    let mut joined = cx.open_block::<T>(total);
    joined.touch(0..total, size_of::<T>(), Access::Write);
    let mut len = 0;
    for block in [&mut first, &mut second] {
        let (from, end) = (block.first(), block.end());
        // SAFETY: both hold `T` (B1); the messages move, so the old block gives them up and the new one owns them.
        unsafe {
            joined.entry::<T>(len).copy_from_nonoverlapping(block.entry::<T>(from), block.unread());
            block.set_range(end, end);
        }
        len += end - from;
        // SAFETY: just moved there.
        unsafe { joined.set_range(0, len) };
    }
    cx.close_block(first);
    cx.close_block(second);
    // Two blocks became one.
    cx.settle(edge);
    joined
}

impl Drop for Io<'_> {
    fn drop(&mut self) {
        // Also when the kernel fails.
        self.cx.stats().messages.add(self.messages);
        for output in &mut self.outputs {
            if !output.cur.is_null() {
                // SAFETY: O1; also when the kernel panics: what it pushed is published.
                unsafe { (output.close)(&mut output.core, output.cur) };
            }
        }
        for input in &mut self.inputs {
            let Some(block) = input.block.take() else { continue };
            if block.unread() > 0 {
                // SAFETY: E2, as in `gather`.
                unsafe { self.cx.edge(input.edge).put_back(block) };
            } else {
                self.cx.close_block(block);
                self.cx.settle(input.edge);
            }
        }
    }
}

impl fmt::Debug for Io<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Io").field("inputs", &self.inputs.len()).field("outputs", &self.outputs.len()).finish()
    }
}

/// A [`Kernel`] whose type the runtime does not see.
pub(crate) trait Ported: Send {
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
    fn run(&mut self, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        self.kernel.run(&self.ports, io)
    }
}

/// One activation of a kernel with ports.
pub(crate) fn drive_ported(kernel: &mut dyn Ported, cx: &Cx<'_>) -> Result<Outcome, BoxError> {
    cx.flush_outputs();
    if cx.has_said_done() {
        return Ok(cx.end_activation(Why::Done, 0, 0));
    }
    if let Some(edge) = cx.blocked_output() {
        return Ok(cx.end_activation(Why::Full(edge), 0, 0));
    }
    // One without inputs is a source: it stops here.
    let generates = cx.inputs().is_empty();
    if cx.is_cancelled() || cx.outputs_hung_up() || generates && cx.is_draining() {
        return Ok(cx.end_activation(Why::Done, 0, 0));
    }
    // Before the kernel looks: what changes meanwhile makes it worth another activation.
    let signature = cx.signature();
    let ended = !generates && cx.inputs().iter().all(|&edge| cx.edge(edge).is_closed() && !cx.edge(edge).has_input());
    let mut io = Io::new(cx);
    let flow = kernel.run(&mut io)?;
    let (messages, blocks, pushed) = (io.messages, io.blocks, io.pushed);
    let full = io.outputs.iter().position(|port| port.core.is_full());
    let idle = messages == 0 && !pushed;
    if idle {
        // A run stalls only after such an activation.
        io.inputs.iter().for_each(|input| cx.edge(input.edge).note_asked(input.asked));
    }
    drop(io);
    if !generates {
        // What it takes of a block that it has in hand changes no edge, so after that it is worth another activation whatever they say.
        cx.wait_for_change(if idle { Some(signature) } else { None });
    }
    let why = match flow {
        Flow::Done => Why::Done,
        // Who has input no more and nothing to give is over, unless it waits for something else.
        Flow::More if ended && idle => Why::Done,
        Flow::Pending if ended && idle && cx.is_draining() => Why::Done,
        _ if full.is_some() => Why::Full(cx.outputs()[full.unwrap_or(0)]),
        Flow::Pending => Why::Pending,
        Flow::More if idle => {
            let emptiest = cx.inputs().iter().min_by(|&&a, &&b| cx.edge(a).fill().total_cmp(&cx.edge(b).fill()));
            emptiest.map_or(Why::More, |&edge| Why::Empty(edge))
        }
        Flow::More => Why::More,
    };
    Ok(cx.end_activation(why, blocks, messages))
}
