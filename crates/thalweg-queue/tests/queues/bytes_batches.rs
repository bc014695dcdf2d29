//! Many messages at a time: as many as there is room for, in order; what is not pushed stays in the slice, whatever ends the push.

use crate::support::{Note, block_on, fuse};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use thalweg_check::Fuzz;
use thalweg_queue::bytes::{self, Batch, Consumer, Mode, Producer, PushBytesError, PushBytesTimeoutError};
use thalweg_queue::wait::Wait;
use thalweg_queue::{Park, PopError, PopTimeoutError, TryPopError};
use thalweg_sync::thread;
use thalweg_sync::time::{self, Duration};

const SHORT: Duration = Duration::from_millis(2);

/// The message of a number: of less than a granule, of two, or of one.
fn message(number: u8) -> Vec<u8> {
    vec![number; [7, 20, 16][usize::from(number) % 3]]
}

fn messages(numbers: std::ops::Range<u8>) -> Vec<Vec<u8>> {
    numbers.map(message).collect()
}

/// The numbers of whole messages.
fn numbers<'a>(messages: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let number = |bytes: &[u8]| {
        assert_eq!(bytes, message(bytes[0]));
        bytes[0]
    };
    messages.into_iter().map(number).collect()
}

/// Pops up to `limit` messages.
fn pop<W: Wait, M: Mode>(rx: &Consumer<W, M>, limit: usize) -> Result<Vec<u8>, TryPopError> {
    let mut batch = Batch::new();
    rx.try_pop_many(&mut batch, limit).map(|count| {
        assert_eq!(count, batch.len());
        numbers(batch.iter())
    })
}

/// Polls a future up to `polls` times, and lets others run in between; then it is dropped.
fn give_up<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    (0..polls).find_map(|_| match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => {
            thread::yield_now();
            None
        }
    })
}

#[test]
fn as_many_as_there_is_room_for() {
    let (tx, rx) = bytes::bytes(2, 48).unwrap();
    let all = messages(0..9);
    let mut left = &all[..];
    // Three granules, three granules less one, and no room for two.
    assert_eq!(tx.try_push_many(&mut left), Ok(4));
    assert_eq!(left, &all[4..]);
    assert_eq!(tx.try_push_many(&mut left), Err(PushBytesError::Full));
    assert_eq!(left, &all[4..]);
    assert_eq!(pop(&rx, 0), Ok(vec![]));
    assert_eq!(pop(&rx, 3), Ok(vec![0, 1, 2]));
    assert_eq!(tx.try_push_many(&mut left), Ok(2));
    // They come to the end of what was there.
    let mut batch = Batch::new();
    assert_eq!([rx.try_pop_many(&mut batch, 2), rx.try_pop_many(&mut batch, 9)], [Ok(2), Ok(1)]);
    assert_eq!((numbers(batch.iter()), batch.iter().len()), (vec![3, 4, 5], 3));
    assert_eq!(rx.try_pop_many(&mut batch, 1), Err(TryPopError::Empty));
    batch.clear();
    assert!(batch.is_empty() && batch.iter().next().is_none());
    assert_eq!(tx.try_push_many::<&[u8]>(&mut &[][..]), Ok(0));
    // Empty messages are messages.
    assert_eq!(tx.try_push_many(&mut &["", "a", ""][..]), Ok(3));
    assert_eq!(rx.try_pop_many(&mut batch, 9), Ok(3));
    assert!(batch.iter().eq([&b""[..], b"a", b""]));
}

