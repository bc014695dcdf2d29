//! Figures of the thesis on block-based queues, with its words beside them.

use thalweg_queue::faaq::{Bbq, Faaq};
use thalweg_queue::tube::{self, Tube, ring, scqd::Scqd};
use thalweg_queue::{bbq, cnq};
use thalweg_sim::Machine;

use super::point::{Point, Run};
use super::queues::{
    CAPACITY, Item, Make, RIGHT, Receiving, Sending, make_bbq, make_locked, point, scaled_point, single, steps,
};

/// Messages of a point with one thread on a side; with more, each has fewer.
const MESSAGES: u64 = if cfg!(test) { 800 } else { 8_000 };

/// The ends of a queue that is a tube.
fn over<Q: Tube<Item = Item> + 'static>(tube: Q, producers: usize, consumers: usize) -> (Vec<Sending>, Vec<Receiving>) {
    let (tx, rx) = tube::queue(tube);
    let push = |tx: tube::Producer<Q>| -> Sending { Box::new(move |item| tx.push(item).expect("they stay")) };
    let pop = |rx: tube::Consumer<Q>| -> Receiving { Box::new(move || rx.pop().ok()) };
    ((0..producers).map(|_| push(tx.clone())).collect(), (0..consumers).map(|_| pop(rx.clone())).collect())
}

const DPDK: Make = |producers, consumers| over(ring::Mt::new(CAPACITY).expect(RIGHT), producers, consumers);
const SCQD: Make = |producers, consumers| over(Scqd::new(CAPACITY).expect(RIGHT), producers, consumers);
const FAAQ: Make = |producers, consumers| over(Faaq::with_room(CAPACITY).expect(RIGHT), producers, consumers);
const TUBE_BBQ: Make = |producers, consumers| over(Bbq::with_room(CAPACITY).expect(RIGHT), producers, consumers);
const SPSC: Make = |_, _| {
    let (tx, rx) = bbq::spsc(8, CAPACITY / 8).expect(RIGHT);
    single(tx, rx)
};
const CNQ: Make = |producers, consumers| {
    let (tx, rx) = cnq::cnq::<Item>(CAPACITY, CAPACITY / 4).expect(RIGHT);
    let push = |mut tx: cnq::Producer<Item>| -> Sending { Box::new(move |item| tx.push(item).expect("they stay")) };
    let pop = |mut rx: cnq::Consumer<Item>| -> Receiving { Box::new(move || rx.pop().ok()) };
    ((0..producers).map(|_| push(tx.clone())).collect(), (0..consumers).map(|_| pop(rx.clone())).collect())
};

/// Figure 2.8: one to one.
pub(super) fn figure_2_8(_machine: &Machine, threads: usize) -> Vec<Point> {
    [("bbq", SPSC), ("bbq-shared", make_bbq as Make), ("scqd", SCQD), ("dpdk-style", DPDK), ("locked", make_locked)]
        .into_iter()
        .map(|(name, make)| point("SPSC", name, "1P1C".to_owned(), threads, make, vec![0], vec![1]))
        .collect()
}

