//! Parts of files that can be read and searched by themselves, by different workers at the same time.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use thalweg_sync::sync::Arc;

use super::cut::Term;
use super::far;
use super::files::{Found, Kind};
use crate::{Watch, incoming};

/// Read at a time when a stretch has no cut at its border. The cut is most often in the first few bytes.
const BEYOND: usize = 4 << 10;

/// A part of a file: from its first cut at or behind `from` to the first one at or behind `to`.
///
/// A cut is here the place behind a byte that the term does not contain ([`Term::is_foreign`]). No match reaches across it,
/// so the matches of a file are those of its stretches, and where a stretch begins is found without what is before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) path: Arc<Path>,
    pub(super) kind: Kind,
    from: u64,
    /// `None`: the end of the file, wherever that is by then.
    to: Option<u64>,
}

impl Stretch {
    /// Whether the file ends with this stretch.
    pub(super) fn is_last(&self) -> bool {
        self.to.is_none()
    }

    /// Opens the file and gives the text of the stretch.
    pub(super) fn open<'a>(&self, term: &'a Term, watch: &dyn Watch) -> io::Result<Text<'a, Box<dyn Read>>> {
        match self.kind {
            // Locked until it is read to its end: whoever names it a second time finds it empty.
            Kind::StandardInput if watch.halt().is_none() => return Ok(self.text(term, Box::new(io::stdin().lock()))),
            Kind::StandardInput => return Ok(self.text(term, incoming::standard(watch.halt())?)),
            Kind::Stream => return Ok(self.text(term, incoming::open(&self.path, watch.halt())?.0)),
            Kind::File { .. } => {}
        }
        let mut file = far::open(&self.path)?;
        if self.from > 0 {
            file.seek(SeekFrom::Start(self.before()))?;
        }
        Ok(self.text(term, Box::new(file)))
    }

    /// Where reading has to begin: the byte before `from` says whether there is a cut at `from`.
    fn before(&self) -> u64 {
        self.from.saturating_sub(1)
    }

    fn text<'a, R: Read>(&self, term: &'a Term, file: R) -> Text<'a, R> {
        let left = self.to.map(|to| to - self.before());
        Text { file, term, left, before: self.from > 0, ended: false }
    }
}

/// The stretches of `file`, each `length` bytes or a little more or less. One, if that is not known to be a longer one.
pub(super) fn stretches(file: Found, length: u64) -> impl Iterator<Item = Stretch> {
    let Found { path, kind } = file;
    let count = if let Kind::File { bytes } = kind { bytes.div_ceil(length).max(1) } else { 1 };
    (0..count).map(move |index| Stretch {
        path: path.clone(),
        kind,
        from: index * length,
        to: (index + 1 < count).then(|| (index + 1) * length),
    })
}

/// The text of a stretch, from a reader that stands one byte before it, or at the start of the file.
#[derive(Debug)]
pub(super) struct Text<'a, R> {
    file: R,
    term: &'a Term,
    /// How many bytes are left up to the border at the end.
    left: Option<u64>,
    /// Whether the first cut is still to come.
    before: bool,
    ended: bool,
}

impl<R: Read> Read for Text<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.ended && !buffer.is_empty() {
            let most = match self.left {
                None => buffer.len(),
                Some(0) => buffer.len().min(BEYOND),
                Some(left) => buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX)),
            };
            let read = self.file.read(&mut buffer[..most])?;
            let cut = |text: &[u8]| text.iter().position(|&byte| self.term.is_foreign(byte)).map(|foreign| foreign + 1);
            let mut text = 0..read;
            if self.left == Some(0) {
                if let Some(cut) = cut(&buffer[..read]) {
                    text.end = cut;
                    self.ended = true;
                }
            } else {
                if let Some(left) = &mut self.left {
                    *left -= read as u64;
                    self.ended = *left == 0 && read > 0 && self.term.is_foreign(buffer[read - 1]);
                }
                if self.before {
                    let first = cut(&buffer[..read]);
                    self.before = first.is_none();
                    text.start = first.unwrap_or(read);
                    // Without a cut before the border, what is there belongs to an earlier stretch.
                    self.ended |= self.before && self.left == Some(0);
                }
            }
            self.ended |= read == 0;
            if !text.is_empty() {
                let len = text.len();
                buffer.copy_within(text, 0);
                return Ok(len);
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::chunks::{Chunks, Pool};

    fn file(bytes: usize) -> Found {
        Found { path: Path::new("file").into(), kind: Kind::File { bytes: bytes as u64 } }
    }

    /// A reader that gives a few bytes at a time.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 += 1;
            let most = buffer.len().min(1 + self.1 % 5);
            self.0.read(&mut buffer[..most])
        }
    }

    #[test]
    fn the_stretches_of_a_file_are_its_text_and_count_the_same() {
        let mut random = fastrand::Rng::with_seed(5);
        for round in 0..4_000 {
            // With "ab" alone no cut comes before the end of the file.
            let letters: &[u8] = [&b"ab"[..], b"aaaab\n", b"ab\nx\xff\0"][round % 3];
            let text: Vec<u8> = (0..random.usize(0..300)).map(|_| *random.choice(letters).unwrap()).collect();
            let word: Vec<u8> = (0..random.usize(1..6)).map(|_| *random.choice(b"ab").unwrap()).collect();
            let term = Term::new(&word);
            let pool = Pool::new(2 * word.len() + random.usize(0..8));
            let length = random.u64(1..40);
            let (mut joined, mut count) = (Vec::new(), 0);
            for stretch in stretches(file(text.len()), length) {
                let before = usize::try_from(stretch.before()).unwrap();
                let mut chunks = Chunks::new(stretch.text(&term, Trickle(&text[before..], round)));
                while let Some(chunk) = chunks.next(&term, &pool) {
                    let chunk = chunk.unwrap();
                    joined.extend_from_slice(chunk.text());
                    count += term.count(chunk.text());
                    pool.give(chunk);
                }
            }
            assert_eq!(joined, text, "{word:?} by {length}");
            assert_eq!(count, term.count(&text), "{word:?} in {text:?} by {length}");
        }
    }

    #[test]
    fn a_stretch_reads_little_beyond_its_border() {
        let text = b"no term here\n".repeat(10_000);
        let term = Term::new(b"fish");
        for stretch in stretches(file(text.len()), 10_000) {
            let before = usize::try_from(stretch.before()).unwrap();
            let mut rest = &text[before..];
            io::copy(&mut stretch.text(&term, &mut rest), &mut io::sink()).unwrap();
            assert!(text.len() - before - rest.len() <= 10_001 + BEYOND);
        }
    }

    #[test]
    fn a_file_that_has_become_shorter_ends_early() {
        let term = Term::new(b"fish");
        let mut text = Vec::new();
        for stretch in stretches(file(100), 10) {
            let shorter = &b"some words"[usize::try_from(stretch.before()).unwrap().min(10)..];
            stretch.text(&term, shorter).read_to_end(&mut text).unwrap();
        }
        assert_eq!(text, b"some words");
    }

    #[test]
    fn files_have_the_stretches_they_need_and_streams_have_one() {
        let ends = |found| stretches(found, 10).map(|stretch| (stretch.from, stretch.to)).collect::<Vec<_>>();
        assert_eq!(ends(file(0)), [(0, None)]);
        assert_eq!(ends(file(10)), [(0, None)]);
        assert_eq!(ends(file(21)), [(0, Some(10)), (10, Some(20)), (20, None)]);
        assert_eq!(ends(Found { path: Path::new("-").into(), kind: Kind::StandardInput }), [(0, None)]);
    }
}
