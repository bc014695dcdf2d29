//! The words that channels have, on every kind of handle.

use std::panic::{RefUnwindSafe, UnwindSafe};
use thalweg_queue::{
    PopError, PopTimeoutError, PushError, PushTimeoutError, TryPopError, TryPushError, growing, mpmc, mpsc,
    overwriting, research::cnq, spmc, spsc,
};
use thalweg_sync::time;

/// One queue: filled, looped over by reference, and by value to its end.
macro_rules! words {
    ($queue:expr, $($reference:tt)+) => {{
        #[allow(unused_mut, reason = "some handles are shared")]
        let (mut tx, mut rx) = $queue.unwrap();
        assert!(!tx.is_full());
        let pushed = (0..).take_while(|&n| tx.try_push(n).is_ok()).count() as u64;
        assert!(tx.is_full() && tx.try_push(9).unwrap_err().is_full());
        assert!(tx.push_deadline(0, time::now()).unwrap_err().is_timeout());
        for (n, expected) in ($($reference)+ rx).into_iter().take(pushed as usize).zip(0..) {
            assert_eq!(n, expected);
        }
        assert_eq!(rx.pop_deadline(time::now()), Err(PopTimeoutError::Timeout));
        tx.push(7).unwrap();
        drop(tx);
        let mut last = vec![];
        for n in rx {
            last.push(n);
        }
        assert_eq!(last, [7]);
    }};
}

#[test]
fn a_loop_over_a_consumer_takes_what_comes() {
    words!(mpmc::channel::<u64>(8), &);
    words!(spmc::channel::<u64>(8), &);
    words!(mpsc::channel::<u64>(8), &mut);
    words!(spsc::channel::<u64>(8), &mut);
    words!(growing::channel::<u64>(8), &mut);
}

#[test]
fn an_error_becomes_that_of_a_less_patient_call() {
    assert!(TryPushError::from(PushError(1)).is_closed());
    assert!(PushTimeoutError::from(PushError(1)).is_closed() && !PushTimeoutError::Closed(1).is_timeout());
    assert!(TryPopError::from(PopError).is_closed() && TryPopError::Empty.is_empty());
    assert!(PopTimeoutError::from(PopError).is_closed() && PopTimeoutError::Timeout.is_timeout());
    assert_eq!(TryPushError::Full("value").split(), (TryPushError::Full(()), "value"));
    assert_eq!(PushError("value").into_inner(), "value");
}

#[test]
fn handles_cross_a_panic() {
    fn whole<T: UnwindSafe + RefUnwindSafe>(_: &T) {}
    let (tx, rx) = mpmc::channel::<Box<dyn Send>>(8).unwrap();
    whole(&tx);
    whole(&rx);
    let (tx, rx) = overwriting::channel::<u64>(8).unwrap();
    whole(&tx);
    whole(&rx);
}

/// Capsules are counted one after the other, while items move between them.
#[test]
fn no_more_items_are_counted_than_there_is_room_for() {
    let (mut tx, mut rx) = cnq::cnq::<u64>(8, 2).unwrap();
    let other = rx.clone();
    thalweg_sync::thread::scope(|scope| {
        scope.spawn(move || (0..20_000).for_each(|n| tx.push(n).unwrap()));
        scope.spawn(move || while rx.pop().is_ok() {});
        for _ in 0..20_000 {
            assert!(other.len() <= other.capacity());
        }
        drop(other);
    });
}
