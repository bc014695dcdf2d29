//! The routing device in software: a thread plays it, natively.
//!
//! Each endpoint has an [`Exchange`]: lines, and a door for each. The endpoint and the router are the only ones who touch it, so the
//! two agree about each line, as a core and the device do. Both use the lines in turn, so they come in the order of the requests.
//!
//! | door | written by | next |
//! |---|---|---|
//! | idle | both | pushed, asked: by the endpoint |
//! | pushed | producer | idle: the line was taken; refused: there was no room |
//! | refused | router | idle: by the producer, which may try again |
//! | asked | consumer | writing: by the router; gone |
//! | writing | router | idle, when the line is valid |
//! | gone | endpoint | nothing: the router forgets the exchange |
//!
//! # Invariants
//!
//! - **R1** A line belongs to the endpoint while its door is idle or refused, and to the router while it is pushed or
//!   writing. While it is asked it is nobody's.
//! - **R2** `held` counts the lines that were taken and are in no consumer's line yet. It is raised before a push is
//!   answered, and lowered after the line is valid.

use std::collections::VecDeque;

use thalweg_queue::BuildError;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicU64, AtomicUsize};
use thalweg_sync::link::Line;
use thalweg_sync::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thalweg_sync::{spin, thread};

use crate::control::{CONTROL, Control};

const IDLE: u64 = 0;
const PUSHED: u64 = 1;
const REFUSED: u64 = 2;
const ASKED: u64 = 3;
const WRITING: u64 = 4;
const GONE: u64 = 5;

/// What the router has: the device's tables in software.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many channels.
    pub links: usize,
    /// How many lines it holds, for all channels together.
    pub entries: usize,
}

impl Default for Limits {
    /// The device's: 64 channels, 64 lines.
    fn default() -> Self {
        Self { links: 64, entries: 64 }
    }
}

/// Where an endpoint and the router meet.
#[derive(Debug)]
pub(crate) struct Exchange {
    places: Box<[Doorway]>,
    sqi: usize,
}

/// A line and its door.
#[derive(Debug)]
struct Doorway {
    line: Line,
    door: CachePadded<AtomicU64>,
}

impl Exchange {
    fn new(sqi: usize, lines: usize) -> Self {
        let place = || Doorway { line: Line::new(), door: CachePadded(AtomicU64::new(IDLE)) };
        Self { places: std::iter::repeat_with(place).take(lines).collect(), sqi }
    }

    #[inline]
    pub(crate) fn line(&self, number: usize) -> &Line {
        &self.places[number].line
    }

    pub(crate) fn lines(&self) -> usize {
        self.places.len()
    }

    /// A producer's line goes to the router. True if it was taken; then the line is zero.
    pub(crate) fn push(&self) -> bool {
        let door = &self.places[0].door;
        // (link.1) Release, pairs with (link.2): the router reads the line that was written before.
        door.store(PUSHED, Release);
        let answer = spin::until(|| {
            // (link.3) Acquire, pairs with (link.4): the router is done with the line.
            let door = door.load(Acquire);
            (door != PUSHED).then_some(door)
        });
        answer == IDLE
    }

    /// A consumer asks for something to come to a line, unless it has. Lines are asked for in turn; asking again changes nothing.
    pub(crate) fn fetch(&self, line: usize) {
        let Doorway { line, door } = &self.places[line];
        // (link.7) Acquire, pairs with (link.8): a line that has come is seen below, and must not be overwritten.
        let state = spin::until(|| Some(door.load(Acquire)).filter(|&door| door != WRITING));
        // Relaxed: nobody but this endpoint leaves idle, so the line stays as it is.
        if state == IDLE && Control::of(line.load(CONTROL, Relaxed)).is_none() {
            // (link.5) Release, pairs with (link.6): the line was read and cleared before it is written anew.
            door.store(ASKED, Release);
        }
    }

