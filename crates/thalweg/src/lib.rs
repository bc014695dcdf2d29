//! Streams that do not block: kernels in ordinary Rust, connected with `>>`, scheduled so that no core polls.
//!
//! ```
//! use thalweg::prelude::*;
//!
//! let mut longest = (0, 0);
//! let mut graph = Graph::new();
//! let numbers = graph.source(1..=1000_u64);                                                // gives
//! let collatz = graph.parallel(|n: u64, out: &mut Output<(u64, u32)>| {                    // Fn: on many cores, in order
//!     let (mut x, mut steps) = (n, 0);
//!     while x != 1 {
//!         x = if x % 2 == 0 { x / 2 } else { 3 * x + 1 };
//!         steps += 1;
//!     }
//!     out.push((n, steps));
//! });
//! let keep = graph.sink(|(n, steps)| if steps > longest.1 { longest = (n, steps) });       // FnMut: one at a time
//!
//! graph += numbers >> collatz * 4 >> keep;
//! let report = graph.run(Scheme::default())?;
//! println!("{report}");
//! drop(graph);
//! assert_eq!(longest, (871, 178));
//! # Ok::<(), thalweg::Error>(())
//! ```
//!
//! | you have | write |
//! |---|---|
//! | an iterator that does not wait (numbers, a vector, the lines of a file) | [`Graph::source`], [`Graph::source_with`] |
//! | an iterator that waits for somebody (a socket, a terminal) | [`Graph::source_blocking`] |
//! | messages from other threads or tasks | [`Graph::inlet`] |
//! | a stream of futures | [`Graph::source_polled`] |
//! | results for other threads or tasks | [`Graph::outlet`] |
//! | results for a sink of futures | [`Graph::sink_polled`] |
//! | to see what a run is at, from another thread | [`Graph::observe`] |
//! | a run to be awaited | [`Graph::run_async`] |
//! | a step with state | [`Graph::sequential`], [`Graph::map`], [`Graph::update`] |
//! | messages to be chosen from, or to become many each | [`Graph::filter`], [`Graph::flat_map`] |
//! | a step without state, to spread over cores | [`Graph::parallel`], [`Graph::parallel_map`], [`Graph::parallel_update`] |
//! | the same, with a scratch buffer for each worker | [`Graph::parallel_with`] |
//! | a step that looks at neighbours | [`Graph::window`], [`Graph::window_partial`], [`Graph::parallel_window`] |
//! | the same messages for several steps | [`Graph::tee`], [`Graph::broadcast`] |
//! | several streams to make one of | [`Graph::merge`], [`Graph::interleave`], [`Graph::merge_by_key`], [`Graph::zip`] |
//! | one stream for several kernels, each message to one | [`Graph::split`], [`Graph::partition`], [`Graph::route`] |
//! | state for each key, on many cores | [`Graph::key_by`], [`Graph::keyed`] |
//! | one value for a whole stream, vectors of messages | [`Graph::fold`], [`Graph::chunks`] |
//! | state to be flushed at the end, or an end that comes early | [`Graph::sequential_with`], [`Graph::sink_with`], [`Graph::take`], [`Graph::take_while`], [`Graph::map_while`] |
//! | messages that fail | [`Graph::try_map`], [`Graph::map_or_skip`], [`Graph::retry`] |
//! | something to do with time | [`Graph::every`], [`Graph::throttle`], [`Graph::debounce`], [`Graph::chunks_within`], [`Graph::window_by_time`], [`Graph::deadline`] |
//! | a part of a graph as a value, with ports | [`Graph::part`], [`Node::input`], [`Node::output`] |
//! | any other number of inputs or outputs | [`Kernel`] and [`Graph::add`] |
//! | a function that asks for its input in a loop | [`Graph::task`], [`Graph::task_on`] |
//! | a plain chain | [`Graph::stream`] |
//! | a cycle | [`Gives::feedback`] on the edge that goes back |
//! | a bound on what an edge holds | [`Gives::capacity`], [`Gives::fixed`] |
//! | results, without borrowing around the graph | [`Graph::collect`], [`Graph::gather`], [`Graph::count`] |
//! | names in reports and errors | [`Graph::name`] |
//! | fewer workers for a while, from outside | [`Graph::allowance`] |
//! | another number of workers, or another scheme | [`Scheme::workers`], [`Scheme::named`] |
//!
//! What a kernel borrows is declared before the graph, and is yours again when the graph is dropped. The report says what its columns mean, and ends
//! with [what set the pace](Report::verdict).
//!
//! # What is promised
//!
//! - Messages leave every kernel in order, parallel ones too, so results do not depend on the number of workers. [`unordered`](Gives::unordered) edges
//!   and kernels with several inputs that decide by what came first are the exceptions.
//! - Every message is processed, or dropped once if the run is cancelled. A run that cannot go on is an error, not a hang.
//! - A block of messages is handed on when it is full, when its kernel finds no more input, or after a few activations. So neither a trickle nor a
//!   rare result among much input is held back. (A filter in the iterator of a source is part of the source.) Idle workers sleep.
//! - A kernel's panic or error stops the run and is returned from it with the kernel's name.
//!
//! # What is not
//!
//! - A kernel is not interrupted: one that does not return is waited for.
//! - Kernels do not take turns, but none starves: under every scheme, a kernel that could run all along runs within two rounds of a patrol. A round is
//!   due a millisecond after the last one, or 32 times as long as it takes, and begins when some worker comes back from an activation.
//! - Capacity is counted by the block: an edge may hold up to one block more (at most half of its first capacity), and each worker at its ends
//!   has one in hand. What a single call of a kernel's closure pushes goes through even if it is more; [`Graph::flat_map`] and
//!   [`Output::has_room`] keep to it.
//! - Which worker runs what, and how many messages make a block.

