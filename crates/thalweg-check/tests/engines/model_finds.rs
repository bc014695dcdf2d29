//! What the checker finds: each client has one mistake, and next to it stands the form without.

use std::mem::MaybeUninit;
use thalweg_check::{Check, EventKind, Explored, Mark, Memory, Rule, ScAxiom, Violation, Wait, assume, mark};
use thalweg_sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use thalweg_sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Counter, fence};
use thalweg_sync::cell::Slot;
use thalweg_sync::park::Parker;
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::{spin, thread, time};

fn finds(client: impl Fn() + Send + Sync + 'static) -> Violation {
    Check::new().run(client).expect_err("the mistake is not found")
}

fn passes(client: impl Fn() + Send + Sync + 'static) -> Explored {
    Check::new().check(client)
}

/// `client` starts no thread.
fn passes_alone(client: impl Fn() + Send + Sync + 'static) -> Explored {
    Check::new().sequential(true).check(client)
}

/// A message is handed over in a slot; `store` and `load` are the orderings of the flag.
fn message(store: Ordering, load: Ordering) {
    let shared = Arc::new((Slot::new(0), AtomicBool::new(false)));
    let writer = thread::spawn({
        let shared = shared.clone();
        move || {
            // SAFETY: nobody reads before the flag is set.
            shared.0.with_mut(|slot| unsafe { *slot = 42 });
            shared.1.store(true, store);
        }
    });
    if shared.1.load(load) {
        // SAFETY: the flag is set.
        assert_eq!(shared.0.with(|slot| unsafe { *slot }), 42);
    }
    writer.join().unwrap();
}

#[test]
fn a_race_where_release_or_acquire_is_missing() {
    for (store, load) in [(Relaxed, Acquire), (Release, Relaxed), (Relaxed, Relaxed)] {
        let violation = finds(move || message(store, load));
        let Rule::Race { threads, writes, .. } = violation.rule() else { panic!("{violation}") };
        assert_eq!((threads.iter().sum::<u32>(), writes.iter().filter(|&&writes| writes).count()), (1, 1));
        assert!(violation.to_string().contains("data race"), "{violation}");
        assert!(violation.to_string().contains("model_finds.rs"), "{violation}");
    }
    assert_eq!(passes(|| message(Release, Acquire)).complete, 2);
    assert_eq!(passes(|| message(SeqCst, SeqCst)).complete, 2);
    Check::new().memory(Memory::Sc).check(|| message(Relaxed, Relaxed));
}

