//! Long runs on real threads, each item checked. Left out unless asked for:
//!
//! ```text
//! THALWEG_STRESS_ITEMS=1000000000 cargo test --release -p thalweg-queue --test stress -- --ignored --test-threads 1 --nocapture
//! ```
//!
//! One producer and one consumer see every number in its order. With several of either, each consumer sees each producer's numbers in
//! their order (where the queue promises that), and what all have seen adds up to what all have pushed, in three sums that a number
//! lost, doubled or changed does not leave alone.
#![cfg(not(any(loom, miri)))]

use std::num::NonZeroU64;
use thalweg_queue::bbq::{bytes, drop_old};
use thalweg_queue::chunk_ring::Most;
use thalweg_queue::tube::{self, ring, scqd::Scqd};
use thalweg_queue::{Pop, Push, bbq, bwos, chunk_ring, cnq, faaq, fast_forward, lamport, locked, mesh, ticketed};
use thalweg_sync::{thread, time};

const CAPACITY: usize = 4096;

/// How many items each run has.
fn items() -> u64 {
    match std::env::var("THALWEG_STRESS_ITEMS") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("THALWEG_STRESS_ITEMS is a number of items, not {text:?}")),
        Err(_) => 10_000_000,
    }
}

/// What travels: a number from 0.
trait Number: Send {
    fn of(number: u64) -> Self;
    fn number(self) -> u64;
}

impl Number for u64 {
    fn of(number: u64) -> Self {
        number
    }
    fn number(self) -> u64 {
        self
    }
}

impl Number for NonZeroU64 {
    fn of(number: u64) -> Self {
        Self::MIN.saturating_add(number)
    }
    fn number(self) -> u64 {
        self.get() - 1
    }
}

/// Bits that depend on all bits of `number`.
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    number ^ number >> 29
}

/// Sums over what was seen, whatever the order.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Sums {
    count: u64,
    sum: u64,
    mixed: u64,
}

impl Sums {
    fn add(&mut self, number: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(number);
        self.mixed = self.mixed.wrapping_add(mixed(number));
    }

    fn join(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            sum: self.sum.wrapping_add(other.sum),
            mixed: self.mixed.wrapping_add(other.mixed),
        }
    }

    fn of(numbers: impl Iterator<Item = u64>) -> Self {
        let mut sums = Self::default();
        numbers.for_each(|number| sums.add(number));
        sums
    }
}

/// Says how long a run took.
fn report(name: &str, items: u64, run: impl FnOnce()) {
    let start = time::now();
    run();
    let took = start.elapsed();
    println!("{name}: {items} items in {took:.1?}, {:.1} ns each", took.as_nanos() as f64 / items as f64);
}

fn one_and_one<T: Number>(name: &str, (mut tx, mut rx): (impl Push<Item = T> + Send, impl Pop<Item = T> + Send)) {
    let items = items();
    report(name, items, || {
        thread::scope(|scope| {
            scope.spawn(move || (0..items).for_each(|number| tx.push(T::of(number)).map_err(|_| "closed").unwrap()));
            for number in 0..items {
                assert_eq!(rx.pop().unwrap().number(), number);
            }
            assert!(rx.pop().is_err(), "nothing comes after the end");
        });
    });
}

/// A number says in its upper half who pushed it.
const PRODUCER: u32 = 48;

/// Two or more on either side. `fifo` says whether each consumer sees each producer's numbers in order.
fn many<P, C>(name: &str, fifo: bool, producers: Vec<P>, consumers: Vec<C>)
where
    P: Push<Item = u64> + Send,
    C: Pop<Item = u64> + Send,
{
    let items = items();
    let each = items / producers.len() as u64;
    let count = producers.len();
    report(name, each * count as u64, || {
        let seen = thread::scope(|scope| {
            for (producer, mut tx) in producers.into_iter().enumerate() {
                let first = (producer as u64) << PRODUCER;
                scope.spawn(move || (first..first + each).for_each(|number| tx.push(number).unwrap()));
            }
            let consumers: Vec<_> = consumers
                .into_iter()
                .map(|mut rx| {
                    scope.spawn(move || {
                        let mut next = vec![0; count];
                        let mut sums = Sums::default();
                        while let Ok(number) = rx.pop() {
                            let next = &mut next[(number >> PRODUCER) as usize];
                            assert!(!fifo || number >= *next, "{number:x} after {next:x}");
                            *next = number + 1;
                            sums.add(number);
                        }
                        sums
                    })
                })
                .collect();
            consumers.into_iter().map(|consumer| consumer.join().unwrap()).fold(Sums::default(), Sums::join)
        });
        let pushed = (0..count as u64).map(|producer| Sums::of(producer << PRODUCER..(producer << PRODUCER) + each));
        assert_eq!(seen, pushed.fold(Sums::default(), Sums::join));
    });
}

