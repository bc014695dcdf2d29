//! Long runs on real threads, each item checked. Left out unless asked for:
//!
//! ```text
//! THALWEG_STRESS_ITEMS=1000000000 cargo test --release -p thalweg-queue --test stress -- --ignored --test-threads 1 --nocapture
//! ```
//!
//! One producer and one consumer see every number in its order. With several of either, each consumer sees each producer's numbers in
//! their order (where the queue promises that), and what all have seen adds up to what all have pushed, in three sums that a number
//! lost, doubled or changed does not leave alone. Messages and items that may be overwritten are compared whole: each byte depends on
//! the number.
#![cfg(not(any(loom, miri)))]

use std::num::NonZeroU64;
use thalweg_queue::growing::Most;
use thalweg_queue::research::tube::{self, Tube, ring, scqd::Scqd};
use thalweg_queue::stealing::{Pool, Probabilistic, Random, StealError};
use thalweg_queue::{BuildError, Pop, Push, Yield};
use thalweg_queue::{
    bytes, growing, mpmc, mpsc, overwriting,
    research::{cnq, faaq, lamport, locked, mesh, ticketed},
    spmc, spsc,
    spsc::fast_forward,
    stealing,
};

use thalweg_sync::atomic::{AtomicU64, Ordering};
use thalweg_sync::{spin, thread, time};

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

/// What so many producers have pushed together.
fn of_producers(producers: u64, each: u64) -> Sums {
    let pushed = (0..producers).map(|producer| Sums::of(producer << PRODUCER..(producer << PRODUCER) + each));
    pushed.fold(Sums::default(), Sums::join)
}

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
        assert_eq!(seen, of_producers(count as u64, each));
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

/// Eight workers, each with a queue of its own: it pushes, pops, and now and then steals from the others; in the end what they left.
macro_rules! workers {
    ($order:ident) => {{
        const WORKERS: usize = 8;
        const ROUND: u64 = 64;
        let each = items() / WORKERS as u64;
        let queues = (0..WORKERS).map(|_| stealing::$order::<u64>(8, 16).unwrap());
        let (owners, stealers): (Vec<_>, Vec<_>) = queues.unzip();
        let pool = Pool::new(stealers);
        report(concat!("bwos::", stringify!($order), ", 8 workers"), each * WORKERS as u64, || {
            let seen = thread::scope(|scope| {
                let work = |worker: usize, mut owner: stealing::$order::Owner<u64>| {
                    let mut thief = pool.thief(worker, Probabilistic::new(Random));
                    let first = (worker as u64) << PRODUCER;
                    scope.spawn(move || {
                        let mut sums = Sums::default();
                        let mut batch = Vec::new();
                        for number in first..first + each {
                            while owner.push(number).is_err() {
                                (0..32).filter_map(|_| owner.pop()).for_each(|number| sums.add(number));
                            }
                            if number % ROUND == 0 && thief.steal_into(&mut batch, 16).is_ok() {
                                batch.drain(..).for_each(|number| sums.add(number));
                            }
                        }
                        // What is left is the thieves'.
                        drop(owner);
                        loop {
                            match thief.steal_into(&mut batch, 16) {
                                Ok(_) => batch.drain(..).for_each(|number| sums.add(number)),
                                Err(StealError::Closed) => return sums,
                                Err(_) => thread::yield_now(),
                            }
                        }
                    })
                };
                let workers: Vec<_> =
                    owners.into_iter().enumerate().map(|(worker, owner)| work(worker, owner)).collect();
                workers.into_iter().map(|worker| worker.join().unwrap()).fold(Sums::default(), Sums::join)
            });
            assert_eq!(seen, of_producers(WORKERS as u64, each));
        });
    }};
}

