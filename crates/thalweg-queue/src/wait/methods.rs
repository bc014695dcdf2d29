//! The waiting methods of a handle, and its trait, from what it has already: one line per handle.

/// Gives a producer its waiting methods and [`Push`](crate::Push).
///
/// `exclusive` is for handles whose methods take `&mut self`, `shared` for those that take `&self`. The handle has `try_push`,
/// `is_closed`, `capacity`, `may_push` and `strategy`; if it says `batches`, `try_push_slice` and `try_push_many` too, and
/// otherwise it gets them, one push at a time.
macro_rules! producer {
    (exclusive $Producer:ident[$T:ident: $($bound:tt)+]) => {
        $crate::wait::producer!(@batches $Producer[$T: $($bound)+] [&mut self] self);
        $crate::wait::producer!(@methods $Producer[$T: $($bound)+] [&mut self] self);
        $crate::wait::producer!(@end [] $Producer[$T: $($bound)+] {});
    };
    (shared $Producer:ident[$T:ident: $($bound:tt)+]) => {
        $crate::wait::producer!(@batches $Producer[$T: $($bound)+] [&self] self);
        $crate::wait::producer!(@methods $Producer[$T: $($bound)+] [&self] self);
        $crate::wait::producer!(@end [] $Producer[$T: $($bound)+] {});
        $crate::wait::producer!(@end [&] $Producer[$T: $($bound)+] {});
    };
    (exclusive batches $Producer:ident[$T:ident: $($bound:tt)+]) => {
        $crate::wait::producer!(@methods $Producer[$T: $($bound)+] [&mut self] self);
        $crate::wait::producer!(@forward [] $Producer[$T: $($bound)+]);
    };
    (shared batches $Producer:ident[$T:ident: $($bound:tt)+]) => {
        $crate::wait::producer!(@methods $Producer[$T: $($bound)+] [&self] self);
        $crate::wait::producer!(@forward [] $Producer[$T: $($bound)+]);
        $crate::wait::producer!(@forward [&] $Producer[$T: $($bound)+]);
    };
    (@batches $Producer:ident[$T:ident: $($bound:tt)+] [$($receiver:tt)+] $this:ident) => {
        impl<$T: $($bound)+, W: $crate::wait::Wait> $Producer<$T, W> {
            /// Copies as many of `values` as there is room for, from the first on. Returns how many: at least one, unless there
            /// are none.
            pub fn try_push_slice($($receiver)+, values: &[$T]) -> Result<usize, $crate::TryPushError<()>>
            where
                $T: Copy,
            {
                let mut end = $this;
                $crate::Push::try_push_slice(&mut end, values)
            }

            /// Moves as many of `values` as there is room for into the queue, from the first on. Returns how many: at least one,
            /// unless there are none.
            pub fn try_push_many(
                $($receiver)+,
                values: &mut alloc::vec::Vec<$T>,
            ) -> Result<usize, $crate::TryPushError<()>> {
                let mut end = $this;
                $crate::Push::try_push_many(&mut end, values)
            }
        }
    };
    (@methods $Producer:ident[$T:ident: $($bound:tt)+] [$($receiver:tt)+] $this:ident) => {
        impl<$T: $($bound)+, W: $crate::wait::Wait> $Producer<$T, W> {
            /// Pushes, waiting while there is no room.
            #[inline]
            pub fn push($($receiver)+, value: $T) -> Result<(), $crate::PushError<$T>> {
                let mut end = $this;
                $crate::Push::push(&mut end, value)
            }

            /// Pushes, waiting while there is no room, but no longer than `timeout`.
            #[cfg(feature = "std")]
            pub fn push_timeout(
                $($receiver)+,
                value: $T,
                timeout: core::time::Duration,
            ) -> Result<(), $crate::PushTimeoutError<$T>> {
                let mut end = $this;
                $crate::Push::push_timeout(&mut end, value, timeout)
            }

            /// Moves all of `values` into the queue, from the first on, waiting while there is no room. If every consumer
            /// leaves, those that are left stay where they are.
            pub fn push_many($($receiver)+, values: &mut alloc::vec::Vec<$T>) -> Result<(), $crate::PushError<()>> {
                let mut end = $this;
                $crate::Push::push_many(&mut end, values)
            }
        }

        #[cfg(feature = "std")]
        impl<$T: $($bound)+> $Producer<$T, $crate::Park> {
            /// Pushes, pending while there is no room. Dropped before it is ready, it has pushed nothing.
            pub fn push_async($($receiver)+, value: $T) -> impl Future<Output = Result<(), $crate::PushError<$T>>> {
                $crate::wait::Pushing::new($this, value)
            }
        }
    };
    (@forward [$($reference:tt)?] $Producer:ident[$T:ident: $($bound:tt)+]) => {
        $crate::wait::producer!(@end [$($reference)?] $Producer[$T: $($bound)+] {
            #[inline]
            fn try_push_slice(&mut self, values: &[$T]) -> Result<usize, $crate::TryPushError<()>>
            where
                $T: Copy,
            {
                $Producer::<$T, W>::try_push_slice(self, values)
            }

            fn try_push_many(&mut self, values: &mut alloc::vec::Vec<$T>) -> Result<usize, $crate::TryPushError<()>> {
                $Producer::<$T, W>::try_push_many(self, values)
            }
        });
    };
    (@end [$($reference:tt)?] $Producer:ident[$T:ident: $($bound:tt)+] { $($batches:tt)* }) => {
        impl<$T: $($bound)+, W: $crate::wait::Wait> $crate::Push for $($reference)? $Producer<$T, W> {
            type Item = $T;
            type Wait = W;

            #[inline]
            fn try_push(&mut self, value: $T) -> Result<(), $crate::TryPushError<$T>> {
                $Producer::<$T, W>::try_push(self, value)
            }

            fn may_push(&self) -> bool {
                $Producer::<$T, W>::may_push(self)
            }

            fn is_closed(&self) -> bool {
                $Producer::<$T, W>::is_closed(self)
            }

            fn capacity(&self) -> usize {
                $Producer::<$T, W>::capacity(self)
            }

            fn strategy(&self) -> &W {
                $Producer::<$T, W>::strategy(self)
            }

            $($batches)*
        }
    };
}

