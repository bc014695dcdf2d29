//! Instructions for a message device on the coherence network: Virtual-Link's `vl_select`, `vl_push` and `vl_fetch`, and
//! CAF's enqueue and dequeue.
//!
//! No processor that can be bought has them, so natively, under loom, and under engines without such a device every
//! instruction is refused; a simulated machine may have one. `thalweg-link` builds queues on them, and on a routing thread
//! that does the same in software.
//!
//! From Q. Wu et al., *Virtual-Link*, IPDPS 2021, sections III-B and III-C.
//!
//! ```
//! use std::pin::pin;
//! use thalweg_sync::link::{self, Line, Target};
//!
//! let line = pin!(Line::new());
//! let target = Target::new(0, 7).expect("device 0, queue 7");
//! link::select(line.as_ref());
//! assert!(!link::push(target), "there is no device here");
//! ```

use crate::atomic::{AtomicU64, Ordering};
use crate::engine::{self, LinkOperation};
use core::marker::PhantomPinned;
use core::panic::Location;
use core::pin::Pin;

/// A line of 64 bytes that a device copies from, or writes to.
///
/// It is pinned while a device knows it: what a device writes into it comes between a [`fetch`] and the end of its life,
/// which the device is told.
#[derive(Debug, Default)]
#[cfg_attr(not(loom), repr(C, align(64)))]
pub struct Line {
    words: [AtomicU64; Line::WORDS],
    _pinned: PhantomPinned,
}

impl Line {
    /// How many words it has.
    pub const WORDS: usize = 8;

    /// A line of zeros.
    pub fn new() -> Self {
        Self::default()
    }

    /// A word.
    #[inline(always)]
    #[track_caller]
    pub fn load(&self, word: usize, ordering: Ordering) -> u64 {
        self.words[word].load(ordering)
    }

    /// Writes a word.
    #[inline(always)]
    #[track_caller]
    pub fn store(&self, word: usize, value: u64, ordering: Ordering) {
        self.words[word].store(value, ordering);
    }
}

/// An address in a device's memory: where it is sent says for which device and which queue a packet is (paper, fig. 9).
///
/// | 47 ..= 34 | 33 ..= 18   | 17 ..= 12    | 11 ..= 6         | 5 ..= 0 |
/// |-----------|-------------|--------------|------------------|---------|
/// | device    | queue (SQI) | page of it   | endpoint in page | 0       |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target(u64);

impl Target {
    const ENDPOINT: u32 = 6;
    const SQI: u32 = 18;
    const DEVICE: u32 = 34;
    /// How many devices a machine can have.
    pub const DEVICES: usize = 1 << 14;
    /// How many queues a device can have.
    pub const QUEUES: usize = 1 << (Self::DEVICE - Self::SQI);
    /// How many endpoints of one kind a queue can have: 64 pages of 64.
    pub const ENDPOINTS: usize = 1 << (Self::SQI - Self::ENDPOINT);

    /// The first endpoint of a queue of a device. `None` if there are no such numbers.
    pub fn new(device: usize, sqi: usize) -> Option<Self> {
        (device < Self::DEVICES && sqi < Self::QUEUES)
            .then_some(Self((device as u64) << Self::DEVICE | (sqi as u64) << Self::SQI))
    }

    /// Another endpoint of the same queue. `None` if there is no such number.
    pub fn endpoint(self, endpoint: usize) -> Option<Self> {
        let queue = self.0 >> Self::SQI << Self::SQI;
        (endpoint < Self::ENDPOINTS).then_some(Self(queue | (endpoint as u64) << Self::ENDPOINT))
    }

    /// The device.
    pub fn device(self) -> usize {
        (self.0 >> Self::DEVICE) as usize
    }

    /// The queue.
    pub fn sqi(self) -> usize {
        (self.0 >> Self::SQI) as usize % Self::QUEUES
    }

    /// The address.
    pub fn address(self) -> u64 {
        self.0
    }
}

