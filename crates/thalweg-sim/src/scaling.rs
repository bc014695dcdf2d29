//! How a program scales, and what stops it: the same program on 1, 2, 4 … hardware threads of a machine.

use crate::failure::{Failure, counted};
use crate::machine::{Machine, MachineError};
use crate::notes::Latencies;
use crate::record::Record;
use crate::report::{Layout, Report, TaskReport};
use crate::simulation::Simulation;
use serde_json::json;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use thalweg_figure::{Curve, Plot, Shape, Spread, draw};

/// A program to be run on a growing part of a machine.
///
/// ```
/// use thalweg_sim::{Machine, Study};
/// use thalweg_sync::{hint, thread};
///
/// // As many workers as hardware threads share 64 pieces of work.
/// let scaling = Study::new(Machine::named("vl-16")?).threads(8).seeds(1).run("shares", || {
///     let workers = thread::available_parallelism() as u64;
///     thread::scope(|scope| {
///         for _ in 0..workers {
///             scope.spawn(move || (0..64 / workers).for_each(|_| hint::work(50_000)));
///         }
///     });
///     64
/// })?;
/// assert!(scaling.speed_up(8) > 5.0);
/// println!("{scaling}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Study {
    machine: Machine,
    threads: usize,
    seeds: u64,
    limit: u64,
    trace: usize,
}

impl Study {
    /// A study of up to all threads of `machine`, each point with three seeds, each run of a minute of simulated time at
    /// most.
    pub fn new(machine: Machine) -> Self {
        Self { threads: machine.threads(), machine, seeds: 3, limit: 60_000_000_000, trace: 0 }
    }

    /// Up to how many hardware threads.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// With how many seeds each point is run; at least 1.
    pub fn seeds(mut self, seeds: u64) -> Self {
        self.seeds = seeds.max(1);
        self
    }

    /// After how many nanoseconds of simulated time a run is given up.
    pub fn limit(mut self, nanos: u64) -> Self {
        self.limit = nanos;
        self
    }

    /// How many events the trace of the largest point may have; 0 is none.
    pub fn trace(mut self, events: usize) -> Self {
        self.trace = events;
        self
    }

    /// Runs `program` on 1, 2, 4 … hardware threads and on all; several runs at a time, for simulations share nothing.
    /// It says how much it did, in messages, say. What it finds out about the machine
    /// ([`available_parallelism`](thalweg_sync::thread::available_parallelism)) is the simulated one.
    ///
    /// Errors with the first failure, if the machine has fewer threads than were asked for, and if a run did nothing or took no
    /// time, which has no speed.
    pub fn run(&self, name: &str, program: impl Fn() -> u64 + Sync) -> Result<Scaling, Failure> {
        let most = self.machine.threads();
        if !(1..=most).contains(&self.threads) {
            let (machine, asked) = (self.machine.name().to_owned(), self.threads);
            return Err(MachineError::TooManyThreads { machine, asked, threads: most }.into());
        }
        let steps = steps(self.threads);
        let runs: Vec<(usize, u64)> =
            steps.iter().flat_map(|&threads| (0..self.seeds).map(move |seed| (threads, seed))).collect();
        let results = in_parallel(runs.len(), |run| {
            let (threads, seed) = runs[run];
            self.one(threads, seed, &program)
        });
        let point = |&threads: &usize| ScalingPoint { threads, messages: 0, reports: Vec::new(), done: Vec::new() };
        let mut points: Vec<ScalingPoint> = steps.iter().map(point).collect();
        for (result, (threads, _)) in results.into_iter().zip(&runs) {
            let (messages, report) = result?;
            let point = points.iter_mut().find(|point| point.threads == *threads).expect("a step for every run");
            point.done.push(messages);
            point.messages = point.done[0];
            point.reports.push(report);
        }
        Ok(Scaling { name: name.to_owned(), machine: self.machine.clone(), points })
    }

    /// The first run of [`run`](Self::run), on one hardware thread with the first seed, once more.
    pub(crate) fn first_again(&self, program: impl Fn() -> u64 + Sync) -> Result<Report, Failure> {
        self.one(1, 0, &program).map(|(_, report)| report)
    }

