//! Queues alone: how many messages go through in a second, as threads are added and as they are farther apart.

use std::num::NonZero;
use std::sync::{Arc, OnceLock};

use serde_json::json;
use thalweg_queue::Yield;
use thalweg_queue::growing::Most;
use thalweg_queue::stealing::Rng;
use thalweg_queue::wait::{Side, Wait};
use thalweg_queue::{
    Pop, Push, TryPushError, growing, mpmc,
    research::{lamport, locked},
    spsc::fast_forward,
};
use thalweg_sim::{Held, Stamp, jitter};
use thalweg_sync::atomic::{AtomicU64, AtomicUsize, Counter, Ordering::*};
use thalweg_sync::hint::Access;
use thalweg_sync::time::Instant;
use thalweg_sync::{CachePadded, spin, thread, time};

use crate::baselines::bbq;
use crate::worlds::experiment::{Experiment, NANOS, Panel, Setting};
use crate::worlds::point::{Figures, Point};
use crate::worlds::{self, Memory};

/// Messages that a queue holds.
pub(crate) const CAPACITY: usize = 4096;
/// Messages of a point with one thread on a side; with more, each has fewer.
const MESSAGES: u64 = 40_000;

pub(crate) const EXPERIMENTS: [Experiment; 5] = [
    Experiment::new("sim/bbq", on_bbq).here(&[NANOS, UNFAIR]).panels(&[
        Panel::Rate,
        Panel::Of(UNFAIR),
        Panel::Of(WAITS[0]),
    ]),
    Experiment::new("sim/locked", on_locked).here(&[NANOS, UNFAIR]),
    Experiment::new("sim/fast-forward", on_fast_forward).here(&[NANOS, UNFAIR]),
    Experiment::new("sim/lamport", on_lamport).here(&[NANOS, UNFAIR]),
    Experiment::new("sim/chunk-ring", on_chunk_ring).here(&[NANOS, UNFAIR]),
];

pub(crate) type Item = NonZero<u64>;
/// Pushes, or pops, whatever the queue. A push calls the function before each of its attempts.
pub(crate) type Sending = Box<dyn FnMut(Item, &dyn Fn()) + Send>;
pub(crate) type Receiving = Box<dyn FnMut() -> Option<Item> + Send>;
/// The ends of a queue with so many producers and consumers.
pub(crate) type Ends = (Vec<Sending>, Vec<Receiving>);

/// A queue that takes part.
#[derive(Clone)]
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) capacity: usize,
    make: Arc<dyn Fn(usize, usize) -> Ends + Send + Sync>,
    complex: bool,
    weighed: bool,
}

impl Contender {
    pub(crate) fn new(
        name: &'static str,
        capacity: usize,
        make: impl Fn(usize, usize) -> Ends + Send + Sync + 'static,
    ) -> Self {
        Self { name, capacity, make: Arc::new(make), complex: false, weighed: false }
    }

    /// In the workload [*complex*](Complex).
    pub(crate) fn complex(self) -> Self {
        Self { complex: true, ..self }
    }

    /// The same point with the bytes that its queue [holds](HELD) among the figures.
    pub(crate) fn weighed(self) -> Self {
        Self { weighed: true, ..self }
    }

