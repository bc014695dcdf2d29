//! BBQ with one consumer, or one producer, under loom: what these do in place of exchanges. Rings as those of `bbq.rs`.

use thalweg_queue::{Pop, Push, TryPopError, Yield, mpsc, spmc};
use thalweg_sync::model_bounded;
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

/// As in `bbq.rs`: loom reports one that is leaked or dropped twice.
type Item = Arc<usize>;

/// Pushes up to `attempts` items, numbered from `first`, without waiting. Returns the number after the last.
fn push_some(tx: &mut impl Push<Item = Item>, first: usize, attempts: usize) -> usize {
    let mut next = first;
    for _ in 0..attempts {
        match tx.try_push(Arc::new(next)) {
            Ok(()) => next += 1,
            Err(refused) => assert_eq!(*refused.into_inner(), next),
        }
    }
    next
}

/// One producer, one consumer, four attempts each: with one entry a block, every block is used twice.
fn order_is_kept<P, C>(build: impl Fn() -> (P, C) + Send + Sync + 'static)
where
    P: Push<Item = Item> + Send + 'static,
    C: Pop<Item = Item>,
{
    model_bounded(3, move || {
        let (mut tx, mut rx) = build();
        let producer = thread::spawn(move || push_some(&mut tx, 0, 4));
        let mut popped = 0;
        let mut pop = || rx.try_pop().map(|item| assert_eq!(std::mem::replace(&mut popped, *item + 1), *item));
        for _ in 0..4 {
            let _ = pop();
        }
        let pushed = producer.join().unwrap();
        while pop().is_ok() {}
        assert_eq!(pop(), Err(TryPopError::Closed));
        assert_eq!(popped, pushed);
    });
}

fn mpsc(head: u64, entries: usize) -> impl Fn() -> mpsc::Ends<Item> {
    move || mpsc::mpsc_from(head, 2, entries, Yield).unwrap()
}

fn spmc(head: u64, entries: usize) -> impl Fn() -> spmc::Ends<Item> {
    move || spmc::spmc_from(head, 2, entries, Yield).unwrap()
}

/// Two producers with two attempts each, a consumer with two: each producer's items come in its order, positions without gaps.
fn two_producers() {
    model_bounded(2, move || {
        let (tx, mut rx) = mpsc(0, 1)();
        let producers =
            [(tx.clone(), 0), (tx, 10)].map(|(mut tx, first)| thread::spawn(move || push_some(&mut tx, first, 2)));
        let (mut next, mut position) = ([0, 10], 0);
        let mut pop = || {
            let (at, item) = rx.try_pop_numbered()?;
            assert_eq!(at, position);
            position += 1;
            let next = &mut next[*item / 10];
            assert_eq!(*item, *next);
            *next += 1;
            Ok::<_, TryPopError>(())
        };
        for _ in 0..2 {
            let _ = pop();
        }
        let pushed = producers.map(|producer| producer.join().unwrap());
        while pop().is_ok() {}
        assert_eq!(pop(), Err(TryPopError::Closed));
        assert_eq!(next, pushed);
    });
}

/// An item is in the queue. The producer's thread pushes one and pops one, `times` times, and another one pops meanwhile. There is always
/// something for both, and nothing is ever half-way. Three times: each of the two blocks is used again.
fn never_empty(times: usize) {
    model_bounded(1, move || {
        let (mut tx, rx) = spmc(0, 1)();
        tx.push(Arc::new(0)).unwrap();
        let other = rx.clone();
        let consumer = thread::spawn(move || other.try_pop().map(|item| *item).unwrap());
        for number in 1..=times {
            tx.push(Arc::new(number)).unwrap();
            rx.try_pop().unwrap();
        }
        consumer.join().unwrap();
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
    });
}

models! {
    mpsc_order_1: order_is_kept(mpsc(0, 1)),
    mpsc_order_2: order_is_kept(mpsc(0, 2)),
    mpsc_order_across_the_wrap: order_is_kept(mpsc(u64::MAX - 1, 1)),
    mpsc_two_producers: two_producers(),
    spmc_order_1: order_is_kept(spmc(0, 1)),
    spmc_order_2: order_is_kept(spmc(0, 2)),
    spmc_never_empty: never_empty(3),
}

canaries! {
    mpsc_canary_29: "bbq.29", "Causality violation", order_is_kept(mpsc(0, 1)),
    mpsc_canary_30: "bbq.30", "Causality violation", order_is_kept(mpsc(0, 1)),
    spmc_canary_28: "bbq.28", "exceeded maximum number of branches", never_empty(3),
}
