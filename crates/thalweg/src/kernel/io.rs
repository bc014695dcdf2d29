//! A kernel's ports during an activation.

use super::each::STRETCH;
use super::output::{AnyOutput, ColdPart, Ends};
use super::ported::{In, Out};
use super::{Cx, Rhythm};
use crate::block::{Block, Stamps, drop_each, move_first};
use crate::edge::{Receiver, Sender};
use crate::error::resume;
use std::fmt;
use std::mem;

/// Access to the ports of a [`Kernel`](crate::Kernel) during an activation.
///
/// While an output is full, or the activation has taken its share, the inputs give nothing: [`has`](Self::has) is false and [`pop`](Self::pop)
/// is `None`. So a loop over what there is ends by itself. Whether more will come is another question: [`is_ended`](Self::is_ended).
pub struct Io<'a> {
    cx: &'a Cx<'a>,
    /// The graph and the kernel that ports have to be of.
    own: (u64, usize),
    receivers: &'a mut [Receiver],
    inputs: &'a mut [Input],
    outputs: &'a mut [AnyOutput],
    given: Given,
    rhythm: Rhythm<'a>,
    /// It is time to leave: the inputs give nothing more, as soon as that breaks no promise of [`has`](Io::has).
    late: bool,
    leaves: bool,
    /// It was asked what there is, and that has to stay so until the next push.
    promised: bool,
}

/// What an activation did at its ports.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Given {
    pub(crate) blocks: u32,
    pub(crate) messages: u64,
    pub(crate) pushed: bool,
    /// An output that is full.
    pub(crate) full: Option<usize>,
}

/// Memory for an activation, kept from one to the next.
///
/// **P1** It is empty between activations.
#[derive(Default)]
pub(crate) struct Scratch {
    inputs: Vec<Input>,
    outputs: Vec<AnyOutput>,
}

// SAFETY: P1: what moves between threads are two empty vectors.
unsafe impl Send for Scratch {}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scratch")
    }
}

#[derive(Default)]
struct Input {
    block: Option<Block>,
    /// Blocks taken in this activation.
    taken: u32,
    /// The stamps of `block`, while it is in hand.
    stamps: Stamps,
    /// How many messages were asked for at once, the last time that there were not so many; zero if there always were.
    asked: usize,
}

impl<'a> Io<'a> {
    /// Lets `kernel` see the ports.
    pub(crate) fn run<R>(
        cx: &Cx<'_>,
        receivers: &mut [Receiver],
        senders: &mut [Sender<'_>],
        scratch: &mut Scratch,
        kernel: impl FnOnce(&mut Io<'_>) -> R,
    ) -> (R, Given) {
        /// Empties it, also after a panic (P1).
        struct Emptied<'s>(&'s mut Scratch);
        impl Drop for Emptied<'_> {
            fn drop(&mut self) {
                self.0.inputs.clear();
                self.0.outputs.clear();
            }
        }
        let scratch = Emptied(scratch);
        scratch.0.inputs.extend(receivers.iter().map(|_| Input::default()));
        let output = |sender| AnyOutput::new(ColdPart::new(cx, sender));
        scratch.0.outputs.extend(senders.iter_mut().map(output));
        let mut io = Io {
            cx,
            own: (cx.control.graph, cx.kernel),
            receivers,
            inputs: &mut scratch.0.inputs,
            outputs: &mut scratch.0.outputs,
            given: Given::default(),
            rhythm: cx.rhythm(STRETCH),
            late: false,
            leaves: false,
            promised: false,
        };
        let result = kernel(&mut io);
        let given = io.given;
        if given.messages == 0 && !given.pushed {
            // A run stalls only after such an activation.
            for (receiver, input) in io.receivers.iter().zip(io.inputs.iter()) {
                receiver.edge().note_asked(input.asked);
            }
        }
        drop(io);
        (result, given)
    }

    /// Refuses ports of other kernels: the type of a handle is that of the messages only where the handle was made (B1).
    #[inline(always)]
    #[track_caller]
    fn check(&self, graph: u64, kernel: usize) {
        assert!((graph, kernel) == self.own, "a port of another kernel; use those that this kernel's `ports` gave");
    }

