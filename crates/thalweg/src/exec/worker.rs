//! A worker: asks its policy, activates kernels, sleeps when there is nothing.

use super::Core;
use super::crew;
use super::elastic::Elastic;
use super::midway::{Beneath, Shared};
use super::patrol;
use super::stats::{At, Row};
use crate::block::pool::Pool;
use crate::observe::Did;
use crate::partition::Partition;
use crate::scheme::{Board, Choice, Event, Setup, View};
use std::cell::{Cell, RefCell};
use std::fmt;
use thalweg_sync::atomic::Ordering::*;
use thalweg_sync::park::Parker;
use thalweg_sync::thread;
use thalweg_sync::time::{Duration, Instant, now};

/// How long a worker sleeps where it is time already to ask a kernel that can only be asked: another one is at it, or its output is full.
const ASK_SOON: Duration = Duration::from_millis(1);
/// Attempts in a row that did nothing, beyond two per kernel, before a worker gives up its time slice.
const IN_VAIN: usize = 64;
/// The longest an idle worker looks around before it sleeps, in nanoseconds.
const MOST_SPIN: u64 = 20_000;

pub(crate) struct Worker<'a, 'r> {
    pub(crate) core: &'a Core<'r>,
    pub(crate) index: usize,
    pub(crate) row: &'a Row,
    pub(crate) pool: Pool<'a>,
    /// How deep helps are nested.
    pub(crate) depth: Cell<u32>,
    pub(crate) stack: thread::Stack,
    /// The stack that was left where the innermost help began, and the most that one took up to the next.
    pub(crate) helped_at: Cell<Option<usize>>,
    pub(crate) help_frame: Cell<usize>,
    /// Whether the running activation is timed, and the time that helps took within it.
    pub(crate) timing: Cell<bool>,
    pub(crate) helped_time: Cell<u64>,
    /// The clock at the end of the last timed activation.
    pub(crate) clock: Cell<u64>,
    /// How long looking around has paid off lately, in nanoseconds.
    spin: Cell<u64>,
    parker: Parker,
    /// The wait that is the last one in the trace.
    pub(super) waited: Cell<Option<Did>>,
    /// The kernel whose activation waits midway, and in which others are nested.
    pub(super) outer: Cell<Option<(usize, Beneath)>>,
    /// The kernels of all whose activations wait midway on its stack.
    pub(super) waiting: RefCell<Vec<usize>>,
    /// What it knows of the activations of parallel kernels on its stack.
    pub(super) shared: Cell<Shared>,
    /// The kernels that it may run, in order.
    mine: RefCell<Vec<usize>>,
    /// The first one decides how many there are.
    elastic: RefCell<Option<Elastic<'a>>>,
    /// Starts the [lookout](super::lookout) of a run that lasts.
    lookout: Cell<Option<&'a dyn Fn()>>,
    /// Activations since it knew the time, and the time that it knew.
    steps: Cell<u32>,
    time: Cell<u64>,
}

impl<'a, 'r> Worker<'a, 'r> {
    pub(crate) fn new(core: &'a Core<'r>, index: usize) -> Self {
        Self {
            core,
            index,
            row: &core.rows[index],
            pool: Pool::new(&core.store),
            depth: Cell::new(0),
            stack: thread::current_stack(),
            helped_at: Cell::new(None),
            help_frame: Cell::new(0),
            timing: Cell::new(false),
            helped_time: Cell::new(0),
            clock: Cell::new(0),
            spin: Cell::new(0),
            parker: Parker::new(),
            waited: Cell::new(None),
            outer: Cell::new(None),
            waiting: RefCell::default(),
            shared: Cell::default(),
            mine: RefCell::default(),
            elastic: RefCell::default(),
            lookout: Cell::new(None),
            steps: Cell::new(0),
            time: Cell::new(0),
        }
    }

    /// What its policy sees.
    pub(crate) fn view<'v>(&'v self, partition: Option<&'v Partition>) -> View<'v> {
        View::new(&self.core.topology, self.core, partition, self.index, self.core.rows.len())
    }

    /// Works until the run is over. The caller has joined the bell for this worker. `hire` starts another worker, unless the
    /// system refuses; `lookout` starts the [lookout](super::lookout) of a run that lasts.
    pub(crate) fn work(&self, hire: &'a dyn Fn(usize) -> bool, lookout: &'a dyn Fn()) {
        self.spread_out();
        self.lookout.set(Some(lookout));
        self.elastic.replace((self.index == 0).then(|| Elastic::new(self, hire)));
        while !self.core.is_over() {
            let homes = self.core.homes.as_ref().map(|homes| (homes, homes.present()));
            let has_moved = || homes.as_ref().is_some_and(|(homes, (number, _))| homes.has_moved(*number));
            let view = self.view(homes.as_ref().map(|(_, (_, partition))| &**partition));
            self.work_by(&view, &has_moved, hire);
        }
        self.row.worker.place.store(0, Relaxed);
        self.row.worker.at.set(At::Off.number());
        // A cancelled run reaches those on the bench through the workers that it woke.
        self.core.bench.call();
        self.core.control.bell.leave();
    }

