//! The targets of the fuzzers, with inputs that are good but for some changes, by a seed.
//!
//! THALWEG_FUZZ=1000000 tries so many for each target; in a release build that takes a minute or so for most.

use std::io::Cursor;

use image::{DynamicImage, ImageFormat};
use thalweg_apps::frames::synthetic;
use thalweg_apps::fuzz::TARGETS;
use thalweg_sync::time::{self, Duration};

/// Inputs for each target.
const INPUTS: usize = 2_000;

fn wav(tag: u16, bits: u16, channels: u16, length: u32, kind: &[u8; 4]) -> Vec<u8> {
    let align = channels * bits / 8;
    let fields = [tag, channels, 8_000, 0, 0, 0, align, bits].map(u16::to_le_bytes).concat();
    let long = [&b"ds64\x1c\0\0\0"[..], &[1; 28]].concat();
    let long = if kind == b"RF64" { long } else { b"JUNK\x03\0\0\0abc\0".to_vec() };
    let format = [&b"fmt \x10\0\0\0"[..], &fields].concat();
    [kind, &[0; 4][..], b"WAVE", &long, &format, b"data", &length.to_le_bytes(), &[7; 96]].concat()
}

fn pcapng(frame: &[u8]) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let body = [body, &[0; 3][..(4 - body.len() % 4) % 4]].concat();
        let length = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &length, &body, &length].concat()
    };
    let section = [&[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..], &[0xff; 8]].concat();
    let length = (frame.len() as u32).to_le_bytes();
    let enhanced = [&[0; 12][..], &length, &length, frame].concat();
    let simple = [&length, frame].concat();
    let interface = [1, 0, 0, 0, 0, 0, 1, 0];
    [block(0x0a0d_0d0a, &section), block(1, &interface), block(6, &enhanced), block(3, &simple)].concat()
}

/// Good inputs of a target.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let udp = synthetic::udp([10, 0, 0, 1], [10, 0, 0, 2], 5_353, 53, b"hello");
    let udp6 = synthetic::udp6(2, 53, b"hello");
    let texts = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    match name {
        "captures" => {
            let mut pcap = Vec::new();
            synthetic::capture(6, &mut pcap).unwrap();
            vec![pcap, pcapng(&udp)]
        }
        "frames" => {
            let header = &udp[..14];
            let tagged = [&udp[..12], &[0x81, 0, 0, 7], &udp[12..]].concat();
            let labelled = [&udp[..12], &[0x88, 0x47, 0, 0, 0x11, 64], &udp[14..]].concat();
            let session = [&udp[..12], &[0x88, 0x64, 0x11, 0, 0, 1, 0, 40, 0, 0x21], &udp[14..]].concat();
            let arp =
                [&udp[..12], &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1], &udp[6..12], &[10, 0, 0, 1], &udp[..6], &[10, 0, 0, 2]];
            let mut error = [header, &udp[14..34], &[3, 1, 0, 0, 0, 0, 0, 0], &udp[14..]].concat();
            (error[17], error[23]) = (20 + 8 + 33, 1);
            let cooked = [&[0, 0, 0, 1, 0, 6][..], &udp[6..12], &[0, 0, 8, 0], &udp[14..]].concat();
            let with = |link: u8, frame: &[u8]| [&[link], frame].concat();
            let ethernet =
                [&udp, &udp6, &tagged, &labelled, &session, &arp.concat(), &error].map(|frame| with(0, frame));
            [&ethernet[..], &[with(1, &cooked), with(3, &udp[14..]), with(4, &[&[2, 0, 0, 0], &udp[14..]].concat())]]
                .concat()
        }
        "filters" => texts(&[
            "tcp and (src port 80 or 443) and not host 10.0.0.1",
            "ether src 2:0:0:0:0:1 || vlan 7 && net ::/0",
        ]),
        "addresses" => {
            texts(&["10.0.0.1=192.168.0.1", "02:00:00:00:00:01=02:00:00:00:00:02", "fd00::1=::", "[!a-c]*.[ch]?"])
        }
        "wav" => vec![
            wav(1, 16, 2, 96, b"RIFF"),
            wav(3, 32, 1, u32::MAX, b"RF64"),
            wav(1, 24, 1, 0, b"RIFF"),
            wav(3, 64, 3, 96, b"BW64"),
            wav(1, 8, 1, 9, b"RIFF"),
        ],
        "networks" => texts(&[
            "# FromNodeId\tToNodeId\n1\t2\n2\t3\n3\t1\n",
            "SRC,DST\n1,2\n2,3\n",
            "%%MatrixMarket matrix coordinate pattern symmetric\n%\n3 3 2\n1 2\n2 3\n",
        ]),
        "pictures" => {
            let image = DynamicImage::new_rgb8(5, 4);
            let mut files = Vec::new();
            for (image, format) in [
                (image.clone(), ImageFormat::Png),
                (image.clone(), ImageFormat::Jpeg),
                (DynamicImage::ImageLumaA16(image.to_luma_alpha16()), ImageFormat::Png),
            ] {
                let mut file = Cursor::new(Vec::new());
                image.write_to(&mut file, format).unwrap();
                files.push(file.into_inner());
            }
            files
        }
        "records" => texts(&["pear\napple\n\nfig", "\u{1}\0\0\0\n\n\n\n"]),
        "search" => texts(&["\u{1}aba abab Ababa\nbaB", "\0aaaaaaaaaa"]),
        _ => panic!("no seeds for {name}"),
    }
}

/// A good input, with some changes.
fn mutated(random: &mut fastrand::Rng, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut data = random.choice(seeds).unwrap().clone();
    for _ in 0..random.usize(0..6) {
        let at = random.usize(0..=data.len());
        let end = random.usize(at..=data.len().min(at + 16));
        match random.u8(0..8) {
            0 => data.truncate(at),
            1 => drop(data.drain(at..end)),
            2 => {
                let again = data[at..end].to_vec();
                data.splice(at..at, again);
            }
            3 => {
                let other = random.choice(seeds).unwrap();
                let from = random.usize(0..=other.len());
                data.splice(at..end, other[from..].iter().copied().take(16));
            }
            4 => data.splice(at..at, (0..random.usize(0..9)).map(|_| random.u8(..)).collect::<Vec<_>>()).for_each(drop),
            5 if at < data.len() => data[at] ^= 1 << random.u8(0..8),
            _ if at < data.len() => data[at] = *random.choice(&[0, 1, 0x7f, 0x80, 0xff, b'\n', b' ', b'9']).unwrap(),
            _ => {}
        }
    }
    data
}

#[test]
fn no_bytes_break_a_promise() {
    let inputs = std::env::var("THALWEG_FUZZ").map_or(INPUTS, |inputs| inputs.parse().unwrap());
    let only = std::env::var("THALWEG_FUZZ_TARGET").ok();
    for (name, target) in TARGETS.into_iter().filter(|(name, _)| only.as_deref().is_none_or(|only| only == *name)) {
        let (seeds, start) = (seeds(name), time::now());
        for seed in 0..inputs as u64 {
            let data = mutated(&mut fastrand::Rng::with_seed(seed), &seeds);
            let kept = data.clone();
            let tried = std::panic::catch_unwind(|| target(&data));
            assert!(tried.is_ok(), "{name}, seed {seed}: \"{}\"", kept.escape_ascii());
        }
        if start.elapsed() > Duration::from_secs(5) {
            eprintln!("{name}: {inputs} inputs in {:.0?}", start.elapsed());
        }
    }
}
