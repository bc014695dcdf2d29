//! Those who wait on one side of a queue, in the order of arrival. Each step takes the same time, however many they are.
//!
//! # Invariants
//!
//! - **L1** The slots that wait are a chain from `first` to `last`, the oldest first, and `waiting` of them. The free ones are another, from
//!   `free`, by `after` alone.
//! - **L2** A number is given once. A [`LinePlace`] whose slot has another number has nobody in it.
//! - **L3** `unanswered` slots are [`State::Woken`] in `round`: tasks that were woken, have not been heard of since, and for which nobody
//!   was woken instead.

use super::park::Sleeper;
use alloc::vec::Vec;

/// A waiter's place: no two are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinePlace {
    slot: usize,
    number: u64,
}

/// Who waits.
#[derive(Debug)]
pub(super) struct WaitingLine {
    slots: Vec<Slot>,
    free: usize,
    /// How many slots are not free.
    used: usize,
    first: usize,
    last: usize,
    waiting: usize,
    /// The number of the next place.
    next: u64,
    round: u64,
    unanswered: usize,
}

#[derive(Debug)]
struct Slot {
    number: u64,
    before: usize,
    after: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    Free,
    Waiting(Sleeper),
    /// A task that was woken in a round. It may be one that is not polled any more, so others have to be able to answer for it.
    Woken(u64),
}

/// The end of a chain.
const NONE: usize = usize::MAX;

/// How many slots are kept when nobody waits any more.
const KEPT: usize = 64;