    /// Works by what a new policy makes of `view`, until the run is over or the view `has_moved`.
    fn work_by(&self, view: &View<'_>, has_moved: &dyn Fn() -> bool, hire: &dyn Fn(usize) -> bool) {
        let mut policy = self.core.scheme.policy(&Setup { view });
        let mine: Vec<_> = (0..self.core.seats.len()).filter(|&kernel| policy.may_run(view, kernel)).collect();
        if mine.len() < self.core.seats.len() {
            self.core.cover(self.index, &mine);
        }
        self.mine.replace(mine);
        let mut choice = policy.first(view);
        let mut in_vain = 0;
        while !self.core.is_over() && !has_moved() {
            if self.index >= self.core.places() {
                self.sit_out(hire);
                choice = policy.first(view);
                continue;
            }
            match choice {
                Choice::Run(kernel) => {
                    let event = self.try_activate(kernel);
                    self.go_round();
                    choice = policy.next(view, kernel, event);
                    self.yield_in_vain(&mut in_vain, event);
                }
                Choice::Yield => {
                    self.row.worker.yields.add(1);
                    thread::yield_now();
                    choice = policy.first(view);
                }
                Choice::Sleep => {
                    self.idle(|| false);
                    choice = policy.first(view);
                }
            }
            self.judge();
            if self.core.control.is_draining() {
                // Cancels when the time for draining is over.
                self.core.control.time_left();
            }
        }
    }

    /// After an activation: [goes round](Self::patrol) all kernels if that is due.
    pub(super) fn go_round(&self) {
        let steps = self.steps.get() + 1;
        if steps == patrol::STEPS {
            self.steps.set(0);
            self.time.set(now().as_nanos());
        } else {
            self.steps.set(steps);
            self.time.set(self.time.get().max(self.clock.get()));
        }
        if let Some(lookout) = self.lookout.get() {
            self.patrol(self.time.get(), lookout, |kernel| self.may_run(kernel));
        }
    }

    /// Whether it may run `kernel` at all.
    pub(super) fn may_run(&self, kernel: usize) -> bool {
        let mine = self.mine.borrow();
        mine.len() == self.core.seats.len() || mine.binary_search(&kernel).is_ok()
    }

    /// A kernel that it may run and that is ready, `first` if it is one.
    pub(super) fn find_ready(&self, first: usize) -> Option<usize> {
        if self.may_run(first) && self.is_ready_here(first) {
            return Some(first);
        }
        self.mine.borrow().iter().copied().find(|&kernel| self.is_ready_here(kernel))
    }

    /// Whether an activation of `kernel` could do something now, on this stack.
    pub(super) fn is_ready_here(&self, kernel: usize) -> bool {
        self.core.is_ready(kernel) && !self.waits_beneath(kernel)
    }

    /// Now and then: how many workers there should be, if it is this one that decides.
    pub(super) fn judge(&self) {
        if let Some(elastic) = &mut *self.elastic.borrow_mut() {
            elastic.look(self);
        }
    }

    /// Gives up its time slice after many attempts `in_vain`: what looks ready is in the hands of a thread that does not run now.
    pub(super) fn yield_in_vain(&self, in_vain: &mut usize, event: Event) {
        *in_vain = if matches!(event, Event::Ran { .. }) { 0 } else { *in_vain + 1 };
        if *in_vain > IN_VAIN + 2 * self.core.seats.len() {
            *in_vain = 0;
            self.row.worker.yields.add(1);
            thread::yield_now();
        }
    }

    /// Looks around for a while if that paid off lately, then sleeps; until a kernel is ready that it may run, or what it waits for is `over`.
    pub(super) fn idle(&self, over: impl Fn() -> bool) {
        let mine = self.mine.borrow();
        let ready = || over() || mine.iter().any(|&kernel| self.is_ready_here(kernel));
        let start = now();
        if !self.look_around(start, ready) {
            let only = mine.first().copied().filter(|_| mine.len() == 1);
            self.sleep(only, ready, || mine.iter().filter_map(|&kernel| self.core.ask_at(kernel)).min());
        }
        let end = now();
        self.row.worker.idle.add(end.since(start).as_nanos() as u64);
        if let Some(ring) = &self.row.ring {
            ring.note(Did::Slept, start.as_nanos(), end.as_nanos());
        }
    }

