//! Consumers with several requests under way, on devices with cycles: [`Requests`] keeps the order, whatever the caches lose.
//!
//! A queue has one consumer or two. Their lines are evicted, and their threads leave the core and come back, at any time; a line is at the
//! cache some cycles after it has left the device.

use std::collections::VecDeque;

use thalweg_link::Requests;
use thalweg_sim::vlrd::Packet;

use crate::Shape;
use crate::queues::Clocked;
use crate::traffic::{Random, line};

/// A consumer's lines in its cache.
struct Ring {
    queue: usize,
    requests: Requests,
    /// What has come to each.
    come: Vec<Option<u64>>,
    pushable: Vec<bool>,
    /// Numbers of the lines that were read.
    read: Vec<u64>,
}

/// A device with cycles, consumers with rings, and lines on their way to them.
struct Machine<D> {
    device: D,
    random: Random,
    rings: Vec<Ring>,
    /// When each arrives, for which line of which ring, from which slot, and what it is.
    under_way: VecDeque<(u64, usize, usize, u16, u64)>,
    now: u64,
}

/// So many lines can a consumer's number be followed by in a request's target.
const LINES: u64 = 1000;

impl<D: Clocked> Machine<D> {
    fn cycle(&mut self, packet: Option<Packet<u64>>) -> bool {
        self.now += 1;
        let cycle = self.device.cycle(packet);
        if let Some(sent) = cycle.sent {
            let (ring, line) = ((sent.target / LINES) as usize, (sent.target % LINES) as usize);
            let way = self.random.below(9) as u64;
            self.under_way.push_back((self.now + way, ring, line, sent.slot, sent.data[0]));
        }
        cycle.taken
    }

    /// A cycle, in which a cache answers if a line is there.
    fn rest(&mut self) {
        let Some(at) = self.under_way.iter().position(|&(time, ..)| time <= self.now) else {
            self.cycle(None);
            return;
        };
        let (_, ring, line, slot, number) = self.under_way.remove(at).expect("it is there");
        let Ring { come, pushable, .. } = &mut self.rings[ring];
        let accepted = std::mem::take(&mut pushable[line]);
        if accepted {
            assert_eq!(come[line].replace(number), None, "what has come to line {line} is overwritten");
        }
        self.cycle(Some(Packet::Answer { slot, accepted }));
    }

    /// The consumer's thread asks for a line, and loses its core before in one of ten.
    fn ask(&mut self, ring: usize, line: usize) -> bool {
        if self.random.of_100(10) {
            return false;
        }
        let Ring { queue, come, pushable, .. } = &mut self.rings[ring];
        if come[line].is_some() {
            return true;
        }
        pushable[line] = true;
        let (sqi, target) = (*queue, ring as u64 * LINES + line as u64);
        self.cycle(Some(Packet::Fetch { sqi, target }))
    }

    fn ask_more(&mut self, ring: usize) {
        while let Some(line) = self.rings[ring].requests.next()
            && self.ask(ring, line)
        {
            self.rings[ring].requests.made(line);
        }
    }

    /// Reads a line that has come. Otherwise, if the thread is not patient, it takes its requests for lost.
    fn look(&mut self, ring: usize, patient: bool) {
        let Ring { requests, come, read, .. } = &mut self.rings[ring];
        if let Some(line) = requests.come(|line| come[line].is_some()) {
            read.extend(come[line].take());
            requests.taken();
        } else if !patient {
            // Something may come after it has looked, and before it gives up what it has asked for.
            (0..self.random.below(12)).for_each(|_| self.rest());
            let Ring { requests, come, pushable, .. } = &mut self.rings[ring];
            let again = requests.again(|line| pushable[line] = false, |line| come[line].is_some());
            if let Some(line) = again
                && self.ask(ring, line)
            {
                self.rings[ring].requests.made(line);
            }
        }
        self.ask_more(ring);
    }

    /// Something takes requests away: an eviction, or a context switch or a migration, which is one of all lines.
    fn lose(&mut self, ring: usize) {
        let all = self.random.of_100(30);
        let pushable = &mut self.rings[ring].pushable;
        let one = self.random.below(pushable.len());
        pushable.iter_mut().enumerate().filter(|(line, _)| all || *line == one).for_each(|(_, flag)| *flag = false);
    }
}

/// Random steps on a queue with `consumers`, then all is read. Each consumer reads in the order in which the device took the lines, and
/// nothing is lost or doubled.
fn run(name: &str, device: impl Clocked, consumers: usize, most: usize, seed: u64, steps: usize) {
    let requests = Requests::new(most);
    let ring = |queue| Ring {
        queue,
        come: vec![None; requests.lines()],
        pushable: vec![false; requests.lines()],
        requests: requests.clone(),
        read: Vec::new(),
    };
    let rings = (0..consumers).map(|_| ring(1)).collect();
    let mut machine = Machine { device, random: Random::new(seed), rings, under_way: VecDeque::new(), now: 0 };
    assert!(machine.device.open(0) && machine.device.open(1), "{name}");
    let mut sent = 0;
    for _ in 0..steps {
        let ring = machine.random.below(consumers);
        match machine.random.below(10) {
            0 | 1 => sent += u64::from(machine.cycle(Some(Packet::Push { sqi: 1, data: line(sent) }))),
            2 => machine.lose(ring),
            3 => machine.look(ring, false),
            4 | 5 => machine.look(ring, true),
            _ => machine.rest(),
        }
    }
    for turn in 0..1000 * sent {
        let all = machine.rings.iter().map(|ring| ring.read.len() as u64).sum::<u64>();
        if all == sent {
            break;
        }
        for ring in 0..consumers {
            machine.look(ring, turn % 50 != 0);
        }
        machine.rest();
    }
    let mut all: Vec<u64> = Vec::new();
    for (number, ring) in machine.rings.iter().enumerate() {
        assert!(ring.read.is_sorted(), "{name}, {most} requests, seed {seed}: consumer {number} read {:?}", ring.read);
        all.extend(&ring.read);
    }
    all.sort_unstable();
    assert!(all.iter().copied().eq(0..sent), "{name}, {most} requests, seed {seed}: of {sent} lines came {all:?}");
}

/// The suite, for a device that keeps the order of a queue: `device` makes one, `steps` of them are tried for each number of requests.
pub(crate) fn conform<D: Clocked>(name: &str, device: impl Fn() -> D, shape: &Shape, seeds: u64, steps: usize) {
    assert!(shape.answers && shape.routing.in_order, "{name} promises no order where requests are lost");
    for consumers in 1..=2 {
        for most in [1, 2, 3, 6] {
            (0..seeds).for_each(|seed| run(name, device(), consumers, most, seed, steps));
        }
    }
}
