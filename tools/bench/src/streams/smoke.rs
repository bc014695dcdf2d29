//! Every contender once, with almost no work: each gives the right result.

use std::time::Duration;

use crate::catalogue::optional::{self, Optional};
use crate::harness::{Effort, Role, measure};
use crate::ours::{Setting, Style};
use crate::registry::{NATIVE, on_machines};
use crate::workloads::{Digest, Farm, FirChain};
use crate::{ours, peers};

/// Experiments whose length does not follow the effort, and two that start the command as their applications.
const APART: [&str; 4] = ["streams/idle", "streams/build", "daemon/bursts", "blq/instructions"];

/// Peers without which nobody takes part in their experiments.
const ALL_OR_NOTHING: [Optional; 2] = [optional::HTTP, optional::RPC];

#[test]
fn every_contender_is_right() {
    // Figures that modelled machines have, too, are tried with the worlds.
    let in_both = |name: &str| on_machines().any(|figure| figure.name == name && !figure.here.is_empty());
    for experiment in NATIVE.iter().filter(|one| !APART.contains(&one.name) && !in_both(one.name)) {
        let outcome = measure(experiment, &Effort::TINY, &mut Vec::new()).unwrap();
        assert_eq!(outcome.failures, [""; 0]);
        let absent =
            ALL_OR_NOTHING.iter().any(|peer| peer.experiments.contains(&experiment.name) && peer.absent().is_some());
        assert_eq!(outcome.records.is_empty(), absent, "{}", experiment.name);
        for record in &outcome.records {
            // A share may be none, and what is left beside almost no work is noise.
            assert!(record.spread.median.is_finite(), "{} of {}", record.unit, record.contender);
            assert!(record.params.is_object(), "{}", record.contender);
            assert!(record.role != Role::Ours || record.contender.starts_with("thalweg"), "{}", record.contender);
        }
    }
}

#[test]
fn idle_contenders_wait_as_long_as_they_should() {
    const WAIT: Duration = Duration::from_millis(30);
    for timing in [ours::idle(WAIT), peers::crossbeam::idle(WAIT)] {
        assert!(timing.unwrap().wall >= WAIT);
    }
}

#[test]
fn a_wrong_result_is_an_error() {
    let (farm, fir) = (Farm { messages: 100 }, FirChain { samples: 100, stages: 2 });
    let one_less = Farm { messages: 99 }.reference();
    // The same results, but the last one comes first.
    let results = (0..100).map(Farm::work);
    let turned: Digest = results.clone().skip(99).chain(results.take(99)).collect();
    assert!(ours::farm(farm, false, Setting::DEFAULT, &turned).is_ok());
    assert!(ours::farm(farm, true, Setting::DEFAULT, &turned).is_err());
    assert!(ours::lopsided(farm, Setting::DEFAULT, &turned).is_err());
    for ordered in [true, false] {
        assert!(ours::farm(farm, ordered, Setting::DEFAULT, &one_less).is_err());
    }
    assert!(peers::vectors::farm(farm, &one_less).is_err() && peers::rayon::farm(farm, &one_less).is_err());
    for style in [Style::Push, Style::Map] {
        let other = FirChain { stages: 3, ..fir }.reference();
        assert!(ours::fir(fir, style, Setting::DEFAULT, &other).is_err());
    }
}

#[test]
fn ordered_farms_keep_the_order_when_workers_overtake_each_other() {
    // Two hundred batches for four workers: without a sink that sorts, some overtake others.
    let farm = Farm { messages: 200 * peers::vectors::FARM_BATCH as u64 };
    let right = farm.reference();
    ours::farm(farm, true, Setting::DEFAULT, &right).unwrap();
    peers::vectors::farm(farm, &right).unwrap();
    peers::rayon::farm(farm, &right).unwrap();
}