    /// True if there is something to do before sleep is worth it.
    fn look_around(&self, start: Instant, ready: impl Fn() -> bool) -> bool {
        if self.spin.get() == 0 {
            return false;
        }
        while start.elapsed().as_nanos() < u128::from(self.spin.get()) {
            if ready() || self.core.is_over() {
                return true;
            }
            thalweg_sync::spin::pause(1);
        }
        self.spin.set(self.spin.get() / 2);
        false
    }

    /// Sleeps until it is woken, or until it is time to ask a kernel again, which `ask_at` says.
    fn sleep(&self, only: Option<usize>, ready: impl Fn() -> bool, ask_at: impl Fn() -> Option<u64>) {
        let bell = &self.core.control.bell;
        bell.lie_down(self.index, only, self.parker.unparker());
        // W1: from here on, who makes a kernel ready sees this worker on the list.
        let night = bell.all_asleep();
        if self.core.is_over() || ready() {
            self.get_up();
            return;
        }
        // Before the second look at the night: who comes from outside meanwhile rings.
        let outside = night.is_some() && self.core.waits_outside();
        if night.is_some_and(|night| self.core.stall(outside, night, |edge, grown| self.note_growth(edge, grown))) {
            self.get_up();
            return;
        }
        self.row.worker.sleeps.add(1);
        self.row.worker.at.set(At::Sleeps.number());
        self.row.worker.place.store(0, Relaxed);
        let start = now();
        let to_ask = ask_at().map(|time| match time.saturating_sub(start.as_nanos()) {
            0 => ASK_SOON,
            nanos => Duration::from_nanos(nanos),
        });
        let limit = self.core.control.time_left().into_iter().chain(to_ask).min();
        match limit {
            None => self.parker.park(),
            Some(limit) => {
                if !self.parker.park_timeout(limit) {
                    self.spread_out();
                    self.get_up();
                    self.core.control.time_left();
                    return;
                }
            }
        }
        self.spread_out();
        // Woken soon: looking around a little longer would have spared the sleep.
        let slept = start.elapsed().as_nanos() as u64;
        let spin =
            if slept < MOST_SPIN * 2 { (self.spin.get() * 2).clamp(1_000, MOST_SPIN) } else { self.spin.get() / 2 };
        self.spin.set(spin);
    }

    /// Off the list again; takes the token of who woke this worker meanwhile.
    fn get_up(&self) {
        if !self.core.control.bell.get_up(self.index) {
            self.parker.park();
        }
    }

    /// Sits on the bench while the run goes better with fewer workers, or is allowed fewer (B2).
    fn sit_out(&self, hire: &dyn Fn(usize) -> bool) {
        let bell = &self.core.control.bell;
        bell.leave();
        // What this worker made ready is for others to find now (W2).
        bell.ring();
        let over = || self.index < self.core.places() || self.core.is_over();
        let has_worked = self.row.kernels.iter().any(|stats| stats.activations.get() > 0);
        self.row.worker.place.store(0, Relaxed);
        self.row.worker.at.set(At::Bench.number());
        // Only at the start: later a first worker that the system has stopped for a while would look like one at a long message.
        if self.index == 1 && !has_worked {
            crew::watch(self, hire, over);
        }
        let start = self.row.ring.as_ref().map(|_| now());
        self.core.bench.wait(&self.parker, over);
        if let (Some(ring), Some(start)) = (&self.row.ring, start) {
            ring.note(Did::SatOut, start.as_nanos(), now().as_nanos());
        }
        self.spread_out();
        bell.join();
    }

    /// After another worker was called: see [`spread_out`](Self::spread_out).
    pub(crate) fn make_way(&self) {
        if self.core.spread {
            thread::make_way();
        }
    }

    /// Back at work: goes to a hardware thread on which no other worker of this run works. A system may wake a thread on that of its waker, and leave it there
    /// for milliseconds, although another one is idle: seen on virtual machines, where an idle CPU looks like one that its host has taken away.
    fn spread_out(&self) {
        self.row.worker.at.set(At::Looks.number());
        let Some(here) = thread::current_cpu().filter(|_| self.core.spread) else { return };
        let places = || self.core.rows.iter().filter_map(|row| row.worker.place.load(Relaxed).checked_sub(1));
        // Two that look at once may both go, or stay: it is worth time, not more.
        if places().any(|place| place == here) {
            thread::move_away_from(&places().collect::<Vec<_>>(), 1);
        }
        self.row.worker.place.store(thread::current_cpu().map_or(0, |cpu| cpu + 1), Relaxed);
    }
}

/// What policies look at.
impl Board for Core<'_> {
    fn fill(&self, edge: usize) -> f32 {
        self.edges[edge].fill()
    }

    fn is_ready(&self, kernel: usize) -> bool {
        Core::is_ready(self, kernel)
    }
}

impl fmt::Debug for Worker<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Worker({})", self.index)
    }
}
