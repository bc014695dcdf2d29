//! What a run tells.

use crate::counts::{Cost, Counts};
use crate::notes::Latencies;
use crate::source::Sources;
use crate::threads::State;
use crate::trace::Trace;
use serde::Serialize;
use std::cmp::Reverse;
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
    #[serde(serialize_with = "Counts::with_sums")]
    pub counts: Counts,
    /// The threads of the program, in the order in which they were started.
    pub per_thread: Vec<ThreadReport>,
    /// What threads said they do, the longest first: of a graph, its kernels.
    pub tasks: Vec<TaskReport>,
    /// How long messages took that carried a [`Stamp`](crate::Stamp).
    pub latencies: Option<Latencies>,
    /// The places in the source whose misses cost most, the worst first.
    pub sites: Vec<SiteReport>,
    /// The same by what was accessed there, the fields of a queue, say: all places together.
    pub fields: Vec<FieldReport>,
    /// The lines that were missed most, the worst first.
    pub lines: Vec<LineReport>,
    /// What happened when, if [asked for](crate::Simulation::trace).
    #[serde(skip)]
    pub trace: Option<Trace>,
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
    /// Nanoseconds in which it was ready, and others had its hardware thread.
    pub wanting: u64,
    /// Its accesses to lines.
    pub accesses: u64,
}

/// What was done under a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TaskReport {
    /// The name.
    pub name: String,
    /// How many times.
    pub times: u64,
    /// How long in all, in nanoseconds, without other tasks within it.
    pub nanos: u64,
}

/// What the misses from one place in the source cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SiteReport {
    /// File, line and column.
    pub site: String,
    /// What they cost.
    #[serde(flatten, serialize_with = "Cost::with_sums")]
    pub cost: Cost,
}

/// What the misses of one field cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FieldReport {
    /// The file, and what is accessed there, if the file could be read; else the file and the line.
    pub name: String,
    /// What they cost.
    #[serde(flatten, serialize_with = "Cost::with_sums")]
    pub cost: Cost,
}

/// What the misses of one line cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LineReport {
    /// The number of the line, in the order of the run.
    pub line: u32,
    /// What was accessed there, as in [`FieldReport`], the worst first.
    pub fields: Vec<String>,
    /// What they cost.
    #[serde(flatten, serialize_with = "Cost::with_sums")]
    pub cost: Cost,
    /// Where it was missed, the worst first.
    pub sites: Vec<SiteReport>,
}

impl Report {
    pub(crate) fn new(state: &mut State, seed: u64) -> Self {
        let notes = std::mem::take(&mut state.notes);
        let state = &*state;
        let machine = &state.machine;
        let nanos = |cycles| machine.nanos(cycles);
        let mut sources = Sources::default();
        let names: Vec<String> = state.misses.sites.iter().map(|(site, _)| sources.name(site)).collect();
        let sites = || {
            state.misses.sites.iter().enumerate().map(|(number, (_, cost))| {
                // None where hits are counted is a count too.
                let hits = notes.hits.then(|| cost.hits.unwrap_or(0));
                (number as u32, Cost { hits, ..*cost })
            })
        };
        let site_of = |number: u32| state.misses.sites[number as usize].0.to_string();
        let name_of = |number: u32| names[number as usize].clone();
        let by_site = |costs: &mut dyn Iterator<Item = (u32, Cost)>| -> Vec<SiteReport> {
            summed(costs.map(|(number, cost)| (site_of(number), cost)), &nanos)
                .into_iter()
                .map(|(site, cost)| SiteReport { site, cost })
                .collect()
        };
        let mut lines: Vec<_> = (state.misses.hot.iter())
            .map(|hot| {
                let mut cost = Cost::default();
                hot.sites.iter().for_each(|(_, part)| cost.add(part));
                cost.nanos = nanos(cost.nanos);
                let fields = summed(hot.sites.iter().map(|&(number, cost)| (name_of(number), cost)), &nanos);
                LineReport {
                    line: hot.line,
                    fields: fields.into_iter().map(|(name, _)| name).collect(),
                    cost,
                    sites: by_site(&mut hot.sites.iter().copied()),
                }
            })
            .collect();
        lines.sort_by_key(|line| (Reverse(line.cost.nanos), line.line));
        lines.truncate(TOP);
        // One that only has a price was not done.
        let mut tasks: Vec<_> = (notes.tasks.iter().filter(|task| task.times > 0))
            .map(|task| TaskReport { name: task.name.clone(), times: task.times, nanos: nanos(task.cycles) })
            .collect();
        tasks.sort_by_key(|task| Reverse(task.nanos));
        let fields = summed(sites().map(|(number, cost)| (name_of(number), cost)), &nanos);
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
                    wanting: nanos(thread.times.wanting),
                    accesses: thread.times.accesses,
                })
                .collect(),
            tasks,
            latencies: Latencies::of(notes.latencies, nanos),
            sites: by_site(&mut sites()),
            fields: fields.into_iter().map(|(name, cost)| FieldReport { name, cost }).collect(),
            lines,
            trace: notes
                .trace
                .map(|trace| trace.finish(machine, notes.tasks.into_iter().map(|task| task.name).collect())),
        }
    }

    /// The report as JSON, indented.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report has nothing that JSON lacks")
    }
}

