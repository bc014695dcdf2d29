//! DANBI's figures. Those of its seven applications by our streams are in [`applications`](super::applications).

#[cfg(feature = "machines")]
pub(crate) mod others;
pub(crate) mod scaling;
