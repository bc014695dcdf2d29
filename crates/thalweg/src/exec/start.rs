//! The beginning and the end of a run.

use super::census::Component;
use super::claim::Claim;
use super::crew::Crew;
use super::glimpse::{self, Glimpse};
use super::homes::Homes;
use super::stats::Row;
use super::worker::Worker;
use super::{Core, Hook, Post, Seat, tell};
use crate::block::pool::Store;
use crate::control::Control;
use crate::edge::Edge;
use crate::error::{Cause, Error, Failure, Refusal, Result, Wait, catch};
use crate::kernel::{Outside, Pace, Task};
use crate::observe::Probes;
use crate::observe::spans::Span;
use crate::partition::{Partition, Work};
use crate::report::{End, Report};
use crate::scheme::Scheme;
use crate::topology::{Kind, Topology};
use std::io;
use std::mem;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use thalweg_sync::fence;
use thalweg_sync::park::Parker;
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::thread;
use thalweg_sync::time::now;

/// What a run is made of.
pub(crate) struct Parts<'r> {
    pub(crate) topology: Topology,
    pub(crate) edges: Vec<Arc<Edge>>,
    /// The kernels, and who feeds them from outside.
    pub(crate) seats: Vec<(Post<'r>, Option<&'r dyn Outside>)>,
    pub(crate) components: Vec<Component>,
    /// How many workers there may be, and how many start.
    pub(crate) crew: (usize, usize),
    pub(crate) hook: Option<&'r Hook<'r>>,
    /// Messages that a source gives at first before it looks up.
    pub(crate) give_len: u32,
    /// Whose latency is asked for.
    pub(crate) probes: Option<Box<Probes>>,
}

impl<'r> Post<'r> {
    pub(crate) fn one(task: Task<'r>) -> Self {
        Self::One(Claim::new(task))
    }
}

impl<'r> Core<'r> {
    fn new(parts: Parts<'r>, control: Arc<Control>, scheme: Scheme) -> Self {
        let Parts { topology, edges, seats, components, crew, hook, give_len, probes } = parts;
        let seats = seats.into_iter().zip(topology.ranks()).map(|((post, outside), rank)| {
            CachePadded(Seat {
                post,
                rank,
                outside,
                pace: Pace::new(give_len),
                done: AtomicBool::new(false),
                in_flight: AtomicUsize::new(0),
                seen: AtomicU64::new(0),
                pending: AtomicBool::new(false),
                ask_at: AtomicU64::new(0),
                ask_after: AtomicU64::new(0),
                said_done: AtomicBool::new(false),
                ran_in: AtomicU32::new(u32::MAX),
                stuck_in: AtomicU32::new(u32::MAX),
                stirs: AtomicBool::new(false),
                midway: Default::default(),
            })
        });
        let events = control.eyes.wanted().map(|wanted| wanted.events);
        let core = Self {
            homes: scheme
                .is_partitioned()
                .then(|| Homes::new(Partition::new(&topology, &Work::hinted(&topology), crew.0))),
            live: AtomicUsize::new(topology.kernels.len()),
            rows: (0..crew.0).map(|_| Row::new(topology.kernels.len(), edges.len(), events)).collect(),
            spread: !scheme.is_pinned() && crew.0 <= thread::available_parallelism(),
            first: crew.1,
            target: AtomicUsize::new(crew.1),
            ceiling: AtomicUsize::new(usize::MAX),
            crew: Mutex::new(Crew::new(crew.0)),
            seats: seats.collect(),
            topology,
            edges,
            components,
            store: Store::default(),
            control,
            scheme,
            failures: Mutex::default(),
            late: Mutex::default(),
            waits: Mutex::default(),
            ended: AtomicBool::new(false),
            patrol: Default::default(),
            midway: Default::default(),
            bench: Default::default(),
            lookout: Default::default(),
            begun: AtomicBool::new(scheme.is_elastic() || crew.0 == 1),
            covered: Mutex::default(),
            hook,
            probes,
        };
        // U3: a kernel with several ports may give into its cycle on its own account, so the cycle is not over before each was asked.
        for (kernel, facts) in core.topology.kernels.iter().enumerate().filter(|(_, facts)| facts.kind == Kind::Ported)
        {
            debug_assert!(facts.component.is_none_or(|component| component < core.components.len()));
            core.stir(kernel, true);
        }
        core
    }
}

