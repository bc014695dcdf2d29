//! The promises of ends that wait: timeouts under every strategy; under `Park`, sleeping and async ends.

use crate::queue::{Ledger, Queue, Token, often};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Wake, Waker};
use thalweg_queue::{Park, Pop, PopError, PopTimeoutError, Push, PushTimeoutError, mpmc};
use thalweg_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use thalweg_sync::park::{Parker, Unparker};
use thalweg_sync::thread;
use thalweg_sync::time::{self, Duration};

/// One module per queue, which is built with what `wait` makes: under `Park` with every test, and what else there is to say of the
/// strategies that do not sleep.
macro_rules! promises {
    ($($name:ident: $wait:ident => $queue:expr,)+) => {
        $(mod $name {
            mod park {
                use crate::*;
                $crate::each! { @one waiting [timeouts_end_in_time, a_push_ends_a_timed_pop, a_pop_ends_a_timed_push,
                    the_end_ends_timed_waits, async_both_ends, async_and_sleeping_ends, dropped_futures_lose_nothing,
                    a_push_wakes_a_pending_pop_once, many_are_popped_at_once, parked_ends_use_no_processor] {
                    let $wait = thalweg_queue::Park::new;
                    $queue
                } }
            }
            mod spin {
                use crate::*;
                $crate::each! { @one waiting [timeouts_end_in_time] {
                    let $wait = || thalweg_queue::Spin;
                    $queue
                } }
            }
            mod yielding {
                use crate::*;
                $crate::each! { @one waiting [timeouts_end_in_time] {
                    let $wait = || thalweg_queue::Yield;
                    $queue
                } }
            }
        })+
    };
}
pub(crate) use promises;

/// A queue whose ends sleep.
pub(crate) trait Parked: Queue<Tx: Push<Wait = Park>, Rx: Pop<Wait = Park>> {}
impl<Q: Queue<Tx: Push<Wait = Park>, Rx: Pop<Wait = Park>>> Parked for Q {}

const SHORT: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_secs(60);
/// How late a timeout may end where other work has the processors. It tells what ends by something else, and judges no speed.
const LATE: Duration = Duration::from_secs(5);

/// Pushes until the queue is full. Returns how many went in.
fn fill(tx: &mut impl Push<Item = Token>, ledger: &Ledger) -> usize {
    let mut pushed = 0;
    while tx.may_push() {
        Push::try_push(tx, ledger.token(pushed)).unwrap();
        pushed += 1;
    }
    pushed
}

#[track_caller]
fn assert_in_time(took: Duration, timeout: Duration) {
    assert!((timeout..timeout + LATE).contains(&took), "a timeout of {timeout:?} took {took:?}");
}

pub(crate) fn timeouts_end_in_time(queue: impl Queue) {
    let ledger = Ledger::new(queue.most() + 3);
    let (mut tx, mut rx) = queue.build();
    let start = time::now();
    assert_eq!(Pop::pop_timeout(&mut rx, SHORT).err(), Some(PopTimeoutError::Timeout));
    assert_in_time(start.elapsed(), SHORT);
    let pushed = fill(&mut tx, &ledger);
    for (number, timeout) in [(pushed, SHORT), (pushed + 1, Duration::ZERO)] {
        let start = time::now();
        match Push::push_timeout(&mut tx, ledger.token(number), timeout) {
            Err(PushTimeoutError::Timeout(token)) => assert_eq!(token.number(), number),
            other => panic!("{other:?} into a full queue"),
        }
        assert_in_time(start.elapsed(), timeout);
    }
    // Nothing is left behind: the queue goes on as before.
    for number in 0..pushed {
        assert_eq!(Pop::pop_timeout(&mut rx, LONG).unwrap().number(), number);
    }
    Push::push_timeout(&mut tx, ledger.token(pushed + 2), Duration::ZERO).unwrap();
    assert_eq!(Pop::pop_timeout(&mut rx, Duration::ZERO).unwrap().number(), pushed + 2);
    ledger.assert_balanced(pushed + 3);
}

pub(crate) fn a_push_ends_a_timed_pop(queue: impl Parked) {
    let ledger = Ledger::new(1);
    let (mut tx, mut rx) = queue.build();
    thread::scope(|scope| {
        let waiting = scope.spawn(move || Pop::pop_timeout(&mut rx, LONG).unwrap().number());
        thread::sleep(SHORT);
        Push::push(&mut tx, ledger.token(0)).unwrap();
        assert_eq!(waiting.join().unwrap(), 0);
    });
}

pub(crate) fn a_pop_ends_a_timed_push(queue: impl Parked) {
    let ledger = Ledger::new(queue.most() + 1);
    let (mut tx, mut rx) = queue.build();
    let pushed = fill(&mut tx, &ledger);
    thread::scope(|scope| {
        let token = ledger.token(pushed);
        let waiting = scope.spawn(move || Push::push_timeout(&mut tx, token, LONG).is_ok());
        thread::sleep(SHORT);
        for number in 0..=pushed {
            assert_eq!(Pop::pop(&mut rx).unwrap().number(), number);
        }
        assert!(waiting.join().unwrap());
    });
}

