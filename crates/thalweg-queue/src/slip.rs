//! Keeping a distance to a producer that is as fast as its consumer.

use thalweg_sync::spin;

/// How long a consumer waits before it looks at its producer's count.
///
/// A consumer that is as fast as its producer looks for every item, and each time takes the line away that the producer counts in,
/// so that both wait for lines. One that waits a little after looks that found few items finds many. After a look that found nothing it
/// does not wait, so an item that comes alone is not held up.
///
/// Temporal slip, from J. Giacomoni et al., *FastForward for Efficient Pipeline Parallelism*, PPoPP 2008, section 3.4. Different from
/// the paper: it adapts, and is bounded by a fraction of a microsecond instead of by a number of items.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slip {
    /// Twice as many pauses as are made before the next look: one look that finds few is not a reason yet.
    twice: u32,
}

impl Slip {
    /// 15 pauses are a fraction of a microsecond. A model has no time.
    const MOST: u32 = if cfg!(loom) { 0 } else { 31 };

    /// How many pauses are due.
    #[inline(always)]
    pub(crate) fn pauses(self) -> u32 {
        self.twice / 2
    }

    /// Makes so many pauses.
    #[inline]
    pub(crate) fn pause(pauses: u32) {
        for _ in 0..pauses {
            spin::pause(1);
        }
    }

    /// A look found nothing.
    #[inline(always)]
    pub(crate) fn found_none(&mut self) {
        // Else nothing is written: a consumer that polls is not to touch a line that another thread may have a part in.
        if self.twice > 0 {
            self.twice = 0;
        }
    }

    /// A look found items, `few` or many.
    #[inline(always)]
    pub(crate) fn found(&mut self, few: bool) {
        self.twice = if few { (2 * self.twice + 1).min(Self::MOST) } else { self.twice / 2 };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Slip;

    #[test]
    fn it_grows_with_looks_that_find_few_and_ends_with_one_in_vain() {
        let mut slip = Slip::default();
        let mut pauses = [0; 6];
        for pauses in &mut pauses {
            slip.found(true);
            *pauses = slip.pauses();
        }
        assert_eq!(pauses, [0, 1, 3, 7, 15, 15]);
        slip.found(false);
        assert_eq!(slip.pauses(), 7);
        slip.found_none();
        assert_eq!(slip.pauses(), 0);
    }
}
