//! `queues/shared-batch`: batches of 32 through queues for many, used by one and one.

use super::batch::through;
use super::contenders::*;
#[cfg(thalweg_cpp)]
use super::cpp;
use super::limits::{self, Copies, LARGE, Left, Plain};
use super::one_to_one::{CAPACITY, one_by_one, params, per_item};
use crate::catalogue::optional;
use crate::harness::Role::*;
use crate::harness::{BoxError, Effort, Experiment, Group};

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "queues/shared-batch", plan };

const BATCH: usize = 32;

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let (items, slow) = (effort.messages(40_000_000), effort.messages(10_000_000));
    let single = |name, items, run: fn(u64, usize) -> _| {
        per_item(Peer, name, params(items, CAPACITY), items, move || run(items, CAPACITY))
    };
    let mut contenders = vec![
        through::<Bbq>(Ours, "thalweg `mpmc`", items, CAPACITY, BATCH),
        through::<DisruptorMany>(Peer, "disruptor, many producers", items, CAPACITY, BATCH),
        through::<KanalBatches>(Peer, "kanal", slow, CAPACITY, BATCH),
        single("crossbeam ArrayQueue, item by item", slow, one_by_one::<ArrayQueue>),
        single("crossbeam-channel, item by item", slow, one_by_one::<CrossbeamChannel>),
        single("concurrent-queue, item by item", slow, one_by_one::<ConcurrentQueue>),
        single("crossfire, item by item", slow, one_by_one::<Crossfire>),
        through::<Copies<Plain>>(Bound, "limit: a bare ring of copies", items, CAPACITY, BATCH),
        through::<Copies<Left>>(Bound, "limit: a bare ring of copies, lines left", items, CAPACITY, BATCH),
        through::<Copies<Plain>>(Bound, "limit: a bare ring of copies, 256 KiB", items, LARGE, BATCH),
    ];
    contenders.extend(limits::of_the_cores(items));
    #[cfg(thalweg_dpdk)]
    contenders.extend([
        through::<Dpdk<{ crate::peers::dpdk::mode::MULTI }>>(Peer, "DPDK's ring for many", items, CAPACITY, BATCH),
        through::<Dpdk<{ crate::peers::dpdk::mode::HTS }>>(Peer, "DPDK's ring for many, hts", items, CAPACITY, BATCH),
        through::<Dpdk<{ crate::peers::dpdk::mode::RTS }>>(Peer, "DPDK's ring for many, rts", items, CAPACITY, BATCH),
    ]);
    #[cfg(thalweg_cpp)]
    contenders.push(cpp::moodycamel_slices(slow, CAPACITY, BATCH));
    let mut group = Group::new("batches of 32", &["ns per item"], contenders);
    group.absent.extend([optional::DPDK, optional::CPP].iter().filter_map(|peer| peer.absent()));
    Ok(vec![group])
}
