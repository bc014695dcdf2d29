//! The coherence protocol: which cache has which line, and what an access has to move.
//!
//! MESI between clusters, kept by a directory; within a cluster its second-level cache keeps the first-level caches
//! of its cores in order, by MESI again. Nothing here knows of time, of threads or of values: an access changes who has
//! what and says what had to be done, as a [`Transfer`].
//!
//! # Invariants
//!
//! - **M1** One writer: if a cluster owns a line, no other cluster has it; if a core's first-level cache owns a line,
//!   its cluster does, and no other core of the cluster has it.
//! - **M2** A first-level cache has only lines that the second-level cache of its cluster has (if there is one).
//! - **M3** The directory is exact: `sharers` are the clusters that have the line, `owner` is the one whose state is
//!   exclusive or modified.
//! - **M4** The newest value is in the owner if it has modified the line; else in every cache that has it, in every
//!   last-level copy, and in memory unless a copy is `dirty`.
//! - **M5** A tag in a last-level cache without its die's bit in `copies` is a value that is out of date: it takes
//!   room, as in hardware, and is never read.
//!
//! # What it does not model
//!
//! No transient states: an access is done as a whole, and who asks next waits (the engine's queue at the line). No
//! limit on the directory, so it never takes a line from a cache. Memory has a home but no row buffers.

mod line;
mod tags;

pub(crate) use line::{PAGE, STRAYS};
pub(crate) use tags::MAX_LINES;

use crate::topology::{Distance, Lookup, Topology};
use line::{Clusters, Directory, Line};
use tags::{State, Tags};

/// How many clusters a machine may have at most.
pub(crate) const MAX_CLUSTERS: usize = Clusters::MAX;
/// How many dies: a die is a bit of `copies`.
pub(crate) const MAX_DIES: usize = 8;

/// Where an access found what it needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum FoundAt {
    /// The core's own first-level cache.
    L1,
    /// The cluster's second-level cache.
    L2,
    /// Another core of the cluster.
    Sibling,
    /// It was there, but others had to lose it before it could be written.
    Upgrade(Distance),
    /// The same, by who modified it before the others read it.
    Reclaim(Distance),
    /// The last-level cache of a die.
    Llc(Distance),
    /// A private cache of another cluster.
    Cache(Distance),
    /// The memory of a die.
    Memory(Distance),
}

/// What an access moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub(crate) source: FoundAt,
    /// How many other clusters lost the line, and the farthest of them.
    pub(crate) invalidated: Option<(u32, Distance)>,
    /// How many lines were written to memory to make room.
    pub(crate) written_back: u32,
}

impl Transfer {
    /// An access that the core's own cluster answers: nothing leaves it.
    pub(crate) fn within(source: FoundAt) -> Self {
        Self { source, invalidated: None, written_back: 0 }
    }
}

/// A cache that has a value of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Holder {
    /// The first-level cache of a core.
    L1(usize),
    /// The second-level cache of a cluster.
    L2(usize),
    /// The last-level cache of a die.
    Llc(usize),
    Memory,
}

/// Who wants to know how values move. The engine does not; the tests do.
pub(crate) trait Observer {
    /// The value of `line` at `from` came to `to`.
    fn moved(&mut self, line: u32, from: Holder, to: Holder);
}

impl Observer for () {
    #[inline(always)]
    fn moved(&mut self, _line: u32, _from: Holder, _to: Holder) {}
}

/// The size of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) sets: u32,
    pub(crate) ways: usize,
}

/// The caches of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caches {
    pub(crate) l1: Geometry,
    pub(crate) l2: Option<Geometry>,
    pub(crate) llc: Geometry,
    /// The last-level cache takes what private caches lose, and not what they read.
    pub(crate) victims: bool,
    /// Who reads a line that another cluster has modified takes it over, with the right to write it.
    pub(crate) migratory: bool,
}

