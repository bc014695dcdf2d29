//! BBQ with two blocks of one entry, its consumer as printed (lines 54 and 78) and as corrected.
//!
//! E19 is about Figure 2.3, which says EMPTY where it can not go on. That one is right (line 29): the next block has nothing then that is
//! committed. It goes on to a block that is half-way, and says EMPTY there (line 25).

use thalweg_check::history::{Bounded, Log, Queue, Recorder};
use thalweg_check::{Check, Explored, Memory, Violation};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Release};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

const ENTRIES: u64 = 1;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// Compares the offsets of `reserved` and `committed`, whatever their rounds.
    E1,
    /// Compares the version of the next block with the consumers' cached head.
    E2,
    /// Calls a block empty whose next entry is allocated and not committed.
    E19,
}

/// A cursor: the version above, the offset below.
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
    entry: AtomicU64,
}

struct Bbq {
    blocks: [Block; 2],
    /// The round above, the block below.
    phead: AtomicU64,
    chead: AtomicU64,
    fault: Fault,
}

impl Bbq {
    fn new(fault: Fault) -> Self {
        let block = |start: u64| Block {
            allocated: AtomicU64::new(start),
            committed: AtomicU64::new(start),
            reserved: AtomicU64::new(start),
            consumed: AtomicU64::new(start),
            entry: AtomicU64::new(0),
        };
        let blocks = [block(cursor(0, 0)), block(cursor(0, ENTRIES))];
        Self { blocks, phead: AtomicU64::new(0), chead: AtomicU64::new(0), fault }
    }

    /// The block of a head, the one after it, and the head of that.
    fn around(&self, head: u64) -> [&Block; 2] {
        let block = offset(head) as usize;
        [&self.blocks[block], &self.blocks[1 - block]]
    }

    fn next(head: u64) -> u64 {
        if offset(head) == 0 { head + 1 } else { cursor(version(head) + 1, 0) }
    }

    fn enqueue(&self, item: u64) -> Queue<u64> {
        loop {
            let head = self.phead.load(Acquire);
            let [block, next] = self.around(head);
            if offset(block.allocated.load(Acquire)) < ENTRIES && offset(block.allocated.fetch_add(1, AcqRel)) < ENTRIES
            {
                block.entry.store(item, Release);
                block.committed.fetch_add(1, AcqRel);
                return Queue::Pushed(item);
            }
            let consumed = next.consumed.load(Acquire);
            if consumed < cursor(version(head), ENTRIES) {
                return if next.reserved.load(Acquire) == consumed { Queue::Full } else { Queue::Busy };
            }
            next.committed.fetch_max(cursor(version(head) + 1, 0), AcqRel);
            next.allocated.fetch_max(cursor(version(head) + 1, 0), AcqRel);
            self.phead.fetch_max(Self::next(head), AcqRel);
        }
    }

    fn dequeue(&self) -> Queue<u64> {
        loop {
            let head = self.chead.load(Acquire);
            let [block, next] = self.around(head);
            let reserved = block.reserved.load(Acquire);
            if offset(reserved) < ENTRIES {
                let committed = block.committed.load(Acquire);
                if self.fault != Fault::E1 && version(committed) != version(reserved) {
                    continue;
                }
                if offset(reserved) >= offset(committed) {
                    let allocated = block.allocated.load(Acquire);
                    let is_empty = match self.fault {
                        Fault::E1 => offset(allocated) == offset(reserved),
                        Fault::E19 => true,
                        Fault::None | Fault::E2 => allocated == reserved,
                    };
                    return if is_empty { Queue::Empty } else { Queue::Busy };
                }
                if offset(committed) != ENTRIES && block.allocated.load(Acquire) != committed {
                    return Queue::Busy;
                }
                if block.reserved.compare_exchange(reserved, reserved + 1, AcqRel, Acquire).is_ok() {
                    let item = block.entry.load(Acquire);
                    block.consumed.fetch_add(1, AcqRel);
                    return Queue::Popped(item);
                }
                continue;
            }
            let committed = next.committed.load(Acquire);
            let want = match self.fault {
                Fault::E2 => version(head) + 1,
                _ => version(reserved) + u64::from(offset(head) == 0),
            };
            if version(committed) < want || (self.fault == Fault::E2 && version(committed) != want) {
                return Queue::Empty;
            }
            if version(committed) > want {
                continue;
            }
            next.consumed.fetch_max(cursor(want, 0), AcqRel);
            next.reserved.fetch_max(cursor(want, 0), AcqRel);
            self.chead.fetch_max(Self::next(head), AcqRel);
        }
    }
}

/// An item is in the queue and a thread takes one, while another puts and takes and so goes round the ring.
fn laps(fault: Fault) -> Result<Explored, Box<Violation>> {
    run(move |recorder| {
        let queue = Arc::new(Bbq::new(fault));
        let enqueue = |log: &mut Log<Queue<u64>>, item| log.call(|| queue.enqueue(item), Queue::clone);
        let mut log = recorder.log(0);
        enqueue(&mut log, 0);
        let other = thread::spawn({
            let (queue, mut log) = (queue.clone(), recorder.log(1));
            move || log.call(|| queue.dequeue(), Queue::clone)
        });
        for item in 1..4 {
            enqueue(&mut log, item);
            log.call(|| queue.dequeue(), Queue::clone);
        }
        other.join().unwrap();
    })
}

/// Two threads push, and one of them pops: its item is behind that of the other one, which may be half-way.
fn half_way(fault: Fault) -> Result<Explored, Box<Violation>> {
    run(move |recorder| {
        let queue = Arc::new(Bbq::new(fault));
        let mut log = recorder.log(0);
        log.call(|| queue.enqueue(0), Queue::clone);
        log.call(|| queue.dequeue(), Queue::clone);
        let other = thread::spawn({
            let (queue, mut log) = (queue.clone(), recorder.log(1));
            move || log.call(|| queue.enqueue(1), Queue::clone)
        });
        log.call(|| queue.enqueue(2), Queue::clone);
        log.call(|| queue.dequeue(), Queue::clone);
        other.join().unwrap();
    })
}

fn run(client: impl Fn(&Recorder<Queue<u64>>) + Send + Sync + 'static) -> Result<Explored, Box<Violation>> {
    // The faults need no weak memory. Debug builds, which look for graphs that are met twice, stop early.
    let most = cfg!(debug_assertions).then_some(500);
    let check = Check::new().memory(Memory::Sc).max_events(1000).max_executions(most);
    check.linearizable(Bounded::new(2, 2), client).map_err(Box::new)
}

fn finds_false_empty(result: Result<Explored, Box<Violation>>) {
    let violation = result.expect_err("the fault is not found").to_string();
    assert!(violation.contains("not linearizable") && violation.contains("Empty"), "{violation}");
}

#[test]
fn e1_offsets_of_different_rounds() {
    finds_false_empty(laps(Fault::E1));
}

#[test]
fn e2_a_head_that_is_a_lap_behind() {
    finds_false_empty(laps(Fault::E2));
}

#[test]
fn e19_a_block_that_is_half_way() {
    finds_false_empty(half_way(Fault::E19));
}

#[test]
fn the_corrected_consumer_passes() {
    for (client, least) in [(laps as fn(Fault) -> _, 100), (half_way, 10)] {
        let explored = client(Fault::None).unwrap_or_else(|violation| panic!("{violation}"));
        assert!(explored.complete > least, "{explored}");
    }
}
