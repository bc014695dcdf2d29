//! Figures of the papers, drawn again: a folder for each paper, a file for each figure or for figures that are one run.
//!
//! What has a `plan` with a `Setting` runs on modelled machines, and on the machine at hand if it says what [counts
//! there](crate::worlds::experiment::Experiment::here); what has one with an `Effort`, beside peers, on the machine at hand alone.

pub(crate) mod applications;
pub(crate) mod blq;
pub(crate) mod danbi;
pub(crate) mod ff;
pub(crate) mod own;
pub(crate) mod thesis;
pub(crate) mod vl;
