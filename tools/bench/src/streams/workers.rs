//! `streams/workers`: the same graphs with one worker, with two, and with the number that the runtime chooses; one of them has no work for a
//! second worker, so the CPUs it uses count too.

use crate::harness::{BoxError, Effort, Experiment, Group};
use crate::ours::{self, Setting, Style};
use crate::streams::{chain32, farm, fir32};
use crate::workloads::Chain;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "streams/workers", plan };

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let settings = [Setting::workers(1), Setting::workers(2), Setting::DEFAULT];
    let mut groups = under(effort, &settings)?;
    let heavy = farm::farm(effort);
    let right = heavy.reference();
    let contenders = settings.map(|setting| ours::on_lopsided("thalweg", heavy, setting, right));
    groups.push(Group::new("one heavy sequential kernel", &["ns per message", "CPUs"], contenders.into()));
    Ok(groups)
}

/// The four workloads under each of `settings`.
pub(super) fn under(effort: &Effort, settings: &[Setting]) -> Result<Vec<Group>, BoxError> {
    let pipe = Chain { messages: effort.messages(40_000_000), stages: 1 };
    let (chain, fir, farm) = (chain32::chain(effort), fir32::chain(effort), farm::farm(effort));
    let (fir_right, farm_right) = (fir.reference(), farm.reference());
    let all =
        |contender: &dyn Fn(Setting) -> crate::harness::Contender| settings.iter().map(|&s| contender(s)).collect();
    Ok(vec![
        Group::new("pipe3", &["ns per message and hop"], all(&|s| ours::on_chain("thalweg", pipe, Style::Push, s))),
        Group::new("chain32", &["ns per message and hop"], all(&|s| ours::on_chain("thalweg", chain, Style::Push, s))),
        Group::new("fir32", &["ns per message"], all(&|s| ours::on_fir("thalweg", fir, Style::Push, s, fir_right))),
        Group::new("farm", &["ns per message"], all(&|s| ours::on_farm("thalweg", farm, true, s, farm_right))),
    ])
}
