//! The application's side.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::MOST_WEIGHT;
use crate::page::Page;
use crate::share::Wish;
use crate::wire::{self, HELLO, LONGEST, LOOK};

/// How long a daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// An application's place with a daemon. Dropping it gives back what it was granted (D2).
///
/// It belongs to a thread beside those that work: nobody who works waits for the daemon (D1).
#[derive(Debug)]
pub struct Member {
    stream: UnixStream,
    page: Page,
    /// What the daemon was asked to look at.
    told: Wish,
}

/// The daemon has gone. What it granted last holds on: see [`Member::granted`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the daemon has gone; join again to find its successor")
    }
}

impl std::error::Error for Gone {}

impl Member {
    /// Joins the daemon at `path`, with a weight of 1 to [`MOST_WEIGHT`](crate::MOST_WEIGHT) beside others, under a name for people.
    ///
    /// # Errors
    ///
    /// If there is no daemon, it is another user's, it does not answer within two seconds, or refuses and says why.
    pub fn join(path: &Path, weight: u32, name: &str) -> io::Result<Self> {
        let mut stream = wire::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let weight = weight.clamp(1, MOST_WEIGHT);
        let mut hello = format!("{HELLO}join {weight} {}", wire::plain(name));
        while hello.len() >= LONGEST {
            hello.pop();
        }
        hello.push('\n');
        stream.write_all(hello.as_bytes())?;
        let mut bytes = [0; LONGEST];
        let (got, file) = wire::receive_with(&stream, &mut bytes)?;
        let answer = String::from_utf8_lossy(&bytes[..got]);
        let answer = answer.lines().next().unwrap_or("");
        match (answer.strip_prefix(HELLO), file) {
            (Some("joined"), Some(file)) => {
                stream.set_nonblocking(false)?;
                Ok(Self { page: Page::map(&file)?, stream, told: Wish::default() })
            }
            (Some(reason), _) => Err(io::Error::other(format!("{}: {reason}", path.display()))),
            (None, _) => {
                let text = format!("{}: what answers is not this version's daemon: {answer:?}", path.display());
                Err(io::Error::new(ErrorKind::InvalidData, text))
            }
        }
    }

    /// Says what could be used now, and how many threads are at work. To be said again at least once a second (D6).
    ///
    /// Costs a few stores, and a system call if the wish is another one than the daemon knows.
    pub fn publish(&mut self, wish: Wish, works: u32) {
        self.page.say(wish, works);
        // By its order of magnitude: every change of it would be a message every time.
        let size = |work: u64| work.max(1).ilog2();
        if wish.could != self.told.could || size(wish.work) != size(self.told.work) {
            self.told = wish;
            // A daemon that does not read has enough to look at; whether it has gone, `wait` finds.
            let _ = self.stream.set_nonblocking(true).and_then(|()| self.stream.write(&[LOOK]));
            let _ = self.stream.set_nonblocking(false);
        }
    }

    #[cfg(test)]
    pub(crate) fn page(&self) -> &Page {
        &self.page
    }

    /// How many cores are granted; `None` if the daemon has ended in good order, and bounds nobody any more.
    pub fn granted(&self) -> Option<u32> {
        // Clamped: the page may have been written by anybody who has it.
        match self.page.granted() {
            0 => None,
            cores => Some(cores.min(u64::from(u32::MAX)) as u32),
        }
    }

    /// Waits until the daemon says that the grant has changed (true), but no longer than `limit`.
    ///
    /// # Errors
    ///
    /// [`Gone`] if the daemon has gone, or put this application out.
    pub fn wait(&mut self, limit: Duration) -> Result<bool, Gone> {
        let limit = limit.max(Duration::from_millis(1));
        self.stream.set_read_timeout(Some(limit)).map_err(|_| Gone)?;
        let mut bytes = [0; 64];
        match self.stream.read(&mut bytes) {
            Ok(0) => Err(Gone),
            Ok(_) => Ok(true),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) =>
            {
                Ok(false)
            }
            Err(_) => Err(Gone),
        }
    }
}
