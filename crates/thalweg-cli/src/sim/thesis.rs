//! Figures of the thesis on block-based queues, with its words beside them.

use thalweg_queue::faaq::{Bbq, Faaq};
use thalweg_queue::tube::{self, Tube, ring, scqd::Scqd};
use thalweg_queue::{bbq, cnq};

use super::experiment::{Experiment, Panel, Setting};
use super::point::{L1_MISSES, LATENCY, Point, Run};
use super::queues::{
    CAPACITY, Contender, Ends, Item, RIGHT, Receiving, Sending, UNFAIR, most, point, sides, single, steps,
};
use super::ticket_ring::{self, ticket_ring};

/// Messages of a point with one thread on a side; with more, each has fewer.
const MESSAGES: u64 = 8_000;

pub(super) const EXPERIMENTS: [Experiment; 7] = [
    Experiment::new("thesis/2.8", "Figure 2.8: bounded queues, one to one", figure_2_8)
        .panels(&[Panel::Rate, Panel::Of(L1_MISSES), Panel::Of(LATENCY)])
        .paper(|points, measured| beside(SAYS_2_8, points, measured)),
    Experiment::new("thesis/2.9", "Figure 2.9: many to one, one to many: rate, misses, latency, fairness", figure_2_9)
        .panels(&[Panel::Rate, Panel::Of(L1_MISSES), Panel::Of(LATENCY), Panel::Of(UNFAIR)])
        .paper(|points, measured| {
            beside(SAYS_2_9, points, measured) + &ratios("latency", &by_latency, SAYS_2_9_LATENCY, points, measured)
        }),
    Experiment::new(
        "thesis/2.9-over",
        "Figure 2.9g and n: up to five times as many threads as hardware threads (12 there)",
        oversubscribed,
    )
    .paper(|points, measured| beside(SAYS_2_9_OVER, points, measured)),
    Experiment::new("thesis/3.7", "Figure 3.7: the four tubes as FIFO queues", figure_3_7)
        .paper(|points, measured| beside(SAYS_3_7, points, measured)),
    Experiment::new("thesis/3.8", "Figures 3.8 and 3.9: what CNQ makes of each tube, by k", figures_3_8_and_3_9)
        .paper(gain_of_cnq),
    Experiment::new("thesis/3.10", "Figure 3.10: CNQ beside FIFO queues", figure_3_10)
        .paper(|points, measured| beside(SAYS_3_10, points, measured)),
    Experiment::new("thesis/3.11", "Figure 3.11: how long a message is in the queue, eight threads", figure_3_11)
        .panels(&[Panel::Of(LATENCY)])
        .paper(latencies),
];

/// A queue that is a tube.
fn over<Q: Tube<Item = Item> + 'static>(name: &'static str, capacity: usize, make: fn(usize) -> Q) -> Contender {
    Contender::new(name, capacity, move |producers, consumers| {
        let (tx, rx) = tube::queue(make(capacity));
        let push = |tx: tube::Producer<Q>| -> Sending { Box::new(move |item| tx.push(item).expect("they stay")) };
        let pop = |rx: tube::Consumer<Q>| -> Receiving { Box::new(move || rx.pop().ok()) };
        ((0..producers).map(|_| push(tx.clone())).collect(), (0..consumers).map(|_| pop(rx.clone())).collect())
    })
}

fn dpdk(capacity: usize) -> Contender {
    over("dpdk-style", capacity, |capacity| ring::Mt::new(capacity).expect(RIGHT))
}

fn scqd(capacity: usize) -> Contender {
    over("scqd", capacity, |capacity| Scqd::new(capacity).expect(RIGHT))
}

fn faaq(capacity: usize) -> Contender {
    over("faaq", capacity, |capacity| Faaq::with_room(capacity).expect(RIGHT))
}

fn tube_bbq(capacity: usize) -> Contender {
    over("bbq", capacity, |capacity| Bbq::with_room(capacity).expect(RIGHT))
}

/// The ring of the Linux kernel, as the thesis has it in user space.
fn linux(capacity: usize) -> Contender {
    Contender::new("linux-style", capacity, move |producers, consumers| {
        let (tx, rx) = ticket_ring(capacity);
        let push = |tx: ticket_ring::Producer| -> Sending { Box::new(move |item| tx.push(item.get())) };
        let pop = |rx: ticket_ring::Consumer| -> Receiving { Box::new(move || rx.pop().and_then(Item::new)) };
        ((0..producers).map(|_| push(tx.clone())).collect(), (0..consumers).map(|_| pop(rx.clone())).collect())
    })
}

