//! The model checker: every execution that the memory model allows, each once.
//!
//! | | |
//! |---|---|
//! | explores | all consistent graphs of events, reads-from and modification order, under RC11, RA or SC |
//! | once | two complete executions differ in an event, in what a read reads, in the order of two writes, or in who drops an `Arc` last |
//! | cost | one run of the client per execution, complete or blocked; memory: a stack of graphs, at most one per event |
//! | reports | panics, races on slots and of `get_mut` on atomics, uninitialised slots, objects dropped in use; with [`Heap`](crate::Heap) use after free, double free, leaks; waits that never end, loops without end, clients that are not deterministic |
//! | not explored | cycles in po and rf together (load buffering), which RC11 forbids; accesses of mixed size |
//!
//! From M. Kokologiannakis and others, *Truly Stateless, Optimal Dynamic Partial Order Reduction* (TruSt), POPL 2022,
//! and O. Lahav and others, *Repairing Sequential Consistency in C/C++11* (RC11), PLDI 2017. Different from the papers:
//! the stack is explicit; waits are explored once per outcome ([`wait`]); plain memory is native
//! memory, and its accesses are no events ([`slots`]).
//!
//! | room | purpose |
//! |---|---|
//! | [`check`], [`search`] | the options, the loop over executions |
//! | [`explore`] | which graphs are visited; invariants T1 to T7 |
//! | [`pool`] | the search on several threads; P1 to P3 |
//! | [`estimate`] | how many executions there are, before all are run |
//! | [`graph`], [`clock`] | events, orders, clocks; G1 to G4 |
//! | [`consistency`], [`psc`] | the axioms; C1 to C3 |
//! | [`run`], [`state`], [`engine`], [`places`], [`kept`] | one execution: coroutines, replay, the facade's operations; R1 to R6 |
//! | [`abort`] | a panic that ends the process |
//! | [`wait`] | awaits, and waits that never end |
//! | [`slots`] | races on plain memory |
//! | [`equal`](mod@equal) | equal threads, one of whose orders is explored; E1 to E4 |
//! | [`reuse`] | freed memory that is handed out again; M1 to M4 |
//! | [`view`], [`report`], [`table`], [`names`], [`brief`], [`guide`] | an execution as its reader sees it; running it alone |

mod abort;
mod brief;
mod check;
mod clock;
mod consistency;
mod engine;
mod equal;
mod estimate;
mod explore;
mod graph;
mod guide;
mod kept;
mod leftovers;
mod log;
mod names;
mod places;
mod pool;
mod psc;
mod pulse;
mod report;
mod reuse;
#[cfg(test)]
mod rules;
mod run;
mod search;
mod slots;
mod state;
mod table;
mod view;
mod wait;

pub use check::{Check, Explored, Memory, Progress, ScAxiom};
pub use equal::equal;
pub use estimate::Estimate;
pub use graph::{EventId, ExecutionGraph};
pub use kept::Kept;
pub(crate) use names::Names;
pub(crate) use places::{AddressHasher, ByAddress};
pub(crate) use report::Replay;
pub use report::{Rule, Violation, Wait};
pub(crate) use run::current_run;
pub use run::{assume, choose, mark};
pub use view::{Event, EventKind, Mark};
