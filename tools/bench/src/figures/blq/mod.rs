//! BLQ's figures. Those of its ten benchmarks, 7, 8, 10 and 12, are in [`applications`](super::applications).

#[cfg(feature = "native")]
#[allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "it runs on the machine at hand, beside peers")]
pub(crate) mod growth;
pub(crate) mod multipliers;
pub(crate) mod partition;
pub(crate) mod schemes;
#[cfg(feature = "native")]
#[allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "it runs on the machine at hand, beside peers")]
pub(crate) mod table3;
