//! BBQ in drop-old mode, its consumer as printed (lines 49 to 87) and as corrected.

use thalweg_check::history::{DropOld, Log, Queue, Recorder};
use thalweg_check::{Check, Explored, Memory, Violation};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Release};

const BLOCKS: u64 = 2;
const ENTRIES: u64 = 4;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// A consumer in whose block producers are a round ahead compares offsets of different rounds.
    E3,
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
    entries: [AtomicU64; ENTRIES as usize],
}

struct Bbq {
    blocks: [Block; BLOCKS as usize],
    /// Numbers of blocks, over all rounds.
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
            entries: std::array::from_fn(|_| AtomicU64::new(0)),
        };
        // The version before the first is so far back that nothing of it is there.
        let blocks = [block(cursor(1, 0)), block(cursor(0, ENTRIES))];
        Self { blocks, phead: AtomicU64::new(BLOCKS), chead: AtomicU64::new(BLOCKS), fault }
    }

    fn block(&self, head: u64) -> (&Block, u64) {
        (&self.blocks[(head % BLOCKS) as usize], head / BLOCKS)
    }

    fn enqueue(&self, item: u64) -> Queue<u64> {
        loop {
            let head = self.phead.load(Acquire);
            let (block, _) = self.block(head);
            if offset(block.allocated.load(Acquire)) < ENTRIES {
                let place = offset(block.allocated.fetch_add(1, AcqRel));
                if place < ENTRIES {
                    block.entries[place as usize].store(item, Release);
                    block.committed.fetch_add(1, AcqRel);
                    return Queue::Pushed(item);
                }
            }
            let (next, round) = self.block(head + 1);
            let committed = next.committed.load(Acquire);
            if version(committed) == round - 1 && offset(committed) != ENTRIES {
                return Queue::Busy;
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
            let reserved = block.reserved.load(Acquire);
            if offset(reserved) < ENTRIES {
                let committed = block.committed.load(Acquire);
                let lapped = self.fault != Fault::E3 && version(committed) != version(reserved);
                if !lapped {
                    if offset(reserved) == offset(committed) {
                        return Queue::Empty;
                    }
                    if offset(committed) != ENTRIES && block.allocated.load(Acquire) != committed {
                        return Queue::Busy;
                    }
                    if block.reserved.compare_exchange(reserved, reserved + 1, AcqRel, Acquire).is_err() {
                        continue;
                    }
                    let item = block.entries[offset(reserved) as usize].load(Acquire);
                    if version(block.allocated.load(Acquire)) == version(reserved) {
                        return Queue::Popped(item);
                    }
                    continue;
                }
            }
            let (next, after) = self.block(head + 1);
            let committed = next.committed.load(Acquire);
            // The version of the block that is left, and one more where the ring begins again.
            if version(committed) < version(reserved).max(round) + (after - round) {
                return Queue::Empty;
            }
            next.reserved.fetch_max(cursor(version(committed), 0), AcqRel);
            self.chead.fetch_max(head + 1, AcqRel);
        }
    }
}

/// Eight are put in, two taken, three put in: five of the first four and of the second are left. One thread is enough.
fn overrun(fault: Fault) -> Result<Explored, Box<Violation>> {
    let check = Check::new().memory(Memory::Sc).max_events(1000).sequential(true);
    let client = move |recorder: &Recorder<Queue<u64>>| {
        let queue = Bbq::new(fault);
        let mut log = recorder.log(0);
        let enqueue = |log: &mut Log<Queue<u64>>, item| {
            log.call(|| queue.enqueue(item), Queue::clone);
        };
        (0..8).for_each(|item| enqueue(&mut log, item));
        (0..2).for_each(|_| {
            log.call(|| queue.dequeue(), Queue::clone);
        });
        (8..11).for_each(|item| enqueue(&mut log, item));
        for _ in 0..8 {
            log.call(|| queue.dequeue(), Queue::clone);
        }
    };
    let keep = (BLOCKS - 1) * ENTRIES;
    check.linearizable(DropOld::new(keep as usize, (BLOCKS * ENTRIES) as usize), client).map_err(Box::new)
}

#[test]
fn e3_offsets_of_different_rounds() {
    let violation = overrun(Fault::E3).expect_err("the fault is not found").to_string();
    assert!(violation.contains("not linearizable"), "{violation}");
}

#[test]
fn the_corrected_consumer_passes() {
    let explored = overrun(Fault::None).unwrap_or_else(|violation| panic!("{violation}"));
    assert_eq!(explored.complete, 1, "{explored}");
}
