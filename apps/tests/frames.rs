//! The forwarder writes what the sequential program writes, from every kind of capture, whole or damaged.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use thalweg::Scheme;
use thalweg_apps::Error;
use thalweg_apps::frames::{Batch, Capture, Config, Record, Rewrite, Rules, reference, run, synthetic};
#[cfg(unix)]
use thalweg_sync::thread;

fn rules(keep: &[&str], drop: &[&str]) -> Rules {
    let filters = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    let readdress = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    let rewrite = Rewrite {
        source: readdress(&["10.0.0.1=192.168.0.1", "10.0.0.2=172.16.255.254"]),
        destination: readdress(&["10.0.0.3=192.0.2.3", "fd00::5=2001:db8::5"]),
        source_mac: vec!["02:00:00:00:00:01=02:aa:bb:cc:dd:ee".parse().unwrap()],
        destination_mac: Vec::new(),
    };
    Rules { keep: filters(keep), drop: filters(drop), rewrite }
}

/// A directory for one test; `in` and `out` in it.
struct Folder(tempfile::TempDir);

impl Folder {
    fn with(capture: &[u8]) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::write(place.path("in"), capture).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn config(&self) -> Config {
        Config::new(self.path("in"), self.path("out"))
    }
}

fn made_up(frames: u64) -> Vec<u8> {
    let mut capture = Vec::new();
    synthetic::capture(frames, &mut capture).unwrap();
    capture
}

/// A pcapng block: type, length, content, padding, length again.
fn block(big_endian: bool, kind: u32, content: &[u8]) -> Vec<u8> {
    let word = |word: u32| if big_endian { word.to_be_bytes() } else { word.to_le_bytes() };
    let padding = content.len().next_multiple_of(4) - content.len();
    let length = word((12 + content.len() + padding) as u32);
    [&word(kind), &length, content, &[0; 3][..padding], &length].concat()
}

/// A pcapng file with what such files can have; the byte order changes in the middle.
fn pcapng() -> Vec<u8> {
    let mut file = Vec::new();
    for big_endian in [false, true] {
        let half = |half: u16| if big_endian { half.to_be_bytes() } else { half.to_le_bytes() };
        let word = |word: u32| if big_endian { word.to_be_bytes() } else { word.to_le_bytes() };
        let section = [&word(0x1a2b_3c4d)[..], &half(1), &half(0), &[0xff; 8]].concat();
        file.extend(block(big_endian, 0x0a0d_0d0a, &section));
        let interface = [&half(1)[..], &half(0), &word(0), &half(9), &half(1), &[9, 0, 0, 0], &[0; 4]].concat();
        file.extend(block(big_endian, 1, &interface));
        for index in 0..6_u8 {
            let frame =
                synthetic::udp([10, 0, 0, 1 + index % 3], [10, 0, 0, 3], 4_000, 53, &vec![index; usize::from(index)]);
            let length = word(frame.len() as u32);
            let padded = frame.len().next_multiple_of(4);
            let comment = [&half(1)[..], &half(2), b"hi\0\0", &[0; 4]].concat();
            let mut content = [&word(0), &word(7), &word(u32::from(index)), &length, &length, &frame[..]].concat();
            content.resize(20 + padded, 0);
            content.extend(&comment);
            file.extend(block(big_endian, 6, &content));
        }
        let frame = synthetic::udp6(5, 53, b"simple");
        file.extend(block(big_endian, 3, &[&word(frame.len() as u32)[..], &frame].concat()));
        file.extend(block(big_endian, 0x0bad_cafe, b"unknown!"));
    }
    file
}

/// Forwards with the graph and with the sequential program and expects the same of both; gives the output.
fn forward(place: &Folder, config: &Config) -> Vec<u8> {
    let streamed = run(config, &()).unwrap();
    let mut sequential = config.clone();
    sequential.output = place.path("reference");
    let (counts, damage) = reference(&sequential).unwrap();
    assert_eq!((streamed.counts, streamed.damage), (counts, damage));
    let output = fs::read(&config.output).unwrap();
    assert!(output == fs::read(&sequential.output).unwrap(), "the output differs from the reference");
    output
}

#[test]
fn without_rules_the_output_is_the_input() {
    for capture in [made_up(0), made_up(3_000), pcapng()] {
        let place = Folder::with(&capture);
        assert!(forward(&place, &place.config()) == capture);
    }
}

