//! Parallel kernels with several ports.

use super::given::Given;
use super::intake::{Batch, Rate, cut_batches, messages_in_batches};
use super::output::AnyOutput;
use super::ported::{Binder, In, Out};
use super::{Cx, SharedWork};
use crate::block::{Block, drop_each};
use crate::edge::Edge;
use crate::error::{BoxError, Payload, resume};
use std::fmt;
use thalweg_sync::sync::Arc;

/// A kernel with any number of typed inputs and outputs that runs on many workers at once.
///
/// It *fires*: each firing takes a fixed number of messages at every input, and gives at every output as many as it likes. Firings are numbered in
/// the order of the inputs; they run at once, and what they give leaves every output in the order of their numbers, unless the path behind it is
/// [`unordered`](crate::Gives::unordered). The kernel ends when an input that has ended has too little for a firing; what is left at the others is
/// dropped, and counted in the report.
///
/// Cost: some 100 ns for each batch of firings, which is as long as some 64 us of work, beside the cost of a [parallel](crate::Graph::parallel)
/// kernel with one input; and a copy of the messages where blocks do not end with a firing.
///
/// From DANBI, §II: kernels with several input and output queues, data-parallel under tickets.
///
/// ```
/// use thalweg::prelude::*;
///
/// /// Of two numbers from the left and one from the right: products to one side, the number of the firing to the other.
/// struct Products;
/// #[derive(Clone)]
/// struct Ports { left: In<u64>, right: In<u64>, products: Out<u64>, numbers: Out<u64> }
///
/// impl ParallelKernel for Products {
///     type Ports = Ports;
///     fn ports(&mut self, bind: &mut Binder<'_>) -> Ports {
///         Ports {
///             left: bind.input_of("left", 2),
///             right: bind.input("right"),
///             products: bind.output("products"),
///             numbers: bind.output("numbers"),
///         }
///     }
///     fn fire(&self, ports: &Ports, firing: &mut Firing<'_>) -> Result<(), BoxError> {
///         let factor = firing.take(ports.right);
///         let product = firing.slice(ports.left).iter().product::<u64>();
///         firing.push(ports.products, product * factor);
///         firing.push(ports.numbers, firing.number());
///         Ok(())
///     }
/// }
///
/// let (mut products, mut numbers) = (Vec::new(), Vec::new());
/// let mut graph = Graph::new();
/// let ports = graph.add_parallel(Products);
/// let (left, right) = (graph.source(1..=6), graph.source([1, 10, 100]));
/// let keep = graph.sink(|product| products.push(product));
/// let count = graph.sink(|number| numbers.push(number));
/// graph += left >> ports.left;
/// graph += right >> ports.right;
/// graph += ports.products >> keep;
/// graph += ports.numbers >> count;
/// graph.run(Scheme::default())?;
/// drop(graph);
/// assert_eq!(products, [2, 120, 3000]);
/// assert_eq!(numbers, [0, 1, 2]);
/// # Ok::<(), thalweg::Error>(())
/// ```
pub trait ParallelKernel: Send + Sync {
    /// The handles of its ports, usually a struct of [`In`]s and [`Out`]s.
    type Ports: Clone + Send + Sync;

    /// Names the ports and gives their handles. Called once, by [`Graph::add_parallel`](crate::Graph::add_parallel).
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports;

    /// One firing. What it does not take of its messages is dropped.
    ///
    /// # Errors
    ///
    /// Whatever the kernel likes; an error stops the run and is returned from it.
    fn fire(&self, ports: &Self::Ports, firing: &mut Firing<'_>) -> Result<(), BoxError>;
}

/// The messages of one firing of a [`ParallelKernel`], and its outputs.
pub struct Firing<'a> {
    /// The graph and the kernel that ports have to be of.
    own: (u64, usize),
    number: u64,
    inputs: &'a mut [Block],
    /// One past the last message of this firing, at each input.
    ends: &'a mut [usize],
    outputs: &'a mut [AnyOutput],
}

impl Firing<'_> {
    /// Its number, from zero, in the order of the inputs: its *ticket*.
    pub fn number(&self) -> u64 {
        self.number
    }

    #[inline(always)]
    #[track_caller]
    fn check(&self, graph: u64, kernel: usize) {
        assert!((graph, kernel) == self.own, "a port of another kernel; use those that this kernel's `ports` gave");
    }

    /// Takes the next message; of a [window](crate::Binder::input_window) a copy.
    ///
    /// # Panics
    ///
    /// If the firing has taken all of its messages at this port; and this and the other methods, if the port is another kernel's.
    #[inline]
    #[track_caller]
    pub fn take<T: Send>(&mut self, port: In<T>) -> T {
        self.check(port.graph, port.kernel);
        let block = &mut self.inputs[port.port];
        let (first, end) = (block.first(), block.end());
        assert!(
            first < self.ends[port.port],
            "the firing has taken all of its messages here; Binder::input_of says how many"
        );
        // SAFETY: the firing has a message left, the edge carries `T` (B1), and the range gives it up.
        unsafe {
            let message = block.entry::<T>(first).read();
            block.set_range(first + 1, end);
            message
        }
    }

    /// The messages that the firing has not taken, as a slice. What is not taken is dropped when the firing is over.
    #[inline]
    #[track_caller]
    pub fn slice<T: Send>(&self, port: In<T>) -> &[T] {
        self.check(port.graph, port.kernel);
        let block = &self.inputs[port.port];
        let left = self.ends[port.port] - block.first();
        // SAFETY: the edge carries `T` (B1).
        unsafe { &block.messages::<T>()[..left] }
    }

    /// Gives a message to the stream. Where the edge behind is full it may wait for room, or for the turn of what its firings gave, as
    /// [`Graph::parallel`](crate::Graph::parallel) says. It does not wait for what cannot come: where the taker needs what lies open at another port of this firing, more is
    /// kept than the capacity says.
    #[inline]
    #[track_caller]
    pub fn push<T: Send>(&mut self, port: Out<T>, message: T) {
        self.check(port.graph, port.kernel);
        // SAFETY: O1: the ports of one activation; and the port was bound to messages of type `T`.
        _ = unsafe { self.outputs[port.port].push(message) };
    }

    /// Gives the messages of an iterator, all of them.
    #[track_caller]
    pub fn extend<T: Send>(&mut self, port: Out<T>, messages: impl IntoIterator<Item = T>) {
        messages.into_iter().for_each(|message| self.push(port, message));
    }
}