/// Costs by name, the worst first, no more than [`TOP`]. One place may have several numbers: generic code has a copy
/// each.
fn summed(costs: impl Iterator<Item = (String, Cost)>, nanos: &dyn Fn(u64) -> u64) -> Vec<(String, Cost)> {
    let mut sums: BTreeMap<String, Cost> = BTreeMap::new();
    costs.for_each(|(name, cost)| sums.entry(name).or_default().add(&cost));
    let mut sums: Vec<_> = sums.into_iter().filter(|(_, cost)| !cost.is_zero()).collect();
    sums.iter_mut().for_each(|(_, cost)| cost.nanos = nanos(cost.nanos));
    // Stable: equal costs stay in the order of their names.
    sums.sort_by_key(|(_, cost)| Reverse((cost.nanos, cost.misses)));
    sums.truncate(TOP);
    sums
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { accesses, l1_hits, late_hits, l2_hits, sibling_hits, .. } = self.counts;
        let counts = &self.counts;
        writeln!(f, "{}, {} hardware threads, seed {}: {} ns", self.machine, self.threads, self.seed, self.nanos)?;
        if self.layout == Layout::Host {
            writeln!(f, "the host's allocator decides which small objects share a line (see Heap)")?;
        }
        let share = |n: u64| format!("{:.1} %", 100.0 * n as f64 / accesses.max(1) as f64);
        writeln!(f, "\n{:24}{:>14}{:>10}", "accesses", accesses, "")?;
        for (name, n) in [
            ("first level", l1_hits),
            ("fetched ahead, too late", late_hits),
            ("second level", l2_hits),
            ("a sibling's cache", sibling_hits),
            ("last level", counts.llc_hits.total()),
            ("another core's cache", counts.cache_transfers.total()),
            ("upgrades", counts.upgrades.total()),
            ("memory", counts.memory_reads.total()),
        ] {
            writeln!(f, "  {name:24}{n:>12}{:>10}", share(n))?;
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
            ("fetched ahead", counts.prefetches.total()),
            ("  from another core's", counts.prefetches.transfers),
            ("  from memory", counts.prefetches.memory_reads),
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
        for TaskReport { name, times, nanos } in self.tasks.iter().take(8) {
            writeln!(f, "  {name:22}{nanos:>14}{:>10}  in {times} activations", part(*nanos))?;
        }
        if let Some(Latencies { count, p50, p90, p99, p999, max, .. }) = self.latencies {
            writeln!(f, "\nlatency of {count} messages, ns: p50 {p50}, p90 {p90}, p99 {p99}, p99.9 {p999}, max {max}")?;
        }
        let columns = ["misses", "last level", "transfers", "upgrades", "memory", "invalidated", "snoops"];
        let head = columns.map(|column| format!("{column:>12}")).concat() + &format!("{:>14}", "ns");
        let row = |cost: &Cost| {
            let Cost { misses, last_level, transfers, upgrades, invalidations, nanos, .. } = *cost;
            let memory = cost.memory_transactions();
            let counts = [misses, last_level, transfers, upgrades, memory, invalidations, cost.snoops()];
            counts.map(|count| format!("{count:>12}")).concat() + &format!("{nanos:>14}")
        };
        if !self.fields.is_empty() {
            writeln!(f, "\n{head}  what was missed")?;
        }
        for FieldReport { name, cost } in self.fields.iter().take(8) {
            let hits = cost.hits.map_or_else(String::new, |hits| format!(", {hits} hits"));
            writeln!(f, "{}  {name}{hits}", row(cost))?;
        }
        if !self.lines.is_empty() {
            writeln!(f, "\n{head}  contended lines")?;
        }
        for LineReport { line, fields, cost, sites, .. } in self.lines.iter().take(5) {
            let sites: Vec<_> = sites.iter().take(3).map(|site| site.site.as_str()).collect();
            let fields: Vec<_> = fields.iter().take(3).map(String::as_str).collect();
            writeln!(f, "{}  line {line}: {} ({})", row(cost), fields.join(", "), sites.join(", "))?;
        }
        Ok(())
    }
}
