//! CAF's queue device: 64-bit values, to and from registers.
//!
//! The words are divided evenly among the open queues; a queue that has used its credit refuses. A value that is not there
//! is an answer too, so consumers ask again: the device knows nobody whom it could send something.

use super::Credits;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(crate) struct Caf {
    words: usize,
    /// `None`: not open.
    queues: Vec<Option<VecDeque<u64>>>,
}

impl Caf {
    pub(crate) fn new(credits: &Credits) -> Self {
        Self { words: credits.words, queues: Vec::new() }
    }

    /// False if it is somebody's already, or there is not a word for each queue.
    pub(crate) fn open(&mut self, queue: usize) -> bool {
        if self.queues.len() <= queue {
            self.queues.resize(queue + 1, None);
        }
        let open = self.queues.iter().flatten().count();
        let opens = self.queues[queue].is_none() && open < self.words;
        if opens {
            self.queues[queue] = Some(VecDeque::new());
        }
        opens
    }

    /// `None`: it is not open.
    pub(crate) fn holds(&self, queue: usize) -> Option<usize> {
        self.queues.get(queue)?.as_ref().map(VecDeque::len)
    }

    /// What each open queue may hold.
    pub(crate) fn credit(&self) -> usize {
        self.words / self.queues.iter().flatten().count().max(1)
    }

    /// False if the queue is not open or has no credit left.
    pub(crate) fn enqueue(&mut self, queue: usize, value: u64) -> bool {
        let credit = self.credit();
        match self.queues.get_mut(queue) {
            Some(Some(values)) if values.len() < credit => {
                values.push_back(value);
                true
            }
            _ => false,
        }
    }

    pub(crate) fn dequeue(&mut self, queue: usize) -> Option<u64> {
        self.queues.get_mut(queue)?.as_mut()?.pop_front()
    }
}
