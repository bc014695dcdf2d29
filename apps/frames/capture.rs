//! Capture files, record by record.
//!
//! A record keeps its bytes as they stand in the file. Whatever is not rewritten (time stamps, comments, descriptions
//! of interfaces, padding) therefore leaves as it came, in either byte order and in both formats, pcap and pcapng.

use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::ops::Range;

use pcap_parser::nom::Err as Nom;
use pcap_parser::{Block, PcapError, PcapHeader, parse_block_be, parse_block_le, parse_pcap_header};

/// The longest frame that a capture program records.
const LONGEST_FRAME: usize = 256 << 10;
/// The longest block of a pcapng file that is believed.
const LONGEST_BLOCK: usize = 16 << 20;
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
const BLOCK_HEADER: usize = 8;
/// A block type that reads the same in both byte orders.
const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// The block type that carried packets before the enhanced packet block did.
const OBSOLETE_PACKET: u32 = 2;
/// The link type of Ethernet.
const ETHERNET: i32 = 1;
/// Where an enhanced and a simple packet block keep their frames.
const ENHANCED_FRAME: usize = 28;
const SIMPLE_FRAME: usize = 12;

/// One record of a capture: a frame with its header, or something that describes frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    bytes: Vec<u8>,
    frame: Option<Range<usize>>,
}

impl Record {
    /// The record as it stands in the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The frame in it. `None` for file headers, descriptions of interfaces and the like.
    pub fn frame(&self) -> Option<&[u8]> {
        self.frame.clone().map(|range| &self.bytes[range])
    }

    /// The frame in it, to be changed in place.
    pub fn frame_mut(&mut self) -> Option<&mut [u8]> {
        self.frame.clone().map(|range| &mut self.bytes[range])
    }
}

/// Why a capture could not be read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The byte of the file at which the bad record starts.
    pub position: u64,
    /// How many records before it are good.
    pub records: u64,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {} (record {}): {}", self.position, self.records + 1, self.reason)
    }
}

impl std::error::Error for Damage {}

/// How records are laid out.
#[derive(Debug)]
enum Format {
    Pcap { big_endian: bool },
    Pcapng { big_endian: bool, link_types: Vec<i32> },
}

/// A capture file, read from `R` in one pass with bounded memory. An iterator over its records; it ends after the first
/// error.
#[derive(Debug)]
pub struct Capture<R> {
    input: R,
    format: Format,
    position: u64,
    records: u64,
    /// The record that was read to find the format.
    first: Option<Record>,
    ended: bool,
}

impl<R: Read> Capture<R> {
    /// Reads the file header and finds the format.
    ///
    /// # Errors
    ///
    /// If this is not a capture file, or not one of Ethernet frames.
    pub fn open(mut input: R) -> Result<Self, Damage> {
        let mut bytes = Vec::new();
        let header = read_to(&mut input, &mut bytes, 4).and_then(|()| {
            let mut capture = Self {
                input,
                format: Format::Pcapng { big_endian: false, link_types: Vec::new() },
                position: 0,
                records: 0,
                first: None,
                ended: false,
            };
            let first = if bytes == SECTION {
                capture.block(bytes)?
            } else {
                if let Err(Nom::Error(_)) = parse_pcap_header(&bytes) {
                    return Err(format!("not a capture file: it starts with {bytes:02x?}"));
                }
                read_to(&mut capture.input, &mut bytes, FILE_HEADER)?;
                capture.format = Format::Pcap { big_endian: file_header(&bytes)?.is_bigendian() };
                Record { bytes, frame: None }
            };
            capture.first = Some(first);
            Ok(capture)
        });
        header.map_err(|reason| Damage { position: 0, records: 0, reason })
    }

    fn pcap(&mut self, big_endian: bool, mut bytes: Vec<u8>) -> Result<Record, String> {
        read_to(&mut self.input, &mut bytes, RECORD_HEADER)?;
        let length = word(&bytes, 8, big_endian);
        if length > LONGEST_FRAME {
            return Err(format!("a frame of {length} bytes; frames have at most {LONGEST_FRAME}"));
        }
        read_to(&mut self.input, &mut bytes, RECORD_HEADER + length)?;
        Ok(Record { frame: Some(RECORD_HEADER..bytes.len()), bytes })
    }

