//! What tubes promise beyond what every queue does (`conformance`): what an entry that is half-way means to others, and schedules
//! drawn by seed.
#![cfg(not(loom))]

mod fuzz;
mod phases;
