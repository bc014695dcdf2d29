//! Matching lines, found in parts of a file, on all cores.

use memchr::{memchr, memchr_iter, memrchr};

use super::cut::Term;

/// What a terminal shows a match in: bold and red, as grep does.
const MATCH: (&[u8], &[u8]) = (b"\x1b[1;31m", b"\x1b[m");

/// The matching lines of a part of a file.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The lines, one behind the other.
    pub(super) text: Vec<u8>,
    /// Of each, its number in the part, from 1, and where it ends in `text`.
    pub(super) ends: Vec<(u64, usize)>,
    /// How many lines the part has, if they were counted.
    pub(super) all: u64,
    /// Matches in the lines.
    pub(super) matches: u64,
    /// From a zero byte on, lines are no text: it is only said whether there is a match.
    pub(super) binary: bool,
    /// Whether there is one behind that.
    pub(super) in_binary: bool,
}

/// What is wanted of lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) numbers: bool,
    pub(super) colour: bool,
    /// Zero bytes are text.
    pub(super) text: bool,
}

impl Lines {
    /// Adds the matching lines of `chunk`, which begins at the start of a line. Says whether more is to be looked at.
    pub(super) fn add(&mut self, chunk: &[u8], term: &Term, wanted: Wanted) -> bool {
        self.binary |= !wanted.text && memchr(0, chunk).is_some();
        if self.binary {
            self.in_binary |= term.find(chunk).is_some();
            return !self.in_binary;
        }
        let mut from = 0;
        while let Some(at) = term.find(&chunk[from..]) {
            let at = from + at;
            let start = memrchr(b'\n', &chunk[from..at]).map_or(from, |line_end| from + line_end + 1);
            let end = memchr(b'\n', &chunk[at..]).map_or(chunk.len(), |line_end| at + line_end + 1);
            if wanted.numbers {
                self.all += memchr_iter(b'\n', &chunk[from..start]).count() as u64;
            }
            self.line(&chunk[start..end], term, wanted);
            self.all += 1;
            self.ends.push((self.all, self.text.len()));
            from = end;
        }
        if wanted.numbers {
            self.all += memchr_iter(b'\n', &chunk[from..]).count() as u64;
        }
        true
    }

    /// Adds a matching line. The last line of a file gets the line end that it may lack.
    fn line(&mut self, line: &[u8], term: &Term, wanted: Wanted) {
        let mut from = 0;
        for at in term.matches(line) {
            self.matches += 1;
            if wanted.colour {
                self.text.extend_from_slice(&line[from..at]);
                from = at + term.len();
                for part in [MATCH.0, &line[at..from], MATCH.1] {
                    self.text.extend_from_slice(part);
                }
            }
        }
        self.text.extend_from_slice(&line[from..]);
        if !line.ends_with(b"\n") {
            self.text.push(b'\n');
        }
    }
}

/// Counts matching lines of a text that comes in chunks, cut anywhere but in a match.
#[derive(Debug, Default)]
pub(super) struct Count {
    pub(super) lines: u64,
    /// The line that goes on into the next chunk is counted already.
    counted: bool,
}

impl Count {
    pub(super) fn add(&mut self, chunk: &[u8], term: &Term) {
        let mut from = 0;
        if self.counted {
            let Some(line_end) = memchr(b'\n', chunk) else { return };
            (from, self.counted) = (line_end + 1, false);
        }
        while let Some(at) = term.find(&chunk[from..]) {
            self.lines += 1;
            let Some(line_end) = memchr(b'\n', &chunk[from + at..]) else {
                self.counted = true;
                return;
            };
            from += at + line_end + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Wanted = Wanted { numbers: true, colour: false, text: false };

    #[test]
    fn lines_have_their_numbers_and_an_end() {
        let term = Term::new(b"fish");
        let mut lines = Lines::default();
        assert!(lines.add(b"one\nfish fish\n\n", &term, PLAIN));
        assert!(lines.add(b"a fish\nno", &term, PLAIN));
        assert!(lines.add(b"last fish", &term, PLAIN));
        assert_eq!(lines.text, b"fish fish\na fish\nlast fish\n");
        assert_eq!(lines.ends, [(2, 10), (4, 17), (5, 27)]);
        assert_eq!((lines.matches, lines.binary), (4, false));
    }

    #[test]
    fn colour_stands_round_each_match() {
        let mut lines = Lines::default();
        lines.add(b"a fishfish b\n", &Term::new(b"fish"), Wanted { colour: true, ..PLAIN });
        assert_eq!(lines.text, b"a \x1b[1;31mfish\x1b[m\x1b[1;31mfish\x1b[m b\n");
    }

    #[test]
    fn behind_a_zero_byte_one_match_is_enough() {
        let term = Term::new(b"fish");
        let mut lines = Lines::default();
        assert!(lines.add(b"a fish\n", &term, PLAIN));
        assert!(lines.add(b"\0\n", &term, PLAIN));
        assert!(!lines.add(b"another fish\n", &term, PLAIN));
        assert_eq!((lines.text.as_slice(), lines.in_binary), (&b"a fish\n"[..], true));
        let mut lines = Lines::default();
        lines.add(b"\0 fish\n", &term, Wanted { text: true, ..PLAIN });
        assert_eq!(lines.text, b"\0 fish\n");
    }

    #[test]
    fn a_line_that_is_cut_counts_once() {
        let term = Term::new(b"a");
        let text = b"ab a\nb\naa\n\nba b";
        for cuts in 0..1 << (text.len() - 1) {
            let (mut count, mut from) = (Count::default(), 0);
            for at in 1..=text.len() {
                if at == text.len() || cuts >> (at - 1) & 1 == 1 {
                    count.add(&text[from..at], &term);
                    from = at;
                }
            }
            assert_eq!(count.lines, 3);
        }
    }
}
