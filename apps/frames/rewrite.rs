//! New addresses in frames, with the checksums that cover them.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use super::checksum;
use super::filter::octets;
use super::layers::{ICMPV6, Layers, Network, TCP, UDP};

/// UDP-Lite and DCCP, whose checksums cover the addresses too.
const UDP_LITE: u8 = 136;
const DCCP: u8 = 33;

/// An address that replaces another: `10.0.0.1=192.168.0.1`, or two IPv6 addresses.
///
/// The IPv4 header's checksum and those of TCP, UDP, UDP-Lite, DCCP and ICMPv6 change by the difference ([RFC 1624]),
/// so they are as right or as wrong as before, in frames that were cut off too. An absent UDP checksum stays absent.
/// ARP, the inside of tunnels and packets quoted in ICMP errors keep the old address, and so do IPv6 routing headers and IPv4 source routes.
/// While one of them names nodes still to be visited, the destination is the next of them, which no checksum of a transport covers.
///
/// [RFC 1624]: https://www.rfc-editor.org/rfc/rfc1624
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readdress {
    old: Vec<u8>,
    new: Vec<u8>,
}

/// A hardware address that replaces another: `02:00:00:00:00:01=02:00:00:00:00:02`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reface {
    old: [u8; 6],
    new: [u8; 6],
}

/// A replacement that was not understood. `Display` names the value and shows one that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewriteError(String);

impl fmt::Display for RewriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RewriteError {}

impl FromStr for Readdress {
    type Err = RewriteError;

    fn from_str(text: &str) -> Result<Self, RewriteError> {
        let wanted = "write OLD=NEW, such as 10.0.0.1=192.168.0.1";
        let (old, new) = text.split_once('=').ok_or_else(|| RewriteError(format!("`{text}` has no `=`; {wanted}")))?;
        let parse = |text: &str| {
            let address: Result<IpAddr, _> = text.parse();
            address.map(octets).map_err(|_| RewriteError(format!("`{text}` is not an IPv4 or IPv6 address; {wanted}")))
        };
        let (old, new) = (parse(old)?, parse(new)?);
        if old.len() != new.len() {
            return Err(RewriteError(format!("`{text}` mixes IPv4 and IPv6; {wanted}")));
        }
        Ok(Self { old, new })
    }
}

impl FromStr for Reface {
    type Err = RewriteError;

    fn from_str(text: &str) -> Result<Self, RewriteError> {
        let wanted = "write OLD=NEW, such as 02:00:00:00:00:01=02:00:00:00:00:02";
        let (old, new) = text.split_once('=').ok_or_else(|| RewriteError(format!("`{text}` has no `=`; {wanted}")))?;
        let parse = |text: &str| {
            let bytes: Option<Vec<u8>> = text.split(':').map(hex_byte).collect();
            let address = bytes.and_then(|bytes| <[u8; 6]>::try_from(bytes).ok());
            address.ok_or_else(|| RewriteError(format!("`{text}` is not a hardware address; {wanted}")))
        };
        Ok(Self { old: parse(old)?, new: parse(new)? })
    }
}

fn hex_byte(text: &str) -> Option<u8> {
    let two_digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    two_digits.then(|| u8::from_str_radix(text, 16).ok())?
}

/// What to put in place of what. Of several replacements for a field, the first whose old address is there is used.
///
/// If a frame was captured with its check sequence, that stays as it is and fits the old addresses only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewrite {
    /// For the source address of the IPv4 or IPv6 header.
    pub source: Vec<Readdress>,
    /// For its destination address.
    pub destination: Vec<Readdress>,
    /// For the source address of the Ethernet header.
    pub source_mac: Vec<Reface>,
    /// For its destination address.
    pub destination_mac: Vec<Reface>,
}

impl Rewrite {
    /// Rewrites `frame`, whose headers are `layers`, in place. Says whether anything changed.
    pub(super) fn apply(&self, frame: &mut [u8], layers: &Layers) -> bool {
        let mut changed = reface(frame, layers.destination_mac, &self.destination_mac);
        changed |= reface(frame, layers.source_mac, &self.source_mac);
        if let Some(network) = &layers.network {
            changed |= self.quoted(frame, network);
            changed |= self.readdress(frame, network);
        }
        if let Some(arp) = &layers.arp {
            changed |= reface(frame, arp.sender_mac, &self.source_mac);
            changed |= reface(frame, arp.target_mac, &self.destination_mac);
            changed |= replace(&mut frame[arp.sender..arp.sender + 4], &self.source).is_some();
            changed |= replace(&mut frame[arp.target..arp.target + 4], &self.destination).is_some();
        }
        changed
    }

