//! What the rivals for many promise, asked natively and in schedules that are drawn by seed.

use std::task::Poll;

use thalweg_check::Fuzz;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::{spin, thread};

/// An end of a queue for any number of producers and consumers.
pub(super) trait Rival: Clone + Send {
    /// Whether there was room.
    fn push(&mut self, item: u64) -> bool;

    /// The oldest item, or none; pending if it cannot say, because somebody else is half-way.
    fn pop(&mut self) -> Poll<Option<u64>>;
}

/// Two producers and two consumers.
const SIDE: u64 = 2;

/// An item says whose it is, and which.
fn item(producer: u64, n: u64) -> u64 {
    n * SIDE + producer + 1
}

fn got(answer: Poll<Option<u64>>) -> Option<u64> {
    match answer {
        Poll::Ready(item) => item,
        Poll::Pending => None,
    }
}

/// Each item comes once, and of each producer each consumer gets them in order. A consumer that finds nothing before all are there would wait for
/// ever: so it fails, too, if one is lost.
fn deliver<Q: Rival>(queue: Q, each: u64) {
    let of_each: Vec<Vec<u64>> = thread::scope(|scope| {
        for producer in 0..SIDE {
            let mut queue = queue.clone();
            scope.spawn(move || (0..each).for_each(|n| spin::until(|| queue.push(item(producer, n)).then_some(()))));
        }
        let consume = |_| {
            let mut queue = queue.clone();
            scope.spawn(move || (0..each).map(|_| spin::until(|| got(queue.pop()))).collect::<Vec<_>>())
        };
        let consumers: Vec<_> = (0..SIDE).map(consume).collect();
        consumers.into_iter().map(|consumer| consumer.join().expect("no consumer panics")).collect()
    });
    for items in &of_each {
        for producer in 0..SIDE {
            let of_one = items.iter().filter(|&item| (item - 1) % SIDE == producer);
            assert!(of_one.is_sorted_by(|a, b| a < b), "{items:?}");
        }
    }
    let mut all = of_each.concat();
    all.sort_unstable();
    let mut sent: Vec<u64> = (0..SIDE).flat_map(|producer| (0..each).map(move |n| item(producer, n))).collect();
    sent.sort_unstable();
    assert_eq!(all, sent);
}

/// Who knows of a push that has returned, and that nobody else pops for, finds something. One thread pushes: behind a push that is half-way, a queue may say
/// that it is empty.
fn never_empty_behind_a_push<Q: Rival>(queue: &Q, each: u64) {
    let pushed = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..SIDE {
            let (mut queue, pushed) = (queue.clone(), &pushed);
            scope.spawn(move || {
                for _ in 0..each {
                    // Acquire, pairs with the Release below: the push comes before.
                    spin::until(|| pushed.fetch_update(Acquire, Relaxed, |pushed| pushed.checked_sub(1)).ok());
                    let answer = spin::until(|| match queue.pop() {
                        Poll::Ready(answer) => Some(answer),
                        Poll::Pending => None,
                    });
                    assert!(answer.is_some(), "there is an item, and it says that there is none");
                }
            });
        }
        let mut queue = queue.clone();
        for n in 0..SIDE * each {
            spin::until(|| queue.push(item(0, n)).then_some(()));
            pushed.fetch_add(1, Release);
        }
    });
    assert_eq!(queue.clone().pop(), Poll::Ready(None));
}

/// On this machine's threads.
pub(super) fn natively<Q: Rival>(make: impl Fn() -> Q) {
    deliver(make(), 3_000);
    never_empty_behind_a_push(&make(), 2_000);
}

/// In schedules that are drawn by seed, each of which stops threads anywhere.
pub(super) fn in_schedules<Q: Rival>(make: impl Fn() -> Q + Sync) {
    Fuzz::new().seeds(0..400).run(|| deliver(make(), 5));
    Fuzz::new().seeds(0..400).run(|| never_empty_behind_a_push(&make(), 5));
}
