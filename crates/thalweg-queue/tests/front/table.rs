//! Every kind of queue has every word: one check for each word, for all kinds that have it.
//!
//! What does not compile here is missing. What a kind cannot have is left out by name, and [`compared`](thalweg_queue::compared) says why.

use crate::support::{Note, block_on};
use std::fmt::Debug;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll};
use thalweg_check::Fuzz;
use thalweg_queue::broadcast::Lagged;
use thalweg_queue::overwriting::any;
use thalweg_queue::research::{cnq, faaq, lamport, locked, mesh, ticketed};
use thalweg_queue::spsc::fast_forward;
use thalweg_queue::wait::{Polled, Popping, Pushing, Timed};
use thalweg_queue::watch::Snapshot;
use thalweg_queue::{
    Park, Pop, PopError, PopTimeoutError, Push, PushTimeoutError, TryPopError, broadcast, bytes, growing, mpmc, mpsc,
    overwriting, rendezvous, spmc, spsc, unbounded, watch,
};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;
use thalweg_sync::time::{self, Duration};

/// What is popped, as the number that was pushed.
trait Number {
    fn number(self) -> u64;
}

impl Number for u64 {
    fn number(self) -> u64 {
        self
    }
}

impl Number for Snapshot<u64> {
    fn number(self) -> u64 {
        *self
    }
}

impl Number for Result<u64, Lagged> {
    fn number(self) -> u64 {
        self.unwrap()
    }
}

/// The kinds of which one side at least can be cloned, and those of which none.
macro_rules! shared {
    ($check:ident) => {
        $check!(mpmc, mpmc::channel::<u64>(8).unwrap());
        $check!(overwriting, overwriting::channel::<u64>(8).unwrap());
        $check!(any, any::channel::<u64>(8).unwrap());
        $check!(unbounded, unbounded::mpmc::channel::<u64>());
        $check!(exact, mpmc::exact::<u64>(8).unwrap());
    };
}
macro_rules! to_one {
    ($check:ident) => {
        $check!(mpsc, mpsc::channel::<u64>(8).unwrap());
        $check!(unbounded_to_one, unbounded::mpsc::channel::<u64>());
        $check!(watch, watch::channel(0_u64));
        $check!(broadcast, broadcast::channel::<u64>(8).unwrap());
    };
}
macro_rules! exclusive {
    ($check:ident) => {
        $check!(spmc, spmc::channel::<u64>(8).unwrap());
        $check!(spsc, spsc::channel::<u64>(8).unwrap());
        $check!(growing, growing::channel::<u64>(8).unwrap());
        $check!(fast_forward, fast_forward::in_place_with_wait::<u64, _>(8, Park::new()).unwrap());
    };
}

const NEVER: Duration = Duration::from_secs(600);

/// A mesh of one ring.
fn one_ring() -> (mesh::Producer<u64>, mesh::Consumer<u64>) {
    let (mut tx, mut rx) = mesh::mesh(1, 1, 8, 8).unwrap();
    (tx.remove(0), rx.remove(0))
}

macro_rules! closes {
    ($name:ident, $queue:expr) => {
        for from_consumer in [false, true] {
            #[allow(unused_mut, reason = "some handles are shared")]
            let (mut tx, mut rx) = $queue;
            tx.push(1).unwrap();
            assert!(!tx.is_closed() && !rx.is_closed(), stringify!($name));
            assert!(!tx.closed_timeout(Duration::ZERO), stringify!($name));
            if from_consumer {
                rx.close()
            } else {
                tx.close()
            }
            assert!(tx.is_closed() && rx.is_closed(), stringify!($name));
            assert!(tx.try_push(2).unwrap_err().is_closed(), stringify!($name));
            assert_eq!(rx.try_pop().unwrap().number(), 1, "{}: what is there is popped", stringify!($name));
            assert_eq!(rx.try_pop().err(), Some(TryPopError::Closed), stringify!($name));
            assert!(tx.closed_timeout(NEVER), stringify!($name));
            block_on(tx.closed_async());
        }
        // Who sleeps is woken, on both sides.
        #[allow(unused_mut, reason = "some handles are shared")]
        let (tx, mut rx) = $queue;
        let consumer = thread::spawn(move || rx.pop().err());
        (0..10).for_each(|_| thread::yield_now());
        tx.close();
        assert_eq!(consumer.join().unwrap(), Some(PopError), stringify!($name));
        drop(tx);
    };
}

