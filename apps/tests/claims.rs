//! What a header says is not believed: memory that is asked for grows with what was read.
//!
//! Alone in its program, because it counts the memory of the process.
#![expect(clippy::disallowed_types, reason = "an allocator must not enter an engine, which allocates itself")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::ptr;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use image::{DynamicImage, ImageFormat};
use thalweg_apps::edges::{self, Direction};
use thalweg_apps::fm::receiver;
use thalweg_apps::frames::Capture;
use thalweg_apps::pictures::Picture;
use thalweg_apps::{Error, fft, filterbank, fir, fm, tde};

/// Bytes in use, and the most there were.
static USED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
/// No test here needs more in one piece: who asks for it, believed a header.
const LIMIT: usize = 1 << 30;

/// The system's allocator, counted.
struct Counting;

// SAFETY: every call goes to the system's allocator as it came, so its promises are the system's; null says that there is no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > LIMIT {
            return ptr::null_mut();
        }
        MOST.fetch_max(USED.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller's promises are those that the system asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above; the pointer is the system's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// What `run` gives, which takes little memory.
fn modest<T>(what: &str, run: impl FnOnce() -> T) -> T {
    let before = USED.load(Relaxed);
    MOST.store(before, Relaxed);
    let given = run();
    let most = MOST.load(Relaxed) - before;
    assert!(most < 48 << 20, "{what} took {most} bytes");
    given
}

fn refused<T>(given: Result<T, Error>) -> String {
    match given {
        Err(Error::Refused(reason)) => reason,
        Err(other) => panic!("{other:#}"),
        Ok(_) => panic!("not refused"),
    }
}

fn matrices(dir: &Path) {
    let path = dir.join("matrix.mtx");
    for (header, told) in [
        ("4294967295 4294967295 2", "line 2: a matrix of 4294967295 rows; with 2 entries, at most 1048608 are read"),
        ("18446744073709551615 18446744073709551615 18446744073709551615", "at most 4294967295 are read"),
        ("4000000000 4000000000 4000000000", "its header says 4000000000; is it cut off?"),
        ("2 2 18446744073709551615", "is it cut off?"),
    ] {
        for symmetry in ["general", "symmetric"] {
            fs::write(&path, format!("%%MatrixMarket matrix coordinate real {symmetry}\n{header}\n1 2 0.5\n")).unwrap();
            let input = edges::Input::new(&path, Direction::OneWay);
            let reason = modest(header, || refused(edges::read(&input, &())));
            assert!(reason.contains(told), "{reason}");
        }
    }
}

/// Chunks of a WAV file with 64 samples of silence, and what its header says instead.
fn wav(rate: u32, channels: u16, junk: u32, length: u32) -> Vec<u8> {
    let format =
        [&[1, 0][..], &channels.to_le_bytes(), &rate.to_le_bytes(), &[0; 4], &(2 * channels).to_le_bytes(), &[16, 0]];
    let junk = if junk == 0 { Vec::new() } else { [&b"JUNK"[..], &junk.to_le_bytes()].concat() };
    let data = [&b"data"[..], &length.to_le_bytes(), &[0; 128]].concat();
    [b"RIFF\xff\xff\xff\xffWAVE", &junk[..], b"fmt \x10\0\0\0", &format.concat(), &data].concat()
}

fn sounds(dir: &Path) {
    let (path, sound) = (dir.join("claims.wav"), dir.join("sound.wav"));
    for (what, file) in [
        ("a chunk of 4 GiB", wav(48_000, 1, u32::MAX - 1, 128)),
        ("2 GiB of samples", wav(48_000, 1, 0, 0x7fff_0000)),
        ("samples without an end, at any rate", wav(u32::MAX, 2, 0, u32::MAX)),
        ("many channels", wav(48_000, 32_767, 0, u32::MAX)),
        ("no length", wav(u32::MAX, 1, 0, 0)),
    ] {
        fs::write(&path, file).unwrap();
        // Whatever they say: some of these files are good.
        modest(what, || {
            let _ = fm::run(&fm::Config::of_files(&path, &sound), &());
            let _ = receiver::run(&receiver::Config::new(&path, &sound), &());
            let _ = fir::run(&fir::Config::new(fir::Input::File { path: path.clone(), raw: None }), &());
            let input = filterbank::Input::File { path: path.clone(), raw: None };
            let _ = filterbank::run(&filterbank::Config::new(input, Some(sound.clone())), &());
            let input = tde::Input::File { path: path.clone(), raw: None };
            let _ = tde::run(&tde::Config::new(input, Some(sound.clone())), &());
            let input = fft::Input::File { path: path.clone(), raw: None };
            let _ = fft::run(&fft::Config::new(input, Some(dir.join("sound.png"))), &());
        });
    }
}

fn captures() {
    let section =
        [&[0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..], &[0xff; 8], &[28, 0, 0, 0]];
    // A block of 16 MiB of which a few bytes come, and a frame of 256 KiB in a file that says it records 2 GiB of each.
    let block = [&section.concat()[..], &[6, 0, 0, 0], &(16_u32 << 20).to_le_bytes(), &[7; 100]].concat();
    let header =
        [&0xa1b2_c3d4_u32.to_le_bytes()[..], &[2, 0, 4, 0], &[0; 8], &(1_u32 << 31).to_le_bytes(), &[1, 0, 0, 0]];
    let frame =
        [&header.concat()[..], &[0; 8], &(256_u32 << 10).to_le_bytes(), &(1_u32 << 31).to_le_bytes(), &[7; 9]].concat();
    for (what, file, most) in [("a block", block, 1 << 20), ("a frame", frame, 1 << 20)] {
        let before = USED.load(Relaxed);
        MOST.store(before, Relaxed);
        let mut capture = Capture::open(&file[..]).unwrap();
        let damage = std::iter::from_fn(|| capture.next(Default::default())).find_map(Result::err).unwrap();
        assert!(damage.reason.starts_with("the file ends after"), "{damage}");
        let used = MOST.load(Relaxed) - before;
        assert!(used < most, "{what}: {used} bytes");
    }
}

/// The check of a PNG chunk.
fn crc(bytes: &[u8]) -> [u8; 4] {
    let step = |crc: u32, _| crc >> 1 ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
    (!bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))).to_be_bytes()
}

