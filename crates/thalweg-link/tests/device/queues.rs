//! What each queue gives: the same of all three devices, whatever time means to them.

use std::collections::VecDeque;

use thalweg_sim::vlrd::{Cycle, Packet, Vlrd};

use crate::Shape;
use crate::traffic::{Random, line};

/// A device with one producer and one consumer at each queue. A consumer has one line: it asks for the next when that is empty.
pub(crate) trait Device {
    /// A producer's line. False if it is refused.
    fn push(&mut self, queue: usize, number: u64) -> bool;
    /// The queue's consumer wants a line. Asking again changes nothing.
    fn ask(&mut self, queue: usize);
    /// The line that has come to the queue's consumer, if one has. It is called until one has.
    fn take(&mut self, queue: usize) -> Option<u64>;
}

/// A device with cycles.
pub(crate) trait Clocked {
    fn open(&mut self, sqi: usize) -> bool;
    fn cycle(&mut self, packet: Option<Packet<u64>>) -> Cycle<u64>;
}

impl Clocked for Vlrd<u64> {
    fn open(&mut self, sqi: usize) -> bool {
        self.open(sqi)
    }

    fn cycle(&mut self, packet: Option<Packet<u64>>) -> Cycle<u64> {
        self.cycle(packet)
    }
}

/// A device with cycles, and the caches around it. Some of them lose what was asked for, and ask again.
#[derive(Debug)]
pub(crate) struct Cycled<D> {
    device: D,
    answers: bool,
    random: Random,
    /// By queue: the line that has come, and whether one was asked for.
    come: Vec<Option<u64>>,
    asked: Vec<bool>,
    /// Injections that are not answered: the queue, the slot, the line.
    under_way: VecDeque<(usize, u16, u64)>,
}

/// Queues in use.
fn queues(shape: &Shape) -> usize {
    shape.routing.links.min(6)
}

impl<D: Clocked> Cycled<D> {
    pub(crate) fn new(shape: Shape, mut device: D) -> Self {
        let queues = queues(&shape);
        (0..queues).for_each(|sqi| assert!(device.open(sqi), "queue {sqi}"));
        let answers = shape.answers;
        Self {
            device,
            answers,
            random: Random::new(5),
            come: vec![None; queues],
            asked: vec![false; queues],
            under_way: VecDeque::new(),
        }
    }

    /// A cycle with this packet. True if it was taken.
    fn cycle(&mut self, packet: Option<Packet<u64>>) -> bool {
        let Cycle { taken, sent } = self.device.cycle(packet);
        if let Some(sent) = sent {
            let queue = sent.target as usize;
            if self.answers {
                self.under_way.push_back((queue, sent.slot, sent.data[0]));
            } else {
                self.come[queue] = Some(sent.data[0]);
            }
        }
        taken
    }

    /// A cycle in which a cache answers, if one has something to answer.
    fn rest(&mut self) {
        let Some((queue, slot, number)) = self.under_way.pop_front() else {
            self.cycle(None);
            return;
        };
        let accepted = !self.random.of_100(20);
        if accepted {
            self.come[queue] = Some(number);
        } else {
            self.asked[queue] = false;
        }
        self.cycle(Some(Packet::Answer { slot, accepted }));
        if !accepted {
            self.ask(queue);
        }
    }
}

impl<D: Clocked> Device for Cycled<D> {
    fn push(&mut self, queue: usize, number: u64) -> bool {
        self.cycle(Some(Packet::Push { sqi: queue, data: line(number) }))
    }

    fn ask(&mut self, queue: usize) {
        if !self.asked[queue] && self.come[queue].is_none() {
            self.asked[queue] = self.cycle(Some(Packet::Fetch { sqi: queue, target: queue as u64 }));
        }
    }

    fn take(&mut self, queue: usize) -> Option<u64> {
        if self.come[queue].is_none() {
            // A request that was refused is made again.
            self.ask(queue);
            self.rest();
        }
        let number = self.come[queue].take()?;
        self.asked[queue] = false;
        Some(number)
    }
}

/// Calls of [`Device::take`] after which a line that must come has not come: seconds of a thread that yields, and far more than a device
/// needs.
const PATIENCE: usize = 10_000_000;

/// A plain queue for each of the device's: what was taken, and whether a line was asked for.
struct Plain {
    lines: Vec<VecDeque<u64>>,
    asked: Vec<bool>,
    number: u64,
}

impl Plain {
    fn push(&mut self, device: &mut impl Device, queue: usize) -> bool {
        self.number += 1;
        let taken = device.push(queue, self.number);
        if taken {
            self.lines[queue].push_back(self.number);
        }
        taken
    }

    fn ask(&mut self, device: &mut impl Device, queue: usize) {
        device.ask(queue);
        self.asked[queue] = true;
    }

    /// What the consumer gets is what the plain queue gives.
    fn take(&mut self, name: &str, device: &mut impl Device, queue: usize) {
        if !self.asked[queue] {
            return;
        }
        let Some(expected) = self.lines[queue].pop_front() else { return };
        let come = (0..PATIENCE).find_map(|_| device.take(queue));
        assert_eq!(come, Some(expected), "{name}, queue {queue}");
        self.asked[queue] = false;
    }

    fn drain(&mut self, name: &str, device: &mut impl Device) {
        for queue in 0..self.lines.len() {
            while !self.lines[queue].is_empty() {
                self.ask(device, queue);
                self.take(name, device, queue);
            }
        }
        // What comes once more was doubled.
        (0..self.lines.len()).for_each(|queue| self.ask(device, queue));
        for _ in 0..40 {
            for queue in 0..self.lines.len() {
                assert_eq!(device.take(queue), None, "{name}, queue {queue}: all has come already");
            }
        }
    }
}

/// The suite: directed scripts, and random ones of so many steps, on a device that is new for each.
pub(crate) fn conform<D: Device>(name: &str, device: impl Fn() -> D, shape: &Shape, steps: usize) {
    let queues = queues(shape);
    let plain = || Plain { lines: vec![VecDeque::new(); queues], asked: vec![false; queues], number: 0 };

    // One queue takes what is not reserved for the others; each of them has its own slots still.
    let mut one = device();
    let mut reference = plain();
    let reserve = shape.routing.reserve;
    let room = shape.routing.entries - reserve * (queues - 1);
    let room = shape.routing.quota.map_or(room, |quota| room.min(quota));
    assert_eq!((0..room + 3).filter(|_| reference.push(&mut one, 0)).count(), room, "{name}: lines of one queue");
    for queue in 1..queues {
        let more = (0..reserve + 3).filter(|_| reference.push(&mut one, queue)).count();
        let least = reserve.min(shape.routing.quota.unwrap_or(reserve));
        assert!(more >= least, "{name}, queue {queue}: {more} lines beside one that is full");
    }
    reference.drain(name, &mut one);

    // Asked for first, pushed then.
    let mut one = device();
    let mut reference = plain();
    for queue in (0..queues).chain(0..queues) {
        reference.ask(&mut one, queue);
    }
    for queue in (0..queues).rev() {
        assert!(reference.push(&mut one, queue), "{name}, queue {queue}: there is room");
    }
    reference.drain(name, &mut one);

    // Anything, in any order.
    for seed in 0..4 {
        let mut random = Random::new(seed);
        let mut one = device();
        let mut reference = plain();
        for _ in 0..steps {
            let queue = random.below(queues);
            match random.below(5) {
                0 | 1 => _ = reference.push(&mut one, queue),
                2 => reference.ask(&mut one, queue),
                _ => reference.take(name, &mut one, queue),
            }
        }
        reference.drain(name, &mut one);
    }
}
