//! Grants that wait: with a timeout, as futures, asleep; and in schedules drawn by seed, where a wake-up that is lost leaves both ends
//! asleep.

use crate::support::{Note, block_on};
use std::task::{Context, Poll, Waker};
use thalweg_check::Fuzz;
use thalweg_queue::{
    Park, PopError, PopTimeoutError, PushError, PushTimeoutError, bytes, growing, mpmc,
    research::{lamport, mesh},
    spsc::fast_forward,
};
use thalweg_sync::thread;
use thalweg_sync::time::{self, Duration};

const SHORT: Duration = Duration::from_millis(2);

/// Pops what is in a grant: some are popped by being released, some by being dropped.
macro_rules! take {
    (release $grant:expr) => {{
        let grant = $grant;
        let numbers = grant.to_vec();
        grant.release(numbers.len());
        numbers
    }};
    (drop $grant:expr) => {
        $grant.to_vec()
    };
}

/// Pushes what is left of `numbers`, as much as a grant holds.
macro_rules! put {
    ($grant:expr, $numbers:expr) => {{
        let mut grant = $grant;
        grant.extend($numbers);
        grant.commit();
    }};
}

/// The promises of one kind of queue with two ends.
macro_rules! promises {
    ($($name:ident: $take:ident $queue:expr,)+) => {
        $(#[allow(unused_mut, reason = "some handles are shared")]
        mod $name {
            use super::*;

            #[test]
            fn a_wait_ends_in_time_or_with_the_queue() {
                let (mut tx, mut rx) = $queue;
                let start = time::now();
                assert_eq!(rx.readable_timeout(9, SHORT).err(), Some(PopTimeoutError::Timeout));
                assert!(start.elapsed() >= SHORT);
                let mut pushed = 0..;
                loop {
                    match tx.reserve_timeout(3, Duration::ZERO) {
                        Ok(grant) => put!(grant, &mut pushed),
                        Err(refused) => break assert_eq!(refused, PushTimeoutError::Timeout(())),
                    }
                }
                let start = time::now();
                assert_eq!(tx.reserve_timeout(1, SHORT).err(), Some(PushTimeoutError::Timeout(())));
                assert!(start.elapsed() >= SHORT);
                let mut popped = Vec::new();
                while let Ok(grant) = rx.readable_timeout(2, Duration::ZERO) {
                    popped.extend(take!($take grant));
                }
                assert!(popped.into_iter().eq(0..pushed.start));
                drop(tx);
                assert_eq!(rx.wait_readable(1).err(), Some(PopError));
                assert_eq!(rx.readable_timeout(1, SHORT).err(), Some(PopTimeoutError::Closed));
                assert_eq!(block_on(rx.readable_async(1)).err(), Some(PopError));
                let (mut tx, rx) = $queue;
                put!(tx.wait_reserve(1).unwrap(), [0]);
                drop(rx);
                assert_eq!(tx.wait_reserve(1).err(), Some(PushError(())));
                assert_eq!(tx.reserve_timeout(1, SHORT).err(), Some(PushTimeoutError::Closed(())));
                assert_eq!(block_on(tx.reserve_async(1)).err(), Some(PushError(())));
            }

            #[test]
            fn one_that_is_dropped_has_taken_nothing() {
                let (mut tx, mut rx) = $queue;
                let mut cx = Context::from_waker(Waker::noop());
                assert!(Box::pin(rx.readable_async(1)).as_mut().poll(&mut cx).is_pending());
                let note = Note::default();
                let mut reading = Box::pin(rx.readable_async(1));
                assert!(reading.as_mut().poll(&mut Context::from_waker(&note.waker())).is_pending());
                let mut pushed = 0..;
                put!(tx.reserve(1).unwrap(), &mut pushed);
                assert!(note.was_woken());
                match reading.as_mut().poll(&mut cx) {
                    Poll::Ready(Ok(grant)) => assert_eq!(take!($take grant), [0]),
                    _ => panic!("it was woken for an item"),
                }
                drop(reading);
                while let Ok(grant) = tx.reserve(1) {
                    put!(grant, &mut pushed);
                }
                assert!(Box::pin(tx.reserve_async(1)).as_mut().poll(&mut cx).is_pending());
                let note = Note::default();
                let mut writing = Box::pin(tx.reserve_async(1));
                assert!(writing.as_mut().poll(&mut Context::from_waker(&note.waker())).is_pending());
                let mut popped = Vec::new();
                while let Ok(grant) = rx.readable(3) {
                    popped.extend(take!($take grant));
                }
                assert!(popped.into_iter().eq(1..pushed.start));
                assert!(note.was_woken());
                match writing.as_mut().poll(&mut cx) {
                    Poll::Ready(Ok(grant)) => put!(grant, &mut pushed),
                    _ => panic!("it was woken for room"),
                }
                drop(writing);
                assert_eq!(take!($take rx.readable(3).unwrap()), [pushed.start - 1]);
            }

            #[test]
            fn no_wake_up_is_lost() {
                const ITEMS: usize = 12;
                Fuzz::new().seeds(0..100).run(|| {
                    let (mut tx, mut rx) = $queue;
                    thread::scope(|scope| {
                        scope.spawn(move || {
                            let mut numbers = 0..ITEMS;
                            while !numbers.is_empty() {
                                match numbers.start % 4 {
                                    0 => put!(block_on(tx.reserve_async(2)).unwrap(), &mut numbers),
                                    1 => put!(tx.wait_reserve(1).unwrap(), &mut numbers),
                                    2 => {
                                        drop(tx.wait_reserve(2).unwrap());
                                        put!(tx.wait_reserve(3).unwrap(), &mut numbers);
                                    }
                                    _ => while let Err(refused) = tx
                                        .reserve_timeout(1, Duration::from_nanos(30))
                                        .map(|grant| put!(grant, &mut numbers))
                                    {
                                        assert_eq!(refused, PushTimeoutError::Timeout(()));
                                    },
                                }
                            }
                        });
                        let mut popped = Vec::new();
                        while popped.len() < ITEMS {
                            match popped.len() % 3 {
                                0 => popped.extend(take!($take block_on(rx.readable_async(2)).unwrap())),
                                1 => popped.extend(take!($take rx.wait_readable(3).unwrap())),
                                _ => while popped.len() % 3 == 2 {
                                    match rx.readable_timeout(1, Duration::from_nanos(30)) {
                                        Ok(grant) => popped.extend(take!($take grant)),
                                        Err(refused) => assert_eq!(refused, PopTimeoutError::Timeout),
                                    }
                                },
                            }
                        }
                        assert!(popped.into_iter().eq(0..ITEMS));
                        assert_eq!(rx.wait_readable(1).err(), Some(PopError));
                    });
                });
            }

            /// Once in twenty: on a machine that is at other work everything costs more.
            #[test]
            fn asleep_they_use_no_processor() {
                let cost = |wait: &(dyn Fn() + Sync), end: &dyn Fn()| {
                    thread::scope(|scope| {
                        let waiting = scope.spawn(move || {
                            let before = time::cpu_time_of_thread().ok()?;
                            wait();
                            Some(time::cpu_time_of_thread().ok()?.saturating_sub(before))
                        });
                        thread::sleep(Duration::from_millis(50));
                        end();
                        waiting.join().unwrap()
                    })
                };
                let is_idle = |cost: Option<Duration>| cost.is_none_or(|cost| cost < Duration::from_millis(3));
                let reads = || {
                    let (tx, rx) = $queue;
                    let (tx, rx) = (Cell::new(tx), Cell::new(rx));
                    cost(&|| assert!(rx.take().wait_readable(1).is_err()), &|| drop(tx.take()))
                };
                let writes = || {
                    let (mut tx, rx) = $queue;
                    while let Ok(grant) = tx.reserve(1) {
                        put!(grant, [0]);
                    }
                    let (tx, rx) = (Cell::new(tx), Cell::new(rx));
                    cost(&|| _ = tx.take().wait_reserve(1).map(drop), &|| drop(rx.take()))
                };
                assert!((0..20).any(|_| is_idle(reads())), "never less than 3 ms of 50 ms");
                assert!((0..20).any(|_| is_idle(writes())), "never less than 3 ms of 50 ms");
            }
        })+
    };
}

