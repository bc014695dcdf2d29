//! Packets for a device: what reaches its port, cycle by cycle.

use std::collections::VecDeque;

use thalweg_sim::vlrd::{Cycle, Data, Packet};
use thalweg_sync::random::SplitMix;

use crate::Shape;

/// What is at the port in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Nothing,
    Packet(Packet<u64>),
    /// A row of linkTab is set up.
    Open(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Random(SplitMix);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix::new(seed))
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.0.number() % end as u64) as usize
    }

    pub(crate) fn of_100(&mut self, wanted: usize) -> bool {
        self.below(100) < wanted
    }
}

/// The line with that number: its words differ, and the first is the number.
pub(crate) fn line(number: u64) -> Data {
    std::array::from_fn(|word| number ^ (word as u64).wrapping_mul(0x0123_4567_89ab_cdef))
}

/// How the traffic is for a while.
#[derive(Clone, Copy, Debug)]
struct Mood {
    until: usize,
    /// Of 100 cycles, those with a push and those with a fetch.
    push: usize,
    fetch: usize,
    /// Of 100 packets, those that are of one queue.
    focus: usize,
    queue: usize,
    /// Of 100 injections, those that are rejected; cycles until an answer.
    reject: usize,
    way: usize,
}

/// Random traffic, and a scoreboard: it panics if the device loses a line, doubles it, or puts it out of order.
#[derive(Debug)]
pub(crate) struct Traffic {
    shape: Shape,
    random: Random,
    cycle: usize,
    mood: Mood,
    /// Lines that were taken and are not delivered.
    lines: Vec<VecDeque<u64>>,
    /// Requests that were taken, by queue.
    requests: Vec<Vec<u64>>,
    /// Injections that are not answered: when they are, the queue, the slot, the line.
    under_way: VecDeque<(usize, usize, u16, u64)>,
    number: u64,
    pub(crate) seen: Seen,
}

/// What has happened. A test in which it has not proves nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) pushed: usize,
    pub(crate) delivered: usize,
    pub(crate) rejected: usize,
    pub(crate) pushes_refused: usize,
    pub(crate) fetches_refused: usize,
    pub(crate) opens_refused: usize,
}

impl Seen {
    pub(crate) fn all_happened(&self, shape: &Shape) -> bool {
        let Self { pushed, delivered, rejected, pushes_refused, fetches_refused, opens_refused } = *self;
        let rejects = rejected > 0 || !shape.answers;
        pushed > 1000
            && delivered > 1000
            && rejects
            && pushes_refused > 100
            && fetches_refused > 100
            && opens_refused > 10
    }
}

/// Slots that are left, where none are reserved.
const LEFT: usize = 4;

/// Bits of a target.
const TARGET: u64 = (1 << 50) - 1;

impl Traffic {
    pub(crate) fn new(shape: &Shape, seed: u64) -> Self {
        let queues = shape.queues();
        Self {
            shape: *shape,
            random: Random::new(seed),
            cycle: 0,
            mood: Mood { until: 0, push: 0, fetch: 0, focus: 0, queue: 0, reject: 0, way: 1 },
            lines: vec![VecDeque::new(); queues],
            requests: vec![Vec::new(); queues],
            under_way: VecDeque::new(),
            number: 0,
            seen: Seen::default(),
        }
    }

