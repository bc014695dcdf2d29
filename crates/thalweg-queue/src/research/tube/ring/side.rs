//! One side of a ring: a head, a tail, and the three ways to move them.
//!
//! Edges of all modes, by what they carry:
//!
//! | edge | from | to | carries |
//! |---|---|---|---|
//! | ring.1, ring.2 | a head's move | the next look at this head | what the mover saw of the other side |
//! | ring.3, ring.4 | a tail's move | a look from the other side | what was done to the slots |
//! | ring.5 | a tail's move | the tail's next move | the same, along the chain |

use crate::edges::edge;
use core::fmt::Debug;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::spin;

/// What a side found when it tried to take a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// This one; after [`Side::look`], one like this.
    Position(u32),
    /// The other side has taken nothing that it could hand on.
    None,
    /// Somebody is half-way.
    Busy,
}

/// Head and tail of the producers or of the consumers. Sealed: the module is private.
pub trait Side: Send + Sync + Debug {
    /// The mode's name.
    const NAME: &'static str;

    /// A side that has handed on everything before `position`.
    fn new(position: u32, capacity: u32) -> Self;

    /// Takes the position at the head if it is before the other side's tail plus `room`.
    fn take(&self, other: &Self, room: u32) -> Take;

    /// What `take` would find. Writes nothing.
    fn look(&self, other: &Self, room: u32) -> Take;

    /// Lets the other side have `position`.
    fn hand_on(&self, position: u32);

    /// Whether the other side may take its position `head`, with this much room.
    #[inline(always)]
    fn lets(&self, head: u32, room: u32) -> Take {
        judge(head, room, self.tail(), || self.head())
    }

    /// What is taken.
    fn head(&self) -> u32;

    /// What is handed on.
    fn tail(&self) -> u32;
}

/// Whether the position at `head` may be taken: before the other side's tail plus `room`, as far as its head has come.
///
/// The differences are signed: a head that is out of date may be behind the other's tail. Its exchange fails then.
#[inline(always)]
fn judge(head: u32, room: u32, tail_of_other: u32, head_of_other: impl FnOnce() -> u32) -> Take {
    let has_come = |position: u32| position.wrapping_add(room).wrapping_sub(head) as i32 > 0;
    if has_come(tail_of_other) {
        Take::Position(head)
    } else if has_come(head_of_other()) {
        Take::Busy
    } else {
        Take::None
    }
}

/// Two positions or a position and a count in one word.
///
/// | 63 ..= 32                  | 31 ..= 0 |
/// |----------------------------|----------|
/// | count (RTS), tail (HTS)    | position |
#[derive(Clone, Copy, PartialEq, Eq)]
struct Pair {
    high: u32,
    position: u32,
}

impl Pair {
    fn of(word: u64) -> Self {
        Self { high: (word >> 32) as u32, position: word as u32 }
    }

    fn word(self) -> u64 {
        u64::from(self.high) << 32 | u64::from(self.position)
    }
}

/// A side of [`Mt`](super::Mt): the tail waits for each position in turn.
#[derive(Debug)]
pub struct MtSide {
    // Counted in 64 bits, so that no exchange mistakes a head for one of an earlier lap.
    head: AtomicU64,
    tail: AtomicU64,
}

impl Side for MtSide {
    const NAME: &'static str = "Mt";

    fn new(position: u32, _capacity: u32) -> Self {
        Self { head: AtomicU64::new(position.into()), tail: AtomicU64::new(position.into()) }
    }

    #[inline]
    fn take(&self, other: &Self, room: u32) -> Take {
        // (ring.1) Acquire, pairs with (ring.2): we see at least the tail of the other side that the mover saw.
        // Relaxed could judge by an older one, and refuse where there is room.
        let mut head = self.head.load(edge("ring.1", Acquire));
        loop {
            match other.lets(head as u32, room) {
                Take::Position(position) => {
                    // (ring.2) Release, pairs with (ring.1).
                    match self.head.compare_exchange(head, head + 1, edge("ring.2", Release), edge("ring.1", Acquire)) {
                        Ok(_) => return Take::Position(position),
                        Err(now) => head = now,
                    }
                }
                refused => return refused,
            }
        }
    }

    fn look(&self, other: &Self, room: u32) -> Take {
        other.lets(self.head(), room)
    }

    #[inline]
    fn hand_on(&self, position: u32) {
        // (ring.5) Acquire, pairs with (ring.4) of the position before: our store ends its release sequence, so it has
        // to carry on what came with it. Relaxed would hand on slots whose writes nobody is ordered after.
        let tail = spin::until(|| {
            let tail = self.tail.load(edge("ring.5", Acquire));
            (tail as u32 == position).then_some(tail)
        });
        // (ring.4) Release, pairs with (ring.3) and (ring.5): the slot is ready.
        self.tail.store(tail + 1, edge("ring.4", Release));
    }

    #[inline(always)]
    fn head(&self) -> u32 {
        self.head.load(edge("ring.1", Acquire)) as u32
    }

    #[inline(always)]
    fn tail(&self) -> u32 {
        // (ring.3) Acquire, pairs with (ring.4): what was done to the slots before comes before what we do to them.
        self.tail.load(edge("ring.3", Acquire)) as u32
    }
}

/// A side of [`Rts`](super::Rts). Both words are a position and how often the word was moved: when the tail's count
/// reaches the head's, nobody is half-way, and the tail may go to the head.
#[derive(Debug)]
pub struct RtsSide {
    head: AtomicU64,
    tail: AtomicU64,
    /// How far the head may run ahead of the tail. Without a limit a stream of short operations can keep the tail from
    /// ever moving.
    distance: u32,
}

