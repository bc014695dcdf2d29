//! One suite for three routing devices: the model of `thalweg-sim`, the routing thread, and the hardware of `hardware/routing-device`,
//! which Verilator makes a program.
//!
//! | compared | of | where |
//! |---|---|---|
//! | what each queue gives, against a plain queue; what is refused when all is full | all three | `queues` |
//! | every output in every cycle | model and hardware | `cycles` |
//! | the order of what consumers read that have several requests under way, some of them lost | model and hardware | `rings` |
//!
//! The routing thread has no cycles: it works when it is scheduled. So of it the sequences of the queues are compared; it loses no requests.
//!
//! The hardware's tests are ignored, since they need Verilator: `cargo test -p thalweg-link --test device -- --ignored`. They run
//! 10^5 cycles of each device; `THALWEG_DEVICE_CYCLES` says how many instead.
#![cfg(not(loom))]
#![allow(missing_docs, reason = "nobody but the tests uses what is here")]

mod cycles;
mod hardware;
mod queues;
mod rings;
mod thread;
mod traffic;

use hardware::Hardware;
use queues::Cycled;
use thalweg_sim::Routing;
use thalweg_sim::vlrd::Vlrd;

/// A routing device: its numbers, and whether caches answer it.
#[derive(Clone, Copy, Debug)]
struct Shape {
    routing: Routing,
    answers: bool,
    /// Bits of a line in the hardware: 64, or all 512.
    line: usize,
}

impl Shape {
    /// Queues in random traffic: so few that there is more to take than what is reserved.
    fn queues(&self) -> usize {
        self.routing.links.min(3.max(self.routing.entries / 4))
    }

    fn model(&self) -> Vlrd<u64> {
        if self.answers { Vlrd::new(&self.routing) } else { Vlrd::without_answers(&self.routing) }
    }
}

/// The devices that are compared: small ones in which everything is full all the time, ours, and the paper's.
fn shapes() -> Vec<(&'static str, Shape)> {
    let ours = Routing { links: 64, entries: 64, ..Routing::default() };
    let papers = Routing { reserve: 0, in_order: false, ..ours };
    let shape = |routing, answers| Shape { routing, answers, line: 64 };
    vec![
        ("small", shape(Routing { links: 4, entries: 8, ..ours }, true)),
        ("odd", shape(Routing { links: 3, entries: 5, reserve: 1, in_order: false, ..ours }, false)),
        ("overtaking", shape(Routing { links: 8, entries: 16, quota: Some(4), in_order: false, ..ours }, true)),
        ("ours", shape(ours, true)),
        ("paper", Shape { line: 512, ..shape(papers, false) }),
    ]
}

/// How many cycles of each device are compared.
fn cycles_wanted() -> usize {
    std::env::var("THALWEG_DEVICE_CYCLES").map_or(100_000, |text| {
        text.parse().unwrap_or_else(|_| panic!("THALWEG_DEVICE_CYCLES is {text:?}, and must be a number"))
    })
}

#[test]
fn the_model_gives_what_plain_queues_give() {
    for (name, shape) in shapes() {
        queues::conform(name, || Cycled::new(shape, shape.model()), &shape, 2_000);
    }
}

/// With little room, as each line costs two switches of threads.
#[test]
fn the_routing_thread_gives_what_plain_queues_give() {
    for (links, entries, requests) in [(3, 5, 1), (6, 8, 1), (3, 5, 4)] {
        // It has a slot for each of its channels, and no order but theirs.
        let routing = Routing { links, entries, ..Routing::default() };
        let shape = Shape { routing, answers: true, line: 64 };
        queues::conform("thread", || thread::Thread::new(links, entries, requests), &shape, 100);
    }
}

/// Those that keep the order of a queue.
fn ordered() -> impl Iterator<Item = (&'static str, Shape)> {
    shapes().into_iter().filter(|(_, shape)| shape.answers && shape.routing.in_order)
}

#[test]
fn the_model_keeps_the_order_of_several_requests() {
    for (name, shape) in ordered() {
        rings::conform(name, || shape.model(), &shape, 20, 2_000);
    }
}

#[test]
#[ignore = "needs Verilator"]
fn the_hardware_keeps_the_order_of_several_requests() {
    for (name, shape) in ordered() {
        rings::conform(name, || Hardware::new(name, &shape), &shape, 2, 300);
    }
}

#[test]
#[ignore = "needs Verilator"]
fn the_hardware_gives_what_plain_queues_give() {
    for (name, shape) in shapes() {
        queues::conform(name, || Cycled::new(shape, Hardware::new(name, &shape)), &shape, 200);
    }
}

/// The model alone: its own scoreboard finds nothing lost, doubled or out of order.
#[test]
fn the_traffic_keeps_the_model_busy() {
    for (name, shape) in shapes() {
        let seen = cycles::run(name, &shape, 20_000, None);
        assert!(seen.all_happened(&shape), "{name}: {seen:?}");
    }
}

#[test]
#[ignore = "needs Verilator"]
fn the_hardware_does_in_each_cycle_what_the_model_does() {
    for (name, shape) in shapes() {
        let seen = cycles::run(name, &shape, cycles_wanted(), Some(Hardware::new(name, &shape)));
        println!("{name}: {} cycles are equal: {seen:?}", cycles_wanted());
    }
}

/// Table I of the paper, and what is awkward: queues directly behind each other, full buffers, a slot that is given back and taken at once.
#[test]
#[ignore = "needs Verilator"]
fn the_hardware_does_what_the_model_does_in_directed_traffic() {
    for (name, shape) in shapes() {
        cycles::directed(name, &shape, &mut Hardware::new(name, &shape));
    }
}
