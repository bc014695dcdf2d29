//! Grants that are refused, and grants that are ended when the other side is gone.

use crate::{WAITS, item};
use std::ffi::c_void;
use std::fmt::Debug;
use std::mem::MaybeUninit;
use std::ptr::{from_mut, null_mut};
use thalweg_queue_c::Status::{self, Closed, Empty, Full, Invalid, Ok, Timeout};
use thalweg_queue_c::bytes::*;
use thalweg_queue_c::records::*;
use thalweg_queue_c::spsc_records::*;

/// Asks for a grant that is refused, and looks that nothing is written where one is told. Returns the answer.
fn refused<G: PartialEq + Debug>(ask: impl FnOnce(&mut *mut c_void, &mut usize, *mut G) -> Status) -> Status {
    let (mut at, mut count, mut grant) = (item(5), 99, MaybeUninit::zeroed());
    let status = ask(&mut at, &mut count, grant.as_mut_ptr());
    assert_ne!(status, Ok);
    assert_eq!((at, count), (item(5), 99));
    // SAFETY: a grant is numbers, and zero is one.
    assert_eq!(unsafe { grant.assume_init() }, unsafe { MaybeUninit::zeroed().assume_init() });
    status
}

#[test]
fn a_refusal_by_a_queue_of_messages_writes_nothing() {
    for wait in WAITS {
        let (mut tx, mut rx) = (null_mut(), null_mut());
        assert_eq!(c!(thalweg_bytes_new(2, 64, wait, &mut tx, &mut rx, null_mut(), 0)), Ok);
        let reading = [
            refused(|at, size, grant| c!(thalweg_bytes_try_read(rx, from_mut(at).cast(), size, grant))),
            refused(|at, size, grant| c!(thalweg_bytes_read_timeout(rx, from_mut(at).cast(), size, grant, 1000))),
        ];
        assert_eq!(reading, [Empty, Timeout]);
        for _ in 0..2 {
            assert_eq!(c!(thalweg_bytes_push(tx, [7_u8; 64].as_ptr().cast(), 64)), Ok);
        }
        let reserving = [
            refused(|at, _, grant| c!(thalweg_bytes_try_reserve(tx, 1, at, grant))),
            refused(|at, _, grant| c!(thalweg_bytes_reserve_timeout(tx, 1, at, grant, 1000))),
            refused(|at, _, grant| c!(thalweg_bytes_reserve(tx, 65, at, grant))),
        ];
        assert_eq!(reserving, [Full, Timeout, Invalid]);
        c!(thalweg_bytes_consumer_free(rx));
        assert_eq!(refused(|at, _, grant| c!(thalweg_bytes_reserve(tx, 1, at, grant))), Closed);
        c!(thalweg_bytes_producer_free(tx));

        assert_eq!(c!(thalweg_bytes_new_drop_old(2, 64, wait, &mut tx, &mut rx, null_mut(), 0)), Ok);
        assert_eq!(c!(thalweg_bytes_push(tx, [7_u8; 64].as_ptr().cast(), 64)), Ok);
        let in_drop_old_mode = [
            refused(|at, _, grant| c!(thalweg_bytes_try_reserve(tx, 1, at, grant))),
            refused(|at, _, grant| c!(thalweg_bytes_reserve(tx, 1, at, grant))),
            refused(|at, _, grant| c!(thalweg_bytes_reserve_timeout(tx, 1, at, grant, 1000))),
            refused(|at, size, grant| c!(thalweg_bytes_try_read(rx, from_mut(at).cast(), size, grant))),
            refused(|at, size, grant| c!(thalweg_bytes_read(rx, from_mut(at).cast(), size, grant))),
            refused(|at, size, grant| c!(thalweg_bytes_read_timeout(rx, from_mut(at).cast(), size, grant, 1000))),
        ];
        assert_eq!(in_drop_old_mode, [Invalid; 6]);
        c!(thalweg_bytes_producer_free(tx));
        c!(thalweg_bytes_consumer_free(rx));
    }
}

#[test]
fn a_refusal_by_a_queue_of_entries_writes_nothing() {
    for wait in WAITS {
        let (mut tx, mut rx) = (null_mut(), null_mut());
        assert_eq!(c!(thalweg_records_new(8, 2, 1, wait, &mut tx, &mut rx, null_mut(), 0)), Ok);
        let reading = [
            refused(|at, count, grant| c!(thalweg_records_try_read(rx, 1, at, count, grant))),
            refused(|at, count, grant| c!(thalweg_records_read_timeout(rx, 1, at, count, grant, 1000))),
        ];
        assert_eq!(reading, [Empty, Timeout]);
        for _ in 0..2 {
            assert_eq!(c!(thalweg_records_push(tx, [7_u8; 8].as_ptr().cast())), Ok);
        }
        let reserving = [
            refused(|at, count, grant| c!(thalweg_records_try_reserve(tx, 1, at, count, grant))),
            refused(|at, count, grant| c!(thalweg_records_reserve_timeout(tx, 1, at, count, grant, 1000))),
        ];
        assert_eq!(reserving, [Full, Timeout]);
        c!(thalweg_records_consumer_free(rx));
        assert_eq!(refused(|at, count, grant| c!(thalweg_records_reserve(tx, 1, at, count, grant))), Closed);
        c!(thalweg_records_producer_free(tx));
    }
}

