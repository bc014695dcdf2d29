//! The sequential program.

use super::Config;
use crate::bursts::Received;

/// Makes and takes one message after the other.
pub fn receive(config: &Config) -> Vec<Received> {
    let mut received = vec![Received::default(); config.consumers];
    for number in 0..config.messages {
        let consumer = (number % config.consumers as u64) as usize;
        config.work.receive(config.work.send(number), &mut received[consumer]);
    }
    received
}
