//! Peers that take another build: each is a feature of the lab. Those that are not written in Rust need packages of the system when it is built.

/// Such a peer.
#[derive(Clone, Copy, Debug)]
pub struct Optional {
    /// The feature of the lab.
    pub feature: &'static str,
    /// Who it is.
    pub what: &'static str,
    /// Packages that have what it needs, as Debian names them.
    pub packages: &'static str,
    /// The experiments that it takes part in.
    pub experiments: &'static [&'static str],
    /// Whether it is there.
    pub state: State,
}

/// Whether an optional peer is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is.
    BuiltIn,
    /// It was asked for, and what it needs was not found.
    NotFound,
    /// The lab was built without its feature.
    NotAsked,
}

impl State {
    /// From what the build script found, and whether it was asked.
    pub const fn of(built: bool, asked: bool) -> Self {
        match (built, asked) {
            (true, _) => State::BuiltIn,
            (false, true) => State::NotFound,
            (false, false) => State::NotAsked,
        }
    }
}

/// All of them.
pub const ALL: [Optional; 5] = [TBB, CPP, DPDK, HTTP, RPC];

/// oneTBB's pipeline and flow graph.
pub const TBB: Optional = Optional {
    feature: "tbb",
    what: "oneTBB's pipeline and flow graph",
    packages: "g++ libtbb-dev",
    experiments: &["streams/pipe3", "streams/chain32"],
    state: State::of(cfg!(thalweg_tbb), cfg!(feature = "tbb")),
};

/// Queues of Boost, moodycamel and oneTBB.
pub const CPP: Optional = Optional {
    feature: "cpp",
    what: "queues of Boost, moodycamel and oneTBB",
    packages: "g++ libboost-dev libconcurrentqueue-dev libreaderwriterqueue-dev libtbb-dev",
    experiments: &[
        "queues/1p1c-item",
        "queues/1p1c-batch",
        "queues/1p1c-rtt",
        "queues/shared-1p1c",
        "queues/shared-batch",
        "queues/oversubscribed",
    ],
    state: State::of(cfg!(thalweg_cpp), cfg!(feature = "cpp")),
};

/// DPDK's rte_ring.
pub const DPDK: Optional = Optional {
    feature: "dpdk",
    what: "DPDK's rte_ring",
    packages: "gcc pkg-config libdpdk-dev",
    experiments: &["queues/1p1c-item", "queues/1p1c-batch", "queues/shared-batch"],
    state: State::of(cfg!(thalweg_dpdk), cfg!(feature = "dpdk")),
};

/// hyper.
pub const HTTP: Optional = Optional {
    feature: "http",
    what: "hyper on our executor and on tokio",
    packages: "no package of the system",
    experiments: &["executor/http"],
    state: State::of(cfg!(feature = "http"), cfg!(feature = "http")),
};

/// tonic.
pub const RPC: Optional = Optional {
    feature: "rpc",
    what: "tonic on our executor and on tokio",
    packages: "no package of the system",
    experiments: &["executor/rpc"],
    state: State::of(cfg!(feature = "rpc"), cfg!(feature = "rpc")),
};

impl Optional {
    /// One line if it is absent: why, and what to do.
    pub fn absent(&self) -> Option<String> {
        let Optional { what, packages, .. } = self;
        let command = command(&[*self], &self.experiments.join(" "));
        match self.state {
            State::BuiltIn => None,
            State::NotFound => Some(format!(
                "{what}: left out, as a compiler or headers were not found when the lab was built; install {packages} and build again"
            )),
            State::NotAsked => Some(format!("{what}: left out; it needs {packages}; run `{command}`")),
        }
    }
}

/// The command that runs `experiments` with these peers built in.
pub fn command(peers: &[Optional], experiments: &str) -> String {
    let features: String = peers.iter().map(|peer| format!(",thalweg-lab/{}", peer.feature)).collect();
    format!("cargo run --release -p thalweg-cli --features lab{features} -- lab run {experiments}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_absent_says_what_to_do() {
        let peer = |state| Optional { state, ..DPDK };
        assert_eq!(peer(State::of(true, true)).absent(), None);
        let line = peer(State::of(false, true)).absent().unwrap();
        assert!(line.ends_with("install gcc pkg-config libdpdk-dev and build again"), "{line}");
        let line = peer(State::of(false, false)).absent().unwrap();
        assert!(
            line.contains(
                "--features lab,thalweg-lab/dpdk -- lab run queues/1p1c-item queues/1p1c-batch queues/shared-batch`"
            ),
            "{line}"
        );
    }

    #[test]
    fn the_experiments_that_are_named_exist() {
        for name in ALL.iter().flat_map(|peer| peer.experiments) {
            assert!(super::super::ALL.iter().any(|entry| entry.native && entry.name == *name), "{name}");
        }
    }
}
