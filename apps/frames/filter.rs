//! Which frames to keep: a few words, not a language.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use super::layers::{ARP, ICMP, ICMPV6, IPV4, IPV6, Layers, Network, TCP, UDP};

const WORDS: &str =
    "ip, ip6, arp, vlan, tcp, udp, icmp, port N, src ADDRESS[/BITS], dst ADDRESS[/BITS], host ADDRESS[/BITS]";

/// A property of frames, such as `udp and port 53`: words joined by `and`.
///
/// | word | a frame |
/// |---|---|
/// | `ip` `ip6` `arp` `vlan` | of IPv4, of IPv6, of ARP, with a VLAN tag |
/// | `tcp` `udp` `icmp` | of that protocol over IPv4 or IPv6 (`icmp`: ICMPv6 too) |
/// | `port N` | of TCP or UDP from or to that port |
/// | `src A` `dst A` `host A` | from, to, from or to that address, or that network with `A/BITS` |
///
/// Looks behind VLAN tags and IPv6 extension headers, not into tunnels. A later fragment has no port.
///
/// ```
/// use thalweg_apps::frames::Filter;
/// let filter: Filter = "udp and port 53".parse()?;
/// assert!("udp and prot 53".parse::<Filter>().unwrap_err().to_string().contains("prot"));
/// # Ok::<(), thalweg_apps::frames::FilterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    EtherType(u16),
    Vlan,
    Protocol(&'static [u8]),
    Port(u16),
    Address { source: bool, destination: bool, prefix: Vec<u8>, bits: usize },
}

/// A [`Filter`] that was not understood. `Display` names the word and lists the words there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError(String);

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; there are {WORDS}, joined by `and`", self.0)
    }
}

impl std::error::Error for FilterError {}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let terms = words.split(|&word| word == "and").map(term).collect::<Result<_, _>>();
        terms.map(Self).map_err(FilterError)
    }
}

fn term(words: &[&str]) -> Result<Term, String> {
    Ok(match *words {
        ["ip"] => Term::EtherType(IPV4),
        ["ip6"] => Term::EtherType(IPV6),
        ["arp"] => Term::EtherType(ARP),
        ["vlan"] => Term::Vlan,
        ["tcp"] => Term::Protocol(&[TCP]),
        ["udp"] => Term::Protocol(&[UDP]),
        ["icmp"] => Term::Protocol(&[ICMP, ICMPV6]),
        ["port", port] => Term::Port(port.parse().map_err(|_| format!("`{port}` is not a port from 0 to 65535"))?),
        [direction @ ("src" | "dst" | "host"), network] => {
            let (prefix, bits) = parse_network(network)?;
            Term::Address { source: direction != "dst", destination: direction != "src", prefix, bits }
        }
        [] => return Err("a word is missing".into()),
        _ => return Err(format!("`{}` is not understood", words.join(" "))),
    })
}

fn parse_network(text: &str) -> Result<(Vec<u8>, usize), String> {
    let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
    let address: IpAddr = address.parse().map_err(|_| format!("`{address}` is not an IPv4 or IPv6 address"))?;
    let prefix = octets(address);
    let most = prefix.len() * 8;
    let bits = match bits {
        None => most,
        Some(text) => match text.parse() {
            Ok(bits) if bits <= most => bits,
            _ => return Err(format!("`/{text}` is not a prefix length from 0 to {most}")),
        },
    };
    Ok((prefix, bits))
}

/// The bytes of an address, as in a frame.
pub(super) fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

impl Filter {
    /// Whether `frame`, an Ethernet frame, has the property.
    pub fn holds(&self, frame: &[u8]) -> bool {
        self.holds_for(frame, &Layers::of(frame))
    }

    pub(super) fn holds_for(&self, frame: &[u8], layers: &Layers) -> bool {
        self.0.iter().all(|term| term.holds(frame, layers))
    }
}