#[test]
fn an_assertion_that_only_weak_memory_breaks() {
    fn dekker(order: Ordering, fences: bool) {
        let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        let inside = Arc::new(Slot::new(0));
        let threads = [0, 1].map(|me| {
            let (flags, inside) = (flags.clone(), inside.clone());
            thread::spawn(move || {
                flags[me].store(true, order);
                if fences {
                    fence(SeqCst);
                }
                if !flags[1 - me].load(order) {
                    // SAFETY: the other one has not raised its flag, or will see ours.
                    inside.with_mut(|n| unsafe { *n += 1 });
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
    for order in [Relaxed, SeqCst] {
        passes(move || dekker(order, true));
    }
    passes(|| dekker(SeqCst, false));
    assert!(matches!(finds(|| dekker(Relaxed, false)).rule(), Rule::Race { .. }));
    let weaker = Check::new().memory(Memory::Ra).run(|| dekker(SeqCst, false));
    assert!(matches!(weaker.unwrap_err().rule(), Rule::Race { .. }), "RA has no order on seq-cst accesses");
}

#[test]
fn a_lost_update() {
    fn count(add: fn(&AtomicU64)) {
        let counter = Arc::new(AtomicU64::new(0));
        let threads = [(); 2].map(|()| {
            let counter = counter.clone();
            thread::spawn(move || add(&counter))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(counter.load(Relaxed), 2, "an increment is lost");
    }
    let violation = finds(|| count(|counter| counter.store(counter.load(Relaxed) + 1, Relaxed)));
    let Rule::Panic { thread: 0, message } = violation.rule() else { panic!("{violation}") };
    assert!(message.contains("an increment is lost"));
    passes(|| count(|counter| assert!(counter.fetch_add(1, Relaxed) < 2)));
    passes(|| count(|counter| assert!(counter.fetch_update(Relaxed, Relaxed, |n| Some(n + 1)).is_ok())));
}

#[test]
fn a_compare_exchange_that_fails_reads_an_old_value() {
    /// Whether a failing exchange may be taken to have seen the newest value.
    fn stale() {
        let cell = Arc::new(AtomicU64::new(0));
        let writer = thread::spawn({
            let cell = cell.clone();
            move || {
                cell.store(1, Relaxed);
                cell.store(2, Relaxed);
            }
        });
        let seen = cell.compare_exchange(9, 9, Relaxed, Relaxed).unwrap_err();
        assert_ne!(seen, 1, "it read the middle value");
        writer.join().unwrap();
    }
    assert!(matches!(finds(stale).rule(), Rule::Panic { .. }));
}

#[test]
fn a_weak_compare_exchange_fails_without_a_reason_when_asked() {
    let client = || {
        let cell = AtomicU64::new(0);
        assert!(cell.compare_exchange_weak(0, 1, Relaxed, Relaxed).is_ok());
    };
    assert_eq!(passes_alone(client).complete, 1);
    assert!(matches!(Check::new().spurious(true).run(client).unwrap_err().rule(), Rule::Panic { .. }));
    // With one, two or three failures, and none: a loop of at most three.
    let explored = Check::new().spurious(true).sequential(true).check(|| {
        let cell = AtomicU64::new(0);
        assume((0..3).any(|_| cell.compare_exchange_weak(0, 1, Relaxed, Relaxed).is_ok()));
    });
    assert_eq!((explored.complete, explored.blocked), (3, 1));
}

#[test]
fn a_wait_that_nobody_ends() {
    fn wait(sets: bool) {
        let flag = Arc::new(AtomicBool::new(false));
        let other = thread::spawn({
            let flag = flag.clone();
            move || flag.store(sets, Release)
        });
        spin::until(|| flag.load(Acquire).then_some(()));
        other.join().unwrap();
    }
    let violation = finds(|| wait(false));
    let Rule::WaitsForever { waits } = violation.rule() else { panic!("{violation}") };
    let [Wait { thread: 0, reads, .. }] = &waits[..] else { panic!("{violation}") };
    let read = violation.graph().event(reads[0].0);
    assert_eq!((read.kind(), read.value()), (EventKind::Read { exclusive: false }, 0));
    let explored = passes(|| wait(true));
    assert_eq!(explored.complete, 1, "a wait is explored once per outcome: {explored}");
}

#[test]
fn a_lock_cycle_and_a_lost_wake_up() {
    fn locks(orders: [[usize; 2]; 2]) {
        let locks = Arc::new([Mutex::new(0), Mutex::new(0)]);
        let threads = orders.map(|order| {
            let locks = locks.clone();
            thread::spawn(move || {
                let mut first = locks[order[0]].lock().unwrap();
                let mut second = locks[order[1]].lock().unwrap();
                *first += 1;
                *second += 1;
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*locks[0].lock().unwrap(), 2);
    }
    assert!(matches!(finds(|| locks([[0, 1], [1, 0]])).rule(), Rule::WaitsForever { .. }));
    assert_eq!(passes(|| locks([[0, 1], [0, 1]])).complete, 2);

    fn sleep(wakes: bool) {
        let parker = Parker::new();
        let (unparker, done) = (parker.unparker(), Arc::new(AtomicBool::new(false)));
        let waker = thread::spawn({
            let done = done.clone();
            move || {
                done.store(true, Relaxed);
                if wakes {
                    unparker.unpark();
                }
            }
        });
        parker.park();
        assert!(done.load(Relaxed), "what comes before the unpark is visible");
        waker.join().unwrap();
    }
    assert!(matches!(finds(|| sleep(false)).rule(), Rule::WaitsForever { .. }));
    passes(|| sleep(true));
}

#[test]
fn an_object_dropped_in_use() {
    /// The writer announces that it is done; `early`: before it is.
    fn hand_over(early: bool) {
        let (cell, done) = (Box::into_raw(Box::new(AtomicU64::new(0))) as usize, Arc::new(AtomicBool::new(false)));
        let writer = thread::spawn({
            let done = done.clone();
            move || {
                // SAFETY: the other thread drops the cell when `done` is set.
                let cell = unsafe { &*std::ptr::with_exposed_provenance::<AtomicU64>(cell) };
                if early {
                    cell.store(1, Relaxed);
                    done.store(true, Relaxed);
                } else {
                    cell.store(1, Relaxed);
                    done.store(true, Release);
                }
            }
        });
        spin::until(|| done.load(Acquire).then_some(()));
        // SAFETY: it comes from `into_raw`, and the writer is done, if it says so when it is.
        drop(unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<AtomicU64>(cell)) });
        writer.join().unwrap();
    }
    let violation = finds(|| hand_over(true));
    assert!(matches!(violation.rule(), Rule::DroppedInUse { dropper: 0, user: (1, _) }), "{violation}");
    passes(|| hand_over(false));
}

/// The last handle is dropped by a worker, whose drop comes after what the others did.
#[test]
fn the_last_handle_comes_after_the_others() {
    struct Sum(AtomicU64, Slot<u64>);
    impl Drop for Sum {
        fn drop(&mut self) {
            // SAFETY: nobody else has a handle.
            let plain = self.1.with(|n| unsafe { *n });
            assert_eq!(self.0.load(Relaxed), 2 + plain);
        }
    }
    let explored = passes(|| {
        let sum = Arc::new(Sum(AtomicU64::new(0), Slot::new(0)));
        let turn = Arc::new(AtomicU64::new(0));
        for me in 0..2 {
            let (sum, turn) = (sum.clone(), turn.clone());
            thread::spawn(move || {
                sum.0.fetch_add(1, Relaxed);
                spin::until(|| (turn.load(Acquire) == 1 - me).then_some(()));
                // SAFETY: it is our turn.
                sum.1.with_mut(|n| unsafe { *n *= 2 });
                turn.store(2 - me, Release);
            });
        }
    });
    assert!(explored.complete > 0, "{explored}");
}

/// Who drops last is a choice, unless it is ordered; the last drop comes after the others.
#[test]
fn a_thread_that_goes_on_after_the_last_drop() {
    fn client(goes_on: bool, keeps: bool) {
        let (shared, flag) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let first = thread::spawn({
            let (shared, flag) = (shared.clone(), flag.clone());
            move || {
                flag.load(Relaxed);
                drop(shared);
            }
        });
        let second = thread::spawn({
            let (shared, flag) = (shared.clone(), flag.clone());
            move || {
                if !goes_on {
                    flag.store(true, Relaxed);
                }
                drop(shared);
                if goes_on {
                    flag.store(true, Relaxed);
                }
            }
        });
        let kept = keeps.then_some(shared);
        first.join().unwrap();
        second.join().unwrap();
        drop(kept);
    }
    // Three may be last, with two reads each; but where the second thread is, its store comes after the read.
    for (goes_on, keeps, complete) in [(true, false, 5), (false, false, 6), (true, true, 2), (false, true, 2)] {
        let explored = passes(move || client(goes_on, keeps));
        assert_eq!(explored.complete, complete, "{explored}");
    }
}

#[test]
fn a_loop_without_an_end() {
    let violation = Check::new().max_events(100).run(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let waiter = thread::spawn({
            let flag = flag.clone();
            move || while !flag.load(Relaxed) {}
        });
        flag.store(true, Relaxed);
        waiter.join().unwrap();
    });
    let violation = violation.unwrap_err();
    assert!(matches!(violation.rule(), Rule::Polls { reads: 50, .. }), "{violation}");
    assert!(violation.to_string().contains("spin::until"));
    let silent = Check::new().max_events(100).run(|| {
        loop {
            thread::yield_now()
        }
    });
    assert!(matches!(silent.unwrap_err().rule(), Rule::Unbounded { thread: 0, .. }), "a loop without events too");
    let blind = finds(|| spin::until(|| None));
    assert!(matches!(blind.rule(), Rule::BlindWait { thread: 0, tries: 1001 }), "{blind}");
    assert!(blind.to_string().contains("tried a wait 1001 times"), "{blind}");
}

/// Announces its end by an atomic, or waits for one.
struct Announced(Arc<AtomicU64>, bool);

impl Drop for Announced {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
        if self.1 {
            spin::until(|| (self.0.load(Relaxed) > 1).then_some(()));
        }
    }
}

#[test]
fn operations_while_a_thread_unwinds() {
    let client = |waits| {
        move || {
            let ends = Arc::new(AtomicU64::new(0));
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let _announced = Announced(ends.clone(), waits);
                std::panic::resume_unwind(Box::new("on purpose"));
            }));
            assert!(caught.is_err());
            ends.load(Relaxed);
        }
    };
    assert!(matches!(finds(client(false)).rule(), Rule::UnseenOperations { thread: 0 }));
    assert!(matches!(finds(client(true)).rule(), Rule::WaitsWhileUnwinding { thread: 0 }));
    let panicked = finds(|| {
        let _announced = Announced(Arc::new(AtomicU64::new(0)), false);
        panic!("what went wrong");
    });
    assert!(panicked.to_string().contains("what went wrong"), "{panicked}");
}

#[test]
fn a_client_that_is_not_deterministic() {
    fn client(runs: &Counter) {
        let run = runs.get();
        runs.add(1);
        let flags = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let other = thread::spawn({
            let flags = flags.clone();
            move || flags[0].store(1, Relaxed)
        });
        flags[0].load(Relaxed);
        flags[1].store(run, Relaxed);
        flags[0].load(Relaxed);
        other.join().unwrap();
    }
    let runs = Counter::new();
    let violation = finds(move || client(&runs));
    assert!(matches!(violation.rule(), Rule::Nondeterministic { .. }), "{violation}");
    assert!(violation.to_string().contains("not deterministic"));

    // Fewer events than the last time.
    let runs = Counter::new();
    let violation = finds(move || {
        let flag = Arc::new(AtomicU64::new(0));
        let other = thread::spawn({
            let flag = flag.clone();
            move || flag.store(1, Relaxed)
        });
        if runs.get() == 0 {
            flag.load(Relaxed);
        }
        runs.add(1);
        other.join().unwrap();
    });
    assert!(matches!(violation.rule(), Rule::Nondeterministic { .. }), "{violation}");
}

#[test]
fn a_static_that_survives_executions() {
    static TURN: AtomicU64 = AtomicU64::new(0);
    let violation = finds(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = thread::spawn({
            let flag = flag.clone();
            move || flag.store(true, Relaxed)
        });
        TURN.fetch_add(1, Relaxed);
        flag.load(Relaxed);
        other.join().unwrap();
    });
    assert!(matches!(violation.rule(), Rule::Survives { was: 0, is: 1, .. }), "{violation}");
}

#[test]
fn a_slot_that_was_not_written() {
    fn take(writes: bool) {
        let slot = Slot::new(MaybeUninit::<u64>::uninit());
        if writes {
            slot.with_mut(|place| {
                // SAFETY: nobody else has the slot.
                unsafe { (*place).write(3) };
            });
        }
        // SAFETY: the value is not looked at.
        slot.with(|place| std::hint::black_box(unsafe { place.read() }));
    }
    assert!(matches!(finds(|| take(false)).rule(), Rule::Uninitialised { thread: 0, .. }));
    passes_alone(|| take(true));
}

#[test]
fn pointers_differ_from_execution_to_execution() {
    let explored = passes(|| {
        let place = Arc::new(AtomicPtr::new(std::ptr::null_mut()));
        let writer = thread::spawn({
            let place = place.clone();
            move || place.store(Box::into_raw(Box::new(7_u64)), Release)
        });
        let taken = place.swap(std::ptr::null_mut(), AcqRel);
        writer.join().unwrap();
        for pointer in [taken, place.load(Relaxed)] {
            if !pointer.is_null() {
                // SAFETY: it comes from `into_raw`, and only one of the two has it.
                assert_eq!(*unsafe { Box::from_raw(pointer) }, 7);
            }
        }
    });
    assert_eq!(explored.complete, 2);
}

#[test]
fn clients_of_other_shapes() {
    assert_eq!(passes_alone(|| {}).complete, 1, "a client without threads has one execution");
    let scoped = passes(|| {
        let (counter, total) = (AtomicU64::new(0), Mutex::new(0));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    counter.fetch_add(1, Relaxed);
                    *total.lock().unwrap() += 1;
                });
            }
        });
        assert_eq!((counter.into_inner(), total.into_inner().unwrap()), (2, 2));
    });
    assert_eq!(scoped.complete, 4);
    let timed = passes(|| {
        let parker = Parker::new();
        let unparker = parker.unparker();
        let waker = thread::spawn(move || unparker.unpark());
        parker.park_timeout(time::Duration::from_secs(1));
        waker.join().unwrap();
        thread::sleep(time::Duration::from_secs(1));
    });
    assert!(timed.complete >= 2, "it may be in time or not: {timed}");
    let violation = finds(|| {
        struct Loud;
        impl Drop for Loud {
            fn drop(&mut self) {
                panic!("in a destructor");
            }
        }
        drop(Loud);
    });
    assert!(violation.to_string().contains("in a destructor"), "{violation}");
}

