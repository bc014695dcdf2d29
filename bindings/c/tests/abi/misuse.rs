//! NULL where it may not be: refused, and nothing is lost.

use crate::item;
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use thalweg_queue_c::Status::{self, Closed, Invalid, Ok};
use thalweg_queue_c::bbq::*;
use thalweg_queue_c::bwos::*;
use thalweg_queue_c::bwos_records::*;
use thalweg_queue_c::records::*;
use thalweg_queue_c::spsc::*;
use thalweg_queue_c::spsc_records::*;

fn all_invalid(statuses: &[Status]) {
    for (at, status) in statuses.iter().enumerate() {
        assert_eq!(*status, Invalid, "number {at}");
    }
}

#[test]
fn no_handle_is_refused() {
    let mut popped = item(1);
    let mut counts = [9; 9];
    let [a, b, c, d, e, f, g, h, i] = counts.each_mut();
    let mut bytes = [0_u8; 8];
    let from: *const c_void = bytes.as_ptr().cast();
    let to: *mut c_void = bytes.as_mut_ptr().cast();
    let items = [item(2)];
    let mut places = [item(3)];
    all_invalid(&[
        c!(thalweg_spsc_try_push(null_mut(), item(2))),
        c!(thalweg_spsc_push(null_mut(), item(2))),
        c!(thalweg_spsc_push_timeout(null_mut(), item(2), 0)),
        c!(thalweg_spsc_try_push_many(null_mut(), items.as_ptr(), 1, a)),
        c!(thalweg_spsc_try_pop(null_mut(), &mut popped)),
        c!(thalweg_spsc_pop(null_mut(), &mut popped)),
        c!(thalweg_spsc_pop_timeout(null_mut(), &mut popped, 0)),
        c!(thalweg_spsc_try_pop_many(null_mut(), places.as_mut_ptr(), 1, b)),
        c!(thalweg_bbq_try_push(null(), item(2))),
        c!(thalweg_bbq_push(null(), item(2))),
        c!(thalweg_bbq_push_timeout(null(), item(2), 0)),
        c!(thalweg_bbq_try_push_many(null(), items.as_ptr(), 1, c)),
        c!(thalweg_bbq_try_pop(null(), &mut popped)),
        c!(thalweg_bbq_pop(null(), &mut popped)),
        c!(thalweg_bbq_pop_timeout(null(), &mut popped, 0)),
        c!(thalweg_bbq_try_pop_many(null(), places.as_mut_ptr(), 1, d)),
        c!(thalweg_records_try_push(null(), from)),
        c!(thalweg_records_push(null(), from)),
        c!(thalweg_records_push_timeout(null(), from, 0)),
        c!(thalweg_records_try_push_many(null(), from, 1, e)),
        c!(thalweg_records_try_pop(null(), to)),
        c!(thalweg_records_pop(null(), to)),
        c!(thalweg_records_pop_timeout(null(), to, 0)),
        c!(thalweg_records_try_pop_many(null(), to, 1, f)),
        c!(thalweg_bwos_push(null_mut(), item(2))),
        c!(thalweg_bwos_pop(null_mut(), &mut popped)),
        c!(thalweg_bwos_push_many(null_mut(), items.as_ptr(), 1, h)),
        c!(thalweg_bwos_pop_many(null_mut(), places.as_mut_ptr(), 1, i)),
        c!(thalweg_bwos_share(null_mut())),
        c!(thalweg_bwos_steal(null_mut(), &mut popped)),
        c!(thalweg_bwos_steal_many(null_mut(), places.as_mut_ptr(), 1, g)),
    ]);
    assert_eq!((popped, places), (item(1), [item(3)]));
    assert_eq!(counts, [0; 9]);

    let sizes = [
        c!(thalweg_spsc_producer_capacity(null())),
        c!(thalweg_spsc_consumer_capacity(null())),
        c!(thalweg_spsc_consumer_len(null())),
        c!(thalweg_bbq_producer_capacity(null())),
        c!(thalweg_bbq_consumer_capacity(null())),
        c!(thalweg_bbq_producer_len(null())),
        c!(thalweg_bbq_consumer_len(null())),
        c!(thalweg_records_producer_capacity(null())),
        c!(thalweg_records_consumer_capacity(null())),
        c!(thalweg_records_producer_len(null())),
        c!(thalweg_records_consumer_len(null())),
        c!(thalweg_records_producer_entry_size(null())),
        c!(thalweg_records_consumer_entry_size(null())),
        c!(thalweg_bwos_owner_len(null())),
        c!(thalweg_bwos_owner_capacity(null())),
        c!(thalweg_bwos_thief_len(null())),
        c!(thalweg_bwos_thief_capacity(null())),
    ];
    assert_eq!(sizes, [0; 17]);
    let closed = [
        c!(thalweg_spsc_producer_is_closed(null())),
        c!(thalweg_spsc_consumer_is_closed(null())),
        c!(thalweg_bbq_producer_is_closed(null())),
        c!(thalweg_bbq_consumer_is_closed(null())),
        c!(thalweg_records_producer_is_closed(null())),
        c!(thalweg_records_consumer_is_closed(null())),
        c!(thalweg_bwos_thief_is_closed(null())),
    ];
    assert_eq!(closed, [true; 7]);
    assert!(c!(thalweg_bbq_producer_clone(null())).is_null());
    assert!(c!(thalweg_bbq_consumer_clone(null())).is_null());
    assert!(c!(thalweg_records_producer_clone(null())).is_null());
    assert!(c!(thalweg_records_consumer_clone(null())).is_null());
    assert!(c!(thalweg_bwos_thief_new(null())).is_null());
    assert!(c!(thalweg_bwos_thief_clone(null())).is_null());
    c!(thalweg_spsc_producer_free(null_mut()));
    c!(thalweg_spsc_consumer_free(null_mut()));
    c!(thalweg_bbq_producer_free(null_mut()));
    c!(thalweg_bbq_consumer_free(null_mut()));
    c!(thalweg_records_producer_free(null_mut()));
    c!(thalweg_records_consumer_free(null_mut()));
    c!(thalweg_bwos_owner_free(null_mut()));
    c!(thalweg_bwos_thief_free(null_mut()));
}

