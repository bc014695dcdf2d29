//! CAF's queue device: 64-bit values, to and from registers.
//!
//! The words are divided among the open queues: evenly, or so many for each and a pool for whoever needs more. A queue that has used
//! its credit refuses. A value that is not there is an answer too, so consumers ask again: the device knows nobody whom it could send
//! something.
//!
//! **C1** What is a queue's own is there for it at any time: the pool is what no open queue has, and a queue opens only if its words are
//! there now.

use super::Credits;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(crate) struct Caf {
    credits: Credits,
    /// `None`: not open.
    queues: Vec<Option<VecDeque<u64>>>,
}

impl Caf {
    pub(crate) fn new(credits: &Credits) -> Self {
        Self { credits: *credits, queues: Vec::new() }
    }

    fn open_queues(&self) -> usize {
        self.queues.iter().flatten().count()
    }

    /// Words of the pool that are taken: what queues hold beyond their own.
    fn pooled(&self, own: usize) -> usize {
        self.queues.iter().flatten().map(|values| values.len().saturating_sub(own)).sum()
    }

    /// False if it is somebody's already, or there are not the words that it would have.
    pub(crate) fn open(&mut self, queue: usize) -> bool {
        if self.queues.len() <= queue {
            self.queues.resize(queue + 1, None);
        }
        let own = self.credits.own.unwrap_or(1);
        let taken = own * self.open_queues() + self.credits.own.map_or(0, |own| self.pooled(own));
        let opens = self.queues[queue].is_none() && taken + own <= self.credits.words;
        if opens {
            self.queues[queue] = Some(VecDeque::new());
        }
        opens
    }

    /// `None`: it is not open.
    pub(crate) fn holds(&self, queue: usize) -> Option<usize> {
        self.queues.get(queue)?.as_ref().map(VecDeque::len)
    }

    /// Whether a queue that holds so much has credit for one more.
    fn has_credit(&self, held: usize) -> bool {
        let Credits { words, own, most, .. } = self.credits;
        let open = self.open_queues();
        held < most
            && match own {
                None => held < words / open,
                Some(own) => held < own || self.pooled(own) < words - own * open,
            }
    }

    /// False if the queue is not open or has no credit left.
    pub(crate) fn enqueue(&mut self, queue: usize, value: u64) -> bool {
        let takes = self.holds(queue).is_some_and(|held| self.has_credit(held));
        if let (true, Some(Some(values))) = (takes, self.queues.get_mut(queue)) {
            values.push_back(value);
        }
        takes
    }

    pub(crate) fn dequeue(&mut self, queue: usize) -> Option<u64> {
        self.queues.get_mut(queue)?.as_mut()?.pop_front()
    }
}
