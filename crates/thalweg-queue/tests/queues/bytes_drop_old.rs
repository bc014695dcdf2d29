//! Messages of any size in a queue that overwrites the oldest: order, nothing twice, nothing torn, the newest kept, what is lost
//! counted.

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use thalweg_check::Fuzz;
use thalweg_queue::bytes::{
    self, Consumer, DropOld, Mode, PopBytesError, PopBytesTimeoutError, Producer, PushBytesError,
};
use thalweg_queue::wait::Wait;
use thalweg_queue::{Park, PopError, PopTimeoutError, TryPopError, Yield};
use thalweg_sync::random::Xorshift;
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

/// How many granules of 16 bytes a message takes.
fn granules(bytes: usize) -> usize {
    bytes.div_ceil(16).max(1)
}

/// The message number `number` of `producer`, with so many bytes: they tell what they are of, whole or not.
fn message(producer: u64, number: u64, bytes: usize) -> Vec<u8> {
    let state = producer << 40 | number << 16 | bytes as u64;
    let mut random = Xorshift::new(state);
    let head = state.to_le_bytes();
    let tail = std::iter::repeat_with(|| random.number() as u8);
    head.into_iter().chain(tail).take(bytes.max(8)).collect()
}

/// Who pushed it, and as which.
fn opened(bytes: &[u8]) -> (u64, u64) {
    let state = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    let (producer, number) = (state >> 40, state >> 16 & 0xff_ffff);
    assert_eq!(bytes, message(producer, number, (state & 0xffff) as usize), "torn");
    (producer, number)
}

/// One thread, pushes and pops in any order, against a list of blocks: each answer is the one and only right one.
#[test]
fn one_thread_sees_what_it_must() {
    for (blocks, block, head) in [(2, 1, 0), (2, 4, 0), (4, 7, 0), (4, 3, (1 << 43) - 9)] {
        let (tx, rx) = bytes::drop_old_from(head, blocks, block * 16, Yield).unwrap();
        assert_eq!((tx.max_message(), tx.capacity()), (block * 16, blocks * block * 16));
        let mut random = Xorshift::new(1);
        // Messages with the granule that each starts at, and the next granule.
        let mut model = VecDeque::new();
        let mut end = 0;
        let mut number = 0;
        // Miri is slow.
        for _ in 0..if cfg!(miri) { 150 } else { 5_000 } {
            let state = random.number();
            if state >> 62 != 0 {
                let pushed = message(0, number, (state >> 20) as usize % (block * 16 + 1));
                number += 1;
                if pushed.len() > block * 16 {
                    continue;
                }
                assert_eq!(tx.try_push(&pushed), Ok(()));
                let count = granules(pushed.len());
                if end % block + count > block {
                    end = end.next_multiple_of(block);
                }
                model.push_back((end, pushed));
                end += count;
                // What is kept begins with a block: that of the newest granule, and those before it.
                let oldest = ((end - 1) / block + 1).saturating_sub(blocks) * block;
                model.retain(|(at, _)| *at >= oldest);
            } else {
                let mut popped = vec![1];
                match model.pop_front() {
                    Some((_, expected)) => {
                        assert_eq!(rx.try_pop(&mut popped), Ok(expected.len()));
                        assert_eq!((popped[0], &popped[1..]), (1, &expected[..]));
                    }
                    None => assert_eq!(rx.try_pop(&mut popped), Err(TryPopError::Empty)),
                }
            }
            assert!(rx.len() / 16 >= model.iter().map(|(_, message)| granules(message.len())).sum());
        }
        assert!(rx.dropped() > 0 || cfg!(miri));
    }
}

#[test]
fn sizes_are_told() {
    let (tx, rx) = bytes::drop_old_with_wait(2, 64, Yield).unwrap();
    assert_eq!(tx.try_push(&[0; 65]), Err(PushBytesError::TooLarge { bytes: 65, max: 64 }));
    assert_eq!(rx.try_pop_slice(&mut [0; 64]), Err(PopBytesError::Empty));
    tx.try_push(&[1; 33]).unwrap();
    tx.try_push(b"").unwrap();
    assert_eq!((tx.len(), rx.len()), (64, 64));
    let mut room = [7; 70];
    assert_eq!(rx.try_pop_slice(&mut room), Ok(33));
    assert_eq!((room[32], room[69], rx.len()), (1, 7, 16));
    assert_eq!(rx.try_pop_slice(&mut room), Ok(0));
    assert!(rx.is_empty());
    drop(rx);
    assert_eq!(tx.push(b"x"), Err(PushBytesError::Closed));
}

#[test]
fn a_short_slice_is_refused() {
    let (tx, rx) = bytes::drop_old_with_wait(2, 64, Yield).unwrap();
    let short = PopBytesError::TooSmall { room: 63, needed: 64 };
    tx.push(b"stays").unwrap();
    assert_eq!(rx.try_pop_slice(&mut [0; 63]), Err(short));
    assert_eq!(rx.pop_slice(&mut [0; 63]), Err(short));
    let late = rx.pop_slice_timeout(&mut [0; 63], Duration::from_secs(600));
    assert_eq!(late, Err(PopBytesTimeoutError::Refused(short)));
    assert_eq!(rx.try_pop_slice(&mut [0; 64]), Ok(5));
}

