//! Ending in any order, taking effect in order.

use crate::edges::{edge, fenced, in_order};
use crate::{BuildError, memory};
use alloc::boxed::Box;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use thalweg_sync::atomic::fence;

/// Spans of positions that end in any order and are passed in order.
///
/// Who ends a span writes so into the word of its first position, and passes whatever is ready at the front: its own
/// span, or others that ended before. Nobody waits for a span before its own.
#[derive(Debug)]
pub(super) struct Order {
    /// Every position before this one is passed.
    passed: CachePadded<AtomicU64>,
    /// One per position, used again each time round.
    words: Box<[AtomicU64]>,
    /// Log2 of the number of words that lie between two neighbouring positions.
    spread: u32,
    /// Whether anybody asks for turns.
    turns: bool,
}

/// What is known of the span that begins at a position. Words only grow, so what is left from the round before is told apart
/// by its end.
///
/// | 63 ..= 2 | 1 | 0 |
/// |---|---|---|
/// | where the span ends, or the position itself if only its turn is noted | a hole | a turn |
#[derive(Clone, Copy)]
struct SpanMark(u64);

impl SpanMark {
    const TURN: u64 = 1;
    const HOLE: u64 = 2;

    const fn ends(to: u64) -> Self {
        Self(to << 2)
    }

    const fn turn(at: u64) -> Self {
        Self(at << 2 | Self::TURN)
    }

    /// Where the span that begins at `at` ends, if it has ended.
    const fn end(self, at: u64) -> Option<u64> {
        if self.0 >> 2 > at { Some(self.0 >> 2) } else { None }
    }
}

impl Order {
    /// At position 0. `positions` is a power of two: so many are in use at once.
    pub(super) fn new(positions: usize, turns: bool) -> Result<Self, BuildError> {
        let words = memory::words(positions)?;
        words[0].store(SpanMark::turn(0).0, Relaxed);
        // Sixteen words are two lines: neighbours do not share one, nor a pair that is fetched together.
        Ok(Self { passed: CachePadded(AtomicU64::new(0)), words, spread: positions.ilog2().min(4), turns })
    }

    /// How many positions may be in use at once.
    pub(super) fn positions(&self) -> u64 {
        self.words.len() as u64
    }

    fn word(&self, at: u64) -> &AtomicU64 {
        let mask = self.words.len() - 1;
        let at = at as usize & mask;
        let high = at >> (self.words.len().ilog2() - self.spread);
        &self.words[(at << self.spread | high) & mask]
    }

    /// Up to where all is passed.
    pub(super) fn passed(&self) -> u64 {
        // (ticketed.2) Acquire, pairs with (ticketed.1): what was done in the spans before comes before what we do next.
        self.passed.load(edge("ticketed.2", Acquire))
    }

    /// Ends the span, and passes what is ready. Says whether it passed anything; if not, nothing has come into sight yet, and who
    /// passes the span later says so.
    pub(super) fn end(&self, from: u64, to: u64) -> bool {
        self.mark(from, SpanMark::ends(to))
    }

    /// As [`end`](Self::end), for a span whose positions from `hole` on are holes.
    pub(super) fn end_with_holes(&self, from: u64, hole: u64, to: u64) -> bool {
        let notes = || {
            for at in hole.max(from + 1)..to {
                // Relaxed: published with the span.
                self.word(at).store(SpanMark::ends(at + 1).0 | SpanMark::HOLE, Relaxed);
            }
        };
        let first = if hole == from { SpanMark::HOLE } else { 0 };
        let mut passed = false;
        let ends = || passed = self.mark(from, SpanMark(SpanMark::ends(to).0 | first));
        // (ticketed.15) As (ticketed.14).
        in_order("ticketed.15", notes, ends);
        passed
    }

    /// Whether the passed position `at` is a hole.
    pub(super) fn is_hole(&self, at: u64) -> bool {
        // Relaxed: (ticketed.2) put us after the end of the span. A word that is not of this round ends at or before `at`.
        let word = self.word(at).load(Relaxed);
        word & SpanMark::HOLE != 0 && SpanMark(word).end(at).is_some()
    }

    fn mark(&self, from: u64, word: SpanMark) -> bool {
        // (ticketed.3) Release, pairs with (ticketed.4): what was done in the span comes before it is passed.
        if self.turns {
            // A maximum, as somebody may be about to note the turn.
            self.word(from).fetch_max(word.0, edge("ticketed.3", Release));
        } else {
            self.word(from).store(word.0, edge("ticketed.3", Release));
        }
        // Of those who end spans, the one whose fence comes last sees what all the others have written. So it passes
        // everything that is ready, whatever the others may have missed. Without the fences two neighbours could each miss the
        // other's word: the first leaves the second to itself, the second finds the first in front of it, and both go.
        // (ticketed.13) pairs with itself.
        fenced("ticketed.13", || fence(SeqCst));
        self.pass()
    }

    /// Passes the spans at the front that have ended, and notes whose turn it is then. Says whether it passed any.
    fn pass(&self) -> bool {
        // An old position is corrected by the exchange below. Acquire here and there, as (ticketed.2): if others have passed the
        // spans before, it is we who tell the next one that it is its turn, and what was done in them has to come along.
        let mut at = self.passed();
        let mut passed = false;
        loop {
            // (ticketed.4) Acquire, pairs with (ticketed.3); (ticketed.1) passes it on.
            let word = SpanMark(self.word(at).load(edge("ticketed.4", Acquire)));
            let Some(end) = word.end(at) else {
                if self.turns && word.0 < SpanMark::turn(at).0 {
                    // (ticketed.5) Release, pairs with (ticketed.6). A maximum: the span may have ended meanwhile, and we may
                    // be late by some rounds.
                    self.word(at).fetch_max(SpanMark::turn(at).0, edge("ticketed.5", Release));
                }
                return passed;
            };
            // (ticketed.1) Release, pairs with (ticketed.2); later exchanges continue its release sequence. If it fails,
            // somebody else has passed the span.
            let orders = [edge("ticketed.1", Release), edge("ticketed.2", Acquire)];
            at = match self.passed.compare_exchange(at, end, orders[0], orders[1]) {
                Ok(_) => {
                    passed = true;
                    end
                }
                Err(now) => now,
            };
        }
    }

    /// Whether everything before the span that begins at `at`, and has not ended, is passed. Who waits reads its own word only.
    pub(super) fn is_turn(&self, at: u64) -> bool {
        // (ticketed.6) Acquire, pairs with (ticketed.5): the spans before come before what we do in our turn.
        self.word(at).load(edge("ticketed.6", Acquire)) >= SpanMark::turn(at).0
    }
}
