//! The seven benchmarks: what the threads do, whoever carries their messages.
//!
//! Shapes, messages and defaults are those of the paper's programs (table II); where the number of repetitions is a
//! toy there, it is larger here. What a thread computes is declared as work, in cycles.

mod bitonic;
mod pipeline;

pub(crate) use bitonic::{bitonic, messages as messages_of_bitonic};
pub(crate) use pipeline::pipeline;

use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire};
use thalweg_sync::{CachePadded, hint, thread};

use super::net::{Message, MessageReceiver, MessageSender, Net, Receiver, Sender};
use crate::worlds;
use crate::worlds::point::{self, Figures, Role};

/// Words that a channel holds where it is not said otherwise: Boost's in the paper's programs.
const CAPACITY: usize = 512;

/// Runs each role on a hardware thread of its own, or of its neighbours', if there are more roles than hardware threads.
fn together(messages: u64, roles: Vec<Role<'_>>) -> Figures {
    let cpus = thread::available_parallelism();
    point::together(messages, roles.into_iter().enumerate().map(|(number, role)| (number % cpus, role)).collect())
}

/// The only end of a side.
pub(super) fn one<E>(mut ends: Vec<E>) -> E {
    ends.pop().expect("there is one")
}

/// Two threads. One sends seven balls and receives them back; the other sends each back as it comes. If not `is_single`, balls that come
/// back share a line, where there are lines.
pub(crate) fn ping_pong(net: &Net, rounds: u64, is_single: bool) -> Figures {
    const BURST: u64 = 7;
    let ((ping, pong_in), (pong, ping_in)) = (net.words(1, 1, CAPACITY), net.words(1, 1, CAPACITY));
    let (mut ping, mut ping_in, mut pong, mut pong_in) = (one(ping), one(ping_in), one(pong), one(pong_in));
    let here = Box::new(move || {
        for round in 0..rounds {
            (0..BURST).for_each(|ball| ping.send(256 * round + ball));
            (0..BURST).for_each(|ball| assert_eq!(ping_in.receive(), 256 * round + ball + 1));
        }
    });
    let there = Box::new(move || {
        for _ in 0..rounds * BURST {
            let ball = pong_in.receive();
            pong.send(ball + 1);
            if is_single {
                pong.flush();
            }
        }
    });
    together(2 * rounds * BURST, vec![here, there])
}

/// The side of the grid of halo and sweep.
const SIDE: usize = 4;

/// Lines that the application has of its own at each end of a channel, if it has any: one with which it computes, and one that is under way.
pub(crate) const BUFFERS: usize = 2;

/// The application's own lines at an end, which it takes in turn: a message is written into one and copied from there. It has them
/// beside what the queue has, so what comes through them is buffered twice.
#[derive(Default)]
struct Own {
    lines: Box<[CachePadded<Message>; BUFFERS]>,
    next: usize,
}

impl Own {
    /// The message, by way of the next line.
    fn through(&mut self, message: Message) -> Message {
        let line = &mut self.lines[self.next];
        self.next = (self.next + 1) % BUFFERS;
        let bytes = size_of::<Message>();
        hint::touch((&raw const line.0).cast(), bytes, hint::Access::Write);
        line.0 = message;
        hint::touch((&raw const line.0).cast(), bytes, hint::Access::Read);
        line.0
    }
}

/// A cell of the grid, with its channels to and from its neighbours: left, right, up, down.
#[derive(Default)]
struct Cell {
    to: [Option<MessageSender>; 4],
    from: [Option<MessageReceiver>; 4],
    /// Of each end, in the same order, those of senders first; nothing, if the application has none.
    own: [Option<Own>; 8],
}

impl Cell {
    /// To the neighbour in that direction, if there is one.
    fn send(&mut self, direction: usize, message: Message) {
        if let Some(tx) = &mut self.to[direction] {
            tx(&self.own[direction].as_mut().map_or(message, |own| own.through(message)));
        }
    }

    /// From the neighbour in that direction, if there is one.
    fn receive(&mut self, direction: usize) -> Option<Message> {
        let message = self.from[direction].as_mut()?();
        Some(self.own[4 + direction].as_mut().map_or(message, |own| own.through(message)))
    }
}

