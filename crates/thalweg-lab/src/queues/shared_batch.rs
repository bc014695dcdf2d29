//! `queues/shared-batch`: batches of 32 through queues for many, used by one and one.

use serde_json::json;

use super::contenders::*;
#[cfg(thalweg_cpp)]
use super::cpp;
use super::one_to_one::{CAPACITY, Slices, in_slices, one_by_one, params, per_item};
use crate::harness::Role::{self, *};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group};
use crate::peers::{self, dpdk};

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment {
    name: "queues/shared-batch",
    what: "queues for many, used by one and one, u64 in batches of 32; peers that take no batches go item by item",
    plan,
};

const BATCH: usize = 32;

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let (items, slow) = (effort.messages(40_000_000), effort.messages(10_000_000));
    let single = |name, items, run: fn(u64, usize) -> _| {
        per_item(Peer, name, params(items, CAPACITY), items, move || run(items, CAPACITY))
    };
    #[cfg_attr(not(any(thalweg_dpdk, thalweg_cpp)), expect(unused_mut, reason = "more with DPDK and C++"))]
    let mut contenders = vec![
        through::<Bbq>(Ours, "thalweg-bbq", items),
        through::<KanalBatches>(Peer, "kanal", slow),
        single("crossbeam-array-queue", slow, one_by_one::<ArrayQueue>),
        single("crossbeam-channel", slow, one_by_one::<CrossbeamChannel>),
        single("concurrent-queue", slow, one_by_one::<ConcurrentQueue>),
        single("crossfire", slow, one_by_one::<Crossfire>),
    ];
    #[cfg(thalweg_dpdk)]
    contenders.extend([
        through::<Dpdk<{ dpdk::mode::MULTI }>>(Peer, "dpdk rte_ring, mp/mc", items),
        through::<Dpdk<{ dpdk::mode::HTS }>>(Peer, "dpdk rte_ring, hts", items),
        through::<Dpdk<{ dpdk::mode::RTS }>>(Peer, "dpdk rte_ring, rts", items),
    ]);
    #[cfg(thalweg_cpp)]
    contenders.push(cpp::moodycamel_slices(slow, CAPACITY, BATCH));
    let mut group = Group::new("batches of 32", &["ns/item"], contenders);
    group.absent.extend([dpdk::PEER, peers::cpp::PEER].iter().filter_map(|peer| peer.absent()));
    Ok(vec![group])
}

fn through<Q: Slices>(role: Role, name: &str, items: u64) -> Contender {
    let mut given = params(items, Q::room(CAPACITY));
    given["slice"] = json!(BATCH);
    per_item(role, name, given, items, move || in_slices::<Q>(items, CAPACITY, BATCH))
}
