//! Every experiment, one line each.

use crate::harness::Experiment;
use crate::{queues, streams};

/// The experiments, in the order in which `lab list` shows them.
pub static EXPERIMENTS: &[Experiment] = &[
    streams::pipe3::EXPERIMENT,
    streams::pipe3_fused::EXPERIMENT,
    streams::chain32::EXPERIMENT,
    streams::fir32::EXPERIMENT,
    streams::farm::EXPERIMENT,
    streams::search::EXPERIMENT,
    streams::trickle::EXPERIMENT,
    streams::idle::EXPERIMENT,
    streams::workers::EXPERIMENT,
    streams::schemes::EXPERIMENT,
    streams::report::EXPERIMENT,
    streams::build::EXPERIMENT,
    queues::item::EXPERIMENT,
    queues::batch::EXPERIMENT,
    queues::unbalanced::EXPERIMENT,
    queues::apart::EXPERIMENT,
    queues::latency::EXPERIMENT,
    queues::rtt::EXPERIMENT,
    queues::shared::EXPERIMENT,
    queues::shared_batch::EXPERIMENT,
    queues::oversubscribed::EXPERIMENT,
    queues::link_twin::EXPERIMENT,
    queues::failed::EXPERIMENT,
    queues::turns::EXPERIMENT,
    queues::wait::EXPERIMENT,
    queues::growth::EXPERIMENT,
    queues::stealing::EXPERIMENT,
    queues::pool::EXPERIMENT,
    queues::figures::ff_sizes::EXPERIMENT,
    queues::figures::ff_robustness::EXPERIMENT,
    queues::figures::ff_caches::EXPERIMENT,
    queues::figures::bbq_shape::EXPERIMENT,
    queues::figures::bbq_modes::EXPERIMENT,
];
