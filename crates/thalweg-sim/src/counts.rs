//! What a run counts.

use crate::protocol::{FoundAt, Transfer};
use crate::topology::Distance;
use serde::{Serialize, Serializer};
use std::collections::HashMap;
use thalweg_sync::engine::Site;

/// Transfers of one kind, by how far they went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub struct ByDistance {
    /// Within the die.
    pub same_die: u64,
    /// From another die of the socket.
    pub other_die: u64,
    /// From another socket.
    pub other_socket: u64,
}

impl ByDistance {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.same_die + self.other_die + self.other_socket
    }

    fn count(&mut self, distance: Distance) {
        match distance {
            Distance::Die => self.same_die += 1,
            Distance::Socket => self.other_die += 1,
            Distance::System => self.other_socket += 1,
        }
    }
}

/// Lines that came before they were needed, by who answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub struct Prefetches {
    /// A last-level cache.
    pub last_level: u64,
    /// Another core's cache.
    pub transfers: u64,
    /// The line was there, but others had it too and it was to be written.
    pub upgrades: u64,
    /// Memory.
    pub memory_reads: u64,
}

impl Prefetches {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.last_level + self.transfers + self.upgrades + self.memory_reads
    }

    fn of(source: FoundAt) -> Self {
        let mut one = Self::default();
        match source {
            // The core had it.
            FoundAt::L1 | FoundAt::L2 => {}
            FoundAt::Sibling | FoundAt::Cache(_) => one.transfers = 1,
            FoundAt::Upgrade(_) | FoundAt::Reclaim(_) => one.upgrades = 1,
            FoundAt::Llc(_) => one.last_level = 1,
            FoundAt::Memory(_) => one.memory_reads = 1,
        }
        one
    }

    fn add(&mut self, other: &Self) {
        self.last_level += other.last_level;
        self.transfers += other.transfers;
        self.upgrades += other.upgrades;
        self.memory_reads += other.memory_reads;
    }
}

/// What all threads together did. An access to several lines counts once for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// Accesses to lines.
    pub accesses: u64,
    /// Answered by the core's own first-level cache.
    pub l1_hits: u64,
    /// The line had been fetched ahead, and was still on its way.
    pub late_hits: u64,
    /// Answered by the second-level cache.
    pub l2_hits: u64,
    /// Answered by another core of the cluster.
    pub sibling_hits: u64,
    /// Answered by a last-level cache.
    pub llc_hits: ByDistance,
    /// Answered by a private cache of another cluster, which had the line alone or modified, or was the nearest.
    pub cache_transfers: ByDistance,
    /// The line was there, but others had it too and it was to be written.
    pub upgrades: ByDistance,
    /// Answered by memory.
    pub memory_reads: ByDistance,
    /// Lines written back to memory.
    pub memory_writes: u64,
    /// Copies that somebody lost because somebody else wrote.
    pub invalidations: u64,
    /// Lines fetched ahead: by the hardware, or because the program asked for them. No accesses.
    pub prefetches: Prefetches,
    /// Lines fetched ahead and used.
    pub prefetches_used: u64,
    /// Cycles spent in line for a line that was on its way to somebody else.
    pub cycles_in_line: u64,
    /// Cycles spent waiting for lines to come, from the second level too, beyond what a hit takes.
    pub cycles_in_transfer: u64,
    /// Cycles spent because the store buffer was full, or had to be empty.
    pub cycles_for_stores: u64,
    /// Waits of `spin::until` that slept until a line changed.
    pub sleeps: u64,
    /// Attempts that had to be repeated by the clock.
    pub polls: u64,
    /// Threads that went to sleep in the operating system.
    pub parks: u64,
    /// Threads woken there.
    pub wakes: u64,
    /// Threads taken off their hardware thread for another one.
    pub preemptions: u64,
    /// What the message device did, if there is one.
    pub device: DeviceCounts,
}

/// What a message device did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub struct DeviceCounts {
    /// Lines, or values, that were sent to it.
    pub pushes: u64,
    /// Of these, refused for want of room.
    pub pushes_refused: u64,
    /// Requests.
    pub fetches: u64,
    /// Of these, refused for want of room; with CAF, for want of a value.
    pub fetches_refused: u64,
    /// Lines written into a consumer's cache.
    pub injections: u64,
    /// Lines that a cache rejected.
    pub injections_rejected: u64,
}