/// A pipeline: what two workers take is pushed in the order in which it came, but for each eighth number, which they keep.
fn pipeline() {
    let items = items();
    let keeps = |number: u64| number % 8 == 7;
    let (source, input) = ticketed::with_wait::<u64, _>(CAPACITY, 1, Yield).unwrap();
    let (output, results) = ticketed::with_wait::<u64, _>(CAPACITY, 0, Yield).unwrap();
    report("ticketed, a pipeline", items, || {
        thread::scope(|scope| {
            scope.spawn(move || (0..items).for_each(|number| source.push(number).unwrap()));
            for (input, output) in [(input.clone(), output.clone()), (input, output)] {
                scope.spawn(move || {
                    while let Ok(mut take) = input.reserve(1) {
                        let number = take.next().unwrap();
                        let ticket = take.commit();
                        if !keeps(number) {
                            output.reserve_in_turn(1, &ticket, 0).unwrap().push(number).unwrap();
                        }
                    }
                });
            }
            for number in (0..items).filter(|&number| !keeps(number)) {
                assert_eq!(results.pop(), Ok(number));
            }
            assert!(results.pop().is_err(), "nothing comes after the end");
        });
    });
}

/// The longest message.
const MESSAGE: usize = 128;

/// A message whose length and bytes all depend on its number, which comes first.
fn message(number: u64) -> ([u8; MESSAGE], usize) {
    let mut message = [0; MESSAGE];
    let mut word = number;
    for bytes in message.chunks_exact_mut(8) {
        bytes.copy_from_slice(&word.to_ne_bytes());
        word = mixed(word ^ number << 1);
    }
    (message, 8 + (mixed(number) >> 20) as usize % (MESSAGE - 7))
}

/// The number of a message, if every byte of it is right, and as long as it was; and each producer's rise.
fn opened(popped: &[u8], next: &mut [u64; 2]) -> u64 {
    let number = u64::from_ne_bytes(popped[..8].try_into().unwrap());
    let (bytes, length) = message(number);
    assert_eq!(popped, &bytes[..length], "message {number:x}");
    let next = &mut next[(number >> PRODUCER) as usize];
    assert!(number >= *next, "{number:x} after {next:x}");
    *next = number + 1;
    number
}

/// Pushes the messages of a producer.
fn push_messages<M: bytes::Mode>(tx: &bytes::Producer<Yield, M>, producer: u64, each: u64) {
    for number in producer << PRODUCER..(producer << PRODUCER) + each {
        let (bytes, length) = message(number);
        tx.push(&bytes[..length]).unwrap();
    }
}

/// Two producers and two consumers of messages of random lengths.
fn messages() {
    let each = items() / 2;
    let (tx, rx) = bytes::with_wait(8, 1 << 14, Yield).unwrap();
    report("bytes", 2 * each, || {
        let seen = thread::scope(|scope| {
            for producer in 0..2 {
                let tx = tx.clone();
                scope.spawn(move || push_messages(&tx, producer, each));
            }
            drop(tx);
            let popping = [rx.clone(), rx].map(|rx| {
                scope.spawn(move || {
                    let mut next = [0; 2];
                    let mut sums = Sums::default();
                    while let Ok(message) = rx.wait_readable() {
                        sums.add(opened(&message, &mut next));
                    }
                    sums
                })
            });
            popping.map(|consumer| consumer.join().unwrap()).into_iter().fold(Sums::default(), Sums::join)
        });
        assert_eq!(seen, of_producers(2, each));
    });
}

/// The same where old messages are overwritten: they are whole and in order, and what is missing was dropped, in whole granules.
fn overwritten_messages() {
    let each = items() / 2;
    let (tx, rx) = bytes::drop_old_with_wait(8, 1 << 14, Yield).unwrap();
    report("bytes::drop_old", 2 * each, || {
        let popped: u64 = thread::scope(|scope| {
            for producer in 0..2 {
                let tx = tx.clone();
                scope.spawn(move || push_messages(&tx, producer, each));
            }
            drop(tx);
            let popping = [rx.clone(), rx.clone()].map(|rx| {
                scope.spawn(move || {
                    let mut next = [0; 2];
                    let mut message = Vec::with_capacity(MESSAGE);
                    let mut popped = 0;
                    while rx.pop(&mut message).is_ok() {
                        opened(&message, &mut next);
                        message.clear();
                        popped += 1;
                    }
                    popped
                })
            });
            popping.map(|consumer| consumer.join().unwrap()).into_iter().sum()
        });
        let missing = 2 * each - popped;
        assert!(16 * missing <= rx.dropped(), "{missing} messages are missing, {} bytes were dropped", rx.dropped());
    });
}

