//! The headers of an Ethernet frame, as far as filters and rewriting need them.

/// EtherType of IPv4.
pub(super) const IPV4: u16 = 0x0800;
/// EtherType of IPv6.
pub(super) const IPV6: u16 = 0x86dd;
/// EtherType of ARP.
pub(super) const ARP: u16 = 0x0806;
/// EtherTypes of VLAN tags: customer, service, and the service tag from before the standard.
const VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];

pub(super) const ICMP: u8 = 1;
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
pub(super) const ICMPV6: u8 = 58;

/// Where the headers of a frame are. Offsets are in bytes from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layers {
    /// Whether there is a VLAN tag, or several.
    pub(super) vlan: bool,
    /// The type behind all tags; 0 if the frame is too short to have one.
    pub(super) ether_type: u16,
    /// The IPv4 or IPv6 header, if its fixed part is all there.
    pub(super) network: Option<Network>,
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
    pub(super) fn of(frame: &[u8]) -> Self {
        let (mut at, mut vlan) = (12, false);
        let ether_type = loop {
            match half(frame, at) {
                Some(tag) if VLAN.contains(&tag) => {
                    vlan = true;
                    at += 4;
                }
                other => break other.unwrap_or(0),
            }
        };
        let network = match ether_type {
            IPV4 => ipv4(frame, at + 2),
            IPV6 => ipv6(frame, at + 2),
            _ => None,
        };
        Self { vlan, ether_type, network }
    }
}

impl Network {
    /// The addresses: source, destination.
    pub(super) fn addresses<'a>(&self, frame: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        frame[self.source..self.source + 2 * self.address_len].split_at(self.address_len)
    }

    /// The ports of TCP and UDP: source, destination.
    pub(super) fn ports(&self, frame: &[u8]) -> Option<(u16, u16)> {
        let at = self.transport.filter(|_| matches!(self.protocol, TCP | UDP))?;
        let packet = &frame[..self.end];
        Some((half(packet, at)?, half(packet, at + 2)?))
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
            let kinds = [[0x08, 0x00, 0x45], [0x86, 0xdd, 0x60], [0x81, 0x00, 0x00], [0x08, 0x06, 0x00]];
            if frame.len() > 30 {
                frame[12..15].copy_from_slice(random.choice(kinds).as_ref().unwrap());
                frame[20] = *random.choice(&[0, 43, 44, 51, 60, 6]).unwrap();
            }
            let layers = Layers::of(&frame);
            if let Some(network) = layers.network {
                network.addresses(&frame);
                network.ports(&frame);
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
        let layers = Layers::of(&frame);
        assert!(layers.vlan);
        let network = layers.network.unwrap();
        assert_eq!((network.protocol, network.ports(&frame)), (UDP, Some((53, 54))));
        let offset_field = frame.len() - 8 - 6;
        frame[offset_field + 1] = 8; // a later fragment
        assert_eq!(Layers::of(&frame).network.unwrap().transport, None);
    }

    #[test]
    fn every_kind_of_tag_is_passed_over() {
        for tag in [[0x81, 0x00], [0x88, 0xa8], [0x91, 0x00]] {
            let frame = [&[0; 12][..], &tag, &[0, 7], &ARP.to_be_bytes()].concat();
            assert_eq!(Layers::of(&frame), Layers { vlan: true, ether_type: ARP, network: None }, "{tag:02x?}");
        }
    }

    /// Its header counts in words of four bytes, and from the third on (RFC 4302, section 2.2).
    #[test]
    fn an_authentication_header_is_passed_over() {
        let mut frame = [&[0; 12][..], &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 32, 51, 64], &[1; 32]].concat();
        frame.extend([UDP, 4, 0, 0]);
        frame.extend([0xee; 20]);
        frame.extend([0, 53, 0, 54, 0, 8, 0, 0]);
        let network = Layers::of(&frame).network.unwrap();
        assert_eq!((network.protocol, network.ports(&frame)), (UDP, Some((53, 54))));
    }

    #[test]
    fn a_later_fragment_has_no_ports() {
        let mut frame = [&[0; 12][..], &[8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, UDP], &[0; 10], &[1; 8]].concat();
        let ports = |frame: &[u8]| Layers::of(frame).network.unwrap().ports(frame);
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
        let network = Layers::of(&frame).network.unwrap();
        assert_eq!((network.protocol, network.transport), (60, None));
    }

    #[test]
    fn a_packet_ends_where_its_length_says() {
        let mut frame = [&[0; 12][..], &[8, 0, 0x45, 0, 0, 22, 0, 0, 0, 0, 64, UDP], &[0; 10], &[1; 26]].concat();
        let ports = |frame: &[u8]| Layers::of(frame).network.unwrap().ports(frame);
        assert_eq!(ports(&frame), None, "of two bytes, there is no port in the padding");
        frame[17] = 24;
        assert_eq!(ports(&frame), Some((0x101, 0x101)));
        frame[17] = 0;
        assert_eq!(Layers::of(&frame).network.unwrap().end, frame.len());

        let mut frame = [&[0; 12][..], &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 2, UDP, 64], &[1; 40]].concat();
        assert_eq!(ports(&frame), None);
        frame[19] = 4;
        assert_eq!(ports(&frame), Some((0x101, 0x101)));
        frame[19] = 0;
        assert_eq!(Layers::of(&frame).network.unwrap().end, frame.len());
    }
}
