//! Virtual-Link without latency and without limits: what is pushed is where it was asked for, at once.

use super::{Data, Target};
use std::collections::VecDeque;

/// A queue's waiting lines and requests. One of the two is empty.
#[derive(Clone, Debug, Default)]
struct Queue {
    lines: VecDeque<Data>,
    requests: VecDeque<Target>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Ideal {
    /// `None`: not open.
    queues: Vec<Option<Queue>>,
}

impl Ideal {
    /// False if it is somebody's already.
    pub(crate) fn open(&mut self, sqi: usize) -> bool {
        if self.queues.len() <= sqi {
            self.queues.resize_with(sqi + 1, || None);
        }
        let is_free = self.queues[sqi].is_none();
        self.queues[sqi].get_or_insert_default();
        is_free
    }

    /// `None`: it is not open.
    pub(crate) fn holds(&self, sqi: usize) -> Option<usize> {
        self.queues.get(sqi)?.as_ref().map(|queue| queue.lines.len())
    }

    fn queue(&mut self, sqi: usize) -> &mut Queue {
        self.queues[sqi].as_mut().expect("it is open")
    }

    pub(crate) fn push(&mut self, sqi: usize, data: Data) {
        self.queue(sqi).lines.push_back(data);
    }

    pub(crate) fn fetch(&mut self, sqi: usize, target: Target) {
        self.queue(sqi).requests.push_back(target);
    }

    /// The next line and who asked for it, if there are both.
    pub(crate) fn next(&mut self, sqi: usize) -> Option<(Target, Data)> {
        let Queue { lines, requests } = self.queue(sqi);
        let data = *lines.front()?;
        let target = requests.pop_front()?;
        lines.pop_front();
        Some((target, data))
    }

    /// The line was rejected: it is the first again.
    pub(crate) fn take_back(&mut self, sqi: usize, data: Data) {
        self.queue(sqi).lines.push_front(data);
    }
}
