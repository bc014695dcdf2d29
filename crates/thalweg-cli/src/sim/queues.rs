//! Queues alone: how many messages go through in a second, as threads are added and as they are farther apart.

use std::num::NonZero;

use serde_json::json;
use thalweg_queue::chunk_ring::Most;
use thalweg_queue::{Pop, Push, bbq, chunk_ring, fast_forward, lamport, locked};
use thalweg_sim::Machine;
use thalweg_sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use thalweg_sync::time::Instant;
use thalweg_sync::{CachePadded, spin, thread, time};

use super::point::{Figures, Point};

/// Messages that a queue holds.
pub(super) const CAPACITY: usize = 4096;
/// Messages of a point with one thread on a side; with more, each has fewer.
const MESSAGES: u64 = if cfg!(test) { 2_000 } else { 40_000 };

pub(super) type Item = NonZero<u64>;
/// Pushes, or pops, whatever the queue.
pub(super) type Sending = Box<dyn FnMut(Item) + Send>;
pub(super) type Receiving = Box<dyn FnMut() -> Option<Item> + Send>;
/// Makes a queue with so many producers and consumers.
pub(super) type Make = fn(usize, usize) -> (Vec<Sending>, Vec<Receiving>);

fn sending(mut tx: impl Push<Item = Item> + Send + 'static) -> Sending {
    Box::new(move |item| tx.push(item).expect("the consumers stay until the end"))
}

fn receiving(mut rx: impl Pop<Item = Item> + Send + 'static) -> Receiving {
    Box::new(move || rx.pop().ok())
}

/// The ends of a queue that has one of each.
pub(super) fn single(
    tx: impl Push<Item = Item> + Send + 'static,
    rx: impl Pop<Item = Item> + Send + 'static,
) -> (Vec<Sending>, Vec<Receiving>) {
    (vec![sending(tx)], vec![receiving(rx)])
}

pub(super) const RIGHT: &str = "the capacity is one that the queue can have";

pub(super) fn make_bbq(producers: usize, consumers: usize) -> (Vec<Sending>, Vec<Receiving>) {
    let (tx, rx) = bbq::with_capacity(CAPACITY).expect(RIGHT);
    ((0..producers).map(|_| sending(tx.clone())).collect(), (0..consumers).map(|_| receiving(rx.clone())).collect())
}

pub(super) fn make_locked(producers: usize, consumers: usize) -> (Vec<Sending>, Vec<Receiving>) {
    let (tx, rx) = locked::locked::<Item>(CAPACITY).expect(RIGHT);
    let push = |tx: locked::Producer<Item>| -> Sending { Box::new(move |item| tx.push(item).expect("they stay")) };
    let pop = |rx: locked::Consumer<Item>| -> Receiving { Box::new(move || rx.pop().ok()) };
    ((0..producers).map(|_| push(tx.clone())).collect(), (0..consumers).map(|_| pop(rx.clone())).collect())
}

/// Runs messages through a queue between threads on these hardware threads. Messages that fill the queue for the first
/// time are not measured.
fn traffic(make: Make, producers: &[usize], consumers: &[usize], messages: u64) -> Figures {
    let (sending, receiving) = make(producers.len(), consumers.len());
    let threads = producers.len() + consumers.len();
    let ready = CachePadded(AtomicUsize::new(0));
    let go = CachePadded(AtomicU64::new(0));
    let start = |cpu: usize| {
        thread::pin_current(cpu).expect("the machine has this thread");
        // The last one opens the gate.
        if ready.fetch_add(1, AcqRel) + 1 == threads {
            go.store(1, Release);
        }
        spin::until(|| (go.load(Acquire) == 1).then_some(()));
    };
    let each = messages / producers.len() as u64;
    let warm = each * producers.len() as u64 / 4 / consumers.len() as u64;
    thread::scope(|scope| {
        for (mut push, &cpu) in sending.into_iter().zip(producers) {
            let start = &start;
            scope.spawn(move || {
                start(cpu);
                (1..=each).for_each(|n| push(NonZero::new(n).expect("from 1")));
            });
        }
        let consumers: Vec<_> = (receiving.into_iter().zip(consumers))
            .map(|(mut pop, &cpu)| {
                let start = &start;
                scope.spawn(move || {
                    start(cpu);
                    let (mut count, mut began) = (0, time::now());
                    while pop().is_some() {
                        count += 1;
                        if count == warm {
                            began = time::now();
                        }
                    }
                    (count, count.saturating_sub(warm), began, time::now())
                })
            })
            .collect();
        let parts: Vec<(u64, u64, Instant, Instant)> =
            consumers.into_iter().map(|consumer| consumer.join().expect("no consumer panics")).collect();
        assert_eq!(parts.iter().map(|part| part.0).sum::<u64>(), each * producers.len() as u64, "a message was lost");
        let began = parts.iter().map(|part| part.2).min().expect("there is a consumer");
        let ended = parts.iter().map(|part| part.3).max().expect("there is a consumer");
        Figures { messages: parts.iter().map(|part| part.1).sum(), nanos: ended.since(began).as_nanos() as u64 }
    })
}

