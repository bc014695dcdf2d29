//! Inputs that give their text as it comes: standard input, pipes, devices.

use std::io::{self, ErrorKind, Read};
use std::path::Path;

use memchr::memrchr;
use thalweg_sync::sync::Arc;

use super::files::{Kind, Unreadable};
use crate::{Halt, incoming};

/// Read at a time.
const READ: usize = 64 << 10;

/// Whole lines of a stream: those that one read ended.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) path: Arc<Path>,
    pub(super) text: Vec<u8>,
    pub(super) is_last: bool,
}

/// The text of a stream, as it comes. Waits where the stream does.
pub(super) fn texts(
    path: Arc<Path>,
    kind: Kind,
    halt: Option<Halt>,
) -> impl Iterator<Item = Result<Text, Unreadable>> + Send {
    let mut rest = Vec::new();
    let mut input = Some(match kind {
        Kind::StandardInput => incoming::standard(halt),
        Kind::File { .. } | Kind::Stream => incoming::open(&path, halt).map(|open| open.0),
    });
    std::iter::from_fn(move || {
        let more = input.as_mut()?.as_mut().map_err(|error| std::mem::replace(error, ErrorKind::Other.into()));
        match more.and_then(|input| lines(input, &mut rest)) {
            Ok(Some(text)) => Some(Ok(Text { path: path.clone(), text, is_last: false })),
            Ok(None) => {
                input = None;
                Some(Ok(Text { path: path.clone(), text: std::mem::take(&mut rest), is_last: true }))
            }
            Err(error) => {
                input = None;
                Some(Err(Unreadable { path: path.to_path_buf(), error }))
            }
        }
    })
}

/// Reads until a line ends, and gives all that ended; what is behind goes to `rest`. `None` at the end of the input.
fn lines(input: &mut dyn Read, rest: &mut Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    loop {
        let old = rest.len();
        rest.resize(old + READ, 0);
        let read = match input.read(&mut rest[old..]) {
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(None),
            other => other.map(Some),
        };
        rest.truncate(old + read.as_ref().map_or(0, |read| read.unwrap_or(0)));
        match read? {
            Some(0) => return Ok(None),
            Some(_) => {
                if let Some(line_end) = memrchr(b'\n', &rest[old..]) {
                    let behind = rest.split_off(old + line_end + 1);
                    return Ok(Some(std::mem::replace(rest, behind)));
                }
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_on_as_soon_as_they_end() {
        let mut input = io::Cursor::new(b"one\n").chain(&b"tw"[..]).chain(&b"o\nthree\nfo"[..]).chain(&b"ur"[..]);
        let mut rest = Vec::new();
        let mut next = || lines(&mut input, &mut rest).unwrap();
        assert_eq!(next().unwrap(), b"one\n");
        assert_eq!(next().unwrap(), b"two\nthree\n");
        assert_eq!(next(), None);
        assert_eq!(rest, b"four");
    }
}
