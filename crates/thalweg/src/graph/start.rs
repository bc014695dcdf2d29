//! From a graph to a run, and back.

use crate::edge::{Edge, Plan};
use crate::error::{BoxError, Cause, Error, Failure, Refusal, Result, Wait};
use crate::graph::{Definition, Graph, Link};
use crate::kernel::reorder::Reorder;
use crate::kernel::{Body, drive_parallel, drive_sequential, drive_source, ported};
use crate::pool::Store;
use crate::report::{End, Report};
use crate::run::activate::MOST_BYTES;
use crate::run::component::{Census, Component};
use crate::run::elastic::Crew;
use crate::run::stats::Row;
use crate::run::worker::Worker;
use crate::run::{Bodies, Core, Cx, Outcome, State};
use crate::scheme::Scheme;
#[cfg(test)]
use crate::scheme::View;
use crate::window::Assemble;
use std::mem;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use thalweg_sync::sync::Mutex;
use thalweg_sync::thread;
use thalweg_sync::time::now;

/// Messages in the first blocks, until it is known what one costs.
const FIRST_LEN: u32 = 16;
/// Tickets of an ordered parallel kernel that may be out, per worker and at least.
const TICKETS: (usize, usize) = (16, 32);

struct Kernels<'a, 'env>(&'a [Definition<'env>]);

impl Bodies for Kernels<'_, '_> {
    fn activate(&self, kernel: usize, cx: &Cx<'_>) -> Result<Outcome, BoxError> {
        match &self.0[kernel].body {
            Body::Source(source) => source.with_mut(|source| {
                // SAFETY: U1: only the worker that holds the kernel's claim comes here.
                let source = unsafe { &mut **source };
                drive_source(source, cx)
            }),
            Body::Sequential(work) => work.with_mut(|work| {
                // SAFETY: U1, as above.
                let work = unsafe { &mut **work };
                drive_sequential(work, cx)
            }),
            Body::Ported(kernel) => kernel.with_mut(|kernel| {
                // SAFETY: U1, as above.
                let kernel = unsafe { &mut **kernel };
                ported::drive_ported(kernel, cx)
            }),
            Body::Parallel(work) => drive_parallel(&**work, cx),
        }
    }

    fn source_has_input(&self, kernel: usize) -> bool {
        self.0[kernel].outside.as_ref().is_none_or(|outside| outside.is_ready())
    }

    fn source_waits_outside(&self, kernel: usize) -> bool {
        self.0[kernel].outside.is_some()
    }
}

/// Where workers get their threads.
#[derive(Clone, Copy)]
struct Office<'scope, 'env> {
    scope: &'scope thread::Scope<'scope, 'env>,
    core: &'scope Core,
    bodies: &'scope dyn Bodies,
    /// The CPU of each worker, if they are pinned.
    pins: &'scope [usize],
    /// The CPUs that the caller of `run` may use.
    before: Option<&'scope thread::Affinity>,
}

impl Office<'_, '_> {
    fn pin(self, worker: usize) {
        if let (Some(all), Some(&cpu)) = (self.before, self.pins.get(worker)) {
            // A new thread inherits the pin of the one that started it, so it asks for all first.
            // A system that cannot pin runs unpinned: the promise is "if the system can do it".
            let _ = all.restore().and_then(|()| thread::pin_current(cpu));
        }
    }

    /// Starts a worker. False if the system gives no thread.
    fn hire(self, worker: usize) -> bool {
        let core = self.core;
        core.control.bell.join();
        let home = thread::current_cpu();
        let started = thread::try_spawn(self.scope, move || {
            match home {
                Some(home) if core.spread => thread::move_away_from(&[home], worker),
                _ => self.pin(worker),
            }
            Worker::new(core, self.bodies, worker).work(&|other| self.hire(other));
        });
        if core.spread {
            thread::make_way();
        }
        if let Err(error) = &started {
            core.control.bell.leave();
            if core.scheme.is_restricted() {
                // Some kernel would never run.
                let cause = format!("the system gives no thread for worker {worker}: {error}");
                core.fail(worker.min(core.kernels.len() - 1), Cause::Error(cause.into()));
            }
        }
        started.is_ok()
    }
}

