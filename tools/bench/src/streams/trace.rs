//! `streams/trace`: what it costs a run to be seen.
//!
//! The same binary and the same graph: seen by nobody, looked at ten times a second, with a trace, and with its latency sampled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crate::harness::{BoxError, Effort, Experiment, Group};
use crate::ours::{self, Setting, Style};
use crate::streams::chain32;
use crate::workloads::Chain;
use thalweg::Stopper;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "streams/trace", plan };

/// Events that each worker keeps, as `thalweg run --trace` has it.
const EVENTS: usize = 100_000;

/// How a run is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// By nobody.
    Unseen,
    /// By somebody who looks ten times a second.
    Observed,
    /// Each worker keeps what it did.
    Traced,
    /// From the source to the sink.
    Latency,
}

/// Ends the looking.
#[derive(Debug)]
pub struct Looking(Option<(Arc<AtomicBool>, std::thread::JoinHandle<usize>)>);

impl Seen {
    /// `base` and how it is seen, as a contender's name.
    pub fn name(self, base: &str) -> String {
        match self {
            Seen::Unseen => base.to_owned(),
            Seen::Observed => format!("{base}, observed"),
            Seen::Traced => format!("{base}, traced"),
            Seen::Latency => format!("{base}, latency sampled"),
        }
    }

    /// Begins with it, before the run.
    pub fn begin(self, run: &Stopper) -> Looking {
        match self {
            Seen::Unseen => {}
            Seen::Traced => drop(run.trace(EVENTS)),
            Seen::Latency => run.latencies(),
            Seen::Observed => {
                let (observer, over) = (run.observe(), Arc::new(AtomicBool::new(false)));
                let theirs = over.clone();
                let looking = std::thread::spawn(move || {
                    let mut bytes = 0;
                    while !theirs.load(Relaxed) {
                        bytes += observer.snapshot().map_or(0, |snapshot| snapshot.to_json().len());
                        std::thread::park_timeout(Duration::from_millis(100));
                    }
                    bytes
                });
                return Looking(Some((over, looking)));
            }
        }
        Looking(None)
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        if let Some((over, looking)) = self.0.take() {
            over.store(true, Relaxed);
            looking.thread().unpark();
            let _ = looking.join();
        }
    }
}

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let pipe = Chain { messages: effort.messages(40_000_000), stages: 1 };
    let chain = chain32::chain(effort);
    let all = |name: &str, workload| {
        let seen = [Seen::Unseen, Seen::Observed, Seen::Traced, Seen::Latency];
        seen.map(|seen| ours::on_chain(name, workload, Style::Push, Setting::workers(1).seen(seen))).into()
    };
    Ok(vec![
        Group::new("pipe3", &["ns per message and hop"], all("thalweg", pipe)),
        Group::new("chain32", &["ns per message and hop"], all("thalweg", chain)),
    ])
}
