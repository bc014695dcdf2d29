//! What graphs promise. Only `idle.rs` is a program of its own, since it measures a whole process.

#[path = "../common/mod.rs"]
mod common;

mod actions;
mod ends;
mod fuzz;
mod inlets;
mod policies;
mod ports;
mod random_graphs;
mod reports;
mod stops;
mod streams;
