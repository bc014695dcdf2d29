//! The files that `grep -r` reads.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use thalweg_sync::sync::Arc;
use walkdir::WalkDir;

use super::far;

/// The path that stands for standard input.
pub(super) const STANDARD_INPUT: &str = "-";

/// A file or directory that could not be read.
#[derive(Debug)]
pub struct Unreadable {
    /// Its path, as given or as found below a given directory.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

/// A file to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) path: Arc<Path>,
    pub(super) kind: Kind,
}

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// From any place.
    File {
        /// How long it was when it was found.
        bytes: u64,
    },
    /// From its start, until it ends: a pipe, a device.
    Stream,
    /// A stream that is open already.
    StandardInput,
}

impl Found {
    fn new(path: PathBuf, metadata: &Metadata) -> Self {
        let kind = if metadata.is_file() { Kind::File { bytes: metadata.len() } } else { Kind::Stream };
        Self { path: path.into(), kind }
    }
}

/// All files named by `inputs`, in the order given.
///
/// A path on the list is read whatever it is, through a symbolic link too; `-` is standard input. Of a directory, all
/// regular files below it are read, hidden ones included; symbolic links, devices, pipes and sockets in it are passed
/// over.
pub(super) fn files(inputs: Vec<PathBuf>) -> impl Iterator<Item = Result<Found, Unreadable>> + Send {
    inputs.into_iter().flat_map(|input| -> Box<dyn Iterator<Item = _> + Send> {
        if input.as_os_str() == STANDARD_INPUT {
            return Box::new(std::iter::once(Ok(Found { path: input.into(), kind: Kind::StandardInput })));
        }
        match fs::metadata(&input) {
            Ok(metadata) if metadata.is_dir() => Box::new(below(input)),
            Ok(metadata) => Box::new(std::iter::once(Ok(Found::new(input, &metadata)))),
            Err(error) => Box::new(std::iter::once(Err(Unreadable { path: input, error }))),
        }
    })
}

fn below(directory: PathBuf) -> impl Iterator<Item = Result<Found, Unreadable>> + Send {
    let walk = WalkDir::new(&directory);
    let unreadable = move |error: walkdir::Error| {
        let path = error.path().unwrap_or(&directory).to_owned();
        let error = error.into_io_error().unwrap_or_else(|| io::Error::other("part of a loop"));
        Unreadable { path, error }
    };
    walk.into_iter().flat_map(move |entry| {
        let found = match entry {
            Ok(entry) if !entry.file_type().is_file() => None,
            Ok(entry) => {
                let metadata = entry.metadata();
                Some(metadata.map(|metadata| Found::new(entry.into_path(), &metadata)).map_err(&unreadable))
            }
            Err(error) => Some(Err(unreadable(error))),
        };
        let (found, deeper) = match found {
            Some(Err(unreadable)) if far::is_too_long(&unreadable.error) => (None, Some(far::below(unreadable.path))),
            found => (found, None),
        };
        let deeper = deeper.into_iter().flatten().map(|found| match found {
            Ok((path, metadata)) => Ok(Found::new(path, &metadata)),
            Err((path, error)) => Err(Unreadable { path, error }),
        });
        found.into_iter().chain(deeper)
    })
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_when_named_and_only_then() {
        let top = tempfile::tempdir().unwrap();
        let dir = top.path().join("dir");
        fs::create_dir_all(dir.join(".hidden/deep")).unwrap();
        fs::write(dir.join(".hidden/deep/.file"), "x").unwrap();
        fs::write(dir.join("file"), "x").unwrap();
        symlink("file", dir.join("link-to-file")).unwrap();
        symlink(".", dir.join("link-to-dir")).unwrap();
        symlink("nowhere", dir.join("dangling")).unwrap();
        symlink("dir", top.path().join("named-link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(dir.join("socket")).unwrap();

        let found = |inputs: &[PathBuf]| {
            let mut found: Vec<_> = files(inputs.to_vec())
                .map(|file| file.map(|found| found.path.to_path_buf()).map_err(|bad| bad.path))
                .collect();
            found.sort();
            found
        };
        let both = |dir: &Path| vec![Ok(dir.join(".hidden/deep/.file")), Ok(dir.join("file"))];
        assert_eq!(found(std::slice::from_ref(&dir)), both(&dir));
        let named = top.path().join("named-link");
        assert_eq!(found(std::slice::from_ref(&named)), both(&named));
        assert_eq!(found(&[dir.join("link-to-file")]), [Ok(dir.join("link-to-file"))]);
        assert_eq!(found(&[dir.join("dangling")]), [Err(dir.join("dangling"))]);
        assert_eq!(found(&[dir.join("file"), dir.join("file")]).len(), 2, "a file named twice is read twice");
    }
}
