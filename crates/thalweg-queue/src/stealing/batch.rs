//! Batches of an owner, one item after the other: it works in its own blocks, so there is nothing to save but calls.

use super::{fifo, lifo};
use crate::TryPushError;
use crate::left::Left;
use alloc::vec::Vec;

macro_rules! batches {
    ($order:ident, popped as $popped:literal, or $sliced:literal) => {
        impl<T> $order::Owner<T> {
            /// Pushes as many of `values` as there is room for, from the first on, and never waits. Returns how many: at least one,
            /// unless there are none. Those that are left stay where they are, and the vector keeps its memory.
            ///
            /// Refused as [`push`](Self::push).
            ///
            /// ```
            #[doc = concat!("let (mut owner, _thief) = thalweg_queue::stealing::", stringify!($order), "(2, 2)?;")]
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

            /// Pushes as many of `values` as there is room for, from the first on. Returns how many: at least one, unless there are none.
            ///
            /// Refused as [`push`](Self::push).
            ///
            /// ```
            #[doc = concat!("let (mut owner, _thief) = thalweg_queue::stealing::", stringify!($order), "(2, 2)?;")]
            /// assert_eq!(owner.push_slice(&[1, 2, 3, 4, 5]), Ok(4));
            /// let mut tasks = [0; 3];
            /// assert_eq!(owner.pop_slice(&mut tasks), 3);
            #[doc = concat!("assert_eq!(tasks, ", $sliced, ");")]
            /// assert_eq!(owner.drain().count(), 1);
            /// # Ok::<(), thalweg_queue::BuildError>(())
            /// ```
            pub fn push_slice(&mut self, values: &[T]) -> Result<usize, TryPushError<()>>
            where
                T: Copy,
            {
                for (pushed, &value) in values.iter().enumerate() {
                    if let Err(refused) = self.push(value) {
                        return if pushed == 0 { Err(refused.split().0) } else { Ok(pushed) };
                    }
                }
                Ok(values.len())
            }

            /// Pops into `into`, from the first place on, dropping what was in those places. Returns how many, in the order of
            /// [`pop`](Self::pop): 0 if thieves have left nothing.
            pub fn pop_slice(&mut self, into: &mut [T]) -> usize {
                into.iter_mut().zip(self.drain()).map(|(place, item)| *place = item).count()
            }

            /// Pops for as long as there is something, in the order of [`pop`](Self::pop). What it has not popped when it is dropped stays.
            pub fn drain(&mut self) -> impl Iterator<Item = T> {
                core::iter::from_fn(|| self.pop())
            }

            /// Pops up to `limit` items, in the order of [`pop`](Self::pop), onto the end of `into`. Returns how many: 0 if thieves have
            /// left nothing.
            pub fn pop_many(&mut self, into: &mut Vec<T>, limit: usize) -> usize {
                let before = into.len();
                into.extend(self.drain().take(limit));
                into.len() - before
            }
        }
    };
}

batches!(lifo, popped as "[5, 4, 3, 2]", or "[4, 3, 2]");
batches!(fifo, popped as "[5, 1, 2, 3]", or "[1, 2, 3]");