#[test]
fn equals_the_reference_under_every_scheme() {
    let place = Folder::with(&made_up(5_000));
    let mut config = place.config();
    for rules in [rules(&[], &[]), rules(&["udp and port 53", "vlan", "ip6"], &["host 10.0.0.4"]), rules(&["arp"], &[])]
    {
        config.rules = rules;
        for name in Scheme::names() {
            for workers in 1..=3 {
                config.scheme = Scheme::named(name).unwrap().workers(workers);
                forward(&place, &config);
            }
        }
    }
}

#[test]
fn filters_and_rewriting_do_what_they_say() {
    let place = Folder::with(&made_up(2_000));
    let mut config = place.config();
    config.rules = rules(&["src 10.0.0.1 and udp"], &["port 80"]);
    let summary = run(&config, &()).unwrap();
    let frames = |path: &Path| -> Vec<Vec<u8>> {
        let file = fs::File::open(path).unwrap();
        each_record(file, |record| record.frame.map(<[u8]>::to_vec)).into_iter().flatten().collect()
    };
    // By fixed offsets, which is enough for what `synthetic` makes: a tag is 4 bytes, headers have no options.
    let expected: Vec<_> = frames(&config.input)
        .into_iter()
        .filter_map(|mut frame| {
            let ip = if frame[12..14] == [0x81, 0] { 18 } else { 14 };
            let wanted = frame[ip - 2..ip] == [8, 0]
                && frame[ip + 9] == 17
                && frame[ip + 12..ip + 16] == [10, 0, 0, 1]
                && frame[ip + 22..ip + 24] != [0, 80];
            let to = match frame.get(ip + 16..ip + 20)? {
                [10, 0, 0, 3] => [192, 0, 2, 3],
                other => other.try_into().unwrap(),
            };
            let [from_port, to_port] = [20, 22].map(|at| u16::from_be_bytes([frame[ip + at], frame[ip + at + 1]]));
            let mut made = synthetic::udp([192, 168, 0, 1], to, from_port, to_port, frame.get(ip + 28..)?);
            made[6..12].copy_from_slice(&[0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee]);
            frame.truncate(ip);
            let tag = frame.split_off(12);
            wanted.then(|| [&made[..12], &tag, &made[14..]].concat())
        })
        .collect();
    let forwarded = frames(&config.output);
    assert!(!expected.is_empty() && forwarded == expected);
    assert_eq!(summary.counts.kept, expected.len() as u64);
    assert_eq!(summary.counts.rewritten, expected.len() as u64);
    assert_eq!(summary.counts.frames, 2_000);
}

#[test]
fn one_filter_of_several_is_enough_to_keep_and_to_drop() {
    let kept = |keep: &[&str], drop: &[&str]| {
        let (one, two) = ([10, 0, 0, 8], [10, 0, 0, 7]);
        let frames =
            [synthetic::udp(one, two, 1, 53, b""), synthetic::tcp(one, two, 1, 80, b""), synthetic::udp6(8, 53, b"")];
        let record = |frame: &Vec<u8>| {
            let length = (frame.len() as u32).to_le_bytes();
            [&[0; 8][..], &length, &length, frame].concat()
        };
        let place = Folder::with(&[made_up(0), frames.iter().flat_map(record).collect()].concat());
        let mut config = place.config();
        config.rules = Rules { rewrite: Rewrite::default(), ..rules(keep, drop) };
        run(&config, &()).unwrap();
        let written = fs::read(place.path("out")).unwrap();
        let of_frame = |frame: &Vec<u8>| written.windows(frame.len()).any(|bytes| bytes == frame);
        [0, 1, 2].map(|index| of_frame(&frames[index]))
    };
    assert_eq!(kept(&[], &[]), [true, true, true]);
    assert_eq!(kept(&["ip and udp", "tcp"], &[]), [true, true, false]);
    assert_eq!(kept(&[], &["ip6", "tcp"]), [true, false, false]);
    assert_eq!(kept(&["port 53", "arp"], &["arp", "ip6"]), [true, false, false]);
}

/// Where the records of a capture end, the file header included.
fn boundaries(capture: &[u8]) -> Vec<usize> {
    let mut end = 0;
    each_record(capture, |record| {
        end += record.bytes.len();
        end
    })
}

