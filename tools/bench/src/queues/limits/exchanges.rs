//! An exchange for each push and each pop: the limit for a queue for many that goes item by item.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crossbeam_utils::{Backoff, CachePadded};

use super::super::crew::Crew;
use super::super::one_to_one::{CAPACITY, Ends};
use super::bell::Bell;

/// Two counters, for any number of threads: a push and a pop are an exchange of one each, and nothing is carried. What a queue for many
/// takes that makes one exchange for each item, and has the rest of its work for nothing. What is popped are ones. With `PAUSES`, who
/// lost an exchange pauses before the next one, twice as long each time; else it retries at once. The better of both is the limit.
#[derive(Debug)]
pub(crate) struct Exchanges<const PAUSES: bool>;

/// How many items went in and out.
#[derive(Debug)]
pub(crate) struct Counts {
    pushed: CachePadded<AtomicU64>,
    popped: CachePadded<AtomicU64>,
}

/// One thread's end: the counters, and where its own ends, as seen last.
#[derive(Clone, Debug)]
pub(crate) struct End {
    counts: Arc<Counts>,
    limit: u64,
}

/// Counts one on, unless that is where `limit` ends, as the thread remembers it or sees it now.
#[inline(always)]
fn count<const PAUSES: bool>(counter: &AtomicU64, remembered: &mut u64, limit: impl Fn() -> u64) -> bool {
    let backoff = Backoff::new();
    let mut now = counter.load(Relaxed);
    loop {
        if now >= *remembered {
            *remembered = limit();
            if now >= *remembered {
                return false;
            }
        }
        match counter.compare_exchange_weak(now, now + 1, Relaxed, Relaxed) {
            Ok(_) => return true,
            Err(other) => now = other,
        }
        if PAUSES {
            backoff.spin();
            now = counter.load(Relaxed);
        }
    }
}

impl<const PAUSES: bool> Ends for Exchanges<PAUSES> {
    type Tx = End;
    type Rx = End;

    fn build(capacity: usize) -> (End, End) {
        assert_eq!(capacity, CAPACITY, "a push counts on this many");
        let counter = || CachePadded::new(AtomicU64::new(0));
        let counts = Arc::new(Counts { pushed: counter(), popped: counter() });
        (End { counts: counts.clone(), limit: capacity as u64 }, End { counts, limit: 0 })
    }

    #[inline(always)]
    fn push(tx: &mut End, _: u64) -> bool {
        let popped = || tx.counts.popped.load(Relaxed) + CAPACITY as u64;
        count::<PAUSES>(&tx.counts.pushed, &mut tx.limit, popped)
    }

    #[inline(always)]
    fn pop(rx: &mut End) -> Option<u64> {
        let pushed = || rx.counts.pushed.load(Relaxed);
        count::<PAUSES>(&rx.counts.popped, &mut rx.limit, pushed).then_some(1)
    }
}

/// The same two exchanges with a value between them: each side claims a place by an exchange, and the place says whose turn it is. The least
/// that is a queue for many, as Vyukov's is, without anything that a crate adds to it.
#[derive(Debug)]
pub(crate) struct Carried;

/// A place. Its turn is that of the push with this number, then of the pop, which is one more, then of the push a lap later.
#[derive(Debug)]
struct TurnSlot {
    turn: AtomicU64,
    value: AtomicU64,
}

/// The places, and the numbers of the next push and pop.
#[derive(Debug)]
pub(crate) struct Places {
    places: Box<[TurnSlot]>,
    push: CachePadded<AtomicU64>,
    pop: CachePadded<AtomicU64>,
}

impl Places {
    #[inline(always)]
    fn at(&self, number: u64) -> &TurnSlot {
        &self.places[number as usize % CAPACITY]
    }

    /// Whether the place that the next number of `counter` belongs to has the turn `turn` of that number.
    fn has_turn(&self, counter: &AtomicU64, turn: u64) -> bool {
        let number = counter.load(Relaxed);
        self.at(number).turn.load(Acquire) >= number + turn
    }
}

