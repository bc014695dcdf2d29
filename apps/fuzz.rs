//! What fuzzers call: for each parser a function of any bytes, which panics if a promise is broken.
//!
//! `fuzz/` has a target of cargo-fuzz for each; `apps/tests/fuzz.rs` calls them with inputs that it changes by a seed.

use std::io::{self, Read};

use crate::edges::fuzz as edges;
use crate::frames::{Batch, Capture, Filter, Link, Readdress, Reface, Rewrite, Rules, changed};
use crate::mergesort::{Form as Records, reference};
use crate::pictures::Picture;
use crate::samples::fuzz as samples;
use crate::search::{Term, fits};

/// A parser by name, and what tries it.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: [Target; 9] = [
    ("captures", captures),
    ("frames", frames),
    ("filters", filters),
    ("addresses", addresses),
    ("wav", wav),
    ("networks", networks),
    ("pictures", pictures),
    ("records", records),
    ("search", search),
];

/// A reader that gives a few bytes at a time.
struct Trickle<'a>(&'a [u8]);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(7);
        self.0.read(&mut buffer[..most])
    }
}

/// What is in the records of a capture, and whether it was read to its end. `None` if it was refused.
fn read(input: impl Read) -> Option<(Vec<u8>, Vec<Vec<u8>>, bool)> {
    let mut capture = Capture::open(input).ok()?;
    let (mut bytes, mut frames, mut batch) = (Vec::new(), Vec::new(), Batch::default());
    loop {
        match capture.next(batch) {
            None => return Some((bytes, frames, true)),
            Some(Err(_)) => return Some((bytes, frames, false)),
            Some(Ok(filled)) => {
                for record in filled.records() {
                    bytes.extend_from_slice(record.bytes);
                    frames.extend(record.frame.map(<[u8]>::to_vec));
                }
                batch = filled;
            }
        }
    }
}

/// A capture is the same however it comes, its records are its bytes, and a whole one has all of them.
pub fn captures(data: &[u8]) {
    let (whole, trickled) = (read(data), read(Trickle(data)));
    let Some((bytes, frames, to_end)) = whole else {
        // What comes slowly is damaged later.
        assert!(trickled.is_none_or(|(_, frames, to_end)| frames.is_empty() && !to_end));
        return;
    };
    assert!(trickled.is_some_and(|trickled| trickled == (bytes.clone(), frames.clone(), to_end)));
    assert!(bytes.len() <= data.len() && (!to_end || bytes.len() == data.len()));
    assert!(frames.iter().map(Vec::len).sum::<usize>() <= bytes.len());
    // But for the lengths of pcapng sections.
    let differ = bytes.iter().zip(data).filter(|&(&byte, &was)| byte != was && byte != 0xff).count();
    assert_eq!(differ, 0, "a record is not what stands in the file");
}

/// A frame is filtered and rewritten in place, and stays as it is where nothing is said to be changed.
pub fn frames(data: &[u8]) {
    let Some((&first, frame)) = data.split_first() else { return };
    let links = [Link::Ethernet, Link::Cooked, Link::Cooked2, Link::Ip, Link::Loopback];
    let link = links[usize::from(first) % links.len()];
    let address = |text: &str| text.parse::<Readdress>().ok().into_iter();
    let mac = "02:00:00:00:00:01=02:00:00:00:00:09".parse::<Reface>().ok();
    let rewrite = Rewrite {
        source: address("10.0.0.1=192.168.7.9").chain(address("fd00::1=fd00::abcd")).collect(),
        destination: address("10.0.0.2=192.168.7.8").chain(address("fd00::2=fd00::dcba")).collect(),
        source_mac: mac.iter().cloned().collect(),
        destination_mac: mac.into_iter().collect(),
    };
    let keep = ["host 10.0.0.1 or src port 53 or ether host 2:0:0:0:0:1", "not (vlan or mpls or arp) and icmp6"];
    let rules = Rules { keep: keep.iter().filter_map(|text| text.parse().ok()).collect(), drop: Vec::new(), rewrite };
    let mut rewritten = frame.to_vec();
    let is_changed = changed(&rules.rewrite, link, &mut rewritten);
    assert_eq!(is_changed, rewritten != frame);
    // What was rewritten once has no address left to rewrite.
    assert!(!changed(&rules.rewrite, link, &mut rewritten));
    for filter in &rules.keep {
        filter.holds(link, frame);
    }
}

/// The words of a filter are understood or refused.
pub fn filters(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(filter) = text.parse::<Filter>() {
        let not: Filter = format!("not ({text})").parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let frame = [0x45; 60];
        assert_ne!(filter.holds(Link::Ip, &frame), not.holds(Link::Ip, &frame));
    }
}

/// Replacements are understood or refused, and a pattern for names fits what is in it.
pub fn addresses(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = (text.parse::<Readdress>(), text.parse::<Reface>());
    }
    let escaped: Vec<u8> = data.iter().flat_map(|&byte| [b'\\', byte]).collect();
    assert!(fits(&escaped, data));
    fits(data, data);
}

/// A WAV file is refused, or all its samples come.
pub fn wav(data: &[u8]) {
    samples::wav(data);
}

/// Rows are the same wherever their text is cut.
pub fn networks(data: &[u8]) {
    edges::rows(data);
}

/// A picture that is decoded is the same after it was encoded.
pub fn pictures(data: &[u8]) {
    let Ok(picture) = Picture::decode(data) else { return };
    assert_eq!(picture.values.len(), picture.width * picture.height * picture.channels);
    let again = picture.encode().and_then(|file| Picture::decode(&file));
    assert!(again.is_ok_and(|again| again.values == picture.values));
}

/// Records are in order, and none is lost.
pub fn records(data: &[u8]) {
    for form in [Records::Lines, Records::Integers] {
        let whole = if form == Records::Integers { &data[..data.len() / 4 * 4] } else { data };
        let sorted = reference(form, whole);
        let (mut lines, mut was) = (sorted.clone(), whole.to_vec());
        match form {
            Records::Lines => {
                assert!(sorted.split_inclusive(|&byte| byte == b'\n').map(|line| &line[..line.len() - 1]).is_sorted());
                was.extend_from_slice(if was.is_empty() || was.ends_with(b"\n") { b"" } else { b"\n" });
            }
            Records::Integers => {
                assert!(sorted.as_chunks().0.iter().map(|&four| i32::from_le_bytes(four)).is_sorted());
            }
        }
        lines.sort_unstable();
        was.sort_unstable();
        assert!(lines == was);
    }
}

/// Counting the parts of a text equals counting the whole, in one case and in both.
pub fn search(data: &[u8]) {
    let Some((&length, rest)) = data.split_first() else { return };
    let length = usize::from(length % 8) + 1;
    if rest.len() < length {
        return;
    }
    let (word, text) = rest.split_at(length);
    for term in [Term::new(word), Term::any_case(word)] {
        let (mut at, mut count) = (0, 0);
        while text.len() - at > 2 * length {
            let cut = term.cut(&text[at..at + 2 * length]);
            assert!(cut > 0, "no progress");
            count += term.count(&text[at..at + cut]);
            at += cut;
        }
        assert_eq!(count + term.count(&text[at..]), term.count(text));
    }
    let folded = Term::new(&word.to_ascii_lowercase()).count(&text.to_ascii_lowercase());
    assert_eq!(Term::any_case(word).count(text), folded);
}