impl WaitingLine {
    /// Nobody.
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: NONE,
            used: 0,
            first: NONE,
            last: NONE,
            waiting: 0,
            next: 0,
            round: 0,
            unanswered: 0,
        }
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.waiting
    }

    /// The number of the next place: all that there are have a lower one.
    pub(super) fn end(&self) -> u64 {
        self.next
    }

    /// A place behind all others.
    pub(super) fn push(&mut self, sleeper: Sleeper) -> LinePlace {
        let number = self.next;
        self.next += 1;
        let new = Slot { number, before: self.last, after: NONE, state: State::Waiting(sleeper) };
        let slot = match self.free {
            NONE => {
                self.slots.push(new);
                self.slots.len() - 1
            }
            free => {
                self.free = self.slots[free].after;
                self.slots[free] = new;
                free
            }
        };
        match self.last {
            NONE => self.first = slot,
            last => self.slots[last].after = slot,
        }
        self.last = slot;
        self.waiting += 1;
        self.used += 1;
        LinePlace { slot, number }
    }

    /// Who waits in `place`. None if there was somebody, who is woken.
    pub(super) fn waiting(&mut self, place: LinePlace) -> Option<&mut Sleeper> {
        match self.slots.get_mut(place.slot) {
            Some(Slot { number, state: State::Waiting(sleeper), .. }) if *number == place.number => Some(sleeper),
            _ => None,
        }
    }

    /// Empties `place`, and returns who waited there. None if there was somebody, who is woken, and has been heard of now.
    pub(super) fn remove(&mut self, place: LinePlace) -> Option<Sleeper> {
        let slot = self.slots.get(place.slot).filter(|slot| slot.number == place.number)?;
        match slot.state {
            State::Free => None,
            State::Waiting(_) => {
                let state = self.unlink(place.slot);
                self.release(place.slot);
                match state {
                    State::Waiting(sleeper) => Some(sleeper),
                    State::Free | State::Woken(_) => None,
                }
            }
            State::Woken(round) => {
                if round == self.round {
                    self.unanswered -= 1;
                }
                self.slots[place.slot].state = State::Free;
                self.release(place.slot);
                None
            }
        }
    }

    /// Takes off who waits longest, if that one came before the place number `end`.
    pub(super) fn first(&mut self, end: u64) -> Option<Sleeper> {
        let slot = self.first;
        if slot == NONE || self.slots[slot].number >= end {
            return None;
        }
        let State::Waiting(sleeper) = self.unlink(slot) else { return None };
        if let Sleeper::Task(_) = sleeper {
            self.slots[slot].state = State::Woken(self.round);
            self.unanswered += 1;
        } else {
            self.release(slot);
        }
        Some(sleeper)
    }

    /// How many tasks were woken and have not been heard of: so many others have to be woken instead. Each counts once.
    pub(super) fn owed(&mut self) -> usize {
        self.round += 1;
        core::mem::take(&mut self.unanswered)
    }

    /// Takes a slot out of the chain of those who wait, and returns what it was.
    fn unlink(&mut self, slot: usize) -> State {
        let Slot { before, after, .. } = self.slots[slot];
        match before {
            NONE => self.first = after,
            before => self.slots[before].after = after,
        }
        match after {
            NONE => self.last = before,
            after => self.slots[after].before = before,
        }
        self.waiting -= 1;
        core::mem::replace(&mut self.slots[slot].state, State::Free)
    }

    /// Makes a slot free that is in no chain and has nobody in it.
    fn release(&mut self, slot: usize) {
        self.slots[slot].after = self.free;
        self.free = slot;
        self.used -= 1;
        // Gives the memory of a crowd back. Numbers go on, so that no old place is taken for a new one.
        if self.used == 0 && self.slots.len() > KEPT {
            (self.slots, self.free) = (Vec::new(), NONE);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use alloc::sync::Arc;
    use alloc::task::Wake;
    use alloc::vec;
    use core::task::Waker;
    use thalweg_sync::time;

    struct Nobody;
    impl Wake for Nobody {
        fn wake(self: Arc<Self>) {}
    }

    fn task() -> Sleeper {
        Sleeper::Task(Waker::noop().clone())
    }

    #[test]
    fn whoever_waits_longest_is_first() {
        let mut line = WaitingLine::new();
        let wakers: Vec<_> = (0..5).map(|_| Waker::from(Arc::new(Nobody))).collect();
        let places: Vec<_> = wakers.iter().map(|waker| line.push(Sleeper::Task(waker.clone()))).collect();
        assert!(line.remove(places[0]).is_some() && line.remove(places[3]).is_some());
        assert!(line.remove(places[3]).is_none(), "it was taken");
        let mut order = vec![];
        while let Some(Sleeper::Task(waker)) = line.first(u64::MAX) {
            order.extend((0..5).filter(|&at| wakers[at].will_wake(&waker)));
        }
        assert_eq!(order, [1, 2, 4]);
        assert_eq!(line.len(), 0);
    }

    #[test]
    fn who_comes_after_the_end_is_left() {
        let mut line = WaitingLine::new();
        line.push(task());
        let end = line.end();
        line.push(task());
        assert!(line.first(end).is_some() && line.first(end).is_none() && line.len() == 1);
    }

    #[test]
    fn a_woken_task_is_owed_for_once_until_it_is_heard_of() {
        let mut line = WaitingLine::new();
        let [a, b, c] = [(); 3].map(|()| line.push(task()));
        assert!(line.first(u64::MAX).is_some() && line.first(u64::MAX).is_some());
        assert!(line.remove(a).is_none(), "it was woken, and is heard of");
        assert_eq!((line.owed(), line.owed()), (1, 0));
        assert!(line.remove(b).is_none() && line.owed() == 0, "answered for already");
        assert!(line.remove(c).is_some());
    }

    #[test]
    fn a_crowd_gives_its_memory_back() {
        let mut line = WaitingLine::new();
        let places: Vec<_> = (0..10 * KEPT).map(|_| line.push(task())).collect();
        assert!(places.iter().all(|&place| line.remove(place).is_some()));
        assert!(line.slots.capacity() <= KEPT);
        let place = line.push(task());
        assert!(line.remove(places[0]).is_none() && line.remove(place).is_some());
    }

    /// Leaving a line of 64 times as many takes no 30 times as long, for each.
    #[test]
    fn a_step_takes_as_long_in_a_crowd() {
        let each = |count: usize| {
            let mut line = WaitingLine::new();
            let places: Vec<_> = (0..count).map(|_| line.push(task())).collect();
            let start = time::now();
            let middle = count / 2;
            for place in places[middle..].iter().chain(&places[..middle]) {
                assert!(line.remove(*place).is_some());
            }
            start.elapsed().as_nanos() / count as u128
        };
        let best = |count| (0..5).map(|_| each(count)).min().unwrap_or(0).max(1);
        let (few, many) = (best(1 << 10), best(1 << 16));
        assert!(many < 30 * few, "{few} ns for each of 1024, {many} ns of 65536");
    }
}
