//! The control region: what a line says about itself.
//!
//! The last two bytes of a line; the other 62 are data. Elements fill the data region from its upper end downwards, so the
//! offset of the lowest one tells how many there are (paper, section III-D and fig. 10).
//!
//! | 63 ..= 62 | 61 ..= 56                     | 55 ..= 49 | 48    | 47 ..= 0      |
//! |-----------|-------------------------------|-----------|-------|---------------|
//! | size      | offset of the lowest element  | 0         | valid | data, 6 bytes |
//!
//! The paper leaves the lower byte reserved. Its lowest bit is set in a line that holds something: 62 single bytes have
//! offset 0 and size 0, as an empty line.

use crate::item::Item;
use thalweg_sync::atomic::Ordering;
use thalweg_sync::link::Line;

/// The size of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// 1 byte.
    Byte = 0,
    /// 2 bytes.
    Half = 1,
    /// 4 bytes.
    Word = 2,
    /// 8 bytes.
    Double = 3,
}

/// Bytes of the data region.
const DATA: usize = 62;
/// The word with the control region.
pub(crate) const CONTROL: usize = Line::WORDS - 1;

impl Size {
    /// In bytes.
    pub const fn bytes(self) -> usize {
        1 << self as usize
    }

    /// How many elements of this size a line holds.
    ///
    /// ```
    /// use thalweg_link::Size;
    ///
    /// assert_eq!([Size::Byte, Size::Half, Size::Word, Size::Double].map(Size::elements), [62, 31, 15, 7]);
    /// ```
    pub const fn elements(self) -> usize {
        DATA / self.bytes()
    }

    /// Where in the line an element is: the first is the uppermost.
    const fn offset(self, element: usize) -> usize {
        (self.elements() - 1 - element) * self.bytes()
    }

    /// Its bits, at the lower end.
    const fn mask(self) -> u64 {
        u64::MAX >> (64 - 8 * self.bytes())
    }
}

/// The control region, in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Control(u64);

impl Control {
    const VALID: u64 = 1 << 48;
    const REGION: u64 = 0xffff << 48;

    /// That of a line with so many elements, at least one.
    pub(crate) const fn new(size: Size, elements: usize) -> Self {
        Self((size as u64) << 62 | (size.offset(elements - 1) as u64) << 56 | Self::VALID)
    }

    /// The control region of a line's last word; `None` if the line is empty.
    #[inline]
    pub(crate) const fn of(word: u64) -> Option<Self> {
        if word & Self::VALID == 0 { None } else { Some(Self(word & Self::REGION)) }
    }

    /// How many elements of this size the line holds.
    ///
    /// # Panics
    ///
    /// If they are of another size: the two ends have opened the channel for different items.
    #[inline]
    pub(crate) fn elements(self, size: Size) -> usize {
        let offset = (self.0 >> 56) as usize & 63;
        assert!(
            self.0 >> 62 == size as u64 && offset.is_multiple_of(size.bytes()) && offset <= size.offset(0),
            "a line with elements of another size: the ends of this channel disagree about its items"
        );
        size.elements() - offset / size.bytes()
    }

    /// In its place in the last word, which otherwise holds `word`'s data.
    #[inline]
    pub(crate) const fn with_data_of(self, word: u64) -> u64 {
        self.0 | word & !Self::REGION
    }
}

/// The word and the bit where an element begins.
fn place(size: Size, element: usize) -> (usize, usize) {
    let offset = size.offset(element);
    (offset / 8, offset % 8 * 8)
}

/// Writes an item behind the first `before` items of a line that this thread fills. Not yet in the control region.
pub(crate) fn put<T: Item>(line: &Line, before: usize, item: &T) {
    for number in 0..T::ELEMENTS {
        let (word, bit) = place(T::SIZE, before * T::ELEMENTS + number);
        let mask = T::SIZE.mask();
        // Relaxed: the line is this thread's alone until it is sent.
        let rest = if T::SIZE.bytes() == 8 { 0 } else { line.load(word, Ordering::Relaxed) & !(mask << bit) };
        line.store(word, rest | (item.element(number) & mask) << bit, Ordering::Relaxed);
    }
}

/// Reads the item behind the first `before` items of a line that this thread has received.
pub(crate) fn get<T: Item>(line: &Line, before: usize) -> T {
    T::of(|number| {
        let (word, bit) = place(T::SIZE, before * T::ELEMENTS + number);
        // Relaxed: whoever found the line valid has acquired it.
        line.load(word, Ordering::Relaxed) >> bit & T::SIZE.mask()
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::num::NonZero;

    #[test]
    fn the_offset_says_how_many() {
        for size in [Size::Byte, Size::Half, Size::Word, Size::Double] {
            for elements in 1..=size.elements() {
                let word = Control::new(size, elements).with_data_of(u64::MAX);
                assert_eq!(Control::of(word).map(|control| control.elements(size)), Some(elements), "{size:?}");
                assert_eq!(word << 16, u64::MAX << 16, "the data is not touched");
            }
        }
        assert_eq!(Control::of(0xffff_ffff_ffff), None);
        // Double words from the upper end down: 48, 40, ... 0, with the offset in the upper byte's lower bits.
        assert_eq!(Control::new(Size::Double, 1).0 >> 56, 0b11_110000);
        assert_eq!(Control::new(Size::Double, 7).0 >> 56, 0b11_000000);
    }

    #[test]
    fn items_do_not_touch_each_other() {
        fn all<T: Item + PartialEq + std::fmt::Debug>(make: impl Fn(usize) -> T) {
            let line = Line::new();
            (0..Line::WORDS).for_each(|word| line.store(word, u64::MAX, Ordering::Relaxed));
            (0..T::PER_LINE).for_each(|n| put(&line, n, &make(n)));
            (0..T::PER_LINE).for_each(|n| assert_eq!(get::<T>(&line, n), make(n)));
        }
        all(|n| n as u8 + 3);
        all(|n| -(n as i8));
        all(|n| 65_535 - n as u16);
        all(|n| i32::MIN + n as i32);
        all(|n| u64::MAX - n as u64);
        all(|n| NonZero::new(u64::MAX - n as u64).unwrap());
        all(|n| n as f64 / 3.0);
        all(|n| [n as u64, u64::MAX, 7]);
        all(|n| [n as f64; 7]);
    }

    #[test]
    #[should_panic(expected = "the ends of this channel disagree")]
    fn a_zero_is_none_of_items_that_are_not() {
        let line = Line::new();
        put(&line, 0, &0_u64);
        get::<NonZero<u64>>(&line, 0);
    }

    #[test]
    #[should_panic(expected = "the ends of this channel disagree")]
    fn another_size_is_noticed() {
        Control::new(Size::Byte, 5).elements(Size::Double);
    }
}
