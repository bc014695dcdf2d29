//! What a batch has not pushed.

use alloc::vec::Vec;

/// The values of a batch while they are pushed. They stay in the memory of the vector they came from, and those that are left move to
/// its front, also if a waker panics: a batch allocates nothing, and gives nothing back.
pub(crate) struct Left<'a, T> {
    /// Empty as long as its values are the rest's.
    values: &'a mut Vec<T>,
    pub(crate) rest: Rest<T>,
    /// One that was taken from the rest, and refused.
    pub(crate) refused: Option<T>,
}

/// The values of a [`Left`] that are not taken yet, where they lie in the vector's memory.
pub(crate) struct Rest<T> {
    next: *const T,
    count: usize,
}

impl<'a, T> Left<'a, T> {
    pub(crate) fn new(values: &'a mut Vec<T>) -> Self {
        let rest = Rest { next: values.as_ptr(), count: values.len() };
        // SAFETY: an empty vector is a whole one. Its values are the rest's, each to be taken once, until `drop` gives back those that
        // are left.
        unsafe { values.set_len(0) };
        Self { values, rest, refused: None }
    }
}

impl<T> Drop for Left<'_, T> {
    fn drop(&mut self) {
        let refused = self.refused.take();
        let first = usize::from(refused.is_some());
        let values = self.values.as_mut_ptr();
        // SAFETY: the rest lies in the vector's memory, which has room for one more in front of it if one was taken and refused. So all
        // of them fit from the front on, and so many are there then.
        unsafe {
            self.rest.next.copy_to(values.add(first), self.rest.count);
            if let Some(refused) = refused {
                values.write(refused);
            }
            self.values.set_len(first + self.rest.count);
        }
    }
}

impl<T> Iterator for Rest<T> {
    type Item = T;

    #[inline(always)]
    fn next(&mut self) -> Option<T> {
        self.count = self.count.checked_sub(1)?;
        // SAFETY: there was one more, and `next` moves past it, so it is taken once.
        unsafe {
            let value = self.next.read();
            self.next = self.next.add(1);
            Some(value)
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count, Some(self.count))
    }
}

impl<T> ExactSizeIterator for Rest<T> {}
