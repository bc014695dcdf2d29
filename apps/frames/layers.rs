//! The headers of a frame, as far as filters and rewriting need them.

/// EtherType of IPv4.
pub(super) const IPV4: u16 = 0x0800;
/// EtherType of IPv6.
pub(super) const IPV6: u16 = 0x86dd;
/// EtherType of ARP.
pub(super) const ARP: u16 = 0x0806;
/// EtherType of reverse ARP.
pub(super) const RARP: u16 = 0x8035;
/// EtherTypes of VLAN tags: customer, service, and the service tag from before the standard.
const VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// EtherTypes of MPLS: to one receiver, and to several.
pub(super) const MPLS: [u16; 2] = [0x8847, 0x8848];
/// EtherType of a PPPoE session.
const PPPOE: u16 = 0x8864;
/// The longest payload of an Ethernet frame: what is in the place of its type and not above that is a length.
const LONGEST: u16 = 1500;
/// A SNAP header for EtherTypes (IEEE 802.2, RFC 1042).
const SNAP: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];
pub(super) const ICMP: u8 = 1;
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
pub(super) const ICMPV6: u8 = 58;
pub(super) const SCTP: u8 = 132;

/// How the frames of a link type begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Ethernet (link type 1).
    Ethernet,
    /// What Linux gives for all interfaces together (113), and its second version (276).
    Cooked,
    /// See [`Cooked`](Self::Cooked).
    Cooked2,
    /// Nothing: IPv4 or IPv6 follows (12, 14, 101, 228, 229).
    Ip,
    /// The address family in four bytes, of either order (0, 108).
    Loopback,
}

impl Link {
    /// What is known under that number. Others there are many of.
    pub(super) fn of(link_type: i32) -> Option<Self> {
        Some(match link_type {
            1 => Self::Ethernet,
            113 => Self::Cooked,
            276 => Self::Cooked2,
            12 | 14 | 101 | 228 | 229 => Self::Ip,
            0 | 108 => Self::Loopback,
            _ => return None,
        })
    }
}

/// Where the headers of a frame are. Offsets are in bytes from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Layers {
    /// Where the frame has hardware addresses of six bytes: its destination's and its source's.
    pub(super) destination_mac: Option<usize>,
    pub(super) source_mac: Option<usize>,
    /// The number in the first VLAN tag.
    pub(super) vlan: Option<u16>,
    /// The first MPLS label.
    pub(super) mpls: Option<u32>,
    /// Whether it is of a PPPoE session.
    pub(super) pppoe: bool,
    /// The type behind all tags, labels and sessions; 0 if there is none.
    pub(super) ether_type: u16,
    /// The IPv4 or IPv6 header, if its fixed part is all there.
    pub(super) network: Option<Network>,
    /// The addresses of an ARP packet, if they are all there and of IPv4.
    pub(super) arp: Option<Arp>,
}

/// Where ARP and reverse ARP have their addresses of IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arp {
    pub(super) sender: usize,
    pub(super) target: usize,
    /// The hardware addresses, if they have six bytes.
    pub(super) sender_mac: Option<usize>,
    pub(super) target_mac: Option<usize>,
}

/// An IPv4 or IPv6 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Network {
    /// Where the header starts.
    pub(super) start: usize,
    /// The source address; as many bytes after it, the destination.
    pub(super) source: usize,
    /// The length of an address: 4 or 16.
    pub(super) address_len: usize,
    /// The protocol behind the header and its extensions; of a later fragment, what its fragment header names.
    pub(super) protocol: u8,
    /// Where that protocol's header starts. `None` in all fragments but the first, and if it is cut off.
    pub(super) transport: Option<usize>,
    /// Where the packet ends. Behind it are padding and the frame's check sequence.
    pub(super) end: usize,
    /// Whether an IPv6 routing header or an IPv4 source route names nodes still to be visited, so that the destination is not the final one.
    pub(super) routed: bool,
}

