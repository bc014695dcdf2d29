//! Figures of the papers, drawn again: a file each, or a folder with what its figures share.
//!
//! What has a `plan` with an `Effort` runs on the machine at hand, what has one with a `Setting` on modelled machines.

pub(crate) mod applications;
#[cfg(feature = "native")]
#[allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "it runs on the machine at hand, beside peers")]
pub(crate) mod bbq_modes;
#[cfg(feature = "native")]
#[allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "it runs on the machine at hand, beside peers")]
pub(crate) mod bbq_shape;
#[cfg(feature = "machines")]
pub(crate) mod blq;
#[cfg(feature = "machines")]
pub(crate) mod danbi;
pub(crate) mod ff;
#[cfg(feature = "machines")]
pub(crate) mod marking;
#[cfg(feature = "machines")]
pub(crate) mod multipliers;
#[cfg(feature = "machines")]
pub(crate) mod nodes;
#[cfg(feature = "machines")]
pub(crate) mod others;
#[cfg(feature = "machines")]
pub(crate) mod partition;
#[cfg(feature = "machines")]
pub(crate) mod queues;
#[cfg(feature = "machines")]
pub(crate) mod relaxed;
#[cfg(feature = "machines")]
pub(crate) mod shares;
#[cfg(feature = "machines")]
pub(crate) mod stealing;
#[cfg(feature = "machines")]
pub(crate) mod streams;
#[cfg(feature = "machines")]
pub(crate) mod thesis;
#[cfg(feature = "machines")]
pub(crate) mod uring;
#[cfg(feature = "machines")]
pub(crate) mod vl;
#[cfg(feature = "machines")]
pub(crate) mod workers;
