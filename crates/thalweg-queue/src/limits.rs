//! The limits that a refusal names: what they allow is not refused, and one more is.

use crate::BuildError;

/// Checks a ring of `blocks` blocks, a power of two and at least two, and `entries` entries each, which `parameter` says. `fit` says
/// whether such a ring is possible: with less of either, it is too.
pub(crate) fn ring(
    blocks: usize,
    (parameter, entries): (&'static str, usize),
    fit: impl Fn(usize, usize) -> bool,
) -> Result<(), BuildError> {
    // With one block, the next one to be filled would be the one with all items.
    BuildError::check("blocks", blocks, 2, usize::MAX)?;
    BuildError::check(parameter, entries, 1, usize::MAX)?;
    let rounded = blocks.checked_next_power_of_two();
    if !rounded.is_some_and(|blocks| fit(blocks, 1)) {
        let powers = || (1..usize::BITS).rev().map(|log| 1 << log).filter(|most| *most < blocks);
        // If as many entries leave no room for any blocks, both are too many.
        let max = powers().find(|most| fit(*most, entries)).or_else(|| powers().find(|most| fit(*most, 1)));
        return Err(match max {
            Some(max) => BuildError::TooLarge { parameter: "blocks", value: blocks, max },
            // One entry is too large for memory.
            None => BuildError::TooLarge { parameter, value: entries, max: 0 },
        });
    }
    if !blocks.is_power_of_two() {
        return Err(BuildError::NotPowerOfTwo { parameter: "blocks", value: blocks });
    }
    if !fit(blocks, entries) {
        let max = last(1, entries, |entries| fit(blocks, entries));
        return Err(BuildError::TooLarge { parameter, value: entries, max });
    }
    Ok(())
}

/// The last of `from..to` for which `is_possible`: it is for `from`, and not for `to`, and changes once.
pub(crate) fn last(mut from: usize, mut to: usize, is_possible: impl Fn(usize) -> bool) -> usize {
    while to - from > 1 {
        let between = from + (to - from) / 2;
        *if is_possible(between) { &mut from } else { &mut to } = between;
    }
    from
}

/// The largest power of two that is not above `number`, which is not zero.
pub(crate) const fn power_of_two(number: usize) -> usize {
    1 << number.ilog2()
}

#[cfg(all(test, not(loom)))]
pub(crate) mod tests {
    use super::*;
    use crate::{mpmc, overwriting};

    /// What is named of a shape that is refused is possible, with the other number as it is, and more is not. Nothing is allocated.
    pub(crate) fn names_the_last(parameter: &str, check: impl Fn(usize, usize) -> Result<(), BuildError>) {
        let mut refused = [0, 0];
        for blocks in [2, 8, 1 << 13, 1 << 20, 1 << 28, 1 << 31, 3 << 30, 1 << 32, 1 << 45, usize::MAX] {
            for entries in [1, 7, 1000, 1 << 20, 1 << 30, (1 << 31) - 1, 1 << 32, 1 << 50, 1 << 60, usize::MAX] {
                let Err(error) = check(blocks, entries) else { continue };
                let BuildError::TooLarge { parameter: named, value, max } = error else {
                    panic!("{blocks} {entries}: {error}")
                };
                if named == parameter {
                    refused[0] += 1;
                    assert_eq!((value, check(blocks, max)), (entries, Ok(())), "{blocks} {entries}: {error}");
                    let more = BuildError::TooLarge { parameter: named, value: max + 1, max };
                    assert_eq!(check(blocks, max + 1), Err(more), "{blocks} {entries}: {error}");
                } else {
                    refused[1] += 1;
                    assert_eq!((named, value), ("blocks", blocks));
                    // Where even two blocks are too many, both numbers are too large.
                    let entries = if check(2, entries).is_ok() { entries } else { 1 };
                    assert_eq!(check(max, entries), Ok(()), "{blocks} {entries}: {error}");
                    let more = check(max * 2, entries);
                    assert!(matches!(more, Err(BuildError::TooLarge { .. })), "{blocks} {entries}: {error}, {more:?}");
                }
            }
        }
        assert!(refused.iter().all(|count| *count > 5), "{parameter}: {refused:?}");
    }

    #[test]
    fn a_refusal_names_the_last_that_is_possible() {
        names_the_last("entries", mpmc::in_blocks::<()>);
        names_the_last("entries", mpmc::in_blocks::<u8>);
        names_the_last("entries", mpmc::in_blocks::<[u64; 3]>);
        names_the_last("entries", mpmc::in_blocks::<[u64; 1 << 17]>);
        names_the_last("entries", overwriting::check::<()>);
        names_the_last("entries", overwriting::check::<[u64; 3]>);
        names_the_last("entries", overwriting::check::<[u64; 1 << 17]>);
    }

    #[test]
    fn an_entry_may_be_too_large() {
        let refused = ring(2, ("entries", 1), |_, _| false);
        assert_eq!(refused, Err(BuildError::TooLarge { parameter: "entries", value: 1, max: 0 }));
    }

    #[test]
    fn powers_of_two() {
        assert_eq!([1, 2, 3, 64, 127].map(power_of_two), [1, 2, 2, 64, 64]);
        assert_eq!(last(3, 90, |number| number < 41), 40);
        assert_eq!(last(3, 4, |number| number < 4), 3);
    }
}
