//! BLQ's own form of queues and workers, small: what `blq/schemes` runs.
//!
//! A ring from each clone of a kernel to each of the next, and a polling worker for each clone, which yields after 64 polls in vain. *New* links a
//! chunk into a full ring; *help* is a one-shot task: the producer takes the message on through the rest of the graph. A help pays for its
//! task, and at each kernel for a copy of the message on the heap, as there.

use thalweg_queue::Yield;
use thalweg_queue::growing::{self, Most};
use thalweg_queue::{TryPopError, TryPushError};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::hint::{self, Access};
use thalweg_sync::{CachePadded, spin, thread};

use crate::figures::own::queues::RIGHT;
use crate::worlds::point::{Figures, Role, together};
use crate::worlds::{self, Memory};

/// Times that a worker could not push, or found nothing, for each message.
pub(crate) const BLOCKED: &str = "blocked/msg";
pub(crate) const HELPED: &str = "one-shots/1000 msg";
/// Those of them that could not push, and those that found nothing.
pub(crate) const FULL: &str = "found full/msg";
pub(crate) const EMPTY: &str = "found empty/msg";

/// What is done when a ring is full.
#[derive(Clone, Copy)]
pub(crate) struct Actions {
    /// *New*: links a chunk into a full ring.
    pub(crate) grow: bool,
    /// *Help*: takes the message on through the rest of the graph.
    pub(crate) help: bool,
}

/// A kernel: how many clones it has, and what a message costs in it.
#[derive(Clone, Copy)]
pub(crate) struct Stage {
    pub(crate) clones: usize,
    pub(crate) work: fn(&Headers, u64),
}

/// The packets' headers: two lines and a pointer each.
pub(crate) struct Headers(Memory);

/// Words of a header, and packets.
const HEADER: usize = 24;
const PACKETS: usize = 420;

impl Headers {
    pub(crate) fn new() -> Self {
        Self(Memory::new(HEADER * PACKETS))
    }

    /// Works on some lines of a packet's header.
    pub(crate) fn look(&self, packet: u64, lines: std::ops::Range<usize>, access: Access) {
        let header = HEADER * (packet as usize % PACKETS);
        lines.for_each(|line| self.0.touch(header + 8 * line, 8, access));
        worlds::work(20);
    }
}

/// Messages that a ring holds at first. The authors' dynamic rings begin with twice as many and publish them by 64; here
/// all are alike.
pub(crate) const CAPACITY: usize = 64;

/// What a one-shot task costs from its start to its end, in cycles: the 415 ns of the paper's Table 3, at 2.4 GHz.
const ONE_SHOT: u64 = 1_000;

/// What the workers of a run share. Counters have lines of their own: on a stack, who shares one with whom is the compiler's choice, and
/// figures are not to depend on it.
struct Shared<'a> {
    stages: &'a [Stage],
    actions: Actions,
    headers: Headers,
    full: CachePadded<AtomicU64>,
    empty: CachePadded<AtomicU64>,
    helped: CachePadded<AtomicU64>,
    done: CachePadded<AtomicU64>,
}

type Tx = growing::Producer<u64, Yield>;
type Rx = growing::Consumer<u64, Yield>;

