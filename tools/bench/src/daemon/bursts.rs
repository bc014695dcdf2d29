//! `daemon/bursts`: two applications whose bursts take turns, on two cores that a daemon shares out, that are halved, or that nobody manages.

use std::path::Path;

use serde_json::json;
use thalweg_daemon::{Daemon, Options, Policy};

use super::application::{Application, Outcome, Plan};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Role::*, Sample};
use crate::worlds::here;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "daemon/bursts", plan };

/// Milliseconds of a burst, and of a pause.
const HALF: u64 = 40;

/// Who says how many workers an application has.
#[derive(Clone, Copy, Debug)]
enum By {
    Daemon,
    Halves,
    Nobody,
}

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let bursts = effort.messages(100).min(100);
    // 20 us of a core, so that 50 messages in a millisecond keep it busy.
    let cycles = 20 * here::mhz();
    let group = |workload, messages| {
        let contender = |role, name: &str, by| {
            let params = json!({ "messages": messages, "us": 20, "half": HALF, "bursts": bursts });
            let plan = Plan { messages, cycles, half: HALF, second: false, bursts, workers: None };
            Contender::new(role, name, params, move || run(plan, by))
        };
        let contenders = vec![
            contender(Ours, "thalweg's daemon", By::Daemon),
            contender(Peer, "halves", By::Halves),
            contender(Peer, "nobody", By::Nobody),
        ];
        Group::new(workload, &["us per message", "ms p50", "ms p99"], contenders)
    };
    Ok(vec![group("bursts of 1.4 cores", 70), group("bursts of 1.9 cores", 95), group("bursts of 2.5 cores", 125)])
}

/// Both applications at once. The worse figure counts.
fn run(plan: Plan, by: By) -> Result<Sample, BoxError> {
    let folder = std::env::temp_dir().join(format!("thalweg-lab-bursts-{}", std::process::id()));
    let path = folder.join("daemon.sock");
    let outcomes = match by {
        By::Daemon => {
            let (mut daemon, stop) = Daemon::bind(&path, Options { cores: 2, policy: Policy::Delay })?;
            let served = std::thread::spawn(move || daemon.run());
            let outcomes = both(plan, Some(&path));
            stop.stop();
            served.join().map_err(|_| "the daemon panicked")??;
            // A folder that stays behind in the temporary directory harms nobody.
            let _ = std::fs::remove_dir_all(&folder);
            outcomes?
        }
        By::Halves => both(Plan { workers: Some(1), ..plan }, None)?,
        By::Nobody => both(plan, None)?,
    };
    let worst = |figure: fn(&Outcome) -> f64| outcomes.iter().map(figure).fold(0.0, f64::max);
    let figures = vec![
        worst(|outcome| outcome.seconds * 1e6 / outcome.messages as f64),
        worst(|outcome| outcome.p50),
        worst(|outcome| outcome.p99),
    ];
    Ok(Sample { figures, cpus: None })
}

fn both(plan: Plan, daemon: Option<&Path>) -> Result<[Outcome; 2], BoxError> {
    let (mut first, mut second) =
        (Application::new(plan, daemon)?, Application::new(Plan { second: true, ..plan }, daemon)?);
    first.begin()?;
    second.begin()?;
    Ok([first.outcome()?, second.outcome()?])
}