/// Claims the next number of `counter`, if the place that belongs to it has the turn `turn` of that number. None if that has not come.
#[inline(always)]
fn claim<'a>(places: &'a Places, counter: &AtomicU64, turn: u64) -> Option<(&'a TurnSlot, u64)> {
    let backoff = Backoff::new();
    let mut number = counter.load(Relaxed);
    loop {
        let place = places.at(number);
        // Acquire, for the Release of who handed the place on: its value is there, or is taken.
        let now = place.turn.load(Acquire);
        if now < number + turn {
            return None;
        }
        // Relaxed: the turns hand on what is in the places.
        if now == number + turn && counter.compare_exchange_weak(number, number + 1, Relaxed, Relaxed).is_ok() {
            return Some((place, number));
        }
        backoff.spin();
        number = counter.load(Relaxed);
    }
}

impl Ends for Carried {
    type Tx = Arc<Places>;
    type Rx = Arc<Places>;

    fn build(capacity: usize) -> (Self::Tx, Self::Rx) {
        assert_eq!(capacity, CAPACITY, "the ring has one size");
        let place = |number| TurnSlot { turn: AtomicU64::new(number), value: AtomicU64::new(0) };
        let counter = || CachePadded::new(AtomicU64::new(0));
        let places = (0..capacity as u64).map(place).collect();
        let places = Arc::new(Places { places, push: counter(), pop: counter() });
        (places.clone(), places)
    }

    #[inline(always)]
    fn push(tx: &mut Self::Tx, value: u64) -> bool {
        let Some((place, number)) = claim(tx, &tx.push, 0) else { return false };
        place.value.store(value, Relaxed);
        place.turn.store(number + 1, Release);
        true
    }

    #[inline(always)]
    fn pop(rx: &mut Self::Rx) -> Option<u64> {
        let (place, number) = claim(rx, &rx.pop, 1)?;
        let value = place.value.load(Relaxed);
        place.turn.store(number + CAPACITY as u64, Release);
        Some(value)
    }
}

/// An end of [`Carried`] that sleeps when it cannot get on. Of the other side it wakes whoever sleeps after so many items, and before it sleeps
/// or leaves: so threads meet there once for many items, and nobody sleeps beside an item for ever. A queue wakes them sooner.
#[derive(Debug)]
pub(crate) struct Asleep {
    places: Arc<Places>,
    /// Where this side sleeps, and the other.
    own: Arc<Bell>,
    other: Arc<Bell>,
    items: u64,
}

impl Asleep {
    /// After so many items of its own an end wakes the other side: an eighth of the places, as blocks are elsewhere.
    const ITEMS: u64 = CAPACITY as u64 / 8;

    /// The ends of a queue for so many threads.
    pub(crate) fn ends(producers: u64, consumers: u64) -> (Vec<Self>, Vec<Self>) {
        let (places, _) = Carried::build(CAPACITY);
        let (room, items) = (Arc::<Bell>::default(), Arc::<Bell>::default());
        let ends = |threads, own: &Arc<Bell>, other: &Arc<Bell>| {
            let end = |_| Self { places: places.clone(), own: own.clone(), other: other.clone(), items: 0 };
            (0..threads).map(end).collect()
        };
        (ends(producers, &room, &items), ends(consumers, &items, &room))
    }

    /// Pushes when there is room. False if there is none, and no consumer left.
    #[inline(always)]
    pub(crate) fn push(&mut self, value: u64, consumers: &Crew) -> bool {
        let push = |places: &mut Arc<Places>| Carried::push(places, value).then_some(());
        self.until(push, |places| places.has_turn(&places.push, 0), consumers).is_some()
    }

    /// Pops when there is an item. None if there is none, and no producer left.
    #[inline(always)]
    pub(crate) fn pop(&mut self, producers: &Crew) -> Option<u64> {
        self.until(Carried::pop, |places| places.has_turn(&places.pop, 1), producers)
    }

    #[inline(always)]
    fn until<R>(
        &mut self,
        attempt: impl Fn(&mut Arc<Places>) -> Option<R>,
        ready: impl Fn(&Places) -> bool,
        others: &Crew,
    ) -> Option<R> {
        loop {
            if let Some(result) = attempt(&mut self.places) {
                self.items += 1;
                if self.items.is_multiple_of(Self::ITEMS) {
                    self.other.ring();
                }
                return Some(result);
            }
            self.other.ring();
            if !self.own.wait(|| ready(&self.places), || others.gone()) {
                return None;
            }
        }
    }
}

impl Drop for Asleep {
    fn drop(&mut self) {
        self.other.ring();
    }
}
