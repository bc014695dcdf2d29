//! The sequential program.

use super::Config;
use crate::bursts::Received;

/// Makes and takes one message after the other.
pub fn receive(config: &Config) -> Received {
    let mut received = Received::default();
    for number in 0..config.messages {
        config.work.receive(config.work.send(number), &mut received);
    }
    received
}
