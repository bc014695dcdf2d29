//! `queues/growth`: what it costs that a ring grows. Figure 6 of BLQ, and the rate of a ring that may grow and does not.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;
use serde_json::json;
use thalweg_queue::Yield;
use thalweg_queue::growing::{self, Most};

use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Role, Sample};
use crate::machine::Placement;
use crate::queues::contenders::{ChunkRing, ChunkRingFrom, LamportCached, Rtrb, Spsc};
use crate::queues::limits::{self, ByBlocks, Prefetched};
use crate::queues::one_to_one::{CAPACITY, Ends, one_by_one, params, per_item};

/// The entry in the registry.
pub(crate) const EXPERIMENT: Experiment = Experiment { name: "queues/growth", plan };

const FIRST: usize = 64;
const LAST: usize = 1024;
const STEPS: &[&str] = &["ns for 64 to 128", "ns for 128 to 256", "ns for 256 to 512", "ns for 512 to 1024"];

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let rings = (effort.messages(16_000) / 16) as usize;
    let items = effort.messages(20_000_000);
    Ok(vec![
        Group::new("doubling, messages of 1 byte", STEPS, doubling(rings, |number| number as u8)),
        Group::new("doubling, messages of 64 bytes", STEPS, doubling(rings, |number| [number as u64; 8])),
        // As in the paper, large messages travel as pointers; here to one that is there already.
        Group::new(
            "doubling, messages of 128 bytes",
            STEPS,
            doubling(rings, |number| &MESSAGES[number % MESSAGES.len()]),
        ),
        Group::new("steady rate, 8-byte items", &["ns per item"], steady(items)),
    ])
}

static MESSAGES: [[u8; 128]; 4] = [[1; 128], [2; 128], [3; 128], [4; 128]];

/// A ring that grows when it is pushed to and full.
trait Growing<T> {
    fn build() -> Self;
    fn push(&mut self, item: T);
    fn pop(&mut self) -> Option<T>;
}

/// The rings are filled, then each is pushed to once more: that push is timed, with what it takes to grow.
fn doubling<T: Copy + PartialEq + Send + 'static>(rings: usize, item: fn(usize) -> T) -> Vec<Contender> {
    vec![
        one::<T, Ours<T, FIRST>>(Role::Ours, "thalweg `chunk_ring`", rings, item),
        one::<T, Ours<T, LAST>>(Role::Bound, "thalweg `chunk_ring`, without growing", rings, item),
        one::<T, Copying<T>>(Role::Peer, "copying", rings, item),
        one::<T, std::collections::VecDeque<T>>(Role::Peer, "a `VecDeque`", rings, item),
    ]
}

fn one<T: Copy + PartialEq + 'static, R: Growing<T> + 'static>(
    role: Role,
    name: &str,
    rings: usize,
    item: fn(usize) -> T,
) -> Contender {
    let params =
        json!({ "rings": rings, "first": FIRST, "last": LAST, "threads": "one", "memory": "in the process already" });
    Contender::new(role, name, params, move || {
        Placement::OneCpu.pin(0, 1);
        let _held = memory(rings * 3 * LAST * size_of::<T>().max(8));
        let mut all: Vec<R> = (0..rings).map(|_| R::build()).collect();
        let mut figures = Vec::new();
        let mut pushed = 0;
        for size in [FIRST, 2 * FIRST, 4 * FIRST, 8 * FIRST] {
            for ring in &mut all {
                (pushed..size).for_each(|number| ring.push(item(number)));
            }
            let (start, at) = (Instant::now(), size);
            all.iter_mut().for_each(|ring| ring.push(item(at)));
            figures.push(start.elapsed().max(Duration::from_nanos(1)).as_nanos() as f64 / rings as f64);
            pushed = size + 1;
        }
        for ring in &mut all {
            if !(0..pushed).all(|number| ring.pop() == Some(item(number))) || ring.pop().is_some() {
                return Err("a ring lost its order".into());
            }
        }
        Ok(Sample { figures, cpus: None })
    })
}

