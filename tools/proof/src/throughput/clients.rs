//! The clients, written once for both checkers.
//!
//! Each thread notes the value of every read, and each location has a writer at a time and values that do not come
//! again. So the notes tell what each read reads, and with that the modification orders: two executions are the same
//! exactly if their notes are.

/// What a thread read, in its order.
pub(super) type Notes = Vec<u64>;

/// The clients in one world: `$world` has its atomics, cells, handles and threads.
macro_rules! clients {
    ($world:path) => {
        use super::Notes;
        use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
        use $world::{Arc, AtomicU64, Cell, spawn};

        /// A cell that threads hand to each other.
        struct Entry {
            turn: AtomicU64,
            item: Cell<u64>,
        }

        // SAFETY: the protocols below give an item to one thread at a time; both checkers watch that.
        unsafe impl Sync for Entry {}

        impl Entry {
            fn new(turn: u64) -> Self {
                Self { turn: AtomicU64::new(turn), item: Cell::new(0) }
            }

            fn write(&self, item: u64) {
                // SAFETY: the caller has the entry.
                self.item.with_mut(|place| unsafe { *place = item });
            }

            fn read(&self) -> u64 {
                // SAFETY: the caller has the entry.
                self.item.with(|place| unsafe { *place })
            }
        }

        /// Lamport's queue with two entries, `attempts` to push and as many to pop.
        pub(in super::super) fn ring(attempts: u64) -> impl Fn(&dyn Fn(Notes)) + Copy {
            move |done| {
                let head = Arc::new(AtomicU64::new(0));
                let tail = Arc::new(AtomicU64::new(0));
                let entries = Arc::new([Entry::new(0), Entry::new(0)]);
                let producer = spawn({
                    let (head, tail, entries) = (head.clone(), tail.clone(), entries.clone());
                    move || {
                        let mut notes = Notes::new();
                        let mut next = 0;
                        for _ in 0..attempts {
                            let taken = head.load(Acquire);
                            notes.push(taken);
                            if next < taken + 2 {
                                entries[next as usize % 2].write(next);
                                next += 1;
                                tail.store(next, Release);
                            }
                        }
                        notes
                    }
                });
                let mut notes = Notes::new();
                let mut next = 0;
                for _ in 0..attempts {
                    let filled = tail.load(Acquire);
                    notes.push(filled);
                    if next < filled {
                        assert_eq!(entries[next as usize % 2].read(), next);
                        next += 1;
                        head.store(next, Release);
                    }
                }
                notes.extend(producer.join().unwrap());
                done(notes);
            }
        }

        /// A queue for many of either with two entries, each with its turn. A push and a pop are tried once.
        struct Shared {
            head: AtomicU64,
            tail: AtomicU64,
            entries: [Entry; 2],
        }

        impl Shared {
            fn push(&self, item: u64, notes: &mut Notes) {
                let tail = self.tail.load(Relaxed);
                let entry = &self.entries[tail as usize % 2];
                let turn = entry.turn.load(Acquire);
                notes.extend([tail, turn]);
                if turn != tail {
                    return;
                }
                let won = self.tail.compare_exchange(tail, tail + 1, Relaxed, Relaxed);
                notes.push(won.unwrap_or_else(|found| found));
                if won.is_ok() {
                    entry.write(item);
                    entry.turn.store(tail + 1, Release);
                }
            }

            fn pop(&self, notes: &mut Notes) {
                let head = self.head.load(Relaxed);
                let entry = &self.entries[head as usize % 2];
                let turn = entry.turn.load(Acquire);
                notes.extend([head, turn]);
                if turn != head + 1 {
                    return;
                }
                let won = self.head.compare_exchange(head, head + 1, Relaxed, Relaxed);
                notes.push(won.unwrap_or_else(|found| found));
                if won.is_ok() {
                    assert_ne!(entry.read(), 0);
                    entry.turn.store(head + 2, Release);
                }
            }
        }

        /// The shared queue with an item in it; each of these threads tries to push or to pop so many times.
        pub(in super::super) fn queue(pushes: &'static [u64], pops: &'static [u64]) -> impl Fn(&dyn Fn(Notes)) + Copy {
            move |done| {
                let queue = Arc::new(Shared {
                    head: AtomicU64::new(0),
                    tail: AtomicU64::new(0),
                    entries: [Entry::new(0), Entry::new(1)],
                });
                let mut notes = Notes::new();
                queue.push(1, &mut notes);
                let roles = pushes.iter().map(|&n| (true, n)).chain(pops.iter().map(|&n| (false, n)));
                let threads = roles.map(|(pushes, attempts)| {
                    let queue = queue.clone();
                    spawn(move || {
                        let mut notes = Notes::new();
                        for item in 0..attempts {
                            if pushes {
                                queue.push(2 + item, &mut notes);
                            } else {
                                queue.pop(&mut notes);
                            }
                        }
                        // What ends one thread's notes is no value.
                        notes.push(u64::MAX);
                        notes
                    })
                });
                let threads: Vec<_> = threads.collect();
                for thread in threads {
                    notes.extend(thread.join().unwrap());
                }
                done(notes);
            }
        }

        /// Threads that add to one counter, so many times each.
        pub(in super::super) fn count(threads: usize, times: usize) -> impl Fn(&dyn Fn(Notes)) + Copy {
            move |done| {
                let counter = Arc::new(AtomicU64::new(0));
                let threads: Vec<_> = (0..threads)
                    .map(|_| {
                        let counter = counter.clone();
                        spawn(move || (0..times).map(|_| counter.fetch_add(1, AcqRel)).collect::<Notes>())
                    })
                    .collect();
                done(threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect());
            }
        }
    };
}

/// Under this checker.
pub(super) mod ours {
    mod world {
        pub(super) use thalweg_sync::atomic::AtomicU64;
        pub(super) use thalweg_sync::cell::Slot as Cell;
        pub(super) use thalweg_sync::sync::Arc;
        pub(super) use thalweg_sync::thread::spawn;
    }
    clients!(self::world);
}

/// Under loom.
pub(super) mod theirs {
    mod world {
        pub(super) use loom::sync::Arc;
        pub(super) use loom::sync::atomic::AtomicU64;
        pub(super) use loom::thread::spawn;
        pub(super) type Cell<T> = loom::cell::UnsafeCell<T>;
    }
    clients!(self::world);
}
