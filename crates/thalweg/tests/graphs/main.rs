//! What graphs promise. Only `idle.rs` is a program of its own, since it measures a whole process.

#[path = "../common/mod.rs"]
mod common;

mod actions;
mod causes;
mod destructors;
mod ends;
mod faults;
mod firings;
mod functions;
mod fuzz;
mod inlets;
mod latency;
mod midway;
mod newest;
mod observe;
mod outlets;
mod parallel;
mod policies;
mod port_room;
mod ports;
mod random_graphs;
mod refusals;
mod reports;
mod results;
mod stalls;
mod stops;
mod storages;
mod streams;
mod tasks;
mod turns;
mod wishes;
mod workers;
