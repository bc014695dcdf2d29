//! What carries the blocks of an edge: one file for each storage, chosen when the run starts.
//!
//! A storage is a queue of blocks with one sending end. Its taking end is [exclusive](Rx) or [shared](SharedRx), as the consumer is
//! sequential or parallel. What finds it full waits with the [`Sender`](super::Sender).

mod bbq;
#[cfg(feature = "link")]
mod device;
mod fast_forward;
mod growing;
mod linked;

use crate::block::Block;
use std::fmt;

#[cfg(feature = "link")]
pub(crate) use device::Channels;

/// The ends of edges on a device: there are none without the feature `link`.
#[cfg(not(feature = "link"))]
#[derive(Default)]
pub(crate) struct Channels(());

#[cfg(not(feature = "link"))]
impl Channels {
    pub(crate) fn open(_edges: &[usize]) -> Result<Self, String> {
        Ok(Self(()))
    }

    pub(crate) fn take(&mut self, _edge: usize) -> Option<(Tx, Rx)> {
        None
    }
}

/// What carries an edge's blocks: see [`Gives::storage`](crate::Gives::storage).
///
/// None changes what an edge may hold, or in which order: that is its [capacity](crate::Gives::capacity)'s to say. A storage that does not
/// fit the kernel behind the edge is [refused](crate::Error::Refused) before anything runs.
///
/// There is no mesh of rings, one for each pair of workers (BLQ §3.4): an edge has one sending end, which the workers of a parallel kernel use in turns, also
/// where its results are [unordered](crate::Gives::unordered).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Storage {
    /// A ring of pointers of a fixed size, where each entry is its own flag (FastForward). To a kernel that is not parallel; what such an edge has where
    /// nothing else is asked for.
    Ring,
    /// A ring of chunks that begins small, links chunks in while more comes than is taken, and gives them back (BLQ §3.4). To a kernel that is not parallel. What
    /// such an edge has under the scheme `raft_dyn`.
    ///
    /// Saves memory where edges are many and mostly empty; costs an allocation for each chunk that it comes to need.
    Growing,
    /// A list without a bound, whose cells come from the heap. To any kernel; many workers take from it in turns, under a lock.
    ///
    /// For comparison, and where a long queue is rare: a push costs an allocation now and then, and a spell of much traffic leaves nothing behind.
    Linked,
    /// A ring of a fixed size for many takers at once (BBQ). To any kernel; what edges to parallel kernels have, and those that keep
    /// [the newest](crate::Gives::newest).
    Many,
    /// Lines of Virtual-Link's routing device, one for each block (VL §III): the device of the machine that `thalweg-sim` simulates, or a thread for each run
    /// that stands for one. To a kernel that is not parallel. At most 64 edges of a run.
    ///
    /// For research: what a queue in hardware would bring. A thread that stands for it spins while the run goes on, and takes much longer than any other storage.
    #[cfg(feature = "link")]
    Device,
}

impl Storage {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ring => fast_forward::NAME,
            Self::Growing => growing::NAME,
            Self::Linked => linked::NAME,
            Self::Many => bbq::NAME,
            #[cfg(feature = "link")]
            Self::Device => device::NAME,
        }
    }

    /// Whether several workers may take from it at once.
    pub(crate) fn is_for_many(self) -> bool {
        matches!(self, Self::Linked | Self::Many)
    }

    /// Whether its sender may take back what is old.
    pub(crate) fn gives_back(self) -> bool {
        self == Self::Many
    }

    /// The sender tries refused blocks again when fewer blocks than this are in the storage, of `slots`. A device keeps one line for each of its queues;
    /// other queues may have all the rest.
    pub(super) fn tries_again_below(self, slots: usize) -> usize {
        match self {
            #[cfg(feature = "link")]
            Self::Device => 1,
            Self::Ring | Self::Growing | Self::Linked | Self::Many => slots / 2,
        }
    }

    /// Whether it lies on a device.
    pub(crate) fn is_on_device(self) -> bool {
        #[cfg(feature = "link")]
        let is = self == Self::Device;
        #[cfg(not(feature = "link"))]
        let is = false;
        is
    }
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The sending end of a storage.
pub(crate) enum Tx {
    FastForward(fast_forward::Tx),
    Growing(growing::Tx),
    Linked(linked::Tx),
    Bbq(bbq::Tx),
    #[cfg(feature = "link")]
    Device(Box<device::Tx>),
    /// Beside whose taker the sender takes what is old.
    Newest(bbq::Tx, bbq::Rx),
}

