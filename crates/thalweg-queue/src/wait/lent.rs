//! An end that is lent is an end.

use super::{Pop, Push};
use crate::{TryPopError, TryPushError};
#[cfg(feature = "alloc")]
use alloc::vec::Vec;

impl<P: Push + ?Sized> Push for &mut P {
    type Item = P::Item;
    type Wait = P::Wait;

    #[inline]
    fn try_push(&mut self, value: Self::Item) -> Result<(), TryPushError<Self::Item>> {
        (**self).try_push(value)
    }

    #[inline(always)]
    fn push_patiently(&mut self, value: Self::Item) -> Result<(), TryPushError<Self::Item>> {
        (**self).push_patiently(value)
    }

    fn may_push(&self) -> bool {
        (**self).may_push()
    }

    fn is_closed(&self) -> bool {
        (**self).is_closed()
    }

    fn capacity(&self) -> usize {
        (**self).capacity()
    }

    fn len(&self) -> usize {
        (**self).len()
    }

    fn is_empty(&self) -> bool {
        (**self).is_empty()
    }

    fn is_full(&self) -> bool {
        (**self).is_full()
    }

    fn strategy(&self) -> &Self::Wait {
        (**self).strategy()
    }

    fn try_push_slice(&mut self, values: &[Self::Item]) -> Result<usize, TryPushError<()>>
    where
        Self::Item: Copy,
    {
        (**self).try_push_slice(values)
    }

    #[cfg(feature = "alloc")]
    fn try_push_many(&mut self, values: &mut Vec<Self::Item>) -> Result<usize, TryPushError<()>> {
        (**self).try_push_many(values)
    }
}

impl<P: Pop + ?Sized> Pop for &mut P {
    type Item = P::Item;
    type Wait = P::Wait;

    #[inline]
    fn try_pop(&mut self) -> Result<Self::Item, TryPopError> {
        (**self).try_pop()
    }

    #[inline(always)]
    fn pop_patiently(&mut self) -> Result<Self::Item, TryPopError> {
        (**self).pop_patiently()
    }

    fn may_pop(&self) -> bool {
        (**self).may_pop()
    }

    fn is_closed(&self) -> bool {
        (**self).is_closed()
    }

    fn capacity(&self) -> usize {
        (**self).capacity()
    }

    fn len(&self) -> usize {
        (**self).len()
    }

    fn is_empty(&self) -> bool {
        (**self).is_empty()
    }

    fn is_full(&self) -> bool {
        (**self).is_full()
    }

    fn strategy(&self) -> &Self::Wait {
        (**self).strategy()
    }

    #[cfg(feature = "alloc")]
    fn try_pop_many(&mut self, into: &mut Vec<Self::Item>, limit: usize) -> Result<usize, TryPopError> {
        (**self).try_pop_many(into, limit)
    }

    fn try_pop_slice(&mut self, into: &mut [Self::Item]) -> Result<usize, TryPopError> {
        (**self).try_pop_slice(into)
    }
}
