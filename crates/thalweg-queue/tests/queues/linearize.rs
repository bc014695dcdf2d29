//! Histories of every queue, searched for an order that explains them (Wing and Gong). Threads make a few attempts each in a small
//! queue, natively after random delays, and in schedules drawn by seed, where they may also stop in the middle of an operation.
//!
//! What the objects are, and which answers they are asked about, is as each queue's page says. `Busy` is right at any time; so are
//! the answers that a page does not promise of one instant: `Full` of `Scqd`, and `Full` and `Empty` of `cnq` and `mesh`. Refusals
//! are judged one by one. At the end everybody drains: what was pushed and never came out leaves no order.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::hash::Hash;
use std::num::NonZeroU64;
use thalweg_check::Fuzz;
use thalweg_check::history::{Bounded, Deque, DropOld, KFifo, Log, Queue, Recorder, Specification, Steal, Task};
use thalweg_queue::bytes::{self, Mode, PushBytesError};
use thalweg_queue::growing::{self, Most};
use thalweg_queue::overwriting;
use thalweg_queue::research::tube::{self, Tube, ring, scqd::Scqd};
use thalweg_queue::stealing::{self, Stealer};
use thalweg_queue::{Pop, Push, TryPopError, TryPushError, Yield};
use thalweg_queue::{
    mpmc, mpsc,
    research::{cnq, faaq, lamport, locked, mesh, ticketed},
    spmc, spsc,
    spsc::fast_forward,
};
use thalweg_sync::atomic::{AtomicUsize, Ordering};
use thalweg_sync::random::Xorshift;
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::{spin, thread};

/// How many attempts each thread makes: four threads and what they leave behind are about 20 calls to find an order of.
const ATTEMPTS: u64 = 4;

/// More than there can be items.
const TURNS: u64 = 10 * ATTEMPTS;

/// Native ones.
const ROUNDS: usize = 1000;

/// Up to so many pauses come before an attempt natively.
const LONGEST: u64 = 40;

/// So many choices of operations, each in so many schedules.
const PLANS: u64 = 40;
const SEEDS: u64 = 8;

/// What one thread has of a queue.
trait Part: Send + Sized {
    type Operation: Clone + Debug + Send;

    /// One operation.
    fn attempt(&mut self, log: &mut Log<Self::Operation>, random: &mut Xorshift);

    /// After all attempts.
    fn leave(&mut self, log: &mut Log<Self::Operation>);

    /// When all have left: takes what is still there.
    fn drain(parts: &mut [Self], log: &mut Log<Self::Operation>);
}

