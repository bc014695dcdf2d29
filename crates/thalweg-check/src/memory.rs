//! What the threads of an execution know about each other's memory accesses: who waits for which location, who is
//! inside which slot.

use std::collections::HashMap;
use thalweg_sync::engine::Span;

/// What one attempt of a wait depends on.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// The locations it read, with their versions.
    reads: Vec<(usize, u64)>,
    /// It changed something, or failed without a reason: tried again, it may succeed though nothing else changes.
    pub(crate) restless: bool,
    /// It read the clock.
    pub(crate) clock: bool,
}

impl Watch {
    /// Everything that `inner`, a wait inside this attempt, depended on.
    pub(crate) fn absorb(&mut self, inner: Watch) {
        self.reads.extend(inner.reads);
        self.restless |= inner.restless;
        self.clock |= inner.clock;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.reads.is_empty()
    }
}

/// A thread that waits; the ticket tells this wait from its later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiter {
    pub(crate) thread: usize,
    pub(crate) ticket: u64,
}

#[derive(Debug, Default)]
struct Location {
    /// How often its value changed.
    version: u64,
    waiters: Vec<Waiter>,
}

/// The locations of an execution. Keyed by address and never iterated, so that addresses decide nothing.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    locations: HashMap<usize, Location>,
    /// The slot accesses that have begun and not ended.
    open: Vec<(usize, Span)>,
}

impl Memory {
    /// `watch` depends on the value at `address`.
    pub(crate) fn read(&mut self, address: usize, watch: &mut Watch) {
        let version = self.locations.entry(address).or_default().version;
        if watch.reads.last() != Some(&(address, version)) {
            watch.reads.push((address, version));
        }
    }

    /// The value at `address` changed. Returns who waited for that.
    pub(crate) fn changed(&mut self, address: usize) -> Vec<Waiter> {
        let location = self.locations.entry(address).or_default();
        location.version += 1;
        std::mem::take(&mut location.waiters)
    }

    /// The object at `address` is gone. Returns who waited for a change of it.
    pub(crate) fn retired(&mut self, address: usize) -> Vec<Waiter> {
        // The version stays, so that an object that comes to the same address is not taken for the old one.
        if self.locations.contains_key(&address) { self.changed(address) } else { Vec::new() }
    }

    /// True if nothing that `watch` read has changed since.
    pub(crate) fn is_current(&self, watch: &Watch) -> bool {
        watch.reads.iter().all(|(address, version)| self.locations[address].version == *version)
    }

    /// `waiter` waits until something that `watch` read changes.
    pub(crate) fn wait(&mut self, watch: &Watch, waiter: Waiter) {
        for (address, _) in &watch.reads {
            let waiters = &mut self.locations.entry(*address).or_default().waiters;
            // An earlier wait of the same thread is over.
            match waiters.iter_mut().find(|other| other.thread == waiter.thread) {
                Some(earlier) => *earlier = waiter,
                None => waiters.push(waiter),
            }
        }
    }

    /// The open access that `span` conflicts with.
    pub(crate) fn conflict(&self, span: &Span) -> Option<(usize, Span)> {
        self.open.iter().find(|(_, open)| open.conflicts(span)).copied()
    }

    pub(crate) fn open(&mut self, thread: usize, span: Span) {
        self.open.push((thread, span));
    }

    pub(crate) fn close(&mut self, thread: usize, span: &Span) {
        // Accesses nest, so the last one is meant.
        if let Some(i) = self.open.iter().rposition(|(owner, open)| *owner == thread && open == span) {
            self.open.swap_remove(i);
        }
    }
}
