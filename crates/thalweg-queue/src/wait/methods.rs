//! The waiting methods of a handle, and its trait, from what it has already: one line per handle.

/// Gives a producer its waiting methods and [`Push`](crate::Push).
///
/// `exclusive` is for handles whose methods take `&mut self`, `shared` for those that take `&self`. The handle has `try_push`,
/// `is_closed`, `capacity`, `len`, `is_empty`, `may_push` and `strategy`; if it says `batches`, `try_push_slice` and `try_push_many` too, and
/// otherwise it gets them, one push at a time. One that says `patient` has these, and `push_patiently`. If it says `runs` it gets these and grants from its [`Write`](crate::grant::Write).
/// A line of its own that says `grants` gives one that has `reserve` the forms of it that wait.
///
/// A handle with other parameters than what is pushed and the strategy is named in full: `(Producer [T, Q] [] T [T, Q: Tube])`
/// has parameters before and behind the strategy, what is pushed, and what the parameters have to be.
macro_rules! producer {
    ($mode:ident $Handle:ident[$T:ident]) => {
        $crate::wait::producer!($mode ($Handle [$T] [] $T [$T]));
    };
    ($mode:ident $batches:ident $Handle:ident[$T:ident]) => {
        $crate::wait::producer!($mode $batches ($Handle [$T] [] $T [$T]));
    };
    (exclusive $handle:tt) => {
        $crate::wait::producer!(@batches $handle [&mut self] self);
        $crate::wait::producer!(@methods $handle [&mut self] self [&mut Self] [self]);
        $crate::wait::producer!(@end [] $handle {});
    };
    (shared $handle:tt) => {
        $crate::wait::producer!(@batches $handle [&self] self);
        $crate::wait::producer!(@methods $handle [&self] self [&Self] [&mut { self }]);
        $crate::wait::producer!(@end [] $handle {});
        $crate::wait::producer!(@end [&] $handle {});
    };
    (exclusive runs $handle:tt) => {
        $crate::wait::producer!(@runs $handle);
        $crate::wait::producer!(exclusive batches $handle);
    };
    (exclusive batches $handle:tt) => {
        $crate::wait::producer!(@methods $handle [&mut self] self [&mut Self] [self]);
        $crate::wait::producer!(@forward [] $handle);
    };
    (shared patient $handle:tt) => {
        $crate::wait::producer!(@methods $handle [&self] self [&Self] [&mut { self }]);
        $crate::wait::producer!(@patient [] $handle);
        $crate::wait::producer!(@patient [&] $handle);
    };
    (shared batches $handle:tt) => {
        $crate::wait::producer!(@methods $handle [&self] self [&Self] [&mut { self }]);
        $crate::wait::producer!(@forward [] $handle);
        $crate::wait::producer!(@forward [&] $handle);
    };
    (
        @batches ($Handle:ident [$($before:ident),+] [$($after:ident),*] $T:ty [$($bounds:tt)+])
        [$($receiver:tt)+] $this:ident
    ) => {
        impl<$($bounds)+, W: $crate::wait::Wait> $Handle<$($before,)+ W, $($after),*> {
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
            #[cfg(feature = "alloc")]
            pub fn try_push_many(
                $($receiver)+,
                values: &mut alloc::vec::Vec<$T>,
            ) -> Result<usize, $crate::TryPushError<()>> {
                let mut end = $this;
                $crate::Push::try_push_many(&mut end, values)
            }
        }
    };
    (@runs ($Handle:ident [$($before:ident),+] [$($after:ident),*] $T:ty [$($bounds:tt)+])) => {
        impl<$($bounds)+, W: $crate::wait::Wait> $Handle<$($before,)+ W, $($after),*> {
            /// Copies as many of `values` as there is room for, from the first on. Returns how many: at least one, unless there
            /// are none.
            #[inline]
            pub fn try_push_slice(&mut self, values: &[$T]) -> Result<usize, $crate::TryPushError<()>>
            where
                $T: Copy,
            {
                $crate::grant::push_slice(self, values)
            }

            /// Moves as many of `values` as there is room for into the queue, from the first on. Returns how many: at least one,
            /// unless there are none.
            #[cfg(feature = "alloc")]
            pub fn try_push_many(
                &mut self,
                values: &mut alloc::vec::Vec<$T>,
            ) -> Result<usize, $crate::TryPushError<()>> {
                $crate::grant::push_many(self, values)
            }

            /// Gives up to `count` entries, at least one, to be written in place. There may be more room than that: all entries
            /// of a grant lie next to each other.
            #[cfg(not(loom))]
            pub fn reserve(
                &mut self,
                count: usize,
            ) -> Result<$crate::grant::WriteGrant<&mut Self>, $crate::TryPushError<()>> {
                $crate::grant::WriteGrant::new(self, count)
            }
        }
        $crate::wait::producer!(grants ($Handle [$($before),+] [$($after),*] $T [$($bounds)+]));
    };
    (grants ($Handle:ident [$($before:ident),+] [$($after:ty),*] $T:ty [$($bounds:tt)+])) => {
        #[cfg(not(loom))]
        impl<$($bounds)+, W: $crate::wait::Wait> $Handle<$($before,)+ W, $($after),*> {
            /// As [`reserve`](Self::reserve), waiting while there is no room.
            pub fn wait_reserve(
                &mut self,
                count: usize,
            ) -> Result<$crate::grant::WriteGrant<&mut Self>, $crate::PushError<()>> {
                $crate::grant::wait_reserve(self, count, None)
                    .map_err(|_| $crate::PushError(()))
            }

            /// As [`wait_reserve`](Self::wait_reserve), but no longer than `timeout`.
            #[cfg(feature = "std")]
            pub fn reserve_timeout(
                &mut self,
                count: usize,
                timeout: core::time::Duration,
            ) -> Result<$crate::grant::WriteGrant<&mut Self>, $crate::PushTimeoutError<()>> {
                $crate::grant::wait_reserve(self, count, $crate::wait::deadline(timeout))
            }

            /// As [`reserve`](Self::reserve), pending while there is no room. Dropped before it is ready, it has reserved
            /// nothing.
            #[cfg(feature = "std")]
            pub async fn reserve_async(
                &mut self,
                count: usize,
            ) -> Result<$crate::grant::WriteGrant<&mut Self>, $crate::PushError<()>>
            where
                W: $crate::wait::Sleep,
            {
                $crate::grant::reserve_async(self, count).await
            }
        }
    };
    (
        @methods ($Handle:ident [$($before:ident),+] [$($after:ident),*] $T:ty [$($bounds:tt)+])
        [$($receiver:tt)+] $this:ident [$End:ty] [$($end:tt)+]
    ) => {
        // A panic in somebody else's code, a destructor or a waker, leaves the queue whole (P4).
        impl<$($bounds)+, W: $crate::wait::Wait> core::panic::UnwindSafe for $Handle<$($before,)+ W, $($after),*> {}
        impl<$($bounds)+, W: $crate::wait::Wait> core::panic::RefUnwindSafe for $Handle<$($before,)+ W, $($after),*> {}

        impl<$($bounds)+, W: $crate::wait::Wait> $Handle<$($before,)+ W, $($after),*> {
            /// Whether a push would be refused now for want of room.
            pub fn is_full(&self) -> bool {
                !self.may_push()
            }

            $crate::wait::closed! { |end| end.strategy(); W: $crate::wait::Sleep }

            /// Pushes, waiting while there is no room.
            #[inline]
            #[doc(alias = "send")]
            pub fn push($($receiver)+, value: $T) -> Result<(), $crate::PushError<$T>> {
                $crate::wait::push($($end)+, value)
            }

            /// Pushes, waiting while there is no room, but no longer than to `deadline`, a point in time of the standard library, say.
            #[cfg(feature = "std")]
            #[doc(alias = "send_deadline")]
            pub fn push_deadline(
                $($receiver)+,
                value: $T,
                deadline: impl Into<$crate::wait::Deadline>,
            ) -> Result<(), $crate::PushTimeoutError<$T>> {
                let mut end = $this;
                $crate::Push::push_deadline(&mut end, value, deadline.into())
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
            #[cfg(feature = "alloc")]
            pub fn push_many($($receiver)+, values: &mut alloc::vec::Vec<$T>) -> Result<(), $crate::PushError<()>> {
                let mut end = $this;
                $crate::Push::push_many(&mut end, values)
            }

            /// As [`push_many`](Self::push_many), but no longer than `timeout`. What is not pushed by then stays where it is, too.
            #[cfg(feature = "std")]
            pub fn push_many_timeout(
                $($receiver)+,
                values: &mut alloc::vec::Vec<$T>,
                timeout: core::time::Duration,
            ) -> Result<(), $crate::PushTimeoutError<()>> {
                let mut end = $this;
                $crate::Push::push_many_timeout(&mut end, values, timeout)
            }

            /// Pushes what `values` gives, one by one, waiting while there is no room. Returns how many. If every consumer leaves,
            /// the value that was refused comes back, and the iterator is asked for no more.
            pub fn push_all(
                $($receiver)+,
                values: impl IntoIterator<Item = $T>,
            ) -> Result<usize, $crate::PushError<$T>> {
                let mut end = $this;
                $crate::Push::push_all(&mut end, values)
            }

            /// Pushes, pending while there is no room. Dropped before it is ready, it has pushed nothing, and the value is dropped
            /// with it; [`into_value`](crate::wait::Pushing::into_value) takes it back.
            #[cfg(feature = "std")]
            pub fn push_async($($receiver)+, value: $T) -> $crate::wait::Pushing<$End>
            where
                W: $crate::wait::Sleep,
            {
                $crate::wait::Pushing::new($this, value)
            }

            /// As [`push_many`](Self::push_many), pending while there is no room. Dropped at any time it loses nothing: what is
            /// not pushed is in `values`.
            #[cfg(feature = "std")]
            pub fn push_many_async<'values>(
                $($receiver)+,
                values: &'values mut alloc::vec::Vec<$T>,
            ) -> $crate::wait::PushingMany<'values, $End>
            where
                W: $crate::wait::Sleep,
            {
                $crate::wait::PushingMany::new($this, values)
            }
        }
    };
    (
        @patient [$($reference:tt)?]
        ($Handle:ident [$($before:ident),+] [$($after:ident),*] $T:ty [$($bounds:tt)+])
    ) => {
        $crate::wait::producer!(@forward [$($reference)?] ($Handle [$($before),+] [$($after),*] $T [$($bounds)+]) {
            #[inline(always)]
            fn push_patiently(&mut self, value: $T) -> Result<(), $crate::TryPushError<$T>> {
                $Handle::push_patiently(self, value)
            }
        });
    };
    (@forward [$($reference:tt)?] $handle:tt) => {
        $crate::wait::producer!(@forward [$($reference)?] $handle {});
    };
    (
        @forward [$($reference:tt)?]
        ($Handle:ident [$($before:ident),+] [$($after:ident),*] $T:ty [$($bounds:tt)+])
        { $($more:tt)* }
    ) => {
        $crate::wait::producer!(@end [$($reference)?] ($Handle [$($before),+] [$($after),*] $T [$($bounds)+]) {
            $($more)*

            #[inline]
            fn try_push_slice(&mut self, values: &[$T]) -> Result<usize, $crate::TryPushError<()>>
            where
                $T: Copy,
            {
                $Handle::try_push_slice(self, values)
            }

            #[cfg(feature = "alloc")]
            fn try_push_many(&mut self, values: &mut alloc::vec::Vec<$T>) -> Result<usize, $crate::TryPushError<()>> {
                $Handle::try_push_many(self, values)
            }
        });
    };
    (
        @end [$($reference:tt)?]
        ($Handle:ident [$($before:ident),+] [$($after:ident),*] $T:ty [$($bounds:tt)+])
        { $($batches:tt)* }
    ) => {
        impl<$($bounds)+, W: $crate::wait::Wait> $crate::Push
            for $($reference)? $Handle<$($before,)+ W, $($after),*>
        {
            type Item = $T;
            type Wait = W;

            #[inline]
            fn try_push(&mut self, value: $T) -> Result<(), $crate::TryPushError<$T>> {
                $Handle::try_push(self, value)
            }

            fn may_push(&self) -> bool {
                $Handle::may_push(self)
            }

            fn is_closed(&self) -> bool {
                $Handle::is_closed(self)
            }

            fn capacity(&self) -> usize {
                $Handle::capacity(self)
            }

            fn len(&self) -> usize {
                $Handle::len(self)
            }

            fn is_empty(&self) -> bool {
                $Handle::is_empty(self)
            }

            fn strategy(&self) -> &W {
                $Handle::strategy(self)
            }

            $($batches)*
        }
    };
}

