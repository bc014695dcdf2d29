//! Machines as data.
//!
//! A machine file is TOML. Every key has to be there, save those that the machine has nothing for, and no other may:
//! a misspelt key is an error, not a default. Latencies are cycles of the core's clock, seen by who waits; the times
//! of the operating system are nanoseconds.
//!
//! | table | what it says |
//! |---|---|
//! | `name`, `about`, `calibration` | what it is; where the numbers are from, and which are guesses |
//! | `cores` | clock; how many sockets, dies in a socket, cores on a die, cores that share an L2, hardware threads of a core |
//! | `cache` | size and ways of `l1`, `l2` (may be missing) and `llc`, which each die has; whether the last level takes what is read or only what others lose; whether a reader of a line that another core has modified takes it over (`migratory`), or shares it; how many runs of stores ahead, each to one line, a core begins to claim back a line that it has modified itself and that others have read since (`reclaims`; as far as its store buffer reaches, if that is missing) |
//! | `latency` | `l1`, `l2`, a `sibling`'s cache; then, for each distance there is, `llc`, `cache`, `upgrade`, `memory`, and what an upgrade takes by the core that modified the line before others read it (`reclaim`; if it is missing, as others) |
//! | `cost` | what operations cost beside the access: each access, a hundred instructions of code that the program [tells of](thalweg_sync::hint::code) (`code_percent`), a read-modify-write, what a compare-and-exchange costs more, a fence, a pause, each invalidated sharer; what an SMT sibling adds while it executes, in percent |
//! | `contention` | how long a core keeps a line that came to it, how much of a queued request's way overlaps with its wait, how many times in a row the neighbours go first |
//! | `interconnect` | how long a transfer occupies the die's network, the link to other dies, the memory |
//! | `store_buffer`, `prefetch`, `window` | how many stores wait for their line; `none`, `next-line` or `stride`; how many accesses behind a waiting load, of twelve instructions each, are done meanwhile (0: in order) |
//! | `os` | starting a thread, switching, parking, unparking, waking, yielding, the time slice |

mod error;

pub use error::MachineError;

use crate::protocol::{Caches, Geometry, MAX_CLUSTERS, MAX_DIES};
use crate::threads::Runs;
use crate::topology::{Distance, Topology};
use serde::Deserialize;
use std::path::Path;

