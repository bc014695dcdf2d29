//! The facade without an engine, with and without the feature `instrument`: it is the standard library.
#![cfg(all(feature = "std", not(loom)))]

use std::panic::{AssertUnwindSafe, catch_unwind};
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32,
    AtomicU64, AtomicUsize, fence,
};
use thalweg_sync::cell::Slot;
use thalweg_sync::park::Parker;
use thalweg_sync::sync::{Arc, Condvar, Mutex};
use thalweg_sync::time::{self, Duration};
use thalweg_sync::{spin, thread};

static STATIC: AtomicU64 = AtomicU64::new(7);

#[test]
fn types_are_transparent() {
    assert_eq!(size_of::<AtomicBool>(), 1);
    assert_eq!(size_of::<AtomicU16>(), 2);
    assert_eq!(size_of::<AtomicU64>(), 8);
    assert_eq!(size_of::<AtomicPtr<u8>>(), size_of::<usize>());
    assert_eq!(size_of::<Slot<[u8; 3]>>(), 3);
    assert_eq!(STATIC.load(Relaxed), 7);
}

macro_rules! integers {
    ($($Name:ident $value:ident)+) => { $({
        let mut number = $Name::new(5);
        assert_eq!(number.fetch_add($value::MAX, Relaxed), 5);
        assert_eq!(number.fetch_sub($value::MAX, Relaxed), $value::MAX.wrapping_add(5));
        assert_eq!(number.fetch_and(4, Acquire), 5);
        assert_eq!(number.fetch_or(3, Release), 4);
        assert_eq!(number.fetch_xor(1, AcqRel), 7);
        assert_eq!(number.fetch_max(9, Relaxed), 6);
        assert_eq!(number.fetch_min($value::MIN, Relaxed), 9);
        assert_eq!(number.swap(1, Relaxed), $value::MIN);
        assert_eq!(number.fetch_nand(3, AcqRel), 1);
        assert_eq!(number.swap(1, Relaxed), !1);
        assert_eq!(number.compare_exchange(2, 3, Relaxed, Relaxed), Err(1));
        assert_eq!(number.compare_exchange(1, 2, AcqRel, Acquire), Ok(1));
        assert_eq!(number.fetch_update(Relaxed, Relaxed, |n| n.checked_add(1)), Ok(2));
        assert_eq!(number.fetch_update(Relaxed, Relaxed, |_| None), Err(3));
        *number.get_mut() += 1;
        assert_eq!(format!("{number:?}"), "4");
        assert_eq!(number.into_inner(), 4);
        assert_eq!($Name::default().load(Relaxed), 0);
    })+ };
}

#[test]
fn integers_do_what_the_standard_librarys_do() {
    integers! {
        AtomicU8 u8 AtomicU16 u16 AtomicU32 u32 AtomicU64 u64 AtomicUsize usize
        AtomicI8 i8 AtomicI16 i16 AtomicI32 i32 AtomicI64 i64 AtomicIsize isize
    }
}

#[test]
fn flags_and_pointers_do_what_the_standard_librarys_do() {
    let flag = AtomicBool::default();
    assert!(!flag.fetch_or(true, Relaxed));
    assert!(flag.fetch_xor(true, Relaxed));
    assert!(!flag.fetch_and(true, Relaxed));
    assert!(!flag.fetch_nand(true, Relaxed));
    assert!(flag.fetch_not(Relaxed));
    while flag.compare_exchange_weak(false, true, AcqRel, Acquire).is_err() {}
    assert!(flag.into_inner());

    let (mut one, mut two) = (1, 2);
    let pointer = AtomicPtr::new(&raw mut one);
    assert_eq!(pointer.swap(&raw mut two, AcqRel), &raw mut one);
    assert_eq!(pointer.compare_exchange(&raw mut two, std::ptr::null_mut(), AcqRel, Acquire), Ok(&raw mut two));
    fence(AcqRel);
    assert!(pointer.into_inner().is_null());
}

#[test]
fn slots_hold_and_give_back() {
    let mut slot = Slot::new(String::from("a"));
    // SAFETY: nobody else has the slot.
    slot.with_mut(|text| unsafe { (*text).push('b') });
    slot.get_mut().push('c');
    assert_eq!(slot.into_inner(), "abc");
}

#[test]
fn a_slot_drops_its_value_once() {
    let value = Arc::new(());
    drop(Slot::new(value.clone()));
    assert_eq!(Arc::strong_count(&value), 1);
    drop(Slot::new(value.clone()).into_inner());
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn scopes_wait_and_return() {
    let done = AtomicUsize::new(0);
    let sum = thread::scope(|scope| {
        let numbers: Vec<_> = (1..=3).map(|n| scope.spawn(move || n)).collect();
        scope.spawn(|| {
            // A thread may start others in the scope that runs it.
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                done.fetch_add(1, Relaxed);
            });
        });
        numbers.into_iter().map(|number| number.join().unwrap()).sum::<i32>()
    });
    assert_eq!((sum, done.load(Relaxed)), (6, 1));
}

