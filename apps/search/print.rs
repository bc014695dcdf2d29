//! Writing what was found, as grep does: in the order of the files, and of the lines in them.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::lines::Lines;
use super::{Show, files};
use crate::Watch;

/// Collected before it is written.
const BUFFER: usize = 64 << 10;
/// What a terminal shows a file's name, a line's number and what is between them in, as grep does; and the end of that.
const NAME: &[u8] = b"\x1b[35m";
const NUMBER: &[u8] = b"\x1b[32m";
const BETWEEN: &[u8] = b"\x1b[36m";
const PLAIN: &[u8] = b"\x1b[m";

/// What a part of a file has for the printer.
#[derive(Debug)]
pub(super) enum Part {
    /// Nothing but the number of matches.
    Counted,
    Lines(Lines),
    /// How many lines match.
    Count(u64),
}

/// Relies on the order of the stream: the parts of a file come one after the other.
pub(super) struct Printer<'a> {
    output: BufWriter<&'a mut (dyn Write + Send)>,
    watch: &'a dyn Watch,
    show: Show,
    /// Lines and counts stand behind the name of their file.
    named: bool,
    colour: bool,
    /// Of the file whose parts come: lines so far, those that match, and whether there was a match.
    lines: u64,
    matching: u64,
    found: bool,
    /// If it has a zero byte: whether it was told that it matches.
    binary: Option<bool>,
}

impl<'a> Printer<'a> {
    /// Writes to `output`, and tells `watch` of files that are no text.
    pub(super) fn new(
        output: &'a mut (dyn Write + Send),
        watch: &'a dyn Watch,
        show: Show,
        named: bool,
        colour: bool,
    ) -> Self {
        let output = BufWriter::with_capacity(BUFFER, output);
        Self { output, watch, show, named, colour, lines: 0, matching: 0, found: false, binary: None }
    }

    /// Writes the next part of `path`, of which there are so many matches, and what is to be said at the end of a file.
    pub(super) fn add(&mut self, path: &Path, part: &Part, matches: u64, is_last: bool) -> io::Result<()> {
        match part {
            Part::Lines(lines) => self.lines(path, lines)?,
            Part::Count(lines) => self.matching += lines,
            Part::Counted => {}
        }
        self.found |= matches > 0;
        if is_last {
            match self.show {
                Show::Files if self.found => {
                    self.name(path)?;
                    self.output.write_all(b"\n")?;
                }
                Show::LineCounts => {
                    let matching = self.matching;
                    self.prefix(path)?;
                    writeln!(self.output, "{matching}")?;
                }
                Show::Summary | Show::Files | Show::Lines { .. } => {}
            }
            (self.lines, self.matching, self.found, self.binary) = (0, 0, false, None);
        }
        Ok(())
    }

    /// Writes what was collected.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    fn lines(&mut self, path: &Path, lines: &Lines) -> io::Result<()> {
        if self.binary.is_none() {
            if self.named || self.numbers() {
                let mut start = 0;
                for &(number, end) in &lines.ends {
                    self.prefix(path)?;
                    if self.numbers() {
                        self.coloured(NUMBER, (self.lines + number).to_string().as_bytes())?;
                        self.coloured(BETWEEN, b":")?;
                    }
                    self.output.write_all(&lines.text[start..end])?;
                    start = end;
                }
            } else {
                self.output.write_all(&lines.text)?;
            }
        }
        self.lines += lines.all;
        // Lines behind a zero byte in an earlier part are not written either.
        let matches = lines.in_binary || (self.binary.is_some() && lines.matches > 0);
        if (lines.binary || self.binary.is_some()) && self.binary != Some(true) {
            self.binary = Some(matches);
            if matches {
                self.watch.notice(&format!("{}: binary file matches", shown(path).display()));
            }
        }
        Ok(())
    }

    fn numbers(&self) -> bool {
        matches!(self.show, Show::Lines { numbers: true })
    }

    fn prefix(&mut self, path: &Path) -> io::Result<()> {
        if self.named {
            self.name(path)?;
            self.coloured(BETWEEN, b":")?;
        }
        Ok(())
    }

    fn name(&mut self, path: &Path) -> io::Result<()> {
        self.coloured(NAME, shown(path).as_os_str().as_encoded_bytes())
    }

    fn coloured(&mut self, colour: &[u8], text: &[u8]) -> io::Result<()> {
        let parts = if self.colour { [colour, text, PLAIN] } else { [b"", text, b""] };
        parts.iter().try_for_each(|part| self.output.write_all(part))
    }
}

/// The name of a file in what is written.
fn shown(path: &Path) -> &Path {
    if path.as_os_str() == files::STANDARD_INPUT { Path::new("(standard input)") } else { path }
}
