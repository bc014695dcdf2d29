//! The figures of the thesis on block-based queues.

#[cfg(feature = "native")]
#[allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "it runs on the machine at hand, beside peers")]
pub(crate) mod http;
pub(crate) mod marking;
pub(crate) mod memory;
#[cfg(feature = "native")]
#[allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "it runs on the machine at hand, beside peers")]
pub(crate) mod modes;
pub(crate) mod queues;
#[cfg(feature = "native")]
#[allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "it runs on the machine at hand, beside peers")]
pub(crate) mod shape;
pub(crate) mod stealing;
pub(crate) mod uring;