/// Gives a consumer its waiting methods and [`Pop`](crate::Pop).
///
/// `exclusive` is for handles whose methods take `&mut self`, `shared` for those that take `&self`. The handle has `try_pop`,
/// `is_closed`, `capacity`, `len`, `is_empty`, `may_pop` and `strategy`; if it says `batches`, `try_pop_slice` and `try_pop_many` too, and otherwise
/// it gets them, one pop at a time. Named last, its `is_full` is that of the trait, too. `runs` and `grants` are as for producers, from its [`Read`](crate::grant::Read).
macro_rules! consumer {
    ($mode:ident $Handle:ident[$T:ident]) => {
        $crate::wait::consumer!($mode ($Handle [$T] [] $T [$T]));
    };
    ($mode:ident $batches:ident $Handle:ident[$T:ident]) => {
        $crate::wait::consumer!($mode $batches ($Handle [$T] [] $T [$T]));
    };
    (exclusive $handle:tt) => {
        $crate::wait::consumer!(@into [] $handle);
        $crate::wait::consumer!(@into [&mut] $handle);
        $crate::wait::consumer!(@batches $handle [&mut self] self);
        $crate::wait::consumer!(@methods $handle [&mut self] self [&mut Self] [self]);
        $crate::wait::consumer!(@end [] $handle {});
    };
    (shared $handle:tt) => {
        $crate::wait::consumer!(@into [] $handle);
        $crate::wait::consumer!(@into [&] $handle);
        $crate::wait::consumer!(@batches $handle [&self] self);
        $crate::wait::consumer!(@methods $handle [&self] self [&Self] [&mut { self }]);
        $crate::wait::consumer!(@end [] $handle {});
        $crate::wait::consumer!(@end [&] $handle {});
    };
    (exclusive runs $handle:tt) => {
        $crate::wait::consumer!(@runs $handle);
        $crate::wait::consumer!(exclusive batches $handle);
    };
    (exclusive batches $handle:tt) => {
        $crate::wait::consumer!(@into [] $handle);
        $crate::wait::consumer!(@into [&mut] $handle);
        $crate::wait::consumer!(@methods $handle [&mut self] self [&mut Self] [self]);
        $crate::wait::consumer!(@forward [] $handle);
    };
    (shared patient $handle:tt) => {
        $crate::wait::consumer!(@into [] $handle);
        $crate::wait::consumer!(@into [&] $handle);
        $crate::wait::consumer!(@methods $handle [&self] self [&Self] [&mut { self }]);
        $crate::wait::consumer!(@patient [] $handle);
        $crate::wait::consumer!(@patient [&] $handle);
    };
    (shared batches $handle:tt) => {
        $crate::wait::consumer!(@into [] $handle);
        $crate::wait::consumer!(@into [&] $handle);
        $crate::wait::consumer!(@methods $handle [&self] self [&Self] [&mut { self }]);
        $crate::wait::consumer!(@forward [] $handle);
        $crate::wait::consumer!(@forward [&] $handle);
    };
    (
        @batches ($Handle:ident [$($before:ident),+] [$($after:ident),*] $T:ty [$($bounds:tt)+] $($full:ident)?)
        [$($receiver:tt)+] $this:ident
    ) => {
        impl<$($bounds)+, W: $crate::wait::Wait> $Handle<$($before,)+ W, $($after),*> {
            /// Pops what is there, up to `limit` items, onto the end of `into`. Returns how many: at least one, unless
            /// `limit` is zero.
            #[cfg(feature = "alloc")]
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
    (@into [$($reference:tt)*] ($Handle:ident [$($before:ident),+] [$($after:ident),*] $T:ty [$($bounds:tt)+] $($full:ident)?)) => {
        /// As [`iter`](crate::Pop::iter): the items as they come, until every producer is gone and the queue is drained.
        impl<$($bounds)+, W: $crate::wait::Wait> IntoIterator for $($reference)* $Handle<$($before,)+ W, $($after),*> {
            type Item = $T;
            type IntoIter = $crate::wait::Iter<Self>;

            fn into_iter(self) -> Self::IntoIter {
                $crate::wait::Iter::new(self)
            }
        }
    };
    (@runs ($Handle:ident [$($before:ident),+] [$($after:ident),*] $T:ty [$($bounds:tt)+] $($full:ident)?)) => {
        impl<$($bounds)+, W: $crate::wait::Wait> $Handle<$($before,)+ W, $($after),*> {
            /// Moves what is there into `into`, from the first place on, dropping what was in those places. Returns how many:
            /// at least one, unless `into` is empty.
            #[inline]
            pub fn try_pop_slice(&mut self, into: &mut [$T]) -> Result<usize, $crate::TryPopError> {
                $crate::grant::pop_slice(self, into)
            }

            /// Pops what is there, up to `limit` items, onto the end of `into`. Returns how many: at least one, unless
            /// `limit` is zero.
            #[cfg(feature = "alloc")]
            pub fn try_pop_many(
                &mut self,
                into: &mut alloc::vec::Vec<$T>,
                limit: usize,
            ) -> Result<usize, $crate::TryPopError> {
                $crate::grant::pop_many(self, into, limit)
            }

            /// Gives up to `count` items, at least one, to be read in place. More may be waiting than that: all items of a
            /// grant lie next to each other.
            #[cfg(not(loom))]
            pub fn readable(
                &mut self,
                count: usize,
            ) -> Result<$crate::grant::ReadGrant<'_, Self>, $crate::TryPopError> {
                $crate::grant::ReadGrant::new(self, count)
            }

            /// The oldest item, left where it is.
            #[cfg(not(loom))]
            pub fn peek(&mut self) -> Result<&$T, $crate::TryPopError> {
                $crate::grant::peek(self)
            }
        }
        $crate::wait::consumer!(grants ($Handle [$($before),+] [$($after),*] $T [$($bounds)+] $($full)?));
    };
    (grants ($Handle:ident [$($before:ident),+] [$($after:ty),*] $T:ty [$($bounds:tt)+] $($full:ident)?)) => {
        #[cfg(not(loom))]
        impl<$($bounds)+, W: $crate::wait::Wait> $Handle<$($before,)+ W, $($after),*> {
            /// As [`readable`](Self::readable), waiting while there is nothing.
            pub fn wait_readable(
                &mut self,
                count: usize,
            ) -> Result<$crate::grant::ReadGrant<'_, Self>, $crate::PopError> {
                $crate::grant::wait_readable(self, count, None).map_err(|_| $crate::PopError)
            }

            /// As [`wait_readable`](Self::wait_readable), but no longer than `timeout`.
            #[cfg(feature = "std")]
            pub fn readable_timeout(
                &mut self,
                count: usize,
                timeout: core::time::Duration,
            ) -> Result<$crate::grant::ReadGrant<'_, Self>, $crate::PopTimeoutError> {
                $crate::grant::wait_readable(self, count, $crate::wait::deadline(timeout))
            }

            /// As [`readable`](Self::readable), pending while there is nothing. Dropped before it is ready, it has taken nothing.
            #[cfg(feature = "std")]
            pub async fn readable_async(
                &mut self,
                count: usize,
            ) -> Result<$crate::grant::ReadGrant<'_, Self>, $crate::PopError>
            where
                W: $crate::wait::Sleep,
            {
                $crate::grant::readable_async(self, count).await
            }
        }
    };
    (
        @methods ($Handle:ident [$($before:ident),+] [$($after:ident),*] $T:ty [$($bounds:tt)+] $($full:ident)?)
        [$($receiver:tt)+] $this:ident [$End:ty] [$($end:tt)+]
    ) => {
        // A panic in somebody else's code, a destructor or a waker, leaves the queue whole (P4).
        impl<$($bounds)+, W: $crate::wait::Wait> core::panic::UnwindSafe for $Handle<$($before,)+ W, $($after),*> {}
        impl<$($bounds)+, W: $crate::wait::Wait> core::panic::RefUnwindSafe for $Handle<$($before,)+ W, $($after),*> {}

        impl<$($bounds)+, W: $crate::wait::Wait> $Handle<$($before,)+ W, $($after),*> {
            /// Pops, waiting while there is nothing, but no longer than to `deadline`, a point in time of the standard library, say.
            #[cfg(feature = "std")]
            #[doc(alias = "recv_deadline")]
            pub fn pop_deadline(
                $($receiver)+,
                deadline: impl Into<$crate::wait::Deadline>,
            ) -> Result<$T, $crate::PopTimeoutError> {
                let mut end = $this;
                $crate::Pop::pop_deadline(&mut end, deadline.into())
            }

            /// Pops, waiting while there is nothing.
            #[inline]
            #[doc(alias = "recv")]
            pub fn pop($($receiver)+) -> Result<$T, $crate::PopError> {
                $crate::wait::pop($($end)+)
            }

            /// Pops, waiting while there is nothing, but no longer than `timeout`.
            #[cfg(feature = "std")]
            pub fn pop_timeout(
                $($receiver)+,
                timeout: core::time::Duration,
            ) -> Result<$T, $crate::PopTimeoutError> {
                let mut end = $this;
                $crate::Pop::pop_timeout(&mut end, timeout)
            }

            /// Pops one item, waiting while there is nothing, and what else is there, up to `limit` items, onto the
            /// end of `into`. Returns how many: at least one, unless `limit` is zero.
            #[cfg(feature = "alloc")]
            pub fn pop_many(
                $($receiver)+,
                into: &mut alloc::vec::Vec<$T>,
                limit: usize,
            ) -> Result<usize, $crate::PopError> {
                let mut end = $this;
                $crate::Pop::pop_many(&mut end, into, limit)
            }

            /// As [`pop_many`](Self::pop_many), but waiting for the first item no longer than `timeout`.
            #[cfg(feature = "std")]
            pub fn pop_many_timeout(
                $($receiver)+,
                into: &mut alloc::vec::Vec<$T>,
                limit: usize,
                timeout: core::time::Duration,
            ) -> Result<usize, $crate::PopTimeoutError> {
                let mut end = $this;
                $crate::Pop::pop_many_timeout(&mut end, into, limit, timeout)
            }

            /// The items as they come, waiting for each. Ends when every producer is gone and the queue is drained.
            pub fn iter($($receiver)+) -> impl Iterator<Item = $T> {
                $crate::wait::Iter::new($this)
            }

            /// The items that are there. Ends where a `try_pop` says why not.
            pub fn try_iter($($receiver)+) -> impl Iterator<Item = $T> {
                $crate::wait::TryIter::new($this)
            }

            /// Pops, pending while there is nothing. Dropped before it is ready, it has popped nothing.
            #[cfg(feature = "std")]
            pub fn pop_async($($receiver)+) -> $crate::wait::Popping<$End>
            where
                W: $crate::wait::Sleep,
            {
                $crate::wait::Popping::new($this)
            }

            /// As [`pop_many`](Self::pop_many), pending while there is nothing. Dropped before it is ready, it has popped
            /// nothing.
            #[cfg(feature = "std")]
            pub fn pop_many_async<'into>(
                $($receiver)+,
                into: &'into mut alloc::vec::Vec<$T>,
                limit: usize,
            ) -> $crate::wait::PoppingMany<'into, $End>
            where
                W: $crate::wait::Sleep,
            {
                $crate::wait::PoppingMany::new($this, into, limit)
            }
        }
    };
    (
        @patient [$($reference:tt)?]
        ($Handle:ident [$($before:ident),+] [$($after:ident),*] $T:ty [$($bounds:tt)+] $($full:ident)?)
    ) => {
        $crate::wait::consumer!(@forward [$($reference)?] ($Handle [$($before),+] [$($after),*] $T [$($bounds)+] $($full)?) {
            #[inline(always)]
            fn pop_patiently(&mut self) -> Result<$T, $crate::TryPopError> {
                $Handle::pop_patiently(self)
            }
        });
    };
    (@forward [$($reference:tt)?] $handle:tt) => {
        $crate::wait::consumer!(@forward [$($reference)?] $handle {});
    };
    (
        @forward [$($reference:tt)?]
        ($Handle:ident [$($before:ident),+] [$($after:ident),*] $T:ty [$($bounds:tt)+] $($full:ident)?)
        { $($more:tt)* }
    ) => {
        $crate::wait::consumer!(@end [$($reference)?] ($Handle [$($before),+] [$($after),*] $T [$($bounds)+] $($full)?) {
            $($more)*

            #[cfg(feature = "alloc")]
            fn try_pop_many(
                &mut self,
                into: &mut alloc::vec::Vec<$T>,
                limit: usize,
            ) -> Result<usize, $crate::TryPopError> {
                $Handle::try_pop_many(self, into, limit)
            }

            #[inline]
            fn try_pop_slice(&mut self, into: &mut [$T]) -> Result<usize, $crate::TryPopError> {
                $Handle::try_pop_slice(self, into)
            }
        });
    };
    (
        @end [$($reference:tt)?]
        ($Handle:ident [$($before:ident),+] [$($after:ident),*] $T:ty [$($bounds:tt)+] $($full:ident)?)
        { $($batches:tt)* }
    ) => {
        impl<$($bounds)+, W: $crate::wait::Wait> $crate::Pop
            for $($reference)? $Handle<$($before,)+ W, $($after),*>
        {
            type Item = $T;
            type Wait = W;

            #[inline]
            fn try_pop(&mut self) -> Result<$T, $crate::TryPopError> {
                $Handle::try_pop(self)
            }

            fn may_pop(&self) -> bool {
                $Handle::may_pop(self)
            }

            fn is_closed(&self) -> bool {
                $Handle::is_closed(self)
            }

            fn capacity(&self) -> usize {
                $Handle::capacity(self)
            }

            fn len(&self) -> usize {
                $Handle::len(self)
            }

            fn is_empty(&self) -> bool {
                $Handle::is_empty(self)
            }

            $(fn is_full(&self) -> bool {
                $Handle::$full(self)
            })?

            fn strategy(&self) -> &W {
                $Handle::strategy(self)
            }

            $($batches)*
        }
    };
}