/// Asks the engine's device; `None` if there is none, or if it refuses.
#[inline]
fn ask(operation: LinkOperation, at: engine::Site) -> Option<u64> {
    engine::current_at(at)?.link(operation, at)
}

/// `vl_select`: brings the line into the core's cache, to be written, and latches it for the next [`push`] or [`fetch`] of
/// this thread. A context switch forgets it.
#[track_caller]
pub fn select(line: Pin<&Line>) {
    let address = core::ptr::from_ref(line.get_ref()).expose_provenance();
    ask(LinkOperation::Select { address }, Location::caller());
}

/// `vl_push`: sends the selected line to the device. True if the device took it; then the line is zero. False if nothing is
/// selected or the device has no room; then the line is as it was, and may be sent again.
#[must_use]
#[track_caller]
pub fn push(target: Target) -> bool {
    ask(LinkOperation::Push { target }, Location::caller()).is_some()
}

/// `vl_fetch`: asks the device to write the next line of the queue into the selected line, now or later. True if the
/// request is registered. Whatever it returns, a line may come until a context switch or an eviction; then the
/// request is as good as forgotten, and the thread asks again. Of several requests for one line the last counts.
#[must_use]
#[track_caller]
pub fn fetch(target: Target) -> bool {
    ask(LinkOperation::Fetch { target }, Location::caller()).is_some()
}

/// Ends the mapping of a line, as the system does: from now on a device writes nothing into it. What has come is there.
#[track_caller]
pub fn unmap(line: Pin<&Line>) {
    let address = core::ptr::from_ref(line.get_ref()).addr();
    ask(LinkOperation::Unmap { address }, Location::caller());
}

/// Opens a queue, as the system does when it is first mapped. False if there is no device, or none of that number, or it has
/// no room for another queue; and if the queue is open already: it is somebody's.
#[must_use]
#[track_caller]
pub fn open(target: Target) -> bool {
    ask(LinkOperation::Open { target }, Location::caller()).is_some()
}

/// Gives a queue back that nobody has an end of any more, as the system does when its last page is unmapped: an [`open`] may have it as soon
/// as the device holds nothing of it. The device is not asked, so this costs nothing.
#[track_caller]
pub fn close(target: Target) {
    ask(LinkOperation::Close { target }, Location::caller());
}

/// How many lines, or values, of a queue the device holds, those on their way to a consumer among them. `None` if there is
/// no device, or the queue is not open.
#[track_caller]
pub fn holds(target: Target) -> Option<u64> {
    ask(LinkOperation::Holds { target }, Location::caller())
}

/// CAF: sends a value. False if the queue has no credit.
#[must_use]
#[track_caller]
pub fn enqueue(target: Target, value: u64) -> bool {
    ask(LinkOperation::Enqueue { target, value }, Location::caller()).is_some()
}

/// CAF: takes the oldest value, if there is one.
#[must_use]
#[track_caller]
pub fn dequeue(target: Target) -> Option<u64> {
    ask(LinkOperation::Dequeue { target }, Location::caller())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_device_and_queue() {
        let target = Target::new(3, 65_535).unwrap();
        assert_eq!((target.device(), target.sqi()), (3, 65_535));
        let other = target.endpoint(4095).unwrap();
        assert_eq!((other.device(), other.sqi()), (3, 65_535));
        assert_eq!(other.address() - target.address(), 4095 * 64);
        assert_eq!(other.endpoint(0), Some(target));
        assert_eq!((Target::new(1 << 14, 0), Target::new(0, 1 << 16), target.endpoint(4096)), (None, None, None));
    }

    #[test]
    fn a_line_is_a_line() {
        assert_eq!((size_of::<Line>(), align_of::<Line>()), (64, 64));
    }

    #[test]
    fn without_a_device_everything_is_refused() {
        let line = core::pin::pin!(Line::new());
        let target = Target::new(0, 0).unwrap();
        close(target);
        assert!(!open(target));
        select(line.as_ref());
        assert!(!push(target) && !fetch(target) && !enqueue(target, 1));
        assert_eq!((holds(target), dequeue(target)), (None, None));
    }
}