/// What travels where items may be overwritten: half of one would be noticed.
fn item(number: u64) -> [u64; 3] {
    [number, mixed(number), !number]
}

/// The number of an item that is whole and comes in its producer's order.
fn whole([number, bits, not]: [u64; 3], next: &mut [u64; 2]) -> u64 {
    assert_eq!((bits, not), (mixed(number), !number), "torn");
    let next = &mut next[(number >> PRODUCER) as usize];
    assert!(number >= *next, "{number:x} after {next:x}");
    *next = number + 1;
    number
}

/// Two producers that overwrite what two consumers are too slow for: items are whole and in order, and none is missing in the count.
fn overwritten() {
    let each = items() / 2;
    let (tx, rx) = overwriting::with_capacity_and_wait(CAPACITY, Yield).unwrap();
    report("overwriting", 2 * each, || {
        let popped: u64 = thread::scope(|scope| {
            for producer in 0..2 {
                let tx = tx.clone();
                scope.spawn(move || {
                    let numbers = producer << PRODUCER..(producer << PRODUCER) + each;
                    numbers.for_each(|number| tx.push(item(number)).unwrap());
                });
            }
            drop(tx);
            let popping = [rx.clone(), rx.clone()].map(|rx| {
                scope.spawn(move || {
                    let mut next = [0; 2];
                    rx.iter().map(|item| whole(item, &mut next)).count() as u64
                })
            });
            popping.map(|consumer| consumer.join().unwrap()).into_iter().sum()
        });
        assert_eq!(popped + rx.dropped(), 2 * each);
    });
}

