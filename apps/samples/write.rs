//! WAV files of `f32`, written as the samples come.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use thalweg::Report;

use crate::{Error, Result};

/// A WAV file counts its bytes in 32 bits.
const LONGEST: u64 = u32::MAX as u64 - 1_024;
/// Bytes before the first sample.
const HEADER: u64 = 58;

/// A WAV file of `f32` samples, being written.
pub(crate) struct Sound {
    file: BufWriter<File>,
    rate: u32,
    channels: u16,
    count: u64,
}

impl Sound {
    /// Creates a WAV file of one channel. Its length is written at the end, so it is a regular file, or a device that takes anything.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if `count`, where it is known, is more than a WAV file can have, or for a pipe;
    /// [`Error::File`] if it cannot be created.
    pub(crate) fn create(path: &Path, rate: u32, count: Option<u64>) -> Result<Self> {
        Self::create_with(path, rate, 1, count)
    }

    /// As [`create`](Self::create), of some channels; `count` is of times, and samples of a time are written one after the other.
    pub(crate) fn create_with(path: &Path, rate: u32, channels: u16, count: Option<u64>) -> Result<Self> {
        let bytes = count.unwrap_or(0).saturating_mul(4 * u64::from(channels));
        if bytes > LONGEST {
            let path = path.display();
            return Err(Error::Refused(format!(
                "{path} would have {bytes} bytes, and a WAV file has at most {LONGEST}; split the input"
            )));
        }
        let mut file = File::create(path).map_err(|error| Error::file("create", path, error))?;
        if file.stream_position().is_err() {
            let path = path.display();
            return Err(Error::Refused(format!(
                "{path} is a pipe or the like, and a WAV file's header is written last; choose a regular file"
            )));
        }
        let mut sound = Self { file: BufWriter::new(file), rate, channels, count: 0 };
        sound.header().map_err(|error| Error::file("write", path, error))?;
        Ok(sound)
    }

    fn header(&mut self) -> io::Result<()> {
        let word = |value: u64| u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes();
        let (bytes, rate, channels) = (self.count * 4, u64::from(self.rate), u64::from(self.channels));
        let align = 4 * channels;
        // The format is 3, floats; channels; rate; bytes a second; bytes at a time, of 32 bits each; no extension.
        let format = [
            &[3, 0][..],
            &self.channels.to_le_bytes(),
            &word(rate),
            &word(rate * align),
            &word(align)[..2],
            &[32, 0, 0, 0],
        ];
        let riff = [b"RIFF", &word(HEADER - 8 + bytes)[..], b"WAVEfmt ", &word(18), &format.concat()];
        self.file.write_all(&riff.concat())?;
        let times = self.count / channels;
        self.file.write_all(&[b"fact", &word(4)[..], &word(times), b"data", &word(bytes)].concat())
    }

    /// Writes a sample.
    #[inline]
    pub(crate) fn write(&mut self, sample: f32) -> io::Result<()> {
        self.count += 1;
        if self.count * 4 > LONGEST {
            return Err(io::Error::other(format!("a WAV file has at most {LONGEST} bytes")));
        }
        self.file.write_all(&sample.to_le_bytes())
    }

    /// Writes the length, and all that is not written yet.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.seek(SeekFrom::Start(0))?;
        self.header()?;
        self.file.flush()
    }
}

/// What a graph makes: a WAV file of one channel, or nothing.
pub(crate) struct Target {
    file: Option<(Sound, PathBuf)>,
    refused: Option<io::Error>,
}

impl Target {
    /// As [`Sound::create`], if there is a path.
    ///
    /// # Errors
    ///
    /// As there.
    pub(crate) fn create(path: Option<&Path>, rate: u32, count: Option<u64>) -> Result<Self> {
        let create = |path: &Path| Ok::<_, Error>((Sound::create(path, rate, count)?, path.to_owned()));
        Ok(Self { file: path.map(create).transpose()?, refused: None })
    }

    /// Writes a sample. The graph is told that it could not, and [`finish`](Self::finish) why.
    #[inline]
    pub(crate) fn write(&mut self, sample: f32) -> Result<(), &'static str> {
        let Some((sound, _)) = &mut self.file else { return Ok(()) };
        sound.write(sample).map_err(|error| {
            self.refused = Some(error);
            "the sound cannot be written"
        })
    }

    /// Ends the file of a graph that ran so: the graph knows the kernel, and this the file.
    ///
    /// # Errors
    ///
    /// [`Error::File`] if a sample or the end could not be written, and else the graph's.
    pub(crate) fn finish(self, ran: Result<Report, thalweg::Error>) -> Result<Report> {
        let Some((sound, path)) = self.file else { return Ok(ran?) };
        if let Some(error) = self.refused {
            return Err(Error::file("write", &path, error));
        }
        let report = ran?;
        sound.finish().map_err(|error| Error::file("write", &path, error))?;
        Ok(report)
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
            let Err(Error::Refused(reason)) = Sound::create(&path, 8_000, Some(count)) else { panic!("{count} fit") };
            assert!(reason.contains("split the input"), "{reason}");
        }
        assert!(!path.exists());
        assert!(Sound::create(&path, 8_000, Some((1 << 30) - 1_000)).is_ok());
    }

    #[test]
    fn another_reader_finds_what_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sound.wav");
        let samples: Vec<f32> = (0..10_001).map(|n| (n as f32 * 0.1).sin() * 3.0).collect();
        let mut sound = Sound::create(&path, 44_100, None).unwrap();
        samples.iter().for_each(|&sample| sound.write(sample).unwrap());
        sound.finish().unwrap();
        let reader = hound::WavReader::open(&path).unwrap();
        assert_eq!((reader.spec().channels, reader.spec().sample_rate), (1, 44_100));
        let read: Vec<f32> = reader.into_samples().map(|sample| sample.unwrap()).collect();
        assert!(read == samples);
    }
}