/// The ends of a queue over capsules.
fn capsules<Q: Tube<Item = u32> + 'static>((tx, rx): cnq::Ends<Item, Q>, producers: usize, consumers: usize) -> Ends {
    let push = |mut tx: cnq::Producer<Item, Q>| -> Sending { Box::new(move |item| tx.push(item).expect("they stay")) };
    let pop = |mut rx: cnq::Consumer<Item, Q>| -> Receiving { Box::new(move || rx.pop().ok()) };
    ((0..producers).map(|_| push(tx.clone())).collect(), (0..consumers).map(|_| pop(rx.clone())).collect())
}

fn of_cnq(name: &'static str, capacity: usize, k: usize) -> Contender {
    let make = move |producers, consumers| capsules(cnq::cnq(capacity, k).expect(RIGHT), producers, consumers);
    Contender::new(name, capacity, make)
}

/// Figure 2.8: one to one.
fn figure_2_8(setting: &Setting<'_>) -> Vec<Point> {
    let spsc = Contender::new("bbq", CAPACITY, |_, _| {
        let (tx, rx) = bbq::spsc(8, CAPACITY / 8).expect(RIGHT);
        single(tx, rx)
    });
    [spsc, Contender::bbq("bbq-shared", CAPACITY), scqd(CAPACITY), dpdk(CAPACITY), linux(CAPACITY)]
        .iter()
        .map(|contender| {
            let (label, sides) = ("1P1C".to_owned(), (vec![0], vec![1]));
            point(setting, "SPSC", contender, label, sides, setting.part(5 * MESSAGES, 1))
        })
        .collect()
}

/// Points at which many threads are on one side or on both, so many on each side.
fn many(
    setting: &Setting<'_>,
    contenders: &[Contender],
    workloads: &[&'static str],
    at: fn(usize) -> Vec<usize>,
) -> Vec<Point> {
    let mut points = Vec::new();
    for &workload in workloads {
        for contender in contenders {
            for n in at(most(workload, setting.threads)) {
                let (label, sides) = sides(workload, n, setting.threads);
                // Where a contender collapses, a message costs hundreds of accesses, and with more threads than there are hardware
                // threads, time slices.
                let each = if n < setting.threads { setting.part(100, 20) } else { setting.part(20, 4) };
                // Four times what fits: the quarter that is not measured fills the queue. Quick runs do not get that far.
                let fills = setting.part(4 * contender.capacity as u64, 1);
                let few = setting.part(MESSAGES, 1) / n.min(8) as u64;
                let messages = (each * n as u64).max(fills).max(few);
                points.push(point(setting, workload, contender, label, sides, messages));
            }
        }
    }
    points
}

/// 1, 2, 4 … and as many as there can be.
fn doubled(most: usize) -> Vec<usize> {
    steps(most).into_iter().filter(|n| n.is_power_of_two() || *n == most).collect()
}

fn bounded(capacity: usize) -> [Contender; 4] {
    [Contender::bbq("bbq", capacity), scqd(capacity), dpdk(capacity), linux(capacity)]
}

/// Messages that a queue holds where it is asked how long they are in it.
const SHORT: usize = 128;

fn figure_2_9(setting: &Setting<'_>) -> Vec<Point> {
    let mut points = many(setting, &bounded(CAPACITY), &["NP1C", "1PNC"], doubled);
    points.extend(many(setting, &bounded(SHORT), &["NP1C, 128 entries", "1PNC, 128 entries"], doubled));
    points
}

fn oversubscribed(setting: &Setting<'_>) -> Vec<Point> {
    let times = |most| (1..=5).map(|times| times * (most + 1) - 1).collect();
    // Without SCQD, whose consumers write while they wait: they would take most of the time that the simulation takes.
    many(setting, &[Contender::bbq("bbq", CAPACITY), dpdk(CAPACITY), linux(CAPACITY)], &["NP1C", "1PNC"], times)
}

/// Figure 3.7: the four tubes as FIFO queues.
fn figure_3_7(setting: &Setting<'_>) -> Vec<Point> {
    let tubes = [faaq, tube_bbq, scqd, dpdk].map(|of| of(CAPACITY));
    many(setting, &tubes, &["NP1C", "1PNC", "NPNC"], doubled)
}

/// Figure 3.10: CNQ beside queues that are FIFO.
fn figure_3_10(setting: &Setting<'_>) -> Vec<Point> {
    many(setting, &with_cnq(), &["NP1C", "1PNC", "NPNC"], doubled)
}

fn with_cnq() -> [Contender; 6] {
    [
        of_cnq("cnq, k 1000", CAPACITY, 1000),
        of_cnq("cnq, k 100", CAPACITY, 100),
        faaq(CAPACITY),
        Contender::bbq("bbq", CAPACITY),
        scqd(CAPACITY),
        dpdk(CAPACITY),
    ]
}

/// Messages that a queue holds in Figures 3.8 and 3.9, so that the capsules of the largest k fit in twice.
const ROOM: usize = 8192;
const KS: [usize; 4] = [32, 256, 1024, 4096];
/// Threads of a side that has many: as many as k allows.
const MANY: usize = 16;

/// Figures 3.8 and 3.9: each tube alone, and with CNQ over it.
fn figures_3_8_and_3_9(setting: &Setting<'_>) -> Vec<Point> {
    fn with<Q: Tube<Item = u32> + 'static>(name: &'static str, k: usize, make: fn(usize) -> Q) -> Contender {
        // Each producer may have a capsule open, and so may each consumer.
        let entries = (k / (2 * MANY)).clamp(1, ROOM / 8);
        let slots = ROOM / entries;
        let ends = move || cnq::over(make(slots), slots, entries, k).expect(RIGHT);
        Contender::new(name, ROOM, move |producers, consumers| capsules(ends(), producers, consumers))
    }
    type Over = fn(usize) -> Contender;
    let tubes: [(Over, Over); 4] = [
        (dpdk, |k| with("dpdk-style", k, |slots| ring::Mt::new(slots).expect(RIGHT))),
        (scqd, |k| with("scqd", k, |slots| Scqd::new(slots).expect(RIGHT))),
        (tube_bbq, |k| with("bbq", k, |slots| Bbq::with_room(slots).expect(RIGHT))),
        (faaq, |k| with("faaq", k, |slots| Faaq::with_room(slots).expect(RIGHT))),
    ];
    let mut points = Vec::new();
    for workload in ["NP1C", "1PNC", "NPNC"] {
        let n = MANY.min(most(workload, setting.threads));
        for (alone, with) in tubes {
            let mut add = |contender: &Contender, label: String| {
                let (at, sides) = sides(workload, n, setting.threads);
                let messages = setting.part(5 * MESSAGES, 20 * n as u64);
                let mut point = point(setting, workload, contender, label, sides, messages);
                point.params["at"] = at.into();
                points.push(point);
            };
            add(&alone(ROOM), "alone".to_owned());
            KS.iter().for_each(|&k| add(&with(k), format!("k {k}")));
        }
    }
    points
}

