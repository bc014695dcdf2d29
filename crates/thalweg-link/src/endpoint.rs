//! An endpoint: its lines, and the way to the device that copies them.

use std::pin::Pin;

use thalweg_sync::link::{self, Line, Target};
use thalweg_sync::sync::Arc;

use crate::control::{CONTROL, Control};
use crate::router::{Exchange, Router};
use thalweg_sync::atomic::Ordering::Relaxed;

/// Who copies lines.
#[derive(Clone, Debug)]
pub(crate) enum Carrier {
    /// The device of an engine's machine.
    Hardware,
    Software(Arc<Lease>),
}

/// The router works as long as there is one: the supervisor, its channels and their ends share it, as each of them may
/// make an end.
#[derive(Debug)]
pub(crate) struct Lease(Arc<Router>);

impl Lease {
    /// The one that a router begins with.
    pub(crate) fn of(router: Arc<Router>) -> Arc<Self> {
        Arc::new(Self(router))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// One end of a channel, for one thread.
#[derive(Debug)]
pub(crate) enum Endpoint {
    Hardware { target: Target, lines: Box<[Pin<Box<Line>>]> },
    Software { router: Arc<Router>, sqi: usize, exchange: Arc<Exchange> },
}

impl Endpoint {
    /// With so many lines. A producer has one.
    pub(crate) fn new(carrier: &Carrier, target: Target, lines: usize) -> Self {
        match carrier {
            Carrier::Hardware => Self::Hardware { target, lines: (0..lines).map(|_| Box::pin(Line::new())).collect() },
            Carrier::Software(lease) => {
                let (router, sqi) = (&lease.0, target.sqi());
                Self::Software { router: router.clone(), sqi, exchange: router.join(sqi, lines) }
            }
        }
    }

    #[inline]
    pub(crate) fn line(&self, number: usize) -> &Line {
        match self {
            Self::Hardware { lines, .. } => &lines[number],
            Self::Software { exchange, .. } => exchange.line(number),
        }
    }

    /// Whether something has come to a line. Relaxed: who reads it looks again.
    #[inline]
    pub(crate) fn has_come(&self, line: usize) -> bool {
        Control::of(self.line(line).load(CONTROL, Relaxed)).is_some()
    }

    /// Whether nothing is in any line.
    pub(crate) fn is_empty(&self) -> bool {
        let lines = match self {
            Self::Hardware { lines, .. } => lines.len(),
            Self::Software { exchange, .. } => exchange.lines(),
        };
        !(0..lines).any(|line| self.has_come(line))
    }

    /// Sends a producer's line. True if it was taken; then it is zero. False if there was no room; then it is as it was.
    #[inline]
    pub(crate) fn push(&self) -> bool {
        match self {
            Self::Hardware { target, lines } => {
                link::select(lines[0].as_ref());
                link::push(*target)
            }
            Self::Software { exchange, .. } => exchange.push(),
        }
    }

    /// Asks for something to come to a line, unless it has. False if the request was not made: the device had no room for it, or the
    /// thread lost its core on the way. Then nothing may come, and nobody says so. A router wants them in turn.
    #[inline]
    pub(crate) fn fetch(&self, line: usize) -> bool {
        match self {
            Self::Hardware { target, lines } => {
                link::select(lines[line].as_ref());
                // If something comes from here on, the line is selected no more, and the fetch fails: a request must not be
                // made for a line that holds something.
                self.has_come(line) || link::fetch(*target)
            }
            Self::Software { exchange, .. } => {
                exchange.fetch(line);
                true
            }
        }
    }

    /// From now on nothing comes to a line of a device that [forgets](Self::forgets). What has come is there.
    pub(crate) fn unmap(&self, line: usize) {
        if let Self::Hardware { lines, .. } = self {
            link::unmap(lines[line].as_ref());
        }
    }

    /// How many lines of the channel are on their way.
    pub(crate) fn holds(&self) -> u64 {
        match self {
            Self::Hardware { target, .. } => link::holds(*target).unwrap_or(0),
            Self::Software { router, sqi, .. } => router.holds(*sqi),
        }
    }

    /// After how many looks at an empty line to ask again. A device forgets requests when the thread or the line leaves
    /// the core, and an engine lets a thread look again when that has happened; a router forgets nothing.
    pub(crate) fn patience(&self) -> u32 {
        match self {
            Self::Hardware { .. } => 1,
            Self::Software { .. } => u32::MAX,
        }
    }

    /// Whether requests may be lost.
    pub(crate) fn forgets(&self) -> bool {
        matches!(self, Self::Hardware { .. })
    }

    /// From now on nothing comes any more. What has come is in the lines.
    pub(crate) fn leave(&self) {
        match self {
            Self::Hardware { lines, .. } => lines.iter().for_each(|line| link::unmap(line.as_ref())),
            Self::Software { exchange, router, .. } => {
                exchange.leave();
                router.leave();
            }
        }
    }
}
