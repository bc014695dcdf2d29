//! Many messages at a time.

use super::mode::{Messages, Mode};
use super::producer::never_late;
use super::{Consumer, Producer, PushBytesError, PushBytesTimeoutError};
#[cfg(feature = "std")]
use crate::PopTimeoutError;
#[cfg(feature = "std")]
use crate::wait::Sleep;
use crate::wait::{Deadline, Wait};
use crate::{PopError, TryPopError};
use alloc::vec::Vec;
use core::fmt;
#[cfg(feature = "std")]
use thalweg_sync::time::{self, Duration};

/// Messages that were popped, one behind the other in one piece of memory: what [`Consumer::pop_many`] fills. Cleared, it keeps its memory
/// for the next ones.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Batch {
    bytes: Vec<u8>,
    /// Where each message ends.
    ends: Vec<usize>,
}

impl Batch {
    /// Without messages, and without memory.
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), ends: Vec::new() }
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The messages, oldest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|number| {
            let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
            &self.bytes[start..self.ends[number]]
        })
    }

    /// Forgets the messages.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("len", &self.len()).field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}

impl<W: Wait, M: Mode> Producer<W, M> {
    /// Pushes copies of as many of `messages` as there is room for, from the first on, one by one. Those have left the front of the slice
    /// then. Returns how many: at least one, unless there are none.
    ///
    /// ```
    /// let (tx, rx) = thalweg_queue::bytes::bytes(2, 16)?; // room for two
    /// let mut words = &["one", "two", "three"][..];
    /// assert_eq!(tx.try_push_many(&mut words)?, 2);
    /// assert_eq!(words, ["three"]);
    /// # let _ = rx;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_push_many<B: AsRef<[u8]>>(&self, messages: &mut &[B]) -> Result<usize, PushBytesError> {
        let mut pushed = 0;
        while let Some((first, rest)) = messages.split_first() {
            match self.ring.push(first.as_ref(), || *messages = rest) {
                Ok(()) => pushed += 1,
                Err(refused) if pushed == 0 => return Err(refused),
                Err(_) => break,
            }
        }
        Ok(pushed)
    }

    /// Pushes copies of all of `messages`, from the first on, waiting while there is no room. Refuses with `Closed` or `TooLarge`; the
    /// slice begins with the message that was refused then.
    ///
    /// ```
    /// let (tx, rx) = thalweg_queue::bytes::bytes(4, 1024)?;
    /// let lines: Vec<&str> = "two\nlines".lines().collect();
    /// tx.push_many(&mut &lines[..])?;
    /// assert!(rx.try_iter().eq([b"two".to_vec(), b"lines".to_vec()]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push_many<B: AsRef<[u8]>>(&self, messages: &mut &[B]) -> Result<(), PushBytesError> {
        self.push_many_by(messages, None).map_err(never_late)
    }

    fn push_many_by<B: AsRef<[u8]>>(
        &self,
        messages: &mut &[B],
        deadline: Option<Deadline>,
    ) -> Result<(), PushBytesTimeoutError> {
        while let Some(first) = messages.first() {
            self.wait_for(first.as_ref().len(), deadline, || self.try_push_many(messages))?;
        }
        Ok(())
    }

    /// As [`push_many`](Self::push_many), but no longer than `timeout`. What is not pushed by then is still in the slice.
    #[cfg(feature = "std")]
    pub fn push_many_timeout<B: AsRef<[u8]>>(
        &self,
        messages: &mut &[B],
        timeout: Duration,
    ) -> Result<(), PushBytesTimeoutError> {
        self.push_many_by(messages, Some(time::now().after(timeout)))
    }

    /// As [`push_many`](Self::push_many), pending while there is no room. Dropped at any time it loses nothing: what is not pushed is
    /// still in the slice.
    ///
    /// ```
    /// use futures_executor::block_on;
    /// use thalweg_queue::{Park, bytes};
    ///
    /// let (tx, rx) = bytes::with_wait(2, 64, Park::new())?;
    /// block_on(tx.push_many_async(&mut &["some", "words"][..]))?;
    /// let mut batch = bytes::Batch::new();
    /// assert_eq!(block_on(rx.pop_many_async(&mut batch, 8)), Ok(2));
    /// assert!(batch.iter().eq([&b"some"[..], b"words"]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "std")]
    pub fn push_many_async<B: AsRef<[u8]>>(
        &self,
        messages: &mut &[B],
    ) -> impl Future<Output = Result<(), PushBytesError>>
    where
        W: Sleep,
    {
        self.pending_for(move || {
            while !messages.is_empty() {
                self.try_push_many(messages)?;
            }
            Ok(())
        })
    }

    /// Pushes copies of what `messages` gives, one by one, waiting while there is no room. Returns how many. Refuses with `Closed` or
    /// `TooLarge`, and asks the iterator for no more then.
    ///
    /// ```
    /// let (tx, rx) = thalweg_queue::bytes::bytes(4, 1024)?;
    /// assert_eq!(tx.push_all((0_u32..3).map(u32::to_be_bytes))?, 3);
    /// drop(tx);
    /// assert_eq!(rx.iter().last(), Some(vec![0, 0, 0, 2]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push_all(&self, messages: impl IntoIterator<Item: AsRef<[u8]>>) -> Result<usize, PushBytesError> {
        let mut pushed = 0;
        for message in messages {
            self.push(message.as_ref())?;
            pushed += 1;
        }
        Ok(pushed)
    }
}