/// The neighbour of a cell in one of the four directions.
fn neighbour(cell: usize, direction: usize) -> Option<usize> {
    let (x, y) = (cell % SIDE, cell / SIDE);
    match direction {
        0 => (x > 0).then(|| cell - 1),
        1 => (x + 1 < SIDE).then_some(cell + 1),
        2 => (y > 0).then(|| cell - SIDE),
        _ => (y + 1 < SIDE).then_some(cell + SIDE),
    }
}

/// All cells, with a channel each way between neighbours: 48. With lines of their own, or without.
fn grid(net: &Net, is_buffered: bool) -> Vec<Cell> {
    let mut cells: Vec<Cell> = (0..SIDE * SIDE).map(|_| Cell::default()).collect();
    for cell in 0..cells.len() {
        for direction in 0..4 {
            if let Some(other) = neighbour(cell, direction) {
                let (tx, rx) = net.between_two(CAPACITY / 7);
                cells[cell].to[direction] = Some(tx);
                cells[other].from[direction ^ 1] = Some(rx);
                cells[cell].own[direction] = is_buffered.then(Own::default);
                cells[other].own[4 + (direction ^ 1)] = is_buffered.then(Own::default);
            }
        }
    }
    cells
}

/// How many channels there are, and so messages in each exchange.
pub(crate) const CHANNELS: u64 = 2 * 2 * (SIDE * (SIDE - 1)) as u64;

/// 16 threads in a grid. In each iteration each computes, sends to its neighbours and receives from them; nobody waits for a
/// message to be received before all are sent.
pub(crate) fn halo(net: &Net, iterations: u64, work: u64, is_buffered: bool) -> Figures {
    let role = |mut cell: Cell| -> Role<'_> {
        Box::new(move || {
            for iteration in 0..iterations {
                worlds::work(work);
                (0..4).for_each(|direction| cell.send(direction, [iteration << 2 | direction as u64; 7]));
                for direction in 0..4 {
                    if let Some(message) = cell.receive(direction) {
                        assert_eq!(message, [iteration << 2 | (direction ^ 1) as u64; 7]);
                    }
                }
            }
        })
    };
    together(iterations * CHANNELS, grid(net, is_buffered).into_iter().map(role).collect())
}

/// 16 threads in a grid. In each iteration a wave goes from each corner to the one opposite: a cell waits for the two
/// before it, computes, and sends to the two behind it.
pub(crate) fn sweep(net: &Net, iterations: u64, work: u64, is_buffered: bool) -> Figures {
    let role = |mut cell: Cell| -> Role<'_> {
        Box::new(move || {
            for iteration in 0..iterations {
                for [across, down] in [[1, 3], [0, 3], [1, 2], [0, 2]] {
                    for from in [across ^ 1, down ^ 1] {
                        if let Some(message) = cell.receive(from) {
                            assert_eq!(message[0], iteration);
                        }
                    }
                    worlds::work(work);
                    [across, down].into_iter().for_each(|to| cell.send(to, [iteration; 7]));
                }
            }
        })
    };
    together(iterations * 2 * CHANNELS, grid(net, is_buffered).into_iter().map(role).collect())
}

/// 15 threads send a message in each iteration, and one receives 15. Both compute once in an iteration.
pub(crate) fn incast(net: &Net, iterations: u64, work: u64) -> Figures {
    const WORKERS: u64 = 15;
    let (senders, receivers) = net.messages(WORKERS as usize, 1, net.room(CAPACITY, (WORKERS * iterations) as usize));
    let mut rx = one(receivers);
    let master: Role<'_> = Box::new(move || {
        let mut sum = 0;
        for _ in 0..iterations {
            (0..WORKERS).for_each(|_| sum += rx()[6]);
            worlds::work(work);
        }
        assert_eq!(sum, WORKERS * iterations * (iterations - 1) / 2);
    });
    let worker = |mut tx: MessageSender| -> Role<'_> {
        Box::new(move || {
            for iteration in 0..iterations {
                worlds::work(work);
                tx(&[iteration; 7]);
            }
        })
    };
    together(WORKERS * iterations, std::iter::once(master).chain(senders.into_iter().map(worker)).collect())
}