/// Plays so many rounds, each with a queue of its own, which all threads begin at the same time, and searches for an order of each.
fn play<E, S>(rounds: usize, plan: u64, longest: u64, object: &S, build: impl Fn() -> Vec<E>)
where
    E: Part,
    S: Specification<Operation = E::Operation>,
{
    let recorders: Vec<_> = (0..rounds).map(|_| Recorder::native()).collect();
    // Of each thread, its part in every round.
    let mut threads: Vec<Vec<(E, Log<E::Operation>)>> = Vec::new();
    for recorder in &recorders {
        for (thread, part) in build().into_iter().enumerate() {
            if threads.len() <= thread {
                threads.push(Vec::new());
            }
            threads[thread].push((part, recorder.log(thread)));
        }
    }
    let count = threads.len();
    let arrived = AtomicUsize::new(0);
    thread::scope(|scope| {
        for (thread, parts) in threads.iter_mut().enumerate() {
            let arrived = &arrived;
            scope.spawn(move || {
                let mut random = Xorshift::new(16 * plan + thread as u64);
                for (round, (part, log)) in parts.iter_mut().enumerate() {
                    // Relaxed: a moment, with which nothing is passed on.
                    arrived.fetch_add(1, Ordering::Relaxed);
                    let all = (round + 1) * count;
                    spin::until(|| (arrived.load(Ordering::Relaxed) >= all).then_some(()));
                    for _ in 0..ATTEMPTS {
                        (0..random.below(longest + 1)).for_each(|_| spin::pause(1));
                        part.attempt(log, &mut random);
                    }
                    part.leave(log);
                }
            });
        }
    });
    let mut threads: Vec<_> = threads.into_iter().map(Vec::into_iter).collect();
    for recorder in &recorders {
        let mut parts: Vec<_> = threads.iter_mut().filter_map(Iterator::next).map(|(part, _)| part).collect();
        E::drain(&mut parts, &mut recorder.log(count));
        let history = recorder.history();
        // One order for everything is more than is asked for, and found sooner.
        if history.linearize(object.clone()).is_err() {
            history.linearize_apart(object.clone()).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

/// Natively and in schedules drawn by seed.
fn check<E: Part, S: Specification<Operation = E::Operation> + Sync>(object: &S, build: impl Fn() -> Vec<E> + Sync) {
    play(ROUNDS, 0, LONGEST, object, &build);
    for plan in 0..PLANS {
        Fuzz::new().seeds(0..SEEDS).run(|| play(1, plan, 0, object, &build));
    }
}

/// A queue with several producers, which all have to leave before it is closed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Promise<S> {
    queue: S,
    producers: usize,
    /// Answers that say nothing.
    idle: &'static [Queue<u64>],
}

impl<S: Specification<Operation = Queue<u64>>> Specification for Promise<S> {
    type Operation = Queue<u64>;

    fn apply(&mut self, operation: &Queue<u64>) -> bool {
        if *operation == Queue::Left {
            self.producers -= 1;
            return self.producers > 0 || self.queue.apply(operation);
        }
        self.idle.contains(operation) || self.queue.apply(operation)
    }

    fn is_refusal(&self, operation: &Queue<u64>) -> bool {
        self.queue.is_refusal(operation)
    }
}

/// A writing end.
trait Tx: Send {
    /// Whether `number` went in.
    fn push(&mut self, log: &mut Log<Queue<u64>>, number: u64) -> bool;
}

impl<P: Push<Item: TryFrom<u64, Error: Debug>> + Send> Tx for P {
    fn push(&mut self, log: &mut Log<Queue<u64>>, number: u64) -> bool {
        let item = number.try_into().expect("every queue's item can be a number above 0");
        let pushed = log.call(
            || self.try_push(item),
            |result| match result {
                Ok(()) => Queue::Pushed(number),
                Err(TryPushError::Full(_)) => Queue::Full,
                Err(TryPushError::Busy(_)) => Queue::Busy,
                Err(TryPushError::Closed(_)) => Queue::Closed,
            },
        );
        pushed.is_ok()
    }
}

/// What a pop of a number gave.
fn popped(result: &Result<u64, TryPopError>) -> Queue<u64> {
    match *result {
        Ok(number) => Queue::Popped(number),
        Err(TryPopError::Empty) => Queue::Empty,
        Err(TryPopError::Busy) => Queue::Busy,
        Err(TryPopError::Closed) => Queue::Closed,
    }
}

/// A reading end.
trait Rx: Send {
    /// Whether there was an end to see.
    fn pop(&mut self, log: &mut Log<Queue<u64>>) -> bool;
}

impl<C: Pop<Item: Into<u64> + Copy> + Send> Rx for C {
    fn pop(&mut self, log: &mut Log<Queue<u64>>) -> bool {
        log.call(|| self.try_pop().map(Into::into), popped) == Err(TryPopError::Closed)
    }
}

/// An end of a queue of messages that are copied.
#[derive(Clone)]
struct Copied<E>(E, Length);

/// An end of a queue of messages that are written and read in place.
#[derive(Clone)]
struct InPlace<E>(E, Length);

/// How many bytes the message of a number has.
type Length = fn(u64) -> usize;

/// A message that tells if it was cut or mixed.
fn message(number: u64, length: Length) -> Vec<u8> {
    number.to_le_bytes().into_iter().cycle().take(length(number)).collect()
}

/// The number of a whole message.
fn number(bytes: &[u8], length: Length) -> u64 {
    let number = u64::from_le_bytes(bytes[..8].try_into().expect("messages have at least eight bytes"));
    assert_eq!(bytes, message(number, length));
    number
}

fn push_message(log: &mut Log<Queue<u64>>, number: u64, push: impl FnOnce() -> Result<(), PushBytesError>) -> bool {
    let pushed = log.call(push, |result| match result {
        Ok(()) => Queue::Pushed(number),
        Err(PushBytesError::Full) => Queue::Full,
        Err(PushBytesError::Busy) => Queue::Busy,
        Err(PushBytesError::Closed) => Queue::Closed,
        Err(refused) => panic!("{refused}"),
    });
    pushed.is_ok()
}

impl<M: Mode> Tx for Copied<bytes::Producer<Yield, M>> {
    fn push(&mut self, log: &mut Log<Queue<u64>>, number: u64) -> bool {
        let message = message(number, self.1);
        push_message(log, number, || self.0.try_push(&message))
    }
}

impl<M: Mode> Rx for Copied<bytes::Consumer<Yield, M>> {
    fn pop(&mut self, log: &mut Log<Queue<u64>>) -> bool {
        let mut bytes = Vec::new();
        let pop = || self.0.try_pop(&mut bytes).map(|_| number(&bytes, self.1));
        log.call(pop, popped) == Err(TryPopError::Closed)
    }
}

impl Tx for InPlace<bytes::Producer<Yield>> {
    fn push(&mut self, log: &mut Log<Queue<u64>>, number: u64) -> bool {
        let message = message(number, self.1);
        push_message(log, number, || {
            let mut grant = self.0.reserve(message.len())?;
            grant.copy_from_slice(&message);
            grant.commit();
            Ok(())
        })
    }
}

impl Rx for InPlace<bytes::Consumer<Yield>> {
    fn pop(&mut self, log: &mut Log<Queue<u64>>) -> bool {
        let pop = || self.0.readable().map(|bytes| number(&bytes, self.1));
        log.call(pop, popped) == Err(TryPopError::Closed)
    }
}

/// An end that goes from thread to thread: the lock is outside of what is noted.
struct Handed<E>(Arc<Mutex<E>>);

impl<E> Handed<E> {
    fn new(end: E) -> Self {
        Self(Arc::new(Mutex::new(end)))
    }
}

impl<E> Clone for Handed<E> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<P: Tx> Tx for Handed<P> {
    fn push(&mut self, log: &mut Log<Queue<u64>>, number: u64) -> bool {
        self.0.lock().unwrap().push(log, number)
    }
}

impl<C: Rx> Rx for Handed<C> {
    fn pop(&mut self, log: &mut Log<Queue<u64>>) -> bool {
        self.0.lock().unwrap().pop(log)
    }
}

/// A thread's ends, with the number that it pushes next.
struct Ends<P, C> {
    tx: Option<P>,
    rx: Option<C>,
    next: u64,
}

impl<P: Tx, C: Rx> Part for Ends<P, C> {
    type Operation = Queue<u64>;

    fn attempt(&mut self, log: &mut Log<Queue<u64>>, random: &mut Xorshift) {
        let pushes = self.rx.is_none() || random.below(2) == 0;
        match (&mut self.tx, &mut self.rx) {
            (Some(tx), _) if pushes => self.next += u64::from(tx.push(log, self.next)),
            (_, Some(rx)) => _ = rx.pop(log),
            _ => unreachable!("a thread has an end"),
        }
    }

    fn leave(&mut self, log: &mut Log<Queue<u64>>) {
        if let Some(tx) = self.tx.take() {
            log.call(|| drop(tx), |()| Queue::Left);
        }
    }

    fn drain(parts: &mut [Self], log: &mut Log<Queue<u64>>) {
        let mut consumers: Vec<_> = parts.iter_mut().filter_map(|part| part.rx.as_mut()).collect();
        // What one of them keeps from the others, it takes itself: each gets an item in a turn, or sees the end.
        let mut all_closed = || consumers.iter_mut().fold(true, |all, rx| rx.pop(log) & all);
        let closed = (0..TURNS).any(|_| all_closed());
        assert!(closed, "nobody is left to push, and no end is to be seen");
    }
}

/// Threads with one end each.
fn apart<P, C>(producers: impl IntoIterator<Item = P>, consumers: impl IntoIterator<Item = C>) -> Vec<Ends<P, C>> {
    let producers = producers.into_iter().map(|tx| (Some(tx), None));
    let consumers = consumers.into_iter().map(|rx| (None, Some(rx)));
    numbered(producers.chain(consumers))
}

fn numbered<P, C>(ends: impl Iterator<Item = (Option<P>, Option<C>)>) -> Vec<Ends<P, C>> {
    ends.zip(1..).map(|((tx, rx), me)| Ends { tx, rx, next: 100 * me }).collect()
}

/// Of a queue for so many on either side: threads with one end each, and threads that push and pop.
fn both_ways<P: Tx + Clone, C: Rx + Clone, S>(
    queue: S,
    idle: &'static [Queue<u64>],
    [producers, consumers]: [usize; 2],
    build: impl Fn() -> (P, C) + Sync,
) where
    S: Specification<Operation = Queue<u64>> + Sync,
{
    const ROLES: usize = 3;
    check(&Promise { queue: queue.clone(), producers, idle }, || {
        let (tx, rx) = build();
        apart(std::iter::repeat_n(tx, producers), std::iter::repeat_n(rx, consumers))
    });
    check(&Promise { queue, producers: ROLES, idle }, || {
        let (tx, rx) = build();
        numbered(std::iter::repeat_n((Some(tx), Some(rx)), ROLES))
    });
}

fn one_to_one<P: Tx, C: Rx>(window: [usize; 2], build: impl Fn() -> (P, C) + Sync) {
    let build = || {
        let (tx, rx) = build();
        (Handed::new(tx), Handed::new(rx))
    };
    both_ways(Bounded::new(window[0], window[1]), &[], [1, 1], build);
}

/// As many as anybody likes: two on either side.
fn many<P: Tx + Clone, C: Rx + Clone>(window: [usize; 2], build: impl Fn() -> (P, C) + Sync) {
    both_ways(Bounded::new(window[0], window[1]), &[], [2, 2], build);
}

fn tube<Q: Tube<Item = u64> + 'static>(window: [usize; 2], build: impl Fn() -> Q + Sync) {
    many(window, || tube::with_wait(build(), Yield));
}

/// Blocks are used again whole.
const fn blocks(blocks: usize, entries: usize) -> [usize; 2] {
    [(blocks - 1) * entries + 1, blocks * entries]
}

#[test]
fn fast_forward_is_linearizable() {
    // The consumer may hold back a line, for which there is another one.
    one_to_one([2, 2 + 16], || fast_forward::with_wait::<NonZeroU64, _>(2, Yield).unwrap());
    one_to_one([2, 2 + 16], || fast_forward::in_place_with_wait::<u64, _>(2, Yield).unwrap());
}

#[test]
fn lamport_is_linearizable() {
    one_to_one([2, 2], || lamport::with_wait::<u64, _, lamport::Plain>(2, Yield).unwrap());
    one_to_one([2, 2], || lamport::with_wait::<u64, _, lamport::Cached>(2, Yield).unwrap());
}

#[test]
fn chunk_ring_is_linearizable() {
    one_to_one([1, 2], || growing::with_wait::<u64, _>(1, 2, Most::Entries(2), Yield).unwrap());
    one_to_one([3, 4], || growing::with_wait::<u64, _>(1, 2, Most::Entries(4), Yield).unwrap());
}

#[test]
fn bbq_is_linearizable() {
    one_to_one(blocks(2, 1), || spsc::with_wait::<u64, _>(2, 1, Yield).unwrap());
    one_to_one(blocks(2, 2), || spsc::with_wait::<u64, _>(2, 2, Yield).unwrap());
    for entries in [1, 2] {
        many(blocks(2, entries), || mpmc::with_wait::<u64, _>(2, entries, Yield).unwrap());
        let [least, most] = blocks(2, entries);
        let window = || Bounded::new(least, most);
        both_ways(window(), &[], [2, 1], || {
            let (tx, rx) = mpsc::with_wait::<u64, _>(2, entries, Yield).unwrap();
            (tx, Handed::new(rx))
        });
        both_ways(window(), &[], [1, 2], || {
            let (tx, rx) = spmc::with_wait::<u64, _>(2, entries, Yield).unwrap();
            (Handed::new(tx), rx)
        });
    }
}

#[test]
fn locked_and_ticketed_are_linearizable() {
    many([2, 2], || locked::with_wait::<u64, _>(2, Yield).unwrap());
    many([2, 2], || ticketed::with_wait::<u64, _>(2, 0, Yield).unwrap());
}

#[test]
fn rings_are_linearizable() {
    tube([2, 2], || ring::Mt::new(2).unwrap());
    tube([2, 2], || ring::Rts::new(2).unwrap());
    tube([2, 2], || ring::Hts::new(2).unwrap());
    // Two may be half-way on a side.
    tube([16, 16], || ring::Rts::new(16).unwrap());
}

#[test]
fn scqd_is_linearizable() {
    for room in [1, 2] {
        both_ways(Bounded::new(room, room), &[Queue::Full], [2, 2], || {
            tube::with_wait(Scqd::<u64>::new(room).unwrap(), Yield)
        });
    }
}

#[test]
fn tubes_of_blocks_are_linearizable() {
    for entries in [1, 2] {
        tube(blocks(2, entries), || faaq::Bbq::new(2, entries).unwrap());
        tube(blocks(2, entries), || faaq::Faaq::new(2, entries).unwrap());
    }
}

#[test]
fn drop_old_is_linearizable() {
    for entries in [1, 2] {
        both_ways(DropOld::new(entries, 2 * entries), &[], [2, 2], || {
            overwriting::with_wait::<u64, _>(2, entries, Yield).unwrap()
        });
    }
}

/// Of a granule each, which are one to a block or two; of two, which leave a third one over; and of either, where a full queue may
/// have just one that is large, and up to six that are small.
const LENGTHS: [(usize, Length, [usize; 2]); 4] = [
    (16, |_| 8, blocks(2, 1)),
    (32, |_| 16, blocks(2, 2)),
    (48, |_| 20, blocks(2, 1)),
    (48, |number| if number % 2 == 0 { 16 } else { 32 }, [1, 6]),
];

#[test]
fn messages_are_linearizable() {
    for (block_bytes, length, window) in LENGTHS {
        many(window, || {
            let (tx, rx) = bytes::with_wait(2, block_bytes, Yield).unwrap();
            (Copied(tx, length), Copied(rx, length))
        });
        many(window, || {
            let (tx, rx) = bytes::with_wait(2, block_bytes, Yield).unwrap();
            (InPlace(tx, length), InPlace(rx, length))
        });
    }
}

/// The newest block is kept, whatever is in it.
#[test]
fn messages_that_drop_old_are_linearizable() {
    for (block_bytes, length, [_, most]) in LENGTHS {
        let keep = if most == 6 { 1 } else { most / 2 };
        both_ways(DropOld::new(keep, most), &[], [2, 2], || {
            let (tx, rx) = bytes::drop_old_with_wait(2, block_bytes, Yield).unwrap();
            (Copied(tx, length), Copied(rx, length))
        });
    }
}

/// The window of D capsules lets items overtake (2 D - 2) * entries others.
fn k_fifo<Q: Tube<Item = u32> + 'static>(entries: usize, k: usize, build: impl Fn(usize) -> Q + Sync) {
    const CAPSULES: usize = 4;
    let order = (2 * k.div_ceil(2 * entries) - 2) * entries + 1;
    assert!(order <= k);
    // `Closed` is asked about.
    both_ways(KFifo::new(order, 1, 0), &[Queue::Full, Queue::Empty], [2, 2], || {
        cnq::with_wait::<u64, _, _>(build(CAPSULES), CAPSULES, entries, k, Yield).unwrap()
    });
}

