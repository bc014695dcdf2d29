//! The sequential program.

use super::{Config, Sorted, is_correct, note};
use crate::Result;
use crate::packets::{Packet, Supply, one_in_eight};

/// Sorts packet by packet, up to the end or to where the input cannot be read further.
///
/// # Errors
///
/// As [`run`](super::run).
pub fn sort(config: &Config) -> Result<Sorted> {
    let mut supply = Supply::open(&config.from, one_in_eight, &())?;
    let (mut sorted, mut packet) = (Sorted::default(), Packet::default());
    for number in 1.. {
        let Some(Ok(())) = supply.fill(&mut packet, number) else { break };
        let tally = if is_correct(&mut packet) { &mut sorted.correct } else { &mut sorted.mistake };
        note(&mut packet, tally);
    }
    Ok(sorted)
}
