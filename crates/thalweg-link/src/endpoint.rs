//! An endpoint: a line, and the way to the device that copies it.

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
    Hardware { target: Target, line: Pin<Box<Line>> },
    Software { router: Arc<Router>, sqi: usize, exchange: Arc<Exchange> },
}

impl Endpoint {
    pub(crate) fn new(carrier: &Carrier, target: Target) -> Self {
        match carrier {
            Carrier::Hardware => Self::Hardware { target, line: Box::pin(Line::new()) },
            Carrier::Software(lease) => {
                let (router, sqi) = (&lease.0, target.sqi());
                Self::Software { router: router.clone(), sqi, exchange: router.join(sqi) }
            }
        }
    }

    #[inline]
    pub(crate) fn line(&self) -> &Line {
        match self {
            Self::Hardware { line, .. } => line,
            Self::Software { exchange, .. } => &exchange.line,
        }
    }

    /// Sends the line. True if it was taken; then it is zero. False if there was no room; then it is as it was.
    #[inline]
    pub(crate) fn push(&self) -> bool {
        match self {
            Self::Hardware { target, line } => {
                link::select(line.as_ref());
                link::push(*target)
            }
            Self::Software { exchange, .. } => exchange.push(),
        }
    }

    /// Asks for a line, unless one has come. False if the request was not made: the device had no room for it, or the
    /// thread lost its core on the way. Then nothing may come, and nobody says so.
    #[inline]
    pub(crate) fn fetch(&self) -> bool {
        match self {
            Self::Hardware { target, line } => {
                link::select(line.as_ref());
                // Relaxed: only whether something has come. If it comes from here on, the line is selected no more, and
                // the fetch fails: a request must not be made for a line that holds something.
                Control::of(line.load(CONTROL, Relaxed)).is_some() || link::fetch(*target)
            }
            Self::Software { exchange, .. } => {
                exchange.fetch();
                true
            }
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

    /// From now on nothing comes any more. What has come is in the line.
    pub(crate) fn leave(&self) {
        match self {
            Self::Hardware { line, .. } => link::unmap(line.as_ref()),
            Self::Software { exchange, router, .. } => {
                exchange.leave();
                router.leave();
            }
        }
    }
}