impl Layers {
    /// Finds the headers of `frame`. Never fails: what is missing or malformed is `None`.
    pub(super) fn of(link: Link, frame: &[u8]) -> Self {
        let mut layers = Self::default();
        match link {
            Link::Ethernet => {
                (layers.destination_mac, layers.source_mac) = (Some(0), Some(6));
                layers.behind(frame, half(frame, 12), 14);
            }
            Link::Cooked => {
                layers.source_mac = (half(frame, 4) == Some(6)).then_some(6);
                layers.behind(frame, half(frame, 14), 16);
            }
            Link::Cooked2 => {
                layers.source_mac = (frame.get(11) == Some(&6)).then_some(12);
                layers.behind(frame, half(frame, 0), 20);
            }
            Link::Ip => layers.behind(frame, version(frame, 0), 0),
            Link::Loopback => layers.behind(frame, version(frame, 4), 4),
        }
        layers
    }

    /// Finds what is at `at`, which is of that type.
    fn behind(&mut self, frame: &[u8], mut kind: Option<u16>, mut at: usize) {
        while let Some(known) = kind {
            self.ether_type = known;
            kind = match known {
                IPV4 => {
                    self.network = ipv4(frame, at);
                    None
                }
                IPV6 => {
                    self.network = ipv6(frame, at);
                    None
                }
                ARP | RARP => {
                    self.arp = arp(frame, at);
                    None
                }
                PPPOE => {
                    self.pppoe = true;
                    at += 8;
                    // Of PPP's protocols, these two.
                    match half(frame, at - 2) {
                        Some(0x21) => Some(IPV4),
                        Some(0x57) => Some(IPV6),
                        _ => None,
                    }
                }
                tag if VLAN.contains(&tag) => {
                    self.vlan = self.vlan.or(half(frame, at).map(|tag| tag & 0xfff));
                    at += 4;
                    self.ether_type = 0;
                    half(frame, at - 2)
                }
                label if MPLS.contains(&label) => self.labels(frame, &mut at),
                length if length <= LONGEST && frame.get(at..at + 6) == Some(&SNAP) => {
                    at += 8;
                    half(frame, at - 2)
                }
                _ => None,
            };
        }
    }

    /// Moves `at` behind a stack of MPLS labels, and gives the type of what is there: only IP says what it is.
    fn labels(&mut self, frame: &[u8], at: &mut usize) -> Option<u16> {
        loop {
            let entry = u32::from_be_bytes(frame.get(*at..*at + 4)?.try_into().ok()?);
            self.mpls = self.mpls.or(Some(entry >> 12));
            *at += 4;
            if entry & 0x100 != 0 {
                return version(frame, *at);
            }
        }
    }
}

/// The type of the IP packet at `at`, by its version.
fn version(frame: &[u8], at: usize) -> Option<u16> {
    match frame.get(at)? >> 4 {
        4 => Some(IPV4),
        6 => Some(IPV6),
        _ => None,
    }
}

/// The addresses of an ARP packet (RFC 826).
fn arp(frame: &[u8], at: usize) -> Option<Arp> {
    let header = frame.get(at..at + 8)?;
    let hardware = usize::from(header[4]);
    if header[2..4] != IPV4.to_be_bytes() || header[5] != 4 || frame.len() < at + 8 + 2 * (hardware + 4) {
        return None;
    }
    let sender = at + 8 + hardware;
    let target = sender + 4 + hardware;
    let mac = |address: usize| (hardware == 6).then(|| address - 6);
    Some(Arp { sender, target, sender_mac: mac(sender), target_mac: mac(target) })
}

