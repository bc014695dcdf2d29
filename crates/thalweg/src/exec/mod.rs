//! A run: the state that its workers share, and the one primitive, trying to activate a kernel.
//!
//! # Invariants
//!
//! - **U1** A kernel that runs on one worker at a time is touched under its [`Claim`] only.
//! - **U2** A kernel is marked done once; its outputs are closed before, so whoever sees the mark can end its own kernels.
//! - **U3** What is inside a cycle is counted: [`census`].

pub(crate) mod activate;
mod bench;
pub(crate) mod census;
mod claim;
pub(crate) mod crew;
pub(crate) mod elastic;
mod follow;
mod glimpse;
mod homes;
mod look;
mod lookout;
mod midway;
mod patrol;
mod stall;
mod start;
pub(crate) mod stats;
mod tell;
pub(crate) mod worker;
mod worth;

pub(crate) use census::Component;
#[cfg(test)]
pub(crate) use start::looked_at;
pub(crate) use start::{Parts, run};

use crate::block::pool::Store;
use crate::control::Control;
use crate::edge::Edge;
use crate::error::{Cause, Failure, Payload, Wait};
use crate::kernel::{Outside, Pace, SharedTask, Task};
use crate::observe::Probes;
use crate::scheme::Scheme;
use crate::topology::Topology;
use claim::Claim;
use homes::Homes;
use stats::Row;
use std::fmt;
use std::panic::Location;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use thalweg_sync::sync::{Arc, Mutex};

/// What the workers share of a kernel. Claim and marks together, so that a change of worker moves few lines.
pub(crate) struct Seat<'r> {
    pub(crate) post: Post<'r>,
    /// See [`Topology::ranks`].
    rank: usize,
    pub(crate) outside: Option<&'r dyn Outside>,
    pub(crate) pace: Pace,
    /// It is finished. Set under the claim.
    pub(crate) done: AtomicBool,
    /// Activations of a parallel kernel that are not over.
    pub(crate) in_flight: AtomicUsize,
    /// The edges' signature at the last activation that found nothing to do; zero if there is none.
    pub(crate) seen: AtomicU64,
    /// A source, or a kernel with several ports, that has nothing now; when it may be asked again, and how long that was after it was asked last.
    pub(crate) pending: AtomicBool,
    pub(crate) ask_at: AtomicU64,
    pub(crate) ask_after: AtomicU64,
    /// It has said that it is done, and what it gave has not found room yet: it is not called again.
    pub(crate) said_done: AtomicBool,
    /// The round of the patrol in which it ran last.
    pub(crate) ran_in: AtomicU32,
    /// The last round of the patrol in which it was stuck: it waited for room that only what it sends can make.
    pub(crate) stuck_in: AtomicU32,
    /// It may give into the cycle that it is on without having taken from it, so the cycle's census counts it.
    pub(crate) stirs: AtomicBool,
    /// Whether its activation waits for room in the middle, and what its worker runs meanwhile.
    midway: midway::Midway,
}

impl Seat<'_> {
    /// Somebody runs it now. A snapshot.
    pub(crate) fn is_busy(&self) -> bool {
        match &self.post {
            Post::One(claim) => claim.is_held(),
            Post::Many(_) => self.in_flight.load(Relaxed) > 0,
        }
    }
}

