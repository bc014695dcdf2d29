//! The paper's figures from what was measured, with the paper's values beside.

use std::collections::BTreeMap;
use std::fmt::Write;

use thalweg_sim::Report;

use super::net::Contender;
use super::{ALONE, SINGLE, WORK};
use crate::report::verdict::{Claim, Verdict, shown};
use crate::worlds::experiment::Says;
use crate::worlds::point::{MEMORY, Point, Run};
use crate::worlds::seen::Seen;

/// What the paper's text says, by benchmark: the values of its bars are in pictures only.
pub(crate) const PAPER: Says = &[
    ("ping-pong", "VL 11.36 times as fast, 20 % less memory; 2.40 times as fast as CAF"),
    ("halo", "ZeroMQ slower than Boost; VL more memory"),
    ("sweep", "VL 1.10 times as fast, more memory"),
    ("incast", "VL and ZeroMQ much less memory"),
    ("fir", "VL and ZeroMQ much less memory; VL more snoops, for context switches"),
    ("bitonic", "ZeroMQ slower than Boost; VL 20 % less memory"),
    ("pipeline", "VL 1.22 times as fast as CAF"),
];
/// And of Figures 12, 14 and 15.
pub(crate) const BY_WORKERS: Says = &[("bitonic", "boost-style stops at 4 threads, VL at 8")];
pub(crate) const STREAM: Says =
    &[("stream", "time within 2 %; VL about as many snoops as Boost, far fewer than ZeroMQ")];
pub(crate) const BESIDE_CAF: Says = &[("ping-pong", "VL 2.40 times"), ("pipeline", "VL 1.22 times")];

/// A third off the paper's number at most comes out: the machine of its simulator has other prices, and its means do not say which they are.
const WITHIN: f64 = 1.0 / 3.0;

/// What a number is of, with Virtual-Link against another.
#[derive(Clone, Copy)]
enum Of {
    /// Times as fast as that contender.
    Faster(Contender),
    /// Percent of the memory transactions of Boost's queue that it does not have.
    LessMemory,
    /// Percent that STREAM is off its time alone.
    Time,
}

/// By benchmark and label.
const CLAIMS: [(&str, &str, Of, Claim); 8] = [
    ("ping-pong", "2 threads", Of::Faster(Contender::Boost), claim("vl/ping-pong", "over boost-style", 11.36)),
    (
        "ping-pong",
        SINGLE,
        Of::Faster(Contender::Boost),
        claim("vl/ping-pong", "balls back singly, over boost-style", 11.36),
    ),
    ("ping-pong", "2 threads", Of::LessMemory, claim("vl/ping-pong", "% less memory than boost-style", 20.0)),
    ("ping-pong", "2 threads", Of::Faster(Contender::Caf), claim("vl/ping-pong", "over caf", 2.40)),
    ("sweep", WORK[0].1, Of::Faster(Contender::Boost), claim("vl/sweep", "51 us of work, over boost-style", 1.10)),
    ("bitonic", "15 workers", Of::LessMemory, claim("vl/bitonic", "15 workers, % less memory than boost-style", 20.0)),
    ("pipeline", "10 threads", Of::Faster(Contender::Caf), claim("vl/pipeline", "over caf", 1.22)),
    ("stream", "and ping-pong", Of::Time, claim("vl/stream", "beside ping-pong, time changes by, %,", 2.0).at_most()),
];
/// What the paper shows of a benchmark without a number that is ours to compare.
const SHOWN: [(&str, &str, &str, &str); 6] = [
    ("halo", "vl/halo", "", PAPER[1].1),
    ("sweep", "vl/sweep", "memory", "VL more"),
    ("incast", "vl/incast", "", PAPER[3].1),
    ("fir", "vl/fir", "", PAPER[4].1),
    ("bitonic", "vl/bitonic", "workers", BY_WORKERS[0].1),
    ("stream", "vl/stream", "snoops", "VL about as many as Boost, far fewer than ZeroMQ"),
];
/// Of all seven benchmarks.
const FASTER: Claim = claim("vl/", "geometric mean with 51 us of work, over boost-style", 2.09);
const LESS_MEMORY: Claim = claim("vl/", "geometric mean with 51 us of work, % less memory than boost-style", 61.0);

const fn claim(figure: &'static str, what: &'static str, paper: f64) -> Claim {
    Claim::new(figure, what, paper, WITHIN)
}