    fn one(&self, threads: usize, seed: u64, program: &(impl Fn() -> u64 + Sync)) -> Result<(u64, Report), Failure> {
        // What is told of lines and fields, and the trace, is of this run.
        let told = threads == self.threads && seed == 0;
        let simulation = Simulation::new(self.machine.clone()).threads(threads).seed(seed);
        let simulation = simulation.count_hits(told).trace(if told { self.trace } else { 0 });
        let (messages, report) = simulation.limit(self.limit).stack_bytes(1 << 20).try_run(program)?;
        if messages == 0 || report.nanos == 0 {
            return Err(Failure::Nothing { threads, messages, nanos: report.nanos });
        }
        Ok((messages, report))
    }
}

/// 1, 2, 4 … up to `most`, and that too.
fn steps(most: usize) -> Vec<usize> {
    let mut steps: Vec<usize> = std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|&n| n < most).collect();
    steps.push(most);
    steps
}

/// Does `count` things, the last first (they tend to be the longest), on as many threads as the host has.
pub fn in_parallel<R: Send>(count: usize, one: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let left = AtomicUsize::new(count);
    let results = Mutex::new(Vec::new());
    // Relaxed: it only deals out numbers.
    let next = || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).ok().map(|n| n - 1);
    std::thread::scope(|scope| {
        let workers = std::thread::available_parallelism().map_or(1, |workers| workers.get()).min(count);
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(number) = next() {
                    let result = one(number);
                    results.lock().expect("no worker panics here").push((number, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no worker panicked");
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

/// A program on one part of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScalingPoint {
    /// How many hardware threads.
    pub threads: usize,
    /// How much was done, with seed 0.
    pub messages: u64,
    /// What each seed gave.
    pub reports: Vec<Report>,
    /// How much was done with each.
    done: Vec<u64>,
}

impl ScalingPoint {
    /// Nanoseconds for a message.
    pub fn nanos(&self) -> Spread {
        let each = |(report, &done): (&Report, &u64)| report.nanos as f64 / done.max(1) as f64;
        Spread::of(self.reports.iter().zip(&self.done).map(each))
    }

    /// Where the time of the hardware threads went: the shares, in order, of working, waiting for memory, spinning, and
    /// of nothing to do or nobody to do it.
    pub fn shares(&self) -> [f64; 4] {
        let report = &self.reports[0];
        let all = (report.nanos * self.threads as u64).max(1) as f64;
        let sum = |of: fn(&crate::ThreadReport) -> u64| report.per_thread.iter().map(of).sum::<u64>() as f64 / all;
        let (stalled, spinning) = (sum(|thread| thread.stalled), sum(|thread| thread.spinning));
        let there = sum(|thread| (thread.ended - thread.started).saturating_sub(thread.off + thread.wanting));
        let working = (there - stalled - spinning).max(0.0);
        [working, stalled, spinning, (1.0 - there).max(0.0)]
    }

    /// On how many threads a task ran on average.
    fn busy(&self, task: &TaskReport) -> f64 {
        task.nanos as f64 / self.reports[0].nanos.max(1) as f64
    }
}

/// How a program scales. `Display` tells it as a table, and what stops it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Scaling {
    /// The program.
    pub name: String,
    /// The machine.
    pub machine: Machine,
    /// From one thread to all. Never empty.
    pub points: Vec<ScalingPoint>,
}

impl Scaling {
    /// How many times as fast the program is with `threads` hardware threads as with one; 0 if there is no such point.
    pub fn speed_up(&self, threads: usize) -> f64 {
        let point = self.points.iter().find(|point| point.threads == threads);
        point.map_or(0.0, |point| self.points[0].nanos().median / point.nanos().median)
    }

    fn largest(&self) -> &ScalingPoint {
        self.points.last().expect("there is a point")
    }

    /// The report of the largest point with seed 0, with its trace if one was asked for.
    pub fn largest_report(&self) -> &Report {
        &self.largest().reports[0]
    }

    /// A line of JSON for each point, with the fields of the lab's records.
    pub fn to_json(&self) -> String {
        let mut lines = String::new();
        for point in &self.points {
            let report = &point.reports[0];
            let [working, memory, spinning, asleep] = point.shares();
            let tasks: Vec<_> = (report.tasks.iter())
                .map(|task| json!({ "name": task.name, "threads_busy": point.busy(task), "times": task.times }))
                .collect();
            let record = Record {
                experiment: &self.name,
                workload: "scaling",
                contender: &self.name,
                unit: "ns/msg",
                spread: point.nanos(),
                runs: point.reports.len(),
                params: json!({
                    "latencies": report.latencies,
                    "threads": point.threads, "messages": point.messages, "speed_up": self.speed_up(point.threads),
                    "shares": { "working": working, "memory": memory, "spinning": spinning, "asleep": asleep },
                    "layout": report.layout, "tasks": tasks,
                    "fields": report.fields.iter().take(5).collect::<Vec<_>>(),
                    "contended": report.lines.iter().take(5).collect::<Vec<_>>(),
                }),
                machine: &self.machine,
            };
            lines += &record.to_json();
        }
        lines
    }

    /// The curve as a picture: throughput beside the ideal.
    pub fn to_svg(&self) -> String {
        let rate = |nanos: f64| 1000.0 / nanos;
        let curve = |name: &str, dashed, of: &dyn Fn(&ScalingPoint) -> Spread| Curve {
            name: name.to_owned(),
            dashed,
            points: (self.points.iter())
                .map(|point| (point.threads as f64, point.threads.to_string(), of(point)))
                .collect(),
        };
        let one = rate(self.points[0].nanos().median);
        let curves = vec![
            curve(&self.name, false, &|point| point.nanos().inverted(rate)),
            curve("ideal", true, &|point| Spread::of([one * point.threads as f64])),
        ];
        let plot = Plot {
            title: format!("{} on {}", self.name, self.machine.name()),
            note: String::new(),
            unit: "million messages a second".to_owned(),
            shape: Shape::Curves { across: "hardware threads".to_owned(), curves },
        };
        draw(&[plot], &format!("{}, simulated", self.machine.about()))
    }
}

impl fmt::Display for Scaling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (&self.points[0], self.largest());
        let Self { name, machine, .. } = self;
        writeln!(
            f,
            "{name} on {}, up to {} of {} threads, {}, {}\n",
            machine.name(),
            last.threads,
            machine.threads(),
            counted(last.messages, "message"),
            counted(first.reports.len() as u64, "seed")
        )?;
        if self.largest_report().layout == Layout::Host {
            writeln!(
                f,
                "The host's allocator decides which small objects share a line: these figures are this host's (see Heap).\n"
            )?;
        }
        writeln!(
            f,
            "{:>8}{:>10}{:>18}{:>11}{:>10}{:>10}{:>10}{:>10}{:>10}",
            "threads", "Mmsg/s", "range", "ns", "speed-up", "working", "memory", "spinning", "asleep"
        )?;
        for point in &self.points {
            let nanos = point.nanos();
            let Spread { median, min, max } = nanos.inverted(|nanos| 1000.0 / nanos);
            write!(
                f,
                "{:>8}{median:>10.3}{:>18}{:>11.1}{:>10.2}",
                point.threads,
                format!("{min:.3} to {max:.3}"),
                nanos.median,
                self.speed_up(point.threads)
            )?;
            point.shares().iter().try_for_each(|share| write!(f, "{:>8.1} %", 100.0 * share))?;
            writeln!(f)?;
        }
        self.latencies(f)?;
        self.what_stops_it(f)
    }
}

/// A task that is busy for so much of a run, and for no more than all of it, sets the pace.
const PACE: std::ops::Range<f64> = 0.8..1.03;

impl Scaling {
    /// How long messages took that carried a stamp, if there were any.
    fn latencies(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stamped = self.points.iter().filter_map(|point| Some((point.threads, point.reports[0].latencies?)));
        for (number, (threads, latencies)) in stamped.enumerate() {
            if number == 0 {
                writeln!(f, "\nHow long messages took, ns, seed 0:")?;
                writeln!(f, "{:>8}{:>12}{:>12}{:>12}{:>12}", "threads", "p50", "p99", "p99.9", "max")?;
            }
            let Latencies { p50, p99, p999, max, .. } = latencies;
            writeln!(f, "{threads:>8}{p50:>12}{p99:>12}{p999:>12}{max:>12}")?;
        }
        Ok(())
    }

    fn what_stops_it(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = self.largest();
        let report = self.largest_report();
        let best = self.points.iter().min_by(|a, b| a.nanos().median.total_cmp(&b.nanos().median));
        let best = best.expect("there is a point").threads;
        writeln!(f, "\nFastest with {best}: {:.2} times as fast as with 1.", self.speed_up(best))?;
        if !report.tasks.is_empty() {
            let threads = counted(last.threads as u64, "thread");
            writeln!(f, "\nWhat {} do:\n{:>14}{:>14}", threads, "threads busy", "activations")?;
        }
        for task in report.tasks.iter().take(8) {
            let busy = last.busy(task);
            let note = if PACE.contains(&busy) { "  one at a time, all the time: it sets the pace" } else { "" };
            writeln!(f, "{busy:>14.2}{:>14}  {}{note}", task.times, task.name)?;
        }
        let head = format!("{:>12}{:>12}{:>14}", "misses", "invalidated", "ns waited");
        if !report.lines.is_empty() {
            writeln!(f, "\nThe lines that they wait for most, seed 0:\n{head}")?;
        }
        for line in report.lines.iter().take(5) {
            let fields: Vec<_> = line.fields.iter().take(3).map(String::as_str).collect();
            let cost = &line.cost;
            writeln!(f, "{:>12}{:>12}{:>14}  {}", cost.misses, cost.invalidations, cost.nanos, fields.join(", "))?;
        }
        if !report.fields.is_empty() {
            writeln!(f, "\nThe same by what is accessed, all lines together:\n{head}")?;
        }
        for field in report.fields.iter().take(5) {
            let cost = &field.cost;
            writeln!(f, "{:>12}{:>12}{:>14}  {}", cost.misses, cost.invalidations, cost.nanos, field.name)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_sync::{hint, thread, time};

    #[test]
    fn steps_are_powers_of_two_and_the_end() {
        assert_eq!(steps(1), [1]);
        assert_eq!(steps(8), [1, 2, 4, 8]);
        assert_eq!(steps(11), [1, 2, 4, 8, 11]);
    }

    /// Of a program that goes on for a time, each run has a number of messages of its own.
    #[test]
    fn each_run_is_measured_by_what_it_did_itself() {
        let nanoseconds = || {
            let began = time::now();
            thread::sleep(time::Duration::from_micros(1));
            began.elapsed().as_nanos() as u64
        };
        let study = Study::new(Machine::named("vl-16").unwrap()).threads(1).seeds(4);
        let scaling = study.run("nanoseconds", nanoseconds).unwrap();
        let point = &scaling.points[0];
        assert!(point.done.windows(2).any(|pair| pair[0].abs_diff(pair[1]) > 50), "seeds differ: {:?}", point.done);
        let Spread { min, max, .. } = point.nanos();
        assert!(1.0 <= min && max < 1.02, "a message is a nanosecond: {min} to {max}");
    }

    /// These tests have the system's allocator.
    #[test]
    fn without_the_heap_figures_are_said_to_be_the_hosts() {
        let scaling = Study::new(Machine::named("vl-16").unwrap()).threads(1).seeds(1).run("one", || {
            hint::work(2_000);
            1
        });
        let scaling = scaling.unwrap();
        assert!(scaling.to_string().contains("allocator decides") && scaling.to_json().contains("\"layout\":\"host\""));
    }

    #[test]
    fn what_has_no_speed_is_refused() {
        let study = Study::new(Machine::named("vl-16").unwrap()).threads(2).seeds(1);
        let nothing_done = study.run("idle", || {
            hint::work(2_000);
            0
        });
        for (run, words) in [
            (
                study.run("free", || 5),
                "on 1 hardware thread the program took 0 ns and says that 5 messages went through",
            ),
            (nothing_done, "ns and says that 0 messages went through"),
        ] {
            let refusal = run.unwrap_err().to_string();
            assert!(refusal.contains(words) && refusal.contains("hint::work"), "{refusal}");
        }
    }

    #[test]
    fn results_come_in_order() {
        assert_eq!(in_parallel(50, |n| n * n), (0..50).map(|n| n * n).collect::<Vec<_>>());
        assert!(in_parallel(0, |n| n).is_empty());
    }
}