/// Looks at all records of a good capture.
fn each_record<T>(input: impl Read, mut look: impl FnMut(Record<'_>) -> T) -> Vec<T> {
    let mut capture = Capture::open(input).unwrap();
    let (mut batch, mut seen) = (Batch::default(), Vec::new());
    while let Some(next) = capture.next(batch) {
        batch = next.unwrap();
        seen.extend(batch.records().map(&mut look));
    }
    seen
}

#[test]
fn a_capture_cut_off_at_any_byte_is_forwarded_up_to_there() {
    for capture in [made_up(5), pcapng()] {
        let boundaries = boundaries(&capture);
        assert_eq!(boundaries.last(), Some(&capture.len()));
        for len in 0..capture.len() {
            let place = Folder::with(&capture[..len]);
            let good = boundaries.iter().rposition(|&end| end <= len);
            match (run(&place.config(), &()), good) {
                (Err(Error::Refused(reason)), None) => {
                    assert!(reason.contains("at byte 0"), "{reason}");
                    assert!(!place.path("out").exists(), "nothing is written for what is no capture");
                }
                (Ok(summary), Some(last)) => {
                    let end = boundaries[last];
                    assert!(fs::read(place.path("out")).unwrap() == capture[..end], "cut off at {len}");
                    let damage = summary.damage.map(|damage| (damage.position, damage.records, damage.reason));
                    match damage {
                        None => assert_eq!(len, end),
                        Some((position, records, reason)) => {
                            assert_eq!((position, records), (end as u64, last as u64 + 1));
                            assert!(len > end && reason.contains("the file ends after"), "{reason}");
                        }
                    }
                }
                (other, good) => panic!("cut off at {len} with {good:?}: {other:?}"),
            }
        }
    }
}

/// Gives a few bytes at a time and is interrupted in between.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 += 1;
        if self.1.is_multiple_of(3) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = buffer.len().min(1 + self.1 * 7 % 1_000);
        self.0.read(&mut buffer[..most])
    }
}

#[test]
fn records_of_any_length_come_through_reads_of_any_length() {
    let mut long = pcapng();
    long.extend(block(true, 0x0bad_cafe, &[7; 700_000]));
    long.extend(block(true, 3, &[&300_000_u32.to_be_bytes()[..], &[8; 300_000]].concat()));
    long.extend(pcapng());
    for capture in [made_up(300), long] {
        let expected = each_record(&capture[..], |record| (record.bytes.to_vec(), record.frame.map(<[u8]>::to_vec)));
        let bytes = expected.iter().flat_map(|(bytes, _)| bytes);
        assert!(bytes.eq(&capture));
        let trickled =
            each_record(Trickle(&capture, 0), |record| (record.bytes.to_vec(), record.frame.map(<[u8]>::to_vec)));
        assert!(trickled == expected);
    }
}

/// Gives a record at a time, and the first byte of the next one.
struct Paced<'a> {
    capture: &'a [u8],
    ends: std::vec::IntoIter<usize>,
    given: usize,
}

impl Read for Paced<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let end = self.ends.next().map_or(self.capture.len(), |end| (end + 1).min(self.capture.len()));
        let bytes = &self.capture[self.given..end];
        buffer[..bytes.len()].copy_from_slice(bytes);
        self.given = end;
        Ok(bytes.len())
    }
}

#[test]
fn what_is_there_goes_on_before_more_is_waited_for() {
    let capture = made_up(10);
    let ends = boundaries(&capture);
    let mut paced = Capture::open(Paced { capture: &capture, ends: ends.clone().into_iter(), given: 0 }).unwrap();
    for _ in ends {
        assert_eq!(paced.next(Batch::default()).unwrap().unwrap().records().count(), 1);
    }
    assert!(paced.next(Batch::default()).is_none());
}

/// Gives a capture, and then an error.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::other("on fire")),
            bytes => Ok(bytes),
        }
    }
}