impl<W: Wait, M: Mode> Consumer<W, M> {
    /// Pops the messages that are there, up to `limit`, one by one to the end of `into`. Returns how many: at least one, unless `limit` is
    /// zero. The reasons why there is none are those of [`try_pop`](Self::try_pop).
    ///
    /// What is pushed meanwhile is popped too: while producers keep up, only the limit ends it.
    ///
    /// ```
    /// use thalweg_queue::bytes;
    ///
    /// let (tx, rx) = bytes::bytes(4, 1024)?;
    /// tx.push_all(["a", "", "message"])?;
    /// let mut batch = bytes::Batch::new();
    /// assert_eq!(rx.try_pop_many(&mut batch, 2)?, 2);
    /// assert_eq!(rx.try_pop_many(&mut batch, 2)?, 1);
    /// assert!(batch.iter().eq([&b"a"[..], b"", b"message"]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_pop_many(&self, into: &mut Batch, limit: usize) -> Result<usize, TryPopError> {
        let before = into.len();
        while into.len() - before < limit {
            match self.try_pop(&mut into.bytes) {
                Ok(_) => into.ends.push(into.bytes.len()),
                Err(refused) if into.len() == before => return Err(refused),
                Err(_) => break,
            }
        }
        Ok(into.len() - before)
    }

    /// Pops one message, waiting while there is none, and what else is there, up to `limit` messages, to the end of `into`. Returns how
    /// many: at least one, unless `limit` is zero.
    pub fn pop_many(&self, into: &mut Batch, limit: usize) -> Result<usize, PopError> {
        self.wait_for(None, || self.try_pop_many(into, limit)).map_err(|_| PopError)
    }

    /// As [`pop_many`](Self::pop_many), but waiting for the first message no longer than `timeout`.
    #[cfg(feature = "std")]
    pub fn pop_many_timeout(
        &self,
        into: &mut Batch,
        limit: usize,
        timeout: Duration,
    ) -> Result<usize, PopTimeoutError> {
        self.wait_for(Some(time::now().after(timeout)), || self.try_pop_many(into, limit))
    }

    /// As [`pop_many`](Self::pop_many), pending while there is nothing. Dropped before it is ready, it has popped nothing.
    #[cfg(feature = "std")]
    pub fn pop_many_async(&self, into: &mut Batch, limit: usize) -> impl Future<Output = Result<usize, PopError>>
    where
        W: Sleep,
    {
        self.pending_for(move || self.try_pop_many(into, limit))
    }

    /// The messages as they come, each in memory of its own, waiting for each. Ends when every producer is gone and the queue is drained.
    pub fn iter(&self) -> impl Iterator<Item = Vec<u8>> {
        core::iter::from_fn(|| {
            let mut message = Vec::new();
            self.pop(&mut message).is_ok().then_some(message)
        })
    }

    /// The messages that are there, each in memory of its own. Ends where a `try_pop` says why not.
    pub fn try_iter(&self) -> impl Iterator<Item = Vec<u8>> {
        core::iter::from_fn(|| {
            let mut message = Vec::new();
            self.try_pop(&mut message).is_ok().then_some(message)
        })
    }
}
