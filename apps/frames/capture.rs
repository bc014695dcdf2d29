//! Capture files, a batch of records at a time.
//!
//! A record keeps its bytes as they stand in the file. Whatever is not rewritten (time stamps, comments, descriptions
//! of interfaces, padding) therefore leaves as it came, in either byte order and in both formats, pcap and pcapng.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::ops::Range;

use pcap_parser::nom::Err as Nom;
use pcap_parser::{PcapError, PcapHeader, parse_pcap_header};

use super::layers::Link;

/// The longest frame that a capture program records.
pub(super) const LONGEST_FRAME: usize = 256 << 10;
/// The longest block of a pcapng file that is believed.
const LONGEST_BLOCK: usize = 16 << 20;
/// How much is read at a time, and so the most that a batch holds, unless one record is longer.
const BATCH: usize = 128 << 10;
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
const BLOCK_HEADER: usize = 8;
/// A block type that reads the same in both byte orders.
const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// The block type that describes an interface.
const INTERFACE: usize = 1;
/// The block type of a frame without its time.
const SIMPLE: usize = 3;
/// The block type of a frame with its time.
const ENHANCED: usize = 6;
/// The block type that carried packets before the enhanced packet block did.
const OBSOLETE_PACKET: usize = 2;
/// The link type of Ethernet.
const ETHERNET: i32 = 1;
/// Where an enhanced and a simple packet block keep their frames.
const ENHANCED_FRAME: usize = 28;
const SIMPLE_FRAME: usize = 12;

/// Some records of a capture, one after the other in one buffer. Filled, handed on and filled again without allocating.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Bytes of the file. Those of the records come first.
    bytes: Vec<u8>,
    records: Vec<Extent>,
}

/// Where a record is among the bytes of its batch.
#[derive(Clone, Debug)]
struct Extent {
    start: usize,
    end: usize,
    content: Content,
}

/// What is in a record.
#[derive(Clone, Debug)]
enum Content {
    /// Something that describes frames.
    Description,
    /// A frame of that link type, from the start of the record.
    Frame { link_type: i32, place: Range<usize> },
}

impl Content {
    /// A frame that is understood, and where it is.
    fn frame(&self) -> Option<(Link, Range<usize>)> {
        match self {
            Self::Description => None,
            Self::Frame { link_type, place } => Some((Link::of(*link_type)?, place.clone())),
        }
    }
}

/// One record of a capture: a frame with its header, or something that describes frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The record as it stands in the file.
    pub bytes: &'a [u8],
    /// The frame in it. `None` for file headers, descriptions of interfaces and the like, and for frames of link types that are not
    /// understood.
    pub frame: Option<&'a [u8]>,
}

impl Batch {
    /// The records.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        self.records.iter().map(|place| self.at(place))
    }

    /// The record of that number, from 0.
    pub fn record(&self, index: usize) -> Option<Record<'_>> {
        self.records.get(index).map(|place| self.at(place))
    }

    fn at(&self, place: &Extent) -> Record<'_> {
        let bytes = &self.bytes[place.start..place.end];
        let frame = place.content.frame().map(|(_, frame)| &bytes[frame]);
        Record { bytes, frame }
    }

    /// How many frames of link types there are that are not understood.
    pub(super) fn foreign(&self) -> u64 {
        let is_foreign = |content: &Content| !matches!(content, Content::Description) && content.frame().is_none();
        self.records.iter().filter(|place| is_foreign(&place.content)).count() as u64
    }

    /// Lets `change` look at each frame and rewrite it in place, and takes those out for which it says no.
    pub(super) fn retain_frames(&mut self, mut change: impl FnMut(Link, &mut [u8]) -> bool) {
        let Self { bytes, records } = self;
        records.retain(|place| match place.content.frame() {
            Some((link, frame)) => change(link, &mut bytes[place.start..place.end][frame]),
            None => true,
        });
    }

    /// Writes the records. Those that stand next to each other are one write.
    pub(super) fn write_to(&self, output: &mut impl Write) -> io::Result<()> {
        let mut run = 0..0;
        for place in &self.records {
            if place.start != run.end {
                output.write_all(&self.bytes[run])?;
                run = place.start..place.start;
            }
            run.end = place.end;
        }
        output.write_all(&self.bytes[run])
    }

    /// Has room for `length` bytes from now on, and keeps the first `kept`.
    fn make_room(&mut self, length: usize, kept: usize) {
        if length > self.bytes.len() {
            // Fresh memory is zeroed by the system; `resize` would write every byte.
            let mut longer = vec![0; length];
            longer[..kept].copy_from_slice(&self.bytes[..kept]);
            self.bytes = longer;
        }
    }

    /// How many bytes the records have.
    pub(super) fn len(&self) -> u64 {
        self.records.iter().map(|place| (place.end - place.start) as u64).sum()
    }
}