#[test]
fn close() {
    shared!(closes);
    to_one!(closes);
    exclusive!(closes);
    closes!(locked, locked::locked::<u64>(8).unwrap());
    closes!(ticketed, ticketed::ticketed::<u64>(8).unwrap());
    closes!(cnq, cnq::cnq::<u64>(64, 8).unwrap());
    closes!(lamport, lamport::cached::<u64>(8).unwrap());
    closes!(mesh, one_ring());
    closes!(faaq, faaq::shared::<u64>(2, 8).unwrap());
}

/// A producer that sleeps in `closed` is woken when the last consumer goes, and takes no wake-up from one that waits for room.
#[test]
fn nobody_is_left() {
    let (tx, rx) = mpmc::channel::<u64>(1).unwrap();
    while tx.try_push(0).is_ok() {}
    let (note, other) = (Note::default(), Note::default());
    let mut closed = pin!(tx.closed_async());
    assert!(closed.as_mut().poll(&mut Context::from_waker(&note.waker())).is_pending());
    let mut pushing = tx.push_async(7);
    assert!(pin!(&mut pushing).poll(&mut Context::from_waker(&other.waker())).is_pending());
    while rx.try_pop().is_ok() {}
    assert!(other.was_woken() && !note.was_woken(), "room is not for who waits for the end");
    drop(rx);
    assert!(note.was_woken());
    assert!(closed.poll(&mut Context::from_waker(&note.waker())).is_ready());
}

macro_rules! counts {
    ($name:ident, $queue:expr) => {
        let (tx, rx) = $queue;
        let more = (tx.clone(), rx.clone());
        assert_eq!((tx.producers(), tx.consumers()), (2, 2), stringify!($name));
        drop(more.0);
        assert_eq!((rx.producers(), rx.consumers()), (1, 2), stringify!($name));
        drop((more.1, rx));
        assert_eq!((tx.producers(), tx.consumers()), (1, 0), stringify!($name));
    };
}

#[test]
fn producers_and_consumers() {
    shared!(counts);
    counts!(rendezvous, rendezvous::channel::<u64>());
    counts!(bytes, bytes::channel(256).unwrap());
    counts!(locked, locked::locked::<u64>(8).unwrap());
    counts!(ticketed, ticketed::ticketed::<u64>(8).unwrap());
    counts!(cnq, cnq::cnq::<u64>(64, 8).unwrap());
    counts!(watch, watch::channel(0));
    counts!(broadcast, broadcast::channel::<u64>(8).unwrap());
    let (tx, rx) = mpsc::channel::<u64>(8).unwrap();
    let _other = tx.clone();
    assert_eq!((tx.producers(), rx.producers(), rx.consumers()), (2, 2, 1));
    let (tx, rx) = spmc::channel::<u64>(8).unwrap();
    let _other = rx.clone();
    assert_eq!((rx.consumers(), tx.producers(), tx.consumers()), (2, 1, 2));
}

macro_rules! weak_producers {
    ($name:ident, $queue:expr) => {
        #[allow(unused_mut, reason = "some handles are shared")]
        let (tx, mut rx) = $queue;
        let weak = tx.downgrade().clone();
        let other = weak.upgrade().expect(stringify!($name));
        assert_eq!(tx.producers(), 2, stringify!($name));
        drop(tx);
        other.push(3).unwrap();
        drop(other);
        assert!(weak.upgrade().is_none(), stringify!($name));
        assert_eq!(rx.pop().unwrap().number(), 3, stringify!($name));
        assert_eq!(rx.pop().err(), Some(PopError), stringify!($name));
    };
}

macro_rules! weak_consumers {
    ($name:ident, $queue:expr) => {
        #[allow(unused_mut, reason = "some handles are shared")]
        let (mut tx, rx) = $queue;
        let weak = rx.downgrade();
        let other = weak.upgrade().expect(stringify!($name));
        assert_eq!(rx.consumers(), 2, stringify!($name));
        drop((rx, other));
        assert!(weak.upgrade().is_none() && tx.try_push(1).unwrap_err().is_closed(), stringify!($name));
    };
}

#[test]
fn downgrade() {
    shared!(weak_producers);
    to_one!(weak_producers);
    shared!(weak_consumers);
    weak_consumers!(spmc, spmc::channel::<u64>(8).unwrap());
    weak_consumers!(rendezvous, rendezvous::channel::<u64>());
    // Memory is freed with the last of all.
    let item = Arc::new(());
    let (tx, rx) = mpmc::channel(8).unwrap();
    let weak = (tx.downgrade(), rx.downgrade());
    tx.push(item.clone()).unwrap();
    drop((tx, rx));
    assert_eq!(Arc::strong_count(&item), 1, "the last consumer drops what is there");
    assert!(weak.0.upgrade().is_none() && weak.1.upgrade().is_none());
}

