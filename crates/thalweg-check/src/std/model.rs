//! Running a client, as loom does.

use crate::{Check, assume};
use std::time::Duration;

/// Runs every execution of `client`.
///
/// # Panics
///
/// With the first violation.
#[track_caller]
pub fn model(client: impl Fn() + Send + Sync + 'static) {
    Builder::new().check(client);
}

/// Gives up the execution: it is of no interest.
#[track_caller]
pub fn skip_branch() {
    assume(false);
}

/// Does nothing: all of an execution is explored.
pub fn stop_exploring() {}

/// Does nothing: all of an execution is explored.
pub fn explore() {}

/// How a client is run. The fields are loom's; those that a checker without bounds has no use for are left alone.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Builder {
    /// Not used: there is no bound on threads.
    pub max_threads: usize,
    /// Not used: [`Check::max_events`] takes the place of it.
    pub max_branches: usize,
    /// After how many executions to stop.
    pub max_permutations: Option<usize>,
    /// After how much time to stop.
    pub max_duration: Option<Duration>,
    /// Not used: all executions are explored, whatever the number of preemptions.
    pub preemption_bound: Option<usize>,
    /// Not used: a violation says how it is run alone.
    pub location: bool,
    /// Not used, as above.
    pub log: bool,
}

impl Builder {
    /// All executions, or those of so many seconds as `LOOM_MAX_DURATION` says.
    pub fn new() -> Self {
        let seconds = std::env::var("LOOM_MAX_DURATION").ok().and_then(|seconds| seconds.parse().ok());
        Self { max_duration: seconds.map(Duration::from_secs), ..Self::default() }
    }

    /// Runs `client` as these options say. Prints how many executions there are, if `LOOM_LOG` is set.
    ///
    /// # Panics
    ///
    /// With the first violation.
    #[track_caller]
    pub fn check(&self, client: impl Fn() + Send + Sync + 'static) {
        let executions = self.max_permutations.map(|most| most as u64);
        let check =
            Check::new().sequential(true).unseen_handles(true).max_time(self.max_duration).max_executions(executions);
        let explored = check.check(client);
        if std::env::var_os("LOOM_LOG").is_some() {
            println!("{explored}");
        }
    }
}
