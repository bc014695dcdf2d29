//! `daemon/four`: four applications on one machine, whose bursts take turns, under the daemon's policy, with a quarter of the machine each, and
//! managed by nobody.
//!
//! Each is a graph with threads of its own. The daemon is a thread that does what it does between processes: it looks at what each could use, shares
//! the cores out, and bounds each. Pages and sockets are left out, as a modelled machine has no processes.

use std::cmp::Ordering::Equal;

use serde_json::json;
use thalweg::prelude::*;
use thalweg::{Allowance, Demand};
use thalweg_daemon::{Claim, Policy, Wish, share};
use thalweg_sync::atomic::AtomicBool;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::time::{Duration, Instant};
use thalweg_sync::{CachePadded, thread, time};

use crate::worlds;
use crate::worlds::experiment::{Experiment, Panel, Setting};
use crate::worlds::point::{Figures, Point, Run};

pub(crate) const EXPERIMENT: Experiment = Experiment::new("daemon/four", points)
    .here(&[P50, P99, TIME])
    .panels(&[Panel::Of(P50), Panel::Of(P99), Panel::Of(TIME)])
    .paper(beside);

const APPLICATIONS: usize = 4;
const P50: &str = "us in the median";
const P99: &str = "us at 99 %";
const TIME: &str = "ms until all is done";

/// How the cores are shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manager {
    Nobody,
    Quarters,
    Daemon,
}

const MANAGERS: [(&str, Manager); 3] = [
    ("managed by nobody", Manager::Nobody),
    ("a quarter each", Manager::Quarters),
    ("the daemon's policy", Manager::Daemon),
];

/// What a message takes.
const WORK_NANOS: u64 = 20_000;
/// Between two deliveries.
const STEP: Duration = Duration::from_millis(1);
/// Deliveries of a burst.
const BURST: u64 = 24;
/// Of the cores, what a burst needs and what the others need meanwhile, in percent.
const NEEDS: (u64, u64) = (70, 8);
/// Between two looks of the daemon.
const LOOK: Duration = Duration::from_millis(2);

fn points(setting: &Setting<'_>) -> Vec<Point> {
    let cores = setting.threads;
    let mhz = setting.world.mhz();
    let rounds = if setting.quick { 1 } else { 3 };
    let burst = setting.part(BURST, 2);
    let per_core = STEP.as_nanos() as u64 / WORK_NANOS;
    let load = Load {
        rounds,
        burst,
        busy: (cores as u64 * per_core * NEEDS.0 / 100).max(1),
        calm: (cores as u64 * per_core * NEEDS.1 / 100).max(1),
        work: WORK_NANOS * mhz / 1000,
    };
    MANAGERS
        .map(|(contender, manager)| Point {
            workload: "four applications whose bursts take turns",
            contender,
            label: format!("{cores} cores"),
            params: json!({ "messages": load.messages(), "burst_ms": burst, "rounds": rounds, "cores": cores }),
            threads: cores,
            messages: load.messages(),
            device: None,
            client: Box::new(move || run(load, manager, cores)),
        })
        .into()
}

/// What is delivered to each application.
#[derive(Clone, Copy, Debug)]
struct Load {
    rounds: u64,
    burst: u64,
    /// Messages of a delivery within a burst, and of one between bursts.
    busy: u64,
    calm: u64,
    /// Cycles of a message.
    work: u64,
}

impl Load {
    fn steps(&self) -> u64 {
        self.rounds * APPLICATIONS as u64 * self.burst
    }

    /// How many messages come in a step.
    fn at(&self, application: usize, step: u64) -> u64 {
        if (step / self.burst) as usize % APPLICATIONS == application { self.busy } else { self.calm }
    }

    /// Of all applications.
    fn messages(&self) -> u64 {
        self.rounds * self.burst * APPLICATIONS as u64 * (self.busy + (APPLICATIONS as u64 - 1) * self.calm)
    }
}