#[test]
fn an_input_that_cannot_be_read_to_its_end_is_damaged() {
    let whole = made_up(3);
    // Between two records, where a file that ends would be whole, and within one.
    for cut in [whole.len(), whole.len() - 1] {
        let mut capture = Capture::open(Failing(&whole[..cut])).unwrap();
        let (mut given, mut damage) = (0, None);
        while let Some(next) = capture.next(Batch::default()) {
            match next {
                Ok(batch) => given += batch.records().map(|record| record.bytes.len()).sum::<usize>(),
                Err(error) => damage = Some(error),
            }
        }
        let damage = damage.expect("it is damaged");
        assert_eq!((damage.position, damage.reason.as_str()), (given as u64, "on fire"));
        assert_eq!(Some(&given), boundaries(&whole).iter().rfind(|&&end| end <= cut));
    }
}

#[test]
fn no_corrupt_byte_makes_it_panic_or_differ_from_the_reference() {
    let mut random = fastrand::Rng::with_seed(9);
    for capture in [made_up(4), pcapng()] {
        for _ in 0..400 {
            let mut corrupt = capture.clone();
            corrupt[random.usize(..capture.len())] ^= 1 << random.u8(..8);
            let place = Folder::with(&corrupt);
            let mut config = place.config();
            config.rules = rules(&["udp"], &[]);
            if Capture::open(&corrupt[..]).is_ok() {
                forward(&place, &config);
            } else {
                assert!(matches!(run(&config, &()), Err(Error::Refused(_))));
            }
        }
    }
}

#[test]
fn corrupt_records_are_refused_with_place_and_reason() {
    let header = made_up(0);
    let record = |length: u32| [&header[..], &[0; 8], &length.to_le_bytes(), &length.to_le_bytes()].concat();
    let mut big_endian_header = header.clone();
    for field in [0..4, 4..6, 6..8, 16..20, 20..24] {
        big_endian_header[field].reverse();
    }
    let big_endian = [&big_endian_header[..], &[0; 8], &[0, 0, 0, 1], &[0, 0, 0, 1], b"x"].concat();
    let section = &pcapng()[..28];
    let mark = 0x1a2b_3c4d_u32.to_be_bytes();
    let big_endian_section = block(true, 0x0a0d_0d0a, &[&mark[..], &[0, 1, 0, 0], &[0xff; 8]].concat());
    let with_block = |kind, content: &[u8]| [section, &block(false, kind, content)].concat();
    for (capture, told) in [
        (b"GIF89a and so on, no capture at all".to_vec(), "not a capture file"),
        // A variant with longer record headers, and a format from before the present one.
        ([&[0x34, 0xcd, 0xb2, 0xa1], &header[4..]].concat(), "pcap variant a1b2cd34"),
        ([&header[..4], &[1, 0], &header[6..]].concat(), "version 1.4"),
        (record(300_000), "300000 bytes"),
        (with_block(2, &[0; 20]), "editcap"),
        ([big_endian_section, block(true, 2, &[0; 20])].concat(), "editcap"),
        (with_block(6, &[0; 20]), "interface 0"),
        (with_block(3, &[0; 4]), "interface 0"),
        // A new section has its own interfaces.
        ([&pcapng()[..], section, &block(false, 3, &[0; 4])].concat(), "0 are described"),
        ([section, &6_u32.to_le_bytes(), &10_u32.to_le_bytes(), &[0; 4]].concat(), "a block of 10 bytes"),
        ([section, &6_u32.to_le_bytes(), &16_u32.to_le_bytes(), &[0; 8]].concat(), "ends with the length 0"),
        // Nobody makes room for what is not believed.
        ([section, &6_u32.to_le_bytes(), &(17_u32 << 20).to_le_bytes(), &[0; 4]].concat(), "a block of 17825792 bytes"),
    ] {
        let place = Folder::with(&capture);
        let reason = match run(&place.config(), &()) {
            Ok(summary) => summary.damage.expect(told).to_string(),
            Err(error) => format!("{error:#}"),
        };
        assert!(reason.contains(told) && reason.contains("at byte"), "{reason}");
    }
    let place = Folder::with(&big_endian);
    assert!(forward(&place, &place.config()) == big_endian);
}

