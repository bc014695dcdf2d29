//! Handles that pause, leave and come back: who holds what, and that nobody is stopped by it.

use crate::scqd;
use thalweg_queue::research::tube::Tube;
use thalweg_queue::{TryPopError, TryPushError, research::cnq};
use thalweg_sync::thread;

/// A producer that has pushed and pauses keeps nobody from anything (E8): others push and pop round the ring many times.
#[test]
fn an_idle_producer_stops_nobody() {
    for window in [1, 2] {
        let (mut idle, mut rx) = cnq::over(scqd(4), 4, 2, window * 4).unwrap();
        idle.push(1000).unwrap();
        let mut tx = idle.clone();
        let mut popped = Vec::new();
        for number in 0..100 {
            tx.try_push(number).unwrap();
            popped.push(rx.try_pop().unwrap());
        }
        popped.push(rx.try_pop().unwrap());
        assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
        popped.sort_unstable();
        assert_eq!(popped, (0..100).chain([1000]).collect::<Vec<_>>());
        // And it can go on.
        idle.try_push(1001).unwrap();
        assert_eq!(rx.try_pop(), Ok(1001));
    }
}

/// A consumer that was refused, and is refused for less by a look at its own capsule, finds what comes in a later one and in an earlier one.
#[test]
fn who_was_refused_finds_what_comes_elsewhere() {
    let (mut one, mut rx) = cnq::over(scqd(4), 4, 4, 16).unwrap();
    let mut two = one.clone();
    for (number, tx) in [(1, &mut one), (2, &mut two)] {
        tx.try_push(number).unwrap();
        assert_eq!(rx.try_pop(), Ok(number));
        (0..3).for_each(|_| assert_eq!(rx.try_pop(), Err(TryPopError::Empty)));
    }
    // The consumer is at the second capsule, and the first is not finished.
    one.try_push(3).unwrap();
    assert_eq!(rx.try_pop(), Ok(3));
}

/// A producer whose capsule was closed meanwhile gets the item back inside, and puts it into another capsule (E7).
#[test]
fn a_closed_capsule_takes_no_more() {
    // D = 1: each capsule that is begun closes the one before.
    let (mut one, mut rx) = cnq::over(scqd(8), 8, 4, 1).unwrap();
    let mut two = one.clone();
    for number in 0..100 {
        one.try_push(2 * number).unwrap();
        two.try_push(2 * number + 1).unwrap();
        assert_eq!(rx.try_pop(), Ok(2 * number));
        assert_eq!(rx.try_pop(), Ok(2 * number + 1));
    }
    drop((one, two));
    assert_eq!(rx.try_pop(), Err(TryPopError::Closed));
}

/// A pausing producer keeps its capsule, and `flush` gives it up.
#[test]
fn flush_gives_the_capsule_up() {
    let (tx, mut rx) = cnq::over(scqd(3), 3, 2, 2).unwrap();
    let mut idle = [tx.clone(), tx.clone(), tx.clone()];
    let mut tx = tx;
    for (number, producer) in (0..).zip(&mut idle) {
        producer.try_push(number).unwrap();
        assert_eq!(rx.try_pop(), Ok(number));
    }
    // Three capsules are kept by three producers, and there is a spare one for an item.
    tx.try_push(6).unwrap();
    assert_eq!(tx.try_push(7), Err(TryPushError::Full(7)));
    assert_eq!(rx.try_pop(), Ok(6));
    idle[1].flush();
    assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
    tx.try_push(7).unwrap();
    assert_eq!(rx.try_pop(), Ok(7));
    idle.iter_mut().for_each(cnq::Producer::flush);
    assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
    tx.flush();
    assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
    for number in 0..6 {
        tx.try_push(number).unwrap();
    }
}

/// A consumer that has popped everything from its capsule stops nobody, though it keeps the capsule.
#[test]
fn an_idle_consumer_with_nothing_in_hand_stops_nobody() {
    for window in [1, 2] {
        let (mut tx, mut idle) = cnq::over(scqd(8), 8, 2, window * 4).unwrap();
        let mut rx = idle.clone();
        tx.try_push(0).unwrap();
        assert_eq!(idle.try_pop(), Ok(0));
        for number in 1..100 {
            tx.try_push(number).unwrap();
            let popped = rx.try_pop().or_else(|_| idle.try_pop());
            assert_eq!(popped, Ok(number));
        }
        tx.flush();
        for number in 100..200 {
            tx.try_push(number).unwrap();
            assert_eq!(rx.try_pop(), Ok(number), "the idle one has nothing");
        }
        drop(idle);
        drop(tx);
        assert_eq!(rx.try_pop(), Err(TryPopError::Closed));
    }
}

/// A fragment that is out of the window is held up by a capsule of which all is taken, though its consumer does not say so.
#[test]
fn an_idle_consumer_holds_up_no_fragment() {
    // D = 1, capsules of four.
    let (mut tx, mut idle) = cnq::over(scqd(8), 8, 4, 4).unwrap();
    let (mut other_tx, mut gives_back, mut rx) = (tx.clone(), idle.clone(), idle.clone());
    tx.try_push(0).unwrap();
    tx.try_push(1).unwrap();
    assert_eq!(idle.try_pop(), Ok(0));
    other_tx.try_push(2).unwrap();
    assert_eq!(gives_back.try_pop(), Err(TryPopError::Busy));
    gives_back.flush();
    assert_eq!(idle.try_pop(), Ok(1));
    assert_eq!(rx.try_pop(), Ok(2));
}

