//! More threads than a model can take, in schedules drawn by seed; overlapping use of an entry is reported.

use thalweg_check::Fuzz;
use thalweg_queue::growing::{self, Most};
use thalweg_queue::{Pop, Push, TryPopError, TryPushError, mpmc, mpsc, spmc, spsc::fast_forward};
use thalweg_sync::sync::Arc;
use thalweg_sync::{spin, thread};

/// Who pushed it, and as which of its items.
type Item = Box<(usize, usize)>;

/// Items with their positions.
type Popped = Vec<(u64, (usize, usize))>;

/// Producers push six items each while consumers drain the queue: each comes once, in its producer's order.
fn delivers_each_item_once(
    producers: Vec<impl Push<Item = Item> + Send>,
    consumers: Vec<impl FnOnce() -> Popped + Send>,
) {
    const EACH: usize = 6;
    let count = producers.len();
    let mut popped: Popped = thread::scope(|scope| {
        for (producer, mut tx) in producers.into_iter().enumerate() {
            scope.spawn(move || (0..EACH).for_each(|number| tx.push(Box::new((producer, number))).unwrap()));
        }
        let consumers: Vec<_> = consumers.into_iter().map(|drain| scope.spawn(drain)).collect();
        consumers.into_iter().flat_map(|consumer| consumer.join().unwrap()).collect()
    });
    popped.sort_unstable();
    let mut next = vec![0; count];
    for (expected, (position, (producer, number))) in popped.into_iter().enumerate() {
        assert_eq!(position, expected as u64);
        assert_eq!(number, next[producer]);
        next[producer] += 1;
    }
    assert_eq!(next, vec![EACH; count]);
}

/// Three producers and three consumers on rings of two blocks; consumers come and go at different times.
#[test]
fn bbq_delivers_each_item_once() {
    for entries in [1, 2, 3] {
        Fuzz::new().seeds(0..300).run(|| {
            let (tx, rx) = mpmc::shared(2, entries).unwrap();
            let drain = |rx: mpmc::Consumer<_>| move || drain(|| rx.try_pop_numbered());
            delivers_each_item_once(vec![tx; 3], vec![rx; 3].into_iter().map(drain).collect());
        });
    }
}

#[test]
fn mpsc_delivers_each_item_once() {
    for entries in [1, 2, 3] {
        Fuzz::new().seeds(0..300).run(|| {
            let (tx, mut rx) = mpsc::mpsc(2, entries).unwrap();
            delivers_each_item_once(vec![tx; 3], vec![move || drain(|| rx.try_pop_numbered())]);
        });
    }
}

#[test]
fn spmc_delivers_each_item_once() {
    for entries in [1, 2, 3] {
        Fuzz::new().seeds(0..300).run(|| {
            let (tx, rx) = spmc::spmc(2, entries).unwrap();
            let drain = |rx: spmc::Consumer<_>| move || drain(|| rx.try_pop_numbered());
            delivers_each_item_once(vec![tx], vec![rx; 3].into_iter().map(drain).collect());
        });
    }
}

fn drain(mut pop: impl FnMut() -> Result<(u64, Item), TryPopError>) -> Popped {
    let mut popped = Vec::new();
    let mut tries = 0;
    loop {
        match pop() {
            Ok((position, item)) => popped.push((position, *item)),
            Err(TryPopError::Closed) => return popped,
            Err(TryPopError::Empty | TryPopError::Busy) => {
                tries += 1;
                spin::pause(tries);
            }
        }
    }
}

