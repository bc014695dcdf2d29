//! Futures that are given up, at each point where they wait: no value is lost, none is pushed twice, and no wake-up goes with them.

use crate::support::Note;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use thalweg_check::Fuzz;
use thalweg_queue::research::tube::scqd::Scqd;
use thalweg_queue::{
    Park, Pop, Push, PushError, growing, mpmc, mpsc,
    research::{cnq, lamport, mesh, ticketed},
    spmc, spsc,
    spsc::fast_forward,
};
use thalweg_sync::thread;

/// Polls a future once.
fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// Polls a future up to `polls` times, and lets others run in between.
fn poll_often<F: Future + Unpin>(future: &mut F, polls: usize) -> Option<F::Output> {
    (0..polls).find_map(|_| match poll(future, Waker::noop()) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => {
            thread::yield_now();
            None
        }
    })
}

/// On a queue that is full, each push is given up; then there is room, and none is.
fn values_come_back<P, C>((mut tx, mut rx): (P, C))
where
    P: Push<Item = Box<usize>, Wait = Park>,
    C: Pop<Item = Box<usize>, Wait = Park>,
{
    let mut pushed = 0;
    while tx.may_push() {
        tx.try_push(Box::new(pushed)).unwrap();
        pushed += 1;
    }
    let given_up = 77;
    for polls in 0..3 {
        let mut pushing = Push::push_async(&mut tx, Box::new(given_up));
        assert!(poll_often(&mut pushing, polls).is_none());
        assert_eq!(pushing.into_value(), Some(Box::new(given_up)));
        let mut values = vec![Box::new(given_up), Box::new(given_up + 1)];
        assert!(poll_often(&mut Push::push_many_async(&mut tx, &mut values), polls).is_none());
        assert_eq!(values, [Box::new(given_up), Box::new(given_up + 1)]);
    }
    // Half of a vector has left when it is given up, and the rest goes on later.
    let mut values: Vec<_> = (pushed..pushed + 200).map(Box::new).collect();
    let mut popped = Vec::new();
    while !values.is_empty() {
        popped.push(*rx.try_pop().unwrap());
        // What it has not pushed is at the front of the vector, whole.
        let _ = poll(&mut Push::push_many_async(&mut tx, &mut values), Waker::noop());
        assert!(values.iter().rev().zip((0..pushed + 200).rev()).all(|(value, number)| **value == number));
    }
    let mut pushing = Push::push_async(&mut tx, Box::new(given_up));
    while poll(&mut pushing, Waker::noop()).is_pending() {
        popped.push(*rx.try_pop().unwrap());
        drop(pushing);
        pushing = Push::push_async(&mut tx, Box::new(given_up));
    }
    assert_eq!(pushing.into_value(), None, "it is pushed");
    drop(tx);
    while let Ok(value) = rx.try_pop() {
        popped.push(*value);
    }
    assert_eq!(popped.pop(), Some(given_up));
    assert!(popped.into_iter().eq(0..pushed + 200));
}

#[test]
fn what_a_push_had_comes_back() {
    values_come_back(fast_forward::with_wait(3, Park::new()).unwrap());
    values_come_back(fast_forward::in_place_with_wait(3, Park::new()).unwrap());
    values_come_back(mpmc::with_wait(2, 3, Park::new()).unwrap());
    values_come_back(mpsc::with_wait(2, 3, Park::new()).unwrap());
    values_come_back(spmc::with_wait(2, 3, Park::new()).unwrap());
    values_come_back(spsc::with_wait(2, 3, Park::new()).unwrap());
    values_come_back(growing::with_wait(2, 4, growing::Most::Entries(9), Park::new()).unwrap());
    values_come_back(lamport::with_wait::<_, _, lamport::Cached>(4, Park::new()).unwrap());
    values_come_back(ticketed::with_wait(4, 0, Park::new()).unwrap());
    values_come_back(cnq::with_wait(Scqd::new(4).unwrap(), 4, 1, 4, Park::new()).unwrap());
    let (mut tx, mut rx) = mesh::with_wait(1, 1, 2, 4, Park::new()).unwrap();
    values_come_back((tx.remove(0), rx.remove(0)));
}

