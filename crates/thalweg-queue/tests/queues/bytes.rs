//! What the queue of byte messages promises: framing, order, once, room, grants.

use crate::support::Note;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};
use thalweg_check::Fuzz;
use thalweg_queue::bytes::{self, Consumer, Producer, PushBytesError, PushBytesTimeoutError, bytes, bytes_from};
use thalweg_queue::wait::Wait;
use thalweg_queue::{BuildError, Park, PopError, PopTimeoutError, TryPopError, Yield};
use thalweg_sync::random::Xorshift;
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

/// How many granules a message takes.
fn granules(bytes: usize) -> usize {
    bytes.div_ceil(16).max(1)
}

fn pop<W: Wait>(rx: &Consumer<W>) -> Result<Vec<u8>, TryPopError> {
    let mut message = Vec::new();
    rx.try_pop(&mut message).map(|bytes| {
        assert_eq!(bytes, message.len());
        message
    })
}

/// One thread, messages of all sizes, among them grants that are dropped or cut short: each answer is the one and only right one.
#[test]
fn one_thread_sees_what_it_must() {
    for (blocks, block, head) in [(2, 1, 0), (2, 4, 0), (4, 7, 0), (8, 64, u64::MAX - 9), (2, 3, (1 << 41) - 3)] {
        let (tx, rx) = bytes_from(head, blocks, 16 * block, Yield).unwrap();
        assert_eq!((tx.max_message(), tx.capacity()), (16 * block, 16 * block * blocks));
        let mut dice = Xorshift::new(head ^ block as u64);
        // The open block, from the number of blocks on; how much of it is used; what is in the queue, and in which block.
        let (mut open, mut used, mut queue) = (blocks, 0, VecDeque::<(usize, Vec<u8>)>::new());
        let (mut full, mut crossed) = (0, 0);
        for step in 0..3000_usize {
            if dice.index(2) == 0 {
                let message = vec![step as u8; dice.index(16 * block + 1)];
                let fits = used + granules(message.len()) <= block;
                let cut = dice.index(message.len() + 1);
                let result = match dice.index(4) {
                    0 => tx.reserve(message.len()).map(drop).map(|()| None),
                    1 => tx.reserve(message.len()).map(|mut grant| {
                        grant.copy_from_slice(&message);
                        grant.commit_first(cut);
                        Some(cut)
                    }),
                    _ => tx.try_push(&message).map(|()| Some(message.len())),
                };
                if !fits && queue.front().is_some_and(|(oldest, _)| *oldest <= open + 1 - blocks) {
                    assert_eq!(result, Err(PushBytesError::Full));
                    full += 1;
                    continue;
                }
                if !fits {
                    (open, used, crossed) = (open + 1, 0, crossed + 1);
                }
                used += granules(message.len());
                if let Some(bytes) = result.unwrap() {
                    queue.push_back((open, message[..bytes].to_vec()));
                }
            } else {
                let message = queue.pop_front().map(|(_, message)| message).ok_or(TryPopError::Empty);
                assert_eq!(pop(&rx), message);
            }
        }
        assert!(full > 10 && crossed > 10, "{full} {crossed}");
    }
}

/// Every offset at which a block can end, and every size that goes over the edge there.
#[test]
fn messages_go_over_the_edge_at_each_offset() {
    for before in 0..=4 {
        for size in 0..=4 * 16 {
            let (tx, rx) = bytes(2, 64).unwrap();
            (0..before).for_each(|number| tx.try_push(&[number]).unwrap());
            tx.try_push(&vec![7; size]).unwrap();
            (0..before).for_each(|number| assert_eq!(pop(&rx), Ok(vec![number])));
            assert_eq!(pop(&rx), Ok(vec![7; size]));
            assert_eq!(pop(&rx), Err(TryPopError::Empty));
        }
    }
}

/// A message that says who pushed it as which, and notices if it was cut or mixed.
fn message(producer: u8, number: u32, bytes: usize) -> Vec<u8> {
    let mut message = vec![producer];
    message.extend(number.to_le_bytes());
    message.extend((5..bytes).map(|at| (at as u32 ^ number.wrapping_mul(0x9e37_79b9) ^ u32::from(producer)) as u8));
    message
}

/// The producer and the number.
fn open(bytes: &[u8]) -> (u8, u32) {
    let (producer, number) = (bytes[0], u32::from_le_bytes(bytes[1..5].try_into().unwrap()));
    assert_eq!(bytes, message(producer, number, bytes.len()), "mixed");
    (producer, number)
}