#[test]
fn no_handle_is_refused_by_queues_of_bytes() {
    let mut counts = [9; 5];
    let [a, b, c, d, e] = counts.each_mut();
    let mut bytes = [7_u8; 8];
    let entry = [1_u8; 8];
    let (from, to) = (entry.as_ptr().cast(), bytes.as_mut_ptr().cast());
    all_invalid(&[
        c!(thalweg_spsc_records_try_push(null_mut(), from)),
        c!(thalweg_spsc_records_push(null_mut(), from)),
        c!(thalweg_spsc_records_push_timeout(null_mut(), from, 0)),
        c!(thalweg_spsc_records_try_push_many(null_mut(), from, 1, a)),
        c!(thalweg_spsc_records_try_pop(null_mut(), to)),
        c!(thalweg_spsc_records_pop(null_mut(), to)),
        c!(thalweg_spsc_records_pop_timeout(null_mut(), to, 0)),
        c!(thalweg_spsc_records_try_pop_many(null_mut(), to, 1, b)),
        c!(thalweg_bwos_records_push(null_mut(), from)),
        c!(thalweg_bwos_records_pop(null_mut(), to)),
        c!(thalweg_bwos_records_push_many(null_mut(), from, 1, d)),
        c!(thalweg_bwos_records_pop_many(null_mut(), to, 1, e)),
        c!(thalweg_bwos_records_share(null_mut())),
        c!(thalweg_bwos_records_steal(null_mut(), to)),
        c!(thalweg_bwos_records_steal_many(null_mut(), to, 1, c)),
    ]);
    assert_eq!((bytes, counts), ([7; 8], [0; 5]));
    let sizes = [
        c!(thalweg_spsc_records_producer_entry_size(null())),
        c!(thalweg_spsc_records_consumer_entry_size(null())),
        c!(thalweg_spsc_records_producer_capacity(null())),
        c!(thalweg_spsc_records_consumer_capacity(null())),
        c!(thalweg_spsc_records_consumer_len(null())),
        c!(thalweg_bwos_records_owner_entry_size(null())),
        c!(thalweg_bwos_records_owner_len(null())),
        c!(thalweg_bwos_records_owner_capacity(null())),
        c!(thalweg_bwos_records_thief_entry_size(null())),
        c!(thalweg_bwos_records_thief_len(null())),
        c!(thalweg_bwos_records_thief_capacity(null())),
    ];
    assert_eq!(sizes, [0; 11]);
    let closed = [
        c!(thalweg_spsc_records_producer_is_closed(null())),
        c!(thalweg_spsc_records_consumer_is_closed(null())),
        c!(thalweg_bwos_records_thief_is_closed(null())),
    ];
    assert_eq!(closed, [true; 3]);
    assert!(c!(thalweg_bwos_records_thief_new(null())).is_null());
    assert!(c!(thalweg_bwos_records_thief_clone(null())).is_null());
    c!(thalweg_spsc_records_producer_free(null_mut()));
    c!(thalweg_spsc_records_consumer_free(null_mut()));
    c!(thalweg_bwos_records_owner_free(null_mut()));
    c!(thalweg_bwos_records_thief_free(null_mut()));
}

