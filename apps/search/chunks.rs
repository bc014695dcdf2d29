//! Files in chunks of bounded size, in buffers that are used again.

use std::io::{self, ErrorKind, Read};

use memchr::{memchr, memrchr};
use thalweg_sync::sync::{Mutex, PoisonError};

use super::cut::Term;

/// Buffers of one size that are handed out, filled, read and given back.
///
/// As many exist as were out at the same time: one for each worker.
#[derive(Debug)]
pub(super) struct Pool {
    size: usize,
    free: Mutex<Vec<Box<[u8]>>>,
}

impl Pool {
    /// A pool of buffers of `size` bytes.
    pub(super) fn new(size: usize) -> Self {
        Self { size, free: Mutex::new(Vec::new()) }
    }

    /// How many buffers there are, all given back.
    #[cfg(test)]
    pub(super) fn buffers(&self) -> usize {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn take(&self) -> Box<[u8]> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.unwrap_or_else(|| vec![0; self.size].into_boxed_slice())
    }

    /// Gives the buffer of `chunk` back. One that a long line made longer is not kept.
    pub(super) fn give(&self, chunk: Chunk) {
        if chunk.buffer.len() > self.size {
            return;
        }
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(chunk.buffer);
    }
}

/// A stretch of a file that can be searched by itself.
#[derive(Debug)]
pub(super) struct Chunk {
    buffer: Box<[u8]>,
    len: usize,
}

impl Chunk {
    /// The text.
    pub(super) fn text(&self) -> &[u8] {
        &self.buffer[..self.len]
    }
}

/// Which lines are not cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WholeLines {
    Not,
    OfText,
    All,
}

/// The chunks of one file, in order: cut where [`Term::cut`] allows it, no text lost and none twice.
#[derive(Debug)]
pub(super) struct Chunks<R> {
    file: R,
    /// Read, but behind the cut.
    rest: Vec<u8>,
    whole_lines: WholeLines,
    ended: bool,
}

impl<R: Read> Chunks<R> {
    pub(super) fn new(file: R) -> Self {
        Self { file, rest: Vec::new(), whole_lines: WholeLines::Not, ended: false }
    }

    /// As [`new`](Self::new), but no line is cut, and a buffer grows with the longest one. If `of_text`, then a line with a
    /// zero byte may be cut: what is no text may have no lines.
    pub(super) fn of_whole_lines(file: R, of_text: bool) -> Self {
        let whole_lines = if of_text { WholeLines::OfText } else { WholeLines::All };
        Self { whole_lines, ..Self::new(file) }
    }

    /// The next chunk, or `None` at the end of the file. After an error the file has ended.
    ///
    /// The buffers of `pool` have to be at least twice as long as `term`.
    pub(super) fn next(&mut self, term: &Term, pool: &Pool) -> Option<io::Result<Chunk>> {
        if self.ended {
            return None;
        }
        let mut buffer = pool.take();
        if buffer.len() <= self.rest.len() {
            buffer = vec![0; 2 * self.rest.len()].into_boxed_slice();
        }
        buffer[..self.rest.len()].copy_from_slice(&self.rest);
        let mut filled = self.rest.len();
        self.rest.clear();
        let len = loop {
            while filled < buffer.len() {
                match self.file.read(&mut buffer[filled..]) {
                    Ok(0) => {
                        self.ended = true;
                        break;
                    }
                    Ok(bytes) => filled += bytes,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => {
                        self.ended = true;
                        pool.give(Chunk { buffer, len: 0 });
                        return Some(Err(error));
                    }
                }
            }
            let text = &buffer[..filled];
            if self.ended {
                break filled;
            } else if let Some(line_end) = memrchr(b'\n', text).filter(|_| self.whole_lines != WholeLines::Not) {
                break line_end + 1;
            }
            let is_cut = match self.whole_lines {
                WholeLines::Not => true,
                WholeLines::OfText => memchr(0, text).is_some(),
                WholeLines::All => false,
            };
            if is_cut {
                break term.cut(text);
            }
            let mut longer = vec![0; 2 * buffer.len()].into_boxed_slice();
            longer[..filled].copy_from_slice(&buffer);
            buffer = longer;
        };
        self.rest.extend_from_slice(&buffer[len..filled]);
        let chunk = Chunk { buffer, len };
        if len == 0 {
            pool.give(chunk);
            return None;
        }
        Some(Ok(chunk))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that gives a few bytes at a time and is interrupted in between.
    struct Trickle<'a> {
        text: &'a [u8],
        calls: usize,
    }

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.calls += 1;
            if self.calls.is_multiple_of(3) {
                return Err(ErrorKind::Interrupted.into());
            }
            let bytes = buffer.len().min(self.text.len()).min(1 + self.calls % 4);
            buffer[..bytes].copy_from_slice(&self.text[..bytes]);
            self.text = &self.text[bytes..];
            Ok(bytes)
        }
    }

    #[test]
    fn chunks_are_the_text_and_count_the_same() {
        let mut random = fastrand::Rng::with_seed(7);
        for round in 0..2_000 {
            let letters: &[u8] = if round % 2 == 0 { b"ab" } else { b"ab\nx\xff\0" };
            let text: Vec<u8> = (0..random.usize(0..200)).map(|_| letters[random.usize(..letters.len())]).collect();
            let word: Vec<u8> = (0..random.usize(1..6)).map(|_| b"ab"[random.usize(..2)]).collect();
            let term = Term::new(&word);
            let pool = Pool::new(2 * word.len() + random.usize(0..8));
            let mut chunks = Chunks::new(Trickle { text: &text, calls: 0 });
            let (mut joined, mut count) = (Vec::new(), 0);
            while let Some(chunk) = chunks.next(&term, &pool) {
                let chunk = chunk.unwrap();
                joined.extend_from_slice(chunk.text());
                count += term.count(chunk.text());
                pool.give(chunk);
            }
            assert_eq!(joined, text);
            assert_eq!(count, term.count(&text), "{word:?} in {text:?}");
            assert!(pool.buffers() <= 1, "one buffer is enough for one chunk at a time");
        }
    }

    #[test]
    fn an_error_comes_after_the_chunks_before_it_and_ends_the_file() {
        struct Failing(u32);
        impl Read for Failing {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0 += 1;
                if self.0 > 2 {
                    return Err(ErrorKind::PermissionDenied.into());
                }
                buffer.fill(b'x');
                Ok(buffer.len())
            }
        }
        let (term, pool) = (Term::new(b"a"), Pool::new(16));
        let mut chunks = Chunks::new(Failing(0));
        assert_eq!(chunks.next(&term, &pool).unwrap().unwrap().text(), [b'x'; 16]);
        assert_eq!(chunks.next(&term, &pool).unwrap().unwrap().text(), [b'x'; 16]);
        assert_eq!(chunks.next(&term, &pool).unwrap().unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert!(chunks.next(&term, &pool).is_none());
    }
}
