//! Queues for more items than there is memory, of a type without a size: built at once, as what is zero is not touched, or refused. And large ones of
//! items with a size, of whose memory as little is touched.
#![cfg(all(not(loom), not(miri), target_os = "linux"))]

use std::num::NonZeroU64;
use thalweg_queue::broadcast::graph::Graph;
use thalweg_queue::growing::Most;
use thalweg_queue::research::{cnq, faaq, lamport, locked, mesh, ticketed, tube};
use thalweg_queue::{
    BuildError, Pop, Push, bytes, growing, mpmc, mpsc, overwriting, spmc, spsc, spsc::fast_forward, stealing,
};
use thalweg_sync::sync::{Mutex, PoisonError};

/// Held by the test that looks at what the process has in memory.
static ALONE: Mutex<()> = Mutex::new(());

/// How many bytes this process has in memory.
fn resident() -> usize {
    let pages: usize = std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// Builds a queue and moves an item through it. It is not dropped: atomics and slots have nothing to drop but in a build for engines, as that of
/// the tests may be, where each says so, and there are too many.
#[track_caller]
fn is_built_at_once<P: Push<Item = ()>, C: Pop<Item = ()>>(build: impl FnOnce() -> Result<(P, C), BuildError>) {
    let before = resident();
    match build() {
        Ok((mut tx, mut rx)) => {
            tx.try_push(()).unwrap();
            assert_eq!((rx.len(), rx.try_pop()), (1, Ok(())));
            tx.try_push(()).unwrap();
            let touched = resident().saturating_sub(before);
            assert!(touched < 1 << 27, "{touched} bytes are touched");
            std::mem::forget((tx, rx));
        }
        // Where the system gives no memory that it does not have.
        Err(BuildError::OutOfMemory { .. } | BuildError::TooLarge { .. }) => {}
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn more_than_anybody_has_time_for() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for log in [30, 60] {
        let huge = 1 << log;
        is_built_at_once(|| mpmc::channel(huge));
        is_built_at_once(|| mpmc::shared(2, huge));
        is_built_at_once(|| mpmc::shared(huge, 1));
        is_built_at_once(|| mpsc::channel(huge));
        is_built_at_once(|| spmc::channel(huge));
        is_built_at_once(|| spsc::channel(huge));
        is_built_at_once(|| fast_forward::in_place(huge));
        is_built_at_once(|| growing::channel(huge));
        is_built_at_once(|| growing::chunk_ring(8, Most::Entries(huge)));
        is_built_at_once(|| lamport::cached(huge));
        is_built_at_once(|| locked::locked(huge));
        is_built_at_once(|| overwriting::any::channel(huge));
        is_built_at_once(|| ticketed::ticketed(huge));
        is_built_at_once(|| faaq::shared(2, huge));
        is_built_at_once(|| tube::ring::Mt::new(huge).map(tube::queue));
        is_built_at_once(|| cnq::cnq(huge, 64));
        is_built_at_once(|| {
            mesh::mesh(1, 1, huge, huge)
                .map(|(mut producers, mut consumers)| (producers.remove(0), consumers.remove(0)))
        });
        is_built_at_once(|| {
            let mut graph = Graph::new(huge)?;
            graph.first();
            graph.build().map(|(tx, mut consumers)| (tx, consumers.remove(0)))
        });
        if let Ok(mut ends) = stealing::fifo(2, huge) {
            ends.0.push(()).unwrap();
            std::mem::forget(ends);
        }
        if let Ok(mut ends) = stealing::lifo(2, huge) {
            ends.0.push(()).unwrap();
            std::mem::forget(ends);
        }
    }
}

/// Of a queue with memory for some 128 MiB of items next to nothing is touched: where the system has pages of 2 MiB, some of those. As above, it is
/// not dropped.
#[track_caller]
fn is_untouched<Q>(build: impl FnOnce() -> Result<Q, BuildError>) {
    let before = resident();
    let queue = build().unwrap();
    let touched = resident().saturating_sub(before);
    std::mem::forget(queue);
    assert!(touched < 24 << 20, "{touched} bytes are touched");
}

#[test]
fn memory_of_items_is_asked_for_and_not_written() {
    const MANY: usize = 1 << 24;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    is_untouched(|| mpmc::channel::<u64>(MANY));
    is_untouched(|| mpsc::channel::<u64>(MANY));
    is_untouched(|| spmc::channel::<u64>(MANY));
    is_untouched(|| spsc::channel::<u64>(MANY));
    is_untouched(|| fast_forward::fast_forward::<NonZeroU64>(MANY));
    is_untouched(|| fast_forward::in_place::<u64>(MANY));
    is_untouched(|| growing::channel::<u64>(MANY));
    is_untouched(|| growing::chunk_ring::<u64>(MANY, Most::Entries(2 * MANY)));
    is_untouched(|| overwriting::channel::<u64>(MANY));
    is_untouched(|| overwriting::any::channel::<u64>(MANY));
    is_untouched(|| bytes::channel(8 * MANY));
    is_untouched(|| bytes::drop_old(4, 2 * MANY));
    is_untouched(|| stealing::fifo::<u64>(4, MANY / 4));
    is_untouched(|| stealing::lifo::<u64>(4, MANY / 4));
    is_untouched(|| lamport::cached::<u64>(MANY));
    is_untouched(|| locked::locked::<u64>(MANY));
    is_untouched(|| ticketed::ticketed::<u64>(MANY));
    is_untouched(|| faaq::shared::<u64>(2, MANY / 2));
    is_untouched(|| tube::ring::Mt::<u64>::new(MANY));
    is_untouched(|| mesh::mesh::<u64>(1, 1, MANY, MANY));
    // An index for each item is written, as it says; the items are not.
    is_untouched(|| mpmc::exact::<[u64; 512]>(1 << 15));
}
