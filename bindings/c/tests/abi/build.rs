//! Building: refusals as text, and nothing written but the text.

use std::ffi::{CStr, c_char};
use std::ptr::null_mut;
use thalweg_queue_c::Status;
use thalweg_queue_c::bbq::*;
use thalweg_queue_c::bwos::*;
use thalweg_queue_c::bwos_records::*;
use thalweg_queue_c::records::*;
use thalweg_queue_c::spsc::*;
use thalweg_queue_c::spsc_records::*;

/// Runs `make` with a buffer of `size` bytes, and returns its answer and the text, after a look at the bytes behind.
fn with_buffer(size: usize, make: impl FnOnce(*mut c_char, usize) -> Status) -> (Status, String) {
    let mut buffer = [b'#'; 128];
    let status = make(buffer.as_mut_ptr().cast(), size);
    assert!(buffer[size..].iter().all(|&byte| byte == b'#'), "written behind the buffer");
    let text = CStr::from_bytes_until_nul(&buffer[..size]).expect("ends with a NUL");
    (status, text.to_str().unwrap().to_owned())
}

#[test]
fn refusals_name_the_parameter() {
    let (mut tx, mut rx) = (null_mut(), null_mut());
    let refusals = [
        with_buffer(128, |text, size| c!(thalweg_spsc_new(0, 0, &mut tx, &mut rx, text, size))),
        with_buffer(128, |text, size| c!(thalweg_spsc_new(8, 3, &mut tx, &mut rx, text, size))),
        with_buffer(128, |text, size| c!(thalweg_spsc_new(8, 0, null_mut(), &mut rx, text, size))),
        with_buffer(128, |text, size| c!(thalweg_spsc_new(8, 0, &mut tx, null_mut(), text, size))),
        with_buffer(128, |text, size| c!(thalweg_spsc_new_blocks(3, 8, 0, &mut tx, &mut rx, text, size))),
    ];
    assert!(tx.is_null() && rx.is_null());
    let (mut tx, mut rx) = (null_mut(), null_mut());
    let of_bbq = [
        with_buffer(128, |text, size| c!(thalweg_bbq_new(12, 64, 0, &mut tx, &mut rx, text, size))),
        with_buffer(128, |text, size| c!(thalweg_bbq_new(2, 0, 0, &mut tx, &mut rx, text, size))),
    ];
    assert!(tx.is_null() && rx.is_null());
    let (mut tx, mut one) = (null_mut(), null_mut());
    let of_mpsc = [
        with_buffer(128, |text, size| c!(thalweg_bbq_new_mpsc(12, 64, 0, &mut tx, &mut one, text, size))),
        with_buffer(128, |text, size| c!(thalweg_bbq_new_mpsc(2, 8, 0, &mut tx, null_mut(), text, size))),
    ];
    assert!(tx.is_null() && one.is_null());
    let (mut one, mut rx) = (null_mut(), null_mut());
    let of_spmc = [
        with_buffer(128, |text, size| c!(thalweg_bbq_new_spmc(2, 0, 0, &mut one, &mut rx, text, size))),
        with_buffer(128, |text, size| c!(thalweg_bbq_new_spmc(2, 8, 9, &mut one, &mut rx, text, size))),
    ];
    assert!(one.is_null() && rx.is_null());
    let (mut tx, mut rx) = (null_mut(), null_mut());
    let of_records = [
        with_buffer(128, |text, size| c!(thalweg_records_new(24, 2, 8, 0, &mut tx, &mut rx, text, size))),
        with_buffer(128, |text, size| c!(thalweg_records_new(512, 2, 8, 0, &mut tx, &mut rx, text, size))),
        with_buffer(128, |text, size| c!(thalweg_records_new(8, 1, 8, 0, &mut tx, &mut rx, text, size))),
    ];
    assert!(tx.is_null() && rx.is_null());
    let (mut owner, mut thief) = (null_mut(), null_mut());
    let of_bwos = [
        with_buffer(128, |text, size| c!(thalweg_bwos_new_lifo(1, 8, &mut owner, &mut thief, text, size))),
        with_buffer(128, |text, size| c!(thalweg_bwos_new_fifo(2, 0, &mut owner, &mut thief, text, size))),
    ];
    assert!(owner.is_null() && thief.is_null());

    let expected = [
        "capacity must be at least 1, not 0",
        "wait must be 0 (yield), 1 (spin) or 2 (park), not 3",
        "producer must not be NULL: a handle is written there",
        "consumer must not be NULL: a handle is written there",
        "blocks must be a power of two, not 3; 4 is the next",
        "blocks must be a power of two, not 12; 16 is the next",
        "entries must be at least 1, not 0",
        "blocks must be a power of two, not 12; 16 is the next",
        "consumer must not be NULL: a handle is written there",
        "entries must be at least 1, not 0",
        "wait must be 0 (yield), 1 (spin) or 2 (park), not 9",
        "entry_size must be a power of two from 1 to 256, not 24",
        "entry_size must be a power of two from 1 to 256, not 512",
        "blocks must be at least 2, not 1",
        "blocks must be at least 2, not 1",
        "entries must be at least 1, not 0",
    ];
    let all: Vec<_> =
        refusals.into_iter().chain(of_bbq).chain(of_mpsc).chain(of_spmc).chain(of_records).chain(of_bwos).collect();
    assert_eq!(all.len(), expected.len());
    for ((status, text), expected) in all.into_iter().zip(expected) {
        assert_eq!((status, text.as_str()), (Status::Invalid, expected));
    }
}