/// Figure 3.11: eight threads.
fn figure_3_11(setting: &Setting<'_>) -> Vec<Point> {
    let mut points = many(setting, &with_cnq(), &["NP1C", "1PNC"], |most| vec![most.min(7)]);
    points.extend(many(setting, &with_cnq(), &["NPNC"], |most| vec![most.min(4)]));
    points
}

/// What the thesis says of each workload: the first contender over the best of the others, at most; as the workload, or
/// the contender if a part is one workload only.
const SAYS_2_8: &[(&str, &str)] = &[("SPSC", "11.3 to 42.4 times the others")];
const SAYS_2_9: &[(&str, &str)] =
    &[("NP1C", "up to 10.13 times the second best"), ("1PNC", "up to 1.88 times the second best")];
const SAYS_2_9_LATENCY: &[(&str, &str)] =
    &[("NP1C, 128 entries", "up to 17.22 times the second best"), ("1PNC, 128 entries", "scqd up to 7.45 times bbq")];
const SAYS_2_9_OVER: &[(&str, &str)] =
    &[("NP1C", "with more threads than 12, 2.22 times the second best"), ("1PNC", "1.23 times")];
const SAYS_3_7: &[(&str, &str)] = &[
    ("NP1C", "up to 1.4 times the second best"),
    ("1PNC", "up to 4.5 times the second best"),
    ("NPNC", "up to 1.6 times the second best"),
];
const SAYS_3_10: &[(&str, &str)] =
    &[("NP1C", "superior to the others, more with larger k"), ("1PNC", "the same"), ("NPNC", "the same")];

/// A figure of a point of which more is better.
type Better = dyn Fn(&Point, &[Run]) -> f64;

