//! Popping as iterators.

use super::Pop;

/// The items of a queue as they come. Made by [`Pop::iter`].
#[derive(Debug)]
#[must_use = "an iterator does nothing until it is asked"]
pub struct Iter<E: Pop>(E);

impl<E: Pop> Iter<E> {
    pub(crate) fn new(end: E) -> Self {
        Self(end)
    }
}

impl<E: Pop> Iterator for Iter<E> {
    type Item = E::Item;

    #[inline]
    fn next(&mut self) -> Option<E::Item> {
        self.0.pop().ok()
    }
}

/// The items that are in a queue. Made by [`Pop::try_iter`].
#[derive(Debug)]
#[must_use = "an iterator does nothing until it is asked"]
pub struct TryIter<E: Pop>(E);

impl<E: Pop> TryIter<E> {
    pub(crate) fn new(end: E) -> Self {
        Self(end)
    }
}

impl<E: Pop> Iterator for TryIter<E> {
    type Item = E::Item;

    #[inline]
    fn next(&mut self) -> Option<E::Item> {
        self.0.try_pop().ok()
    }
}
