//! Packed words: what a capsule and a seat say, always together with the number they say it about.

use super::MAX_ENTRIES;

/// How many bits of a number a word has. Numbers that are compared are a few thousand apart; a thread would have to stop
/// between a load and its exchange for exactly 2^42 capsules to be misled.
const NUMBER_BITS: u32 = 42;
const LOW_BITS: u32 = 64 - NUMBER_BITS;

/// The place of a capsule in the queue's order, counted from the start; only the low bits, so it wraps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Number(u64);

impl Number {
    /// The number with this many before it.
    #[inline(always)]
    pub(super) fn new(count: u64) -> Self {
        Self(count & ((1 << NUMBER_BITS) - 1))
    }

    /// How many come before it, as far as its bits go.
    #[inline(always)]
    pub(super) fn count(self) -> u64 {
        self.0
    }

    /// How far `self` is behind `other`, which is not after it.
    #[inline(always)]
    pub(super) fn since(self, other: Self) -> u64 {
        Self::new(self.0.wrapping_sub(other.0)).0
    }

    /// The number `distance` before this one.
    #[inline(always)]
    pub(super) fn before(self, distance: u64) -> Self {
        Self::new(self.0.wrapping_sub(distance))
    }

    /// The number after this one.
    #[inline(always)]
    pub(super) fn next(self) -> Self {
        Self::new(self.0 + 1)
    }

    /// Which of `seats` seats, a power of two, is this number's.
    #[inline(always)]
    pub(super) fn seat(self, seats: usize) -> usize {
        self.0 as usize & (seats - 1)
    }
}

/// How many entries of the capsule with this number are filled, or taken.
///
/// | 63 ..= 22 | 21 ..= 0 |
/// |-----------|----------|
/// | number    | count    |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Count(pub(super) u64);

impl Count {
    #[inline(always)]
    pub(super) fn new(number: Number, count: u32) -> Self {
        Self(number.0 << LOW_BITS | u64::from(count))
    }

    #[inline(always)]
    pub(super) fn number(self) -> Number {
        Number(self.0 >> LOW_BITS)
    }

    #[inline(always)]
    pub(super) fn count(self) -> u32 {
        (self.0 & ((1 << LOW_BITS) - 1)) as u32
    }
}

/// Up to where the capsule with this number may be filled.
///
/// | 63 ..= 22 | 21     | 20        | 19 ..= 0               |
/// |-----------|--------|-----------|------------------------|
/// | number    | closed | requested | the limit, once closed |
///
/// ```text
/// open ──► requested ──► closed at n
///   └────────────────────────►        by its own producer
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Limit(pub(super) u64);

/// What a [`Limit`] says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// The producer may fill the capsule to its end.
    Open,
    /// Somebody is about to close it.
    Requested,
    /// The first this many entries count, and no others ever will.
    Closed(u32),
}

const REQUESTED: u64 = 1 << 20;
const CLOSED: u64 = 1 << 21;
const _: () = assert!(MAX_ENTRIES < REQUESTED as usize);

impl Limit {
    #[inline(always)]
    pub(super) fn new(number: Number, state: State) -> Self {
        Self(
            number.0 << LOW_BITS
                | match state {
                    State::Open => 0,
                    State::Requested => REQUESTED,
                    State::Closed(limit) => CLOSED | u64::from(limit),
                },
        )
    }

    #[inline(always)]
    pub(super) fn number(self) -> Number {
        Number(self.0 >> LOW_BITS)
    }

    #[inline(always)]
    pub(super) fn state(self) -> State {
        if self.0 & CLOSED != 0 {
            State::Closed((self.0 & (REQUESTED - 1)) as u32)
        } else if self.0 & REQUESTED != 0 {
            State::Requested
        } else {
            State::Open
        }
    }
}

/// Which capsule has this number, and whether everything in it was taken.
///
/// | 63 ..= 22 | 21       | 20 ..= 0             |
/// |-----------|----------|----------------------|
/// | number    | finished | index of the capsule |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Seat(pub(super) u64);

const FINISHED: u64 = 1 << 21;

impl Seat {
    #[inline(always)]
    pub(super) fn new(number: Number, capsule: usize) -> Self {
        Self(number.0 << LOW_BITS | capsule as u64)
    }

    #[inline(always)]
    pub(super) fn finished(self) -> Self {
        Self(self.0 | FINISHED)
    }

    #[inline(always)]
    pub(super) fn number(self) -> Number {
        Number(self.0 >> LOW_BITS)
    }

    #[inline(always)]
    pub(super) fn is_finished(self) -> bool {
        self.0 & FINISHED != 0
    }

    #[inline(always)]
    pub(super) fn capsule(self) -> usize {
        (self.0 & (FINISHED - 1)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_touch() {
        for number in [0, 1, (1 << NUMBER_BITS) - 1].map(Number::new) {
            for low in [0, 1, MAX_ENTRIES as u32] {
                let count = Count::new(number, low);
                assert_eq!((count.number(), count.count()), (number, low));
                for state in [State::Open, State::Requested, State::Closed(low)] {
                    let limit = Limit::new(number, state);
                    assert_eq!((limit.number(), limit.state()), (number, state));
                }
                for seat in [Seat::new(number, low as usize), Seat::new(number, low as usize).finished()] {
                    assert_eq!((seat.number(), seat.capsule()), (number, low as usize));
                }
            }
        }
        let seat = Seat::new(Number::new(7), 3);
        assert!(!seat.is_finished() && seat.finished().is_finished());
    }

    #[test]
    fn numbers_wrap() {
        let last = Number::new(u64::MAX);
        assert_eq!(last.next(), Number::new(0));
        assert_eq!(last.next().before(1), last);
        assert_eq!(Number::new(2).since(last), 3);
        assert_eq!(last.seat(8), 7);
    }
}