#[test]
fn cnq_is_k_linearizable() {
    k_fifo(1, 1, |capsules| Scqd::new(capsules).unwrap());
    k_fifo(2, 6, |capsules| Scqd::new(capsules).unwrap());
    k_fifo(1, 3, |capsules| ring::Rts::new(capsules).unwrap());
    k_fifo(1, 3, |capsules| faaq::Faaq::new(capsules / 2, 4).unwrap());
    k_fifo(2, 4, |capsules| faaq::Bbq::new(capsules / 2, 4).unwrap());
}

/// Each producer's ring ends with the consumer of the same number: two queues side by side. With other numbers items may come in
/// any order, but once.
#[test]
fn a_mesh_is_linearizable_ring_by_ring() {
    let ends = |count: [usize; 2]| mesh::with_wait::<u64, _>(count[0], count[1], 2, 4, Yield).unwrap();
    check(&Promise { queue: Rings::default(), producers: 2, idle: IDLE }, || {
        let (producers, consumers) = ends([2, 2]);
        apart(producers, consumers)
    });
    check(&Promise { queue: Rings::default(), producers: 2, idle: IDLE }, || {
        let (producers, consumers) = ends([2, 2]);
        // Each thread has the consumer of the other's ring.
        numbered(producers.into_iter().map(Some).zip(consumers.into_iter().rev().map(Some)))
    });
    for [producers, consumers] in [[2, 1], [1, 2]] {
        check(&Promise { queue: KFifo::new(usize::MAX, 1, usize::MAX), producers, idle: IDLE }, || {
            let (producers, consumers) = ends([producers, consumers]);
            apart(producers, consumers)
        });
    }
}

