//! The input in chunks of whole records.

use std::io::{self, ErrorKind, Read};
use std::path::PathBuf;
use std::vec;

use super::record::Form;
use super::{Input, synthetic};
use crate::{Error, Result, Watch, incoming};

/// Bytes that are read at a time, at most; of a small chunk an eighth.
const BLOCK: usize = 256 << 10;
/// Bytes that a line takes while a chunk is sorted, beside its text.
const PER_LINE: usize = size_of::<&[u8]>();

/// An iterator over chunks. After an error there is none.
pub(super) struct Chunks<'a> {
    form: Form,
    /// Bytes in a chunk, and for lines as many for what sorts them.
    size: usize,
    files: vec::IntoIter<PathBuf>,
    made_up: Option<synthetic::Records>,
    open: Option<(PathBuf, incoming::Input)>,
    /// Bytes read of the file that is open.
    at: u64,
    /// What was read and not given: the beginning of a record.
    rest: Vec<u8>,
    watch: &'a dyn Watch,
}

impl<'a> Chunks<'a> {
    pub(super) fn open(form: Form, input: &Input, size: usize, watch: &'a dyn Watch) -> Result<Self> {
        let (files, made_up) = match input {
            Input::Files(files) => (files.clone(), None),
            &Input::MadeUp(count) => (Vec::new(), Some(synthetic::Records::new(form, count))),
        };
        if files.is_empty() && made_up.is_none() {
            return Err(Error::Refused("there is nothing to sort; give a file".to_owned()));
        }
        // What can be said before anything is written.
        for path in &files {
            let metadata = path.metadata().map_err(|error| Error::file("open", path, error))?;
            if metadata.is_dir() {
                return Err(Error::Refused(format!("{} is a folder; name the files in it", path.display())));
            }
            let bytes = metadata.len();
            if form == Form::Integers && metadata.is_file() && !bytes.is_multiple_of(4) {
                let path = path.display();
                return Err(Error::Refused(format!(
                    "{path} has {bytes} bytes, so its last number, at byte {}, is cut off; are these 32-bit integers?",
                    bytes / 4 * 4
                )));
            }
        }
        Ok(Self { form, size, files: files.into_iter(), made_up, open: None, at: 0, rest: Vec::new(), watch })
    }

    /// Reads until there is a chunk; `None` at the end of the input.
    fn read(&mut self) -> Result<Option<Vec<u8>>> {
        if let Some(records) = &mut self.made_up {
            let chunk = records.some(self.size);
            return Ok(Some(chunk).filter(|chunk| !chunk.is_empty()));
        }
        let mut chunk = std::mem::take(&mut self.rest);
        let (mut lines, mut counted) = (0, 0);
        loop {
            if self.open.is_none() {
                let Some(path) = self.files.next() else { return Ok(Some(chunk).filter(|chunk| !chunk.is_empty())) };
                let (file, _) =
                    incoming::open(&path, self.watch.halt()).map_err(|error| Error::file("open", &path, error))?;
                (self.open, self.at) = (Some((path, file)), 0);
            }
            let Some((path, file)) = &mut self.open else { continue };
            let before = chunk.len();
            let read = file.by_ref().take((self.size / 8).clamp(4096, BLOCK) as u64).read_to_end(&mut chunk);
            let read = read.map_err(|error| Error::file("read", path, error))?;
            self.at += read as u64;
            self.watch.read(read as u64);
            if read == 0 && incoming::is_halted(self.watch) {
                // Half of a record is another record.
                let whole = match self.form {
                    Form::Integers => chunk.len() / 4 * 4,
                    Form::Lines => memchr::memrchr(b'\n', &chunk).map_or(0, |feed| feed + 1),
                };
                chunk.truncate(whole);
                (self.open, self.files) = (None, Vec::new().into_iter());
            } else if read == 0 {
                if self.form == Form::Integers && !self.at.is_multiple_of(4) {
                    let told = format!("it ends in the middle of a number, at byte {}", self.at);
                    return Err(Error::file("read all of", path, io::Error::new(ErrorKind::UnexpectedEof, told)));
                }
                if self.form == Form::Lines && chunk.last().is_some_and(|&last| last != b'\n') {
                    chunk.push(b'\n');
                }
                self.open = None;
            } else if self.form == Form::Lines {
                lines += memchr::memchr_iter(b'\n', &chunk[counted.max(before)..]).count();
                counted = chunk.len();
            }
            if chunk.len() >= self.size || lines * PER_LINE >= self.size {
                let border = match self.form {
                    Form::Integers => chunk.len() / 4 * 4,
                    // A line that is longer than a chunk makes the chunk longer.
                    Form::Lines => memchr::memrchr(b'\n', &chunk).map_or(0, |feed| feed + 1),
                };
                if border > 0 {
                    self.rest = chunk.split_off(border);
                    return Ok(Some(chunk));
                }
            }
        }
    }
}

impl Iterator for Chunks<'_> {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Result<Vec<u8>>> {
        self.read().transpose()
    }
}
