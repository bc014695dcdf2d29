//! What both traits of ends say of any queue.

use thalweg_queue::research::{locked, tube};
use thalweg_queue::{Pop, Push, TryPushError, growing, mpmc, mpsc, overwriting, rendezvous, spmc, spsc, unbounded};

/// Pushes until a push is refused, and pops all: the consumer says that the queue is full where the producer does, at every step.
fn says_when(what: &str, mut tx: impl Push<Item = u8>, mut rx: impl Pop<Item = u8>) {
    fn full(rx: &impl Pop) -> bool {
        rx.is_full()
    }
    let mut pushed = 0;
    loop {
        let (is_full, refused) = (full(&rx), tx.try_push(0));
        assert_eq!(is_full, matches!(refused, Err(TryPushError::Full(_))), "{what}: after {pushed} items");
        // By a reference as well.
        assert_eq!(full(&&mut rx), full(&rx), "{what}");
        if is_full {
            break;
        }
        pushed += 1;
        assert_eq!(rx.len(), pushed, "{what}");
    }
    while rx.try_pop().is_ok() {
        assert_eq!(full(&rx), tx.is_full(), "{what}");
    }
    assert!(!full(&rx) && rx.is_empty(), "{what}");
}

#[test]
fn a_consumer_says_when_a_push_is_refused() {
    let (tx, rx) = mpmc::shared(4, 2).unwrap();
    says_when("mpmc", tx, rx);
    let (tx, rx) = mpmc::exact(3).unwrap();
    says_when("exact", tx, rx);
    let (tx, rx) = mpsc::mpsc(4, 2).unwrap();
    says_when("mpsc", tx, rx);
    let (tx, rx) = spmc::spmc(4, 2).unwrap();
    says_when("spmc", tx, rx);
    let (tx, rx) = spsc::spsc(4, 2).unwrap();
    says_when("spsc", tx, rx);
    let (tx, rx) = locked::locked(3).unwrap();
    says_when("locked", tx, rx);
    let (tx, rx) = tube::queue(tube::ring::Mt::new(3).unwrap());
    says_when("mt", tx, rx);
}

/// Half a round later blocks are read in part.
#[test]
fn a_block_that_is_read_in_part_is_no_room() {
    let (tx, rx) = mpmc::shared(2, 4).unwrap();
    (0..8).for_each(|n| tx.try_push(n).unwrap());
    assert_eq!(rx.try_pop(), Ok(0));
    assert!(Pop::is_full(&rx) && rx.len() < rx.capacity(), "entries are given back by the block");
    let (mut tx, mut rx) = spsc::spsc(2, 4).unwrap();
    (0..8).for_each(|n| tx.try_push(n).unwrap());
    assert_eq!(rx.try_pop(), Ok(0));
    assert!(Pop::is_full(&rx) && rx.len() < rx.capacity());
}

#[test]
fn what_has_no_bound_is_never_full() {
    let (tx, rx) = unbounded::mpmc::channel();
    (0..1000).for_each(|n| tx.push(n).unwrap());
    assert!(!Pop::is_full(&rx));
    let (tx, rx) = overwriting::channel(16).unwrap();
    (0..1000).for_each(|n| tx.push(n).unwrap());
    assert!(!Pop::is_full(&rx));
    let (tx, rx) = overwriting::any::channel(16).unwrap();
    (0..1000).for_each(|n| tx.push(n).unwrap());
    assert!(!Pop::is_full(&rx));
}

/// Nobody sleeps in a pop, so a push would be refused.
#[test]
fn what_has_no_room_is_full_while_nobody_pops() {
    let (tx, rx) = rendezvous::channel::<u8>();
    assert!(Pop::is_full(&rx) && tx.is_full());
    assert_eq!(Pop::len(&rx), 0);
}

/// Of a consumer that cannot tell: at its capacity.
#[test]
fn a_ring_that_grows_is_full_at_its_capacity() {
    let (mut tx, rx) = growing::chunk_ring(4, growing::Most::Entries(8)).unwrap();
    while tx.try_push(1).is_ok() {
        assert_eq!(Pop::is_full(&rx), rx.len() == rx.capacity());
    }
}
