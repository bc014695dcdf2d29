//! Loom with a bound, and handles that stay out of a panic.

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

/// A handle that is not dropped when its client panics: its destructor would touch what the model has just found to be
/// raced for, and panic again.
#[allow(dead_code, reason = "each test crate uses what it needs")]
pub(crate) struct Leaked<T>(core::mem::ManuallyDrop<T>);

#[allow(dead_code, reason = "as above")]
impl<T> Leaked<T> {
    pub(crate) fn new(handle: T) -> Self {
        Self(core::mem::ManuallyDrop::new(handle))
    }
}

impl<T> core::ops::Deref for Leaked<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> core::ops::DerefMut for Leaked<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Drop for Leaked<T> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: dropped here only, and not used afterwards.
            unsafe { core::mem::ManuallyDrop::drop(&mut self.0) };
        }
    }
}
