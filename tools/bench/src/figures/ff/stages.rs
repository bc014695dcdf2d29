//! FastForward's Figures 8 to 11: stages in a loop that take an item, work, and hand it on: three, or two where there are no more hardware
//! threads. The paper's machine is `x86-4`.
//!
//! Beside our queue stands the paper's, *as printed*: ours looks at its slots, and empties them, by the line, and asks for lines ahead, so
//! what slip maintenance is for hardly happens to it.

use serde_json::json;
use thalweg_queue::TryPushError;
use thalweg_queue::Yield;
use thalweg_queue::research::{lamport, locked};
use thalweg_queue::spsc::fast_forward::{self, Slip};
#[cfg(not(target_arch = "x86_64"))]
use thalweg_sync::atomic::{Ordering::SeqCst, fence};
use thalweg_sync::spin;

use super::noise::{MISSING, Noise, WORK};
use crate::baselines::printed::as_printed;
use crate::figures::own::queues::{Item, RIGHT};
use crate::report::verdict::{Claim, Verdict, shown};
use crate::worlds::experiment::{EVERY, Experiment, Panel, Setting, said};
use crate::worlds::point::{Figures, MISSES, Point, Role, Run, together};
use crate::worlds::seen::{Seen, mean, range};
use crate::worlds::{self, World};

pub(crate) const EXPERIMENTS: [Experiment; 4] = [
    Experiment::new("ff/figure8", figure_8)
        .here(&[OPERATION])
        .panels(&[Panel::Of(OPERATION)])
        .note(|unit, workload| said("The paper", &[(OPERATION, &[(EVERY, SAYS_8)])], unit, workload))
        .paper(|points, measured| beside(SAYS_8, points, measured))
        .verdicts(of_figure_8),
    Experiment::new("ff/figure9", figure_9)
        .here(&[OPERATION])
        .panels(&[Panel::Of(OPERATION)])
        .note(|unit, workload| said("The paper", &[(OPERATION, &[(EVERY, SAYS_9)])], unit, workload))
        .paper(|points, measured| beside(SAYS_9, points, measured))
        .verdicts(of_figure_9),
    Experiment::new("ff/figure10", figure_10)
        .threads(3)
        .panels(&[Panel::Of(MISSES)])
        .note(|unit, workload| said("The paper", &[(MISSES, &[(EVERY, SAYS_10)])], unit, workload))
        .paper(|points, measured| beside(SAYS_10, points, measured))
        .verdicts(of_figure_10),
    Experiment::new("ff/figure11", figure_11)
        .here(&[OPERATION])
        .panels(&[Panel::Of(OPERATION)])
        .note(|unit, workload| said("The paper", &[(OPERATION, &[(EVERY, SAYS_11)])], unit, workload))
        .paper(|points, measured| beside(SAYS_11, points, measured))
        .verdicts(of_figure_11),
];

/// Of what an item takes beyond the slowest stage's work, half: a stage has two operations for it.
const OPERATION: &str = "ns/operation";

const SAYS_8: &str =
    "28.5 to 31 ns whatever work and size; 4.4 to 5 times as fast as lamport with least work, 3.7 times with more";
const SAYS_9: &str =
    "a variance changes nothing; maintaining slip costs 1 ns; unbalanced stages without it 15 to 28 ns more";
const SAYS_10: &str = "with slip maintained an eighth of the misses, and the prefetcher has seven eighths of these";
const SAYS_11: &str = "fast-forward the same on and off the die; lamport 10 to 20 ns more off it";

/// A third off the paper's number at most comes out: its operations are whole calls, of which a model charges the accesses.
const WITHIN: f64 = 1.0 / 3.0;

const LEAST_8: Claim = Claim::new("ff/figure8", "fast-forward, least, ns", 28.5, WITHIN);
const MOST_8: Claim = Claim::new("ff/figure8", "fast-forward, most, ns", 31.0, WITHIN);
/// The paper has 3.7 and 5 times the above.
const LEAST_LAMPORT: Claim = Claim::new("ff/figure8", "lamport, least, ns", 3.7 * 28.5, WITHIN);
const MOST_LAMPORT: Claim = Claim::new("ff/figure8", "lamport, most, ns", 5.0 * 31.0, WITHIN);
const LEAST_9: Claim =
    Claim::new("ff/figure9", "stages apart, slip saves the queue as printed at least, ns", 15.0, WITHIN);
const MOST_9: Claim =
    Claim::new("ff/figure9", "stages apart, slip saves the queue as printed at most, ns", 28.0, WITHIN);