/// Several producers and consumers, messages of random sizes: each arrives once, and those of a producer in order.
fn many<W: Wait>((tx, rx): (Producer<W>, Consumer<W>), producers: u8, consumers: usize, each: u32) {
    let most = tx.max_message();
    let lists: Vec<Vec<(u8, u32)>> = thread::scope(|scope| {
        for producer in 0..producers {
            let tx = tx.clone();
            scope.spawn(move || {
                let mut dice = Xorshift::new(u64::from(producer));
                for number in 0..each {
                    let bytes = 5 + dice.index(most - 4);
                    match dice.index(8) {
                        0 => drop(tx.wait_reserve(bytes).unwrap()),
                        1 => {
                            let mut grant = tx.wait_reserve(most).unwrap();
                            grant[..bytes].copy_from_slice(&message(producer, number, bytes));
                            grant.commit_first(bytes);
                            continue;
                        }
                        _ => {}
                    }
                    tx.push(&message(producer, number, bytes)).unwrap();
                }
            });
        }
        drop(tx);
        let consumers: Vec<_> = (0..consumers)
            .map(|_| rx.clone())
            .map(|rx| {
                scope.spawn(move || {
                    std::iter::from_fn(|| rx.wait_readable().ok().map(|message| open(&message))).collect()
                })
            })
            .collect();
        consumers.into_iter().map(|consumer| consumer.join().unwrap()).collect()
    });
    for list in &lists {
        let mut next = vec![0; producers.into()];
        for &(producer, number) in list {
            let next = &mut next[usize::from(producer)];
            assert!(number >= *next, "{number} of {producer} after {}", *next - 1);
            *next = number + 1;
        }
    }
    let mut all: Vec<_> = lists.into_iter().flatten().collect();
    all.sort_unstable();
    assert!(all.into_iter().eq((0..producers).flat_map(|producer| (0..each).map(move |number| (producer, number)))));
}

#[test]
fn natively() {
    let each = if cfg!(debug_assertions) { 1_000 } else { 200_000 };
    many(bytes(2, 16).unwrap(), 2, 2, each);
    many(bytes(4, 256).unwrap(), 2, 1, each);
    many(bytes(8, 4096).unwrap(), 1, 1, each);
    many(bytes::with_wait(2, 80, Park::new()).unwrap(), 2, 2, each);
}

#[test]
fn under_the_fuzzer() {
    for block in [16, 32, 48] {
        Fuzz::new().seeds(0..150).run(|| many(bytes(2, block).unwrap(), 3, 2, 3));
        Fuzz::new().seeds(0..100).run(|| many(bytes::with_wait(2, block, Park::new()).unwrap(), 2, 2, 3));
    }
}

/// A request is answered before the next one: who sleeps is woken by the push, or by the pop, itself.
#[test]
fn who_sleeps_is_woken() {
    Fuzz::new().seeds(0..200).run(|| {
        let (ask, asked) = bytes::with_wait(2, 32, Park::new()).unwrap();
        let (answer, answered) = bytes::with_wait(2, 16, Park::new()).unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut request = Vec::new();
                while asked.pop(&mut request).is_ok() {
                    answer.push(&request).unwrap();
                    request.clear();
                }
            });
            for number in 0..6 {
                let request = vec![number; 16 + usize::from(number)];
                let mut back = Vec::new();
                ask.push(&request[..16]).unwrap();
                answered.pop(&mut back).unwrap();
                assert_eq!(back, request[..16]);
            }
            drop(ask);
        });
    });
}

/// A reader keeps its block, also when another consumer takes the rest of it (errata E6).
#[test]
fn the_rest_of_a_block_frees_nobody_elses_message() {
    let (tx, rx) = bytes(2, 48).unwrap();
    let other = rx.clone();
    tx.try_push(b"read for long").unwrap();
    tx.try_push(&[1; 48]).unwrap();
    let reading = rx.readable().unwrap();
    assert_eq!(pop(&other), Ok(vec![1; 48]));
    assert_eq!(tx.try_push(&[2; 48]), Err(PushBytesError::Busy));
    assert_eq!(&*reading, b"read for long");
    drop(reading);
    assert_eq!(tx.try_push(&[2; 48]), Ok(()));
}

