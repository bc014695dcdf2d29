//! What models share: tests by name, and handles that stay out of a panic.

/// Tests by name: `client` passes.
macro_rules! models {
    ($($name:ident: $client:expr,)+) => {
        $(#[test]
        fn $name() {
            $client;
        })+
    };
}

/// Tests by name: `client` fails as `expected` when `edge` is Relaxed, or without its fence, or with its steps swapped.
macro_rules! canaries {
    ($($name:ident: $edge:literal, $expected:literal, $client:expr,)+) => {
        $(#[test]
        #[should_panic(expected = $expected)]
        fn $name() {
            thalweg_queue::edges::table::weakened($edge, || $client);
        })+
    };
}

/// A handle that is not dropped when its client panics: its destructor would touch what the model has just found to be
/// raced for, and panic again.
pub(crate) struct Leaked<T>(core::mem::ManuallyDrop<T>);

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