pub(super) fn point(
    workload: &'static str,
    contender: &'static str,
    label: String,
    threads: usize,
    make: Make,
    producers: Vec<usize>,
    consumers: Vec<usize>,
) -> Point {
    let many = producers.len().max(consumers.len()) as u64;
    scaled_point(
        workload,
        contender,
        label,
        threads,
        make,
        (producers, consumers),
        (MESSAGES / many.min(8)).max(500 * many),
    )
}

/// As [`point`], with about so many messages.
pub(super) fn scaled_point(
    workload: &'static str,
    contender: &'static str,
    label: String,
    threads: usize,
    make: Make,
    (producers, consumers): (Vec<usize>, Vec<usize>),
    messages: u64,
) -> Point {
    let messages = messages / producers.len() as u64 * producers.len() as u64;
    let params = json!({
        "capacity": CAPACITY, "messages": messages, "producers": producers.len(), "consumers": consumers.len(),
        "at": label,
    });
    let client = Box::new(move || traffic(make, &producers, &consumers, messages));
    Point { workload, contender, label, params, threads, messages, device: None, client }
}

/// One to one: the producer on the first hardware thread, the consumer near and far.
fn by_distance(contender: &'static str, make: Make, machine: &Machine, threads: usize) -> Vec<Point> {
    (machine.neighbours().into_iter())
        .filter(|&(_, cpu)| cpu < threads)
        .map(|(name, cpu)| point("1P1C", contender, name.to_owned(), threads, make, vec![0], vec![cpu]))
        .collect()
}

/// 1, 2, 3, 4, 6, 8, 12 … up to `most`, and that too.
pub(super) fn steps(most: usize) -> Vec<usize> {
    let doubled = std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|&n| n <= most);
    let mut steps: Vec<usize> = doubled.flat_map(|n| [n, n + n / 2]).filter(|&n| n <= most).collect();
    steps.push(most);
    steps.sort_unstable();
    steps.dedup();
    steps
}

/// The curves of a queue for many: threads are placed as in the block-based queues' experiments, the lone side first,
/// or both sides one by one.
fn curves(contender: &'static str, make: Make, machine: &Machine, threads: usize) -> Vec<Point> {
    let mut points = by_distance(contender, make, machine, threads);
    for n in steps(threads / 2) {
        let (producers, consumers) = ((0..n).map(|i| 2 * i).collect(), (0..n).map(|i| 2 * i + 1).collect());
        points.push(point("NPNC", contender, format!("{n}P{n}C"), threads, make, producers, consumers));
    }
    for n in steps(threads - 1) {
        points.push(point("NP1C", contender, format!("{n}P1C"), threads, make, (1..=n).collect(), vec![0]));
    }
    for n in steps(threads - 1) {
        points.push(point("1PNC", contender, format!("1P{n}C"), threads, make, vec![0], (1..=n).collect()));
    }
    points
}

pub(super) fn on_bbq(machine: &Machine, threads: usize) -> Vec<Point> {
    curves("bbq", make_bbq, machine, threads)
}

pub(super) fn on_locked(machine: &Machine, threads: usize) -> Vec<Point> {
    curves("locked", make_locked, machine, threads)
}

pub(super) fn on_fast_forward(machine: &Machine, threads: usize) -> Vec<Point> {
    let make: Make = |_, _| {
        let (tx, rx) = fast_forward(CAPACITY).expect(RIGHT);
        single(tx, rx)
    };
    by_distance("fast-forward", make, machine, threads)
}

pub(super) fn on_lamport(machine: &Machine, threads: usize) -> Vec<Point> {
    let plain: Make = |_, _| {
        let (mut tx, mut rx) = lamport::plain::<Item>(CAPACITY).expect(RIGHT);
        (vec![Box::new(move |item| tx.push(item).expect("it stays"))], vec![Box::new(move || rx.pop().ok())])
    };
    let cached: Make = |_, _| {
        let (mut tx, mut rx) = lamport::cached::<Item>(CAPACITY).expect(RIGHT);
        (vec![Box::new(move |item| tx.push(item).expect("it stays"))], vec![Box::new(move || rx.pop().ok())])
    };
    let mut points = by_distance("lamport", plain, machine, threads);
    points.extend(by_distance("lamport-cached", cached, machine, threads));
    points
}

pub(super) fn on_chunk_ring(machine: &Machine, threads: usize) -> Vec<Point> {
    let make: Make = |_, _| {
        let (tx, rx) = chunk_ring(CAPACITY, Most::Entries(CAPACITY)).expect(RIGHT);
        single(tx, rx)
    };
    by_distance("chunk-ring", make, machine, threads)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            for point in plan(&machine, 3) {
                let (figures, report) = point.run(&machine, 0).unwrap_or_else(|failure| panic!("{failure}"));
                assert!(figures.messages > 0 && figures.nanos > 0, "{}", point.title());
                assert_eq!(point.run(&machine, 0).unwrap().1, report, "{}: the same again", point.title());
            }
        }
    }
}