macro_rules! sizes {
    ($name:ident, $queue:expr) => {
        #[allow(unused_mut, reason = "some handles are shared")]
        let (mut tx, mut rx) = $queue;
        assert_eq!(tx.capacity(), rx.capacity(), stringify!($name));
        assert!(tx.is_empty() && rx.is_empty() && !tx.is_full(), stringify!($name));
        let most = tx.capacity().min(100) as u64;
        let pushed = (0..most).take_while(|&n| tx.try_push(n).is_ok()).count();
        assert!(!tx.is_empty() && !rx.is_empty(), stringify!($name));
        assert!(tx.len() >= rx.len() && rx.len() > 0 && pushed >= rx.len(), stringify!($name));
        for left in (0..rx.len()).rev() {
            rx.pop().unwrap();
            assert_eq!(rx.len(), left, stringify!($name));
            assert!(tx.len() >= left, stringify!($name));
        }
        assert!(rx.is_empty(), stringify!($name));
        for _ in 0..2 {
            let sizes = ((tx.len(), tx.is_empty(), tx.is_full()), (rx.len(), rx.is_empty()));
            as_ends(&mut tx, &mut rx, sizes);
            let _ = tx.try_push(1);
        }
    };
}

type Sizes = ((usize, bool, bool), (usize, bool));

/// What the traits say is what the handles say, also of a lent end.
fn as_ends(tx: &mut impl Push, rx: &mut impl Pop, sizes: Sizes) {
    fn of(tx: impl Push, rx: impl Pop) -> Sizes {
        ((tx.len(), tx.is_empty(), tx.is_full()), (rx.len(), rx.is_empty()))
    }
    assert_eq!(((tx.len(), tx.is_empty(), tx.is_full()), (rx.len(), rx.is_empty())), sizes);
    assert_eq!(of(tx, rx), sizes);
}

macro_rules! fills {
    ($name:ident, $queue:expr) => {
        #[allow(unused_mut, reason = "some handles are shared")]
        let (mut tx, mut rx) = $queue;
        // Around the ring, one place further each time.
        for first in 0..40 {
            while tx.try_push(0).is_ok() {
                assert!(tx.len() >= rx.len(), stringify!($name));
            }
            assert!(tx.is_full() && rx.is_full(), "{}, {first}", stringify!($name));
            while rx.is_full() {
                rx.pop().unwrap();
            }
            assert!(!tx.is_full() && tx.try_push(0).is_ok(), "{}, {first}", stringify!($name));
            (0..first % 3).for_each(|_| assert!(rx.pop().is_ok()));
        }
    };
}

#[test]
fn len_and_capacity() {
    shared!(sizes);
    exclusive!(sizes);
    sizes!(mpsc, mpsc::channel::<u64>(8).unwrap());
    sizes!(unbounded_to_one, unbounded::mpsc::channel::<u64>());
    sizes!(ticketed, ticketed::ticketed::<u64>(8).unwrap());
    sizes!(locked, locked::locked::<u64>(8).unwrap());
    sizes!(lamport, lamport::cached::<u64>(8).unwrap());
    sizes!(mesh, one_ring());
    let (tx, mut rx) = watch::channel(0_u64);
    assert!(rx.is_empty() && !tx.is_full() && (tx.len(), rx.len()) == (1, 0));
    tx.push(1).unwrap();
    assert_eq!((rx.len(), rx.pop().map(Number::number), rx.len()), (1, Ok(1), 0));
    let (tx, rx) = broadcast::channel::<u64>(2).unwrap();
    (0..3).for_each(|n| tx.push(n).unwrap());
    assert_eq!((tx.len(), tx.capacity(), rx.len()), (2, 2, 3), "a lost one counts");
    // Full: of those that are. Whether a queue that grows is full its producer alone can say.
    fills!(mpmc, mpmc::channel::<u64>(8).unwrap());
    fills!(exact, mpmc::exact::<u64>(8).unwrap());
    fills!(mpsc, mpsc::channel::<u64>(8).unwrap());
    fills!(spmc, spmc::channel::<u64>(8).unwrap());
    fills!(spsc, spsc::channel::<u64>(8).unwrap());
    let (tx, rx) = rendezvous::channel::<u64>();
    assert!(tx.is_empty() && rx.is_empty() && tx.is_full() && rx.is_full());
    assert_eq!((tx.len(), rx.len(), tx.capacity(), rx.capacity()), (0, 0, 0, 0));
}

