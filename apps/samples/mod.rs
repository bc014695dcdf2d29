//! Samples from and to files: WAV, and raw little-endian ones.

mod fir;
pub(crate) mod fuzz;
pub mod synthetic;
mod wav;
mod write;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;

use crate::error::must_differ;
use crate::{Error, Result, Watch};

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
}

impl Form {
    /// Bytes of a sample.
    pub fn bytes(self) -> usize {
        match self {
            Form::U8 | Form::I8 => 1,
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
        }
    }
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
            _ => return Err(format!("`{name}` is no form of samples; take u8, i8, i16, i24, i32, i64, f32 or f64")),
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
    input: Box<dyn Read + Send>,
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
    let mut file = File::open(path).map_err(|error| Error::file("open", path, error))?;
    let length = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
    let refused = |reason: String| Error::Refused(format!("{} {reason}", path.display()));
    let Some(raw) = raw else {
        let header = wav::header(&mut file).map_err(|damage| match damage {
            wav::Damage::Io(error) => Error::file("read", path, error),
            wav::Damage::Refused(reason) => refused(reason),
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
        return Samples::new(Box::new(file), Raw { rate, form, channels }, bytes.or(there)).map_err(refused);
    };
    let mut start = Vec::new();
    file.by_ref().take(12).read_to_end(&mut start).map_err(|error| Error::file("read", path, error))?;
    if start.starts_with(b"RIFF") && start.get(8..) == Some(&b"WAVE"[..]) {
        return Err(refused("is a WAV file; leave out --raw-rate".to_owned()));
    }
    Samples::new(Box::new(io::Cursor::new(start).chain(file)), raw, length).map_err(refused)
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
    fn new(input: Box<dyn Read + Send>, raw: Raw, bytes: Option<u64>) -> Result<Self, String> {
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
        // What is whole comes first.
        if wanted > 0 && whole == 0 && (self.cut_off || read > 0 || self.count.is_some()) {
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
