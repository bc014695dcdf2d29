//! The same clients on the device, on the ideal one, and on the routing thread.
#![cfg(not(loom))]
#![allow(missing_docs, reason = "nobody but the test uses what is here")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use thalweg_link::{Limits, LinkError, Supervisor};
use thalweg_queue::{BuildError, Pop, PopError, Push, PushError, TryPopError, TryPushError};
use thalweg_sim::{Credits, Device, Heap, Machine, Report, Routing, Simulation};
use thalweg_sync::time::Duration;
use thalweg_sync::{hint, spin, thread};

#[global_allocator]
static HEAP: Heap = Heap;

/// Runs a client natively, and on simulated devices: one with few entries, two of these, and the ideal one.
fn everywhere(client: fn(&Supervisor)) {
    client(&Supervisor::software(Limits { links: 4, entries: 8 }).unwrap());
    on(routing(1, 4, 8), 16, client);
    run(routing(2, 4, 8), 16, || client(&Supervisor::hardware(2)));
    on(Device::Ideal, 16, client);
}

fn routing(devices: usize, links: usize, entries: usize) -> Device {
    Device::VirtualLink(Routing { devices, links, entries, ..Default::default() })
}

fn on(device: Device, threads: usize, client: impl FnOnce(&Supervisor) + Send) -> Report {
    run(device, threads, move || client(&Supervisor::hardware(1)))
}

fn run(device: Device, threads: usize, client: impl FnOnce() + Send) -> Report {
    let machine = Machine::named("vl-16").unwrap();
    Simulation::new(machine).threads(threads).device(device).limit(1_000_000_000).run(client)
}

#[test]
fn smoke() {
    everywhere(|supervisor| {
        let channel = supervisor.open("a").unwrap();
        let (mut tx, mut rx) = (channel.producer::<u64>().unwrap(), channel.consumer::<u64>().unwrap());
        assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
        for n in 0..100 {
            tx.push(n).unwrap();
            assert_eq!(rx.pop(), Ok(n));
        }
        assert!(!tx.is_closed() && !rx.is_closed());
        tx.push(7).unwrap();
        drop(tx);
        assert_eq!((rx.pop(), rx.pop(), rx.try_pop()), (Ok(7), Err(PopError), Err(TryPopError::Closed)));
    });
}

#[test]
fn small_items_share_a_line() {
    everywhere(|supervisor| {
        let channel = supervisor.open("a").unwrap();
        let (mut tx, mut rx) = (channel.producer::<u16>().unwrap(), channel.consumer::<u16>().unwrap());
        (0..40).for_each(|n| tx.collect(n).unwrap());
        assert!((0..31).all(|n| rx.pop() == Ok(n)), "one full line");
        assert_eq!(rx.try_pop(), Err(TryPopError::Empty), "the rest is not sent yet");
        tx.push(40).unwrap();
        assert!((31..=40).all(|n| rx.pop() == Ok(n)), "sent with what was collected");
        tx.collect(41).unwrap();
        drop(tx);
        assert_eq!((rx.pop(), rx.pop()), (Ok(41), Err(PopError)), "an end that leaves sends what it has");
    });
}

#[test]
fn a_full_device_gives_the_item_back() {
    everywhere(|supervisor| {
        let channel = supervisor.open("a").unwrap();
        let (mut tx, mut rx) = (channel.producer::<[u64; 7]>().unwrap(), channel.consumer::<[u64; 7]>().unwrap());
        let mut pushed = 0;
        while pushed < 100 && tx.try_push([pushed; 7]).is_ok() {
            pushed += 1;
        }
        if pushed < 100 {
            assert!((4..=8).contains(&pushed), "{pushed} lines");
            assert_eq!(tx.try_push([9; 7]), Err(TryPushError::Full([9; 7])));
        }
        assert!((0..pushed).all(|n| rx.pop() == Ok([n; 7])));
        assert_eq!(tx.try_push([1; 7]), Ok(()));
        drop(rx);
        assert_eq!(tx.try_push([2; 7]), Err(TryPushError::Closed([2; 7])));
        assert!(tx.push([3; 7]).is_err());
    });
}