/// One that never fits ends a batch before it, and is the first that is left.
#[test]
fn one_that_is_too_large_stays() {
    let (tx, rx) = bytes::bytes(2, 32).unwrap();
    let all = [vec![0; 7], vec![9; 33], vec![2; 16]];
    let refused = PushBytesError::TooLarge { bytes: 33, max: 32 };
    let mut left = &all[..];
    assert_eq!(tx.try_push_many(&mut left), Ok(1));
    assert_eq!((tx.try_push_many(&mut left), left), (Err(refused), &all[1..]));
    assert_eq!((tx.push_many(&mut left), left), (Err(refused), &all[1..]));
    let late = tx.push_many_timeout(&mut left, SHORT);
    assert_eq!((late, left), (Err(PushBytesTimeoutError::Refused(refused)), &all[1..]));
    assert_eq!(tx.push_all(&all), Err(refused));
    assert_eq!(pop(&rx, 9), Ok(vec![0, 0]));
}

#[test]
fn a_wait_ends_in_time_or_with_the_queue() {
    let (tx, rx) = bytes::with_wait(2, 32, Park::new()).unwrap();
    let mut batch = Batch::new();
    let start = time::now();
    assert_eq!(rx.pop_many_timeout(&mut batch, 3, SHORT), Err(PopTimeoutError::Timeout));
    assert!(start.elapsed() >= SHORT);
    let all = messages(0..5);
    let mut left = &all[..];
    let start = time::now();
    assert_eq!(tx.push_many_timeout(&mut left, SHORT), Err(PushBytesTimeoutError::Timeout));
    assert!(start.elapsed() >= SHORT);
    let pushed = (all.len() - left.len()) as u8;
    assert!(pushed > 0);
    assert_eq!(pop(&rx, 1), Ok(vec![0]));
    // What is there does not have to be waited for, and more is not waited for.
    assert_eq!(rx.pop_many_timeout(&mut batch, 9, Duration::ZERO), Ok(usize::from(pushed) - 1));
    assert_eq!(tx.push_many_timeout(&mut left, SHORT), Ok(()));
    assert_eq!(rx.pop_many(&mut batch, 9), Ok(5 - usize::from(pushed)));
    assert_eq!(numbers(batch.iter()), [1, 2, 3, 4]);
    let (other, last) = (tx.clone(), rx.clone());
    drop((tx, other));
    assert_eq!(rx.pop_many(&mut batch, 1), Err(PopError));
    assert_eq!(rx.pop_many_timeout(&mut batch, 1, SHORT), Err(PopTimeoutError::Closed));
    assert_eq!(block_on(rx.pop_many_async(&mut batch, 1)), Err(PopError));
    assert_eq!((batch.len(), rx.iter().next(), last.try_iter().next()), (4, None, None));

    let (tx, rx) = bytes::with_wait(2, 32, Park::new()).unwrap();
    let mut left = &all[..];
    let mut pushing = Box::pin(tx.push_many_async(&mut left));
    let note = Note::default();
    assert!(pushing.as_mut().poll(&mut Context::from_waker(&note.waker())).is_pending());
    drop(rx);
    assert!(note.was_woken());
    assert_eq!(block_on(pushing), Err(PushBytesError::Closed));
    assert_eq!(left, &all[usize::from(pushed)..]);
    assert_eq!(tx.push_many(&mut left), Err(PushBytesError::Closed));
    assert_eq!((left, tx.push_all(&all)), (&all[usize::from(pushed)..], Err(PushBytesError::Closed)));
}