    /// The endpoint leaves. A line that is on its way is there when this returns.
    pub(crate) fn leave(&self) {
        for Doorway { door, .. } in &self.places {
            loop {
                let state = spin::until(|| Some(door.load(Acquire)).filter(|&door| door != WRITING));
                // AcqRel: what the endpoint did comes before the router forgets it; if the line came meanwhile, it is seen.
                if door.compare_exchange(state, GONE, AcqRel, Relaxed).is_ok() {
                    break;
                }
            }
        }
    }
}

/// What endpoints and the router share.
#[derive(Debug)]
pub(crate) struct Router {
    /// Exchanges that the router has not met yet.
    new: Mutex<Vec<Arc<Exchange>>>,
    /// How many exchanges there ever were.
    joined: CachePadded<AtomicUsize>,
    /// One for all who may still make exchanges ([`Lease`](crate::endpoint::Lease)), and exchanges that are not gone.
    users: CachePadded<AtomicUsize>,
    held: Vec<CachePadded<AtomicU64>>,
}

impl Router {
    /// Starts the thread. It ends when nobody uses the router any more.
    pub(crate) fn start(limits: Limits) -> Result<Arc<Self>, BuildError> {
        for (parameter, value) in [("links", limits.links), ("entries", limits.entries)] {
            if value == 0 {
                return Err(BuildError::TooSmall { parameter, value, min: 1 });
            }
        }
        if limits.links > limits.entries {
            // One slot of each channel is its own.
            return Err(BuildError::TooLarge { parameter: "links", value: limits.links, max: limits.entries });
        }
        let router = Arc::new(Self {
            new: Mutex::new(Vec::new()),
            joined: CachePadded(AtomicUsize::new(0)),
            users: CachePadded(AtomicUsize::new(1)),
            held: (0..limits.links).map(|_| CachePadded(AtomicU64::new(0))).collect(),
        });
        let shared = router.clone();
        thread::spawn(move || Work::new(shared, limits).run());
        Ok(router)
    }

    fn new_exchanges(&self) -> MutexGuard<'_, Vec<Arc<Exchange>>> {
        // A panic elsewhere leaves the list whole.
        self.new.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new endpoint of a channel, with so many lines.
    pub(crate) fn join(&self, sqi: usize, lines: usize) -> Arc<Exchange> {
        let exchange = Arc::new(Exchange::new(sqi, lines));
        self.enter();
        self.new_exchanges().push(exchange.clone());
        // Release, pairs with the Acquire in `Work::look`: who sees the number finds the exchange.
        self.joined.fetch_add(1, Release);
        exchange
    }

    /// Somebody more uses the router.
    pub(crate) fn enter(&self) {
        self.users.fetch_add(1, Relaxed);
    }

    /// Somebody does not any more.
    pub(crate) fn leave(&self) {
        // Release, pairs with the Acquire in `Work::look`: the router ends after everything that its users did.
        self.users.fetch_sub(1, Release);
    }

    /// How many lines of a channel the router holds.
    pub(crate) fn holds(&self, sqi: usize) -> u64 {
        // (link.12) Acquire, pairs with (link.11): if none is left, they are in the consumers' lines.
        self.held[sqi].load(Acquire)
    }
}

/// What there is to do.
enum Task {
    /// New exchanges.
    Meet,
    /// A line was pushed at this exchange.
    Take(usize),
    /// A line can go to this exchange.
    Give(usize),
    /// The endpoint is gone.
    Forget(usize),
    /// Nobody is left.
    End,
}

/// An exchange, and the line whose turn it is.
struct Met {
    exchange: Arc<Exchange>,
    turn: usize,
}

impl Met {
    fn place(&self) -> &Doorway {
        &self.exchange.places[self.turn]
    }
}

/// The router's own state.
struct Work {
    shared: Arc<Router>,
    exchanges: Vec<Met>,
    met: usize,
    lines: Vec<VecDeque<[u64; Line::WORDS]>>,
    /// Slots that belong to no channel, and how many of them are free.
    free: usize,
    /// Where the next look begins: everybody's turn comes.
    turn: usize,
}