/// What a closed channel has refused is not in the line when somebody opens a reading end again.
#[test]
fn an_item_that_was_given_back_is_not_sent() {
    everywhere(|supervisor| {
        let channel = supervisor.open("a").unwrap();
        let (mut tx, rx) = (channel.producer::<u64>().unwrap(), channel.consumer::<u64>().unwrap());
        tx.collect(0).unwrap();
        drop(rx);
        assert_eq!(tx.push(7), Err(PushError(7)));
        let mut rx = channel.consumer::<u64>().unwrap();
        tx.flush().unwrap();
        assert_eq!(rx.pop(), Ok(0));
        drop(rx);
        (0..6).for_each(|n| tx.collect(n).unwrap());
        assert_eq!(tx.collect(7), Err(PushError(7)), "the line would be full");
        let mut rx = channel.consumer::<u64>().unwrap();
        drop(tx);
        assert!((0..6).all(|n| rx.pop() == Ok(n)));
        assert_eq!(rx.pop(), Err(PopError));
    });
}

/// What was asked for ahead is there when it is wanted; asking twice asks for one line.
#[test]
fn a_line_that_was_asked_for_comes_meanwhile() {
    everywhere(|supervisor| {
        let channel = supervisor.open("a").unwrap();
        let (mut tx, mut rx) = (channel.producer::<[u64; 7]>().unwrap(), channel.consumer::<[u64; 7]>().unwrap());
        assert_eq!(rx.take(), None);
        rx.prefetch();
        rx.prefetch();
        tx.push([1; 7]).unwrap();
        tx.push([2; 7]).unwrap();
        // No sleep, in which a device would forget the request.
        let come = (0..100_000_000).find_map(|_| {
            spin::pause(1);
            rx.take()
        });
        assert_eq!((come, rx.take()), (Some([1; 7]), None), "it was there, and nothing else was asked for");
        assert_eq!(rx.pop(), Ok([2; 7]));
    });
}

/// Code for any queue.
fn sum(mut rx: impl Pop<Item = u64>) -> u64 {
    std::iter::from_fn(|| rx.pop().ok()).sum()
}

fn count(mut tx: impl Push<Item = u64>, from: u64, to: u64) {
    (from..to).for_each(|n| tx.push(n).unwrap());
}

#[test]
fn many_to_many_lose_nothing() {
    everywhere(|supervisor| {
        let channel = supervisor.open("a").unwrap();
        let (tx, rx) = (channel.producer::<u64>().unwrap(), channel.consumer::<u64>().unwrap());
        let total = thread::scope(|scope| {
            let consumers: Vec<_> = (0..3).map(|_| rx.clone()).map(|rx| scope.spawn(move || sum(rx))).collect();
            for part in 0..3 {
                let tx = tx.clone();
                scope.spawn(move || count(tx, part * 200, part * 200 + 200));
            }
            drop((tx, rx));
            consumers.into_iter().map(|consumer| consumer.join().unwrap()).sum::<u64>()
        });
        assert_eq!(total, (0..600_u64).sum::<u64>());
    });
}

/// An end that has asked and then leaves: what came to it goes to those who stay.
#[test]
fn a_consumer_that_leaves_gives_back() {
    everywhere(|supervisor| {
        let channel = supervisor.open("a").unwrap();
        let (mut tx, mut rx) = (channel.producer::<u64>().unwrap(), channel.consumer::<u64>().unwrap());
        let mut other = rx.clone();
        assert_eq!(other.try_pop(), Err(TryPopError::Empty));
        (0..3).for_each(|n| tx.collect(n).unwrap());
        tx.flush().unwrap();
        assert_eq!(other.pop(), Ok(0));
        tx.push(3).unwrap();
        drop(other);
        assert_eq!(rx.try_pop(), Ok(1), "before what comes later");
        let rest = [rx.pop().unwrap(), rx.pop().unwrap()];
        assert!([[2, 3], [3, 2]].contains(&rest), "{rest:?}");
    });
}

/// What is in a consumer's line is not taken yet, whoever waits for the end: it comes from there, or from those who stay.
#[test]
fn nobody_is_told_the_end_while_somebody_has_items() {
    everywhere(|supervisor| {
        let channel = supervisor.open("a").unwrap();
        let (mut tx, mut rx) = (channel.producer::<u16>().unwrap(), channel.consumer::<u16>().unwrap());
        let mut other = rx.clone();
        assert_eq!(other.try_pop(), Err(TryPopError::Empty));
        (0..31).for_each(|n| tx.collect(n).unwrap());
        assert_eq!(other.pop(), Ok(0));
        drop(tx);
        assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
        assert_eq!(other.pop(), Ok(1));
        drop(other);
        assert!((2..31).all(|n| rx.pop() == Ok(n)), "in the order of its line");
        assert_eq!((rx.pop(), rx.try_pop()), (Err(PopError), Err(TryPopError::Closed)));
    });
}