/// Where a kernel's code and ends are.
pub(crate) enum Post<'r> {
    One(Claim<Task<'r>>),
    Many(Box<SharedTask<'r>>),
}

/// What the workers of a run share.
pub(crate) struct Core<'r> {
    pub(crate) topology: Topology,
    pub(crate) seats: Vec<CachePadded<Seat<'r>>>,
    pub(crate) edges: Vec<Arc<Edge>>,
    pub(crate) components: Vec<Component>,
    pub(crate) store: Store,
    pub(crate) control: Arc<Control>,
    pub(crate) scheme: Scheme,
    /// Which kernels each worker keeps to, if the scheme asks for that.
    homes: Option<Homes>,
    pub(crate) rows: Vec<Row>,
    /// Workers look for a hardware thread of their own: they are not pinned, and there are enough.
    pub(crate) spread: bool,
    pub(crate) failures: Mutex<Vec<Failure>>,
    /// Panics of destructors, of messages that were dropped because the run is over.
    pub(crate) late: Mutex<Vec<Failure>>,
    pub(crate) waits: Mutex<Vec<Wait>>,
    pub(crate) patrol: patrol::Patrol,
    /// Activations that wait for room in the middle.
    midway: midway::Waiters,
    /// Kernels that are not done.
    pub(crate) live: AtomicUsize,
    /// The run is over, for whatever reason.
    pub(crate) ended: AtomicBool,
    /// How many workers it began with.
    first: usize,
    /// Workers beyond this number sit on the [bench], and those beyond the ceiling.
    pub(crate) target: AtomicUsize,
    /// How many the system has hardware threads for now, as far as that is [followed](follow).
    pub(super) ceiling: AtomicUsize,
    pub(crate) crew: Mutex<crew::Crew>,
    pub(crate) bench: bench::Bench,
    lookout: lookout::Lookout,
    /// All workers that there have to be are there.
    pub(crate) begun: AtomicBool,
    /// How many workers have said what they may run, and which kernels somebody may, where a worker may not run every kernel.
    covered: Mutex<(usize, Vec<bool>)>,
    pub(crate) hook: Option<&'r Hook<'r>>,
    /// Whose latency is asked for.
    pub(crate) probes: Option<Box<Probes>>,
}

/// What each worker calls with its number before it begins, and where it was given.
pub(crate) struct Hook<'env> {
    pub(crate) call: Box<dyn Fn(usize) + Send + Sync + 'env>,
    pub(crate) place: &'static Location<'static>,
}

