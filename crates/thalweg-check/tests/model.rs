//! The checker's counts on programs whose number of executions is known.
#![cfg(not(loom))]

use thalweg_check::Check;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

/// Runs each body in a thread of its own, on four atomics that hold 0.
fn threads<const N: usize>(bodies: [fn(&[AtomicU64; 4]); N]) -> impl Fn() + Send + Sync + 'static {
    move || {
        let atomics = Arc::new([0; 4].map(AtomicU64::new));
        let threads = bodies.map(|body| {
            let atomics = atomics.clone();
            thread::spawn(move || body(&atomics))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

fn count<const N: usize>(bodies: [fn(&[AtomicU64; 4]); N]) -> u64 {
    Check::new().check(threads(bodies)).complete
}

#[test]
fn two_threads() {
    // SB
    assert_eq!(
        count([
            |[x, y, ..]| {
                x.store(1, Release);
                y.load(Acquire);
            },
            |[x, y, ..]| {
                y.store(1, Release);
                x.load(Acquire);
            }
        ]),
        4
    );
    // MP
    assert_eq!(
        count([
            |[x, y, ..]| {
                x.store(1, Release);
                y.store(1, Release);
            },
            |[x, y, ..]| {
                y.load(Acquire);
                x.load(Acquire);
            }
        ]),
        3
    );
    // LB
    assert_eq!(
        count([
            |[x, y, ..]| {
                y.load(Relaxed);
                x.store(1, Relaxed);
            },
            |[x, y, ..]| {
                x.load(Relaxed);
                y.store(1, Relaxed);
            }
        ]),
        3
    );
    // 2+2W
    assert_eq!(
        count([
            |[x, y, ..]| {
                x.store(1, Relaxed);
                y.store(2, Relaxed);
            },
            |[x, y, ..]| {
                y.store(1, Relaxed);
                x.store(2, Relaxed);
            }
        ]),
        4
    );
    // CoRR
    assert_eq!(
        count([
            |[x, ..]| {
                x.store(1, Relaxed);
                x.store(2, Relaxed);
            },
            |[x, ..]| {
                x.load(Relaxed);
                x.load(Relaxed);
            }
        ]),
        6
    );
}

#[test]
fn more_threads() {
    // IRIW
    assert_eq!(
        count([
            |[x, ..]| x.store(1, Release),
            |[x, y, ..]| {
                x.load(Acquire);
                y.load(Acquire);
            },
            |[x, y, ..]| {
                y.load(Acquire);
                x.load(Acquire);
            },
            |[_, y, ..]| y.store(1, Release),
        ]),
        16
    );
    // ainc-3
    assert_eq!(
        count(
            [|[x, ..]| {
                x.fetch_add(1, Relaxed);
            }; 3]
        ),
        6
    );
    assert_eq!(
        count(
            [|[x, ..]| {
                x.fetch_add(1, Relaxed);
            }; 4]
        ),
        24
    );
}
