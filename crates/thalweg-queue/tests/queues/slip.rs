//! The distance that temporal slip keeps (FastForward, §3.4), in schedules drawn by seed: the same in every run, and without a clock.

use thalweg_check::Fuzz;
use thalweg_queue::TryPopError;
use thalweg_queue::spsc::fast_forward::{Slip, fast_forward};
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::sync::Mutex;
use thalweg_sync::{spin, thread};

const ITEMS: usize = 60;
/// Loads between two pushes: without slip the consumer is much faster and finds the queue empty again and again.
const SLOWER: usize = 16;
/// More than there are pops: only the first pop and pops in vain ask for a look.
const NEVER: usize = 1_000;
const GOOD: usize = 16;

const OFF: Slip = Slip { danger: 0, good: 0, every: NEVER, stage: 0 };
const AFTER_EMPTY: Slip = Slip { danger: GOOD / 2, good: GOOD, every: NEVER, stage: 0 };
const EVERY_FOUR: Slip = Slip { danger: GOOD / 2, good: GOOD, every: 4, stage: 0 };

/// How far the producer was ahead at a pop.
#[derive(Clone, Copy)]
struct Pop {
    /// Items pushed and not popped, the one popped included.
    distance: usize,
    /// The number of the item.
    item: usize,
    /// Whether the pop before had found nothing.
    after_empty: bool,
}

/// Every pop that found something, over all seeds.
fn pops(slip: Slip) -> Vec<Pop> {
    let all = Mutex::new(Vec::new());
    Fuzz::new().seeds(0..200).run(|| {
        let (mut tx, rx) = fast_forward(32).unwrap();
        let mut rx = rx.with_slip(slip);
        let pushed = AtomicUsize::new(0);
        let (mut popped, mut after_empty) = (0, false);
        let mut pops = Vec::new();
        thread::scope(|scope| {
            scope.spawn(|| {
                for item in 0..ITEMS {
                    (0..SLOWER).for_each(|_| _ = pushed.load(Relaxed));
                    tx.push(Box::new(item)).unwrap();
                    // Relaxed: a number to compare, nothing is read through it.
                    pushed.fetch_add(1, Relaxed);
                }
                drop(tx);
            });
            loop {
                match rx.try_pop() {
                    Ok(item) => {
                        assert_eq!(*item, popped);
                        let distance = pushed.load(Relaxed).saturating_sub(popped);
                        pops.push(Pop { distance, item: popped, after_empty });
                        (popped, after_empty) = (popped + 1, false);
                    }
                    Err(TryPopError::Closed) => break,
                    Err(TryPopError::Empty | TryPopError::Busy) => {
                        after_empty = true;
                        spin::pause(1);
                    }
                }
            }
        });
        all.lock().unwrap().extend(pops);
    });
    all.into_inner().unwrap()
}

/// The mean distance at the pops that are meant.
fn mean(pops: &[Pop], meant: impl Fn(&Pop) -> bool) -> f64 {
    let distances: Vec<_> = pops.iter().filter(|pop| meant(pop)).map(|pop| pop.distance as f64).collect();
    distances.iter().sum::<f64>() / distances.len() as f64
}

fn falls_empty(pops: &[Pop]) -> usize {
    pops.iter().filter(|pop| pop.after_empty).count()
}

/// FF-3: the first pop waits until the producer is well ahead, if the producer gives it time to.
#[test]
fn the_consumer_starts_at_a_distance() {
    let early = |slip| {
        let first: Vec<_> = pops(slip).into_iter().filter(|pop| pop.item == 0).collect();
        first.iter().filter(|pop| pop.distance < GOOD / 2).count() as f64 / first.len() as f64
    };
    assert!(early(OFF) > 0.5 && early(AFTER_EMPTY) < 0.1, "{}, {}", early(OFF), early(AFTER_EMPTY));
}

/// FF-4: a pop in vain says that the distance is lost; the next one that finds something restores it.
#[test]
fn after_an_empty_queue_the_distance_is_restored() {
    let again = |slip| mean(&pops(slip), |pop| pop.item > 0 && pop.after_empty);
    assert!(again(OFF) < 4.0, "{}", again(OFF));
    assert!(again(AFTER_EMPTY) > 0.6 * GOOD as f64, "{}", again(AFTER_EMPTY));
}

/// FF-4: who looks every few pops sees the distance shrink before it is gone.
#[test]
fn looking_now_and_then_keeps_the_queue_from_falling_empty() {
    let (off, after_empty, every_four) =
        (falls_empty(&pops(OFF)), falls_empty(&pops(AFTER_EMPTY)), falls_empty(&pops(EVERY_FOUR)));
    assert!(off > 4 * after_empty && after_empty > 2 * every_four, "{off}, {after_empty}, {every_four}");
}