/// What a mesh says of all rings together.
const IDLE: &[Queue<u64>] = &[Queue::Full, Queue::Empty, Queue::Closed];

/// A ring for each producer; who pushed an item is in its number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Rings([VecDeque<u64>; 2]);

impl Specification for Rings {
    type Operation = Queue<u64>;

    fn apply(&mut self, operation: &Queue<u64>) -> bool {
        let ring = |number: &u64| *number as usize / 100 - 1;
        match operation {
            Queue::Pushed(number) => {
                self.0[ring(number)].push_back(*number);
                true
            }
            Queue::Popped(number) => self.0[ring(number)].pop_front() == Some(*number),
            _ => true,
        }
    }

    fn is_refusal(&self, operation: &Queue<u64>) -> bool {
        IDLE.contains(operation) || *operation == Queue::Busy
    }
}

/// The owner of either order.
trait Owner: Send {
    fn push(&mut self, number: u64) -> Result<(), TryPushError<u64>>;
    fn pop(&mut self) -> Option<u64>;
    fn share(&mut self);
}

macro_rules! owner {
    ($($Owner:ty),+) => {
        $(impl Owner for $Owner {
            fn push(&mut self, number: u64) -> Result<(), TryPushError<u64>> {
                Self::push(self, number)
            }
            fn pop(&mut self) -> Option<u64> {
                Self::pop(self)
            }
            fn share(&mut self) {
                Self::share(self);
            }
        })+
    };
}
owner!(stealing::lifo::Owner<u64>, stealing::fifo::Owner<u64>);

