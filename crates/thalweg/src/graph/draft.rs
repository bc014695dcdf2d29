//! What is known of a graph while it is built.

use crate::block::windows::Assemble;
use crate::edge::{Capacity, Storage};
use crate::ends::task::Task;
use crate::error::Refusal;
use crate::exec::Hook;
use crate::graph::path::Path;
use crate::kernel::ported::PortName;
use crate::kernel::{Body, Outside};
use std::panic::Location;

/// What was asked of an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EdgeSpec {
    pub(crate) capacity: Option<Capacity>,
    pub(crate) storage: Option<Storage>,
    pub(crate) unordered: bool,
    /// What is older than its capacity is dropped.
    pub(crate) newest: bool,
    pub(crate) feedback: bool,
}

/// A port of a kernel of some graph.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRef {
    /// The graph's number, `Control::graph`.
    pub(crate) graph: u64,
    pub(crate) kernel: usize,
    pub(crate) port: usize,
}

/// One connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) from: PortRef,
    pub(crate) to: PortRef,
    pub(crate) spec: EdgeSpec,
    pub(crate) bytes: usize,
}

/// The window that a kernel's input asks for.
pub(crate) struct WindowSpec<'env> {
    pub(crate) peek: usize,
    pub(crate) pop: usize,
    pub(crate) assembler: Box<dyn Fn() -> Box<dyn Assemble + 'env> + Send + Sync + 'env>,
}

/// What the graph knows of a kernel.
pub(crate) struct Definition<'env> {
    pub(crate) name: String,
    pub(crate) place: &'static Location<'static>,
    pub(crate) body: Body<'env>,
    /// Of a source that is fed from outside. Dropped after the body: see `inlet::Watch`.
    pub(crate) outside: Option<Box<dyn Outside + 'env>>,
    pub(crate) inputs: Vec<PortName>,
    pub(crate) outputs: Vec<PortName>,
    pub(crate) window: Option<WindowSpec<'env>>,
    pub(crate) hint: Option<f32>,
    pub(crate) group: Option<usize>,
}

/// Kernels and what connects them.
pub(crate) struct Draft<'env> {
    /// The graph's number, [`Control::graph`](crate::control::Control).
    pub(crate) id: u64,
    pub(crate) kernels: Vec<Definition<'env>>,
    pub(crate) links: Vec<Link>,
    /// Connections with kernels of other graphs; with them the graph does not run.
    pub(crate) foreign: Vec<Link>,
    /// What was wrong when it was built.
    pub(crate) refusals: Vec<Refusal>,
    groups: usize,
    pub(crate) hook: Option<Hook<'env>>,
    pub(crate) tasks: Vec<Task<'env>>,
    /// Whose latency was asked for.
    pub(crate) latencies: Vec<(usize, usize)>,
}

impl<'env> Draft<'env> {
    pub(crate) fn new(id: u64) -> Self {
        Self {
            id,
            kernels: Vec::new(),
            links: Vec::new(),
            foreign: Vec::new(),
            refusals: Vec::new(),
            groups: 0,
            hook: None,
            tasks: Vec::new(),
            latencies: Vec::new(),
        }
    }

    pub(crate) fn refuse(&mut self, kernel: PortRef, reason: &str) {
        let Definition { name, place, .. } = &self.kernels[kernel.kernel];
        let kernel = format!("{name} ({place})");
        self.refusals.push(Refusal { kernel, reason: reason.to_owned() });
    }

    pub(crate) fn add_path<H, T>(&mut self, path: Path<H, T>) {
        let id = self.id;
        for link in path.links {
            match (link.from.graph == id, link.to.graph == id) {
                (true, true) => self.links.push(link),
                (false, false) => self.refusals.push(Refusal {
                    kernel: "a path".to_owned(),
                    reason: "both ends of one of its edges belong to another graph; add it there".to_owned(),
                }),
                _ => self.foreign.push(link),
            }
        }
        for &(port, hint) in path.hints.iter().filter(|(port, _)| port.graph == id) {
            self.kernels[port.kernel].hint = Some(hint);
        }
        for group in &path.groups {
            for port in group.iter().filter(|port| port.graph == id) {
                self.kernels[port.kernel].group = Some(self.groups);
            }
            self.groups += 1;
        }
    }

    /// Kernels' ends that lie outside.
    pub(crate) fn outsides(&self) -> impl Iterator<Item = &(dyn Outside + 'env)> {
        self.kernels.iter().filter_map(|kernel| kernel.outside.as_deref())
    }
}
