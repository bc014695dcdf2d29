//! The numbers that published figures are made of, in the one form that they were published with. Anything new takes
//! [`thalweg_sync::random`].

/// A linear congruential generator, of which the high bits are good (D. E. Knuth's factor, for MMIX).
pub(crate) struct Lcg(u64);

impl Lcg {
    pub(crate) fn new() -> Self {
        Self(1)
    }

    /// The next number, without the lowest `dropped` bits.
    pub(crate) fn number(&mut self, dropped: u32) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> dropped
    }
}
