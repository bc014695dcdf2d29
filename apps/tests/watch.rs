//! Who watches a run is told what is read, and can end it.

use std::fs;
use std::path::PathBuf;

use thalweg::{End, Stopper};
use thalweg_apps::{Watch, fm, frames, search};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::Relaxed;

/// Counts what it is told, and stops the run before it begins if it is to.
#[derive(Default)]
struct Watcher {
    starts: AtomicU64,
    bytes: AtomicU64,
    stops: bool,
}

impl Watcher {
    fn impatient() -> Self {
        Self { stops: true, ..Self::default() }
    }

    /// What was read of a run that was told to start once.
    fn bytes(&self) -> u64 {
        assert_eq!(self.starts.load(Relaxed), 1);
        self.bytes.load(Relaxed)
    }
}

impl Watch for Watcher {
    fn read(&self, bytes: u64) {
        assert_eq!(self.starts.load(Relaxed), 1, "the start is told before what is read");
        self.bytes.fetch_add(bytes, Relaxed);
    }

    fn started(&self, stopper: Stopper) {
        self.starts.fetch_add(1, Relaxed);
        if self.stops {
            stopper.stop();
        }
    }
}

/// `in` and `out` in a directory.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn size(&self) -> u64 {
        fs::metadata(self.path("in")).unwrap().len()
    }
}

#[test]
fn every_byte_of_a_search_is_told() {
    let place = Folder::new();
    fs::write(place.path("in"), b"word\n".repeat(200_000)).unwrap();
    let config = search::Config::new("word", vec![place.path("in")]);
    let watcher = Watcher::default();
    search::run(&config, &watcher).unwrap();
    assert_eq!(watcher.bytes(), place.size());

    let watcher = Watcher::impatient();
    let found = search::run(&config, &watcher).unwrap();
    assert_eq!((watcher.bytes(), found.matches, found.report.end), (0, 0, End::Stopped));
}

#[test]
fn every_byte_of_a_capture_is_told() {
    let place = Folder::new();
    frames::synthetic::capture(2_000, &mut fs::File::create(place.path("in")).unwrap()).unwrap();
    let mut config = frames::Config::new(place.path("in"), place.path("out"));
    // Of frames that are left out too.
    config.rules.drop.push("ip".parse().unwrap());
    let watcher = Watcher::default();
    frames::run(&config, &watcher).unwrap();
    assert_eq!(watcher.bytes(), place.size());

    let watcher = Watcher::impatient();
    let forwarded = frames::run(&config, &watcher).unwrap();
    assert_eq!((watcher.bytes(), forwarded.counts.frames, forwarded.report.end), (0, 0, End::Stopped));
}

#[test]
fn the_bytes_of_samples_are_told_now_and_then() {
    let place = Folder::new();
    fm::synthetic::signal(300_000, &place.path("in")).unwrap();
    let config = fm::Config::of_files(place.path("in"), place.path("out"));
    let watcher = Watcher::default();
    fm::run(&config, &watcher).unwrap();
    // What comes after the last time is not told.
    assert!((place.size() / 2..=place.size()).contains(&watcher.bytes()), "{}", watcher.bytes());

    let watcher = Watcher::impatient();
    let received = fm::run(&config, &watcher).unwrap();
    assert_eq!((watcher.bytes(), received.sound, received.report.end), (0, 0, End::Stopped));
}
