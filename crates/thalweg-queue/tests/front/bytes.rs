//! Messages of bytes as streams of `std::io`, and ends that are polled.

use crate::support::Note;
use std::io::{BufRead, ErrorKind, Read, Write};
use std::task::{Context, Poll};
use thalweg_queue::bytes::{self, PushBytesError};
use thalweg_queue::{PopError, Yield};
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

#[test]
fn a_read_gives_bytes_of_one_message_as_many_as_fit() {
    let (mut tx, rx) = bytes::bytes(2, 64).unwrap();
    tx.write_all(b"hello").unwrap();
    tx.try_push(b"").unwrap(); // a message, but no bytes of a stream
    tx.write_all(b"you").unwrap();
    drop(tx);
    let mut reader = rx.into_reader();
    let mut place = [0; 4];
    let mut read = || reader.read(&mut place).map(|count| place[..count].to_vec()).unwrap();
    assert_eq!([read(), read(), read()], [b"hell".to_vec(), b"o".to_vec(), b"you".to_vec()]);
    assert_eq!([read(), read()], [vec![], vec![]], "the end, again and again");
}

/// It would wait for ever otherwise.
#[test]
fn a_read_of_nothing_waits_for_nothing() {
    let (tx, rx) = bytes::channel(64).unwrap();
    let mut reader = rx.into_reader();
    assert_eq!(reader.read(&mut []).unwrap(), 0);
    tx.try_push(b"x").unwrap();
    assert_eq!(reader.read(&mut []).unwrap(), 0);
    assert_eq!(reader.read(&mut [0; 2]).unwrap(), 1);
}

#[test]
fn a_read_waits_for_the_next_message_or_the_end() {
    let (mut tx, rx) = bytes::channel(64).unwrap();
    let reads = thread::spawn(move || {
        let (mut reader, mut all) = (rx.into_reader(), Vec::new());
        reader.read_to_end(&mut all).map(|_| all)
    });
    thread::sleep(Duration::from_millis(5));
    tx.write_all(b"late").unwrap();
    thread::sleep(Duration::from_millis(5));
    drop(tx);
    assert_eq!(reads.join().unwrap().unwrap(), b"late");
}

#[test]
fn what_is_longer_than_a_message_is_written_in_part() {
    let (mut tx, rx) = bytes::with_wait(4, 16, Yield).unwrap();
    let long: Vec<u8> = (0..100).collect();
    assert_eq!(tx.write(&long).unwrap(), 16);
    assert_eq!(tx.write(b"").unwrap(), 0, "no message");
    let writes = thread::spawn(move || tx.write_all(&long[16..]));
    let mut reader = rx.into_reader();
    let mut all = Vec::new();
    while all.len() < 100 {
        let there = reader.fill_buf().unwrap();
        assert!((1..=16).contains(&there.len()));
        let count = there.len().min(5);
        all.extend_from_slice(&there[..count]);
        reader.consume(count);
    }
    assert!(all.iter().copied().eq(0..100));
    writes.join().unwrap().unwrap();
}

#[test]
fn a_write_for_nobody_is_a_broken_pipe() {
    let (mut tx, rx) = bytes::channel(64).unwrap();
    drop(rx);
    assert_eq!(tx.write(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
    assert_eq!((&tx).write(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
}

#[test]
fn ends_are_polled() {
    let (tx, rx) = bytes::bytes(2, 16).unwrap();
    let (pushes, pops) = (Note::default(), Note::default());
    let (push_waker, pop_waker) = (pushes.waker(), pops.waker());
    let (mut push_cx, mut pop_cx) = (Context::from_waker(&push_waker), Context::from_waker(&pop_waker));
    let (mut tx, mut rx) = (tx.into_polled(), rx.into_polled());
    let mut message = b">".to_vec();
    assert!(rx.poll_pop(&mut pop_cx, &mut message).is_pending());
    assert_eq!(tx.poll_push(&mut push_cx, &[1; 16]), Poll::Ready(Ok(())));
    assert!(pops.was_woken());
    assert_eq!(tx.poll_push(&mut push_cx, &[2; 16]), Poll::Ready(Ok(())));
    assert!(tx.poll_push(&mut push_cx, &[3; 16]).is_pending() && !pushes.was_woken());
    assert_eq!(rx.poll_pop(&mut pop_cx, &mut message), Poll::Ready(Ok(16)));
    assert_eq!(message, [b">".as_slice(), &[1; 16]].concat(), "behind what was there");
    assert!(pushes.was_woken());
    assert_eq!(tx.poll_push(&mut push_cx, &[3; 16]), Poll::Ready(Ok(())));
    assert_eq!(tx.poll_push(&mut push_cx, &[4; 17]), Poll::Ready(Err(PushBytesError::TooLarge { bytes: 17, max: 16 })));
    drop(tx.into_end());
    assert_eq!([16, 16].map(Ok).map(Poll::Ready), [(); 2].map(|()| rx.poll_pop(&mut pop_cx, &mut message)));
    assert_eq!(rx.poll_pop(&mut pop_cx, &mut message), Poll::Ready(Err(PopError)));
}

/// One that is pending and dropped has left the line, and hands on what it was woken for.
#[test]
fn an_end_that_is_dropped_hands_its_turn_on() {
    let (tx, rx) = bytes::bytes(2, 16).unwrap();
    let (first, second) = (Note::default(), Note::default());
    let (first_waker, second_waker) = (first.waker(), second.waker());
    let (mut one, mut other) = (rx.clone().into_polled(), rx.into_polled());
    let mut message = Vec::new();
    assert!(one.poll_pop(&mut Context::from_waker(&first_waker), &mut message).is_pending());
    assert!(other.poll_pop(&mut Context::from_waker(&second_waker), &mut message).is_pending());
    tx.try_push(b"x").unwrap();
    assert!(first.was_woken() && !second.was_woken());
    drop(one);
    assert!(second.was_woken());
    assert_eq!(other.poll_pop(&mut Context::from_waker(&second_waker), &mut message), Poll::Ready(Ok(1)));
}