/// Has the process hold so much memory that is free, so that growing is measured, and not how the system hands out pages.
/// While the result lives, which is the last block, the allocator does not give it back.
fn memory(bytes: usize) -> Vec<u8> {
    // Small enough to come from the heap, too large for lists of blocks to use again.
    const BLOCK: usize = 65_536;
    let mut blocks: Vec<Vec<u8>> = (0..bytes / BLOCK + 1).map(|_| vec![1; BLOCK]).collect();
    blocks.pop().unwrap_or_default()
}

/// Our ring, with `AT_FIRST` entries at first and chunks as large as it takes to double by one.
struct Ours<T: Send, const AT_FIRST: usize>(growing::Producer<T, Yield>, growing::Consumer<T, Yield>);

impl<T: Send, const AT_FIRST: usize> Growing<T> for Ours<T, AT_FIRST> {
    fn build() -> Self {
        let (tx, rx) = growing::with_wait(LAST, AT_FIRST, Most::Entries(LAST), Yield).expect("the sizes are right");
        Self(tx, rx)
    }

    #[inline]
    fn push(&mut self, item: T) {
        assert!(self.0.try_push(item).is_ok());
    }

    fn pop(&mut self) -> Option<T> {
        self.1.try_pop().ok()
    }
}

/// What growing by copying takes at least: new memory, two copies, the old memory given back. It is no queue between threads: there
/// are no lines that both ends share, and no lock that keeps the consumer away meanwhile.
struct Copying<T> {
    /// A power of two of them.
    items: Box<[MaybeUninit<T>]>,
    head: usize,
    len: usize,
}

impl<T: Copy> Growing<T> for Copying<T> {
    fn build() -> Self {
        Self { items: Box::new_uninit_slice(FIRST), head: 0, len: 0 }
    }

    #[inline]
    fn push(&mut self, item: T) {
        let size = self.items.len();
        if self.len == size {
            let mut items = Box::new_uninit_slice(2 * size);
            let (wrapped, first) = self.items.split_at(self.head);
            items[..first.len()].copy_from_slice(first);
            items[first.len()..size].copy_from_slice(wrapped);
            (self.items, self.head) = (items, 0);
        }
        let size = self.items.len();
        self.items[(self.head + self.len) & (size - 1)].write(item);
        self.len += 1;
    }

    fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        // SAFETY: the `len` items from `head` on are written.
        let item = unsafe { self.items[self.head].assume_init() };
        self.head = (self.head + 1) & (self.items.len() - 1);
        Some(item)
    }
}

impl<T> Growing<T> for std::collections::VecDeque<T> {
    fn build() -> Self {
        Self::with_capacity(FIRST)
    }

    #[inline]
    fn push(&mut self, item: T) {
        self.push_back(item);
    }

    fn pop(&mut self) -> Option<T> {
        self.pop_front()
    }
}

/// One producer, one consumer, item by item.
fn steady(items: u64) -> Vec<Contender> {
    use Role::{Bound, Ours, Peer};
    let mut contenders = vec![
        steadily::<Spsc>(Ours, "thalweg `spsc`, fixed", items, CAPACITY),
        steadily::<ChunkRing>(Ours, "thalweg `chunk_ring`, fixed", items, CAPACITY),
        steadily::<LamportCached>(Ours, "thalweg `lamport`, cached, fixed", items, CAPACITY),
        steadily::<HalfFull<Spsc>>(Ours, "thalweg `spsc`, fixed, never more than half full", items, CAPACITY),
        steadily::<HalfFull<ChunkRing>>(
            Ours,
            "thalweg `chunk_ring`, fixed, never more than half full",
            items,
            CAPACITY,
        ),
        steadily::<HalfFull<MayGrow>>(
            Ours,
            "thalweg `chunk_ring`, may grow, never more than half full",
            items,
            CAPACITY,
        ),
        steadily::<ChunkRingFrom<16>>(Ours, "thalweg `chunk_ring`, grows from 4096 to 65536", items, 16 * CAPACITY),
        steadily::<ChunkRingFrom<64>>(Ours, "thalweg `chunk_ring`, grows from 64 to 4096", items, CAPACITY),
        steadily::<Rtrb>(Peer, "rtrb", items, CAPACITY),
    ];
    let whole = items.next_multiple_of(ByBlocks::<CAPACITY, Prefetched>::BLOCK);
    contenders.push(steadily::<ByBlocks<CAPACITY, Prefetched>>(
        Bound,
        "limit: seen by blocks, prefetched",
        whole,
        CAPACITY,
    ));
    contenders.extend(limits::of_the_cores(items));
    contenders
}

