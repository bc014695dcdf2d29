//! What a run counts at one moment: plain data, and its JSON.

use super::Latency;
use crate::json::{self, Object};
use crate::report::End;
use thalweg_sync::time::Duration;

/// The JSON format's number: a reader refuses another one.
pub(super) const FORMAT: u64 = 1;

/// The counters of a run at one moment. They are read one after the other while workers count on, so sums may be off by what happened meanwhile;
/// no counter goes backwards from one snapshot of a run to the next.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Which run of its graph it is, from 1.
    pub run: u64,
    /// Since the run began.
    pub time: Duration,
    /// How the run ended; `None` while it goes on.
    pub end: Option<End>,
    /// The scheme's name.
    pub scheme: String,
    /// Workers that the scheme lets work now; there may be as many as [`workers`](Self::workers) is long.
    pub working: usize,
    /// Times that the scheme decided how many.
    pub decisions: u64,
    /// Messages dropped, as in [`Report::dropped`](crate::Report::dropped), so far.
    pub dropped: u64,
    /// The kernels, in the order in which they were made.
    pub kernels: Vec<KernelSnapshot>,
    /// The edges, in the order in which they were made.
    pub edges: Vec<EdgeSnapshot>,
    /// The workers; number 0 is the thread that called `run`.
    pub workers: Vec<WorkerSnapshot>,
    /// What was asked for by [`Graph::latency`](crate::Graph::latency), in that order.
    pub latencies: Vec<Latency>,
}

/// What kind of code a kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Gives messages, when it is asked.
    Source,
    /// Gives messages that come from outside of the graph, and says when.
    Inlet,
    /// One worker at a time runs it.
    Sequential,
    /// Many workers run it at once.
    Parallel,
    /// Has several ports; one worker at a time runs it.
    Ported,
}

/// What a kernel is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Doing {
    /// A worker is in its code.
    Runs,
    /// It could run, and no worker is at it.
    Ready,
    /// It waits for input on this edge.
    Empty(usize),
    /// It waits for room on this edge.
    Full(usize),
    /// Its results wait for an earlier one.
    Ticket,
    /// It has said that it has nothing now.
    Pending,
    /// It is finished.
    Done,
}

/// A kernel's counters; those with the names of [`KernelReport`](crate::KernelReport) mean the same.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct KernelSnapshot {
    /// Its name.
    pub name: String,
    /// What kind of code it has.
    pub kind: Kind,
    /// What it is at.
    pub doing: Doing,
    /// Workers that are in its code.
    pub workers: usize,
    /// Times it ran.
    pub activations: u64,
    /// Messages it took.
    pub messages_in: u64,
    /// Messages it gave.
    pub messages_out: u64,
    /// Time in its code and its edges, of activations that have ended.
    pub busy: Duration,
    /// What its last block that was timed took.
    pub block_time: Duration,
    /// Attempts that found an input empty.
    pub blocked_empty: u64,
    /// Attempts that found an output full.
    pub blocked_full: u64,
    /// Attempts that found too many results waiting for an earlier one.
    pub blocked_ticket: u64,
    /// Attempts that found another worker at it.
    pub blocked_busy: u64,
    /// Attempts that found that it has nothing now.
    pub blocked_pending: u64,
    /// Times it ran within its producer's activation.
    pub helps: u64,
}

/// An edge's counters; those with the names of [`EdgeReport`](crate::EdgeReport) mean the same.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EdgeSnapshot {
    /// The kernels that give and take: indices into [`Snapshot::kernels`].
    pub ends: (usize, usize),
    /// The queue that carries its blocks.
    pub storage: String,
    /// Messages given to it.
    pub messages: u64,
    /// Bytes that a message takes in it; what it points to is not known.
    pub message_bytes: usize,
    /// Messages on it now.
    pub holds: u64,
    /// Blocks on it now.
    pub blocks: u64,
    /// Messages it may hold, if a capacity was asked for.
    pub most: Option<u64>,
    /// Blocks it may hold, if that is what bounds it.
    pub most_blocks: Option<u64>,
    /// How full it is, from 0 to 1.
    pub fill: f64,
    /// Times it grew.
    pub grown: u64,
    /// The most messages on it. One look for every 16 blocks.
    pub peak: u64,
    /// Attempts of its consumer that found it empty.
    pub blocked_empty: u64,
    /// Attempts of its producer that found it full.
    pub blocked_full: u64,
}