/// Of a file, and of one interface beside an Ethernet: they leave as they came, whatever the rules, and are counted.
#[test]
fn frames_of_other_link_types_pass_and_are_counted() {
    let interface = |link_type: u8| block(false, 1, &[link_type, 0, 0, 0, 0, 0, 0, 0]);
    let enhanced = |interface: u32, frame: &[u8]| {
        let length = (frame.len() as u32).to_le_bytes();
        block(false, 6, &[&interface.to_le_bytes()[..], &[0; 8], &length, &length, frame].concat())
    };
    let simple = block(false, 3, &[&8_u32.to_le_bytes()[..], b"no frame"].concat());
    let mixed = [&pcapng()[..28], &interface(1), &interface(105), &enhanced(1, b"wireless"), &simple].concat();
    let alone = [&pcapng()[..28], &interface(147), &simple].concat();
    let mut raw = made_up(3);
    raw[20] = 147;
    for (capture, frames, foreign) in [(mixed, 1, 1), (alone, 0, 1), (raw, 0, 3)] {
        let place = Folder::with(&capture);
        let mut config = place.config();
        assert!(forward(&place, &config) == capture);
        let counts = run(&config, &()).unwrap().counts;
        assert_eq!((counts.frames, counts.foreign), (frames, foreign));
        config.rules = rules(&["udp"], &[]);
        let counts = run(&config, &()).unwrap().counts;
        assert_eq!((counts.kept, counts.foreign), (0, foreign));
        let mut strict = Capture::open_ethernet(&capture[..]).ok();
        let damage = match &mut strict {
            None => Capture::open_ethernet(&capture[..]).err(),
            Some(strict) => std::iter::from_fn(|| strict.next(Batch::default())).find_map(Result::err),
        };
        assert!(damage.unwrap().reason.contains("only those of Ethernet"));
    }
}

/// What describes names, counts or secrets is passed on by its length, whatever is wrong in it.
#[test]
fn blocks_without_frames_are_passed_on_by_their_length() {
    let no_end = block(false, 4, &[1, 0, 200, 0, 9, 9, 9, 9]);
    let capture = [&pcapng()[..28], &no_end, &block(false, 5, &[]), &pcapng()[..]].concat();
    let place = Folder::with(&capture);
    assert!(forward(&place, &place.config()) == capture);
    assert_eq!(run(&place.config(), &()).unwrap().damage, None);
}

#[test]
fn a_simple_packet_ends_where_the_interface_cuts_it() {
    let interface = block(false, 1, &[1, 0, 0, 0, 45, 0, 0, 0]);
    let simple = |original: u32| block(false, 3, &[&original.to_le_bytes()[..], &[7; 48]].concat());
    let capture = [&pcapng()[..28], &interface, &simple(100), &simple(47), &simple(44)].concat();
    let lengths = each_record(&capture[..], |record| record.frame.map(<[u8]>::len));
    assert_eq!(lengths, [None, None, Some(45), Some(45), Some(44)]);
}

/// Of micro- and nanoseconds, in both byte orders, without and with a frame check sequence.
#[test]
fn every_file_header_is_understood() {
    let little = made_up(0);
    let mut big = little.clone();
    for field in [4..6, 6..8, 16..20, 20..24] {
        big[field].reverse();
    }
    let frame = synthetic::udp([10, 0, 0, 1], [10, 0, 0, 2], 4_000, 53, b"x");
    let length = frame.len() as u32;
    for magic in [0xa1b2_c3d4_u32, 0xa1b2_3c4d] {
        for (mut header, magic, length, upper) in [
            (little.clone(), magic.to_le_bytes(), length.to_le_bytes(), 23),
            (big.clone(), magic.to_be_bytes(), length.to_be_bytes(), 20),
        ] {
            header[..4].copy_from_slice(&magic);
            for check_sequence in [0, 0x44] {
                header[upper] = check_sequence;
                let capture = [&header[..], &[0; 8], &length, &length, &frame].concat();
                let place = Folder::with(&capture);
                assert!(forward(&place, &place.config()) == capture);
                let frames = each_record(&capture[..], |record| record.frame.map(<[u8]>::to_vec));
                assert_eq!(frames, [None, Some(frame.clone())]);
            }
        }
    }
}

