//! An item is there when its push has returned: for consumers that look again and again, however full the block is that it lies in.
//! In schedules drawn by seed, so without a clock: what counts is how many pushes end between two looks.

use thalweg_check::Fuzz;
use thalweg_queue::growing::{self, Most};
use thalweg_queue::overwriting::drop_old;
use thalweg_queue::research::tube::scqd::Scqd;
use thalweg_queue::{
    Pop, Push, TryPopError, mpmc, mpsc,
    research::{cnq, lamport, mesh, ticketed},
    spmc, spsc,
    spsc::fast_forward,
};
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::{spin, thread};

/// One block takes all of them, so nothing ever comes from a block being full.
const ITEMS: usize = 32;

/// How many pushes ended, at the most, while a consumer was refused again and again and nobody popped anything, though an item had
/// been pushed before the first refusal.
fn most_pushes_in_vain<P, C>(consumers: usize, slow: usize, seeds: u64, build: impl Fn() -> (P, Vec<C>) + Sync) -> usize
where
    P: Push<Item: From<usize>> + Send,
    C: Pop + Send,
{
    let most = AtomicUsize::new(0);
    Fuzz::new().seeds(0..seeds).run(|| {
        let (mut tx, ends) = build();
        assert_eq!(ends.len(), consumers);
        let (pushed, popped) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let vain = AtomicUsize::new(0);
        thread::scope(|scope| {
            let (pushed, popped, vain) = (&pushed, &popped, &vain);
            scope.spawn(move || {
                for number in 0..ITEMS {
                    let Ok(()) = tx.try_push(number.into()) else { panic!("there is room for all") };
                    pushed.store(number + 1, Release);
                    (0..slow).for_each(|_| _ = pushed.load(Relaxed));
                }
            });
            for mut rx in ends {
                scope.spawn(move || {
                    // How many pushes and pops had ended at the first refusal of a row.
                    let mut first = None;
                    loop {
                        let now = (pushed.load(Acquire), popped.load(Acquire));
                        // Other consumers may be about to count what they popped: as if it were there.
                        let there = now.1 + consumers <= now.0;
                        match rx.try_pop() {
                            Ok(_) => {
                                popped.fetch_add(1, Release);
                                first = None;
                            }
                            Err(TryPopError::Closed) => return,
                            Err(TryPopError::Empty | TryPopError::Busy) => {
                                let (pushes, pops) = *first.get_or_insert(now);
                                if !there || pops != now.1 {
                                    first = there.then_some(now);
                                } else {
                                    vain.fetch_max(now.0 - pushes, Relaxed);
                                }
                                spin::pause(1);
                            }
                        }
                    }
                });
            }
        });
        // Outside of the engine this is an atomic like any other: the most of all seeds.
        most.fetch_max(vain.load(Relaxed), Relaxed);
    });
    most.load(Relaxed)
}

/// A consumer that is refused asks for it, and the next push that ends tells what is there: so two may end in vain, and one more
/// between a look at the count and the look at the queue.
const BOUND: usize = 3;

/// What is committed is delivered, to each number of consumers that `build` is asked for.
fn delivers_from_a_block_that_is_being_filled<P, C>(build: impl Fn(usize) -> (P, Vec<C>) + Sync)
where
    P: Push<Item: From<usize>> + Send,
    C: Pop + Send,
{
    for consumers in 1..=3 {
        for slow in [0, 3] {
            let vain = most_pushes_in_vain(consumers, slow, 200, || build(consumers));
            assert!(
                vain <= BOUND,
                "{consumers} consumers, a producer that pauses for {slow} looks: {vain} pushes in vain"
            );
        }
    }
}

#[test]
fn bbq_delivers_from_a_block_that_is_being_filled() {
    delivers_from_a_block_that_is_being_filled(|consumers| {
        let (tx, rx) = mpmc::shared::<Box<usize>>(2, ITEMS).unwrap();
        (tx, vec![rx; consumers])
    });
}

#[test]
fn drop_old_delivers_from_a_block_that_is_being_filled() {
    delivers_from_a_block_that_is_being_filled(|consumers| {
        let (tx, rx) = drop_old::<usize>(2, ITEMS).unwrap();
        (tx, vec![rx; consumers])
    });
}

#[test]
fn spmc_delivers_from_a_block_that_is_being_filled() {
    delivers_from_a_block_that_is_being_filled(|consumers| {
        let (tx, rx) = spmc::spmc::<Box<usize>>(2, ITEMS).unwrap();
        (tx, vec![rx; consumers])
    });
}

/// With one consumer there is nobody to be refused for: what was pushed before the look is there.
#[test]
fn queues_for_one_and_one_deliver_at_once() {
    fn check<P, C>(build: impl Fn() -> (P, C) + Sync)
    where
        P: Push<Item = Box<usize>> + Send,
        C: Pop<Item = Box<usize>> + Send,
    {
        let vain = most_pushes_in_vain(1, 0, 100, || {
            let (tx, rx) = build();
            (tx, vec![rx])
        });
        assert_eq!(vain, 0);
    }
    check(|| fast_forward::fast_forward(ITEMS).unwrap());
    check(|| fast_forward::in_place(ITEMS).unwrap());
    check(|| mpsc::mpsc(2, ITEMS).unwrap());
    check(|| spsc::spsc(2, ITEMS).unwrap());
    check(|| growing::with_chunks(ITEMS, 2 * ITEMS, Most::Entries(2 * ITEMS)).unwrap());
    check(|| lamport::cached(ITEMS).unwrap());
    check(|| lamport::plain(ITEMS).unwrap());
    check(|| {
        let (mut producers, mut consumers) = mesh::mesh(1, 1, ITEMS, 2 * ITEMS).unwrap();
        (producers.remove(0), consumers.remove(0))
    });
    // In one capsule.
    check(|| cnq::over(Scqd::new(2).unwrap(), 2, ITEMS, ITEMS).unwrap());
}

/// Entries that are reserved and not committed hold back nothing that was pushed before them.
#[test]
fn a_grant_that_is_outstanding_holds_nothing_back() {
    macro_rules! check {
        ($($ends:expr,)+) => {
            $({
                #[allow(unused_mut, reason = "some handles are shared")]
                let (mut tx, mut rx) = $ends.unwrap();
                for round in 0..20 {
                    tx.try_push(Box::new(round)).unwrap();
                    let mut grant = tx.reserve(3).unwrap();
                    grant.extend([Box::new(round + 100)]);
                    assert_eq!(rx.try_pop(), Ok(Box::new(round)));
                    assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
                    grant.commit();
                    assert_eq!(rx.try_pop(), Ok(Box::new(round + 100)));
                }
            })+
        };
    }
    check! {
        fast_forward::in_place(8),
        spsc::spsc(2, 8),
        spmc::spmc(2, 8),
        growing::with_chunks(4, 8, Most::Entries(16)),
        lamport::cached(8),
    }
}

/// What a producer has committed is there, whatever is reserved behind it.
#[test]
fn ticketed_delivers_what_is_committed() {
    delivers_from_a_block_that_is_being_filled(|consumers| {
        let (tx, rx) = ticketed::ticketed::<Box<usize>>(ITEMS).unwrap();
        (tx, vec![rx; consumers])
    });
}
