//! The queues under loom: small clients, explored up to a bound, and canaries that show that the model is awake. One program, since
//! each one more is linked anew, and takes longer to build than to run. Those that take longer than some seconds are called `long_…`:
//! CI leaves them out. `thalweg-proof` has clients for what they try.
#![cfg(loom)]

#[macro_use]
mod support;

mod batches;
mod bbq;
mod bwos;
mod bytes;
mod chunk_ring;
mod cnq;
mod drop_old;
mod fast_forward;
mod lamport;
mod mesh;
mod sided;
mod ticketed;
mod tubes;
mod waiting;
