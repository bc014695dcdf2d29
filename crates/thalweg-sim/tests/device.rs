//! The message device as the threads of a machine see it.
#![cfg(not(loom))]
#![allow(missing_docs, reason = "nobody but the test uses what is here")]

use std::panic::catch_unwind;
use std::pin::pin;
use thalweg_sim::{Credits, Device, Heap, Machine, Report, Routing, Simulation};
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::link::{self, Line, Target};
use thalweg_sync::time::{self, Duration};
use thalweg_sync::{hint, spin, thread};

#[global_allocator]
static HEAP: Heap = Heap;

/// The word whose arrival says that the line is there.
const LAST: usize = 7;

fn run(device: Device, threads: usize, client: impl FnOnce() + Send) -> Report {
    Simulation::new(Machine::named("vl-16").unwrap()).threads(threads).device(device).limit(50_000_000).run(client)
}

fn routing() -> Device {
    Device::VirtualLink(Routing::default())
}

fn queue(sqi: usize) -> Target {
    let target = Target::new(0, sqi).unwrap();
    assert!(link::open(target));
    target
}

/// Sends `value` from a line of its own.
fn send(target: Target, value: u64) {
    let line = pin!(Line::new());
    line.store(LAST, value, Release);
    let mut tries = 0;
    loop {
        link::select(line.as_ref());
        if link::push(target) {
            break;
        }
        assert_eq!(line.load(LAST, Relaxed), value, "a refused line stays as it is");
        tries += 1;
        spin::pause(tries);
    }
    assert_eq!(line.load(LAST, Relaxed), 0, "the device has taken the line");
}

/// Waits for a line, asking again whenever the request may be lost.
fn receive(target: Target) -> u64 {
    let line = pin!(Line::new());
    loop {
        link::select(line.as_ref());
        let _ = link::fetch(target);
        let mut tries = 0;
        let come = spin::until(|| {
            tries += 1;
            match line.load(LAST, Acquire) {
                0 => (tries > 1).then_some(0),
                value => Some(value),
            }
        });
        if come != 0 {
            return come;
        }
    }
}

#[test]
fn a_queue_that_is_given_back_may_be_opened_again_once_it_is_empty() {
    for device in [routing(), Device::Ideal] {
        run(device, 1, || {
            let target = Target::new(0, 3).unwrap();
            link::close(target);
            assert!(link::open(target) && !link::open(target), "what is not open is not given back");
            send(target, 7);
            link::close(target);
            assert!(!link::open(target), "a line is in it");
            assert_eq!(receive(target), 7);
            while link::holds(target) != Some(0) {}
            assert!(link::open(target) && !link::open(target), "it is one's");
        });
    }
}

#[test]
fn a_line_takes_the_way_to_the_device_three_stages_and_the_way_back() {
    let report = run(routing(), 2, || {
        let target = queue(0);
        let cycles = thread::scope(|scope| {
            let consumer = scope.spawn(move || {
                thread::pin_current(1).unwrap();
                [1, 2].map(|value| {
                    assert_eq!(receive(target), value);
                    time::now()
                })
            });
            let sent = [1, 2].map(|value| {
                thread::sleep(Duration::from_micros(50));
                let before = time::now();
                send(target, value);
                before
            });
            let received = consumer.join().unwrap();
            received[1].since(sent[1]).as_nanos() * 2
        });
        // To write and select the line 8 cycles, to the device 16, in it 5, to the consumer 16, to read it 3, and a look at
        // the clock 40. The first line is not counted: it comes from memory.
        assert!((80..=100).contains(&cycles), "{cycles} cycles");
    });
    let device = report.counts.device;
    assert_eq!((device.pushes, device.injections, device.injections_rejected), (2, 2, 0));
}

#[test]
fn nothing_is_pushed_that_was_not_selected() {
    run(routing(), 1, || {
        let target = queue(0);
        let line = pin!(Line::new());
        assert!(!link::push(target), "nothing is selected");
        link::select(line.as_ref());
        assert!(link::push(target));
        assert!(!link::push(target), "a push ends the selection");
        link::select(line.as_ref());
        assert!(link::fetch(target));
        assert!(!link::fetch(target), "and so does a fetch");
        link::select(line.as_ref());
        thread::sleep(Duration::from_micros(2));
        assert!(!link::push(target), "and so does a context switch");
        {
            let other = pin!(Line::new());
            link::select(other.as_ref());
        }
        assert!(!link::push(target), "and so does the end of the line");
        link::select(line.as_ref());
        assert!(!link::push(Target::new(0, 9).unwrap()), "the queue is not open");
        link::select(line.as_ref());
        assert!(!link::push(Target::new(1, 0).unwrap()), "there is one device");
    });
}