fn run(load: Load, manager: Manager, cores: usize) -> Figures {
    let start = time::now();
    let done = CachePadded(AtomicBool::new(false));
    let workers = if manager == Manager::Quarters { (cores / APPLICATIONS).max(1) } else { cores };
    let mut delays: Vec<u64> = thread::scope(|scope| {
        let (mut allowances, mut applications) = (Vec::new(), Vec::new());
        for number in 0..APPLICATIONS {
            let graph = Graph::new();
            allowances.push(graph.allowance());
            applications.push(scope.spawn(move || application(graph, number, load, workers, start)));
        }
        let done = &done;
        let daemon = (manager == Manager::Daemon).then(|| scope.spawn(move || serve(&allowances, cores, done)));
        let delays =
            applications.into_iter().flat_map(|thread| thread.join().expect("no application panics")).collect();
        done.store(true, Relaxed);
        daemon.into_iter().for_each(|thread| thread.join().expect("the daemon does not panic"));
        delays
    });
    let nanos = start.elapsed().as_nanos() as u64;
    assert_eq!(delays.len() as u64, load.messages(), "a message was lost");
    delays.sort_unstable();
    let micros = |percent: usize| delays[(delays.len() * percent / 100).min(delays.len() - 1)] as f64 / 1e3;
    let more = vec![(P50, micros(50)), (P99, micros(99)), (TIME, nanos as f64 / 1e6)];
    Figures { more, ..Figures::new(load.messages(), nanos) }
}

/// Works on what a feeder delivers, and says how long each message took from when it was due.
fn application(mut graph: Graph<'_>, number: usize, load: Load, workers: usize, start: Instant) -> Vec<u64> {
    let nanos = move || start.elapsed().as_nanos() as u64;
    // Room for all of it: the feeder never waits.
    let (source, inlet) = graph.inlet::<u64>((load.steps() * load.busy) as usize).expect("the shape is possible");
    let work = graph.parallel_map(move |due: u64| {
        worlds::work(load.work);
        due
    });
    let (end, delays) = graph.gather(Vec::new(), move |delays: &mut Vec<u64>, due: u64| delays.push(nanos() - due));
    graph += source >> work >> end;
    thread::scope(|scope| {
        scope.spawn(move || {
            for step in 0..load.steps() {
                let due = STEP * step as u32;
                thread::sleep(due.saturating_sub(start.elapsed()));
                for _ in 0..load.at(number, step) {
                    inlet.push(due.as_nanos() as u64).expect("the run goes on until the inlet is gone");
                }
            }
        });
        graph.run(Scheme::default().workers(workers)).expect("the application runs to its end");
    });
    drop(graph);
    delays.take()
}

/// Shares out the cores until all is done.
fn serve(allowances: &[Allowance], cores: usize, done: &AtomicBool) {
    let mut seen = vec![Demand::default(); allowances.len()];
    let mut granted = vec![u32::MAX; allowances.len()];
    let mut looked = time::now();
    while !done.load(Relaxed) {
        let passed = std::mem::replace(&mut looked, time::now());
        let passed = looked.since(passed);
        let mut look = |(allowance, (seen, &had)): (&Allowance, (&mut Demand, &u32))| {
            let before = std::mem::replace(seen, allowance.demand());
            let busy = Duration::from_nanos(seen.busy.saturating_sub(before.busy));
            Claim { wish: Wish::seen(seen.could as u32, seen.work, had, busy, passed), weight: 1, had }
        };
        let claims: Vec<Claim> = allowances.iter().zip(seen.iter_mut().zip(&granted)).map(&mut look).collect();
        granted = share(cores as u32, Policy::Delay, &claims);
        for (allowance, &cores) in allowances.iter().zip(&granted) {
            allowance.allow(cores as usize);
        }
        thread::sleep(LOOK);
    }
}

/// Against the better of the two others in time, and against nobody in delay.
fn beside(points: &[Point], measured: &[Vec<Run>]) -> String {
    let figure = |at: usize, unit| points[at].figure(&measured[at], unit).unwrap_or(f64::NAN);
    let mut text = format!("{:24}{:>20}{:>16}{:>24}\n", "", P50, P99, TIME);
    for (at, point) in points.iter().enumerate() {
        let [median, most, time] = [P50, P99, TIME].map(|unit| figure(at, unit));
        text += &format!("{:24}{median:>20.0}{most:>16.0}{time:>24.1}\n", point.contender);
    }
    let best = (0..2).map(|at| figure(at, TIME)).min_by(|a, b| a.partial_cmp(b).unwrap_or(Equal)).unwrap_or(f64::NAN);
    let (time, delay) = (figure(2, TIME) / best, figure(2, P99) / figure(0, P99));
    text + &format!(
        "the daemon's time over the better one's {time:.3}, its 99 % over nobody's {delay:.2}; to reach 1.05 and 0.5\n\n"
    )
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use thalweg_sim::Machine;

    #[test]
    fn all_is_done_whoever_manages() {
        let machine = Machine::named("x86-40").unwrap();
        for point in points(&Setting::of(&machine, 4)) {
            let run = point.run(&machine, 0).unwrap_or_else(|error| panic!("{}: {error}", point.title()));
            assert_eq!(run.0.messages, point.messages);
        }
    }
}