/// Both queues for one and one. Where a side has one end, there is no grant to be written.
#[test]
fn a_refusal_to_the_only_end_writes_nothing() {
    for (wait, blocks) in WAITS.into_iter().flat_map(|wait| [(wait, false), (wait, true)]) {
        let (mut tx, mut rx) = (null_mut(), null_mut());
        let built = match blocks {
            false => c!(thalweg_spsc_records_new(8, 8, wait, &mut tx, &mut rx, null_mut(), 0)),
            true => c!(thalweg_spsc_records_new_blocks(8, 2, 4, wait, &mut tx, &mut rx, null_mut(), 0)),
        };
        assert_eq!(built, Ok);
        let reading = [
            refused(|at, count, _: *mut ()| c!(thalweg_spsc_records_try_read(rx, 1, at, count))),
            refused(|at, count, _: *mut ()| c!(thalweg_spsc_records_read_timeout(rx, 1, at, count, 1000))),
        ];
        assert_eq!(reading, [Empty, Timeout]);
        while c!(thalweg_spsc_records_try_push(tx, [7_u8; 8].as_ptr().cast())) == Ok {}
        let reserving = [
            refused(|at, count, _: *mut ()| c!(thalweg_spsc_records_try_reserve(tx, 1, at, count))),
            refused(|at, count, _: *mut ()| c!(thalweg_spsc_records_reserve_timeout(tx, 1, at, count, 1000))),
        ];
        assert_eq!(reserving, [Full, Timeout]);
        c!(thalweg_spsc_records_consumer_free(rx));
        let closed = refused(|at, count, _: *mut ()| c!(thalweg_spsc_records_reserve(tx, 1, at, count)));
        assert_eq!(closed, Closed);
        c!(thalweg_spsc_records_producer_free(tx));
    }
}

/// What is committed then is forgotten. Only where a side has one end does the commit say so: its reservation takes nothing before.
#[test]
fn a_commit_after_the_last_consumer() {
    let (mut at, mut count) = (null_mut(), 0);
    for wait in WAITS {
        let (mut tx, mut rx, mut grant) = (null_mut(), null_mut(), MaybeUninit::uninit());
        assert_eq!(c!(thalweg_bytes_new(2, 64, wait, &mut tx, &mut rx, null_mut(), 0)), Ok);
        assert_eq!(c!(thalweg_bytes_reserve(tx, 8, &mut at, grant.as_mut_ptr())), Ok);
        c!(at.cast::<u8>().write_bytes(7, 8));
        c!(thalweg_bytes_consumer_free(rx));
        assert_eq!(c!(thalweg_bytes_commit(tx, grant.assume_init(), 8)), Ok);
        c!(thalweg_bytes_producer_free(tx));

        let (mut tx, mut rx, mut grant) = (null_mut(), null_mut(), MaybeUninit::uninit());
        assert_eq!(c!(thalweg_records_new(8, 2, 4, wait, &mut tx, &mut rx, null_mut(), 0)), Ok);
        assert_eq!(c!(thalweg_records_reserve(tx, 1, &mut at, &mut count, grant.as_mut_ptr())), Ok);
        c!(at.cast::<u8>().write_bytes(7, 8));
        c!(thalweg_records_consumer_free(rx));
        assert_eq!(c!(thalweg_records_commit(tx, grant.assume_init(), 1)), Ok);
        c!(thalweg_records_producer_free(tx));

        for blocks in [false, true] {
            let (mut tx, mut rx) = (null_mut(), null_mut());
            let built = match blocks {
                false => c!(thalweg_spsc_records_new(8, 8, wait, &mut tx, &mut rx, null_mut(), 0)),
                true => c!(thalweg_spsc_records_new_blocks(8, 2, 4, wait, &mut tx, &mut rx, null_mut(), 0)),
            };
            assert_eq!(built, Ok);
            assert_eq!(c!(thalweg_spsc_records_reserve(tx, 1, &mut at, &mut count)), Ok);
            c!(at.cast::<u8>().write_bytes(7, 8));
            c!(thalweg_spsc_records_consumer_free(rx));
            assert_eq!(c!(thalweg_spsc_records_commit(tx, 1)), Closed);
            assert_eq!(c!(thalweg_spsc_records_commit(tx, 1)), Invalid, "nothing is reserved any more");
            c!(thalweg_spsc_records_producer_free(tx));
        }
    }
}
