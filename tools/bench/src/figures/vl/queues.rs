//! What Virtual-Link's paper could not show: its device beside this project's queues, each as a queue alone, with threads that
//! do nothing but send words and receive them.

use thalweg_link::{Channel, Item as _, Producer};
use thalweg_queue::Yield;
use thalweg_queue::{research::cnq, spsc::fast_forward};
use thalweg_sim::{Device, Routing};
use thalweg_sync::link::{self, Target};
use thalweg_sync::spin;

use super::OVER_BOOST;
use super::net::{Contender as Kind, supervisor};
use crate::baselines::mailbox::{self, mailboxes};
use crate::figures::own::queues::{
    Contender, Ends, Item, Left, RIGHT, Receiving, Sending, cloned, most, point, sides, single, steps, unclosed,
};
use crate::figures::thesis::queues::boost;
use crate::worlds::experiment::{Experiment, NANOS, Panel, Setting};
use crate::worlds::point::{L1_MISSES, LATENCY, MEMORY, MISSES, Point, SNOOPS};

/// Words that a queue in software holds: what CAF's device has in all, and Virtual-Link's 64 lines, but for their first words.
const CAPACITY: usize = 512;
/// Words that go through at a point.
const MESSAGES: u64 = 20_000;

pub(crate) const EXPERIMENTS: [Experiment; 1] = [Experiment::new("vl/queues", plan).here(&[NANOS]).panels(&[
    Panel::Rate,
    Panel::SpeedUp(OVER_BOOST),
    Panel::Of(MISSES),
    Panel::Of(SNOOPS),
    Panel::Of(MEMORY),
    Panel::Of(L1_MISSES),
    Panel::Of(LATENCY),
])];

/// Takes part where one thread is on each side, or everywhere; and what the machine has for it.
pub(super) struct Entrant {
    pub(super) contender: Contender,
    pub(super) device: Option<Device>,
    shared: bool,
}

impl Entrant {
    /// In software, for many.
    fn software(contender: Contender) -> Self {
        Self { contender, device: None, shared: true }
    }
}

/// On a device that has room for so many words.
fn on_device(
    kind: Kind,
    routing: Routing,
    capacity: usize,
    make: impl Fn(usize, usize) -> Ends + Send + Sync + 'static,
) -> Entrant {
    Entrant { device: kind.device(routing), ..Entrant::software(Contender::new(kind.name(), capacity, make)) }
}

pub(super) fn entrants(routing: Routing) -> [Entrant; 9] {
    let lines = routing.entries;
    let collecting = |kind: Kind, capacity| {
        on_device(kind, routing, capacity, move |producers, consumers| {
            seven_to_a_line(&channel(kind, routing), producers, consumers)
        })
    };
    let mut a_line_each = on_device(Kind::VirtualLink, routing, lines, move |producers, consumers| {
        let channel = channel(Kind::VirtualLink, routing);
        cloned(&channel.producer().expect(FEW), &channel.consumer().expect(FEW), producers, consumers)
    });
    a_line_each.contender.name = "virtual-link, a line each";
    let mailboxes = Contender::new(Kind::ZeroMq.name(), CAPACITY, zeromq);
    let capsules = Contender::new(Kind::Cnq.name(), CAPACITY, |producers, consumers| {
        let (tx, rx) = cnq::cnq_with_wait(CAPACITY, 64, Yield).expect(RIGHT);
        cloned(&tx, &rx, producers, consumers)
    });
    let ring = Contender::new(Kind::FastForward.name(), CAPACITY, |_, _| {
        let (tx, rx) = fast_forward::with_wait(CAPACITY, Yield).expect(RIGHT);
        single(tx, rx)
    });
    [
        Entrant::software(boost(CAPACITY)),
        Entrant::software(mailboxes),
        collecting(Kind::VirtualLink, u64::PER_LINE * lines),
        a_line_each,
        collecting(Kind::Ideal, CAPACITY),
        on_device(Kind::Caf, routing, CAPACITY, caf),
        Entrant::software(Contender::bbq(Kind::Bbq.name(), CAPACITY)),
        Entrant::software(capsules),
        Entrant { shared: false, ..Entrant::software(ring) },
    ]
}

/// The one of that name.
pub(super) fn entrant(all: &[Entrant], kind: Kind) -> &Entrant {
    all.iter().find(|entrant| entrant.contender.name == kind.name()).expect("all of them take part")
}

const FEW: &str = "a point has few ends";

fn channel(kind: Kind, routing: Routing) -> Channel {
    supervisor(kind, routing).open("words").expect("the machine has the device, and this is its first queue")
}

/// A line leaves when it is full: small messages share it, as in the paper's ping-pong.
fn seven_to_a_line(channel: &Channel, producers: usize, consumers: usize) -> Ends {
    let (tx, rx) = (channel.producer::<Item>().expect(FEW), channel.consumer::<Item>().expect(FEW));
    let collecting = |mut tx: Producer<Item>| -> Sending {
        Box::new(move |item, attempt| {
            attempt();
            tx.collect(item).expect("the consumers stay until the end");
        })
    };
    let (_, receiving) = cloned(&tx, &rx, 0, consumers);
    (vec![tx; producers].into_iter().map(collecting).collect(), receiving)
}

