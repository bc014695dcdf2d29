//! Workers that have nothing to do.
//!
//! # Invariants
//!
//! - **S1** A worker that has nothing to do counts itself in `idle`, from its first look on. A worker that starts a task shares its queue while
//!   `idle` is not zero, so that a thief which has just run dry finds a task without sleeping.
//! - **S2** A worker that is about to sleep says so (`asleep`, and in `idle`), then looks everywhere once more. Who makes something to do visible
//!   looks at `asleep` afterwards. A fence in between on both sides, so one of the two sees the other.
//! - **S3** `asleep` is taken back by a swap, by whoever wakes the worker or by itself; whoever took it counts it out and, if it is another,
//!   leaves a token. One that has found something before it slept counts itself out.

use crate::build::MOST_WORKERS;
use crate::runtime::{Shared, Stop};
use crate::worker::Worker;
use thalweg_sync::atomic::Ordering::{AcqRel, Relaxed};
use thalweg_sync::park::Parker;
use thalweg_sync::{fence, spin, time};

/// A worker that looks for something to do, in `idle`.
const LOOKS: usize = 1;
/// One that sleeps.
const SLEEPS: usize = 1 << 16;
const _: () = assert!(MOST_WORKERS * LOOKS < SLEEPS);

/// Whether all of so many workers sleep, now or lately.
pub(crate) fn all_sleep(idle: usize, workers: usize) -> bool {
    idle == workers * SLEEPS
}

/// Sleeps until there may be something to do.
pub(crate) fn sleep(worker: &Worker, parker: &Parker) {
    let shared = &*worker.shared;
    // Relaxed: a hint.
    shared.idle.fetch_add(LOOKS, Relaxed);
    if spin::briefly(|| something_to_do(worker).then_some(())).is_some() {
        shared.idle.fetch_sub(LOOKS, Relaxed);
        return;
    }
    let remote = &shared.remotes[worker.index];
    // Relaxed: the fence orders both.
    shared.idle.fetch_add(SLEEPS - LOOKS, Relaxed);
    remote.asleep.store(true, Relaxed);
    // (idle.2) Pairs with (idle.1): whoever made something to do visible either sees this worker asleep, or is seen now.
    fence::heavy();
    if !something_to_do(worker) {
        match worker.next_timer() {
            None => parker.park(),
            Some(at) => {
                parker.park_timeout(at.since(time::now()));
            }
        }
    }
    if remote.asleep.swap(false, AcqRel) {
        count_out(shared);
    }
}

/// A worker sleeps no more.
fn count_out(shared: &Shared) {
    shared.idle.fetch_sub(SLEEPS, Relaxed);
    if let Some(watch) = &shared.watch {
        watch.wake();
    }
}

fn something_to_do(worker: &Worker) -> bool {
    let shared = &*worker.shared;
    worker.has_work()
        || shared.remotes[worker.index].asked.load(Relaxed)
        || worker.next_timer().is_some_and(|at| at <= time::now())
        || shared.has_some_for(worker.index)
        || shared.victims(worker.index).iter().any(|&victim| !shared.remotes[victim].stealer.is_empty())
        || (shared.stop() != Stop::No && (shared.is_quiet() || worker.has_to_tell()))
}

/// Wakes the nearest worker that sleeps.
pub(crate) fn wake_one(shared: &Shared, near: usize) {
    // Relaxed: behind the caller's fence. While others only look for something, nobody has to be asked one by one.
    if shared.idle.load(Relaxed) < SLEEPS {
        return;
    }
    shared.victims(near).iter().any(|&worker| wake(shared, worker));
}

/// Wakes any worker that sleeps.
pub(crate) fn wake_any(shared: &Shared) {
    (0..shared.remotes.len()).any(|worker| wake(shared, worker));
}

/// Wakes this worker if it sleeps.
#[inline]
pub(crate) fn wake(shared: &Shared, worker: usize) -> bool {
    let remote = &shared.remotes[worker];
    // Relaxed: a look, behind the caller's fence.
    if !remote.asleep.load(Relaxed) || !remote.asleep.swap(false, AcqRel) {
        return false;
    }
    count_out(shared);
    let unparker = remote.unparker.with(|place| place.clone());
    unparker.expect("a worker that sleeps has left what wakes it").unpark();
    true
}
