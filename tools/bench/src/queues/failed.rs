//! `queues/failed-ops`: what a push on a full queue and a pop on an empty one cost, beside those that succeed.
//!
//! Every queue of ours that refuses. Left out are those that overwrite what is old, which are never full (`bbq::drop_old`, also of bytes), and
//! the channels of `thalweg-link`, where a thread in between says what is full and empty.

use std::time::Instant;

use thalweg_queue::stealing;

use super::contenders::*;
use super::limits;
use super::one_to_one::{CAPACITY, Ends, params};
use crate::harness::Role::{self, *};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Sample};
use crate::machine::Placement;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "queues/failed-ops", plan };

const UNITS: &[&str] = &["ns per push", "ns per push on full", "ns per pop", "ns per pop on empty"];

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let rounds = effort.messages(4_000_000) / TIMES + 1;
    let contenders = vec![
        alone::<Spsc>(Ours, "thalweg `spsc`", rounds),
        alone::<FastForward>(Ours, "thalweg `fast_forward`", rounds),
        alone::<FastForwardInPlace>(Ours, "thalweg `fast_forward`, in place", rounds),
        alone::<ChunkRing>(Ours, "thalweg `chunk_ring`", rounds),
        alone::<BbqMpsc>(Ours, "thalweg `mpsc`", rounds),
        alone::<BbqSpmc>(Ours, "thalweg `spmc`", rounds),
        alone::<Bbq>(Ours, "thalweg `mpmc`", rounds),
        alone::<BbqBytes>(Ours, "thalweg `bytes`, of 8 bytes", rounds),
        alone::<Ticketed>(Ours, "thalweg `ticketed`", rounds),
        alone::<Mesh>(Ours, "thalweg `mesh`, one and one", rounds),
        alone::<Cnq>(Ours, "thalweg `cnq`", rounds),
        alone::<TubeBbq>(Ours, "thalweg tube `bbq`", rounds),
        alone::<TubeFaaq>(Ours, "thalweg tube `faaq`", rounds),
        alone::<TubeScqd>(Ours, "thalweg tube `scqd`", rounds),
        alone::<TubeMt>(Ours, "thalweg ring `mt`", rounds),
        alone::<TubeRts>(Ours, "thalweg ring `rts`", rounds),
        alone::<TubeHts>(Ours, "thalweg ring `hts`", rounds),
        contender::<Owned<stealing::lifo::Owner<u64>>>(Ours, "thalweg `bwos`, LIFO, its owner pops", rounds),
        contender::<Owned<stealing::fifo::Owner<u64>>>(Ours, "thalweg `bwos`, FIFO, its owner pops", rounds),
        contender::<Stolen>(Ours, "thalweg `bwos`, FIFO, a thief pops", rounds),
        alone::<Lamport>(Ours, "thalweg `lamport`", rounds),
        alone::<LamportCached>(Ours, "thalweg `lamport`, cached", rounds),
        alone::<Locked>(Ours, "thalweg `locked`", rounds),
        alone::<Rtrb>(Peer, "rtrb", rounds),
        alone::<Ringbuf>(Peer, "ringbuf", rounds),
        alone::<ArrayQueue>(Peer, "crossbeam ArrayQueue", rounds),
        alone::<CrossbeamChannel>(Peer, "crossbeam-channel", rounds),
        alone::<ConcurrentQueue>(Peer, "concurrent-queue", rounds),
    ];
    Ok(vec![Group::new("one thread", UNITS, contenders), limits::group(effort)])
}

fn alone<Q: Ends>(role: Role, name: &str, rounds: u64) -> Contender {
    contender::<Both<Q>>(role, name, rounds)
}

fn contender<Q: Alone>(role: Role, name: &str, rounds: u64) -> Contender {
    let mut given = params(rounds * TIMES, CAPACITY);
    given["threads"] = Placement::OneCpu.word().into();
    Contender::new(role, name, given, move || run::<Q>(rounds))
}

/// A queue all of whose ends one thread has.
trait Alone: 'static {
    /// A queue for [`CAPACITY`] items.
    fn build() -> Self;

    /// Pushes `value`, or says that there is no room.
    fn push(&mut self, value: u64) -> bool;

    /// Pops a value, if there is one.
    fn pop(&mut self) -> Option<u64>;

    /// All that is pushed is to be popped: nobody will push meanwhile.
    fn share(&mut self) {}
}

