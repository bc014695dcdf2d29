//! What a run tells.

use crate::counts::{Cost, Counts};
use crate::threads::State;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// How many sites and lines a report has at most.
const TOP: usize = 16;

/// Where the host's memory decides, and where it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// The program uses [`Heap`](crate::Heap): the same program, machine and seed give the same numbers everywhere.
    Modelled,
    /// It does not: the host's allocator decides which small objects share a line.
    Host,
}

/// What a run took and did. Equal for equal programs, machines and seeds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The machine.
    pub machine: String,
    /// How many of its hardware threads the program could use.
    pub threads: usize,
    /// The seed.
    pub seed: u64,
    /// Whether the host's allocator has a say.
    pub layout: Layout,
    /// From the start to the end of the last thread, in nanoseconds.
    pub nanos: u64,
    /// The same in cycles.
    pub cycles: u64,
    /// What all threads together did.
    pub counts: Counts,
    /// The threads of the program, in the order in which they were started.
    pub per_thread: Vec<ThreadReport>,
    /// The places in the source whose misses cost most, the worst first.
    pub sites: Vec<SiteReport>,
    /// The lines that were missed most, the worst first.
    pub lines: Vec<LineReport>,
}

/// What a thread did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ThreadReport {
    /// When it started, in nanoseconds.
    pub started: u64,
    /// When it ended.
    pub ended: u64,
    /// Nanoseconds in which it waited for memory.
    pub stalled: u64,
    /// Nanoseconds in which it spun until something changed.
    pub spinning: u64,
    /// Nanoseconds in which it was parked, joined or slept.
    pub off: u64,
    /// Its accesses to lines.
    pub accesses: u64,
}

/// What the misses from one place in the source cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SiteReport {
    /// File, line and column.
    pub site: String,
    /// Accesses that a private cache could not answer.
    pub misses: u64,
    /// Copies that others lost by them.
    pub invalidations: u64,
    /// Nanoseconds that threads waited for them.
    pub nanos: u64,
}

/// What the misses of one line cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LineReport {
    /// The number of the line, in the order of the run.
    pub line: u32,
    /// Accesses that a private cache could not answer.
    pub misses: u64,
    /// Copies that were lost.
    pub invalidations: u64,
    /// Nanoseconds that threads waited for it.
    pub nanos: u64,
    /// Where it was missed, the worst first.
    pub sites: Vec<SiteReport>,
}

impl Report {
    pub(crate) fn new(state: &State, seed: u64) -> Self {
        let machine = &state.machine;
        let nanos = |cycles| machine.nanos(cycles);
        let sites = &state.misses.sites;
        let site_of = |number: u32| sites[number as usize].0.to_string();
        let mut lines: Vec<_> = (state.misses.hot.iter())
            .map(|hot| {
                let mut sum = Cost::default();
                hot.sites.iter().for_each(|(_, cost)| sum.add(*cost));
                LineReport {
                    line: hot.line,
                    misses: sum.misses,
                    invalidations: sum.invalidations,
                    nanos: nanos(sum.cycles),
                    sites: by_site(hot.sites.iter().map(|&(number, cost)| (site_of(number), cost)), &nanos),
                }
            })
            .collect();
        lines.sort_by_key(|line| (std::cmp::Reverse(line.nanos), line.line));
        lines.truncate(TOP);
        Self {
            machine: machine.name().to_owned(),
            threads: state.parallelism,
            seed,
            layout: if crate::heap::is_in_use() { Layout::Modelled } else { Layout::Host },
            nanos: nanos(state.latest()),
            cycles: state.latest(),
            counts: state.counts,
            per_thread: (state.threads.iter())
                .map(|thread| ThreadReport {
                    started: nanos(thread.times.started),
                    ended: nanos(thread.clock),
                    stalled: nanos(thread.times.stalled),
                    spinning: nanos(thread.times.spinning),
                    off: nanos(thread.times.off),
                    accesses: thread.times.accesses,
                })
                .collect(),
            sites: by_site(sites.iter().map(|(site, cost)| (site.to_string(), *cost)), &nanos),
            lines,
        }
    }

    /// The report as JSON, indented.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report has nothing that JSON lacks")
    }
}

