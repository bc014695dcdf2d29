//! Packets are verified and sorted as the sequential programs do, from captures and made up.

use std::fs;
use std::path::Path;

use thalweg::{Scheme, Stopper};
use thalweg_apps::frames::synthetic;
use thalweg_apps::packets::{From, Verdict};
use thalweg_apps::{Error, Watch, firewall, pipeline};

/// Every scheme, with one, two and four workers where it lets one choose.
fn schemes() -> impl Iterator<Item = (String, Scheme)> {
    Scheme::names().flat_map(|name| {
        [1, 2, 4].map(|workers| (format!("{name}, {workers} workers"), Scheme::named(name).unwrap().workers(workers)))
    })
}

/// A pcap file of these frames.
fn capture(path: &Path, frames: &[Vec<u8>]) {
    let mut bytes = Vec::new();
    synthetic::capture(0, &mut bytes).unwrap();
    for frame in frames {
        let length = frame.len() as u32;
        bytes.extend([0, 0, length, length].into_iter().flat_map(u32::to_le_bytes));
        bytes.extend(frame);
    }
    fs::write(path, bytes).unwrap();
}

/// Frames of all kinds, some of them with wrong checksums.
fn frames() -> Vec<Vec<u8>> {
    let mut random = fastrand::Rng::with_seed(8);
    let any = |random: &mut fastrand::Rng| {
        let hosts = [random.u8(1..5), random.u8(1..5)].map(|host| [10, 0, 0, host]);
        let payload = vec![random.u8(..); random.usize(..80)];
        let mut frame = match random.u8(..6) {
            0 => synthetic::udp(hosts[0], hosts[1], 53, 53, &payload),
            1 => synthetic::udp6(7, 53, &payload),
            _ => synthetic::tcp(hosts[0], hosts[1], 4_000, 80, &payload),
        };
        match random.u8(..8) {
            0 => frame.truncate(random.usize(..frame.len())),
            1 => frame[14 + random.usize(..20)] ^= 0x10,
            2 => *frame.last_mut().unwrap() ^= 1,
            _ => {}
        }
        frame
    };
    (0..600).map(|_| any(&mut random)).collect()
}

#[test]
fn the_pipeline_equals_the_reference_under_every_scheme() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("capture");
    capture(&path, &frames());
    for from in [From::Made(0), From::Made(100), From::Capture(path)] {
        let mut config = pipeline::Config::new(from);
        let expected = pipeline::reference::verify(&config).unwrap();
        if let From::Capture(_) = config.from {
            assert!(expected.tcp_right > 150 && expected.tcp_wrong > 20 && expected.ip_wrong > 20, "{expected:?}");
            assert!(expected.partial > 20 && expected.others > 20, "{expected:?}");
        }
        for (name, scheme) in schemes() {
            for slots in [None, Some(2), Some(420)] {
                (config.scheme, config.slots) = (scheme, slots);
                let verified = pipeline::run(&config, &()).unwrap();
                assert!(verified.damage.is_none());
                let graph = (verified.report.kernels.len(), verified.report.edges.len());
                assert_eq!(graph, (4, if slots.is_none() { 3 } else { 4 }), "as in table 1, with the way back");
                assert_eq!(verified.tally, expected, "{name}, {slots:?}");
            }
        }
    }
}

#[test]
fn the_firewall_equals_the_reference_under_every_scheme() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("capture");
    capture(&path, &frames());
    for from in [From::Made(0), From::Made(1_600), From::Capture(path)] {
        let mut config = firewall::Config::new(from);
        let expected = firewall::reference::sort(&config).unwrap();
        if config.from == From::Made(1_600) {
            assert_eq!((expected.correct.packets, expected.mistake.packets), (1_400, 200));
        }
        assert_eq!(expected.correct.ip_wrong + expected.correct.tcp_wrong, 0);
        for (name, scheme) in schemes() {
            for (checks, slots) in [(1, Some(420)), (4, Some(16)), (4, None)] {
                (config.scheme, config.checks, config.slots) = (scheme, checks, slots);
                let sorted = firewall::run(&config, &()).unwrap();
                let graph = (sorted.report.kernels.len(), sorted.report.edges.len());
                assert_eq!(graph, (4, if slots.is_none() { 3 } else { 5 }), "as in table 1, with the way back");
                assert_eq!(sorted.sorted, expected, "{name}, {checks}, {slots:?}");
            }
        }
    }
}

#[test]
fn wrong_packets_are_named_with_what_is_there_and_what_should_be() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("capture");
    let mut wrong = synthetic::tcp([10, 0, 0, 1], [10, 0, 0, 2], 80, 4_000, b"some data");
    let expected = u16::from_be_bytes([wrong[50], wrong[51]]);
    wrong[50..52].copy_from_slice(&[0xab, 0xcd]);
    let right = synthetic::tcp([10, 0, 0, 2], [10, 0, 0, 1], 4_000, 80, b"other data");
    capture(&path, &[right.clone(), wrong.clone(), right, wrong]);
    let tally = pipeline::run(&pipeline::Config::new(From::Capture(path)), &()).unwrap().tally;
    let named = tally.wrong[0];
    assert_eq!((tally.wrong.len(), named.number, named.ip), (2, 2, Verdict::Right));
    assert_eq!(named.tcp, Verdict::Wrong { found: 0xabcd, expected });
    assert_eq!(named.ends, [([10, 0, 0, 1].into(), 80), ([10, 0, 0, 2].into(), 4_000)]);
    assert_eq!(tally.only_source(), Some([10, 0, 0, 1].into()));
}

#[test]
fn what_is_no_capture_is_refused_and_one_that_is_cut_off_is_read_up_to_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("capture");
    fs::write(&path, "no capture").unwrap();
    let refused = pipeline::run(&pipeline::Config::new(From::Capture(path.clone())), &());
    assert!(matches!(refused, Err(Error::Refused(reason)) if reason.contains("at byte 0")));
    assert!(firewall::run(&firewall::Config::new(From::Capture(path.clone())), &()).is_err());
    let mut none = pipeline::Config::new(From::Made(1));
    none.slots = Some(0);
    assert!(matches!(pipeline::run(&none, &()), Err(Error::Refused(_))));

    capture(&path, &frames()[..10]);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    for slots in [None, Some(3)] {
        let mut config = pipeline::Config::new(From::Capture(path.clone()));
        config.slots = slots;
        let verified = pipeline::run(&config, &()).unwrap();
        assert_eq!((verified.tally.packets, verified.damage.unwrap().records), (9, 10));
    }
    let sorted = firewall::run(&firewall::Config::new(From::Capture(path)), &()).unwrap();
    assert_eq!(
        (sorted.sorted.correct.packets + sorted.sorted.mistake.packets, sorted.damage.unwrap().records),
        (9, 10)
    );
}

/// Stops the run before it begins.
struct Impatient;

impl Watch for Impatient {
    fn started(&self, stopper: Stopper) {
        stopper.stop();
    }
}

#[test]
fn a_run_that_is_stopped_ends_though_packets_go_round() {
    for slots in [None, Some(420)] {
        let mut config = pipeline::Config::new(From::Made(u64::MAX));
        config.slots = slots;
        assert_eq!(pipeline::run(&config, &Impatient).unwrap().tally.packets, 0);
    }
    assert_eq!(
        firewall::run(&firewall::Config::new(From::Made(u64::MAX)), &Impatient).unwrap().sorted.correct.packets,
        0
    );
}
