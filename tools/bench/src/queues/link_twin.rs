//! `queues/link-twin`: what Virtual-Link's channels cost where a thread plays the device, beside queues that need none.

use super::contenders::*;
use super::limits;
use super::oversubscribed::{Shape, yields};
use crate::harness::Role::*;
use crate::harness::{BoxError, Effort, Experiment, Group};

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "queues/link-twin", plan };

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let (items, slow) = (effort.messages(20_000_000), effort.messages(200_000));
    let group = |workload, threads| {
        let shape = Shape { producers: threads, consumers: threads, items, pinned: false };
        let few = Shape { items: slow, ..shape };
        let contenders = vec![
            yields::<LinkLines>(Ours, "thalweg `link`, by a thread, a line each", few),
            yields::<LinkWords>(Ours, "thalweg `link`, by a thread, seven to a line", few),
            yields::<Bbq>(Ours, "thalweg `mpmc`", shape),
            yields::<CrossbeamChannel>(Peer, "crossbeam-channel", shape),
        ];
        Group::new(workload, &["ns per item"], contenders)
    };
    Ok(vec![group("1P1C", 1), group("2P2C", 2), limits::group(effort)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::measure;

    #[test]
    fn every_contender_delivers_every_item() {
        let outcome = measure(&EXPERIMENT, &Effort::TINY, &mut Vec::new()).unwrap();
        assert_eq!(outcome.failures, [""; 0]);
        assert_eq!(outcome.records.len(), 2 * 4 + 6);
    }
}
