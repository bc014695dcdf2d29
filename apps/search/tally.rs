//! Adding up what the search found.

use std::io;
use std::path::{Path, PathBuf};

use thalweg::prelude::*;
use thalweg_sync::sync::Arc;
use thalweg_sync::time::Duration;

use super::Summary;
use super::files::Unreadable;
use super::lines::Lines;
use super::print::Part;

/// A stretch of a file that was searched.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) path: Arc<Path>,
    /// What is to be written of it.
    pub(super) part: Part,
    /// More of the file may come at any time, or late.
    pub(super) is_stream: bool,
    pub(super) matches: u64,
    pub(super) bytes: u64,
    /// Whether all of it could be read.
    pub(super) result: io::Result<()>,
    /// Whether the run was stopped before all of it was read.
    pub(super) stopped: bool,
    /// Whether the file ends with it.
    pub(super) is_last: bool,
}

impl Counted {
    /// Of a stretch of `path`, of which nothing was read so far.
    pub(super) fn new(path: Arc<Path>, is_last: bool) -> Self {
        Self {
            path,
            part: Part::Counted,
            is_stream: false,
            matches: 0,
            bytes: 0,
            result: Ok(()),
            stopped: false,
            is_last,
        }
    }

    /// Has these lines. Of a binary file it is only known that there is a match.
    pub(super) fn of_lines(&mut self, lines: Lines) {
        self.matches = lines.matches + u64::from(lines.in_binary);
        self.part = Part::Lines(lines);
    }
}

/// The sums so far. Relies on the order of the stream: the stretches of a file come one after the other.
#[derive(Debug)]
pub(super) struct Tally {
    matches: u64,
    bytes: u64,
    files: u64,
    files_with_matches: u64,
    top: Vec<(PathBuf, u64)>,
    most_in_top: usize,
    unreadable: Vec<Unreadable>,
    /// The file of which some stretches have come.
    open: Option<Open>,
}

/// What is known of a file so far.
#[derive(Debug)]
struct Open {
    path: Arc<Path>,
    matches: u64,
    /// The first one.
    error: Option<io::Error>,
    /// Whether the run was stopped in the middle of it.
    stopped: bool,
}

impl Tally {
    /// Nothing so far; `most_in_top` files will be listed.
    pub(super) fn new(most_in_top: usize) -> Self {
        Self {
            matches: 0,
            bytes: 0,
            files: 0,
            files_with_matches: 0,
            top: Vec::new(),
            most_in_top,
            unreadable: Vec::new(),
            open: None,
        }
    }

    pub(super) fn add(&mut self, counted: Counted) {
        let Counted { path, matches, bytes, result, stopped, is_last, .. } = counted;
        self.bytes += bytes;
        let open = self.open.get_or_insert(Open { path, matches: 0, error: None, stopped: false });
        open.matches += matches;
        open.error = open.error.take().or(result.err());
        open.stopped |= stopped;
        if is_last {
            self.files += u64::from(open.error.is_none() && !open.stopped);
            self.close();
        }
    }

    /// Adds up a file, of which there is no more.
    fn close(&mut self) {
        let Some(Open { path, matches, error, .. }) = self.open.take() else { return };
        self.matches += matches;
        if matches > 0 {
            self.files_with_matches += 1;
            self.list(&path, matches);
        }
        if let Some(error) = error {
            self.unreadable.push(Unreadable { path: path.to_path_buf(), error });
        }
    }

    /// Puts a file on the list if it belongs there; of equals, the one that came first.
    fn list(&mut self, path: &Path, matches: u64) {
        let place = self.top.partition_point(|&(_, more)| more >= matches);
        if place < self.most_in_top {
            self.top.truncate(self.most_in_top - 1);
            self.top.insert(place, (path.to_owned(), matches));
        }
    }

    pub(super) fn summary(mut self, elapsed: Duration, report: Report) -> Summary {
        // A run that was stopped ends in the middle of a file.
        self.close();
        Summary {
            matches: self.matches,
            files: self.files,
            files_with_matches: self.files_with_matches,
            bytes: self.bytes,
            top: self.top,
            unreadable: self.unreadable,
            elapsed,
            report,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(name: &str, matches: u64, result: io::Result<()>, is_last: bool) -> Counted {
        Counted { matches, bytes: 10, result, ..Counted::new(Path::new(name).into(), is_last) }
    }

    #[test]
    fn the_list_has_the_most_first_and_of_equals_the_earlier() {
        let mut tally = Tally::new(3);
        for (name, matches) in [("a", 1), ("b", 5), ("c", 0), ("d", 5), ("e", 1), ("f", 9), ("g", 1)] {
            tally.add(counted(name, matches / 2, Ok(()), false));
            tally.add(counted(name, matches - matches / 2, Ok(()), true));
        }
        assert_eq!(tally.top, [("f".into(), 9), ("b".into(), 5), ("d".into(), 5)]);
        assert_eq!((tally.matches, tally.files, tally.files_with_matches, tally.bytes), (22, 7, 6, 140));
    }

    #[test]
    fn a_file_that_fails_is_named_once_and_the_next_one_is_good() {
        let mut tally = Tally::new(3);
        tally.add(counted("bad", 1, Err(io::ErrorKind::PermissionDenied.into()), false));
        tally.add(counted("bad", 1, Err(io::ErrorKind::NotFound.into()), false));
        tally.add(counted("bad", 1, Ok(()), true));
        tally.add(counted("good", 1, Ok(()), true));
        let unreadable: Vec<_> = tally.unreadable.iter().map(|file| (file.path.as_path(), file.error.kind())).collect();
        assert_eq!(unreadable, [(Path::new("bad"), io::ErrorKind::PermissionDenied)]);
        assert_eq!((tally.files, tally.matches, tally.files_with_matches), (1, 4, 2));
    }

    #[test]
    fn a_file_that_was_begun_counts_as_far_as_it_was_searched() {
        let mut tally = Tally::new(3);
        tally.add(counted("whole", 1, Ok(()), true));
        tally.add(Counted { stopped: true, ..counted("half", 1, Ok(()), false) });
        tally.add(counted("half", 1, Ok(()), true));
        tally.add(counted("quarter", 1, Ok(()), false));
        tally.close();
        assert_eq!(tally.top, [("half".into(), 2), ("whole".into(), 1), ("quarter".into(), 1)]);
        assert_eq!((tally.matches, tally.files, tally.files_with_matches), (4, 1, 3));
    }
}
