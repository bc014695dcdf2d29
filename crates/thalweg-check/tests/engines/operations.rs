//! Every atomic operation does under the engine what it does natively.
#![allow(clippy::disallowed_types, reason = "what a test notes about a run must be no part of it")]

use std::fmt::Debug;
use std::sync::Mutex;
use thalweg_check::Fuzz;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use thalweg_sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32,
    AtomicU64, AtomicUsize, fence,
};

/// Runs `script` natively and under the engine: it notes the same.
fn agrees<T: Send + PartialEq + Debug>(script: impl Fn() -> T + Sync) {
    let noted = Mutex::new(None);
    Fuzz::new().seeds(0..1).run(|| *noted.lock().unwrap() = Some(script()));
    assert_eq!(noted.into_inner().unwrap(), Some(script()));
}

macro_rules! integers {
    ($($Name:ident $value:ident)+) => { $(
        agrees(|| {
            let mut noted = Vec::new();
            let samples = [0, 1, 5, $value::MAX, $value::MAX - 1, $value::MIN, $value::MIN + 1, !0];
            for (i, &first) in samples.iter().enumerate() {
                for &value in &samples[i..] {
                    let mut number = $Name::new(first);
                    noted.extend([
                        number.fetch_add(value, Relaxed),
                        number.fetch_sub(first, AcqRel),
                        number.fetch_xor(value, Release),
                        number.fetch_nand(first, SeqCst),
                        number.fetch_or(first, Acquire),
                        number.fetch_max(value, SeqCst),
                        number.fetch_and(first, Relaxed),
                        number.fetch_min(value, Relaxed),
                        number.swap(first, AcqRel),
                        number.load(SeqCst),
                    ]);
                    for exchange in [
                        number.compare_exchange(first, value, AcqRel, Acquire),
                        number.compare_exchange(first, 7, AcqRel, Acquire),
                        number.fetch_update(AcqRel, Acquire, |n| n.checked_mul(2)),
                    ] {
                        noted.push(exchange.is_ok().into());
                        noted.push(exchange.unwrap_or_else(|other| other));
                    }
                    noted.push(number.load(Relaxed));
                    number.store(value, Release);
                    *number.get_mut() ^= 3;
                    noted.push(number.into_inner());
                }
            }
            noted
        });
    )+ };
}

#[test]
fn on_integers() {
    integers! {
        AtomicU8 u8 AtomicU16 u16 AtomicU32 u32 AtomicU64 u64 AtomicUsize usize
        AtomicI8 i8 AtomicI16 i16 AtomicI32 i32 AtomicI64 i64 AtomicIsize isize
    }
}

#[test]
fn on_flags() {
    agrees(|| {
        let flag = AtomicBool::new(true);
        let noted = [
            flag.fetch_and(false, Relaxed),
            flag.fetch_or(true, Relaxed),
            flag.fetch_xor(true, Relaxed),
            flag.fetch_nand(true, Relaxed),
            flag.fetch_nand(true, SeqCst),
            flag.fetch_not(Release),
            flag.swap(true, AcqRel),
            flag.compare_exchange(false, true, AcqRel, Acquire).is_ok(),
            flag.compare_exchange(true, false, AcqRel, Acquire).is_ok(),
            flag.load(Acquire),
        ];
        (noted, flag.into_inner())
    });
}

#[test]
fn on_pointers() {
    agrees(|| {
        let (mut one, mut two) = (1, 2);
        let pointer = AtomicPtr::new(&raw mut one);
        fence(SeqCst);
        // SAFETY: it points to `one`, and then to `two`.
        let first = unsafe { *pointer.load(Acquire) };
        let before = pointer.swap(&raw mut two, AcqRel) == &raw mut one;
        // SAFETY: as above.
        let second = unsafe { *pointer.load(Acquire) };
        let exchanged = pointer.compare_exchange(&raw mut two, std::ptr::null_mut(), AcqRel, Acquire).is_ok();
        (first, before, second, exchanged, pointer.into_inner().is_null())
    });
}
