//! Atomics with explicit orderings.
//!
//! The types, their methods and their meaning are those of the standard library. Each is a transparent newtype that
//! inlines to the same instruction; under an engine the access goes to the engine first, under loom the inner type is
//! loom's. So the same methods exist in every world, except that under loom `new` is not `const` and there is no
//! `get_mut` (a `load` through `&mut self` does).
//!
//! Integers and `bool` have all read-modify-write operations. Not there: arithmetic on pointers (`fetch_ptr_add` and the
//! like), newer names for [`fetch_update`](AtomicU64::fetch_update), and what gives the memory away (`as_ptr`, `from_ptr`,
//! `from_mut`), as no engine sees what is then done to it.
//!
//! ```
//! use thalweg_sync::atomic::{AtomicU64, Ordering};
//!
//! # thalweg_sync::model(|| {
//! let highest = AtomicU64::new(3);
//! assert_eq!(highest.fetch_max(7, Ordering::AcqRel), 3);
//! assert_eq!(highest.load(Ordering::Acquire), 7);
//! # });
//! ```

use crate::engine::{self, Atomic, Operation, Scalar};
#[cfg(all(not(loom), target_has_atomic = "64"))]
use core::sync::atomic as world;
#[cfg(loom)]
use loom::sync::atomic as world;

pub use core::sync::atomic::Ordering;

/// What no engine and no model looks at.
#[cfg(target_has_atomic = "64")]
use core::sync::atomic::AtomicU64 as Native64;
#[cfg(not(target_has_atomic = "64"))]
use portable_atomic::AtomicU64 as Native64;

/// Those of 64 bits where the processor has none.
#[cfg(all(not(loom), not(target_has_atomic = "64")))]
mod world {
    pub(super) use core::sync::atomic::{
        AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32,
        AtomicUsize, fence,
    };
    pub(super) use portable_atomic::{AtomicI64, AtomicU64};
}

/// A fence, as [`core::sync::atomic::fence`].
#[inline(always)]
#[track_caller]
pub fn fence(order: Ordering) {
    match engine::current() {
        None => world::fence(order),
        Some(engine) => {
            let is_one = order != Ordering::Relaxed || engine.takes_any_ordering();
            assert!(is_one, "there is no such thing as a relaxed fence");
            engine.fence(order, core::panic::Location::caller());
        }
    }
}

/// Hands an access to the engine that runs on this thread. `None`: no engine, so do it natively.
///
/// The operation is a closure because describing a pointer exposes it, which native code must not pay for.
///
/// # Safety
///
/// There is a living atomic of type `scalar` at `address`.
#[inline(always)]
unsafe fn intercept(
    address: *const (),
    scalar: Scalar,
    operation: impl FnOnce() -> Operation,
    [success, failure]: [Ordering; 2],
    at: engine::Site,
) -> Option<Result<u64, u64>> {
    let engine = engine::current_at(at)?;
    let operation = operation();
    if let Some(refusal) = operation.refusal(success, failure)
        && !engine.takes_any_ordering()
    {
        panic!("{refusal}");
    }
    // SAFETY: the caller's promise; the borrow of the atomic lasts for this call.
    let access = unsafe { Atomic::new(address, scalar, operation, success, failure, at) };
    Some(engine.atomic(&access))
}

#[cfg(all(feature = "instrument", not(loom)))]
impl AtomicBool {
    /// Takes the flag of a lock, if it is open, for who asks for the lock at `at`: a destructor or a closure has no caller that tells.
    pub(crate) fn take_at(&self, at: engine::Site) -> bool {
        let operation = || Operation::CompareExchange { expected: 0, new: 1, weak: false };
        let address = core::ptr::from_ref(&self.0).cast();
        // Acquire, pairs with the Release of who gives it back: the next owner sees what the last one did.
        let orders = [Ordering::Acquire, Ordering::Relaxed];
        // SAFETY: `self` is a living flag: when an engine runs, `world` is `core`.
        match unsafe { intercept(address, Scalar::Bool, operation, orders, at) } {
            None => self.0.compare_exchange(false, true, orders[0], orders[1]).is_ok(),
            Some(read) => read.is_ok(),
        }
    }

