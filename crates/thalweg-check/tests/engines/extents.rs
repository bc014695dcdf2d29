//! Accesses of different extent to the same memory: slots, and batches of them. Accesses of different kind: atomic and exclusive
//! ones.
#![allow(clippy::disallowed_types, reason = "the client has exclusive access by a mistake, as unsafe code would")]

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use thalweg_check::{Check, Rule, Violation};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::cell::Slot;
use thalweg_sync::hint::{Access, touch};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

fn finds(client: impl Fn() + Send + Sync + 'static) -> Violation {
    Check::new().run(client).expect_err("the mistake is not found")
}

/// Accesses both slots as one piece of memory.
fn both<T>(slots: &[Slot<T>; 2], access: Access) {
    touch(slots.as_ptr().cast(), size_of_val(slots), access);
}

/// Accesses one of them.
fn one<T>(slot: &Slot<T>, access: Access) {
    match access {
        Access::Read => slot.with(|_| ()),
        Access::Write => slot.with_mut(|_| ()),
    }
}

#[test]
fn what_is_written_as_a_batch_is_read_as_slots() {
    fn client(writes: bool) {
        let slots = Arc::new([(); 2].map(|()| Slot::new(MaybeUninit::<u64>::uninit())));
        match writes {
            true => both(&slots, Access::Write),
            false => one(&slots[0], Access::Write),
        }
        let other = thread::spawn({
            let slots = slots.clone();
            move || slots.iter().for_each(|slot| one(slot, Access::Read))
        });
        other.join().unwrap();
    }
    Check::new().check(|| client(true));
    assert!(matches!(finds(|| client(false)).rule(), Rule::Uninitialised { thread: 1, .. }), "half of it");
}

/// Memory that was accessed as a batch, and each slot alone: neither history has all of it.
#[test]
fn a_slot_races_with_a_batch() {
    fn client(writes: [bool; 2], place: usize, waits: bool) {
        let [batch, alone] = writes.map(|writes| if writes { Access::Write } else { Access::Read });
        let slots = Arc::new([0_u64, 0].map(Slot::new));
        both(&slots, Access::Read);
        slots.iter().for_each(|slot| one(slot, Access::Read));
        let other = thread::spawn({
            let slots = slots.clone();
            move || both(&slots, batch)
        });
        if waits {
            other.join().unwrap();
            one(&slots[place], alone);
        } else {
            one(&slots[place], alone);
            other.join().unwrap();
        }
    }
    for place in [0, 1] {
        for writes in [[true, false], [false, true], [true, true]] {
            let violation = finds(move || client(writes, place, false));
            assert!(matches!(violation.rule(), Rule::Race { .. }), "slot {place}: {violation}");
            Check::new().check(move || client(writes, place, true));
        }
        Check::new().check(move || client([false, false], place, false));
    }
}

/// A batch that is read says nothing of the extent of what was written before it.
#[test]
fn a_write_of_one_slot_is_none_of_the_next() {
    Check::new().check(|| {
        let slots = Arc::new([0_u64, 0].map(Slot::new));
        let other = thread::spawn({
            let slots = slots.clone();
            move || one(&slots[1], Access::Read)
        });
        one(&slots[0], Access::Write);
        both(&slots, Access::Read);
        other.join().unwrap();
    });
}

/// An atomic to which somebody may have exclusive access, by a protocol.
struct Exclusive(UnsafeCell<AtomicU64>);

// SAFETY: the checker runs one thread at a time, and no reference outlives the call that it is made for.
unsafe impl Sync for Exclusive {}

impl Exclusive {
    fn shared(&self) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { &*self.0.get() }
    }

    fn set(&self, value: u64) {
        // SAFETY: as above.
        let atomic = unsafe { &mut *self.0.get() };
        *atomic.get_mut() = value;
    }
}

/// One thread has the atomic to itself, before or after another one accesses it, which nothing orders.
#[test]
fn exclusive_access_to_an_atomic_races_with_others() {
    let accesses: [fn(&AtomicU64); 4] = [
        |atomic| _ = atomic.load(Relaxed),
        |atomic| atomic.store(7, Relaxed),
        |atomic| _ = atomic.fetch_add(1, Relaxed),
        |atomic| _ = atomic.compare_exchange(9, 1, Relaxed, Relaxed),
    ];
    for access in accesses {
        for first in [false, true] {
            let violation = finds(move || {
                let object = Arc::new(Exclusive(UnsafeCell::new(AtomicU64::new(0))));
                let other = thread::spawn({
                    let object = object.clone();
                    move || if first { access(object.shared()) } else { object.set(2) }
                });
                // It comes before what the other thread does, which is run when this one waits.
                if first {
                    object.set(2)
                } else {
                    access(object.shared())
                }
                other.join().unwrap();
            });
            assert!(matches!(violation.rule(), Rule::Race { threads: [0, 1], .. }), "{violation}");
            assert!(violation.to_string().contains(" of the atomic, races with thread "), "{violation}");
        }
    }
}

#[test]
fn exclusive_access_that_is_ordered() {
    let explored = Check::new().check(|| {
        let object = Arc::new((Exclusive(UnsafeCell::new(AtomicU64::new(0))), AtomicU64::new(0)));
        object.0.set(1);
        let other = thread::spawn({
            let object = object.clone();
            move || {
                assert_eq!(object.0.shared().fetch_add(1, Relaxed), 1);
                object.1.store(1, Release);
            }
        });
        if object.1.load(Acquire) == 1 {
            object.0.set(3);
            assert_eq!(object.0.shared().load(Relaxed), 3);
        }
        other.join().unwrap();
    });
    assert_eq!(explored.complete, 2);
}