impl Network {
    /// The addresses: source, destination.
    pub(super) fn addresses<'a>(&self, frame: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        frame[self.source..self.source + 2 * self.address_len].split_at(self.address_len)
    }

    /// The ports of TCP, UDP and SCTP: source, destination.
    pub(super) fn ports(&self, frame: &[u8]) -> Option<(u16, u16)> {
        let at = self.transport.filter(|_| matches!(self.protocol, TCP | UDP | SCTP))?;
        let packet = &frame[..self.end];
        Some((half(packet, at)?, half(packet, at + 2)?))
    }

    /// The header of the packet that an error of ICMP or ICMPv6 quotes (RFC 792, RFC 4443).
    pub(super) fn quoted(&self, frame: &[u8]) -> Option<Network> {
        let at = self.transport?;
        let packet = &frame[..self.end];
        match (self.protocol, self.address_len, packet.get(at)?) {
            (ICMP, 4, 3 | 4 | 5 | 11 | 12) => ipv4(packet, at + 8),
            (ICMPV6, 16, 1..=4) => ipv6(packet, at + 8),
            _ => None,
        }
    }
}

fn half(frame: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?))
}

/// Where `length` bytes from `start` on end, or the frame before that. A packet whose length is 0 is too long for the
/// field: a jumbogram, or one that the network card is to cut.
fn end_of(frame: &[u8], start: usize, length: [u8; 2]) -> usize {
    match usize::from(u16::from_be_bytes(length)) {
        0 => frame.len(),
        length => frame.len().min(start + length),
    }
}

fn ipv4(frame: &[u8], start: usize) -> Option<Network> {
    let header = frame.get(start..start + 20)?;
    let len = usize::from(header[0] & 0x0f) * 4;
    if header[0] >> 4 != 4 || len < 20 {
        return None;
    }
    let first_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x1fff == 0;
    let end = end_of(frame, start, [header[2], header[3]]);
    let transport = (first_fragment && start + len <= end).then_some(start + len);
    let routed = frame.get(start + 20..start + len).is_some_and(is_source_routed);
    Some(Network { start, source: start + 12, address_len: 4, protocol: header[9], transport, end, routed })
}

/// Whether the options of an IPv4 header have a source route, loose or strict, that is not at its end (RFC 791, section 3.1).
fn is_source_routed(mut options: &[u8]) -> bool {
    while let [kind, rest @ ..] = options {
        match (kind, rest) {
            (0, _) => return false,
            (1, _) => options = rest,
            (131 | 137, [length, pointer, ..]) => return pointer <= length,
            (_, [length, ..]) => match options.get(usize::from(*length).max(2)..) {
                Some(next) => options = next,
                None => return false,
            },
            (_, []) => return false,
        }
    }
    false
}