    /// One to one.
    fn single<T, R>(name: &'static str, make: fn(usize) -> (T, R)) -> Self
    where
        T: Push<Item = Item> + Send + 'static,
        R: Pop<Item = Item> + Send + 'static,
    {
        Self::new(name, CAPACITY, move |_, _| {
            let (tx, rx) = make(CAPACITY);
            single(tx, rx)
        })
    }

    pub(crate) fn bbq(name: &'static str, capacity: usize) -> Self {
        Self::new(name, capacity, move |producers, consumers| {
            let (tx, rx) = mpmc::with_capacity_and_wait(capacity, Yield).expect(RIGHT);
            cloned(&tx, &rx, producers, consumers)
        })
    }

    /// BBQ as the thesis prints it.
    pub(crate) fn printed(capacity: usize) -> Self {
        Self::new("bbq, as printed", capacity, move |producers, consumers| {
            let queue = bbq::Bbq::new(capacity);
            let ends = (vec![queue.clone(); producers], vec![queue; consumers]);
            unclosed(
                ends,
                |queue, item| queue.try_push(item.get()).is_ok(),
                |queue| queue.try_pop().ok().and_then(Item::new),
            )
        })
    }

    pub(crate) fn locked() -> Self {
        Self::new("locked", CAPACITY, |producers, consumers| {
            let (tx, rx) = locked::with_wait::<Item, _>(CAPACITY, Yield).expect(RIGHT);
            cloned(&tx, &rx, producers, consumers)
        })
    }
}

/// Clones of two handles.
pub(crate) fn cloned<T, R>(tx: &T, rx: &R, producers: usize, consumers: usize) -> Ends
where
    T: Push<Item = Item> + Clone + Send + 'static,
    R: Pop<Item = Item> + Clone + Send + 'static,
{
    ((0..producers).map(|_| sending(tx.clone())).collect(), (0..consumers).map(|_| receiving(rx.clone())).collect())
}

fn sending(mut tx: impl Push<Item = Item> + Send + 'static) -> Sending {
    Box::new(move |item, attempt| {
        loop {
            attempt();
            // As a `push` does, which cannot be asked how often it attempted.
            match tx.push_patiently(item) {
                Ok(()) => return,
                Err(TryPushError::Closed(_)) => unreachable!("the consumers stay until the end"),
                Err(TryPushError::Full(_) | TryPushError::Busy(_)) => {
                    tx.strategy().wait(Side::Room, None, || tx.may_push());
                }
            }
        }
    })
}

fn receiving(mut rx: impl Pop<Item = Item> + Send + 'static) -> Receiving {
    Box::new(move || rx.pop().ok())
}

/// The ends of a queue that has one of each.
pub(crate) fn single(tx: impl Push<Item = Item> + Send + 'static, rx: impl Pop<Item = Item> + Send + 'static) -> Ends {
    (vec![sending(tx)], vec![receiving(rx)])
}

/// The producers of a queue that cannot be closed, counted: each has one of these until it is done.
pub(crate) struct Left(Arc<CachePadded<AtomicU64>>);

impl Left {
    /// One for each, and what tells whether all are gone.
    pub(crate) fn of(producers: usize) -> (Vec<Self>, impl Fn() -> bool + Clone + Send + 'static) {
        let left = Arc::new(CachePadded(AtomicU64::new(producers as u64)));
        let each = (0..producers).map(|_| Self(left.clone())).collect();
        // Acquire, pairs with the AcqRel below: what it pushed is there for who sees it gone.
        (each, move || left.load(Acquire) == 0)
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        // AcqRel, pairs with the Acquire above.
        self.0.fetch_sub(1, AcqRel);
    }
}

/// The ends of a queue that cannot be closed, by attempts: `push` says whether there was room.
pub(crate) fn unclosed<P: Send + 'static, C: Send + 'static>(
    (producers, consumers): (Vec<P>, Vec<C>),
    push: fn(&mut P, Item) -> bool,
    pop: fn(&mut C) -> Option<Item>,
) -> Ends {
    let (left, are_gone) = Left::of(producers.len());
    let sending = |(mut producer, left): (P, Left)| -> Sending {
        Box::new(move |item, attempt| {
            let _one_of = &left;
            spin::until(|| {
                attempt();
                push(&mut producer, item).then_some(())
            });
        })
    };
    let receiving = |mut consumer: C| -> Receiving {
        let are_gone = are_gone.clone();
        Box::new(move || {
            spin::until(|| {
                // A last look after the last producer has gone.
                pop(&mut consumer).map(Some).or_else(|| are_gone().then(|| pop(&mut consumer)))
            })
        })
    };
    (producers.into_iter().zip(left).map(sending).collect(), consumers.into_iter().map(receiving).collect())
}

/// By how much the rates of the threads of one side differ.
pub(crate) const UNFAIR: &str = "fastest over slowest";
/// How long pushes took that are measured, waits for room and for others included: the longest but for one in a thousand, and the longest.
pub(crate) const WAITS: [&str; 2] = ["ns, 99.9 % of pushes", "ns, longest push"];
/// Messages that are in the queue when one leaves it, in the mean. What a message waits is this over the rate.
pub(crate) const FILL: &str = "in the queue";

/// Bytes that a queue has asked the allocator for and not given back, its ends included: when it is made, and at most.
pub(crate) const HELD: [&str; 2] = ["bytes, made", "bytes, most"];

pub(crate) const RIGHT: &str = "the capacity is one that the queue can have";

/// What the thesis' workload *complex* adds to an operation (section 2.6.2): the message is memory, which its producer allocates
/// and writes and its consumer reads and frees, and each side goes through a loop of up to a hundred `nop`s, here a cycle each.
/// What an allocator takes is a guess.
struct Complex {
    /// Of each producer, as many pieces as can be out at once, one after the other.
    memory: Vec<Memory>,
}

/// Words of what an allocator has as its smallest piece.
const CHUNK: usize = 4;

impl Complex {
    const ALLOCATOR: u64 = 50;

