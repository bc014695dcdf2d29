//! Operators: kernels with several ports, or with state, that most programs need.
//!
//! Each has a method of [`Graph`](crate::Graph) that makes it and connects its inputs. Those with ports of a number that is known only at run time, or with inputs in a
//! cycle, are kernels too: [`Graph::add`](crate::Graph::add) gives their ports.
//!
//! ```
//! use thalweg::operators::Merge;
//! use thalweg::prelude::*;
//!
//! let mut all = Vec::new();
//! let mut graph = Graph::new();
//! let merge = graph.add(Merge::new(3));
//! for (&input, first) in merge.inputs.iter().zip([0, 10, 20]) {
//!     let numbers = graph.source(first..first + 2);
//!     graph += numbers >> input;
//! }
//! let collect = graph.sink(|x| all.push(x));
//! graph += merge.out >> collect;
//! graph.run(Scheme::default())?;
//! drop(graph);
//! all.sort();
//! assert_eq!(all, [0, 1, 10, 11, 20, 21]);
//! # Ok::<(), thalweg::Error>(())
//! ```

mod ends;
mod errors;
mod fan;
mod hash;
mod join;
mod keyed;
mod part;
mod time;

pub use ends::Emit;
pub use errors::{Backoff, Skipped, TooManyErrors};
pub use fan::{Broadcast, FanPorts, Route};
pub use join::{Interleave, JoinPorts, Merge, MergeByKey, Zip, ZipPorts};
pub use keyed::KeyBy;

use crate::graph::path::Node;
use crate::kernel::ported::{In, Out};
use std::marker::PhantomData;

/// A kernel with one input and one output, as a node.
fn node<T, U>(input: In<T>, _out: Out<U>) -> Node<T, U> {
    // Both ports have the number zero.
    Node(input.into(), PhantomData)
}
