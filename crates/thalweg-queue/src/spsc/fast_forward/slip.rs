//! Temporal slip: keeping the consumer some lines behind the producer.

/// How far behind the producer the consumer keeps, for [`Consumer::with_slip`](super::Consumer::with_slip).
///
/// When both sides work in one cache line, the line travels for every item. A consumer that lets the producer run
/// ahead first gets whole lines instead: throughput for latency (section 3.4 of the paper, Figure 6).
///
/// A wait ends when `good` items are there, or when no more have come for 12 pauses of the processor; and what is there then is not
/// waited for again. So an item whose producer stops right after it is held back for 16 pauses at most, which are less than a
/// microsecond. One that others follow in time may be held back until there are `good`: so many times the pauses at most.
///
/// A producer whose items lie further apart than 12 pauses is taken for one that stops, so the queue never gets `good` items long. Who knows
/// how long a stage takes says so in `stage`, and the wait is the paper's: for as long as the missing items take, until they are there or
/// no more have come. Then an item whose producer stops right after it is held back for `stage` times `good` pauses, and 16.
///
/// No number is refused, as each has a meaning: a `danger` above `good` counts as `good`, a `good` above the capacity as the capacity,
/// an `every` of 0 as 1; and with a `danger` of 0 there is no wait.
///
/// ```
/// use thalweg_queue::spsc::fast_forward::{Slip, fast_forward};
///
/// let (mut tx, rx) = fast_forward(4096)?;
/// let mut rx = rx.with_slip(Slip { danger: 8, ..Slip::default() });
/// tx.push(Box::new(1))?;
/// assert_eq!(*rx.pop()?, 1); // a single item is not held back
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slip {
    /// With fewer items than this in the queue, the consumer waits for more.
    pub danger: usize,
    /// With this many, it goes on.
    pub good: usize,
    /// How many pops there are from one look to the next. A pop that finds nothing also asks for a look, and
    /// after a wait in vain at least those that were there are popped first.
    pub every: usize,
    /// How many pauses of the processor, of 5 to 50 ns each, the stage takes for an item. 0 if that is not known.
    pub stage: usize,
}

impl Default for Slip {
    /// The paper's constants: two lines, six lines, 64 pops, for lines of 64 bytes and words of 8; and no `stage`.
    fn default() -> Self {
        Self { danger: 16, good: 48, every: 64, stage: 0 }
    }
}

/// How many pauses there are at most from one look to the next, at 5 to 50 ns each.
const PAUSES: usize = 4;
/// How many looks in a row may find no other item. Looks are few, as each takes the producer's line away, and close enough that
/// an item which comes right after one is held back for little longer than one before it: 16 pauses, not twice 12.
const IN_VAIN: usize = 3;

/// The consumer's slip and how many pops are left until it looks again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slipping {
    slip: Slip,
    left: usize,
}

impl Slipping {
    pub(super) fn new(slip: Slip, capacity: usize) -> Self {
        let good = slip.good.min(capacity);
        let slip = Slip { danger: slip.danger.min(good), good, every: slip.every.max(1), stage: slip.stage };
        Self { slip, left: 0 }
    }

    /// A pop found nothing: look at the next one.
    #[inline]
    pub(super) fn looking_soon(self) -> Self {
        Self { left: 0, ..self }
    }

    /// Counts a pop; when a look is due, waits until the queue is `good` items long or has stopped growing.
    /// `filled(n)` says whether there are more than `n` items.
    ///
    /// By value, so that a consumer's fields can live in registers.
    #[inline]
    pub(super) fn adjusted(self, filled: impl Fn(usize) -> bool, pause: impl FnMut()) -> Self {
        if self.left > 0 {
            return Self { left: self.left - 1, ..self };
        }
        let held_back = self.keep_distance(filled, pause);
        Self { left: self.slip.every.max(held_back) - 1, ..self }
    }