/// Both ends of a queue.
struct Both<Q: Ends>(Q::Tx, Q::Rx);

impl<Q: Ends> Alone for Both<Q> {
    #[inline(always)]
    fn build() -> Self {
        let (tx, rx) = Q::build(CAPACITY);
        Self(tx, rx)
    }

    #[inline(always)]
    fn push(&mut self, value: u64) -> bool {
        Q::push(&mut self.0, value)
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<u64> {
        Q::pop(&mut self.1)
    }
}

/// Blocks of a queue that is stolen from.
const BLOCKS: usize = 8;

/// An owner, which pops what it has pushed.
struct Owned<O>(O);

/// An owner, and a thief that pops.
struct Stolen(stealing::fifo::Owner<u64>, stealing::Stealer<u64>);

macro_rules! owned {
    ($order:ident) => {
        impl Alone for Owned<stealing::$order::Owner<u64>> {
            #[inline(always)]
            fn build() -> Self {
                Self(stealing::$order(BLOCKS, CAPACITY / BLOCKS).expect("the shape is right").0)
            }

            #[inline(always)]
            fn push(&mut self, value: u64) -> bool {
                self.0.push(value).is_ok()
            }

            #[inline(always)]
            fn pop(&mut self) -> Option<u64> {
                self.0.pop()
            }
        }
    };
}
owned!(lifo);
owned!(fifo);

impl Alone for Stolen {
    #[inline(always)]
    fn build() -> Self {
        let (owner, thief) = stealing::fifo(BLOCKS, CAPACITY / BLOCKS).expect("the shape is right");
        Self(owner, thief)
    }

    #[inline(always)]
    fn push(&mut self, value: u64) -> bool {
        self.0.push(value).is_ok()
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<u64> {
        self.1.steal().ok()
    }

    fn share(&mut self) {
        self.0.share();
    }
}

/// How many operations of each kind a round has. Half of the entries, as some queues are full with fewer items than they have entries for, or
/// with more.
const TIMES: u64 = CAPACITY as u64 / 2;

fn run<Q: Alone>(rounds: u64) -> Result<Sample, BoxError> {
    Placement::OneCpu.pin(0, 1);
    let mut queue = Q::build();
    let (mut nanos, mut pushed, mut popped) = ([0.0; 4], 0, 0_u64);
    for _ in 0..rounds {
        let push = timed(TIMES, |value| queue.push(value));
        let all = TIMES + (TIMES + 1..).take_while(|&value| queue.push(value)).count() as u64;
        pushed += all * (all + 1) / 2;
        let full = timed(TIMES, |value| !queue.push(value));
        queue.share();
        let pop = timed(TIMES, |_| queue.pop().map(|value| popped += value).is_some());
        popped += std::iter::from_fn(|| queue.pop()).sum::<u64>();
        // One more goes through: a queue of blocks is empty within a block then, as mostly, and not behind its last one.
        pushed += u64::from(queue.push(1));
        queue.share();
        popped += queue.pop().unwrap_or(0);
        let empty = timed(TIMES, |_| queue.pop().is_none());
        for (sum, time) in nanos.iter_mut().zip([push, full, pop, empty]) {
            *sum += time.ok_or("an operation went as it should not")?;
        }
    }
    if popped != pushed {
        return Err(format!("the sum of what was popped is {popped}, not {pushed}").into());
    }
    Ok(Sample { figures: nanos.map(|nanos| nanos / (rounds * TIMES) as f64).to_vec(), cpus: None })
}

/// Nanoseconds of so many operations, if all went `right`. A loop for each operation of each queue, as a user writes it: a call in
/// between would add the same to what succeeds and what fails. Over a range that does not include its end: else the last operation is
/// apart, which makes two places of it, and so a call.
#[inline(always)]
fn timed(times: u64, mut right: impl FnMut(u64) -> bool) -> Option<f64> {
    let start = Instant::now();
    let mut all = true;
    for value in 0..times {
        all &= right(value + 1);
    }
    let nanos = start.elapsed().as_nanos() as f64;
    all.then_some(nanos)
}