#[test]
fn refusals_of_queues_of_bytes_name_the_parameter() {
    let (mut tx, mut rx) = (null_mut(), null_mut());
    let refusals = [
        with_buffer(128, |text, size| c!(thalweg_spsc_records_new(0, 8, 0, &mut tx, &mut rx, text, size))),
        with_buffer(128, |text, size| c!(thalweg_spsc_records_new(8, 0, 0, &mut tx, &mut rx, text, size))),
        with_buffer(128, |text, size| c!(thalweg_spsc_records_new(8, 8, 3, &mut tx, &mut rx, text, size))),
        with_buffer(128, |text, size| c!(thalweg_spsc_records_new(8, 8, 0, null_mut(), &mut rx, text, size))),
        with_buffer(128, |text, size| c!(thalweg_spsc_records_new_blocks(24, 2, 8, 0, &mut tx, &mut rx, text, size))),
        with_buffer(128, |text, size| c!(thalweg_spsc_records_new_blocks(8, 3, 8, 0, &mut tx, &mut rx, text, size))),
    ];
    assert!(tx.is_null() && rx.is_null());
    let (mut many, mut one) = (null_mut(), null_mut());
    let of_mpsc =
        [with_buffer(128, |text, size| c!(thalweg_records_new_mpsc(3, 2, 8, 0, &mut many, &mut one, text, size)))];
    assert!(many.is_null() && one.is_null());
    let (mut one, mut many) = (null_mut(), null_mut());
    let of_spmc =
        [with_buffer(128, |text, size| c!(thalweg_records_new_spmc(8, 1, 8, 0, &mut one, &mut many, text, size)))];
    assert!(one.is_null() && many.is_null());
    let (mut owner, mut thief) = (null_mut(), null_mut());
    let of_bwos = [
        with_buffer(128, |text, size| c!(thalweg_bwos_records_new_lifo(512, 2, 8, &mut owner, &mut thief, text, size))),
        with_buffer(128, |text, size| c!(thalweg_bwos_records_new_lifo(8, 1, 8, &mut owner, &mut thief, text, size))),
        with_buffer(128, |text, size| c!(thalweg_bwos_records_new_fifo(8, 2, 0, &mut owner, &mut thief, text, size))),
        with_buffer(128, |text, size| c!(thalweg_bwos_records_new_fifo(8, 2, 8, &mut owner, null_mut(), text, size))),
    ];
    assert!(owner.is_null() && thief.is_null());

    let expected = [
        "entry_size must be a power of two from 1 to 256, not 0",
        "capacity must be at least 1, not 0",
        "wait must be 0 (yield), 1 (spin) or 2 (park), not 3",
        "producer must not be NULL: a handle is written there",
        "entry_size must be a power of two from 1 to 256, not 24",
        "blocks must be a power of two, not 3; 4 is the next",
        "entry_size must be a power of two from 1 to 256, not 3",
        "blocks must be at least 2, not 1",
        "entry_size must be a power of two from 1 to 256, not 512",
        "blocks must be at least 2, not 1",
        "entries must be at least 1, not 0",
        "thief must not be NULL: a handle is written there",
    ];
    let all: Vec<_> = refusals.into_iter().chain(of_mpsc).chain(of_spmc).chain(of_bwos).collect();
    assert_eq!(all.len(), expected.len());
    for ((status, text), expected) in all.into_iter().zip(expected) {
        assert_eq!((status, text.as_str()), (Status::Invalid, expected));
    }
}

#[test]
fn a_text_is_cut_to_its_buffer() {
    let refused = |text, size| c!(thalweg_bbq_new(12, 64, 0, &mut null_mut(), &mut null_mut(), text, size));
    assert_eq!(with_buffer(10, refused), (Status::Invalid, "blocks mu".to_owned()));
    assert_eq!(with_buffer(1, refused), (Status::Invalid, String::new()));
    assert_eq!(refused(null_mut(), 100), Status::Invalid);
    let mut one = b'#';
    assert_eq!(refused((&raw mut one).cast(), 0), Status::Invalid);
    assert_eq!(one, b'#');
}

#[test]
fn success_empties_the_text() {
    let (mut tx, mut rx) = (null_mut(), null_mut());
    let built = with_buffer(64, |text, size| c!(thalweg_bbq_new(2, 8, 0, &mut tx, &mut rx, text, size)));
    assert_eq!(built, (Status::Ok, String::new()));
    c!(thalweg_bbq_producer_free(tx));
    c!(thalweg_bbq_consumer_free(rx));
}

#[test]
fn statuses_have_texts() {
    let text = |status| c!(CStr::from_ptr(thalweg_queue_c::thalweg_status_text(status))).to_str().unwrap();
    assert_eq!(text(Status::Ok as u32), "done");
    assert_eq!(text(Status::Full as u32), "the queue is full: pop first, or wait");
    assert_eq!(
        text(Status::Closed as u32),
        "the queue is closed: the other side is gone, so stop pushing, popping or stealing"
    );
    assert_eq!(
        text(Status::Timeout as u32),
        "the time is over: pop faster if the queue is full, push if it is empty, or wait longer"
    );
    assert_eq!(text(7), "not a status");
    let texts: std::collections::HashSet<_> = (0..7).map(text).collect();
    assert_eq!(texts.len(), 7);
}
