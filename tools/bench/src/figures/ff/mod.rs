//! FastForward's Figures 8 to 12.

#[cfg(feature = "native")]
pub(crate) mod caches;
pub(crate) mod frames;
#[cfg(feature = "native")]
#[allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "it runs on the machine at hand, beside peers")]
mod looped;
mod noise;
pub(crate) mod stages;
