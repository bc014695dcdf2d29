//! The order of the capsules: who has which number, and the two windows.
//!
//! The exchanges here release only: what they find was loaded before, and acquired then. (cnq.26) finds what was not.

use super::word::{Number, Seat};
use crate::edges::edge;
use crate::{BuildError, memory, prefetch};
use alloc::boxed::Box;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Seats in a ring. A number's seat says which capsule has it.
#[derive(Debug)]
pub(super) struct Numbers {
    seats: Box<[CachePadded<AtomicU64>]>,
    /// The next number to give. May lag behind the seats by one; whoever finds it so moves it.
    next: CachePadded<AtomicU64>,
    /// Everything in the capsules before this number is taken. May lag; whoever needs it moves it.
    finished: CachePadded<AtomicU64>,
    /// The width of either window, in capsules: the paper's D.
    pub(super) window: u64,
}

impl Numbers {
    /// An order for at most `capsules` unfinished capsules, beginning at number `first`.
    pub(super) fn new(first: u64, window: u64, capsules: usize) -> Result<Self, BuildError> {
        // In front of the oldest unfinished number nothing is looked up; from it on, at most `window` are finished and
        // the others have a capsule each. So the seat of a new number is always over (C5).
        let seats = (window as usize + capsules + 1).next_power_of_two();
        let over = |at: usize| {
            // The last number before `first` that has this seat.
            let back = Number::new(first).before(1).before(at as u64).seat(seats) as u64 + 1;
            Seat::new(Number::new(first).before(back), 0).finished()
        };
        Ok(Self {
            seats: memory::boxed((0..seats).map(|at| CachePadded(AtomicU64::new(over(at).0))))?,
            next: CachePadded(AtomicU64::new(first)),
            finished: CachePadded(AtomicU64::new(Number::new(first).count())),
            window,
        })
    }

    #[inline(always)]
    fn seat(&self, number: Number) -> &AtomicU64 {
        &self.seats[number.seat(self.seats.len())]
    }

    /// The unfinished capsule with this number, if there is one.
    #[inline]
    pub(super) fn unfinished(&self, number: Number) -> Option<usize> {
        // (cnq.3) Acquire, pairs with (cnq.4): who finds the capsule finds its words about this number.
        let seat = Seat(self.seat(number).load(edge("cnq.3", Acquire)));
        (seat.number() == number && !seat.is_finished()).then(|| seat.capsule())
    }

    /// Gives `capsule` the next number.
    ///
    /// `prepare` is called with each number that is tried, before it is given, and with the number that it drives out of the window, unless
    /// that is finished: it closes the capsule of this one, and writes the new number into ours (C3).
    #[inline]
    pub(super) fn register(&self, capsule: usize, mut prepare: impl FnMut(Number, Option<Number>)) -> Number {
        loop {
            // (cnq.3) Acquire, pairs with (cnq.4), by way of the counter.
            let next = self.next.load(edge("cnq.3", Acquire));
            let number = Number::new(next);
            let seat = Seat(self.seat(number).load(edge("cnq.3", Acquire)));
            if seat.number() == number {
                // Given, and not counted yet. Failure is Relaxed: somebody else has.
                let _ = self.next.compare_exchange(next, next.wrapping_add(1), edge("cnq.4", Release), Relaxed);
                continue;
            }
            if number.since(seat.number()) != self.seats.len() as u64 {
                continue; // `next` was out of date
            }
            // Acquire: as (cnq.7). What is out of date is too low, and says of a number that it may not be given yet.
            let mut finished = Number::new(self.finished.load(edge("cnq.7", Acquire)));
            if number.since(finished) >= self.seats.len() as u64 {
                finished = self.advance();
                if number.since(finished) >= self.seats.len() as u64 {
                    continue; // `next` was out of date, too: C5
                }
            }
            prepare(number, (number.since(finished) >= self.window).then(|| number.before(self.window)));
            // (cnq.4) Release, pairs with (cnq.3): the capsule's words, and that the capsule at the other end of the
            // window is closed. Failure is Relaxed: it looks again.
            let taken = Seat::new(number, capsule).0;
            if self.seat(number).compare_exchange(seat.0, taken, edge("cnq.4", Release), Relaxed).is_ok() {
                let _ = self.next.compare_exchange(next, next.wrapping_add(1), edge("cnq.4", Release), Relaxed);
                // Consumers wrote there last, long ago: the line comes while this capsule is filled.
                prefetch::for_write(self.seat(number.next()));
                return number;
            }
        }
    }