#[test]
fn no_place_is_refused_and_takes_nothing() {
    let (mut tx, mut rx) = (null_mut(), null_mut());
    assert_eq!(c!(thalweg_spsc_new(8, 0, &mut tx, &mut rx, null_mut(), 0)), Ok);
    assert_eq!(c!(thalweg_spsc_push(tx, item(8))), Ok);
    let mut count = 9;
    let mut places = [item(1)];
    all_invalid(&[
        c!(thalweg_spsc_try_pop(rx, null_mut())),
        c!(thalweg_spsc_pop(rx, null_mut())),
        c!(thalweg_spsc_pop_timeout(rx, null_mut(), 0)),
        c!(thalweg_spsc_try_pop_many(rx, null_mut(), 1, &mut count)),
        c!(thalweg_spsc_try_pop_many(rx, places.as_mut_ptr(), 1, null_mut())),
        c!(thalweg_spsc_try_pop_many(rx, places.as_mut_ptr(), usize::MAX, &mut count)),
        c!(thalweg_spsc_try_push_many(tx, null(), 1, &mut count)),
        c!(thalweg_spsc_try_push_many(tx, places.as_ptr(), 1, null_mut())),
        c!(thalweg_spsc_try_push_many(tx, places.as_ptr(), usize::MAX, &mut count)),
    ]);
    assert_eq!(count, 0);
    assert_eq!(c!(thalweg_spsc_try_push_many(tx, null(), 0, &mut count)), Ok);
    c!(thalweg_spsc_producer_free(tx));
    assert_eq!((c!(thalweg_spsc_try_pop(rx, &mut places[0])), places), (Ok, [item(8)]));
    assert_eq!(c!(thalweg_spsc_try_pop(rx, &mut places[0])), Closed);
    c!(thalweg_spsc_consumer_free(rx));

    let (mut tx, mut rx) = (null_mut(), null_mut());
    assert_eq!(c!(thalweg_records_new(32, 2, 4, 0, &mut tx, &mut rx, null_mut(), 0)), Ok);
    assert_eq!(c!(thalweg_records_push(tx, [7_u8; 32].as_ptr().cast())), Ok);
    all_invalid(&[
        c!(thalweg_records_try_pop(rx, null_mut())),
        c!(thalweg_records_pop(rx, null_mut())),
        c!(thalweg_records_pop_timeout(rx, null_mut(), 0)),
        c!(thalweg_records_try_pop_many(rx, null_mut(), 1, &mut count)),
        c!(thalweg_records_try_push(tx, null())),
        c!(thalweg_records_push(tx, null())),
        c!(thalweg_records_push_timeout(tx, null(), 0)),
        c!(thalweg_records_try_push_many(tx, null(), 1, &mut count)),
    ]);
    let mut record = [0_u8; 32];
    c!(thalweg_records_producer_free(tx));
    assert_eq!((c!(thalweg_records_try_pop(rx, record.as_mut_ptr().cast())), record), (Ok, [7; 32]));
    assert_eq!(c!(thalweg_records_try_pop(rx, record.as_mut_ptr().cast())), Closed);
    c!(thalweg_records_consumer_free(rx));

    let (mut owner, mut thief) = (null_mut(), null_mut());
    assert_eq!(c!(thalweg_bwos_new_fifo(2, 4, &mut owner, &mut thief, null_mut(), 0)), Ok);
    assert_eq!(c!(thalweg_bwos_push(owner, item(8))), Ok);
    all_invalid(&[
        c!(thalweg_bwos_pop(owner, null_mut())),
        c!(thalweg_bwos_push_many(owner, null(), 1, &mut count)),
        c!(thalweg_bwos_push_many(owner, places.as_ptr(), 1, null_mut())),
        c!(thalweg_bwos_push_many(owner, places.as_ptr(), usize::MAX, &mut count)),
        c!(thalweg_bwos_pop_many(owner, null_mut(), 1, &mut count)),
        c!(thalweg_bwos_pop_many(owner, places.as_mut_ptr(), 1, null_mut())),
        c!(thalweg_bwos_pop_many(owner, places.as_mut_ptr(), usize::MAX, &mut count)),
    ]);
    assert_eq!((count, c!(thalweg_bwos_owner_len(owner))), (0, 1));
    assert_eq!(c!(thalweg_bwos_share(owner)), Ok);
    all_invalid(&[
        c!(thalweg_bwos_steal(thief, null_mut())),
        c!(thalweg_bwos_steal_many(thief, null_mut(), 1, &mut count)),
        c!(thalweg_bwos_steal_many(thief, places.as_mut_ptr(), 1, null_mut())),
    ]);
    assert_eq!((c!(thalweg_bwos_steal(thief, &mut places[0])), places), (Ok, [item(8)]));
    c!(thalweg_bwos_owner_free(owner));
    c!(thalweg_bwos_thief_free(thief));
}