#[test]
fn nothing_is_left_behind() {
    let (made, dropped) = (std::sync::Arc::new(Counter::new()), std::sync::Arc::new(Counter::new()));
    struct Counted(std::sync::Arc<Counter>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.add(1);
        }
    }
    let explored = passes({
        let (made, dropped) = (made.clone(), dropped.clone());
        move || {
            let make = || {
                made.add(1);
                Counted(dropped.clone())
            };
            let (lock, _here) = (Arc::new(Mutex::new(make())), make());
            let threads = [(); 2].map(|()| {
                let (lock, there) = (lock.clone(), make());
                thread::spawn(move || {
                    let _held = (lock.lock().unwrap(), &there);
                })
            });
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        }
    });
    assert!(explored.blocked > 0, "threads are unwound too: {explored}");
    assert_eq!(made.get(), dropped.get());
}

#[test]
fn markers_stand_in_program_order() {
    let explored = Check::new()
        .on_complete(|graph| {
            let marks: Vec<_> = graph.thread(1).filter(|event| matches!(event.kind(), EventKind::Mark(_))).collect();
            let [begin, end] = &marks[..] else { panic!("{graph}") };
            assert_eq!((begin.value(), begin.kind()), (7, EventKind::Mark(Mark::Begin)));
            assert!(graph.happens_before(begin.id(), end.id()) && !graph.happens_before(end.id(), begin.id()));
        })
        .check(|| {
            let cell = Arc::new(AtomicU64::new(0));
            let marked = thread::spawn({
                let cell = cell.clone();
                move || {
                    mark(Mark::Begin, 7);
                    let read = cell.load(Relaxed);
                    mark(Mark::End, read);
                }
            });
            cell.store(1, Relaxed);
            marked.join().unwrap();
        });
    assert_eq!(explored.complete, 2);
    let refused = Check::new().on_complete(|_| panic!("not as specified")).run(|| {});
    assert!(matches!(refused.unwrap_err().rule(), Rule::Specification { message } if message == "not as specified"));
}

