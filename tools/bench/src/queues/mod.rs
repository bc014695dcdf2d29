//! The experiments on single queues, one file each.

pub mod apart;
pub mod batch;
pub mod call_size;
pub(crate) mod contenders;
#[cfg(thalweg_cpp)]
mod cpp;
pub(crate) mod crew;
pub mod failed;
#[cfg(any(thalweg_cpp, thalweg_dpdk))]
mod foreign;
pub mod front;
pub mod item;
pub mod latency;
pub(crate) mod limits;
pub mod link_twin;
pub(crate) mod one_to_one;
pub mod oversubscribed;
pub mod pool;
pub mod rtt;
pub mod shared;
pub mod shared_batch;
pub(crate) mod stamps;
pub mod stealing;
pub mod turns;
pub mod unbalanced;
pub mod wait;

#[cfg(any(thalweg_cpp, thalweg_dpdk))]
pub(crate) use one_to_one::Received;