/// A modelled machine: what it has, and what everything on it costs.
///
/// ```
/// use thalweg_sim::Machine;
///
/// let machine = Machine::named("x86-88t")?;
/// assert_eq!(machine.threads(), 88);
/// let error = Machine::named("x86-88").unwrap_err();
/// assert!(error.to_string().contains("x86-88t"), "{error}");
/// # Ok::<(), thalweg_sim::MachineError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    name: String,
    about: String,
    calibration: String,
    pub(crate) cores: Cores,
    pub(crate) cache: Cache,
    pub(crate) latency: Latency,
    pub(crate) cost: Cost,
    pub(crate) contention: Contention,
    pub(crate) interconnect: Interconnect,
    /// Stores that a thread may have under way; with 0 it waits for each.
    pub(crate) store_buffer: u64,
    pub(crate) prefetch: Prefetch,
    /// Accesses that a thread may have under way behind one that waits for its line, of [`EACH`](crate::window::EACH) instructions.
    pub(crate) window: u64,
    pub(crate) os: Os,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cores {
    pub(crate) mhz: u64,
    sockets: usize,
    dies: usize,
    per_die: usize,
    per_cluster: usize,
    smt: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cache {
    l1: Size,
    l2: Option<Size>,
    llc: Size,
    llc_takes: Takes,
    migratory: bool,
    /// At most [`Runs::MOST`].
    pub(crate) reclaims: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Size {
    kib: u64,
    ways: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Takes {
    Reads,
    Victims,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Latency {
    pub(crate) l1: u64,
    #[serde(default)]
    pub(crate) l2: u64,
    #[serde(default)]
    pub(crate) sibling: u64,
    same_die: Distant,
    other_die: Option<Distant>,
    other_socket: Option<Distant>,
}

/// What a transfer costs over one distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Distant {
    pub(crate) llc: u64,
    pub(crate) cache: u64,
    pub(crate) upgrade: u64,
    pub(crate) reclaim: Option<u64>,
    pub(crate) memory: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cost {
    pub(crate) access: u64,
    pub(crate) code_percent: u64,
    pub(crate) rmw: u64,
    pub(crate) exchange: u64,
    pub(crate) fence: u64,
    pub(crate) pause: u64,
    pub(crate) sharer: u64,
    pub(crate) smt_percent: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contention {
    pub(crate) hold: u64,
    pub(crate) overlap: u64,
    pub(crate) near_first: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Interconnect {
    pub(crate) die: u64,
    pub(crate) link: u64,
    pub(crate) memory: u64,
    pub(crate) clean: u64,
}

/// What the hardware fetches by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prefetch {
    /// Nothing.
    None,
    /// The line after two misses in a row.
    NextLine,
    /// The next line of a stream of equal strides.
    Stride,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Os {
    pub(crate) spawn: u64,
    pub(crate) switch: u64,
    pub(crate) park: u64,
    pub(crate) unpark: u64,
    pub(crate) wake: u64,
    pub(crate) yields: u64,
    pub(crate) time_slice: u64,
}

/// How many hardware threads a machine may have.
const MAX_THREADS: usize = 2048;
/// The longest that anything may take, in cycles, and the longest time of the operating system: beyond any machine, and
/// short enough that clocks do not overflow.
const MOST_CYCLES: u64 = 1_000_000_000;
const MOST_NANOS: u64 = 1_000_000_000_000;
/// The keys of [`Distant`], by distance.
const DISTANT_KEYS: [[&str; 5]; 3] = [
    [
        "latency.same_die.llc",
        "latency.same_die.cache",
        "latency.same_die.upgrade",
        "latency.same_die.memory",
        "latency.same_die.reclaim",
    ],
    [
        "latency.other_die.llc",
        "latency.other_die.cache",
        "latency.other_die.upgrade",
        "latency.other_die.memory",
        "latency.other_die.reclaim",
    ],
    [
        "latency.other_socket.llc",
        "latency.other_socket.cache",
        "latency.other_socket.upgrade",
        "latency.other_socket.memory",
        "latency.other_socket.reclaim",
    ],
];

/// The machine files that come with this crate.
const KNOWN: [(&str, &str); 9] = [
    ("x86-88t", include_str!("../machines/x86-88t.toml")),
    ("arm-96t", include_str!("../machines/arm-96t.toml")),
    ("arm-32", include_str!("../machines/arm-32.toml")),
    ("arm-160", include_str!("../machines/arm-160.toml")),
    ("x86-40", include_str!("../machines/x86-40.toml")),
    ("x86-4", include_str!("../machines/x86-4.toml")),
    ("vl-16", include_str!("../machines/vl-16.toml")),
    ("vl-256", include_str!("../machines/vl-256.toml")),
    ("zen4-2t", include_str!("../machines/zen4-2t.toml")),
];

impl Machine {
    /// The names of the machines that come with this crate.
    pub fn names() -> impl Iterator<Item = &'static str> {
        KNOWN.iter().map(|(name, _)| *name)
    }

    /// The machine of this name. Errors with the names there are.
    pub fn named(name: &str) -> Result<Self, MachineError> {
        match KNOWN.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Self::parse(text, name),
            None => Err(MachineError::Unknown { name: name.to_owned() }),
        }
    }

    /// The machine that a file describes. Errors if it cannot be read, has a key too many or too few, or a value
    /// that makes no sense; the error says which and what would.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, MachineError> {
        let path = path.as_ref();
        let file = path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|error| MachineError::Unreadable { path: file.clone(), error })?;
        Self::parse(&text, &file)
    }

    /// The machine, and how many of its threads, that `MACHINE[:THREADS]` means: a name or a file ending in `.toml`, and
    /// all threads if it does not say. Errors as [`named`](Self::named) and [`from_file`](Self::from_file) do, and with
    /// a number of threads that the machine does not have.
    ///
    /// ```
    /// let (machine, threads) = thalweg_sim::Machine::part("x86-88t:64")?;
    /// assert_eq!((machine.threads(), threads), (88, 64));
    /// # Ok::<(), thalweg_sim::MachineError>(())
    /// ```
    pub fn part(part: &str) -> Result<(Self, usize), MachineError> {
        let (name, threads) = match part.rsplit_once(':') {
            // Else the colon is one in the name of a file.
            Some((name, threads)) if !threads.ends_with(".toml") => (name, Some(threads)),
            _ => (part, None),
        };
        let machine = if name.ends_with(".toml") { Self::from_file(name) } else { Self::named(name) }?;
        let most = machine.threads();
        match threads.map(|text| (text, text.parse())) {
            None => Ok((machine, most)),
            Some((_, Ok(threads))) if (1..=most).contains(&threads) => Ok((machine, threads)),
            Some((text, _)) => {
                Err(MachineError::NoSuchPart { machine: name.to_owned(), asked: text.to_owned(), threads: most })
            }
        }
    }

    /// The machine that `text` describes; `file` names it in errors.
    pub fn parse(text: &str, file: &str) -> Result<Self, MachineError> {
        let machine: Self = toml::from_str(text)
            .map_err(|error| MachineError::Malformed { file: file.to_owned(), message: error.to_string() })?;
        machine.check(file)?;
        Ok(machine)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is, in one line.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Where its numbers are from, which were fitted, and which are guesses.
    pub fn calibration(&self) -> &str {
        &self.calibration
    }

    /// How many hardware threads it has.
    pub fn threads(&self) -> usize {
        self.topology().all_threads()
    }

    /// The clock rate of its cores.
    pub fn mhz(&self) -> u64 {
        self.cores.mhz
    }

    /// The hardware threads that are near hardware thread 0 and far from it, the nearest first, with what each shares with
    /// it.
    ///
    /// ```
    /// let machine = thalweg_sim::Machine::named("x86-88t")?;
    /// assert_eq!(machine.neighbours(), [("same core", 44), ("same die", 1), ("other socket", 22)]);
    /// # Ok::<(), thalweg_sim::MachineError>(())
    /// ```
    pub fn neighbours(&self) -> Vec<(&'static str, usize)> {
        let Topology { sockets, dies, cores, cluster, smt } = self.topology();
        let all = [
            ("same core", smt > 1, self.topology().all_cores()),
            ("same cluster", cluster > 1, 1),
            ("same die", cores > cluster, cluster),
            ("other die", dies > 1, cores),
            ("other socket", sockets > 1, dies * cores),
        ];
        all.into_iter().filter(|(_, exists, _)| *exists).map(|(name, _, cpu)| (name, cpu)).collect()
    }

    /// The same machine with another prefetcher.
    pub fn with_prefetch(mut self, prefetch: Prefetch) -> Self {
        self.prefetch = prefetch;
        self
    }

    pub(crate) fn topology(&self) -> Topology {
        let Cores { sockets, dies, per_die, per_cluster, smt, .. } = self.cores;
        Topology { sockets, dies, cores: per_die, cluster: per_cluster, smt }
    }

    pub(crate) fn caches(&self) -> Caches {
        Caches {
            l1: self.cache.l1.geometry(),
            l2: self.cache.l2.map(Size::geometry),
            llc: self.cache.llc.geometry(),
            victims: self.cache.llc_takes == Takes::Victims,
            migratory: self.cache.migratory,
        }
    }

    /// What transfers over `distance` cost.
    #[inline]
    pub(crate) fn distant(&self, distance: Distance) -> &Distant {
        let latency = &self.latency;
        let given = match distance {
            Distance::Die => Some(&latency.same_die),
            Distance::Socket => latency.other_die.as_ref(),
            Distance::System => latency.other_socket.as_ref(),
        };
        given.expect("a machine has a latency for every distance in it")
    }

    /// How far ahead of the others a thread may run as long as its own cache answers: half of the shortest time in
    /// which another core can take a line from it. A write that comes in between is, in cycles, still on its way.
    pub(crate) fn lookahead(&self) -> u64 {
        let near = &self.latency.same_die;
        let sibling = if self.cores.per_cluster > 1 { self.latency.sibling } else { u64::MAX };
        near.cache.min(near.upgrade).min(near.reclaim.unwrap_or(u64::MAX)).min(sibling) / 2
    }

    /// Nanoseconds in cycles.
    pub(crate) fn cycles(&self, nanos: u64) -> u64 {
        (u128::from(nanos) * u128::from(self.cores.mhz) / 1000).min(u128::from(u64::MAX)) as u64
    }

    /// Cycles in nanoseconds.
    pub(crate) fn nanos(&self, cycles: u64) -> u64 {
        (u128::from(cycles) * 1000 / u128::from(self.cores.mhz)) as u64
    }

    fn check(&self, file: &str) -> Result<(), MachineError> {
        let refuse = |key, value: u64, must: &str| {
            Err(MachineError::Impossible { file: file.to_owned(), key, value, must: must.to_owned() })
        };
        if self.name.trim().is_empty() {
            let message = "`name` is empty: it is what the results call the machine".to_owned();
            return Err(MachineError::Malformed { file: file.to_owned(), message });
        }
        let Cores { mhz, sockets, dies, per_die, per_cluster, smt } = self.cores;
        if !(1..=100_000).contains(&mhz) {
            return refuse("cores.mhz", mhz, "from 1 to 100000");
        }
        for (key, value, most) in [
            ("cores.sockets", sockets, MAX_DIES),
            ("cores.dies", dies, MAX_DIES),
            ("cores.per_die", per_die, MAX_CLUSTERS),
            ("cores.per_cluster", per_cluster, 8),
            ("cores.smt", smt, 8),
        ] {
            if !(1..=most).contains(&value) {
                return refuse(key, value as u64, &format!("from 1 to {most}"));
            }
        }
        if per_die % per_cluster != 0 {
            return refuse("cores.per_cluster", per_cluster as u64, &format!("a divisor of cores.per_die, {per_die}"));
        }
        let topology = self.topology();
        if topology.all_dies() > MAX_DIES {
            return refuse("cores.dies", dies as u64, &format!("at most {MAX_DIES} in all sockets"));
        }
        if topology.all_clusters() > MAX_CLUSTERS {
            let must = format!("such that the machine has at most {MAX_CLUSTERS} clusters");
            return refuse("cores.per_die", per_die as u64, &must);
        }
        if topology.all_threads() > MAX_THREADS {
            return refuse(
                "cores.smt",
                smt as u64,
                &format!("such that the machine has at most {MAX_THREADS} threads"),
            );
        }
        if per_cluster > 1 && self.cache.l2.is_none() {
            return refuse("cores.per_cluster", per_cluster as u64, "1 without a cache.l2 to share");
        }
        let l2 = self.cache.l2.map(|l2| ("cache.l2.kib", "cache.l2.ways", l2));
        let sizes =
            [("cache.l1.kib", "cache.l1.ways", self.cache.l1), ("cache.llc.kib", "cache.llc.ways", self.cache.llc)];
        for (kib, ways, size) in sizes.into_iter().chain(l2) {
            if !(1..=64).contains(&size.ways) {
                return refuse(ways, size.ways as u64, "from 1 to 64");
            }
            if !(1..=1 << 20).contains(&size.kib) {
                return refuse(kib, size.kib, "from 1 to 1048576");
            }
            let lines = size.lines();
            if !lines.is_multiple_of(size.ways as u32) {
                let must = format!("a divisor of the {lines} lines of 64 bytes that {kib}, {}, makes", size.kib);
                return refuse(ways, size.ways as u64, &must);
            }
        }
        if let Some(l2) = self.cache.l2 {
            if l2.lines() < self.cache.l1.lines() {
                return refuse(
                    "cache.l2.kib",
                    l2.kib,
                    &format!("at least cache.l1.kib, {}, whose lines it has too", self.cache.l1.kib),
                );
            }
            if self.latency.l2 <= self.latency.l1 {
                return refuse("latency.l2", self.latency.l2, &format!("more than latency.l1, {}", self.latency.l1));
            }
        }
        if per_cluster > 1 && self.latency.sibling < self.latency.l2 {
            let must = format!("at least latency.l2, {}, which it goes through", self.latency.l2);
            return refuse("latency.sibling", self.latency.sibling, &must);
        }
        self.check_distances(file)
    }

    fn check_distances(&self, file: &str) -> Result<(), MachineError> {
        let missing = |table: &str| {
            Err(MachineError::Malformed {
                file: file.to_owned(),
                message: format!("the table [latency.{table}] is missing"),
            })
        };
        let latency = &self.latency;
        if self.cores.dies > 1 && latency.other_die.is_none() {
            return missing("other_die");
        }
        if self.cores.sockets > 1 && latency.other_socket.is_none() {
            return missing("other_socket");
        }
        let private = latency.l1.max(latency.l2);
        let tables = [Some(&latency.same_die), latency.other_die.as_ref(), latency.other_socket.as_ref()];
        for (table, keys) in tables.into_iter().zip(DISTANT_KEYS) {
            let Some(&Distant { llc, cache, upgrade, reclaim, memory }) = table else { continue };
            let values = [llc, cache, upgrade, memory].into_iter().chain(reclaim);
            for (key, value) in keys.into_iter().zip(values) {
                if value <= private || value > MOST_CYCLES {
                    let must = format!("more than the private caches' {private}, and at most {MOST_CYCLES}");
                    return Err(MachineError::Impossible { file: file.to_owned(), key, value, must });
                }
            }
        }
        self.check_costs(file)
    }

    fn check_costs(&self, file: &str) -> Result<(), MachineError> {
        let Self { latency, cost, contention, interconnect, os, .. } = self;
        // An access takes time, and so does waiting: else a loop would have no end.
        for (key, value, least, most) in [
            ("latency.l1", latency.l1, 1, MOST_CYCLES),
            ("latency.l2", latency.l2, 0, MOST_CYCLES),
            ("latency.sibling", latency.sibling, 0, MOST_CYCLES),
            ("cost.access", cost.access, 0, MOST_CYCLES),
            ("cost.code_percent", cost.code_percent, 0, 10_000),
            ("cost.rmw", cost.rmw, 0, MOST_CYCLES),
            ("cost.exchange", cost.exchange, 0, MOST_CYCLES),
            ("cost.fence", cost.fence, 0, MOST_CYCLES),
            ("cost.pause", cost.pause, 1, MOST_CYCLES),
            ("cost.sharer", cost.sharer, 0, MOST_CYCLES),
            ("cost.smt_percent", cost.smt_percent, 0, 1000),
            ("contention.hold", contention.hold, 0, MOST_CYCLES),
            ("contention.overlap", contention.overlap, 0, MOST_CYCLES),
            ("contention.near_first", contention.near_first, 0, 1_000_000),
            ("interconnect.die", interconnect.die, 0, MOST_CYCLES),
            ("interconnect.link", interconnect.link, 0, MOST_CYCLES),
            ("interconnect.memory", interconnect.memory, 0, MOST_CYCLES),
            ("interconnect.clean", interconnect.clean, 0, MOST_CYCLES),
            // Room for a thread's stores, or instructions: beyond any core.
            ("cache.reclaims", self.cache.reclaims.map_or(1, |runs| runs as u64), 1, Runs::MOST as u64),
            ("store_buffer", self.store_buffer, 0, 65_536),
            ("window", self.window, 0, 65_536),
            ("os.spawn", os.spawn, 0, MOST_NANOS),
            ("os.switch", os.switch, 0, MOST_NANOS),
            ("os.park", os.park, 0, MOST_NANOS),
            ("os.unpark", os.unpark, 0, MOST_NANOS),
            ("os.wake", os.wake, 0, MOST_NANOS),
            ("os.yields", os.yields, 0, MOST_NANOS),
            ("os.time_slice", os.time_slice, 1, MOST_NANOS),
        ] {
            if !(least..=most).contains(&value) {
                let must = format!("from {least} to {most}");
                return Err(MachineError::Impossible { file: file.to_owned(), key, value, must });
            }
        }
        Ok(())
    }
}

impl Size {
    fn lines(self) -> u32 {
        (self.kib * 1024 / 64) as u32
    }

    fn geometry(self) -> Geometry {
        Geometry { sets: self.lines() / self.ways as u32, ways: self.ways }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The one that was measured; the others are the papers'.
    const CALIBRATED: &str = "zen4-2t";

    #[test]
    fn every_machine_that_comes_along_is_one() {
        // Sockets, dies in each, cores on each, cores that share an L2, threads of a core; and all threads.
        for (name, shape, threads) in [
            ("x86-88t", [2, 1, 22, 1, 2], 88),
            ("arm-96t", [2, 2, 24, 1, 1], 96),
            ("arm-32", [1, 1, 32, 2, 1], 32),
            ("arm-160", [2, 1, 80, 1, 1], 160),
            ("x86-40", [4, 1, 10, 1, 1], 40),
            ("x86-4", [2, 1, 2, 1, 1], 4),
            ("vl-16", [1, 1, 16, 1, 1], 16),
            ("vl-256", [1, 8, 32, 1, 1], 256),
            (CALIBRATED, [1, 1, 2, 1, 1], 2),
        ] {
            let machine = Machine::named(name).unwrap_or_else(|error| panic!("{error}"));
            let [sockets, dies, cores, cluster, smt] = shape;
            assert_eq!(
                (machine.topology(), machine.threads()),
                (Topology { sockets, dies, cores, cluster, smt }, threads)
            );
            assert_eq!(machine.name(), name);
            let calibration = machine.calibration();
            let [guessed, fitted] = match name {
                CALIBRATED => ["Guesses: ", "Fitted: "],
                _ => ["Guesses without a source: ", "every figure of this machine is a prediction"],
            };
            assert!(calibration.contains(guessed), "{name} says where its numbers are from");
            assert!(calibration.contains(fitted), "{name} says what was fitted");
        }
        assert_eq!(Machine::names().count(), 9);
    }

    /// What is said about `x86-88t` with `from` replaced by `to`.
    fn refusal(from: &str, to: &str) -> String {
        let text = KNOWN[0].1;
        assert!(text.contains(from), "{from}");
        Machine::parse(&text.replacen(from, to, 1), "mine.toml").unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_is_named() {
        let refused = refusal("mhz =", "mzh =");
        assert!(refused.contains("mine.toml") && refused.contains("mzh") && refused.contains("mhz"), "{refused}");
        let refused = refusal("name = \"x86-88t\"", "name = \" \"");
        assert!(refused.contains("mine.toml") && refused.contains("`name` is empty"), "{refused}");
        let refused = refusal("smt = 2", "smt = 0");
        assert!(refused.contains("cores.smt must be from 1 to 8, not 0"), "{refused}");
        let refused = refusal("per_cluster = 1", "per_cluster = 4");
        assert!(refused.contains("cores.per_cluster must be a divisor of cores.per_die, 22, not 4"), "{refused}");
        let refused = refusal("[latency.other_socket]", "[latency.other_die]");
        assert!(refused.contains("[latency.other_socket] is missing"), "{refused}");
        let refused = refusal("prefetch = \"stride\"", "prefetch = \"magic\"");
        assert!(refused.contains("magic") && refused.contains("next-line"), "{refused}");
        let refused = refusal("l1 = { kib = 32, ways = 8 }", "l1 = { kib = 33, ways = 7 }");
        let words = "cache.l1.ways must be a divisor of the 528 lines of 64 bytes that cache.l1.kib, 33, makes, not 7";
        assert!(refused.contains(words), "{refused}");
        let refused = refusal("l1 = { kib = 32, ways = 8 }", "l1 = { kib = 0, ways = 8 }");
        assert!(refused.contains("cache.l1.kib must be from 1 to 1048576, not 0"), "{refused}");
        // What is no number of that kind is shown in its line, with what it has to be.
        for (from, to, words) in [
            ("sockets = 2", "sockets = -2", "expected usize"),
            ("hold = 85", "hold = 8.5", "expected u64"),
            ("hold = 85", "hold = \"long\"", "expected u64"),
            ("migratory = true", "migratory = 1", "expected a boolean"),
            ("hold = 85", "hold = 85\nhold = 86", "duplicate key"),
        ] {
            let refused = refusal(from, to);
            let line = to.lines().last().unwrap();
            assert!(refused.contains("mine.toml") && refused.contains(line) && refused.contains(words), "{refused}");
        }
        let refused = refusal("hold = 85\n", "");
        assert!(refused.contains("missing field `hold`") && refused.contains("[contention]"), "{refused}");
        let refused = refusal("\n[os]", "\n[system]");
        assert!(refused.contains("unknown field `system`") && refused.contains("`os`"), "{refused}");
        for (from, to, words) in [
            ("llc = 330", "llc = 3", "latency.other_socket.llc must be more than the private caches' 14"),
            ("memory = 420", "memory = 9000000000000000000", "latency.other_socket.memory must be more than"),
            ("kib = 32,", "kib = 5000000000,", "cache.l1.kib must be from 1 to 1048576, not 5000000000"),
            ("l2 = 14", "l2 = 5", "latency.l2 must be more than latency.l1, 5, not 5"),
            ("near_first = 0", "near_first = 5000000", "contention.near_first must be from 0 to 1000000, not 5000000"),
            ("l1 = 5", "l1 = 0", "latency.l1 must be from 1 to 1000000000, not 0"),
            ("pause = 140", "pause = 0", "cost.pause must be from 1 to 1000000000, not 0"),
            ("code_percent = 33", "code_percent = 10001", "cost.code_percent must be from 0 to 10000, not 10001"),
            ("migratory = true", "migratory = false\nreclaims = 33", "cache.reclaims must be from 1 to 32, not 33"),
            (
                "upgrade = 90",
                "upgrade = 90, reclaim = 14",
                "latency.same_die.reclaim must be more than the private caches' 14",
            ),
            ("window = 18", "window = 65537", "window must be from 0 to 65536, not 65537"),
            ("store_buffer = 56", "store_buffer = 65537", "store_buffer must be from 0 to 65536, not 65537"),
            ("hold = 85", "hold = 9000000000000000000", "contention.hold must be from 0 to 1000000000"),
            ("time_slice = 3000000", "time_slice = 0", "os.time_slice must be from 1 to 1000000000000, not 0"),
            ("spawn = 12000", "spawn = 9000000000000000000", "os.spawn must be from 0 to 1000000000000"),
        ] {
            let refused = refusal(from, to);
            assert!(refused.contains(words), "{to}: {refused}");
        }
    }

    #[test]
    fn cycles_and_nanoseconds() {
        let machine = Machine::named("vl-16").unwrap();
        assert_eq!((machine.cycles(100), machine.nanos(200)), (200, 100));
    }
}
