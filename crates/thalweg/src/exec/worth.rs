//! How many workers the work that is there is worth, as a guess by what blocks and messages took so far. What it led to is measured [later](super::elastic).

use super::Core;
use crate::topology::KernelFacts;
use thalweg_sync::atomic::Ordering::*;

/// A block that takes less, in nanoseconds, is not worth a worker before that was measured: much of the time would go into its way to another core.
pub(super) const WORTH_MOVING: u64 = 10_000;
/// So many nanoseconds of shorter blocks of several kernels are: who runs neighbours in a chain gets a block once for all of them.
pub(super) const WORTH_SHARING: u64 = 4_000;

/// How many parts of the work that is there now are worth a worker of their own, beyond the `target` that there are: each long block that waits, each
/// block of a parallel kernel that waits, and what [chains](shares) can be cut into.
pub(super) fn worth(core: &Core<'_>, target: usize) -> usize {
    let most = useful(core);
    let of_kernel = |kernel: usize| {
        let facts = &core.topology.kernels[kernel];
        if core.seats[kernel].pace.block_time.load(Relaxed) < worth_moving(facts) || !core.is_ready(kernel) {
            return 0;
        }
        if !facts.is_parallel() {
            return 1;
        }
        let blocks = |edges: &[usize]| edges.iter().map(|&edge| core.edges[edge].backlog() as usize).sum::<usize>();
        // What takes its results is behind already: more of them would wait there.
        let waiting = if blocks(&facts.outputs) > target { 0 } else { blocks(&facts.inputs) };
        waiting.min(most.saturating_sub(target))
    };
    (0..core.seats.len()).map(of_kernel).sum::<usize>() + shares(core).saturating_sub(target)
}

/// How many workers have something to do in the long run: all go as fast as the kernel that takes longest of those that are not parallel, and this is by how
/// much all work so far is more than its, with what has been sent to it.
fn useful(core: &Core<'_>) -> usize {
    let (mut all, mut longest) = (0.0, 0.0_f64);
    for (kernel, facts) in core.topology.kernels.iter().enumerate() {
        let (messages, busy) = totals(core, kernel);
        let sent: u64 = facts.inputs.iter().map(|&edge| core.edges[edge].sent_messages()).sum();
        let due = if facts.is_parallel() || facts.is_source() {
            busy as f64
        } else {
            busy as f64 * sent as f64 / messages.max(1) as f64
        };
        all += due;
        longest = longest.max(if facts.is_parallel() { 0.0 } else { due });
    }
    if longest > 0.0 { (all / longest).ceil() as usize } else { usize::MAX }
}

/// Into how many shares that are worth a worker the kernels that are not parallel can be cut, if there is anything to do. They need not wait: with one
/// worker that follows a block through all of them, none does but the source. All go as fast as the slowest of them at most.
fn shares(core: &Core<'_>) -> usize {
    let (mut all, mut longest, mut waits) = (0, 0, false);
    for (kernel, seat) in core.seats.iter().enumerate() {
        let (facts, block) = (&core.topology.kernels[kernel], seat.pace.block_time.load(Relaxed));
        waits = waits || core.is_ready(kernel);
        if !facts.is_parallel() && !seat.done.load(Relaxed) {
            (all, longest) = (all + block, longest.max(block));
        }
    }
    if waits { (all / WORTH_SHARING.max(longest)) as usize } else { 0 }
}

/// How long a block of a kernel takes at least that is worth a worker. A kernel that was declared parallel is believed to be worth it.
fn worth_moving(facts: &KernelFacts) -> u64 {
    if facts.is_parallel() { WORTH_MOVING / 8 } else { WORTH_MOVING }
}

/// Messages of a kernel since the run began, and the nanoseconds they took.
pub(super) fn totals(core: &Core<'_>, kernel: usize) -> (u64, u64) {
    let stats = core.rows.iter().map(|row| &row.kernels[kernel]);
    let sent: u64 = core.topology.kernels[kernel].outputs.iter().map(|&edge| core.edges[edge].sent_messages()).sum();
    let (messages, busy) = stats.fold((0, 0), |(m, b), stats| (m + stats.messages.get(), b + stats.busy.get()));
    (if core.topology.kernels[kernel].is_source() { sent } else { messages }, busy)
}

#[cfg(test)]
mod tests {
    use crate::exec::worker::Worker;
    use crate::prelude::*;

    /// How many workers are useful to a source, a kernel and a sink whose messages took so many nanoseconds, if each has had so many of those that were sent.
    fn useful(parallel: bool, nanos: [u64; 3], taken: u64, sent: u64) -> usize {
        let mut graph = Graph::new();
        let (source, sink) = (graph.source(0..0_u64), graph.sink(|_: u64| ()));
        let kernel = if parallel { graph.parallel_map(|x: u64| x) } else { graph.map(|x: u64| x) };
        graph += source >> kernel >> sink;
        graph.looked_at(Scheme::default(), |core, _| {
            core.edges.iter().for_each(|edge| edge.pretend(sent));
            let worker = Worker::new(core, 0);
            for (kernel, nanos) in [0, 2, 1].into_iter().zip(nanos) {
                let stats = &worker.row.kernels[kernel];
                stats.messages.add(taken);
                stats.busy.add(nanos * if kernel == 0 { sent } else { taken });
            }
            super::useful(core)
        })
    }

    #[test]
    fn no_more_are_useful_than_keep_the_slowest_of_those_that_are_not_parallel_busy() {
        assert_eq!(useful(true, [100, 6_000, 400], 80, 80), 17);
        assert_eq!(
            useful(true, [100, 6_000, 400], 40, 80),
            9,
            "half the work is still to be done, the sink's is known"
        );
        assert_eq!(useful(false, [100, 6_000, 400], 80, 80), 2);
        assert_eq!(useful(true, [0, 0, 0], 0, 0), usize::MAX, "nothing is known");
    }
}
