//! All tasks that are not done, so that the end finds those that nobody will wake (E1).

use crate::task::TaskRef;
use core::mem;
use std::sync::PoisonError;
use thalweg_sync::CachePadded;
use thalweg_sync::sync::{Mutex, MutexGuard};

/// One shard for each worker, and one for all other threads: a worker's own spawns contend with nobody, but where their tasks were stolen.
pub(crate) struct Registry {
    shards: Box<[CachePadded<Mutex<Shard>>]>,
}

#[derive(Default)]
struct Shard {
    closed: bool,
    tasks: Vec<Option<TaskRef>>,
    /// Places without a task.
    free: Vec<usize>,
}

impl Registry {
    pub(crate) fn new(shards: usize) -> Self {
        Self { shards: (0..shards).map(|_| CachePadded(Mutex::default())).collect() }
    }

    fn shard(&self, shard: usize) -> MutexGuard<'_, Shard> {
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a task that nobody else has yet. False if the registry is closed.
    pub(crate) fn insert(&self, task: &TaskRef) -> bool {
        let mut shard = self.shard(task.shard());
        if shard.closed {
            return false;
        }
        let place = shard.free.pop().unwrap_or(shard.tasks.len());
        task.set_place(place);
        match shard.tasks.get_mut(place) {
            Some(free) => *free = Some(task.clone()),
            None => shard.tasks.push(Some(task.clone())),
        }
        true
    }

    /// Gives the reference back, for the caller to drop where no lock is held. `None` if the registry was closed.
    pub(crate) fn remove(&self, task: &TaskRef) -> Option<TaskRef> {
        let mut shard = self.shard(task.shard());
        if shard.closed {
            return None;
        }
        shard.free.push(task.place());
        shard.tasks[task.place()].take()
    }

    /// Takes no task any more, and hands out all that there are.
    pub(crate) fn close(&self) -> impl Iterator<Item = TaskRef> {
        (0..self.shards.len()).flat_map(|shard| {
            let mut shard = self.shard(shard);
            shard.closed = true;
            mem::take(&mut shard.tasks).into_iter().flatten()
        })
    }
}