impl fmt::Debug for Firing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Firing").field("number", &self.number).finish_non_exhaustive()
    }
}

/// Drops the messages of one input, from the first one on, up to `end`.
pub(crate) type DropUpTo = fn(&mut Block, usize, &mut Vec<Payload>);

/// What a [`ParallelKernel`] is run as.
pub(crate) struct Firings<K: ParallelKernel> {
    pub(crate) kernel: K,
    pub(crate) ports: K::Ports,
    pub(crate) rates: Vec<Rate>,
    pub(crate) drops: Vec<DropUpTo>,
}

/// See [`DropUpTo`]. The edge that the block came over carries `T` (B1).
pub(crate) fn drop_up_to<T>(block: &mut Block, end: usize, panics: &mut Vec<Payload>) {
    let (first, len) = (block.first(), block.end());
    if first < end {
        // SAFETY: the range gives them up before they are dropped (B1).
        unsafe {
            block.set_range(end, len);
            drop_each(block.entry::<T>(first), end - first, panics);
        }
    }
}

/// As [`drop_up_to`] of a window, whose messages are copied and not dropped: the next one begins there, whatever this one took.
pub(crate) fn leave_window(block: &mut Block, end: usize, _panics: &mut Vec<Payload>) {
    let len = block.end();
    // SAFETY: messages that are `Copy` are there as long as their block is.
    unsafe { block.set_range(end, len) };
}

impl<K: ParallelKernel> Firings<K> {
    /// Fires until the batch is empty, or it is time to leave; true if it is empty.
    fn fire(
        &self,
        cx: &Cx<'_>,
        batch: &mut Batch,
        ends: &mut [usize],
        outputs: &mut [AnyOutput],
    ) -> Result<bool, BoxError> {
        let mut rhythm = cx.rhythm(1);
        let keeps = self.rates[0].keeps();
        while batch.inputs[0].unread() > keeps {
            for ((end, block), rate) in ends.iter_mut().zip(&batch.inputs).zip(&self.rates) {
                *end = block.first() + rate.peek;
            }
            let mut firing = Firing {
                own: (cx.control.graph, cx.kernel),
                number: batch.first,
                inputs: &mut batch.inputs,
                ends: &mut *ends,
                outputs: &mut *outputs,
            };
            self.kernel.fire(&self.ports, &mut firing)?;
            let mut panics = Vec::new();
            let taken = ends.iter().zip(&self.rates).map(|(end, rate)| end - rate.keeps());
            for ((block, end), drop_up_to) in batch.inputs.iter_mut().zip(taken).zip(&self.drops) {
                // A firing that has taken all has nothing to drop; of a window it may have taken what the next one begins with.
                if block.first() != end {
                    drop_up_to(block, end, &mut panics);
                }
            }
            batch.first += 1;
            if !panics.is_empty() {
                resume(panics);
            }
            if cx.should_leave(&mut rhythm) {
                break;
            }
        }
        Ok(batch.inputs[0].unread() == keeps)
    }
}

impl<K: ParallelKernel> SharedWork for Firings<K> {
    fn run(
        &self,
        cx: &Cx<'_>,
        out: &[Arc<Edge>],
        block: &mut Option<Block>,
        given: &mut Given<'_>,
    ) -> Result<(), BoxError> {
        let block = block.as_mut().expect("an activation has a block");
        let mut outputs = AnyOutput::chained(cx, given, out);
        let mut ends = vec![0; self.rates.len()];
        while block.unread() > 0 {
            let (first, end) = (block.first(), block.end());
            // SAFETY: what is gathered for this kernel are batches (B1), and the block is this activation's alone (B3).
            let batch = unsafe { &mut *block.entry::<Batch>(first) };
            if !self.fire(cx, batch, &mut ends, &mut outputs)? {
                return Ok(());
            }
            batch.inputs.drain(..).for_each(|empty| cx.close_block(empty));
            // SAFETY: as above; the range gives the batch up before it is dropped.
            unsafe {
                block.set_range(first + 1, end);
                block.entry::<Batch>(first).drop_in_place();
            }
        }
        Ok(())
    }

    fn cut(&self, cx: &Cx<'_>, rest: Block, most: usize) -> Vec<Block> {
        // SAFETY: what is gathered for this kernel are batches (B1).
        unsafe { cut_batches(cx, rest, &self.rates, most) }
    }

    fn weigh(&self) -> fn(&Edge, &Block) -> u64 {
        // SAFETY: what is gathered for this kernel are batches (B1).
        |_, block| unsafe { messages_in_batches(block) }
    }
}