/// What is behind a message that is being written waits for it; what was before it does not.
#[test]
fn grants_keep_their_place() {
    let (tx, rx) = bytes(2, 160).unwrap();
    tx.try_push(b"first").unwrap();
    let mut second = tx.reserve(6).unwrap();
    tx.try_push(b"third").unwrap();
    assert_eq!(pop(&rx), Ok(b"first".to_vec()));
    assert_eq!(pop(&rx), Err(TryPopError::Busy));
    second.copy_from_slice(b"second");
    let mut fourth = tx.reserve(20).unwrap();
    fourth[..6].copy_from_slice(b"fourth");
    second.commit();
    fourth.commit_first(6);
    let messages: Vec<_> = std::iter::from_fn(|| pop(&rx).ok()).collect();
    assert_eq!(messages, [&b"second"[..], b"third", b"fourth"]);
}

/// Producers that are always half-way with something, as when several never rest: whatever is committed in front of the first of them
/// is delivered, and nothing behind it.
#[test]
fn what_is_committed_is_delivered_while_pushes_are_half_way() {
    for half_way in 1..=3 {
        let (tx, rx) = bytes(2, 64 * 16).unwrap();
        let mut open = VecDeque::new();
        for number in 0..200_u8 {
            while open.len() < half_way {
                open.push_back(tx.reserve(20).unwrap());
            }
            let mut first = open.pop_front().unwrap();
            first[0] = number;
            first.commit_first(1);
            assert_eq!(pop(&rx), Ok(vec![number]));
            let nothing = if open.is_empty() { TryPopError::Empty } else { TryPopError::Busy };
            assert_eq!(pop(&rx), Err(nothing));
        }
        // The last one that is half-way ends first, and one in front of it is given up.
        if half_way > 1 {
            open.push_back(tx.reserve(20).unwrap());
            open.pop_back().unwrap().commit();
            assert_eq!(pop(&rx), Err(TryPopError::Busy));
            drop(open);
            assert_eq!(pop(&rx).map(|message| message.len()), Ok(20));
            assert_eq!(pop(&rx), Err(TryPopError::Empty));
        }
    }
}

#[test]
fn a_panic_leaves_no_message() {
    let (tx, rx) = bytes(2, 64).unwrap();
    let write = AssertUnwindSafe(|| {
        let mut grant = tx.reserve(8).unwrap();
        grant[0] = 1;
        panic!("half-way");
    });
    assert!(catch_unwind(write).is_err());
    tx.try_push(b"after").unwrap();
    assert_eq!(pop(&rx), Ok(b"after".to_vec()));
    let cut = AssertUnwindSafe(|| tx.reserve(8).unwrap().commit_first(9));
    assert!(catch_unwind(cut).is_err());
    assert_eq!(pop(&rx), Err(TryPopError::Empty));
}

/// A producer sleeps until the oldest block is free, and what frees it is no pop: grants are dropped in which there is nothing.
#[test]
fn a_dropped_grant_makes_room() {
    let (tx, rx) = bytes::with_wait(2, 32, Park::new()).unwrap();
    let block = [tx.reserve(16).unwrap(), tx.reserve(16).unwrap()];
    (0..2).for_each(|number| tx.try_push(&[number]).unwrap());
    let note = Note::default();
    let waker = note.waker();
    let mut pushing = Box::pin(tx.push_async(&[2]));
    let cx = &mut Context::from_waker(&waker);
    assert!(pushing.as_mut().poll(cx).is_pending());
    let [first, second] = block;
    drop(first);
    assert!(!note.was_woken(), "half of the block is still being written");
    drop(second);
    assert!(note.was_woken(), "the producer sleeps beside a free block");
    assert_eq!(pushing.as_mut().poll(cx), Poll::Ready(Ok(())));
    (0..3).for_each(|number| assert_eq!(pop(&rx), Ok(vec![number])));
}

/// A block of two granules gets free, and four producers wait for it: the two that are first do not fit into it together, and of the
/// others one does.
#[test]
fn every_producer_whose_message_fits_is_woken() {
    let (tx, rx) = bytes::with_wait(2, 32, Park::new()).unwrap();
    (0..4).for_each(|number| tx.try_push(&[number]).unwrap());
    let messages: [&[u8]; 4] = [&[4; 16], &[5; 32], &[6; 32], &[7; 16]];
    let mut waiting = messages.map(|message| (Box::pin(tx.push_async(message)), Note::default()));
    for (pushing, note) in &mut waiting {
        assert!(pushing.as_mut().poll(&mut Context::from_waker(&note.waker())).is_pending());
    }
    (0..2).for_each(|number| assert_eq!(pop(&rx), Ok(vec![number])));
    let pushed = waiting.each_mut().map(|(pushing, note)| {
        note.was_woken() && pushing.as_mut().poll(&mut Context::from_waker(&note.waker())).is_ready()
    });
    assert_eq!(pushed, [true, false, false, true]);
}

