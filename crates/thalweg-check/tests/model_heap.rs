//! What the checker finds when it sees the heap.
#![cfg(not(loom))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::mem::ManuallyDrop;
use thalweg_check::history::{Bounded, Queue};
use thalweg_check::{Check, Heap, Rule, Violation};
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, fence};
use thalweg_sync::cell::Slot;
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::{spin, thread};

#[global_allocator]
static HEAP: Heap = Heap::new();

fn finds(client: impl Fn() + Send + Sync + 'static) -> Violation {
    Check::new().leaks(true).run(client).expect_err("the mistake is not found")
}

fn passes(client: impl Fn() + Send + Sync + 'static) {
    assert!(Check::new().sequential(true).leaks(true).check(client).complete > 0);
}

/// An object with a count of its owners, made and dropped by hand.
struct Counted {
    owners: AtomicUsize,
    value: AtomicU64,
    plain: Slot<u64>,
}

/// Gives up a share; `decides`: by what was left, or by another look.
fn give_up(object: *mut Counted, decides: bool) {
    // SAFETY: it lives as long as somebody owns it, if `decides`.
    let shared = unsafe { &*object };
    shared.value.fetch_add(1, Relaxed);
    let left = if decides {
        shared.owners.fetch_sub(1, Release) - 1
    } else {
        shared.owners.fetch_sub(1, Release);
        shared.owners.load(Relaxed)
    };
    if left == 0 {
        fence(Acquire);
        // SAFETY: nobody else owns it, if `decides`.
        drop(unsafe { Box::from_raw(object) });
    }
}

fn owners(decides: bool) {
    struct Pointer(*mut Counted);
    // SAFETY: what it points to is shared by protocol.
    unsafe impl Send for Pointer {}
    let object = Counted { owners: AtomicUsize::new(2), value: AtomicU64::new(0), plain: Slot::new(0) };
    let object = Box::into_raw(Box::new(object));
    let other = Pointer(object);
    let thread = thread::spawn(move || {
        let other = other;
        give_up(other.0, decides);
    });
    give_up(object, decides);
    thread.join().unwrap();
}

#[test]
fn a_count_that_is_looked_at_twice() {
    let violation = finds(|| owners(false));
    let free =
        matches!(violation.rule(), Rule::UseAfterFree { .. } | Rule::DroppedInUse { .. } | Rule::FreedTwice { .. });
    assert!(free, "{violation}");
    passes(|| owners(true));
}

/// A thread beside `body`.
fn beside(body: impl FnOnce()) {
    let flag = Arc::new(AtomicU64::new(0));
    let other = thread::spawn({
        let flag = flag.clone();
        move || flag.store(1, Relaxed)
    });
    body();
    flag.load(Relaxed);
    other.join().unwrap();
}

/// What is in it is no event. With this allocator it is known what is not freed, and so still there.
#[test]
fn a_slot_or_a_lock_that_was_made_outside() {
    let slot = Slot::new(0_u64);
    let slot = finds(move || {
        // SAFETY: one thread alone uses it.
        beside(|| assert!(slot.with(|turns| unsafe { *turns }) < 2));
        // SAFETY: as above.
        slot.with_mut(|turns| unsafe { *turns += 1 });
    });
    let turns = std::sync::Arc::new(Mutex::new(0));
    let lock = finds(move || beside(|| *turns.lock().unwrap() += 1));
    for violation in [slot, lock] {
        assert!(matches!(violation.rule(), Rule::LeftOver { .. }), "{violation}");
    }
}

/// Others come to the same place of a stack, and to the same block, in each execution.
#[test]
fn what_was_moved_is_not_left_over() {
    fn use_both(both: &(Slot<u64>, Mutex<u64>), times: u64) {
        // SAFETY: nobody else has the slot.
        assert_eq!(both.0.with(|place| unsafe { *place }), times);
        // SAFETY: as above.
        both.0.with_mut(|place| unsafe { *place += 1 });
        *both.1.lock().unwrap() += 1;
    }
    passes(|| {
        beside(|| {
            let both = (Slot::new(0), Mutex::new(0));
            use_both(&both, 0);
            let boxed = Box::new(both);
            use_both(&boxed, 1);
            let (slot, lock) = *boxed;
            assert_eq!((slot.into_inner(), lock.into_inner().unwrap()), (2, 2));
        });
    });
}

#[test]
fn an_access_after_the_free() {
    fn last(early: bool) {
        let object = Counted { owners: AtomicUsize::new(1), value: AtomicU64::new(0), plain: Slot::new(1) };
        let object = Box::into_raw(Box::new(object));
        // SAFETY: it comes from `into_raw`; if `early`, it is dropped before it is used.
        unsafe {
            if early {
                drop(Box::from_raw(object));
            }
            assert_eq!((*object).plain.with(|n| *n), 1);
            if !early {
                drop(Box::from_raw(object));
            }
        }
    }
    assert!(matches!(finds(|| last(true)).rule(), Rule::UseAfterFree { thread: 0, .. }));
    passes(|| last(false));
}

