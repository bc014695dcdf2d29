//! Grants that wait for room, or for items.
//!
//! What waits is the count: it borrows nothing, so it can be asked for again and again, and the grant is made of the last answer.

use super::{Read, ReadGrant, Write, WriteGrant};
#[cfg(feature = "std")]
use crate::wait::Sleep;
use crate::wait::{self, Deadline, Pop, Push};
#[cfg(feature = "std")]
use crate::{PopError, PushError};
use crate::{PopTimeoutError, PushTimeoutError};

/// Up to `count` entries of `end`, at least one, waiting while there is no room.
pub(crate) fn wait_reserve<E: Write + Push>(
    mut end: E,
    count: usize,
    deadline: Option<Deadline>,
) -> Result<WriteGrant<E>, PushTimeoutError<()>> {
    let count = wait::push_by(&mut end, deadline, |end| end.room(count.max(1)))?;
    Ok(WriteGrant::counted(end, count))
}

/// Up to `count` items of `end`, at least one, waiting while there is nothing.
pub(crate) fn wait_readable<E: Read + Pop>(
    end: &mut E,
    count: usize,
    deadline: Option<Deadline>,
) -> Result<ReadGrant<'_, E>, PopTimeoutError> {
    let count = wait::pop_by(end, deadline, |end| end.ready(count.max(1)))?;
    Ok(ReadGrant::counted(end, count))
}

/// As [`wait_reserve`], pending instead.
#[cfg(feature = "std")]
pub(crate) async fn reserve_async<E: Write + Push<Wait: Sleep>>(
    mut end: E,
    count: usize,
) -> Result<WriteGrant<E>, PushError<()>> {
    let count = wait::push_when(&mut end, |end| end.room(count.max(1))).await?;
    Ok(WriteGrant::counted(end, count))
}

/// As [`wait_readable`], pending instead.
#[cfg(feature = "std")]
pub(crate) async fn readable_async<E: Read + Pop<Wait: Sleep>>(
    end: &mut E,
    count: usize,
) -> Result<ReadGrant<'_, E>, PopError> {
    let count = wait::pop_when(&mut *end, |end| end.ready(count.max(1))).await?;
    Ok(ReadGrant::counted(end, count))
}
