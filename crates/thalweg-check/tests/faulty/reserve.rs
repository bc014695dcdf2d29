//! BBQ where `reserved` may be past what it is compared with: by `==` as printed (lines 23 and 54), or so that this does not matter.
//!
//! That happens where consumers reserve by addition (FAAQ, section 3.7.4): one looks at a filled block, is late, and draws a ticket of
//! the block's next round, past `committed` (E4); or two draw a ticket for the last item, and `reserved` is past the end of the block
//! and past `consumed` for good (E5). It also happens where `reserved` is loaded without Acquire: what was committed before it was
//! reserved is not seen then (E20).

use thalweg_check::history::{Bounded, Queue, Recorder};
use thalweg_check::{Check, Explored, Memory, Violation};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed};
use thalweg_sync::sync::Arc;
use thalweg_sync::{spin, thread};

/// The fewest with which a ticket that is too late is before the end of a block, and behind what is committed.
const ENTRIES: u64 = 3;

#[derive(Clone, Copy)]
enum Compare {
    Equal,
    AtLeast,
}

/// A cursor: the version above, the offset below. Every block has the version of the head.
const fn cursor(version: u64, offset: u64) -> u64 {
    version << 32 | offset
}

const fn version(cursor: u64) -> u64 {
    cursor >> 32
}

const fn offset(cursor: u64) -> u64 {
    cursor & 0xffff_ffff
}

struct Block {
    allocated: AtomicU64,
    committed: AtomicU64,
    reserved: AtomicU64,
    consumed: AtomicU64,
    entries: [AtomicU64; ENTRIES as usize],
}

struct Faaq {
    blocks: [Block; 2],
    /// Numbers of blocks, over all rounds.
    phead: AtomicU64,
    chead: AtomicU64,
    compare: Compare,
    /// Of the load of `reserved`.
    order: Ordering,
}

impl Faaq {
    fn new(compare: Compare, order: Ordering) -> Self {
        let block = |start: u64| Block {
            allocated: AtomicU64::new(start),
            committed: AtomicU64::new(start),
            reserved: AtomicU64::new(start),
            consumed: AtomicU64::new(start),
            entries: std::array::from_fn(|_| AtomicU64::new(0)),
        };
        let blocks = [block(cursor(1, 0)), block(cursor(0, ENTRIES))];
        Self { blocks, phead: AtomicU64::new(2), chead: AtomicU64::new(2), compare, order }
    }

    fn block(&self, head: u64) -> (&Block, u64) {
        (&self.blocks[(head % 2) as usize], head / 2)
    }

    fn enqueue(&self, item: u64) -> Queue<u64> {
        loop {
            let head = self.phead.load(Acquire);
            let (block, _) = self.block(head);
            if offset(block.allocated.load(Acquire)) < ENTRIES {
                let place = offset(block.allocated.fetch_add(1, AcqRel));
                if place < ENTRIES {
                    block.entries[place as usize].store(item, Relaxed);
                    block.committed.fetch_add(1, AcqRel);
                    return Queue::Pushed(item);
                }
            }
            let (next, round) = self.block(head + 1);
            let consumed = next.consumed.load(Acquire);
            if consumed < cursor(round - 1, ENTRIES) {
                let reserved = offset(next.reserved.load(Acquire));
                let end = match self.compare {
                    Compare::Equal => reserved,
                    Compare::AtLeast => reserved.min(ENTRIES),
                };
                return if end == offset(consumed) { Queue::Full } else { Queue::Busy };
            }
            next.committed.fetch_max(cursor(round, 0), AcqRel);
            next.allocated.fetch_max(cursor(round, 0), AcqRel);
            self.phead.fetch_max(head + 1, AcqRel);
        }
    }

    fn dequeue(&self) -> Queue<u64> {
        loop {
            let head = self.chead.load(Acquire);
            let (block, round) = self.block(head);
            let reserved = block.reserved.load(self.order);
            if version(reserved) != round {
                continue;
            }
            if offset(reserved) < ENTRIES {
                let committed = block.committed.load(Acquire);
                if version(committed) != round {
                    continue;
                }
                let is_empty = match self.compare {
                    Compare::Equal => offset(reserved) == offset(committed),
                    Compare::AtLeast => offset(reserved) >= offset(committed),
                };
                if is_empty {
                    return Queue::Empty;
                }
                if offset(committed) == ENTRIES {
                    match Self::draw(block, round) {
                        Some(item) => return Queue::Popped(item),
                        None => continue,
                    }
                }
                if block.allocated.load(Acquire) != committed {
                    return Queue::Busy;
                }
                if block.reserved.compare_exchange(reserved, reserved + 1, AcqRel, Relaxed).is_ok() {
                    return Queue::Popped(Self::take(block, reserved));
                }
                continue;
            }
            let (next, round) = self.block(head + 1);
            if version(next.committed.load(Acquire)) < round {
                return Queue::Empty;
            }
            next.consumed.fetch_max(cursor(round, 0), AcqRel);
            next.reserved.fetch_max(cursor(round, 0), AcqRel);
            self.chead.fetch_max(head + 1, AcqRel);
        }
    }