/// The taking end of a storage with one taker.
pub(crate) enum Rx {
    FastForward(fast_forward::Rx),
    Growing(growing::Rx),
    Linked(linked::Rx),
    Bbq(bbq::Rx),
    #[cfg(feature = "link")]
    Device(Box<device::Rx>),
}

/// The taking end of a storage with many takers.
pub(crate) enum SharedRx {
    Bbq(bbq::Rx),
    Linked(linked::SharedRx),
}

impl Tx {
    /// Pushes a block, or gives it back if there is no room.
    #[inline]
    pub(super) fn try_push(&mut self, block: Block) -> Result<(), Block> {
        match self {
            Self::FastForward(tx) => tx.try_push(block).map_err(|refused| refused.into_inner()),
            Self::Growing(tx) => tx.try_push(block).map_err(|refused| refused.into_inner()),
            Self::Linked(tx) => tx.try_push(block).map_err(|refused| refused.into_inner()),
            Self::Bbq(tx) | Self::Newest(tx, _) => tx.try_push(block).map_err(|refused| refused.into_inner()),
            #[cfg(feature = "link")]
            Self::Device(tx) => tx.try_push(block),
        }
    }

    /// Takes the oldest block back, where the sender may.
    pub(super) fn take_back(&mut self) -> Option<Block> {
        match self {
            Self::Newest(_, rx) => rx.try_pop().ok(),
            Self::FastForward(_) | Self::Growing(_) | Self::Linked(_) | Self::Bbq(_) => None,
            #[cfg(feature = "link")]
            Self::Device(_) => None,
        }
    }
}

impl Rx {
    /// Takes the next block.
    #[inline]
    pub(super) fn try_pop(&mut self) -> Option<Block> {
        match self {
            Self::FastForward(rx) => rx.try_pop().ok(),
            Self::Growing(rx) => rx.try_pop().ok(),
            Self::Linked(rx) => rx.try_pop().ok(),
            Self::Bbq(rx) => rx.try_pop().ok(),
            #[cfg(feature = "link")]
            Self::Device(rx) => rx.try_pop(),
        }
    }
}

impl SharedRx {
    /// Takes the next block, and its place in the order of the edge.
    #[inline]
    pub(super) fn try_pop(&self) -> Option<(u64, Block)> {
        match self {
            Self::Bbq(rx) => rx.pop_numbered_patiently().ok(),
            Self::Linked(rx) => rx.try_pop(),
        }
    }
}

/// A storage for `slots` blocks with one taker.
pub(super) fn exclusive(storage: Storage, slots: usize) -> (Tx, Rx) {
    match storage {
        Storage::Ring => {
            let (tx, rx) = fast_forward::make(slots);
            (Tx::FastForward(tx), Rx::FastForward(rx))
        }
        Storage::Growing => {
            let (tx, rx) = growing::make(slots);
            (Tx::Growing(tx), Rx::Growing(rx))
        }
        Storage::Linked => {
            let (tx, rx) = linked::make();
            (Tx::Linked(tx), Rx::Linked(rx))
        }
        Storage::Many => {
            let (tx, rx) = bbq::make(slots);
            (Tx::Bbq(tx), Rx::Bbq(rx))
        }
        #[cfg(feature = "link")]
        Storage::Device => unreachable!("its ends are there before the run"),
    }
}

/// A storage for `slots` blocks with one taker, whose sender drops what is old.
pub(super) fn newest(slots: usize) -> (Tx, Rx) {
    let (tx, rx) = bbq::make(slots);
    (Tx::Newest(tx, rx.clone()), Rx::Bbq(rx))
}

/// A storage for `slots` blocks with many takers.
pub(super) fn shared(storage: Storage, slots: usize) -> (Tx, SharedRx) {
    match storage {
        Storage::Linked => {
            let (tx, rx) = linked::make();
            (Tx::Linked(tx), SharedRx::Linked(linked::SharedRx::new(rx)))
        }
        Storage::Many => {
            let (tx, rx) = bbq::make(slots);
            (Tx::Bbq(tx), SharedRx::Bbq(rx))
        }
        Storage::Ring | Storage::Growing => unreachable!("the graph is refused"),
        #[cfg(feature = "link")]
        Storage::Device => unreachable!("the graph is refused"),
    }
}
