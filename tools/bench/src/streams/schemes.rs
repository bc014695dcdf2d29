//! `streams/schemes`: what the choice of a scheme is worth.

use thalweg::prelude::Scheme;

use crate::harness::{BoxError, Effort, Experiment, Group};
use crate::ours::Setting;
use crate::streams::workers;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "streams/schemes", plan };

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    // The default is one of them: how far the two rows lie apart is noise.
    let schemes: Vec<Setting> = std::iter::once(Setting::DEFAULT).chain(Scheme::names().map(Setting::scheme)).collect();
    workers::under(effort, &schemes)
}