impl Counts {
    /// Accesses that the core's own caches could not answer, and nobody had fetched the line ahead.
    pub fn misses(&self) -> u64 {
        self.accesses - self.l1_hits - self.late_hits - self.l2_hits
    }

    /// Transfers of lines from and to memory, also of those fetched ahead.
    pub fn memory_transactions(&self) -> u64 {
        self.memory_reads.total() + self.prefetches.memory_reads + self.memory_writes
    }

    /// Requests that another core's private cache had to answer or obey, also for lines fetched ahead, and lines that a message device
    /// sent into a cache, taken or not.
    pub fn snoops(&self) -> u64 {
        let device = self.device.injections + self.device.injections_rejected;
        self.sibling_hits + self.cache_transfers.total() + self.prefetches.transfers + self.invalidations + device
    }

    /// As JSON has it, with the sums.
    pub(crate) fn with_sums<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (snoops, memory_transactions) = (self.snoops(), self.memory_transactions());
        WithSums { counts: self, snoops, memory_transactions }.serialize(serializer)
    }

    /// An access, and what it moved.
    pub(crate) fn access(&mut self, transfer: &Transfer) {
        self.accesses += 1;
        match transfer.source {
            FoundAt::L1 => self.l1_hits += 1,
            FoundAt::L2 => self.l2_hits += 1,
            FoundAt::Sibling => self.sibling_hits += 1,
            FoundAt::Upgrade(distance) | FoundAt::Reclaim(distance) => self.upgrades.count(distance),
            FoundAt::Llc(distance) => self.llc_hits.count(distance),
            FoundAt::Cache(distance) => self.cache_transfers.count(distance),
            FoundAt::Memory(distance) => self.memory_reads.count(distance),
        }
        self.moved(transfer);
    }

    /// A line fetched ahead, and what that moved.
    pub(crate) fn prefetch(&mut self, transfer: &Transfer) {
        self.prefetches.add(&Prefetches::of(transfer.source));
        self.moved(transfer);
    }

    fn moved(&mut self, transfer: &Transfer) {
        self.memory_writes += u64::from(transfer.written_back);
        self.invalidations += transfer.invalidated.map_or(0, |(count, _)| count.into());
    }
}

/// Counts, and what is calculated from them.
#[derive(Serialize)]
struct WithSums<'a, T: Serialize> {
    #[serde(flatten)]
    counts: &'a T,
    snoops: u64,
    memory_transactions: u64,
}

/// How many times a line is missed, or fetched ahead, before it is listed by itself.
const HOT: u32 = 32;
/// No number.
const NONE: u32 = u32::MAX;

/// What accesses from one place in the source, or to one line, moved, and how long threads waited for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub struct Cost {
    /// Accesses that the core's own caches answered. Of places and fields only, and only if [asked for](crate::Simulation::count_hits).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hits: Option<u64>,
    /// Accesses that they could not answer, and nobody had fetched the line ahead: the sum of the next four.
    pub misses: u64,
    /// Of these, answered by a last-level cache.
    pub last_level: u64,
    /// Answered by another core's cache.
    pub transfers: u64,
    /// The line was there, but others had it too and it was to be written.
    pub upgrades: u64,
    /// Answered by memory.
    pub memory_reads: u64,
    /// Lines that the hardware fetched ahead because of these accesses. Those that the program asked for itself have no place in the source.
    pub prefetches: Prefetches,
    /// Lines written back to memory to make room.
    pub memory_writes: u64,
    /// Copies that others lost.
    pub invalidations: u64,
    /// Nanoseconds that threads stood still, beyond what a hit takes: in line, while the line came, and, for stores, while the
    /// buffer was full or had to be empty. A store that its thread does not wait for costs none.
    pub nanos: u64,
}

impl Cost {
    /// Transfers of lines from and to memory, also of those fetched ahead.
    pub fn memory_transactions(&self) -> u64 {
        self.memory_reads + self.prefetches.memory_reads + self.memory_writes
    }

    /// Requests that another core's cache had to answer or obey, also for lines fetched ahead.
    pub fn snoops(&self) -> u64 {
        self.transfers + self.prefetches.transfers + self.invalidations
    }

