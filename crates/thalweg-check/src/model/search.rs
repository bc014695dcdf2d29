//! The loop over executions, on one thread or several.

use super::abort::repeating;
use super::check::{Check, Explored, Progress};
use super::estimate::{Estimate, estimate};
use super::explore::Explorer;
use super::graph::ExecutionGraph;
use super::guide::Guide;
use super::pool::{Counts, Pool};
use super::report::{Replay, Rule, Violation};
use super::run::{Outcome, Run};
use std::alloc::Layout;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often progress is told.
const TELLS: Duration = Duration::from_millis(100);
/// After how long the total is estimated, and how long that takes.
const ESTIMATES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_millis(300));

/// In so many of the first executions, and then in one of so many, equal threads are exchanged.
const EXCHANGES: u64 = 64;

/// A search under way.
pub(super) struct Search<'a> {
    check: &'a Check,
    client: &'a (dyn Fn() + Sync),
    pool: Pool,
    start: Instant,
    /// There is one execution, which was asked for.
    alone: bool,
    // What follows is counted for bounds and progress alone: Relaxed, for nothing is ordered by it.
    complete: AtomicU64,
    blocked: AtomicU64,
    bounded: AtomicBool,
    /// See M1.
    layouts: Vec<Layout>,
    learned: Mutex<Option<Layout>>,
    guide: Option<Guide>,
    /// The graphs that were visited.
    #[cfg(debug_assertions)]
    met: Mutex<std::collections::HashSet<u64>>,
}

/// Ends the search if a worker panics, or the others would wait for it.
struct StopOnPanic<'a>(&'a Pool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

impl<'a> Search<'a> {
    pub(super) fn new(check: &'a Check, guide: Option<Guide>, client: &'a (dyn Fn() + Sync)) -> Self {
        Self {
            check,
            client,
            alone: guide.is_some(),
            pool: Pool::new(Explorer::new(check.rules, guide.clone())),
            start: Instant::now(),
            complete: AtomicU64::new(0),
            blocked: AtomicU64::new(0),
            bounded: AtomicBool::new(false),
            layouts: guide.as_ref().map_or(Vec::new(), |guide| guide.layouts().to_vec()),
            learned: Mutex::new(None),
            guide,
            #[cfg(debug_assertions)]
            met: Mutex::default(),
        }
    }

    pub(super) fn run(mut self) -> Result<Explored, Violation> {
        loop {
            self.work_together();
            let Some(layout) = self.learned.get_mut().unwrap_or_else(PoisonError::into_inner).take() else { break };
            let layouts = std::mem::take(&mut self.layouts).into_iter().chain([layout]).collect();
            self = Self { layouts, start: self.start, ..Self::new(self.check, self.guide.take(), self.client) };
        }
        self.result()
    }

    /// Runs executions until there are none, or something was learned.
    fn work_together(&self) {
        // Threads of their own: a coroutine that is stuck while it unwinds leaves the thread's panic count wrong for
        // good.
        std::thread::scope(|scope| {
            let search = self;
            let workers = (0..self.check.threads).map(|worker| scope.spawn(move || search.work(worker == 0)));
            let workers = workers.collect::<Vec<_>>();
            let ended = workers.into_iter().map(|worker| worker.join()).collect::<Vec<_>>();
            if let Some(panic) = ended.into_iter().find_map(Result::err) {
                std::panic::resume_unwind(panic);
            }
        });
    }

    fn result(self) -> Result<Explored, Violation> {
        let (duration, bounded) = (self.start.elapsed(), self.bounded.into_inner());
        let Counts { complete, blocked, dropped, stuck, exchanged, events, threads, accesses } = self.pool.result()?;
        if (threads < 2 || !accesses) && !(self.check.sequential || self.alone || bounded) {
            let rule = Rule::NothingShared { threads };
            return Err(Violation { rule, graph: Box::default(), complete, replay: Replay::Plain });
        }
        Ok(Explored { complete, blocked, dropped, stuck, exchanged, events, threads, duration, bounded })
    }

    /// Does parts until there are none. The first worker tells how it goes.
    fn work(&self, first: bool) {
        let _stop = StopOnPanic(&self.pool);
        let run = self.another_run();
        if self.check.leaks {
            assert!(run.blocks().is_installed(), "leaks are seen by `Heap` only: make it the `#[global_allocator]`");
            let once = self.another_run();
            once.enter(|| once.execute(self.client));
        }
        let mut watch = (first && self.check.watcher.is_some()).then_some((self.start, None));
        run.enter(|| {
            while let Some((ticket, part)) = self.pool.take() {
                // What is to be visited comes from another worker, as a choice that is not yet taken.
                let is_whole = part.is_whole();
                run.state().explorer = *part;
                let mut counts = Counts::default();
                let violation = if is_whole || run.state().explorer.advance() {
                    self.explore(&run, ticket, &mut counts, &mut watch)
                } else {
                    None
                };
                counts.dropped += run.state().explorer.dropped;
                self.pool.end(ticket, counts, violation);
            }
        });
    }

