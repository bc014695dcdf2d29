//! Block-based work stealing. Two blocks are the fewest from which thieves steal; in FIFO order three, as the owner holds
//! the oldest and the newest. With one entry each, every push and pop goes to another block;
//! with two, thieves also meet in a block, and leave something in it.

use super::Pair;
use super::ends::Outcome;
use crate::{Client, Setup};
use std::collections::VecDeque;
use thalweg_check::choose;
use thalweg_check::history::{Deque, Log, Specification, Steal, Task};
use thalweg_queue::TryPushError;
use thalweg_queue::stealing::{self, StealError, Stealer};
use thalweg_sync::thread;

/// The owner of either order.
trait Owner: Send + Sized + 'static {
    /// What its history has to be.
    type Object: Specification<Operation = Task<u64>> + Send + Sync + 'static;

    /// How many blocks: the fewest from which thieves steal.
    const BLOCKS: u64;

    /// Full is at least an item for each block.
    fn object() -> Self::Object;
    fn build(entries: usize) -> (Self, Stealer<Pair>);
    fn push(&mut self, item: Pair) -> Result<(), TryPushError<Pair>>;
    fn pop(&mut self) -> Option<Pair>;
    fn share(&mut self);

    fn push_some(&mut self, log: &mut Log<Task<u64>>, first: u64, count: u64) -> u64 {
        let mut pushed = 0;
        for _ in 0..count {
            let number = first + pushed;
            let answer = log.call(
                || self.push(Pair::new(number)),
                |result| match result {
                    Ok(()) => Task::Put(number),
                    Err(TryPushError::Full(_)) => Task::Full,
                    Err(TryPushError::Busy(_) | TryPushError::Closed(_)) => Task::Retry,
                },
            );
            pushed += u64::from(answer.is_ok());
        }
        pushed
    }

    /// What up to `count` pops find.
    fn pop_some(&mut self, log: &mut Log<Task<u64>>, count: usize) -> Vec<u64> {
        let mut one = || log.call(|| self.pop(), |item| item.map_or(Task::Empty, |item| Task::Got(item.number())));
        (0..count).filter_map(|_| one()).map(Pair::number).collect()
    }
}

macro_rules! owner {
    ($order:ident, $blocks:literal, $object:ty, $new:expr) => {
        impl Owner for stealing::$order::Owner<Pair> {
            type Object = $object;

            const BLOCKS: u64 = $blocks;

            fn object() -> $object {
                $new
            }
            fn build(entries: usize) -> (Self, Stealer<Pair>) {
                stealing::$order(Self::BLOCKS as usize, entries).expect("blocks are a queue")
            }
            fn push(&mut self, item: Pair) -> Result<(), TryPushError<Pair>> {
                Self::push(self, item)
            }
            fn pop(&mut self) -> Option<Pair> {
                Self::pop(self)
            }
            fn share(&mut self) {
                Self::share(self);
            }
        }
    };
}
// A thief's `Empty` is not one instant for all blocks: it is recorded as `Retry`.
owner!(lifo, 2, Deque<u64>, Deque::new(2, 0, Steal::Any));
owner!(fifo, 3, Line, Line(VecDeque::new()));

type Lifo = stealing::lifo::Owner<Pair>;
type Fifo = stealing::fifo::Owner<Pair>;

/// A line from whose front the owner takes, and thieves take anywhere. The owner may find no room when three items are
/// inside.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Line(VecDeque<u64>);

impl Specification for Line {
    type Operation = Task<u64>;

    fn apply(&mut self, operation: &Task<u64>) -> bool {
        match operation {
            Task::Put(item) => {
                self.0.push_back(*item);
                true
            }
            Task::Full => self.0.len() >= 3,
            Task::Got(item) => self.0.pop_front() == Some(*item),
            Task::Empty => self.0.is_empty(),
            Task::Stolen(item) => {
                let place = self.0.iter().position(|known| known == item);
                place.and_then(|place| self.0.remove(place)).is_some()
            }
            Task::Nothing | Task::Retry => true,
        }
    }

    fn is_refusal(&self, operation: &Task<u64>) -> bool {
        matches!(operation, Task::Full | Task::Empty | Task::Nothing | Task::Retry)
    }
}