/// A producer that is ten times as fast as its consumer, which takes an item only when ten more are pushed: nearly all are overwritten.
fn overwritten_ten_times() {
    const TIMES: u64 = 10;
    let items = items();
    let (tx, rx) = overwriting::with_capacity_and_wait(CAPACITY, Yield).unwrap();
    let pushed = AtomicU64::new(0);
    report("overwriting, ten times", items, || {
        let popped: u64 = thread::scope(|scope| {
            let pushed = &pushed;
            scope.spawn(move || {
                for number in 0..items {
                    tx.push(item(number)).unwrap();
                    // Relaxed: how far it is, with which nothing is passed on.
                    pushed.store(number + 1, Ordering::Relaxed);
                }
            });
            let mut next = [0; 2];
            let mut popped = 0;
            loop {
                let due = (TIMES * (popped + 1)).min(items);
                spin::until(|| (pushed.load(Ordering::Relaxed) >= due).then_some(()));
                match rx.pop() {
                    Ok(item) => _ = whole(item, &mut next),
                    Err(_) => return popped,
                }
                popped += 1;
            }
        });
        assert!(popped <= items / TIMES + CAPACITY as u64, "{popped} of {items}");
        assert_eq!(popped + rx.dropped(), items);
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

/// CNQ with as many capsules over a tube of the caller's.
fn over<Q: Tube<Item = u32> + 'static>(name: &str, tube: impl FnOnce(usize) -> Result<Q, BuildError>) {
    const CAPSULES: usize = 64;
    let tube = tube(CAPSULES).unwrap();
    two_and_two(name, false, cnq::with_wait(tube, CAPSULES, CAPACITY / CAPSULES, 1024, Yield).unwrap());
}

runs! {
    fast_forward_words: one_and_one("fast_forward", fast_forward::with_wait::<NonZeroU64, _>(CAPACITY, Yield).unwrap()),
    fast_forward_in_place: one_and_one("fast_forward::in_place", fast_forward::in_place_with_wait::<u64, _>(CAPACITY, Yield).unwrap()),
    bbq_spsc: one_and_one("spsc", spsc::with_capacity_and_wait::<u64, _>(CAPACITY, Yield).unwrap()),
    lamport_plain: one_and_one("lamport::plain", lamport::with_wait::<u64, _, lamport::Plain>(CAPACITY, Yield).unwrap()),
    lamport_cached: one_and_one("lamport::cached", lamport::with_wait::<u64, _, lamport::Cached>(CAPACITY, Yield).unwrap()),
    chunk_ring_fixed: one_and_one("chunk_ring, fixed", growing::chunk_ring_with_wait::<u64, _>(CAPACITY, Most::Entries(CAPACITY), Yield).unwrap()),
    chunk_ring_growing: one_and_one("chunk_ring, growing", growing::chunk_ring_with_wait::<u64, _>(64, Most::Entries(1 << 20), Yield).unwrap()),
    bbq_one_and_one: one_and_one("bbq, one and one", mpmc::with_capacity_and_wait::<u64, _>(CAPACITY, Yield).unwrap()),
    bbq_two_to_one: {
        let (tx, rx) = mpsc::with_capacity_and_wait::<u64, _>(CAPACITY, Yield).unwrap();
        many("mpsc", true, vec![tx.clone(), tx], vec![rx]);
    },
    bbq_one_to_two: {
        let (tx, rx) = spmc::with_capacity_and_wait::<u64, _>(CAPACITY, Yield).unwrap();
        many("spmc", true, vec![tx], vec![rx.clone(), rx]);
    },
    mesh_two_by_two: {
        let (producers, consumers) = mesh::with_wait::<u64, _>(2, 2, CAPACITY, CAPACITY, Yield).unwrap();
        many("mesh", true, producers, consumers);
    },
    bbq_two_and_two: two_and_two("bbq", true, mpmc::with_capacity_and_wait(CAPACITY, Yield).unwrap()),
    bytes_two_and_two: messages(),
    bytes_drop_old_two_and_two: overwritten_messages(),
    drop_old_two_and_two: overwritten(),
    drop_old_ten_times: overwritten_ten_times(),
    ticketed_pipeline: pipeline(),
    ticketed_two_and_two: two_and_two("ticketed", true, ticketed::with_wait(CAPACITY, 0, Yield).unwrap()),
    locked_two_and_two: two_and_two("locked", true, locked::with_wait(CAPACITY, Yield).unwrap()),
    mt_two_and_two: two_and_two("ring::Mt", true, tube::with_wait(ring::Mt::new(CAPACITY).unwrap(), Yield)),
    rts_two_and_two: two_and_two("ring::Rts", true, tube::with_wait(ring::Rts::new(CAPACITY).unwrap(), Yield)),
    hts_two_and_two: two_and_two("ring::Hts", true, tube::with_wait(ring::Hts::new(CAPACITY).unwrap(), Yield)),
    scqd_two_and_two: two_and_two("Scqd", true, tube::with_wait(Scqd::new(CAPACITY).unwrap(), Yield)),
    faaq_two_and_two: two_and_two("Faaq", true, faaq::with_wait(8, CAPACITY / 8, Yield).unwrap()),
    faaq_sixteen_consumers: {
        let (tx, rx) = faaq::with_wait::<u64, _>(8, CAPACITY / 8, Yield).unwrap();
        many("Faaq, 16 consumers", true, vec![tx; 2], vec![rx; 16]);
    },
    bbq_tube_two_and_two: two_and_two("faaq::Bbq", true, tube::with_wait(faaq::Bbq::new(8, CAPACITY / 8).unwrap(), Yield)),
    cnq_two_and_two: two_and_two("cnq", false, cnq::cnq_with_wait(CAPACITY, 1024, Yield).unwrap()),
    cnq_mt_two_and_two: over("cnq over ring::Mt", ring::Mt::new),
    cnq_rts_two_and_two: over("cnq over ring::Rts", ring::Rts::new),
    cnq_hts_two_and_two: over("cnq over ring::Hts", ring::Hts::new),
    cnq_faaq_two_and_two: over("cnq over Faaq", |capsules| faaq::Faaq::new(2, capsules)),
    cnq_bbq_two_and_two: over("cnq over faaq::Bbq", |capsules| faaq::Bbq::new(2, capsules)),
    bwos_lifo: stealing!("bwos::lifo", stealing::lifo::<u64>),
    bwos_fifo: stealing!("bwos::fifo", stealing::fifo::<u64>),
    bwos_lifo_eight_workers: workers!(lifo),
    bwos_fifo_eight_workers: workers!(fifo),
}
