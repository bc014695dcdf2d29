//! Memory comes back: which allocation is given which freed block.
//!
//! An allocation and a free are events like a read and a write: an allocation is given a block that no allocation had before (*fresh*), or
//! one that was freed, and then the free happens before it, as `[new.delete.dataraces]` of C++ has it. A free that is added revisits the
//! allocations that are there (T2); fresh is what is maximal.
//!
//! # Invariants
//!
//! - **M1** Events are only the frees of blocks that were *published*: of which an access to a pointer in po and rf before the free has
//!   read or written an address. Only such a pointer can be taken for that of another block. And the allocations of the layouts that such
//!   blocks have: they are learned as frees of them are met, and the search then begins anew ([`Outcome::Learned`]).
//! - **M2** No two allocations are given the block of one free, and not more in an execution than [`Check::reuse`] says. Fresh is always
//!   left, so neither leads nowhere.
//! - **M3** An access to a block that was handed out again, before which its allocation does not happen, uses a pointer of the block's
//!   life before: a use after free.
//! - **M4** The allocator does not unwind. A thread that has to end in it goes on, and ends at its next operation ([`Run::passes`]).
//!
//! [`Check::reuse`]: super::Check::reuse
//! [`Outcome::Learned`]: super::run::Outcome::Learned

use super::explore::{Explorer, Work};
use super::graph::{EventId, Graph, Kind, NOWHERE, Target};
use super::report::Rule;
use super::run::{Ending, Run};
use crate::heap::{Blocks, Keeper};
use std::alloc::Layout;
use std::panic::Location as Here;
use thalweg_sync::engine::Site;

/// The bits of a pointer that may be an address; the others are a tag's.
const ADDRESS: u64 = (1 << 48) - 1;

impl Graph {
    /// The allocation that is given the block of `free`.
    pub(super) fn reuse_of(&self, free: EventId) -> Option<EventId> {
        let is_given = |&&id: &&EventId| {
            let node = self.node(id);
            matches!(node.kind, Kind::Allocate(_)) && node.rf == free
        };
        self.order.iter().find(is_given).copied()
    }

    /// How many allocations are given freed blocks.
    fn reuses(&self) -> usize {
        let is_given = |&&id: &&EventId| {
            let node = self.node(id);
            matches!(node.kind, Kind::Allocate(_)) && !node.rf.is_init()
        };
        self.order.iter().filter(is_given).count()
    }
}

impl Explorer {
    fn may_reuse(&self) -> bool {
        self.graph.reuses() < self.rules().reuse as usize
    }

    /// Adds an allocation. It is fresh, for now.
    fn add_allocation(&mut self, thread: u32, layout: Layout, at: Site) -> EventId {
        let allocation = self.graph.add(thread, Kind::Allocate(layout), NOWHERE, 0, EventId::INIT, at);
        self.graph.set_clocks(allocation);
        let frees = |graph: &Graph, &id: &EventId| matches!(graph.node(id).kind, Kind::Free(other) if other == layout);
        if let Some(guide) = &self.guide {
            let from =
                guide.given(allocation).filter(|from| self.graph.order.contains(from) && frees(&self.graph, from));
            if let Some(from) = from.filter(|&from| self.graph.reuse_of(from).is_none()) {
                self.give(allocation, from);
            }
            return allocation;
        }
        if self.may_reuse() {
            let given = |&free: &EventId| self.graph.reuse_of(free).is_none();
            let free = self.graph.order.iter().copied().filter(|id| frees(&self.graph, id)).filter(given);
            let work = free.map(|free| Work::Reuse { allocation, free }).collect::<Vec<_>>();
            self.work.extend(work);
        }
        allocation
    }

    /// Adds the free of a published block, and finds the allocations that it revisits.
    fn add_free(&mut self, thread: u32, layout: Layout, at: Site) -> EventId {
        let free = self.add_plain(thread, Kind::Free(layout), 0, at);
        if self.guide.is_none() && self.may_reuse() {
            let fits = |id: EventId, explorer: &Self| {
                matches!(explorer.graph.node(id).kind, Kind::Allocate(other) if other == layout).then_some(id)
            };
            for allocation in self.revisitable(free, fits) {
                self.work.push(Work::Back { write: free, read: allocation, spurious: false });
            }
        }
        free
    }

    /// `allocation`, the last event of its thread, is given the block of `free`.
    pub(super) fn give(&mut self, allocation: EventId, free: EventId) {
        self.graph.node_mut(allocation).rf = free;
        self.graph.set_clocks(allocation);
    }
}

impl Keeper for Run {
    fn moment(&self) -> (u32, u64) {
        let state = self.state();
        (state.current, state.thread().done.into())
    }

    fn allocates(&self, blocks: &Blocks, layout: Layout) -> Option<usize> {
        if self.is_passive() || !self.layouts.contains(&layout) {
            return None;
        }
        match self.allocate(blocks, layout) {
            Ok(address) => address,
            Err(ending) => {
                self.ends_later(ending);
                None
            }
        }
    }

