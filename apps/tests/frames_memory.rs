//! The forwarder allocates for batches, not for frames.
//!
//! Alone in its program, because it counts all allocations of the process.
#![expect(clippy::disallowed_types, reason = "an allocator must not enter an engine, which allocates itself")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use thalweg::Scheme;
use thalweg_apps::frames::{Config, run, synthetic};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, counted.
struct Counting;

// SAFETY: every call goes to the system's allocator as it came, so its promises are the system's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller's promises are those that the system asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above; the pointer is the system's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// A pcapng file of one interface and `frames` frames, each with a comment behind it.
fn pcapng(frames: u64) -> Vec<u8> {
    let block = |kind: u32, content: &[u8]| {
        let length = (12 + content.len() as u32).to_le_bytes();
        [&kind.to_le_bytes(), &length, content, &length].concat()
    };
    let section = [&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
    let mut file = [block(0x0a0d_0d0a, &section), block(1, &[1, 0, 0, 0, 0, 0, 0, 0])].concat();
    let frame = synthetic::udp([10, 0, 0, 1], [10, 0, 0, 2], 4_000, 53, b"ab");
    let length = (frame.len() as u32).to_le_bytes();
    let comment = [1, 0, 4, 0, b'n', b'o', b't', b'e', 0, 0, 0, 0];
    let content = [&[0; 12][..], &length, &length, &frame, &comment].concat();
    for _ in 0..frames {
        file.extend(block(6, &content));
    }
    file
}

#[test]
fn nothing_is_allocated_for_a_frame() {
    let dir = tempfile::tempdir().unwrap();
    let mut pcap = Vec::new();
    synthetic::capture(60_000, &mut pcap).unwrap();
    for (name, capture) in [("pcap", pcap), ("pcapng", pcapng(60_000))] {
        fs::write(dir.path().join("in"), capture).unwrap();
        let mut config = Config::new(dir.path().join("in"), dir.path().join("out"));
        config.rules.drop.push("port 80".parse().unwrap());
        config.rules.rewrite.source.push("10.0.0.1=192.168.0.1".parse().unwrap());
        config.scheme = Scheme::default().workers(2);
        let before = ALLOCATIONS.load(Relaxed);
        let summary = run(&config, &()).unwrap();
        let allocations = ALLOCATIONS.load(Relaxed) - before;
        assert!(summary.counts.rewritten > 1_000 && summary.counts.frames == 60_000);
        // What a graph and its batches take once: some hundreds. A new buffer for each batch would already be too much.
        assert!(allocations < 1_500, "{allocations} allocations for a {name} file of 60,000 frames");
    }
}
