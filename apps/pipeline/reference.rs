//! The sequential program.

use super::Config;
use crate::Result;
use crate::packets::{Packet, Supply, Tally, complement};

/// Verifies packet by packet, up to the end or to where the input cannot be read further.
///
/// # Errors
///
/// As [`run`](super::run).
pub fn verify(config: &Config) -> Result<Tally> {
    let mut supply = Supply::open(&config.from, complement, &())?;
    let (mut tally, mut packet) = (Tally::default(), Packet::default());
    for number in 1.. {
        let Some(Ok(())) = supply.fill(&mut packet, number) else { break };
        packet.check_ip();
        packet.check_tcp();
        tally.add(&packet);
    }
    Ok(tally)
}
