//! How many executions there are when blocks come back, and what is said of one that is used too late.

use super::is_use_after_free;
use std::num::NonZeroUsize;
use thalweg_check::{Check, EventKind, Fuzz, Rule};
use thalweg_sync::atomic::AtomicPtr;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

/// Nothing else that a client allocates has this size and alignment.
#[repr(align(64))]
struct Block(u64);

/// A block whose address an atomic has held.
fn published() -> *mut Block {
    let block = Box::into_raw(Box::new(Block(7)));
    assert_eq!(AtomicPtr::new(block).load(Relaxed), block);
    block
}

fn free(block: *mut Block) {
    // SAFETY: it comes from `published`, and nobody uses it any more.
    drop(unsafe { Box::from_raw(block) });
}

/// A pointer that a thread may be given.
struct Sent(*mut Block);
// SAFETY: who has it uses it alone.
unsafe impl Send for Sent {}

/// Two threads: one frees so many blocks, the other allocates so many.
fn beside(frees: usize, allocations: usize) -> impl Fn() + Send + Sync + 'static {
    move || {
        let blocks = (0..frees).map(|_| Sent(published())).collect::<Vec<_>>();
        let freeing = thread::spawn(move || blocks.into_iter().for_each(|Sent(block)| free(block)));
        let new = (0..allocations).map(|n| Box::new(Block(n as u64))).collect::<Vec<_>>();
        freeing.join().unwrap();
        assert!(new.iter().enumerate().all(|(n, block)| block.0 == n as u64));
    }
}

/// Each allocation is fresh, or has one of the blocks that no other has.
#[test]
fn executions_are_counted() {
    for (frees, allocations, reuse, executions) in [
        (1, 1, 0, 1),
        (1, 1, 1, 2),
        (2, 1, 1, 3),
        (1, 2, 1, 3),
        (2, 2, 1, 1 + 4),
        (2, 2, 2, 1 + 4 + 2),
        (3, 2, 2, 1 + 6 + 6),
        (3, 3, 3, 1 + 9 + 18 + 6),
    ] {
        let explored = Check::new().reuse(reuse).sequential(true).check(beside(frees, allocations));
        assert_eq!(explored.complete, executions, "{frees} frees, {allocations} allocations, {reuse}");
        let two = Check::new().reuse(reuse).threads(NonZeroUsize::new(2).unwrap()).sequential(true);
        assert_eq!(two.check(beside(frees, allocations)).complete, executions);
    }
}

/// The free of a block happens before the allocation that is given it.
#[test]
fn a_free_happens_before_the_allocation() {
    Check::new()
        .sequential(true)
        .on_complete(|graph| {
            let given = graph.events().filter(|event| matches!(event.kind(), EventKind::Allocate { .. }));
            for (allocation, from) in given.filter_map(|event| Some((event.id(), event.reads_from()?))) {
                assert!(graph.happens_before(from, allocation));
            }
        })
        .check(beside(2, 2));
}

/// What no atomic has held is nobody else's to take for another: it does not come back.
#[test]
fn a_private_block_is_no_choice() {
    let explored = Check::new().sequential(true).check(|| {
        for n in 0..3 {
            drop(Box::new(n));
        }
    });
    assert_eq!((explored.complete, explored.events), (1, 0));
}

/// Another thread has the address, and looks when the block may be somebody else's.
fn late(waits: bool) -> impl Fn() + Send + Sync + Copy + 'static {
    move || {
        let block = Box::into_raw(Box::new(AtomicPtr::new(std::ptr::null_mut::<u64>())));
        let place = Arc::new(AtomicPtr::new(block));
        let looks = thread::spawn({
            let place = place.clone();
            move || {
                let block = place.load(Acquire);
                if !block.is_null() {
                    // SAFETY: memory stays mapped in an execution; that it may be freed is what is tried.
                    assert!(unsafe { &*block }.load(Relaxed).is_null());
                }
            }
        });
        let looks = if waits {
            looks.join().unwrap();
            None
        } else {
            Some(looks)
        };
        place.store(std::ptr::null_mut(), Release);
        // SAFETY: it comes from `into_raw`; nobody uses it any more, if `waits`.
        drop(unsafe { Box::from_raw(block) });
        let other = Box::new(AtomicPtr::new(std::ptr::null_mut::<u64>()));
        assert!(other.load(Relaxed).is_null());
        looks.into_iter().for_each(|looks| looks.join().unwrap());
    }
}