impl RtsSide {
    #[inline(always)]
    fn judge(&self, head: u32, other: &Self, room: u32) -> Take {
        // Relaxed: who is refused here is told that somebody is half-way, which may have changed.
        let tail = Pair::of(self.tail.load(Relaxed));
        if head.wrapping_sub(tail.position) as i32 >= self.distance as i32 {
            return Take::Busy;
        }
        other.lets(head, room)
    }
}

impl Side for RtsSide {
    const NAME: &'static str = "Rts";

    fn new(position: u32, capacity: u32) -> Self {
        let word = Pair { high: 0, position }.word();
        Self { head: AtomicU64::new(word), tail: AtomicU64::new(word), distance: (capacity / 8).max(1) }
    }

    #[inline]
    fn take(&self, other: &Self, room: u32) -> Take {
        // As in `Mt`.
        let mut head = self.head.load(edge("ring.1", Acquire));
        loop {
            let Pair { high, position } = Pair::of(head);
            match self.judge(position, other, room) {
                Take::Position(position) => {
                    let next = Pair { high: high.wrapping_add(1), position: position.wrapping_add(1) }.word();
                    match self.head.compare_exchange(head, next, edge("ring.2", Release), edge("ring.1", Acquire)) {
                        Ok(_) => return Take::Position(position),
                        Err(now) => head = now,
                    }
                }
                refused => return refused,
            }
        }
    }

    fn look(&self, other: &Self, room: u32) -> Take {
        self.judge(self.head(), other, room)
    }

    #[inline]
    fn hand_on(&self, _position: u32) {
        // (ring.5) Acquire, pairs with (ring.4): the head that we read next is not older than any that those before
        // us took, so that counts are compared with a head that knows of them all.
        let mut tail = self.tail.load(edge("ring.5", Acquire));
        loop {
            let mut next = Pair::of(tail);
            next.high = next.high.wrapping_add(1);
            // Relaxed: (ring.5) and our own take put it after everything that the count has to know of. If it is newer,
            // the counts differ, and a later one moves the tail.
            let head = Pair::of(self.head.load(Relaxed));
            if next.high == head.high {
                next.position = head.position;
            }
            // (ring.4) Release, pairs with (ring.3) and (ring.5); a chain of exchanges is one release sequence. Counts do not
            // come again, so it finds the very write that (ring.5) has seen, here or in the round before.
            match self.tail.compare_exchange(tail, next.word(), edge("ring.4", Release), edge("ring.5", Acquire)) {
                Ok(_) => return,
                Err(now) => tail = now,
            }
        }
    }

    #[inline(always)]
    fn head(&self) -> u32 {
        Pair::of(self.head.load(edge("ring.1", Acquire))).position
    }

    #[inline(always)]
    fn tail(&self) -> u32 {
        Pair::of(self.tail.load(edge("ring.3", Acquire))).position
    }
}

/// A side of [`Hts`](super::Hts): head and tail in one word. They differ while somebody is half-way.
#[derive(Debug)]
pub struct HtsSide(AtomicU64);

impl HtsSide {
    #[inline(always)]
    fn judge(word: u64, other: &Self, room: u32) -> Take {
        let Pair { high: tail, position: head } = Pair::of(word);
        if head == tail { other.lets(head, room) } else { Take::Busy }
    }
}

impl Side for HtsSide {
    const NAME: &'static str = "Hts";

    fn new(position: u32, _capacity: u32) -> Self {
        Self(AtomicU64::new(Pair { high: position, position }.word()))
    }

    #[inline]
    fn take(&self, other: &Self, room: u32) -> Take {
        // As in `Mt`.
        let mut word = self.0.load(edge("ring.1", Acquire));
        loop {
            match Self::judge(word, other, room) {
                Take::Position(position) => {
                    let taken = Pair { high: position, position: position.wrapping_add(1) }.word();
                    // Relaxed: who finds this word is refused, and the next one it waits for is (ring.4).
                    match self.0.compare_exchange(word, taken, Relaxed, edge("ring.1", Acquire)) {
                        Ok(_) => return Take::Position(position),
                        Err(now) => word = now,
                    }
                }
                refused => return refused,
            }
        }
    }

    fn look(&self, other: &Self, room: u32) -> Take {
        Self::judge(self.0.load(edge("ring.1", Acquire)), other, room)
    }

    #[inline]
    fn hand_on(&self, position: u32) {
        // (ring.4) Release, pairs with (ring.3), and with (ring.1), by which it goes on to the next of this side. A
        // store: nobody else moves the word while we are half-way.
        let next = position.wrapping_add(1);
        self.0.store(Pair { high: next, position: next }.word(), edge("ring.4", Release));
    }

    /// Both from one look at the word.
    #[inline(always)]
    fn lets(&self, head: u32, room: u32) -> Take {
        let Pair { high: tail, position: taken } = Pair::of(self.0.load(edge("ring.3", Acquire)));
        judge(head, room, tail, || taken)
    }

    #[inline(always)]
    fn head(&self) -> u32 {
        Pair::of(self.0.load(edge("ring.1", Acquire))).position
    }

    #[inline(always)]
    fn tail(&self) -> u32 {
        Pair::of(self.0.load(edge("ring.3", Acquire))).high
    }
}