/// A consumer that leaves with items wakes who waits, also where nobody sends any more.
#[test]
fn who_waits_gets_what_is_left() {
    fn client(supervisor: &Supervisor, closed: bool) {
        let channel = supervisor.open("a").unwrap();
        let (mut tx, mut rx) = (channel.producer::<u64>().unwrap(), channel.consumer::<u64>().unwrap());
        let mut other = rx.clone();
        assert_eq!(other.try_pop(), Err(TryPopError::Empty));
        (0..7).for_each(|n| tx.collect(n).unwrap());
        assert_eq!(other.pop(), Ok(0));
        let tx = (!closed).then_some(tx);
        thread::scope(|scope| {
            let waits = scope.spawn(move || (1..7).all(|n| rx.pop() == Ok(n)));
            thread::sleep(Duration::from_micros(50));
            drop(other);
            assert!(waits.join().unwrap());
        });
        drop(tx);
    }
    everywhere(|supervisor| client(supervisor, false));
    everywhere(|supervisor| client(supervisor, true));
}

/// Neither the last one that leaves nor one that panics takes items with it.
#[test]
fn what_was_not_taken_stays_with_the_channel() {
    everywhere(|supervisor| {
        let channel = supervisor.open("a").unwrap();
        let (mut tx, mut rx) = (channel.producer::<u64>().unwrap(), channel.consumer::<u64>().unwrap());
        (0..7).for_each(|n| tx.collect(n).unwrap());
        assert_eq!(rx.pop(), Ok(0));
        let panics = AssertUnwindSafe(move || {
            let _rx = rx;
            resume_unwind(Box::new("with six items"));
        });
        assert!(catch_unwind(panics).is_err());
        assert!(tx.is_closed());
        drop(tx);
        let mut rx = channel.consumer::<u64>().unwrap();
        assert!(rx.is_closed() && (1..4).all(|n| rx.try_pop() == Ok(n)));
        drop(rx);
        let mut rx = channel.consumer::<u64>().unwrap();
        assert!((4..7).all(|n| rx.pop() == Ok(n)));
        assert_eq!(rx.pop(), Err(PopError));
    });
}

#[test]
fn names_are_channels() {
    everywhere(|supervisor| {
        let mut tx = supervisor.open("a").unwrap().producer::<u64>().unwrap();
        let mut other = supervisor.open("b").unwrap().producer::<u64>().unwrap();
        tx.push(1).unwrap();
        other.push(2).unwrap();
        let pop = |name| supervisor.open(name).unwrap().consumer::<u64>().unwrap().pop();
        assert_eq!((pop("b"), pop("a")), (Ok(2), Ok(1)));
    });
    let supervisor = Supervisor::software(Limits { links: 2, entries: 2 }).unwrap();
    assert!(supervisor.open("a").is_ok() && supervisor.open("b").is_ok() && supervisor.open("a").is_ok());
    assert_eq!(supervisor.open("c").err(), Some(LinkError::TooManyChannels));
    let few = Supervisor::software(Limits { links: 3, entries: 2 }).err();
    assert_eq!(few, Some(BuildError::TooLarge { parameter: "links", value: 3, max: 2 }));
}

/// Each has its own channels, also under a name that another has, as long as the device has queues for all.
#[test]
fn supervisors_divide_a_device() {
    for device in [routing(1, 3, 8), Device::Ideal] {
        let limited = device != Device::Ideal;
        run(device, 2, || {
            let supervisors = [Supervisor::hardware(1), Supervisor::hardware(1)];
            let ends = |supervisor: &Supervisor, name| {
                let channel = supervisor.open(name).unwrap();
                (channel.producer::<u64>().unwrap(), channel.consumer::<u64>().unwrap())
            };
            let [(mut tx, mut rx), (mut other_tx, mut other_rx)] = [0, 1].map(|one| ends(&supervisors[one], "a"));
            let (mut third_tx, mut third_rx) = ends(&supervisors[0], "b");
            tx.push(1).unwrap();
            other_tx.push(2).unwrap();
            third_tx.push(3).unwrap();
            drop(tx);
            assert_eq!((other_rx.pop(), third_rx.pop(), rx.pop(), rx.pop()), (Ok(2), Ok(3), Ok(1), Err(PopError)));
            assert!(!other_rx.is_closed() && !third_rx.is_closed());
            if limited {
                assert_eq!(supervisors[1].open("b").err(), Some(LinkError::TooManyChannels));
            }
        });
    }
}