/// Anything goes: for thieves that take several items in one call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Anything;

impl Specification for Anything {
    type Operation = Task<u64>;

    fn apply(&mut self, _: &Task<u64>) -> bool {
        true
    }

    fn is_refusal(&self, _: &Task<u64>) -> bool {
        false
    }
}

/// What the owner does.
#[derive(Clone, Copy, Debug)]
enum Step {
    Push(u64),
    Pop(usize),
    Share,
}
use Step::{Pop, Push, Share};

/// What a thief does.
#[derive(Clone, Copy, Debug)]
enum Thief {
    /// So many attempts to steal an item.
    Items(usize),
    /// An attempt to steal up to two items at once.
    Block,
    /// So many attempts to steal an item of a block, which may be any.
    Anywhere(usize),
    /// An attempt to steal up to two items at once of a block that may be any.
    AnyBlock,
}
use Thief::{AnyBlock, Anywhere, Block, Items};

impl Thief {
    fn run(self, log: &mut Log<Task<u64>>, stealer: &Stealer<Pair>) -> Vec<u64> {
        match self {
            Items(attempts) => (0..attempts).filter_map(|_| steal(log, stealer).ok()).collect(),
            Anywhere(attempts) => {
                let mut one = || log.call(|| stealer.steal_in(choose(stealer.blocks())), stolen).ok();
                (0..attempts).filter_map(|_| one()).map(Pair::number).collect()
            }
            Block | AnyBlock => {
                let mut batch = Vec::new();
                let count = match self {
                    AnyBlock => stealer.steal_into_in(choose(stealer.blocks()), &mut batch, 2),
                    _ => stealer.steal_into(&mut batch, 2),
                };
                assert_eq!(batch.len(), count.unwrap_or(0));
                batch.into_iter().map(Pair::number).collect()
            }
        }
    }
}

/// A theft, recorded.
fn steal(log: &mut Log<Task<u64>>, stealer: &Stealer<Pair>) -> Result<u64, StealError> {
    log.call(|| stealer.steal(), stolen).map(Pair::number)
}

fn stolen(result: &Result<Pair, StealError>) -> Task<u64> {
    match result {
        Ok(item) => Task::Stolen(item.number()),
        Err(_) => Task::Retry,
    }
}

/// The owner takes its steps while thieves steal, and then pops what is left. Everything is taken once.
fn judged<O: Owner, const STEPS: usize, const THIEVES: usize>(
    setup: &Setup,
    object: impl Specification<Operation = Task<u64>> + Send + Sync + 'static,
    entries: usize,
    steps: [Step; STEPS],
    thieves: [Thief; THIEVES],
) -> Outcome {
    setup.linearizable(object, move |recorder| {
        let (mut owner, stealer) = O::build(entries);
        let mut me = 0;
        let threads = thieves.map(|thief| {
            me += 1;
            let (stealer, mut log) = (stealer.clone(), recorder.log(me));
            thread::spawn(move || thief.run(&mut log, &stealer))
        });
        let mut log = recorder.log(0);
        let (mut pushed, mut taken) = (0, Vec::new());
        for step in steps {
            match step {
                Push(count) => pushed += owner.push_some(&mut log, pushed, count),
                Pop(count) => taken.extend(owner.pop_some(&mut log, count)),
                Share => owner.share(),
            }
        }
        taken.extend(threads.into_iter().flat_map(|thief| thief.join().unwrap()));
        // One pop more than there can be items, so that the last one finds nothing.
        taken.extend(owner.pop_some(&mut log, (pushed + 1) as usize - taken.len()));
        taken.sort_unstable();
        assert!(taken.iter().copied().eq(0..pushed), "{taken:?} of {pushed}");
    })
}

fn run<O: Owner, const STEPS: usize, const THIEVES: usize>(
    setup: &Setup,
    entries: usize,
    steps: [Step; STEPS],
    thieves: [Thief; THIEVES],
) -> Outcome {
    judged::<O, STEPS, THIEVES>(setup, O::object(), entries, steps, thieves)
}

