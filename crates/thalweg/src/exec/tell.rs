//! What the counters of a run tell.

use super::{Core, glimpse};
use crate::report::{EdgeReport, End, KernelReport, Report};
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::time::Duration;

/// What happened in a run.
pub(crate) fn report(core: &Core<'_>, wall: Duration, end: End) -> Report {
    let over_workers = |count: &dyn Fn(&super::stats::Row) -> u64| core.rows.iter().map(count).sum::<u64>();
    let empty = |edge: usize| over_workers(&|row| row.edges[edge].empty.get());
    let full = |edge: usize| over_workers(&|row| row.edges[edge].full.get());
    let kernels = core.topology.kernels.iter().enumerate().map(|(kernel, state)| {
        let sum = |count: &dyn Fn(&super::stats::KernelStats) -> u64| {
            core.rows.iter().map(|row| count(&row.kernels[kernel])).sum::<u64>()
        };
        // A window may pop more than there is.
        let given = state.inputs.iter().map(|&edge| core.edges[edge].given_messages()).sum::<u64>();
        KernelReport {
            name: state.name.clone(),
            parallel: state.is_parallel(),
            activations: sum(&|stats| stats.activations.get()),
            messages_in: sum(&|stats| stats.messages.get()).min(given),
            messages_out: state.outputs.iter().map(|&edge| core.edges[edge].given_messages()).sum(),
            busy: glimpse::busy(core, kernel, wall),
            blocked_empty: state.inputs.iter().map(|&edge| empty(edge)).sum(),
            blocked_full: state.outputs.iter().map(|&edge| full(edge)).sum(),
            blocked_ticket: sum(&|stats| stats.ticket.get()),
            blocked_busy: sum(&|stats| stats.busy_elsewhere.get()),
            helps: sum(&|stats| stats.helps.get()),
        }
    });
    let edges = core.edges.iter().enumerate().map(|(number, edge)| {
        let samples = edge.gauge.samples.get();
        EdgeReport {
            from: core.topology.kernels[edge.plan.from].name.clone(),
            to: core.topology.kernels[edge.plan.to].name.clone(),
            ends: (edge.plan.from, edge.plan.to),
            windowed: edge.plan.window.is_some(),
            storage: edge.plan.storage.name(),
            chosen: edge.plan.chosen,
            messages: edge.given_messages(),
            overwritten: edge.gauge.overwritten.get(),
            left_over: if end == End::Cancelled { 0 } else { edge.left_over() },
            grown: edge.gauge.grown.load(Relaxed),
            peak: edge.gauge.peak.get(),
            mean: edge.gauge.sum.get() as f64 / samples.max(1) as f64,
            blocked_empty: empty(number),
            blocked_full: full(number),
        }
    });
    let edges: Vec<_> = edges.collect();
    Report {
        scheme: core.scheme.name(),
        workers: core.rows.len(),
        wall,
        end,
        polls: over_workers(&|row| row.worker.polls.get()),
        yields: over_workers(&|row| row.worker.yields.get()),
        sleeps: over_workers(&|row| row.worker.sleeps.get()),
        dropped: over_workers(&|row| row.worker.lost.get())
            + core.edges.iter().map(|edge| edge.lost()).sum::<u64>()
            + edges.iter().map(|edge| edge.left_over).sum::<u64>(),
        kernels: kernels.collect(),
        edges,
        latencies: glimpse::latencies(core),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[test]
    fn occupancy_is_the_peak_and_the_mean_of_a_look_every_16_blocks() {
        let mut graph = Graph::new();
        let (source, sink) = (graph.source(0..0_u64), graph.sink(|_: u64| ()));
        graph += source >> sink;
        graph.looked_at(Scheme::default(), |core, _| {
            let edge = &core.edges[0];
            for _ in 0..48 {
                edge.pretend(1);
                edge.sample();
            }
            // With 1, 17 and 33 messages in it.
            let report = &report(core, Duration::ZERO, End::Complete).edges[0];
            assert_eq!((edge.gauge.samples.get(), report.peak, report.mean), (3, 33, 17.0));
        });
    }
}
