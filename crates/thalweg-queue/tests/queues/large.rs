//! Items that are larger than a stack: built in place, read in place, and dropped in place. And counts without memory behind them.

use std::mem::MaybeUninit;
use thalweg_queue::grant::{Read, ReadGrant, Write, WriteGrant};
use thalweg_queue::growing::{self, Most};
use thalweg_queue::research::{cnq, faaq, lamport, locked, mesh, ticketed, tube};
use thalweg_queue::stealing::{self, Rng};
use thalweg_queue::{BuildError, Push, broadcast, mpmc, mpsc, oneshot, overwriting, spmc, spsc, unbounded, watch};
use thalweg_queue::{broadcast::graph::Graph, spsc::fast_forward};
use thalweg_sync::atomic::{AtomicUsize, Ordering::Relaxed};
use thalweg_sync::sync::Arc;

/// Runs on a thread with so many bytes of stack.
#[allow(clippy::disallowed_types, reason = "the facade's threads have the stack that the system gives them")]
fn on_a_stack<R: Send + 'static>(bytes: usize, run: impl FnOnce() -> R + Send + 'static) -> R {
    std::thread::Builder::new().stack_size(bytes).spawn(run).unwrap().join().unwrap()
}

/// Runs on a quarter of a megabyte.
fn small_stack<R: Send + 'static>(run: impl FnOnce() -> R + Send + 'static) -> R {
    on_a_stack(1 << 18, run)
}

/// Three megabytes, where a small stack has a quarter of one, and a share that is counted when they are dropped.
struct Large {
    share: Arc<AtomicUsize>,
    _bytes: [u8; 3 << 20],
}

impl Clone for Large {
    fn clone(&self) -> Self {
        Self { share: self.share.clone(), _bytes: [0; 3 << 20] }
    }
}

impl Drop for Large {
    fn drop(&mut self) {
        self.share.fetch_add(1, Relaxed);
    }
}

fn write(place: &mut MaybeUninit<Large>, share: &Arc<AtomicUsize>) {
    // SAFETY: the place is ours, and any bytes are.
    unsafe {
        (&raw mut (*place.as_mut_ptr()).share).write(share.clone());
        (&raw mut (*place.as_mut_ptr())._bytes).write_bytes(0, 1);
    }
}

fn put<E: Write<Item = Large>>(mut grant: WriteGrant<E>, share: &Arc<AtomicUsize>) {
    write(&mut grant.uninit()[0], share);
    // SAFETY: written.
    unsafe { grant.assume_written(1) };
    assert_eq!(grant.commit(), 1);
}

fn give_up<E: Write<Item = Large>>(mut grant: WriteGrant<E>, share: &Arc<AtomicUsize>) {
    write(&mut grant.uninit()[0], share);
    // SAFETY: written.
    unsafe { grant.assume_written(1) };
}

fn release<E: Read<Item = Large>>(grant: ReadGrant<'_, E>) {
    assert_eq!(grant[0]._bytes[7], 0);
    grant.release(1);
}

/// Three items: one is released, one is left when the consumer goes, and one is given up.
macro_rules! in_place {
    ($queue:expr, $read:expr) => {
        small_stack(|| {
            let share = Arc::new(AtomicUsize::new(0));
            #[allow(unused_mut, reason = "some handles are shared")]
            let (mut tx, mut rx) = $queue.unwrap();
            put(tx.reserve(1).unwrap(), &share);
            put(tx.reserve(1).unwrap(), &share);
            $read(rx.readable(1).unwrap());
            give_up(tx.reserve(1).unwrap(), &share);
            assert_eq!(share.load(Relaxed), 2);
            drop((rx, tx));
            assert_eq!(share.load(Relaxed), 3);
        });
    };
}

#[test]
fn no_item_is_moved_over_the_stack() {
    in_place!(fast_forward::in_place::<Large>(4), release);
    in_place!(spsc::spsc::<Large>(2, 2), release);
    in_place!(growing::chunk_ring::<Large>(4, Most::Entries(4)), release);
    in_place!(lamport::plain::<Large>(4), release);
    in_place!(mpsc::mpsc::<Large>(2, 2), release);
    in_place!(mpmc::shared::<Large>(2, 2), drop);
    in_place!(spmc::spmc::<Large>(2, 2), drop);
}

/// Builds a queue on a small stack and drops it there, with three items that were pushed on a large one: `push` takes the items by value.
fn left<P: Send + 'static, C: Send + 'static>(
    build: impl Fn() -> (P, C) + Copy + Send + 'static,
    push: impl Fn(&mut P, Large) + Copy + Send + 'static,
) {
    for consumer_first in [true, false] {
        let share = Arc::new(AtomicUsize::new(0));
        let (mut tx, rx) = small_stack(build);
        let (mut item, bytes) = (Some(share.clone()), 1 << 29);
        let tx = on_a_stack(bytes, move || {
            for count in (0..3).rev() {
                let share = if count > 0 { item.clone() } else { item.take() };
                push(&mut tx, Large { share: share.unwrap(), _bytes: [0; 3 << 20] });
            }
            tx
        });
        small_stack(move || match consumer_first {
            true => drop((rx, tx)),
            false => drop((tx, rx)),
        });
        assert_eq!((share.load(Relaxed), Arc::strong_count(&share)), (3, 1));
    }
}

fn try_push<P: Push<Item = Large>>(tx: &mut P, item: Large) {
    assert!(tx.try_push(item).is_ok());
}

/// A test for each kind: what is left is dropped where it lies.
macro_rules! left {
    ($($name:ident: $build:expr, $push:expr;)+) => {$(
        #[test]
        fn $name() {
            left($build, $push);
        }
    )+};
}

