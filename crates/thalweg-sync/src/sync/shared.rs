//! Shared ownership in the instrumented world.

use crate::engine;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::{Arc as Inner, Weak as WeakInner};
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::fmt;
use core::mem::ManuallyDrop;
use core::ops::Deref;

/// [`std::sync::Arc`], but an engine sees when a handle is dropped, and which one is the last.
///
/// Not in the common subset, as the standard library alone may do it: coercion to `Arc<dyn Trait>`, and methods that
/// take `self: Arc<Self>`.
pub struct Arc<T: ?Sized>(ManuallyDrop<Inner<T>>);

impl<T> Arc<T> {
    /// An object with one handle.
    pub fn new(value: T) -> Self {
        Self::of(Inner::new(value))
    }

    /// An object that can have handles that do not keep it; `make` is given one, which cannot be upgraded yet.
    pub fn new_cyclic(make: impl FnOnce(&Weak<T>) -> T) -> Self {
        Self::of(Inner::new_cyclic(|weak| make(&Weak(weak.clone()))))
    }

    /// The object, if this is the last handle.
    pub fn into_inner(this: Self) -> Option<T> {
        let inner = this.into_std();
        announce(&inner);
        Inner::into_inner(inner)
    }

    /// The object, if this is the last handle; otherwise the handle.
    ///
    /// Under an engine nothing may depend on which: it is decided by [`strong_count`](Self::strong_count), which a checker does not
    /// explore. A success is seen, as that of [`into_inner`](Self::into_inner).
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        let inner = this.into_std();
        if Inner::strong_count(&inner) == 1 {
            announce(&inner);
        }
        // Without an engine, somebody may just have made a handle of a weak one.
        Inner::try_unwrap(inner).map_err(Self::of)
    }

    /// The handle as a pointer; [`from_raw`](Self::from_raw) makes it a handle again.
    pub fn into_raw(this: Self) -> *const T {
        Inner::into_raw(this.into_std())
    }

    /// The handle that `pointer` was.
    ///
    /// # Safety
    ///
    /// `pointer` comes from [`into_raw`](Self::into_raw), and is given back once.
    pub unsafe fn from_raw(pointer: *const T) -> Self {
        // SAFETY: the caller's promise.
        Self::of(unsafe { Inner::from_raw(pointer) })
    }
}

impl<T: ?Sized> Arc<T> {
    fn of(inner: Inner<T>) -> Self {
        Self(ManuallyDrop::new(inner))
    }

    fn into_std(self) -> Inner<T> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: taken once, as `this` is neither used nor dropped any more.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }

    /// Where the object is.
    pub fn as_ptr(this: &Self) -> *const T {
        Inner::as_ptr(&this.0)
    }

    /// Whether both are handles of one object.
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        Inner::ptr_eq(&this.0, &other.0)
    }

    /// How many handles there are. Under an engine nothing may depend on it.
    pub fn strong_count(this: &Self) -> usize {
        Inner::strong_count(&this.0)
    }

    /// How many handles there are that do not keep the object.
    pub fn weak_count(this: &Self) -> usize {
        Inner::weak_count(&this.0)
    }

    /// The object, if this is the only handle.
    ///
    /// Under an engine nothing may depend on whether it is, as with [`strong_count`](Self::strong_count); and no engine sees that what
    /// was done with the other handles comes before: a checker may report a race that there is not. [`into_inner`](Self::into_inner)
    /// is seen.
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        Inner::get_mut(&mut this.0)
    }

    /// A handle that does not keep the object.
    pub fn downgrade(this: &Self) -> Weak<T> {
        Weak(Inner::downgrade(&this.0))
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    fn drop(&mut self) {
        // SAFETY: taken once, as `self` is not used afterwards. It is dropped also when the engine ends the thread here.
        let inner = unsafe { ManuallyDrop::take(&mut self.0) };
        announce(&inner);
    }
}

/// Tells an engine that this handle is dropped next.
fn announce<T: ?Sized>(handle: &Inner<T>) {
    if let Some(engine) = engine::entered() {
        let is_last = || Inner::strong_count(handle) == 1;
        engine.release(Inner::as_ptr(handle).cast::<()>().addr(), &is_last);
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    fn clone(&self) -> Self {
        Self::of(Inner::clone(&self.0))
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> fmt::Pointer for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: Default> Default for Arc<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Arc<T> {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        (**self).partial_cmp(other)
    }
}

impl<T: ?Sized + Ord> Ord for Arc<T> {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        (**self).cmp(other)
    }
}

impl<T: ?Sized + core::hash::Hash> core::hash::Hash for Arc<T> {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T> From<T> for Arc<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> From<Box<T>> for Arc<T> {
    fn from(value: Box<T>) -> Self {
        Self::of(value.into())
    }
}

impl<T> From<Vec<T>> for Arc<[T]> {
    fn from(values: Vec<T>) -> Self {
        Self::of(values.into())
    }
}

impl<T, const N: usize> From<[T; N]> for Arc<[T]> {
    fn from(values: [T; N]) -> Self {
        Self::of(values.into())
    }
}

impl<T: Clone> From<&[T]> for Arc<[T]> {
    fn from(values: &[T]) -> Self {
        Self::of(values.into())
    }
}

impl From<&str> for Arc<str> {
    fn from(text: &str) -> Self {
        Self::of(text.into())
    }
}

impl From<String> for Arc<str> {
    fn from(text: String) -> Self {
        Self::of(text.into())
    }
}

impl From<&std::path::Path> for Arc<std::path::Path> {
    fn from(path: &std::path::Path) -> Self {
        Self::of(path.into())
    }
}

impl From<std::path::PathBuf> for Arc<std::path::Path> {
    fn from(path: std::path::PathBuf) -> Self {
        Self::of(path.into())
    }
}

impl<T> FromIterator<T> for Arc<[T]> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::of(values.into_iter().collect())
    }
}

/// [`std::sync::Weak`] of an [`Arc`].
pub struct Weak<T: ?Sized>(WeakInner<T>);

impl<T> Weak<T> {
    /// A handle of nothing.
    pub const fn new() -> Self {
        Self(WeakInner::new())
    }
}

impl<T> Default for Weak<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: ?Sized> Weak<T> {
    /// A handle that keeps the object, if it is not gone.
    pub fn upgrade(&self) -> Option<Arc<T>> {
        self.0.upgrade().map(Arc::of)
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
