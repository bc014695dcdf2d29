//! Values that are nothing but bytes, copied word by word.

use core::mem::MaybeUninit;
use core::num::{
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize, NonZeroU8, NonZeroU16, NonZeroU32,
    NonZeroU64, NonZeroU128, NonZeroUsize, Wrapping,
};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::Relaxed;

/// A value that is nothing but bytes: no padding, and no pointers.
///
/// It can be copied word by word while somebody overwrites it, as long as nobody looks at the copy before it is known to be whole.
/// Implemented for numbers, `bool`, `char`, and arrays of what is plain; [`plain_struct!`](crate::plain_struct) declares a struct and
/// checks it.
///
/// # Safety
///
/// Every byte of every value is initialised, so there is no padding, and no byte belongs to a pointer or a reference: they do not
/// survive being copied as numbers.
pub unsafe trait Plain: Copy + Send + 'static {}

macro_rules! plain {
    ($($Type:ty)+) => {
        $(
            // SAFETY: all its bytes are its value, and it is no pointer.
            unsafe impl Plain for $Type {}
        )+
    };
}

plain! {
    () bool char u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64
    NonZeroU8 NonZeroU16 NonZeroU32 NonZeroU64 NonZeroU128 NonZeroUsize
    NonZeroI8 NonZeroI16 NonZeroI32 NonZeroI64 NonZeroI128 NonZeroIsize
}

// SAFETY: an array has nothing between its elements.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}
// SAFETY: transparent.
unsafe impl<T: Plain> Plain for Wrapping<T> {}

/// Declares a struct of [`Plain`] fields, which is `Clone`, `Copy`, `repr(C)` and itself [`Plain`]. One that would have padding does
/// not compile: put larger fields first, and make the rest explicit. Nor does one of which a field is configured out.
///
/// ```
/// thalweg_queue::plain_struct! {
///     /// One line of a trace.
///     #[derive(Debug, PartialEq)]
///     pub struct Event {
///         pub nanoseconds: u64,
///         pub thread: u32,
///         pub kind: u32,
///     }
/// }
///
/// let (tx, rx) = thalweg_queue::overwriting::drop_old(4, 64)?;
/// tx.push(Event { nanoseconds: 17, thread: 2, kind: 1 })?;
/// assert_eq!(rx.pop()?.thread, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// ```compile_fail,E0080
/// thalweg_queue::plain_struct! {
///     struct Padded { kind: u8, nanoseconds: u64 }
/// }
/// ```
///
/// ```compile_fail,E0026
/// thalweg_queue::plain_struct! {
///     struct Shorter { #[cfg(any())] left_out: [u8; 7], kind: u8, nanoseconds: u64 }
/// }
/// ```
///
/// ```compile_fail,E0277
/// thalweg_queue::plain_struct! {
///     struct Borrowed { name: &'static str }
/// }
/// ```
#[macro_export]
macro_rules! plain_struct {
    ($(#[$attribute:meta])* $visibility:vis struct $Name:ident { $($(#[$inner:meta])* $field_visibility:vis $field:ident: $Type:ty),+ $(,)? }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy)]
        #[repr(C)]
        $visibility struct $Name {
            $($(#[$inner])* $field_visibility $field: $Type,)+
        }
        const _: () = {
            // Each field is there: one that is configured out would stand in the sum for padding.
            fn _all(it: &$Name) {
                let $Name { $($field: _),+ } = it;
            }
            assert!(
                ::core::mem::size_of::<$Name>() == 0 $(+ ::core::mem::size_of::<$Type>())+,
                concat!(stringify!($Name), " has padding between or behind its fields")
            );
        };
        // SAFETY: its fields are plain, and the sum of their sizes leaves no padding.
        unsafe impl $crate::overwriting::Plain for $Name where $($Type: $crate::overwriting::Plain),+ {}
    };
}

/// How many words a `T` takes.
pub(crate) const fn words<T>() -> usize {
    size_of::<T>().div_ceil(size_of::<u64>())
}

/// Writes `value` into as many words as it takes.
#[inline(always)]
pub(crate) fn store<T: Plain>(words: &[AtomicU64], value: &T) {
    let bytes = core::ptr::from_ref(value).cast::<u8>();
    for (number, word) in words.iter().enumerate() {
        let mut bits = 0_u64;
        let at = number * size_of::<u64>();
        let count = (size_of::<T>() - at).min(size_of::<u64>());
        // SAFETY: `at + count` is at most the size of the value, whose bytes are all initialised, as it is `Plain`; any bits are a
        // number.
        unsafe { core::ptr::copy_nonoverlapping(bytes.add(at), core::ptr::from_mut(&mut bits).cast(), count) };
        // Relaxed: what orders the words is the business of the queue.
        word.store(bits, Relaxed);
    }
}

/// Copies the bytes that are in the words. If they were being written meanwhile, they are no value.
#[inline(always)]
pub(crate) fn load<T: Plain>(words: &[AtomicU64]) -> MaybeUninit<T> {
    let mut value = MaybeUninit::<T>::uninit();
    let bytes = value.as_mut_ptr().cast::<u8>();
    for (number, word) in words.iter().enumerate() {
        let bits = word.load(Relaxed);
        let at = number * size_of::<u64>();
        let count = (size_of::<T>() - at).min(size_of::<u64>());
        // SAFETY: as in `store`, and no value is made of the bytes here.
        unsafe { core::ptr::copy_nonoverlapping(core::ptr::from_ref(&bits).cast(), bytes.add(at), count) };
    }
    value
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn copied<T: Plain>(value: T) -> T {
        let memory = (0..words::<T>()).map(|_| AtomicU64::new(u64::MAX)).collect::<alloc::vec::Vec<_>>();
        store(&memory, &value);
        // SAFETY: written in full, by nobody else.
        unsafe { load(&memory).assume_init() }
    }

    #[test]
    fn every_size_is_copied() {
        assert_eq!(copied(7_u8), 7);
        assert_eq!(copied([1_u8, 2, 3]), [1, 2, 3]);
        assert_eq!(copied([1_u32, 2, 3]), [1, 2, 3]);
        assert_eq!(copied(u128::MAX - 5), u128::MAX - 5);
        assert_eq!(copied([0.5_f64; 9]), [0.5; 9]);
        assert_eq!(copied(['a', 'ß', '深']), ['a', 'ß', '深']);
        let bytes: [u8; 61] = core::array::from_fn(|n| n as u8);
        assert_eq!(copied(bytes), bytes);
        assert_eq!((words::<()>(), copied(())), (0, ()));
    }
}