/// All caches, and the directory. `T` is what the user keeps with each line.
#[derive(Clone, Debug)]
pub(crate) struct Protocol<T = (), O = ()> {
    topology: Lookup,
    victims: bool,
    migratory: bool,
    l1: Vec<Tags>,
    /// Empty if the machine has no second-level caches.
    l2: Vec<Tags>,
    llc: Vec<Tags>,
    directory: Directory<T>,
    observer: O,
    written_back: u32,
}

impl<T: Default, O: Observer> Protocol<T, O> {
    /// A machine with empty caches. Without second-level caches a cluster is one core.
    pub(crate) fn new(topology: Topology, caches: Caches, observer: O) -> Self {
        let tags = |geometry: Geometry| Tags::new(geometry.sets, geometry.ways);
        Self {
            topology: Lookup::of(&topology),
            victims: caches.victims,
            migratory: caches.migratory,
            l1: vec![tags(caches.l1); topology.all_cores()],
            l2: caches.l2.map_or_else(Vec::new, |l2| vec![tags(l2); topology.all_clusters()]),
            llc: vec![tags(caches.llc); topology.all_dies()],
            directory: Directory::new(),
            observer,
            written_back: 0,
        }
    }

    /// An access by `core` that its first-level cache can answer alone. False if it cannot; then nothing has changed
    /// but the order of use.
    #[inline(always)]
    pub(crate) fn hit(&mut self, core: usize, line: u32, write: bool) -> bool {
        if write { self.l1[core].touch_to_write(line) } else { self.l1[core].touch(line).is_some() }
    }

    /// [`hit`](Self::hit), for a write, with what the user keeps with `line`; a line that has to come is not even looked for.
    #[inline]
    pub(crate) fn hit_to_write(&mut self, core: usize, line: u32) -> Option<&mut T> {
        let entry = self.directory.find_mut(line)?;
        let near = entry.owner() == Some(self.topology.cluster_of_core(core));
        (near && self.l1[core].touch_to_write(line)).then_some(&mut entry.user)
    }

    /// `core` touches `line`: from here on the directory knows it.
    #[inline]
    pub(crate) fn visit(&mut self, core: usize, line: u32) {
        self.directory.visit(line, self.topology.die_of_core(core));
    }

    /// What the user keeps with `line`, which `core` touches.
    #[inline]
    pub(crate) fn user(&mut self, core: usize, line: u32) -> &mut T {
        self.visit(core, line);
        &mut self.directory.get_mut(line).user
    }

    /// What the user keeps with `line`, which was touched before, and whether a cluster owns it.
    #[inline]
    pub(crate) fn known(&mut self, line: u32) -> (&mut T, bool) {
        let entry = self.directory.get_mut(line);
        let owned = entry.owner().is_some();
        (&mut entry.user, owned)
    }

    /// The die whose memory `line`, which was accessed, is in.
    pub(crate) fn home(&self, line: u32) -> usize {
        self.directory.home(line)
    }

    /// An access by `core`, which has touched `line` before, that its cluster can answer alone. `None` if it cannot;
    /// then nothing has changed but the order of use.
    pub(crate) fn local(&mut self, core: usize, line: u32, write: bool) -> Option<FoundAt> {
        // Cheaper than a look at the caches, which are many.
        let cluster = self.topology.cluster_of_core(core);
        let entry = self.directory.get(line);
        if if write { entry.owner() != Some(cluster) } else { !entry.sharers.contains(cluster) } {
            return None;
        }
        if self.hit(core, line, write) { Some(FoundAt::L1) } else { Some(self.within_cluster(core, line, write)) }
    }

    /// True if the first-level cache of `core` has `line`.
    pub(crate) fn has(&mut self, core: usize, line: u32) -> bool {
        self.l1[core].state(line).is_some()
    }

    /// True if the cluster of `core`, which has touched `line` before, has it now.
    pub(crate) fn is_near(&self, core: usize, line: u32) -> bool {
        self.directory.get(line).sharers.contains(self.topology.cluster_of_core(core))
    }

    /// True if the page of `line` was touched before.
    pub(crate) fn knows(&self, line: u32) -> bool {
        self.directory.knows(line)
    }

