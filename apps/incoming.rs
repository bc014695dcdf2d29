//! Input that somebody may have to be waited for: pipes, terminals, devices, standard input; and how a wait ends.

use std::fmt;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read};
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use thalweg_sync::sync::{Arc, Mutex, PoisonError};

use crate::Watch;

/// Ends the reading of pipes and the like for good, also reads that wait at this moment: they find the end of the input.
///
/// Whoever watches a run may have one ([`Watch::halt`]) beside what [stops](thalweg::Stopper) the graph, which a read that waits does not
/// hear of. Its clones are one. Files are read as if there was none. On other systems than Unix a read waits on.
///
/// ```
/// use thalweg::Stopper;
/// use thalweg_apps::fir::{Config, Input, run};
/// use thalweg_apps::{Error, Halt, Watch};
///
/// /// Has enough before anything comes.
/// struct Impatient(Halt);
///
/// impl Watch for Impatient {
///     fn halt(&self) -> Option<Halt> {
///         Some(self.0.clone())
///     }
/// }
/// # #[cfg(target_os = "linux")] {
/// let watch = Impatient(Halt::new()?);
/// watch.0.halt();
/// // A pipe into which nobody writes.
/// let (pipe, _idle) = std::io::pipe()?;
/// let path = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&pipe)).into();
/// let ended = run(&Config::new(Input::File { path, raw: None }), &watch);
/// assert!(matches!(ended, Err(Error::Halted)));
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Halt(Arc<Ends>);

/// A pipe whose other end is let go of to end all waits. Nothing is written into it.
struct Ends {
    #[cfg_attr(not(unix), expect(dead_code, reason = "nobody waits for it"))]
    waited_for: PipeReader,
    held: Mutex<Option<PipeWriter>>,
}

impl Halt {
    /// One that ends nothing yet.
    ///
    /// # Errors
    ///
    /// If the system gives no pipe.
    pub fn new() -> io::Result<Self> {
        let (waited_for, held) = io::pipe()?;
        Ok(Self(Arc::new(Ends { waited_for, held: Mutex::new(Some(held)) })))
    }

    /// Ends it.
    pub fn halt(&self) {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Whether it was ended.
    pub fn is_halted(&self) -> bool {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

#[cfg(unix)]
impl Halt {
    /// What a wait polls beside its input.
    pub(crate) fn waited_for(&self) -> BorrowedFd<'_> {
        self.0.waited_for.as_fd()
    }
}

impl fmt::Debug for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Halt").field("is_halted", &self.is_halted()).finish()
    }
}

/// Whether who watches the run has ended its input.
pub(crate) fn is_halted(watch: &dyn Watch) -> bool {
    watch.halt().is_some_and(|halt| halt.is_halted())
}

/// What `failed` because the input was halted failed for that reason.
pub(crate) fn or_halted(watch: &dyn Watch, failed: crate::Error) -> crate::Error {
    if is_halted(watch) { crate::Error::Halted } else { failed }
}

/// An input that was opened.
pub(crate) type Input = Box<dyn Read + Send>;

/// Opens a file, or whatever else has a path, and gives its length if it is a file. What may wait is read until it is halted.
pub(crate) fn open(path: &Path, halt: Option<Halt>) -> io::Result<(Input, Option<u64>)> {
    // Looked at first: to open a pipe is to wait for its writer.
    let metadata = path.metadata()?;
    match halt {
        Some(halt) if !metadata.is_file() && !metadata.is_dir() => Ok((waiting::open(path, &metadata, halt)?, None)),
        _ => {
            let file = File::open(path)?;
            let length = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
            Ok((Box::new(file), length))
        }
    }
}

/// Standard input, to be read until it is halted.
pub(crate) fn standard(halt: Option<Halt>) -> io::Result<Input> {
    halt.map_or_else(|| Ok(Box::new(io::stdin()) as Input), waiting::standard)
}

#[cfg(unix)]
mod waiting {
    use std::fs::{File, Metadata, OpenOptions};
    use std::io::{self, ErrorKind, Read};
    use std::os::fd::AsFd;
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
    use std::path::Path;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::fs::OFlags;
    use rustix::io::Errno;

    use super::{Halt, Input};

    /// A file that is read when it has something, until it is halted.
    struct Waiting {
        file: File,
        halt: Halt,
    }

    impl Read for Waiting {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            loop {
                let ends = [self.file.as_fd(), self.halt.waited_for()];
                match poll(&mut ends.map(|end| PollFd::from_borrowed_fd(end, PollFlags::IN)), None) {
                    Ok(_) if self.halt.is_halted() => return Ok(0),
                    Ok(_) => {}
                    Err(Errno::INTR) => continue,
                    Err(error) => return Err(error.into()),
                }
                match self.file.read(buffer) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    read => return read,
                }
            }
        }
    }

    pub(super) fn open(path: &Path, metadata: &Metadata, halt: Halt) -> io::Result<Input> {
        let mut options = OpenOptions::new();
        if metadata.file_type().is_fifo() {
            // Its writer is waited for by the first read.
            options.custom_flags(OFlags::NONBLOCK.bits() as i32);
        }
        Ok(Box::new(Waiting { file: options.read(true).open(path)?, halt }))
    }

    pub(super) fn standard(halt: Halt) -> io::Result<Input> {
        Ok(Box::new(Waiting { file: File::from(io::stdin().as_fd().try_clone_to_owned()?), halt }))
    }
}

#[cfg(not(unix))]
mod waiting {
    use std::fs::{File, Metadata};
    use std::io;
    use std::path::Path;

    use super::{Halt, Input};

    pub(super) fn open(path: &Path, _metadata: &Metadata, _halt: Halt) -> io::Result<Input> {
        Ok(Box::new(File::open(path)?))
    }

    pub(super) fn standard(_halt: Halt) -> io::Result<Input> {
        Ok(Box::new(io::stdin()))
    }
}
