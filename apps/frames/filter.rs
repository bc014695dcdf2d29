//! Which frames to keep: the common words of tcpdump.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use super::layers::{ARP, ICMP, ICMPV6, IPV4, IPV6, Layers, Link, Network, RARP, SCTP, TCP, UDP};

const WORDS: &str = "ip, ip6, arp, rarp, vlan [N], mpls [N], pppoes, tcp, udp, sctp, icmp, icmp6, proto N, broadcast, \
    multicast, [src|dst] host A, [src|dst] net A/BITS, [tcp|udp|sctp] [src|dst] port N, portrange N-M, \
    ether [src|dst|host] MAC";
/// Parentheses and `not`s within each other.
const DEEPEST: usize = 100;

/// A property of frames, such as `udp and port 53`: words that mean what they do for tcpdump.
///
/// | word | a frame |
/// |---|---|
/// | `ip` `ip6` `arp` `rarp` | of IPv4, of IPv6, of ARP, of reverse ARP |
/// | `vlan [N]` `mpls [N]` `pppoes` | with a VLAN tag, an MPLS label, the first of them that number; of a PPPoE session |
/// | `tcp` `udp` `sctp` `icmp` `icmp6` `proto N` | of that protocol over IPv4 or IPv6 (`icmp`: IPv4 only) |
/// | `port N` `portrange N-M` | of TCP, UDP or SCTP from or to that port, or one of these |
/// | `host A` `net A/BITS` | from or to that address, or one of that network; also in ARP |
/// | `ether host MAC` | from or to that hardware address |
/// | `broadcast` `multicast` | to all on an Ethernet, to several |
///
/// `src` or `dst` in front of `host`, `net`, `port` and `portrange` asks for one end only, and of `ether src MAC` and `src A` the word
/// between can be left out; a protocol in front, as in `tcp port 80`, asks for that too. `not`, `and`, `or` and parentheses join
/// them; `and` and `or` bind equally, from the left. A value alone takes the words of the one before: `port 80 or 443`.
///
/// Unlike with tcpdump, all words look behind VLAN tags, MPLS labels, PPPoE, SNAP and IPv6 extension headers; none looks into tunnels. A later
/// fragment has no port.
///
/// ```
/// use thalweg_apps::frames::Filter;
/// let filter: Filter = "udp and port 53".parse()?;
/// assert!("udp and prot 53".parse::<Filter>().unwrap_err().to_string().contains("prot"));
/// # Ok::<(), thalweg_apps::frames::FilterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter(Expression);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Expression {
    Is(Property),
    Not(Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Property {
    EtherType(u16),
    Vlan(Option<u32>),
    Mpls(Option<u32>),
    Session,
    Protocol(u8),
    Port(Ends, u16, u16),
    Address { ends: Ends, prefix: Vec<u8>, bits: usize },
    Mac(Ends, [u8; 6]),
    Broadcast,
    Multicast,
}

/// At which ends of a way something has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    Source,
    Destination,
    Either,
    Both,
}

impl Ends {
    fn hold<T>(self, source: T, destination: T, holds: impl Fn(T) -> bool) -> bool {
        match self {
            Self::Source => holds(source),
            Self::Destination => holds(destination),
            Self::Either => holds(source) || holds(destination),
            Self::Both => holds(source) && holds(destination),
        }
    }
}

/// A [`Filter`] that was not understood. `Display` names the word and lists the words there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError(String);

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; there are {WORDS}, joined by `and`, `or`, `not` and parentheses", self.0)
    }
}

impl std::error::Error for FilterError {}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        // These stand alone wherever they are.
        let mut spaced = text.to_owned();
        for sign in ["(", ")", "!", "&&", "||"] {
            spaced = spaced.replace(sign, &format!(" {sign} "));
        }
        let words = spaced.split_whitespace().collect();
        let mut parser = Parser { words, at: 0, before: Kind::default(), depth: 0 };
        let expression = parser.expression().map_err(FilterError)?;
        match parser.peek() {
            None => Ok(Self(expression)),
            Some(word) => Err(FilterError(format!("`{word}` is not understood here"))),
        }
    }
}

/// What a value is of: the words in front of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Kind<'a> {
    protocol: Option<&'a str>,
    ends: Option<Ends>,
    of: Option<&'a str>,
}

