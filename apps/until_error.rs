//! Sources whose input can fail.

/// Gives values up to the first error and then ends; the error is kept in `error`.
///
/// A stream of plain values, which ends early, and its reason, which is looked at after the run: what came before the
/// error goes all the way through the graph.
#[derive(Debug)]
pub(crate) struct UntilError<'a, I, E> {
    values: I,
    error: &'a mut Option<E>,
}

impl<'a, I, E> UntilError<'a, I, E> {
    pub(crate) fn new(values: I, error: &'a mut Option<E>) -> Self {
        Self { values, error }
    }
}

impl<T, E, I: Iterator<Item = Result<T, E>>> Iterator for UntilError<'_, I, E> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        if self.error.is_some() {
            return None;
        }
        match self.values.next()? {
            Ok(value) => Some(value),
            Err(error) => {
                *self.error = Some(error);
                None
            }
        }
    }
}