    /// As [`store`](Self::store), for who asks for it at `at`.
    pub(crate) fn store_at(&self, value: bool, order: Ordering, at: engine::Site) {
        let (operation, address) = (|| Operation::Store(u64::from(value)), core::ptr::from_ref(&self.0).cast());
        // SAFETY: as above.
        if unsafe { intercept(address, Scalar::Bool, operation, [order; 2], at) }.is_none() {
            self.0.store(value, order);
        }
    }
}

/// One atomic type: the operations that all of them have.
///
/// `$bits` turns a value into a bit pattern filled up with zeros, `$value` turns it back.
macro_rules! atomic {
    ($Name:ident $(<$T:ident>)?, $Value:ty, $scalar:expr, $bits:expr, $value:expr) => {
        #[doc = concat!("[`core::sync::atomic::", stringify!($Name), "`], seen by engines.")]
        #[cfg_attr(not(loom), repr(transparent))]
        pub struct $Name $(<$T>)? (world::$Name $(<$T>)?);

        impl $(<$T>)? $Name $(<$T>)? {
            /// An atomic that holds `value`.
            #[cfg(not(loom))]
            #[inline(always)]
            pub const fn new(value: $Value) -> Self {
                Self(world::$Name::new(value))
            }

            /// An atomic that holds `value`.
            #[cfg(loom)]
            #[track_caller]
            pub fn new(value: $Value) -> Self {
                Self(world::$Name::new(value))
            }

            /// Reads the value.
            #[inline(always)]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $Value {
                match self.intercept(|| Operation::Load, order, order) {
                    None => self.0.load(order),
                    Some(read) => Self::read(read),
                }
            }

            /// Writes `value`.
            #[inline(always)]
            #[track_caller]
            pub fn store(&self, value: $Value, order: Ordering) {
                if self.intercept(|| Operation::Store($bits(value)), order, order).is_none() {
                    self.0.store(value, order);
                }
            }

            /// Writes `value`. Returns the value before.
            #[inline(always)]
            #[track_caller]
            pub fn swap(&self, value: $Value, order: Ordering) -> $Value {
                match self.intercept(|| Operation::Swap($bits(value)), order, order) {
                    None => self.0.swap(value, order),
                    Some(read) => Self::read(read),
                }
            }

            /// Writes `new` if the value is `expected`. Returns the value before; as an error if it was another.
            #[inline(always)]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                expected: $Value,
                new: $Value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$Value, $Value> {
                let operation =
                    || Operation::CompareExchange { expected: $bits(expected), new: $bits(new), weak: false };
                match self.intercept(operation, success, failure) {
                    None => self.0.compare_exchange(expected, new, success, failure),
                    Some(read) => read.map($value).map_err($value),
                }
            }

            /// As [`compare_exchange`](Self::compare_exchange), but may fail without a reason. For loops.
            #[inline(always)]
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                expected: $Value,
                new: $Value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$Value, $Value> {
                let operation =
                    || Operation::CompareExchange { expected: $bits(expected), new: $bits(new), weak: true };
                match self.intercept(operation, success, failure) {
                    None => self.0.compare_exchange_weak(expected, new, success, failure),
                    Some(read) => read.map($value).map_err($value),
                }
            }

            /// Writes what `update` makes of the value, again until no other write comes between. Returns the value
            /// before; as an error if `update` gave `None`.
            #[inline(always)]
            #[track_caller]
            pub fn fetch_update(
                &self,
                write: Ordering,
                read: Ordering,
                mut update: impl FnMut($Value) -> Option<$Value>,
            ) -> Result<$Value, $Value> {
                let mut value = self.load(read);
                while let Some(new) = update(value) {
                    match self.compare_exchange_weak(value, new, write, read) {
                        Ok(before) => return Ok(before),
                        Err(other) => value = other,
                    }
                }
                Err(value)
            }

            /// Exclusive access, checked by the compiler.
            #[cfg(not(loom))]
            #[inline(always)]
            #[track_caller]
            pub fn get_mut(&mut self) -> &mut $Value {
                crate::hint::touch(
                    core::ptr::from_ref(&self.0).cast(),
                    size_of_val(&self.0),
                    crate::hint::Access::Write,
                );
                self.0.get_mut()
            }

            /// Exclusive access, as loom has it.
            #[cfg(all(feature = "instrument", not(loom)))]
            #[doc(hidden)]
            #[track_caller]
            pub fn with_mut<R>(&mut self, access: impl FnOnce(&mut $Value) -> R) -> R {
                access(self.get_mut())
            }

            /// A read that is no atomic access, as loom has it.
            ///
            /// # Safety
            ///
            /// Nobody writes at the same time.
            #[cfg(all(feature = "instrument", not(loom)))]
            #[doc(hidden)]
            #[track_caller]
            pub unsafe fn unsync_load(&self) -> $Value {
                crate::hint::touch(
                    core::ptr::from_ref(&self.0).cast(),
                    size_of_val(&self.0),
                    crate::hint::Access::Read,
                );
                // SAFETY: the caller's promise.
                unsafe { *self.0.as_ptr() }
            }

            /// The value, taken out.
            #[cfg(not(loom))]
            #[inline(always)]
            #[track_caller]
            pub fn into_inner(mut self) -> $Value {
                *self.get_mut()
            }

            /// The value, taken out.
            #[cfg(loom)]
            #[track_caller]
            pub fn into_inner(self) -> $Value {
                self.0.into_inner()
            }

            #[inline(always)]
            #[track_caller]
            fn intercept(
                &self,
                operation: impl FnOnce() -> Operation,
                success: Ordering,
                failure: Ordering,
            ) -> Option<Result<u64, u64>> {
                let (address, at) = (core::ptr::from_ref(&self.0).cast(), core::panic::Location::caller());
                // SAFETY: `self` is a living atomic of this type: when an engine runs, `world` is `core`.
                unsafe { intercept(address, $scalar, operation, [success, failure], at) }
            }

            #[inline(always)]
            fn read(result: Result<u64, u64>) -> $Value {
                let (Ok(bits) | Err(bits)) = result;
                $value(bits)
            }
        }

        impl $(<$T>)? core::fmt::Debug for $Name $(<$T>)? {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl $(<$T>)? From<$Value> for $Name $(<$T>)? {
            #[track_caller]
            fn from(value: $Value) -> Self {
                Self::new(value)
            }
        }

        #[cfg(all(feature = "instrument", not(loom)))]
        impl $(<$T>)? Drop for $Name $(<$T>)? {
            fn drop(&mut self) {
                if let Some(engine) = engine::entered() {
                    engine.retire(core::ptr::from_ref(self).addr(), size_of_val(self));
                }
            }
        }
    };
}