macro_rules! prints {
    ($name:ident, $queue:expr) => {
        let (tx, rx) = $queue;
        for text in [format!("{tx:?}"), format!("{rx:?}")] {
            assert!(text.len() > 8 && text.len() < 200, "{}: {text}", stringify!($name));
        }
    };
}

#[test]
fn debug() {
    shared!(prints);
    to_one!(prints);
    exclusive!(prints);
    prints!(rendezvous, rendezvous::channel::<u64>());
    prints!(bytes, bytes::channel(256).unwrap());
    fn prints<T: Debug>() {}
    prints::<thalweg_queue::Weak<mpmc::Sender<u64>>>();
    prints::<Polled<mpmc::Sender<u64>>>();
}

/// Futures that own their end, that are given up in time, and ends that are polled.
macro_rules! futures {
    ($name:ident, $queue:expr) => {
        fn owned<F: Future + Send + 'static>(future: F) -> F {
            future
        }
        #[allow(unused_mut, reason = "some handles are shared")]
        let (mut tx, mut rx) = $queue;
        let late = block_on(rx.pop_async().within(Duration::from_millis(1)));
        assert_eq!(late.err(), Some(PopTimeoutError::Timeout), stringify!($name));
        block_on(tx.push_async(1).within(NEVER)).unwrap();
        assert_eq!(block_on(rx.pop_async().until(time::now())).unwrap().number(), 1, stringify!($name));
        let mut popping = owned(Popping::new(rx));
        let note = Note::default();
        let waker = note.waker();
        let mut cx = Context::from_waker(&waker);
        assert!(pin!(&mut popping).poll(&mut cx).is_pending(), stringify!($name));
        block_on(owned(Pushing::new(tx, 2))).unwrap();
        assert!(note.was_woken(), stringify!($name));
        let mut rx = Polled::consumer(popping.into_end());
        let Poll::Ready(Ok(two)) = rx.poll_pop(&mut cx) else { panic!(stringify!($name)) };
        assert_eq!(two.number(), 2, stringify!($name));
        // Its producer went with its future.
        assert!(matches!(rx.poll_pop(&mut cx), Poll::Ready(Err(PopError))), stringify!($name));
    };
}

#[test]
fn futures_of_all_forms() {
    macro_rules! each {
        ($name:ident, $queue:expr) => {{
            futures!($name, $queue);
        }};
    }
    shared!(each);
    to_one!(each);
    exclusive!(each);
}

#[test]
fn what_is_too_late_comes_back() {
    let (tx, rx) = mpmc::channel(1).unwrap();
    while tx.try_push("there").is_ok() {}
    let late = block_on(tx.push_async("late").within(Duration::from_millis(1)));
    assert_eq!(late, Err(PushTimeoutError::Timeout("late")));
    let mut values = vec!["a", "b"];
    let late = block_on(tx.push_many_async(&mut values).within(Duration::from_millis(1)));
    assert_eq!((late, values.len()), (Err(PushTimeoutError::Timeout(())), 2));
    let (_, value) = tx.push_async("back").into_parts();
    assert_eq!(value, Some("back"));
    let mut tx = Polled::producer(tx);
    let (note, mut value) = (Note::default(), Some("polled"));
    assert!(tx.poll_push(&mut Context::from_waker(&note.waker()), &mut value).is_pending());
    assert_eq!(value, Some("polled"));
    while rx.try_pop().is_ok() {}
    assert!(note.was_woken());
    assert!(tx.poll_push(&mut Context::from_waker(&note.waker()), &mut value).is_ready());
    assert_eq!((value, rx.pop()), (None, Ok("polled")));
    assert!(tx.poll_push(&mut Context::from_waker(&note.waker()), &mut value).is_ready(), "there is nothing to push");
    let mut into = vec![];
    let late = block_on(rx.pop_many_async(&mut into, 4).within(Duration::from_millis(1)));
    assert_eq!(late, Err(PopTimeoutError::Timeout));
}

