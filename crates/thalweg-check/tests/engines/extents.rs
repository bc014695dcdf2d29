//! Accesses of different extent to the same memory: slots, and batches of them.

use std::mem::MaybeUninit;
use thalweg_check::{Check, Rule, Violation};
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
