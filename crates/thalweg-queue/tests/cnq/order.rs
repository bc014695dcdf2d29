//! k-FIFO: how far items overtake each other.

use crate::{bbq, faaq, history, hts, mt, rts, scqd};
use std::collections::VecDeque;
use thalweg_queue::research::tube::Tube;
use thalweg_queue::{TryPopError, TryPushError, research::cnq};
use thalweg_sync::random::Xorshift;

/// Handles of one queue take turns at random on one thread, pause, flush, come and go. Returns how often an item was
/// popped with each number of older ones in the queue; checks that all come out once, that items are refused or
/// missing only as promised, and that none is overtaken more often than it may overtake.
fn ranks<Q: Tube<Item = u32> + 'static>(
    tube: Q,
    shape: (usize, usize, usize),
    handles: usize,
    seed: u64,
) -> Vec<usize> {
    const STEPS: usize = 500;
    let (capsules, entries, k) = shape;
    let (tx, rx) = cnq::over(tube, capsules, entries, k).unwrap();
    let mut random = Xorshift::new(seed);
    let mut producers: Vec<_> = (0..handles).map(|_| tx.clone()).collect();
    let mut consumers: Vec<_> = (0..handles).map(|_| rx.clone()).collect();
    drop(tx);
    let bound = (2 * k.div_ceil(2 * entries) - 2) * entries;
    // Each with how many have overtaken it.
    let mut waiting = VecDeque::new();
    let mut ranks = vec![0; capsules * entries];
    let mut popped = |waiting: &mut VecDeque<(usize, usize)>, number: usize| {
        let rank = waiting.iter().position(|&(other, _)| other == number).expect("popped once, after it was pushed");
        waiting.remove(rank);
        ranks[rank] += 1;
        for (older, overtaken) in waiting.iter_mut().take(rank) {
            *overtaken += 1;
            assert!(*overtaken <= bound, "{overtaken} items have overtaken item {older}, k = {k}");
        }
    };
    for number in 0..STEPS {
        let (who, burst) = (random.index(handles), 1 + random.index(2 * entries));
        match random.index(20) {
            0 => producers[who].flush(),
            1 => consumers[who].flush(),
            2 => producers[who] = producers[random.index(handles)].clone(),
            3 => consumers[who] = consumers[random.index(handles)].clone(),
            4..12 => {
                for burst in 0..burst {
                    let number = number * 1000 + burst;
                    match producers[who].try_push(number) {
                        Ok(()) => waiting.push_back((number, 0)),
                        Err(TryPushError::Full(refused)) => assert_eq!(refused, number),
                        Err(other) => panic!("{other:?} with nobody half-way"),
                    }
                }
            }
            _ => {
                for _ in 0..burst {
                    match consumers[who].try_pop() {
                        Ok(number) => popped(&mut waiting, number),
                        Err(TryPopError::Empty | TryPopError::Busy) => {}
                        Err(TryPopError::Closed) => panic!("closed with producers left"),
                    }
                }
            }
        }
        if number % 16 == 0 {
            // One that is in a hand between two capsules comes on top of the capacity, and does not count.
            assert_eq!(rx.len(), waiting.len().min(rx.capacity()));
        }
    }
    drop((producers, consumers));
    let mut rx = rx;
    while !waiting.is_empty() {
        popped(&mut waiting, rx.try_pop().expect("nobody else has anything in hand"));
    }
    assert_eq!(rx.try_pop(), Err(TryPopError::Closed));
    ranks
}

/// The largest rank over many runs.
fn largest_rank<Q: Tube<Item = u32> + 'static>(tube: impl Fn(usize) -> Q, shape: (usize, usize, usize)) -> usize {
    (1..=6)
        .flat_map(|seed| [2, 3, 5].map(|handles| ranks(tube(shape.0), shape, handles, seed)))
        .map(|ranks| ranks.iter().rposition(|&count| count > 0).unwrap())
        .max()
        .unwrap()
}

