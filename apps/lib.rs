//! The applications of the papers behind thalweg, on real input. Each is a small example of a graph.
//!
//! | application | graph | from |
//! |---|---|---|
//! | [`search`] | files → search, on all cores → tally | BLQ, §4, table 1 |
//! | [`frames`] | input → application → output | FastForward, §2.2 and §5.7 |
//! | [`fm`] | low-pass → demodulate → 12 low-passes → equalize | DANBI, table II; StreamIt's FMRadio |
//! | [`gaussian`] | pictures → gaussian → transpose → gaussian → transpose → results | DANBI, table II: RG |
//! | [`srad`] | pictures → extract → statistics → srad1 → srad2 + compress, and back → results | DANBI, table II; Rodinia's SRAD |
//! | [`fft`] | samples → reorder → combine → spectra | DANBI, table II; StreamIt's FFT2 |
//! | [`tde`] | transpose → pad → transform, in 11 stages → multiply → back, in 11 → cut → transpose | DANBI, table II; StreamIt's TDE |
//! | [`filterbank`] | duplicate → 8 × (low-pass → high-pass → thin out → 2 filters) → add | DANBI, table II; StreamIt's FilterBank |
//! | [`mergesort`] | chunks → sort → split → merge, and back → result | DANBI, figure 2 and table II |
//! | [`tc`] | workset → lookup → count, on all cores → reduce | BLQ, table 1; GraphBIG's triangle count |
//! | [`dc`] | workset → degree, on all cores | BLQ, table 1; GraphBIG's degree count |
//! | [`fir`] | samples → 30 filters → sound | BLQ, table 1 |
//! | [`incast`] | 4 producers → consumer | BLQ, table 1; Ember |
//! | [`outcast`] | producer → 4 consumers, in turn | BLQ, table 1; Ember |
//! | [`chasing`] | sequence → generate, on all cores → filter → 9 copies → count | BLQ, table 1 |
//! | [`pipeline`] | packets → verify IPv4 → verify TCP, both on all cores → sum, and back | BLQ, table 1 |
//! | [`firewall`] | packets → check, on all cores → correct, mistake, and back | BLQ, table 1 |
//! | [`bc`] | workset → paths, on all cores → reduce | BLQ, table 1; GraphBIG's betweenness centrality |
//!
//! Each has a `Config`, a function `run` and a `Summary`. All but
//! [`search`] keep the sequential program too, which gives the same bytes or numbers. The networks that [`tc`], [`dc`] and [`bc`] look at
//! come from [`edges`], the packets of [`pipeline`] and [`firewall`] from [`packets`].

pub mod bc;
pub mod bursts;
pub mod chasing;
pub mod dc;
pub mod edges;
mod error;
pub mod fft;
pub mod filterbank;
pub mod fir;
pub mod firewall;
pub mod fm;
pub mod frames;
pub mod fuzz;
pub mod gaussian;
pub mod incast;
mod incoming;
pub mod mergesort;
pub mod outcast;
pub mod packets;
pub mod pictures;
pub mod pipeline;
pub mod samples;
pub mod search;
pub mod srad;
pub mod tc;
pub mod tde;
mod until_error;
mod watch;

pub use error::{Error, Result, with_causes};
pub use incoming::Halt;
pub use watch::Watch;

/// The program on the front page of the repository runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
