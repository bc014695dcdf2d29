//! How a kernel that waits for somebody outside is called back.

use thalweg_sync::atomic::{self, AtomicBool, Ordering::*};
use thalweg_sync::{fence, spin};

/// Set by a kernel that found not what it needs, and answered by whoever brings it.
///
/// **C1** While the kernel does not run, what it needs is there, or the call is set, or somebody who has taken the call is about to ring.
#[derive(Debug, Default)]
pub(crate) struct Call(AtomicBool);

impl Call {
    /// True if what is needed is not there, as `is_there` says; then whoever brings it rings. Only the kernel asks, and only the kernel uses up
    /// what is there.
    pub(crate) fn waits(&self, is_there: impl Fn() -> bool) -> bool {
        if spin::briefly(|| is_there().then_some(())).is_some() {
            return false;
        }
        // (call.4) Release, pairs with (call.3): who takes the call sees what the kernel used up before.
        self.0.store(true, Release);
        // (call.1) Pairs with the light fence in `answer`: either the kernel sees what is there now, or the other one sees the call. Without it
        // both may look too early, and the kernel is not called again.
        fence::heavy();
        !is_there()
    }

    /// Called after something was brought: rings if the kernel waits, and what it needs `is_there`.
    pub(crate) fn answer(&self, is_there: impl Fn() -> bool, ring: impl FnOnce()) {
        // (call.1)
        fence::light();
        // Relaxed: the fence orders it.
        if !self.0.load(Relaxed) {
            return;
        }
        // (call.2) Pairs with itself: what is needed may be brought by several together. The one whose fence comes last sees all of it.
        // Under the engines a light fence is a full one, so there this one cannot be missed.
        atomic::fence(SeqCst);
        while is_there() && self.0.swap(false, AcqRel) {
            // (call.3) Acquire, pairs with (call.4). The kernel may have used up what was seen here, and called anew before the call was taken. A
            // ring would come too early then, and be the only one, so the call is given back.
            atomic::fence(SeqCst);
            if is_there() {
                ring();
                return;
            }
            self.0.store(true, Release);
            // (call.1), as the kernel's.
            fence::heavy();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod model {
    use super::Call;
    use thalweg_check::Check;
    use thalweg_sync::atomic::{AtomicUsize, Ordering::*};
    use thalweg_sync::park::Parker;
    use thalweg_sync::sync::Arc;
    use thalweg_sync::thread;

    /// So many who each bring a part of what a kernel needs, and the kernel, which sleeps if it is not there: a lost call is a deadlock. How its
    /// worker sleeps is the bell's, and explored there.
    fn the_last_who_brings_something_rings(bringers: usize) {
        Check::new().check(move || {
            let parker = Parker::new();
            let parts: Vec<_> = (0..bringers).map(|_| AtomicUsize::new(0)).collect();
            let shared = Arc::new((Call::default(), parts));
            let threads: Vec<_> = (0..bringers)
                .map(|own| {
                    let (shared, unparker) = (shared.clone(), parker.unparker());
                    thread::spawn(move || {
                        let (call, parts) = &*shared;
                        // Relaxed: the fences alone must do.
                        parts[own].store(1, Relaxed);
                        call.answer(|| parts.iter().all(|part| part.load(Relaxed) == 1), || unparker.unpark());
                    })
                })
                .collect();
            let (call, parts) = &*shared;
            if call.waits(|| parts.iter().all(|part| part.load(Relaxed) == 1)) {
                parker.park();
                assert!(parts.iter().all(|part| part.load(Relaxed) == 1), "called for nothing, and not again");
            }
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }

    #[test]
    fn no_call_is_lost() {
        the_last_who_brings_something_rings(1);
    }

    /// What is needed comes, is used up, and is needed again: who has seen it there must not take the second call for the first. The kernel sleeps
    /// until it is there, as its worker does, and does not call again meanwhile.
    #[test]
    fn a_second_call_is_not_taken_for_the_first() {
        Check::new().check(|| {
            let parker = Parker::new();
            let shared = Arc::new((Call::default(), AtomicUsize::new(0)));
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    let (shared, unparker) = (shared.clone(), parker.unparker());
                    thread::spawn(move || {
                        let (call, room) = &*shared;
                        room.fetch_add(1, Relaxed);
                        call.answer(|| room.load(Relaxed) > 0, || unparker.unpark());
                    })
                })
                .collect();
            let (call, room) = &*shared;
            for _ in 0..2 {
                if call.waits(|| room.load(Relaxed) > 0) {
                    while room.load(Relaxed) == 0 {
                        parker.park();
                    }
                }
                room.fetch_sub(1, Relaxed);
            }
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }

    /// Two are enough: one of them is the last, and whoever came before it looks like one more of the first.
    #[test]
    fn the_last_of_several_rings() {
        the_last_who_brings_something_rings(2);
    }
}