/// An end that one thread makes and another one takes.
struct Cell<E>(thalweg_sync::sync::Mutex<Option<E>>);

impl<E> Cell<E> {
    fn new(end: E) -> Self {
        Self(thalweg_sync::sync::Mutex::new(Some(end)))
    }

    fn take(&self) -> E {
        self.0.lock().unwrap().take().unwrap()
    }
}

promises! {
    in_place: release fast_forward::in_place_with_wait::<usize, _>(4, Park::new()).unwrap(),
    spsc: release thalweg_queue::spsc::with_wait::<usize, _>(2, 2, Park::new()).unwrap(),
    mpsc: release thalweg_queue::mpsc::with_wait::<usize, _>(2, 2, Park::new()).unwrap(),
    spmc: drop thalweg_queue::spmc::with_wait::<usize, _>(2, 2, Park::new()).unwrap(),
    shared: drop mpmc::with_wait::<usize, _>(2, 2, Park::new()).unwrap(),
    chunks: release growing::with_wait::<usize, _>(2, 4, growing::Most::Entries(6), Park::new()).unwrap(),
    lamports: release lamport::with_wait::<usize, _, lamport::Cached>(4, Park::new()).unwrap(),
    one_of_a_mesh: release {
        let (mut tx, mut rx) = mesh::with_wait::<usize, _>(1, 1, 2, 4, Park::new()).unwrap();
        (tx.remove(0), rx.remove(0))
    },
}

