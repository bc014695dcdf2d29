//! A hash table whose entries are replaced as in RCU: a reader announces itself, and what was replaced is freed when no reader is left.

use super::{finds, is_use_after_free, passes};
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use thalweg_sync::atomic::{AtomicPtr, AtomicU64, fence};
use thalweg_sync::sync::Arc;
use thalweg_sync::{spin, thread};

const BUCKETS: usize = 2;

struct Entry {
    key: u64,
    value: AtomicU64,
}

struct Table {
    buckets: [AtomicPtr<Entry>; BUCKETS],
    readers: AtomicU64,
}

fn entry(key: u64, value: u64) -> *mut Entry {
    Box::into_raw(Box::new(Entry { key, value: AtomicU64::new(value) }))
}

/// How an entry is freed.
#[derive(Clone, Copy, PartialEq)]
enum Grace {
    /// When no reader is left that may have it.
    Waits,
    /// Without the fence between replacing and looking for readers.
    Unfenced,
    /// At once.
    None,
}

impl Table {
    fn new() -> Self {
        Self { buckets: [0, 1].map(|key| AtomicPtr::new(entry(key, 10))), readers: AtomicU64::new(0) }
    }

    fn get(&self, key: u64, grace: Grace) -> Option<u64> {
        self.readers.fetch_add(1, Relaxed);
        if grace != Grace::Unfenced {
            // Pairs with the writer's: either it sees us, or we see its entry.
            fence(SeqCst);
        }
        // SAFETY: it was there when we had announced ourselves, so it is not freed before we are done.
        let found = unsafe { &*self.buckets[key as usize % BUCKETS].load(Acquire) };
        let value = (found.key == key).then(|| found.value.load(Relaxed));
        self.readers.fetch_sub(1, Release);
        value
    }

    fn set(&self, key: u64, value: u64, grace: Grace) {
        let old = self.buckets[key as usize % BUCKETS].swap(entry(key, value), SeqCst);
        if grace != Grace::Unfenced {
            fence(SeqCst);
        }
        if grace != Grace::None {
            spin::until(|| (self.readers.load(Acquire) == 0).then_some(()));
        }
        // SAFETY: it is out of the table, and nobody reads it, if `grace` is enough.
        drop(unsafe { Box::from_raw(old) });
    }
}

fn client(grace: Grace) -> impl Fn() + Send + Sync + Copy + 'static {
    move || {
        let table = Arc::new(Table::new());
        let reader = thread::spawn({
            let table = table.clone();
            move || [table.get(2, grace), table.get(0, grace)]
        });
        table.set(0, 20, grace);
        // An entry that may come back.
        table.set(0, 30, grace);
        let [other, own] = reader.join().unwrap();
        assert!(other.is_none() && [Some(10), Some(20), Some(30)].contains(&own));
        for bucket in &table.buckets {
            // SAFETY: nobody else has it.
            drop(unsafe { Box::from_raw(bucket.load(Relaxed)) });
        }
    }
}

#[test]
fn a_grace_period() {
    passes(client(Grace::Waits));
}

#[test]
fn no_grace_period_or_one_without_fences() {
    for grace in [Grace::None, Grace::Unfenced] {
        let violation = finds(client(grace));
        assert!(is_use_after_free(&violation), "{violation}");
    }
}
