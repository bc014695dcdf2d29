//! The headers of IPv4 and TCP, and their checksums.

use std::net::Ipv4Addr;

use crate::frames::checksum;

/// Where an Ethernet frame has its type, if it has no tags.
const TYPE: usize = 12;
const IPV4: [u8; 2] = [0x08, 0x00];
/// Types of VLAN tags: customer, service, and the service tag from before the standard.
const TAGS: [[u8; 2]; 3] = [[0x81, 0x00], [0x88, 0xa8], [0x91, 0x00]];
const TCP: u8 = 6;
/// The shortest headers of IPv4 and of TCP.
const SHORTEST: usize = 20;

/// What became of a checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// Nobody has looked yet.
    #[default]
    Unchecked,
    /// It is right.
    Right,
    /// It is wrong.
    Wrong {
        /// What is there.
        found: u16,
        /// What should be.
        expected: u16,
    },
    /// The frame has no such header.
    Absent,
    /// Not all that the checksum is over is there: the capture has a part of the frame, or the frame a part of the segment.
    Partial,
}

impl Verdict {
    fn of(found: [u8; 2], expected: u16) -> Self {
        let found = u16::from_be_bytes(found);
        // In ones' complement, all ones is another zero.
        if found == expected || (found, expected) == (0xffff, 0) {
            Self::Right
        } else {
            Self::Wrong { found, expected }
        }
    }

    /// Whether it is known to be wrong.
    pub fn is_wrong(self) -> bool {
        matches!(self, Self::Wrong { .. })
    }
}

/// A frame, and what was found of its checksums.
#[derive(Clone, Debug, Default)]
pub struct Packet {
    /// Which frame it is, from 1.
    pub number: u64,
    frame: Vec<u8>,
    /// The header checksum of IPv4.
    pub ip: Verdict,
    /// The checksum of TCP.
    pub tcp: Verdict,
    /// Where the IPv4 header is, and how long.
    header: Option<(usize, usize)>,
}

impl Packet {
    /// Fills the slot with an Ethernet frame, of which nothing is known yet.
    pub fn fill(&mut self, number: u64, frame: &[u8]) {
        self.frame.clear();
        self.frame.extend_from_slice(frame);
        (self.number, self.header) = (number, None);
        (self.ip, self.tcp) = (Verdict::Unchecked, Verdict::Unchecked);
    }

    /// Fills the slot with a made-up frame: a TCP segment without data over IPv4, with right checksums.
    pub fn make(&mut self, number: u64, source: Ipv4Addr, destination: Ipv4Addr, port: u16) {
        const FRAME: [u8; 54] = {
            let mut frame = [0; 54];
            (frame[0], frame[5], frame[6], frame[11]) = (2, 1, 2, 2);
            (frame[12], frame[14], frame[17]) = (8, 0x45, 40);
            (frame[20], frame[22], frame[23]) = (0x40, 64, TCP);
            (frame[46], frame[47], frame[48]) = (5 << 4, 0x10, 0x20);
            frame
        };
        self.fill(number, &FRAME);
        let frame = &mut self.frame;
        frame[26..30].copy_from_slice(&source.octets());
        frame[30..34].copy_from_slice(&destination.octets());
        frame[34..36].copy_from_slice(&port.to_be_bytes());
        frame[36..38].copy_from_slice(&port.to_be_bytes());
        frame[38..42].copy_from_slice(&(number as u32).to_be_bytes());
        let sum = checksum::of(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        let sum = checksum::of_parts(&[&frame[26..34], &[0, TCP, 0, 20], &frame[34..54]]);
        frame[50..52].copy_from_slice(&sum.to_be_bytes());
    }

    /// Changes the last byte of a made-up frame's destination, and not the checksums over it.
    pub(crate) fn misdirect(&mut self) {
        self.frame[33] ^= 1;
    }

    /// How long the frame is, as far as it is here.
    pub(crate) fn bytes(&self) -> u64 {
        self.frame.len() as u64
    }

    /// Verifies the header checksum of IPv4.
    pub fn check_ip(&mut self) {
        self.ip = match self.find() {
            Ok((start, len)) => {
                self.header = Some((start, len));
                let header = &self.frame[start..start + len];
                Verdict::of([header[10], header[11]], checksum::of_parts(&[&header[..10], &header[12..]]))
            }
            Err(verdict) => verdict,
        };
    }

    /// Verifies the checksum of TCP. [`check_ip`](Self::check_ip) comes first.
    pub fn check_tcp(&mut self) {
        self.tcp = self.header.map_or(Verdict::Absent, |(start, len)| self.segment(start, len));
    }

    /// Where the IPv4 header is, and how long.
    fn find(&self) -> Result<(usize, usize), Verdict> {
        let mut at = TYPE;
        while self.frame.get(at..at + 2).is_some_and(|kind| TAGS.iter().any(|tag| kind == tag)) {
            at += 4;
        }
        if self.frame.get(at..at + 2) != Some(&IPV4) {
            return Err(Verdict::Absent);
        }
        let start = at + 2;
        let first = *self.frame.get(start).ok_or(Verdict::Partial)?;
        let len = 4 * usize::from(first & 15);
        if first >> 4 != 4 || len < SHORTEST {
            return Err(Verdict::Absent);
        }
        if start + len <= self.frame.len() { Ok((start, len)) } else { Err(Verdict::Partial) }
    }

    fn segment(&self, start: usize, len: usize) -> Verdict {
        let (header, behind) = self.frame[start..].split_at(len);
        let fragment = u16::from_be_bytes([header[6], header[7]]);
        if header[9] != TCP || fragment & 0x1fff != 0 {
            return Verdict::Absent;
        }
        let length = match usize::from(u16::from_be_bytes([header[2], header[3]])) {
            // A segment that a network card has yet to cut: longer than the field can say.
            0 => behind.len(),
            total => total.saturating_sub(len),
        };
        let more_fragments = fragment & 0x2000 != 0;
        if more_fragments || length > behind.len() || has_source_route(&header[SHORTEST..]) {
            return Verdict::Partial;
        }
        if length < SHORTEST {
            return Verdict::Absent;
        }
        let segment = &behind[..length];
        let [high, low] = (length as u16).to_be_bytes();
        let pseudo = [0, TCP, high, low];
        let parts = [&header[12..20], &pseudo, &segment[..16], &segment[18..]];
        Verdict::of([segment[16], segment[17]], checksum::of_parts(&parts))
    }

    /// Source and destination with their ports, if the frame has them.
    pub fn ends(&self) -> Option<[(Ipv4Addr, u16); 2]> {
        let (start, len) = self.header?;
        let header = &self.frame[start..start + len];
        let address = |at: usize| Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]);
        let port = |at: usize| {
            let port = self.frame.get(start + len + at..start + len + at + 2).filter(|_| self.tcp != Verdict::Absent);
            port.map_or(0, |port| u16::from_be_bytes([port[0], port[1]]))
        };
        Some([(address(12), port(0)), (address(16), port(2))])
    }
}

