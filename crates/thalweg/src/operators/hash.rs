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
        // Once more: the last word has gone through one multiplication only, and keys of one part that differ in high bits would meet in a table.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const KEYS: u64 = 4096;

    /// Keys that differ in few bits spread over parts and over the places of a table nearly as random ones do.
    #[track_caller]
    fn spreads<K: Hash>(keys: impl Iterator<Item = K>, what: &str) {
        let hashes: Vec<u64> = keys.map(|key| hash_of(&key)).collect();
        let mut parts = [0_u64; 16];
        hashes.iter().for_each(|&hash| parts[part_of(hash, 16)] += 1);
        // 256 each; the deviation of chance is 16.
        assert!(parts.iter().all(|part| (160..352).contains(part)), "{what}: {parts:?}");
        let place = |hash: u64| {
            let mut hasher = PassOn::default();
            hasher.write_u64(hash);
            hasher.finish() % KEYS
        };
        let places: HashSet<u64> = hashes.iter().map(|&hash| place(hash)).collect();
        // Chance fills all but one in e: 2589. The keys of one part do as well for a table of their number.
        assert!(places.len() > 2000, "{what}: {} places", places.len());
        let part = hashes.iter().filter(|&&hash| part_of(hash, 16) == 3);
        let (places, count): (HashSet<u64>, usize) =
            (part.clone().map(|&hash| place(hash) % 256).collect(), part.count());
        assert!(places.len() * 2 > count, "{what}: {} places for {count} keys of a part", places.len());
    }

    #[test]
    fn similar_keys_spread() {
        for shift in (0..=52).step_by(4) {
            spreads((0..KEYS).map(|x| x << shift), &format!("numbers << {shift}"));
        }
        spreads((0..KEYS).map(|x| x as f64).map(f64::to_bits), "floats");
        spreads((0..KEYS as u32).map(|x| x * 16), "addresses of 32 bits");
        spreads((0..KEYS).map(|x| format!("user-{x}")), "names");
        spreads((0..KEYS).map(|x| format!("{x:04}-user-of-a-longer-name")), "names that differ in front");
        spreads((0..KEYS).map(|x| (x % 64, x / 64)), "pairs");
        spreads((0..KEYS).map(|x| [x as u8, (x >> 8) as u8]), "bytes");
    }
}
