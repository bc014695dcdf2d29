//! What can go wrong in an application.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why an application did not run, or not to the end. `Display` names the value, the file or the kernel, and the way out
/// if there is one. The cause is the [`source`](std::error::Error::source); `{:#}` writes that too, and all that is
/// behind it.
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
    /// The input was [halted](crate::Halt) before its beginning had come. Nothing has been written.
    Halted,
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
        if f.alternate() {
            return f.write_str(&with_causes(self));
        }
        match self {
            Error::Refused(reason) => f.write_str(reason),
            Error::File { action, path, .. } => write!(f, "cannot {action} {}", path.display()),
            Error::Halted => f.write_str("the input was ended before it had begun"),
            Error::Graph(error) => error.fmt(f),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Error::Refused(_) | Error::Halted => None,
            Error::File { error, .. } => Some(error),
            Error::Graph(error) => error.source(),
        }
    }
}

/// The text of an error, and those of all of its causes, in one line.
///
/// ```
/// use thalweg_apps::{Error, with_causes};
///
/// let error = std::io::Error::other("on fire");
/// let error = Error::File { action: "open", path: "capture".into(), error };
/// assert_eq!(with_causes(&error), "cannot open capture: on fire");
/// assert_eq!(error.to_string(), "cannot open capture");
/// ```
pub fn with_causes(error: &(dyn StdError + 'static)) -> String {
    let chain = std::iter::successors(Some(error), |&cause| cause.source());
    chain.map(ToString::to_string).collect::<Vec<_>>().join(": ")
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
    // To compare files is to open them: a pipe would wait for its other end, or lose it. An output that does not exist
    // yet is not the input.
    let is_file = |path: &Path| path.metadata().is_ok_and(|metadata| metadata.is_file());
    if is_file(input) && is_file(output) && same_file::is_same_file(input, output).unwrap_or(false) {
        return Err(Error::Refused(format!("{} is both input and output; choose another output", output.display())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use thalweg::{Graph, Scheme};

    use super::*;

    #[test]
    fn whoever_prints_an_error_with_its_causes_prints_each_text_once() {
        let mut graph = Graph::new();
        let bytes = graph.source([1_u8]);
        let sink = graph.sink(|_: u8| Err::<(), _>("on fire"));
        graph += bytes >> sink;
        let of_a_kernel = Error::from(graph.run(Scheme::default()).unwrap_err());
        let of_a_file = Error::file("open", Path::new("capture"), io::Error::other("on fire"));
        for error in [of_a_kernel, of_a_file] {
            let told = with_causes(&error);
            assert_eq!(told.matches("on fire").count(), 1, "{told}");
            assert_eq!(format!("{error:#}"), told);
        }
    }
}