/// 32 threads in a chain: a source, 30 filters, a sink. A sample is a word.
pub(crate) fn fir(net: &Net, samples: u64) -> Figures {
    const STAGES: usize = 32;
    /// A multiply and an add for each of 16 taps, and the delay line.
    const WORK: u64 = 40;
    let (mut senders, mut receivers) = (Vec::new(), Vec::new());
    for _ in 1..STAGES {
        let (tx, rx) = net.words(1, 1, net.room(CAPACITY, samples as usize));
        senders.push(one(tx));
        receivers.push(one(rx));
    }
    let sink_in: Receiver = one(receivers.drain(STAGES - 2..).collect());
    let sink = sink(sink_in, samples, STAGES as u32 - 2);
    let mut senders = senders.into_iter();
    let mut first: Sender = senders.next().expect("there are stages");
    let source: Role<'_> = Box::new(move || {
        (0..samples).for_each(|sample| first.send(sample % 1000));
        first.flush();
    });
    let filter = |(mut rx, mut tx): (Receiver, Sender)| -> Role<'_> {
        Box::new(move || {
            let mut filter = Filter::default();
            for _ in 0..samples {
                let sample = rx.receive();
                worlds::work(WORK);
                tx.send(filter.next(sample));
            }
            tx.flush();
        })
    };
    let filters = receivers.into_iter().zip(senders).map(filter);
    // The sink's is the time; the chain stands in order on the hardware threads.
    together(samples * (STAGES as u64 - 1), [sink, source].into_iter().chain(filters).collect())
}

/// The end of the chain: compares with what so many filters make of the samples.
fn sink<'a>(mut rx: Receiver, samples: u64, filters: u32) -> Role<'a> {
    Box::new(move || {
        let mut chain: Vec<Filter> = (0..filters).map(|_| Filter::default()).collect();
        for sample in 0..samples {
            let expected = chain.iter_mut().fold(sample % 1000, |sample, filter| filter.next(sample));
            assert_eq!(rx.receive(), expected);
        }
    })
}

/// 16 taps with whole numbers for coefficients, so that the result is exact.
#[derive(Default)]
struct Filter {
    delay: [u64; 16],
    at: usize,
}

impl Filter {
    fn next(&mut self, sample: u64) -> u64 {
        self.at = (self.at + 15) % 16;
        self.delay[self.at] = sample;
        let taps =
            (0..16).map(|tap| self.delay[(self.at + tap) % 16].wrapping_mul(1 + (tap as u64).min(15 - tap as u64)));
        // What is sent is not the largest word.
        taps.fold(0_u64, u64::wrapping_add) >> 1
    }
}

/// A message with these words, and zeros.
fn message(words: &[u64]) -> Message {
    std::array::from_fn(|word| words.get(word).copied().unwrap_or(0))
}

/// STREAM's triad on threads of their own, each over three arrays of so many lines in all, twice; beside it, on two more
/// threads, ping-pong for as long as that takes, if there is a `net`. The time is STREAM's.
pub(crate) fn stream(net: Option<&Net>, workers: u64, lines: u64) -> Figures {
    /// Lines that are read or written at once.
    const STEP: usize = 8;
    let running = CachePadded(AtomicUsize::new(workers as usize));
    let running = &running;
    let array = |bytes: usize| vec![0_u8; bytes];
    let each = (lines / 3) as usize * 64;
    let worker = |_| -> Role<'_> {
        Box::new(move || {
            let [a, b, c] = [array(each), array(each), array(each)];
            for _ in 0..2 {
                for at in (0..each).step_by(STEP * 64) {
                    for (array, access) in
                        [(&b, hint::Access::Read), (&c, hint::Access::Read), (&a, hint::Access::Write)]
                    {
                        hint::touch(&raw const array[at], (each - at).min(STEP * 64), access);
                    }
                    worlds::work(2 * 8 * STEP as u64);
                }
            }
            running.fetch_sub(1, AcqRel);
        })
    };
    let mut roles: Vec<Role<'_>> = (0..workers).map(worker).collect();
    if let Some(net) = net {
        let ((ping, pong_in), (pong, ping_in)) = (net.words(1, 1, CAPACITY), net.words(1, 1, CAPACITY));
        let (mut ping, mut ping_in, mut pong, mut pong_in) = (one(ping), one(ping_in), one(pong), one(pong_in));
        roles.push(Box::new(move || {
            let mut on = 1;
            while on == 1 {
                on = u64::from(running.load(Acquire) > 0);
                (0..7).for_each(|_| ping.send(on));
                (0..7).for_each(|_| assert_eq!(ping_in.receive(), on));
            }
        }));
        roles.push(Box::new(move || {
            let mut on = 1;
            while on == 1 {
                (0..7).for_each(|_| {
                    on = pong_in.receive();
                    pong.send(on);
                });
            }
        }));
    }
    together(2 * workers * lines, roles)
}