#[test]
fn no_place_for_a_copy_is_refused_and_takes_nothing() {
    let mut count = 9;
    // Of those that are copied by value, and of the others.
    for size in [8, 32] {
        let (entry, mut popped) = ([7_u8; 32], [0_u8; 32]);
        let (from, to) = (entry.as_ptr().cast(), popped.as_mut_ptr().cast());
        let (mut tx, mut rx) = (null_mut(), null_mut());
        assert_eq!(c!(thalweg_spsc_records_new(size, 8, 0, &mut tx, &mut rx, null_mut(), 0)), Ok);
        assert_eq!(c!(thalweg_spsc_records_push(tx, from)), Ok);
        all_invalid(&[
            c!(thalweg_spsc_records_try_pop(rx, null_mut())),
            c!(thalweg_spsc_records_pop(rx, null_mut())),
            c!(thalweg_spsc_records_pop_timeout(rx, null_mut(), 0)),
            c!(thalweg_spsc_records_try_pop_many(rx, null_mut(), 1, &mut count)),
            c!(thalweg_spsc_records_try_pop_many(rx, to, 1, null_mut())),
            c!(thalweg_spsc_records_try_pop_many(rx, to, usize::MAX, &mut count)),
            c!(thalweg_spsc_records_try_push(tx, null())),
            c!(thalweg_spsc_records_push(tx, null())),
            c!(thalweg_spsc_records_push_timeout(tx, null(), 0)),
            c!(thalweg_spsc_records_try_push_many(tx, null(), 1, &mut count)),
            c!(thalweg_spsc_records_try_push_many(tx, from, 1, null_mut())),
            c!(thalweg_spsc_records_try_push_many(tx, from, usize::MAX, &mut count)),
        ]);
        assert_eq!(count, 0);
        c!(thalweg_spsc_records_producer_free(tx));
        assert_eq!(c!(thalweg_spsc_records_try_pop(rx, to)), Ok);
        assert_eq!(c!(thalweg_spsc_records_try_pop(rx, to)), Closed);
        c!(thalweg_spsc_records_consumer_free(rx));
        assert_eq!(popped[..size], entry[..size]);

        popped.fill(0);
        let to = popped.as_mut_ptr().cast();
        let (mut owner, mut thief) = (null_mut(), null_mut());
        assert_eq!(c!(thalweg_bwos_records_new_fifo(size, 2, 4, &mut owner, &mut thief, null_mut(), 0)), Ok);
        assert_eq!(c!(thalweg_bwos_records_push(owner, from)), Ok);
        all_invalid(&[
            c!(thalweg_bwos_records_push(owner, null())),
            c!(thalweg_bwos_records_pop(owner, null_mut())),
            c!(thalweg_bwos_records_push_many(owner, null(), 1, &mut count)),
            c!(thalweg_bwos_records_push_many(owner, from, 1, null_mut())),
            c!(thalweg_bwos_records_push_many(owner, from, usize::MAX, &mut count)),
            c!(thalweg_bwos_records_pop_many(owner, null_mut(), 1, &mut count)),
            c!(thalweg_bwos_records_pop_many(owner, to, 1, null_mut())),
            c!(thalweg_bwos_records_pop_many(owner, to, usize::MAX, &mut count)),
        ]);
        assert_eq!((count, c!(thalweg_bwos_records_owner_len(owner))), (0, 1));
        assert_eq!(c!(thalweg_bwos_records_share(owner)), Ok);
        all_invalid(&[
            c!(thalweg_bwos_records_steal(thief, null_mut())),
            c!(thalweg_bwos_records_steal_many(thief, null_mut(), 1, &mut count)),
            c!(thalweg_bwos_records_steal_many(thief, to, 1, null_mut())),
            c!(thalweg_bwos_records_steal_many(thief, to, usize::MAX, &mut count)),
        ]);
        c!(thalweg_bwos_records_owner_free(owner));
        assert_eq!(c!(thalweg_bwos_records_steal(thief, to)), Ok);
        assert_eq!(c!(thalweg_bwos_records_steal(thief, to)), Closed);
        c!(thalweg_bwos_records_thief_free(thief));
        assert_eq!(popped[..size], entry[..size]);
    }
}

