//! Work stealing: what an owner pays for being stolen from, beside published deques. The thesis' figures of it are in `figures/thesis/stealing.rs`.

use serde_json::json;
use thalweg_queue::stealing;

use super::limits::{self, Given};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Role};
use crate::peers::deques::{CrossbeamFifo, CrossbeamLifo, PlainQueue, PlainStack, PlainVec, SeenVec, St3Fifo, St3Lifo};
use crate::workloads::stealing::{CAPACITY, Deque, Owner, Stealing, Thief};

/// The entry in the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "queues/stealing", plan };

/// Eight blocks, as in the paper.
const BLOCKS: usize = 8;
/// What a thief asks for at once: as much as crossbeam-deque gives at most.
const BATCH: usize = 32;
const ROUNDS: u64 = 800;
const UNITS: &[&str] = &["ns per operation", "% of items stolen"];

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let stealing = |percent| Stealing { rounds: effort.messages(16 * ROUNDS) / 16, percent, batch: 1 };
    let lifo = |workload, percent| {
        let stealing = stealing(percent);
        let mut contenders = contender::<Lifo>(Role::Ours, "thalweg `bwos`", stealing);
        contenders.extend(contender::<CrossbeamLifo>(Role::Peer, "crossbeam-deque", stealing));
        contenders.extend(contender::<St3Lifo>(Role::Peer, "st3", stealing));
        contenders.extend(contender::<Given>(Role::Bound, "limit: blocks given by a word", stealing));
        if percent == 0 {
            contenders.extend(contender::<PlainVec>(Role::Bound, "a `Vec` of its own", stealing));
            contenders.extend(contender::<SeenVec>(Role::Bound, "a `Vec`, its length in memory", stealing));
            contenders.extend(contender::<PlainStack>(Role::Bound, "a `VecDeque`", stealing));
        }
        Group::new(workload, UNITS, contenders)
    };
    let fifo = |workload, percent| {
        let stealing = stealing(percent);
        let mut contenders = contender::<Fifo>(Role::Ours, "thalweg `bwos`", stealing);
        contenders.extend(contender::<CrossbeamFifo>(Role::Peer, "crossbeam-deque", stealing));
        contenders.extend(contender::<St3Fifo>(Role::Peer, "st3", stealing));
        if percent == 0 {
            contenders.extend(contender::<PlainQueue>(Role::Bound, "a `VecDeque`", stealing));
        }
        Group::new(workload, UNITS, contenders)
    };
    Ok(vec![
        lifo("LIFO, nothing stolen", 0),
        lifo("LIFO, up to 1 % stolen", 1),
        lifo("LIFO, up to 10 % stolen", 10),
        lifo("LIFO, up to 30 % stolen", 30),
        fifo("FIFO, nothing stolen", 0),
        fifo("FIFO, up to 1 % stolen", 1),
        fifo("FIFO, up to 10 % stolen", 10),
        fifo("FIFO, up to 30 % stolen", 30),
        limits::group(effort),
    ])
}

/// The queue with a thief that takes single items, and with one that takes batches if there are any.
fn contender<D: Deque>(role: Role, name: &str, stealing: Stealing) -> Vec<Contender> {
    let batches = [(1, ""), (BATCH, ", batches")];
    let batches = batches.into_iter().filter(|&(batch, _)| batch == 1 || (D::BATCHES && stealing.percent > 0));
    let contender = |(batch, word)| {
        let stealing = Stealing { batch, ..stealing };
        let params = json!({
            "rounds": stealing.rounds, "capacity": D::capacity(), "percent": stealing.percent, "batch": batch,
            "threads": "owner and thief pinned to a CPU each",
        });
        Contender::new(role, format!("{name}{word}"), params, move || stealing.run::<D>())
    };
    batches.map(contender).collect()
}

/// Our stack.
struct Lifo;
/// Our queue.
struct Fifo;

macro_rules! ours {
    ($Deque:ident, $order:ident) => {
        impl Deque for $Deque {
            type Owner = stealing::$order::Owner<u64>;
            type Thief = OurThief;
            const BATCHES: bool = true;

            fn build() -> (Self::Owner, OurThief) {
                let (owner, stealer) = stealing::$order(BLOCKS, CAPACITY / BLOCKS).expect("the shape is right");
                (owner, OurThief { stealer, batch: Vec::with_capacity(BATCH) })
            }
        }

        impl Owner for stealing::$order::Owner<u64> {
            #[inline]
            fn push(&mut self, item: u64) -> bool {
                Self::push(self, item).is_ok()
            }

            #[inline]
            fn pop(&mut self) -> Option<u64> {
                Self::pop(self)
            }
        }
    };
}
ours!(Lifo, lifo);
ours!(Fifo, fifo);

struct OurThief {
    stealer: stealing::Stealer<u64>,
    batch: Vec<u64>,
}

impl Thief for OurThief {
    fn steal(&mut self, most: usize, mut take: impl FnMut(u64)) -> bool {
        if most == 1 {
            return self.stealer.steal().map(take).is_ok();
        }
        let stolen = self.stealer.steal_into(&mut self.batch, most).is_ok();
        self.batch.drain(..).for_each(&mut take);
        stolen
    }
}
