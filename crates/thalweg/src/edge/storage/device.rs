//! Lines of Virtual-Link's routing device, each with the pointer of a block: one sender, one taker.
//!
//! # Invariants
//!
//! - **V1** A channel is this edge's alone, and only its sender writes into it. So what comes out of it are the blocks that went in, each once.
//! - **V2** `sent` counts lines that the device has. So a taker that has taken fewer waits for one that comes, and one that has taken as many has
//!   seen everything that was sent before it looked (E4), though lines are on their way for a while.

use crate::block::Block;
use std::ptr::{self, NonNull};
use thalweg_link::{Channel, Consumer, Limits, LinkError, Producer, Supervisor};
use thalweg_queue::spsc::fast_forward::Word;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::{AtomicU64, Ordering::*};
use thalweg_sync::sync::Arc;

pub(super) const NAME: &str = "virtual_link";

/// Lines that a taker has asked for ahead: so many are in its cache, or on their way, when it looks.
const AHEAD: usize = 4;

/// The ends of each edge of a run that lies on a device.
#[derive(Default)]
pub(crate) struct Channels(Vec<(usize, Ends)>);

/// Boxed, as those of [`fast_forward`](super::fast_forward) are.
type Ends = (Box<Tx>, Box<Rx>);

impl Channels {
    /// Opens them, on the device of the machine that is simulated, or on a routing thread where there is none. The text says why that cannot be.
    pub(crate) fn open(edges: &[usize]) -> Result<Self, String> {
        if edges.is_empty() {
            return Ok(Self::default());
        }
        match Self::of(&Supervisor::hardware(1), edges) {
            Err(LinkError::NoDevice | LinkError::NoLines) => {}
            open => return open.map_err(|error| error.to_string()),
        }
        let supervisor = Supervisor::software(Limits::default())
            .map_err(|error| format!("there is no routing device here, and no thread that stands for one: {error}"))?;
        Self::of(&supervisor, edges).map_err(|error| error.to_string())
    }

    fn of(supervisor: &Supervisor, edges: &[usize]) -> Result<Self, LinkError> {
        let ends = |&edge: &usize| Ok((edge, make(&supervisor.open(&edge.to_string())?)?));
        edges.iter().map(ends).collect::<Result<_, _>>().map(Self)
    }

    /// The two ends of an edge, if it lies on a device.
    pub(crate) fn take(&mut self, edge: usize) -> Option<(super::Tx, super::Rx)> {
        let place = self.0.iter().position(|(id, _)| *id == edge)?;
        let (_, (tx, rx)) = self.0.swap_remove(place);
        Some((super::Tx::Device(tx), super::Rx::Device(rx)))
    }
}

/// The sending end.
pub(crate) struct Tx {
    producer: Producer<u64>,
    sent: Arc<CachePadded<AtomicU64>>,
}

/// The taking end.
pub(crate) struct Rx {
    consumer: Consumer<u64>,
    sent: Arc<CachePadded<AtomicU64>>,
    taken: u64,
}

fn make(channel: &Channel) -> Result<Ends, LinkError> {
    let sent = Arc::new(CachePadded(AtomicU64::new(0)));
    let tx = Tx { producer: channel.producer()?, sent: sent.clone() };
    let rx = Rx { consumer: channel.consumer_of(AHEAD)?, sent, taken: 0 };
    Ok((Box::new(tx), Box::new(rx)))
}

impl Tx {
    /// Refuses a block if the device has no room for a line of this edge.
    pub(super) fn try_push(&mut self, block: Block) -> Result<(), Block> {
        let word = block.into_word();
        if self.producer.try_push(word.as_ptr().expose_provenance() as u64).is_err() {
            // SAFETY: the device has not taken it, so it is still this end's.
            return Err(unsafe { Block::from_word(word) });
        }
        // Release, pairs with the load in `try_pop`: who sees the count sees the block (V2). One end writes it.
        self.sent.store(self.sent.load(Relaxed) + 1, Release);
        Ok(())
    }
}

impl Rx {
    /// Waits for a line only if one is on its way (V2).
    pub(super) fn try_pop(&mut self) -> Option<Block> {
        if self.sent.load(Acquire) == self.taken {
            return None;
        }
        let word = self.consumer.pop().expect("a line that was sent comes, also when its sender has left");
        self.taken += 1;
        let word =
            NonNull::new(ptr::with_exposed_provenance_mut(word as usize)).expect("a block's address is not null");
        // SAFETY: V1: it is a block of this edge, and comes once.
        Some(unsafe { Block::from_word(word) })
    }
}

impl Drop for Rx {
    fn drop(&mut self) {
        while self.try_pop().is_some() {}
    }
}
