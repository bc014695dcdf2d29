//! The queues in C++ in the experiments of this folder.

use serde_json::json;

use super::foreign::{self, SPINS};
use super::one_to_one::{CAPACITY, Ends, Received, Slices, in_slices, params, per_item, there_and_back};
use crate::harness::{Contender, Role::Peer};
use crate::peers::Checked;
use crate::peers::cpp::{Consumer, Kind, Producer, ends};

/// All queues, those for one and one first.
const ALL: [(&str, Kind); 5] = [
    ("Boost `spsc_queue`", Kind::BoostSpsc),
    ("readerwriterqueue", Kind::ReaderWriter),
    ("Boost `queue`", Kind::BoostQueue),
    ("moodycamel", Kind::Moodycamel),
    ("oneTBB's `concurrent_bounded_queue`", Kind::TbbBounded),
];

/// Those for many and many.
pub(super) const SHARED: [(&str, Kind); 3] = [ALL[2], ("moodycamel, order per producer", Kind::Moodycamel), ALL[4]];

/// Items one by one through each of them. All but the first take ten times as long for an item, or more.
pub(super) fn item(items: u64, slow: u64) -> Vec<Contender> {
    let items = |kind| if kind == Kind::BoostSpsc { items } else { slow };
    ALL.map(|(name, kind)| through(name, kind, items(kind))).into()
}

/// Items one by one through those for many.
pub(super) fn shared(items: u64) -> Vec<Contender> {
    SHARED.map(|(name, kind)| through(name, kind, items)).into()
}

fn through(name: &str, kind: Kind, items: u64) -> Contender {
    per_item(Peer, name, params(items, CAPACITY), items, move || one_by_one(kind, items))
}

/// A round trip over two queues of `kinds`: here each push and each attempt to pop is a call.
pub(super) fn trips(kinds: &[(&str, Kind)], trips: u64) -> Vec<Contender> {
    let trip = |&(name, kind): &(&str, Kind)| {
        let mut given = params(trips, CAPACITY);
        given["calls"] = json!("four that succeed for each trip, into C++");
        let run: fn(u64) -> Checked = match kind {
            Kind::BoostSpsc => there_and_back::<BoostSpsc>,
            Kind::ReaderWriter => there_and_back::<ReaderWriter>,
            Kind::BoostQueue => there_and_back::<BoostQueue>,
            Kind::Moodycamel => there_and_back::<Moodycamel>,
            Kind::TbbBounded => there_and_back::<TbbBounded>,
        };
        per_item(Peer, name, given, trips, move || run(trips))
    };
    kinds.iter().map(trip).collect()
}

/// A round trip over each of them.
pub(super) fn rtt(count: u64) -> Vec<Contender> {
    trips(&ALL, count)
}

/// Slices through Boost's queue for one and one.
pub(super) fn boost_slices(items: u64, capacity: usize, size: usize) -> Contender {
    slices::<BoostSpsc>("Boost `spsc_queue`", items, capacity, size)
}

/// Slices through moodycamel's queue for many.
pub(super) fn moodycamel_slices(items: u64, capacity: usize, size: usize) -> Contender {
    slices::<Moodycamel>("moodycamel", items, capacity, size)
}

fn slices<Q: Slices>(name: &str, items: u64, capacity: usize, size: usize) -> Contender {
    let mut given = params(items, capacity);
    given["slice"] = json!(size);
    per_item(Peer, name, given, items, move || in_slices::<Q>(items, capacity, size))
}

fn one_by_one(kind: Kind, items: u64) -> Checked {
    let (mut tx, mut rx) = pair(kind, CAPACITY);
    foreign::one_by_one(
        items,
        move |next| tx.push(next, items, SPINS),
        move |received, most| rx.pop(received, most, SPINS),
    )
}

fn pair(kind: Kind, capacity: usize) -> (Producer, Consumer) {
    let (txs, rxs) = ends(kind, capacity, 1, 1);
    let one = "one was asked for";
    (txs.into_iter().next().expect(one), rxs.into_iter().next().expect(one))
}

/// Each as a type, for the loops that are written over types.
macro_rules! types {
    ($($Name:ident)+) => {
        $(
            #[derive(Debug)]
            struct $Name;

            impl Ends for $Name {
                type Tx = Producer;
                type Rx = Consumer;

                fn build(capacity: usize) -> (Producer, Consumer) {
                    pair(Kind::$Name, capacity)
                }

                #[inline(always)]
                fn push(tx: &mut Producer, value: u64) -> bool {
                    tx.push(value, value, 1) == 1
                }

                #[inline(always)]
                fn pop(rx: &mut Consumer) -> Option<u64> {
                    let mut received = Received::default();
                    rx.pop(&mut received, 1, 1);
                    // The sum of one number is that number.
                    (received.count() == 1).then(|| received.sum())
                }
            }
        )+
    };
}

types! { BoostSpsc ReaderWriter BoostQueue Moodycamel TbbBounded }

/// Those that push and pop slices in one call.
macro_rules! slices {
    ($($Name:ident)+) => {
        $(
            impl Slices for $Name {
                #[inline]
                fn push_slice(tx: &mut Producer, values: &[u64]) -> usize {
                    tx.push_slice(values)
                }

                #[inline]
                fn pop_slice(rx: &mut Consumer, into: &mut [u64]) -> usize {
                    rx.pop_slice(into)
                }
            }
        )+
    };
}

slices! { BoostSpsc Moodycamel }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_takes_as_many_as_it_should_and_tells_order() {
        for (name, kind) in ALL {
            let (mut tx, mut rx) = pair(kind, CAPACITY);
            let pushed = tx.push(1, 2 * CAPACITY as u64, 1);
            // moodycamel's queues count in blocks, and one of those may be in use.
            assert!((CAPACITY..=CAPACITY + CAPACITY / 2).contains(&pushed), "{name}: {pushed}");
            let mut received = Received::default();
            rx.pop(&mut received, u64::MAX, 1);
            let sum = (pushed * (pushed + 1) / 2) as u64;
            assert_eq!((received.count(), received.sum(), received.is_ordered()), (pushed as u64, sum, true), "{name}");
            assert_eq!(tx.push(7, 7, 1), 1, "{name}");
            rx.pop(&mut received, 1, 1);
            assert!(!received.is_ordered(), "{name}: seven is not the next");
        }
    }

    #[test]
    fn producers_of_moodycamels_queue_take_nothing_from_each_other() {
        let (mut txs, mut rxs) = ends(Kind::Moodycamel, CAPACITY, 4, 1);
        for tx in &mut txs {
            assert_eq!(tx.push(1, u64::MAX, 1), CAPACITY / 4);
        }
        rxs[0].pop(&mut Received::default(), CAPACITY as u64, 1);
        for tx in &mut txs {
            assert!(tx.push(1, 64, 1) > 0);
        }
    }
}