    /// Notes that everything in the capsule with this number is taken. Any number of threads may note it. Returns a number before which
    /// everything is taken.
    pub(super) fn finish(&self, number: Number, capsule: usize) -> Number {
        let seat = Seat::new(number, capsule);
        // (cnq.5) Release, pairs with (cnq.6): the pops from this capsule come before those from capsules that it kept
        // out of the window. Failure is Relaxed: it is noted, and the seat may have been given again.
        let _ = self.seat(number).compare_exchange(seat.0, seat.finished().0, edge("cnq.5", Release), Relaxed);
        let next = number.next();
        // Most often it stands here. If not, numbers before are not finished, or numbers from here on are already; whoever finishes a later
        // one, or needs it moved, goes on from where it is.
        //
        // (cnq.26) Acquire, pairs with (cnq.8) and itself: who goes on as the number after this is the oldest comes after all pops before.
        // Release, pairs with (cnq.7) and itself: as (cnq.8).
        match self.finished.compare_exchange(
            number.count(),
            next.count(),
            edge("cnq.26", AcqRel),
            edge("cnq.7", Acquire),
        ) {
            Ok(_) => next,
            Err(finished) => self.advance_from(Number::new(finished)),
        }
    }

    /// Moves `finished` as far as it goes. Returns the oldest unfinished number.
    fn advance(&self) -> Number {
        // (cnq.7) Acquire, pairs with (cnq.8): as (cnq.6), for what others have seen finished.
        self.advance_from(Number::new(self.finished.load(edge("cnq.7", Acquire))))
    }

    /// As [`advance`](Self::advance), where `finished` was at `number` a moment ago.
    fn advance_from(&self, mut number: Number) -> Number {
        loop {
            // (cnq.6) Acquire, pairs with (cnq.5).
            let seat = Seat(self.seat(number).load(edge("cnq.6", Acquire)));
            if seat.number() == number && !seat.is_finished() || number.since(seat.number()) == self.seats.len() as u64
            {
                return number; // not finished, or not given
            }
            if seat.number() != number {
                // Given again, so `finished` is out of date.
                let now = Number::new(self.finished.load(edge("cnq.7", Acquire)));
                if now == number {
                    return number;
                }
                number = now;
                continue;
            }
            let next = number.next();
            let (before, after) = (number.count(), next.count());
            // (cnq.8) Release, pairs with (cnq.7).
            number = match self.finished.compare_exchange(before, after, edge("cnq.8", Release), edge("cnq.7", Acquire))
            {
                Ok(_) => next,
                Err(now) => Number::new(now),
            };
        }
    }

    /// The oldest unfinished number. Writes nothing.
    #[inline]
    pub(super) fn oldest(&self) -> Number {
        // Acquire: as (cnq.7).
        let mut number = Number::new(self.finished.load(edge("cnq.7", Acquire)));
        loop {
            let seat = Seat(self.seat(number).load(edge("cnq.6", Acquire)));
            if seat.number() != number || !seat.is_finished() {
                return number; // given again: then so is the number after it, and we refuse what we might allow
            }
            number = number.next();
        }
    }

    /// Whether no number after this one, which is unfinished, was given.
    #[inline]
    pub(super) fn is_last(&self, number: Number) -> bool {
        // Relaxed: who has a reason to know of a later one, has one to see its seat taken.
        Seat(self.seat(number.next()).load(Relaxed)).number() != number.next()
    }

    /// Whether consumers may take from the capsule with this unfinished number now. Writes nothing.
    #[inline]
    pub(super) fn is_in_window(&self, number: Number) -> bool {
        // The number is unfinished, so the oldest unfinished one is not after it.
        number.since(self.oldest()) < self.window
    }

    /// As [`is_in_window`](Self::is_in_window), for who keeps the oldest unfinished number that it has seen: looks only if that is too old.
    #[inline]
    pub(super) fn has_come(&self, number: Number, oldest: &mut Number) -> bool {
        number.since(*oldest) < self.window || {
            *oldest = self.oldest();
            number.since(*oldest) < self.window
        }
    }

    /// The numbers from the oldest unfinished one to the last that was given, lately.
    pub(super) fn open(&self) -> impl Iterator<Item = Number> {
        let first = self.oldest();
        // Acquire: the numbers that producers took before they left are among them.
        let next = Number::new(self.next.load(Acquire));
        let count = next.since(first);
        // `next` may have been read before others moved both; then there is nothing between them.
        let count = if count > self.seats.len() as u64 { 0 } else { count };
        // One more: `next` may lag.
        (0..=count).scan(first, |number, _| {
            let this = *number;
            *number = number.next();
            Some(this)
        })
    }
}