/// One read-modify-write operation.
macro_rules! fetch {
    ($Value:ty, $bits:expr; $($(#[$doc:meta])* $method:ident $operation:ident),+) => { $(
        $(#[$doc])*
        #[inline(always)]
        #[track_caller]
        pub fn $method(&self, value: $Value, order: Ordering) -> $Value {
            match self.intercept(|| Operation::$operation($bits(value)), order, order) {
                None => self.0.$method(value, order),
                Some(read) => Self::read(read),
            }
        }
    )+ };
}

macro_rules! integer {
    ($($Name:ident $Value:ident $Unsigned:ident $scalar:expr;)+) => { $(
        atomic!($Name, $Value, $scalar, |value: $Value| value as $Unsigned as u64, |bits: u64| bits as $Value);

        impl $Name {
            fetch! { $Value, |value: $Value| value as $Unsigned as u64;
                /// Adds `value`, wrapping. Returns the value before.
                fetch_add Add,
                /// Subtracts `value`, wrapping. Returns the value before.
                fetch_sub Sub,
                /// Keeps the bits that `value` has. Returns the value before.
                fetch_and And,
                /// Keeps the bits that `value` has, and flips all. Returns the value before.
                fetch_nand Nand,
                /// Sets the bits that `value` has. Returns the value before.
                fetch_or Or,
                /// Flips the bits that `value` has. Returns the value before.
                fetch_xor Xor,
                /// Writes the greater of the two. Returns the value before. One instruction on some machines, a loop
                /// on x86.
                fetch_max Max,
                /// Writes the smaller of the two. Returns the value before.
                fetch_min Min
            }
        }

        impl Default for $Name {
            #[track_caller]
            fn default() -> Self {
                Self::new(0)
            }
        }
    )+ };
}

integer! {
    AtomicU8 u8 u8 Scalar::U8;
    AtomicU16 u16 u16 Scalar::U16;
    AtomicU32 u32 u32 Scalar::U32;
    AtomicU64 u64 u64 Scalar::U64;
    AtomicUsize usize usize if usize::BITS == 64 { Scalar::U64 } else { Scalar::U32 };
    AtomicI8 i8 u8 Scalar::I8;
    AtomicI16 i16 u16 Scalar::I16;
    AtomicI32 i32 u32 Scalar::I32;
    AtomicI64 i64 u64 Scalar::I64;
    AtomicIsize isize usize if usize::BITS == 64 { Scalar::I64 } else { Scalar::I32 };
}

atomic!(AtomicBool, bool, Scalar::Bool, u64::from, |bits: u64| bits != 0);

impl AtomicBool {
    fetch! { bool, u64::from;
        /// Logical and with `value`. Returns the value before.
        fetch_and And,
        /// Not both, this and `value`. Returns the value before.
        fetch_nand Nand,
        /// Logical or with `value`. Returns the value before.
        fetch_or Or,
        /// Logical exclusive or with `value`. Returns the value before.
        fetch_xor Xor
    }

    /// Logical not. Returns the value before.
    #[inline(always)]
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        // As in the standard library. Loom has no other.
        self.fetch_xor(true, order)
    }
}

impl Default for AtomicBool {
    #[track_caller]
    fn default() -> Self {
        Self::new(false)
    }
}

atomic!(AtomicPtr<T>, *mut T, Scalar::Pointer, |pointer: *mut T| pointer.expose_provenance() as u64, |bits: u64| {
    core::ptr::with_exposed_provenance_mut(bits as usize)
});

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(core::ptr::null_mut())
    }
}

