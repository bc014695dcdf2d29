//! Incast, outcast and chasing give what the sequential programs give, under every scheme.

use thalweg::{Scheme, Stopper};
use thalweg_apps::bursts::Work;
use thalweg_apps::{Error, Watch, chasing, incast, outcast};
use thalweg_sync::time::Duration;

/// Every scheme, with one, two and four workers where it lets one choose.
fn schemes() -> impl Iterator<Item = (String, Scheme)> {
    Scheme::names().flat_map(|name| {
        [1, 2, 4].map(|workers| (format!("{name}, {workers} workers"), Scheme::named(name).unwrap().workers(workers)))
    })
}

#[test]
fn one_receives_what_many_send() {
    for (producers, messages) in [(4, 3_000), (1, 100), (9, 5)] {
        let mut config = incast::Config { producers, work: Work::NONE, ..incast::Config::new(messages) };
        let expected = incast::reference::receive(&config);
        assert_eq!(expected.messages, messages);
        for (name, scheme) in schemes() {
            config.scheme = scheme;
            let all = incast::run(&config, &()).unwrap();
            assert_eq!(all.received, expected, "{name}");
            assert_eq!((all.from.len(), all.from.iter().sum()), (producers, messages), "{name}");
            assert_eq!((all.report.kernels.len(), all.report.edges.len()), (producers + 1, producers));
        }
    }
}

#[test]
fn many_receive_in_turn_what_one_sends() {
    for (consumers, messages) in [(4, 3_001), (1, 100), (9, 5)] {
        let mut config = outcast::Config { consumers, work: Work::NONE, ..outcast::Config::new(messages) };
        let expected = outcast::reference::receive(&config);
        for (name, scheme) in schemes() {
            config.scheme = scheme;
            let all = outcast::run(&config, &()).unwrap();
            assert_eq!(all.received, expected, "{name}");
            assert_eq!((all.report.kernels.len(), all.report.edges.len()), (consumers + 1, consumers));
        }
    }
}

#[test]
fn bursts_and_work_change_no_message() {
    let work = Work { send: 5, receive: 3, slow: 3, fast: 2, amplitude: 4 };
    let config = incast::Config { work, ..incast::Config::new(200) };
    let plain = incast::reference::receive(&incast::Config { work: Work::NONE, ..config });
    assert_eq!(incast::run(&config, &()).unwrap().received, plain);
}

#[test]
fn one_of_a_thousand_passes() {
    let small = chasing::Config { lines: 1_000, nops: 0, ..chasing::Config::new(6_000) };
    let variants = [
        small,
        chasing::Config { segment: 1, copies: 0, filters: 3, ..small },
        chasing::Config { all: true, messages: 500, segment: 7, copies: 2, delay: Duration::from_nanos(100), ..small },
    ];
    for (variant, mut config) in variants.into_iter().enumerate() {
        let expected = chasing::reference::chase(&config).unwrap();
        assert_eq!(expected.messages, [6, 6, 500][variant]);
        for (name, scheme) in schemes() {
            config.scheme = scheme;
            let chased = chasing::run(&config, &()).unwrap();
            assert_eq!(chased.passed, expected, "{name}, variant {variant}");
            let edges = 3 + config.copies;
            assert_eq!((chased.report.kernels.len(), chased.report.edges.len()), (edges + 1, edges));
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |result: Result<(), Error>, told: &str| match result {
        Err(Error::Refused(reason)) => assert!(reason.contains(told), "{reason}"),
        other => panic!("{other:?}"),
    };
    refused(incast::run(&incast::Config { producers: 0, ..incast::Config::new(1) }, &()).map(drop), "producers");
    refused(outcast::run(&outcast::Config { consumers: 0, ..outcast::Config::new(1) }, &()).map(drop), "consumers");
    for (lines, segment) in [(10, 0), (10, 11), (usize::MAX, 4)] {
        let config = chasing::Config { lines, segment, ..chasing::Config::new(1) };
        refused(chasing::run(&config, &()).map(drop), &format!("{lines}"));
    }
}

/// Stops the run before it begins.
struct Impatient;

impl Watch for Impatient {
    fn started(&self, stopper: Stopper) {
        stopper.stop();
    }
}

#[test]
fn runs_without_an_end_are_stopped() {
    let all = u64::MAX;
    assert_eq!(incast::run(&incast::Config::new(all), &Impatient).unwrap().received.messages, 0);
    let received = outcast::run(&outcast::Config::new(all), &Impatient).unwrap().received;
    assert_eq!(received.iter().map(|received| received.messages).sum::<u64>(), 0);
    let chased = chasing::run(&chasing::Config { lines: 100, ..chasing::Config::new(all) }, &Impatient).unwrap();
    assert_eq!(chased.passed.messages, 0);
}