const COST_9: Claim =
    Claim::new("ff/figure9", "balanced stages, slip costs the queue as printed in the mean, ns", 1.0, WITHIN);
const SHARE_10: Claim =
    Claim::new("ff/figure10", "the queue as printed, misses with slip over those without", 0.125, WITHIN);
const LEAST_11: Claim = Claim::new("ff/figure11", "lamport, off the die at least, ns more", 10.0, WITHIN);
const MOST_11: Claim = Claim::new("ff/figure11", "lamport, off the die at most, ns more", 20.0, WITHIN);

/// The range of the time of a queue's operation in all workloads.
fn operations(seen: &Seen<'_>, contender: &str) -> Option<(f64, f64)> {
    let all = seen.places(|point| point.contender == contender);
    range(all.into_iter().map(|at| seen.figure(at, OPERATION)))
}

/// At each point of the first contender that `fits` is true of, `with` its figure and the second's.
fn pairs(
    seen: &Seen<'_>,
    [one, other]: [&str; 2],
    unit: &str,
    fits: impl Fn(&str) -> bool,
    with: fn(f64, f64) -> f64,
) -> Vec<Option<f64>> {
    let all = seen.places(|point| point.contender == one && fits(point.workload));
    let pair = |at: usize| {
        let Point { workload, label, .. } = seen.point(at);
        Some(with(seen.figure(at, unit)?, seen.figure(seen.find(workload, other, label)?, unit)?))
    };
    all.into_iter().map(pair).collect()
}

fn of_figure_8(seen: &Seen<'_>) -> Vec<Verdict> {
    let (ours, lamport) = (operations(seen, FAST_FORWARD.0), operations(seen, LAMPORT.0));
    vec![
        LEAST_8.verdict(ours.map(|range| range.0)),
        MOST_8.verdict(ours.map(|range| range.1)),
        LEAST_LAMPORT.verdict(lamport.map(|range| range.0)),
        MOST_LAMPORT.verdict(lamport.map(|range| range.1)),
    ]
}

fn of_figure_9(seen: &Seen<'_>) -> Vec<Verdict> {
    let both = [AS_PRINTED.0, AS_PRINTED_WITH_SLIP.0];
    let saved = |apart: bool| {
        pairs(seen, both, OPERATION, |workload| workload.starts_with("stages") == apart, |without, with| without - with)
    };
    let of_apart = range(saved(true));
    vec![
        LEAST_9.verdict(of_apart.map(|range| range.0)),
        MOST_9.verdict(of_apart.map(|range| range.1)),
        COST_9.verdict(mean(saved(false)).map(|saved| -saved)),
        shown("ff/figure9", "", "a variance changes nothing"),
    ]
}

fn of_figure_10(seen: &Seen<'_>) -> Vec<Verdict> {
    let shares = pairs(seen, [AS_PRINTED_WITH_SLIP.0, AS_PRINTED.0], MISSES, |_| true, |with, without| with / without);
    vec![SHARE_10.verdict(mean(shares))]
}

fn of_figure_11(seen: &Seen<'_>) -> Vec<Verdict> {
    let near = seen.places(|point| point.contender == LAMPORT.0 && point.workload == NEAR);
    let more = near.into_iter().map(|at| {
        let far = seen.find(FAR, LAMPORT.0, &seen.point(at).label)?;
        Some(seen.figure(far, OPERATION)? - seen.figure(at, OPERATION)?)
    });
    let more = range(more);
    vec![
        LEAST_11.verdict(more.map(|range| range.0)),
        MOST_11.verdict(more.map(|range| range.1)),
        shown("ff/figure11", "fast-forward", "the same on and off the die"),
    ]
}

const NEAR: &str = "on one die";
const FAR: &str = "on two sockets";

const SIZES: [(usize, &str); 4] =
    [(128, "128 entries"), (192, "192 entries"), (256, "256 entries"), (2048, "2048 entries")];