/// Costs by place in the source, the worst first. One place may have several numbers: generic code has a copy each.
fn by_site(costs: impl Iterator<Item = (String, Cost)>, nanos: &dyn Fn(u64) -> u64) -> Vec<SiteReport> {
    let mut sums: BTreeMap<String, Cost> = BTreeMap::new();
    costs.for_each(|(site, cost)| sums.entry(site).or_default().add(cost));
    let mut reports: Vec<_> = (sums.into_iter())
        .map(|(site, cost)| SiteReport {
            site,
            misses: cost.misses,
            invalidations: cost.invalidations,
            nanos: nanos(cost.cycles),
        })
        .collect();
    // Stable: places with equal costs stay in the order of their names.
    reports.sort_by_key(|site| std::cmp::Reverse((site.nanos, site.misses)));
    reports.truncate(TOP);
    reports
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { accesses, l1_hits, l2_hits, sibling_hits, .. } = self.counts;
        let counts = &self.counts;
        writeln!(f, "{}, {} hardware threads, seed {}: {} ns", self.machine, self.threads, self.seed, self.nanos)?;
        if self.layout == Layout::Host {
            writeln!(f, "the host's allocator decides which small objects share a line (see Heap)")?;
        }
        let share = |n: u64| format!("{:.1} %", 100.0 * n as f64 / accesses.max(1) as f64);
        writeln!(f, "\n{:24}{:>14}{:>10}", "accesses", accesses, "")?;
        for (name, n) in [
            ("first level", l1_hits),
            ("second level", l2_hits),
            ("a sibling's cache", sibling_hits),
            ("last level", counts.llc_hits.total()),
            ("another core's cache", counts.cache_transfers.total()),
            ("upgrades", counts.upgrades.total()),
            ("memory", counts.memory_reads.total()),
        ] {
            writeln!(f, "  {name:22}{n:>14}{:>10}", share(n))?;
        }
        let far = |name: &str| format!("  of these {name}");
        let beyond = [counts.llc_hits, counts.cache_transfers, counts.upgrades, counts.memory_reads];
        let other_dies = beyond.iter().map(|kind| kind.other_die).sum::<u64>();
        let other_sockets = beyond.iter().map(|kind| kind.other_socket).sum::<u64>();
        writeln!(f, "{:24}{other_dies:>14}{:>10}", far("other dies"), share(other_dies))?;
        writeln!(f, "{:24}{other_sockets:>14}{:>10}", far("other sockets"), share(other_sockets))?;
        for (name, n) in [
            ("invalidations", counts.invalidations),
            ("snoops", counts.snoops()),
            ("memory transactions", counts.memory_transactions()),
            ("fetched ahead", counts.prefetches),
            ("  and used", counts.prefetches_used),
        ] {
            writeln!(f, "{name:24}{n:>14}")?;
        }
        let total: u64 = self.per_thread.iter().map(|thread| thread.ended - thread.started).sum();
        let part = |n: u64| format!("{:.1} %", 100.0 * n as f64 / total.max(1) as f64);
        let sum = |of: fn(&ThreadReport) -> u64| self.per_thread.iter().map(of).sum::<u64>();
        writeln!(f, "\n{:24}{total:>14} ns in {} threads", "time", self.per_thread.len())?;
        for (name, n) in [
            ("  waiting for memory", sum(|thread| thread.stalled)),
            ("  spinning", sum(|thread| thread.spinning)),
            ("  asleep", sum(|thread| thread.off)),
        ] {
            writeln!(f, "{name:24}{n:>14}{:>10}", part(n))?;
        }
        if !self.sites.is_empty() {
            writeln!(f, "\n{:>12}{:>12}{:>14}  misses by place in the source", "misses", "invalidated", "ns")?;
        }
        for SiteReport { site, misses, invalidations, nanos } in self.sites.iter().take(8) {
            writeln!(f, "{misses:>12}{invalidations:>12}{nanos:>14}  {site}")?;
        }
        if !self.lines.is_empty() {
            writeln!(f, "\n{:>12}{:>12}{:>14}  contended lines", "misses", "invalidated", "ns")?;
        }
        for line in self.lines.iter().take(5) {
            let LineReport { line, misses, invalidations, nanos, sites } = line;
            let sites: Vec<_> = sites.iter().take(3).map(|site| site.site.as_str()).collect();
            writeln!(f, "{misses:>12}{invalidations:>12}{nanos:>14}  line {line}: {}", sites.join(", "))?;
        }
        Ok(())
    }
}
