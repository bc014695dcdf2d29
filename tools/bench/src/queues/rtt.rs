//! `queues/1p1c-rtt`: what it costs to ask another core and to be answered.

use super::contenders::*;
#[cfg(thalweg_cpp)]
use super::cpp;
use super::limits::{self, ByBlocks, Counted};
use super::one_to_one::{CAPACITY, Ends, params, per_item, there_and_back};
use crate::catalogue::optional;
use crate::harness::Role::{self, *};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group};

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "queues/1p1c-rtt", plan };

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let trips = effort.messages(400_000);
    let mut contenders = each_queue!(trip(trips));
    #[cfg(thalweg_cpp)]
    contenders.extend(cpp::rtt((trips / 4).max(1)));
    contenders.push(per_item(Bound, "limit: two lines", params(trips, 1), trips, move || limits::two_lines(trips)));
    contenders.push(trip::<ByBlocks<CAPACITY, Counted>>(Bound, "limit: a bare word and a count each way", true, trips));
    let mut group = Group::new("round trip over two queues", &["ns per trip"], contenders);
    group.absent.extend(optional::CPP.absent());
    Ok(vec![group, limits::group(effort)])
}

/// A round trip over two queues `Q`. The queues that are slow make fewer.
fn trip<Q: Ends>(role: Role, name: &str, fast: bool, trips: u64) -> Contender {
    let trips = if fast { trips } else { (trips / 4).max(1) };
    per_item(role, name, params(trips, CAPACITY), trips, move || there_and_back::<Q>(trips))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::measure;

    #[test]
    fn every_contender_answers() {
        let outcome = measure(&EXPERIMENT, &Effort::TINY, &mut Vec::new()).unwrap();
        assert_eq!(outcome.failures, [""; 0]);
        assert!(outcome.records.len() >= 12);
    }
}
