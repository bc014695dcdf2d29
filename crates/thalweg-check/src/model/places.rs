//! Where the locations of a graph are in this execution's memory.
//!
//! An atomic's address differs from execution to execution, so a graph numbers locations. An execution finds out which
//! is where as it goes: by replaying an event of the location, or by meeting an atomic for the first time.

use super::graph::EventId;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

/// A hash for addresses: one multiplication.
#[derive(Debug, Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_usize(byte.into()));
    }

    fn write_usize(&mut self, address: usize) {
        // The golden ratio; the upper bits of the product depend on all of the address.
        self.0 = (self.0 ^ address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }
}

pub(crate) type ByAddress<V> = HashMap<usize, V, BuildHasherDefault<AddressHasher>>;

/// What is known of a location in this execution.
#[derive(Clone, Copy, Debug)]
struct Known {
    bound: bool,
    /// Where it is; 0 where it is not any more.
    address: usize,
    /// What memory holds, unless the client has written it another way.
    held: u64,
    /// The write that wrote it.
    newest: EventId,
}

const UNBOUND: Known = Known { bound: false, address: 0, held: 0, newest: EventId::INIT };

#[derive(Debug, Default)]
pub(crate) struct Places {
    by_address: ByAddress<u32>,
    /// By location.
    places: Vec<Known>,
}

impl Places {
    /// Forgets everything. The graph has this many locations.
    pub(crate) fn reset(&mut self, locations: usize) {
        self.by_address.clear();
        self.places.clear();
        self.places.resize(locations, UNBOUND);
    }

    /// The location at `address`.
    pub(crate) fn find(&self, address: usize) -> Option<u32> {
        self.by_address.get(&address).copied()
    }

    /// Whether `loc` is at `address`: as [`find`](Self::find) would say.
    pub(crate) fn is_at(&self, loc: u32, address: usize) -> bool {
        self.places[loc as usize].address == address
    }

    pub(crate) fn is_bound(&self, loc: u32) -> bool {
        self.places[loc as usize].bound
    }

    /// A location that is nowhere in this execution, a new one if there is none.
    pub(crate) fn unbound(&mut self) -> u32 {
        let place = self.places.iter().position(|place| !place.bound).unwrap_or_else(|| {
            self.places.push(UNBOUND);
            self.places.len() - 1
        });
        place as u32
    }

    /// `loc` is at `address`, which holds its initial value.
    pub(crate) fn bind(&mut self, loc: u32, address: usize, initial: u64) {
        // Another object may have been there.
        self.forget(address);
        self.by_address.insert(address, loc);
        self.places[loc as usize] = Known { bound: true, address, held: initial, newest: EventId::INIT };
    }

    /// The object at `address` is gone, or written by other means: what is found there next is another location.
    pub(crate) fn forget(&mut self, address: usize) {
        if let Some(loc) = self.by_address.remove(&address) {
            self.places[loc as usize].address = 0;
        }
    }

    /// As [`forget`](Self::forget), of all objects in these bytes.
    pub(crate) fn forget_all(&mut self, address: usize, bytes: usize) {
        let there = self.by_address.keys().filter(|&&at| address <= at && at < address + bytes);
        there.copied().collect::<Vec<_>>().into_iter().for_each(|at| self.forget(at));
    }

    /// The location that is first in these bytes.
    pub(crate) fn first_in(&self, bytes: Range<usize>) -> Option<u32> {
        let there = self.by_address.iter().filter(|&(at, _)| bytes.contains(at));
        there.min_by_key(|&(&at, _)| at).map(|(_, &loc)| loc)
    }

    /// What memory holds for `loc`, and the write it is from.
    pub(crate) fn held(&self, loc: u32) -> (u64, EventId) {
        let place = &self.places[loc as usize];
        (place.held, place.newest)
    }

    pub(crate) fn hold(&mut self, loc: u32, value: u64, from: EventId) {
        let place = &mut self.places[loc as usize];
        (place.held, place.newest) = (value, from);
    }
}
