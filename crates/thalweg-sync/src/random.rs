//! Random numbers for choices: who is tried first, which schedule runs, what a test does next.
//!
//! They depend on the seed alone, on every machine, so that a run can be repeated. They are not for secrets.
//!
//! | you need | take |
//! |---|---|
//! | numbers | [`Xorshift`] |
//! | numbers of a seed that is kept as a plain word, or that goes on by a fixed step | [`SplitMix`] |
//! | to spread the bits of one word | [`mix`] |
//!
//! Recorded runs and published figures depend on these numbers: neither generator changes.

/// What [`SplitMix`] adds to its state at each step: 2⁶⁴ divided by the golden ratio.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Spreads the bits of `word`: each bit of the result depends on all of them, and different words have different results. It is
/// the first number of [`SplitMix::new(word)`](SplitMix::new).
#[inline]
pub const fn mix(word: u64) -> u64 {
    let mut z = word.wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// As `number` is among all words, so is the result among the numbers below `end`.
#[inline]
const fn scale(number: u64, end: u64) -> u64 {
    (number as u128 * end as u128 >> 64) as u64
}

/// SplitMix64. Every state is a seed, however alike they are.
///
/// G. L. Steele Jr., D. Lea, C. H. Flood, *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014.
#[derive(Clone, Debug)]
pub struct SplitMix(u64);

impl SplitMix {
    /// The numbers that belong to `seed`.
    #[inline]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    #[inline]
    pub const fn number(&mut self) -> u64 {
        let number = mix(self.0);
        self.0 = self.0.wrapping_add(STEP);
        number
    }

    /// A number below `end`, which is not 0; nearly all equally likely.
    #[inline]
    pub const fn below(&mut self, end: u64) -> u64 {
        scale(self.number(), end)
    }

    /// As [`below`](Self::below), of things that are counted.
    #[inline]
    pub const fn index(&mut self, count: usize) -> usize {
        self.below(count as u64) as usize
    }
}

/// xorshift64*: a step is three shifts and a product.
///
/// S. Vigna, *An Experimental Exploration of Marsaglia's xorshift Generators, Scrambled*, ACM TOMS 42(4), 2016.
#[derive(Clone, Debug)]
pub struct Xorshift(u64);

impl Xorshift {
    /// The numbers that belong to `seed`, which may be a small one.
    #[inline]
    pub const fn new(seed: u64) -> Self {
        Self::from_state(mix(seed))
    }

    /// The numbers that follow `state`. After one with few bits the first numbers are alike. 0, which leads nowhere, counts as 1.
    #[inline]
    pub const fn from_state(state: u64) -> Self {
        Self(if state == 0 { 1 } else { state })
    }

    /// The next number, which is not 0.
    #[inline]
    pub const fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `end`, which is not 0; nearly all equally likely.
    #[inline]
    pub const fn below(&mut self, end: u64) -> u64 {
        scale(self.number(), end)
    }

    /// As [`below`](Self::below), of things that are counted.
    #[inline]
    pub const fn index(&mut self, count: usize) -> usize {
        self.below(count as u64) as usize
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_published_numbers() {
        let mut split = SplitMix::new(1_234_567);
        let numbers = core::array::from_fn(|_| split.number());
        assert_eq!(numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
        let mut shift = Xorshift::from_state(1);
        let numbers = core::array::from_fn(|_| shift.number());
        assert_eq!(numbers, [5_180_492_295_206_395_165, 12_380_297_144_915_551_517, 13_389_498_078_930_870_103]);
    }

    #[test]
    fn all_below_the_end_are_drawn_about_as_often() {
        let (mut split, mut shift) = (SplitMix::new(1), Xorshift::new(1));
        let mut seen = [[0; 3]; 2];
        for _ in 0..3000 {
            seen[0][split.index(3)] += 1;
            seen[1][shift.index(3)] += 1;
        }
        assert!(seen.as_flattened().iter().all(|count| (900..1100).contains(count)), "{seen:?}");
        assert_eq!((split.below(1), shift.below(1)), (0, 0));
    }

    #[test]
    fn no_seed_gives_nothing() {
        assert_eq!(Xorshift::from_state(0).number(), Xorshift::from_state(1).number());
        // What `mix` makes 0.
        assert_ne!(Xorshift::new(0_u64.wrapping_sub(STEP)).number(), 0);
    }
}
