//! A wish to cancel in the middle of a chain at a source, whose items were quick so far: how many are gone through after it, by count and not by the clock.

use crate::common::{SOON, within};
use thalweg::End;
use thalweg::prelude::*;
use thalweg_sync::atomic::{AtomicU64, Ordering::*};
use thalweg_sync::sync::{Arc, OnceLock};

/// The item at which the wish comes, in the middle of a give of a source that is known to be quick.
const AT: u64 = 50_003;

/// What is done with each item: it counts, and wishes. It owns what it needs.
#[derive(Clone)]
struct Owner {
    seen: Arc<AtomicU64>,
    stopper: Stopper,
}

impl Owner {
    fn look(&self) {
        look(&self.seen, &self.stopper);
    }
}

fn look(seen: &AtomicU64, stopper: &Stopper) {
    if seen.fetch_add(1, AcqRel) == AT {
        stopper.cancel();
    }
}

type Owning = fn(&mut Graph<'static>, Owner);

const OWNING: [(&str, Owning); 3] = [
    ("a map and its end", |graph, owner| {
        graph.stream(0_u64..).map(|x| x / 2).for_each(move |_| owner.look());
    }),
    ("a filter and its end", |graph, owner| {
        graph.stream(0_u64..).filter(|x| x % 3 > 0).for_each(move |_| owner.look());
    }),
    ("a flat_map", |graph, owner| {
        let each = graph.stream(0_u64..).flat_map(move |x| {
            owner.look();
            [x]
        });
        each.sink(|_| ());
    }),
];

/// How many items a graph goes through after the wish.
fn after(scheme: Scheme, build: impl FnOnce(&mut Graph<'static>, Owner) + Send + 'static) -> u64 {
    let seen = within(SOON, move || {
        let mut graph = Graph::new();
        let seen = Arc::new(AtomicU64::new(0));
        let owner = Owner { seen: seen.clone(), stopper: graph.stopper() };
        build(&mut graph, owner);
        assert_eq!(graph.run(scheme).unwrap().end, End::Cancelled);
        drop(graph);
        seen.load(Acquire)
    });
    seen - AT - 1
}

#[test]
fn code_that_owns_something_is_left_after_the_item_in_hand() {
    let mut late = Vec::new();
    for (index, name) in Scheme::names().enumerate() {
        let scheme = Scheme::named(name).unwrap().workers(index % 3 + 1);
        for (kind, build) in OWNING {
            let after = after(scheme, build);
            if after > 0 {
                late.push(format!("{kind} under {scheme:?}: {after} items after the wish"));
            }
        }
    }
    assert!(late.is_empty(), "{late:#?}");
}

type Borrowing = fn(&mut Graph<'static>, &'static Owner);

/// With how many items may be gone through after the wish.
const BORROWING: [(&str, u64, Borrowing); 2] = [
    ("a map", 511, |graph, owner| {
        graph.stream(0_u64..).map(|x| x / 2).for_each(|_| owner.look());
    }),
    ("a filter", 127, |graph, owner| {
        graph.stream(0_u64..).filter(|x| x % 3 > 0).for_each(|_| owner.look());
    }),
];

#[test]
fn code_that_owns_nothing_is_left_after_some_items() {
    static OWNERS: [OnceLock<Owner>; 2] = [const { OnceLock::new() }; 2];
    let mut late = Vec::new();
    for (index, (kind, most, build)) in BORROWING.into_iter().enumerate() {
        let scheme = Scheme::default().workers(index % 2 + 1);
        let after = after(scheme, move |graph, owner| build(graph, OWNERS[index].get_or_init(|| owner)));
        if after > most {
            late.push(format!("{kind}: {after} items after the wish"));
        }
    }
    assert!(late.is_empty(), "{late:#?}");
}