/// Whether the options of an IPv4 header have a route, so that its destination is not the one that the checksum of TCP is over.
fn has_source_route(mut options: &[u8]) -> bool {
    while let Some(&kind) = options.first() {
        let len = match kind {
            0 => return false,
            1 => 1,
            131 | 137 => return true,
            _ => options.get(1).map_or(usize::MAX, |&len| usize::from(len).max(2)),
        };
        options = options.get(len..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::synthetic;

    fn checked(frame: &[u8]) -> (Verdict, Verdict) {
        let mut packet = Packet::default();
        packet.fill(1, frame);
        packet.check_ip();
        packet.check_tcp();
        (packet.ip, packet.tcp)
    }

    #[test]
    fn made_up_frames_are_right_and_every_flipped_bit_is_found() {
        let mut packet = Packet::default();
        packet.make(7, Ipv4Addr::from(0xc0a8_0001), Ipv4Addr::from(0x0a00_0002), 0xfffe);
        assert_eq!(checked(&packet.frame), (Verdict::Right, Verdict::Right));
        let tcp = synthetic::tcp([10, 0, 0, 1], [10, 0, 0, 2], 80, 4_000, b"odd");
        for frame in [packet.frame.clone(), tcp] {
            assert_eq!(checked(&frame), (Verdict::Right, Verdict::Right));
            for bit in 8 * 14..8 * frame.len() {
                let mut frame = frame.clone();
                frame[bit / 8] ^= 1 << (bit % 8);
                let (ip, tcp) = checked(&frame);
                if bit / 8 >= 34 {
                    assert!(ip == Verdict::Right && tcp.is_wrong(), "bit {bit}: {ip:?} {tcp:?}");
                } else {
                    assert!(ip != Verdict::Right, "bit {bit}: {ip:?}");
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_verified_is_named() {
        let frame = synthetic::tcp([10, 0, 0, 1], [10, 0, 0, 2], 80, 4_000, &[1; 100]);
        let of = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut frame = frame.clone();
            change(&mut frame);
            checked(&frame)
        };
        let (right, absent, partial) = (Verdict::Right, Verdict::Absent, Verdict::Partial);
        assert_eq!(of(&|_| ()), (right, right));
        // Padding behind the packet is not in it, and a tag before it neither.
        assert_eq!(of(&|frame| frame.extend([7; 9])), (right, right));
        assert_eq!(of(&|frame| drop(frame.splice(12..12, [0x81, 0, 0, 7]))), (right, right));
        assert_eq!(of(&|frame| frame.truncate(frame.len() - 1)), (right, partial));
        assert_eq!(of(&|frame| frame.truncate(33)), (partial, absent));
        assert_eq!(of(&|frame| frame[12] = 0x86), (absent, absent));
        assert_eq!(of(&|frame| frame[14] = 0x65), (absent, absent));
        assert_eq!(of(&|frame| frame.truncate(13)), (absent, absent));
        // More fragments follow, or this is one.
        let rewritten = |frame: &mut Vec<u8>, at: usize, byte: u8| {
            frame[at] = byte;
            frame[24..26].fill(0);
            let sum = checksum::of(&frame[14..34]);
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
        };
        assert_eq!(of(&|frame| rewritten(frame, 20, 0x20)), (right, partial));
        assert_eq!(of(&|frame| rewritten(frame, 21, 1)), (right, absent));
        assert_eq!(of(&|frame| rewritten(frame, 23, 17)), (right, absent));
        for len in 0..frame.len() {
            checked(&frame[..len]);
        }
    }
}