    fn frees(&self, address: usize, layout: Layout) {
        if !self.is_passive()
            && self.reuses
            && let Err(ending) = self.free(address, layout)
        {
            self.ends_later(ending);
        }
    }
}

impl Run {
    fn allocate(&self, blocks: &Blocks, layout: Layout) -> Result<Option<usize>, Ending> {
        let at = Here::caller();
        let kind = Kind::Allocate(layout);
        let id = match self.recorded() {
            Some(id) => {
                let from = self.state().explorer.graph.node(id).rf;
                self.reach(from)?;
                self.plain(kind, 0, at)?
            }
            None => {
                self.reach_new_access()?;
                let wanted = {
                    let state = self.state();
                    state.explorer.guide.as_ref().and_then(|guide| guide.given(state.next_event()))
                };
                wanted.map_or(Ok(()), |free| self.reach(free))?;
                let mut state = self.state();
                state.thread_mut().done += 1;
                let thread = state.current;
                state.explorer.add_allocation(thread, layout, at)
            }
        };
        let mut state = self.state();
        let from = state.explorer.graph.node(id).rf;
        let address = state.freed.iter().find(|&&(free, _)| free == from).map(|&(_, address)| address);
        if let Some(address) = address {
            // What is there next are other objects.
            state.places.forget_all(address, layout.size());
            state.slots.forget(address, layout.size());
            blocks.hand_out(address, layout.size(), u64::from(id.thread) << 32 | u64::from(id.index));
        }
        Ok(address)
    }

    fn free(&self, address: usize, layout: Layout) -> Result<(), Ending> {
        if !self.state().is_published(address, layout.size()) {
            return Ok(());
        }
        if !self.layouts.contains(&layout) {
            self.state().learned = Some(layout);
            return self.switch();
        }
        let at = Here::caller();
        let id = match self.recorded() {
            Some(_) => self.plain(Kind::Free(layout), 0, at)?,
            None => {
                self.reach_new_access()?;
                let mut state = self.state();
                state.thread_mut().done += 1;
                let thread = state.current;
                state.explorer.add_free(thread, layout, at)
            }
        };
        self.state().freed.push((id, address));
        Ok(())
    }

    /// The running thread has to end, and cannot here (M4).
    fn ends_later(&self, _: Ending) {
        self.state().thread_mut().ends = true;
    }

    /// As [`is_passive`](Self::is_passive), where a thread may end: one that had to, and could not, ends here (M4).
    pub(super) fn passes(&self) -> bool {
        let passive = self.is_passive();
        if passive && !std::thread::panicking() && std::mem::take(&mut self.state().thread_mut().ends) {
            self.unwind();
        }
        passive
    }

    /// The memory at `address` is that of a live block, and the running thread can know of it (M3).
    pub(super) fn check_alive(&self, address: usize, at: Site) -> Result<(), Ending> {
        let blocks = self.blocks();
        let is_stale = || {
            blocks.again(address).is_some_and(|token| {
                let state = self.state();
                (token as u32) >= state.now().get((token >> 32) as u32)
            })
        };
        if blocks.is_freed(address) || is_stale() {
            let thread = self.state().current;
            let block = blocks.freed_block(address).map(Box::new);
            self.fail(Rule::UseAfterFree { thread, at, block })?;
        }
        Ok(())
    }
}

impl Run {
    /// The graph as a reader is shown it.
    pub(super) fn portrait(&self) -> Box<Graph> {
        let state = self.state();
        let mut graph = Box::new(state.explorer.graph.clone());
        let mut pointers = state.pointers.clone();
        pointers.sort_by_key(|&(id, _)| id);
        let mut met = Vec::new();
        for (id, value) in pointers {
            let address = value & ADDRESS;
            let there = self.blocks().extent(address as usize);
            let start = there.as_ref().map_or(address, |there| there.start as u64);
            let number = (value != 0).then(|| {
                met.iter().position(|&other| other == start).unwrap_or_else(|| {
                    met.push(start);
                    met.len() - 1
                })
            });
            let location =
                number.and_then(|_| state.places.first_in(there.unwrap_or(address as usize..address as usize + 1)));
            graph.targets.push((id, Target { number, tagged: value != 0 && value != start, location }));
        }
        graph
    }
}

impl super::state::State {
    /// Whether an access to a pointer that comes before the running thread's next event had an address in these bytes (M1).
    fn is_published(&self, address: usize, bytes: usize) -> bool {
        if self.pointers.is_empty() {
            return false;
        }
        let before = self.explorer.graph.porf_before(self.next_event());
        let is_within = |value: u64| {
            let at = (value & ADDRESS) as usize;
            address <= at && at < address + bytes
        };
        self.pointers.iter().any(|&(id, value)| id.index < before.get(id.thread) && is_within(value))
    }
}
