//! The paper's figures from what was measured, with the paper's values beside.

use std::collections::BTreeMap;
use std::fmt::Write;

use thalweg_sim::Report;

use super::super::Run;
use super::super::point::Point;
use super::net::Contender;

/// What the paper's text says, by benchmark: the values of its bars are in pictures only.
const PAPER: [(&str, &str); 7] = [
    ("ping-pong", "VL 11.36 times as fast, 20 % less memory; 2.40 times as fast as CAF"),
    ("halo", "ZeroMQ slower than Boost; VL more memory"),
    ("sweep", "VL 1.10 times as fast, more memory"),
    ("incast", "VL and ZeroMQ much less memory"),
    ("fir", "VL and ZeroMQ much less memory; VL more snoops, for context switches"),
    ("bitonic", "ZeroMQ slower than Boost; VL 20 % less memory"),
    ("pipeline", "VL 1.22 times as fast as CAF"),
];

/// The middle run of a point.
struct Middle {
    nanos: f64,
    snoops: f64,
    upgrades: f64,
    memory: f64,
}

impl Middle {
    fn of(runs: &[Run]) -> Self {
        let middle = |of: &dyn Fn(&Run) -> u64| {
            let mut all: Vec<u64> = runs.iter().map(of).collect();
            all.sort_unstable();
            all[all.len() / 2] as f64
        };
        let counted = |of: fn(&Report) -> u64| middle(&|(_, report)| of(report));
        Self {
            nanos: middle(&|(figures, _)| figures.nanos),
            snoops: counted(|report| report.counts.snoops()),
            upgrades: counted(|report| report.counts.upgrades.total()),
            memory: counted(|report| report.counts.memory_transactions()),
        }
    }
}

/// The measured points of the benchmarks: workload and label, then contender.
type Measured<'a> = BTreeMap<(usize, &'a str, &'a str), BTreeMap<Contender, Middle>>;

/// Tables like the paper's figures 11 to 15, of those of its benchmarks that were run. Empty if none was.
pub(in super::super) fn beside_the_paper(all: &[(Vec<Point>, Vec<Vec<Run>>)]) -> String {
    let mut measured = Measured::new();
    let mut alone = None;
    let mut text = String::new();
    for (point, runs) in all.iter().flat_map(|(points, runs)| points.iter().zip(runs)) {
        let workload = PAPER.iter().position(|(name, _)| *name == point.workload);
        let contender = Contender::ALL.into_iter().find(|contender| contender.name() == point.contender);
        match (workload, contender) {
            (Some(workload), Some(contender)) => {
                let place = (workload, point.workload, point.label.as_str());
                measured.entry(place).or_default().insert(contender, Middle::of(runs));
            }
            _ if point.workload == "stream" => {
                let middle = Middle::of(runs);
                let alone = alone.get_or_insert(middle.nanos);
                let _ = writeln!(
                    text,
                    "fig. 14, STREAM with {:22} time {:.3}, memory {:.0}, snoops {:.0} (paper: time within 2 %)",
                    point.contender,
                    middle.nanos / *alone,
                    middle.memory,
                    middle.snoops
                );
            }
            _ => {}
        }
    }
    if !measured.is_empty() {
        figure_11(&measured, &mut text);
        figures_12_and_13(&measured, &mut text);
        figure_15(&measured, &mut text);
    }
    text
}

fn ratio(ours: f64, theirs: f64) -> f64 {
    if theirs == 0.0 { f64::NAN } else { ours / theirs }
}

