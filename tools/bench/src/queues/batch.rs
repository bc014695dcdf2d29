//! `queues/1p1c-batch`: what a number costs that travels with others.

use serde_json::json;

use super::contenders::*;
#[cfg(thalweg_cpp)]
use super::cpp;
use super::limits::{self, Copies, LARGE, Left, Plain};
use super::one_to_one::{CAPACITY, Slices, in_slices, params, per_item};
use crate::catalogue::optional;
use crate::harness::Role::{self, *};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group};

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "queues/1p1c-batch", plan };

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let items = effort.messages(45_000_000);
    let groups = [
        ("slices of 8", 8, CAPACITY),
        ("slices of 32", 32, CAPACITY),
        ("slices of 128", 128, CAPACITY),
        ("slices of 1024", 1024, CAPACITY),
        ("slices of 8, 32768 entries", 8, LARGE),
        ("slices of 32, 32768 entries", 32, LARGE),
        ("slices of 128, 32768 entries", 128, LARGE),
        ("slices of 1024, 32768 entries", 1024, LARGE),
    ];
    let mut groups = groups.map(|(workload, size, capacity)| {
        let mut contenders = vec![
            through::<Spsc>(Ours, "thalweg `spsc`", items, capacity, size),
            through::<Bbq>(Ours, "thalweg `mpmc`", items, capacity, size),
            through::<Rtrb>(Peer, "rtrb", items, capacity, size),
            through::<Ringbuf>(Peer, "ringbuf", items, capacity, size),
            through::<Disruptor>(Peer, "disruptor", items, capacity, size),
            through::<Copies<Plain>>(Bound, "limit: a bare ring of copies", items, capacity, size),
            through::<Copies<Left>>(Bound, "limit: a bare ring of copies, lines left", items, capacity, size),
        ];
        contenders.extend(limits::streams(items, capacity));
        #[cfg(thalweg_dpdk)]
        contenders.push(through::<Dpdk<{ crate::peers::dpdk::mode::SINGLE }>>(
            Peer,
            "DPDK's ring for one and one",
            items,
            capacity,
            size,
        ));
        #[cfg(thalweg_cpp)]
        contenders.push(cpp::boost_slices(items, capacity, size));
        #[cfg(thalweg_cpp)]
        contenders.push(cpp::moodycamel_slices(items / 4, capacity, size));
        Group::new(workload, &["ns per item"], contenders)
    });
    groups[0].absent.extend([optional::DPDK, optional::CPP].iter().filter_map(|peer| peer.absent()));
    Ok(groups.into())
}

/// Slices of `size` through `Q`.
pub(super) fn through<Q: Slices>(role: Role, name: &str, items: u64, capacity: usize, size: usize) -> Contender {
    let mut given = params(items, Q::room(capacity));
    given["slice"] = json!(size);
    per_item(role, name, given, items, move || in_slices::<Q>(items, capacity, size))
}