/// A device with two queues has enough for any number of channels one after the other, though requests of consumers that have left are still registered.
#[test]
fn queues_are_given_back() {
    for device in [routing(1, 2, 8), Device::Ideal] {
        run(device, 2, || {
            for round in 0..20 {
                let supervisor = Supervisor::hardware(1);
                let channels = ["a", "b"].map(|name| supervisor.open(name).unwrap());
                let mut ends = channels
                    .each_ref()
                    .map(|channel| (channel.producer::<u64>().unwrap(), channel.consumer_of::<u64>(3).unwrap()));
                ends.iter_mut().for_each(|(_, rx)| rx.prefetch());
                for n in round..round + 10 {
                    ends.iter_mut().for_each(|(tx, _)| tx.push(n).unwrap());
                    ends.iter_mut().for_each(|(_, rx)| assert_eq!(rx.pop(), Ok(n)));
                }
            }
        });
    }
}

/// Nobody gets a queue in which somebody else's lines are.
#[test]
fn a_queue_in_which_something_is_left_is_not_given_back() {
    run(routing(1, 1, 8), 2, || {
        let mut tx = Supervisor::hardware(1).open("a").unwrap().producer::<u64>().unwrap();
        tx.push(1).unwrap();
        drop(tx);
        assert_eq!(Supervisor::hardware(1).open("b").err(), Some(LinkError::TooManyChannels));
    });
}

#[test]
fn channels_take_the_devices_in_turn() {
    run(routing(2, 1, 1), 2, || {
        let supervisor = Supervisor::hardware(2);
        let channels = ["a", "b"].map(|name| supervisor.open(name).unwrap());
        assert_eq!(supervisor.open("c").err(), Some(LinkError::TooManyChannels));
        let mut ends = channels.map(|channel| (channel.producer::<u64>().unwrap(), channel.consumer::<u64>().unwrap()));
        // A device with one slot takes one line.
        (0..2).for_each(|n| assert_eq!(ends[n].0.try_push(n as u64), Ok(())));
        (0..2).for_each(|n| assert_eq!(ends[n].0.try_push(9), Err(TryPushError::Full(9))));
        (0..2).for_each(|n| assert_eq!(ends[n].1.pop(), Ok(n as u64)));
    });
}

#[test]
fn what_the_machine_does_not_have_is_said() {
    on(Device::Caf(Credits::default()), 1, |supervisor| {
        // Also the second time: the channel was not opened.
        assert_eq!([0, 1].map(|_| supervisor.open("a").err()), [Some(LinkError::NoLines); 2]);
    });
    run(routing(1, 4, 8), 1, || {
        let supervisor = Supervisor::hardware(2);
        assert!(supervisor.open("a").is_ok());
        assert_eq!(supervisor.open("b").err(), Some(LinkError::NoDevice), "there is one device");
    });
    assert_eq!(Supervisor::hardware(1).open("a").err(), Some(LinkError::NoDevice));
    assert!(LinkError::NoLines.to_string().contains("CAF"));
}

/// The routing thread works while somebody may make an end, and ends then: a run ends only when all its threads have.
#[test]
fn a_channel_may_outlive_its_supervisor() {
    Simulation::new(Machine::named("vl-16").unwrap()).limit(1_000_000_000).run(|| {
        let channel = Supervisor::software(Limits::default()).unwrap().open("a").unwrap();
        thread::sleep(Duration::from_micros(50));
        let (mut tx, mut rx) = (channel.producer::<u64>().unwrap(), channel.consumer::<u64>().unwrap());
        tx.push(7).unwrap();
        assert_eq!(rx.pop(), Ok(7));
    });
}

/// A device that has room for one request: who was refused while another one's was there has it later.
#[test]
fn who_has_asked_in_vain_asks_again() {
    on(routing(1, 1, 1), 4, |supervisor| {
        let channel = supervisor.open("a").unwrap();
        let (mut tx, mut first) = (channel.producer::<u64>().unwrap(), channel.consumer::<u64>().unwrap());
        let mut second = first.clone();
        assert_eq!(first.try_pop(), Err(TryPopError::Empty), "it has asked");
        thread::scope(|scope| {
            let second = scope.spawn(move || second.pop());
            // No sleep, in which the first one's request would be lost.
            hint::work(100_000);
            tx.push(1).unwrap();
            tx.push(2).unwrap();
            assert_eq!(second.join().unwrap(), Ok(2));
        });
        assert_eq!(first.pop(), Ok(1));
    });
}