    fn another_run(&self) -> Run {
        Run::new(Explorer::new(self.check.rules, None), self.check.limits, self.layouts.clone())
    }

    /// Runs the executions of one part.
    fn explore(
        &self,
        run: &Run,
        ticket: u64,
        counts: &mut Counts,
        watch: &mut Option<(Instant, Option<Estimate>)>,
    ) -> Option<Violation> {
        loop {
            let outcome = run.execute(self.client);
            self.note(run, &outcome);
            if self.is_enough(&outcome) {
                return None;
            }
            counts.stuck += u64::from(run.stuck.get());
            let outcome = self.again(run, counts, outcome);
            counts.threads = counts.threads.max(run.state().explorer.graph.threads());
            counts.accesses |= run.state().has_accesses();
            let is_complete = matches!(outcome, Outcome::Complete);
            let rule = match outcome {
                Outcome::Complete => {
                    counts.complete += 1;
                    counts.events += run.state().explorer.graph.order.len() as u64;
                    self.judge(run)
                }
                Outcome::Blocked => {
                    counts.blocked += 1;
                    None
                }
                Outcome::Dropped => {
                    counts.dropped += 1;
                    None
                }
                Outcome::Learned(layout) => {
                    *self.learned.lock().unwrap_or_else(PoisonError::into_inner) = Some(layout);
                    self.pool.stop();
                    return None;
                }
                Outcome::Broken(rule) => Some(rule),
            };
            if let Some(rule) = rule {
                let graph = run.portrait();
                let rule = self.confirm(run, rule);
                return Some(Violation { rule, graph, complete: counts.complete, replay: Replay::Plain });
            }
            if is_complete && let Some((rule, graph)) = self.exchange(run, counts) {
                return Some(Violation { rule, graph, complete: counts.complete, replay: Replay::Plain });
            }
            if !self.alone && self.pool.wants() {
                let part = run.state().explorer.split();
                part.into_iter().for_each(|part| self.pool.give(ticket, part));
            }
            if let Some(watch) = watch {
                self.tell(watch);
            }
            if self.alone || !self.pool.goes_on(ticket) || !run.state().explorer.advance() {
                return None;
            }
        }
    }

    /// Runs an execution again, now and then: the same choices have to lead to the same events. What a search meets next
    /// begins as this one did, but its end is not looked at again, and the end of the last one of all never.
    fn again(&self, run: &Run, counts: &Counts, outcome: Outcome) -> Outcome {
        let before = counts.complete + counts.blocked + 1;
        if !matches!(outcome, Outcome::Complete | Outcome::Blocked) || !before.is_power_of_two() || self.alone {
            return outcome;
        }
        let events = run.state().explorer.graph.order.len();
        let accesses = std::mem::take(&mut run.state().slots.log);
        let again = run.execute(self.client);
        let state = run.state();
        if let Some(&more) = state.explorer.graph.order.get(events) {
            return Outcome::Broken(state.surplus(more));
        }
        match again {
            Outcome::Broken(_) => again,
            _ => state.slots.log.differs(accesses).map_or(again, Outcome::Broken),
        }
    }

    /// Lets two equal threads change places in the execution, now and then (E4). What is wrong then, and in which graph.
    fn exchange(&self, run: &Run, counts: &mut Counts) -> Option<(Rule, Box<ExecutionGraph>)> {
        let number = counts.complete;
        let (guide, why) = {
            let state = run.state();
            let graph = &state.explorer.graph;
            let pair = graph.equals(number).filter(|_| !self.alone)?;
            let is_due = number <= EXCHANGES || number.is_multiple_of(EXCHANGES);
            (is_due.then(|| Guide::of(graph).exchanged(pair)), graph.tells_apart())
        };
        if let Some(why) = why {
            return Some((Rule::Unequal { why }, run.portrait()));
        }
        let other = Explorer::new(self.check.rules, Some(guide?));
        let own = std::mem::replace(&mut run.state().explorer, other);
        counts.exchanged += 1;
        let rule = match run.execute(self.client) {
            Outcome::Complete => self.judge(run),
            Outcome::Broken(Rule::NoSuchExecution { why }) => {
                Some(Rule::Unequal { why: format!("with two of them exchanged there is no such execution: {why}") })
            }
            Outcome::Broken(rule) => Some(rule),
            Outcome::Blocked => {
                Some(Rule::Unequal { why: "with two of them exchanged the execution does not end".to_owned() })
            }
            Outcome::Dropped | Outcome::Learned(_) => None,
        };
        let found = rule.map(|rule| (rule, run.portrait()));
        run.state().explorer = own;
        found
    }

    /// What the client says is wrong has to be wrong again after the same choices.
    fn confirm(&self, run: &Run, rule: Rule) -> Rule {
        if matches!(rule, Rule::UseAfterFree { .. } | Rule::FreedTwice { .. } | Rule::Leaks { .. }) {
            return self.trace(run, rule);
        }
        if self.alone || !matches!(rule, Rule::Panic { .. } | Rule::Specification { .. }) {
            return rule;
        }
        let again = repeating(|| match run.execute(self.client) {
            Outcome::Complete => self.judge(run),
            Outcome::Broken(again) => Some(again),
            Outcome::Blocked | Outcome::Dropped | Outcome::Learned(_) => None,
        });
        match again {
            Some(_) => rule,
            None => Rule::Unrepeatable { once: Box::new(rule) },
        }
    }

