//! A fast hash without a secret: which key goes where is the same in every run.

use std::hash::{Hash, Hasher};

/// Two odd numbers without a pattern: the fractions of the golden ratio and of the square root of three.
const FOLD: u64 = 0x9E37_79B9_7F4A_7C15;
const START: u64 = 0xBB67_AE85_84CA_A73B;

/// Folds each word in by a multiplication to 128 bits whose halves are joined, so that every bit of the word reaches every bit of the state.
///
/// Not for keys that an adversary picks: many with one hash can be found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Folding(u64);

impl Default for Folding {
    fn default() -> Self {
        Self(START)
    }
}

impl Folding {
    #[inline(always)]
    fn fold(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(FOLD);
        self.0 = (product as u64) ^ (product >> 64) as u64;
    }
}

impl Hasher for Folding {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|&word| self.fold(u64::from_le_bytes(word)));
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.fold(u64::from_le_bytes(last) ^ (rest.len() as u64) << 56);
        }
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.fold(value.into());
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.fold(value.into());
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.fold(value);
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.fold(value as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        // Once more: the last word has gone through one multiplication only, and a low bit of it may be in few of the high ones.
        let mut last = *self;
        last.fold(START.rotate_left(32));
        last.0
    }
}

/// The hash of `key`.
#[inline]
pub(crate) fn hash_of<K: Hash + ?Sized>(key: &K) -> u64 {
    let mut hasher = Folding::default();
    key.hash(&mut hasher);
    hasher.finish()
}

/// Which of `parts` a hash belongs to: all of them for about as many hashes, decided by the high bits.
#[inline]
pub(crate) fn part_of(hash: u64, parts: usize) -> usize {
    ((u128::from(hash) * parts as u128) >> 64) as usize
}

/// For keys that are hashes already. The low bits of these choose among the keys of one part, and [`part_of`] has used the high ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PassOn(u64);

impl Hasher for PassOn {
    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("a hash is one word");
    }

    #[inline]
    fn write_u64(&mut self, hash: u64) {
        // A table takes low bits for the place and high ones to tell neighbours apart: the product has both anew.
        self.0 = hash.wrapping_mul(FOLD);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