/// Runs so many messages through the stages, on so many hardware threads.
pub(crate) fn rings(stages: &[Stage], actions: Actions, messages: u64, threads: usize) -> Figures {
    let zero = || CachePadded(AtomicU64::new(0));
    let (full, empty, helped, done) = (zero(), zero(), zero(), zero());
    let shared = &Shared { stages, actions, headers: Headers::new(), full, empty, helped, done };
    let most = if actions.grow { Most::Bytes(usize::MAX / 4) } else { Most::Entries(CAPACITY) };
    let mut roles: Vec<Role<'_>> = Vec::new();
    let mut inputs: Vec<Vec<Rx>> = (0..stages[0].clones).map(|_| Vec::new()).collect();
    for (at, stage) in stages.iter().enumerate() {
        let next = stages.get(at + 1).map_or(0, |next| next.clones);
        let mut read: Vec<Vec<Rx>> = (0..next).map(|_| Vec::new()).collect();
        for (clone, rxs) in inputs.into_iter().enumerate() {
            let mut write = Vec::new();
            for read in &mut read {
                let (tx, rx) = growing::chunk_ring_with_wait(CAPACITY, most, Yield).expect(RIGHT);
                write.push(tx);
                read.push(rx);
            }
            let share = messages / stage.clones as u64;
            let own = if at == 0 { clone as u64 * share..(clone as u64 + 1) * share } else { 0..0 };
            roles.push(Box::new(move || {
                Worker { shared, at, next: 0, write, full: 0, empty: 0, helped: 0, done: 0 }.work(own, rxs)
            }));
        }
        inputs = read;
    }
    // The last stage's first: its end is the end.
    roles.reverse();
    let figures =
        together(messages, roles.into_iter().enumerate().map(|(number, role)| (number % threads, role)).collect());
    assert_eq!(shared.done.load(Relaxed), messages, "a message was lost");
    let each = |count: &AtomicU64, of: f64| count.load(Relaxed) as f64 * of / messages as f64;
    let (full, empty) = (each(&shared.full, 1.0), each(&shared.empty, 1.0));
    let helped = each(&shared.helped, 1000.0);
    Figures { more: vec![(BLOCKED, full + empty), (FULL, full), (EMPTY, empty), (HELPED, helped)], ..figures }
}

/// The worker of a clone.
struct Worker<'a> {
    shared: &'a Shared<'a>,
    at: usize,
    /// Rings take turns.
    next: usize,
    write: Vec<Tx>,
    full: u64,
    empty: u64,
    helped: u64,
    done: u64,
}

impl Worker<'_> {
    fn work(mut self, own: std::ops::Range<u64>, mut read: Vec<Rx>) {
        own.for_each(|message| self.take(message));
        let mut polls = 0;
        while !read.is_empty() {
            let before = read.len();
            let mut popped = false;
            read.retain_mut(|rx| match rx.try_pop() {
                Ok(message) => {
                    self.take(message);
                    popped = true;
                    true
                }
                Err(error) => error != TryPopError::Closed,
            });
            if !popped && read.len() == before {
                poll(&mut polls);
                self.empty += u64::from(polls == 1);
            } else {
                polls = 0;
            }
        }
        self.shared.full.fetch_add(self.full, Relaxed);
        self.shared.empty.fetch_add(self.empty, Relaxed);
        self.shared.helped.fetch_add(self.helped, Relaxed);
        self.shared.done.fetch_add(self.done, Relaxed);
    }

    fn take(&mut self, message: u64) {
        let shared = self.shared;
        (shared.stages[self.at].work)(&shared.headers, message);
        if self.write.is_empty() {
            self.done += 1;
            return;
        }
        let ring = self.next % self.write.len();
        self.next += 1;
        let mut polls = 0;
        while let Err(TryPushError::Full(_) | TryPushError::Busy(_)) = self.write[ring].try_push(message) {
            if shared.actions.help {
                // A one-shot task: through the rest of the graph.
                worlds::work(ONE_SHOT);
                for stage in &shared.stages[self.at + 1..] {
                    let copy = Box::new(message);
                    hint::touch((&raw const *copy).cast(), size_of::<u64>(), Access::Write);
                    hint::touch((&raw const *copy).cast(), size_of::<u64>(), Access::Read);
                    (stage.work)(&shared.headers, *copy);
                }
                self.helped += 1;
                self.done += 1;
                return;
            }
            poll(&mut polls);
            self.full += u64::from(polls == 1);
        }
    }
}

/// Waits a little, and every 64th time lets others run.
fn poll(polls: &mut u32) {
    *polls += 1;
    if polls.is_multiple_of(64) { thread::yield_now() } else { spin::pause(1) }
}