#[test]
fn a_block_that_is_freed_twice() {
    fn drops(times: usize) {
        let mut block = ManuallyDrop::new(Box::new(7_u64));
        // SAFETY: once is right.
        (0..times).for_each(|_| unsafe { ManuallyDrop::drop(&mut block) });
    }
    assert!(matches!(finds(|| drops(2)).rule(), Rule::FreedTwice { .. }));
    passes(|| drops(1));
}

/// An item and its old place. Whoever has both drops it twice.
struct Moved {
    place: ManuallyDrop<Box<u64>>,
    is_out: bool,
}

impl Drop for Moved {
    fn drop(&mut self) {
        if !self.is_out {
            // SAFETY: it is still in its place, unless the thread that takes it out is unwound in between.
            unsafe { ManuallyDrop::drop(&mut self.place) };
        }
    }
}

/// A thread that waits for ever is unwound when the execution is given up. What it then drops twice says nothing of the
/// client, whose waits do not unwind.
#[test]
fn what_is_unwound_in_between() {
    let explored = Check::new().leaks(true).check(|| {
        let turn = Arc::new(AtomicU64::new(0));
        let taker = thread::spawn({
            let turn = turn.clone();
            move || {
                let mut moved = Moved { place: ManuallyDrop::new(Box::new(7)), is_out: false };
                // SAFETY: one of the two is dropped: `is_out` says which.
                let item = unsafe { std::ptr::read(&*moved.place) };
                spin::until(|| (turn.load(Acquire) == 1).then_some(()));
                moved.is_out = true;
                assert_eq!(*item, 7);
            }
        });
        turn.store(1, Release);
        taker.join().unwrap();
    });
    assert_eq!((explored.complete, explored.blocked), (1, 1));
}

/// What a history has recorded is the checker's, though the client's threads have made it. The second execution has
/// more calls, and each has memory of its own.
#[test]
fn a_history_is_no_leak() {
    let result = Check::new().leaks(true).linearizable(Bounded::new(32, 32), |recorder| {
        let more = Arc::new(AtomicU64::new(0));
        let other = thread::spawn({
            let more = more.clone();
            move || more.store(20, Relaxed)
        });
        let mut log = recorder.log(0);
        for item in 0..=more.load(Relaxed) {
            log.call(|| (), |()| Queue::Pushed(item.to_string()));
        }
        other.join().unwrap();
    });
    assert_eq!(result.unwrap_or_else(|violation| panic!("{violation}")).complete, 2);
}

#[test]
fn a_leak_in_some_executions() {
    /// The last value put into the place; `takes`: who puts one in takes the one before out.
    fn replace(takes: bool) {
        let place = Arc::new(AtomicPtr::new(std::ptr::null_mut::<u64>()));
        let take = |pointer: *mut u64| {
            if !pointer.is_null() {
                // SAFETY: it comes from `into_raw`, and is out of the place.
                drop(unsafe { Box::from_raw(pointer) });
            }
        };
        let threads = [1, 2].map(|value| {
            let place = place.clone();
            thread::spawn(move || {
                let mine = Box::into_raw(Box::new(value));
                if takes || place.load(Relaxed).is_null() {
                    take(place.swap(mine, AcqRel));
                } else {
                    place.store(mine, Release);
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        take(place.swap(std::ptr::null_mut(), AcqRel));
    }
    let violation = finds(|| replace(false));
    assert!(matches!(violation.rule(), Rule::Leaks { blocks: 1, bytes: 8, .. }), "{violation}");
    passes(|| replace(true));
}

/// Has memory for who wants it zeroed.
struct Zeroed;

// SAFETY: memory comes from the system's allocator and goes back to it.
unsafe impl GlobalAlloc for Zeroed {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        std::ptr::null_mut()
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise; the block is from `alloc_zeroed`.
        unsafe { System.dealloc(block, layout) };
    }
}

#[test]
fn the_allocator_below_is_asked_for_zeroes() {
    let (heap, layout) = (Heap::over(Zeroed), Layout::new::<[u64; 8]>());
    // SAFETY: the layout has a size.
    let block = unsafe { heap.alloc_zeroed(layout) };
    assert!(!block.is_null());
    // SAFETY: the block is all zeroes, which are numbers.
    assert_eq!(unsafe { block.cast::<[u64; 8]>().read() }, [0; 8]);
    // SAFETY: it goes back once.
    unsafe { heap.dealloc(block, layout) };
}