/// A number that no other call in this process gives. For identities: nothing may depend on which number it is, so no engine sees it.
///
/// ```
/// assert_ne!(thalweg_sync::atomic::unique(), thalweg_sync::atomic::unique());
/// ```
pub fn unique() -> u64 {
    static NEXT: Native64 = Native64::new(1);
    // Relaxed: the numbers differ by the one order of updates of this place.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A statistic: one thread adds, any thread may read a recent value.
///
/// No engine sees it, so it must never decide anything.
///
/// ```
/// let messages = thalweg_sync::atomic::Counter::new();
/// messages.add(3);
/// assert_eq!(messages.get(), 3);
/// ```
#[derive(Debug, Default)]
pub struct Counter(Native64);

impl Counter {
    /// A counter at zero.
    pub const fn new() -> Self {
        Self(Native64::new(0))
    }

    /// Adds `n`. Only the thread that owns the counter may call this: it is a load and a store, not a
    /// read-modify-write.
    #[inline(always)]
    pub fn add(&self, n: u64) {
        self.0.store(self.get().wrapping_add(n), Ordering::Relaxed);
    }

    /// A recent value.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        // Relaxed here and above: nothing is decided by it, so nothing needs to be ordered by it.
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the value.
    #[inline(always)]
    pub fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }
}
