//! What Virtual-Link's paper could not show: its device beside this project's queues on 16, 64 and 256 cores, and how many devices, with how
//! many slots, so many cores need.

use serde_json::json;
use thalweg_sim::Routing;
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire};
use thalweg_sync::{CachePadded, spin};

use super::net::{Contender, Net, Receiver, Sender};
use super::patterns::one;
use super::queues::{entrant, entrants};
use crate::figures::own::queues;
use crate::worlds;
use crate::worlds::experiment::{Experiment, Panel, Setting};
use crate::worlds::point::{self, Figures, MISSES, Point, Role, SNOOPS};

pub(crate) const EXPERIMENT: Experiment =
    Experiment::new("vl/beyond", plan).panels(&[Panel::Rate, Panel::Of(MISSES), Panel::Of(SNOOPS)]);

/// Cores in use: as many as there are of these, from the first on.
const CORES: [usize; 3] = [16, 64, 256];
/// Routing devices, and slots of each.
const DEVICES: [usize; 4] = [1, 2, 4, 8];
const SLOTS: [usize; 3] = [64, 256, 1024];
const BY_SLOTS: [&str; 3] = ["virtual-link, 64 slots", "virtual-link, 256 slots", "virtual-link, 1024 slots"];
/// Words that a queue in software holds.
const CAPACITY: usize = 512;
/// Words in a burst: sixteen lines.
const BURST: u64 = 16 * 7;
/// What either side computes for a line where messages come in bursts, in cycles.
const WORK: u64 = 100;

/// Pairs of threads that do nothing but send words and receive them; and pairs that also compute, the producer after each burst for as
/// long as the consumer in all.
const PAIRS: [(&str, u64); 2] = [("pairs", 0), ("pairs, in bursts", WORK)];
/// All threads on one channel.
const SHARED: &str = "one channel";

/// A channel from each second thread to the next; `bursts` of words through each. The time ends when all have everything.
fn pairs(net: &Net, cores: usize, bursts: u64, work: u64) -> Figures {
    let channels = cores / 2;
    let arrived = CachePadded(AtomicUsize::new(0));
    let arrived = &arrived;
    let sending = |mut tx: Sender| -> Role<'_> {
        Box::new(move || {
            for burst in 0..bursts {
                (0..BURST).for_each(|word| tx.send(burst * BURST + word));
                tx.flush();
                worlds::work(BURST / 7 * work);
            }
        })
    };
    let receiving = |number: usize, mut rx: Receiver| -> Role<'_> {
        Box::new(move || {
            for word in 0..bursts * BURST {
                assert_eq!(rx.receive(), word);
                if word % 7 == 6 {
                    worlds::work(work);
                }
            }
            arrived.fetch_add(1, AcqRel);
            if number == 0 {
                spin::until(|| (arrived.load(Acquire) == channels).then_some(()));
            }
        })
    };
    let (mut consumers, mut producers) = (Vec::new(), Vec::new());
    for channel in 0..channels {
        let (tx, rx) = net.words(1, 1, CAPACITY);
        producers.push((2 * channel, sending(one(tx))));
        consumers.push((2 * channel + 1, receiving(channel, one(rx))));
    }
    consumers.extend(producers);
    point::together(channels as u64 * bursts * BURST, consumers)
}

/// The devices with a queue and a slot for each of so many channels, at least.
fn with_room(routing: Routing, channels: usize) -> Routing {
    let each = channels.div_ceil(routing.devices);
    Routing { links: routing.links.max(each), entries: routing.entries.max(each * routing.reserve.max(1)), ..routing }
}

fn of_pairs(setting: &Setting<'_>, contender: Contender, routing: Routing, cores: usize) -> [Point; 2] {
    let bursts = setting.part(20, 2);
    let routing = with_room(routing, cores / 2);
    PAIRS.map(|(workload, work)| {
        let messages = (cores / 2) as u64 * bursts * BURST;
        Point {
            workload,
            contender: contender.name(),
            label: format!("{cores} cores"),
            params: json!({ "messages": messages, "cores": cores, "work_cycles": work }),
            threads: cores,
            messages,
            device: contender.device(routing),
            client: Box::new(move || pairs(&Net::new(contender, routing), cores, bursts, work)),
        }
    })
}