/// Execution time, snoops and memory transactions, each with Boost's queue's as 1.
fn figure_11(measured: &Measured<'_>, text: &mut String) {
    let _ = writeln!(
        text,
        "fig. 11: against boost-style\n{:34}{:22}{:>10}{:>10}{:>10}{:>12}",
        "", "", "speed-up", "snoops", "memory", "per us"
    );
    // Of each contender and amount of work: the logarithms of speed-ups, memory, how many.
    let mut sums: BTreeMap<(bool, Contender), (f64, f64, f64)> = BTreeMap::new();
    for (&(workload, name, label), contenders) in measured {
        let Some(boost) = contenders.get(&Contender::Boost) else { continue };
        // Of bitonic's points the figure has the largest.
        if name == "bitonic" && label != largest(measured) {
            continue;
        }
        let _ = writeln!(text, "{:34}paper: {}", format!("{name}, {label}"), PAPER[workload].1);
        for (&contender, one) in contenders {
            let (faster, memory) = (ratio(boost.nanos, one.nanos), ratio(one.memory, boost.memory));
            let _ = writeln!(
                text,
                "{:34}{:22}{faster:>10.2}{:>10.3}{memory:>10.3}{:>12.2}",
                "",
                contender.name(),
                ratio(one.snoops, boost.snoops),
                1000.0 * one.memory / one.nanos
            );
            for sleeps in [true, false] {
                let (_, ours) = if sleeps { super::WORK[0] } else { super::WORK[1] };
                let other = super::WORK.iter().any(|&(_, work)| work == label) && label != ours;
                if !other {
                    let sum = sums.entry((sleeps, contender)).or_default();
                    *sum = (sum.0 + faster.ln(), sum.1 + memory, sum.2 + 1.0);
                }
            }
        }
    }
    for sleeps in [true, false] {
        let (_, work) = if sleeps { super::WORK[0] } else { super::WORK[1] };
        let _ = writeln!(text, "averages, with {work} (paper: VL 2.09 times as fast, 61 % less memory)");
        for (&(_, contender), &(logarithms, memory, count)) in sums.iter().filter(|((which, _), _)| *which == sleeps) {
            let _ = writeln!(
                text,
                "{:34}{:22}{:>10.2}{:>10}{:>9.0} %{:>9} benchmarks",
                "",
                contender.name(),
                (logarithms / count).exp(),
                "",
                100.0 * (memory / count - 1.0),
                count
            );
        }
    }
}

/// The label of bitonic's point with the most workers.
fn largest<'a>(measured: &Measured<'a>) -> &'a str {
    let workers = |label: &str| label.split(' ').next().and_then(|number| number.parse::<usize>().ok());
    let labels = measured.keys().filter(|place| place.1 == "bitonic").map(|place| place.2);
    labels.max_by_key(|label| workers(label)).unwrap_or("")
}

/// Bitonic with more and more workers: speed, snoops and upgrades.
fn figures_12_and_13(measured: &Measured<'_>, text: &mut String) {
    let mut points: Vec<_> = measured.iter().filter(|(place, _)| place.1 == "bitonic").collect();
    let Some(base) = points.iter().find(|(place, _)| place.2 == "1 workers") else { return };
    let Some(base) = base.1.get(&Contender::Boost).map(|boost| boost.nanos) else { return };
    points.sort_by_key(|(place, _)| place.2.len() * 100 + usize::from(place.2.as_bytes()[0]));
    let _ = writeln!(
        text,
        "fig. 12 and 13: bitonic against boost-style with one worker (paper: boost-style stops at 4 threads, VL at 8)\n\
         {:34}{:22}{:>10}{:>10}{:>10}",
        "", "", "speed-up", "snoops", "upgrades"
    );
    for (place, contenders) in points {
        for (contender, one) in contenders {
            let speed = base / one.nanos;
            let _ = writeln!(
                text,
                "{:34}{:22}{speed:>10.2}{:>10.0}{:>10.0}",
                place.2,
                contender.name(),
                one.snoops,
                one.upgrades
            );
        }
    }
}

/// Virtual-Link against CAF.
fn figure_15(measured: &Measured<'_>, text: &mut String) {
    for (place, contenders) in measured {
        let paper = match place.1 {
            "ping-pong" => "2.40",
            "pipeline" => "1.22",
            _ => continue,
        };
        if let (Some(caf), Some(link)) = (contenders.get(&Contender::Caf), contenders.get(&Contender::VirtualLink)) {
            let faster = caf.nanos / link.nanos;
            let _ =
                writeln!(text, "fig. 15, {}: virtual-link {faster:.2} times as fast as caf (paper: {paper})", place.1);
        }
    }
}
