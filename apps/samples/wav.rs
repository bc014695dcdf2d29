//! The header of a WAV file, as the many programs that write them do.
//!
//! RIFF, RF64 and BW64; chunks of any kind before the samples, of odd lengths too; plain and extensible formats; lengths
//! of zero, or as large as can be, by programs that could not know better.

use std::io::{self, Read};

use super::Form;

/// What comes before the samples.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) rate: u32,
    pub(super) channels: u16,
    pub(super) form: Form,
    /// Where the samples start, in bytes.
    pub(super) start: u64,
    /// Bytes of samples; `None` if only the end of the file tells.
    pub(super) bytes: Option<u64>,
}

/// Why there is no header.
#[derive(Debug)]
pub(super) enum Damage {
    Io(io::Error),
    /// To be said behind the name of the file.
    Refused(String),
}

impl From<io::Error> for Damage {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// From so many bytes on a length is one that a program wrote which did not know: sox has 0x7ffff000, others all ones.
const UNKNOWN: u32 = 0x7fff_f000;

/// Reads up to the first sample.
pub(super) fn header(input: &mut impl Read) -> Result<Header, Damage> {
    let mut at = Position { input, at: 0 };
    let start: [u8; 12] = match at.take("its header") {
        Err(Damage::Refused(_)) => [0; 12],
        start => start?,
    };
    if !matches!(&start[..4], b"RIFF" | b"RF64" | b"BW64") || &start[8..] != b"WAVE" {
        return Err(Damage::Refused("does not begin as a WAV file does; raw samples need --raw-rate".to_owned()));
    }
    let (mut format, mut long) = (None, None);
    loop {
        let chunk = at.at;
        let [id @ .., l0, l1, l2, l3] = at.take::<8>("the header of a chunk")?;
        let length = u32::from_le_bytes([l0, l1, l2, l3]);
        let short = |least: u32| {
            Damage::Refused(format!(
                "has a chunk `{}` of {length} bytes at byte {chunk}, and it takes at least {least}",
                id.escape_ascii()
            ))
        };
        match &id {
            b"ds64" => {
                let rest = length.checked_sub(28).ok_or_else(|| short(28))?;
                let fields: [u8; 28] = at.take("the chunk `ds64`")?;
                let eight: [u8; 8] = fields[8..16].try_into().unwrap_or_default();
                long = Some(u64::from_le_bytes(eight));
                at.skip(padded(length) - u64::from(length - rest))?;
            }
            b"fmt " => {
                let rest = length.checked_sub(16).ok_or_else(|| short(16))?;
                let fields: [u8; 16] = at.take("the chunk `fmt `")?;
                let mut taken = 16;
                let mut tag = u16::from_le_bytes([fields[0], fields[1]]);
                if tag == 0xfffe {
                    if rest < 24 {
                        return Err(short(40));
                    }
                    let extension: [u8; 24] = at.take("the chunk `fmt `")?;
                    tag = u16::from_le_bytes([extension[8], extension[9]]);
                    taken = 40;
                }
                format = Some(Format::new(tag, &fields, chunk)?);
                at.skip(padded(length) - taken)?;
            }
            b"data" => {
                let Some(Format { rate, channels, form }) = format else {
                    let reason = format!("has its samples at byte {chunk} before what says of which format they are");
                    return Err(Damage::Refused(reason));
                };
                let bytes = match length {
                    u32::MAX if long.is_some() => long,
                    0 | UNKNOWN.. => None,
                    length => Some(u64::from(length)),
                };
                return Ok(Header { rate, channels, form, start: at.at, bytes });
            }
            _ => at.skip(padded(length))?,
        }
    }
}

/// Chunks begin at even bytes.
fn padded(length: u32) -> u64 {
    u64::from(length) + u64::from(length % 2)
}

/// An input and how far it was read.
struct Position<'a, R> {
    input: &'a mut R,
    at: u64,
}

impl<R: Read> Position<'_, R> {
    fn take<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Damage> {
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Damage::Refused(format!(
                "is no WAV file with samples: it ends in {what}, which begins at byte {}",
                self.at
            )),
            _ => Damage::Io(error),
        })?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        self.at += io::copy(&mut self.input.by_ref().take(bytes), &mut io::sink())?;
        Ok(())
    }
}

struct Format {
    rate: u32,
    channels: u16,
    form: Form,
}