    fn new(producers: usize, capacity: usize) -> Self {
        Self { memory: (0..producers).map(|_| Memory::new(CHUNK * (capacity + 1))).collect() }
    }

    /// A side's part of the `n`-th message of a producer.
    fn operation(&self, producer: usize, n: u64, access: Access, rng: &mut Rng) {
        let memory = &self.memory[producer];
        worlds::work(Self::ALLOCATOR + rng.below(101) as u64);
        memory.touch(CHUNK * (n as usize % (memory.words() / CHUNK)), 1, access);
    }
}

/// What is kept on the host: when a message was sent is nothing that the machine has.
#[expect(clippy::disallowed_types, reason = "all threads of a run are one on the host: nobody waits for the lock")]
type OnHost<T> = std::sync::Mutex<T>;

/// Runs messages through a queue between threads on these hardware threads. Messages that fill the queue for the first
/// time are not measured. A message's latency begins with the attempt that put it in: waiting for room is not part of it.
fn traffic(contender: &Contender, producers: &[usize], consumers: &[usize], messages: u64) -> Figures {
    if thread::is_native() {
        return traffic_here(contender, producers, consumers, messages);
    }
    // What is asked for beside the queue is there before the gate opens, and the queue does not grow before.
    let held = |anew| if contender.weighed { thalweg_sim::held(anew).unwrap_or_default() } else { Held::default() };
    let before = held(false).now;
    let (sending, receiving) = (contender.make)(producers.len(), consumers.len());
    let made = held(false).now - before;
    let [at_the_gate, grown] = [(); 2].map(|()| Counter::new());
    let threads = producers.len() + consumers.len();
    let ready = CachePadded(AtomicUsize::new(0));
    let go = CachePadded(AtomicU64::new(0));
    let start = |cpu: usize| {
        worlds::pin(cpu);
        // The last one opens the gate.
        if ready.fetch_add(1, AcqRel) + 1 == threads {
            at_the_gate.set(held(true).now as u64);
            go.store(1, Release);
        }
        spin::until(|| (go.load(Acquire) == 1).then_some(()));
        jitter();
    };
    let each = messages / producers.len() as u64;
    let warm = (each * producers.len() as u64 / 4).max(1);
    let complex = contender.complex.then(|| Complex::new(producers.len(), contender.capacity));
    // How many were sent and have arrived, whoever did it, how many were in the queue each time, and when the first that are
    // not measured had arrived. On the host, too, where all threads of a run are one, so that each may count.
    let [entered, arrived, inside] = [(); 3].map(|()| Counter::new());
    let warmed = OnceLock::new();
    let sent: Vec<OnHost<Stamp>> =
        std::iter::repeat_with(OnHost::default).take(each as usize * producers.len()).collect();
    let waits: OnHost<Vec<u64>> = OnHost::new(Vec::with_capacity(sent.len()));
    let stamp = |message: u64| sent[message as usize].lock().expect("nobody panics with it");
    thread::scope(|scope| {
        let (start, stamp, complex, warmed) = (&start, &stamp, &complex, &warmed);
        let (entered, arrived, inside, waits) = (&entered, &arrived, &inside, &waits);
        let (held, at_the_gate, grown) = (&held, &at_the_gate, &grown);
        let producers: Vec<_> = (sending.into_iter().zip(producers).enumerate())
            .map(|(number, (mut push, &cpu))| {
                scope.spawn(move || {
                    start(cpu);
                    let mut rng = Rng::new(number as u64);
                    let began = time::now();
                    for n in 0..each {
                        if let Some(complex) = complex {
                            complex.operation(number, n, Access::Write, &mut rng);
                        }
                        let message = number as u64 * each + n;
                        let asked = Stamp::now();
                        push(NonZero::new(message + 1).expect("from 1"), &|| *stamp(message) = Stamp::now());
                        entered.add(1);
                        if arrived.get() > warm {
                            waits.lock().expect("nobody panics with it").push(asked.nanos());
                        }
                    }
                    began.elapsed().as_nanos() as f64
                })
            })
            .collect();
        let consumers: Vec<_> = (receiving.into_iter().zip(consumers).enumerate())
            .map(|(number, (mut pop, &cpu))| {
                scope.spawn(move || {
                    start(cpu);
                    let mut rng = Rng::new(threads as u64 + number as u64);
                    let mut count = 0;
                    while let Some(n) = pop() {
                        let message = n.get() - 1;
                        count += 1;
                        arrived.add(1);
                        if arrived.get() == warm {
                            _ = warmed.set(time::now());
                        } else if arrived.get() > warm {
                            stamp(message).arrived();
                            // It may come out before its push has ended.
                            inside.add(entered.get().saturating_sub(arrived.get()));
                        }
                        if let Some(complex) = complex {
                            let producer = (message / each) as usize;
                            complex.operation(producer, message % each, Access::Read, &mut rng);
                        }
                    }
                    grown.set(held(false).most as u64 - at_the_gate.get());
                    (count, time::now())
                })
            })
            .collect();
        let took: Vec<f64> =
            producers.into_iter().map(|producer| producer.join().expect("no producer panics")).collect();
        let parts: Vec<(u64, Instant)> =
            consumers.into_iter().map(|consumer| consumer.join().expect("no consumer panics")).collect();
        let all = each * took.len() as u64;
        assert_eq!(parts.iter().map(|part| part.0).sum::<u64>(), all, "a message was lost");
        let began = *warmed.get().expect("there are messages");
        let ended = parts.iter().map(|part| part.1).max().expect("there is a consumer");
        let nanos = ended.since(began).as_nanos() as u64;
        // Producers have as much to do each, so the quickest has the highest rate; consumers as long.
        let unfair = apart(took.iter().copied()).max(apart(parts.iter().map(|part| part.0 as f64)));
        let fill = inside.get() as f64 / (all - warm).max(1) as f64;
        let mut waits = std::mem::take(&mut *waits.lock().expect("nobody panics with it"));
        waits.sort_unstable();
        let longest = |but: usize| waits.len().checked_sub(1 + but).map_or(0.0, |at| waits[at] as f64);
        let waits = [(WAITS[0], longest(waits.len() / 1000)), (WAITS[1], longest(0))];
        let bytes = [(HELD[0], made as f64), (HELD[1], made as f64 + grown.get() as f64)];
        let bytes = bytes.into_iter().filter(|_| contender.weighed);
        let more = [(UNFAIR, unfair), (FILL, fill)].into_iter().chain(waits).chain(bytes).collect();
        Figures { more, ..Figures::new(all - warm, nanos) }
    })
}

/// Times as many messages on the machine at hand, where a run is to take some milliseconds.
const LONGER: u64 = 25;

/// The same on the machine at hand, where to stamp and to count messages would be what is measured: only threads look at the clock.
fn traffic_here(contender: &Contender, producers: &[usize], consumers: &[usize], messages: u64) -> Figures {
    let (sending, receiving) = (contender.make)(producers.len(), consumers.len());
    let threads = producers.len() + consumers.len();
    let each = LONGER * messages / producers.len() as u64;
    let complex = contender.complex.then(|| Complex::new(producers.len(), contender.capacity));
    let (ready, began) = (CachePadded(AtomicUsize::new(0)), OnceLock::new());
    let start = |cpu: usize| {
        worlds::pin(cpu);
        if ready.fetch_add(1, AcqRel) + 1 == threads {
            _ = began.set(time::now());
        }
        *spin::until(|| began.get())
    };
    let (start, complex) = (&start, &complex);
    thread::scope(|scope| {
        let producers: Vec<_> = (sending.into_iter().zip(producers).enumerate())
            .map(|(number, (mut push, &cpu))| {
                scope.spawn(move || {
                    let (began, mut rng) = (start(cpu), Rng::new(number as u64));
                    for n in 0..each {
                        if let Some(complex) = complex {
                            complex.operation(number, n, Access::Write, &mut rng);
                        }
                        push(NonZero::new(number as u64 * each + n + 1).expect("from 1"), &|| ());
                    }
                    time::now().since(began).as_nanos() as f64
                })
            })
            .collect();
        let consumers: Vec<_> = (receiving.into_iter().zip(consumers).enumerate())
            .map(|(number, (mut pop, &cpu))| {
                scope.spawn(move || {
                    let (began, mut rng, mut count) = (start(cpu), Rng::new((threads + number) as u64), 0);
                    while let Some(n) = pop() {
                        count += 1;
                        if let Some(complex) = complex {
                            let (producer, n) = ((n.get() - 1) / each, (n.get() - 1) % each);
                            complex.operation(producer as usize, n, Access::Read, &mut rng);
                        }
                    }
                    (count, time::now().since(began).as_nanos() as u64)
                })
            })
            .collect();
        let took: Vec<f64> =
            producers.into_iter().map(|producer| producer.join().expect("no producer panics")).collect();
        let parts: Vec<(u64, u64)> =
            consumers.into_iter().map(|consumer| consumer.join().expect("no consumer panics")).collect();
        let all = each * took.len() as u64;
        assert_eq!(parts.iter().map(|part| part.0).sum::<u64>(), all, "a message was lost");
        let nanos = parts.iter().map(|part| part.1).max().expect("there is a consumer");
        let unfair = apart(took.iter().copied()).max(apart(parts.iter().map(|part| part.0 as f64)));
        let more = if threads > 2 { vec![(UNFAIR, unfair)] } else { Vec::new() };
        Figures { more, ..Figures::new(all, nanos) }
    })
}

/// The largest over the smallest, which counts as one at least.
fn apart(figures: impl Iterator<Item = f64>) -> f64 {
    let (least, most) = figures.fold((f64::INFINITY, 1.0), |(least, most), one| (one.min(least), one.max(most)));
    most / least.max(1.0)
}

/// A point at which messages go from threads on some hardware threads to threads on others.
pub(crate) fn point(
    setting: &Setting<'_>,
    workload: &'static str,
    contender: &Contender,
    label: String,
    (producers, consumers): (Vec<usize>, Vec<usize>),
    messages: u64,
) -> Point {
    let messages = messages / producers.len() as u64 * producers.len() as u64;
    let params = json!({
        "capacity": contender.capacity, "messages": messages, "producers": producers.len(),
        "consumers": consumers.len(), "at": label,
    });
    let (name, contender) = (contender.name, contender.clone());
    let client = Box::new(move || traffic(&contender, &producers, &consumers, messages));
    Point { workload, contender: name, label, params, threads: setting.threads, messages, device: None, client }
}

/// One to one: the producer on the first hardware thread, the consumer near and far.
fn by_distance(contender: &Contender, setting: &Setting<'_>) -> Vec<Point> {
    let near = setting.world.neighbours().into_iter().filter(|&(_, cpu)| cpu < setting.threads);
    near.map(|(name, cpu)| {
        let sides = (vec![0], vec![cpu]);
        point(setting, "1P1C", contender, name.to_owned(), sides, setting.part(MESSAGES, 1))
    })
    .collect()
}

/// 1, 2, 3, 4, 6, 8, 12 … up to `most`, and that too.
pub(crate) fn steps(most: usize) -> Vec<usize> {
    let doubled = std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|&n| n <= most);
    let mut steps: Vec<usize> = doubled.flat_map(|n| [n, n + n / 2]).filter(|&n| n <= most).collect();
    steps.push(most);
    steps.sort_unstable();
    steps.dedup();
    steps
}

