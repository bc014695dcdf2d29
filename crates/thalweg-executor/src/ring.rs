//! A ring of which thieves take half: the form of local queue that Tokio and Go have, to compare with.
//!
//! # Invariants
//!
//! - **R1** `free ≤ first ≤ last ≤ free + ENTRIES`, modulo 2^32. Entries from `first` to `last` are in the queue; those from `free` to `first` were taken by one
//!   thief, which is reading them.
//! - **R2** Only the owner writes `last`, and writes to entries at it. `first` and `free` are one word: who moves `first` by an exact exchange has the entries
//!   that it has moved over.
//! - **R3** A thief comes in only while `free` is `first`, and moves `first` alone; the owner moves both meanwhile only if no thief is in. The thief lets
//!   `free` follow when it has read.

use crate::local::LocalQueue;
use crate::task::TaskRef;
use core::fmt;
use core::mem::MaybeUninit;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicU32, AtomicU64};
use thalweg_sync::cell::Slot;
use thalweg_sync::sync::Arc;

/// A bounded ring, of which a thief takes half at once. Thieves see everything at any time; the owner's pop is a compare-and-exchange. 256 entries unless
/// it is said, a power of two.
pub struct Ring<const ENTRIES: usize = 256> {
    entries: Arc<Entries<ENTRIES>>,
}

/// The thieves' end of a [`Ring`].
pub struct Thief<const ENTRIES: usize> {
    entries: Arc<Entries<ENTRIES>>,
}

struct Entries<const ENTRIES: usize> {
    front: CachePadded<AtomicU64>,
    last: CachePadded<AtomicU32>,
    slots: Box<[Slot<MaybeUninit<TaskRef>>]>,
}

/// | 63 ..= 32 | 31 ..= 0 |
/// |-----------|----------|
/// | `free`    | `first`  |
#[derive(Clone, Copy, PartialEq, Eq)]
struct Front {
    free: u32,
    first: u32,
}

impl Front {
    fn of(word: u64) -> Self {
        Self { free: (word >> 32) as u32, first: word as u32 }
    }

    fn word(self) -> u64 {
        u64::from(self.free) << 32 | u64::from(self.first)
    }

    /// The front after `entries` were taken. `free` follows unless a thief is reading.
    fn after(self, entries: u32) -> Self {
        let first = self.first.wrapping_add(entries);
        Self { free: if self.has_thief() { self.free } else { first }, first }
    }

    fn has_thief(self) -> bool {
        self.free != self.first
    }
}

impl<const ENTRIES: usize> Entries<ENTRIES> {
    fn front(&self) -> Front {
        // (ring.1) Acquire, pairs with (ring.2): an entry is written again when it was read.
        Front::of(self.front.load(Acquire))
    }

    fn exchange(&self, old: Front, new: Front) -> Result<(), Front> {
        // (ring.2) Release, pairs with (ring.1). Acquire: the next one to take sees the last one's move.
        let exchanged = self.front.compare_exchange(old.word(), new.word(), AcqRel, Acquire);
        exchanged.map(drop).map_err(Front::of)
    }

    /// # Safety
    ///
    /// The entry was written and is the caller's, who reads it once (R2).
    unsafe fn read(&self, at: u32) -> TaskRef {
        // SAFETY: the caller's promise.
        self.slots[at as usize % ENTRIES].with(|slot| unsafe { (*slot).assume_init_read() })
    }

    fn is_empty(&self) -> bool {
        let front = self.front();
        // Acquire: as for a thief that comes in.
        self.last.load(Acquire) == front.first
    }
}

impl<const ENTRIES: usize> Drop for Entries<ENTRIES> {
    fn drop(&mut self) {
        // Relaxed: nobody else is left.
        let (front, last) = (Front::of(self.front.load(Relaxed)), self.last.load(Relaxed));
        for at in 0..last.wrapping_sub(front.first) {
            // SAFETY: it is in the queue (R1), and `&mut self` is alone.
            drop(unsafe { self.read(front.first.wrapping_add(at)) });
        }
    }
}

impl<const ENTRIES: usize> Ring<ENTRIES> {
    fn last(&self) -> u32 {
        // Relaxed: only the owner writes it.
        self.entries.last.load(Relaxed)
    }
}

impl<const ENTRIES: usize> LocalQueue for Ring<ENTRIES> {
    type Thief = Thief<ENTRIES>;

    fn new() -> (Self, Self::Thief) {
        const { assert!(ENTRIES.is_power_of_two() && ENTRIES <= 1 << 31, "a ring has a power of two of entries") };
        let entries = Arc::new(Entries {
            front: CachePadded::default(),
            last: CachePadded::default(),
            slots: (0..ENTRIES).map(|_| Slot::new(MaybeUninit::uninit())).collect(),
        });
        (Self { entries: entries.clone() }, Thief { entries })
    }