enum Worker<O> {
    Owner(O, u64),
    Thief(Stealer<u64>),
}

fn workers<O: Owner>((owner, thief): (O, Stealer<u64>)) -> Vec<Worker<O>> {
    vec![Worker::Owner(owner, 0), Worker::Thief(thief.clone()), Worker::Thief(thief)]
}

impl<O: Owner> Worker<O> {
    /// What the owner finds.
    fn pop(owner: &mut O, log: &mut Log<Task<u64>>) -> Option<u64> {
        log.call(|| owner.pop(), |popped| popped.map_or(Task::Empty, Task::Got))
    }
}

impl<O: Owner> Part for Worker<O> {
    type Operation = Task<u64>;

    fn attempt(&mut self, log: &mut Log<Task<u64>>, random: &mut Xorshift) {
        match self {
            // As often as both thieves together.
            Self::Owner(owner, next) => {
                for _ in 0..2 {
                    match random.below(6) {
                        0 => owner.share(),
                        1..3 => _ = Self::pop(owner, log),
                        _ => {
                            let number = *next;
                            let pushed = log.call(
                                || owner.push(number),
                                |result| match result {
                                    Ok(()) => Task::Put(number),
                                    Err(TryPushError::Full(_)) => Task::Full,
                                    Err(TryPushError::Busy(_) | TryPushError::Closed(_)) => Task::Retry,
                                },
                            );
                            *next += u64::from(pushed.is_ok());
                        }
                    }
                }
            }
            // `Empty` is not one instant for all blocks.
            Self::Thief(thief) => {
                let _ = log.call(|| thief.steal(), |stolen| stolen.map_or(Task::Retry, Task::Stolen));
            }
        }
    }