/// Points at which many threads are on one side or on both: `NP1C`, `1PNC`, `NPNC`.
fn many(contenders: &[(&'static str, Make)], workloads: &[&'static str], threads: usize) -> Vec<Point> {
    let mut points = Vec::new();
    for &workload in workloads {
        let sides = if workload == "NPNC" { threads / 2 } else { threads - 1 };
        for &(name, make) in contenders {
            for n in steps(sides).into_iter().filter(|n| n.is_power_of_two() || *n == sides) {
                let (label, producers, consumers) = match workload {
                    "NP1C" => (format!("{n}P1C"), (1..=n).collect(), vec![0]),
                    "1PNC" => (format!("1P{n}C"), vec![0], (1..=n).collect()),
                    _ => (format!("{n}P{n}C"), (0..n).map(|i| 2 * i).collect(), (0..n).map(|i| 2 * i + 1).collect()),
                };
                // Where a contender collapses, a message costs hundreds of accesses.
                let messages = (MESSAGES / (n as u64).min(8)).max(100 * n as u64);
                points.push(scaled_point(workload, name, label, threads, make, (producers, consumers), messages));
            }
        }
    }
    points
}

/// Figure 2.9: many to one, one to many.
pub(super) fn figure_2_9(_machine: &Machine, threads: usize) -> Vec<Point> {
    let contenders = [("bbq", make_bbq as Make), ("scqd", SCQD), ("dpdk-style", DPDK), ("locked", make_locked)];
    many(&contenders, &["NP1C", "1PNC"], threads)
}

/// Figure 3.7: the four tubes as FIFO queues.
pub(super) fn figure_3_7(_machine: &Machine, threads: usize) -> Vec<Point> {
    let contenders = [("faaq", FAAQ), ("bbq", TUBE_BBQ), ("scqd", SCQD), ("dpdk-style", DPDK)];
    many(&contenders, &["NP1C", "1PNC", "NPNC"], threads)
}

/// Figure 3.10: CNQ beside queues that are FIFO.
pub(super) fn figure_3_10(_machine: &Machine, threads: usize) -> Vec<Point> {
    let contenders = [("cnq", CNQ), ("faaq", FAAQ), ("bbq", make_bbq as Make), ("scqd", SCQD), ("dpdk-style", DPDK)];
    many(&contenders, &["NP1C", "1PNC", "NPNC"], threads)
}

/// What the thesis says of each workload: the first contender over the best of the others, at most; as the workload, or
/// the contender if a part is one workload only.
pub(super) const SAYS_2_8: &[(&str, &str)] = &[("SPSC", "11.3 to 42.4 times the others")];
pub(super) const SAYS_2_9: &[(&str, &str)] =
    &[("NP1C", "up to 10.13 times the second best"), ("1PNC", "up to 1.88 times the second best")];
pub(super) const SAYS_3_7: &[(&str, &str)] = &[
    ("NP1C", "up to 1.4 times the second best"),
    ("1PNC", "up to 4.5 times the second best"),
    ("NPNC", "up to 1.6 times the second best"),
];
pub(super) const SAYS_3_10: &[(&str, &str)] =
    &[("NP1C", "superior to the others, more with larger k"), ("1PNC", "the same"), ("NPNC", "the same")];

/// The first contender's rate over the best other's, per workload, beside what the thesis says.
pub(super) fn summary(says: &[(&str, &str)], points: &[Point], measured: &[Vec<Run>]) -> String {
    let mut text = String::from("the first contender over the best of the others\n");
    for (workload, says) in says {
        let rate = |at: usize| 1.0 / points[at].nanos(&measured[at]).median;
        let mine: Vec<usize> = (0..points.len()).filter(|&at| points[at].workload == *workload).collect();
        let Some(&first) = mine.first() else { continue };
        let ratios = mine.iter().filter(|&&at| points[at].contender == points[first].contender).map(|&at| {
            let others = mine.iter().filter(|&&other| {
                points[other].label == points[at].label && points[other].contender != points[at].contender
            });
            let best = others.map(|&other| rate(other)).fold(0.0, f64::max);
            (rate(at) / best, points[at].label.as_str())
        });
        let ratios: Vec<(f64, &str)> = ratios.collect();
        let most = ratios.iter().copied().fold((0.0, ""), |most, one| if one.0 > most.0 { one } else { most });
        let least = ratios.iter().copied().fold(most, |least, one| if one.0 < least.0 { one } else { least });
        text += &format!(
            "{workload:6}{:>8.2} at most, at {}; {:.2} at least, at {}. The thesis: {says}\n",
            most.0, most.1, least.0, least.1
        );
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_runs_on_a_small_part_of_a_machine() {
        let machine = Machine::named("x86-88t").unwrap();
        for (points, says) in [
            (figure_2_8(&machine, 4), SAYS_2_8),
            (figure_2_9(&machine, 4), SAYS_2_9),
            (figure_3_7(&machine, 4), SAYS_3_7),
            (figure_3_10(&machine, 4), SAYS_3_10),
        ] {
            let run = |point: &Point| vec![point.run(&machine, 0).unwrap_or_else(|e| panic!("{}: {e}", point.title()))];
            let measured: Vec<Vec<Run>> = points.iter().map(run).collect();
            let text = summary(says, &points, &measured);
            assert_eq!(text.matches("The thesis: ").count(), says.len(), "{text}");
        }
    }
}
