//! `queues/1p1c-item`: what it costs to hand one number to another core.

use super::contenders::*;
#[cfg(thalweg_cpp)]
use super::cpp;
#[cfg(thalweg_dpdk)]
use super::foreign::{self, SPINS};
use super::limits::{self, ByBlocks, Each, EachLeft, Left, Plain, Prefetched, Stores};
use super::one_to_one::{CAPACITY, Ends, InMemory, one_by_one, params, per_item, there_and_back};
use crate::catalogue::optional;
use crate::harness::Role::{self, *};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group};

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "queues/1p1c-item", plan };

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let (items, slow) = (effort.messages(40_000_000), effort.messages(4_000_000));
    let mut contenders = each_queue!(contender(items, slow));
    contenders.push(through::<SpscWaiting>(Ours, "thalweg `spsc`, ends that wait", items));
    contenders.push(through::<InMemory<Spsc>>(Ours, "thalweg `spsc`, ends in memory", items));
    contenders.push(through::<InMemory<Rtrb>>(Peer, "rtrb, ends in memory", items));
    #[cfg(thalweg_cpp)]
    contenders.extend(cpp::item(items, slow));
    #[cfg(thalweg_dpdk)]
    contenders.push(rte_ring(slow));
    contenders.extend(limits::of_the_cores(items));
    let whole = items.next_multiple_of(ByBlocks::<CAPACITY, Plain>::BLOCK);
    const SEEN: &str = "limit: seen by blocks";
    contenders.push(through::<ByBlocks<CAPACITY, Plain>>(Bound, SEEN, whole));
    contenders.push(through::<ByBlocks<CAPACITY, Prefetched>>(Bound, &format!("{SEEN}, prefetched"), whole));
    contenders.push(through::<ByBlocks<CAPACITY, Left>>(Bound, &format!("{SEEN}, lines left"), whole));
    contenders.push(through::<ByBlocks<CAPACITY, Each>>(Bound, &format!("{SEEN}, each shown"), whole));
    type Shown = ByBlocks<CAPACITY, EachLeft>;
    let shown = format!("{SEEN}, each shown, lines left");
    contenders.push(through::<Shown>(Bound, &shown, whole));
    contenders.push(through::<Stores<1, Shown>>(Bound, &format!("{shown}, one store more"), whole));
    contenders.push(through::<Stores<2, Shown>>(Bound, &format!("{shown}, two stores more"), whole));
    contenders.push(through::<Stores<4, Shown>>(Bound, &format!("{shown}, four stores more"), whole));
    let mut group = Group::new("1P1C, item by item", &["ns per item"], contenders);
    group.absent.extend([optional::DPDK, optional::CPP].iter().filter_map(|peer| peer.absent()));
    Ok(vec![group])
}

fn contender<Q: Ends>(role: Role, name: &str, fast: bool, items: u64, slow: u64) -> Contender {
    through::<Q>(role, name, if fast { items } else { slow })
}

/// Items one by one through `Q`.
pub(super) fn through<Q: Ends>(role: Role, name: &str, items: u64) -> Contender {
    per_item(role, name, params(items, CAPACITY), items, move || one_by_one::<Q>(items, CAPACITY))
}

/// Items one by one through DPDK's ring, in loops in C.
#[cfg(thalweg_dpdk)]
fn rte_ring(items: u64) -> Contender {
    type Queue = Dpdk<{ crate::peers::dpdk::mode::SINGLE }>;
    per_item(Peer, "DPDK's ring for one and one", params(items, Queue::room(CAPACITY)), items, move || {
        let (tx, rx) = Queue::build(CAPACITY);
        foreign::one_by_one(
            items,
            move |next| tx.push_each(next, items, SPINS),
            move |received, most| rx.pop_each(received, most, SPINS),
        )
    })
}

/// A round trip over two queues `Q`.
pub(super) fn trip<Q: Ends>(role: Role, name: &str, trips: u64) -> Contender {
    per_item(role, name, params(trips, CAPACITY), trips, move || there_and_back::<Q>(trips))
}
