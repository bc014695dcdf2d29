//! Pools of work-stealing queues: what the policies choose, and that no policy loses work.

use std::panic::{AssertUnwindSafe, catch_unwind};
use thalweg_queue::stealing::{
    self, Accept, BestOf, Last, Near, Policy, Pool, Probabilistic, Random, Rng, Sequential, StealError, Victims,
    lifo::Owner,
};
use thalweg_sync::sync::Arc;

/// Queues with so many shared items each, in eight blocks. Items are named by their queue.
fn pool(entries: usize, lengths: &[usize]) -> (Vec<Owner<usize>>, Pool<usize>) {
    let queues = lengths.iter().enumerate().map(|(queue, &length)| {
        let (mut owner, stealer) = stealing::lifo(8, entries).unwrap();
        (0..length).for_each(|_| owner.push(queue).unwrap());
        owner.share();
        (owner, stealer)
    });
    let (owners, stealers): (Vec<_>, Vec<_>) = queues.unzip();
    (owners, Pool::new(stealers))
}

fn policies() -> Vec<(&'static str, Box<dyn Policy>)> {
    vec![
        ("random", Box::new(Random)),
        ("sequential", Box::new(Sequential)),
        ("last", Box::new(Last::new(Random))),
        ("best of two", Box::new(BestOf(2))),
        ("best of many", Box::new(BestOf(4))),
        ("numa", Box::new(Near(Random))),
        ("probabilistic", Box::new(Probabilistic::new(Random))),
        ("probabilistic in the block", Box::new(Probabilistic::in_block(Random))),
        ("probabilistic numa", Box::new(Probabilistic::new(Near(Random)))),
        ("last, else probabilistic numa", Box::new(Last::new(Probabilistic::new(Near(Random))))),
    ]
}

#[test]
fn every_policy_finds_the_last_item() {
    for (name, policy) in policies() {
        let (mut owners, pool) = pool(2, &[0; 8]);
        let pool = pool.with_nodes([0, 0, 0, 0, 1, 1, 1, 1]);
        let mut thief = pool.thief(3, policy);
        assert_eq!(thief.steal(), Err(StealError::Empty), "{name}");
        for queue in [0, 7, 2, 4] {
            owners[queue].push(queue).unwrap();
            assert_eq!(thief.steal(), Err(StealError::Empty), "{name}");
            owners[queue].share();
            assert_eq!(thief.steal(), Ok(queue), "{name}");
        }
        // The own queue is not among the victims.
        owners[3].push(3).unwrap();
        owners[3].share();
        assert_eq!(thief.steal(), Err(StealError::Empty), "{name}");
        owners.truncate(4);
        owners.remove(2);
        assert_eq!(thief.steal(), Err(StealError::Empty), "{name}");
        owners.drain(..2);
        assert_eq!(thief.steal(), Err(StealError::Closed), "{name}");
    }
}

#[test]
fn every_policy_empties_the_pool() {
    for (name, policy) in policies() {
        let (_owners, pool) = pool(2, &[3, 0, 16, 7, 1]);
        let mut thief = pool.thief(1, policy);
        let (mut one_by_one, mut batch) = (Vec::new(), Vec::new());
        while let Ok(queue) = thief.steal() {
            one_by_one.push(queue);
            let before = batch.len();
            if let Ok(count) = thief.steal_into(&mut batch, 2) {
                assert!((1..=2).contains(&count) && batch.len() == before + count, "{name}");
            }
        }
        assert_eq!(thief.steal_into(&mut batch, 0), Ok(0));
        assert_eq!(thief.steal_into(&mut batch, 2), Err(StealError::Empty));
        let mut all = [one_by_one, batch].concat();
        all.sort_unstable();
        let count = |queue| all.iter().filter(|&&item| item == queue).count();
        assert_eq!([0, 1, 2, 3, 4].map(count), [3, 0, 16, 7, 1], "{name}");
    }
}

/// How often a policy chooses each of eight queues, of which thief 0 owns the first.
fn shares(lengths: [usize; 8], policy: impl Policy) -> [usize; 8] {
    let mut chosen = [0; 8];
    // With one item a block, stealing leaves no gaps.
    let (mut owners, pool) = pool(1, &lengths);
    let mut thief = pool.with_nodes([0, 0, 0, 0, 1, 1, 1, 1]).thief(0, policy);
    for _ in 0..7_000 {
        let queue = thief.steal().unwrap();
        chosen[queue] += 1;
        // What was taken comes back, so that the lengths stay.
        owners[queue].push(queue).unwrap();
        owners[queue].share();
    }
    chosen
}

#[test]
fn random_takes_from_all_alike() {
    let chosen = shares([0, 4, 4, 4, 4, 4, 4, 4], Random);
    assert_eq!(chosen[0], 0);
    assert!(chosen[1..].iter().all(|share| (850..1150).contains(share)), "{chosen:?}");
}

#[test]
fn sequential_takes_from_the_next() {
    assert_eq!(shares([8, 0, 0, 4, 4, 4, 4, 4], Sequential)[3], 7_000);
}

#[test]
fn last_stays_with_who_gave() {
    let chosen = shares([0, 4, 4, 4, 4, 4, 4, 4], Last::new(Random));
    assert!(chosen.contains(&7_000), "{chosen:?}");
}