/// The contender's queue among all threads, half of which send.
fn of_one_channel(setting: &Setting<'_>, contender: Contender, routing: Routing, cores: usize) -> Point {
    let setting = Setting { threads: cores, routing, ..*setting };
    let (_, sides) = queues::sides("NPNC", cores / 2, cores);
    let messages = setting.part(224, 28) * (cores / 2) as u64;
    let entrants = entrants(routing);
    let entrant = entrant(&entrants, contender);
    let point = queues::point(&setting, SHARED, &entrant.contender, format!("{cores} cores"), sides, messages);
    Point { device: entrant.device.clone(), ..point }
}

fn plan(setting: &Setting<'_>) -> Vec<Point> {
    let sizes: Vec<usize> = CORES.into_iter().filter(|&cores| cores <= setting.threads).collect();
    let sizes = if sizes.is_empty() { vec![setting.threads / 2 * 2] } else { sizes };
    let mut points = Vec::new();
    for contender in [Contender::VirtualLink, Contender::Bbq, Contender::Cnq, Contender::FastForward] {
        for &cores in &sizes {
            points.extend(of_pairs(setting, contender, setting.routing, cores));
            if contender.can(true, false) {
                points.push(of_one_channel(setting, contender, setting.routing, cores));
            }
        }
    }
    let cores = *sizes.last().expect("there is one");
    for entries in SLOTS {
        for devices in DEVICES {
            let routing = Routing { devices, entries, ..setting.routing };
            // What they would need besides is what the point would measure.
            if with_room(routing, cores / 2).entries == entries {
                points
                    .extend(of_pairs(setting, Contender::VirtualLink, routing, cores).map(|p| of_devices(p, routing)));
            }
        }
        let routing = Routing { entries, ..setting.routing };
        points.push(of_devices(of_one_channel(setting, Contender::VirtualLink, routing, cores), routing));
    }
    points.sort_by_key(|point| PAIRS.iter().position(|(workload, _)| *workload == point.workload).unwrap_or(2));
    points
}

/// A curve for each number of slots, over the number of devices.
fn of_devices(point: Point, Routing { devices, entries, .. }: Routing) -> Point {
    let slots = SLOTS.iter().position(|&slots| slots == entries).expect("it is one of them");
    let cores = point.threads;
    let label =
        if devices == 1 { format!("{cores} cores, 1 device") } else { format!("{cores} cores, {devices} devices") };
    let mut params = point.params.clone();
    if params["at"].is_string() {
        params["at"] = json!(label);
    }
    Point { contender: BY_SLOTS[slots], label, params, ..point }
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use thalweg_sim::Machine;

    #[test]
    fn every_size_carries_every_word_and_has_the_devices_it_names() {
        let machine = Machine::named("vl-256").unwrap();
        let points = plan(&Setting::of(&machine, 16));
        for point in &points {
            let (figures, report) = point.run(&machine, 0).unwrap_or_else(|failure| panic!("{failure}"));
            assert!(figures.messages > 0 && figures.nanos > 0, "{}", point.title());
            assert_eq!(report.counts.device.injections > 0, point.device.is_some(), "{}", point.title());
        }
        let count = |workload: &str| points.iter().filter(|point| point.workload == workload).count();
        // Four contenders and each number of slots with each of devices; three contenders, and each number of slots.
        assert_eq!([PAIRS[0].0, PAIRS[1].0, SHARED].map(count), [4 + 12, 4 + 12, 3 + 3]);
        assert_eq!(plan(&Setting::of(&machine, 256)).iter().filter(|point| point.threads == 256).count(), 15 + 15 + 6);
    }

    /// What a producer sends in a burst waits in slots, if there are any, while it computes; so more of them are faster, and a second
    /// device is more of them.
    #[test]
    fn bursts_are_faster_with_more_slots_and_with_more_devices() {
        let machine = Machine::named("vl-256").unwrap();
        let nanos = |devices, entries| {
            let routing = Routing { devices, entries, ..Routing::default() };
            let [_, bursts] = of_pairs(&Setting::of(&machine, 16), Contender::VirtualLink, routing, 16);
            bursts.nanos_on(&machine)
        };
        let (few, slots, devices) = (nanos(1, 8), nanos(1, 64), nanos(4, 8));
        assert!(few > 1.1 * slots, "{few} ns with 8 slots, {slots} with 64");
        assert!(few > 1.05 * devices, "{few} ns with one device, {devices} with four");
    }
}