pub(crate) fn the_end_ends_timed_waits(queue: impl Parked) {
    let ledger = Ledger::new(queue.most() + 1);
    thread::scope(|scope| {
        let (tx, mut rx) = queue.build();
        let popping = scope.spawn(move || Pop::pop_timeout(&mut rx, LONG).err());
        thread::sleep(SHORT);
        drop(tx);
        assert_eq!(popping.join().unwrap(), Some(PopTimeoutError::Closed));

        let (mut tx, rx) = queue.build();
        let token = ledger.token(fill(&mut tx, &ledger));
        let number = token.number();
        let pushing = scope.spawn(move || Push::push_timeout(&mut tx, token, LONG));
        thread::sleep(SHORT);
        drop(rx);
        match pushing.join().unwrap() {
            Err(PushTimeoutError::Closed(token)) => assert_eq!(token.number(), number),
            // Its room came while the consumer drained; then it is dropped with the queue.
            other => assert!(other.is_ok()),
        }
    });
}

/// Runs a future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Thread(Unparker);
    impl Wake for Thread {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let parker = Parker::new();
    let waker = Waker::from(std::sync::Arc::new(Thread(parker.unparker())));
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(result) => return result,
            Poll::Pending => parker.park(),
        }
    }
}

const TOKENS: usize = often(2_000);

pub(crate) fn async_both_ends(queue: impl Parked) {
    let ledger = Ledger::new(TOKENS);
    let (mut tx, mut rx) = queue.build();
    thread::scope(|scope| {
        let ledger = &ledger;
        scope.spawn(move || {
            block_on(async {
                for number in 0..TOKENS {
                    Push::push_async(&mut tx, ledger.token(number)).await.unwrap();
                }
            });
        });
        block_on(async {
            for number in 0..TOKENS {
                assert_eq!(Pop::pop_async(&mut rx).await.unwrap().number(), number);
            }
            assert_eq!(Pop::pop_async(&mut rx).await.err(), Some(PopError));
        });
    });
    ledger.assert_balanced(TOKENS);
}

pub(crate) fn async_and_sleeping_ends(queue: impl Parked) {
    for sleeping_producer in [false, true] {
        let ledger = Ledger::new(TOKENS);
        let (mut tx, mut rx) = queue.build();
        thread::scope(|scope| {
            let ledger = &ledger;
            scope.spawn(move || {
                for number in 0..TOKENS {
                    match sleeping_producer {
                        true => Push::push(&mut tx, ledger.token(number)).unwrap(),
                        false => block_on(Push::push_async(&mut tx, ledger.token(number))).unwrap(),
                    }
                }
            });
            for number in 0..TOKENS {
                let token = match sleeping_producer {
                    true => block_on(Pop::pop_async(&mut rx)).unwrap(),
                    false => Pop::pop(&mut rx).unwrap(),
                };
                assert_eq!(token.number(), number);
            }
        });
        ledger.assert_balanced(TOKENS);
    }
}

/// Counts how often it is woken.
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn counting() -> (std::sync::Arc<Count>, Waker) {
    let count = std::sync::Arc::new(Count(AtomicUsize::new(0)));
    (count.clone(), Waker::from(count))
}

pub(crate) fn dropped_futures_lose_nothing(queue: impl Parked) {
    let ledger = Ledger::new(queue.most() + 5);
    let (mut tx, mut rx) = queue.build();
    let (_, waker) = counting();
    let mut cx = Context::from_waker(&waker);
    // Pending, then dropped, before and after it was woken.
    assert!(pin!(Pop::pop_async(&mut rx)).poll(&mut cx).is_pending());
    {
        let mut popping = pin!(Pop::pop_async(&mut rx));
        assert!(popping.as_mut().poll(&mut cx).is_pending());
        Push::try_push(&mut tx, ledger.token(0)).unwrap();
    }
    assert_eq!(Pop::try_pop(&mut rx).unwrap().number(), 0);
    // A push that is dropped while it is pending pushes nothing and drops its value.
    let mut pushed = 1;
    while tx.may_push() {
        Push::try_push(&mut tx, ledger.token(pushed)).unwrap();
        pushed += 1;
    }
    assert!(pin!(Push::push_async(&mut tx, ledger.token(pushed))).poll(&mut cx).is_pending());
    assert_eq!(ledger.drops(pushed), 1);
    for number in 1..pushed {
        assert_eq!(Pop::try_pop(&mut rx).unwrap().number(), number);
    }
    // A pop in vain may have had something to tidy up.
    assert!(!rx.may_pop() || Pop::try_pop(&mut rx).is_err() && !rx.may_pop());
    ledger.assert_balanced(pushed + 1);
}

pub(crate) fn a_push_wakes_a_pending_pop_once(queue: impl Parked) {
    let ledger = Ledger::new(3);
    let (mut tx, mut rx) = queue.build();
    let (count, waker) = counting();
    let mut cx = Context::from_waker(&waker);
    let mut popping = Box::pin(Pop::pop_async(&mut rx));
    for _ in 0..3 {
        assert!(popping.as_mut().poll(&mut cx).is_pending());
    }
    for number in 0..3 {
        Push::try_push(&mut tx, ledger.token(number)).unwrap();
    }
    assert_eq!(count.0.load(Ordering::Relaxed), 1, "woken by the first item, not by those behind it");
    match popping.as_mut().poll(&mut cx) {
        Poll::Ready(Ok(token)) => assert_eq!(token.number(), 0),
        _ => panic!("it was woken for an item"),
    }
}