/// What is behind a message is left as it is.
fn popped_to_memory<M: Mode>((tx, rx): bytes::Ends<Yield, M>) {
    let mut memory = [MaybeUninit::uninit(); 70];
    memory[33..].fill(MaybeUninit::new(7));
    assert_eq!(rx.try_pop_uninit(&mut memory), Err(PopBytesError::Empty));
    assert_eq!(rx.pop_uninit_timeout(&mut memory, Duration::from_millis(1)), Err(PopBytesTimeoutError::Timeout));
    tx.try_push(&message(0, 1, 33)).unwrap();
    assert_eq!(rx.try_pop_uninit(&mut memory), Ok(33));
    // SAFETY: the first ones were written by the pop, the others above.
    let held = memory.map(|byte| unsafe { byte.assume_init() });
    assert_eq!((&held[..33], &held[33..]), (&message(0, 1, 33)[..], &[7; 37][..]));
    tx.try_push(b"").unwrap();
    assert_eq!(rx.pop_uninit(&mut memory), Ok(0));
    tx.try_push(&[1; 64]).unwrap();
    assert_eq!(rx.pop_uninit_timeout(&mut memory, Duration::from_millis(1)), Ok(64));
    drop(tx);
    assert_eq!(rx.pop_uninit(&mut memory), Err(PopBytesError::Closed));
}

#[test]
fn memory_need_not_hold_anything() {
    popped_to_memory(bytes::with_wait(2, 64, Yield).unwrap());
    popped_to_memory(bytes::drop_old_with_wait(2, 64, Yield).unwrap());
}

/// Pops until the queue is closed: each producer's numbers rise. Returns how many there were.
fn pop_all<W: Wait>(rx: &Consumer<W, DropOld>, producers: usize) -> u64 {
    let mut next = vec![0; producers];
    let mut message = Vec::new();
    let mut popped = 0;
    while rx.pop(&mut message).is_ok() {
        let (producer, number) = opened(&message);
        let next = &mut next[producer as usize];
        assert!(number >= *next, "out of order");
        *next = number + 1;
        popped += 1;
        message.clear();
    }
    popped
}

fn many<W: Wait>((tx, rx): (Producer<W, DropOld>, Consumer<W, DropOld>), consumers: usize, each: u64) {
    let max = tx.max_message() as u64;
    let popped: u64 = thread::scope(|scope| {
        for producer in 0..2 {
            let tx = tx.clone();
            scope.spawn(move || {
                for number in 0..each {
                    tx.push(&message(producer, number, (number * 37 % (max + 1)) as usize)).unwrap();
                }
            });
        }
        drop(tx);
        let consumers: Vec<_> =
            (0..consumers).map(|_| rx.clone()).map(|rx| scope.spawn(move || pop_all(&rx, 2))).collect();
        consumers.into_iter().map(|consumer| consumer.join().unwrap()).sum()
    });
    // What was not popped was dropped, and takes a granule at least.
    assert!(popped <= 2 * each && (2 * each - popped) * 16 <= rx.dropped() && rx.is_empty());
    assert!(popped > 0);
}

#[test]
fn threads_see_whole_messages() {
    for consumers in [1, 2] {
        many(bytes::drop_old_with_wait(2, 64, Yield).unwrap(), consumers, 30_000);
        many(bytes::drop_old_with_wait(8, 1000, Yield).unwrap(), consumers, 30_000);
        many(bytes::drop_old_with_wait(2, 100, Park::new()).unwrap(), consumers, 3_000);
    }
}

#[test]
fn under_the_fuzzer() {
    for (blocks, bytes) in [(2, 16), (2, 48), (4, 32)] {
        Fuzz::new().seeds(0..150).run(move || many(bytes::drop_old_with_wait(blocks, bytes, Yield).unwrap(), 2, 8));
    }
}

/// Consumers that sleep, and producers that a late push keeps waiting: a lost wake-up would be a deadlock.
#[test]
fn nobody_sleeps_for_ever() {
    for bytes in [16, 32] {
        Fuzz::new().seeds(0..150).run(|| many(bytes::drop_old_with_wait(2, bytes, Park::new()).unwrap(), 2, 5));
    }
}

/// A request is answered before the next one: who sleeps is woken by the push itself.
#[test]
fn a_push_wakes_who_sleeps() {
    Fuzz::new().seeds(0..200).run(|| {
        let (ask, asked) = bytes::drop_old_with_wait(2, 32, Park::new()).unwrap();
        let (answer, answered) = bytes::drop_old_with_wait(2, 16, Park::new()).unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut request = Vec::new();
                while asked.pop(&mut request).is_ok() {
                    answer.push(&request).unwrap();
                    request.clear();
                }
            });
            for number in 0..6 {
                ask.push(&[number; 16]).unwrap();
                let mut back = Vec::new();
                answered.pop(&mut back).unwrap();
                assert_eq!(back, [number; 16]);
            }
            drop(ask);
        });
    });
}

#[test]
fn ends_wait_and_close() {
    let (tx, rx) = bytes::drop_old_with_wait(2, 64, Park::new()).unwrap();
    let mut message = Vec::new();
    assert_eq!(rx.pop_timeout(&mut message, Duration::from_millis(1)), Err(PopTimeoutError::Timeout));
    let consumer = thread::spawn(move || {
        let mut message = Vec::new();
        assert_eq!(futures_executor::block_on(rx.pop_async(&mut message)), Ok(5));
        assert_eq!(rx.pop(&mut message), Ok(6));
        (rx.pop(&mut message), message)
    });
    futures_executor::block_on(tx.push_async(b"hello")).unwrap();
    tx.push(b", you!").unwrap();
    drop(tx);
    assert_eq!(consumer.join().unwrap(), (Err(PopError), b"hello, you!".to_vec()));
}