    /// True if the cluster of `core` owns `line`, which was touched before.
    pub(crate) fn owns(&self, core: usize, line: u32) -> bool {
        self.directory.get(line).owner() == Some(self.topology.cluster_of_core(core))
    }

    /// An access by `core`.
    pub(crate) fn access(&mut self, core: usize, line: u32, write: bool) -> Transfer {
        self.directory.visit(line, self.topology.die_of_core(core));
        self.written_back = 0;
        let (source, invalidated) = if let Some(source) = self.local(core, line, write) {
            (source, None)
        } else if write {
            self.write_miss(core, line)
        } else {
            (self.read_miss(core, line), None)
        };
        Transfer { source, invalidated, written_back: self.written_back }
    }

    /// Serves a first-level miss within the cluster, which has the line, and owns it if it is to be written.
    fn within_cluster(&mut self, core: usize, line: u32, write: bool) -> FoundAt {
        let cluster = self.topology.cluster_of_core(core);
        // Without a second-level cache there is nobody else in the cluster, so the first level would have hit.
        let state = self.l2[cluster].touch(line).expect("M3: the directory is exact");
        let mut source = FoundAt::L2;
        let had = self.l1[core].state(line).is_some();
        let mut alone = true;
        for sibling in self.topology.cores_of_cluster(cluster) {
            if sibling == core {
                continue;
            }
            let Some(theirs) = self.l1[sibling].state(line) else { continue };
            if theirs == State::Modified {
                self.l2[cluster].change(line, State::Modified);
                self.observer.moved(line, Holder::L1(sibling), Holder::L2(cluster));
            }
            if theirs.is_owned() || write {
                source = FoundAt::Sibling;
            }
            if write {
                self.l1[sibling].remove(line);
            } else {
                self.l1[sibling].change(line, State::Shared);
                alone = false;
            }
        }
        let state = match (write, state.is_owned() && alone) {
            (true, _) => State::Modified,
            (false, true) => State::Exclusive,
            (false, false) => State::Shared,
        };
        if !had {
            self.observer.moved(line, Holder::L2(cluster), Holder::L1(core));
        }
        self.fill_l1(core, line, state);
        source
    }

    /// Reads a line that the cluster does not have.
    fn read_miss(&mut self, core: usize, line: u32) -> FoundAt {
        let die = self.topology.die_of_core(core);
        let (source, from, state) = match self.directory.get(line).owner() {
            Some(owner) => {
                let distance = self.topology.distance(die, self.topology.die_of_cluster(owner));
                let (from, modified) = self.share(owner, line);
                // Whoever reads what another has written is likely to write it next.
                let state = if self.migratory && modified {
                    self.invalidate_all_but(core, line);
                    self.directory.get_mut(line).sharers = Clusters::default();
                    State::Exclusive
                } else {
                    State::Shared
                };
                (FoundAt::Cache(distance), from, state)
            }
            None => {
                let (source, from) = self.nearest(die, line);
                let alone = self.directory.get(line).sharers.is_empty();
                (source, from, if alone { State::Exclusive } else { State::Shared })
            }
        };
        self.bring(core, line, from);
        self.enter(core, line, state);
        if !self.victims && !self.directory.get(line).has_copy(die) {
            self.observer.moved(line, Holder::L1(core), Holder::Llc(die));
            self.keep_copy(die, line, false);
        }
        source
    }