fn by_latency(point: &Point, runs: &[Run]) -> f64 {
    1.0 / point.figure(runs, LATENCY).unwrap_or(f64::NAN)
}

/// The first contender's rate beside the others'.
fn beside(says: &[(&str, &str)], points: &[Point], measured: &[Vec<Run>]) -> String {
    ratios("rate", &|point, runs| 1.0 / point.nanos(runs).median, says, points, measured) + "\n"
}

/// The first contender's figure over the best other's (of another name up to the comma), per workload, beside what the
/// thesis says.
fn ratios(what: &str, better: &Better, says: &[(&str, &str)], points: &[Point], measured: &[Vec<Run>]) -> String {
    let family = |at: usize| points[at].contender.split(',').next();
    let figure = |at: usize| better(&points[at], &measured[at]);
    let mut text = format!("{what}: how much better the first contender is than the best of the others\n");
    for (workload, says) in says {
        let mine: Vec<usize> = (0..points.len()).filter(|&at| points[at].workload == *workload).collect();
        let Some(&first) = mine.first() else { continue };
        let ratios = mine.iter().filter(|&&at| points[at].contender == points[first].contender).map(|&at| {
            let others =
                mine.iter().filter(|&&other| points[other].label == points[at].label && family(other) != family(at));
            (figure(at) / others.map(|&other| figure(other)).fold(0.0, f64::max), points[at].label.as_str())
        });
        let ratios: Vec<(f64, &str)> = ratios.collect();
        let most = ratios.iter().copied().fold((0.0, ""), |most, one| if one.0 > most.0 { one } else { most });
        let least = ratios.iter().copied().fold(most, |least, one| if one.0 < least.0 { one } else { least });
        text += &format!(
            "{workload:20}{:>8.2} at most, at {}; {:.2} at least, at {}. The thesis: {says}\n",
            most.0, most.1, least.0, least.1
        );
    }
    text
}

/// Each tube's rate with CNQ over it, over its rate alone.
fn gain_of_cnq(points: &[Point], measured: &[Vec<Run>]) -> String {
    let mut text = format!("{:24}", "with CNQ over alone");
    KS.iter().for_each(|k| text += &format!("{:>10}", format!("k {k}")));
    let nanos = |at: usize| points[at].nanos(&measured[at]).median;
    for (at, point) in points.iter().enumerate().filter(|(_, point)| point.label == "alone") {
        text += &format!("\n{:8}{:16}", point.params["at"].as_str().unwrap_or_default(), point.contender);
        (1..=KS.len()).for_each(|k| text += &format!("{:>10.2}", nanos(at) / nanos(at + k)));
    }
    text + "\nThe thesis, over all numbers of threads: faaq up to 3.9 with k 2^8 and 21.1 with 2^12 in NPNC; dpdk up to 1055, 110 and \
            1752 in\nNP1C, 1PNC, NPNC; scqd little with small k; most in NPNC, then NP1C, least in 1PNC\n\n"
}

/// The best of CNQ beside the best of the others.
fn latencies(points: &[Point], measured: &[Vec<Run>]) -> String {
    let mut text = String::from("latency of the best other queue over that of CNQ with the k of the least\n");
    for (workload, says) in [("NP1C", 7.9), ("1PNC", 1.3), ("NPNC", 79.4)] {
        let of = |is_cnq: bool| {
            let fits =
                |at: &usize| points[*at].workload == workload && points[*at].contender.starts_with("cnq") == is_cnq;
            let figures = (0..points.len()).filter(fits).filter_map(|at| points[at].figure(&measured[at], LATENCY));
            figures.fold(f64::INFINITY, f64::min)
        };
        text +=
            &format!("{workload:6}{:>8.2} in the middle. The thesis: up to {says} in the mean\n", of(false) / of(true));
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_sim::Machine;

    #[test]
    fn every_figure_runs_on_a_small_part_of_a_machine() {
        let machine = Machine::named("x86-88t").unwrap();
        for experiment in &EXPERIMENTS {
            let points = (experiment.plan)(&Setting::of(&machine, 4));
            let run = |point: &Point| vec![point.run(&machine, 0).unwrap_or_else(|e| panic!("{}: {e}", point.title()))];
            let measured: Vec<Vec<Run>> = points.iter().map(run).collect();
            let text = (experiment.paper)(&points, &measured);
            assert!(text.contains("The thesis"), "{}: {text}", experiment.name);
            assert_eq!(run(&points[0]), measured[0], "{}: the same again", experiment.name);
        }
    }
}
