//! The waiting methods of a handle, and its trait, from what it has already: one line per handle.

/// Gives a producer its waiting methods and [`Push`](crate::Push).
///
/// `exclusive` is for handles whose methods take `&mut self`, `shared` for those that take `&self`. The handle has `try_push`,
/// `is_closed`, `capacity`, `may_push` and `strategy`.
macro_rules! producer {
    (exclusive $Producer:ident[$T:ident: $($bound:tt)+]) => {
        $crate::wait::producer!(@methods $Producer[$T: $($bound)+] [&mut self] self);
        $crate::wait::producer!(@end [] $Producer[$T: $($bound)+]);
    };
    (shared $Producer:ident[$T:ident: $($bound:tt)+]) => {
        $crate::wait::producer!(@methods $Producer[$T: $($bound)+] [&self] self);
        $crate::wait::producer!(@end [] $Producer[$T: $($bound)+]);
        $crate::wait::producer!(@end [&] $Producer[$T: $($bound)+]);
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
        }

        #[cfg(feature = "std")]
        impl<$T: $($bound)+> $Producer<$T, $crate::Park> {
            /// Pushes, pending while there is no room. Dropped before it is ready, it has pushed nothing.
            pub fn push_async($($receiver)+, value: $T) -> impl Future<Output = Result<(), $crate::PushError<$T>>> {
                $crate::wait::Pushing::new($this, value)
            }
        }
    };
    (@end [$($reference:tt)?] $Producer:ident[$T:ident: $($bound:tt)+]) => {
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
        }
    };
}

/// Gives a consumer its waiting methods and [`Pop`](crate::Pop).
///
/// `exclusive` is for handles whose methods take `&mut self`, `shared` for those that take `&self`. The handle has `try_pop`,
/// `is_closed`, `capacity`, `may_pop` and `strategy`.
macro_rules! consumer {
    (exclusive $Consumer:ident[$T:ident: $($bound:tt)+]) => {
        $crate::wait::consumer!(@methods $Consumer[$T: $($bound)+] [&mut self] self);
        $crate::wait::consumer!(@end [] $Consumer[$T: $($bound)+]);
    };
    (shared $Consumer:ident[$T:ident: $($bound:tt)+]) => {
        $crate::wait::consumer!(@methods $Consumer[$T: $($bound)+] [&self] self);
        $crate::wait::consumer!(@end [] $Consumer[$T: $($bound)+]);
        $crate::wait::consumer!(@end [&] $Consumer[$T: $($bound)+]);
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
    (@end [$($reference:tt)?] $Consumer:ident[$T:ident: $($bound:tt)+]) => {
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
        }
    };
}

pub(crate) use {consumer, producer};
