//! What comes at an interface is forwarded as it comes. It takes the right CAP_NET_RAW; without it the test says that it is skipped.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::net::UdpSocket;
use std::path::Path;

use thalweg::{End, Stopper};
use thalweg_apps::frames::{Batch, Capture, Config, run};
use thalweg_apps::{Error, Halt, Watch};
use thalweg_sync::sync::{Mutex, MutexGuard, PoisonError};
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

/// Ends the run when it is told to.
struct Watcher {
    halt: Halt,
    stopper: Mutex<Option<Stopper>>,
}

impl Watcher {
    fn stopper(&self) -> Option<Stopper> {
        lock(&self.stopper).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch for Watcher {
    fn halt(&self) -> Option<Halt> {
        Some(self.halt.clone())
    }

    fn started(&self, stopper: Stopper) {
        *lock(&self.stopper) = Some(stopper);
    }
}

/// The frames of a capture that may be written at this moment.
fn frames(path: &Path) -> Vec<Vec<u8>> {
    let Some(mut capture) = File::open(path).ok().and_then(|file| Capture::open(file).ok()) else { return Vec::new() };
    let mut frames = Vec::new();
    while let Some(Ok(batch)) = capture.next(Batch::default()) {
        frames.extend(batch.records().filter_map(|record| record.frame.map(<[u8]>::to_vec)));
    }
    frames
}

/// Tries until it holds, for half a minute at most.
fn comes(mut holds: impl FnMut() -> bool) -> bool {
    (0..3_000).any(|_| {
        let holds = holds();
        if !holds {
            thread::sleep(Duration::from_millis(10));
        }
        holds
    })
}

#[test]
fn what_comes_at_the_loopback_is_forwarded_as_it_comes() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.pcap");
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = receiver.local_addr().unwrap().port();
    let mut config = Config::new("", &out);
    config.interface = Some("lo".to_owned());
    config.rules.keep.push(format!("udp and dst port {port}").parse().unwrap());
    let watcher = Watcher { halt: Halt::new().unwrap(), stopper: Mutex::new(None) };

    let ran = Mutex::new(None);
    thread::scope(|scope| {
        scope.spawn(|| *lock(&ran) = Some(run(&config, &watcher)));
        // It listens before it starts.
        assert!(comes(|| watcher.stopper().is_some() || lock(&ran).is_some()));
        if let Some(stopper) = watcher.stopper() {
            for number in 0..100_u32 {
                sender.send_to(&number.to_be_bytes().repeat(10), ("127.0.0.1", port)).unwrap();
                // Each before the next: what comes is not held back until more does.
                if number < 5 {
                    assert!(comes(|| frames(&out).len() > number as usize), "frame {number} is held back");
                }
            }
            assert!(comes(|| frames(&out).len() >= 100));
            stopper.stop();
            watcher.halt.halt();
        }
    });
    let summary = match lock(&ran).take().unwrap() {
        Err(Error::Refused(reason)) if reason.contains("CAP_NET_RAW") => {
            eprintln!("skipped: {reason}");
            return;
        }
        ran => ran.unwrap(),
    };
    assert!(summary.damage.is_none() && summary.report.end == End::Stopped && summary.lost == 0, "{summary:?}");
    assert_eq!(summary.counts.kept, 100, "each once, though a loopback shows them twice");
    let written = frames(&out);
    let payload = |frame: &Vec<u8>| frame[14 + 20 + 8..].to_vec();
    let expected: Vec<Vec<u8>> = (0..100_u32).map(|number| number.to_be_bytes().repeat(10)).collect();
    assert_eq!(written.iter().map(payload).collect::<Vec<_>>(), expected);
    // A file in nanoseconds, with times.
    let file = fs::read(&out).unwrap();
    assert_eq!(file[..4], 0xa1b2_3c4d_u32.to_le_bytes());
    assert!(u32::from_le_bytes(file[24..28].try_into().unwrap()) > 1_700_000_000, "seconds since 1970");
}

#[test]
fn an_interface_that_is_not_there_is_named_with_those_that_are() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["no such one", "", "lo\0", "../lo"] {
        let mut config = Config::new("", dir.path().join("out.pcap"));
        config.interface = Some(name.to_owned());
        match run(&config, &()) {
            Err(Error::Refused(reason)) => assert!(reason.contains("lo") && reason.contains("there"), "{reason}"),
            other => panic!("{other:?}"),
        }
        assert!(!dir.path().join("out.pcap").exists());
    }
}