impl Format {
    fn new(tag: u16, fields: &[u8; 16], chunk: u64) -> Result<Self, Damage> {
        let half = |at: usize| u16::from_le_bytes([fields[at], fields[at + 1]]);
        let (channels, align, bits) = (half(2), half(12), half(14));
        let rate = u32::from_le_bytes([fields[4], fields[5], fields[6], fields[7]]);
        let refused = |reason: String| Damage::Refused(format!("{reason} (its chunk `fmt ` is at byte {chunk})"));
        if channels == 0 || rate == 0 {
            return Err(refused(format!("has {channels} channels and {rate} samples a second")));
        }
        // A sample of 12 bits lies in the upper ones of two bytes.
        let bytes = align / channels;
        let form = match (tag, bytes) {
            (1, 1) => Form::U8,
            (1, 2) => Form::I16,
            (1, 3) => Form::I24,
            (1, 4) => Form::I32,
            (1, 8) => Form::I64,
            (3, 4) => Form::F32,
            (3, 8) => Form::F64,
            (6, 1) => Form::ALaw,
            (7, 1) => Form::MuLaw,
            _ => {
                let name = match tag {
                    2 => " (ADPCM)",
                    17 => " (IMA ADPCM)",
                    49 => " (GSM 6.10)",
                    80 | 85 => " (MPEG)",
                    _ => "",
                };
                return Err(refused(format!(
                    "has samples of format {tag}{name} with {bits} bits in {bytes} bytes; `sox IN -e floating-point -b 32 OUT` converts them"
                )));
            }
        };
        if usize::from(bits) > 8 * form.bytes() || bits == 0 || align % channels != 0 {
            return Err(refused(format!("says that samples have {bits} bits in {align} bytes of {channels} channels")));
        }
        Ok(Self { rate, channels, form })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(id: &[u8; 4], length: u32, bytes: &[u8]) -> Vec<u8> {
        [&id[..], &length.to_le_bytes(), bytes].concat()
    }

    fn fmt(tag: u16, channels: u16, bits: u16, align: u16, more: &[u8]) -> Vec<u8> {
        let fields = [tag, channels, 8_000, 0, 0, 0, align, bits].map(u16::to_le_bytes).concat();
        chunk(b"fmt ", (16 + more.len()) as u32, &[&fields, more].concat())
    }

    fn file(kind: &[u8; 4], chunks: &[Vec<u8>]) -> Vec<u8> {
        chunk(kind, 0, &[&b"WAVE"[..], &chunks.concat()].concat())
    }

    fn header_of(file: &[u8]) -> Header {
        header(&mut &file[..]).unwrap()
    }

    #[test]
    fn chunks_of_odd_lengths_are_passed_over() {
        let plain = file(b"RIFF", &[fmt(1, 2, 16, 4, &[]), chunk(b"data", 8, &[0; 8])]);
        let expected = Header { rate: 8_000, channels: 2, form: Form::I16, start: 44, bytes: Some(8) };
        assert_eq!(header_of(&plain), expected);
        let chunks = [
            chunk(b"JUNK", 3, &[1, 2, 3, 0]),
            fmt(1, 2, 16, 4, &[0, 0]),
            chunk(b"x\0y\n", 1, b"ab"),
            chunk(b"data", 8, b""),
        ];
        assert_eq!(header_of(&file(b"RIFF", &chunks)), Header { start: 44 + 12 + 2 + 10, ..expected });
    }

    #[test]
    fn lengths_that_nobody_knew_and_those_that_need_more_than_32_bits() {
        let of = |length: u32| file(b"RIFF", &[fmt(1, 1, 16, 2, &[]), chunk(b"data", length, b"")]);
        for (length, bytes) in
            [(0, None), (u32::MAX, None), (0x7fff_f000, None), (2, Some(2)), (0x7fff_efff, Some(0x7fff_efff))]
        {
            assert_eq!(header_of(&of(length)).bytes, bytes, "{length:#x}");
        }
        let sizes = [u64::MAX, 5_000_000_000, 9, 0].map(u64::to_le_bytes).concat();
        let long = [chunk(b"ds64", 28, &sizes[..28]), fmt(3, 1, 64, 8, &[]), chunk(b"data", u32::MAX, b"")];
        assert_eq!(header_of(&file(b"RF64", &long)).bytes, Some(5_000_000_000));
    }

    #[test]
    fn every_format_of_integers_and_floats() {
        for (tag, bits, bytes, form) in [
            (1, 8, 1, Form::U8),
            (1, 12, 2, Form::I16),
            (1, 20, 3, Form::I24),
            (1, 24, 4, Form::I32),
            (1, 64, 8, Form::I64),
            (3, 32, 4, Form::F32),
            (3, 64, 8, Form::F64),
            (6, 8, 1, Form::ALaw),
            (7, 8, 1, Form::MuLaw),
        ] {
            let plain = file(b"RIFF", &[fmt(tag, 3, bits, 3 * bytes, &[]), chunk(b"data", 0, b"")]);
            assert_eq!(header_of(&plain).form, form);
            let mut more = [0; 24];
            more[8..10].copy_from_slice(&tag.to_le_bytes());
            let extensible = file(b"RIFF", &[fmt(0xfffe, 3, bits, 3 * bytes, &more), chunk(b"data", 0, b"")]);
            assert_eq!(header_of(&extensible).form, form);
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let data = || chunk(b"data", 0, b"");
        let mut twelve = file(b"RIFF", &[]);
        for (file, told) in [
            (b"not a WAV file".to_vec(), "--raw-rate"),
            (file(b"RIFF", &[data()]), "samples at byte 12 before"),
            (file(b"RIFF", &[chunk(b"LIST", 2, b"ab"), chunk(b"fmt ", 14, &[0; 14])]), "`fmt ` of 14 bytes at byte 22"),
            (file(b"RIFF", &[fmt(0xfffe, 1, 16, 2, &[]), data()]), "at least 40"),
            (file(b"RIFF", &[fmt(17, 1, 4, 256, &[]), data()]), "format 17 (IMA ADPCM) with 4 bits"),
            (file(b"RIFF", &[fmt(1, 1, 200, 2, &[]), data()]), "200 bits"),
            (file(b"RIFF", &[fmt(1, 0, 16, 2, &[]), data()]), "0 channels"),
            (std::mem::take(&mut twelve), "begins at byte 12"),
        ] {
            match header(&mut &file[..]) {
                Err(Damage::Refused(reason)) => assert!(reason.contains(told), "{reason}"),
                other => panic!("{told}: {other:?}"),
            }
        }
    }

    #[test]
    fn no_bytes_of_any_kind_panic() {
        let whole =
            file(b"RF64", &[chunk(b"ds64", 28, &[1; 28]), fmt(0xfffe, 1, 16, 2, &[0; 24]), chunk(b"data", 2, b"ab")]);
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..20_000 {
            let mut file = whole.clone();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(0..file.len());
                file[at] = random.u8(..);
            }
            file.truncate(random.usize(0..=whole.len()));
            let _ = header(&mut &file[..]);
        }
    }
}