/// Four threads put one in and take one out, over and over: with room for four, nobody may see the queue full or empty.
#[test]
fn bbq_is_neither_full_nor_empty() {
    for (blocks, entries) in [(4, 1), (2, 3), (4, 3)] {
        Fuzz::new().seeds(0..300).run(|| {
            let (tx, rx) = mpmc::shared(blocks, entries).unwrap();
            thread::scope(|scope| {
                for _ in 0..4 {
                    let (tx, rx) = (tx.clone(), rx.clone());
                    scope.spawn(move || {
                        for number in 0..5 {
                            let mut tries = 0;
                            while let Err(refused) = tx.try_push(number) {
                                assert!(matches!(refused, TryPushError::Busy(_)), "{refused:?} with room");
                                tries += 1;
                                spin::pause(tries);
                            }
                            while let Err(refused) = rx.try_pop() {
                                assert_eq!(refused, TryPopError::Busy, "with an item in the queue");
                                tries += 1;
                                spin::pause(tries);
                            }
                        }
                    });
                }
            });
            assert!(rx.is_empty());
        });
    }
}

/// Pushes. With room for it, only pops that are half-way may keep it waiting, where they may be.
fn push_with_room(tx: &mut impl Push<Item = usize>, may_be_busy: bool) {
    let mut tries = 0;
    while let Err(refused) = tx.try_push(7) {
        assert!(may_be_busy && matches!(refused, TryPushError::Busy(_)), "{refused:?} with room");
        tries += 1;
        spin::pause(tries);
    }
}

/// Pops. With an item in the queue, only pushes that are half-way may keep it waiting, where they may be.
fn pop_an_item(rx: &mut impl Pop<Item = usize>, may_be_busy: bool) {
    let mut tries = 0;
    while let Err(refused) = rx.try_pop() {
        assert!(may_be_busy && refused == TryPopError::Busy, "{refused:?} with an item in the queue");
        tries += 1;
        spin::pause(tries);
    }
}

/// The thread of the consumer puts one in and takes one out, over and over, while two others put one in: there is room for all.
#[test]
fn mpsc_is_neither_full_nor_empty() {
    for (blocks, entries) in [(4, 1), (2, 2), (4, 3)] {
        Fuzz::new().seeds(0..300).run(|| {
            let (mut tx, mut rx) = mpsc::mpsc(blocks, entries).unwrap();
            thread::scope(|scope| {
                for mut tx in [tx.clone(), tx.clone()] {
                    scope.spawn(move || push_with_room(&mut tx, false));
                }
                for _ in 0..6 {
                    push_with_room(&mut tx, false);
                    pop_an_item(&mut rx, true);
                }
            });
            assert_eq!(rx.len(), 2);
        });
    }
}

/// The thread of the producer puts one in and takes one out, over and over, while two others take one out: there is one for each.
#[test]
fn spmc_is_neither_full_nor_empty() {
    for (blocks, entries) in [(4, 1), (2, 2), (4, 3)] {
        Fuzz::new().seeds(0..300).run(|| {
            let (mut tx, mut rx) = spmc::spmc(blocks, entries).unwrap();
            (0..2).for_each(|_| push_with_room(&mut tx, false));
            thread::scope(|scope| {
                for mut rx in [rx.clone(), rx.clone()] {
                    scope.spawn(move || pop_an_item(&mut rx, false));
                }
                for _ in 0..6 {
                    push_with_room(&mut tx, true);
                    pop_an_item(&mut rx, false);
                }
            });
            assert_eq!(tx.len(), 0);
        });
    }
}

/// Consumers leave while producers push: each item is refused or dropped, once.
fn drops_what_is_left_once<P, C>(build: impl Fn() -> (Vec<P>, Vec<C>) + Sync)
where
    P: Push<Item = Arc<()>> + Send,
    C: Pop<Item = Arc<()>> + Send,
{
    Fuzz::new().seeds(0..500).run(|| {
        let counted = Arc::new(());
        let (producers, consumers) = build();
        thread::scope(|scope| {
            for mut tx in producers {
                let counted = &counted;
                scope.spawn(move || while tx.push(counted.clone()).is_ok() {});
            }
            for (pops, mut rx) in consumers.into_iter().enumerate() {
                scope.spawn(move || (0..pops).for_each(|_| drop(rx.pop().unwrap())));
            }
        });
        assert_eq!(Arc::strong_count(&counted), 1);
    });
}