    fn readdress(&self, frame: &mut [u8], network: &Network) -> bool {
        let changed = readdress(frame, network, network.source, &self.source);
        changed | readdress(frame, network, network.source + network.address_len, &self.destination)
    }

    /// Rewrites the packet that an error of ICMP quotes as if it had come by itself: its sender knows it so.
    fn quoted(&self, frame: &mut [u8], network: &Network) -> bool {
        let (Some(quoted), Some(transport)) = (network.quoted(frame), network.transport) else { return false };
        // What is rewritten are whole words from its start on.
        let words = quoted.start..network.end - (network.end - quoted.start) % 2;
        let before = frame[words.clone()].to_vec();
        let changed = self.readdress(frame, &quoted);
        if changed {
            let (head, after) = frame[..words.end].split_at_mut(words.start);
            adjust(head, transport + 2, &before, after);
        }
        changed
    }
}

fn reface(frame: &mut [u8], at: Option<usize>, rules: &[Reface]) -> bool {
    let Some(address) = at.and_then(|at| frame.get_mut(at..at + 6)) else { return false };
    let Some(rule) = rules.iter().find(|rule| rule.old == address) else { return false };
    address.copy_from_slice(&rule.new);
    rule.old != rule.new
}

/// The rule by which `address` was replaced, if that changed it.
fn replace<'a>(address: &mut [u8], rules: &'a [Readdress]) -> Option<&'a Readdress> {
    let rule = rules.iter().find(|rule| rule.old == address)?;
    address.copy_from_slice(&rule.new);
    (rule.old != rule.new).then_some(rule)
}

fn readdress(frame: &mut [u8], network: &Network, at: usize, rules: &[Readdress]) -> bool {
    let Some(Readdress { old, new }) = replace(&mut frame[at..at + network.address_len], rules) else { return false };
    if network.address_len == 4 {
        adjust(frame, network.start + 10, old, new);
    }
    // The pseudo header has the final destination (RFC 9293, section 3.1; RFC 8200, section 8.1).
    let is_covered = at == network.source || !network.routed;
    if let Some(transport) = network.transport.filter(|_| is_covered) {
        let packet = &mut frame[..network.end];
        match network.protocol {
            TCP => adjust(packet, transport + 16, old, new),
            UDP => adjust_udp(packet, transport + 6, old, new),
            UDP_LITE => adjust_nonzero(packet, transport + 6, old, new),
            DCCP => adjust(packet, transport + 6, old, new),
            ICMPV6 => adjust(packet, transport + 2, old, new),
            _ => {}
        }
    }
    true
}

/// Changes the checksum at `at`, if it was not cut off.
fn adjust(packet: &mut [u8], at: usize, old: &[u8], new: &[u8]) {
    if let Some(field) = packet.get_mut(at..at + 2) {
        let checksum = u16::from_be_bytes([field[0], field[1]]);
        field.copy_from_slice(&checksum::replace(checksum, old, new).to_be_bytes());
    }
}

/// As [`adjust`], where a checksum of 0 is sent as all ones (RFC 768; RFC 3828, section 3.1).
fn adjust_nonzero(packet: &mut [u8], at: usize, old: &[u8], new: &[u8]) {
    adjust(packet, at, old, new);
    if let Some(field) = packet.get_mut(at..at + 2)
        && field == [0, 0]
    {
        field.fill(0xff);
    }
}

/// As [`adjust_nonzero`], where 0 means that there is no checksum.
fn adjust_udp(packet: &mut [u8], at: usize, old: &[u8], new: &[u8]) {
    if packet.get(at..at + 2).is_some_and(|field| field != [0, 0]) {
        adjust_nonzero(packet, at, old, new);
    }
}

#[cfg(test)]
mod tests {
    use super::super::layers::{ICMP, Link};
    use super::*;
    use crate::frames::synthetic;

    fn rewrite(rules: &Rewrite, frame: &mut [u8]) -> bool {
        let layers = Layers::of(Link::Ethernet, frame);
        rules.apply(frame, &layers)
    }

