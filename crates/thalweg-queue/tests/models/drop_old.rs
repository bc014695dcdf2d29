//! BBQ in drop-old mode under loom: small clients, and canaries that show that the model is awake.
//!
//! Two blocks of one entry: from the third push on, each overwrites a block.

use thalweg_queue::overwriting::{self, Consumer, Plain, Producer, drop_old};
use thalweg_queue::{TryPopError, Yield};
use thalweg_sync::{model_bounded, thread};

/// Two words that must agree: half of an item would be noticed. The entries are atomics, so loom reports no race.
#[derive(Clone, Copy)]
struct Item([usize; 2]);

// SAFETY: two numbers.
unsafe impl Plain for Item {}

impl Item {
    fn new(number: usize) -> Self {
        Self([number, !number])
    }

    fn number(self) -> usize {
        assert_eq!(self.0[0], !self.0[1], "half of an item");
        self.0[0]
    }
}

/// Pushes `count` items, numbered from `first`. Alone, nobody is in the way.
fn push_all(tx: &Producer<Item>, first: usize, count: usize) {
    (first..first + count).for_each(|number| tx.try_push(Item::new(number)).unwrap());
}

/// Pops what is there until the queue is closed, at most `attempts` times without an item. The item at position n has number n.
fn pop_some(rx: &Consumer<Item>, attempts: usize) -> usize {
    let (mut popped, mut last) = (0, None);
    for _ in 0..attempts {
        if let Ok((position, item)) = rx.try_pop_numbered() {
            assert_eq!(item.number() as u64, position);
            assert!(last < Some(position), "out of order");
            last = Some(position);
            popped += 1;
        }
    }
    popped
}

/// What is left when all producers have gone. Returns how many there were; the newest, number `last`, is among them or was popped.
fn drain(rx: &Consumer<Item>) -> usize {
    let mut popped = 0;
    loop {
        match rx.try_pop_numbered() {
            Ok((position, item)) => {
                assert_eq!(item.number() as u64, position);
                popped += 1;
            }
            Err(TryPopError::Closed) => return popped,
            Err(refused) => panic!("{refused:?} at the end"),
        }
    }
}

/// One producer that laps the ring while a consumer reads.
fn a_lap(entries: usize, head: u64, pushes: usize) {
    model_bounded(2, move || {
        let (tx, rx) = overwriting::drop_old_from(head, 2, entries, Yield).unwrap();
        let first = head.wrapping_mul(entries as u64);
        let producer = thread::spawn(move || push_all(&tx, 0, pushes));
        let mut popped = 0;
        let mut next = 0;
        let mut pop = |rx: &Consumer<Item>| match rx.try_pop_numbered() {
            Ok((position, item)) => {
                let number = item.number();
                // Across the wrap, positions begin anew.
                assert!(head != 0 || position == first + number as u64);
                assert!(number >= next, "item {number} when {next} was next");
                next = number + 1;
                popped += 1;
                true
            }
            Err(_) => false,
        };
        for _ in 0..2 {
            pop(&rx);
        }
        producer.join().unwrap();
        while pop(&rx) {}
        assert_eq!(next, pushes, "the newest is lost");
        assert_eq!(popped + rx.dropped(), pushes as u64);
    });
}

/// Two consumers, of which each may be overrun: nothing twice, and what neither has is counted.
fn two_consumers() {
    model_bounded(2, || {
        let (tx, rx) = drop_old(2, 1).unwrap();
        push_all(&tx, 0, 1);
        let other = rx.clone();
        let consumer = thread::spawn(move || pop_some(&other, 1));
        push_all(&tx, 1, 2);
        let popped = pop_some(&rx, 1) + consumer.join().unwrap();
        drop(tx);
        assert_eq!((popped + drain(&rx)) as u64 + rx.dropped(), 3);
    });
}

/// Two producers, of which one may be overtaken: what it writes late is not what is left in the end.
fn two_producers() {
    model_bounded(2, || {
        let (tx, rx) = drop_old(2, 1).unwrap();
        let other = tx.clone();
        let producer = thread::spawn(move || usize::from(other.try_push(Item::new(10)).is_ok()));
        let mut pushed = (0..2).filter(|&number| tx.try_push(Item::new(number)).is_ok()).count();
        pushed += producer.join().unwrap();
        drop(tx);
        let mut last = [None; 2];
        let mut popped = 0;
        while let Ok(item) = rx.try_pop() {
            let (number, last) = (item.number(), &mut last[item.number() / 10]);
            assert!(*last < Some(number), "popped twice, or out of order");
            *last = Some(number);
            popped += 1;
        }
        assert_eq!(popped + rx.dropped(), pushed as u64);
    });
}

/// Two threads push one and pop one. One is always kept: nobody may see the queue empty.
fn roles_switch() {
    model_bounded(3, || {
        let (tx, rx) = drop_old(2, 2).unwrap();
        let (other_tx, other_rx) = (tx.clone(), rx.clone());
        let both = |tx: &Producer<Item>, rx: &Consumer<Item>, number| {
            tx.push(Item::new(number)).unwrap();
            while let Err(refused) = rx.try_pop() {
                assert_eq!(refused, TryPopError::Busy, "with an item in the queue");
                thread::yield_now();
            }
        };
        let other = thread::spawn(move || both(&other_tx, &other_rx, 1));
        both(&tx, &rx, 2);
        other.join().unwrap();
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
    });
}

/// The producer leaves behind two items; the consumer must not see the end before them.
fn the_end_comes_last() {
    model_bounded(3, || {
        let (tx, rx) = drop_old(2, 1).unwrap();
        let producer = thread::spawn(move || push_all(&tx, 0, 2));
        let mut popped = 0;
        loop {
            match rx.try_pop() {
                Ok(item) => {
                    assert_eq!(item.number(), popped);
                    popped += 1;
                }
                Err(TryPopError::Closed) => break,
                Err(_) => thread::yield_now(),
            }
        }
        assert_eq!(popped, 2);
        producer.join().unwrap();
    });
}

models! {
    lap_1: a_lap(1, 0, 4),
    lap_2: a_lap(2, 0, 6),
    lap_across_the_wrap: a_lap(1, u64::MAX - 1, 4),
    consumers: two_consumers(),
    producers: two_producers(),
    roles: roles_switch(),
    end: the_end_comes_last(),
}

canaries! {
    canary_5: "drop_old.5", "left == right", a_lap(1, 0, 4),
    canary_6: "drop_old.6", "left == right", a_lap(1, 0, 4),
    canary_8: "drop_old.8", "left == right", a_lap(1, 0, 4),
    canary_9: "drop_old.9", "left == right", a_lap(1, 0, 4),
    canary_14: "drop_old.14", "with an item in the queue", roles_switch(),
    canary_handles_2: "handles.2", "left == right", the_end_comes_last(),
}