mod what_is_left_is_dropped_where_it_lies {
    use super::*;

    left! {
        in_place: || fast_forward::in_place(4).unwrap(), try_push;
        one_and_one: || spsc::spsc(2, 2).unwrap(), try_push;
        growing: || growing::chunk_ring(4, Most::Entries(4)).unwrap(), try_push;
        lamport_plain: || lamport::plain(4).unwrap(), try_push;
        lamport_cached: || lamport::cached(4).unwrap(), try_push;
        many_and_one: || mpsc::mpsc(2, 2).unwrap(), try_push;
        one_and_many: || spmc::spmc(2, 2).unwrap(), try_push;
        many_and_many: || mpmc::shared(2, 2).unwrap(), try_push;
        exact: || mpmc::exact(3).unwrap(), try_push;
        ticketed: || ticketed::ticketed(4).unwrap(), try_push;
        locked: || locked::locked(4).unwrap(), try_push;
        faaq: || faaq::shared(2, 2).unwrap(), try_push;
        bbq: || tube::queue(faaq::Bbq::new(2, 2).unwrap()), try_push;
        mt: || tube::queue(tube::ring::Mt::new(4).unwrap()), try_push;
        hts: || tube::queue(tube::ring::Hts::new(4).unwrap()), try_push;
        rts: || tube::queue(tube::ring::Rts::new(4).unwrap()), try_push;
        cnq: || cnq::over(tube::scqd::Scqd::new(2).unwrap(), 2, 2, 4).unwrap(), try_push;
        mesh: one_of_a_mesh, try_push;
        unbounded_mpsc: unbounded::mpsc::channel, try_push;
        unbounded_mpmc: unbounded::mpmc::channel, try_push;
        overwriting_any: || overwriting::any::channel(4).unwrap(), try_push;
        overwriting_any_twice: || overwriting::any::channel(2).unwrap(), try_push;
        broadcast: || broadcast::channel(4).unwrap(), try_push;
        broadcast_over: || broadcast::channel(2).unwrap(), try_push;
        graph: ring, try_push;
        stealing_fifo: || stealing::fifo(2, 2).unwrap(), |tx, item| assert!(tx.push(item).is_ok());
        stealing_lifo: || stealing::lifo(2, 2).unwrap(), |tx, item| assert!(tx.push(item).is_ok());
        oneshots: three_oneshots, |senders, item| assert!(senders.remove(0).push(item).is_ok());
    }

    fn one_of_a_mesh() -> (mesh::Producer<Large>, mesh::Consumer<Large>) {
        let (mut producers, mut consumers) = mesh::mesh(1, 1, 4, 4).unwrap();
        (producers.remove(0), consumers.remove(0))
    }

    fn ring() -> broadcast::graph::Ends<Large> {
        let mut graph = Graph::new(4).unwrap();
        graph.first();
        graph.build().unwrap()
    }

    fn three_oneshots() -> (Vec<oneshot::Sender<Large>>, Vec<oneshot::Receiver<Large>>) {
        (0..3).map(|_| oneshot::channel()).unzip()
    }
}

/// The first value is handed over by value, so it is made on a large stack.
#[test]
fn watched_values_are_dropped_where_they_lie() {
    let share = Arc::new(AtomicUsize::new(0));
    let counted = share.clone();
    let ends = on_a_stack(1 << 29, move || {
        let item = Large { share: counted, _bytes: [0; 3 << 20] };
        let (tx, rx) = watch::channel(item.clone());
        tx.push(item).unwrap_or_else(|_| panic!("a receiver is there"));
        (tx, rx)
    });
    small_stack(move || {
        let (tx, mut rx) = ends;
        assert_eq!(rx.latest()._bytes[7], 0);
        drop((tx, rx));
    });
    assert_eq!(share.load(Relaxed), 2);
}

/// What a grant of some takes out by value is the caller's; the rest is dropped where it lies.
#[test]
fn the_rest_of_a_batch_is_dropped_where_it_lies() {
    let share = Arc::new(AtomicUsize::new(0));
    let (tx, rx) = small_stack(|| ticketed::ticketed(4).unwrap());
    let mut tx = (tx, share.clone());
    let _tx = on_a_stack(1 << 29, move || {
        (0..3).for_each(|_| try_push(&mut tx.0, Large { share: tx.1.clone(), _bytes: [0; 3 << 20] }));
        tx
    });
    small_stack(move || {
        let mut some = rx.reserve(3).unwrap();
        assert_eq!(some.peek().unwrap()._bytes[7], 0);
        drop(some);
    });
    assert_eq!(share.load(Relaxed), 3);
}

/// Items without a size need no memory, so a queue may be asked for more of them than there is time to count.
#[test]
fn a_shape_beyond_all_limits_is_refused_at_once() {
    let refused = growing::chunk_ring::<()>(1 << 60, Most::Entries(1 << 60)).unwrap_err();
    assert!(matches!(refused, BuildError::TooLarge { .. } | BuildError::OutOfMemory { .. }), "{refused}");
    let refused = mpmc::shared::<()>(2, 1 << 60).unwrap_err();
    assert!(matches!(refused, BuildError::TooLarge { .. }), "{refused}");
}

#[test]
fn a_number_below_a_bound_beyond_32_bits() {
    let mut random = Rng::new(1);
    let bound = usize::MAX / 3 * 2;
    let numbers: Vec<_> = (0..200).map(|_| random.below(bound)).collect();
    assert!(numbers.iter().all(|&number| number < bound));
    assert!(numbers.iter().any(|&number| number > bound / 2), "all of it is reached");
}
