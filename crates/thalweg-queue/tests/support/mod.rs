//! Handles that stay out of a panic.

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