    /// Writes a line that the cluster does not own.
    fn write_miss(&mut self, core: usize, line: u32) -> (FoundAt, Option<(u32, Distance)>) {
        let (cluster, die) = (self.topology.cluster_of_core(core), self.topology.die_of_core(core));
        let had = self.is_near(core, line);
        let source = match self.directory.get(line).owner() {
            Some(owner) => {
                let (from, _) = self.gather(owner, line);
                self.bring(core, line, from);
                FoundAt::Cache(self.topology.distance(die, self.topology.die_of_cluster(owner)))
            }
            None if had => {
                if self.l1[core].state(line).is_none() {
                    self.observer.moved(line, Holder::L2(cluster), Holder::L1(core));
                }
                let is_author = self.directory.get(line).author as usize == cluster;
                if is_author { FoundAt::Reclaim(Distance::Die) } else { FoundAt::Upgrade(Distance::Die) }
            }
            None => {
                let (source, from) = self.nearest(die, line);
                self.bring(core, line, from);
                source
            }
        };
        let invalidated = self.invalidate_all_but(core, line);
        let entry = self.directory.get_mut(line);
        entry.sharers = Clusters::default();
        entry.author = Line::<T>::NOBODY;
        // What is out of date is not written back either.
        entry.forget_copies();
        self.enter(core, line, State::Modified);
        match (source, invalidated) {
            (FoundAt::Upgrade(_), Some((_, farthest))) => (FoundAt::Upgrade(farthest), invalidated),
            (FoundAt::Reclaim(_), Some((_, farthest))) => (FoundAt::Reclaim(farthest), invalidated),
            _ => (source, invalidated),
        }
    }

    /// Takes `line` from everybody but `core`. Returns how many clusters lost it, and the farthest of them.
    fn invalidate_all_but(&mut self, core: usize, line: u32) -> Option<(u32, Distance)> {
        let (own, die) = (self.topology.cluster_of_core(core), self.topology.die_of_core(core));
        let mut invalidated = None;
        for cluster in self.directory.get(line).sharers.iter() {
            for other in self.topology.cores_of_cluster(cluster).filter(|&other| other != core) {
                self.l1[other].remove(line);
            }
            if cluster != own {
                if let Some(l2) = self.l2.get_mut(cluster) {
                    l2.remove(line);
                }
                let distance = self.topology.distance(die, self.topology.die_of_cluster(cluster));
                let (count, farthest) = invalidated.unwrap_or((0, distance));
                invalidated = Some((count + 1, distance.max(farthest)));
            }
        }
        invalidated
    }

    /// The nearest place that has the value of `line`, which nobody owns: of a last-level copy and a private cache at one distance, the copy.
    fn nearest(&mut self, die: usize, line: u32) -> (FoundAt, Holder) {
        let topology = &self.topology;
        let entry = self.directory.get(line);
        let copies = (0..topology.all_dies()).filter(|&other| entry.has_copy(other));
        let copy = copies.map(|other| (topology.distance(die, other), other)).min();
        let sharers = entry.sharers.iter();
        let sharer = sharers.map(|cluster| (topology.distance(die, topology.die_of_cluster(cluster)), cluster)).min();
        match (copy, sharer) {
            (Some((distance, other)), sharer) if sharer.is_none_or(|(sharers, _)| distance <= sharers) => {
                self.llc[other].touch(line);
                (FoundAt::Llc(distance), Holder::Llc(other))
            }
            (_, Some((distance, cluster))) => (FoundAt::Cache(distance), self.place_in(cluster)),
            _ => (FoundAt::Memory(topology.distance(die, self.directory.home(line))), Holder::Memory),
        }
    }

    /// Where a cluster has the value of a line when no first-level cache has modified it.
    fn place_in(&self, cluster: usize) -> Holder {
        if self.l2.is_empty() { Holder::L1(cluster) } else { Holder::L2(cluster) }
    }

    /// The value of `line`, as a cluster that has it gives it away: where it is, and whether it was modified.
    fn gather(&mut self, cluster: usize, line: u32) -> (Holder, bool) {
        if self.l2.is_empty() {
            return (Holder::L1(cluster), self.l1[cluster].state(line) == Some(State::Modified));
        }
        let mut modified = false;
        for core in self.topology.cores_of_cluster(cluster) {
            if self.l1[core].clean(line) {
                self.l2[cluster].change(line, State::Modified);
                self.observer.moved(line, Holder::L1(core), Holder::L2(cluster));
                modified = true;
            }
        }
        (Holder::L2(cluster), modified || self.l2[cluster].state(line) == Some(State::Modified))
    }

