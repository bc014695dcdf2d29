//! `queues/1p1c-item`: what it costs to hand one number to another core, and to get it back.

use super::contenders::*;
use super::limits;
use super::one_to_one::{CAPACITY, Ends, one_by_one, params, per_item, there_and_back};
use crate::harness::Role::{self, *};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group};

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment {
    name: "queues/1p1c-item",
    what: "one producer, one consumer, u64 one by one through 4096 entries; and a round trip over two queues",
    plan,
};

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let (items, slow) = (effort.messages(40_000_000), effort.messages(4_000_000));
    let trips = effort.messages(400_000);
    let given = params(items, CAPACITY);
    let stream = vec![
        through::<Spsc>(Ours, "thalweg-bbq-spsc", items),
        through::<FastForward>(Ours, "thalweg-fast-forward", items),
        per_item(Bound, "plain", given.clone(), items, move || limits::stream(items, CAPACITY, false)),
        per_item(Bound, "prefetched", given, items, move || limits::stream(items, CAPACITY, true)),
        through::<Rtrb>(Peer, "rtrb", items),
        through::<Ringbuf>(Peer, "ringbuf", items),
        through::<ArrayQueue>(Peer, "crossbeam-array-queue", slow),
        through::<CrossbeamChannel>(Peer, "crossbeam-channel", slow),
        through::<ConcurrentQueue>(Peer, "concurrent-queue", slow),
        through::<Thingbuf>(Peer, "thingbuf", slow),
        through::<Crossfire>(Peer, "crossfire", slow),
        through::<Kanal>(Peer, "kanal", slow),
        through::<Flume>(Peer, "flume", slow),
    ];
    let answers = vec![
        trip::<Spsc>(Ours, "thalweg-bbq-spsc", trips),
        trip::<FastForward>(Ours, "thalweg-fast-forward", trips),
        per_item(Bound, "two-lines", params(trips, 1), trips, move || limits::two_lines(trips)),
        trip::<Rtrb>(Peer, "rtrb", trips),
        trip::<Ringbuf>(Peer, "ringbuf", trips),
        trip::<ArrayQueue>(Peer, "crossbeam-array-queue", trips),
    ];
    Ok(vec![
        Group::new("1p1c, item by item", &["ns/item"], stream),
        Group::new("round trip over two queues", &["ns/trip"], answers),
    ])
}

/// Items one by one through `Q`.
pub(super) fn through<Q: Ends>(role: Role, name: &str, items: u64) -> Contender {
    per_item(role, name, params(items, CAPACITY), items, move || one_by_one::<Q>(items, CAPACITY))
}

/// A round trip over two queues `Q`.
pub(super) fn trip<Q: Ends>(role: Role, name: &str, trips: u64) -> Contender {
    per_item(role, name, params(trips, CAPACITY), trips, move || there_and_back::<Q>(trips))
}