/// A waker of the other side panics: what is pushed has left the slice, and what is popped has come to the batch or is dropped.
#[test]
fn a_waker_that_panics_leaves_the_rest() {
    fn check<M: Mode>((tx, rx): (Producer<Park, M>, Consumer<Park, M>)) {
        for before in 0..6 {
            let all = messages(0..4);
            let mut left = &all[..];
            // So that the block ends elsewhere.
            (0..before).for_each(|_| tx.try_push(&[]).unwrap());
            assert_eq!(rx.try_iter().count(), before);
            {
                let mut memory = Vec::new();
                let mut popping = pin!(rx.pop_async(&mut memory));
                assert!(popping.as_mut().poll(&mut Context::from_waker(&fuse())).is_pending());
                assert!(catch_unwind(AssertUnwindSafe(|| tx.try_push_many(&mut left))).is_err());
            }
            let pushed = (all.len() - left.len()) as u8;
            assert_eq!(pop(&rx, 9).unwrap_or_default(), (0..pushed).collect::<Vec<_>>());
            assert_eq!(tx.push_many(&mut left), Ok(()));
            assert_eq!(pop(&rx, 9), Ok((pushed..4).collect()));
        }
    }
    check(bytes::with_wait(2, 7 * 16, Park::new()).unwrap());
    check(bytes::drop_old_with_wait(2, 7 * 16, Park::new()).unwrap());
    let (tx, rx) = bytes::with_wait(2, 16, Park::new()).unwrap();
    let mut left = &["a", "b", "c", "d"][..];
    assert_eq!(tx.try_push_many(&mut left), Ok(2));
    {
        let mut pushing = pin!(tx.push_async(b"x"));
        assert!(pushing.as_mut().poll(&mut Context::from_waker(&fuse())).is_pending());
        let mut batch = Batch::new();
        assert!(catch_unwind(AssertUnwindSafe(|| rx.try_pop_many(&mut batch, 2))).is_err());
        assert!(batch.is_empty(), "the first one was dropped");
    }
    assert_eq!(tx.try_push_many(&mut left), Ok(1));
    assert!(rx.try_iter().eq([b"b".to_vec(), b"c".to_vec()]));
}

/// What gives the messages panics: those before are pushed, that one and the others are not.
#[test]
fn a_message_that_panics_stops_nobody() {
    struct Loud(u8);
    impl AsRef<[u8]> for Loud {
        fn as_ref(&self) -> &[u8] {
            assert_ne!(self.0, 2, "told to panic");
            std::slice::from_ref(&self.0)
        }
    }
    fn check<M: Mode>((tx, rx): (Producer<Park, M>, Consumer<Park, M>)) {
        let all = [0, 1, 2, 3].map(Loud);
        for round in 0..10 {
            let mut left = &all[..];
            let panicked = catch_unwind(AssertUnwindSafe(|| match round % 3 {
                0 => tx.try_push_many(&mut left).map(|_| ()),
                1 => tx.push_many(&mut left),
                _ => block_on(tx.push_many_async(&mut left)),
            }));
            assert!(panicked.is_err());
            assert_eq!(left.iter().map(|loud| loud.0).collect::<Vec<_>>(), [2, 3]);
            assert!(rx.try_iter().eq([[0], [1]]));
            assert!(catch_unwind(AssertUnwindSafe(|| tx.push_all(&all))).is_err());
            assert!(rx.try_iter().eq([[0], [1]]));
            let broken = (0..4).map(|number| if number == 1 { panic!("told to panic") } else { [number] });
            assert!(catch_unwind(AssertUnwindSafe(|| tx.push_all(broken))).is_err());
            assert!(rx.try_iter().eq([[0]]));
        }
    }
    check(bytes::with_wait(2, 32, Park::new()).unwrap());
    check(bytes::drop_old_with_wait(2, 32, Park::new()).unwrap());
}

/// Nothing is refused, and the newest are there.
#[test]
fn a_batch_overwrites_what_is_old() {
    let (tx, rx) = bytes::drop_old(2, 48).unwrap();
    let all = messages(0..60);
    let mut left = &all[..];
    assert_eq!(tx.try_push_many(&mut left), Ok(60));
    assert!(left.is_empty());
    let newest = pop(&rx, 60).unwrap();
    assert!(newest.len() >= 2 && newest.iter().copied().eq(60 - newest.len() as u8..60), "{newest:?}");
    assert_eq!(tx.push_many(&mut &all[..2]), Ok(()));
    assert_eq!(tx.push_all(&all[2..3]), Ok(1));
    assert_eq!(pop(&rx, 2), Ok(vec![0, 1]));
    assert!(rx.try_iter().eq([message(2)]));
}