#[test]
fn panics_come_back_through_join() {
    let error = thread::spawn(|| std::panic::resume_unwind(Box::new("meant"))).join().unwrap_err();
    assert_eq!(error.downcast_ref(), Some(&"meant"));
    thread::scope(|scope| {
        let error = scope.spawn(|| std::panic::resume_unwind(Box::new(5_u8))).join().unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&5_u8));
    });
    // Nobody joins it, so the scope itself panics.
    let unjoined = catch_unwind(|| thread::scope(|scope| drop(scope.spawn(|| std::panic::resume_unwind(Box::new(0))))));
    assert!(unjoined.is_err());
    // The scope's own panic comes through, but only when its threads have ended.
    let ended = AtomicBool::new(false);
    let own = catch_unwind(AssertUnwindSafe(|| {
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                ended.store(true, Release);
            });
            std::panic::resume_unwind(Box::new("own"));
        })
    }));
    assert_eq!(own.unwrap_err().downcast_ref(), Some(&"own"));
    assert!(ended.load(Acquire));
}

#[test]
fn locks_exclude_and_are_poisoned() {
    let total = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..1000).for_each(|_| *total.lock().unwrap() += 1));
        }
    });
    assert_eq!(*total.lock().unwrap(), 4000);
    let held = total.lock().unwrap();
    assert!(total.try_lock().is_err());
    drop(held);
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let _guard = total.lock().unwrap();
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(total.lock().is_err() && total.try_lock().is_err() && total.is_poisoned());
    assert_eq!(total.into_inner().unwrap_err().into_inner(), 4000);
}

#[test]
fn a_notification_wakes_and_a_time_is_over() {
    let (turn, changed) = (Mutex::new(0), Condvar::new());
    thread::scope(|scope| {
        for me in 0..3 {
            let (turn, changed) = (&turn, &changed);
            scope.spawn(move || {
                let mut guard = changed.wait_while(turn.lock().unwrap(), |turn| *turn != me).unwrap();
                *guard += 1;
                changed.notify_all();
            });
        }
        let mut guard = turn.lock().unwrap();
        while *guard < 3 {
            guard = changed.wait(guard).unwrap();
        }
    });
    changed.notify_one();
    let start = time::now();
    let (guard, result) = changed.wait_timeout(turn.lock().unwrap(), Duration::from_millis(20)).unwrap();
    // It may return early, but then it says so.
    assert!(!result.timed_out() || start.elapsed() >= Duration::from_millis(20));
    assert_eq!(*guard, 3);
    drop(guard);

    let poisoned = catch_unwind(AssertUnwindSafe(|| {
        let _guard = turn.lock().unwrap();
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(poisoned.is_err());
    let guard = turn.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    assert!(
        changed.wait_timeout(guard, Duration::from_millis(1)).is_err(),
        "a wait takes a poisoned lock as `lock` does"
    );
}

#[test]
fn a_token_wakes_once() {
    let parker = Parker::new();
    let unparker = parker.unparker();
    unparker.unpark();
    unparker.unpark();
    parker.park();
    assert!(!parker.park_timeout(Duration::from_millis(1)), "two tokens are one");
    let waker = thread::spawn(move || {
        thread::sleep(Duration::from_millis(10));
        unparker.unpark();
    });
    assert!(parker.park_timeout(Duration::from_secs(60)));
    waker.join().unwrap();
}

/// The wake-up that the system keeps is still there when the token that came with it is taken.
#[test]
fn a_sleep_that_ends_without_a_token_goes_on() {
    let (parker, left) = (Parker::new(), AtomicBool::new(false));
    let unparker = parker.unparker();
    unparker.unpark();
    parker.park();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(20));
            left.store(true, Relaxed);
            unparker.unpark();
        });
        parker.park();
        assert!(left.load(Relaxed), "there was no token yet");
    });
}

#[test]
fn spinning_ends_when_the_attempt_succeeds() {
    let turn = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(5));
            turn.store(3, Release);
        });
        assert_eq!(spin::until(|| Some(turn.load(Acquire)).filter(|&n| n > 0)), 3);
    });
}

#[test]
fn the_clock_moves_and_work_is_counted() {
    let start = time::now();
    thread::sleep(Duration::from_millis(5));
    assert!(start.elapsed() >= Duration::from_millis(5));
    assert_eq!(start.since(start.after(Duration::from_secs(1))), Duration::ZERO);
    assert_eq!(time::Instant::from_nanos(5).after(Duration::MAX).as_nanos(), u64::MAX, "for ever");
    if cfg!(target_os = "linux") {
        const WORK: Duration = Duration::from_millis(20);
        let work = || {
            let (before, mut n) = (time::cpu_time_of_thread().unwrap(), 0_u64);
            while time::cpu_time_of_thread().unwrap() < before + WORK {
                n = std::hint::black_box(n + 1);
            }
        };
        let times = || (time::cpu_time_of_thread().unwrap(), time::cpu_time_of_process().unwrap());
        let before = times();
        thread::spawn(work).join().unwrap();
        let after = times();
        assert!(after.1 - before.1 >= WORK, "the process has used what a thread of it used that has ended");
        assert!(after.0 - before.0 < WORK, "and who waited for that thread has not");
    }
    assert!(thread::available_parallelism() >= 1);
}