impl Core<'_> {
    /// Marks `kernel` done: closes its outputs, gives up its inputs. Once (U2).
    pub(crate) fn finish(&self, kernel: usize) {
        let seat = &self.seats[kernel];
        if seat.done.load(Acquire) || seat.done.swap(true, AcqRel) {
            return;
        }
        let facts = &self.topology.kernels[kernel];
        for &edge in &facts.inputs {
            self.edges[edge].hang_up();
        }
        self.call_midway(kernel);
        facts.outputs.iter().for_each(|&edge| self.close(edge));
        self.stir(kernel, false);
        if self.live.fetch_sub(1, AcqRel) == 1 {
            self.end();
        } else if self.scheme.is_restricted() {
            // Whose input has ended may sleep, and nobody else may run it.
            self.ring_neighbours(kernel);
        }
    }

    fn close(&self, edge: usize) {
        self.edges[edge].close();
        if let Some(component) = self.topology.kernels[self.topology.edges[edge].to].component {
            self.check_drained(component);
        }
    }

    /// `kernel` has said that it is done, and some of what it gave has no room yet. Its other outputs end: who has to make the room may wait for that.
    pub(crate) fn close_early(&self, kernel: usize) {
        for &edge in &self.topology.kernels[kernel].outputs {
            if !self.edges[edge].has_spill() && !self.edges[edge].is_closed() {
                self.close(edge);
            }
        }
        self.call_midway(kernel);
        if self.scheme.is_restricted() {
            self.ring_neighbours(kernel);
        }
    }

    /// Wakes those at the other ends of `kernel`'s edges, where a worker may not run every kernel.
    pub(crate) fn ring_neighbours(&self, kernel: usize) {
        let facts = &self.topology.kernels[kernel];
        let before = facts.inputs.iter().map(|&edge| self.topology.edges[edge].from);
        let behind = facts.outputs.iter().map(|&edge| self.topology.edges[edge].to);
        self.control.bell.ring_for(before.chain(behind));
    }

    /// Ends the run: every worker comes home.
    pub(crate) fn end(&self) {
        self.ended.store(true, Release);
        self.control.bell.ring_all();
        self.bench.call();
    }

    /// When `kernel` is to be asked again, if it said that it has nothing now and can only be asked.
    pub(crate) fn ask_at(&self, kernel: usize) -> Option<u64> {
        let seat = &self.seats[kernel];
        (seat.pending.load(Relaxed) && !seat.done.load(Relaxed)).then(|| seat.ask_at.load(Relaxed))
    }

    pub(crate) fn is_over(&self) -> bool {
        self.ended.load(Acquire) || self.control.is_cancelled()
    }

    /// Ends a cycle in which nothing is left: its feedback edges close, and its kernels finish one after the other.
    fn check_drained(&self, component: usize) {
        let component = &self.components[component];
        let outside_is_over = || {
            component.from_outside.iter().all(|&edge| {
                let edge = &self.edges[edge];
                edge.is_closed() && !edge.has_input()
            })
        };
        if component.census.is_drained(outside_is_over) {
            component.feedback.iter().for_each(|&edge| self.edges[edge].close());
            self.control.bell.ring_all();
        }
    }

    /// Raises or lowers the count of what is inside a component (U3).
    pub(crate) fn count_in(&self, component: Option<usize>, by: i64) {
        let Some(index) = component else { return };
        if self.components[index].census.count(by) {
            self.check_drained(index);
        }
    }

    /// Counts a kernel that may give into its cycle without having taken from it, or counts it no more (U3). Under its claim.
    pub(crate) fn stir(&self, kernel: usize, stirs: bool) {
        let component = self.topology.kernels[kernel].component;
        if component.is_some() && self.seats[kernel].stirs.swap(stirs, Relaxed) != stirs {
            self.count_in(component, if stirs { 1 } else { -1 });
        }
    }

    pub(crate) fn fail(&self, kernel: usize, cause: Cause) {
        let mut failures = self.failures.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let facts = &self.topology.kernels[kernel];
        failures.push(Failure { kernel: facts.name.clone(), place: facts.place, cause, is_kernel: true });
        drop(failures);
        self.control.cancel();
        self.bench.call();
    }

    /// As [`fail`](Self::fail), for what runs on a worker's thread beside kernels: `what` of a worker, given at `place`.
    pub(crate) fn fail_beside(&self, what: &str, worker: usize, place: &'static Location<'static>, causes: Vec<Cause>) {
        let mut failures = self.failures.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let kernel = format!("{what} of worker {worker}");
        failures.extend(causes.into_iter().map(|cause| Failure {
            kernel: kernel.clone(),
            place,
            cause,
            is_kernel: false,
        }));
        drop(failures);
        self.control.cancel();
        self.bench.call();
    }

    /// Takes note of the kernels that a worker may run, and fails the run if that leaves some that nobody may run, or if the scheme says that
    /// every worker runs every kernel.
    pub(crate) fn cover(&self, worker: usize, mine: &[usize]) {
        let all = self.seats.len();
        let refuse = |kernel: usize, way_out: &str| {
            let name = &self.topology.kernels[kernel].name;
            let cause = Cause::Error(format!("it may not run kernel {name}, and {way_out}").into());
            self.fail_beside("the policy", worker, self.scheme.place(), vec![cause]);
        };
        if !self.scheme.is_restricted() {
            if let Some(kernel) = (0..all).find(|kernel| !mine.contains(kernel)).filter(|_| mine.len() < all) {
                refuse(kernel, "its scheme does not say that it is restricted; say so with `Scheme::restricted`");
            }
            return;
        }
        let mut covered = self.covered.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        covered.1.resize(all, false);
        mine.iter().for_each(|&kernel| covered.1[kernel] = true);
        covered.0 += 1;
        if covered.0 == self.rows.len()
            && let Some(kernel) = covered.1.iter().position(|&covered| !covered)
        {
            refuse(kernel, "neither may any other worker; let `Policy::may_run` say yes for one of them");
        }
    }

    /// Notes what destructors of messages panicked with that `kernel` did not take. The run is over: they are told after the failures, since one
    /// of those may be why the messages were dropped.
    pub(crate) fn note(&self, kernel: usize, panics: Vec<Payload>) {
        if panics.is_empty() {
            return;
        }
        let facts = &self.topology.kernels[kernel];
        let mut late = self.late.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let causes = panics.into_iter().flat_map(Cause::all);
        let place = facts.place;
        late.extend(causes.map(|cause| Failure { kernel: facts.name.clone(), place, cause, is_kernel: true }));
    }

    /// Drops all messages that are left, once every worker has come home.
    pub(crate) fn drop_messages(&mut self) {
        let mut seats = std::mem::take(&mut self.seats);
        for seat in &mut seats {
            let note = &mut |kernel: usize, panics| self.note(kernel, panics);
            match &mut seat.post {
                Post::One(claim) => claim.get_mut().clear(note),
                Post::Many(task) => task.clear(note),
            }
        }
    }
}

impl fmt::Debug for Core<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").field("kernels", &self.seats.len()).field("edges", &self.edges.len()).finish()
    }
}
