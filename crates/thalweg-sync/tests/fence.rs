//! The asymmetric fence on real processors: of two threads that each write and then read, one sees the other.
//!
//! Without the kernel's barrier it fails within a second in a release build. In a debug build so much lies between a write and the
//! read after it that the processor has no occasion to swap them.
#![cfg(all(feature = "std", not(loom)))]

use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::{CachePadded, fence, thread};

/// How often the rare side writes.
const ROUNDS: usize = 200_000;
/// How often the other side writes at most.
const OFTEN: usize = 20_000_000;

/// Each side counts up its own number and reads the other's. Where the rare side has read `n` in its round `r`, it has not seen
/// that the other went on to `n + 1`; so the other, in its rounds from `n + 1` on, sees `r`.
#[test]
fn one_of_the_two_sees_the_other() {
    fence::prepare();
    let (often, rarely) = &(CachePadded(AtomicUsize::new(0)), CachePadded(AtomicUsize::new(0)));
    let (seen_often, seen_rarely) = thread::scope(|scope| {
        let cpus: Vec<_> = thread::current_affinity().map(|set| set.cpus().collect()).unwrap_or_default();
        let [here, there] = [cpus.first(), cpus.last()].map(|cpu| cpu.copied());
        // On one processor nothing can go wrong.
        let pin = |cpu: Option<usize>| cpu.map(thread::pin_current);
        let other = scope.spawn(move || {
            let _ = pin(there);
            let mut seen = vec![0_u32];
            let mut last = 0;
            while seen.len() < OFTEN && last < ROUNDS {
                often.store(seen.len(), Relaxed);
                fence::light();
                last = rarely.load(Relaxed);
                seen.push(last as u32);
            }
            seen
        });
        let _ = pin(here);
        let seen: Vec<_> = (1..=ROUNDS)
            .map(|round| {
                rarely.store(round, Relaxed);
                fence::heavy();
                often.load(Relaxed)
            })
            .collect();
        (other.join().unwrap(), seen)
    });
    for (round, seen) in (1..).zip(seen_rarely) {
        if let Some(&sees) = seen_often.get(seen + 1) {
            assert!(sees as usize >= round, "round {round} saw {seen}, and the round after {seen} saw {sees}");
        }
    }
}
