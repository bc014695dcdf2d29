//! Which hardware thread is where.

/// How far two dies are from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Distance {
    /// The same die.
    Die,
    /// Another die of the same socket.
    Socket,
    /// Another socket.
    System,
}

/// How a machine is put together: sockets of dies of clusters of cores of hardware threads.
///
/// Hardware threads are numbered as Linux does it: the first thread of every core, die after die, then the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Topology {
    pub(crate) sockets: usize,
    /// In a socket. A die has a last-level cache, an interconnect, and memory of its own.
    pub(crate) dies: usize,
    /// In a die.
    pub(crate) cores: usize,
    /// Cores that share a second-level cache.
    pub(crate) cluster: usize,
    /// Hardware threads of a core.
    pub(crate) smt: usize,
}

impl Topology {
    pub(crate) fn all_dies(&self) -> usize {
        self.sockets * self.dies
    }

    pub(crate) fn all_cores(&self) -> usize {
        self.all_dies() * self.cores
    }

    pub(crate) fn all_clusters(&self) -> usize {
        self.all_cores() / self.cluster
    }

    pub(crate) fn all_threads(&self) -> usize {
        self.all_cores() * self.smt
    }

    pub(crate) fn core_of_thread(&self, thread: usize) -> usize {
        thread % self.all_cores()
    }

    pub(crate) fn die_of_core(&self, core: usize) -> usize {
        core / self.cores
    }

    pub(crate) fn cluster_of_core(&self, core: usize) -> usize {
        core / self.cluster
    }

    pub(crate) fn die_of_cluster(&self, cluster: usize) -> usize {
        cluster * self.cluster / self.cores
    }

    fn distance(&self, die: usize, other: usize) -> Distance {
        if die == other {
            Distance::Die
        } else if die / self.dies == other / self.dies {
            Distance::Socket
        } else {
            Distance::System
        }
    }
}

/// The same, looked up instead of calculated: an access asks many times, and to divide is slow.
#[derive(Clone, Debug)]
pub(crate) struct Lookup {
    dies: usize,
    cluster: usize,
    /// For each core, its cluster and its die.
    cores: Vec<(u16, u8)>,
    /// For each cluster, its die.
    clusters: Vec<u8>,
    /// For each pair of dies.
    distances: Vec<Distance>,
}

impl Lookup {
    pub(crate) fn of(topology: &Topology) -> Self {
        let dies = topology.all_dies();
        let cores = 0..topology.all_cores();
        let clusters = 0..topology.all_clusters();
        Self {
            dies,
            cluster: topology.cluster,
            cores: cores
                .map(|core| (topology.cluster_of_core(core) as u16, topology.die_of_core(core) as u8))
                .collect(),
            clusters: clusters.map(|cluster| topology.die_of_cluster(cluster) as u8).collect(),
            distances: (0..dies * dies).map(|pair| topology.distance(pair / dies, pair % dies)).collect(),
        }
    }

    pub(crate) fn all_dies(&self) -> usize {
        self.dies
    }

    #[cfg(test)]
    pub(crate) fn all_clusters(&self) -> usize {
        self.clusters.len()
    }

    #[inline(always)]
    pub(crate) fn cluster_of_core(&self, core: usize) -> usize {
        self.cores[core].0.into()
    }

    #[inline(always)]
    pub(crate) fn die_of_core(&self, core: usize) -> usize {
        self.cores[core].1.into()
    }

    #[inline(always)]
    pub(crate) fn die_of_cluster(&self, cluster: usize) -> usize {
        self.clusters[cluster].into()
    }

    #[inline(always)]
    pub(crate) fn cores_of_cluster(&self, cluster: usize) -> std::ops::Range<usize> {
        cluster * self.cluster..(cluster + 1) * self.cluster
    }

    #[inline(always)]
    pub(crate) fn distance(&self, die: usize, other: usize) -> Distance {
        self.distances[die * self.dies + other]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_and_cores_are_numbered_die_by_die() {
        let shape = Topology { sockets: 2, dies: 2, cores: 4, cluster: 2, smt: 2 };
        assert_eq!((shape.all_dies(), shape.all_cores(), shape.all_clusters(), shape.all_threads()), (4, 16, 8, 32));
        assert_eq!((shape.core_of_thread(5), shape.core_of_thread(21)), (5, 5));
        assert_eq!((shape.die_of_core(3), shape.die_of_core(4)), (0, 1));
        assert_eq!((shape.cluster_of_core(5), shape.die_of_cluster(2)), (2, 1));
        let lookup = Lookup::of(&shape);
        assert_eq!(lookup.cores_of_cluster(2), 4..6);
        assert!((0..16).all(|core| lookup.cluster_of_core(core) == shape.cluster_of_core(core)));
        assert!((0..16).all(|core| lookup.die_of_core(core) == shape.die_of_core(core)));
        assert!((0..8).all(|cluster| lookup.die_of_cluster(cluster) == shape.die_of_cluster(cluster)));
        assert_eq!(lookup.distance(3, 1), Distance::System);
        assert_eq!(shape.distance(0, 0), Distance::Die);
        assert_eq!(shape.distance(0, 1), Distance::Socket);
        assert_eq!(shape.distance(1, 2), Distance::System);
    }
}