/// Why a capture could not be read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The byte of the file at which the bad record starts.
    pub position: u64,
    /// How many records before it are good. The header of a pcap file is one, and so is each block of a pcapng file.
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
    /// To be seen from the first record.
    Unknown,
    Pcap {
        big_endian: bool,
        link_type: i32,
    },
    Pcapng {
        big_endian: bool,
        interfaces: Vec<Interface>,
    },
}

/// What a capture says of an interface.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link_type: i32,
    /// No frame of it is recorded with more bytes than these; 0 says that there is no such limit.
    longest: usize,
}

impl Interface {
    /// A frame of it, at this place of its record.
    fn content(self, place: Range<usize>) -> Content {
        Content::Frame { link_type: self.link_type, place }
    }
}

/// Why there is no record.
enum Lack {
    /// It has so many bytes at least, and fewer are there.
    Bytes(usize),
    /// It is none, for this reason.
    Sense(String),
}

impl From<String> for Lack {
    fn from(reason: String) -> Self {
        Self::Sense(reason)
    }
}

/// How long a record is, and what is in it.
type Parsed = Result<(usize, Content), Lack>;

impl Format {
    /// The record at the start of `bytes`, which may end before or behind it.
    fn record(&mut self, bytes: &mut [u8]) -> Parsed {
        match self {
            Self::Unknown => self.first(bytes),
            Self::Pcap { big_endian, link_type } => pcap(bytes, *big_endian, *link_type),
            Self::Pcapng { big_endian, interfaces } => block(bytes, big_endian, interfaces),
        }
    }

    /// The first record, which says what the format is.
    fn first(&mut self, bytes: &mut [u8]) -> Parsed {
        if at_least(bytes, 4)?[..4] == SECTION {
            let (mut big_endian, mut interfaces) = (false, Vec::new());
            let parsed = block(bytes, &mut big_endian, &mut interfaces)?;
            *self = Self::Pcapng { big_endian, interfaces };
            return Ok(parsed);
        }
        if let Err(Nom::Error(_)) = parse_pcap_header(&bytes[..4]) {
            return Err(Lack::Sense(format!("not a capture file: it starts with {:02x?}", &bytes[..4])));
        }
        let header = &at_least(bytes, FILE_HEADER)?[..FILE_HEADER];
        let header = file_header(header)?;
        // The upper half says whether frames end with their check sequence, and how long that is.
        *self = Self::Pcap { big_endian: header.is_bigendian(), link_type: header.network.0 & 0xffff };
        Ok((FILE_HEADER, Content::Description))
    }
}

fn at_least(bytes: &mut [u8], length: usize) -> Result<&mut [u8], Lack> {
    if bytes.len() < length { Err(Lack::Bytes(length)) } else { Ok(bytes) }
}

fn pcap(bytes: &mut [u8], big_endian: bool, link_type: i32) -> Parsed {
    let bytes = at_least(bytes, RECORD_HEADER)?;
    let length = word(bytes, 8, big_endian);
    if length > LONGEST_FRAME {
        return Err(Lack::Sense(format!("a frame of {length} bytes; frames have at most {LONGEST_FRAME}")));
    }
    at_least(bytes, RECORD_HEADER + length)?;
    let content = Interface { link_type, longest: 0 }.content(RECORD_HEADER..RECORD_HEADER + length);
    Ok((RECORD_HEADER + length, content))
}