/// Where a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkerState {
    /// In this kernel's code.
    Runs(usize),
    /// Between two kernels, or looking for one.
    Looks,
    /// Found nothing to do, and sleeps.
    Sleeps,
    /// Not needed now: the run goes as well with fewer.
    Bench,
    /// Has no thread yet, or none any more.
    Off,
}

/// A worker's counters.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WorkerSnapshot {
    /// Where it is.
    pub state: WorkerState,
    /// Time of looking around and sleeping.
    pub idle: Duration,
    /// Attempts that found nothing to do.
    pub polls: u64,
    /// Times it gave up its time slice.
    pub yields: u64,
    /// Times it went to sleep.
    pub sleeps: u64,
}

impl Snapshot {
    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Option<&KernelSnapshot> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// The latency from one kernel to another, by their names, if it was asked for.
    pub fn latency(&self, from: &str, to: &str) -> Option<&Latency> {
        self.latencies.iter().find(|latency| {
            (self.kernels[latency.ends.0].name.as_str(), self.kernels[latency.ends.1].name.as_str()) == (from, to)
        })
    }

    /// As JSON: one object on one line, which [`from_json`](Self::from_json) reads. Times are in nanoseconds.
    pub fn to_json(&self) -> String {
        json::object(|object| {
            object.raw("thalweg", FORMAT).raw("run", self.run).raw("time_ns", self.time.as_nanos());
            match self.end {
                None => object.raw("end", "null"),
                Some(end) => object.text("end", end.name()),
            };
            object.text("scheme", &self.scheme).raw("working", self.working);
            object.raw("decisions", self.decisions).raw("dropped", self.dropped);
            object.list("kernels", &self.kernels, KernelSnapshot::write_json);
            object.list("edges", &self.edges, EdgeSnapshot::write_json);
            object.list("workers", &self.workers, WorkerSnapshot::write_json);
            object.list("latencies", &self.latencies, Latency::write_json);
        })
    }
}

impl Kind {
    /// One word for it, as in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Inlet => "inlet",
            Self::Sequential => "sequential",
            Self::Parallel => "parallel",
            Self::Ported => "ported",
        }
    }
}

impl Doing {
    /// One word for it, as in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Ready => "ready",
            Self::Empty(_) => "empty",
            Self::Full(_) => "full",
            Self::Ticket => "ticket",
            Self::Pending => "pending",
            Self::Done => "done",
        }
    }
}

impl WorkerState {
    /// One word for it, as in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Runs(_) => "runs",
            Self::Looks => "looks",
            Self::Sleeps => "sleeps",
            Self::Bench => "bench",
            Self::Off => "off",
        }
    }
}

impl KernelSnapshot {
    fn write_json(&self, object: &mut Object<'_>) {
        object.text("name", &self.name).text("kind", self.kind.name()).text("doing", self.doing.name());
        if let Doing::Empty(edge) | Doing::Full(edge) = self.doing {
            object.raw("edge", edge);
        }
        object.raw("workers", self.workers).raw("activations", self.activations);
        object.raw("messages_in", self.messages_in).raw("messages_out", self.messages_out);
        object.raw("busy_ns", self.busy.as_nanos()).raw("block_ns", self.block_time.as_nanos());
        object.raw("blocked_empty", self.blocked_empty).raw("blocked_full", self.blocked_full);
        object.raw("blocked_ticket", self.blocked_ticket).raw("blocked_busy", self.blocked_busy);
        object.raw("blocked_pending", self.blocked_pending).raw("helps", self.helps);
    }
}

impl EdgeSnapshot {
    fn write_json(&self, object: &mut Object<'_>) {
        object.raw("from", self.ends.0).raw("to", self.ends.1).text("storage", &self.storage);
        object.raw("messages", self.messages).raw("message_bytes", self.message_bytes);
        object.raw("holds", self.holds).raw("blocks", self.blocks);
        object.maybe("most", self.most).maybe("most_blocks", self.most_blocks);
        object.raw("fill", format_args!("{:.3}", self.fill)).raw("grown", self.grown).raw("peak", self.peak);
        object.raw("blocked_empty", self.blocked_empty).raw("blocked_full", self.blocked_full);
    }
}

impl WorkerSnapshot {
    fn write_json(&self, object: &mut Object<'_>) {
        object.text("state", self.state.name());
        if let WorkerState::Runs(kernel) = self.state {
            object.raw("kernel", kernel);
        }
        object.raw("idle_ns", self.idle.as_nanos());
        object.raw("polls", self.polls).raw("yields", self.yields).raw("sleeps", self.sleeps);
    }
}