/// Three threads on one core: every wait is a context switch, which forgets requests.
#[test]
fn threads_that_share_a_core_get_everything_in_order() {
    let client = |supervisor: &Supervisor| {
        let ends = |name| {
            let channel = supervisor.open(name).unwrap();
            (channel.producer::<u64>().unwrap(), channel.consumer::<u64>().unwrap())
        };
        let (mut tx, mut rx) = ends("first");
        let (mut next_tx, mut next_rx) = ends("second");
        thread::scope(|scope| {
            scope.spawn(move || (0..60).for_each(|n| tx.push(n).unwrap()));
            scope.spawn(move || {
                while let Ok(n) = rx.pop() {
                    hint::work(50);
                    next_tx.push(n + 1).unwrap();
                }
            });
            assert!((1..=60).all(|n| next_rx.pop() == Ok(n)));
            assert!(next_rx.pop().is_err());
        });
    };
    let device = || routing(1, 4, 8);
    let report = on(device(), 1, client);
    assert!(report.counts.device.injections >= 120);
    assert_eq!(on(device(), 1, client), report);
}

/// As many lines as were asked for come while the thread does something else, and are there without another request.
#[test]
fn several_lines_come_meanwhile() {
    everywhere(|supervisor| {
        let channel = supervisor.open("a").unwrap();
        let (mut tx, mut rx) = (channel.producer::<[u64; 7]>().unwrap(), channel.consumer_of::<[u64; 7]>(3).unwrap());
        rx.prefetch();
        (0..3).for_each(|n| tx.push([n; 7]).unwrap());
        for n in 0..3 {
            let come = spin::until(|| rx.take());
            assert_eq!(come, [n; 7]);
        }
        assert_eq!(rx.take(), None);
        tx.push([3; 7]).unwrap();
        assert_eq!(rx.pop(), Ok([3; 7]));
    });
}

/// Its lines leave the cache now and then, and on one core every wait is a context switch.
#[test]
fn several_requests_keep_the_order() {
    fn client(supervisor: &Supervisor) {
        for requests in [2, 5] {
            let channel = supervisor.open(&requests.to_string()).unwrap();
            let (mut tx, mut rx) = (channel.producer::<u32>().unwrap(), channel.consumer_of::<u32>(requests).unwrap());
            thread::scope(|scope| {
                scope.spawn(move || {
                    for n in 0..300 {
                        let result = if n % 3 == 0 { tx.push(n) } else { tx.collect(n) };
                        result.unwrap();
                    }
                });
                // More than a first-level cache has room for.
                let mut evicts = vec![0_u64; 1 << 14];
                for n in 0..300 {
                    if n % 40 == 7 {
                        evicts.iter_mut().for_each(|word| *word += 1);
                    }
                    if n % 50 == 20 {
                        thread::sleep(Duration::from_micros(20));
                    }
                    let popped = if n % 2 == 0 { rx.pop().ok() } else { Some(spin::until(|| rx.try_pop().ok())) };
                    assert_eq!(popped, Some(n), "{requests} requests");
                }
                assert_eq!((rx.pop(), rx.try_pop()), (Err(PopError), Err(TryPopError::Closed)));
            });
        }
    }
    everywhere(client);
    // So full that requests are refused.
    on(routing(1, 4, 4), 16, client);
    let report = on(routing(1, 4, 8), 1, client);
    assert!(report.counts.device.injections >= 200, "{:?}", report.counts.device);
}

/// What lies in several lines of a consumer that leaves, one of them half read, goes to the others.
#[test]
fn what_has_come_to_several_lines_stays_with_the_channel() {
    everywhere(|supervisor| {
        let channel = supervisor.open("a").unwrap();
        let (mut tx, mut rx) = (channel.producer::<u64>().unwrap(), channel.consumer_of::<u64>(3).unwrap());
        rx.prefetch();
        for n in 0..6 {
            tx.collect(n).unwrap();
            if n % 2 == 1 {
                tx.flush().unwrap();
            }
        }
        assert_eq!(spin::until(|| rx.take()), 0);
        let mut other = channel.consumer::<u64>().unwrap();
        drop((tx, rx));
        let mut rest: Vec<u64> = std::iter::from_fn(|| other.pop().ok()).collect();
        // Lines that had not come may come first.
        rest.sort_unstable();
        assert_eq!(rest, [1, 2, 3, 4, 5]);
    });
}

#[test]
#[should_panic(expected = "a consumer has 1 to 64 requests under way, not 65")]
fn requests_have_a_bound() {
    let supervisor = Supervisor::software(Limits::default()).unwrap();
    let _ = supervisor.open("a").unwrap().consumer_of::<u64>(65);
}
