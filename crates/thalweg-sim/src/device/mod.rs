//! Devices on the coherence network that carry messages between cores: Virtual-Link's routing device, the same without
//! limits, and CAF's queues.
//!
//! | file | what |
//! |---|---|
//! | `lists` | slots of a buffer, taken in turn, and the lists that run through them |
//! | `vlrd` | the routing device: linkTab, prodBuf, consBuf, the three-stage pipeline; cycle by cycle |
//! | `ideal` | no latency, no limit |
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
mod vlrd;

pub(crate) use port::{Issued, Port};

use thalweg_sync::link;

/// What 64 bytes a line holds.
pub(crate) type Data = [u64; 8];

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
        let values = match *self {
            Self::VirtualLink(Routing { devices, links, entries, reserve, quota, .. }) => vec![
                ("Routing::devices", devices, 1..=usize::MAX),
                ("Routing::links", links, 1..=link::Target::QUEUES),
                ("Routing::entries", entries, 1..=lists::Slots::MOST),
                ("Routing::reserve", reserve, 0..=entries),
                ("Routing::quota", quota.unwrap_or(usize::MAX), 1..=usize::MAX),
            ],
            Self::Ideal => Vec::new(),
            Self::Caf(Credits { words, .. }) => vec![("Credits::words", words, 1..=usize::MAX)],
        };
        let (name, value, range) = values.into_iter().find(|(_, value, range)| !range.contains(value))?;
        let (least, most) = range.into_inner();
        let range = if most == usize::MAX { format!("at least {least}") } else { format!("from {least} to {most}") };
        Some(format!("{name} is {value}, and must be {range}"))
    }
}

/// What Virtual-Link's routing devices have. The [default](Self::default) is the paper's: one device, 64 entries each, a
/// way of 14 cycles; and, which it does not have, one reserved slot for each queue, and answers awaited in order.
///
/// ```
/// let routing = thalweg_sim::Routing { entries: 16, ..Default::default() };
/// assert_eq!((routing.devices, routing.reserve), (1, 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routing {
    /// How many devices, at least one; a queue belongs to one of them.
    pub devices: usize,
    /// Rows of each device's linkTab: queues that can be open; from 1 to 65,536.
    pub links: usize,
    /// Slots of prodBuf and of consBuf, each; from 1 to 65,536.
    pub entries: usize,
    /// Slots of each buffer that belong to each open queue, no more than there are; while others have so many that these are not free, no queue is
    /// opened. With 0, one queue can take all slots, and a chain of stages may stand still for ever.
    pub reserve: usize,
    /// Slots of each buffer that a queue may have at most, if it is limited; at least one.
    pub quota: Option<usize>,
    /// A queue's next line leaves only when the last one's injection was answered. Without, a rejected line may be
    /// overtaken by the next.
    pub in_order: bool,
    /// Cycles from a core to the device, and from the device to a core.
    pub way: u64,
}

impl Default for Routing {
    fn default() -> Self {
        Self { devices: 1, links: 64, entries: 64, reserve: 1, quota: None, in_order: true, way: 14 }
    }
}

/// What CAF's queue device has. The [default](Self::default) has the room of Virtual-Link's: 64 lines of 8 words, a way of
/// 14 cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credits {
    /// Words in all, at least one; the open queues divide them evenly, and that is each one's credit.
    pub words: usize,
    /// Cycles from a core to the device, and back.
    pub way: u64,
}

impl Default for Credits {
    fn default() -> Self {
        Self { words: 512, way: 14 }
    }
}

#[cfg(test)]
mod tests;