impl Work {
    fn new(shared: Arc<Router>, limits: Limits) -> Self {
        let lines = (0..limits.links).map(|_| VecDeque::new()).collect();
        Self { shared, exchanges: Vec::new(), met: 0, lines, free: limits.entries - limits.links, turn: 0 }
    }

    fn run(mut self) {
        loop {
            match spin::until(|| self.look()) {
                Task::Meet => {
                    let mut new = self.shared.new_exchanges();
                    self.met += new.len();
                    self.exchanges.extend(new.drain(..).map(|exchange| Met { exchange, turn: 0 }));
                }
                Task::Take(at) => self.take(at),
                Task::Give(at) => self.give(at),
                Task::Forget(at) => drop(self.exchanges.swap_remove(at)),
                Task::End => return,
            }
        }
    }

    fn look(&self) -> Option<Task> {
        let exchanges = self.exchanges.len();
        for at in (0..exchanges).map(|i| (self.turn + i) % exchanges) {
            let met = &self.exchanges[at];
            // (link.2) and (link.6) Acquire, pair with (link.1) and (link.5).
            match met.place().door.load(Acquire) {
                PUSHED => return Some(Task::Take(at)),
                ASKED if !self.lines[met.exchange.sqi].is_empty() => return Some(Task::Give(at)),
                GONE => return Some(Task::Forget(at)),
                _ => {}
            }
        }
        if self.shared.joined.load(Acquire) > self.met {
            return Some(Task::Meet);
        }
        (exchanges == 0 && self.shared.users.load(Acquire) == 0).then_some(Task::End)
    }

    fn take(&mut self, at: usize) {
        self.turn = at + 1;
        let met = &self.exchanges[at];
        let (Doorway { line, door }, sqi) = (met.place(), met.exchange.sqi);
        let lines = &mut self.lines[sqi];
        let answer = if lines.is_empty() || self.free > 0 {
            self.free -= usize::from(!lines.is_empty());
            // Relaxed: (link.2) has acquired what was written.
            lines.push_back(std::array::from_fn(|word| line.load(word, Relaxed)));
            (0..Line::WORDS).for_each(|word| line.store(word, 0, Relaxed));
            // Relaxed: (link.4) publishes it to the producer, and whoever the producer tells of its end (R2).
            self.shared.held[sqi].fetch_add(1, Relaxed);
            IDLE
        } else {
            REFUSED
        };
        // (link.4) Release, pairs with (link.3).
        door.store(answer, Release);
    }

    fn give(&mut self, at: usize) {
        self.turn = at + 1;
        let met = &mut self.exchanges[at];
        let (Doorway { line, door }, sqi) = (&met.exchange.places[met.turn], met.exchange.sqi);
        // Acquire: as (link.6). It fails if the consumer has just left.
        if door.compare_exchange(ASKED, WRITING, Acquire, Relaxed).is_err() {
            return;
        }
        let lines = &mut self.lines[sqi];
        let words = lines.pop_front().expect("it was looked at");
        self.free += usize::from(!lines.is_empty());
        for (word, &value) in words.iter().enumerate().filter(|&(word, _)| word != CONTROL) {
            line.store(word, value, Relaxed);
        }
        // (link.9) Release, pairs with (link.10): a line that is valid is whole.
        line.store(CONTROL, words[CONTROL], Release);
        // (link.8) Release, pairs with (link.7).
        door.store(IDLE, Release);
        // (link.11) Release, pairs with (link.12).
        self.shared.held[sqi].fetch_sub(1, Release);
        met.turn = (met.turn + 1) % met.exchange.lines();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_has_come_is_not_asked_for_again() {
        let exchange = Exchange::new(0, 1);
        let Doorway { line, door } = &exchange.places[0];
        line.store(CONTROL, u64::MAX, Relaxed);
        exchange.fetch(0);
        assert_eq!(door.load(Relaxed), IDLE, "it would be overwritten");
        line.store(CONTROL, 0, Relaxed);
        exchange.fetch(0);
        assert_eq!(door.load(Relaxed), ASKED);
        exchange.leave();
        assert_eq!(door.load(Relaxed), GONE);
    }
}
