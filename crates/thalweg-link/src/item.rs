//! What travels: plain data of up to 62 bytes, in elements of one size.

use std::num::NonZero;

use crate::control::Size;

/// A value that can travel in a line: plain data, in elements of 1, 2, 4 or 8 bytes.
///
/// Whole numbers, `NonZero<u64>`, `f64`, and arrays of up to seven `u64` or `f64` are. A line is copied by hardware, so nothing that owns
/// something can be: send an index, or a number that stands for it.
///
/// ```
/// use thalweg_link::Item;
///
/// assert_eq!((u16::PER_LINE, u64::PER_LINE, <[f64; 3]>::PER_LINE), (31, 7, 2));
/// ```
pub trait Item: Copy + Send + 'static {
    /// The size of an element.
    const SIZE: Size;
    /// How many elements it has.
    const ELEMENTS: usize;
    /// How many of these values fit into a line.
    const PER_LINE: usize = Self::SIZE.elements() / Self::ELEMENTS;

    /// An element, in the low bits.
    fn element(&self, number: usize) -> u64;

    /// The value of its elements, which are asked for in order.
    fn of(elements: impl FnMut(usize) -> u64) -> Self;
}

macro_rules! number {
    ($($number:ty, $size:ident;)*) => {$(
        impl Item for $number {
            const SIZE: Size = Size::$size;
            const ELEMENTS: usize = 1;

            #[inline]
            fn element(&self, _number: usize) -> u64 {
                *self as u64
            }

            #[inline]
            fn of(mut elements: impl FnMut(usize) -> u64) -> Self {
                elements(0) as $number
            }
        }
    )*};
}

number! { u8, Byte; i8, Byte; u16, Half; i16, Half; u32, Word; i32, Word; u64, Double; i64, Double; usize, Double; }

impl Item for f64 {
    const SIZE: Size = Size::Double;
    const ELEMENTS: usize = 1;

    #[inline]
    fn element(&self, _number: usize) -> u64 {
        self.to_bits()
    }

    #[inline]
    fn of(mut elements: impl FnMut(usize) -> u64) -> Self {
        f64::from_bits(elements(0))
    }
}

/// # Panics
///
/// [`of`](Item::of), if it is zero: the other end of the channel sends other items.
impl Item for NonZero<u64> {
    const SIZE: Size = Size::Double;
    const ELEMENTS: usize = 1;

    #[inline]
    fn element(&self, _number: usize) -> u64 {
        self.get()
    }

    #[inline]
    fn of(mut elements: impl FnMut(usize) -> u64) -> Self {
        Self::new(elements(0))
            .expect("a zero among items that are none: the ends of this channel disagree about its items")
    }
}

macro_rules! array {
    ($($number:ty),*) => {$(
        impl<const N: usize> Item for [$number; N] {
            const SIZE: Size = Size::Double;
            const ELEMENTS: usize = {
                assert!(N >= 1 && N <= 7, "an array of one to seven fits into a line");
                N
            };

            #[inline]
            fn element(&self, number: usize) -> u64 {
                self[number].element(0)
            }

            #[inline]
            fn of(mut elements: impl FnMut(usize) -> u64) -> Self {
                std::array::from_fn(|number| <$number>::of(|_| elements(number)))
            }
        }
    )*};
}

array!(u64, f64);
