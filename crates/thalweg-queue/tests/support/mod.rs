//! What tests share: models by name, handles that stay out of a panic, and values that make one.

/// Tests by name: `client` passes.
#[allow(unused_macros, reason = "each test crate uses what it needs")]
macro_rules! models {
    ($($name:ident: $client:expr,)+) => {
        $(#[test]
        fn $name() {
            $client;
        })+
    };
}

/// Tests by name: `client` fails as `expected` when `edge` is Relaxed, or without its fence, or with its steps swapped.
#[allow(unused_macros, reason = "as above")]
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
#[allow(dead_code, reason = "as above")]
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

/// Panics when it is dropped, if it is told to; and is counted.
#[allow(dead_code, reason = "as above, and the second field is there to be counted")]
pub(crate) struct Bomb(pub(crate) bool, pub(crate) thalweg_sync::sync::Arc<()>);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.0, "boom");
    }
}
