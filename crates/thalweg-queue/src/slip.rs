//! Keeping a distance to a producer that is as fast as its consumer.

use thalweg_sync::spin;

/// How long a consumer waits before it looks at its producers' count.
///
/// A consumer that is as fast as its producer polls once for every item, and each poll steals the cache line of the producer's counter, so
/// both sides wait for that line. A consumer that waits a little after looks that found few items finds many at its next look. It waits in a
/// stream only: after more than `BURST` such looks, unless as many looks found nothing. It never waits after a look that found nothing. So
/// neither a single item nor a burst of `BURST` items is held up.
///
/// The consumer also stops waiting where waiting brings nothing. Where the two sides take turns, as when one thread is both, each look finds
/// few items however long the consumer waits. So if the longest wait has found no more than a look without a wait did, the next wait looks
/// before and after. If nothing has come in between, some of the next looks do not wait; each time that this happens there are more of them.
///
/// Queues for one and one have bursts of [`SHORT_BURST`]. Where many take part it is 1: with 16, batches through [`crate::mpmc::shared`]
/// took more than twice as long.
///
/// Temporal slip, from J. Giacomoni et al., *FastForward for Efficient Pipeline Parallelism*, PPoPP 2008, section 3.4. Different from
/// the paper: it adapts, and is bounded by a fraction of a microsecond instead of by a number of items.
///
/// In one word, as the consumers' loops have few registers left, and some consumers share it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slip<const BURST: u32>(u32);

/// So many looks that find one item each are no stream yet.
pub(crate) const SHORT_BURST: u32 = 16;

/// How many looks do without waiting after the first time that it was in vain.
const REST: u32 = 16;

/// How often that grows fourfold: to 4096. What leads to each time is some 40 pauses then.
const GROWS: u32 = 4;

/// What is in the word, from its lowest bit on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    /// Looks that found few; those that found nothing, or many, count against them.
    few: u32,
    /// Whether the next wait is to look before and after.
    doubt: bool,
    /// How often in a row nothing had come in between, up to [`GROWS`].
    vain: u32,
    /// How many looks to come do without waiting.
    rest: u32,
    /// What the last look found that had not waited, up to [`State::MANY`].
    unwaited: u32,
}

impl<const BURST: u32> Slip<BURST> {
    /// 15 pauses at most, which are a fraction of a microsecond. A model has no time.
    const MOST: u32 = BURST + if cfg!(loom) { 0 } else { 4 };

    #[inline(always)]
    fn few(self) -> u32 {
        self.0 & State::FEW
    }

    /// How many pauses are due.
    #[inline(always)]
    fn pauses(self) -> u32 {
        (1 << self.few().saturating_sub(BURST)) - 1
    }

    /// Whether [`wait`](Self::wait) would.
    #[inline(always)]
    pub(crate) fn waits(self) -> bool {
        self.few() > BURST
    }

    /// Makes the pauses that are due before a look. `count` is to change when items arrive; it had better refer to nothing in the consumer,
    /// as [`found`](Self::found) does not.
    #[inline(always)]
    #[must_use]
    pub(crate) fn wait(self, count: impl Fn() -> u64) -> Self {
        if self.waits() { self.wait_now(count) } else { self }
    }

    #[cold]
    #[inline(never)]
    fn wait_now(self, count: impl Fn() -> u64) -> Self {
        let mut state = State::from(self.0);
        let before = state.doubt.then(&count);
        spin::relax(self.pauses());
        if let Some(before) = before {
            state.doubt = false;
            if count() == before {
                let rest = REST << (2 * state.vain);
                state = State { vain: (state.vain + 1).min(GROWS), rest, ..State::default() };
            } else {
                state.vain = 0;
            }
        }
        Self(state.into())
    }

    /// After a look that found nothing: no pauses before the next, and one look less to a stream.
    #[inline(always)]
    #[must_use]
    pub(crate) fn found_none(self) -> Self {
        let few = self.few();
        // Else nothing changes: a consumer that polls is not to touch a line that another thread may have a part in.
        if few > 0 { Self(self.0 - few + few.min(BURST) - 1) } else { self }
    }

    /// As [`found_none`](Self::found_none), and after a look that found few a pause: who has taken what there was and would look again at
    /// once takes the line away that the next item is written to.
    #[inline(always)]
    #[must_use]
    pub(crate) fn caught_up(self) -> Self {
        if self.few() > 0 {
            spin::relax(1);
        }
        self.found_none()
    }

    /// After a look that found so many items, `few` or not.
    #[inline(always)]
    #[must_use]
    pub(crate) fn found(self, items: usize, few: bool) -> Self {
        // One that does without waiting, or has not waited and found few: here and now, as the item may be an answer. The call takes a
        // tenth of a hop from core to core.
        if self.0 & State::REST > 0 {
            Self(self.0 - State::ONE_REST)
        } else if few && self.few() <= BURST && self.few() < Self::MOST {
            let unwaited = (items.min(State::MANY) as u32) << State::UNWAITED_AT;
            Self((self.0 & ((1 << State::UNWAITED_AT) - 1)) + 1 | unwaited)
        } else {
            self.found_otherwise(items, few)
        }
    }