/// Items overtake fewer than k others, and a window that were one capsule wider would show: with this many handles the
/// ranks come close to what the window allows, which is (2D - 2) capsules.
#[test]
fn ranks_stay_below_k() {
    for (entries, k) in [(1, 1_usize), (4, 8), (2, 8), (4, 16), (4, 24), (3, 10), (2, 20)] {
        let window = k.div_ceil(2 * entries);
        let largest = largest_rank(scqd, (16, entries, k));
        let bound = (2 * window - 2) * entries;
        assert!(bound < k && largest <= bound, "rank {largest} with k = {k} and capsules of {entries}");
        assert!(2 * largest >= bound, "rank {largest} of {bound}: the test does not try hard enough");
    }
}

/// In windows of one, which a single capsule more breaks at once, and of three.
fn ranks_stay_below_k_over<Q: Tube<Item = u32> + 'static>(tube: impl Fn(usize) -> Q) {
    assert_eq!(largest_rank(&tube, (16, 2, 4)), 0);
    assert!(largest_rank(&tube, (16, 2, 12)) <= 8);
}

/// The order is the windows', whatever the tube.
#[test]
fn ranks_stay_below_k_over_every_tube() {
    ranks_stay_below_k_over(mt);
    ranks_stay_below_k_over(rts);
    ranks_stay_below_k_over(hts);
    ranks_stay_below_k_over(faaq);
    ranks_stay_below_k_over(bbq);
}

/// k up to the capacity, with windows as wide as half of the queue.
#[test]
fn k_near_the_capacity() {
    for (capsules, entries) in [(2, 1), (2, 4), (3, 2), (8, 1)] {
        for k in [capsules * entries - 1, capsules * entries] {
            assert!(largest_rank(scqd, (capsules, entries, k)) < k);
        }
    }
}

/// How many of the ranks lie between powers of two, with a bar for each.
fn histogram(ranks: &[usize]) -> String {
    // Rank 0 is a bucket of its own: nothing was overtaken.
    let bucket = |rank: usize| rank.checked_ilog2().map_or(0, |power| power as usize + 1);
    let mut counts = vec![0; 1 + ranks.iter().copied().map(bucket).max().unwrap_or(0)];
    ranks.iter().for_each(|&rank| counts[bucket(rank)] += 1);
    let line = |(bucket, &count): (usize, &usize)| {
        let [first, last] = if bucket == 0 { [0, 0] } else { [1 << (bucket - 1), (1 << bucket) - 1] };
        let bar = "#".repeat((50 * count).div_ceil(ranks.len()));
        format!("{first:>5} to {last:<5} {count:>6} {bar}").trim_end().to_owned() + "\n"
    };
    counts.iter().enumerate().map(line).collect()
}

#[test]
fn a_histogram_counts_by_powers_of_two() {
    let lines = [
        "    0 to 0          2 #########################",
        "    1 to 1          0",
        "    2 to 3          2 #########################",
    ];
    assert_eq!(histogram(&[3, 0, 2, 0]), lines.map(|line| format!("{line}\n")).concat());
}

/// Histograms of rank errors, taken from threads that run at the same time: of how many items each was certainly taken too early.
#[test]
fn rank_errors_between_threads() {
    for (capsules, entries, k) in [(64, 1, 1), (64, 4, 24), (32, 64, 1024)] {
        let passages =
            history::run(cnq::over(scqd(capsules), capsules, entries, k).unwrap(), (2, 2), 2_000, usize::MAX);
        let mut ranks: Vec<_> = history::ranks(&passages).collect();
        ranks.sort_unstable();
        let at = |part: usize| ranks[(ranks.len() - 1) * part / 100];
        println!("k = {k}: median {}, 90 % {}, 99 % {}, largest {}", at(50), at(90), at(99), at(100));
        print!("{}", histogram(&ranks));
        assert!(at(100) < k);
    }
}
