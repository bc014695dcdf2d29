//! What was found of packets, added up.

use std::net::Ipv4Addr;

use super::{Packet, Verdict};

/// Wrong packets that are kept.
const KEPT: usize = 10;

/// Counts of packets by what was found of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All.
    pub packets: u64,
    /// With an IPv4 header whose checksum is right.
    pub ip_right: u64,
    /// With one whose checksum is wrong.
    pub ip_wrong: u64,
    /// With a whole TCP segment over IPv4 whose checksum is right.
    pub tcp_right: u64,
    /// With one whose checksum is wrong.
    pub tcp_wrong: u64,
    /// With IPv4 or TCP of which not all is there that its checksum is over.
    pub partial: u64,
    /// Without IPv4.
    pub others: u64,
    /// The first ten with a wrong checksum.
    pub wrong: Vec<Wrong>,
    /// Where the first packet with a wrong checksum of TCP came from.
    source: Option<Ipv4Addr>,
    /// Whether another one came from elsewhere.
    elsewhere: bool,
}

/// A packet with a wrong checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Which packet it is, from 1.
    pub number: u64,
    /// Source and destination with their ports, which are 0 unless it has TCP.
    pub ends: [(Ipv4Addr, u16); 2],
    /// What was found of the checksum of IPv4.
    pub ip: Verdict,
    /// What was found of that of TCP.
    pub tcp: Verdict,
}

impl Tally {
    /// Adds a packet that was checked.
    pub(crate) fn add(&mut self, packet: &Packet) {
        let Packet { number, ip, tcp, .. } = *packet;
        self.packets += 1;
        let partial = [ip, tcp].contains(&Verdict::Partial);
        self.partial += u64::from(partial);
        self.ip_right += u64::from(ip == Verdict::Right);
        self.tcp_right += u64::from(tcp == Verdict::Right);
        self.ip_wrong += u64::from(ip.is_wrong());
        self.tcp_wrong += u64::from(tcp.is_wrong());
        self.others += u64::from(ip == Verdict::Absent);
        if !ip.is_wrong() && !tcp.is_wrong() {
            return;
        }
        let Some(ends) = packet.ends() else { return };
        if tcp.is_wrong() {
            let source = ends[0].0;
            self.elsewhere |= *self.source.get_or_insert(source) != source;
        }
        if self.wrong.len() < KEPT {
            self.wrong.push(Wrong { number, ends, ip, tcp });
        }
    }

    /// The address that all packets with a wrong checksum of TCP came from, if there are several packets and one address. Most
    /// often that is the machine that captured: its network card fills checksums in behind the capture.
    pub fn only_source(&self) -> Option<Ipv4Addr> {
        self.source.filter(|_| !self.elsewhere && self.tcp_wrong > 1)
    }
}