    fn take(block: &Block, place: u64) -> u64 {
        let item = block.entries[offset(place) as usize].load(Relaxed);
        block.consumed.fetch_add(1, AcqRel);
        item
    }

    /// By addition, in a block that was filled. A ticket of a later round is taken when there is something for it, and given back when
    /// it is the last.
    fn draw(block: &Block, round: u64) -> Option<u64> {
        let ticket = block.reserved.fetch_add(1, AcqRel);
        if offset(ticket) >= ENTRIES {
            return None;
        }
        if version(ticket) == round {
            return Some(Self::take(block, ticket));
        }
        spin::until(|| {
            let committed = block.committed.load(Acquire);
            if version(committed) == version(ticket) && offset(committed) > offset(ticket) {
                return Some(Some(Self::take(block, ticket)));
            }
            block.reserved.compare_exchange(ticket + 1, ticket, AcqRel, Relaxed).is_ok().then_some(None)
        })
    }
}

/// A consumer has looked at a block that is filled, and draws its ticket while another thread empties it and goes round.
fn late(compare: Compare) -> Result<Explored, Box<Violation>> {
    let client = move |recorder: &Recorder<Queue<u64>>| {
        let queue = Arc::new(Faaq::new(compare, Acquire));
        let mut log = recorder.log(0);
        let mut go_on = |items: std::ops::Range<u64>, pops: usize| {
            items.for_each(|item| _ = log.call(|| queue.enqueue(item), Queue::clone));
            (0..pops).for_each(|_| _ = log.call(|| queue.dequeue(), Queue::clone));
        };
        go_on(1..4, 0);
        let other = thread::spawn({
            let (queue, mut log) = (queue.clone(), recorder.log(1));
            move || log.call(|| Faaq::draw(&queue.blocks[0], 1).map_or(Queue::Busy, Queue::Popped), Queue::clone)
        });
        go_on(4..7, 6);
        go_on(7..8, 2);
        // What the late ticket waits for, if it can not be given back.
        go_on(8..9, 0);
        other.join().unwrap();
    };
    let check = Check::new().memory(Memory::Sc).max_events(1000);
    check.linearizable_apart(Bounded::new(ENTRIES as usize + 1, 2 * ENTRIES as usize), client).map_err(Box::new)
}

/// Two threads pop the last item of a block, and may both draw a ticket for it. A lap later all is full, and nobody is at work.
fn overshoot(compare: Compare) {
    let queue = Faaq::new(compare, Acquire);
    let push = |mut items: std::ops::Range<u64>| assert!(items.all(|item| queue.enqueue(item) == Queue::Pushed(item)));
    push(0..3);
    let pop = |_| _ = queue.dequeue();
    (0..2).for_each(pop);
    thread::scope(|scope| {
        scope.spawn(|| pop(2));
        pop(2);
    });
    push(3..6);
    (3..6).for_each(pop);
    push(6..12);
    assert_eq!(queue.enqueue(12), Queue::Full, "the queue is full, and nobody is at work");
}

/// An item is pushed, and two threads pop, in weak memory.
fn weak(compare: Compare, order: Ordering) -> Result<Explored, Box<Violation>> {
    let client = move |recorder: &Recorder<Queue<u64>>| {
        let queue = Arc::new(Faaq::new(compare, order));
        let others = [1, 2].map(|me| {
            let (queue, mut log) = (queue.clone(), recorder.log(me));
            thread::spawn(move || log.call(|| queue.dequeue(), Queue::clone))
        });
        recorder.log(0).call(|| queue.enqueue(7), Queue::clone);
        for other in others {
            other.join().unwrap();
        }
    };
    let window = Bounded::new(ENTRIES as usize + 1, 2 * ENTRIES as usize);
    Check::new().max_events(1000).linearizable_apart(window, client).map_err(Box::new)
}

fn finds_a_pop_of_nothing(result: Result<Explored, Box<Violation>>) {
    let violation = result.expect_err("the fault is not found").to_string();
    assert!(violation.contains("not linearizable") && violation.contains("Popped"), "{violation}");
}

#[track_caller]
fn passes(result: Result<Explored, Box<Violation>>) {
    let explored = result.unwrap_or_else(|violation| panic!("{violation}"));
    assert!(explored.complete > 3, "{explored}");
}

#[test]
fn e4_reserved_has_run_past_committed() {
    finds_a_pop_of_nothing(late(Compare::Equal));
    passes(late(Compare::AtLeast));
}

#[test]
fn e5_reserved_has_run_past_the_end() {
    let violation = super::finds(|| overshoot(Compare::Equal)).to_string();
    assert!(violation.contains("left: Busy") && violation.contains("nobody is at work"), "{violation}");
    super::passes(|| overshoot(Compare::AtLeast));
}

#[test]
fn e20_loads_out_of_order() {
    finds_a_pop_of_nothing(weak(Compare::Equal, Relaxed));
    // Either is enough.
    passes(weak(Compare::Equal, Acquire));
    passes(weak(Compare::AtLeast, Relaxed));
}
