//! What a run knows of its graph that does not change: kernels, edges, cycles, hints. Plain data.

use std::panic::Location;

/// What kind of code a kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Gives messages; somebody outside the graph may feed it.
    Source { outside: bool },
    /// Takes from one input, on one worker at a time.
    Sequential,
    /// On many workers at once.
    Parallel,
    /// Has several ports.
    Ported,
}

/// A kernel.
#[derive(Debug)]
pub(crate) struct KernelFacts {
    pub(crate) name: String,
    pub(crate) place: &'static Location<'static>,
    pub(crate) kind: Kind,
    /// Edges, in the order of its ports.
    pub(crate) inputs: Vec<usize>,
    pub(crate) outputs: Vec<usize>,
    /// How many messages a firing takes at each input, of a parallel kernel with several ports.
    pub(crate) rates: Vec<usize>,
    pub(crate) input_names: Vec<String>,
    pub(crate) output_names: Vec<String>,
    pub(crate) hint: Option<f32>,
    pub(crate) group: Option<usize>,
    /// The cycle that it is on.
    pub(crate) component: Option<usize>,
}

impl KernelFacts {
    pub(crate) fn is_source(&self) -> bool {
        matches!(self.kind, Kind::Source { .. })
    }

    pub(crate) fn is_parallel(&self) -> bool {
        self.kind == Kind::Parallel
    }
}

/// An edge, and the kernels at its ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgeFacts {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The size of a message. What a pointer in it leads to does not count.
    pub(crate) bytes: usize,
}

/// The graph of a run.
#[derive(Debug)]
pub(crate) struct Topology {
    pub(crate) kernels: Vec<KernelFacts>,
    pub(crate) edges: Vec<EdgeFacts>,
}
