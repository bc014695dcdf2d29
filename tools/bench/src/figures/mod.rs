//! Figures of the papers, drawn again: a file each, or a folder with what its figures share.
//!
//! What has a `plan` with a `Setting` runs on modelled machines, and on the machine at hand if it says what [counts
//! there](crate::worlds::experiment::Experiment::here); what has one with an `Effort`, beside peers, on the machine at hand alone.

pub(crate) mod applications;
#[cfg(feature = "native")]
#[allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "it runs on the machine at hand, beside peers")]
pub(crate) mod bbq_modes;
#[cfg(feature = "native")]
#[allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "it runs on the machine at hand, beside peers")]
pub(crate) mod bbq_shape;
pub(crate) mod blq;
pub(crate) mod danbi;
pub(crate) mod ff;
pub(crate) mod forks;
pub(crate) mod marking;
pub(crate) mod multipliers;
pub(crate) mod nodes;
#[cfg(feature = "machines")]
pub(crate) mod others;
pub(crate) mod partition;
pub(crate) mod queues;
pub(crate) mod relaxed;
pub(crate) mod shares;
pub(crate) mod stealing;
pub(crate) mod streams;
pub(crate) mod thesis;
pub(crate) mod uring;
pub(crate) mod vl;
pub(crate) mod workers;
