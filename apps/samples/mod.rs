//! Samples from and to files: WAV, and raw little-endian ones.

mod fir;
pub(crate) mod fuzz;
pub mod synthetic;
mod wav;
mod write;

use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;

use crate::error::must_differ;
use crate::{Error, Halt, Result, Watch, incoming};

pub(crate) use fir::dot;
pub(crate) use write::{Sound, Target};

/// How a sample lies in a file. All are little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A byte, 128 for silence.
    U8,
    /// An integer of 8 bits.
    I8,
    /// An integer of 16 bits.
    I16,
    /// An integer of 24 bits.
    I24,
    /// An integer of 32 bits.
    I32,
    /// An integer of 64 bits.
    I64,
    /// A float of 32 bits.
    F32,
    /// A float of 64 bits.
    F64,
    /// A byte of G.711's A-law, for telephones in most countries.
    ALaw,
    /// A byte of G.711's µ-law, for those of North America and Japan.
    MuLaw,
}

impl Form {
    /// Bytes of a sample.
    pub fn bytes(self) -> usize {
        match self {
            Form::U8 | Form::I8 | Form::ALaw | Form::MuLaw => 1,
            Form::I16 => 2,
            Form::I24 => 3,
            Form::I32 | Form::F32 => 4,
            Form::I64 | Form::F64 => 8,
        }
    }

    /// The samples in `bytes`, integers scaled to -1 ..= 1.
    fn decode(self, bytes: &[u8], to: &mut Vec<f32>) {
        let scale = 2.0_f32.powi(1 - 8 * self.bytes() as i32);
        match self {
            Form::U8 => to.extend(bytes.iter().map(|&byte| (f32::from(byte) - 128.0) * scale)),
            Form::I8 => to.extend(bytes.iter().map(|&byte| f32::from(byte as i8) * scale)),
            Form::I16 => to.extend(bytes.as_chunks().0.iter().map(|&two| f32::from(i16::from_le_bytes(two)) * scale)),
            Form::I24 => to.extend(
                bytes
                    .as_chunks()
                    .0
                    .iter()
                    .map(|&[low, middle, high]| (i32::from_le_bytes([0, low, middle, high]) >> 8) as f32 * scale),
            ),
            Form::I32 => to.extend(bytes.as_chunks().0.iter().map(|&four| i32::from_le_bytes(four) as f32 * scale)),
            Form::I64 => to.extend(bytes.as_chunks().0.iter().map(|&eight| i64::from_le_bytes(eight) as f32 * scale)),
            Form::F32 => to.extend(bytes.as_chunks().0.iter().map(|&four| f32::from_le_bytes(four))),
            Form::F64 => to.extend(bytes.as_chunks().0.iter().map(|&eight| f64::from_le_bytes(eight) as f32)),
            Form::ALaw => to.extend(bytes.iter().map(|&byte| a_law(byte))),
            Form::MuLaw => to.extend(bytes.iter().map(|&byte| mu_law(byte))),
        }
    }
}

/// A sample of ITU-T G.711's A-law: sign, segment and step, every second bit turned over. The first two segments have steps of one size.
fn a_law(byte: u8) -> f32 {
    let turned = byte ^ 0x55;
    let (segment, step) = ((turned >> 4) & 7, (u16::from(turned & 15) << 4) | 8);
    let size = if segment == 0 { step } else { (step + 0x100) << (segment - 1) };
    signed(turned & 0x80 == 0, size)
}

/// A sample of ITU-T G.711's µ-law: all bits turned over, and each segment 33 quarter steps further out than it would be.
fn mu_law(byte: u8) -> f32 {
    let turned = !byte;
    let size = (((u16::from(turned & 15) << 3) + 0x84) << ((turned >> 4) & 7)) - 0x84;
    signed(turned & 0x80 != 0, size)
}

fn signed(is_negative: bool, size: u16) -> f32 {
    let size = f32::from(size) / 32_768.0;
    if is_negative { -size } else { size }
}

impl FromStr for Form {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Ok(match name {
            "u8" => Form::U8,
            "i8" => Form::I8,
            "i16" => Form::I16,
            "i24" => Form::I24,
            "i32" => Form::I32,
            "i64" => Form::I64,
            "f32" => Form::F32,
            "f64" => Form::F64,
            "alaw" => Form::ALaw,
            "ulaw" => Form::MuLaw,
            _ => {
                return Err(format!(
                    "`{name}` is no form of samples; take u8, i8, i16, i24, i32, i64, f32, f64, alaw or ulaw"
                ));
            }
        })
    }
}