/// Neither reserves nor takes anything, and leaves a grant open that was to be ended.
#[test]
fn grants_without_a_handle_or_a_place_are_refused() {
    let (mut tx, mut rx) = (null_mut(), null_mut());
    assert_eq!(c!(thalweg_records_new(8, 2, 4, 0, &mut tx, &mut rx, null_mut(), 0)), Ok);
    let (mut memory, mut count, mut grant) = (null_mut(), 0, std::mem::MaybeUninit::uninit());
    all_invalid(&[
        c!(thalweg_records_try_reserve(null(), 1, &mut memory, &mut count, grant.as_mut_ptr())),
        c!(thalweg_records_reserve(null(), 1, &mut memory, &mut count, grant.as_mut_ptr())),
        c!(thalweg_records_reserve_timeout(null(), 1, &mut memory, &mut count, grant.as_mut_ptr(), 0)),
        c!(thalweg_records_reserve(tx, 1, &mut memory, null_mut(), grant.as_mut_ptr())),
        c!(thalweg_records_reserve_timeout(tx, 1, &mut memory, &mut count, null_mut(), 0)),
        c!(thalweg_records_try_reserve(tx, 1, null_mut(), &mut count, grant.as_mut_ptr())),
        c!(thalweg_records_try_reserve(tx, 1, &mut memory, null_mut(), grant.as_mut_ptr())),
        c!(thalweg_records_try_reserve(tx, 1, &mut memory, &mut count, null_mut())),
    ]);
    assert_eq!(c!(thalweg_records_producer_len(tx)), 0);
    assert_eq!(c!(thalweg_records_try_reserve(tx, 1, &mut memory, &mut count, grant.as_mut_ptr())), Ok);
    c!(memory.cast::<u8>().write_bytes(7, 8));
    let open = c!(grant.assume_init());
    all_invalid(&[c!(thalweg_records_commit(null(), open, 1)), c!(thalweg_records_release(null(), open))]);
    assert_eq!(c!(thalweg_records_commit(tx, open, 1)), Ok);
    all_invalid(&[
        c!(thalweg_records_try_read(null(), 1, &mut memory, &mut count, grant.as_mut_ptr())),
        c!(thalweg_records_read(null(), 1, &mut memory, &mut count, grant.as_mut_ptr())),
        c!(thalweg_records_read_timeout(null(), 1, &mut memory, &mut count, grant.as_mut_ptr(), 0)),
        c!(thalweg_records_read(rx, 1, null_mut(), &mut count, grant.as_mut_ptr())),
        c!(thalweg_records_read_timeout(rx, 1, &mut memory, &mut count, null_mut(), 0)),
        c!(thalweg_records_try_read(rx, 1, null_mut(), &mut count, grant.as_mut_ptr())),
        c!(thalweg_records_try_read(rx, 1, &mut memory, null_mut(), grant.as_mut_ptr())),
        c!(thalweg_records_try_read(rx, 1, &mut memory, &mut count, null_mut())),
    ]);
    let mut record = [0_u8; 8];
    assert_eq!((c!(thalweg_records_try_pop(rx, record.as_mut_ptr().cast())), record), (Ok, [7; 8]));
    c!(thalweg_records_producer_free(tx));
    c!(thalweg_records_consumer_free(rx));

    // What may be overwritten is neither written nor read in place.
    let (mut tx, mut rx) = (null_mut(), null_mut());
    assert_eq!(c!(thalweg_records_new_drop_old(8, 2, 4, 0, &mut tx, &mut rx, null_mut(), 0)), Ok);
    assert_eq!(c!(thalweg_records_push(tx, record.as_ptr().cast())), Ok);
    all_invalid(&[
        c!(thalweg_records_try_reserve(tx, 1, &mut memory, &mut count, grant.as_mut_ptr())),
        c!(thalweg_records_reserve(tx, 1, &mut memory, &mut count, grant.as_mut_ptr())),
        c!(thalweg_records_try_read(rx, 1, &mut memory, &mut count, grant.as_mut_ptr())),
        c!(thalweg_records_read(rx, 1, &mut memory, &mut count, grant.as_mut_ptr())),
    ]);
    assert_eq!((c!(thalweg_records_try_pop(rx, record.as_mut_ptr().cast())), record), (Ok, [7; 8]));
    c!(thalweg_records_producer_free(tx));
    c!(thalweg_records_consumer_free(rx));
}