#![allow(
    clippy::disallowed_macros,
    reason = "the one in `error`: the language keeps for each thread whether it unwinds, and no engine switches while one does"
)]

mod block;
mod control;
#[cfg(all(feature = "daemon", target_os = "linux"))]
mod daemon;
mod edge;
mod ends;
mod error;
mod exec;
mod graph;
mod json;
mod kernel;
pub mod observe;
pub mod operators;
mod partition;
mod report;
pub mod scheme;
mod topology;

pub use control::Stopper;
pub use edge::{Capacity, Storage};
pub use ends::inlet::{Closed, Inlet, Pushing};
pub use ends::outlet::{Outlet, Over, Popping};
pub use ends::run_async::Run;
#[cfg(feature = "stream")]
pub use ends::stream::{InletSink, OutletStream};
pub use ends::task::{TaskBody, TaskPorts};
pub use error::{BoxError, Cause, Error, Failure, Refusal, Result, Verdict, Wait};
pub use graph::Graph;
pub use graph::chain::{After, Chain, FromIter, Pending, Stepwise};
pub use graph::path::End as PathEnd;
pub use graph::path::{Gives, Handle, Head, Node, Path, Sink, Source, Tail, Takes};
pub use graph::results::Gathered;
pub use kernel::firing::{Firing, ParallelKernel};
pub use kernel::fused::{Filter, FlatMap, Identity, Inspect, Map, Stage, Update};
pub use kernel::output::Output;
pub use kernel::ported::{Binder, In, Kernel, Out};
pub use kernel::steps::{Begin, Change, Keep, Look, Spread, Steps};
pub use kernel::{Flow, Io};
pub use observe::{Allowance, Demand, Observer, Snapshot};
pub use report::{EdgeReport, End, KernelReport, Report};
pub use scheme::Scheme;
pub use thalweg_queue::{BuildError, PushTimeoutError, TryPushError};

/// What most programs need.
pub mod prelude {
    pub use crate::{
        Binder, BoxError, Firing, Flow, Gives, Graph, In, Inlet, Io, Kernel, Node, Out, Outlet, Output, ParallelKernel,
        Report, Scheme, Sink, Source, Stopper,
    };
}