    fn leave(&mut self, _: &mut Log<Task<u64>>) {}

    fn drain(parts: &mut [Self], log: &mut Log<Task<u64>>) {
        for part in parts {
            if let Self::Owner(owner, _) = part {
                while Self::pop(owner, log).is_some() {}
            }
        }
    }
}

/// A line from whose front the owner takes, and thieves take anywhere. The owner may find no room when an item is inside for each
/// of three blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Line(VecDeque<u64>);

impl Specification for Line {
    type Operation = Task<u64>;

    fn apply(&mut self, operation: &Task<u64>) -> bool {
        match operation {
            Task::Put(number) => {
                self.0.push_back(*number);
                true
            }
            Task::Full => self.0.len() >= 3,
            Task::Got(number) => self.0.pop_front() == Some(*number),
            Task::Empty => self.0.is_empty(),
            Task::Stolen(number) => {
                let place = self.0.iter().position(|other| other == number);
                place.and_then(|place| self.0.remove(place)).is_some()
            }
            Task::Nothing | Task::Retry => true,
        }
    }

    fn is_refusal(&self, operation: &Task<u64>) -> bool {
        matches!(operation, Task::Full | Task::Empty | Task::Nothing | Task::Retry)
    }
}

/// Two blocks are the fewest from which thieves steal, and three in FIFO order.
#[test]
fn stealing_is_linearizable() {
    for entries in [1, 2] {
        check(&Deque::new(2, 0, Steal::Any), || workers(stealing::lifo(2, entries).unwrap()));
        check(&Line::default(), || workers(stealing::fifo(3, entries).unwrap()));
    }
}