    /// The owner of `line` gives up its right to write. What it has modified goes to its last-level cache. Returns where the
    /// value is, and whether it was modified.
    fn share(&mut self, owner: usize, line: u32) -> (Holder, bool) {
        let (from, modified) = self.gather(owner, line);
        for core in self.topology.cores_of_cluster(owner) {
            self.l1[core].change(line, State::Shared);
        }
        if let Some(l2) = self.l2.get_mut(owner) {
            l2.change(line, State::Shared);
        }
        let entry = self.directory.get_mut(line);
        entry.author = if modified { owner as u16 } else { Line::<T>::NOBODY };
        if modified {
            entry.forget_copies();
            let die = self.topology.die_of_cluster(owner);
            self.observer.moved(line, from, Holder::Llc(die));
            self.keep_copy(die, line, true);
        }
        (from, modified)
    }

    /// Moves the value of `line` to where `core` will use it.
    fn bring(&mut self, core: usize, line: u32, from: Holder) {
        if !self.l2.is_empty() {
            self.observer.moved(line, from, Holder::L2(self.topology.cluster_of_core(core)));
        }
        self.observer.moved(line, from, Holder::L1(core));
    }

    /// `core` and its cluster have `line` from now on.
    fn enter(&mut self, core: usize, line: u32, state: State) {
        let cluster = self.topology.cluster_of_core(core);
        let entry = self.directory.get_mut(line);
        entry.sharers.insert(cluster);
        entry.owner = if state.is_owned() { cluster as u16 } else { Line::<T>::NOBODY };
        if let Some(l2) = self.l2.get_mut(cluster)
            && let Some((victim, mut state)) = l2.insert(line, state)
        {
            // M2: it leaves the first level too.
            for other in self.topology.cores_of_cluster(cluster) {
                if self.l1[other].remove(victim) == Some(State::Modified) {
                    self.observer.moved(victim, Holder::L1(other), Holder::L2(cluster));
                    state = State::Modified;
                }
            }
            self.leave(cluster, victim, state);
        }
        self.fill_l1(core, line, state);
    }

    fn fill_l1(&mut self, core: usize, line: u32, state: State) {
        let Some((victim, state)) = self.l1[core].insert(line, state) else { return };
        let cluster = self.topology.cluster_of_core(core);
        match self.l2.get_mut(cluster) {
            Some(l2) if state == State::Modified => {
                l2.change(victim, State::Modified);
                self.observer.moved(victim, Holder::L1(core), Holder::L2(cluster));
            }
            Some(_) => {}
            None => self.leave(cluster, victim, state),
        }
    }

    /// A cluster has no room for `line` any more.
    fn leave(&mut self, cluster: usize, line: u32, state: State) {
        let die = self.topology.die_of_cluster(cluster);
        let from = self.place_in(cluster);
        let entry = self.directory.get_mut(line);
        entry.sharers.remove(cluster);
        if entry.owner() == Some(cluster) {
            entry.owner = Line::<T>::NOBODY;
        }
        if entry.author as usize == cluster {
            entry.author = Line::<T>::NOBODY;
        }
        let modified = state == State::Modified;
        if modified {
            entry.forget_copies();
        }
        if modified || (self.victims && !entry.has_copy(die)) {
            self.observer.moved(line, from, Holder::Llc(die));
            self.keep_copy(die, line, modified);
        }
    }

    /// The last-level cache of `die` has a copy of `line` from now on.
    fn keep_copy(&mut self, die: usize, line: u32, dirty: bool) {
        let entry = self.directory.get_mut(line);
        entry.copies |= 1 << die;
        if dirty {
            entry.dirty = die as u8;
        }
        let Some((victim, _)) = self.llc[die].insert(line, State::Shared) else { return };
        let entry = self.directory.get_mut(victim);
        if entry.has_copy(die) {
            entry.copies &= !(1 << die);
            if entry.dirty == die as u8 {
                entry.dirty = Line::<T>::CLEAN;
                self.written_back += 1;
                self.observer.moved(victim, Holder::Llc(die), Holder::Memory);
            }
        }
    }
}

#[cfg(test)]
mod tests;