    /// As JSON has it, with the sums.
    pub(crate) fn with_sums<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (snoops, memory_transactions) = (self.snoops(), self.memory_transactions());
        WithSums { counts: self, snoops, memory_transactions }.serialize(serializer)
    }

    /// What an access cost: until it is reported, `nanos` is in cycles.
    pub(crate) fn of(transfer: &Transfer, cycles: u64) -> Self {
        let is = |yes: bool| u64::from(yes);
        Self {
            hits: None,
            misses: is(!matches!(transfer.source, FoundAt::L1 | FoundAt::L2)),
            last_level: is(matches!(transfer.source, FoundAt::Llc(_))),
            transfers: is(matches!(transfer.source, FoundAt::Cache(_) | FoundAt::Sibling)),
            upgrades: is(matches!(transfer.source, FoundAt::Upgrade(_) | FoundAt::Reclaim(_))),
            memory_reads: is(matches!(transfer.source, FoundAt::Memory(_))),
            prefetches: Prefetches::default(),
            memory_writes: transfer.written_back.into(),
            invalidations: transfer.invalidated.map_or(0, |(count, _)| count.into()),
            nanos: cycles,
        }
    }

    /// What it cost to fetch a line ahead, for which nobody waits yet.
    pub(crate) fn ahead(transfer: &Transfer) -> Self {
        Self {
            prefetches: Prefetches::of(transfer.source),
            memory_writes: transfer.written_back.into(),
            invalidations: transfer.invalidated.map_or(0, |(count, _)| count.into()),
            ..Self::default()
        }
    }

    /// True if it is nothing.
    pub(crate) fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn add(&mut self, other: &Cost) {
        if let Some(hits) = other.hits {
            *self.hits.get_or_insert(0) += hits;
        }
        self.misses += other.misses;
        self.last_level += other.last_level;
        self.transfers += other.transfers;
        self.upgrades += other.upgrades;
        self.memory_reads += other.memory_reads;
        self.prefetches.add(&other.prefetches);
        self.memory_writes += other.memory_writes;
        self.invalidations += other.invalidations;
        self.nanos += other.nanos;
    }
}

/// A line that was missed often.
#[derive(Clone, Debug)]
pub(crate) struct HotLine {
    pub(crate) line: u32,
    /// By the number of the site.
    pub(crate) sites: Vec<(u32, Cost)>,
}

/// What [`Misses`] keeps with each line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heat {
    misses: u32,
    hot: u32,
}

impl Default for Heat {
    fn default() -> Self {
        Self { misses: 0, hot: NONE }
    }
}

/// Who missed which line from where.
#[derive(Debug)]
pub(crate) struct Misses {
    /// Sites seen lately, by the low bits of their address.
    quick: [(usize, u32); 256],
    /// By address. Never iterated.
    numbers: HashMap<usize, u32>,
    /// In the order in which they were first seen.
    pub(crate) sites: Vec<(Site, Cost)>,
    pub(crate) hot: Vec<HotLine>,
}

impl Misses {
    pub(crate) fn new() -> Self {
        Self { quick: [(0, NONE); 256], numbers: HashMap::new(), sites: Vec::new(), hot: Vec::new() }
    }

    fn number(&mut self, site: Site) -> u32 {
        let address = std::ptr::from_ref(site).addr();
        let slot = address / align_of_val(site) % 256;
        if self.quick[slot].0 == address {
            return self.quick[slot].1;
        }
        let number = *self.numbers.entry(address).or_insert_with(|| {
            self.sites.push((site, Cost::default()));
            self.sites.len() as u32 - 1
        });
        self.quick[slot] = (address, number);
        number
    }

    /// A hit at `site`.
    #[inline]
    pub(crate) fn count_hit(&mut self, site: Site) {
        let number = self.number(site);
        *self.sites[number as usize].1.hits.get_or_insert(0) += 1;
    }

    /// What an access to `line` at `site` cost.
    pub(crate) fn count(&mut self, line: u32, heat: &mut Heat, site: Site, cost: Cost) {
        let number = self.number(site);
        self.sites[number as usize].1.add(&cost);
        if heat.hot == NONE {
            heat.misses += (cost.misses + cost.prefetches.total()) as u32;
            if heat.misses < HOT {
                return;
            }
            heat.hot = self.hot.len() as u32;
            self.hot.push(HotLine { line, sites: Vec::new() });
        }
        let sites = &mut self.hot[heat.hot as usize].sites;
        match sites.iter_mut().find(|(other, _)| *other == number) {
            Some((_, sum)) => sum.add(&cost),
            None => sites.push((number, cost)),
        }
    }
}
