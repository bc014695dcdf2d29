//! FastForward's Figures 8 to 11: stages in a loop that take an item, work, and hand it on.

use serde_json::json;
use thalweg_queue::bwos::Rng;
use thalweg_queue::fast_forward::{self, Slip};
use thalweg_queue::{TryPushError, lamport};
use thalweg_sync::{hint, spin};

use super::experiment::{Experiment, Panel, Setting};
use super::point::{Figures, MISSES, Point, Role, Run, together};
use super::queues::{Item, RIGHT};

pub(super) const EXPERIMENTS: [Experiment; 4] = [
    Experiment::new("ff/figure8", "FastForward's Figure 8: three stages, by work and size", figure_8)
        .panels(&[Panel::Of(OPERATION)])
        .paper(|points, measured| beside(SAYS_8, points, measured)),
    Experiment::new(
        "ff/figure9",
        "FastForward's Figure 9: stages that vary, unbalanced stages; slip maintained or not",
        figure_9,
    )
    .panels(&[Panel::Of(OPERATION)])
    .paper(|points, measured| beside(SAYS_9, points, measured)),
    Experiment::new("ff/figure10", "FastForward's Figure 10: misses of unbalanced stages", figure_10)
        .panels(&[Panel::Of(MISSES)])
        .paper(|points, measured| beside(SAYS_10, points, measured)),
    Experiment::new("ff/figure11", "FastForward's Figure 11: two stages, on one die and on two sockets", figure_11)
        .panels(&[Panel::Of(OPERATION)])
        .paper(|points, measured| beside(SAYS_11, points, measured)),
];

/// Of what an item takes beyond the slowest stage's work, half: a stage has two operations for it.
const OPERATION: &str = "ns/operation";

const SAYS_8: &str =
    "28.5 to 31 ns whatever work and size; 4.4 to 5 times as fast as lamport with least work, 3.7 times with more";
const SAYS_9: &str =
    "a variance changes nothing; maintaining slip costs 1 ns; unbalanced stages without it 15 to 28 ns more";
const SAYS_10: &str = "with slip maintained an eighth of the misses, and the prefetcher has seven eighths of these";
const SAYS_11: &str = "fast-forward the same on and off the die; lamport 10 to 20 ns more off it";

const SIZES: [(usize, &str); 4] =
    [(128, "128 entries"), (192, "192 entries"), (256, "256 entries"), (2048, "2048 entries")];
const WORK: [f64; 6] = [0.0, 50.0, 100.0, 200.0, 400.0, 800.0];
/// How far apart stages are that are not balanced, in nanoseconds.
const APART: f64 = 37.6;
/// Items that are missing in the first queue for it to be full.
const MISSING: u64 = 16;

/// The ends of a queue, which do not wait.
type Ends = (Box<dyn FnMut(Item) -> bool + Send>, Box<dyn FnMut() -> Option<Item> + Send>);
type Contender = (&'static str, fn(usize) -> Ends);

const FAST_FORWARD: Contender = ("fast-forward", |entries| {
    let (mut tx, mut rx) = fast_forward::fast_forward::<Item>(entries).expect(RIGHT);
    (Box::new(move |item| !refused(tx.try_push(item))), Box::new(move || rx.try_pop().ok()))
});
const WITH_SLIP: Contender = ("fast-forward, slip", |entries| {
    let (mut tx, rx) = fast_forward::fast_forward::<Item>(entries).expect(RIGHT);
    let mut rx = rx.with_slip(Slip::default());
    (Box::new(move |item| !refused(tx.try_push(item))), Box::new(move || rx.try_pop().ok()))
});
const LAMPORT: Contender = ("lamport", |entries| {
    let (mut tx, mut rx) = lamport::plain::<Item>(entries).expect(RIGHT);
    (Box::new(move |item| !refused(tx.try_push(item))), Box::new(move || rx.try_pop().ok()))
});

/// For want of room. At the end the other side is gone, and what was on its way does not count.
fn refused(pushed: Result<(), TryPushError<Item>>) -> bool {
    matches!(pushed, Err(TryPushError::Full(_) | TryPushError::Busy(_)))
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
        let mhz = setting.machine.mhz() as f64;
        let (threads, messages) = (setting.threads, self.iterations);
        let client = Box::new(move || self.run(make, mhz));
        Point { workload, contender, label, params, threads, messages, device: None, client }
    }

    fn run(&self, make: fn(usize) -> Ends, mhz: f64) -> Figures {
        let (mut writing, reading): (Vec<_>, Vec<_>) = self.stages.iter().map(|_| make(self.entries)).unzip();
        let items = self.entries as u64 - MISSING;
        for item in 1..=items {
            assert!(writing[0](Item::new(item).expect("from 1")), "it has room for that many");
        }
        // Stage n reads queue n and writes the next one.
        writing.rotate_left(1);
        let stages = self.stages.iter().zip(writing).zip(reading);
        let roles = stages.map(|(((cpu, work), push), pop)| -> (usize, Role<'_>) {
            let cycles: Vec<u64> = work.iter().map(|nanos| (nanos * mhz / 1000.0).round() as u64).collect();
            let warm = (2.0 * mhz) as u64 + 48 * cycles[0];
            (*cpu, Box::new(move || turn(push, pop, &cycles, warm, self.iterations, items)))
        });
        let mean = |work: &Vec<f64>| work.iter().sum::<f64>() / work.len() as f64;
        let slowest = self.stages.iter().map(|(_, work)| mean(work)).fold(0.0, f64::max);
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
        hint::work(if iteration == 0 { warm } else { work[iteration as usize % work.len()] });
        while !push(item) {
            spin::pause(1);
        }
    }
}

