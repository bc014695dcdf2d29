//! What can go wrong in an application.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why an application did not run, or not to the end. `Display` names the value or file, and the way out if there is
/// one.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The configuration or the input is refused. Nothing has been written.
    Refused(String),
    /// A file could not be used.
    File {
        /// What was to be done with it, such as "open".
        action: &'static str,
        /// Its path.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The graph was refused or stopped.
    Graph(thalweg::Error),
}

impl Error {
    pub(crate) fn file(action: &'static str, path: &Path, error: io::Error) -> Self {
        Self::File { action, path: path.to_owned(), error }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(reason) => f.write_str(reason),
            Error::File { action, path, error } => write!(f, "cannot {action} {}: {error}", path.display()),
            Error::Graph(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Refused(_) => None,
            Error::File { error, .. } => Some(error),
            Error::Graph(error) => error.source(),
        }
    }
}

impl From<thalweg::Error> for Error {
    fn from(error: thalweg::Error) -> Self {
        Self::Graph(error)
    }
}

/// What an application does or gives the reason why not.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Refuses to write over what is to be read.
pub(crate) fn must_differ(input: &Path, output: &Path) -> Result<()> {
    match same_file::is_same_file(input, output) {
        Ok(true) => {
            Err(Error::Refused(format!("{} is both input and output; choose another output", output.display())))
        }
        // An output that does not exist yet is not the input.
        Ok(false) | Err(_) => Ok(()),
    }
}
