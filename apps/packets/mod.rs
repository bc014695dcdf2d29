//! Packets whose checksums are verified: the messages of [`pipeline`](crate::pipeline) and [`firewall`](crate::firewall).
//!
//! A [`Packet`] is a slot that a frame is copied into. It travels as a pointer and is owned by whoever has it, so a slot is
//! filled again only when nobody reads it any more.

pub mod headers;
mod refill;
mod supply;
mod tally;

use std::path::PathBuf;

pub use headers::{Packet, Verdict};
pub use tally::{Tally, Wrong};

pub(crate) use refill::Refill;
pub(crate) use supply::{Slots, Supply, complement, one_in_eight};

/// What travels: the pointer of a packet, which stays where it is.
pub(crate) type Slot = Box<Packet>;

/// Slots that the programs of the papers have.
pub const SLOTS: usize = 420;

/// Where packets come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum From {
    /// A capture: pcap or pcapng, of Ethernet frames. Can be a pipe.
    Capture(PathBuf),
    /// So many are made up.
    Made(u64),
}