/// Messages of one producer by all forms, some of which are given up over and over.
fn produce<M: Mode>(tx: &Producer<Park, M>, all: &[Vec<u8>], form: usize) {
    let mut left = all;
    match form {
        0 => tx.push_many(&mut left).unwrap(),
        1 => block_on(tx.push_many_async(&mut left)).unwrap(),
        2 => while tx.push_many_timeout(&mut left, Duration::from_nanos(30)).is_err() {},
        3 => while give_up(tx.push_many_async(&mut left), 2).is_none() {},
        _ => {
            assert_eq!(tx.push_all(left), Ok(all.len()));
            return;
        }
    }
    assert!(left.is_empty());
}

/// What came, as long as something comes.
fn consume<M: Mode>(rx: &Consumer<Park, M>, form: usize) -> Vec<u8> {
    let mut batch = Batch::new();
    loop {
        let result = match form {
            0 => rx.pop_many(&mut batch, 3),
            1 => block_on(rx.pop_many_async(&mut batch, 2)),
            2 => match rx.pop_many_timeout(&mut batch, 2, Duration::from_nanos(30)) {
                Err(PopTimeoutError::Timeout) => continue,
                result => result.map_err(|_| PopError),
            },
            3 => match give_up(rx.pop_many_async(&mut batch, 2), 2) {
                Some(result) => result,
                None => continue,
            },
            _ => return rx.iter().flat_map(|message| numbers([&message[..]])).collect(),
        };
        if result.is_err() {
            return numbers(batch.iter());
        }
    }
}

/// Two producers and two consumers, of which each waits in its own way: nobody sleeps for ever, and each message comes once, those of a
/// producer in order.
#[test]
fn nothing_is_lost_nor_any_wake_up() {
    const EACH: u8 = 5;
    for form in 0..5 {
        Fuzz::new().seeds(0..80).run(|| {
            let (tx, rx) = bytes::with_wait(2, 48, Park::new()).unwrap();
            let lists: Vec<Vec<u8>> = thread::scope(|scope| {
                for producer in 0..2 {
                    let tx = tx.clone();
                    let form = (form + usize::from(producer)) % 5;
                    scope.spawn(move || produce(&tx, &messages(producer * EACH..(producer + 1) * EACH), form));
                }
                drop(tx);
                let consumers = [form, (form + 3) % 5].map(|form| {
                    let rx = rx.clone();
                    scope.spawn(move || consume(&rx, form))
                });
                drop(rx);
                consumers.into_iter().map(|consumer| consumer.join().unwrap()).collect()
            });
            for list in &lists {
                let of = |producer| list.iter().copied().filter(move |number| number / EACH == producer);
                assert!([0, 1].into_iter().all(|producer| of(producer).is_sorted()));
            }
            let mut all = lists.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..2 * EACH));
        });
    }
}

/// The same where pushes overwrite: what comes comes once and in order, and the last of all is there.
#[test]
fn whoever_waits_for_the_newest_gets_it() {
    const ALL: u8 = 12;
    for form in 0..5 {
        Fuzz::new().seeds(0..60).run(|| {
            let (tx, rx) = bytes::drop_old_with_wait(2, 48, Park::new()).unwrap();
            let popped = thread::scope(|scope| {
                scope.spawn(move || produce(&tx, &messages(0..ALL), form));
                consume(&rx, (form + 2) % 5)
            });
            assert!(popped.is_sorted_by(|one, next| one < next), "{popped:?}");
            assert_eq!(popped.last(), Some(&(ALL - 1)));
        });
    }
}

/// The futures may be spawned where tasks go from thread to thread.
#[test]
fn futures_are_send() {
    fn check(future: impl Future + Send) {
        drop(future);
    }
    let (tx, rx) = bytes::with_wait(2, 48, Park::new()).unwrap();
    check(tx.push_many_async(&mut &["a"][..]));
    check(rx.pop_many_async(&mut Batch::new(), 1));
}