fn block(bytes: &mut [u8], big_endian: &mut bool, interfaces: &mut Vec<Interface>) -> Parsed {
    let bytes = at_least(bytes, BLOCK_HEADER)?;
    let starts_section = bytes.starts_with(&SECTION);
    if starts_section {
        let mark = &at_least(bytes, BLOCK_HEADER + 4)?[BLOCK_HEADER..BLOCK_HEADER + 4];
        *big_endian = match mark {
            [0x4d, 0x3c, 0x2b, 0x1a] => false,
            [0x1a, 0x2b, 0x3c, 0x4d] => true,
            _ => return Err(Lack::Sense(format!("the byte-order mark is {mark:02x?}"))),
        };
    }
    let big_endian = *big_endian;
    let length = word(bytes, 4, big_endian);
    if !length.is_multiple_of(4) || !(BLOCK_HEADER + 4..=LONGEST_BLOCK).contains(&length) {
        let limits = format!("blocks are multiples of 4 from 12 to {LONGEST_BLOCK}");
        return Err(Lack::Sense(format!("a block of {length} bytes; {limits}")));
    }
    let bytes = &mut at_least(bytes, length)?[..length];
    let again = word(bytes, length - 4, big_endian);
    if again != length {
        return Err(Lack::Sense(format!("a block begins with the length {length} and ends with the length {again}")));
    }
    let content = match word(bytes, 0, big_endian) {
        ENHANCED => enhanced(bytes, big_endian, interfaces)?,
        OBSOLETE_PACKET => {
            return Err(Lack::Sense("an obsolete packet block (type 2); `editcap -F pcapng` converts it".into()));
        }
        INTERFACE => {
            let link_type = i32::from(half(has_room(bytes, 20)?, 8, big_endian));
            interfaces.push(Interface { link_type, longest: word(bytes, 12, big_endian) });
            Content::Description
        }
        SIMPLE => {
            let room = has_room(bytes, SIMPLE_FRAME + 4)?.len() - SIMPLE_FRAME - 4;
            let interface = interface(interfaces, 0)?;
            // The block has no length of what was recorded, so what is padding follows from the other lengths.
            let longest = if interface.longest == 0 { room } else { room.min(interface.longest) };
            interface.content(SIMPLE_FRAME..SIMPLE_FRAME + longest.min(word(bytes, 8, big_endian)))
        }
        // Whatever else it says, it is as long as it says, and frames do not need it.
        _ => Content::Description,
    };
    if starts_section {
        has_room(bytes, 28)?;
        interfaces.clear();
        // Frames may be left out, so the length of the section is not known any more. All ones says that.
        bytes[16..24].fill(0xff);
    }
    Ok((length, content))
}

/// Refuses a block that is shorter than the fields of its type.
fn has_room(block: &[u8], least: usize) -> Result<&[u8], String> {
    if block.len() < least {
        Err(format!("a malformed block ({} bytes, and it has at least {least})", block.len()))
    } else {
        Ok(block)
    }
}

/// The frame of an enhanced packet block.
fn enhanced(bytes: &[u8], big_endian: bool, interfaces: &[Interface]) -> Result<Content, String> {
    let room = bytes.len().checked_sub(ENHANCED_FRAME + 4).ok_or("a malformed block (too short for a frame)")?;
    let length = word(bytes, 20, big_endian);
    if length > room {
        return Err(format!("a malformed block (a frame of {length} bytes where {room} have room)"));
    }
    Ok(interface(interfaces, word(bytes, 8, big_endian))?.content(ENHANCED_FRAME..ENHANCED_FRAME + length))
}

/// A capture file, read from `R` in one pass with bounded memory.
#[derive(Debug)]
pub struct Capture<R> {
    input: R,
    format: Format,
    position: u64,
    records: u64,
    /// Read, but behind the last whole record.
    rest: Vec<u8>,
    /// The batch that was read to find the format.
    first: Option<Batch>,
    /// A frame of another link type is damage.
    only_ethernet: bool,
    damage: Option<Damage>,
    /// Whether nothing else is wrong than that the file ends too early.
    cut_off: bool,
    ended: bool,
}

impl<R: Read> Capture<R> {
    /// Reads the file header and finds the format.
    ///
    /// # Errors
    ///
    /// If this is not a capture file, or corrupt before its first frame, and within what the first read gives. One that is cut off there
    /// can be read up to where it ends.
    pub fn open(input: R) -> Result<Self, Damage> {
        Self::begin(input, false)
    }