fn figure_8(setting: &Setting<'_>) -> Vec<Point> {
    let of = |entries, nanos| Loop {
        entries,
        iterations: setting.part(40_000, 400),
        stages: on(setting, vec![vec![nanos]; 3]),
    };
    sweep(setting, &SIZES, &WORK, &[FAST_FORWARD, LAMPORT], of)
}

/// The first stages on the first hardware threads, as far as there are.
fn on(setting: &Setting<'_>, work: Vec<Vec<f64>>) -> Vec<(usize, Vec<f64>)> {
    work.into_iter().enumerate().map(|(stage, work)| (stage % setting.threads, work)).collect()
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

/// How the length of stages varies.
#[derive(Clone, Copy)]
enum Noise {
    /// Half of the items 4.5 ns more or less.
    Small,
    /// Two fifths 9.4 ns more or less, one tenth 18.8 ns. (The paper says a fifth, which with half and two fifths is more than all.)
    Wide,
    /// The second stage longer than the first, the third shorter.
    Unbalanced,
}

impl Noise {
    fn stages(self, nanos: f64) -> Vec<Vec<f64>> {
        match self {
            Noise::Small => around(nanos, &[0.0, 0.0, 4.5, -4.5]),
            Noise::Wide => {
                let mut offsets = vec![0.0; 10];
                offsets.extend([9.4, 9.4, 9.4, 9.4, -9.4, -9.4, -9.4, -9.4, 18.8, -18.8]);
                around(nanos, &offsets)
            }
            Noise::Unbalanced => [0.0, APART, -APART].iter().map(|offset| vec![nanos + offset]).collect(),
        }
    }
}

/// For each stage, each of `offsets` as often as the others, in an order of its own.
fn around(nanos: f64, offsets: &[f64]) -> Vec<Vec<f64>> {
    let shuffled = |stage| {
        let mut rng = Rng::new(stage);
        let mut work: Vec<f64> = offsets.repeat(50).into_iter().map(|offset| nanos + offset).collect();
        (1..work.len()).for_each(|at| work.swap(at, rng.below(at + 1)));
        work
    };
    (0..3).map(shuffled).collect()
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
        stages: on(setting, noise.stages(nanos)),
    };
    sweep(setting, &GROUPS, &WORK[1..], &[FAST_FORWARD, WITH_SLIP, LAMPORT], of)
}

fn figure_10(setting: &Setting<'_>) -> Vec<Point> {
    let iterations = setting.part(40_000, 400);
    let of = |entries, nanos| Loop { entries, iterations, stages: on(setting, Noise::Unbalanced.stages(nanos)) };
    sweep(setting, &[(256, "stages 37.6 ns apart, 256 entries")], &[100.0, 200.0], &[FAST_FORWARD, WITH_SLIP], of)
}

fn figure_11(setting: &Setting<'_>) -> Vec<Point> {
    let far = setting.machine.neighbours().last().map_or(1, |&(_, cpu)| cpu);
    let groups: Vec<(usize, &str)> =
        [(1, "on one die"), (far, "on two sockets")].into_iter().filter(|(cpu, _)| *cpu < setting.threads).collect();
    let iterations = setting.part(40_000, 400);
    let of = |cpu, nanos| Loop { entries: 2048, iterations, stages: vec![(0, vec![nanos]), (cpu, vec![nanos])] };
    sweep(setting, &groups, &WORK, &[FAST_FORWARD, LAMPORT], of)
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

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_sim::Machine;

    #[test]
    fn every_figure_runs_and_has_its_costs() {
        let machine = Machine::named("x86-88t").unwrap();
        for experiment in &EXPERIMENTS {
            let points = (experiment.plan)(&Setting::of(&machine, 23));
            let run = |point: &Point| vec![point.run(&machine, 0).unwrap_or_else(|e| panic!("{}: {e}", point.title()))];
            let measured: Vec<Vec<Run>> = points.iter().map(run).collect();
            for (point, runs) in points.iter().zip(&measured) {
                assert!(point.figure(runs, OPERATION).is_some_and(|nanos| nanos > 0.0), "{}", point.title());
            }
            assert!((experiment.paper)(&points, &measured).contains("The paper: "));
            assert_eq!(run(&points[0]), measured[0], "{}: the same again", experiment.name);
        }
    }

    #[test]
    fn noise_has_no_mean() {
        for noise in [Noise::Small, Noise::Wide] {
            for work in noise.stages(100.0) {
                assert!((work.iter().sum::<f64>() / work.len() as f64 - 100.0).abs() < 1e-6);
            }
        }
    }
}