struct Parser<'a> {
    words: Vec<&'a str>,
    at: usize,
    /// Of the value before, for one that stands alone.
    before: Kind<'a>,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).copied()
    }

    /// Takes the next word if it is one of these.
    fn take(&mut self, words: &[&str]) -> Option<&'a str> {
        let word = self.peek().filter(|word| words.contains(word))?;
        self.at += 1;
        Some(word)
    }

    fn expression(&mut self) -> Result<Expression, String> {
        let mut left = self.factor()?;
        while let Some(word) = self.take(&["and", "&&", "or", "||"]) {
            let (first, second) = (Box::new(left), Box::new(self.factor()?));
            let is_and = matches!(word, "and" | "&&");
            left = if is_and { Expression::And(first, second) } else { Expression::Or(first, second) };
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("more than {DEEPEST} of `not` and `(` are nested"));
        }
        let factor = if self.take(&["not", "!"]).is_some() {
            Expression::Not(Box::new(self.factor()?))
        } else if self.take(&["("]).is_some() {
            let inside = self.expression()?;
            self.take(&[")"]).ok_or("a `)` is missing")?;
            inside
        } else {
            self.property()?
        };
        self.depth -= 1;
        Ok(factor)
    }

    /// Words such as `tcp src port`, and a value.
    fn property(&mut self) -> Result<Expression, String> {
        let protocol = self.take(&[
            "ether", "ip", "ip6", "arp", "rarp", "vlan", "mpls", "pppoes", "tcp", "udp", "sctp", "icmp", "icmp6",
        ]);
        let ends = self.ends()?;
        let of = self.take(&["host", "net", "port", "portrange", "proto", "broadcast", "multicast"]);
        let mut kind = Kind { protocol, ends, of };
        if ends.is_none() && of.is_none() {
            match protocol {
                Some("ether") => {}
                Some(protocol) => return self.protocol(protocol),
                // A value alone.
                None if self.before != Kind::default() && self.peek().is_some_and(is_value) => {
                    kind = self.before.clone()
                }
                None => {
                    return Err(self
                        .peek()
                        .map_or("a word is missing".into(), |word| format!("`{word}` is not understood")));
                }
            }
        }
        self.before = kind.clone();
        let Kind { protocol, ends, of } = kind;
        let ends = ends.unwrap_or(Ends::Either);
        let property = match (protocol, of) {
            (None | Some("ether"), Some("broadcast")) => Property::Broadcast,
            (None | Some("ether"), Some("multicast")) => Property::Multicast,
            (Some("ether"), None | Some("host")) => Property::Mac(ends, mac(self.value()?)?),
            (None, Some("proto")) => Property::Protocol(number(self.value()?, 0xff, "a protocol")? as u8),
            (None | Some("tcp" | "udp" | "sctp"), Some("port")) => {
                let port = number(self.value()?, 0xffff, "a port")? as u16;
                Property::Port(ends, port, port)
            }
            (None | Some("tcp" | "udp" | "sctp"), Some("portrange")) => {
                let (from, to) = ports(self.value()?)?;
                Property::Port(ends, from, to)
            }
            (None | Some("ip" | "ip6" | "arp" | "rarp"), None | Some("host" | "net")) => {
                let (prefix, bits) = parse_network(self.value()?)?;
                Property::Address { ends, prefix, bits }
            }
            (protocol, of) => {
                let words = [protocol, of].into_iter().flatten().collect::<Vec<_>>().join(" ");
                return Err(format!("`{words}` is not understood"));
            }
        };
        let property = Expression::Is(property);
        Ok(match protocol.filter(|&protocol| protocol != "ether") {
            Some(protocol) => Expression::And(Box::new(known(protocol)), Box::new(property)),
            None => property,
        })
    }

    /// A protocol alone, or with the number of a tag or label.
    fn protocol(&mut self, protocol: &'a str) -> Result<Expression, String> {
        let most = match protocol {
            "vlan" => 0xfff,
            "mpls" => 0xf_ffff,
            _ => return Ok(known(protocol)),
        };
        let Some(word) = self.peek().filter(|word| word.starts_with(|c: char| c.is_ascii_digit())) else {
            return Ok(known(protocol));
        };
        self.at += 1;
        let number = Some(number(word, most, "a number of it")?);
        Ok(Expression::Is(if protocol == "vlan" { Property::Vlan(number) } else { Property::Mpls(number) }))
    }

    fn ends(&mut self) -> Result<Option<Ends>, String> {
        let Some(first) = self.take(&["src", "dst"]) else { return Ok(None) };
        let one = if first == "src" { Ends::Source } else { Ends::Destination };
        // `src or dst` is of the ends; `src 10.0.0.1 or dst ...` is not.
        if let [joined @ ("or" | "and"), second @ ("src" | "dst"), ..] = self.words[self.at..] {
            if second == first {
                return Err(format!("`{first} {joined} {second}` is not understood"));
            }
            self.at += 2;
            return Ok(Some(if joined == "or" { Ends::Either } else { Ends::Both }));
        }
        Ok(Some(one))
    }

    fn value(&mut self) -> Result<&'a str, String> {
        let value = self.peek().ok_or("a word is missing")?;
        self.at += 1;
        Ok(value)
    }
}