/// Raw samples: what a file without a header does not say.
#[derive(Clone, Copy, Debug)]
pub struct Raw {
    /// Samples per second.
    pub rate: u32,
    /// How each lies in the file.
    pub form: Form,
    /// Samples at a time, as 2 of a stereo file.
    pub channels: u16,
}

/// Samples that are read from a file as they are needed, those of one time beside each other.
pub(crate) struct Samples {
    /// Times per second.
    pub(crate) rate: u32,
    /// Samples at each time.
    pub(crate) channels: u16,
    /// How each lies in the file.
    pub(crate) form: Form,
    /// How many there are, of all channels; `None` if only the end of the file tells.
    pub(crate) count: Option<u64>,
    input: incoming::Input,
    halt: Option<Halt>,
    /// Those that are not read from the file, if it was said how many there are.
    left: u64,
    /// Some that were read.
    values: Vec<f32>,
    next: usize,
    bytes: Vec<u8>,
    /// The file ended in the middle of a sample.
    cut_off: bool,
}

/// Samples that are read at once.
const BATCH: usize = 4096;

/// Opens a WAV file, or one of raw samples if `raw` says which. `watch` is told if only the end of the file says how long it is.
///
/// # Errors
///
/// [`Error::File`] if it cannot be opened, [`Error::Refused`] if it is not as it has to be, with the byte where that shows.
pub(crate) fn open(path: &Path, raw: Option<Raw>, watch: &dyn Watch) -> Result<Samples> {
    let (mut file, length) = incoming::open(path, watch.halt()).map_err(|error| Error::file("open", path, error))?;
    let refused = |reason: String| Error::Refused(format!("{} {reason}", path.display()));
    let Some(raw) = raw else {
        let header = wav::header(&mut file).map_err(|damage| match damage {
            wav::Damage::Io(error) => Error::file("read", path, error),
            wav::Damage::Refused(reason) => incoming::or_halted(watch, refused(reason)),
        })?;
        let wav::Header { rate, channels, form, start, bytes } = header;
        let there = length.map(|length| length.saturating_sub(start));
        if let (Some(bytes), Some(there)) = (bytes, there)
            && there < bytes
        {
            return Err(refused(format!(
                "is cut off: its header says {bytes} bytes of samples, and {there} are there"
            )));
        }
        if bytes.is_none() {
            let text = "the header does not say how many samples there are, as of a file that was written into a pipe";
            watch.notice(&format!("{}: {text}; it is read to its end", path.display()));
        }
        return Samples::new(file, Raw { rate, form, channels }, bytes.or(there), watch.halt()).map_err(refused);
    };
    let mut start = Vec::new();
    file.by_ref().take(12).read_to_end(&mut start).map_err(|error| Error::file("read", path, error))?;
    if start.starts_with(b"RIFF") && start.get(8..) == Some(&b"WAVE"[..]) {
        return Err(refused("is a WAV file; leave out --raw-rate".to_owned()));
    }
    Samples::new(Box::new(io::Cursor::new(start).chain(file)), raw, length, watch.halt()).map_err(refused)
}

/// Opens a file of sound that is to become `output`.
///
/// # Errors
///
/// As [`open`]; [`Error::Refused`] if it has no samples, or is the output too.
pub(crate) fn open_sound(path: &Path, raw: Option<Raw>, output: Option<&Path>, watch: &dyn Watch) -> Result<Samples> {
    output.map_or(Ok(()), |output| must_differ(path, output))?;
    let samples = open(path, raw, watch)?;
    match samples.times() {
        Some(0) => Err(Error::Refused(format!("{} has no samples", path.display()))),
        _ => Ok(samples),
    }
}