impl Term {
    fn holds(&self, frame: &[u8], layers: &Layers) -> bool {
        let network = layers.network.as_ref();
        match self {
            Term::EtherType(wanted) => layers.ether_type == *wanted,
            Term::Vlan => layers.vlan,
            Term::Protocol(wanted) => network.is_some_and(|network| wanted.contains(&network.protocol)),
            Term::Port(wanted) => network
                .and_then(|network| network.ports(frame))
                .is_some_and(|(from, to)| from == *wanted || to == *wanted),
            Term::Address { source, destination, prefix, bits } => network.is_some_and(|network: &Network| {
                let (from, to) = network.addresses(frame);
                (*source && starts_with(from, prefix, *bits)) || (*destination && starts_with(to, prefix, *bits))
            }),
        }
    }
}

fn starts_with(address: &[u8], prefix: &[u8], bits: usize) -> bool {
    let (whole, part) = (bits / 8, bits % 8);
    address.len() == prefix.len()
        && address[..whole] == prefix[..whole]
        && (part == 0 || (address[whole] ^ prefix[whole]) >> (8 - part) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::synthetic;

    #[test]
    fn words() {
        let filter = |text: &str| text.parse::<Filter>().unwrap();
        let frame = synthetic::udp([10, 1, 2, 3], [192, 168, 0, 200], 5353, 53, b"hello");
        for yes in [
            "ip",
            "udp",
            "udp and port 53",
            "port 5353",
            "src 10.1.2.3",
            "dst 192.168.0.200",
            "host 10.1.2.3 and host 192.168.0.200",
            "src 10.1.0.0/16",
            "src 10.1.2.2/31",
            "dst 0.0.0.0/0",
        ] {
            assert!(filter(yes).holds(&frame), "{yes}");
        }
        for no in ["ip6", "arp", "vlan", "tcp", "icmp", "port 54", "dst 10.1.2.3", "src 10.1.2.4/31", "host ::/0"] {
            assert!(!filter(no).holds(&frame), "{no}");
        }
    }

    #[test]
    fn each_word_is_of_its_frames_only() {
        const ONE: [u8; 4] = [10, 0, 0, 1];
        let (udp, tcp) = (synthetic::udp(ONE, ONE, 1, 2, b""), synthetic::tcp(ONE, ONE, 1, 2, b""));
        let of_protocol = |mut frame: Vec<u8>, at: usize, protocol: u8| {
            frame[at] = protocol;
            frame
        };
        let icmp = of_protocol(udp.clone(), 23, ICMP);
        let icmp6 = of_protocol(synthetic::udp6(2, 53, b""), 20, ICMPV6);
        let tagged = [&tcp[..12], &[0x81, 0, 0, 7], &tcp[12..]].concat();
        let arp = [&udp[..12], &ARP.to_be_bytes(), &[0; 28]].concat();
        for (frame, holding) in [
            (udp, &["ip", "udp"][..]),
            (tcp, &["ip", "tcp"]),
            (icmp, &["ip", "icmp"]),
            (icmp6, &["ip6", "icmp"]),
            (tagged, &["ip", "vlan", "tcp"]),
            (arp, &["arp"]),
        ] {
            let words = ["ip", "ip6", "arp", "vlan", "tcp", "udp", "icmp"];
            let hold: Vec<_> = words.into_iter().filter(|word| word.parse::<Filter>().unwrap().holds(&frame)).collect();
            assert_eq!(hold, holding);
        }
    }

    #[test]
    fn errors_name_the_word() {
        for (text, named) in [
            ("", "missing"),
            ("udp and", "missing"),
            ("udp or tcp", "`udp or tcp`"),
            ("port 65536", "`65536`"),
            ("src 10.0.0", "`10.0.0`"),
            ("src 10.0.0.0/33", "`/33`"),
        ] {
            let error = text.parse::<Filter>().unwrap_err().to_string();
            assert!(error.contains(named) && error.contains("port N"), "{error}");
        }
    }
}