/// An owner that pushes all and pops some, and a thief.
macro_rules! stealing {
    ($name:literal, $build:expr) => {{
        let items = items();
        let (mut owner, thief) = $build(64, 64).unwrap();
        report($name, items, || {
            let seen = thread::scope(|scope| {
                let stolen = scope.spawn(move || {
                    let mut sums = Sums::default();
                    let mut batch = Vec::new();
                    while !thief.is_drained() {
                        match thief.steal_into(&mut batch, 16) {
                            Ok(_) => batch.drain(..).for_each(|number| sums.add(number)),
                            Err(_) => thread::yield_now(),
                        }
                    }
                    sums
                });
                let mut sums = Sums::default();
                for number in 0..items {
                    while owner.push(number).is_err() {
                        (0..32).filter_map(|_| owner.pop()).for_each(|number| sums.add(number));
                    }
                }
                drop(owner);
                sums.join(stolen.join().unwrap())
            });
            assert_eq!(seen, Sums::of(0..items));
        });
    }};
}

/// Two producers and two consumers of messages, whose length changes with the number in them.
fn messages() {
    let each = items() / 2;
    let (tx, rx) = bytes::bytes(8, 1 << 14).unwrap();
    report("bbq::bytes", 2 * each, || {
        let seen = thread::scope(|scope| {
            for producer in 0..2 {
                let tx = tx.clone();
                scope.spawn(move || {
                    let mut message = [0; 64];
                    for number in producer << PRODUCER..(producer << PRODUCER) + each {
                        message[..8].copy_from_slice(&number.to_ne_bytes());
                        tx.push(&message[..8 + (number % 57) as usize]).unwrap();
                    }
                });
            }
            drop(tx);
            let popping = [rx.clone(), rx].map(|rx| {
                scope.spawn(move || {
                    let mut next = [0; 2];
                    let mut sums = Sums::default();
                    while let Ok(message) = rx.wait_readable() {
                        let number = u64::from_ne_bytes(message[..8].try_into().unwrap());
                        assert_eq!(message.len(), 8 + (number % 57) as usize);
                        let next = &mut next[(number >> PRODUCER) as usize];
                        assert!(number >= *next, "{number:x} after {next:x}");
                        *next = number + 1;
                        sums.add(number);
                    }
                    sums
                })
            });
            popping.map(|consumer| consumer.join().unwrap()).into_iter().fold(Sums::default(), Sums::join)
        });
        let pushed = (0..2).map(|producer| Sums::of(producer << PRODUCER..(producer << PRODUCER) + each));
        assert_eq!(seen, pushed.fold(Sums::default(), Sums::join));
    });
}

/// Two producers that overwrite what two consumers are too slow for: items are whole and in order, and none is missing in the count.
fn overwritten() {
    let each = items() / 2;
    let (tx, rx) = drop_old::with_capacity::<[u64; 3]>(CAPACITY).unwrap();
    report("bbq::drop_old", 2 * each, || {
        let popped: u64 = thread::scope(|scope| {
            for producer in 0..2 {
                let tx = tx.clone();
                scope.spawn(move || {
                    for number in producer << PRODUCER..(producer << PRODUCER) + each {
                        tx.push([number, mixed(number), !number]).unwrap();
                    }
                });
            }
            drop(tx);
            let popping = [rx.clone(), rx.clone()].map(|rx| {
                scope.spawn(move || {
                    let mut next = [0; 2];
                    let mut popped = 0;
                    while let Ok([number, bits, not]) = rx.pop() {
                        assert_eq!((bits, not), (mixed(number), !number), "torn");
                        let next = &mut next[(number >> PRODUCER) as usize];
                        assert!(number >= *next, "{number:x} after {next:x}");
                        *next = number + 1;
                        popped += 1;
                    }
                    popped
                })
            });
            popping.map(|consumer| consumer.join().unwrap()).into_iter().sum()
        });
        assert_eq!(popped + rx.dropped(), 2 * each);
    });
}

