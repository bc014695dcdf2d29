//! What belongs to one thread of an execution, or to the execution.

use crate::heap::{blocks, engine_side};
use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::rc::Rc;

/// The values of an execution: by the thread and by the address of what they are values of.
#[derive(Default)]
pub(crate) struct Locals(RefCell<HashMap<(u32, usize), Rc<dyn Any>>>);

/// The thread that values of the execution belong to.
const EVERYBODY: u32 = u32::MAX;

impl Locals {
    /// Drops all values, when no thread of the execution is left.
    pub(crate) fn clear(&self) {
        // One by one: a destructor may ask for another value.
        loop {
            let _engine = engine_side();
            let next = self.0.borrow().keys().next().copied();
            let Some(key) = next else { return };
            let value = self.0.borrow_mut().remove(&key);
            drop(value);
        }
    }

    fn get(&self, key: (u32, usize)) -> Option<Rc<dyn Any>> {
        self.0.borrow().get(&key).cloned()
    }
}

/// The value of `key` for `thread`, which `make` makes if there is none. Outside of an engine it is one of the calling thread of the
/// system.
fn value<T: 'static>(thread: Option<u32>, key: usize, make: impl FnOnce() -> T) -> Rc<T> {
    thread_local! {
        static NATIVE: Locals = Locals::default();
    }
    let with = |locals: &Locals, thread: u32| {
        if let Some(there) = locals.get((thread, key)).and_then(|there| there.downcast().ok()) {
            return there;
        }
        // Not under a borrow, and not on the engine's side: it is the client's code.
        let made = Rc::new(make());
        let _engine = engine_side();
        locals.0.borrow_mut().insert((thread, key), made.clone());
        made
    };
    match blocks().and_then(|blocks| Some((blocks, blocks.current_thread()?))) {
        Some((blocks, current)) => with(&blocks.locals, thread.unwrap_or(current)),
        None => NATIVE.with(|native| with(native, 0)),
    }
}

/// Whether an engine runs on this thread of the system.
pub(super) fn is_watched() -> bool {
    blocks().is_some()
}

/// As [`value`], of the calling thread.
pub(super) fn own<T: 'static>(key: usize, make: impl FnOnce() -> T) -> Rc<T> {
    value(None, key, make)
}

/// A value that each thread of a client has for itself: what [`thread_local`](crate::std::thread_local) declares.
pub struct LocalKey<T: 'static>(fn() -> T);

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(make: fn() -> T) -> Self {
        Self(make)
    }

    /// Calls `body` with the calling thread's value.
    pub fn with<R>(&'static self, body: impl FnOnce(&T) -> R) -> R {
        body(&value(None, std::ptr::from_ref(self).addr(), self.0))
    }

    /// As [`with`](Self::with).
    ///
    /// # Errors
    ///
    /// None: values live until the execution is over.
    pub fn try_with<R>(&'static self, body: impl FnOnce(&T) -> R) -> Result<R, std::convert::Infallible> {
        Ok(self.with(body))
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// A value that an execution makes when it is first used: what [`lazy_static`](crate::std::lazy_static) declares.
pub struct Lazy<T: 'static>(fn() -> T, PhantomData<fn() -> T>);

impl<T: 'static> Lazy<T> {
    #[doc(hidden)]
    pub const fn new(make: fn() -> T) -> Self {
        Self(make, PhantomData)
    }
}

impl<T: Sync + 'static> Deref for Lazy<T> {
    type Target = T;
    fn deref(&self) -> &T {
        let there = value(Some(EVERYBODY), std::ptr::from_ref(self).addr(), self.0);
        // SAFETY: the value lives until its execution is over, and whoever borrows it is a thread of that: the table keeps a handle, and no
        // value in it is replaced. Outside of an engine it lives as long as the calling thread.
        unsafe { &*Rc::as_ptr(&there) }
    }
}

impl<T: 'static> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").finish_non_exhaustive()
    }
}

/// Declares values that each thread of a client has for itself, as [`std::thread_local`].
#[doc(hidden)]
#[macro_export]
macro_rules! __thread_local {
    ($($(#[$meta:meta])* $visibility:vis static $NAME:ident: $Type:ty = $make:expr);+ $(;)?) => { $(
        $(#[$meta])*
        $visibility static $NAME: $crate::std::LocalKey<$Type> = $crate::std::LocalKey::new(|| $make);
    )+ };
}

/// Declares values that an execution makes when they are first used, as the macro of this name.
#[doc(hidden)]
#[macro_export]
macro_rules! __lazy_static {
    ($($(#[$meta:meta])* $visibility:vis static ref $NAME:ident: $Type:ty = $make:expr);+ $(;)?) => { $(
        $(#[$meta])*
        $visibility static $NAME: $crate::std::Lazy<$Type> = $crate::std::Lazy::new(|| $make);
    )+ };
}
