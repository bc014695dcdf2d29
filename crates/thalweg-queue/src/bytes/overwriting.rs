//! The ring in drop-old mode: messages in words, which are read while they may be overwritten.

use super::memory::{GRANULE, Header, Headers, granules, shape};
use super::mode::{Common, Messages};
use super::{PushBytesError, TryPopError};
use crate::overwriting::cursors::Cursors;
use crate::wait::Wait;
use crate::{BuildError, TryPushError, memory};
use alloc::boxed::Box;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::Relaxed;

/// How many bytes a word has.
const WORD: usize = size_of::<u64>();

/// What all ends share. Invariants D1 to D4 of [`drop_old`](mod@crate::overwriting) hold, where an entry is a granule, and what
/// is noted at one and the bytes in it are its words.
#[derive(Debug)]
pub struct Overwriting<W: Wait> {
    pub(super) cursors: Cursors<W>,
    headers: Headers,
    /// The bytes of all blocks.
    words: Box<[AtomicU64]>,
}

impl<W: Wait> Overwriting<W> {
    /// An empty ring that starts at the block number `head`.
    pub(super) fn new(head: u64, blocks: usize, block_bytes: usize, wait: W) -> Result<Self, BuildError> {
        let cursors = Cursors::new(head, shape(blocks, block_bytes, |_| 1)?, wait)?;
        let capacity = cursors.shape.capacity();
        let words = memory::words(capacity * (GRANULE / WORD))?;
        Ok(Self { headers: Headers::new(capacity)?, cursors, words })
    }

    /// The words of a message of `bytes` bytes at `granule`.
    #[inline(always)]
    fn words(&self, granule: usize, bytes: usize) -> &[AtomicU64] {
        &self.words[granule * (GRANULE / WORD)..][..bytes.div_ceil(WORD)]
    }
}

impl<W: Wait> Messages<W> for Overwriting<W> {
    fn push(&self, message: &[u8], placed: impl FnOnce()) -> Result<(), PushBytesError> {
        let (bytes, max) = (message.len(), self.cursors.shape.entries * GRANULE);
        if bytes > max {
            return Err(PushBytesError::TooLarge { bytes, max });
        }
        let count = granules(bytes);
        let skip = |place, rest| self.headers.note(self.cursors.unit(place), Header::Skip(rest), Relaxed);
        let (place, _) = self.cursors.allocate((count, count), skip).map_err(|refused| match refused {
            TryPushError::Full(()) => PushBytesError::Full,
            TryPushError::Busy(()) => PushBytesError::Busy,
            TryPushError::Closed(()) => PushBytesError::Closed,
        })?;
        placed();
        self.cursors.before_writing();
        let granule = self.cursors.unit(place);
        self.headers.note(granule, Header::Message(bytes), Relaxed);
        for (word, part) in self.words(granule, bytes).iter().zip(message.chunks(WORD)) {
            let mut whole = [0; WORD];
            whole[..part.len()].copy_from_slice(part);
            // Relaxed: what orders the words is the business of the cursors.
            word.store(u64::from_ne_bytes(whole), Relaxed);
        }
        self.cursors.commit(place, count);
        Ok(())
    }

    fn may_push(&self, bytes: usize) -> bool {
        self.cursors.may_push(granules(bytes)) || self.cursors.handles.consumers_gone()
    }

    unsafe fn pop(&self, mut room: impl FnMut(usize) -> *mut u8) -> Result<usize, TryPopError> {
        let shape = &self.cursors.shape;
        loop {
            let (_, message) = self.cursors.pop(1, |place, _| {
                let granule = self.cursors.unit(place);
                // Relaxed, as the words: a header is never cleared here, and one that is of a later round is found out with them.
                let header = self.headers.get(granule, Relaxed)?;
                match header {
                    // It goes over the edge of the block, so it is of a later round.
                    _ if header.granules() > shape.entries - shape.offset(place) => None,
                    Header::Skip(rest) => Some((rest, None)),
                    Header::Message(bytes) => {
                        let to = room(bytes);
                        for (number, word) in self.words(granule, bytes).iter().enumerate() {
                            let part = word.load(Relaxed).to_ne_bytes();
                            let from = number * WORD;
                            let count = WORD.min(bytes - from);
                            // SAFETY: by the caller's promise there is memory for `bytes` bytes.
                            unsafe { core::ptr::copy_nonoverlapping(part.as_ptr(), to.add(from), count) };
                        }
                        Some((header.granules(), Some(bytes)))
                    }
                }
            })?;
            if let Some(bytes) = message {
                return Ok(bytes);
            }
        }
    }

    fn may_pop(&self) -> bool {
        self.cursors.may_pop() || self.cursors.handles.producers_gone()
    }

    fn len(&self) -> usize {
        self.cursors.len()
    }

    fn common(&self) -> Common<'_, W> {
        Common { shape: &self.cursors.shape, handles: &self.cursors.handles, wait: &self.cursors.wait }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::Yield;
    use crate::mpmc::spot::Spot;

    /// A push of a message of `bytes` bytes that is half-way, to be ended later.
    fn begun(ring: &Overwriting<Yield>, bytes: usize) -> (Spot, usize) {
        let count = granules(bytes);
        let skip = |place, rest| ring.headers.note(ring.cursors.unit(place), Header::Skip(rest), Relaxed);
        let (place, _) = ring.cursors.allocate((count, count), skip).unwrap();
        ring.headers.note(ring.cursors.unit(place), Header::Message(bytes), Relaxed);
        (place, count)
    }

    fn pop(ring: &Overwriting<Yield>) -> Result<usize, TryPopError> {
        let mut memory = [0; 64 * GRANULE];
        // SAFETY: there is room for the largest message.
        unsafe { ring.pop(|_| memory.as_mut_ptr()) }
    }

    /// As with items of one size: messages of one to four granules, some of which go over the edge of a block.
    #[test]
    fn what_is_committed_is_delivered_while_pushes_are_half_way() {
        for half_way in 1..=3 {
            let ring = Overwriting::new(0, 2, 64 * GRANULE, Yield).unwrap();
            let mut open = alloc::collections::VecDeque::new();
            for number in 0..200 {
                while open.len() < half_way {
                    open.push_back(begun(&ring, (number + open.len()) % 64));
                }
                let (place, count) = open.pop_front().unwrap();
                ring.cursors.commit(place, count);
                assert_eq!(pop(&ring), Ok(number % 64));
                let nothing = if open.is_empty() { TryPopError::Empty } else { TryPopError::Busy };
                assert_eq!(pop(&ring), Err(nothing));
                assert!(!ring.may_pop());
            }
        }
    }
}