#[test]
fn who_had_the_block_is_said() {
    Check::new().check(late(true));
    let violation = Check::new().reuse(0).run(late(false)).unwrap_err();
    let Rule::UseAfterFree { thread: 1, block: Some(block), .. } = violation.rule() else { panic!("{violation}") };
    assert_eq!((block.bytes, block.allocated.thread, block.freed.thread), (8, 0, 0));
    assert!(block.again.is_none() && block.freed.after > block.allocated.after);
    for moment in [&block.allocated, &block.freed] {
        assert!(moment.place.as_ref().is_some_and(|place| place.contains("late")), "{violation}");
    }
}

/// In some execution the block is somebody else's by then. It is a use after free still, and that is said too.
#[test]
fn a_stale_pointer_to_a_block_that_was_handed_out_again() {
    let stale = move |check: Check| {
        check.run(move || {
            let block = Box::into_raw(Box::new(AtomicPtr::new(std::ptr::null_mut::<u64>())));
            let (place, done) = (AtomicPtr::new(block), AtomicPtr::new(std::ptr::null_mut::<u64>()));
            thread::scope(|scope| {
                scope.spawn(|| {
                    let block = place.swap(std::ptr::null_mut(), Acquire);
                    // SAFETY: it comes from `into_raw`, and is out of its place.
                    drop(unsafe { Box::from_raw(block) });
                    let other = Box::new(AtomicPtr::new(std::ptr::null_mut::<u64>()));
                    done.store((&raw const *other).cast_mut().cast(), Relaxed);
                    std::mem::forget(other);
                });
                if done.load(Relaxed) == block.cast() {
                    // SAFETY: as above.
                    unsafe { &*block }.load(Relaxed);
                }
            });
        })
    };
    stale(Check::new().reuse(0)).unwrap();
    let violation = stale(Check::new()).unwrap_err();
    let Rule::UseAfterFree { thread: 0, block: Some(block), .. } = violation.rule() else { panic!("{violation}") };
    let again = block.again.as_ref().expect("it was handed out again");
    assert_eq!((block.allocated.thread, block.freed.thread, again.thread), (0, 1, 1));
}

#[test]
fn an_execution_with_reuse_is_run_alone() {
    let client = || {
        let first = published();
        free(first);
        let second = Box::new(Block(1));
        assert!(!std::ptr::eq(&raw const *second, first), "the same address");
    };
    let check = Check::new().sequential(true);
    let violation = check.run(client).unwrap_err();
    let text = violation.replay();
    assert!(text.starts_with("64/64:"), "{text}");
    let again = check.replay(&text, client).unwrap_err();
    assert_eq!(again.rule().to_string(), violation.rule().to_string());
    check.replay(&text.replace('r', "r9"), client).unwrap_err();
}

#[test]
fn a_use_after_free_is_found_by_the_fuzzer() {
    let failure = Fuzz::new().check(late(false)).unwrap_err();
    assert!(failure.to_string().contains("use after free: thread 1"), "{failure}");
    Fuzz::new().check(late(true)).unwrap();
    assert!(is_use_after_free(&Check::new().run(late(false)).unwrap_err()));
}

/// A pointer is shown by what it points to.
#[test]
fn pointers_have_names() {
    struct Node {
        next: AtomicPtr<Node>,
    }
    let violation = Check::new().run(|| {
        let head = Arc::new(AtomicPtr::new(std::ptr::null_mut::<Node>()));
        let other = thread::spawn({
            let head = head.clone();
            move || head.load(Acquire).is_null()
        });
        let node = Box::into_raw(Box::new(Node { next: AtomicPtr::new(std::ptr::null_mut()) }));
        // SAFETY: it is not freed.
        unsafe { &*node }.next.store(node, Relaxed);
        head.store(node, Release);
        assert!(other.join().unwrap(), "it was there");
    });
    let text = violation.unwrap_err().to_string();
    assert!(text.contains("write next#0 := p0 to next#0") || text.contains("write next#1 := p0 to next#1"), "{text}");
    assert!(text.contains("read head#0 = p0 to next") || text.contains("read head#1 = p0 to next"), "{text}");
}