    /// Returns how many items it waited for others with in vain.
    fn keep_distance(self, filled: impl Fn(usize) -> bool, mut pause: impl FnMut()) -> usize {
        let Slip { danger, good, stage, .. } = self.slip;
        let patience = if stage > 0 { 1 } else { IN_VAIN };
        if danger == 0 || filled(danger - 1) {
            return 0;
        }
        let (mut before, mut in_vain) = (0, 0);
        loop {
            let length = (before..good).find(|&n| !filled(n)).unwrap_or(good);
            in_vain = if length == before { in_vain + 1 } else { 0 };
            if length == 0 || length == good {
                return 0;
            } else if in_vain == patience {
                return length;
            }
            before = length;
            let missing = good - length + 1;
            let pauses = if stage > 0 { stage.saturating_mul(missing) } else { missing.min(PAUSES) };
            (0..pauses).for_each(|_| pause());
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use core::cell::Cell;

    const SLIP: Slip = Slip { danger: 4, good: 9, every: 5, stage: 0 };

    /// A queue that grows by an item with each question, up to `most`.
    struct Stream {
        length: Cell<usize>,
        most: usize,
        questions: Cell<usize>,
    }

    impl Stream {
        fn new(length: usize, most: usize) -> Self {
            Self { length: Cell::new(length), most, questions: Cell::new(0) }
        }

        fn filled(&self, n: usize) -> bool {
            self.questions.set(self.questions.get() + 1);
            let length = self.length.get();
            self.length.set((length + 1).min(self.most.max(length)));
            length > n
        }
    }

    #[test]
    fn below_danger_it_waits_for_good() {
        for length in 1..SLIP.danger {
            let stream = Stream::new(length, 100);
            Slipping::new(SLIP, 100).adjusted(|n| stream.filled(n), || {});
            assert!(stream.length.get() >= SLIP.good, "from {length}");
        }
    }

    #[test]
    fn from_danger_on_it_asks_once_and_goes_on() {
        for length in [SLIP.danger, SLIP.good] {
            let stream = Stream::new(length, length);
            Slipping::new(SLIP, 100).adjusted(|n| stream.filled(n), || {});
            assert_eq!(stream.questions.get(), 1);
        }
    }

    #[test]
    fn a_stream_that_pauses_is_not_waited_for() {
        let stream = Stream::new(1, 3);
        Slipping::new(SLIP, 100).adjusted(|n| stream.filled(n), || {});
        assert_eq!(stream.length.get(), 3);
    }

    #[test]
    fn an_item_that_comes_alone_is_held_back_for_some_pauses_only() {
        for good in [2, 9, 4_096] {
            let stream = Stream::new(1, 1);
            let mut pauses = 0;
            Slipping::new(Slip { danger: good, good, every: 1, stage: 0 }, 4_096)
                .adjusted(|n| stream.filled(n), || pauses += 1);
            assert_eq!(pauses, IN_VAIN * good.min(PAUSES), "good: {good}");
        }
    }

    /// One whose items lie 16 pauses apart: it is taken for one that stops, unless the consumer knows how long its stage takes.
    #[test]
    fn a_slow_stage_is_waited_for_by_its_time() {
        for (stage, expected) in [(0, 2), (16, 9)] {
            let pauses = Cell::new(0);
            let length = || 2 + pauses.get() / 16;
            let slipping = Slipping::new(Slip { stage, ..SLIP }, 100);
            let slipping = slipping.adjusted(|n| length() > n, || pauses.set(pauses.get() + 1));
            assert!(length() - expected <= 1, "{} items", length());
            // Who stops is given up after one such time.
            let before = pauses.get();
            slipping.looking_soon().adjusted(|n| n < 1, || pauses.set(pauses.get() + 1));
            let most = if stage > 0 { 16 * 9 } else { IN_VAIN * PAUSES };
            assert_eq!(pauses.get() - before, most, "stage: {stage}");
        }
    }

    /// Wherever a stream stops and however often its consumer looks, the last item is popped before long.
    #[test]
    fn who_stops_is_not_waited_for_again() {
        for every in [1, 2, 3, 64] {
            for (first, later) in [(1, 0), (7, 0), (3, 5), (20, 3), (3, 20)] {
                let (length, came, pauses) = (Cell::new(first), Cell::new(later == 0), Cell::new(0));
                // In the first pause, or at the last pop; then no more.
                let come = || {
                    if !came.replace(true) {
                        length.set(first + later);
                        pauses.set(0);
                    }
                };
                let mut slipping = Slipping::new(Slip { danger: 16, good: 16, every, stage: 0 }, 4_096);
                for popped in 0..first + later {
                    let pause = || {
                        pauses.set(pauses.get() + 1);
                        come();
                    };
                    slipping = slipping.adjusted(|n| length.get() - popped > n, pause);
                    if popped + 1 == first {
                        come();
                    }
                }
                assert!(pauses.get() <= 16, "{} pauses: {first} and {later}, {every}", pauses.get());
            }
        }
    }

    #[test]
    fn it_looks_every_so_many_pops_and_after_one_in_vain() {
        let stream = Stream::new(SLIP.good, SLIP.good);
        let mut slipping = Slipping::new(SLIP, 100);
        let looks = |slipping: &mut Slipping| {
            let before = stream.questions.get();
            *slipping = slipping.adjusted(|n| stream.filled(n), || {});
            stream.questions.get() > before
        };
        let pattern: Vec<_> = (0..11).map(|_| looks(&mut slipping)).collect();
        let expected: Vec<_> = (0..11).map(|pop| pop % SLIP.every == 0).collect();
        assert_eq!(pattern, expected);
        slipping = slipping.looking_soon();
        assert!(looks(&mut slipping) && !looks(&mut slipping));
    }

    #[test]
    fn good_is_at_most_the_capacity() {
        let stream = Stream::new(1, 6);
        Slipping::new(SLIP, 6).adjusted(
            |n| {
                assert!(n < 6, "the ring has no more slots");
                stream.filled(n)
            },
            || {},
        );
        assert_eq!(stream.length.get(), 6);
    }
}