/// Gives a consumer its waiting methods and [`Pop`](crate::Pop).
///
/// `exclusive` is for handles whose methods take `&mut self`, `shared` for those that take `&self`. The handle has `try_pop`,
/// `is_closed`, `capacity`, `may_pop` and `strategy`; if it says `batches`, `try_pop_slice` and `try_pop_many` too, and otherwise
/// it gets them, one pop at a time.
macro_rules! consumer {
    (exclusive $Consumer:ident[$T:ident: $($bound:tt)+]) => {
        $crate::wait::consumer!(@batches $Consumer[$T: $($bound)+] [&mut self] self);
        $crate::wait::consumer!(@methods $Consumer[$T: $($bound)+] [&mut self] self);
        $crate::wait::consumer!(@end [] $Consumer[$T: $($bound)+] {});
    };
    (shared $Consumer:ident[$T:ident: $($bound:tt)+]) => {
        $crate::wait::consumer!(@batches $Consumer[$T: $($bound)+] [&self] self);
        $crate::wait::consumer!(@methods $Consumer[$T: $($bound)+] [&self] self);
        $crate::wait::consumer!(@end [] $Consumer[$T: $($bound)+] {});
        $crate::wait::consumer!(@end [&] $Consumer[$T: $($bound)+] {});
    };
    (exclusive batches $Consumer:ident[$T:ident: $($bound:tt)+]) => {
        $crate::wait::consumer!(@methods $Consumer[$T: $($bound)+] [&mut self] self);
        $crate::wait::consumer!(@forward [] $Consumer[$T: $($bound)+]);
    };
    (shared batches $Consumer:ident[$T:ident: $($bound:tt)+]) => {
        $crate::wait::consumer!(@methods $Consumer[$T: $($bound)+] [&self] self);
        $crate::wait::consumer!(@forward [] $Consumer[$T: $($bound)+]);
        $crate::wait::consumer!(@forward [&] $Consumer[$T: $($bound)+]);
    };
    (@batches $Consumer:ident[$T:ident: $($bound:tt)+] [$($receiver:tt)+] $this:ident) => {
        impl<$T: $($bound)+, W: $crate::wait::Wait> $Consumer<$T, W> {
            /// Pops what is there, up to `limit` items, onto the end of `into`. Returns how many: at least one, unless
            /// `limit` is zero.
            pub fn try_pop_many(
                $($receiver)+,
                into: &mut alloc::vec::Vec<$T>,
                limit: usize,
            ) -> Result<usize, $crate::TryPopError> {
                let mut end = $this;
                $crate::Pop::try_pop_many(&mut end, into, limit)
            }

            /// Moves what is there into `into`, from the first place on, dropping what was in those places. Returns how many:
            /// at least one, unless `into` is empty.
            pub fn try_pop_slice($($receiver)+, into: &mut [$T]) -> Result<usize, $crate::TryPopError> {
                let mut end = $this;
                $crate::Pop::try_pop_slice(&mut end, into)
            }
        }
    };
    (@methods $Consumer:ident[$T:ident: $($bound:tt)+] [$($receiver:tt)+] $this:ident) => {
        impl<$T: $($bound)+, W: $crate::wait::Wait> $Consumer<$T, W> {
            /// Pops the oldest item, waiting while there is none.
            #[inline]
            pub fn pop($($receiver)+) -> Result<$T, $crate::PopError> {
                let mut end = $this;
                $crate::Pop::pop(&mut end)
            }

            /// Pops the oldest item, waiting while there is none, but no longer than `timeout`.
            #[cfg(feature = "std")]
            pub fn pop_timeout(
                $($receiver)+,
                timeout: core::time::Duration,
            ) -> Result<$T, $crate::PopTimeoutError> {
                let mut end = $this;
                $crate::Pop::pop_timeout(&mut end, timeout)
            }

            /// Pops the oldest item, waiting while there is none, and what else is there, up to `limit` items, onto the
            /// end of `into`. Returns how many: at least one, unless `limit` is zero.
            pub fn pop_many(
                $($receiver)+,
                into: &mut alloc::vec::Vec<$T>,
                limit: usize,
            ) -> Result<usize, $crate::PopError> {
                let mut end = $this;
                $crate::Pop::pop_many(&mut end, into, limit)
            }
        }

        #[cfg(feature = "std")]
        impl<$T: $($bound)+> $Consumer<$T, $crate::Park> {
            /// Pops the oldest item, pending while there is none. Dropped before it is ready, it has popped nothing.
            pub fn pop_async($($receiver)+) -> impl Future<Output = Result<$T, $crate::PopError>> {
                $crate::wait::Popping::new($this)
            }

            /// As [`pop_many`](Self::pop_many), pending while there is nothing. Dropped before it is ready, it has popped
            /// nothing.
            pub fn pop_many_async(
                $($receiver)+,
                into: &mut alloc::vec::Vec<$T>,
                limit: usize,
            ) -> impl Future<Output = Result<usize, $crate::PopError>> {
                $crate::wait::PoppingMany::new($this, into, limit)
            }
        }
    };
    (@forward [$($reference:tt)?] $Consumer:ident[$T:ident: $($bound:tt)+]) => {
        $crate::wait::consumer!(@end [$($reference)?] $Consumer[$T: $($bound)+] {
            fn try_pop_many(
                &mut self,
                into: &mut alloc::vec::Vec<$T>,
                limit: usize,
            ) -> Result<usize, $crate::TryPopError> {
                $Consumer::<$T, W>::try_pop_many(self, into, limit)
            }

            #[inline]
            fn try_pop_slice(&mut self, into: &mut [$T]) -> Result<usize, $crate::TryPopError> {
                $Consumer::<$T, W>::try_pop_slice(self, into)
            }
        });
    };
    (@end [$($reference:tt)?] $Consumer:ident[$T:ident: $($bound:tt)+] { $($batches:tt)* }) => {
        impl<$T: $($bound)+, W: $crate::wait::Wait> $crate::Pop for $($reference)? $Consumer<$T, W> {
            type Item = $T;
            type Wait = W;

            #[inline]
            fn try_pop(&mut self) -> Result<$T, $crate::TryPopError> {
                $Consumer::<$T, W>::try_pop(self)
            }

            fn may_pop(&self) -> bool {
                $Consumer::<$T, W>::may_pop(self)
            }

            fn is_closed(&self) -> bool {
                $Consumer::<$T, W>::is_closed(self)
            }

            fn capacity(&self) -> usize {
                $Consumer::<$T, W>::capacity(self)
            }

            fn strategy(&self) -> &W {
                $Consumer::<$T, W>::strategy(self)
            }

            $($batches)*
        }
    };
}

pub(crate) use {consumer, producer};