/// The lines of a benchmark.
pub(crate) fn verdicts(seen: &Seen<'_>) -> Vec<Verdict> {
    let link = Contender::VirtualLink.name();
    let is_of = |workload: &str| !seen.places(|point| point.workload == workload).is_empty();
    let mut all = Vec::new();
    for (workload, label, of, claim) in CLAIMS.iter().filter(|claim| is_of(claim.0)) {
        let over = |unit: Option<&str>, other: &str, of_other: &str| {
            let figure = |contender: &str, label: &str| {
                let at = seen.find(workload, contender, label)?;
                unit.map_or_else(|| seen.nanos(at), |unit| seen.figure(at, unit))
            };
            Some(ratio(figure(link, label)?, figure(other, of_other)?))
        };
        let here = match of {
            Of::Faster(other) => over(None, other.name(), label).map(|share| 1.0 / share),
            Of::LessMemory => over(Some(MEMORY), Contender::Boost.name(), label).map(|share| 100.0 * (1.0 - share)),
            Of::Time => over(None, ALONE, ALONE).map(|share| 100.0 * (share - 1.0).abs()),
        };
        all.push(claim.verdict(here));
    }
    let words = SHOWN.iter().filter(|(workload, ..)| is_of(workload));
    all.extend(words.map(|(_, figure, what, says)| shown(figure, what, says)));
    all
}

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

/// Which benchmark, its name, and the point's label.
type PointKey<'a> = (usize, &'a str, &'a str);
/// The measured points of the benchmarks.
type Measured<'a> = BTreeMap<PointKey<'a>, BTreeMap<Contender, Middle>>;

/// Plans and what was measured of their points.
type All = [(Vec<Point>, Vec<Vec<Run>>)];

/// Tables like the paper's figures 11 to 15, of those of its benchmarks that were run. Empty if none was.
pub(crate) fn beside_the_paper(all: &All) -> String {
    let (measured, stream) = sorted(all);
    figures(&measured, &stream)
}

/// What becomes of the paper's averages, with the benchmarks that were run.
pub(crate) fn averaged(all: &All) -> Vec<Verdict> {
    of_all_benchmarks(&sorted(all).0).into()
}

/// The points of the benchmarks by what they are of; those of STREAM, of which the first is STREAM alone.
fn sorted(all: &All) -> (Measured<'_>, Vec<(&str, Middle)>) {
    let (mut measured, mut stream) = (Measured::new(), Vec::new());
    for (point, runs) in all.iter().flat_map(|(points, runs)| points.iter().zip(runs)) {
        let workload = PAPER.iter().position(|(name, _)| *name == point.workload);
        let contender = Contender::ALL.into_iter().find(|contender| contender.name() == point.contender);
        match (workload, contender) {
            (Some(workload), Some(contender)) => {
                let place = (workload, point.workload, point.label.as_str());
                measured.entry(place).or_default().insert(contender, Middle::of(runs));
            }
            _ if point.workload == "stream" => stream.push((point.contender, Middle::of(runs))),
            _ => {}
        }
    }
    (measured, stream)
}

/// The tables; in `stream` the first is STREAM alone.
fn figures(measured: &Measured<'_>, stream: &[(&str, Middle)]) -> String {
    let mut text = String::new();
    if !measured.is_empty() {
        figure_11(measured, &mut text);
        averages(measured, &mut text);
        figures_12_and_13(measured, &mut text);
    }
    figure_14(stream, &mut text);
    figure_15(measured, &mut text);
    if !measured.is_empty() {
        text += "\n";
        text.extend(of_all_benchmarks(measured).map(|verdict| verdict.to_string()));
    }
    text
}

fn ratio(ours: f64, theirs: f64) -> f64 {
    if theirs == 0.0 { f64::NAN } else { ours / theirs }
}

/// The points of figure 11, with Boost's queue's: of bitonic's it has the largest.
fn of_figure_11<'a>(
    measured: &'a Measured<'a>,
) -> impl Iterator<Item = (&'a PointKey<'a>, &'a BTreeMap<Contender, Middle>, &'a Middle)> {
    let largest = largest(measured);
    (measured.iter())
        .filter(move |((_, name, label), _)| *name != "bitonic" || *label == largest)
        .filter_map(|(place, contenders)| Some((place, contenders, contenders.get(&Contender::Boost)?)))
}