/// A thief looks at a block, which the owner then takes over, fills again and leaves. With one entry, what is granted
/// looks as it did before.
fn again<O: Owner, const ENTRIES: u64>(setup: &Setup) -> Outcome {
    let most = (O::BLOCKS - 1) * ENTRIES + 1;
    let steps = [Push(most), Pop(most as usize), Push(O::BLOCKS * ENTRIES)];
    run::<O, 3, 1>(setup, ENTRIES as usize, steps, [Items(2)])
}

/// Two thieves and the owner meet at one block.
fn meet<O: Owner, const THIEVES: usize>(setup: &Setup) -> Outcome {
    run::<O, 3, THIEVES>(setup, 2, [Push(2), Share, Pop(2)], [Items(1); THIEVES])
}

/// A block is shared, stolen from, taken back and filled up, with a thief still reading what it took.
fn fill_up<O: Owner>(setup: &Setup) -> Outcome {
    run::<O, 6, 1>(setup, 2, [Push(1), Share, Push(1), Share, Push(2), Pop(1)], [Items(2)])
}

/// A block is used again after thieves have taken all of it, not while one of them is reading.
fn reuse<O: Owner>(setup: &Setup) -> Outcome {
    run::<O, 1, 2>(setup, 1, [Push(O::BLOCKS + 2)], [Items(1), Items(1)])
}

/// Blocks are stolen whole while the owner goes round.
fn batches<O: Owner>(setup: &Setup) -> Outcome {
    judged::<O, 3, 2>(setup, Anything, 2, [Push(2 * O::BLOCKS), Pop(1), Push(2)], [Block, Items(1)])
}

/// Thieves begin at any block, also one that was never granted, while the owner goes round.
fn any<O: Owner>(setup: &Setup) -> Outcome {
    run::<O, 3, 2>(setup, 1, [Push(O::BLOCKS), Pop(1), Push(2)], [Anywhere(2), Anywhere(1)])
}

/// Blocks are stolen whole, whichever they are.
fn any_batch<O: Owner>(setup: &Setup) -> Outcome {
    judged::<O, 3, 2>(setup, Anything, 2, [Push(2 * O::BLOCKS), Pop(1), Push(2)], [AnyBlock, Anywhere(1)])
}

/// The owner goes from this thread to another one, and comes back; meanwhile this thread is a thief, as a third one is.
fn handed<O: Owner>(setup: &Setup) -> Outcome {
    setup.linearizable(O::object(), |recorder| {
        let (mut owner, stealer) = O::build(1);
        let thief = thread::spawn({
            let (stealer, mut log) = (stealer.clone(), recorder.log(1));
            move || Items(1).run(&mut log, &stealer)
        });
        let mut log = recorder.log(0);
        let pushed = owner.push_some(&mut log, 0, O::BLOCKS);
        let mut next = recorder.log(2);
        let next = thread::spawn(move || {
            let taken = owner.pop_some(&mut next, 1);
            let pushed = pushed + owner.push_some(&mut next, pushed, 2);
            (owner, taken, pushed)
        });
        let mut taken = Items(1).run(&mut log, &stealer);
        let (mut owner, others, pushed) = next.join().unwrap();
        taken.extend(others);
        taken.extend(thief.join().unwrap());
        taken.extend(owner.pop_some(&mut log, (pushed + 1) as usize - taken.len()));
        taken.sort_unstable();
        assert!(taken.iter().copied().eq(0..pushed), "{taken:?} of {pushed}");
    })
}

/// Items are shared twice. Between, a thief may take all and so move the hint to the last block. It cannot take what is shared then as well,
/// so another one does not come away with nothing.
fn found<O: Owner, const ENTRIES: u64>(setup: &Setup) -> Outcome {
    setup.linearizable(O::object(), |recorder| {
        let (mut owner, stealer) = O::build(ENTRIES as usize);
        let first = O::BLOCKS + ENTRIES - 1;
        let attempts = first + ENTRIES - 1;
        let thief = thread::spawn({
            let (stealer, mut log) = (stealer.clone(), recorder.log(1));
            move || Items(attempts as usize).run(&mut log, &stealer)
        });
        let mut log = recorder.log(0);
        let mut pushed = 0;
        for count in [first, ENTRIES] {
            pushed += owner.push_some(&mut log, pushed, count);
            owner.share();
        }
        let found = steal(&mut log, &stealer);
        assert!(pushed <= attempts || found != Err(StealError::Empty), "with an item that was shared");
        let mut taken = thief.join().unwrap();
        taken.extend(found);
        taken.extend(owner.pop_some(&mut log, (pushed + 1) as usize - taken.len()));
        taken.sort_unstable();
        assert!(taken.iter().copied().eq(0..pushed), "{taken:?} of {pushed}");
    })
}