    fn block(&mut self, mut bytes: Vec<u8>) -> Result<Record, String> {
        let Format::Pcapng { big_endian, link_types } = &mut self.format else {
            unreachable!("only a pcapng file has blocks");
        };
        read_to(&mut self.input, &mut bytes, BLOCK_HEADER)?;
        if bytes.starts_with(&SECTION) {
            read_to(&mut self.input, &mut bytes, BLOCK_HEADER + 4)?;
            *big_endian = match bytes[BLOCK_HEADER..] {
                [0x4d, 0x3c, 0x2b, 0x1a] => false,
                [0x1a, 0x2b, 0x3c, 0x4d] => true,
                _ => return Err(format!("the byte-order mark is {:02x?}", &bytes[BLOCK_HEADER..])),
            };
            link_types.clear();
        }
        let big_endian = *big_endian;
        let length = word(&bytes, 4, big_endian);
        if !length.is_multiple_of(4) || !(BLOCK_HEADER + 4..=LONGEST_BLOCK).contains(&length) {
            return Err(format!("a block of {length} bytes; blocks are multiples of 4 from 12 to {LONGEST_BLOCK}"));
        }
        read_to(&mut self.input, &mut bytes, length)?;
        let again = word(&bytes, length - 4, big_endian);
        if again != length {
            return Err(format!("a block begins with the length {length} and ends with the length {again}"));
        }
        let parse = if big_endian { parse_block_be } else { parse_block_le };
        let (_, block) = parse(&bytes).map_err(|error| format!("a malformed block ({})", parser_reason(&error)))?;
        let frame = match block {
            Block::InterfaceDescription(interface) => {
                link_types.push(interface.linktype.0);
                None
            }
            Block::EnhancedPacket(packet) => {
                ethernet(link_types, packet.if_id as usize)?;
                Some(ENHANCED_FRAME..ENHANCED_FRAME + packet.caplen as usize)
            }
            Block::SimplePacket(packet) => {
                ethernet(link_types, 0)?;
                Some(SIMPLE_FRAME..SIMPLE_FRAME + packet.data.len().min(packet.origlen as usize))
            }
            Block::Unknown(block) if block.block_type == OBSOLETE_PACKET => {
                return Err("an obsolete packet block (type 2); `editcap -F pcapng` converts it".into());
            }
            // Frames may be left out, so the length of the section is not known any more. All ones says that.
            Block::SectionHeader(_) => {
                bytes[16..24].fill(0xff);
                None
            }
            _ => None,
        };
        Ok(Record { bytes, frame })
    }
}

impl<R: Read> Iterator for Capture<R> {
    type Item = Result<Record, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let mut bytes = Vec::new();
        let record = match self.first.take() {
            Some(first) => Ok(first),
            None => match read_up_to(&mut self.input, &mut bytes, 1) {
                Ok(0) => {
                    self.ended = true;
                    return None;
                }
                Ok(_) => match self.format {
                    Format::Pcap { big_endian } => self.pcap(big_endian, bytes),
                    Format::Pcapng { .. } => self.block(bytes),
                },
                Err(error) => Err(error.to_string()),
            },
        };
        Some(match record {
            Ok(record) => {
                self.position += record.bytes.len() as u64;
                self.records += 1;
                Ok(record)
            }
            Err(reason) => {
                self.ended = true;
                Err(Damage { position: self.position, records: self.records, reason })
            }
        })
    }
}

fn file_header(bytes: &[u8]) -> Result<PcapHeader, String> {
    let (_, header) = parse_pcap_header(bytes).map_err(|error| parser_reason(&error))?;
    if header.is_modified_format() || header.version_major != 2 {
        let (major, minor) = (header.version_major, header.version_minor);
        return Err(format!(
            "pcap variant {:08x}, version {major}.{minor}; `editcap -F pcap` converts it",
            header.magic_number
        ));
    }
    // The upper bits say whether frames end with their check sequence.
    ethernet(&[header.network.0 & 0x0fff_ffff], 0)?;
    Ok(header)
}

fn ethernet(link_types: &[i32], interface: usize) -> Result<(), String> {
    match link_types.get(interface) {
        Some(&ETHERNET) => Ok(()),
        Some(other) => Err(format!("frames of link type {other}; only Ethernet, 1, can be filtered and rewritten")),
        None => Err(format!("a frame of interface {interface}, and {} are described", link_types.len())),
    }
}

fn parser_reason(error: &Nom<PcapError<&[u8]>>) -> String {
    match error {
        Nom::Incomplete(_) => "its content is longer than the block".into(),
        Nom::Error(PcapError::NomError(_, kind)) | Nom::Failure(PcapError::NomError(_, kind)) => {
            kind.description().into()
        }
        Nom::Error(error) | Nom::Failure(error) => error.to_string(),
    }
}

fn word(bytes: &[u8], at: usize, big_endian: bool) -> usize {
    let word = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    (if big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }) as usize
}

/// Reads until `bytes` has `length` bytes, or says how many there are.
fn read_to(input: &mut impl Read, bytes: &mut Vec<u8>, length: usize) -> Result<(), String> {
    match read_up_to(input, bytes, length) {
        Ok(found) if found < length => Err(format!("the file ends after {found} of the {length} bytes of a record")),
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// Reads until `bytes` has `length` bytes or the input ends; gives the length reached.
fn read_up_to(input: &mut impl Read, bytes: &mut Vec<u8>, length: usize) -> io::Result<usize> {
    let mut found = bytes.len();
    bytes.resize(length, 0);
    while found < length {
        match input.read(&mut bytes[found..]) {
            Ok(0) => break,
            Ok(count) => found += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(found);
    Ok(found)
}
