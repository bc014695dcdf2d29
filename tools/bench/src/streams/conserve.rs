//! `streams/conserve`: messages that turn slow in the middle of a block.

use serde_json::json;

use super::params;
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Role::*, Sample};
use crate::ours::{self, Setting};
use crate::peers::{plain, rayon};
use crate::workloads::Turning;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "streams/conserve", plan };

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let turning = Turning { slow: effort.messages(1000) };
    let n = turning.messages();
    let workers = Turning::WORKERS;
    let mut contenders: Vec<_> = [Setting::DEFAULT, Setting::scheme("pw"), Setting::scheme("mix_dyn")]
        .into_iter()
        .map(|setting| {
            let params = ours::params(setting, json!({ "messages": n, "workers": workers }));
            let name = setting.name("thalweg");
            Contender::new(Ours, name, params, move || Ok(Sample::millis(ours::turning(turning, setting)?)))
        })
        .collect();
    let by_rayon = move || Ok(Sample::millis(rayon::turning(turning)?));
    contenders.push(Contender::new(Peer, "rayon", params(n, workers), by_rayon));
    let evenly = move || Ok(Sample::millis(plain::turning(turning)?));
    contenders.push(Contender::new(Bound, "even shares", params(n, workers), evenly));
    Ok(vec![Group::new("quick, then 2 ms each", &["ms"], contenders)])
}