fn pictures() {
    let small = |format| {
        let mut file = Cursor::new(Vec::new());
        DynamicImage::new_rgb8(16, 16).write_to(&mut file, format).unwrap();
        file.into_inner()
    };
    let mut png = small(ImageFormat::Png);
    png[16..24].copy_from_slice(&[0, 0, 0x40, 0, 0, 0, 0x40, 0]);
    let check = crc(&png[12..29]);
    png[29..33].copy_from_slice(&check);
    let mut jpeg = small(ImageFormat::Jpeg);
    let frame = jpeg.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].copy_from_slice(&[0x40, 0, 0x40, 0]);
    for file in [png.clone(), jpeg] {
        let reason = modest("a picture", || Picture::decode(&file).unwrap_err());
        assert!(reason.contains("16384 x 16384 pixels takes 805306368 bytes, and a file of this length"), "{reason}");
    }
    png[16..24].copy_from_slice(&[0, 1, 0, 0, 0, 1, 0, 0]);
    let check = crc(&png[12..29]);
    png[29..33].copy_from_slice(&check);
    let reason = modest("a larger one", || Picture::decode(&png).unwrap_err());
    assert!(reason.contains("at most 1073741824 are read; scale it down"), "{reason}");
}

/// One test: what others allocate would be counted with it.
#[test]
fn no_header_reserves_memory() {
    let dir = tempfile::tempdir().unwrap();
    captures();
    pictures();
    sounds(dir.path());
    matrices(dir.path());
}
