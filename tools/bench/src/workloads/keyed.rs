//! Streams that are split by key: routed in parts and joined again, and counted for each key.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::{Digest, mix};
use crate::harness::BoxError;

/// Messages that go to one of four parts by their key, and are joined again.
#[derive(Clone, Copy, Debug)]
pub struct Fan {
    /// What the source sends: 0, 1, 2 and so on.
    pub messages: u64,
}

impl Fan {
    /// How many parts.
    pub const PARTS: usize = 4;

    /// How often a message is handed on: from the source to whoever splits, to whoever joins, and to the sink.
    pub const HOPS: u64 = 3;

    /// The part of a message, by a hash as cheap as any.
    #[inline(always)]
    pub fn part(message: u64) -> usize {
        (message.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 62) as usize
    }

    /// What the sink should see, in any order.
    pub fn reference(&self) -> Digest {
        (0..self.messages).collect()
    }
}

/// Words, as numbers, of which some are frequent: what is to be counted.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// How many there are.
    pub messages: u64,
}

/// Counts by word.
pub type Counts = HashMap<u64, u64, BuildHasherDefault<Quick>>;

impl Words {
    /// How many different words there may be.
    pub const VOCABULARY: u64 = 50_000;

    /// The word at this place. Half of them are among the first third of the vocabulary.
    #[inline(always)]
    pub fn at(place: u64) -> u64 {
        let (one, other) = (mix(place) % Self::VOCABULARY, mix(!place) % Self::VOCABULARY);
        one * other / Self::VOCABULARY
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = u64> + Clone + Send + use<> {
        (0..self.messages).map(Self::at)
    }

    /// Counts these words.
    pub fn count(words: impl Iterator<Item = u64>) -> Counts {
        let mut counts = Counts::default();
        words.for_each(|word| *counts.entry(word).or_default() += 1);
        counts
    }

    /// Looks whether `counts`, each word once, are right.
    pub fn verify(&self, counts: impl IntoIterator<Item = (u64, u64)>) -> Result<(), BoxError> {
        let mut right = Self::count(self.all());
        for (word, count) in counts {
            if right.remove(&word) != Some(count) {
                return Err(format!("word {word} was counted {count} times, or more than once").into());
            }
        }
        match right.is_empty() {
            true => Ok(()),
            false => Err(format!("{} words were not counted", right.len()).into()),
        }
    }
}

/// The hasher of every contender's table: one multiplication, and the high bits of the product where tables look for them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quick(u64);

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * 0x9E37_79B9_7F4A_7C15;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