/// What is in a tube is taken for capsules, so there must be nothing.
#[test]
fn a_tube_with_something_in_it_is_refused() {
    let tube = scqd(8);
    let entry = tube.allocate().unwrap();
    // SAFETY: allocated from this tube a moment ago.
    unsafe { tube.produce(entry, 3) };
    assert!(cnq::over::<u32, _>(tube, 8, 4, 4).is_err());
}

/// What a consumer has in hand goes to others when it flushes or leaves, and the window waits for it until then.
#[test]
fn fragments_go_to_others() {
    for leaves in [false, true] {
        // D = 2, capsules of four.
        let (mut tx, mut first) = cnq::over(scqd(8), 8, 4, 16).unwrap();
        let mut second = first.clone();
        for number in 0..32 {
            tx.try_push(number).unwrap();
        }
        assert_eq!(first.try_pop(), Ok(0));
        for number in 4..8 {
            assert_eq!(second.try_pop(), Ok(number));
        }
        assert_eq!(second.try_pop(), Err(TryPopError::Busy), "the third capsule is out of the window");
        drop(tx);
        assert_eq!(second.try_pop(), Err(TryPopError::Busy), "not closed: the first one has items in hand");
        let mut kept = None;
        if leaves {
            drop(first);
        } else {
            first.flush();
            kept = Some(first);
        }
        for number in (1..4).chain(8..32) {
            assert_eq!(second.try_pop(), Ok(number));
        }
        assert_eq!(second.try_pop(), Err(TryPopError::Closed));
        drop(kept);
    }
}

/// A waiting consumer sees the end only when nobody else has items left, and gets those that are given back.
#[test]
fn the_end_waits_for_what_others_hold() {
    let (mut tx, mut first) = cnq::over(scqd(4), 4, 4, 4).unwrap();
    let mut second = first.clone();
    for number in 0..4 {
        tx.try_push(number).unwrap();
    }
    drop(tx);
    assert_eq!(first.try_pop(), Ok(0));
    thread::scope(|scope| {
        let second = scope.spawn(move || std::iter::from_fn(|| second.pop().ok()).collect::<Vec<_>>());
        thread::yield_now();
        drop(first);
        assert_eq!(second.join().unwrap(), [1, 2, 3]);
    });
}

/// Handles come and go while items flow; each comes out once.
#[test]
fn churn() {
    const EACH: usize = 3_000;
    let (tx, rx) = cnq::over(scqd(8), 8, 3, 12).unwrap();
    let mut popped: Vec<usize> = thread::scope(|scope| {
        for producer in 0..3 {
            let mut tx = tx.clone();
            scope.spawn(move || {
                for number in 0..EACH {
                    tx.push(producer * EACH + number).unwrap();
                    match number % 7 {
                        0 => tx = tx.clone(),
                        3 => tx.flush(),
                        _ => {}
                    }
                }
            });
        }
        drop(tx);
        let consumers: Vec<_> = (0..3)
            .map(|consumer| {
                let mut rx = rx.clone();
                scope.spawn(move || {
                    let mut popped = Vec::new();
                    while let Ok(number) = rx.pop() {
                        popped.push(number);
                        match popped.len() % (5 + consumer) {
                            0 => rx = rx.clone(),
                            3 => rx.flush(),
                            _ => {}
                        }
                    }
                    popped
                })
            })
            .collect();
        drop(rx);
        consumers.into_iter().flat_map(|consumer| consumer.join().unwrap()).collect()
    });
    popped.sort_unstable();
    assert_eq!(popped, (0..3 * EACH).collect::<Vec<_>>());
}

/// However many handles are idle, and whatever they keep: an empty queue takes an item, and the one after it when that is popped.
#[test]
fn idle_handles_never_fill_an_empty_queue() {
    for capsules in [2, 3, 64] {
        for pops_between in [false, true] {
            let (mut tx, mut rx) = cnq::over(scqd(capsules), capsules, 4, 8).unwrap();
            let mut idle_rx = rx.clone();
            let mut idle: Vec<_> = (0..2 * capsules).map(|_| tx.clone()).collect();
            let mut refused = 0;
            for producer in &mut idle {
                refused += usize::from(producer.try_push(0).is_err());
                if pops_between {
                    idle_rx.try_pop().or_else(|_| rx.try_pop()).unwrap();
                }
            }
            while rx.try_pop().is_ok() || idle_rx.try_pop().is_ok() {}
            assert!(if pops_between { refused == 0 } else { refused > 0 });
            for number in 1..100 {
                tx.try_push(number).unwrap();
                assert_eq!(rx.try_pop().or_else(|_| idle_rx.try_pop()), Ok(number));
            }
            assert!(tx.is_empty());
        }
    }
}
