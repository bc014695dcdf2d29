//! Batches that wait for some time: what they leave when it is over, and what ends them before.

use thalweg_queue::research::tube::scqd::Scqd;
use thalweg_queue::{
    Park, Pop, PopTimeoutError, Push, PushTimeoutError, growing, mpmc, mpsc,
    research::{cnq, ticketed},
    spmc, spsc,
    spsc::fast_forward,
};
use thalweg_sync::thread;
use thalweg_sync::time::{self, Duration};

const SHORT: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_secs(60);
const MANY: usize = 500;

fn check<P, C>((mut tx, mut rx): (P, C))
where
    P: Push<Item = Box<usize>> + Send,
    C: Pop<Item = Box<usize>> + Send,
{
    let mut popped = Vec::new();
    let start = time::now();
    assert_eq!(rx.pop_many_timeout(&mut popped, 9, SHORT), Err(PopTimeoutError::Timeout));
    assert!(start.elapsed() >= SHORT);
    assert_eq!(rx.pop_many_timeout(&mut popped, 0, SHORT), Ok(0));
    let mut values: Vec<_> = (0..MANY).map(Box::new).collect();
    let start = time::now();
    assert_eq!(tx.push_many_timeout(&mut values, SHORT), Err(PushTimeoutError::Timeout(())));
    assert!(start.elapsed() >= SHORT);
    // What is pushed and what is left are all there is, in their order.
    let pushed = MANY - values.len();
    assert!(0 < pushed && values.iter().map(|value| **value).eq(pushed..MANY));
    assert_eq!(rx.pop_many_timeout(&mut popped, 1, SHORT), Ok(1));
    // Room, and then items, end the waits.
    thread::scope(|scope| {
        scope.spawn(move || {
            tx.push_many_timeout(&mut values, LONG).unwrap();
            assert!(values.is_empty());
            assert_eq!(tx.push_many_timeout(&mut values, Duration::ZERO), Ok(()));
        });
        while popped.len() < MANY {
            let before = popped.len();
            assert_eq!(rx.pop_many_timeout(&mut popped, 7, LONG), Ok((popped.len() - before).clamp(1, 7)));
        }
        assert!(popped.iter().map(|value| **value).eq(0..MANY));
        assert_eq!(rx.pop_many_timeout(&mut popped, 7, LONG), Err(PopTimeoutError::Closed));
    });
}

/// The end comes while a batch waits: what is left is still in the vector.
fn check_end<P, C>((mut tx, rx): (P, C))
where
    P: Push<Item = Box<usize>> + Send,
    C: Pop<Item = Box<usize>> + Send,
{
    thread::scope(|scope| {
        let waiting = scope.spawn(move || {
            let mut values: Vec<_> = (0..MANY).map(Box::new).collect();
            assert_eq!(tx.push_many_timeout(&mut values, LONG), Err(PushTimeoutError::Closed(())));
            assert!(!values.is_empty() && values.iter().map(|value| **value).eq(MANY - values.len()..MANY));
        });
        thread::sleep(SHORT);
        drop(rx);
        waiting.join().unwrap();
    });
}

#[test]
fn each_kind() {
    macro_rules! both {
        ($($queue:expr,)+) => { $(check($queue); check_end($queue);)+ };
    }
    both! {
        fast_forward::fast_forward(3).unwrap(),
        fast_forward::with_wait(3, Park::new()).unwrap(),
        mpmc::with_wait(2, 3, Park::new()).unwrap(),
        mpsc::with_wait(2, 3, Park::new()).unwrap(),
        spmc::with_wait(2, 3, Park::new()).unwrap(),
        spsc::spsc(2, 3).unwrap(),
        growing::with_wait(2, 4, growing::Most::Entries(9), Park::new()).unwrap(),
        ticketed::with_wait(4, 0, Park::new()).unwrap(),
        cnq::with_wait(Scqd::new(4).unwrap(), 4, 1, 4, Park::new()).unwrap(),
    }
}