pub(crate) fn many_are_popped_at_once(queue: impl Parked) {
    let ledger = Ledger::new(queue.most() + TOKENS);
    let (mut tx, mut rx) = queue.build();
    let mut popped = Vec::new();
    assert!(Pop::try_pop_many(&mut rx, &mut popped, 4).is_err());
    let pushed = fill(&mut tx, &ledger);
    assert_eq!(Pop::try_pop_many(&mut rx, &mut popped, 0), Ok(0));
    assert_eq!(Pop::try_pop_many(&mut rx, &mut popped, 2), Ok(2));
    assert_eq!(Pop::pop_many(&mut rx, &mut popped, usize::MAX), Ok(pushed - 2));
    assert!(popped.iter().map(Token::number).eq(0..pushed));
    drop(popped);
    thread::scope(|scope| {
        let ledger = &ledger;
        scope.spawn(move || {
            for number in pushed..pushed + TOKENS {
                Push::push(&mut tx, ledger.token(number)).unwrap();
            }
        });
        let mut next = pushed;
        let mut popped = Vec::new();
        while let Ok(count) = block_on(Pop::pop_many_async(&mut rx, &mut popped, 3)) {
            assert!((1..=3).contains(&count) && count == popped.len());
            for token in popped.drain(..) {
                assert_eq!(token.number(), next);
                next += 1;
            }
        }
        assert_eq!(next, pushed + TOKENS);
    });
    ledger.assert_balanced(pushed + TOKENS);
}

/// What `wait` costs its thread, which has to end when `other` is dropped 100 ms later. Nothing if that cannot be told here.
fn cost_of_a_wait(wait: impl FnOnce() + Send, other: impl Send) -> Option<Duration> {
    let waited = AtomicBool::new(false);
    thread::scope(|scope| {
        let waited = &waited;
        let waiting = scope.spawn(move || {
            let before = time::cpu_time_of_thread().ok()?;
            wait();
            waited.store(true, Ordering::Relaxed);
            Some(time::cpu_time_of_thread().ok()?.saturating_sub(before))
        });
        thread::sleep(Duration::from_millis(100));
        assert!(!waited.load(Ordering::Relaxed), "there was nothing to wait for");
        drop(other);
        waiting.join().unwrap()
    })
}

/// Sleeping in a pop and in a push, and pending in both. Each once in twenty: on a machine that is at other work everything costs more.
pub(crate) fn parked_ends_use_no_processor(queue: impl Parked) {
    let pop = |pending: bool| {
        let (tx, mut rx) = queue.build();
        let wait = move || {
            let popped = if pending { block_on(Pop::pop_async(&mut rx)) } else { Pop::pop(&mut rx) };
            assert_eq!(popped.err(), Some(PopError));
        };
        cost_of_a_wait(wait, tx)
    };
    let push = |pending: bool| {
        let ledger = Ledger::new(queue.most() + 1);
        let (mut tx, rx) = queue.build();
        let token = ledger.token(fill(&mut tx, &ledger));
        // Its room may come while the consumer drains; then it is dropped with the queue.
        let wait =
            move || drop(if pending { block_on(Push::push_async(&mut tx, token)) } else { Push::push(&mut tx, token) });
        cost_of_a_wait(wait, rx)
    };
    let is_idle = |wait: &dyn Fn() -> Option<Duration>| {
        (0..20).any(|_| wait().is_none_or(|cost| cost < Duration::from_millis(5)))
    };
    for pending in [false, true] {
        assert!(is_idle(&|| pop(pending)), "a pop, pending: {pending}: never less than 5 ms of 100 ms");
        assert!(is_idle(&|| push(pending)), "a push, pending: {pending}: never less than 5 ms of 100 ms");
    }
}

/// Two consumers wait, the first is woken and dropped: the item wakes the second.
#[test]
fn a_dropped_future_wakes_the_next() {
    let (tx, rx) = mpmc::with_wait(2, 3, Park::new()).unwrap();
    let other = rx.clone();
    let [(first, first_waker), (second, second_waker)] = [counting(), counting()];
    let mut one = Box::pin(rx.pop_async());
    let mut two = Box::pin(other.pop_async());
    assert!(one.as_mut().poll(&mut Context::from_waker(&first_waker)).is_pending());
    assert!(two.as_mut().poll(&mut Context::from_waker(&second_waker)).is_pending());
    tx.try_push(7).unwrap();
    assert_eq!([&first, &second].map(|count| count.0.load(Ordering::Relaxed)), [1, 0], "the oldest is woken");
    drop(one);
    assert_eq!(second.0.load(Ordering::Relaxed), 1);
    assert_eq!(two.as_mut().poll(&mut Context::from_waker(&second_waker)), Poll::Ready(Ok(7)));
}