/// The sequential program gives all that it has got before it waits for more.
#[test]
#[cfg(unix)]
fn pipes_are_read_and_written_as_they_come() {
    use std::io::Write;

    let place = Folder(tempfile::tempdir().unwrap());
    let config = place.config();
    let made = std::process::Command::new("mkfifo").args([&config.input, &config.output]).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: there is no mkfifo on this machine");
        return;
    }
    // Small enough for every pipe.
    let capture = pcapng();
    let (first, second) = capture.split_at(boundaries(&capture)[4]);
    thread::scope(|scope| {
        let sequential = scope.spawn(|| reference(&config).unwrap());
        let mut input = fs::OpenOptions::new().write(true).open(&config.input).unwrap();
        input.write_all(first).unwrap();
        let mut output = fs::File::open(&config.output).unwrap();
        let mut forwarded = vec![0; first.len()];
        output.read_exact(&mut forwarded).unwrap();
        input.write_all(second).unwrap();
        drop(input);
        output.read_to_end(&mut forwarded).unwrap();
        assert!(forwarded == capture);
        assert_eq!(sequential.join().unwrap().1, None);
    });
    thread::scope(|scope| {
        let streamed = scope.spawn(|| run(&config, &()).unwrap());
        fs::write(&config.input, &capture).unwrap();
        assert!(fs::read(&config.output).unwrap() == capture);
        assert_eq!(streamed.join().unwrap().damage, None);
    });
}

#[test]
fn the_length_of_a_section_becomes_unknown() {
    let capture = pcapng();
    let mut with_length = capture.clone();
    with_length[16..24].copy_from_slice(&1_000_u64.to_le_bytes());
    let place = Folder::with(&with_length);
    assert!(forward(&place, &place.config()) == capture);
}

#[test]
fn the_input_is_never_the_output() {
    let place = Folder::with(&made_up(3));
    let config = Config::new(place.path("in"), place.path("in"));
    assert!(matches!(run(&config, &()), Err(Error::Refused(_))));
    // Nor by another name.
    fs::hard_link(place.path("in"), place.path("out")).unwrap();
    assert!(matches!(run(&place.config(), &()), Err(Error::Refused(_))));
    assert!(fs::read(place.path("in")).unwrap() == made_up(3));
}

#[test]
#[cfg(target_os = "linux")]
fn an_output_that_is_full_is_an_error() {
    // One frame waits in the buffer until it is flushed, many do not fit.
    for frames in [1, 5_000] {
        let place = Folder::with(&made_up(frames));
        let config = Config::new(place.path("in"), "/dev/full");
        for error in [run(&config, &()).unwrap_err(), reference(&config).unwrap_err()] {
            let told = format!("{error:#}");
            assert!(told.starts_with("cannot write /dev/full: "), "{told}");
            let Error::File { error, .. } = error else { panic!("{told}") };
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
    }
}

/// Keeps what stops the run.
#[cfg(target_os = "linux")]
#[derive(Default)]
struct Stops(thalweg_sync::sync::Mutex<Option<thalweg::Stopper>>);

#[cfg(target_os = "linux")]
impl thalweg_apps::Watch for Stops {
    fn started(&self, stopper: thalweg::Stopper) {
        *self.0.lock().unwrap() = Some(stopper);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_pipe_is_served_as_it_comes_and_a_run_that_waits_for_it_is_stopped() {
    use std::io::Write;
    use std::os::fd::AsRawFd;

    let mut bytes = Vec::new();
    synthetic::capture(5, &mut bytes).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("output");
    let (reader, mut writer) = std::io::pipe().unwrap();
    let stops = Stops::default();
    let config = Config::new(format!("/dev/fd/{}", reader.as_raw_fd()), &output);
    thread::scope(|scope| {
        let feeder = scope.spawn(|| {
            let mut at = 0;
            while at < bytes.len() {
                let length = bytes.get(at + 8..at + 12).filter(|_| at > 0);
                let end = at + length.map_or(24, |length| 16 + u32::from_le_bytes(length.try_into().unwrap()) as usize);
                writer.write_all(&bytes[at..end]).unwrap();
                at = end;
                // Far longer than it takes: only a run that holds it back waits so long.
                let written = (0..6_000).any(|_| {
                    thread::sleep(thalweg_sync::time::Duration::from_millis(5));
                    fs::metadata(&output).is_ok_and(|metadata| metadata.len() == at as u64)
                });
                assert!(written, "what came up to byte {at} is not written while the pipe is idle");
            }
            stops.0.lock().unwrap().as_ref().unwrap().stop();
            // The end of the pipe comes only when the run is over.
            writer
        });
        let forwarded = run(&config, &stops).unwrap();
        assert_eq!(forwarded.counts.frames, 5);
        drop(feeder.join().unwrap());
    });
    assert_eq!(fs::read(&output).unwrap(), bytes);
}
