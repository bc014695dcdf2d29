//! The Internet checksum: the complement of the ones'-complement sum of the 16-bit words (RFC 1071).

/// The checksum of `bytes`; an odd last byte counts as followed by zero.
///
/// ```
/// // RFC 1071, section 3
/// assert_eq!(thalweg_apps::frames::checksum::of(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
/// ```
pub fn of(bytes: &[u8]) -> u16 {
    !fold(sum(bytes))
}

/// The checksum of `parts` one after the other, all of them but the last of even length.
///
/// ```
/// use thalweg_apps::frames::checksum::{of, of_parts};
/// assert_eq!(of_parts(&[&[1, 2], &[3, 4, 5]]), of(&[1, 2, 3, 4, 5]));
/// ```
pub fn of_parts(parts: &[&[u8]]) -> u16 {
    !fold(parts.iter().map(|part| sum(part)).sum())
}

/// The checksum of a message that had `checksum` and in which the bytes `old` become `new`, at an even offset.
///
/// The rest of the message is not needed, so it may be cut off in the capture, and a checksum that was wrong stays
/// wrong by the same difference. Equation 3 of RFC 1624: `~(~checksum + ~old + new)`.
///
/// # Panics
///
/// If the lengths differ or are odd.
pub fn replace(checksum: u16, old: &[u8], new: &[u8]) -> u16 {
    assert!(old.len() == new.len() && old.len().is_multiple_of(2), "whole words are replaced by as many");
    let complement_of_old: u64 = old.chunks_exact(2).map(|word| u64::from(!word_of(word))).sum();
    !fold(u64::from(!checksum) + complement_of_old + sum(new))
}

fn word_of(pair: &[u8]) -> u16 {
    u16::from_be_bytes([pair[0], pair[1]])
}

fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(2);
    let odd = words.remainder().first().map_or(0, |&last| u64::from(last) << 8);
    words.map(|word| u64::from(word_of(word))).sum::<u64>() + odd
}

fn fold(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacing_equals_computing_anew() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..100_000 {
            let mut message: Vec<u8> =
                (0..random.usize(4..40)).map(|_| *random.choice(&[0, 0xff, 1, 0x80]).unwrap()).collect();
            message[0] = 0x45; // as in a header, something is never zero
            let before = of(&message);
            let at = 2 * random.usize(1..message.len() / 2);
            let old = message[at..at + 2].to_vec();
            let new = [random.u8(..), random.u8(..)];
            message[at..at + 2].copy_from_slice(&new);
            assert_eq!(replace(before, &old, &new), of(&message));
        }
    }
}
