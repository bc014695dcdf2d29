//! What a batch has not pushed.

use alloc::vec::{IntoIter, Vec};

/// The values of a batch while they are pushed. Those that are left go back into the vector they came from, also if a waker panics.
pub(crate) struct Left<'a, T> {
    values: &'a mut Vec<T>,
    pub(crate) rest: IntoIter<T>,
    /// One that was taken from the rest, and refused.
    pub(crate) refused: Option<T>,
}

impl<'a, T> Left<'a, T> {
    pub(crate) fn new(values: &'a mut Vec<T>) -> Self {
        let rest = core::mem::take(values).into_iter();
        Self { values, rest, refused: None }
    }
}

impl<T> Drop for Left<'_, T> {
    fn drop(&mut self) {
        let rest = core::mem::take(&mut self.rest);
        match self.refused.take() {
            // In the memory that they have.
            None => *self.values = rest.collect(),
            Some(refused) => self.values.extend(core::iter::once(refused).chain(rest)),
        }
    }
}