    /// By value and not inlined, so that the consumers' fields can live in registers.
    #[cold]
    #[inline(never)]
    fn found_otherwise(self, items: usize, few: bool) -> Self {
        let mut state = State::from(self.0);
        if !few {
            state.few = state.few.saturating_sub(1);
        } else if state.few < Self::MOST {
            state.few += 1;
        } else if items.min(State::MANY) as u32 <= state.unwaited {
            state.doubt = Self::MOST > BURST;
        }
        Self(state.into())
    }
}

impl State {
    /// The bits of `few` in the word, and those of `rest`.
    const FEW: u32 = (1 << 5) - 1;
    const REST: u32 = ((1 << 13) - 1) << 9;
    const ONE_REST: u32 = 1 << 9;

    /// Where `unwaited` begins, which takes the rest of the word.
    const UNWAITED_AT: u32 = 22;
    const MANY: usize = (1 << 10) - 1;
}

impl From<u32> for State {
    #[inline(always)]
    fn from(bits: u32) -> Self {
        let field = |from: u32, width: u32| bits >> from & ((1 << width) - 1);
        let (few, doubt, vain) = (field(0, 5), field(5, 1) == 1, field(6, 3));
        Self { few, doubt, vain, rest: field(9, 13), unwaited: field(Self::UNWAITED_AT, 10) }
    }
}

impl From<State> for u32 {
    #[inline(always)]
    fn from(state: State) -> Self {
        let State { few, doubt, vain, rest, unwaited } = state;
        few | Self::from(doubt) << 5 | vain << 6 | rest << 9 | unwaited << State::UNWAITED_AT
    }
}

/// As a number, which consumers can share.
impl<const BURST: u32> From<u32> for Slip<BURST> {
    fn from(bits: u32) -> Self {
        Self(bits)
    }
}

impl<const BURST: u32> From<Slip<BURST>> for u32 {
    fn from(slip: Slip<BURST>) -> Self {
        slip.0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Slip, State};
    use core::cell::Cell;

    #[test]
    fn it_begins_after_a_burst() {
        let mut slip = Slip::<3>::default();
        assert_eq!([(); 8].map(|()| few(&mut slip, 1)), [0, 0, 0, 1, 3, 7, 15, 15]);
        assert_eq!(slip.found(9, false).pauses(), 7);
    }

    #[test]
    fn a_look_in_vain_ends_the_pauses_and_as_many_as_a_burst_has_items_the_stream() {
        let mut slip = Slip::<3>::default();
        assert_eq!((0..8).map(|_| few(&mut slip, 1)).last(), Some(15));
        slip = slip.found_none();
        assert_eq!(slip.pauses(), 0);
        assert_eq!([(); 5].map(|()| few(&mut slip, 1)), [0, 1, 3, 7, 15]);
        slip = (0..3).fold(slip, |slip, _| slip.found_none());
        assert_eq!(slip.few(), 0);
    }

    #[test]
    fn with_bursts_of_one_any_look_in_vain_ends_it() {
        let mut slip = Slip::<1>::default();
        assert_eq!([(); 6].map(|()| few(&mut slip, 1)), [0, 1, 3, 7, 15, 15]);
        assert_eq!(slip.found_none().few(), 0);
    }

    #[test]
    fn where_nothing_comes_meanwhile_it_does_without_for_longer_and_longer() {
        let mut slip = Slip::<1>::default();
        for rest in [16, 64, 256, 1_024, 4_096, 4_096] {
            assert_eq!((0..7).map(|_| waited(&mut slip, 7, || 0)).sum::<u32>(), 1 + 3 + 7 + 2 * 15);
            // The look that found it out is the first of them.
            assert_eq!((1..rest).map(|_| waited(&mut slip, 7, || 0)).sum::<u32>(), 0);
        }
    }

    #[test]
    fn where_something_comes_or_waiting_has_led_to_more_it_waits() {
        for (items, comes) in [(1, 1), (2, 0)] {
            let mut slip = Slip::<1>::default();
            assert_eq!([(); 5].map(|()| few(&mut slip, 1)), [0, 1, 3, 7, 15]);
            let count = Cell::new(0);
            let pauses = (0..100).map(|_| waited(&mut slip, items, || count.replace(count.get() + comes)));
            assert_eq!(pauses.sum::<u32>(), 100 * 15);
        }
    }

    #[test]
    fn nothing_of_it_is_lost_in_a_number() {
        let state = State { few: 20, doubt: true, vain: 4, rest: 4_096, unwaited: State::MANY as u32 };
        assert_eq!(State::from(u32::from(state)), state);
        assert_eq!(State::from(u32::from(Slip::<1>::default())), State::default());
    }

    /// The pauses after one more look that finds few.
    fn few<const BURST: u32>(slip: &mut Slip<BURST>, items: usize) -> u32 {
        *slip = slip.found(items, true);
        slip.pauses()
    }

    /// The pauses before one more look that finds few.
    fn waited<const BURST: u32>(slip: &mut Slip<BURST>, items: usize, count: impl Fn() -> u64) -> u32 {
        let pauses = slip.pauses();
        *slip = slip.wait(count).found(items, true);
        pauses
    }
}
