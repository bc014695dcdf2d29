//! Made-up frames and captures, for trying things out and for tests.

use std::io::{self, Write};

use super::checksum;
use super::layers::{IPV4, IPV6, TCP, UDP};

const MACS: [u8; 12] = [0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1];

/// A UDP datagram over IPv4 in an Ethernet frame, with right checksums.
pub fn udp(source: [u8; 4], destination: [u8; 4], from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    ipv4(UDP, source, destination, udp_segment(from, to, payload))
}

/// A TCP segment over IPv4 in an Ethernet frame, with right checksums.
pub fn tcp(source: [u8; 4], destination: [u8; 4], from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    let mut segment = [from.to_be_bytes(), to.to_be_bytes()].concat();
    segment.extend([0, 0, 0, 1, 0, 0, 0, 2, 5 << 4, 0x18, 0x20, 0, 0, 0, 0, 0]);
    segment.extend_from_slice(payload);
    ipv4(TCP, source, destination, segment)
}

/// A UDP datagram over IPv6, from fd00::1 to fd00::`host`, in an Ethernet frame, with a right checksum.
pub fn udp6(host: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    let mut segment = udp_segment(4_000, to, payload);
    let mut addresses = [0; 32];
    (addresses[0], addresses[15], addresses[16]) = (0xfd, 1, 0xfd);
    addresses[30..].copy_from_slice(&host.to_be_bytes());
    fill_in_checksum(UDP, &addresses, &mut segment);

    let mut frame = ethernet(IPV6);
    frame.extend([0x60, 0, 0, 0]);
    frame.extend((segment.len() as u16).to_be_bytes());
    frame.extend([UDP, 64]);
    frame.extend(addresses);
    frame.extend(segment);
    frame
}

fn udp_segment(from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    let length = 8 + payload.len() as u16;
    let mut segment = [from.to_be_bytes(), to.to_be_bytes(), length.to_be_bytes(), [0; 2]].concat();
    segment.extend_from_slice(payload);
    segment
}

fn ethernet(ether_type: u16) -> Vec<u8> {
    let mut frame = MACS.to_vec();
    frame.extend(ether_type.to_be_bytes());
    frame
}

fn ipv4(protocol: u8, source: [u8; 4], destination: [u8; 4], mut segment: Vec<u8>) -> Vec<u8> {
    fill_in_checksum(protocol, &[source, destination].concat(), &mut segment);
    let mut header = vec![0x45, 0];
    header.extend((20 + segment.len() as u16).to_be_bytes());
    header.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
    header.extend([source, destination].concat());
    let sum = checksum::of(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    [ethernet(IPV4), header, segment].concat()
}

/// Over the pseudo header and the segment (RFC 9293, section 3.1; RFC 8200, section 8.1).
fn fill_in_checksum(protocol: u8, addresses: &[u8], segment: &mut [u8]) {
    let at = if protocol == TCP { 16 } else { 6 };
    let length = (segment.len() as u16).to_be_bytes();
    let sum = match checksum::of(&[addresses, &[0, protocol], &length, segment].concat()) {
        0 if protocol == UDP => 0xffff,
        sum => sum,
    };
    segment[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Writes a pcap file of `frames` frames: UDP and TCP over IPv4, some UDP over IPv6, some with a VLAN tag, some of
/// another protocol; 42 to 1 514 bytes long. The same bytes every time.
///
/// Addresses are 10.0.0.1 to 10.0.0.8 and fd00::1 to fd00::8, ports 53, 80, 443 and 4000.
///
/// # Errors
///
/// Those of `output`.
pub fn capture(frames: u64, output: &mut impl Write) -> io::Result<()> {
    output.write_all(&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0])?;
    output.write_all(&(256_u32 << 10).to_le_bytes())?;
    output.write_all(&1_u32.to_le_bytes())?;
    let mut random = fastrand::Rng::with_seed(0);
    for number in 0..frames {
        let frame = any(&mut random);
        let (seconds, micros) = (number / 1_000_000, number % 1_000_000);
        let length = frame.len() as u32;
        for word in [seconds as u32, micros as u32, length, length] {
            output.write_all(&word.to_le_bytes())?;
        }
        output.write_all(&frame)?;
    }
    Ok(())
}

fn any(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut payload = vec![0; *random.choice(&[0, 18, 64, 470, 1_460]).unwrap_or(&0)];
    random.fill(&mut payload);
    let [source, destination] = [random.u8(1..=8), random.u8(1..=8)].map(|host| [10, 0, 0, host]);
    let port = *random.choice(&[53, 80, 443, 4_000]).unwrap_or(&53);
    match random.u8(0..10) {
        0..4 => udp(source, destination, 4_000, port, &payload),
        4..7 => tcp(source, destination, 4_000, port, &payload),
        7 => udp6(u16::from(destination[3]), port, &payload[..payload.len().min(1_400)]),
        8 => {
            let frame = udp(source, destination, 4_000, port, &payload[..payload.len().min(1_400)]);
            [&frame[..12], &[0x81, 0x00, 0x00, 0x07], &frame[12..]].concat()
        }
        _ => [&ethernet(0x88cc)[..], &[0; 28]].concat(),
    }
}
