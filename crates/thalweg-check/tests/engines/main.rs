//! The fuzzer and the checker: counts, findings, reports, and what they refuse. Programs of their own are tests that see the heap
//! (`model_heap.rs`), known bugs (`faulty`) and the second oracle (`oracle`).
#![cfg(not(loom))]
#![allow(clippy::disallowed_macros, reason = "clients in `bad_input` do what clients must not")]

mod bad_input;
mod condvar;
mod equal;
mod extents;
mod finds;
mod handles;
mod history;
mod litmus;
mod litmus_text;
mod model;
mod model_finds;
mod operations;
mod picture;
mod replays;
mod reports;
mod runs;
mod scopes;
mod std_shim;
mod threads;
mod waits;
mod weaken;
