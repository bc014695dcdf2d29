//! A tube whose `allocate` has one answer for all that can go wrong, as printed, or says apart that another thread came first.

use thalweg_check::history::{Bounded, Queue, Recorder};
use thalweg_check::{Check, Explored, Violation};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

const CAPACITY: u64 = 2;

#[derive(PartialEq)]
enum Refused {
    Full,
    Conflict,
}

fn allocate(allocated: &AtomicU64) -> Result<u64, Refused> {
    let place = allocated.load(Acquire);
    if place == CAPACITY {
        return Err(Refused::Full);
    }
    allocated.compare_exchange(place, place + 1, AcqRel, Acquire).map_err(|_| Refused::Conflict)
}

/// Two threads enqueue into a queue with room for two.
fn enqueue_at_once(as_printed: bool) -> Result<Explored, Box<Violation>> {
    let client = move |recorder: &Recorder<Queue<u64>>| {
        let allocated = Arc::new(AtomicU64::new(0));
        let enqueue = move |allocated: &AtomicU64, item| loop {
            match allocate(allocated) {
                Ok(_) => return Queue::Pushed(item),
                Err(Refused::Conflict) if !as_printed => {}
                Err(_) => return Queue::Full,
            }
        };
        let other = thread::spawn({
            let (allocated, mut log) = (allocated.clone(), recorder.log(1));
            move || log.call(|| enqueue(&allocated, 1), Queue::clone)
        });
        recorder.log(0).call(|| enqueue(&allocated, 0), Queue::clone);
        other.join().unwrap();
    };
    Check::new().linearizable(Bounded::new(CAPACITY as usize, CAPACITY as usize), client).map_err(Box::new)
}

#[test]
fn e16_a_conflict_looks_full() {
    let violation = enqueue_at_once(true).expect_err("the fault is not found").to_string();
    assert!(violation.contains("not linearizable") && violation.contains("Full"), "{violation}");
    let explored = enqueue_at_once(false).unwrap_or_else(|violation| panic!("{violation}"));
    assert!(explored.complete > 1, "{explored}");
}
