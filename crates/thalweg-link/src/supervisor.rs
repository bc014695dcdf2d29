//! The system's part: names of channels, and which device and which queue (SQI) a name stands for.

use std::collections::BTreeMap;
use std::fmt;

use thalweg_queue::BuildError;
use thalweg_sync::link::{self, Target};
use thalweg_sync::sync::{Arc, Mutex, PoisonError};

use crate::endpoint::{Carrier, Lease};
use crate::item::Item;
use crate::queue::{Consumer, Producer, Shared};
use crate::router::{Limits, Router};

/// Gives out channels by name: what the paper's `shm_open` and `mmap` with `VL_QUEUE` do (listings 1 and 2).
///
/// | listing | here |
/// |---|---|
/// | `shm_open("name", O_RDWR, VL_QUEUE)` | [`open`](Self::open): the same name is the same channel |
/// | `mmap(…, PROT_WRITE, VL_QUEUE, SQI, 0)` | [`Channel::producer`]: an address of its own in a page of the channel |
/// | `mmap(…, PROT_READ, VL_QUEUE, SQI, 0)` | [`Channel::consumer`] |
/// | `munmap` | dropping the end |
///
/// ```
/// use thalweg_link::{Limits, Supervisor};
///
/// let supervisor = Supervisor::software(Limits::default())?;
/// let mut tx = supervisor.open("readings")?.producer::<u64>()?;
/// let mut rx = supervisor.open("readings")?.consumer::<u64>()?;
/// tx.push(42)?;
/// assert_eq!(rx.pop(), Ok(42));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Supervisor {
    carrier: Carrier,
    devices: usize,
    names: Mutex<Names>,
}

#[derive(Debug, Default)]
struct Names {
    channels: BTreeMap<String, Channel>,
    /// The number of the queue that is tried next.
    next: usize,
}

/// A channel that cannot be opened, or has no room for another end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkError {
    /// No engine runs here, or its machine has no routing device, or fewer than the supervisor was told.
    NoDevice,
    /// The device of the engine's machine carries values, not lines: it is CAF's.
    NoLines,
    /// The device or the router has no room for another channel.
    TooManyChannels,
    /// The channel has as many ends of this kind as there are addresses for.
    TooManyEnds,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDevice => {
                write!(
                    f,
                    "there is no routing device here, or one too few; take a Supervisor::software, or fewer devices"
                )
            }
            Self::NoLines => write!(
                f,
                "the device of this machine carries values, as CAF's does, and no lines; take a Supervisor::software, or a \
                 machine with Virtual-Link's device"
            ),
            Self::TooManyChannels => write!(f, "the routing device has no room for another channel"),
            Self::TooManyEnds => write!(f, "a channel has at most {} ends of a kind", Target::ENDPOINTS),
        }
    }
}

impl std::error::Error for LinkError {}

impl Supervisor {
    /// Channels on the routing devices of the machine that an engine simulates; so many of them are used in turn. Several
    /// supervisors divide the devices' queues among them: each has its own names, and its own channels. Queues are given back when the
    /// supervisor is gone and every end of the channel, unless something is left in them.
    pub fn hardware(devices: usize) -> Self {
        Self { carrier: Carrier::Hardware, devices: devices.max(1), names: Mutex::default() }
    }

    /// Channels on a thread that does what the device does. It spins, so it wants a core of its own; it ends when the
    /// supervisor, all channels and all ends are gone.
    ///
    /// `BuildError` if there is not a line for each channel, or no channel.
    pub fn software(limits: Limits) -> Result<Self, BuildError> {
        let carrier = Carrier::Software(Lease::of(Router::start(limits)?));
        Ok(Self { carrier, devices: limits.links, names: Mutex::default() })
    }

