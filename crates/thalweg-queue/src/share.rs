//! A handle's share in what the handles of a queue own together, on the heap or in a `static`.

use crate::edges::edge;
use core::fmt;
use core::marker::PhantomData;
#[cfg(feature = "alloc")]
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;
use thalweg_sync::atomic::AtomicUsize;
#[cfg(not(loom))]
use thalweg_sync::atomic::Ordering::Acquire;
use thalweg_sync::atomic::Ordering::{AcqRel, Relaxed, Release};
#[cfg(not(loom))]
use thalweg_sync::hint::{Access, touch};
#[cfg(feature = "alloc")]
use thalweg_sync::sync::Arc;

/// What handles own together, and knows where it lies.
pub(crate) trait Placed {
    /// The place that counts its handles, if it is not on the heap.
    fn home(&self) -> Option<&'static Home> {
        None
    }
}

/// How many shares there are in what lies in a `static`, and whether somebody may build something there.
#[derive(Debug)]
pub(crate) struct Home(AtomicUsize);

impl Home {
    /// Nothing is there.
    const FREE: usize = 0;

    /// Somebody builds there, or drops what was built. With shares, so many more.
    const BUSY: usize = 1;

    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        Self(AtomicUsize::new(Self::FREE))
    }

    /// Takes the place to build something there. False if there is something already.
    #[cfg(not(loom))]
    pub(crate) fn take(&self) -> bool {
        // (home.1) Acquire, pairs with (home.2): what was there before is dropped. Relaxed could build beside that.
        self.0.compare_exchange(Self::FREE, Self::BUSY, edge("home.1", Acquire), Relaxed).is_ok()
    }

    /// The place is to be had again, by who has it and has nothing in it.
    pub(crate) fn free(&self) {
        // (home.2) Release, pairs with (home.1).
        self.0.store(Self::FREE, edge("home.2", Release));
    }

    /// One share more, by who has one or has just built.
    fn add(&self) {
        // Relaxed: the share that is there keeps the place meanwhile.
        self.0.fetch_add(1, Relaxed);
    }

    /// One share less. True for the last one, who has the place then.
    fn leave(&self) -> bool {
        // (home.3) AcqRel, pairs with itself: what the others did comes before what the last one drops. Acquire or Release alone could drop
        // what another is still using.
        self.0.fetch_sub(1, edge("home.3", AcqRel)) == Self::BUSY + 1
    }
}

/// A share in a `T`. The last one drops it.
///
/// On the heap it is an [`Arc`] in another form: a pointer to the value itself, wherever that lies.
pub(crate) struct Share<T: Placed>(NonNull<T>, PhantomData<T>);

// SAFETY: each share may be the one that drops the value, and all of them look at it.
unsafe impl<T: Placed + Send + Sync> Send for Share<T> {}
// SAFETY: as above.
unsafe impl<T: Placed + Send + Sync> Sync for Share<T> {}

impl<T: Placed> Share<T> {
    /// The first share of what is to lie on the heap.
    #[cfg(feature = "alloc")]
    pub(crate) fn new(value: T) -> Self {
        debug_assert!(value.home().is_none());
        Self::of(Arc::new(value))
    }

    #[cfg(feature = "alloc")]
    fn of(shared: Arc<T>) -> Self {
        // SAFETY: the pointer to a value is never null.
        Self(unsafe { NonNull::new_unchecked(Arc::into_raw(shared).cast_mut()) }, PhantomData)
    }

    /// The `Arc` of this share, which is not to be dropped if the share is.
    #[cfg(feature = "alloc")]
    fn arc(&self) -> ManuallyDrop<Arc<T>> {
        debug_assert!(self.home().is_none());
        // SAFETY: without a home it was made by `of`, from an `Arc` of which this is a share.
        ManuallyDrop::new(unsafe { Arc::from_raw(self.0.as_ptr().cast_const()) })
    }

    /// The first share of what was built at `place`.
    ///
    /// # Safety
    ///
    /// The place lives for ever, its value has the home that counts for it, and the caller has [taken](Home::take) that.
    #[cfg(not(loom))]
    pub(crate) unsafe fn placed(place: NonNull<T>) -> Self {
        let share = Self(place, PhantomData);
        share.home().expect("it has one").add();
        share
    }

    /// This share, as its pointer.
    pub(crate) fn into_raw(self) -> NonNull<T> {
        core::mem::ManuallyDrop::new(self).0
    }

    /// The share that was made a pointer.
    ///
    /// # Safety
    ///
    /// The pointer is of [`into_raw`](Self::into_raw), and made a share once.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(share: NonNull<T>) -> Self {
        Self(share, PhantomData)
    }
}

impl<T: Placed> Share<T> {
    /// Leaves a place: the last one drops what is there.
    fn leave(&mut self, home: &'static Home) {
        // Freed also if a destructor panics.
        struct Free<T>(&'static Home, NonNull<T>);
        impl<T> Drop for Free<T> {
            fn drop(&mut self) {
                // For engines, to which dropped memory has no past: this was the last to be done with it.
                #[cfg(not(loom))]
                touch(self.1.as_ptr().cast(), size_of::<T>(), Access::Write);
                self.0.free();
            }
        }
        if !home.leave() {
            return;
        }
        let _free = Free(home, self.0);
        // SAFETY: the last share is gone, so nobody else looks at it, and the place is ours until it is freed.
        unsafe { self.0.drop_in_place() };
    }
}

impl<T: Placed> Deref for Share<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: it is there as long as there is a share.
        unsafe { self.0.as_ref() }
    }
}

impl<T: Placed> Clone for Share<T> {
    fn clone(&self) -> Self {
        match self.home() {
            Some(home) => {
                home.add();
                Self(self.0, PhantomData)
            }
            #[cfg(feature = "alloc")]
            None => Self::of(Arc::clone(&self.arc())),
            #[cfg(not(feature = "alloc"))]
            None => unreachable!("without a heap it has a home"),
        }
    }
}

impl<T: Placed> Drop for Share<T> {
    fn drop(&mut self) {
        match self.home() {
            Some(home) => self.leave(home),
            #[cfg(feature = "alloc")]
            None => drop(ManuallyDrop::into_inner(self.arc())),
            #[cfg(not(feature = "alloc"))]
            None => {}
        }
    }
}

impl<T: Placed + fmt::Debug> fmt::Debug for Share<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
