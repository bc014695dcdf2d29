//! What the rivals for many promise, asked natively and in schedules that are drawn by seed.

use std::collections::VecDeque;
use std::task::Poll;

use thalweg_check::Fuzz;
use thalweg_queue::stealing::Rng;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{self, Acquire, Release};
use thalweg_sync::{spin, thread};

/// What a consumer is promised of the order of its items.
#[derive(PartialEq, Eq)]
pub(super) enum Order {
    /// Those of each producer come as they were sent.
    OfEach,
    Any,
}

/// An end of a queue for any number of producers and consumers.
pub(super) trait Rival: Clone + Send {
    const ORDER: Order = Order::OfEach;

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

/// Each item comes once, and of each producer each consumer gets them in order, if that is promised. A consumer that finds nothing before all are there would wait for
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
    for items in of_each.iter().filter(|_| Q::ORDER == Order::OfEach) {
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
                    spin::until(|| {
                        pushed.fetch_update(Acquire, Ordering::Relaxed, |pushed| pushed.checked_sub(1)).ok()
                    });
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

/// How far items are from FIFO.
#[derive(Debug, Default)]
pub(super) struct Relaxed {
    /// The most older items that were in the queue when an item came out.
    pub(super) overtakes: usize,
    /// The most younger items that came out before an item.
    pub(super) is_overtaken: usize,
}

/// What one thread sees that pushes and pops as it draws, with the queue empty at times, and full at others.
pub(super) fn overtakes<Q: Rival>(mut queue: Q) -> Relaxed {
    let mut rng = Rng::new(1);
    // What is in the queue, the oldest first, and how many have overtaken each.
    let mut inside: VecDeque<(u64, usize)> = VecDeque::new();
    let mut relaxed = Relaxed::default();
    for n in 1..=20_000 {
        // Fills up to the most and empties again, so that it is short and long for a while.
        let pushes = if n / 1_000 % 2 == 0 { 6 } else { 4 };
        if rng.below(10) < pushes && queue.push(n) {
            inside.push_back((n, 0));
        } else if let Some(item) = got(queue.pop()) {
            let at = inside.iter().position(|(of, _)| *of == item).expect("it was pushed, and is there once");
            inside.iter_mut().take(at).for_each(|(_, times)| *times += 1);
            let (_, times) = inside.remove(at).expect("it is there");
            relaxed.overtakes = relaxed.overtakes.max(at);
            relaxed.is_overtaken = relaxed.is_overtaken.max(times);
        } else {
            assert!(inside.is_empty(), "it says that it is empty, with {} items", inside.len());
        }
    }
    relaxed
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
