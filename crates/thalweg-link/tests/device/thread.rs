//! The routing thread: a channel for each queue, with one producer and one consumer.

use thalweg_link::{Consumer, Limits, Producer, Supervisor};
use thalweg_sync::thread;

use crate::queues::Device;

/// A whole line.
type Item = [u64; 7];

pub(crate) struct Thread {
    ends: Vec<(Producer<Item>, Consumer<Item>)>,
}

impl Thread {
    pub(crate) fn new(links: usize, entries: usize, requests: usize) -> Self {
        let supervisor = Supervisor::software(Limits { links, entries }).expect("there is a slot for each link");
        let ends = (0..links).map(|queue| {
            let channel = supervisor.open(&queue.to_string()).expect("there is a link for it");
            (channel.producer().expect("it is the first"), channel.consumer_of(requests).expect("it is the first"))
        });
        Self { ends: ends.collect() }
    }
}

impl Device for Thread {
    fn push(&mut self, queue: usize, number: u64) -> bool {
        self.ends[queue].0.try_push([number; 7]).is_ok()
    }

    fn ask(&mut self, queue: usize) {
        self.ends[queue].1.prefetch();
    }

    fn take(&mut self, queue: usize) -> Option<u64> {
        let item = self.ends[queue].1.take();
        if item.is_none() {
            // It is the router's turn.
            thread::yield_now();
        }
        item.map(|item| {
            assert_eq!(item, [item[0]; 7], "a line is torn");
            item[0]
        })
    }
}