#[test]
fn bbq_drops_what_is_left_once() {
    drops_what_is_left_once(|| {
        let (tx, rx) = mpmc::shared(2, 2).unwrap();
        (vec![tx; 3], vec![rx; 3])
    });
}

#[test]
fn mpsc_drops_what_is_left_once() {
    drops_what_is_left_once(|| {
        let (tx, rx) = mpsc::mpsc(2, 2).unwrap();
        (vec![tx; 3], vec![rx])
    });
}

#[test]
fn spmc_drops_what_is_left_once() {
    drops_what_is_left_once(|| {
        let (tx, rx) = spmc::spmc(2, 2).unwrap();
        (vec![tx], vec![rx; 3])
    });
}

/// A small ring and a long stream, with and without slip.
#[test]
fn fast_forward_keeps_order() {
    for slip in [None, Some(fast_forward::Slip { danger: 2, good: 4, every: 3, stage: 0 })] {
        Fuzz::new().seeds(0..300).run(|| {
            let (mut tx, mut rx) = fast_forward::fast_forward(5).unwrap();
            if let Some(slip) = slip {
                rx = rx.with_slip(slip);
            }
            thread::scope(|scope| {
                scope.spawn(move || (0..60).for_each(|number| tx.push(Box::new(number)).unwrap()));
                for number in 0..60 {
                    assert_eq!(*rx.pop().unwrap(), number);
                }
                assert!(rx.pop().is_err());
            });
        });
    }
}

/// A request is answered before the next one: both queues are nearly empty all the time, and nobody may wait for ever.
#[test]
fn fast_forward_answers_each_request() {
    Fuzz::new().seeds(0..300).run(|| {
        let (mut ask, mut asked) = fast_forward::fast_forward(1).unwrap();
        let (mut answer, answered) = fast_forward::fast_forward(1).unwrap();
        let mut answered = answered.with_slip(fast_forward::Slip::default());
        thread::scope(|scope| {
            scope.spawn(move || {
                while let Ok(request) = asked.pop() {
                    answer.push(request).unwrap();
                }
            });
            for number in 0..20 {
                ask.push(Box::new(number)).unwrap();
                assert_eq!(*answered.pop().unwrap(), number);
            }
            drop(ask);
        });
    });
}

/// A ring that grows and shrinks under a long stream. Every entry of a chunk in use by both is reported, and so is a chunk
/// that is freed while the consumer is in it.
#[test]
fn chunk_ring_keeps_order() {
    for (chunk, first, most) in [(1, 2, 2), (1, 2, 7), (3, 2, 12)] {
        Fuzz::new().seeds(0..300).run(|| {
            let (mut tx, mut rx) = growing::with_chunks(chunk, first, Most::Entries(most)).unwrap();
            thread::scope(|scope| {
                scope.spawn(move || {
                    for number in 0..60 {
                        tx.push(Box::new(number)).unwrap();
                        if number % 17 == 0 {
                            tx.shrink();
                        }
                    }
                });
                for number in 0..60 {
                    assert_eq!(*rx.pop().unwrap(), number);
                }
                assert!(rx.pop().is_err());
            });
        });
    }
}

/// A request is answered before the next one: neither end may keep an item, or a chunk that was read, to itself.
#[test]
fn chunk_ring_answers_each_request() {
    Fuzz::new().seeds(0..300).run(|| {
        let (mut ask, mut asked) = growing::with_chunks(1, 2, Most::Entries(2)).unwrap();
        let (mut answer, mut answered) = growing::with_chunks(3, 4, Most::Entries(4)).unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                while let Ok(request) = asked.pop() {
                    answer.push(request).unwrap();
                }
            });
            for number in 0..20 {
                ask.push(number).unwrap();
                assert_eq!(answered.pop().unwrap(), number);
            }
            drop(ask);
        });
    });
}