    /// Brings at least `count` messages together in the block at `port`, if there are so many.
    #[inline]
    #[track_caller]
    fn gather<T>(&mut self, port: In<T>, count: usize) -> bool {
        self.check(port.graph, port.kernel);
        if self.given.full.is_some() || self.leaves {
            return false;
        }
        let have = self.inputs[port.port].block.as_ref().map_or(0, Block::unread);
        have >= count.max(1) || self.take::<T>(port.port, have, count.max(1))
    }

    fn take<T>(&mut self, port: usize, mut have: usize, count: usize) -> bool {
        let cx = self.cx;
        while have < count {
            let (input, receiver) = (&mut self.inputs[port], &mut self.receivers[port]);
            // Each input has its own share, so that a kernel with many inputs sees all of them. A window is gathered whatever it takes.
            let share_is_used = have == 0 && input.taken >= cx.quantum;
            if share_is_used || cx.is_cancelled() {
                return false;
            }
            let Some(mut next) = receiver.take() else {
                input.asked = count;
                return false;
            };
            cx.host.took(cx.kernel);
            if cx.probes.is_some() {
                carry(cx, self.inputs, self.outputs, port, &mut next);
            }
            let (input, receiver) = (&mut self.inputs[port], &mut self.receivers[port]);
            self.given.blocks += 1;
            input.taken += 1;
            input.block = Some(match input.block.take() {
                Some(block) if block.unread() > 0 => {
                    // Two blocks became one.
                    cx.used_up(receiver.edge());
                    join::<T>(cx, block, next, count)
                }
                Some(empty) => {
                    cx.close_block(empty);
                    cx.used_up(receiver.edge());
                    next
                }
                None => next,
            });
            have = input.block.as_ref().map_or(0, Block::unread);
        }
        true
    }

    /// Counts what was taken, and looks now and then whether it is time to leave.
    #[inline(always)]
    fn took(&mut self, messages: usize) {
        self.given.messages += messages as u64;
        self.late |= self.cx.should_leave(&mut self.rhythm);
        self.leaves |= self.late && !self.promised;
    }

    /// Whether at least `count` messages are there to be taken now. Zero counts as one. It stays so until the next [`push`](Self::push).
    ///
    /// `count` may be more than the edge holds at once: what is there is brought together here, and makes room for more. A run that ends because
    /// there never were so many says [how many there were](crate::Error::Stalled). Cost: each message is copied a few times at most, however
    /// many are asked for.
    ///
    /// # Panics
    ///
    /// This and the other methods, if the port is another kernel's.
    #[track_caller]
    pub fn has<T: Send>(&mut self, port: In<T>, count: usize) -> bool {
        self.promised = true;
        self.gather(port, count)
    }

    /// Takes the next message.
    #[inline]
    #[track_caller]
    pub fn pop<T: Send>(&mut self, port: In<T>) -> Option<T> {
        if !self.gather(port, 1) {
            return None;
        }
        let block = self.inputs[port.port].block.as_mut()?;
        let (first, end) = (block.first(), block.end());
        // SAFETY: `gather` found a message, the edge carries `T` (B1), and the range gives it up.
        let message = unsafe {
            let message = block.entry::<T>(first).read();
            block.set_range(first + 1, end);
            message
        };
        self.took(1);
        Some(message)
    }

    /// The next `count` messages as one slice, without taking them; `None` if there are not so many now.
    #[track_caller]
    pub fn peek<T: Send>(&mut self, port: In<T>, count: usize) -> Option<&[T]> {
        self.promised = true;
        if !self.gather(port, count) {
            return None;
        }
        let block = self.inputs[port.port].block.as_ref()?;
        // SAFETY: the edge carries `T` (B1).
        Some(unsafe { &block.messages::<T>()[..count] })
    }

