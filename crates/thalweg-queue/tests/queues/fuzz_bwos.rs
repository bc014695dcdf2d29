//! Work stealing with more threads than a model can take, in schedules drawn by seed; overlapping use of an entry is
//! reported.

use thalweg_check::Fuzz;
use thalweg_queue::stealing::{self, Pool, Probabilistic, Random, Rng, StealError, Stealer};
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use thalweg_sync::atomic::{AtomicBool, AtomicUsize, fence};
use thalweg_sync::park::{Parker, Unparker};
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::{spin, thread};

type Item = Box<usize>;

/// Steals until the queue is drained, `most` at a time.
fn drain(thief: &Stealer<Item>, most: usize) -> Vec<usize> {
    let (mut stolen, mut batch) = (Vec::new(), Vec::new());
    let mut tries = 0;
    loop {
        match thief.steal_into(&mut batch, most) {
            Ok(_) => stolen.extend(batch.drain(..).map(|item| *item)),
            Err(StealError::Closed) => return stolen,
            Err(StealError::Empty | StealError::Busy) => {
                tries += 1;
                spin::pause(tries);
            }
        }
    }
}

/// The owner pushes, pops and shares at random; three thieves steal one, two or a block.
macro_rules! everything_is_taken_once {
    ($order:ident, $sorted:literal) => {
        #[test]
        fn $order() {
            const ITEMS: usize = 24;
            for (blocks, entries) in [(2, 1), (2, 3), (3, 2)] {
                Fuzz::new().seeds(0..300).run(move || {
                    let (mut owner, thief) = stealing::$order::<Item>(blocks, entries).unwrap();
                    let mut taken: Vec<usize> = thread::scope(|scope| {
                        let thieves = [1, 2, usize::MAX].map(|most| (thief.clone(), most));
                        let thieves = thieves.map(|(thief, most)| scope.spawn(move || drain(&thief, most)));
                        let mut rng = Rng::new((blocks * entries) as u64);
                        let mut popped = Vec::new();
                        for number in 0..ITEMS {
                            let mut item = Box::new(number);
                            while let Err(refused) = owner.push(item) {
                                item = refused.into_inner();
                                assert_eq!(*item, number);
                                popped.extend(owner.pop().map(|item| *item));
                                spin::pause(1);
                            }
                            match rng.below(4) {
                                0 => owner.share(),
                                1 => popped.extend(owner.pop().map(|item| *item)),
                                _ => {}
                            }
                        }
                        assert!(!$sorted || popped.is_sorted(), "{popped:?}");
                        drop(owner);
                        popped.extend(thieves.into_iter().flat_map(|thief| thief.join().unwrap()));
                        popped
                    });
                    taken.sort_unstable();
                    assert!(taken.into_iter().eq(0..ITEMS));
                });
            }
        }
    };
}
everything_is_taken_once!(lifo, false);
everything_is_taken_once!(fifo, true);

/// Owner and thieves leave when they like. What is left is dropped once.
#[test]
fn what_is_left_is_dropped_once() {
    Fuzz::new().seeds(0..500).run(|| {
        let counted = Arc::new(());
        let (mut owner, thief) = stealing::fifo(2, 2).unwrap();
        thread::scope(|scope| {
            for steals in 0..3 {
                let thief = thief.clone();
                scope.spawn(move || (0..steals).for_each(|_| drop(thief.steal())));
            }
            drop(thief);
            for _ in 0..6 {
                drop(owner.push(counted.clone()));
            }
            drop(owner.pop());
            drop(owner);
        });
        assert_eq!(Arc::strong_count(&counted), 1);
    });
}