#[test]
fn raw_grants_come_back() {
    let (tx, rx) = bytes(2, 64).unwrap();
    let raw = tx.reserve(3).unwrap().into_raw();
    // SAFETY: from this queue, and once.
    let mut grant = unsafe { tx.grant_from_raw(raw) };
    grant.copy_from_slice(b"raw");
    grant.commit();
    let raw = rx.readable().unwrap().into_raw();
    // SAFETY: from this queue, and once.
    assert_eq!(&*unsafe { rx.grant_from_raw(raw) }, b"raw");
}

#[test]
fn messages_start_at_multiples_of_sixteen() {
    let (tx, rx) = bytes(2, 128).unwrap();
    for size in [1, 17, 5] {
        let grant = tx.reserve(size).unwrap();
        assert_eq!(grant.as_ptr().addr() % 16, 0);
        grant.commit();
        assert_eq!(rx.readable().unwrap().as_ptr().addr() % 16, 0);
    }
}

#[test]
fn ends_close() {
    let (tx, rx) = bytes(2, 32).unwrap();
    let other = tx.clone();
    other.try_push(b"last").unwrap();
    drop(tx);
    assert!(!rx.is_closed());
    drop(other);
    assert!(rx.is_closed());
    assert_eq!([pop(&rx), pop(&rx)], [Ok(b"last".to_vec()), Err(TryPopError::Closed)]);
    assert_eq!(rx.pop(&mut Vec::new()), Err(PopError));

    let (tx, rx) = bytes(2, 32).unwrap();
    drop(rx);
    assert!(tx.is_closed());
    assert_eq!(tx.push(b"late"), Err(PushBytesError::Closed));
}

#[test]
fn waits_end() {
    let soon = Duration::from_millis(1);
    let (tx, rx) = bytes::with_wait(2, 16, Park::new()).unwrap();
    assert_eq!(rx.pop_timeout(&mut Vec::new(), soon), Err(PopTimeoutError::Timeout));
    tx.push_timeout(b"a", soon).unwrap();
    tx.push_timeout(b"b", soon).unwrap();
    assert_eq!(tx.push_timeout(b"c", soon), Err(PushBytesTimeoutError::Timeout));
    assert_eq!(rx.pop(&mut Vec::new()), Ok(1));
    tx.push_timeout(b"c", soon).unwrap();
}

#[test]
fn wrong_sizes_are_named() {
    let (tx, _rx) = bytes(2, 60).unwrap();
    assert_eq!(tx.try_push(&[0; 64]), Ok(()));
    assert_eq!(tx.push(&[0; 65]), Err(PushBytesError::TooLarge { bytes: 65, max: 64 }));
    let shape = |blocks, block_bytes| bytes(blocks, block_bytes).map(|(tx, _)| tx.capacity());
    assert_eq!(shape(1, 8), Err(BuildError::TooSmall { parameter: "blocks", value: 1, min: 2 }));
    assert_eq!(shape(12, 8), Err(BuildError::NotPowerOfTwo { parameter: "blocks", value: 12 }));
    assert_eq!(shape(2, 0), Err(BuildError::TooSmall { parameter: "block_bytes", value: 0, min: 1 }));
    assert_eq!(shape(2, 1 << 31), Err(BuildError::TooLarge { parameter: "block_bytes", value: 1 << 31, max: 1 << 30 }));
    // As many granules as an offset has room for, of so many blocks.
    let max = ((1 << 46) - 1) / ((1 << 20) + 1) * 16;
    assert_eq!(shape(1 << 14, 1 << 30), Err(BuildError::TooLarge { parameter: "block_bytes", value: 1 << 30, max }));
    let many = BuildError::TooLarge { parameter: "blocks", value: usize::MAX, max: 1 << 31 };
    assert_eq!(shape(usize::MAX, 64), Err(many));
    assert_eq!(bytes::drop_old(usize::MAX, 64).err(), Some(many));
}