/// Whether a word can be an address, a network or a port.
fn is_value(word: &str) -> bool {
    word.contains(':') || word.starts_with(|c: char| c.is_ascii_digit())
}

fn known(protocol: &str) -> Expression {
    let of_ip = |ip, protocol| {
        Expression::And(
            Box::new(Expression::Is(Property::EtherType(ip))),
            Box::new(Expression::Is(Property::Protocol(protocol))),
        )
    };
    Expression::Is(match protocol {
        "ip" => Property::EtherType(IPV4),
        "ip6" => Property::EtherType(IPV6),
        "arp" => Property::EtherType(ARP),
        "rarp" => Property::EtherType(RARP),
        "vlan" => Property::Vlan(None),
        "mpls" => Property::Mpls(None),
        "pppoes" => Property::Session,
        "tcp" => Property::Protocol(TCP),
        "udp" => Property::Protocol(UDP),
        "sctp" => Property::Protocol(SCTP),
        "icmp" => return of_ip(IPV4, ICMP),
        _ => return of_ip(IPV6, ICMPV6),
    })
}

fn number(text: &str, most: u32, what: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|&number| number <= most);
    number.ok_or_else(|| format!("`{text}` is not {what} from 0 to {most}"))
}

fn ports(text: &str) -> Result<(u16, u16), String> {
    let parse = |text: &str| text.parse::<u16>().ok();
    let range = text.split_once('-').and_then(|(from, to)| parse(from).zip(parse(to))).filter(|(from, to)| from <= to);
    range.ok_or_else(|| format!("`{text}` is not a range of ports such as 6000-6010"))
}

fn mac(text: &str) -> Result<[u8; 6], String> {
    let byte = |text: &str| {
        let digits = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        digits.then(|| u8::from_str_radix(text, 16).ok())?
    };
    let bytes: Option<Vec<u8>> = text.split(':').map(byte).collect();
    let address = bytes.and_then(|bytes| <[u8; 6]>::try_from(bytes).ok());
    address.ok_or_else(|| format!("`{text}` is not a hardware address such as 02:00:00:00:00:01"))
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
    /// Whether `frame`, of that link type, has the property.
    pub fn holds(&self, link: Link, frame: &[u8]) -> bool {
        self.holds_for(frame, &Layers::of(link, frame))
    }

    pub(super) fn holds_for(&self, frame: &[u8], layers: &Layers) -> bool {
        self.0.holds(frame, layers)
    }
}

impl Expression {
    fn holds(&self, frame: &[u8], layers: &Layers) -> bool {
        match self {
            Self::Is(property) => property.holds(frame, layers),
            Self::Not(other) => !other.holds(frame, layers),
            Self::And(first, second) => first.holds(frame, layers) && second.holds(frame, layers),
            Self::Or(first, second) => first.holds(frame, layers) || second.holds(frame, layers),
        }
    }
}

