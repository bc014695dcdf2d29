//! What a run lets be seen while it goes on.

use super::stats::{At, KernelStats, Row};
use super::{Core, Post};
use crate::kernel::Why;
use crate::observe::{
    Crew, Demand, Doing, EdgeSnapshot, KernelSnapshot, Kind, Latency, Observed, Snapshot, Trace, WorkerSnapshot,
    WorkerState,
};
use crate::report::End;
use crate::topology;
use thalweg_sync::atomic::Ordering::{Relaxed, Release};
use thalweg_sync::time::{Duration, Instant};

/// A run, and when it began.
pub(super) struct Glimpse<'a, 'r> {
    pub(super) core: &'a Core<'r>,
    pub(super) start: Instant,
}

impl Observed for Glimpse<'_, '_> {
    fn snapshot(&self) -> Snapshot {
        // The clock first: what is counted after that makes rates a little too high, never a time that runs backwards.
        let time = self.start.elapsed();
        snapshot(self.core, time, None)
    }

    fn crew(&self) -> Option<Crew> {
        let asked = self.core.target.load(Relaxed);
        self.core.least().map(|least| Crew { asked, least })
    }

    fn let_work(&self, workers: usize) {
        // Release, as where the scheme sets it.
        self.core.target.store(workers, Release);
        self.core.bench.call();
        // Who may not work any more may be asleep at work: it goes to the bench, so that nobody rings for it in vain.
        self.core.control.bell.ring_all();
    }

    fn demand(&self) -> Demand {
        demand(self.core)
    }
}

/// What could be used now: by the workers that are at work, for what is ready and nobody is at, and for what waits in inlets. No more than there are.
fn demand(core: &Core<'_>) -> Demand {
    let works = core.rows.iter().filter(|row| row.worker.in_code.load(Relaxed)).count();
    let busy: u64 = core.rows.iter().map(|row| row.worker.busy.get()).sum();
    let (mut could, mut work) = (works, 0_u64);
    for (kernel, facts) in core.topology.kernels.iter().enumerate().filter(|&(kernel, _)| core.is_ready(kernel)) {
        let blocks = facts.inputs.iter().map(|&edge| core.edges[edge].backlog()).sum::<u64>().max(1);
        // Of a sequential kernel one worker at a time sees to all of them.
        could += if facts.is_parallel() { blocks as usize } else { 1 };
        work = work.saturating_add(blocks.saturating_mul(core.seats[kernel].pace.block_time.load(Relaxed)));
    }
    let kernels = &core.topology.kernels;
    let waiting: usize = core.seats.iter().filter_map(|seat| seat.outside).map(|outside| outside.waiting()).sum();
    if waiting > 0 {
        // Edges hold little of what has come. What one more will take is known by those before it: the time of all kernels for each message of a source.
        let sources = kernels.iter().filter(|kernel| kernel.inputs.is_empty()).flat_map(|kernel| &kernel.outputs);
        let given: u64 = sources.map(|&edge| core.edges[edge].given_messages()).sum();
        work = work.saturating_add((waiting as u64).saturating_mul(busy / given.max(1)));
        if kernels.iter().any(|kernel| kernel.is_parallel()) {
            could += waiting;
        }
    }
    Demand { works, could: could.min(core.rows.len()), work, busy }
}

/// The counters of a run, after `time`.
pub(super) fn snapshot(core: &Core<'_>, time: Duration, end: Option<End>) -> Snapshot {
    let edges: Vec<_> = (0..core.edges.len()).map(|edge| edge_snapshot(core, edge)).collect();
    let sum = |count: &dyn Fn(&Row) -> u64| core.rows.iter().map(count).sum::<u64>();
    let left_over = if end.is_none_or(|end| end == End::Cancelled) {
        0
    } else {
        core.edges.iter().map(|edge| edge.left_over()).sum()
    };
    Snapshot {
        run: 0,
        time,
        end,
        scheme: core.scheme.name().to_owned(),
        working: core.places().min(core.rows.len()),
        decisions: sum(&|row| row.worker.decisions.get()),
        dropped: sum(&|row| row.worker.lost.get()) + core.edges.iter().map(|edge| edge.lost()).sum::<u64>() + left_over,
        kernels: (0..core.seats.len()).map(|kernel| kernel_snapshot(core, kernel, time, end.is_some())).collect(),
        edges,
        workers: core.rows.iter().map(worker_snapshot).collect(),
        latencies: latencies(core),
    }
}

/// What was sampled of the latencies that were asked for.
pub(super) fn latencies(core: &Core<'_>) -> Vec<Latency> {
    core.probes.as_ref().map_or_else(Vec::new, |probes| probes.latencies())
}

/// What the workers did, of a run that is over.
pub(super) fn trace(core: &Core<'_>, start: Instant) -> Trace {
    let mut trace = Trace {
        kernels: core.topology.kernels.iter().map(|facts| facts.name.clone()).collect(),
        edges: core.topology.edges.iter().map(|facts| (facts.from, facts.to)).collect(),
        workers: core.rows.len(),
        latencies: core.probes.as_ref().map_or_else(Vec::new, |probes| probes.pairs()),
        ..Trace::default()
    };
    for (worker, row) in core.rows.iter().enumerate() {
        if let Some(ring) = &row.ring {
            let (events, lost) = ring.events(worker, start.as_nanos());
            trace.events.extend(events);
            trace.lost += lost;
        }
    }
    trace
}