fn steadily<Q: Ends>(role: Role, name: &str, items: u64, capacity: usize) -> Contender {
    per_item(role, name, params(items, capacity), items, move || one_by_one::<Q>(items, capacity))
}

/// The ring of chunks, which may grow to eight times its entries. A run in which it does is no run.
struct MayGrow;

impl Ends for MayGrow {
    type Tx = <ChunkRing as Ends>::Tx;
    type Rx = <ChunkRing as Ends>::Rx;

    fn build(capacity: usize) -> (Self::Tx, Self::Rx) {
        ChunkRingFrom::<8>::build(8 * capacity)
    }

    #[inline(always)]
    fn push(tx: &mut Self::Tx, value: u64) -> bool {
        ChunkRing::push(tx, value)
    }

    #[inline(always)]
    fn pop(rx: &mut Self::Rx) -> Option<u64> {
        ChunkRing::pop(rx)
    }

    fn check(tx: &Self::Tx) -> Result<(), String> {
        match tx.growth().grown {
            0 => Ok(()),
            grown => Err(format!("it grew {grown} times, and was to keep its size")),
        }
    }
}

/// `Q` with twice the entries that it is built for, of which half are never used at a time: a ring that may grow has no reason to. The consumer
/// says every so many items what it has popped, which is the same for all that are compared so.
struct HalfFull<Q>(PhantomData<fn() -> Q>);

/// An end, and how many items it may come to, and has come to.
struct Counted<E> {
    end: E,
    popped: Arc<CachePadded<AtomicU64>>,
    count: u64,
    most: u64,
}

/// After so many items the consumer says what it has popped.
const TOLD: u64 = CAPACITY as u64 / 8;

impl<Q: Ends> Ends for HalfFull<Q> {
    type Tx = Counted<Q::Tx>;
    type Rx = Counted<Q::Rx>;

    fn build(capacity: usize) -> (Self::Tx, Self::Rx) {
        assert_eq!(capacity, CAPACITY, "what the consumer says is for this one");
        let (tx, rx) = Q::build(2 * capacity);
        let popped = Arc::new(CachePadded::new(AtomicU64::new(0)));
        let tx = Counted { end: tx, popped: popped.clone(), count: 0, most: capacity as u64 };
        (tx, Counted { end: rx, popped, count: 0, most: u64::MAX })
    }

    #[inline(always)]
    fn push(tx: &mut Self::Tx, value: u64) -> bool {
        if tx.count == tx.most {
            // Acquire, for the Release in `pop`: the ring knows that those are gone.
            tx.most = tx.popped.load(Acquire) + CAPACITY as u64;
        }
        let pushed = tx.count < tx.most && Q::push(&mut tx.end, value);
        tx.count += u64::from(pushed);
        pushed
    }

    #[inline(always)]
    fn pop(rx: &mut Self::Rx) -> Option<u64> {
        let value = Q::pop(&mut rx.end)?;
        rx.count += 1;
        if rx.count.is_multiple_of(TOLD) {
            rx.popped.store(rx.count, Release);
        }
        Some(value)
    }

    fn check(tx: &Self::Tx) -> Result<(), String> {
        Q::check(&tx.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_that_is_to_keep_its_size_and_grows_is_an_error() {
        let items = 40 * CAPACITY as u64;
        one_by_one::<HalfFull<MayGrow>>(items, CAPACITY).unwrap();
        // Without the bound it is filled before anything is popped.
        let (mut tx, _rx) = MayGrow::build(CAPACITY);
        assert!((0..4 * CAPACITY as u64).all(|value| MayGrow::push(&mut tx, value)));
        assert!(MayGrow::check(&tx).unwrap_err().ends_with("was to keep its size"));
    }
}