#[test]
fn a_device_that_could_carry_nothing_is_refused() {
    let right = Routing::default();
    for (device, words) in [
        (Device::VirtualLink(Routing { devices: 0, ..right }), "devices is 0, and must be from 1 to 16384"),
        (Device::VirtualLink(Routing { links: 0, ..right }), "links is 0, and must be from 1 to 65536"),
        (Device::VirtualLink(Routing { entries: 0, reserve: 0, ..right }), "entries is 0, and must be from 1 to 65536"),
        (Device::VirtualLink(Routing { entries: 65_537, ..right }), "entries is 65537"),
        (Device::VirtualLink(Routing { reserve: 65, ..right }), "reserve is 65, and must be from 0 to 64"),
        (Device::VirtualLink(Routing { quota: Some(0), ..right }), "quota is 0, and must be at least 1"),
        (Device::Caf(Credits { words: 0, ..Credits::default() }), "words is 0, and must be at least 1"),
        (Device::Caf(Credits::pooled(0, 4)), "own is 0, and must be from 1 to 512"),
        (Device::Caf(Credits::pooled(513, 600)), "own is 513, and must be from 1 to 512"),
        (Device::Caf(Credits::pooled(4, 0)), "most is 0, and must be at least 1"),
    ] {
        let simulation = Simulation::new(Machine::named("vl-16").unwrap());
        let panic = catch_unwind(|| simulation.device(device)).unwrap_err();
        let said = panic.downcast_ref::<String>().unwrap();
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_queue_is_opened_once() {
    for device in [routing(), Device::Ideal, Device::Caf(Credits::default())] {
        run(device, 1, || {
            let target = Target::new(0, 3).unwrap();
            assert_eq!(link::holds(target), None, "nobody has opened it");
            assert!(link::open(target));
            assert!(!link::open(target), "it is somebody's");
            assert_eq!(link::holds(target), Some(0));
        });
    }
}

#[test]
fn there_is_one_ideal_device_and_one_of_caf() {
    for device in [Device::Ideal, Device::Caf(Credits::default())] {
        run(device, 1, || {
            queue(0);
            let (other, closed) = (Target::new(1, 0).unwrap(), Target::new(0, 9).unwrap());
            assert!(!link::open(other), "its queues would be the first one's");
            let line = pin!(Line::new());
            for target in [other, closed] {
                link::select(line.as_ref());
                assert!(!link::push(target));
                link::select(line.as_ref());
                assert!(!link::fetch(target));
                assert!(!link::enqueue(target, 1) && link::dequeue(target).is_none());
            }
        });
    }
}

#[test]
fn a_full_device_refuses_and_the_line_stays() {
    let device = Device::VirtualLink(Routing { entries: 8, ..Default::default() });
    let report = run(device, 1, || {
        let (target, _other) = (queue(0), queue(1));
        for value in 1..=7 {
            send(target, value);
        }
        assert_eq!(link::holds(target), Some(7));
        let line = pin!(Line::new());
        line.store(LAST, 8, Release);
        link::select(line.as_ref());
        assert!(!link::push(target), "the last slot belongs to the other queue");
        assert_eq!(line.load(LAST, Relaxed), 8);
        assert!((1..=7).all(|value| receive(target) == value), "in order");
        assert_eq!(link::holds(target), Some(0));
    });
    assert_eq!((report.counts.device.pushes, report.counts.device.pushes_refused), (8, 1));
}

/// Drives the lines of the calling thread's core out of its first-level cache: more ways of each set than it has.
fn evict() {
    let far = vec![0_u8; 1 << 20];
    (0..far.len()).step_by(64).for_each(|at| hint::touch(&raw const far[at], 1, hint::Access::Read));
}

/// Ways to lose the flag: a context switch, a migration, an eviction, whoever brings the line back, another core's write.
#[test]
fn a_line_that_is_not_pushable_any_more_stays_with_the_device() {
    let lost = |lose: fn(&Line)| {
        let report = run(routing(), 2, move || {
            let target = queue(0);
            let line = pin!(Line::new());
            link::select(line.as_ref());
            assert!(link::fetch(target));
            lose(&line);
            send(target, 1);
            send(target, 2);
            thread::sleep(Duration::from_micros(2));
            let come = line.load(LAST, Acquire);
            if come == 0 {
                assert_eq!((receive(target), receive(target)), (1, 2), "nothing is lost or overtaken");
            } else {
                assert_eq!((come, receive(target)), (1, 2));
            }
        });
        report.counts.device.injections_rejected
    };
    assert_eq!(lost(|_| thread::sleep(Duration::from_micros(2))), 1);
    assert_eq!(lost(|_| thread::pin_current(1).unwrap()), 1);
    let again = |line: &Line| {
        evict();
        assert_eq!(line.load(0, Relaxed), 0);
    };
    assert_eq!(lost(again), 1);
    let fetched_ahead = |line: &Line| {
        evict();
        hint::prefetch(line, hint::Access::Write);
    };
    assert_eq!(lost(fetched_ahead), 1);
    let write = |line: &Line| {
        thread::scope(|scope| {
            scope.spawn(|| line.store(0, 1, Relaxed)).join().unwrap();
        });
    };
    assert_eq!(lost(write), 1);
    assert_eq!(lost(|_| {}), 0, "if nothing happens, the line comes");
}

/// The cache is the core's, and the other thread there is not the one that asked.
#[test]
fn a_line_that_another_thread_of_the_core_brings_back_is_not_pushable() {
    let simulation = Simulation::new(Machine::named("x86-88t").unwrap()).device(routing()).limit(50_000_000);
    let report = simulation.run(|| {
        let target = queue(0);
        let line = pin!(Line::new());
        let evicted = AtomicUsize::new(0);
        thread::scope(|scope| {
            let (line, evicted) = (line.as_ref(), &evicted);
            let sibling = move || {
                thread::pin_current(44).unwrap();
                evicted.store(1, Release);
                spin::until(|| (evicted.load(Acquire) == 2).then_some(()));
                assert_eq!(line.load(0, Relaxed), 0);
                send(target, 7);
            };
            let sibling = scope.spawn(sibling);
            spin::until(|| (evicted.load(Acquire) == 1).then_some(()));
            link::select(line);
            assert!(link::fetch(target));
            evict();
            evicted.store(2, Release);
            // No wait, which would lose the flag.
            hint::work(100_000);
            assert_eq!(line.load(LAST, Acquire), 0, "the flag went with the line");
            sibling.join().unwrap();
        });
        assert_eq!(receive(target), 7);
    });
    let device = report.counts.device;
    assert_eq!((device.injections, device.injections_rejected), (1, 1));
    let counts = report.counts;
    let by_caches =
        counts.sibling_hits + counts.cache_transfers.total() + counts.prefetches.transfers + counts.invalidations;
    assert_eq!(counts.snoops(), by_caches + 2, "each is a request that a cache obeys or rejects");
}

/// The flag is in the first-level cache's tag: it goes with it, though the second level keeps the line, and to write it moves nothing from another core.
#[test]
fn a_line_that_only_the_second_level_has_kept_is_not_pushable() {
    let rejected = |meanwhile: fn()| {
        let simulation = Simulation::new(Machine::named("arm-160").unwrap()).device(routing()).limit(50_000_000);
        let report = simulation.run(|| {
            let target = queue(0);
            let line = pin!(Line::new());
            let stage = AtomicUsize::new(0);
            let come = thread::scope(|scope| {
                let (line, stage) = (line.as_ref(), &stage);
                let reads = move || {
                    thread::pin_current(1).unwrap();
                    stage.store(1, Release);
                    spin::until(|| (stage.load(Acquire) == 2).then_some(()));
                    assert_eq!(line.load(0, Relaxed), 0);
                };
                let reads = scope.spawn(reads);
                spin::until(|| (stage.load(Acquire) == 1).then_some(()));
                link::select(line);
                assert!(link::fetch(target));
                stage.store(2, Release);
                // No wait, which would lose the flag.
                hint::work(100_000);
                meanwhile();
                line.store(0, 1, Relaxed);
                send(target, 7);
                hint::work(100_000);
                reads.join().unwrap();
                line.load(LAST, Acquire)
            });
            assert!(come == 7 || (come, receive(target)) == (0, 7));
        });
        report.counts.device.injections_rejected
    };
    // Twice what the first level has, and a fraction of the second.
    let out_of_l1 = || {
        let far = vec![0_u8; 128 << 10];
        (0..far.len()).step_by(64).for_each(|at| hint::touch(&raw const far[at], 1, hint::Access::Read));
    };
    assert_eq!(rejected(out_of_l1), 1);
    assert_eq!(rejected(|| {}), 0, "what is still there is pushable");
}

/// What was asked for into a line that is no more does not come into the one that lies there next.
#[test]
fn a_request_ends_with_its_line() {
    let report = run(routing(), 1, || {
        let queues = [queue(0), queue(1)];
        // One variable, so both lines are in one place.
        for target in queues {
            let line = pin!(Line::new());
            link::select(line.as_ref());
            assert!(link::fetch(target));
            if target == queues[1] {
                for (target, come) in [(queues[0], 0), (queues[1], 2)] {
                    send(target, 1 + target.sqi() as u64);
                    hint::work(1000);
                    assert_eq!(line.load(LAST, Acquire), come);
                }
            }
        }
        assert_eq!(receive(queues[0]), 1, "it is still there");
    });
    let device = report.counts.device;
    assert_eq!((device.injections, device.injections_rejected), (2, 1));
}

/// A consumer that waits loses its hardware thread to another one, asks again when it is back, and gets its line.
#[test]
fn who_shares_a_core_asks_again() {
    let report = run(routing(), 1, || {
        let (forth, back) = (queue(0), queue(1));
        thread::scope(|scope| {
            scope.spawn(move || (1..=20).for_each(|value| send(back, receive(forth) + value)));
            for value in 1..=20 {
                send(forth, value);
                assert_eq!(receive(back), 2 * value);
            }
        });
    });
    assert_eq!(report.counts.device.injections, 40);
    assert!(report.counts.device.fetches > 40, "some requests were lost");
}

/// Four stages, each with less work than the one behind it, on a device of few slots. Without reserved slots the first
/// queues fill it, and the last stage's lines find no way in.
#[test]
fn a_chain_needs_reserved_slots() {
    let chain = |reserve| {
        let device = Device::VirtualLink(Routing { entries: 4, reserve, ..Default::default() });
        Simulation::new(Machine::named("vl-16").unwrap()).threads(5).device(device).limit(2_000_000).try_run(|| {
            let queues: Vec<Target> = (0..4).map(queue).collect();
            let queues = &queues;
            thread::scope(|scope| {
                for stage in 0..3 {
                    scope.spawn(move || {
                        // Two lines in for one out, so that a stage stands with a line in hand while lines wait.
                        for _ in 0..50 {
                            let value = receive(queues[stage]);
                            hint::work(100 * stage as u64);
                            send(queues[stage + 1], value);
                        }
                    });
                }
                scope.spawn(move || (1..=50).for_each(|value| send(queues[0], value)));
                (1..=50).for_each(|value| assert_eq!(receive(queues[3]), value));
            });
        })
    };
    assert!(chain(1).is_ok());
    assert!(chain(0).is_err(), "it stands still, and the time limit ends it");
}

#[test]
fn many_to_many_deliver_every_line_once_and_the_same_way_twice() {
    let traffic = |device: Device| {
        run(device, 8, || {
            let target = queue(3);
            let sum = thread::scope(|scope| {
                for producer in 0..4_u64 {
                    scope.spawn(move || (1..=100).for_each(|n| send(target, producer * 1000 + n)));
                }
                let consumers: Vec<_> = (0..4)
                    .map(|_| {
                        scope.spawn(move || {
                            let mut last = [0; 4];
                            let mut sum = 0;
                            for _ in 0..100 {
                                let value = receive(target);
                                let (producer, n) = (value as usize / 1000, value % 1000);
                                assert!(n > last[producer], "a producer's lines come in order");
                                last[producer] = n;
                                sum += value;
                            }
                            sum
                        })
                    })
                    .collect();
                consumers.into_iter().map(|consumer| consumer.join().unwrap()).sum::<u64>()
            });
            assert_eq!(sum, (0..4).map(|producer| producer * 1000 * 100 + 5050).sum::<u64>());
        })
    };
    for device in [routing(), Device::Ideal, Device::VirtualLink(Routing { entries: 8, ..Default::default() })] {
        let report = traffic(device.clone());
        assert_eq!(report.counts.device.injections, 400, "{device:?}");
        assert_eq!(traffic(device), report);
    }
}

#[test]
fn caf_moves_words() {
    let report = run(Device::Caf(Credits { words: 4, ..Credits::default() }), 2, || {
        let (forth, back) = (queue(0), queue(1));
        let put = |target, value| spin::until(|| link::enqueue(target, value).then_some(()));
        let get = |target| spin::until(|| link::dequeue(target));
        thread::scope(|scope| {
            scope.spawn(move || (0..200).for_each(|_| put(back, get(forth) + 1)));
            for value in 0..200 {
                put(forth, value);
                assert_eq!(get(back), value + 1);
            }
        });
        assert!(link::enqueue(forth, 1) && link::enqueue(forth, 2) && !link::enqueue(forth, 3), "its credit is two");
        assert!(!link::push(forth) && !link::fetch(forth), "it has no lines");
    });
    assert_eq!(report.counts.device.injections, 0);
}
