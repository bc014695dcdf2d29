//! Queues from papers, to compare with, to build on, and for those who know why.
//!
//! | queue | order | what it is for |
//! |---|---|---|
//! | [`cnq`](mod@cnq) | k-FIFO | many on both sides, all busy, and order matters little: threads meet once for many items |
//! | [`mesh`](mod@mesh) | FIFO per ring | few threads on each side, all busy: a ring for each pair |
//! | [`ticketed`](mod@ticketed) | FIFO, pushed in the order of tickets | many threads that take, work, and push in the order of what they took; windows that slide |
//! | [`tube`], [`faaq`] | FIFO | queues in three phases: DPDK's rings, SCQD, FAAQ; to build on their steps |
//! | [`lamport`], [`locked`] | FIFO | baselines |

pub mod cnq;
pub mod faaq;
pub mod lamport;
#[cfg(feature = "std")]
pub mod locked;
pub mod mesh;
pub mod ticketed;
pub mod tube;
