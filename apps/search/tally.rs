//! Adding up what the search found.

use std::path::{Path, PathBuf};

use thalweg::prelude::*;
use thalweg_sync::time::Duration;

use super::Summary;
use super::files::Unreadable;
use super::read::Piece;

/// A piece that was searched: its matches and its bytes.
pub(super) type Counted = Piece<(u64, u64)>;

/// The sums so far. Relies on the order of the stream: the pieces of a file come one after the other, then its end.
#[derive(Debug)]
pub(super) struct Tally {
    matches: u64,
    matches_in_file: u64,
    bytes: u64,
    files: u64,
    files_with_matches: u64,
    top: Vec<(PathBuf, u64)>,
    most_in_top: usize,
    unreadable: Vec<Unreadable>,
}

impl Tally {
    /// Nothing so far; `most_in_top` files will be listed.
    pub(super) fn new(most_in_top: usize) -> Self {
        Self {
            matches: 0,
            matches_in_file: 0,
            bytes: 0,
            files: 0,
            files_with_matches: 0,
            top: Vec::new(),
            most_in_top,
            unreadable: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, counted: Counted) {
        match counted {
            Piece::Text((matches, bytes)) => {
                self.matches_in_file += matches;
                self.bytes += bytes;
            }
            Piece::End(path, result) => {
                let matches = std::mem::take(&mut self.matches_in_file);
                self.matches += matches;
                if matches > 0 {
                    self.files_with_matches += 1;
                    self.list(&path, matches);
                }
                match result {
                    Ok(()) => self.files += 1,
                    Err(error) => self.unreadable.push(Unreadable { path, error }),
                }
            }
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

    pub(super) fn summary(self, elapsed: Duration, report: Report) -> Summary {
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

    #[test]
    fn the_list_has_the_most_first_and_of_equals_the_earlier() {
        let mut tally = Tally::new(3);
        for (name, matches) in [("a", 1), ("b", 5), ("c", 0), ("d", 5), ("e", 1), ("f", 9), ("g", 1)] {
            tally.add(Piece::Text((matches / 2, 10)));
            tally.add(Piece::Text((matches - matches / 2, 10)));
            tally.add(Piece::End(name.into(), Ok(())));
        }
        assert_eq!(tally.top, [("f".into(), 9), ("b".into(), 5), ("d".into(), 5)]);
        assert_eq!((tally.matches, tally.files, tally.files_with_matches, tally.bytes), (22, 7, 6, 140));
    }
}