    /// A rewritten frame is the frame that would have been made with the new addresses, checksums included.
    #[test]
    fn rewriting_equals_making_the_frame_anew() {
        let mut random = fastrand::Rng::with_seed(11);
        for _ in 0..50_000 {
            let old: [u8; 4] = random.u32(..).to_be_bytes();
            let new: [u8; 4] = random.u32(..).to_be_bytes();
            let other: [u8; 4] = random.u32(..).to_be_bytes();
            let payload: Vec<u8> = (0..random.usize(0..9)).map(|_| random.u8(..)).collect();
            let port = random.u16(..);
            let make = if random.bool() { synthetic::udp } else { synthetic::tcp };
            let rule: Readdress = format!("{}={}", IpAddr::from(old), IpAddr::from(new)).parse().unwrap();

            let rules = Rewrite { source: vec![rule.clone()], ..Rewrite::default() };
            let mut frame = make(old, other, port, 80, &payload);
            assert!(rewrite(&rules, &mut frame));
            assert_eq!(frame, make(new, other, port, 80, &payload));
            let before = frame.clone();
            assert!(!rewrite(&rules, &mut frame));
            assert_eq!(frame, before);

            let rules = Rewrite { destination: vec![rule], ..Rewrite::default() };
            let mut frame = make(other, old, port, 80, &payload);
            assert!(rewrite(&rules, &mut frame));
            assert_eq!(frame, make(other, new, port, 80, &payload));
        }
    }

    #[test]
    fn an_absent_udp_checksum_stays_absent_and_a_cut_off_one_is_no_matter() {
        let rules = Rewrite { source: vec!["10.0.0.1=10.9.9.9".parse().unwrap()], ..Rewrite::default() };
        let mut frame = synthetic::udp([10, 0, 0, 1], [10, 0, 0, 2], 1, 2, b"x");
        let checksum = frame.len() - 1 - 2;
        frame[checksum..checksum + 2].fill(0);
        assert!(rewrite(&rules, &mut frame));
        assert_eq!(frame[checksum..checksum + 2], [0, 0]);

        let whole = synthetic::tcp([10, 0, 0, 1], [10, 0, 0, 2], 1, 2, b"x");
        for len in 0..=whole.len() {
            let mut frame = whole[..len].to_vec();
            assert_eq!(rewrite(&rules, &mut frame), len >= 14 + 20);
        }
    }

    #[test]
    fn ipv6_and_hardware_addresses() {
        let rules = Rewrite {
            destination: vec!["fd00::2=fd00::abcd".parse().unwrap()],
            source_mac: vec!["02:00:00:00:00:01=02:11:22:33:44:55".parse().unwrap()],
            ..Rewrite::default()
        };
        let mut frame = synthetic::udp6(2, 53, b"odd");
        assert!(rewrite(&rules, &mut frame));
        let mut expected = synthetic::udp6(0xabcd, 53, b"odd");
        expected[6..12].copy_from_slice(&[0x02, 0x11, 0x22, 0x33, 0x44, 0x55]);
        assert_eq!(frame, expected);
    }

    #[test]
    fn of_several_replacements_the_first_that_fits_is_used() {
        let readdress = |rules: &[&str]| rules.iter().map(|rule| rule.parse().unwrap()).collect();
        let reface = |rules: &[&str]| rules.iter().map(|rule| rule.parse().unwrap()).collect();
        let rules = Rewrite {
            source: readdress(&["10.0.0.9=10.7.7.7", "10.0.0.1=10.8.8.8", "10.0.0.1=10.9.9.9"]),
            source_mac: reface(&[
                "02:00:00:00:00:09=02:00:00:00:00:07",
                "02:00:00:00:00:01=02:00:00:00:00:08",
                "02:00:00:00:00:01=02:00:00:00:00:09",
            ]),
            ..Rewrite::default()
        };
        let mut frame = synthetic::udp([10, 0, 0, 1], [10, 0, 0, 2], 1, 2, b"x");
        assert!(rewrite(&rules, &mut frame));
        let mut expected = synthetic::udp([10, 8, 8, 8], [10, 0, 0, 2], 1, 2, b"x");
        expected[11] = 8;
        assert_eq!(frame, expected);
    }