/// The time in a kernel's code after `time` of the run. It is extrapolated, and no more than there was.
pub(super) fn busy(core: &Core<'_>, kernel: usize, time: Duration) -> Duration {
    let counted = core.rows.iter().map(|row| row.kernels[kernel].busy.get()).sum();
    let most = match &core.seats[kernel].post {
        Post::One(_) => 1,
        Post::Many(_) => core.rows.len() as u32,
    };
    Duration::from_nanos(counted).min(time.saturating_mul(most))
}

fn kernel_snapshot(core: &Core<'_>, kernel: usize, time: Duration, is_over: bool) -> KernelSnapshot {
    let (seat, facts) = (&core.seats[kernel], &core.topology.kernels[kernel]);
    let sum =
        |count: &dyn Fn(&KernelStats) -> u64| core.rows.iter().map(|row| count(&row.kernels[kernel])).sum::<u64>();
    let given = |edges: &[usize]| edges.iter().map(|&edge| core.edges[edge].given_messages()).sum::<u64>();
    let at = |edges: &[usize], count: &dyn Fn(&Row, usize) -> u64| {
        edges.iter().map(|&edge| core.rows.iter().map(|row| count(row, edge)).sum::<u64>()).sum::<u64>()
    };
    // The taking side first: it is no more than what was given then.
    let messages_in = sum(&|stats| stats.messages.get());
    let workers = match &seat.post {
        Post::One(_) => usize::from(seat.is_busy()),
        Post::Many(_) => seat.in_flight.load(Relaxed),
    };
    KernelSnapshot {
        name: facts.name.clone(),
        kind: match facts.kind {
            topology::Kind::Source { outside: false } => Kind::Source,
            topology::Kind::Source { outside: true } => Kind::Inlet,
            topology::Kind::Sequential => Kind::Sequential,
            topology::Kind::Parallel => Kind::Parallel,
            topology::Kind::Ported => Kind::Ported,
        },
        doing: if seat.done.load(Relaxed) {
            Doing::Done
        } else if workers > 0 {
            Doing::Runs
        } else if is_over {
            // Cancelled: nobody comes back to it.
            Doing::Ready
        } else {
            match core.look(kernel) {
                None | Some(Why::More) => Doing::Ready,
                Some(Why::Empty(edge)) => Doing::Empty(edge),
                Some(Why::Full(edge)) => Doing::Full(edge),
                Some(Why::Waiting) => Doing::Ticket,
                Some(Why::Pending) => Doing::Pending,
                Some(Why::Done) => Doing::Done,
            }
        },
        workers,
        activations: sum(&|stats| stats.activations.get()),
        messages_in: messages_in.min(given(&facts.inputs)),
        messages_out: given(&facts.outputs),
        busy: busy(core, kernel, time),
        block_time: Duration::from_nanos(seat.pace.block_time.load(Relaxed)),
        blocked_empty: at(&facts.inputs, &|row, edge| row.edges[edge].empty.get()),
        blocked_full: at(&facts.outputs, &|row, edge| row.edges[edge].full.get()),
        blocked_ticket: sum(&|stats| stats.ticket.get()),
        blocked_busy: sum(&|stats| stats.busy_elsewhere.get()),
        blocked_pending: sum(&|stats| stats.pending.get()),
        helps: sum(&|stats| stats.helps.get()),
    }
}

fn edge_snapshot(core: &Core<'_>, number: usize) -> EdgeSnapshot {
    let edge = &core.edges[number];
    let (most, most_blocks) = edge.bounds();
    EdgeSnapshot {
        ends: (edge.plan.from, edge.plan.to),
        storage: edge.plan.storage.name().to_owned(),
        messages: edge.given_messages(),
        message_bytes: edge.plan.message_bytes,
        holds: edge.unused_messages() as u64,
        blocks: edge.backlog(),
        most,
        most_blocks,
        // What is unbounded is divided by the largest number that there is.
        fill: f64::from(edge.fill()),
        grown: edge.gauge.grown.load(Relaxed),
        peak: edge.gauge.peak.get(),
        blocked_empty: core.rows.iter().map(|row| row.edges[number].empty.get()).sum(),
        blocked_full: core.rows.iter().map(|row| row.edges[number].full.get()).sum(),
    }
}

fn worker_snapshot(row: &Row) -> WorkerSnapshot {
    let stats = &row.worker;
    WorkerSnapshot {
        state: match At::from_number(stats.at.get()) {
            At::Kernel(kernel) if stats.in_code.load(Relaxed) => WorkerState::Runs(kernel),
            At::Kernel(_) | At::Looks => WorkerState::Looks,
            At::Sleeps => WorkerState::Sleeps,
            At::Bench => WorkerState::Bench,
            At::Off => WorkerState::Off,
        },
        idle: Duration::from_nanos(stats.idle.get()),
        polls: stats.polls.get(),
        yields: stats.yields.get(),
        sleeps: stats.sleeps.get(),
    }
}