/// `n` threads on each side that has many, placed as in the block-based queues' experiments: the lone side first, or both
/// sides one by one. With more threads than the machine has, they share. A workload begins with what has many.
pub(crate) fn sides(workload: &str, n: usize, threads: usize) -> (String, (Vec<usize>, Vec<usize>)) {
    let on = |cpus: Vec<usize>| cpus.into_iter().map(|cpu| cpu % threads).collect();
    match &workload[..4] {
        "NP1C" => (format!("{n}P1C"), (on((1..=n).collect()), vec![0])),
        "1PNC" => (format!("1P{n}C"), (vec![0], on((1..=n).collect()))),
        _ => (format!("{n}P{n}C"), (on((0..n).map(|i| 2 * i).collect()), on((0..n).map(|i| 2 * i + 1).collect()))),
    }
}

/// How many threads a side can have, if each has a hardware thread.
pub(crate) fn most(workload: &str, threads: usize) -> usize {
    if workload.starts_with("NPNC") { threads / 2 } else { threads - 1 }
}

/// The curves of a queue for many.
fn curves(contender: &Contender, setting: &Setting<'_>) -> Vec<Point> {
    let mut points = by_distance(contender, setting);
    for workload in ["NPNC", "NP1C", "1PNC"] {
        for n in steps(most(workload, setting.threads)) {
            let (label, sides) = sides(workload, n, setting.threads);
            let messages = (setting.part(MESSAGES, 1) / n.min(8) as u64).max(setting.part(500, 1) * n as u64);
            points.push(point(setting, workload, contender, label, sides, messages));
        }
    }
    points
}