/// Execution time, snoops and memory transactions, each with Boost's queue's as 1.
fn figure_11(measured: &Measured<'_>, text: &mut String) {
    let _ = writeln!(
        text,
        "fig. 11: against boost-style (paper: VL from 1.10 to 11.36 times as fast)\n{:34}{:22}{:>10}{:>10}{:>10}{:>12}",
        "", "", "speed-up", "snoops", "memory", "per us"
    );
    for (&(workload, name, label), contenders, boost) in of_figure_11(measured) {
        let _ = writeln!(text, "{:34}paper: {}", format!("{name}, {label}"), PAPER[workload].1);
        for (contender, one) in contenders {
            let _ = writeln!(
                text,
                "{:34}{:22}{:>10.2}{:>10.3}{:>10.3}{:>12.2}",
                "",
                contender.name(),
                ratio(boost.nanos, one.nanos),
                ratio(one.snoops, boost.snoops),
                ratio(one.memory, boost.memory),
                1000.0 * one.memory / one.nanos
            );
        }
    }
}

/// Figure 11's averages, for each amount of work; a benchmark that has none is in all of them. Which mean the paper's are,
/// it does not say, so each is there. Halo and sweep are in them without buffers of the application's, ping-pong with balls that share
/// lines both ways.
fn averages(measured: &Measured<'_>, text: &mut String) {
    for (_, work) in super::WORK {
        let _ = writeln!(
            text,
            "averages, with {work} (paper: VL 2.09 times as fast, 61 % less memory, i.e. 0.39)\n\
             {:34}{:22}{:>20}{:>30}\n{:56}{:>10}{:>10}{:>10}{:>10}{:>10}{:>12}",
            "", "", "speed-up", "memory", "", "geom.", "arith.", "geom.", "arith.", "total", "benchmarks"
        );
        for (contender, averages) in averages_of(measured, work) {
            let Averages { faster, memory, sums } = averages;
            let _ = writeln!(
                text,
                "{:34}{:22}{:>10.2}{:>10.2}{:>10.3}{:>10.3}{:>10.3}{:>12}",
                "",
                contender.name(),
                geometric(&faster),
                arithmetic(&faster),
                geometric(&memory),
                arithmetic(&memory),
                ratio(sums.0, sums.1),
                faster.len()
            );
        }
    }
}

/// With that amount of work.
fn averages_of(measured: &Measured<'_>, work: &str) -> BTreeMap<Contender, Averages> {
    let mut all: BTreeMap<Contender, Averages> = BTreeMap::new();
    let is_in = |label: &str| {
        let mut others = super::WORK.iter().chain(&super::BUFFERED);
        label == work || (label != super::SINGLE && others.all(|&(_, other)| label != other))
    };
    for (_, contenders, boost) in of_figure_11(measured).filter(|(place, ..)| is_in(place.2)) {
        for (&contender, one) in contenders {
            all.entry(contender).or_default().add(one, boost);
        }
    }
    all
}

/// What becomes of the averages, if all benchmarks were run.
fn of_all_benchmarks(measured: &Measured<'_>) -> [Verdict; 2] {
    let link = averages_of(measured, WORK[0].1).remove(&Contender::VirtualLink);
    let link = link.filter(|averages| averages.faster.len() == PAPER.len());
    let less = |averages: &Averages| 100.0 * (1.0 - geometric(&averages.memory));
    let faster = link.as_ref().map(|averages| geometric(&averages.faster));
    [FASTER.verdict(faster), LESS_MEMORY.verdict(link.as_ref().map(less))]
}

/// What a contender's averages are of.
#[derive(Default)]
struct Averages {
    /// Of each benchmark.
    faster: Vec<f64>,
    memory: Vec<f64>,
    /// Memory transactions of all benchmarks together: its own, and the baseline's.
    sums: (f64, f64),
}

impl Averages {
    fn add(&mut self, one: &Middle, boost: &Middle) {
        self.faster.push(ratio(boost.nanos, one.nanos));
        self.memory.push(ratio(one.memory, boost.memory));
        self.sums = (self.sums.0 + one.memory, self.sums.1 + boost.memory);
    }
}

fn geometric(ratios: &[f64]) -> f64 {
    arithmetic(&ratios.iter().map(|ratio| ratio.ln()).collect::<Vec<_>>()).exp()
}