fn ipv6(frame: &[u8], start: usize) -> Option<Network> {
    let header = frame.get(start..start + 40)?;
    if header[0] >> 4 != 6 {
        return None;
    }
    let end = end_of(frame, start + 40, [header[4], header[5]]);
    let (mut protocol, mut at) = (header[6], start + 40);
    let (mut first_fragment, mut routed) = (true, false);
    // Extension headers (RFC 8200, section 4), as long as they are all there. In a later fragment none follow.
    while first_fragment && let Some(extension) = frame[..end].get(at..at + 8) {
        let len = match protocol {
            0 | 60 => 8 * (usize::from(extension[1]) + 1),
            43 => {
                routed |= extension[3] != 0;
                8 * (usize::from(extension[1]) + 1)
            }
            44 => {
                first_fragment = u16::from_be_bytes([extension[2], extension[3]]) & 0xfff8 == 0;
                8
            }
            51 => 4 * (usize::from(extension[1]) + 2),
            _ => break,
        };
        protocol = extension[0];
        at += len;
    }
    let transport = (first_fragment && at <= end).then_some(at);
    Some(Network { start, source: start + 8, address_len: 16, protocol, transport, end, routed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(frame: &[u8]) -> Layers {
        Layers::of(Link::Ethernet, frame)
    }

    /// A packet of IPv4 without any data, of a protocol.
    fn packet(protocol: u8) -> Vec<u8> {
        [&[0x45, 0, 0, 20, 0, 0, 0, 0, 64, protocol][..], &[0; 2], &[10, 0, 0, 1, 10, 0, 0, 2]].concat()
    }

    #[test]
    fn every_way_to_a_packet_is_gone() {
        let ethernet = |header: &[u8]| [&[0; 12][..], header].concat();
        for (link, header) in [
            (Link::Ethernet, ethernet(&[8, 0])),
            (Link::Ethernet, ethernet(&[0, 28, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0])),
            (Link::Ethernet, ethernet(&[0x88, 0x47, 0, 0, 0x10, 64, 0, 0, 0x21, 64])),
            (Link::Ethernet, ethernet(&[0x81, 0, 0, 5, 0x88, 0x64, 0x11, 0, 0, 1, 0, 22, 0, 0x21])),
            (Link::Cooked, [&[0; 14][..], &[8, 0]].concat()),
            (Link::Cooked2, [&[8, 0][..], &[0; 18]].concat()),
            (Link::Ip, Vec::new()),
            (Link::Loopback, vec![0, 0, 0, 2]),
        ] {
            let frame = [&header[..], &packet(17)].concat();
            let layers = Layers::of(link, &frame);
            let network = layers.network.unwrap();
            assert_eq!((layers.ether_type, network.start, network.protocol), (IPV4, header.len(), 17), "{header:02x?}");
            for len in 0..frame.len() {
                assert_eq!(Layers::of(link, &frame[..len]).network, None);
            }
        }
    }

    #[test]
    fn labels_and_sessions_are_seen() {
        let frame = [&[0; 12][..], &[0x88, 0x48, 0, 1, 0x21, 64, 0x60]].concat();
        assert_eq!((of(&frame).mpls, of(&frame).ether_type), (Some(0x12), IPV6));
        let frame = [&[0; 12][..], &[0x88, 0x64, 0x11, 0, 0, 1, 0, 2, 0xc0, 0x21]].concat();
        assert!(of(&frame).pppoe && of(&frame).network.is_none());
    }

    #[test]
    fn a_source_route_is_one_until_its_end() {
        for (options, routed) in [
            (&[131, 7, 4, 10, 9, 9, 9, 0][..], true),
            (&[1, 137, 7, 4, 10, 9, 9, 9], true),
            (&[131, 7, 8, 10, 9, 9, 9, 0], false),
            (&[68, 4, 5, 0, 131, 7, 4, 10, 9, 9, 9, 0], true),
            (&[0, 131, 7, 4, 10, 9, 9, 9], false),
            (&[1, 1, 1, 131], false),
            (&[7, 200, 4, 0], false),
            (&[7, 0, 131, 7, 4, 0, 0, 0], true),
            (&[], false),
        ] {
            assert_eq!(is_source_routed(options), routed, "{options:?}");
        }
    }

    #[test]
    fn no_length_of_any_frame_panics() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..20_000 {
            let mut frame: Vec<u8> = (0..random.usize(0..120)).map(|_| random.u8(..)).collect();
            let kinds = [
                [0x08, 0x00, 0x45],
                [0x86, 0xdd, 0x60],
                [0x81, 0x00, 0x00],
                [0x08, 0x06, 0x00],
                [0x88, 0x47, 0x00],
                [0x88, 0x64, 0x11],
                [0x00, 0x20, 0xaa],
            ];
            if frame.len() > 30 {
                frame[12..15].copy_from_slice(random.choice(kinds).as_ref().unwrap());
                frame[20] = *random.choice(&[0, 1, 43, 44, 51, 58, 60, 6]).unwrap();
            }
            let link = random.choice([Link::Ethernet, Link::Cooked, Link::Cooked2, Link::Ip, Link::Loopback]).unwrap();
            let layers = Layers::of(link, &frame);
            assert!(layers.arp.is_none_or(|arp| arp.target + 4 <= frame.len()));
            if let Some(network) = layers.network {
                network.addresses(&frame);
                network.ports(&frame);
                network.quoted(&frame);
                assert!(network.transport.is_none_or(|at| at <= network.end && network.end <= frame.len()));
            }
        }
    }

    #[test]
    fn tags_extensions_and_fragments() {
        let mut frame = vec![0; 12];
        frame.extend([0x88, 0xa8, 0, 1, 0x81, 0x00, 0, 2, 0x86, 0xdd]);
        frame.extend([0x60, 0, 0, 0, 0, 24, 0, 64]); // hop-by-hop next
        frame.extend([1; 32]);
        frame.extend([44, 0, 0, 0, 0, 0, 0, 0]); // fragment next
        frame.extend([17, 0, 0, 0, 0, 0, 0, 9]); // udp next
        frame.extend([0, 53, 0, 54, 0, 8, 0, 0]);
        let layers = of(&frame);
        assert_eq!(layers.vlan, Some(1));
        let network = layers.network.unwrap();
        assert_eq!((network.protocol, network.ports(&frame)), (UDP, Some((53, 54))));
        let offset_field = frame.len() - 8 - 6;
        frame[offset_field + 1] = 8; // a later fragment
        assert_eq!(of(&frame).network.unwrap().transport, None);
    }

    #[test]
    fn every_kind_of_tag_is_passed_over() {
        for tag in [[0x81, 0x00], [0x88, 0xa8], [0x91, 0x00]] {
            let frame = [&[0; 12][..], &tag, &[0, 7], &ARP.to_be_bytes()].concat();
            let layers = of(&frame);
            assert_eq!((layers.vlan, layers.ether_type, layers.network), (Some(7), ARP, None), "{tag:02x?}");
        }
    }

    /// Its header counts in words of four bytes, and from the third on (RFC 4302, section 2.2).
    #[test]
    fn an_authentication_header_is_passed_over() {
        let mut frame = [&[0; 12][..], &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 32, 51, 64], &[1; 32]].concat();
        frame.extend([UDP, 4, 0, 0]);
        frame.extend([0xee; 20]);
        frame.extend([0, 53, 0, 54, 0, 8, 0, 0]);
        let network = of(&frame).network.unwrap();
        assert_eq!((network.protocol, network.ports(&frame)), (UDP, Some((53, 54))));
    }

    #[test]
    fn a_later_fragment_has_no_ports() {
        let mut frame = [&[0; 12][..], &[8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, UDP], &[0; 10], &[1; 8]].concat();
        let ports = |frame: &[u8]| of(frame).network.unwrap().ports(frame);
        // More fragments, but this is the first.
        frame[20] = 0x20;
        assert_eq!(ports(&frame), Some((0x101, 0x101)));
        for offset in [[0, 1], [0x1f, 0xff], [0x20, 8]] {
            frame[20..22].copy_from_slice(&offset);
            assert_eq!(ports(&frame), None, "{offset:02x?}");
        }
    }

    /// What is behind the header of a later fragment is data, whatever it looks like.
    #[test]
    fn a_later_fragment_is_of_the_protocol_that_its_header_names() {
        let mut frame = [&[0_u8; 12][..], &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 24, 44, 64], &[1; 32]].concat();
        frame.extend([60, 0, 0, 8, 0, 0, 0, 9]); // destination options next, but not in this one
        frame.extend([TCP, 0, 0, 0, 0, 0, 0, 0]);
        frame.extend([0; 8]);
        let network = of(&frame).network.unwrap();
        assert_eq!((network.protocol, network.transport), (60, None));
    }

    #[test]
    fn a_packet_ends_where_its_length_says() {
        let mut frame = [&[0; 12][..], &[8, 0, 0x45, 0, 0, 22, 0, 0, 0, 0, 64, UDP], &[0; 10], &[1; 26]].concat();
        let ports = |frame: &[u8]| of(frame).network.unwrap().ports(frame);
        assert_eq!(ports(&frame), None, "of two bytes, there is no port in the padding");
        frame[17] = 24;
        assert_eq!(ports(&frame), Some((0x101, 0x101)));
        frame[17] = 0;
        assert_eq!(of(&frame).network.unwrap().end, frame.len());

        let mut frame = [&[0; 12][..], &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 2, UDP, 64], &[1; 40]].concat();
        assert_eq!(ports(&frame), None);
        frame[19] = 4;
        assert_eq!(ports(&frame), Some((0x101, 0x101)));
        frame[19] = 0;
        assert_eq!(of(&frame).network.unwrap().end, frame.len());
    }
}