    /// The channel of this name; a new one if there is none.
    ///
    /// Errors if there is no device for lines here, or it has no room for another channel. A new channel costs two
    /// instructions on a device, and two for each queue of another supervisor that it meets.
    pub fn open(&self, name: &str) -> Result<Channel, LinkError> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = names.channels.get(name) {
            return Ok(channel.clone());
        }
        let target = match &self.carrier {
            Carrier::Hardware => self.open_queue(&mut names.next)?,
            Carrier::Software(_) if names.next >= self.devices => return Err(LinkError::TooManyChannels),
            Carrier::Software(_) => Target::new(0, names.next).ok_or(LinkError::TooManyChannels)?,
        };
        names.next += 1;
        let channel = Channel { carrier: self.carrier.clone(), shared: Arc::new(Shared::new(target, &self.carrier)) };
        names.channels.insert(name.to_owned(), channel.clone());
        Ok(channel)
    }

    /// Opens the first queue from `next` on that nobody else has, and leaves its number there.
    fn open_queue(&self, next: &mut usize) -> Result<Target, LinkError> {
        loop {
            let target = Target::new(*next % self.devices, *next / self.devices).ok_or(LinkError::TooManyChannels)?;
            if link::open(target) {
                // Only CAF's device takes values.
                let lines = !link::enqueue(target, 0);
                return if lines { Ok(target) } else { Err(LinkError::NoLines) };
            }
            if link::holds(target).is_none() {
                // A device has room for its first queue.
                let is_first = target.sqi() == 0;
                return Err(if is_first { LinkError::NoDevice } else { LinkError::TooManyChannels });
            }
            *next += 1;
        }
    }
}

/// An open channel: makes ends. Any number of producers and consumers, up to 4096 of each at a time.
#[derive(Clone, Debug)]
pub struct Channel {
    carrier: Carrier,
    shared: Arc<Shared>,
}

impl Channel {
    /// A writing end. All ends of a channel have the same items.
    pub fn producer<T: Item>(&self) -> Result<Producer<T>, LinkError> {
        Producer::new(self.carrier.clone(), self.shared.clone())
    }

    /// A reading end with one line.
    pub fn consumer<T: Item>(&self) -> Result<Consumer<T>, LinkError> {
        self.consumer_of(1)
    }

    /// A reading end that has up to `requests` requests under way, 1 to 64: so many lines are there, or on their way, when the thread
    /// comes to read. It keeps all that comes, as [`Consumer`] says; where consumers share a channel, few requests
    /// divide it more evenly. Requests beyond what the device has room for are made later.
    ///
    /// ```
    /// use thalweg_link::{Limits, Supervisor};
    ///
    /// let supervisor = Supervisor::software(Limits::default())?;
    /// let channel = supervisor.open("words")?;
    /// let (mut tx, mut rx) = (channel.producer::<u64>()?, channel.consumer_of::<u64>(4)?);
    /// rx.prefetch();
    /// let sender = std::thread::spawn(move || (0..90).for_each(|n| tx.push(n).unwrap()));
    /// assert!((0..90).all(|n| rx.pop() == Ok(n)) && rx.pop().is_err());
    /// sender.join().unwrap();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If `requests` is not 1 to 64.
    pub fn consumer_of<T: Item>(&self, requests: usize) -> Result<Consumer<T>, LinkError> {
        assert!((1..=64).contains(&requests), "a consumer has 1 to 64 requests under way, not {requests}");
        Consumer::new(self.carrier.clone(), self.shared.clone(), requests)
    }
}

/// Which of a channel's addresses are in use: a bit each, in pages of 64.
#[derive(Debug, Default)]
pub(crate) struct Pages(Vec<u64>);

impl Pages {
    /// A free address. `None` if all are in use.
    pub(crate) fn map(&mut self) -> Option<usize> {
        let page = self.0.iter().position(|&page| page != u64::MAX).unwrap_or(self.0.len());
        if page == self.0.len() {
            if page * 64 == Target::ENDPOINTS {
                return None;
            }
            self.0.push(0);
        }
        let offset = self.0[page].trailing_ones() as usize;
        self.0[page] |= 1 << offset;
        Some(page * 64 + offset)
    }

    pub(crate) fn unmap(&mut self, endpoint: usize) {
        self.0[endpoint / 64] &= !(1 << (endpoint % 64));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_used_again() {
        let mut pages = Pages::default();
        assert!((0..Target::ENDPOINTS).all(|endpoint| pages.map() == Some(endpoint)));
        assert_eq!(pages.map(), None);
        pages.unmap(100);
        pages.unmap(70);
        assert_eq!([pages.map(), pages.map(), pages.map()], [Some(70), Some(100), None]);
    }
}
