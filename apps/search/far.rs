//! Files whose path is longer than the system takes at once: it is gone along in pieces.
//!
//! Linux takes 4096 bytes. What lies deeper has a shorter name below a directory that is held open, `/proc/self/fd/N`.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// The longest piece of a path that is taken at once.
#[cfg(target_os = "linux")]
const PIECE: usize = 2048;

/// Whether the path was too long.
pub(super) fn is_too_long(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidFilename
}

/// Opens a file, however long its path.
pub(super) fn open(path: &Path) -> io::Result<File> {
    match File::open(path) {
        Err(error) if is_too_long(&error) => reach(path, |near| File::open(near), error),
        other => other,
    }
}

/// What is at the end of a path that is too long, links not followed; and of a directory, what is in it.
fn look(path: &Path) -> io::Result<(Metadata, Vec<PathBuf>)> {
    let too_long = || io::Error::from(io::ErrorKind::InvalidFilename);
    let metadata = reach(path, |near| fs::symlink_metadata(near), too_long())?;
    if !metadata.is_dir() {
        return Ok((metadata, Vec::new()));
    }
    let names = reach(
        path,
        |near| fs::read_dir(near)?.map(|entry| entry.map(|entry| path.join(entry.file_name()))).collect(),
        too_long(),
    )?;
    Ok((metadata, names))
}

/// Regular files at and below a path that is too long, or why one could not be looked at.
pub(super) fn below(path: PathBuf) -> impl Iterator<Item = Result<(PathBuf, Metadata), (PathBuf, io::Error)>> + Send {
    let mut left = vec![path];
    std::iter::from_fn(move || {
        loop {
            let path = left.pop()?;
            match look(&path) {
                Ok((metadata, _)) if metadata.is_file() => return Some(Ok((path, metadata))),
                Ok((_, names)) => left.extend(names),
                Err(error) => return Some(Err((path, error))),
            }
        }
    })
}

/// Calls `with` with a short path to the same file.
#[cfg(target_os = "linux")]
fn reach<R>(path: &Path, with: impl FnOnce(&Path) -> io::Result<R>, _too_long: io::Error) -> io::Result<R> {
    use std::os::fd::AsRawFd;

    let mut held: Option<File> = None;
    let mut near = PathBuf::new();
    for component in path.components() {
        if near.as_os_str().len() + component.as_os_str().len() > PIECE {
            let directory = File::open(&near)?;
            near = format!("/proc/self/fd/{}", directory.as_raw_fd()).into();
            held = Some(directory);
        }
        near.push(component);
    }
    let result = with(&near);
    drop(held);
    result
}

#[cfg(not(target_os = "linux"))]
fn reach<R>(_path: &Path, _with: impl FnOnce(&Path) -> io::Result<R>, too_long: io::Error) -> io::Result<R> {
    Err(too_long)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn what_lies_deep_is_found_and_read() {
        let top = tempfile::tempdir().unwrap();
        let name = "d".repeat(200);
        let (mut path, mut near) = (top.path().to_owned(), File::open(top.path()).unwrap());
        for _ in 0..40 {
            path.push(&name);
            near =
                reach(&path, |near| fs::create_dir(near).and_then(|()| File::open(near)), io::ErrorKind::Other.into())
                    .unwrap();
        }
        drop(near);
        let file = path.join("file");
        reach(&file, |near| fs::write(near, "deep"), io::ErrorKind::Other.into()).unwrap();
        assert!(is_too_long(&File::open(&file).unwrap_err()));
        let mut text = String::new();
        open(&file).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "deep");
        let found: Vec<_> = below(top.path().join(&name)).map(|found| found.unwrap().0).collect();
        assert_eq!(found, [file]);
        // A folder for tests takes away what has a short path only.
        let mut left = path;
        reach(&left.join("file"), |near| fs::remove_file(near), io::ErrorKind::Other.into()).unwrap();
        while left != top.path() {
            reach(&left, |near| fs::remove_dir(near), io::ErrorKind::Other.into()).unwrap();
            left.pop();
        }
    }
}