impl Graph<'_> {
    /// Runs the graph until its sources have ended and everything is processed, and says what happened.
    ///
    /// The calling thread is one of the workers. A graph can be run again: sources made with [`source_with`](Self::source_with) start anew,
    /// others go on where they were.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] before anything runs, if the graph cannot work. [`Error::Failed`] if kernels panicked or returned an error: the
    /// run is stopped, every cause is there with its kernel's name, and every message was dropped once; also if destructors of messages panicked
    /// that were left in the graph. [`Error::Stalled`] if no kernel could go on.
    pub fn run(&mut self, scheme: Scheme) -> Result<Report> {
        let refusals = self.refusals();
        if !refusals.is_empty() {
            return Err(Error::Refused(refusals));
        }
        let begin = |kernel: &mut Definition<'_>| {
            let Body::Source(source) = &mut kernel.body else { return None };
            let error = source.get_mut().begin().err()?;
            Some(Refusal { kernel: format!("{} ({})", kernel.name, kernel.place), reason: error.to_string() })
        };
        let refusals: Vec<_> = self.kernels.iter_mut().filter_map(begin).collect();
        if !refusals.is_empty() {
            return Err(Error::Refused(refusals));
        }
        self.reopen();
        let result = self.run_begun(scheme);
        self.outsides().for_each(|outside| outside.run_is_over(&result));
        result
    }

    /// Runs the graph, whose sources have begun.
    fn run_begun(&mut self, scheme: Scheme) -> Result<Report> {
        // Boxed: so it begins on a line of its own, and what its fields share lines with does not depend on the caller's stack.
        let mut core = Box::new(self.core(scheme));
        self.control.bell.set_restricted(scheme.is_restricted());
        let start = now();
        if !self.kernels.is_empty() {
            self.work(&core);
        }
        let wall = start.elapsed();
        let waits = mem::take(core.waits.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner()));
        let end = if self.control.is_cancelled() || !waits.is_empty() {
            End::Cancelled
        } else if self.control.is_draining() {
            End::Stopped
        } else {
            End::Complete
        };
        self.control.reset();
        let report = Report::new(&core, wall, end);
        core.drop_messages();
        let mut failures = core.failures.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        let late = core.late.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        if !failures.is_empty() || !late.is_empty() {
            // A run that could not go on has one error too, whatever the messages do that are dropped after it.
            failures.extend(waits.into_iter().map(|Wait { kernel, place, port, reason, .. }| {
                let cause = Cause::Error(format!("it cannot go on at {port}: {reason}").into());
                Failure { kernel, place, cause }
            }));
            failures.extend(late);
            return Err(Error::Failed { failures, report: Box::new(report) });
        }
        if !waits.is_empty() {
            return Err(Error::Stalled { waits, report: Box::new(report) });
        }
        Ok(report)
    }

    /// Starts the workers; returns when all have come home.
    fn work(&self, core: &Core) {
        let bodies = &Kernels(&self.kernels);
        let before = core.scheme.is_pinned().then(thread::current_affinity).and_then(Result::ok);
        let pins: Vec<_> = before.iter().flat_map(|affinity| affinity.cpus()).collect();
        let pins = if pins.len() >= core.rows.len() { pins } else { Vec::new() };
        core.control.bell.join();
        thread::scope(|scope| {
            let office = Office { scope, core, bodies, pins: &pins, before: before.as_ref() };
            office.pin(0);
            Worker::new(core, bodies, 0).work(&|index| office.hire(index));
        });
        if let Some(before) = before {
            // The calling thread gets back what it had.
            let _ = before.restore();
        }
    }

    /// The state of a run.
    fn core(&self, scheme: Scheme) -> Core {
        let (component_of, components) = self.components();
        let mut wiring = self.wiring();
        let parallel = |kernel: usize| matches!(self.kernels[kernel].body, Body::Parallel(_));
        let crew = scheme.crew((0..self.kernels.len()).map(|kernel| (parallel(kernel), self.kernels[kernel].hint)));
        let edges = self.links.iter().map(|link| {
            let (from, to) = (link.from.kernel, link.to.kernel);
            let window = self.kernels[to].window.as_ref();
            // Two blocks at least, so that both sides can work.
            let half = |link: &Link| link.spec.capacity.map(|capacity| capacity.first.div_ceil(2));
            // A parallel kernel takes whole blocks, so what it makes of one comes on top of what the edge behind it holds. A window gives one
            // message for those that it pops.
            let behind = wiring.outputs[to].first().filter(|_| parallel(to)).and_then(|&edge| half(&self.links[edge]));
            let behind = behind.map(|most| most.saturating_mul(window.map_or(1, |window| window.pop)));
            let plan = Plan {
                from,
                to,
                capacity: link.spec.capacity,
                feedback: link.spec.feedback,
                window: window.map(|window| (window.peek, window.pop)),
                many_takers: parallel(to),
                many_senders: parallel(from) && link.spec.unordered,
                message_bytes: link.bytes,
                longest: half(link).into_iter().chain(behind).min().unwrap_or(usize::MAX),
                component: component_of[from].filter(|_| component_of[from] == component_of[to]),
            };
            // The cost of a message is not known yet, so blocks are short at first: few but costly messages are spread and not held back.
            let block_len = match window {
                Some(window) => {
                    // What lies between two windows is passed over, wherever blocks end.
                    let pop = window.pop.min((MOST_BYTES / link.bytes.max(1)).max(1));
                    u32::try_from(window.peek.max(pop).saturating_mul(2)).unwrap_or(u32::MAX)
                }
                None if parallel(to) => 1,
                None => FIRST_LEN.min((MOST_BYTES / link.bytes.max(1)).max(1) as u32),
            };
            let assembler = window.map(|window| {
                let assembler = (window.assembler)();
                // SAFETY: only the lifetime changes. The edge lives in the `Core` of this run, which ends within the graph's lifetime.
                unsafe { mem::transmute::<Box<dyn Assemble + '_>, Box<dyn Assemble>>(assembler) }
            });
            let edge = Edge::new(plan, assembler, 1);
            edge.set_block_len(block_len);
            edge
        });
        let edges: Vec<_> = edges.collect();
        let tickets = (TICKETS.0 * crew.0).max(TICKETS.1);
        let states = self.kernels.iter().enumerate().map(|(kernel, definition)| {
            let outputs = mem::take(&mut wiring.outputs[kernel]);
            let ordered = parallel(kernel) && outputs.iter().any(|&edge| !edges[edge].plan.many_senders);
            let bounded = outputs.iter().any(|&edge| edges[edge].plan.capacity.is_some());
            CachePadded(State {
                name: definition.name.clone(),
                place: definition.place,
                inputs: mem::take(&mut wiring.inputs[kernel]),
                outputs,
                input_names: definition.inputs.iter().map(|port| port.name.clone()).collect(),
                output_names: definition.outputs.iter().map(|port| port.name.clone()).collect(),
                parallel: parallel(kernel),
                source: matches!(definition.body, Body::Source(_)),
                ported: matches!(definition.body, Body::Ported(_)),
                outside: definition.outside.is_some(),
                hint: definition.hint,
                group: definition.group,
                component: component_of[kernel],
                reorder: ordered.then(|| Reorder::new(tickets, bounded)),
                claimed: AtomicBool::new(false),
                done: AtomicBool::new(false),
                in_flight: AtomicUsize::new(0),
                seen: AtomicU64::new(0),
                pending: AtomicBool::new(false),
                ask_at: AtomicU64::new(0),
                ask_after: AtomicU64::new(0),
                block_time: AtomicU64::new(0),
                said_done: AtomicBool::new(false),
                give_len: AtomicU32::new(FIRST_LEN),
            })
        });
        let kernels: Vec<_> = states.collect();
        let components = (0..components)
            .map(|number| Component {
                from_outside: self.edges_where(|from, to| to == Some(number) && from != Some(number), &component_of),
                feedback: (0..edges.len())
                    .filter(|&edge| edges[edge].plan.feedback && edges[edge].plan.component == Some(number))
                    .collect(),
                census: Census::default(),
            })
            .collect();
        Core {
            live: AtomicUsize::new(kernels.len()),
            rows: (0..crew.0).map(|_| Row::new(kernels.len(), edges.len())).collect(),
            spread: !scheme.is_pinned() && crew.0 <= thread::available_parallelism(),
            target: AtomicUsize::new(crew.1),
            crew: Mutex::new(Crew::new(crew.0)),
            kernels,
            edges,
            components,
            store: Store::default(),
            control: self.control.clone(),
            scheme,
            failures: Mutex::new(Vec::new()),
            late: Mutex::new(Vec::new()),
            waits: Mutex::new(Vec::new()),
            ended: AtomicBool::new(false),
            bench: Default::default(),
        }
    }

    fn edges_where(
        &self,
        test: impl Fn(Option<usize>, Option<usize>) -> bool,
        component_of: &[Option<usize>],
    ) -> Vec<usize> {
        let of = |kernel: usize| component_of[kernel];
        (0..self.links.len())
            .filter(|&edge| test(of(self.links[edge].from.kernel), of(self.links[edge].to.kernel)))
            .collect()
    }
}

#[cfg(test)]
impl Graph<'_> {
    /// Lets `look` see the graph as the first worker's policy does, in a run that has not begun.
    pub(crate) fn looked_at<R>(&self, scheme: Scheme, look: impl FnOnce(&Core, &View<'_>) -> R) -> R {
        let core = self.core(scheme);
        let bodies = Kernels(&self.kernels);
        look(&core, &View::new(&Worker::new(&core, &bodies, 0)))
    }
}