/// Where workers get their threads.
#[derive(Clone, Copy)]
struct Office<'scope, 'env, 'r> {
    scope: &'scope thread::Scope<'scope, 'env>,
    core: &'scope Core<'r>,
    /// The CPU of each worker, if they are pinned.
    pins: &'scope [usize],
    /// The CPUs that the caller of `run` may use.
    before: Option<&'scope thread::Affinity>,
}

impl Office<'_, '_, '_> {
    fn pin(self, worker: usize) {
        if let (Some(all), Some(&cpu)) = (self.before, self.pins.get(worker)) {
            // A new thread inherits the pin of the one that started it, so it asks for all first.
            // A system that cannot pin runs unpinned: the promise is "if the system can do it".
            let _ = all.restore().and_then(|()| thread::pin_current(cpu));
        }
    }

    /// Starts a worker.
    fn hire(self, worker: usize) -> io::Result<()> {
        let core = self.core;
        core.control.bell.join();
        let home = thread::current_cpu();
        let name = format!("thalweg-{worker}");
        let span = Span::current();
        let started = thread::try_spawn(self.scope, core.scheme.spec(&name), move || {
            match home {
                Some(home) if core.spread => thread::move_away_from(&[home], worker),
                _ => self.pin(worker),
            }
            if !core.begun.load(Acquire) {
                // Acquire, here and below: nothing is read behind it but what the thread was started with; the end of a run that does not begin is.
                core.bench.wait(&Parker::new(), || core.begun.load(Acquire) || core.is_over());
            }
            span.within(|| self.work(worker));
        });
        if core.spread {
            thread::make_way();
        }
        if started.is_err() {
            core.control.bell.leave();
        }
        started
    }

    /// Starts all workers of a fixed number. No kernel runs before all are there, so nothing is lost if the system gives fewer threads.
    fn hire_all(self) -> Result<(), Refusal> {
        let core = self.core;
        if core.begun.load(Relaxed) {
            return Ok(());
        }
        for worker in 1..core.rows.len() {
            if let Err(error) = self.hire(worker) {
                core.control.bell.leave();
                core.end();
                let kernel = format!("worker {worker} of {}", core.rows.len());
                let way_out = "ask for fewer workers, or let other threads end, then run the graph again";
                return Err(Refusal { kernel, reason: format!("the system gives no thread: {error}; {way_out}") });
            }
        }
        core.crew.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).are_all_hired();
        core.begun.store(true, Release);
        core.bench.call();
        Ok(())
    }

    /// Works as `worker` until the run is over. The start hook and the policy are somebody else's code: if they panic, the run fails.
    fn work(self, worker: usize) {
        let core = self.core;
        let mut what = ("the policy", core.scheme.place());
        let result = catch(|| {
            if let Some(hook) = core.hook {
                let policy = std::mem::replace(&mut what, ("the start hook", hook.place));
                (hook.call)(worker);
                what = policy;
            }
            let (hire, lookout) = (|other| self.hire(other).is_ok(), || self.lookout());
            Worker::new(core, worker).work(&hire, &lookout);
        });
        if let Err(caught) = result {
            let causes = caught.into_iter().map(|caught| caught.cause).collect();
            core.fail_beside(what.0, worker, what.1, causes);
            core.rows[worker].worker.place.store(0, Relaxed);
            core.control.bell.leave();
        }
    }

    /// Starts the lookout, where time is the machine's own. Without a thread for it, loops look at the clock themselves.
    fn lookout(self) {
        let core = self.core;
        if thread::is_native() {
            let _ = thread::try_spawn(self.scope, core.scheme.spec("thalweg-lookout"), move || {
                // Of a pinned worker it inherits the pin, and could not see what the process may use.
                let _ = self.before.map(thread::Affinity::restore);
                core.look_out();
            });
        }
    }
}

