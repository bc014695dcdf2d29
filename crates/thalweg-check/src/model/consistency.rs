//! The axioms: which choices leave a graph consistent.
//!
//! # Invariants
//!
//! - **C1** Coherence is kept by construction: a read reads no write older than one that happens before it, or than
//!   one that a read before it has read ([`Graph::floor`]); a write stands behind all of these.
//! - **C2** Atomicity too: no write is put between a read-modify-write and what it reads.
//! - **C3** An event that is added last, reads the newest write, or is the newest write of its location, breaks no
//!   axiom: no edge leaves it. So only other choices have to be judged.
//! - **C4** What is judged was consistent without the event whose choice it is: a read; or a write, with its read if it is an exclusive
//!   one, and with the read that it revisits. These are the last events of their threads, and nobody else reads the write. So what
//!   leads away from them leads to a later place of their location: see [`Graph::stays_consistent`].

use super::clock::Clock;
use super::graph::{EventId, Graph, Kind};
use super::{Memory, ScAxiom, psc};

impl Graph {
    /// The lowest place of `loc` that is not older than anything in `before`: what an event that all of `before`
    /// happens before may read, and what a write among them has to stand behind. `without` does not count.
    pub(crate) fn floor(&self, loc: u32, before: &Clock, without: EventId) -> usize {
        let has = |id: EventId| id != without && id.index < before.get(id.thread);
        let location = &self.locations[loc as usize];
        let mut floor = location.co.iter().rposition(|&write| has(write)).map_or(0, |at| at + 1);
        for &read in location.reads.iter().rev() {
            if floor == location.co.len() {
                break;
            }
            if has(read) {
                floor = floor.max(self.place(self.node(read).rf));
            }
        }
        floor
    }

    /// Whether a write may be put behind the write at `place`: not between a read-modify-write and what it reads (C2).
    pub(crate) fn may_follow(&self, loc: u32, place: usize) -> bool {
        !self.locations[loc as usize].co.get(place).is_some_and(|&next| self.is_exclusive_write(next))
    }

    /// Whether the axioms beyond coherence and atomicity hold.
    pub(crate) fn is_consistent(&self, memory: Memory, axiom: ScAxiom) -> bool {
        match memory {
            Memory::Ra => true,
            Memory::Sc => self.is_sequential(),
            Memory::Rc11 => psc::is_ordered(self, axiom),
        }
    }

    /// As [`is_consistent`](Self::is_consistent), of a graph in which `chosen` is the event whose choice it is (C4).
    pub(crate) fn stays_consistent(&self, chosen: EventId, memory: Memory, axiom: ScAxiom) -> bool {
        if memory == Memory::Rc11 && !psc::leads_on(self, chosen) {
            debug_assert!(psc::is_ordered(self, axiom), "C4 is wrong:\n{self}");
            return true;
        }
        self.is_consistent(memory, axiom)
    }

    /// Sequential consistency: po, rf, co and fr have no cycle together.
    fn is_sequential(&self) -> bool {
        // 0: not met, 1: on the path, 2: done.
        let mut colour = vec![0_u8; self.order.len()];
        let mut path: Vec<(EventId, usize)> = Vec::new();
        let mut next = Vec::new();
        for &start in &self.order {
            if colour[self.node(start).stamp as usize] != 0 {
                continue;
            }
            path.push((start, 0));
            while let Some((id, taken)) = path.last_mut() {
                let stamp = self.node(*id).stamp as usize;
                colour[stamp] = 1;
                next.clear();
                self.successors(*id, &mut next);
                match next.get(*taken) {
                    Some(&successor) => {
                        *taken += 1;
                        match colour[self.node(successor).stamp as usize] {
                            0 => path.push((successor, 0)),
                            1 => return false,
                            _ => {}
                        }
                    }
                    None => {
                        colour[stamp] = 2;
                        path.pop();
                    }
                }
            }
        }
        true
    }

    /// The direct successors in po, rf, co and fr, and those by the start and the end of threads and of objects.
    fn successors(&self, id: EventId, into: &mut Vec<EventId>) {
        let follower = EventId { index: id.index + 1, ..id };
        let node = self.node(id);
        if follower.index < self.len(id.thread) {
            into.push(follower);
        } else {
            into.extend(
                self.order
                    .iter()
                    .filter(|&&join| matches!(self.node(join).kind, Kind::Join { child } if child == id.thread)),
            );
        }
        match node.kind {
            Kind::Read { .. } => {
                let after = self.locations[node.loc as usize].co.get(self.place(node.rf)).copied();
                // The own write of a read-modify-write comes after it anyway.
                into.extend(after.filter(|&write| write != follower));
            }
            Kind::Write { .. } => {
                let location = &self.locations[node.loc as usize];
                into.extend(location.co.get(node.place as usize));
                into.extend(location.reads.iter().filter(|&&read| self.node(read).rf == id));
            }
            Kind::Spawn { child } if self.len(child) > 0 => into.push(EventId { thread: child, index: 0 }),
            Kind::Free(_) => into.extend(self.reuse_of(id)),
            Kind::Release { last: false } => into.extend(Some(node.last).filter(|last| !last.is_init())),
            _ => {}
        }
    }
}