/// Tests by name, all left out unless asked for.
macro_rules! runs {
    ($($name:ident: $run:expr,)+) => {
        $(#[test]
        #[ignore = "takes as long as it is told to"]
        fn $name() {
            $run
        })+
    };
}

/// Two handles on either side of a queue for many.
fn two_and_two<P: Push<Item = u64> + Send + Clone, C: Pop<Item = u64> + Send + Clone>(
    name: &str,
    fifo: bool,
    (tx, rx): (P, C),
) {
    many(name, fifo, vec![tx.clone(), tx], vec![rx.clone(), rx]);
}

runs! {
    fast_forward_words: one_and_one("fast_forward", fast_forward::<NonZeroU64>(CAPACITY).unwrap()),
    fast_forward_in_place: one_and_one("fast_forward::in_place", fast_forward::in_place::<u64>(CAPACITY).unwrap()),
    bbq_spsc: one_and_one("bbq::spsc", bbq::spsc::with_capacity::<u64>(CAPACITY).unwrap()),
    lamport_plain: one_and_one("lamport::plain", lamport::plain::<u64>(CAPACITY).unwrap()),
    lamport_cached: one_and_one("lamport::cached", lamport::cached::<u64>(CAPACITY).unwrap()),
    chunk_ring_fixed: one_and_one("chunk_ring, fixed", chunk_ring::chunk_ring::<u64>(CAPACITY, Most::Entries(CAPACITY)).unwrap()),
    chunk_ring_growing: one_and_one("chunk_ring, growing", chunk_ring::chunk_ring::<u64>(64, Most::Entries(1 << 20)).unwrap()),
    bbq_one_and_one: one_and_one("bbq, one and one", bbq::with_capacity::<u64>(CAPACITY).unwrap()),
    bbq_two_to_one: {
        let (tx, rx) = bbq::mpsc::with_capacity::<u64>(CAPACITY).unwrap();
        many("bbq::mpsc", true, vec![tx.clone(), tx], vec![rx]);
    },
    bbq_one_to_two: {
        let (tx, rx) = bbq::spmc::with_capacity::<u64>(CAPACITY).unwrap();
        many("bbq::spmc", true, vec![tx], vec![rx.clone(), rx]);
    },
    mesh_two_by_two: {
        let (producers, consumers) = mesh::mesh::<u64>(2, 2, CAPACITY, CAPACITY).unwrap();
        many("mesh", true, producers, consumers);
    },
    bbq_two_and_two: two_and_two("bbq", true, bbq::with_capacity(CAPACITY).unwrap()),
    bytes_two_and_two: messages(),
    drop_old_two_and_two: overwritten(),
    ticketed_two_and_two: two_and_two("ticketed", true, ticketed::ticketed(CAPACITY).unwrap()),
    locked_two_and_two: two_and_two("locked", true, locked::locked(CAPACITY).unwrap()),
    mt_two_and_two: two_and_two("ring::Mt", true, tube::queue(ring::Mt::new(CAPACITY).unwrap())),
    rts_two_and_two: two_and_two("ring::Rts", true, tube::queue(ring::Rts::new(CAPACITY).unwrap())),
    hts_two_and_two: two_and_two("ring::Hts", true, tube::queue(ring::Hts::new(CAPACITY).unwrap())),
    scqd_two_and_two: two_and_two("Scqd", true, tube::queue(Scqd::new(CAPACITY).unwrap())),
    faaq_two_and_two: two_and_two("Faaq", true, faaq::shared(8, CAPACITY / 8).unwrap()),
    cnq_two_and_two: two_and_two("cnq", false, cnq::cnq(CAPACITY, 1024).unwrap()),
    bwos_lifo: stealing!("bwos::lifo", bwos::lifo::<u64>),
    bwos_fifo: stealing!("bwos::fifo", bwos::fifo::<u64>),
}