/// Figure 4.8 of the thesis.
fn thesis<O: Owner>(setup: &Setup) -> Outcome {
    run::<O, 6, 2>(setup, 2, [Push(3), Pop(2), Push(4), Pop(3), Push(5), Pop(4)], [Items(1), Items(2)])
}

/// The owner leaves two items behind; a thief sees the end after them.
fn end<O: Owner>(setup: &Setup) -> Outcome {
    setup.linearizable(Anything, |recorder| {
        let (mut owner, stealer) = O::build(1);
        let thief = stealer.clone();
        let other = thread::spawn(move || {
            let (mut taken, mut closed) = (0, false);
            for _ in 0..3 {
                match thief.steal() {
                    Ok(item) => {
                        assert!(!closed, "an item after the end");
                        taken += 1 + item.number();
                    }
                    Err(refused) => closed |= refused == StealError::Closed,
                }
            }
            assert!(!closed || taken == 3, "the end before an item");
            taken
        });
        let mut log = recorder.log(0);
        assert_eq!(owner.push_some(&mut log, 0, 2), 2);
        drop(owner);
        let mut taken = other.join().unwrap();
        while let Ok(item) = stealer.steal() {
            taken += 1 + item.number();
        }
        assert_eq!(taken, 3);
        assert_eq!(stealer.steal(), Err(StealError::Closed));
    })
}

/// A client for a stack and one for a queue.
macro_rules! clients {
    ($($lifo:ident, $fifo:ident: $name:literal, $what:literal, $run:ident $(, $number:literal)?;)+) => {
        $(
            pub(super) const $lifo: Client =
                Client { name: concat!("bwos/", $name, "-lifo"), what: $what, run: $run::<Lifo $(, $number)?> };
            pub(super) const $fifo: Client =
                Client { name: concat!("bwos/", $name, "-fifo"), what: $what, run: $run::<Fifo $(, $number)?> };
        )+
    };
}

clients! {
    AGAIN_1_LIFO, AGAIN_1_FIFO: "again-1", "a thief looks; the block is taken over and granted again (errata E23); blocks of 1", again, 1;
    AGAIN_2_LIFO, AGAIN_2_FIFO: "again-2", "the same with blocks of 2", again, 2;
    MEET_LIFO, MEET_FIFO: "meet", "two thieves and the owner meet at one block of 2", meet, 2;
    MORE_LIFO, MORE_FIFO: "meet-3", "the same with three thieves", meet, 3;
    FILL_UP_LIFO, FILL_UP_FIFO: "fill-up", "a block is shared, stolen from, taken back and filled up", fill_up;
    REUSE_LIFO, REUSE_FIFO: "reuse", "blocks of 1 are used again after thieves have read them", reuse;
    BATCHES_LIFO, BATCHES_FIFO: "batches", "blocks are stolen whole while the owner goes round", batches;
    END_LIFO, END_FIFO: "end", "the owner leaves two items behind; a thief sees the end after them", end;
    ANY_LIFO, ANY_FIFO: "any", "two thieves that begin at any block while the owner goes round; blocks of 1", any;
    ANY_BATCH_LIFO, ANY_BATCH_FIFO: "any-batch", "any block is stolen whole while the owner goes round", any_batch;
    FOUND_1_LIFO, FOUND_1_FIFO: "found-1", "a thief moves the hint; another one finds what was shared before (errata E23); blocks of 1", found, 1;
    FOUND_2_LIFO, FOUND_2_FIFO: "found-2", "the same with blocks of 2", found, 2;
    HANDED_LIFO, HANDED_FIFO: "handed", "the owner goes from one thread to another and back; who had it steals", handed;
    THESIS_LIFO, THESIS_FIFO: "thesis", "Figure 4.8: put 3, get 2, put 4, get 3, put 5, get 4; thieves with one and two attempts", thesis;
}