/// It leaves a queue when that gives nothing, not before, and does not ask it again.
#[test]
fn last_goes_on_when_nothing_is_left() {
    let (_owners, pool) = pool(8, &[0, 40, 40, 40]);
    let mut thief = pool.thief(0, Last::new(Probabilistic::new(Random)));
    let mut taken = Vec::new();
    for _ in 0..10_000 {
        taken.extend(thief.try_steal());
    }
    assert_eq!(taken.len(), 120);
    assert!(taken.chunks(40).all(|chunk| chunk.iter().all(|queue| queue == &chunk[0])), "{taken:?}");
    assert_eq!(thief.try_steal(), Err(StealError::Empty));
}

#[test]
fn best_of_many_takes_from_the_longest() {
    let lengths = [0, 1, 1, 1, 1, 1, 7, 1];
    let [two, many] = [2, 20].map(|count| shares(lengths, BestOf(count))[6]);
    // One of two is the long one in 13 of 49 draws, one of twenty in 95 of 100.
    assert!((1_600..2_200).contains(&two), "{two}");
    assert!(many > 6_400, "{many}");
}

#[test]
fn numa_takes_from_the_near() {
    let chosen = shares([0, 4, 4, 4, 4, 4, 4, 4], Near(Random));
    assert_eq!(chosen[1..4].iter().sum::<usize>(), 7_000);
    // Nothing near: then from the far.
    let chosen = shares([0, 0, 0, 0, 4, 4, 4, 4], Near(Random));
    assert_eq!(chosen[4..].iter().sum::<usize>(), 7_000);
}

/// With six, one and one of eight blocks filled, shares are 6 : 1 : 1.
#[test]
fn probabilistic_takes_by_fill() {
    for policy in [Probabilistic::new(Random), Probabilistic::in_block(Random)] {
        let chosen = shares([0, 6, 1, 0, 0, 0, 1, 0], policy);
        let expected = [0, 5_250, 875, 0, 0, 0, 875, 0];
        for (chosen, expected) in chosen.into_iter().zip(expected) {
            assert!(chosen.abs_diff(expected) <= expected / 3, "{chosen} instead of {expected}");
        }
    }
}

#[test]
#[should_panic(expected = "there is no queue 2, but 2")]
fn a_thief_of_no_queue() {
    pool(2, &[0, 0]).1.thief(2, Random);
}

#[test]
fn alone() {
    assert_eq!(pool(2, &[1]).1.thief(0, Random).steal(), Err(StealError::Closed));
}

#[test]
fn a_pool_is_closed_when_all_other_owners_are_gone() {
    let (mut owners, pool) = pool(2, &[0, 1, 0]);
    let mut thief = pool.thief(0, Random);
    owners.pop();
    assert!(!thief.is_closed());
    owners.pop();
    assert!(thief.is_closed());
    assert_eq!([thief.steal(), thief.steal()], [Ok(1), Err(StealError::Closed)]);
}

/// A policy of somebody else's that panics, wherever it is asked: an item that was stolen by then is dropped, and no other is lost.
#[test]
fn a_policy_that_panics_stops_nobody() {
    struct Loud(&'static str);
    impl Loud {
        fn asked(&self, what: &str) {
            assert_ne!(self.0, what, "told to panic");
        }
    }
    impl Policy for Loud {
        fn choose(&mut self, victims: &Victims<'_>, _: usize, _: &mut Rng) -> usize {
            self.asked("choose");
            victims.all()[0]
        }
        fn accept(&mut self, _: &Victims<'_>, _: usize, _: &mut Rng) -> Accept {
            self.asked("accept");
            Accept::Oldest
        }
        fn tries(&self, victims: &Victims<'_>) -> usize {
            self.asked("tries");
            victims.all().len()
        }
        fn stole(&mut self, _: usize) {
            self.asked("stole");
        }
        fn missed(&mut self, _: usize) {
            self.asked("missed");
        }
    }
    for what in ["choose", "accept", "tries", "stole", "missed"] {
        let item = Arc::new(());
        let (_own, idle) = stealing::lifo(2, 4).unwrap();
        let (mut owner, stealer) = stealing::lifo(2, 4).unwrap();
        (0..4).for_each(|_| owner.push(item.clone()).unwrap());
        owner.share();
        let pool = Pool::new([idle, stealer]);
        let mut thief = pool.thief(0, Loud(what));
        let mut left = 4;
        if what == "missed" {
            while pool.thief(0, Random).steal().is_ok() {
                left -= 1;
            }
        }
        for _ in 0..2 {
            assert!(catch_unwind(AssertUnwindSafe(|| thief.steal())).is_err(), "{what}");
            left -= usize::from(what == "stole");
            assert_eq!(Arc::strong_count(&item), 1 + left, "{what}");
        }
        let mut others = pool.thief(0, Random);
        assert_eq!(std::iter::from_fn(|| others.steal().ok()).count(), left, "{what}");
        owner.push(item.clone()).unwrap();
        owner.share();
        assert!(others.steal().is_ok());
        drop((owner, others, thief, pool));
        assert_eq!(Arc::strong_count(&item), 1, "{what}");
    }
}
