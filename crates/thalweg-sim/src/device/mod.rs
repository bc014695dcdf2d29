//! Devices on the coherence network that carry messages between cores: Virtual-Link's routing device, the same without
//! limits, and CAF's queues.
//!
//! | file | what |
//! |---|---|
//! | `lists` | slots of a buffer, taken in turn, and the lists that run through them |
//! | `vlrd` | the routing device: linkTab, prodBuf, consBuf, the three-stage pipeline; cycle by cycle |
//! | `ideal` | no latency, no limit |
//! | `routing` | what the routing devices have: numbers, and their text on a command line |
//! | `caf` | 64-bit values, queues with credits |
//! | `port` | the engine's side: instructions of cores, packets under way, injection into a first-level cache |
//!
//! From Q. Wu et al., *Virtual-Link: A Scalable Multi-Producer, Multi-Consumer Message Queue Architecture for Cross-Core
//! Communication*, IPDPS 2021, section III; names as there. CAF from Y. Wang et al., *CAF: Core to Core Communication
//! Acceleration Framework*, PACT 2016, as far as the former tells.
//!
//! # Invariants
//!
//! - **V1** A line is accepted once, and is from then on in the device or injected, never both and never neither.
//! - **V2** Lines of a queue (SQI) are injected in the order in which they were accepted. A rejected one comes back to the
//!   head of its queue; with [`Routing::in_order`] nothing of that queue leaves before the answer is there, so nothing
//!   overtakes it.
//! - **V3** An open queue always has its reserved slots: what others hold cannot stop it for ever.
//! - **V4** A line is injected only where somebody asked, and only while the asking core's first-level cache has the line
//!   and its flag "pushable" is set; each injection, context switch and eviction clears the flag. The flag is that of the
//!   last request for the line: one that is left over from what lay there before, or from another queue, finds none.

mod caf;
mod ideal;
mod lists;
mod port;
mod routing;
pub mod vlrd;

pub(crate) use port::{Issued, Port};
pub use routing::{Routing, RoutingError};

use std::ops::RangeInclusive;
use thalweg_sync::link;
use vlrd::Data;

/// Where a consumer wants a line, and of which queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) queue: link::Target,
    /// The hardware thread that asked.
    pub(crate) place: usize,
    /// The line as the machine knows it, and as the host does.
    pub(crate) line: u32,
    pub(crate) address: usize,
}

/// The message device of a machine. See [`Simulation::device`](crate::Simulation::device).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Device {
    /// Virtual-Link's routing devices.
    VirtualLink(Routing),
    /// Virtual-Link without latency and without limits: what the paper calls ideal.
    Ideal,
    /// CAF's queue device.
    Caf(Credits),
}

impl Device {
    /// What is wrong with it, if no queue of it could ever be opened, or carry anything.
    pub(crate) fn fault(&self) -> Option<String> {
        match *self {
            Self::VirtualLink(routing) => routing.fault().map(|fault| format!("Routing::{fault}")),
            Self::Ideal => None,
            Self::Caf(Credits { words, own, most, .. }) => out_of_range("Credits::words", words, 1..=usize::MAX)
                .or_else(|| out_of_range("Credits::own", own.unwrap_or(1), 1..=words))
                .or_else(|| out_of_range("Credits::most", most, 1..=usize::MAX)),
        }
    }
}

/// What is wrong with a number, if it is.
fn out_of_range(name: &str, value: usize, range: RangeInclusive<usize>) -> Option<String> {
    let (least, most) = (*range.start(), *range.end());
    let wants = if most == usize::MAX { format!("at least {least}") } else { format!("from {least} to {most}") };
    (!range.contains(&value)).then(|| format!("{name} is {value}, and must be {wants}"))
}

/// What CAF's queue device has. The [default](Self::default) has the room of Virtual-Link's: 64 lines of 8 words, a way of
/// 14 cycles; its words are divided evenly. [`pooled`](Self::pooled) is the other way to divide them.
///
/// How CAF manages credits is ours: Virtual-Link's paper says that it divides its buffers and manages credits for quality of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credits {
    /// Words in all, at least one.
    pub words: usize,
    /// Cycles from a core to the device, and back.
    pub way: u64,
    /// Words that are each open queue's own, at least one; the others are a pool, for whoever needs more. `None`: the open queues
    /// divide all words evenly, and that is each one's credit.
    pub own: Option<usize>,
    /// What a queue holds at most, at least one: so nobody takes the whole pool.
    pub most: usize,
}

impl Credits {
    /// The default with so many words of its own for each queue, and at most so many from them and the pool.
    ///
    /// ```
    /// use thalweg_sim::{Credits, Device, Machine, Simulation};
    /// use thalweg_sync::link::{self, Target};
    ///
    /// let device = Device::Caf(Credits { words: 4, ..Credits::pooled(1, 3) });
    /// let taken = Simulation::new(Machine::named("vl-16").unwrap()).device(device).threads(1).run(|| {
    ///     let [busy, idle] = [0, 1].map(|sqi| Target::new(0, sqi).unwrap());
    ///     assert!(link::open(busy) && link::open(idle));
    ///     // Its own word, and the two of the pool.
    ///     assert_eq!((0..9).filter(|&word| link::enqueue(busy, word)).count(), 3);
    ///     assert!(link::enqueue(idle, 9), "its own word is there");
    /// });
    /// # drop(taken);
    /// ```
    #[must_use]
    pub fn pooled(own: usize, most: usize) -> Self {
        Self { own: Some(own), most, ..Self::default() }
    }
}

impl Default for Credits {
    fn default() -> Self {
        Self { words: 512, way: 14, own: None, most: usize::MAX }
    }
}

#[cfg(test)]
mod tests;