    fn push(&mut self, task: TaskRef) -> Result<(), TaskRef> {
        let (front, last) = (self.entries.front(), self.last());
        if last.wrapping_sub(front.free) as usize >= ENTRIES {
            return Err(task);
        }
        // SAFETY: the entry is free (R1), and only the owner writes there (R2).
        self.entries.slots[last as usize % ENTRIES].with_mut(|slot| unsafe { _ = (*slot).write(task) });
        // (ring.3) Release, pairs with (ring.4): whoever sees the entry counted sees what is in it.
        self.entries.last.store(last.wrapping_add(1), Release);
        Ok(())
    }

    fn pop(&mut self) -> Option<TaskRef> {
        let (mut front, last) = (self.entries.front(), self.last());
        while front.first != last {
            match self.entries.exchange(front, front.after(1)) {
                // SAFETY: the owner wrote it, and has moved over it (R2).
                Ok(()) => return Some(unsafe { self.entries.read(front.first) }),
                Err(now) => front = now,
            }
        }
        None
    }

    fn overflow(&mut self, into: &mut Vec<TaskRef>) {
        let front = self.entries.front();
        let half = self.last().wrapping_sub(front.first).div_ceil(2);
        if !front.has_thief() && self.entries.exchange(front, front.after(half)).is_ok() {
            // SAFETY: as in `pop`. Only the owner writes there again, so `free` may have followed.
            into.extend((0..half).map(|at| unsafe { self.entries.read(front.first.wrapping_add(at)) }));
        }
    }

    fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn share(&mut self) {}

    fn steal(thief: &Self::Thief, into: &mut Vec<TaskRef>) -> bool {
        let entries = &*thief.entries;
        let front = entries.front();
        // (ring.4) Acquire, pairs with (ring.3).
        let last = entries.last.load(Acquire);
        let half = last.wrapping_sub(front.first).div_ceil(2);
        let mut now = Front { first: front.first.wrapping_add(half), ..front };
        if half == 0 || front.has_thief() || entries.exchange(front, now).is_err() {
            return false;
        }
        // SAFETY: we have moved over them, and `free` keeps the owner from writing there (R3). They are in the queue: `last` was read after
        // `front`, which has not changed.
        into.extend((0..half).map(|at| unsafe { entries.read(front.first.wrapping_add(at)) }));
        while let Err(moved) = entries.exchange(now, Front { free: now.first, ..now }) {
            now = moved;
        }
        true
    }

    fn has_some(thief: &Self::Thief) -> bool {
        !thief.entries.is_empty()
    }
}

impl<const ENTRIES: usize> fmt::Debug for Ring<ENTRIES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").field("empty", &self.is_empty()).finish_non_exhaustive()
    }
}

impl<const ENTRIES: usize> fmt::Debug for Thief<ENTRIES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thief").field("empty", &self.entries.is_empty()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::Shared;
    use thalweg_check::Check;
    use thalweg_sync::thread;

    /// Four tasks through two entries, with a thief: each entry is used twice. The thread that takes a task cancels it, and that drops the task's value once.
    #[test]
    fn each_task_goes_to_one() {
        let client = || {
            let shared = Arc::new(Shared::new(1));
            let (mut own, thief) = <Ring<2>>::new();
            let alive = Arc::new(());
            let other = thread::spawn(move || {
                let mut loot = Vec::new();
                Ring::steal(&thief, &mut loot);
                loot
            });
            let (mut popped, mut refused) = (Vec::new(), Vec::new());
            for n in 0..4 {
                let held = alive.clone();
                let (task, _) = TaskRef::new(shared.clone(), 0, async move { drop(held) });
                task.set_place(n);
                refused.extend(own.push(task).err());
                if n % 2 == 1 {
                    popped.extend(own.pop());
                }
            }
            let stolen = other.join().unwrap();
            popped.extend(core::iter::from_fn(|| own.pop()));
            let order = |tasks: &[TaskRef]| tasks.iter().map(TaskRef::place).collect::<Vec<_>>();
            assert!(order(&popped).is_sorted() && order(&stolen).is_sorted());
            let mut all = [order(&popped), order(&stolen), order(&refused)].concat();
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3]);
            assert_eq!(shared.registry.close().count(), 0);
            popped.into_iter().chain(stolen).chain(refused).for_each(|task| task.cancel_now());
            assert!(Arc::into_inner(alive).is_some());
        };
        Check::new().max_executions(Some(2000)).check(client);
    }
}
