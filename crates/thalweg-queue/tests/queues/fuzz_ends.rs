//! Ends that leave early and ends that sleep, of every queue for one and one and of those whose other tests under the fuzzer have
//! neither, in schedules drawn by seed. A wake-up that is lost leaves everybody asleep, which the fuzzer reports as a deadlock.

use crate::support::block_on;
use thalweg_check::Fuzz;
use thalweg_queue::growing::{self, Most};
use thalweg_queue::wait::Sleep;
use thalweg_queue::{
    Park, Pop, Push, mpsc,
    research::{lamport, locked, mesh, ticketed},
    spmc, spsc,
    spsc::fast_forward,
};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

/// One end leaves while the other is at work, or has not begun: what was pushed before comes out as far as it is asked for, and every
/// item is dropped once.
fn either_end_leaves_early<P, C>(build: impl Fn() -> (P, C) + Sync)
where
    P: Push<Item = Arc<()>> + Send,
    C: Pop<Item = Arc<()>>,
{
    for (pushes, pops) in [(0, 2), (2, 4), (3, 0), (9, 1), (9, 4)] {
        Fuzz::new().seeds(0..60).run(|| {
            let counted = Arc::new(());
            let (mut tx, mut rx) = build();
            thread::scope(|scope| {
                let counted = &counted;
                let producer =
                    scope.spawn(move || (0..pushes).take_while(|_| tx.push(counted.clone()).is_ok()).count());
                let popped = (0..pops).map_while(|_| rx.pop().ok()).count();
                assert_eq!(popped, pops.min(pushes), "popped of {pushes} with {pops} attempts");
                drop(rx);
                assert!(producer.join().unwrap() >= popped);
            });
            assert_eq!(Arc::strong_count(&counted), 1, "after {pushes} pushes and {pops} pops");
        });
    }
}

#[test]
fn one_to_one_queues_outlive_either_end() {
    either_end_leaves_early(|| fast_forward::fast_forward(2).unwrap());
    either_end_leaves_early(|| fast_forward::in_place(2).unwrap());
    either_end_leaves_early(|| fast_forward::with_wait(1, Park::new()).unwrap());
    either_end_leaves_early(|| spsc::spsc(2, 1).unwrap());
    either_end_leaves_early(|| spsc::with_wait(2, 2, Park::new()).unwrap());
    either_end_leaves_early(|| growing::with_chunks(1, 2, Most::Entries(2)).unwrap());
    either_end_leaves_early(|| growing::with_wait(2, 4, Most::Entries(6), Park::new()).unwrap());
    either_end_leaves_early(|| lamport::plain(2).unwrap());
    either_end_leaves_early(|| lamport::cached(2).unwrap());
    either_end_leaves_early(|| lamport::with_wait::<_, _, lamport::Cached>(1, Park::new()).unwrap());
}

/// A queue that is nearly always full or empty: every other push and every third pop sleeps in its thread, the others are futures.
fn nobody_sleeps_for_ever<P, C>(build: impl Fn() -> (Vec<P>, Vec<C>) + Sync)
where
    P: Push<Item = Box<usize>, Wait: Sleep> + Send,
    C: Pop<Item = Box<usize>, Wait: Sleep> + Send,
{
    const EACH: usize = 6;
    Fuzz::new().seeds(0..150).run(|| {
        let (producers, consumers) = build();
        let items = EACH * producers.len();
        let mut popped: Vec<usize> = thread::scope(|scope| {
            for (producer, mut tx) in producers.into_iter().enumerate() {
                scope.spawn(move || {
                    for number in producer * EACH..(producer + 1) * EACH {
                        match number % 2 {
                            0 => tx.push(Box::new(number)).unwrap(),
                            _ => block_on(tx.push_async(Box::new(number))).unwrap(),
                        }
                    }
                });
            }
            let pop_all = |mut rx: C| {
                let mut popped = Vec::new();
                loop {
                    let item = if popped.len() % 3 == 0 { rx.pop() } else { block_on(rx.pop_async()) };
                    match item {
                        Ok(item) => popped.push(*item),
                        Err(_) => return popped,
                    }
                }
            };
            let consumers: Vec<_> = consumers.into_iter().map(|rx| scope.spawn(move || pop_all(rx))).collect();
            consumers.into_iter().flat_map(|consumer| consumer.join().unwrap()).collect()
        });
        popped.sort_unstable();
        assert!(popped.into_iter().eq(0..items));
    });
}

fn one<P, C>((tx, rx): (P, C)) -> (Vec<P>, Vec<C>) {
    (vec![tx], vec![rx])
}

#[test]
fn one_to_one_queues_wake_either_end() {
    nobody_sleeps_for_ever(|| one(fast_forward::with_wait(1, Park::new()).unwrap()));
    nobody_sleeps_for_ever(|| one(fast_forward::in_place_with_wait(1, Park::new()).unwrap()));
    nobody_sleeps_for_ever(|| one(spsc::with_wait(2, 1, Park::new()).unwrap()));
    nobody_sleeps_for_ever(|| one(growing::with_wait(1, 2, Most::Entries(2), Park::new()).unwrap()));
    nobody_sleeps_for_ever(|| one(lamport::with_wait::<_, _, lamport::Plain>(1, Park::new()).unwrap()));
    nobody_sleeps_for_ever(|| one(lamport::with_wait::<_, _, lamport::Cached>(1, Park::new()).unwrap()));
}

#[test]
fn shared_queues_wake_every_end() {
    nobody_sleeps_for_ever(|| {
        let (tx, rx) = mpsc::with_wait(2, 1, Park::new()).unwrap();
        (vec![tx; 3], vec![rx])
    });
    nobody_sleeps_for_ever(|| {
        let (tx, rx) = spmc::with_wait(2, 1, Park::new()).unwrap();
        (vec![tx], vec![rx; 3])
    });
    nobody_sleeps_for_ever(|| {
        let (tx, rx) = locked::with_wait(1, Park::new()).unwrap();
        (vec![tx; 2], vec![rx; 2])
    });
    nobody_sleeps_for_ever(|| {
        let (tx, rx) = ticketed::with_wait(2, 1, Park::new()).unwrap();
        (vec![tx; 2], vec![rx; 2])
    });
    nobody_sleeps_for_ever(|| mesh::with_wait(2, 2, 2, 2, Park::new()).unwrap());
}