/// The methods of a producer that wait until its consumers are gone or its queue is closed. `$strategy` is how `$end` waits.
macro_rules! closed {
    (|$end:ident| $strategy:expr; $($bound:tt)*) => {
        /// Waits until nobody wants what is pushed: every consumer is gone, or the queue is closed.
        pub fn closed(&self) {
            let $end = self;
            $strategy.wait($crate::wait::Side::Closed, None, || $end.is_closed());
        }

        /// As [`closed`](Self::closed), but no longer than `timeout`. True if it is closed.
        #[cfg(feature = "std")]
        pub fn closed_timeout(&self, timeout: core::time::Duration) -> bool {
            let ($end, deadline) = (self, thalweg_sync::time::now().after(timeout));
            $strategy.wait($crate::wait::Side::Closed, Some(deadline), || $end.is_closed())
        }

        /// As [`closed`](Self::closed), as a future: to give up work whose result nobody wants. May be dropped at any time.
        #[cfg(feature = "std")]
        pub fn closed_async(&self) -> impl Future<Output = ()>
        where
            $($bound)*
        {
            let $end = self;
            let attempt = || $end.is_closed().then_some(());
            $crate::wait::until($crate::wait::Sleep::park($strategy), $crate::wait::Side::Closed, attempt, || false)
        }
    };
}

pub(crate) use {closed, consumer, producer};
