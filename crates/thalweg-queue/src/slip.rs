//! Keeping a distance to a producer that is as fast as its consumer.

use thalweg_sync::spin;

/// How long a consumer waits before it looks at its producers' count.
///
/// A consumer that is as fast as its producer looks for every item, and each time takes the line away that the producer counts in,
/// so that both wait for lines. One that waits a little after looks that found few items finds many. It does so in a stream only, that
/// is after more than `BURST` such looks, if not as many found nothing; and not after a look that found nothing. So neither an item
/// that comes alone nor a burst of so many is held up.
///
/// Queues for one and one have bursts of [`SHORT_BURST`]. Where many take part it is 1: with 16, batches through [`crate::bbq::shared`]
/// took more than twice as long.
///
/// Temporal slip, from J. Giacomoni et al., *FastForward for Efficient Pipeline Parallelism*, PPoPP 2008, section 3.4. Different from
/// the paper: it adapts, and is bounded by a fraction of a microsecond instead of by a number of items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slip<const BURST: u32> {
    /// Looks that found few; those that found nothing, or many, count against them.
    few: u32,
}

/// So many looks that find one item each are no stream yet.
pub(crate) const SHORT_BURST: u32 = 16;

/// Makes so many pauses.
#[inline(always)]
pub(crate) fn pause(pauses: u32) {
    if pauses > 0 {
        pause_now(pauses);
    }
}

#[cold]
#[inline(never)]
fn pause_now(pauses: u32) {
    for _ in 0..pauses {
        spin::pause(1);
    }
}

impl<const BURST: u32> Slip<BURST> {
    /// 15 pauses at most, which are a fraction of a microsecond. A model has no time.
    const MOST: u32 = BURST + if cfg!(loom) { 0 } else { 4 };

    /// How many pauses are due.
    #[inline(always)]
    pub(crate) fn pauses(self) -> u32 {
        (1 << self.few.saturating_sub(BURST)) - 1
    }

    /// A look found nothing: no pauses before the next, and one look less to a stream.
    #[inline(always)]
    pub(crate) fn found_none(&mut self) {
        // Else nothing is written: a consumer that polls is not to touch a line that another thread may have a part in.
        if self.few > 0 {
            self.few = self.few.min(BURST) - 1;
        }
    }

    /// A look found items, `few` or many.
    #[inline(always)]
    pub(crate) fn found(&mut self, few: bool) {
        self.few = if few { (self.few + 1).min(Self::MOST) } else { self.few.saturating_sub(1) };
    }
}

/// As a number, which consumers can share.
impl<const BURST: u32> From<u32> for Slip<BURST> {
    fn from(few: u32) -> Self {
        Self { few }
    }
}

impl<const BURST: u32> From<Slip<BURST>> for u32 {
    fn from(slip: Slip<BURST>) -> Self {
        slip.few
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Slip;

    #[test]
    fn it_begins_after_a_burst() {
        let mut slip = Slip::<3>::default();
        assert_eq!([(); 8].map(|()| few(&mut slip)), [0, 0, 0, 1, 3, 7, 15, 15]);
        slip.found(false);
        assert_eq!(slip.pauses(), 7);
    }

    #[test]
    fn a_look_in_vain_ends_the_pauses_and_as_many_as_a_burst_has_items_the_stream() {
        let mut slip = Slip::<3>::default();
        (0..8).for_each(|_| slip.found(true));
        slip.found_none();
        assert_eq!(slip.pauses(), 0);
        assert_eq!([(); 5].map(|()| few(&mut slip)), [0, 1, 3, 7, 15]);
        (0..3).for_each(|_| slip.found_none());
        assert_eq!(slip, Slip::default());
    }

    #[test]
    fn with_bursts_of_one_any_look_in_vain_ends_it() {
        let mut slip = Slip::<1>::default();
        assert_eq!([(); 6].map(|()| few(&mut slip)), [0, 1, 3, 7, 15, 15]);
        slip.found_none();
        assert_eq!(slip, Slip::default());
    }

    /// The pauses after one more look that finds few.
    fn few<const BURST: u32>(slip: &mut Slip<BURST>) -> u32 {
        slip.found(true);
        slip.pauses()
    }
}