    #[test]
    fn an_address_that_replaces_itself_changes_nothing() {
        let to_itself = || vec!["10.0.0.1=10.0.0.1".parse().unwrap()];
        let rules = Rewrite {
            source: to_itself(),
            destination: to_itself(),
            source_mac: vec!["02:00:00:00:00:01=02:00:00:00:00:01".parse().unwrap()],
            destination_mac: vec!["02:00:00:00:00:02=02:00:00:00:00:02".parse().unwrap()],
        };
        let mut frame = synthetic::tcp([10, 0, 0, 1], [10, 0, 0, 1], 1, 2, b"x");
        assert!(!rewrite(&rules, &mut frame));
        assert_eq!(frame, synthetic::tcp([10, 0, 0, 1], [10, 0, 0, 1], 1, 2, b"x"));
    }

    /// A packet of IPv6 in a frame, from fd00::1 to the first of `hosts` in fd00::, with these extension headers, the
    /// first of the kind `next`. Its checksum, at `at` in `segment`, is right for the last of `hosts`.
    fn over_ipv6(hosts: [u8; 2], next: u8, extensions: &[u8], protocol: u8, at: usize, segment: &[u8]) -> Vec<u8> {
        let address = |host: u8| [&[0xfd_u8][..], &[0; 14], &[host]].concat();
        let [host, last] = hosts;
        let mut segment = segment.to_vec();
        segment[at..at + 2].fill(0);
        let pseudo = [address(1), address(last), vec![0, protocol, 0, segment.len() as u8], segment.clone()].concat();
        let checksum = match checksum::of(&pseudo) {
            0 if matches!(protocol, UDP | UDP_LITE) => 0xffff,
            checksum => checksum,
        };
        segment[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
        let length = (extensions.len() + segment.len()) as u8;
        let header = [&[0_u8; 12][..], &[0x86, 0xdd, 0x60, 0, 0, 0, 0, length, next, 64]].concat();
        [header, address(1), address(host), extensions.to_vec(), segment].concat()
    }

    /// New addresses for the source fd00::1 and for the destination fd00::9.
    fn both_ends() -> [Rewrite; 2] {
        let source = vec!["fd00::1=fd00::77".parse().unwrap()];
        let destination = vec!["fd00::9=fd00::99".parse().unwrap()];
        [Rewrite { source, ..Rewrite::default() }, Rewrite { destination, ..Rewrite::default() }]
    }

    #[test]
    fn every_checksum_over_the_addresses_follows_them() {
        let mut random = fastrand::Rng::with_seed(12);
        let [_, destination] = both_ends();
        for (protocol, at) in [(TCP, 16), (UDP, 6), (UDP_LITE, 6), (DCCP, 6), (ICMPV6, 2)] {
            for _ in 0..1_000 {
                let segment: Vec<u8> = (0..random.usize(20..30)).map(|_| random.u8(..)).collect();
                let mut frame = over_ipv6([9, 9], protocol, &[], protocol, at, &segment);
                assert!(rewrite(&destination, &mut frame));
                assert_eq!(frame, over_ipv6([0x99, 0x99], protocol, &[], protocol, at, &segment), "{protocol}");
            }
        }
    }

    #[test]
    fn a_checksum_that_becomes_zero_is_sent_as_ones_where_zero_is_not_allowed() {
        let [_, destination] = both_ends();
        for (protocol, expected) in [(UDP, [0xff_u8; 2]), (UDP_LITE, [0xff; 2]), (DCCP, [0; 2])] {
            // What makes the sum all ones, so that its complement is zero.
            let empty = over_ipv6([0x99, 0x99], protocol, &[], protocol, 6, &[0; 10]);
            let segment = [&[0_u8; 8][..], &empty[60..62]].concat();
            let mut frame = over_ipv6([9, 9], protocol, &[], protocol, 6, &segment);
            assert!(rewrite(&destination, &mut frame));
            assert_eq!(frame[60..62], expected, "{protocol}");
        }
    }

    #[test]
    fn a_destination_that_is_not_the_final_one_is_not_in_the_checksum() {
        let [source, destination] = both_ends();
        let frame = |hosts: [u8; 2], left: u8| {
            let routing = [&[TCP, 2, 0, left, 0, 0, 0, 0][..], &[0xfd; 16]].concat();
            over_ipv6(hosts, 43, &routing, TCP, 16, &[7; 20])
        };
        let mut on_its_way = frame([9, 5], 1);
        assert!(rewrite(&destination, &mut on_its_way));
        assert_eq!(on_its_way, frame([0x99, 5], 1));
        let mut arrived = frame([9, 9], 0);
        assert!(rewrite(&destination, &mut arrived));
        assert_eq!(arrived, frame([0x99, 0x99], 0));

        // Of the source there is only one.
        let (mut from_elsewhere, before) = (frame([9, 5], 1), frame([9, 5], 1));
        assert!(rewrite(&source, &mut from_elsewhere));
        assert_ne!(from_elsewhere[94..96], before[94..96]);
    }

    #[test]
    fn what_is_behind_the_packet_stays_as_it_is() {
        let rules = Rewrite { source: vec!["10.0.0.1=10.9.9.9".parse().unwrap()], ..Rewrite::default() };
        // The first fragment ends before the checksum of TCP, and the frame is filled up.
        let whole = synthetic::tcp([10, 0, 0, 1], [10, 0, 0, 2], 1, 2, b"");
        let mut frame = [&whole[..14 + 20 + 8], &[0xee; 18]].concat();
        (frame[17], frame[20]) = (28, 0x20);
        assert!(rewrite(&rules, &mut frame));
        assert_eq!(frame[14 + 20 + 8..], [0xee; 18]);
    }

    #[test]
    fn arp_has_the_addresses_that_packets_have() {
        let rules = Rewrite {
            source: vec!["10.0.0.1=10.9.9.9".parse().unwrap()],
            destination: vec!["10.0.0.2=10.8.8.8".parse().unwrap()],
            source_mac: vec!["02:00:00:00:00:01=02:00:00:00:00:07".parse().unwrap()],
            destination_mac: vec!["02:00:00:00:00:02=02:00:00:00:00:08".parse().unwrap()],
        };
        let arp = |macs: [u8; 2], addresses: [[u8; 4]; 2]| {
            let mac = |last: u8| [2, 0, 0, 0, 0, last];
            let header = [8, 6, 0, 1, 8, 0, 6, 4, 0, 2];
            let [sender, target] = macs.map(mac);
            [&target[..], &sender, &header, &sender, &addresses[0], &target, &addresses[1]].concat()
        };
        let mut frame = arp([1, 2], [[10, 0, 0, 1], [10, 0, 0, 2]]);
        assert!(rewrite(&rules, &mut frame));
        assert_eq!(frame, arp([7, 8], [[10, 9, 9, 9], [10, 8, 8, 8]]));
        assert!(!rewrite(&rules, &mut frame));
    }

    /// An error of ICMP from 10.0.0.9 to `source`, which quotes a segment of `source`; all checksums are right.
    fn error(source: [u8; 4], tail: usize) -> Vec<u8> {
        let quoted = &synthetic::udp(source, [10, 0, 0, 2], 7, 8, b"odd")[14..][..28 + tail];
        let mut message = [&[3, 1, 0, 0, 0, 0, 0, 0][..], quoted].concat();
        let sum = checksum::of(&message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let mut frame = synthetic::udp([10, 0, 0, 9], source, 7, 8, &message)[..34].to_vec();
        frame[23] = ICMP;
        frame[17] = (20 + message.len()) as u8;
        frame[24..26].fill(0);
        let sum = checksum::of(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        [frame, message].concat()
    }

    #[test]
    fn a_quoted_packet_is_rewritten_as_it_was_itself() {
        let (old, new) = ([10, 0, 0, 1], [172, 16, 3, 4]);
        let rule: Readdress = "10.0.0.1=172.16.3.4".parse().unwrap();
        let rules = Rewrite { source: vec![rule.clone()], destination: vec![rule], ..Rewrite::default() };
        for tail in 0..=3 {
            let mut frame = error(old, tail);
            assert!(rewrite(&rules, &mut frame));
            assert_eq!(frame, error(new, tail), "{tail}");
        }
    }

    #[test]
    fn errors_name_the_value() {
        for bad in ["10.0.0.1", "10.0.0=10.0.0.1", "10.0.0.1=fd00::1"] {
            let error = bad.parse::<Readdress>().unwrap_err().to_string();
            assert!(error.contains('`') && error.contains("OLD=NEW"), "{error}");
        }
        for bad in ["02:00:00:00:00:01", "2:00:00:00:00:01=02:00:00:00:00:02", "02:00:00:00:00=02:00:00:00:00:02"] {
            assert!(bad.parse::<Reface>().unwrap_err().to_string().contains("02:00:00:00:00:01="));
        }
    }
}