    /// As [`open`](Self::open), but a frame of another link type than Ethernet is damage.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), and if the first frame is of another link type.
    pub fn open_ethernet(input: R) -> Result<Self, Damage> {
        Self::begin(input, true)
    }

    fn begin(input: R, only_ethernet: bool) -> Result<Self, Damage> {
        let mut capture = Self {
            input,
            format: Format::Unknown,
            position: 0,
            records: 0,
            rest: Vec::new(),
            first: None,
            only_ethernet,
            damage: None,
            cut_off: false,
            ended: false,
        };
        capture.first = capture.read(Batch::default());
        let records = capture.first.iter().flat_map(|batch| &batch.records);
        let has_frame = records.into_iter().any(|place| !matches!(place.content, Content::Description));
        let is_usable = has_frame || capture.cut_off;
        match capture.damage.take_if(|damage| damage.records == 0 || !is_usable) {
            None => Ok(capture),
            Some(damage) => Err(damage),
        }
    }

    /// Fills `batch` with the next records: what one read gives, but at least one. `None` after the last one or the
    /// first that is damaged.
    ///
    /// # Errors
    ///
    /// The damage, once, after the batch with all that is good before it.
    pub fn next(&mut self, batch: Batch) -> Option<Result<Batch, Damage>> {
        match self.first.take().or_else(|| self.read(batch)) {
            Some(batch) => Some(Ok(batch)),
            None => self.damage.take().map(Err),
        }
    }

    /// The next records, if there are any; sets `damage` and `ended` as it finds it.
    fn read(&mut self, mut batch: Batch) -> Option<Batch> {
        if self.ended {
            return None;
        }
        batch.records.clear();
        batch.make_room(BATCH.max(self.rest.len()), 0);
        batch.bytes[..self.rest.len()].copy_from_slice(&self.rest);
        let (mut start, mut filled) = (0, self.rest.len());
        let mut at_end = false;
        let reason = loop {
            match self.format.record(&mut batch.bytes[start..filled]) {
                Ok((_, Content::Frame { link_type, .. })) if self.only_ethernet && link_type != ETHERNET => {
                    break Some(format!(
                        "a frame of link type {link_type}; only those of Ethernet, 1, are understood here"
                    ));
                }
                Ok((length, content)) => {
                    batch.records.push(Extent { start, end: start + length, content });
                    start += length;
                    self.records += 1;
                    self.position += length as u64;
                }
                Err(Lack::Sense(reason)) => break Some(reason),
                Err(Lack::Bytes(_)) if at_end && filled == start && self.records > 0 => break None,
                Err(Lack::Bytes(length)) if at_end => {
                    self.cut_off = true;
                    break Some(format!("the file ends after {} of the {length} bytes of a record", filled - start));
                }
                // What is there goes on its way before more is waited for.
                Err(Lack::Bytes(_)) if !batch.records.is_empty() => {
                    self.rest.clear();
                    self.rest.extend_from_slice(&batch.bytes[start..filled]);
                    return Some(batch);
                }
                Err(Lack::Bytes(length)) => {
                    // Room grows with what has come, not with what a record says of itself.
                    batch.make_room(length.min((2 * filled).max(BATCH)), filled);
                    match self.input.read(&mut batch.bytes[filled..]) {
                        Ok(0) => at_end = true,
                        Ok(count) => filled += count,
                        Err(error) if error.kind() == ErrorKind::Interrupted => {}
                        Err(error) => break Some(error.to_string()),
                    }
                }
            }
        };
        self.ended = true;
        self.damage = reason.map(|reason| Damage { position: self.position, records: self.records, reason });
        (!batch.records.is_empty()).then_some(batch)
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
    Ok(header)
}

/// The interface with that number.
fn interface(interfaces: &[Interface], number: usize) -> Result<Interface, String> {
    let none = || format!("a frame of interface {number}, and {} are described", interfaces.len());
    interfaces.get(number).copied().ok_or_else(none)
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

fn half(bytes: &[u8], at: usize, big_endian: bool) -> u16 {
    let half = [bytes[at], bytes[at + 1]];
    if big_endian { u16::from_be_bytes(half) } else { u16::from_le_bytes(half) }
}

fn word(bytes: &[u8], at: usize, big_endian: bool) -> usize {
    let word = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    (if big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }) as usize
}
