//! Samples from and to files: WAV, and raw little-endian `f32`.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom};
use std::path::Path;

use hound::{SampleFormat, WavReader, WavSpec, WavWriter};

use crate::Error;

/// A WAV file counts its bytes in 32 bits.
const LONGEST_WAV: u64 = u32::MAX as u64 - 1_024;

/// Samples that are read from a file as they are needed.
pub(super) struct Samples {
    /// Samples per second.
    pub(super) rate: u32,
    /// How many there are.
    pub(super) count: u64,
    /// Bytes of one in the file.
    pub(super) bytes: u64,
    /// They, scaled to -1 ..= 1 if the file has integers.
    pub(super) values: Box<dyn Iterator<Item = io::Result<f32>> + Send>,
}

/// Opens `path`: a WAV file with one channel, or raw samples if `raw_rate` says how many there are in a second.
pub(super) fn open(path: &Path, raw_rate: Option<u32>) -> Result<Samples, Error> {
    // Asked before it is opened: a pipe would wait for its writer, or lose it.
    let metadata = path.metadata().map_err(|error| Error::file("open", path, error))?;
    if !metadata.is_file() {
        return Err(Error::Refused(format!(
            "{} is not a regular file; it has to be, as its length is asked for before it is read",
            path.display()
        )));
    }
    let file = File::open(path).map_err(|error| Error::file("open", path, error))?;
    let bytes = metadata.len();
    match raw_rate {
        Some(rate) => raw(path, file, bytes, rate),
        None => wav(path, file, bytes),
    }
}

fn raw(path: &Path, file: File, bytes: u64, rate: u32) -> Result<Samples, Error> {
    let (mut file, mut start) = (BufReader::new(file), Vec::new());
    let read = file.by_ref().take(12).read_to_end(&mut start);
    read.and_then(|_| file.rewind()).map_err(|error| Error::file("read", path, error))?;
    if start.starts_with(b"RIFF") && start.get(8..) == Some(&b"WAVE"[..]) {
        return Err(Error::Refused(format!("{} is a WAV file; leave out --raw-rate", path.display())));
    }
    if !bytes.is_multiple_of(4) {
        let path = path.display();
        return Err(Error::Refused(format!(
            "{path} has {bytes} bytes, and raw samples are 4 bytes each; is it cut off, or of another format?"
        )));
    }
    let count = bytes / 4;
    let values = (0..count).map(move |_| {
        let mut sample = [0; 4];
        file.read_exact(&mut sample).map(|()| f32::from_le_bytes(sample))
    });
    Ok(Samples { rate, count, bytes: 4, values: Box::new(values) })
}

fn wav(path: &Path, file: File, bytes: u64) -> Result<Samples, Error> {
    let name = path.display();
    let refused = |error: hound::Error| {
        Error::Refused(format!("{name} is not a WAV file that can be read ({error}); raw f32 samples need --raw-rate"))
    };
    let reader = WavReader::new(BufReader::new(file)).map_err(refused)?;
    let WavSpec { channels, sample_rate: rate, bits_per_sample: bits, sample_format } = reader.spec();
    if channels != 1 {
        return Err(Error::Refused(format!(
            "{name} has {channels} channels; the radio receives one, `sox IN -c 1 OUT` mixes them"
        )));
    }
    // Not all that has a header can be read, and hound says so at the first sample only.
    if !matches!((sample_format, bits), (SampleFormat::Float, 32) | (SampleFormat::Int, 8 | 16 | 24 | 32)) {
        return Err(Error::Refused(format!(
            "{name} has {bits}-bit {sample_format:?} samples; `sox IN -e floating-point -b 32 OUT` converts them"
        )));
    }
    let (count, bytes_each) = (u64::from(reader.len()), u64::from(bits / 8));
    let mut file = reader.into_inner();
    let (start, length) = data(&mut file).map_err(|error| Error::file("read", path, error))?;
    if bytes < start + length {
        return Err(Error::Refused(format!(
            "{name} is cut off: it has {bytes} bytes, too few for the {count} samples in its header"
        )));
    }
    if length != count * bytes_each {
        return Err(Error::Refused(format!(
            "{name} has samples of {bits} bits in {} bytes; `sox IN -e floating-point -b 32 OUT` converts them",
            length / count.max(1)
        )));
    }
    let reader = WavReader::new(file).map_err(refused)?;
    let values: Box<dyn Iterator<Item = io::Result<f32>> + Send> = match sample_format {
        SampleFormat::Float => Box::new(reader.into_samples::<f32>().map(|sample| sample.map_err(io_error))),
        SampleFormat::Int => {
            let scale = 1.0 / (1_u64 << (bits - 1)) as f32;
            Box::new(reader.into_samples::<i32>().map(move |sample| match sample {
                Ok(sample) => Ok(sample as f32 * scale),
                Err(error) => Err(io_error(error)),
            }))
        }
    };
    Ok(Samples { rate, count, bytes: bytes_each, values })
}

/// Where the samples of a WAV file start and how many bytes they have. `file` stands at the first one, behind that
/// length, and goes back to its start.
fn data(file: &mut BufReader<File>) -> io::Result<(u64, u64)> {
    let (start, mut length) = (file.stream_position()?, [0; 4]);
    file.seek(SeekFrom::Start(start - 4))?;
    file.read_exact(&mut length)?;
    file.rewind()?;
    Ok((start, u64::from(u32::from_le_bytes(length))))
}

/// A WAV file of one channel of `f32` samples, being written.
pub(super) type Sound = WavWriter<BufWriter<File>>;

/// Creates a WAV file for `count` samples.
pub(super) fn create(path: &Path, rate: u32, count: u64) -> Result<Sound, Error> {
    let bytes = count.saturating_mul(4);
    if bytes > LONGEST_WAV {
        let path = path.display();
        return Err(Error::Refused(format!(
            "{path} would have {bytes} bytes, and a WAV file has at most {LONGEST_WAV}; split the input"
        )));
    }
    let spec = WavSpec { channels: 1, sample_rate: rate, bits_per_sample: 32, sample_format: SampleFormat::Float };
    let mut file = File::create(path).map_err(|error| Error::file("create", path, error))?;
    if file.stream_position().is_err() {
        let path = path.display();
        return Err(Error::Refused(format!(
            "{path} is a pipe or the like, and a WAV file's header is written last; choose a regular file"
        )));
    }
    WavWriter::new(BufWriter::new(file), spec).map_err(|error| Error::file("write", path, io_error(error)))
}

/// The I/O error in an error of hound, or one that carries its text.
pub(super) fn io_error(error: hound::Error) -> io::Error {
    match error {
        hound::Error::IoError(error) => error,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_sound_than_a_wav_file_can_count_is_refused_before_it_is_created() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sound.wav");
        for count in [1 << 30, u64::MAX] {
            let Err(Error::Refused(reason)) = create(&path, 8_000, count) else { panic!("{count} samples fit") };
            assert!(reason.contains("split the input"), "{reason}");
        }
        assert!(!path.exists());
        assert!(create(&path, 8_000, (1 << 30) - 1_000).is_ok());
    }
}