/// Tasks make tasks on three workers that steal from each other. A worker that finds nothing stops for good, but only
/// after it has shared what it had: so no task is left, whoever is last.
#[test]
fn a_pool_runs_every_task() {
    const DEPTH: usize = 5;
    Fuzz::new().seeds(0..200).run(|| {
        let queues: Vec<_> = (0..3).map(|_| stealing::lifo::<Item>(4, 2).unwrap()).collect();
        let (mut owners, stealers): (Vec<_>, Vec<_>) = queues.into_iter().unzip();
        let pool = Pool::new(stealers);
        owners[0].push(Box::new(DEPTH)).unwrap();
        let run: usize = thread::scope(|scope| {
            let workers = owners.into_iter().enumerate().map(|(number, mut owner)| {
                let mut thief = pool.thief(number, Probabilistic::new(Random));
                scope.spawn(move || {
                    let mut run = 0;
                    loop {
                        let task = match owner.pop() {
                            Some(task) => task,
                            None => match thief.steal() {
                                Ok(task) => task,
                                Err(StealError::Busy) => {
                                    spin::pause(1);
                                    continue;
                                }
                                Err(StealError::Empty | StealError::Closed) => return run,
                            },
                        };
                        run += 1;
                        for _ in 0..2 {
                            if *task > 0 && owner.push(Box::new(*task - 1)).is_err() {
                                run += (1 << *task) - 1; // no room: done here, with all that it would have made
                            }
                        }
                        owner.share();
                    }
                })
            });
            let workers: Vec<_> = workers.collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).sum()
        });
        assert_eq!(run, (1 << (DEPTH + 1)) - 1);
    });
}

/// Whom to wake, if the worker has announced that it will sleep.
type Sleeper = Mutex<Option<Unparker>>;

/// To be called after tasks were shared.
fn wake(sleepers: &[Sleeper]) {
    // Between what was granted and the look at who has announced.
    fence(SeqCst);
    sleepers.iter().filter_map(|sleeper| sleeper.lock().unwrap().take()).for_each(|thread| thread.unpark());
}

/// One worker of three has a task that ends only when all others are done, and what it has not begun waits behind that. The two others sleep
/// until it shares: they have to find all of it, and whoever finds nothing has to be right.
#[test]
fn others_take_what_waits_behind_a_long_task() {
    const TASKS: usize = 10;
    for (blocks, entries) in [(2, 8), (4, 3), (12, 1)] {
        Fuzz::new().seeds(0..200).run(move || {
            let queues: Vec<_> = (0..3).map(|_| stealing::lifo::<Item>(blocks, entries).unwrap()).collect();
            let (mut owners, stealers): (Vec<_>, Vec<_>) = queues.into_iter().unzip();
            let pool = Pool::new(stealers);
            let sleepers: [Sleeper; 2] = [const { None }; 2].map(Mutex::new);
            let (done, over) = (AtomicUsize::new(0), AtomicBool::new(false));
            let mut run: Vec<usize> = thread::scope(|scope| {
                let (done, over, sleepers) = (&done, &over, &sleepers);
                let mut busy = owners.remove(0);
                let others = owners.into_iter().enumerate().map(|(number, mut owner)| {
                    let mut thief = pool.thief(number + 1, Probabilistic::new(Random));
                    scope.spawn(move || {
                        let parker = Parker::new();
                        let (mut run, mut batch) = (Vec::new(), Vec::new());
                        loop {
                            while let Some(task) = owner.pop() {
                                run.push(*task);
                                done.fetch_add(1, AcqRel);
                            }
                            *sleepers[number].lock().unwrap() = Some(parker.unparker());
                            fence(SeqCst);
                            let is_over = over.load(Relaxed);
                            match thief.steal_into(&mut batch, 2) {
                                Ok(_) => batch.drain(..).for_each(|task| owner.push(task).unwrap()),
                                Err(StealError::Busy) => spin::pause(1),
                                Err(_) if is_over => return run,
                                Err(_) => parker.park(),
                            }
                        }
                    })
                });
                let others: Vec<_> = others.collect();
                (0..TASKS).for_each(|task| busy.push(Box::new(task)).unwrap());
                let mut run = vec![*busy.pop().unwrap()];
                busy.share();
                wake(sleepers);
                let mut looks = 0;
                while done.load(Acquire) < TASKS - 1 {
                    looks += 1;
                    spin::pause(looks);
                }
                assert!(busy.pop().is_none());
                over.store(true, Relaxed);
                wake(sleepers);
                run.extend(others.into_iter().flat_map(|worker| worker.join().unwrap()));
                run
            });
            run.sort_unstable();
            assert!(run.into_iter().eq(0..TASKS));
        });
    }
}
