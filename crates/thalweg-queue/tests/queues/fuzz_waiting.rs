//! Ends that sleep, in schedules drawn by seed. A wake-up that is lost leaves everybody asleep, which the fuzzer reports as a
//! deadlock.

use crate::support::block_on;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use thalweg_check::Fuzz;
use thalweg_queue::{Park, Pop, PopTimeoutError, PushTimeoutError, TryPopError, mpmc, spsc::fast_forward};
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

/// Polls a future `polls` times and drops it.
fn poll<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    (0..polls).find_map(|_| match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => {
            thread::yield_now();
            None
        }
    })
}

/// Three on either side of a queue that is nearly always full or empty: some sleep in their thread, some are futures. A producer
/// that stalls half-way through a push makes the others' items invisible, so consumers wake up for nothing, and one push then
/// makes several items visible.
#[test]
fn three_producers_three_consumers() {
    const EACH: usize = 4;
    for entries in [1, 2] {
        Fuzz::new().seeds(0..150).run(|| {
            let (tx, rx) = mpmc::with_wait(2, entries, Park::new()).unwrap();
            let mut popped: Vec<usize> = thread::scope(|scope| {
                for producer in 0..3 {
                    let tx = tx.clone();
                    scope.spawn(move || {
                        for number in producer * EACH..(producer + 1) * EACH {
                            match producer {
                                0 => block_on(tx.push_async(number)).unwrap(),
                                _ => tx.push(number).unwrap(),
                            }
                        }
                    });
                }
                drop(tx);
                let consumers: Vec<_> = (0..3)
                    .map(|consumer| {
                        let rx = rx.clone();
                        scope.spawn(move || {
                            let mut popped = Vec::new();
                            loop {
                                let result = match consumer {
                                    0 => block_on(rx.pop_async()),
                                    1 => block_on(rx.pop_many_async(&mut popped, 2)).map(|_| 0),
                                    _ => rx.pop(),
                                };
                                match (consumer, result) {
                                    (_, Err(_)) => return popped,
                                    (1, Ok(_)) => {}
                                    (_, Ok(number)) => popped.push(number),
                                }
                            }
                        })
                    })
                    .collect();
                drop(rx);
                consumers.into_iter().flat_map(|consumer| consumer.join().unwrap()).collect()
            });
            popped.sort_unstable();
            assert!(popped.into_iter().eq(0..3 * EACH));
        });
    }
}

/// Two sleepers, and one who gives up: by a timeout, by dropping a future that was polled once or twice. What it was woken for
/// has to wake a sleeper. Exactly as many items as the sleepers need are pushed, so that nobody else comes to wake them.
#[test]
fn who_gives_up_wakes_the_next() {
    for giving_up in 0..3 {
        Fuzz::new().seeds(0..300).run(|| {
            let (tx, rx) = mpmc::with_wait(2, 3, Park::new()).unwrap();
            thread::scope(|scope| {
                let impatient = rx.clone();
                let impatient = scope.spawn(move || match giving_up {
                    0 => impatient.pop_timeout(Duration::from_nanos(50)).ok(),
                    polls => poll(impatient.pop_async(), polls).map(Result::unwrap),
                });
                let sleepers: Vec<_> =
                    (0..2).map(|_| rx.clone()).map(|rx| scope.spawn(move || rx.pop().unwrap())).collect();
                for number in [1, 2] {
                    tx.push(number).unwrap();
                }
                // What the impatient one took is put back.
                if let Some(number) = impatient.join().unwrap() {
                    tx.push(number).unwrap();
                }
                let sum: usize = sleepers.into_iter().map(|sleeper| sleeper.join().unwrap()).sum();
                assert_eq!(sum, 3);
            });
        });
    }
}

/// One to one, with room for one: both ends sleep all the time.
#[test]
fn fast_forward_sleeps_on_both_ends() {
    Fuzz::new().seeds(0..200).run(|| {
        let (mut tx, mut rx) = fast_forward::with_wait(1, Park::new()).unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                for number in 0..30 {
                    match number % 2 {
                        0 => tx.push(Box::new(number)).unwrap(),
                        _ => block_on(tx.push_async(Box::new(number))).unwrap(),
                    }
                }
            });
            for number in 0..30 {
                match number % 3 {
                    0 => assert_eq!(*block_on(rx.pop_async()).unwrap(), number),
                    _ => assert_eq!(*rx.pop().unwrap(), number),
                }
            }
            assert!(rx.pop().is_err());
        });
    });
}

/// Timeouts in virtual time: nothing is lost, whatever ends first.
#[test]
fn timeouts_lose_nothing() {
    Fuzz::new().seeds(0..300).run(|| {
        let (tx, rx) = mpmc::with_wait(2, 1, Park::new()).unwrap();
        let mut popped: Vec<usize> = thread::scope(|scope| {
            for producer in 0..2 {
                let tx = tx.clone();
                scope.spawn(move || {
                    for number in producer * 4..(producer + 1) * 4 {
                        let mut number = number;
                        while let Err(refused) = tx.push_timeout(number, Duration::from_nanos(30)) {
                            assert!(matches!(refused, PushTimeoutError::Timeout(_)));
                            number = refused.into_inner();
                        }
                    }
                });
            }
            drop(tx);
            let consumers: Vec<_> = (0..2)
                .map(|_| rx.clone())
                .map(|rx| {
                    scope.spawn(move || {
                        let mut popped = Vec::new();
                        loop {
                            match rx.pop_timeout(Duration::from_nanos(30)) {
                                Ok(number) => popped.push(number),
                                Err(PopTimeoutError::Timeout) => {}
                                Err(PopTimeoutError::Closed) => return popped,
                            }
                        }
                    })
                })
                .collect();
            drop(rx);
            consumers.into_iter().flat_map(|consumer| consumer.join().unwrap()).collect()
        });
        popped.sort_unstable();
        assert!(popped.into_iter().eq(0..8));
    });
}

/// An end that seems to have something to pop, and never has.
struct Liar(Park);

impl Pop for Liar {
    type Item = ();
    type Wait = Park;

    fn try_pop(&mut self) -> Result<(), TryPopError> {
        Err(TryPopError::Busy)
    }

    fn may_pop(&self) -> bool {
        true
    }

    fn is_closed(&self) -> bool {
        false
    }

    fn capacity(&self) -> usize {
        1
    }

    fn strategy(&self) -> &Park {
        &self.0
    }
}

#[test]
fn a_wait_ends_at_its_deadline_whatever_the_looks_of_it() {
    assert_eq!(Liar(Park::new()).pop_timeout(Duration::from_millis(1)), Err(PopTimeoutError::Timeout));
}
