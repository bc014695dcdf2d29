//! Virtual-Link without latency and without limits: what is pushed is where it was asked for, at once.

use super::{Data, Target};
use std::collections::VecDeque;

/// The waiting lines and requests of each queue. One of the two is empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ideal {
    queues: Vec<(VecDeque<Data>, VecDeque<Target>)>,
}

impl Ideal {
    pub(crate) fn open(&mut self, sqi: usize) {
        if self.queues.len() <= sqi {
            self.queues.resize_with(sqi + 1, Default::default);
        }
    }

    pub(crate) fn is_open(&self, sqi: usize) -> bool {
        sqi < self.queues.len()
    }

    pub(crate) fn holds(&self, sqi: usize) -> usize {
        self.queues.get(sqi).map_or(0, |(lines, _)| lines.len())
    }

    pub(crate) fn push(&mut self, sqi: usize, data: Data) {
        self.queues[sqi].0.push_back(data);
    }

    pub(crate) fn fetch(&mut self, sqi: usize, target: Target) {
        self.queues[sqi].1.push_back(target);
    }

    /// The next line and who asked for it, if there are both.
    pub(crate) fn next(&mut self, sqi: usize) -> Option<(Target, Data)> {
        let (lines, requests) = &mut self.queues[sqi];
        let data = *lines.front()?;
        let target = requests.pop_front()?;
        lines.pop_front();
        Some((target, data))
    }

    /// The line was rejected: it is the first again.
    pub(crate) fn take_back(&mut self, sqi: usize, data: Data) {
        self.queues[sqi].0.push_front(data);
    }
}