fn on_bbq(setting: &Setting<'_>) -> Vec<Point> {
    let contenders = [Contender::bbq("bbq", CAPACITY), Contender::printed(CAPACITY)];
    contenders.iter().flat_map(|contender| curves(contender, setting)).collect()
}

fn on_locked(setting: &Setting<'_>) -> Vec<Point> {
    curves(&Contender::locked(), setting)
}

fn on_fast_forward(setting: &Setting<'_>) -> Vec<Point> {
    by_distance(
        &Contender::single("fast-forward", |capacity| fast_forward::with_wait(capacity, Yield).expect(RIGHT)),
        setting,
    )
}

fn on_lamport(setting: &Setting<'_>) -> Vec<Point> {
    let plain = Contender::single("lamport", |capacity| {
        lamport::with_wait::<_, _, lamport::Plain>(capacity, Yield).expect(RIGHT)
    });
    let cached = Contender::single("lamport-cached", |capacity| {
        lamport::with_wait::<_, _, lamport::Cached>(capacity, Yield).expect(RIGHT)
    });
    [plain, cached].iter().flat_map(|contender| by_distance(contender, setting)).collect()
}

fn on_chunk_ring(setting: &Setting<'_>) -> Vec<Point> {
    let make = |capacity| growing::chunk_ring_with_wait(capacity, Most::Entries(capacity), Yield).expect(RIGHT);
    by_distance(&Contender::single("chunk-ring", make), setting)
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use crate::worlds::point::{Role, together};
    use thalweg_sim::{Machine, Simulation};

    /// The measured part begins once, for all consumers.
    #[test]
    fn what_a_slow_consumer_leaves_to_others_is_counted() {
        let contender = Contender::new("uneven", 64, |_, _| {
            let (tx, rx) = mpmc::with_capacity_and_wait::<Item, _>(64, Yield).expect(RIGHT);
            let slowed = |mut pop: Receiving, cycles: u64| -> Receiving {
                Box::new(move || {
                    worlds::work(cycles);
                    pop()
                })
            };
            (vec![sending(tx)], vec![receiving(rx.clone()), slowed(receiving(rx), 50_000)])
        });
        let simulation = Simulation::new(Machine::named("x86-88t").unwrap()).threads(3).stack_bytes(1 << 20);
        let (figures, report) = simulation.try_run(|| traffic(&contender, &[0], &[1, 2], 400)).unwrap();
        assert_eq!(figures.messages, 300, "a quarter is not measured");
        assert_eq!(report.latencies.unwrap().count, 300, "nor how long it takes");
    }

    /// Twelve producers share eight entries, and a message leaves every microsecond: it is in the queue for eight, and its last attempt
    /// takes a few, but one in ten waits for room for sixty and more. (Who loses exchanges in that attempt stands back for longer than
    /// that, but few do, so the maximum tells nothing.)
    #[test]
    fn a_wait_for_room_is_no_part_of_the_latency() {
        let contender = Contender::new("slow", 8, |producers, _| {
            let (tx, rx) = mpmc::with_capacity_and_wait::<Item, _>(8, Yield).expect(RIGHT);
            let slow: Receiving = Box::new(move || {
                worlds::work(3_000);
                rx.pop().ok()
            });
            ((0..producers).map(|_| sending(tx.clone())).collect(), vec![slow])
        });
        let simulation = Simulation::new(Machine::named("x86-88t").unwrap()).threads(13).stack_bytes(1 << 20);
        let producers: Vec<usize> = (1..13).collect();
        let (figures, report) = simulation.try_run(|| traffic(&contender, &producers, &[0], 360)).unwrap();
        let latencies = report.latencies.unwrap();
        assert!(latencies.p50 > 4_000 && latencies.p90 < 36_000, "{latencies:?}");
        let fill = figures.more.iter().find(|(unit, _)| *unit == FILL).unwrap().1;
        assert!((4.0..=8.0).contains(&fill), "{fill} in the queue");
    }

    #[test]
    fn steps_reach_the_end_once() {
        assert_eq!(steps(1), [1]);
        assert_eq!(steps(7), [1, 2, 3, 4, 6, 7]);
        assert_eq!(steps(44), [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 44]);
    }

    #[test]
    fn every_queue_delivers_on_a_small_part_of_a_machine() {
        let machine = Machine::named("x86-88t").unwrap();
        for plan in [on_bbq, on_locked, on_fast_forward, on_lamport, on_chunk_ring] {
            for point in plan(&Setting::of(&machine, 3)) {
                let (figures, report) = point.run(&machine, 0).unwrap_or_else(|failure| panic!("{failure}"));
                assert!(figures.messages > 0 && figures.nanos > 0, "{}", point.title());
                assert_eq!(point.run(&machine, 0).unwrap().1, report, "{}: the same again", point.title());
            }
        }
    }

    /// What the block-based queues' experiments stand on: a counter that all threads add to takes it better by FAA than by a loop
    /// of CAS, of which only one succeeds at a time.
    #[test]
    fn faa_stays_ahead_of_cas_among_many_threads() {
        fn adding(threads: usize, add: fn(&AtomicU64)) -> u64 {
            let simulation = Simulation::new(Machine::named("x86-88t").unwrap()).threads(threads).stack_bytes(1 << 20);
            let client = || {
                let counter = CachePadded(AtomicU64::new(0));
                let role = |cpu| -> (usize, Role<'_>) { (cpu, Box::new(|| (0..300).for_each(|_| add(&counter)))) };
                together(300 * threads as u64, (0..threads).map(role).collect())
            };
            simulation.try_run(client).unwrap_or_else(|failure| panic!("{failure}")).0.nanos
        }
        for threads in [16, 40] {
            let faa = adding(threads, |counter| _ = counter.fetch_add(1, Relaxed));
            let cas = adding(threads, |counter| {
                let mut seen = counter.load(Relaxed);
                while let Err(other) = counter.compare_exchange_weak(seen, seen + 1, Relaxed, Relaxed) {
                    seen = other;
                }
            });
            assert!(4 * cas > 5 * faa, "{threads} threads: {faa} ns by FAA, {cas} by CAS");
        }
    }

    /// Figure 2.9a's step where producers are on both sockets.
    #[test]
    fn the_border_of_the_socket_is_a_step() {
        let machine = Machine::named("x86-88t").unwrap();
        let [within, full, across] = [14, 21, 28].map(|n| {
            let setting = Setting::of(&machine, n + 1);
            let (label, sides) = sides("NP1C", n, n + 1);
            point(&setting, "NP1C", &Contender::bbq("bbq", CAPACITY), label, sides, 200 * n as u64).nanos_on(&machine)
        });
        let (step, before) = (across / full, full / within);
        assert!(
            step > 1.25 && step > 1.15 * before,
            "{within:.0}, {full:.0} and, across, {across:.0} ns for a message"
        );
    }
}