impl Samples {
    fn new(input: incoming::Input, raw: Raw, bytes: Option<u64>, halt: Option<Halt>) -> Result<Self, String> {
        let Raw { rate, form, channels } = raw;
        let each = form.bytes() as u64 * u64::from(channels);
        if each == 0 || rate == 0 {
            return Err(format!("has {channels} channels and {rate} samples a second; neither can be zero"));
        }
        if let Some(bytes) = bytes
            && !bytes.is_multiple_of(each)
        {
            return Err(format!(
                "has {bytes} bytes of samples, and at a time they are {each} bytes; is it cut off, or of another format?"
            ));
        }
        let count = bytes.map(|bytes| bytes / form.bytes() as u64);
        let left = count.unwrap_or(u64::MAX);
        Ok(Self {
            rate,
            channels,
            form,
            count,
            input,
            halt,
            left,
            values: Vec::new(),
            next: 0,
            bytes: Vec::new(),
            cut_off: false,
        })
    }

    /// Reads some more; false at the end.
    fn more(&mut self) -> io::Result<bool> {
        let wanted = self.form.bytes() * self.left.min(BATCH as u64) as usize;
        self.bytes.resize(wanted, 0);
        // What comes is taken as it comes: who writes into a pipe may wait for an answer.
        let mut read = 0_usize;
        while read == 0 || !read.is_multiple_of(self.form.bytes()) {
            match self.input.read(&mut self.bytes[read..]) {
                Ok(0) => break,
                Ok(some) => read += some,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let whole = read - read % self.form.bytes();
        // What is whole comes first. Whoever ended the input knows that it is cut off.
        let is_halted = self.halt.as_ref().is_some_and(Halt::is_halted);
        if !is_halted && wanted > 0 && whole == 0 && (self.cut_off || read > 0 || self.count.is_some()) {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it ends in the middle of its samples"));
        }
        self.cut_off = whole < read;
        self.values.clear();
        self.next = 0;
        self.form.decode(&self.bytes[..whole], &mut self.values);
        self.left = self.left.saturating_sub(self.values.len() as u64);
        Ok(whole > 0)
    }

    /// The samples of each time as one, their mean.
    pub(crate) fn mixed(mut self) -> impl Iterator<Item = io::Result<f32>> + Send {
        let channels = self.channels;
        std::iter::from_fn(move || {
            let mut sum = match self.next()? {
                Ok(first) if channels == 1 => return Some(Ok(first)),
                Ok(first) => first,
                Err(error) => return Some(Err(error)),
            };
            for _ in 1..channels {
                match self.next()? {
                    Ok(sample) => sum += sample,
                    Err(error) => return Some(Err(error)),
                }
            }
            Some(Ok(sum / f32::from(channels)))
        })
    }

    /// How many times there are.
    pub(crate) fn times(&self) -> Option<u64> {
        self.count.map(|count| count / u64::from(self.channels))
    }

    /// Bytes of all samples of one time.
    pub(crate) fn bytes_each(&self) -> u64 {
        self.form.bytes() as u64 * u64::from(self.channels)
    }
}

impl Iterator for Samples {
    type Item = io::Result<f32>;

    #[inline]
    fn next(&mut self) -> Option<io::Result<f32>> {
        if self.next == self.values.len() {
            match self.more() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
        self.next += 1;
        Some(Ok(self.values[self.next - 1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of G.711's tables where segments begin and end, of 16 bits.
    #[test]
    fn telephones_are_heard_as_their_standard_says() {
        let of = |form: Form, byte: u8| {
            let mut samples = Vec::new();
            form.decode(&[byte], &mut samples);
            samples[0] * 32_768.0
        };
        for (byte, value) in [(0xff, 0.0), (0x7f, 0.0), (0xfe, 8.0), (0x80, 32_124.0), (0x00, -32_124.0), (0xef, 132.0)]
        {
            assert_eq!(of(Form::MuLaw, byte), value, "{byte:#x}");
        }
        for (byte, value) in [(0xd5, 8.0), (0x55, -8.0), (0xaa, 32_256.0), (0x2a, -32_256.0), (0xc5, 264.0)] {
            assert_eq!(of(Form::ALaw, byte), value, "{byte:#x}");
        }
        // All 256 values of a law are different, but for the two zeros of µ-law.
        for (form, different) in [(Form::ALaw, 256), (Form::MuLaw, 255)] {
            let mut values: Vec<i32> = (0..=255).map(|byte| of(form, byte) as i32).collect();
            values.sort_unstable();
            values.dedup();
            assert_eq!(values.len(), different);
        }
    }
}
