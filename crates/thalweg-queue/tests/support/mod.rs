//! Loom with a bound.

/// Runs `client` in every execution with at most `preemptions` switches away from a thread that could go on.
///
/// Switches at a wait and at a thread's end are free, and so is which store a load reads. For clients that are too
/// large for all executions.
pub(crate) fn model_bounded(preemptions: usize, client: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 100_000;
    builder.preemption_bound = Some(preemptions);
    builder.check(client);
}