/// The ends of a queue, which do not wait.
pub(super) type Ends = (Box<dyn FnMut(Item) -> bool + Send>, Box<dyn FnMut() -> Option<Item> + Send>);
/// Made for so many entries, between stages that take so many cycles for an item, in the mean.
pub(super) type Contender = (&'static str, fn(usize, u64) -> Ends);

pub(super) const FAST_FORWARD: Contender = ("fast-forward", |entries, _| {
    let (mut tx, mut rx) = fast_forward::with_wait::<Item, _>(entries, Yield).expect(RIGHT);
    (Box::new(move |item| !refused(tx.try_push(item))), Box::new(move || rx.try_pop().ok()))
});
const WITH_SLIP: Contender = ("fast-forward, slip", |entries, _| {
    let (mut tx, rx) = fast_forward::with_wait::<Item, _>(entries, Yield).expect(RIGHT);
    let mut rx = rx.with_slip(Slip::default());
    (Box::new(move |item| !refused(tx.try_push(item))), Box::new(move || rx.try_pop().ok()))
});
/// A pause of the paper's machine, in cycles.
const PAUSE: u64 = 10;
/// The consumer knows how long its stage takes.
const BY_STAGE: Contender = ("fast-forward, slip by stage", |entries, stage| {
    let (mut tx, rx) = fast_forward::with_wait::<Item, _>(entries, Yield).expect(RIGHT);
    let mut rx = rx.with_slip(Slip { stage: stage.div_ceil(PAUSE) as usize, ..Slip::default() });
    (Box::new(move |item| !refused(tx.try_push(item))), Box::new(move || rx.try_pop().ok()))
});
pub(super) const LAMPORT: Contender = ("lamport", |entries, _| {
    let (mut tx, mut rx) = lamport::with_wait::<Item, _, lamport::Plain>(entries, Yield).expect(RIGHT);
    (Box::new(move |item| !refused(tx.try_push(item))), Box::new(move || rx.try_pop().ok()))
});
pub(super) const LOCKED: Contender = ("locked", |entries, _| {
    let (tx, rx) = locked::with_wait::<Item, _>(entries, Yield).expect(RIGHT);
    (Box::new(move |item| !refused(tx.try_push(item))), Box::new(move || rx.try_pop().ok()))
});
/// With a store fence before each push, which a machine of weaker order would need (section 5.3). No modelled machine has a price for it.
const FENCED: Contender = ("fast-forward, fenced", |entries, _| {
    let (mut tx, mut rx) = fast_forward::with_wait::<Item, _>(entries, Yield).expect(RIGHT);
    let push = move |item| {
        store_fence();
        !refused(tx.try_push(item))
    };
    (Box::new(push), Box::new(move || rx.try_pop().ok()))
});
const LAMPORT_FENCED: Contender = ("lamport, fenced", |entries, _| {
    let (mut tx, mut rx) = lamport::with_wait::<Item, _, lamport::Plain>(entries, Yield).expect(RIGHT);
    let push = move |item| {
        store_fence();
        !refused(tx.try_push(item))
    };
    (Box::new(push), Box::new(move || rx.try_pop().ok()))
});
pub(super) const AS_PRINTED: Contender = ("as printed", |entries, _| {
    let (tx, mut rx) = as_printed(entries);
    (tx, Box::new(move || rx.pop()))
});
const AS_PRINTED_WITH_SLIP: Contender = ("as printed, slip", |entries, stage| {
    let (tx, mut rx) = as_printed(entries);
    // Until the next look at the distance.
    let mut left = 0;
    let pop = move || {
        if left == 0 {
            rx.adjust_slip(stage);
            left = Slip::default().every;
        }
        let item = rx.pop();
        left = if item.is_some() { left - 1 } else { 0 };
        item
    };
    (tx, Box::new(pop))
});

/// For want of room. At the end the other side is gone, and what was on its way does not count.
fn refused(pushed: Result<(), TryPushError<Item>>) -> bool {
    matches!(pushed, Err(TryPushError::Full(_) | TryPushError::Busy(_)))
}

#[inline(always)]
fn store_fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of this architecture has the instruction, which only orders stores.
    unsafe {
        core::arch::x86_64::_mm_sfence();
    }
    #[cfg(not(target_arch = "x86_64"))]
    fence(SeqCst);
}

/// A loop of stages, each on its hardware thread, with the nanoseconds that it works for one item after the other.
#[derive(Clone)]
struct Loop {
    entries: usize,
    iterations: u64,
    stages: Vec<(usize, Vec<f64>)>,
}

impl Loop {
    fn point(
        self,
        setting: &Setting<'_>,
        workload: &'static str,
        (contender, make): Contender,
        label: String,
    ) -> Point {
        let params =
            json!({ "messages": self.iterations, "entries": self.entries, "stages": self.stages.len(), "at": label });
        let mhz = setting.world.mhz() as f64;
        let (threads, messages) = (setting.threads, self.iterations);
        let client = Box::new(move || self.run(make, mhz));
        Point { workload, contender, label, params, threads, messages, device: None, client }
    }

