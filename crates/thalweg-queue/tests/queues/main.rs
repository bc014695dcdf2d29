//! What single queues promise beyond what every queue does (`conformance`), natively and in schedules drawn by seed.
#![cfg(not(loom))]

mod batches_in_time;
mod bwos;
mod bwos_pool;
mod bytes;
mod bytes_batches;
mod bytes_drop_old;
mod cancel;
mod drop_old;
mod executors;
mod fuzz;
mod fuzz_bwos;
mod fuzz_ends;
mod fuzz_waiting;
mod grants;
mod large;
mod latency;
mod linearize;
mod mesh;
mod own_methods;
mod pending;
mod shared_grants;
mod sided_grants;
mod sizes;
mod slip;
mod support;
mod ticketed;
mod tries;
mod waiting_grants;
mod waiting_tickets;
mod wakers;
mod words;