fn arithmetic(ratios: &[f64]) -> f64 {
    ratios.iter().sum::<f64>() / ratios.len() as f64
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
        "fig. 12 and 13: bitonic against boost-style with one worker (paper: {})\n\
         {:34}{:22}{:>10}{:>10}{:>10}",
        BY_WORKERS[0].1, "", "", "speed-up", "snoops", "upgrades"
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

/// STREAM beside ping-pong, against STREAM alone.
fn figure_14(stream: &[(&str, Middle)], text: &mut String) {
    let alone = stream.first().map_or(0.0, |(_, alone)| alone.nanos);
    for (contender, middle) in stream {
        let time = ratio(middle.nanos, alone);
        let _ = writeln!(
            text,
            "fig. 14, STREAM with {contender:22} time {time:.3}, memory {:.0}, snoops {:.0} (paper: {})",
            middle.memory, middle.snoops, STREAM[0].1
        );
    }
}

/// Virtual-Link against CAF.
fn figure_15(measured: &Measured<'_>, text: &mut String) {
    for (place, contenders) in measured {
        let Some((_, paper)) = BESIDE_CAF.iter().find(|(name, _)| *name == place.1) else { continue };
        for which in [Contender::Caf, Contender::CafPool] {
            if let (Some(caf), Some(link)) = (contenders.get(&which), contenders.get(&Contender::VirtualLink)) {
                let (faster, name) = (caf.nanos / link.nanos, which.name());
                let of = format!("fig. 15, {}, {}: virtual-link {faster:.2} times as fast as {name}", place.1, place.2);
                let _ = writeln!(text, "{of} (paper: {paper})");
            }
        }
    }
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use thalweg_sim::{Machine, Simulation};

    fn middle(nanos: f64, snoops: f64, upgrades: f64, memory: f64) -> Middle {
        Middle { nanos, snoops, upgrades, memory }
    }

    /// One point: Boost's figures, and another's.
    fn add<'a>(measured: &mut Measured<'a>, name: &'a str, label: &'a str, contender: Contender, of: [Middle; 2]) {
        let workload = PAPER.iter().position(|paper| paper.0 == name).unwrap();
        let point = measured.entry((workload, name, label)).or_default();
        point.extend([Contender::Boost, contender].into_iter().zip(of));
    }

    /// The columns behind the contender's name, of the first such line behind `head`.
    fn columns<'a>(text: &'a str, head: &str, contender: &str) -> Vec<&'a str> {
        let behind = text.lines().skip_while(|line| !line.starts_with(head));
        let line = behind.skip(1).find(|line| line.split_whitespace().any(|word| word == contender)).unwrap();
        line.split_whitespace().skip_while(|&word| word != contender).skip(1).collect()
    }

    #[test]
    fn ratios_are_to_boosts_and_each_mean_is_what_it_is_called() {
        let mut measured = Measured::new();
        let link = Contender::VirtualLink;
        let [long, short] = super::super::WORK.map(|(_, label)| label);
        add(&mut measured, "ping-pong", "2 threads", link, [middle(8000., 50., 0., 100.), middle(1000., 30., 0., 80.)]);
        add(&mut measured, "halo", long, link, [middle(200., 10., 0., 10.), middle(100., 4., 0., 20.)]);
        add(&mut measured, "halo", short, link, [middle(900., 10., 0., 10.), middle(100., 1., 0., 5.)]);
        let (buffered, single) = (super::super::BUFFERED[0].1, super::super::SINGLE);
        add(&mut measured, "ping-pong", single, link, [middle(900., 10., 0., 10.), middle(100., 1., 0., 50.)]);
        add(&mut measured, "halo", buffered, link, [middle(900., 10., 0., 10.), middle(10., 1., 0., 50.)]);
        let text = figures(&measured, &[]);
        // Speed-up, snoops, memory, memory transactions in a microsecond.
        assert_eq!(columns(&text, "ping-pong", "boost-style"), ["1.00", "1.000", "1.000", "12.50"]);
        assert_eq!(columns(&text, "ping-pong", "virtual-link"), ["8.00", "0.600", "0.800", "80.00"]);
        assert!(text.contains(PAPER[0].1) && text.contains(PAPER[1].1) && !text.contains(PAPER[2].1));
        assert_eq!(
            columns(&text, &format!("halo, {buffered}"), "virtual-link"),
            ["90.00", "0.100", "5.000", "5000.00"]
        );
        // Without what is buffered twice: 8 and 2 times as fast; 0.8 and 2 times the memory, 100 of 110. Then 8 and 9, 0.8 and 0.5, 85 of 110.
        let averages = |work: &str| columns(&text, &format!("averages, with {work}"), "virtual-link");
        assert_eq!(averages(long), ["4.00", "5.00", "1.265", "1.400", "0.909", "2"]);
        assert_eq!(averages(short), ["8.49", "8.50", "0.632", "0.650", "0.773", "2"]);
    }

    #[test]
    fn of_bitonic_the_first_figure_has_the_largest_point_and_the_others_have_all() {
        let mut measured = Measured::new();
        let zeromq = Contender::ZeroMq;
        add(&mut measured, "bitonic", "1 workers", zeromq, [middle(600., 9., 7., 1.), middle(300., 8., 6., 1.)]);
        add(&mut measured, "bitonic", "3 workers", zeromq, [middle(300., 9., 7., 1.), middle(200., 8., 6., 1.)]);
        add(&mut measured, "bitonic", "15 workers", zeromq, [middle(150., 9., 5., 4.), middle(100., 3., 2., 2.)]);
        let text = figures(&measured, &[]);
        assert_eq!(columns(&text, "bitonic, 15 workers", "zeromq-style"), ["1.50", "0.333", "0.500", "20.00"]);
        assert!(!text.contains("bitonic, 3 workers"));
        assert_eq!(columns(&text, "averages", "zeromq-style"), ["1.50", "1.50", "0.500", "0.500", "0.500", "1"]);
        // Against Boost's queue with one worker, in the order of workers: speed-up, snoops, upgrades.
        let of_12 = text.lines().skip_while(|line| !line.starts_with("fig. 12")).skip(2);
        let of_12: Vec<_> = of_12.take_while(|line| !line.is_empty()).collect();
        let expected = ["1.00 9 7", "2.00 8 6", "2.00 9 7", "3.00 8 6", "4.00 9 5", "6.00 3 2"];
        assert_eq!(of_12.len(), expected.len());
        for (line, expected) in of_12.iter().zip(expected) {
            assert_eq!(line.split_whitespace().skip(3).collect::<Vec<_>>().join(" "), expected, "{line}");
        }
    }

    #[test]
    fn stream_is_compared_with_itself_alone_and_virtual_link_with_caf() {
        let mut measured = Measured::new();
        let boost = || middle(1000., 0., 0., 1.);
        add(&mut measured, "ping-pong", "2 threads", Contender::Caf, [boost(), middle(300., 0., 0., 1.)]);
        add(&mut measured, "ping-pong", "2 threads", Contender::VirtualLink, [boost(), middle(120., 0., 0., 1.)]);
        add(&mut measured, "ping-pong", "2 threads", Contender::CafPool, [boost(), middle(240., 0., 0., 1.)]);
        add(&mut measured, "pipeline", "10 threads", Contender::VirtualLink, [boost(), middle(100., 0., 0., 1.)]);
        let stream = [("alone", middle(500., 3., 0., 40.)), ("virtual-link", middle(510., 29., 0., 41.))];
        let text = figures(&measured, &stream);
        assert!(
            text.contains(
                "fig. 15, ping-pong, 2 threads: virtual-link 2.50 times as fast as caf (paper: VL 2.40 times)"
            ),
            "{text}"
        );
        assert!(text.contains("fig. 15, ping-pong, 2 threads: virtual-link 2.00 times as fast as caf-pool"), "{text}");
        assert!(!text.contains("fig. 15, pipeline"), "caf was not run there");
        let of_14: Vec<_> = text.lines().filter(|line| line.starts_with("fig. 14")).collect();
        assert!(of_14[0].contains("alone") && of_14[0].contains("time 1.000, memory 40, snoops 3 "), "{of_14:?}");
        assert!(
            of_14[1].contains("virtual-link") && of_14[1].contains("time 1.020, memory 41, snoops 29 "),
            "{of_14:?}"
        );
        assert_eq!(figures(&Measured::new(), &[]), "", "nothing of it was run");
    }

    #[test]
    fn the_middle_is_each_figures_own() {
        let report = Simulation::new(Machine::named("vl-16").unwrap()).threads(1).run(|| ());
        let run = |nanos, written, invalidations, upgrades| {
            let mut report = report.clone();
            report.counts = Default::default();
            report.counts.memory_writes = written;
            report.counts.invalidations = invalidations;
            report.counts.upgrades.same_die = upgrades;
            report.counts.device.injections = written;
            report.counts.device.injections_rejected = 1;
            (crate::worlds::point::Figures::new(1, nanos), report)
        };
        let Middle { nanos, snoops, upgrades, memory } =
            Middle::of(&[run(1, 20, 6, 9), run(3, 10, 5, 8), run(2, 30, 4, 7)]);
        assert_eq!((nanos, snoops, upgrades, memory), (2.0, 27.0, 8.0, 20.0));
    }
}
