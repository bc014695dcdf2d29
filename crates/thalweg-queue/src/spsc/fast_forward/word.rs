//! Items that are one word.

use alloc::boxed::Box;
use core::num::NonZeroUsize;
use core::ptr::NonNull;
use thalweg_sync::sync::Arc;

/// A value that can travel as one word that is never null.
///
/// FastForward tells a full slot from an empty one by the slot itself, so an item must fit a word and must leave
/// null free. Implement it for your own pointer-like types by way of one of the types below:
///
/// ```
/// use std::ptr::NonNull;
/// use thalweg_queue::spsc::fast_forward::{self, Word};
///
/// struct Packet(Box<[u8; 1500]>);
///
/// impl Word for Packet {
///     fn into_word(self) -> NonNull<()> {
///         self.0.into_word()
///     }
///
///     unsafe fn from_word(word: NonNull<()>) -> Self {
///         // SAFETY: the caller passes a word that `into_word` made from such a box, and passes it once.
///         Self(unsafe { Box::from_word(word) })
///     }
/// }
///
/// let (mut tx, mut rx) = fast_forward::fast_forward(64)?;
/// tx.push(Packet(Box::new([7; 1500])))?;
/// assert_eq!(rx.pop()?.0[0], 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not one word that is never null",
    label = "FastForward needs a `Word`: a `Box`, an `Arc`, a reference, a `NonZeroU64`",
    note = "for items of any kind: `bbq::spsc`, or `fast_forward::in_place` for large ones"
)]
pub trait Word: Sized {
    /// The value as a word. Whatever the value owns is owned by the word from now on.
    fn into_word(self) -> NonNull<()>;

    /// The value back. If this panics, the word is not turned back again.
    ///
    /// # Safety
    ///
    /// `word` was returned by [`into_word`](Self::into_word) of the same type, and no other value has been made of that
    /// return since.
    unsafe fn from_word(word: NonNull<()>) -> Self;
}

impl<T> Word for Box<T> {
    #[inline(always)]
    fn into_word(self) -> NonNull<()> {
        // SAFETY: a box is never null.
        unsafe { NonNull::new_unchecked(Box::into_raw(self).cast()) }
    }

    #[inline(always)]
    unsafe fn from_word(word: NonNull<()>) -> Self {
        // SAFETY: by the caller's promise the pointer is that of a box nobody else owns.
        unsafe { Box::from_raw(word.cast().as_ptr()) }
    }
}

/// The types of shared ownership, each a pointer that stands for one strong count.
macro_rules! counted {
    ($Arc:ty, $T:ident) => {
        impl<$T> Word for $Arc {
            #[inline(always)]
            fn into_word(self) -> NonNull<()> {
                // SAFETY: the pointer to a value is never null.
                unsafe { NonNull::new_unchecked(<$Arc>::into_raw(self).cast_mut().cast()) }
            }

            #[inline(always)]
            unsafe fn from_word(word: NonNull<()>) -> Self {
                // SAFETY: by the caller's promise the pointer stands for one strong count, which becomes ours.
                unsafe { <$Arc>::from_raw(word.cast().as_ptr()) }
            }
        }
    };
}

counted!(Arc<T>, T);

// Engines are blind to it, but it is an item's type here, and an item may be of any: a build with engines in it compiles what others do.
thalweg_sync::where_arc_is_wrapped! {
    counted!(alloc::sync::Arc<T>, T);
}

impl<T> Word for NonNull<T> {
    #[inline(always)]
    fn into_word(self) -> NonNull<()> {
        self.cast()
    }

    #[inline(always)]
    unsafe fn from_word(word: NonNull<()>) -> Self {
        word.cast()
    }
}

impl<T> Word for &T {
    #[inline(always)]
    fn into_word(self) -> NonNull<()> {
        NonNull::from(self).cast()
    }

    #[inline(always)]
    unsafe fn from_word(word: NonNull<()>) -> Self {
        // SAFETY: by the caller's promise the pointer was a reference of this type, lifetime included.
        unsafe { word.cast().as_ref() }
    }
}

impl Word for NonZeroUsize {
    #[inline(always)]
    fn into_word(self) -> NonNull<()> {
        let pointer = core::ptr::without_provenance_mut(self.get());
        // SAFETY: the number is not zero.
        unsafe { NonNull::new_unchecked(pointer) }
    }

    #[inline(always)]
    unsafe fn from_word(word: NonNull<()>) -> Self {
        word.addr()
    }
}

#[cfg(target_pointer_width = "64")]
impl Word for core::num::NonZeroU64 {
    #[inline(always)]
    fn into_word(self) -> NonNull<()> {
        let pointer = core::ptr::without_provenance_mut(self.get() as usize);
        // SAFETY: the number is not zero and, words being 64 bits wide, not cut.
        unsafe { NonNull::new_unchecked(pointer) }
    }

    #[inline(always)]
    unsafe fn from_word(word: NonNull<()>) -> Self {
        // SAFETY: an address that is not null is a number that is not zero.
        unsafe { Self::new_unchecked(word.addr().get() as u64) }
    }
}