/// Runs a graph, and says what happened. Calls `begins` unless the run is refused, before this thread runs a kernel.
pub(crate) fn run(parts: Parts<'_>, control: Arc<Control>, scheme: Scheme, begins: &dyn Fn()) -> Result<Report> {
    // Before there are workers: with one thread it costs some microseconds, once in a process, and `call_midway` is a load from then on.
    fence::prepare();
    // Boxed: so it begins on a line of its own, and what its fields share lines with does not depend on the caller's stack.
    let mut core = Box::new(Core::new(parts, control, scheme));
    core.control.bell.set_restricted(scheme.is_restricted());
    let (report, waits) = live(&core, begins)?;
    core.drop_messages();
    let mut failures = core.failures.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    let late = core.late.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !failures.is_empty() || !late.is_empty() {
        // A run that could not go on has one error too, whatever the messages do that are dropped after it.
        failures.extend(waits.into_iter().map(|Wait { kernel, place, port, reason, .. }| {
            let cause = Cause::Error(format!("it cannot go on at {port}: {reason}").into());
            Failure { kernel, place, cause, is_kernel: true }
        }));
        failures.extend(late);
        return Err(Error::Failed { failures, report: Box::new(report) });
    }
    if !waits.is_empty() {
        return Err(Error::Stalled { waits, report: Box::new(report) });
    }
    Ok(report)
}

/// The life of a run: what it came to, and where it could not go on.
fn live(core: &Core<'_>, begins: &dyn Fn()) -> Result<(Report, Vec<Wait>)> {
    let start = now();
    let glimpse = Glimpse { core, start };
    let shown = core.control.eyes.pane().map(|pane| pane.show(&glimpse));
    if core.seats.is_empty() {
        begins();
    } else {
        work(core, begins).map_err(|refusal| Error::Refused(vec![refusal]))?;
    }
    let mut wall = start.elapsed();
    let waits = mem::take(&mut *core.waits.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
    let end = match core.control.take() {
        (_, true) => End::Cancelled,
        _ if !waits.is_empty() => End::Cancelled,
        (true, false) => End::Stopped,
        (false, false) => End::Complete,
    };
    if let Some(shown) = shown {
        shown.end(|| {
            // Later than what others have seen.
            wall = start.elapsed();
            glimpse::snapshot(core, wall, Some(end))
        });
    }
    if let Some(wanted) = core.control.eyes.wanted() {
        wanted.leave(glimpse::trace(core, start));
    }
    Ok((tell::report(core, wall, end), waits))
}

/// Starts the workers; returns when all have come home. A refusal if the system does not give what the run cannot do without; then nothing ran.
fn work(core: &Core<'_>, begins: &dyn Fn()) -> Result<(), Refusal> {
    let before = core.scheme.is_pinned().then(thread::current_affinity).and_then(std::result::Result::ok);
    let pins = if before.is_some() { thread::Topology::read().places() } else { Vec::new() };
    let pins = if pins.len() >= core.rows.len() { pins } else { Vec::new() };
    core.control.bell.join();
    let begun = thread::scope(|scope| {
        let office = Office { scope, core, pins: &pins, before: before.as_ref() };
        office.pin(0);
        let _shift = core.lookout();
        office.hire_all()?;
        begins();
        office.work(0);
        Ok(())
    });
    if let Some(before) = before {
        // The calling thread gets back what it had.
        let _ = before.restore();
    }
    begun
}

/// Lets `look` see a run that has not begun as the first worker's policy does.
#[cfg(test)]
pub(crate) fn looked_at<R>(
    parts: Parts<'_>,
    control: Arc<Control>,
    scheme: Scheme,
    look: impl FnOnce(&Core<'_>, &crate::scheme::View<'_>) -> R,
) -> R {
    let core = Core::new(parts, control, scheme);
    let worker = Worker::new(&core, 0);
    let homes = core.homes.as_ref().map(|homes| homes.present().1);
    look(&core, &worker.view(homes.as_deref()))
}