/// Two on either side, all by grants; what is reserved is given up at times, and then is a hole.
#[test]
fn two_and_two() {
    const EACH: usize = 6;
    Fuzz::new().seeds(0..150).run(|| {
        let (tx, rx) = mpmc::with_wait::<usize, _>(2, 2, Park::new()).unwrap();
        let mut popped: Vec<usize> = thread::scope(|scope| {
            for producer in 0..2 {
                let tx = tx.clone();
                scope.spawn(move || {
                    let mut numbers = producer * EACH..(producer + 1) * EACH;
                    while !numbers.is_empty() {
                        match numbers.start % 3 {
                            0 => drop(tx.wait_reserve(1).unwrap()),
                            _ if producer == 0 => drop(block_on(tx.reserve_async(2)).unwrap()),
                            _ => {}
                        }
                        put!(tx.wait_reserve(2).unwrap(), &mut numbers);
                    }
                });
            }
            drop(tx);
            let consumers = [false, true].map(|is_async| {
                let rx = rx.clone();
                scope.spawn(move || {
                    let mut popped = Vec::new();
                    loop {
                        let read = if is_async { block_on(rx.readable_async(2)) } else { rx.wait_readable(2) };
                        match read {
                            Ok(grant) => popped.extend(take!(drop grant)),
                            Err(PopError) => return popped,
                        }
                    }
                })
            });
            drop(rx);
            consumers.into_iter().flat_map(|consumer| consumer.join().unwrap()).collect()
        });
        popped.sort_unstable();
        assert!(popped.into_iter().eq(0..2 * EACH));
    });
}

/// Room for two comes with the pop that was the last one missing, and two items with the push that was: each wakes one, which wakes the
/// other. Nobody else comes to do it.
#[test]
fn who_is_woken_for_two_wakes_the_other() {
    for is_async in [false, true] {
        Fuzz::new().seeds(0..200).run(|| {
            let (tx, rx) = mpmc::with_wait::<usize, _>(2, 2, Park::new()).unwrap();
            tx.push_all(0..4).unwrap();
            thread::scope(|scope| {
                for number in [4, 5] {
                    let tx = tx.clone();
                    scope.spawn(move || {
                        let grant = if is_async { block_on(tx.reserve_async(1)) } else { tx.wait_reserve(1) };
                        put!(grant.unwrap(), [number]);
                    });
                }
                thread::yield_now();
                assert_eq!([rx.pop(), rx.pop()], [Ok(0), Ok(1)]);
            });
            assert_eq!(rx.try_iter().count(), 4);
            thread::scope(|scope| {
                for _ in 0..2 {
                    let rx = rx.clone();
                    scope.spawn(move || {
                        let grant = if is_async { block_on(rx.readable_async(1)) } else { rx.wait_readable(1) };
                        assert_eq!(grant.unwrap().len(), 1);
                    });
                }
                let first = tx.wait_reserve(1).unwrap();
                thread::yield_now();
                tx.push(7).unwrap();
                put!(first, [6]);
            });
        });
    }
}

/// Messages of bytes wait for some time, too.
#[test]
fn messages_in_time() {
    let (tx, rx) = bytes::with_wait(2, 16, Park::new()).unwrap();
    assert_eq!(rx.readable_timeout(SHORT).err(), Some(PopTimeoutError::Timeout));
    while let Ok(grant) = tx.reserve_timeout(16, Duration::ZERO) {
        grant.commit();
    }
    let timeout = bytes::PushBytesTimeoutError::Timeout;
    assert_eq!(tx.reserve_timeout(16, SHORT).err(), Some(timeout));
    assert_eq!(rx.readable_timeout(SHORT).map(|grant| grant.len()), Ok(16));
    assert!(tx.reserve_timeout(16, SHORT).is_ok());
}