    /// Runs the execution once more, to see where memory was allocated and freed.
    fn trace(&self, run: &Run, rule: Rule) -> Rule {
        run.blocks().trace(true);
        let again = repeating(|| match run.execute(self.client) {
            Outcome::Complete => self.judge(run),
            Outcome::Broken(again) => Some(again),
            Outcome::Blocked | Outcome::Dropped | Outcome::Learned(_) => None,
        });
        run.blocks().trace(false);
        again.filter(|again| std::mem::discriminant(again) == std::mem::discriminant(&rule)).unwrap_or(rule)
    }

    /// No graph is visited twice.
    fn note(&self, run: &Run, outcome: &Outcome) {
        #[cfg(debug_assertions)]
        if matches!(outcome, Outcome::Complete | Outcome::Blocked) {
            let graph = &run.state().explorer.graph;
            let is_new = self.met.lock().is_ok_and(|mut met| met.insert(graph.fingerprint()));
            assert!(is_new, "the engine visits a graph twice:\n{graph}");
        }
        let _ = (run, outcome);
    }

    /// Counts an execution. Whether there were enough before it: then it does not count.
    fn is_enough(&self, outcome: &Outcome) -> bool {
        let counter = match outcome {
            Outcome::Complete => &self.complete,
            Outcome::Blocked => &self.blocked,
            Outcome::Dropped | Outcome::Learned(_) | Outcome::Broken(_) => return false,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        let executions = self.complete.load(Ordering::Relaxed) + self.blocked.load(Ordering::Relaxed);
        let is_last = self.check.max_executions.is_some_and(|max| executions >= max)
            || self.check.max_time.is_some_and(|max| self.start.elapsed() >= max);
        if is_last {
            self.bounded.store(true, Ordering::Relaxed);
            self.pool.stop();
        }
        self.check.max_executions.is_some_and(|max| executions > max)
    }

    /// Whether a complete execution meets its specification.
    fn judge(&self, run: &Run) -> Option<Rule> {
        if let Some(hook) = &self.check.hook {
            // Out of the state meanwhile: what the hook does with the facade is counted there.
            let graph = std::mem::take(&mut run.state().explorer.graph);
            let result = catch_unwind(AssertUnwindSafe(|| hook(&graph)));
            run.state().explorer.graph = graph;
            if let Err(panic) = result {
                return Some(Rule::Specification { message: crate::world::message(&*panic) });
            }
        }
        // After the hook, which may give back what the client has left for it: a history.
        if self.check.leaks
            && let Some((blocks, bytes, first)) = run.blocks().leaked()
        {
            return Some(Rule::Leaks { blocks, bytes, first });
        }
        None
    }

    /// Tells how it goes, now and then.
    fn tell(&self, (last, estimated): &mut (Instant, Option<Estimate>)) {
        let Some(watcher) = &self.check.watcher else { return };
        if last.elapsed() < TELLS {
            return;
        }
        let duration = self.start.elapsed();
        let (after, time) = ESTIMATES;
        if estimated.is_none() && duration >= after && *last < self.start + after {
            let run = self.another_run();
            let root = || Explorer::new(self.check.rules, None);
            *estimated = run.enter(|| estimate(&run, root, time, self.client));
        }
        *last = Instant::now();
        watcher(&Progress {
            complete: self.complete.load(Ordering::Relaxed),
            blocked: self.blocked.load(Ordering::Relaxed),
            duration,
            estimate: *estimated,
        });
    }
}

impl Check {
    /// Estimates how many executions `client` has, by random walks for about `time`. None if a walk finds a violation.
    ///
    /// A client with a hundred executions needs no estimate; one with more than can be run gets at least an order of
    /// magnitude: see [`Estimate::error`].
    ///
    /// ```
    /// use thalweg_check::Check;
    /// use thalweg_sync::{atomic::{AtomicU64, Ordering::Relaxed}, thread};
    ///
    /// let estimate = Check::new().estimate(std::time::Duration::from_secs(2), || {
    ///     let counter = AtomicU64::new(0);
    ///     thread::scope(|scope| {
    ///         for _ in 0..4 {
    ///             scope.spawn(|| counter.fetch_add(1, Relaxed));
    ///         }
    ///     });
    /// });
    /// // There are 4! = 24.
    /// assert!((6.0..96.0).contains(&estimate.expect("nothing is wrong").complete));
    /// ```
    pub fn estimate(&self, time: Duration, client: impl Fn() + Send + Sync + 'static) -> Option<Estimate> {
        let mut search = Search::new(self, None, &client);
        let walk = || loop {
            let run = search.another_run();
            let estimated = run.enter(|| estimate(&run, || Explorer::new(self.rules, None), time, &client));
            match run.learned() {
                Some(layout) => search.layouts.push(layout),
                None => return estimated,
            }
        };
        std::thread::scope(|scope| scope.spawn(walk).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