    /// The messages that came together, at least one, as a slice, without taking them and without a copy; empty if there are none now.
    /// [`skip`](Self::skip) takes them.
    ///
    /// ```
    /// use thalweg::prelude::*;
    ///
    /// /// Sums what comes together.
    /// struct Sums;
    /// impl Kernel for Sums {
    ///     type Ports = (In<u64>, Out<u64>);
    ///     fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
    ///         (bind.input("in"), bind.output("out"))
    ///     }
    ///     fn run(&mut self, &(input, output): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
    ///         loop {
    ///             let (sum, count) = match io.slice(input) {
    ///                 [] => return Ok(Flow::More),
    ///                 numbers => (numbers.iter().sum(), numbers.len()),
    ///             };
    ///             io.skip(input, count);
    ///             io.push(output, sum);
    ///         }
    ///     }
    /// }
    ///
    /// let mut total = 0;
    /// let mut graph = Graph::new();
    /// let numbers = graph.source(1..=100_u64);
    /// let sums = graph.add(Sums);
    /// let add = graph.sink(|sum: u64| total += sum);
    /// graph += numbers >> sums.0;
    /// graph += sums.1 >> add;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(total, 5050);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn slice<T: Send>(&mut self, port: In<T>) -> &[T] {
        self.promised = true;
        if !self.gather(port, 1) {
            return &[];
        }
        match &self.inputs[port.port].block {
            // SAFETY: the edge carries `T` (B1).
            Some(block) => unsafe { block.messages::<T>() },
            None => &[],
        }
    }

    /// Drops the next `count` messages, or as many as there are now. Returns how many.
    #[track_caller]
    pub fn skip<T: Send>(&mut self, port: In<T>, count: usize) -> usize {
        let mut left = count;
        let mut panics = Vec::new();
        while left > 0 && self.gather(port, 1) {
            let Some(block) = self.inputs[port.port].block.as_mut() else { break };
            let (first, end) = (block.first(), block.end());
            let some = left.min(end - first);
            // SAFETY: the edge carries `T` (B1); the range gives these up before they are dropped.
            unsafe {
                block.set_range(first + some, end);
                drop_each(block.entry::<T>(first), some, &mut panics);
            }
            left -= some;
            self.took(some);
        }
        resume(panics);
        count - left
    }

    /// Whether the input has ended: nothing is left and nothing will come.
    #[track_caller]
    pub fn is_ended<T: Send>(&mut self, port: In<T>) -> bool {
        self.check(port.graph, port.kernel);
        let edge = self.receivers[port.port].edge();
        // Closed first: see E4.
        let over = edge.is_closed() && !edge.has_input();
        over && self.inputs[port.port].block.as_ref().is_none_or(|block| block.unread() == 0)
    }

    /// Gives a message to the stream.
    ///
    /// It waits where the edge behind is full, and a block more is, as [`Output::push`](crate::Output::push) does, with the same exceptions: so one message may become
    /// any number, and the edge holds its capacity and a block. What was pushed at other ports goes on meanwhile. Other kernels run within this call, so do not hold a
    /// lock that they take. A kernel that keeps to [`has_room`](Self::has_room) never waits.
    ///
    /// ```
    /// use thalweg::prelude::*;
    ///
    /// /// Counts up to each number that comes.
    /// struct UpTo;
    /// impl Kernel for UpTo {
    ///     type Ports = (In<u64>, Out<u64>);
    ///     fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
    ///         (bind.input("ends"), bind.output("numbers"))
    ///     }
    ///     fn run(&mut self, &(ends, numbers): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
    ///         while let Some(end) = io.pop(ends) {
    ///             (0..end).for_each(|n| io.push(numbers, n));
    ///         }
    ///         Ok(Flow::More)
    ///     }
    /// }
    ///
    /// let mut graph = Graph::new();
    /// let (ends, numbers) = graph.add(UpTo);
    /// let (end, count) = graph.count();
    /// graph += graph.source([1, 100_000, 3]) >> ends;
    /// graph += numbers.fixed(64) >> end;
    /// let report = graph.run(Scheme::default())?;
    /// assert_eq!(count.take(), 100_004);
    /// assert!(report.edges[1].peak <= 64 + 32, "the capacity and a block");
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn push<T: Send>(&mut self, port: Out<T>, message: T) {
        self.check(port.graph, port.kernel);
        self.given.pushed = true;
        self.promised = false;
        self.leaves = self.late;
        let output = &mut self.outputs[port.port];
        // SAFETY: O1: the output lives as long as this `Io`, and the port was bound to messages of type `T`.
        let turned = unsafe { output.push(message) };
        if turned {
            self.turned(port.port);
        }
    }

    /// A block at `port` is full.
    #[inline(never)]
    fn turned(&mut self, port: usize) {
        if let Some(edge) = self.outputs[port].waits_at() {
            let room = self.cx.host.wait_for_room(&edge, &mut Ends(self.outputs));
            self.outputs[port].go_on(room);
            self.given.full = self.outputs.iter().position(AnyOutput::is_full);
        } else if self.outputs[port].is_full() {
            self.given.full.get_or_insert(port);
        }
    }

    /// Gives the messages of an iterator, all of them, as [`push`](Self::push) does each.
    #[track_caller]
    pub fn extend<T: Send>(&mut self, port: Out<T>, messages: impl IntoIterator<Item = T>) {
        messages.into_iter().for_each(|message| self.push(port, message));
    }

    /// Whether the edge behind `port` is full for now; pushing is still possible.
    #[track_caller]
    pub fn is_full<T: Send>(&self, port: Out<T>) -> bool {
        self.check(port.graph, port.kernel);
        self.outputs[port.port].is_full()
    }

    /// Whether the edge behind `port` has room: a kernel that has more to give than there is room for returns, and is asked again.
    ///
    /// ```
    /// use thalweg::prelude::*;
    ///
    /// /// Counts up to each number that comes.
    /// #[derive(Default)]
    /// struct UpTo(std::ops::Range<u64>);
    /// impl Kernel for UpTo {
    ///     type Ports = (In<u64>, Out<u64>);
    ///     fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
    ///         (bind.input("ends"), bind.output("numbers"))
    ///     }
    ///     fn run(&mut self, &(ends, numbers): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
    ///         while io.has_room(numbers) {
    ///             if let Some(number) = self.0.next() {
    ///                 io.push(numbers, number);
    ///             } else if let Some(end) = io.pop(ends) {
    ///                 self.0 = 0..end;
    ///             } else {
    ///                 break;
    ///             }
    ///         }
    ///         Ok(Flow::More)
    ///     }
    /// }
    ///
    /// let mut graph = Graph::new();
    /// let (ends, numbers) = graph.add(UpTo::default());
    /// let (end, count) = graph.count();
    /// graph += graph.source([1, 100_000, 3]) >> ends;
    /// graph += numbers.fixed(64) >> end;
    /// let report = graph.run(Scheme::default())?;
    /// assert_eq!(count.take(), 100_004);
    /// assert!(report.edges[1].peak <= 64 + 32, "the capacity and a block");
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn has_room<T: Send>(&self, port: Out<T>) -> bool {
        !self.is_full(port)
    }
}