/// In schedules drawn by seed: two producers, a consumer, and one that closes. Everybody comes to an end, what was accepted before is
/// popped, and nothing is lost or doubled.
#[test]
fn a_close_meets_pushes_and_pops() {
    macro_rules! meets {
        ($name:ident, $queue:expr) => {
            Fuzz::new().seeds(0..60).run(|| {
                #[allow(unused_mut, reason = "some handles are shared")]
                let (mut tx, mut rx) = $queue;
                let producers = [0, 1].map(|me: u64| {
                    #[allow(unused_mut, reason = "as above")]
                    let mut tx = tx.clone();
                    thread::spawn(move || (0..6).take_while(|n| tx.push(10 * me + n).is_ok()).count())
                });
                let consumer = {
                    #[allow(unused_mut, reason = "as above")]
                    let mut rx = rx.clone();
                    thread::spawn(move || rx.iter().count())
                };
                tx.push(100).unwrap();
                tx.close();
                assert!(tx.push(101).is_err());
                let pushed: usize = producers.into_iter().map(|producer| producer.join().unwrap()).sum();
                let mut popped = consumer.join().unwrap();
                assert!(popped > 0, "what was pushed before is popped");
                popped += rx.try_iter().count();
                assert_eq!(pushed + 1, popped, stringify!($name));
            });
        };
    }
    meets!(mpmc, mpmc::with_wait::<u64, _>(2, 2, Park::new()).unwrap());
    meets!(unbounded, unbounded::mpmc::channel::<u64>());
    meets!(rendezvous, rendezvous::channel::<u64>());
    meets!(locked, locked::with_wait::<u64, _>(4, Park::new()).unwrap());
    meets!(ticketed, ticketed::with_wait::<u64, _>(4, 0, Park::new()).unwrap());
    meets!(cnq, cnq::cnq_with_wait::<u64, _>(16, 2, Park::new()).unwrap());
}

/// Messages as a stream of bytes: however they are cut, and to the end.
#[test]
fn bytes_are_written_and_read() {
    use std::io::{ErrorKind, Read, Write};
    let (mut tx, rx) = bytes::channel(256).unwrap();
    let text: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    let writer = thread::spawn({
        let text = text.clone();
        move || {
            assert_eq!(tx.write(&[]).unwrap(), 0);
            tx.write_all(&text).unwrap();
            tx.flush().unwrap();
        }
    });
    let mut reader = rx.into_reader();
    let mut first = [0; 7];
    reader.read_exact(&mut first).unwrap();
    assert_eq!(first, [0, 1, 2, 3, 4, 5, 6]);
    let mut rest = Vec::new();
    assert_eq!(reader.read_to_end(&mut rest).unwrap(), 9_993);
    assert!(rest == text[7..]);
    writer.join().unwrap();
    let (mut tx, rx) = bytes::channel(256).unwrap();
    drop(rx);
    assert_eq!(tx.write(b"late").unwrap_err().kind(), ErrorKind::BrokenPipe);
}

/// Exactly so many, wherever the ring begins; one as well.
#[test]
fn exact_is_exact() {
    for capacity in [1, 2, 3, 13, 64] {
        let (tx, rx) = mpmc::exact(capacity).unwrap();
        for first in 0..100 {
            assert_eq!((tx.capacity(), rx.len()), (capacity, 0));
            (0..capacity).for_each(|n| tx.try_push(n).unwrap());
            assert!(tx.try_push(9).unwrap_err().is_full() && tx.is_full(), "{capacity}, {first}");
            assert_eq!(rx.pop(), Ok(0));
            tx.try_push(capacity).unwrap();
            assert!(tx.is_full());
            assert!((1..=capacity).all(|n| rx.try_pop() == Ok(n)));
        }
    }
}

/// Whoever holds an end has no bound of its own for the items.
#[allow(dead_code, reason = "it compiles, or it does not")]
struct Holds<T, W: thalweg_queue::wait::Wait>(
    (mpmc::Producer<T, W>, mpmc::Consumer<T, W>),
    (mpsc::Producer<T, W>, mpsc::Consumer<T, W>),
    (spmc::Producer<T, W>, spmc::Consumer<T, W>),
    (spsc::Producer<T, W>, spsc::Consumer<T, W>),
    (growing::Producer<T, W>, growing::Consumer<T, W>),
    (any::Producer<T, W>, any::Consumer<T, W>),
    (unbounded::mpmc::Sender<T>, unbounded::mpsc::Receiver<T>),
    (rendezvous::Producer<T>, rendezvous::Consumer<T>),
    (thalweg_queue::oneshot::Sender<T>, thalweg_queue::oneshot::Receiver<T>),
    watch::Producer<T, W>,
    (thalweg_queue::stealing::fifo::Owner<T>, thalweg_queue::stealing::lifo::Owner<T>),
);
