//! BBQ in drop-old mode, its consumer as printed (lines 49 to 87) and as corrected, and with one block, which is not excluded.

use thalweg_check::history::{DropOld, Log, Queue, Recorder};
use thalweg_check::{Check, Explored, Memory, Violation};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Release};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

const ENTRIES: u64 = 4;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// A consumer in whose block producers are a round ahead compares offsets of different rounds.
    E3,
    /// There is one block: the next one, which a producer resets, is the one with all items.
    E21,
}

impl Fault {
    fn blocks(self) -> u64 {
        if self == Self::E21 { 1 } else { 2 }
    }

    /// The newest items are inside: those of all blocks but one, and with one block the last that was put in.
    fn specification(self) -> DropOld<u64> {
        let keep = ((self.blocks() - 1) * ENTRIES).max(1);
        DropOld::new(keep as usize, (self.blocks() * ENTRIES) as usize)
    }
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
    blocks: Vec<Block>,
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
        let start = |number| if number == 0 { cursor(1, 0) } else { cursor(0, ENTRIES) };
        let blocks = (0..fault.blocks()).map(|number| block(start(number))).collect();
        let head = || AtomicU64::new(fault.blocks());
        Self { blocks, phead: head(), chead: head(), fault }
    }

    fn block(&self, head: u64) -> (&Block, u64) {
        let blocks = self.fault.blocks();
        (&self.blocks[(head % blocks) as usize], head / blocks)
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
    check.linearizable(fault.specification(), client).map_err(Box::new)
}

/// As many are in the queue as it has entries. One more is put in while another thread takes one.
fn one_more(fault: Fault) -> Result<Explored, Box<Violation>> {
    let check = Check::new().memory(Memory::Sc).max_events(1000);
    let client = move |recorder: &Recorder<Queue<u64>>| {
        let queue = Arc::new(Bbq::new(fault));
        let mut log = recorder.log(0);
        let entries = fault.blocks() * ENTRIES;
        for item in 0..entries {
            log.call(|| queue.enqueue(item), Queue::clone);
        }
        let other = thread::spawn({
            let (queue, mut log) = (queue.clone(), recorder.log(1));
            move || log.call(|| queue.dequeue(), Queue::clone)
        });
        log.call(|| queue.enqueue(entries), Queue::clone);
        other.join().unwrap();
    };
    check.linearizable(fault.specification(), client).map_err(Box::new)
}

#[test]
fn e3_offsets_of_different_rounds() {
    let violation = overrun(Fault::E3).expect_err("the fault is not found").to_string();
    assert!(violation.contains("not linearizable"), "{violation}");
}

#[test]
fn e21_the_next_block_is_the_same() {
    let violation = one_more(Fault::E21).expect_err("the fault is not found").to_string();
    assert!(violation.contains("not linearizable") && violation.contains("Empty"), "{violation}");
}

#[test]
fn the_corrected_consumer_passes() {
    let explored = overrun(Fault::None).unwrap_or_else(|violation| panic!("{violation}"));
    assert_eq!(explored.complete, 1, "{explored}");
    let explored = one_more(Fault::None).unwrap_or_else(|violation| panic!("{violation}"));
    assert!(explored.complete > 5, "{explored}");
}