    fn run(&self, make: fn(usize, u64) -> Ends, mhz: f64) -> Figures {
        let mean = |work: &Vec<f64>| work.iter().sum::<f64>() / work.len() as f64;
        let cycles = |work: &[f64]| work.iter().map(|nanos| (nanos * mhz / 1000.0).round() as u64).collect::<Vec<_>>();
        let all = self.stages.iter().map(|(_, work)| mean(work)).sum::<f64>();
        // The time of the work alone. A modelled machine takes exactly the nanoseconds that were asked for; on a real one they are measured.
        let alone = self.stages.iter().map(|(_, work)| worlds::nanos_of(|| cycles(work)).unwrap_or_else(|| mean(work)));
        let slowest = alone.fold(0.0, f64::max);
        let stage = (all / self.stages.len() as f64 * mhz / 1000.0) as u64;
        let (mut writing, reading): (Vec<_>, Vec<_>) = self.stages.iter().map(|_| make(self.entries, stage)).unzip();
        let items = self.entries as u64 - MISSING;
        for item in 1..=items {
            assert!(writing[0](Item::new(item).expect("from 1")), "it has room for that many");
        }
        // Stage n reads queue n and writes the next one.
        writing.rotate_left(1);
        let stages = self.stages.iter().zip(writing).zip(reading);
        let roles = stages.map(|(((cpu, work), push), pop)| -> (usize, Role<'_>) {
            let cycles = cycles(work);
            let warm = (2.0 * mhz) as u64 + 48 * cycles[0];
            (*cpu, Box::new(move || turn(push, pop, &cycles, warm, self.iterations, items)))
        });
        // The time ends with the last stage's, which sees every item that the slowest has worked on.
        let figures = together(self.iterations, roles.rev().collect());
        let operation = (figures.nanos as f64 / self.iterations as f64 - slowest) / 2.0;
        Figures { more: vec![(OPERATION, operation)], ..figures }
    }
}

/// One stage, which starts slipped, and polls.
fn turn(
    mut push: Box<dyn FnMut(Item) -> bool + Send>,
    mut pop: Box<dyn FnMut() -> Option<Item> + Send>,
    work: &[u64],
    warm: u64,
    iterations: u64,
    items: u64,
) {
    for iteration in 0..iterations {
        let item = loop {
            match pop() {
                Some(item) => break item,
                None => spin::pause(1),
            }
        };
        assert_eq!(item.get(), iteration % items + 1, "in order");
        worlds::work(if iteration == 0 { warm } else { work[iteration as usize % work.len()] });
        while !push(item) {
            spin::pause(1);
        }
    }
}

fn figure_8(setting: &Setting<'_>) -> Vec<Point> {
    let iterations = setting.part(40_000, 400);
    let of = |entries, nanos| Loop { entries, iterations, stages: on(vec![vec![nanos]; stages(setting)]) };
    let mut contenders = vec![FAST_FORWARD, AS_PRINTED, LAMPORT];
    if let World::Here = setting.world {
        contenders.extend([FENCED, LAMPORT_FENCED, LOCKED]);
    }
    sweep(setting, &SIZES, &WORK, &contenders, of)
}

/// How many stages there are.
fn stages(setting: &Setting<'_>) -> usize {
    setting.threads.min(3)
}

/// Each stage on a hardware thread of its own.
fn on(work: Vec<Vec<f64>>) -> Vec<(usize, Vec<f64>)> {
    work.into_iter().enumerate().collect()
}