impl Property {
    fn holds(&self, frame: &[u8], layers: &Layers) -> bool {
        let network = layers.network.as_ref();
        match self {
            Self::EtherType(wanted) => layers.ether_type == *wanted,
            Self::Vlan(wanted) => layers.vlan.is_some_and(|tag| wanted.is_none_or(|wanted| wanted == u32::from(tag))),
            Self::Mpls(wanted) => layers.mpls.is_some_and(|label| wanted.is_none_or(|wanted| wanted == label)),
            Self::Session => layers.pppoe,
            Self::Protocol(wanted) => network.is_some_and(|network| network.protocol == *wanted),
            Self::Port(ends, from, to) => {
                network.and_then(|network| network.ports(frame)).is_some_and(|(source, destination)| {
                    ends.hold(source, destination, |port| (*from..=*to).contains(&port))
                })
            }
            Self::Address { ends, prefix, bits } => {
                let of_arp =
                    layers.arp.map(|arp| (&frame[arp.sender..arp.sender + 4], &frame[arp.target..arp.target + 4]));
                let addresses = network.map(|network: &Network| network.addresses(frame)).or(of_arp);
                addresses.is_some_and(|(from, to)| ends.hold(from, to, |address| starts_with(address, prefix, *bits)))
            }
            Self::Mac(ends, wanted) => {
                let at = |place: Option<usize>| place.and_then(|at| frame.get(at..at + 6));
                let (source, destination) = (at(layers.source_mac), at(layers.destination_mac));
                ends.hold(source, destination, |address| address == Some(wanted))
            }
            Self::Broadcast => layers.destination_mac.and_then(|at| frame.get(at..at + 6)) == Some(&[0xff; 6]),
            Self::Multicast => layers.destination_mac.and_then(|at| frame.get(at)).is_some_and(|byte| byte & 1 == 1),
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
        let holds = |text: &str, frame: &[u8]| text.parse::<Filter>().unwrap().holds(Link::Ethernet, frame);
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
            "net 10.1.0.0/16",
            "dst net 192.168.0.0/16",
            "ip src host 10.1.2.3",
            "src or dst port 53",
            "udp src port 5353",
            "udp dst portrange 50-60",
            "port 80 or 53",
            "not tcp",
            "!(tcp or icmp) && udp",
            "tcp or udp",
            "udp or tcp and tcp or ip",
            "ether src 02:00:00:00:00:01",
            "ether dst 2:0:0:0:0:2",
            "proto 17 and ip",
            "host 10.9.9.9 or 10.1.2.3",
        ] {
            assert!(holds(yes, &frame), "{yes}");
        }
        for no in [
            "ip6",
            "arp",
            "vlan",
            "tcp",
            "icmp",
            "port 54",
            "dst 10.1.2.3",
            "src 10.1.2.4/31",
            "host ::/0",
            "dst port 5353",
            "tcp port 53",
            "src portrange 1-60",
            "not udp",
            "udp or udp and tcp",
            "broadcast",
            "multicast",
            "mpls",
            "pppoes",
            "arp host 10.1.2.3",
            "icmp6",
        ] {
            assert!(!holds(no, &frame), "{no}");
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
            (icmp6, &["ip6", "icmp6"]),
            (tagged, &["ip", "vlan", "tcp"]),
            (arp, &["arp"]),
        ] {
            let words = ["ip", "ip6", "arp", "vlan", "tcp", "udp", "icmp", "icmp6"];
            let hold: Vec<_> = words
                .into_iter()
                .filter(|word| word.parse::<Filter>().unwrap().holds(Link::Ethernet, &frame))
                .collect();
            assert_eq!(hold, holding);
        }
    }

    #[test]
    fn errors_name_the_word() {
        for (text, named) in [
            ("", "missing"),
            ("udp and", "missing"),
            ("udp tcp", "`tcp`"),
            ("(udp", "`)`"),
            ("udp)", "`)`"),
            ("port 65536", "`65536`"),
            ("portrange 9-8", "`9-8`"),
            ("src 10.0.0", "`10.0.0`"),
            ("src 10.0.0.0/33", "`/33`"),
            ("ether host 1:2", "`1:2`"),
            ("vlan 4096", "`4096`"),
            (&"not ".repeat(10_000), "nested"),
        ] {
            let error = text.parse::<Filter>().unwrap_err().to_string();
            assert!(error.contains(named) && error.contains("port N"), "{text}: {error}");
        }
    }
}
