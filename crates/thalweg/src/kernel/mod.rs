//! What runs: a kernel's code, and the ends of the edges that it owns.
//!
//! | trait | who | called |
//! |---|---|---|
//! | [`Supply`] | gives messages, takes none | by one worker at a time |
//! | [`Work`] | takes from one input | by one worker at a time |
//! | [`Ported`] | has several ports | by one worker at a time |
//! | [`SharedWork`] | has no state that changes | by many workers at once |
//!
//! The first three run as a [`Task`], whose claim a worker holds; the last as a [`SharedTask`].

mod cx;
pub(crate) mod each;
pub(crate) mod firing;
pub(crate) mod fused;
mod given;
pub(crate) mod in_place;
pub(crate) mod intake;
mod io;
pub(crate) mod output;
pub(crate) mod ported;
mod resident;
pub(crate) mod shared;
pub(crate) mod source;
pub(crate) mod steps;
mod task;
pub(crate) mod tee;
pub(crate) mod windowed;
pub(crate) mod with_state;

pub use io::Io;

pub(crate) use cx::{Cx, Held, Host, Pace, Rhythm, TOO_LONG, WORTH_WAKING};
pub(crate) use ported::{Ported, signature};
pub(crate) use shared::{SharedTask, SharedWork};
pub(crate) use task::Task;

use crate::block::Block;
use crate::edge::Sender;
use crate::error::{BoxError, Error, Payload};
use crate::report::Report;
use std::fmt;
use thalweg_sync::time::Duration;

/// What a source or a kernel with several ports says after an activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// There is more to do.
    More,
    /// Nothing now; ask again later. A worker with nothing else to do sleeps in between: for 20 us at first, then each time for twice as long, up to
    /// 10 ms. What comes from outside is handed on without that delay by an [`inlet`](crate::Graph::inlet).
    Pending,
    /// Nothing now; ask again after this time, or when something comes at an input. It may be later, by as much as the workers are busy.
    PendingFor(Duration),
    /// Finished: this kernel will not run again, and its outputs end.
    Done,
}

impl Flow {
    /// The nanoseconds after which the kernel wishes to be asked again, if it has nothing now and says so.
    pub(crate) fn ask_in(self) -> Option<u64> {
        match self {
            Self::PendingFor(time) => Some(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
            Self::More | Self::Pending | Self::Done => None,
        }
    }
}

/// Why an activation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Its share of blocks was done; there may be more.
    More,
    /// Nothing on this edge.
    Empty(usize),
    /// No room on this edge.
    Full(usize),
    /// Too many tickets are out.
    Waiting,
    /// A source has nothing now.
    Pending,
    /// The kernel is finished.
    Done,
}

/// What an activation did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) why: Why,
    pub(crate) blocks: u32,
    pub(crate) messages: u64,
    /// The signature of its edges that it found nothing new at; zero if it is worth another activation whatever they say.
    pub(crate) seen: u64,
    /// It found nothing to take and gave nothing.
    pub(crate) idle: bool,
    /// It has said that it is done, and some of what it gave has no room yet.
    pub(crate) said_done: bool,
    /// It has nothing now, and is to be asked again after this many nanoseconds.
    pub(crate) ask_in: Option<u64>,
}

impl Outcome {
    pub(crate) fn new(why: Why, blocks: u32, messages: u64) -> Self {
        Self { why, blocks, messages, seen: 0, idle: false, said_done: false, ask_in: None }
    }
}

/// Gives messages.
pub(crate) trait Supply: Send {
    /// Gives about a block of messages at `out`; a source without an output has none.
    fn give(&mut self, cx: &Cx<'_>, out: &mut [Sender<'_>]) -> Result<Flow, BoxError>;

    /// Called before each run. An error refuses the run.
    fn begin(&mut self) -> Result<(), BoxError> {
        Ok(())
    }

    /// Called when it will not be asked again in this run.
    fn end(&mut self) {}
}

/// Looks at a source that somebody outside the graph feeds, or at a sink that somebody outside empties.
pub(crate) trait Outside: Send + Sync {
    /// Whether there is something to give, or room for what is taken; or the end to be noticed.
    fn is_ready(&self) -> bool;

    /// Messages that were pushed from outside and that the graph has not taken yet. A snapshot.
    fn waiting(&self) -> usize {
        0
    }

    /// Opens the outer end for the next run.
    fn reopen(&self);

    /// The run has ended: who waits at the outer end goes away.
    fn run_is_over(&self, result: &Result<Report, Error>);
}

/// Takes from one input, one worker at a time.
pub(crate) trait Work: Send {
    /// Takes messages until the block is empty, the output is full, or the [rhythm](Cx::rhythm) says to leave. Leaves no block if it was handed on as it
    /// is.
    ///
    /// What is left of the last message, if the kernel [holds](Self::holds) that, comes first; the block may be empty then.
    fn run(&mut self, cx: &Cx<'_>, out: &mut [Sender<'_>], block: &mut Option<Block>) -> Result<(), BoxError>;

    /// Whether it keeps what is left of a message that it took.
    fn holds(&self) -> bool {
        false
    }

    /// Drops what it holds, and notes the panics of destructors.
    fn let_go(&mut self, _panics: &mut Vec<Payload>) {}

    /// Whether it has had enough: it is not called again in this run, and what it left is dropped.
    fn is_done(&self) -> bool {
        false
    }

    /// Why it left messages, if not for want of room in its output: it waits for somebody outside, or has had enough.
    fn held(&self) -> Option<Why> {
        None
    }

    /// Called when everything was taken and no more comes.
    fn end(&mut self, _cx: &Cx<'_>) {}
}

/// A kernel's code, as the graph keeps it from run to run.
pub(crate) enum Body<'env> {
    Source(Box<dyn Supply + 'env>),
    Sequential(Box<dyn Work + 'env>),
    Parallel(Box<dyn SharedWork + 'env>),
    /// Parallel, with several ports: a firing takes so much at each input.
    Firing(Box<dyn SharedWork + 'env>, Vec<intake::Rate>),
    Ported(Box<dyn Ported + 'env>),
}

impl Body<'_> {
    /// It runs on many workers at once.
    pub(crate) fn is_parallel(&self) -> bool {
        matches!(self, Self::Parallel(_) | Self::Firing(..))
    }

    /// How many messages a firing sees at a port and how many of those it takes, if that is fixed.
    pub(crate) fn rate(&self, port: usize) -> Option<(usize, usize)> {
        match self {
            Self::Firing(_, rates) => rates.get(port).map(|rate| (rate.peek, rate.messages)),
            _ => None,
        }
    }
}

impl fmt::Debug for Body<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source(_) => "Source",
            Self::Sequential(_) => "Sequential",
            Self::Parallel(_) => "Parallel",
            Self::Firing(..) => "Firing",
            Self::Ported(_) => "Ported",
        })
    }
}
