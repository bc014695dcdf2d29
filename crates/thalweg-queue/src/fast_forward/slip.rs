//! Temporal slip: keeping the consumer some lines behind the producer.

/// How far behind the producer the consumer keeps, for [`Consumer::with_slip`](super::Consumer::with_slip).
///
/// When both sides work in one cache line, the line travels for every item. A consumer that lets the producer run
/// ahead first gets whole lines instead: throughput for latency (section 3.4 of the paper, Figure 6).
///
/// A wait ends when `good` items are there, or when no more have come since the last look, so a stream that pauses
/// or ends is never held up by more than `good` short looks.
///
/// ```
/// use thalweg_queue::fast_forward::{Slip, fast_forward};
///
/// let (mut tx, rx) = fast_forward(4096)?;
/// let mut rx = rx.with_slip(Slip { danger: 8, ..Slip::default() });
/// tx.push(Box::new(1))?;
/// assert_eq!(*rx.pop()?, 1); // a single item is not held back
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slip {
    /// With fewer items than this in the queue, the consumer waits for more. At most `good`.
    pub danger: usize,
    /// With this many, it goes on. At most the queue's capacity.
    pub good: usize,
    /// How many pops there are from one look to the next. A pop that finds nothing also asks for a look.
    pub every: usize,
}

impl Default for Slip {
    /// The paper's constants: two lines, six lines, 64 pops, for lines of 64 bytes and words of 8.
    fn default() -> Self {
        Self { danger: 16, good: 48, every: 64 }
    }
}

/// The consumer's slip and how many pops are left until it looks again.
#[derive(Debug)]
pub(super) struct Slipping {
    slip: Slip,
    left: usize,
}

impl Slipping {
    pub(super) fn new(slip: Slip, capacity: usize) -> Self {
        let good = slip.good.min(capacity);
        let slip = Slip { danger: slip.danger.min(good), good, every: slip.every.max(1) };
        Self { slip, left: 0 }
    }

    /// A pop found nothing: look at the next one.
    #[inline]
    pub(super) fn look_soon(&mut self) {
        self.left = 0;
    }

    /// Counts a pop; when a look is due, waits until the queue is `good` items long or has stopped growing.
    /// `filled(n)` says whether there are more than `n` items.
    #[inline]
    pub(super) fn adjust(&mut self, filled: impl Fn(usize) -> bool) {
        if self.left > 0 {
            self.left -= 1;
            return;
        }
        self.left = self.slip.every - 1;
        let Slip { danger, good, .. } = self.slip;
        if danger == 0 || filled(danger - 1) {
            return;
        }
        let mut before = 0;
        loop {
            let length = (before..good).find(|&n| !filled(n)).unwrap_or(good);
            if length == good || length == before {
                return;
            }
            before = length;
            for _ in length..=good {
                thalweg_sync::spin::pause(1);
            }
        }
    }
}
