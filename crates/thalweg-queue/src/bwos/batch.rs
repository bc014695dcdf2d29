//! Batches of an owner, one item after the other: it works in its own blocks, so there is nothing to save but calls.

use super::{fifo, lifo};
use crate::TryPushError;
use crate::left::Left;
use alloc::vec::Vec;

macro_rules! batches {
    ($order:ident, popped as $popped:literal) => {
        impl<T: Send> $order::Owner<T> {
            /// Pushes as many of `values` as there is room for, from the first on, and never waits. Returns how many: at least one,
            /// unless there are none. Those that are left stay where they are, and the vector keeps its memory.
            ///
            /// Refused as [`push`](Self::push).
            ///
            /// ```
            #[doc = concat!("let (mut owner, _thief) = thalweg_queue::bwos::", stringify!($order), "(2, 2)?;")]
            /// let mut tasks = vec![1, 2, 3, 4, 5];
            /// assert_eq!(owner.push_many(&mut tasks), Ok(4));
            /// assert_eq!(tasks, [5]);
            /// assert_eq!(owner.pop_many(&mut tasks, 3), 3);
            #[doc = concat!("assert_eq!(tasks, ", $popped, ");")]
            /// # Ok::<(), thalweg_queue::BuildError>(())
            /// ```
            pub fn push_many(&mut self, values: &mut Vec<T>) -> Result<usize, TryPushError<()>> {
                let mut pushed = 0;
                let mut left = Left::new(values);
                for value in left.rest.by_ref() {
                    match self.push(value) {
                        Ok(()) => pushed += 1,
                        Err(refused) => {
                            let (reason, value) = refused.split();
                            left.refused = Some(value);
                            return if pushed == 0 { Err(reason) } else { Ok(pushed) };
                        }
                    }
                }
                Ok(pushed)
            }

            /// Pops up to `limit` items, in the order of [`pop`](Self::pop), onto the end of `into`. Returns how many: 0 if thieves have
            /// left nothing.
            pub fn pop_many(&mut self, into: &mut Vec<T>, limit: usize) -> usize {
                let before = into.len();
                into.extend(core::iter::from_fn(|| self.pop()).take(limit));
                into.len() - before
            }
        }
    };
}

batches!(lifo, popped as "[5, 4, 3, 2]");
batches!(fifo, popped as "[5, 1, 2, 3]");