/// A workload for each of `groups`, and in it each contender's curve over the work.
fn sweep<G: Copy>(
    setting: &Setting<'_>,
    groups: &[(G, &'static str)],
    work: &[f64],
    contenders: &[Contender],
    of: impl Fn(G, f64) -> Loop,
) -> Vec<Point> {
    let mut points = Vec::new();
    for &(group, workload) in groups {
        for &contender in contenders {
            for &nanos in work {
                points.push(of(group, nanos).point(setting, workload, contender, format!("{nanos} ns of work")));
            }
        }
    }
    points
}

fn figure_9(setting: &Setting<'_>) -> Vec<Point> {
    const GROUPS: [((Noise, usize), &str); 6] = [
        ((Noise::Small, 192), "4.5 ns more or less, 192 entries"),
        ((Noise::Small, 2048), "4.5 ns more or less, 2048 entries"),
        ((Noise::Wide, 192), "9.4 or 18.8 ns more or less, 192 entries"),
        ((Noise::Wide, 2048), "9.4 or 18.8 ns more or less, 2048 entries"),
        ((Noise::Unbalanced, 192), "stages 37.6 ns apart, 192 entries"),
        ((Noise::Unbalanced, 2048), "stages 37.6 ns apart, 2048 entries"),
    ];
    let iterations = setting.part(40_000, 400);
    let of = |(noise, entries): (Noise, usize), nanos| Loop {
        entries,
        iterations,
        stages: on(noise.work(stages(setting), nanos)),
    };
    let contenders = [FAST_FORWARD, WITH_SLIP, BY_STAGE, AS_PRINTED, AS_PRINTED_WITH_SLIP, LAMPORT];
    sweep(setting, &GROUPS, &WORK[1..], &contenders, of)
}

fn figure_10(setting: &Setting<'_>) -> Vec<Point> {
    let iterations = setting.part(40_000, 400);
    let of = |entries, nanos| Loop { entries, iterations, stages: on(Noise::Unbalanced.work(3, nanos)) };
    let contenders = [FAST_FORWARD, WITH_SLIP, BY_STAGE, AS_PRINTED, AS_PRINTED_WITH_SLIP];
    sweep(setting, &[(256, "stages 37.6 ns apart, 256 entries")], &[100.0, 200.0], &contenders, of)
}

fn figure_11(setting: &Setting<'_>) -> Vec<Point> {
    let far = setting.world.neighbours().last().map_or(1, |&(_, cpu)| cpu);
    let groups: Vec<(usize, &str)> =
        [(1, NEAR), (far, FAR)].into_iter().filter(|(cpu, _)| *cpu < setting.threads).collect();
    let iterations = setting.part(40_000, 400);
    let of = |cpu, nanos| Loop { entries: 2048, iterations, stages: vec![(0, vec![nanos]), (cpu, vec![nanos])] };
    sweep(setting, &groups, &WORK, &[FAST_FORWARD, AS_PRINTED, LAMPORT], of)
}

/// What an operation costs in each workload, from least to most over the work, and the misses.
fn beside(says: &str, points: &[Point], measured: &[Vec<Run>]) -> String {
    let mut text = format!("{:44}{:22}{:>20}{:>20}\n", "", "", OPERATION, MISSES);
    let mut at = 0;
    for curve in points.chunk_by(|one, next| (one.workload, one.contender) == (next.workload, next.contender)) {
        let range = |unit: &str| {
            let all = curve.iter().zip(&measured[at..]).filter_map(|(point, runs)| point.figure(runs, unit));
            let (least, most) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), one| (one.min(a), one.max(b)));
            format!("{least:.2} to {most:.2}")
        };
        text += &format!(
            "{:44}{:22}{:>20}{:>20}\n",
            curve[0].workload,
            curve[0].contender,
            range(OPERATION),
            range(MISSES)
        );
        at += curve.len();
    }
    text + "The paper: " + says + "\n\n"
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use thalweg_sim::Machine;

    #[test]
    fn every_figure_runs_and_has_its_costs() {
        let machine = Machine::named("x86-4").unwrap();
        for experiment in &EXPERIMENTS {
            let points = (experiment.plan)(&Setting::of(&machine, 4));
            let run = |point: &Point| vec![point.run(&machine, 0).unwrap_or_else(|e| panic!("{}: {e}", point.title()))];
            let measured: Vec<Vec<Run>> = points.iter().map(run).collect();
            for (point, runs) in points.iter().zip(&measured) {
                assert!(point.figure(runs, OPERATION).is_some_and(|nanos| nanos > 0.0), "{}", point.title());
            }
            assert!((experiment.paper)(&points, &measured).contains("The paper: "));
            assert_eq!(run(&points[0]), measured[0], "{}: the same again", experiment.name);
        }
    }

    /// Figure 8's shape: no slot is touched more often because there are more of them.
    #[test]
    fn the_cost_does_not_grow_with_the_queue() {
        let machine = Machine::named("x86-4").unwrap();
        let setting = Setting::of(&machine, 4);
        for contender in [FAST_FORWARD, AS_PRINTED] {
            let costs = SIZES.map(|(entries, workload)| {
                // Twice around the largest.
                let of = Loop { entries, iterations: 4_096, stages: on(vec![vec![100.0]; 3]) };
                let point = of.point(&setting, workload, contender, String::new());
                let run = point.run(&machine, 0).unwrap_or_else(|failure| panic!("{}: {failure}", point.title()));
                point.figure(&[run], OPERATION).expect("it is measured")
            });
            let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
            assert!(costs.iter().all(|cost| *cost < 1.6 * least), "{}: {costs:.1?} ns by size", contender.0);
        }
    }
}