/// Two that give up over and over, after so many polls, one of them with a vector; beside them one of either side that sleeps, and would
/// for ever if a wake-up went with a future that is dropped.
#[test]
fn given_up_at_each_point() {
    const EACH: usize = 5;
    for polls in 1..=2 {
        Fuzz::new().seeds(0..150).run(|| {
            let (tx, rx) = mpmc::with_wait(2, 1, Park::new()).unwrap();
            let mut popped: Vec<usize> = thread::scope(|scope| {
                for producer in 0..3 {
                    let tx = tx.clone();
                    scope.spawn(move || {
                        let mut numbers: Vec<_> = (producer * EACH..(producer + 1) * EACH).collect();
                        match producer {
                            0 => tx.push_many(&mut numbers).unwrap(),
                            1 => {
                                while !numbers.is_empty() {
                                    poll_often(&mut tx.push_many_async(&mut numbers), polls);
                                }
                            }
                            _ => {
                                let mut left = numbers.into_iter();
                                let mut next = left.next();
                                while let Some(number) = next {
                                    let mut pushing = tx.push_async(number);
                                    let is_pushed = poll_often(&mut pushing, polls).is_some();
                                    next = pushing.into_value();
                                    assert_eq!(next, (!is_pushed).then_some(number));
                                    next = next.or_else(|| left.next());
                                }
                            }
                        }
                    });
                }
                drop(tx);
                let (sleeps, gives_up) = (rx.clone(), rx);
                let sleeper = scope.spawn(move || sleeps.iter().collect::<Vec<_>>());
                let mut popped = Vec::new();
                loop {
                    match poll_often(&mut gives_up.pop_async(), polls) {
                        Some(Ok(number)) => popped.push(number),
                        Some(Err(_)) => break,
                        None => {}
                    }
                }
                popped.extend(sleeper.join().unwrap());
                popped
            });
            popped.sort_unstable();
            assert!(popped.into_iter().eq(0..3 * EACH));
        });
    }
}

/// The room that a push was woken for goes to the next one when it is given up, also by taking its value back.
#[test]
fn who_takes_its_value_back_wakes_the_next() {
    let (tx, rx) = mpmc::with_wait(2, 1, Park::new()).unwrap();
    let other = tx.clone();
    for many in [false, true] {
        tx.push_all([0, 1]).unwrap();
        let note = Note::default();
        let mut values = vec![2, 3];
        let (mut one, mut all) = (tx.push_async(2), tx.push_many_async(&mut values));
        let mut next = other.push_async(4);
        match many {
            false => assert!(poll(&mut one, Waker::noop()).is_pending()),
            true => assert!(poll(&mut all, Waker::noop()).is_pending()),
        }
        assert!(poll(&mut next, &note.waker()).is_pending());
        assert_eq!(rx.pop(), Ok(0));
        assert!(!note.was_woken(), "the oldest is woken");
        drop(all);
        assert_eq!(one.into_value(), Some(2));
        assert!(note.was_woken(), "it waits beside room");
        assert_eq!(poll(&mut next, Waker::noop()), Poll::Ready(Ok(())));
        assert_eq!(values, [2, 3]);
        assert!(rx.try_iter().eq([1, 4]));
    }
}

#[test]
fn a_vector_keeps_what_a_closed_queue_refuses() {
    let (tx, rx) = mpmc::with_wait(2, 1, Park::new()).unwrap();
    let mut values = vec![0, 1, 2, 3];
    let note = Note::default();
    let mut pushing = tx.push_many_async(&mut values);
    assert!(poll(&mut pushing, &note.waker()).is_pending());
    drop(rx);
    assert!(note.was_woken());
    assert_eq!(poll(&mut pushing, Waker::noop()), Poll::Ready(Err(PushError(()))));
    assert_eq!(values, [2, 3]);
    assert_eq!(poll(&mut tx.push_many_async(&mut Vec::new()), Waker::noop()), Poll::Ready(Ok(())), "nothing is pushed");
}

/// A `flush` that is dropped leaves the item with the sink; taken back, it is not pushed, and the sink is in nobody's way.
#[cfg(feature = "stream")]
#[test]
fn a_sink_keeps_its_item_until_it_is_taken_back() {
    use futures_sink::Sink;
    use std::pin::pin;
    let (tx, rx) = mpmc::with_wait(2, 1, Park::new()).unwrap();
    let other = tx.clone();
    tx.push_all([0, 1]).unwrap();
    let mut sink = tx.into_sink();
    let mut cx = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut sink).poll_ready(&mut cx).is_ready());
    Pin::new(&mut sink).start_send(2).unwrap();
    assert!(pin!(std::future::poll_fn(|cx| Pin::new(&mut sink).poll_flush(cx))).poll(&mut cx).is_pending());
    let (mut next, note) = (other.push_async(3), Note::default());
    assert!(poll(&mut next, &note.waker()).is_pending());
    assert_eq!(rx.pop(), Ok(0));
    assert_eq!(sink.take_value(), Some(2));
    assert_eq!(sink.take_value(), None);
    assert!(note.was_woken(), "it waits beside room");
    assert_eq!(poll(&mut next, Waker::noop()), Poll::Ready(Ok(())));
    assert!(Pin::new(&mut sink).poll_close(&mut cx).is_ready());
    assert!(rx.try_iter().eq([1, 3]));
}
