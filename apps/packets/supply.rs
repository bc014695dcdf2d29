//! Where packets come from, and the slots that they are in.

use std::net::Ipv4Addr;

use thalweg_sync::sync::{Mutex, PoisonError};

use super::{From, Packet, Slot};
use crate::frames::{Batch, Capture, Damage};
use crate::watch::Steps;
use crate::{Error, Result, Watch, incoming};

/// What fills slots, one after the other, and tells a watch of it.
pub(crate) struct Supply<'a> {
    kind: Kind,
    progress: Steps<'a>,
    watch: &'a dyn Watch,
}

enum Kind {
    /// From a capture: its records, those at hand, and how many of these are done.
    Capture { capture: Box<Capture<incoming::Input>>, batch: Batch, done: usize },
    /// Made up: how many there will be, and by what.
    Made { packets: u64, make: fn(&mut Packet, u64) },
}

impl<'a> Supply<'a> {
    /// Opens the capture, or will have `make` make packet 0, 1 and so on.
    pub(crate) fn open(from: &From, make: fn(&mut Packet, u64), watch: &'a dyn Watch) -> Result<Self> {
        let kind = match from {
            From::Made(packets) => Kind::Made { packets: *packets, make },
            From::Capture(path) => {
                let (file, _) = incoming::open(path, watch.halt()).map_err(|error| Error::file("open", path, error))?;
                let capture = Capture::open_ethernet(file).map_err(|damage| {
                    incoming::or_halted(watch, Error::Refused(format!("{} cannot be read: {damage}", path.display())))
                })?;
                Kind::Capture { capture: Box::new(capture), batch: Batch::default(), done: 0 }
            }
        };
        Ok(Self { kind, progress: Steps::new(watch), watch })
    }

    /// Fills `packet` with the one of that number, from 1. `None` if there is none.
    pub(crate) fn fill(&mut self, packet: &mut Packet, number: u64) -> Option<Result<(), Damage>> {
        let filled = self.kind.fill(packet, number);
        self.progress.add(packet.bytes());
        // Whoever ended the input knows that it is cut off.
        filled.filter(|filled| filled.is_ok() || !incoming::is_halted(self.watch))
    }

    /// All packets, each in a slot of `slots`, up to the end or where the capture cannot be read further.
    pub(crate) fn into_slots(mut self, slots: &'a Slots) -> impl Iterator<Item = Result<Slot, Damage>> + Send + 'a {
        let (mut number, mut own) = (0, Vec::new());
        std::iter::from_fn(move || {
            let mut packet = slots.take(&mut own);
            number += 1;
            Some(self.fill(&mut packet, number)?.map(|()| packet))
        })
    }
}

impl Kind {
    fn fill(&mut self, packet: &mut Packet, number: u64) -> Option<Result<(), Damage>> {
        match self {
            Self::Made { packets, make } => {
                let made = number <= *packets;
                if made {
                    make(packet, number - 1);
                }
                made.then_some(Ok(()))
            }
            Self::Capture { capture, batch, done } => loop {
                while let Some(record) = batch.record(*done) {
                    *done += 1;
                    if let Some(frame) = record.frame {
                        packet.fill(number, frame);
                        return Some(Ok(()));
                    }
                }
                *done = 0;
                match capture.next(std::mem::take(batch))? {
                    Ok(next) => *batch = next,
                    Err(damage) => return Some(Err(damage)),
                }
            },
        }
    }
}

/// The packet of that number as the paper's pipeline makes it: from one address to its complement.
pub(crate) fn complement(packet: &mut Packet, index: u64) {
    let source = index as u32;
    packet.make(index + 1, Ipv4Addr::from(source), Ipv4Addr::from(!source), index as u16);
}

/// As the paper's firewall makes it: of eight, the first is misdirected.
pub(crate) fn one_in_eight(packet: &mut Packet, index: u64) {
    let (source, destination) = (index as u32 & !7, index as u32 & 7);
    packet.make(index + 1, Ipv4Addr::from(source), Ipv4Addr::from(destination), index as u16);
    if destination == 0 {
        packet.misdirect();
    }
}

/// Slots that are free, shared by the kernel that fills them and those that are done with them.
#[derive(Debug, Default)]
pub(crate) struct Slots(Mutex<Vec<Slot>>);

impl Slots {
    /// A free slot for the kernel that fills them, which keeps some in `own`.
    pub(crate) fn take(&self, own: &mut Vec<Slot>) -> Slot {
        own.pop().unwrap_or_else(|| {
            std::mem::swap(own, &mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
            own.pop().unwrap_or_default()
        })
    }

    /// A slot is free again.
    pub(crate) fn give(&self, packet: Slot) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(packet);
    }
}
