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
    /// How many messages a firing sees at each input and how many of those it takes, of a parallel kernel with several ports.
    pub(crate) rates: Vec<(usize, usize)>,
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

impl Topology {
    /// A number for each kernel, all of them different: one that gives to another one has the lower, but for one edge at least of each cycle.
    pub(crate) fn ranks(&self) -> Vec<usize> {
        let mut before: Vec<_> = self.kernels.iter().map(|facts| facts.inputs.len()).collect();
        let mut ranks = vec![usize::MAX; before.len()];
        let mut next: Vec<_> = (0..before.len()).rev().filter(|&kernel| before[kernel] == 0).collect();
        let mut others = 0..before.len();
        for rank in 0..before.len() {
            // Where all that are left are behind a cycle, it is entered somewhere.
            let ranked = |kernel: usize, ranks: &[usize]| ranks[kernel] < usize::MAX;
            let kernel = loop {
                let kernel = next.pop().or_else(|| others.next()).expect("one is left");
                if !ranked(kernel, &ranks) {
                    break kernel;
                }
            };
            ranks[kernel] = rank;
            for &edge in &self.kernels[kernel].outputs {
                let to = self.edges[edge].to;
                before[to] = before[to].saturating_sub(1);
                if before[to] == 0 {
                    next.push(to);
                }
            }
        }
        ranks
    }
}