#[test]
fn null_is_an_item_of_the_shared_queues_only() {
    let items = [item(8), null_mut(), item(16)];
    let mut count = 9;
    for blocks in [false, true] {
        let (mut tx, mut rx) = (null_mut(), null_mut());
        let built = match blocks {
            false => c!(thalweg_spsc_new(8, 0, &mut tx, &mut rx, null_mut(), 0)),
            true => c!(thalweg_spsc_new_blocks(2, 4, 0, &mut tx, &mut rx, null_mut(), 0)),
        };
        assert_eq!(built, Ok);
        all_invalid(&[
            c!(thalweg_spsc_try_push(tx, null_mut())),
            c!(thalweg_spsc_push(tx, null_mut())),
            c!(thalweg_spsc_push_timeout(tx, null_mut(), 0)),
            c!(thalweg_spsc_try_push_many(tx, items.as_ptr(), 3, &mut count)),
        ]);
        assert_eq!(count, 0);
        let mut popped = null_mut();
        assert_eq!(c!(thalweg_spsc_try_pop(rx, &mut popped)), Status::Empty);
        c!(thalweg_spsc_producer_free(tx));
        c!(thalweg_spsc_consumer_free(rx));
    }

    let (mut tx, mut rx) = (null_mut(), null_mut());
    assert_eq!(c!(thalweg_bbq_new(2, 4, 0, &mut tx, &mut rx, null_mut(), 0)), Ok);
    assert_eq!((c!(thalweg_bbq_try_push_many(tx, items.as_ptr(), 3, &mut count)), count), (Ok, 3));
    for expected in items {
        let mut popped = item(1);
        assert_eq!((c!(thalweg_bbq_try_pop(rx, &mut popped)), popped), (Ok, expected));
    }
    c!(thalweg_bbq_producer_free(tx));
    c!(thalweg_bbq_consumer_free(rx));
}