/// `next` comes into the kernel's hands at `port`: what is pushed from now on comes of it too, and of what is left of other blocks.
#[cold]
fn carry(cx: &Cx<'_>, inputs: &mut [Input], outputs: &mut [AnyOutput], port: usize, next: &mut Block) {
    outputs.iter_mut().for_each(AnyOutput::stamp);
    let mut carried = cx.carried.take();
    carried.take();
    for (index, input) in inputs.iter_mut().enumerate() {
        if input.block.as_ref().is_none_or(|block| block.unread() == 0) {
            cx.arrive_with(&input.stamps.take());
        }
        if index == port {
            input.stamps.add_all(&next.stamps_mut().take());
        }
        carried.add_all(&input.stamps);
    }
    cx.carried.replace(carried);
}

/// The messages of two blocks in one, which has room for `count`, and grows by doubling: so bringing many together costs each message a few copies.
fn join<T>(cx: &Cx<'_>, mut first: Block, mut second: Block, count: usize) -> Block {
    let (all, rest) = (first.unread(), second.unread());
    let total = all + rest;
    assert!(u32::try_from(total).is_ok(), "fewer than 2^32 messages can be brought together");
    if first.capacity() - first.end() < rest {
        let mut larger = cx.open_block::<T>(count.max(total * 2));
        // SAFETY: both hold `T` (B1), and it has room.
        unsafe { move_first::<T>(&mut first, &mut larger, all) };
        cx.close_block(mem::replace(&mut first, larger));
    }
    // SAFETY: as above.
    unsafe { move_first::<T>(&mut second, &mut first, rest) };
    cx.close_block(second);
    first
}

impl Drop for Io<'_> {
    fn drop(&mut self) {
        // Also when the kernel fails.
        self.cx.count(self.given.messages);
        self.outputs.iter_mut().for_each(AnyOutput::close);
        for (input, receiver) in self.inputs.iter_mut().zip(&mut *self.receivers) {
            let Some(mut block) = input.block.take() else { continue };
            let stamps = input.stamps.take();
            if block.unread() > 0 {
                *block.stamps_mut() = stamps;
                receiver.put_back(block, false);
            } else {
                self.cx.arrive_with(&stamps);
                self.cx.close_block(block);
                self.cx.used_up(receiver.edge());
            }
        }
    }
}

impl fmt::Debug for Io<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Io").field("inputs", &self.inputs.len()).field("outputs", &self.outputs.len()).finish()
    }
}