fn zeromq(producers: usize, consumers: usize) -> Ends {
    unclosed(
        mailboxes(producers, consumers, CAPACITY),
        |tx: &mut mailbox::Sender, item| tx.try_send(&[item.get()]),
        |rx: &mut mailbox::Receiver| rx.try_receive().and_then(|(words, _)| Item::new(words[0])),
    )
}

/// Nothing tells a thread when its register can be used, so it asks again.
fn caf(producers: usize, consumers: usize) -> Ends {
    let target = Target::new(0, 0).expect("there is a first queue");
    assert!(link::open(target), "the machine has CAF's device");
    let (left, are_gone) = Left::of(producers);
    let sending = |left: Left| -> Sending {
        Box::new(move |item, attempt| {
            let (_one_of, mut tries) = (&left, 0);
            loop {
                attempt();
                if link::enqueue(target, item.get()) {
                    return;
                }
                tries += 1;
                spin::pause(tries);
            }
        })
    };
    let receiving = |_| -> Receiving {
        let are_gone = are_gone.clone();
        Box::new(move || {
            let mut tries = 0;
            loop {
                // Before the look: what is not there then does not come.
                let last = are_gone();
                let word = link::dequeue(target);
                if word.is_some() || last {
                    return word.and_then(Item::new);
                }
                tries += 1;
                spin::pause(tries);
            }
        })
    };
    (left.into_iter().map(sending).collect(), (0..consumers).map(receiving).collect())
}

fn plan(setting: &Setting<'_>) -> Vec<Point> {
    let entrants = entrants(setting.routing);
    let mut points = Vec::new();
    for workload in ["1P1C", "NP1C", "1PNC", "NPNC"] {
        let is_shared = workload != "1P1C";
        for entrant in entrants.iter().filter(|entrant| entrant.shared || !is_shared) {
            let most = if is_shared { most(workload, setting.threads) } else { 1 };
            let first = if is_shared { 2 } else { 1 };
            for n in steps(most).into_iter().filter(|n| *n >= first && (n.is_power_of_two() || *n == most)) {
                let (label, sides) = sides(workload, n, setting.threads);
                // The quarter that is not measured fills the queue.
                let messages = setting.part(MESSAGES, 4 * CAPACITY as u64).max(setting.part(200, 20) * n as u64);
                let point = point(setting, workload, &entrant.contender, label, sides, messages);
                points.push(Point { device: entrant.device.clone(), ..point });
            }
        }
    }
    points
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use thalweg_sim::Machine;

    #[test]
    fn every_entrant_carries_every_word_and_those_on_a_device_use_it() {
        let machine = Machine::named("vl-16").unwrap();
        let points = plan(&Setting::of(&machine, 4));
        let names = |workload: &str| points.iter().filter(|point| point.workload == workload).count();
        assert_eq!(["1P1C", "NP1C", "1PNC", "NPNC"].map(names), [9, 16, 16, 8]);
        for point in &points {
            let (figures, report) = point.run(&machine, 0).unwrap_or_else(|failure| panic!("{failure}"));
            assert!(figures.messages > 0 && figures.nanos > 0, "{}", point.title());
            let device = report.counts.device;
            // Seven words to a line, one to a line, or one to a message; and a line for what is left over of each producer.
            let lines = match point.contender {
                "virtual-link" | "virtual-link-ideal" => point.messages / 7..=point.messages / 7 + 3,
                "virtual-link, a line each" => point.messages..=point.messages,
                "caf" => {
                    assert_eq!(device.pushes - device.pushes_refused, point.messages, "{}", point.title());
                    continue;
                }
                _ => 0..=0,
            };
            assert!(lines.contains(&(device.pushes - device.pushes_refused)), "{}: {device:?}", point.title());
            if point.device.is_some() {
                assert_eq!(point.run(&machine, 0).unwrap().1, report, "{}: the same again", point.title());
            }
        }
    }

    /// What no queue in software does: they have more misses for a message, the more threads they have.
    #[test]
    fn the_device_is_as_fast_with_fifteen_producers_as_with_two() {
        let machine = Machine::named("vl-16").unwrap();
        let points = plan(&Setting::of(&machine, 16));
        let nanos = |contender: &str, label: &str| {
            let point = points.iter().find(|point| (point.contender, point.label.as_str()) == (contender, label));
            point.unwrap().nanos_on(&machine)
        };
        let slower = |contender| nanos(contender, "15P1C") / nanos(contender, "2P1C");
        let [link, bbq, boost] = ["virtual-link", "thalweg-bbq", "boost-style"].map(slower);
        assert!(link < 1.1, "virtual-link takes {link:.2} times as long");
        assert!(bbq > 1.5 && boost > 1.5, "BBQ takes {bbq:.2} times as long, Boost's queue {boost:.2}");
    }
}