/// Between executions the facade does what it says, and is watched by nobody.
#[test]
fn a_hook_may_use_the_facade() {
    let explored = Check::new()
        .on_complete(|_| {
            let (turns, sum) = (AtomicU64::new(1), Mutex::new(1));
            turns.fetch_add(1, Relaxed);
            thread::yield_now();
            *sum.lock().unwrap() += turns.load(Relaxed);
            assert_eq!(*sum.lock().unwrap(), 3);
        })
        .check(|| {
            let cell = Arc::new(AtomicU64::new(0));
            let other = thread::spawn({
                let cell = cell.clone();
                move || cell.store(1, Relaxed)
            });
            cell.load(Relaxed);
            other.join().unwrap();
        });
    assert_eq!(explored.complete, 2);
}

/// Two threads that spawn at once start two threads, in whatever order the executions come.
#[test]
fn who_spawns_beside_another_starts_its_own() {
    let explored = Check::new().check(|| {
        let (flag, first, second) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)), AtomicU64::new(0));
        let second = Arc::new(second);
        let spawner = thread::spawn({
            let (flag, first) = (flag.clone(), first.clone());
            move || {
                flag.store(true, Relaxed);
                thread::spawn(move || first.store(1, Relaxed)).join().unwrap();
            }
        });
        flag.load(Relaxed);
        let other = thread::spawn({
            let second = second.clone();
            move || second.store(1, Relaxed)
        });
        spawner.join().unwrap();
        other.join().unwrap();
        assert_eq!((first.load(Relaxed), second.load(Relaxed)), (1, 1));
    });
    assert_eq!(explored.complete, 2);
}

/// What a thread does first comes after what its parent did before it, also in the order of all that is sequentially consistent.
#[test]
fn the_order_of_everything_goes_through_starts_of_threads() {
    for axiom in [ScAxiom::Rc11, ScAxiom::Cxx20] {
        Check::new().sc(axiom).check(|| {
            let (x, y) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
            let first = thread::spawn({
                let (x, y) = (x.clone(), y.clone());
                move || {
                    y.store(1, SeqCst);
                    x.load(SeqCst)
                }
            });
            x.store(1, SeqCst);
            let second = thread::spawn(move || y.load(SeqCst));
            let read = [first.join().unwrap(), second.join().unwrap()];
            assert_ne!(read, [0, 0]);
        });
    }
}
