//! Code that was written for the standard library's types, or for loom.
#![allow(
    clippy::disallowed_types,
    reason = "what a test notes about a run must be no part of it; and handles that nobody sees are tried"
)]

use std::collections::BTreeSet;
use std::time::Duration;
use thalweg_check::std::cell::UnsafeCell;
use thalweg_check::std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_check::std::sync::atomic::{AtomicBool, AtomicUsize};
use thalweg_check::std::sync::{Arc, Mutex, Notify, RwLock, mpsc};
use thalweg_check::std::{future, hint, lazy_static, model, thread, thread_local};
use thalweg_check::{Check, Fuzz, Rule};

fn finds(client: impl Fn() + Send + Sync + 'static) -> Rule {
    Check::new().sequential(true).run(client).expect_err("the mistake is not found").rule().clone()
}

/// A loop that gives up its turn waits.
fn spins(ordering: thalweg_check::std::sync::atomic::Ordering) {
    struct Shared(UnsafeCell<u32>, AtomicBool);
    // SAFETY: the value is read when the flag is set.
    unsafe impl Sync for Shared {}
    let shared = Arc::new(Shared(UnsafeCell::new(0), AtomicBool::new(false)));
    let writer = thread::spawn({
        let shared = shared.clone();
        move || {
            // SAFETY: nobody reads before the flag is set.
            shared.0.with_mut(|value| unsafe { *value = 7 });
            shared.1.store(true, ordering);
        }
    });
    while !shared.1.load(Acquire) {
        hint::spin_loop();
    }
    // SAFETY: the flag is set.
    assert_eq!(shared.0.with(|value| unsafe { *value }), 7);
    writer.join().unwrap();
}

#[test]
fn a_loop_that_gives_up_its_turn_waits() {
    model(|| spins(Release));
    assert!(matches!(finds(|| spins(Relaxed)), Rule::Race { .. }));
    let never = finds(|| {
        let flag = AtomicBool::new(false);
        while !flag.load(Relaxed) {
            thread::yield_now();
        }
    });
    assert!(matches!(never, Rule::WaitsForever { .. }), "{never}");
    // Not one whose rounds differ.
    model(|| {
        let count = AtomicUsize::new(0);
        while count.fetch_add(1, Relaxed) < 5 {
            thread::yield_now();
        }
    });
}

#[test]
fn parking_has_one_token() {
    fn client(looks: bool) {
        let flag = Arc::new(AtomicBool::new(false));
        let main = thread::current();
        let other = thread::Builder::new().name("other".to_owned());
        let other = other.spawn({
            let flag = flag.clone();
            move || {
                assert_eq!(thread::current().name(), Some("other"));
                flag.store(true, Release);
                main.unpark();
            }
        });
        let other = other.unwrap();
        assert!(other.thread().id() != thread::current().id());
        if looks {
            while !flag.load(Acquire) {
                thread::park();
            }
        } else {
            thread::park();
            assert!(flag.load(Acquire), "woken without a reason");
        }
        other.join().unwrap();
    }
    Check::new().check(|| client(true));
    Check::new().check(|| client(false));
    assert!(matches!(Check::new().spurious(true).run(|| client(false)).unwrap_err().rule(), Rule::Panic { .. }));
    Check::new().spurious(true).check(|| client(true));
    Fuzz::new().seeds(0..200).check(|| client(true)).unwrap();
}

#[test]
fn a_reader_writer_lock_lets_readers_in_together() {
    model(|| {
        let lock = Arc::new(RwLock::new(1));
        let reader = thread::spawn({
            let lock = lock.clone();
            move || *lock.read().unwrap()
        });
        assert!(
            *lock.read().unwrap() == 1
                && lock.try_write().is_ok_and(|mut value| *value > 0 || std::mem::take(&mut *value) == 0)
                || lock.try_read().is_ok()
        );
        reader.join().unwrap();
        *lock.write().unwrap() += 1;
        assert_eq!(*lock.read().unwrap(), 2);
    });
    let count = || {
        let lock = Arc::new(RwLock::new(0));
        let other = thread::spawn({
            let lock = lock.clone();
            move || *lock.write().unwrap() += 1
        });
        *lock.write().unwrap() += 1;
        other.join().unwrap();
        assert_eq!(*lock.read().unwrap(), 2);
    };
    model(count);
}

#[test]
fn channels_notifications_and_futures() {
    model(|| {
        let (sender, receiver) = mpsc::channel();
        let other = thread::spawn({
            let sender = sender.clone();
            move || sender.send(1).unwrap()
        });
        drop(sender);
        assert_eq!(receiver.recv(), Ok(1));
        assert!(receiver.recv().is_err());
        other.join().unwrap();
    });
    model(|| {
        let (value, notify) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
        let other = thread::spawn({
            let (value, notify) = (value.clone(), notify.clone());
            move || {
                value.store(3, Relaxed);
                notify.notify();
            }
        });
        notify.wait();
        assert_eq!(value.load(Relaxed), 3);
        other.join().unwrap();
    });
    model(|| {
        let (ready, waker) = (Arc::new(AtomicBool::new(false)), Arc::new(future::AtomicWaker::new()));
        let other = thread::spawn({
            let (ready, waker) = (ready.clone(), waker.clone());
            move || {
                ready.store(true, Release);
                waker.wake();
            }
        });
        future::block_on(std::future::poll_fn(|context| {
            waker.register_by_ref(context.waker());
            if ready.load(Acquire) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        }));
        other.join().unwrap();
    });
}

thread_local! { static OWN: std::cell::Cell<u32> = std::cell::Cell::new(0); }
lazy_static! {
    static ref SHARED: Mutex<Vec<u32>> = Mutex::new(Vec::new());
}

#[test]
fn values_of_a_thread_and_of_an_execution() {
    let met = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let seen = met.clone();
    model(move || {
        let set = |number: u32| {
            OWN.with(|own| {
                assert_eq!(own.replace(number), 0, "another thread's");
            });
            SHARED.lock().unwrap().push(number);
        };
        let other = thread::spawn(move || set(1));
        set(2);
        other.join().unwrap();
        seen.lock().unwrap().insert(std::mem::take(&mut *SHARED.lock().unwrap()));
    });
    assert_eq!(met.lock().unwrap().iter().cloned().collect::<Vec<_>>(), [vec![1, 2], vec![2, 1]]);
}

#[test]
fn time_may_be_over() {
    model(|| {
        let main = thread::current();
        let other = thread::spawn(move || main.unpark());
        thread::park_timeout(Duration::from_secs(1));
        thread::sleep(Duration::from_secs(1));
        other.join().unwrap();
    });
}

/// The count of the standard library's handles is not seen, so what it orders is not either.
#[test]
fn handles_that_nobody_sees() {
    let client = || {
        let flag = std::sync::Arc::new(AtomicBool::new(false));
        let other = flag.clone();
        drop(thread::spawn(move || other.store(true, Relaxed)));
        flag.load(Relaxed);
    };
    assert!(matches!(finds(client), Rule::DroppedInUse { .. }));
    model(client);
}
