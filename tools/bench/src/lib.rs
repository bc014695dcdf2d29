//! The bench: experiments that measure thalweg against its peers, on the machine at hand or on a modelled one.
//!
//! ```text
//! cargo lab list
//! cargo lab run streams/pipe3 --quick
//! cargo lab run streams/ --json figures.json --svg figures.svg
//! cargo lab run thesis/2.8 --on x86-88t
//! ```
//!
//! | room | what is in it |
//! |---|---|
//! | [`catalogue`] | the names of all experiments, and what each asks; without any dependency, so that a list costs no build |
//! | `words` | what `lab` and `sim` take, with clap alone |
//! | `registry` | the experiment behind each name |
//! | `workloads` | what is computed, so that every contender does the same and every run is checked |
//! | `baselines` | the rivals that are written here, from their papers |
//! | `peers`, `ours` | the rivals that are published, and how thalweg does the same |
//! | `figures` | the papers' figures, a folder for each paper; they run in every world |
//! | `queues`, `streams`, `tasks`, `daemon` | ours beside published rivals on the machine at hand, a file for each question |
//! | `micro` | what the model of a machine is fitted to |
//! | `worlds` | where a figure runs: the machine at hand, or a modelled one |
//! | `machines` | runs on modelled machines, calibration |
//! | `harness` | runs on this machine, of peers and of a figure's points alike: contenders take turns, run by run, so that a drifting machine hits all of them |
//! | `report` | what comes of a run: records, tables, pictures, whether a paper's number comes out, what is published |
//! | `tables` | the tables of the pages, from what is published |

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "peers are written with the standard library, and so is what measures them; what a modelled machine runs is not, see below"
)]

pub mod catalogue;
#[cfg(any(feature = "machines", feature = "micro", feature = "native"))]
mod lcg;
#[cfg(any(feature = "machines", feature = "native"))]
mod registry;
#[cfg(feature = "words")]
pub mod words;

// These run on modelled machines, too, which see what goes through the facade.
#[cfg(any(feature = "machines", feature = "native"))]
#[warn(clippy::disallowed_types, clippy::disallowed_methods)]
mod baselines;
#[cfg(any(feature = "machines", feature = "native"))]
#[warn(clippy::disallowed_types, clippy::disallowed_methods)]
mod figures;
#[cfg(feature = "machines")]
#[warn(clippy::disallowed_types, clippy::disallowed_methods)]
pub mod machines;
#[cfg(feature = "micro")]
#[warn(clippy::disallowed_types, clippy::disallowed_methods)]
pub mod micro;
#[cfg(any(feature = "machines", feature = "native"))]
#[warn(clippy::disallowed_types, clippy::disallowed_methods)]
#[cfg_attr(
    not(all(feature = "machines", feature = "native")),
    allow(
        dead_code,
        reason = "what is drawn and said of a figure is of a modelled machine, what counts elsewhere of the one at hand"
    )
)]
mod worlds;

#[cfg(feature = "native")]
pub mod apps;
#[cfg(feature = "native")]
mod cli;
#[cfg(feature = "native")]
pub mod cores;
#[cfg(all(feature = "native", target_os = "linux"))]
pub mod daemon;
#[cfg(feature = "native")]
pub mod harness;
#[cfg(feature = "native")]
pub mod machine;
#[cfg(feature = "native")]
mod others;
#[cfg(feature = "native")]
pub mod ours;
#[cfg(feature = "native")]
pub mod peers;
#[cfg(feature = "native")]
mod publish;
#[cfg(feature = "native")]
pub mod queues;
#[cfg(feature = "native")]
mod reached;
#[cfg(any(feature = "machines", feature = "native", feature = "tables"))]
pub mod report;
#[cfg(feature = "native")]
pub mod streams;
#[cfg(feature = "tables")]
pub mod tables;
#[cfg(feature = "native")]
pub mod tasks;
#[cfg(feature = "native")]
pub mod workloads;

#[cfg(feature = "native")]
pub use cli::run;

/// Figures of the tests do not depend on the host's allocator.
#[cfg(all(test, feature = "machines"))]
#[global_allocator]
static HEAP: thalweg_sim::Heap = thalweg_sim::Heap;