    /// What comes next.
    pub(crate) fn next(&mut self) -> Input {
        let queues = self.shape.queues();
        if self.cycle == self.mood.until {
            let random = &mut self.random;
            // Quiet times let everything drain, and storms fill it.
            let (push, fetch) =
                [(40, 40), (90, 5), (5, 90), (10, 10), (50, 50), (25, 70), (0, 60), (60, 0)][random.below(8)];
            self.mood = Mood {
                until: self.cycle + 20 + random.below(300),
                push,
                fetch,
                focus: [0, 50, 95][random.below(3)],
                queue: random.below(queues),
                reject: [0, 0, 20, 60][random.below(4)],
                way: [1, 4, 40][random.below(3)],
            };
        }
        self.cycle += 1;
        if let Some(at) = self.under_way.iter().position(|&(when, ..)| when <= self.cycle) {
            let (_, sqi, slot, number) = self.under_way.remove(at).expect("it was found");
            let accepted = !self.random.of_100(self.mood.reject);
            if accepted {
                self.deliver(sqi, number);
            } else {
                self.seen.rejected += 1;
            }
            return Input::Packet(Packet::Answer { slot, accepted });
        }
        let what = self.random.below(100);
        let sqi = if self.random.of_100(self.mood.focus) { self.mood.queue } else { self.random.below(queues) };
        self.number += 1;
        if self.random.below(50) == 0 {
            Input::Open(sqi)
        } else if what < self.mood.push && self.may_push(sqi) {
            Input::Packet(Packet::Push { sqi, data: line(self.number) })
        } else if (self.mood.push..self.mood.push + self.mood.fetch).contains(&what) && self.may_fetch(sqi) {
            // All bits of a target are used.
            Input::Packet(Packet::Fetch { sqi, target: self.number.wrapping_mul(0x9e37_79b9_7f4a_7c15) & TARGET })
        } else {
            Input::Nothing
        }
    }

    /// Without reserved slots, lines of one queue and requests of another could have all slots, and nothing would ever move again. So some
    /// are left to what brings both together, unless the other buffer is empty.
    fn may_push(&self, sqi: usize) -> bool {
        let (lines, requests) = (self.lines.iter().map(VecDeque::len), self.requests.iter().map(Vec::len));
        self.shape.routing.reserve > 0
            || self.lines[sqi].len() < self.requests[sqi].len()
            || lines.sum::<usize>() < self.shape.routing.entries - LEFT
            || requests.sum::<usize>() == 0
    }

    fn may_fetch(&self, sqi: usize) -> bool {
        let (lines, requests) = (self.lines.iter().map(VecDeque::len), self.requests.iter().map(Vec::len));
        self.shape.routing.reserve > 0
            || self.requests[sqi].len() < self.lines[sqi].len()
            || requests.sum::<usize>() < self.shape.routing.entries - LEFT
            || lines.sum::<usize>() == 0
    }

    /// What the device did with it.
    pub(crate) fn done(&mut self, input: Input, opened: bool, cycle: Cycle<u64>) {
        match input {
            Input::Packet(Packet::Push { sqi, data }) if cycle.taken => {
                self.lines[sqi].push_back(data[0]);
                self.seen.pushed += 1;
            }
            Input::Packet(Packet::Fetch { sqi, target }) if cycle.taken => self.requests[sqi].push(target),
            Input::Packet(Packet::Push { .. }) => self.seen.pushes_refused += 1,
            Input::Packet(Packet::Fetch { .. }) => self.seen.fetches_refused += 1,
            Input::Open(_) => self.seen.opens_refused += usize::from(!opened),
            _ => {}
        }
        let Some(sent) = cycle.sent else { return };
        let number = sent.data[0];
        assert_eq!(sent.data, line(number), "cycle {}: a line is torn", self.cycle);
        let asked = self.requests.iter_mut().enumerate().find_map(|(sqi, requests)| {
            let at = requests.iter().position(|&target| target == sent.target)?;
            requests.remove(at);
            Some(sqi)
        });
        let sqi = asked.unwrap_or_else(|| panic!("cycle {}: nobody asked for {sent:?}", self.cycle));
        if self.shape.answers {
            let way = 1 + self.random.below(self.mood.way);
            self.under_way.push_back((self.cycle + way, sqi, sent.slot, number));
        } else {
            self.deliver(sqi, number);
        }
    }

    /// A line has arrived: the first of its queue, or one of them where lines may overtake each other.
    fn deliver(&mut self, sqi: usize, number: u64) {
        let lines = &mut self.lines[sqi];
        let place = lines.iter().position(|&line| line == number);
        let strict = self.shape.routing.in_order || !self.shape.answers;
        let right = if strict { place == Some(0) } else { place.is_some() };
        assert!(right, "cycle {}, queue {sqi}: line {number:#x} is number {place:?} of its queue", self.cycle);
        lines.remove(place.expect("it is right"));
        self.seen.delivered += 1;
    }

    /// Lines that were taken and not delivered.
    pub(crate) fn held(&self, sqi: usize) -> usize {
        self.lines[sqi].len()
    }
}
