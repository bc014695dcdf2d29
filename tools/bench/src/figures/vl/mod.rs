//! Virtual-Link's seven benchmarks, on its devices and on software queues.

mod figures;
mod net;
mod patterns;
mod queues;

pub(crate) use figures::beside_the_paper;
pub(crate) use queues::EXPERIMENTS as QUEUES;

use serde_json::{Value, json};

use crate::machines::experiment::{Base, Experiment, Panel, Setting, said};
use crate::machines::point::{Figures, MEMORY, Point, SNOOPS, UPGRADES};
use net::{Contender, Net};

pub(crate) const EXPERIMENTS: [Experiment; 8] = [
    entry("vl/ping-pong", ping_pong).panels(&BESIDE_CAF),
    entry("vl/halo", halo),
    entry("vl/sweep", sweep),
    entry("vl/incast", incast),
    entry("vl/fir", fir),
    entry("vl/bitonic", bitonic).panels(&BY_WORKERS),
    entry("vl/pipeline", pipeline).panels(&BESIDE_CAF),
    entry("vl/stream", stream).panels(&BESIDE_ALONE),
];

const fn entry(name: &'static str, plan: fn(&Setting<'_>) -> Vec<Point>) -> Experiment {
    Experiment::new(name, plan).panels(&BESIDE_BOOST).note(|unit, workload| {
        let says = [
            (OVER_BOOST.unit, figures::PAPER),
            (OVER_CAF.unit, figures::BESIDE_CAF),
            (OVER_ONE_WORKER.unit, figures::BY_WORKERS),
            (OVER_ALONE.unit, figures::STREAM),
        ];
        said("The paper", &says, unit, workload)
    })
}

/// Figure 11: against Boost's queue.
const BESIDE_BOOST: [Panel; 5] =
    [Panel::Rate, Panel::SpeedUp(OVER_BOOST), Panel::Of(SNOOPS), Panel::Of(UPGRADES), Panel::Of(MEMORY)];
/// And Figure 15.
const BESIDE_CAF: [Panel; 6] = with(OVER_CAF);
/// And Figures 12 and 13.
const BY_WORKERS: [Panel; 6] = with(OVER_ONE_WORKER);
/// Figure 14.
const BESIDE_ALONE: [Panel; 5] =
    [Panel::Rate, Panel::SpeedUp(OVER_ALONE), Panel::Of(SNOOPS), Panel::Of(UPGRADES), Panel::Of(MEMORY)];

const fn with(base: Base) -> [Panel; 6] {
    let [rate, boost, snoops, upgrades, memory] = BESIDE_BOOST;
    [rate, boost, Panel::SpeedUp(base), snoops, upgrades, memory]
}

const OVER_BOOST: Base = Base {
    unit: "times as fast as boost-style",
    is: |of, other| other.contender == Contender::Boost.name() && other.label == of.label,
};
const OVER_CAF: Base = Base {
    unit: "times as fast as caf",
    is: |of, other| other.contender == Contender::Caf.name() && other.label == of.label,
};
const OVER_ONE_WORKER: Base = Base {
    unit: "times as fast as boost-style with one worker",
    is: |_, other| other.contender == Contender::Boost.name() && other.params["workers"] == 1,
};
const OVER_ALONE: Base = Base { unit: "times as fast as alone", is: |_, other| other.contender == ALONE };

/// STREAM without messages.
const ALONE: &str = "alone";

/// What a thread of halo, sweep and incast computes at a time, in cycles, and what that is. The paper's programs sleep for
/// 1000 ns, and the system's timers add 50 µs unless told otherwise; later ones spin for 1000 ns.
const WORK: [(u64, &str); 2] = [(102_000, "51 us of work"), (2_000, "1 us of work")];

/// A point for every contender that can carry it.
fn points(
    workload: &'static str,
    label: &str,
    setting: &Setting<'_>,
    (shared, messages): (bool, bool),
    params: &Value,
    run: impl Fn(&Net) -> Figures + Clone + Send + Sync + 'static,
) -> Vec<Point> {
    let (threads, routing) = (setting.threads, setting.routing);
    (Contender::ALL.into_iter())
        .filter(|contender| contender.can(shared, messages))
        .map(|contender| {
            let run = run.clone();
            Point {
                workload,
                contender: contender.name(),
                label: label.to_owned(),
                params: params.clone(),
                threads,
                messages: params["messages"].as_u64().expect("it is a number of messages"),
                device: contender.device(routing),
                client: Box::new(move || run(&Net::new(contender, routing))),
            }
        })
        .collect()
}

fn ping_pong(setting: &Setting<'_>) -> Vec<Point> {
    let rounds = setting.part(500, 20);
    let params = json!({ "messages": 14 * rounds, "burst": 7 });
    points("ping-pong", "2 threads", setting, (false, false), &params, move |net| patterns::ping_pong(net, rounds))
}

/// The points of a benchmark in which threads compute, for each amount of work.
fn with_work(
    workload: &'static str,
    setting: &Setting<'_>,
    kind: (bool, bool),
    iterations: u64,
    messages: u64,
    run: fn(&Net, u64, u64) -> Figures,
) -> Vec<Point> {
    let of = |(work, label): (u64, &str)| {
        let params = json!({ "messages": messages, "work_cycles": work, "words": 7 });
        points(workload, label, setting, kind, &params, move |net| run(net, iterations, work))
    };
    by_contender(WORK.into_iter().flat_map(of).collect())
}

/// Curve by curve.
fn by_contender(mut points: Vec<Point>) -> Vec<Point> {
    let place = |name: &str| Contender::ALL.iter().position(|contender| contender.name() == name);
    points.sort_by_key(|point| place(point.contender));
    points
}

fn halo(setting: &Setting<'_>) -> Vec<Point> {
    let iterations = setting.part(40, 3);
    with_work("halo", setting, (false, true), iterations, iterations * patterns::CHANNELS, patterns::halo)
}

fn sweep(setting: &Setting<'_>) -> Vec<Point> {
    let iterations = setting.part(10, 2);
    with_work("sweep", setting, (false, true), iterations, 2 * iterations * patterns::CHANNELS, patterns::sweep)
}

/// So many that Boost's queue, if it holds all messages, is twice as large as the last level.
fn incast(setting: &Setting<'_>) -> Vec<Point> {
    let iterations = setting.part(2_200, 10);
    with_work("incast", setting, (true, true), iterations, 15 * iterations, patterns::incast)
}

/// So many that one of Boost's queues, if it holds all samples, is larger than the last level.
fn fir(setting: &Setting<'_>) -> Vec<Point> {
    let samples = setting.part(20_000, 70);
    let params = json!({ "messages": 31 * samples, "stages": 32 });
    points("fir", "32 threads", setting, (false, false), &params, move |net| patterns::fir(net, samples))
}

fn bitonic(setting: &Setting<'_>) -> Vec<Point> {
    let blocks = setting.part(32, 4) as usize;
    let of = |workers: usize| {
        let params = json!({ "messages": patterns::messages_of_bitonic(blocks), "workers": workers, "blocks": blocks });
        let run = move |net: &Net| patterns::bitonic(net, blocks, workers);
        points("bitonic", &format!("{workers} workers"), setting, (true, true), &params, run)
    };
    let most = setting.threads.saturating_sub(1).max(1);
    by_contender([1, 3, 7, 15].into_iter().filter(|&workers| workers <= most).flat_map(of).collect())
}

fn pipeline(setting: &Setting<'_>) -> Vec<Point> {
    let packets = setting.part(3000, 150);
    let params = json!({ "messages": 5 * packets, "pool": 56 });
    points("pipeline", "10 threads", setting, (true, false), &params, move |net| patterns::pipeline(net, packets))
}

fn stream(setting: &Setting<'_>) -> Vec<Point> {
    let lines = 3 * setting.part(4096, 256);
    let threads = setting.threads;
    let workers = threads.saturating_sub(2).clamp(1, 8) as u64;
    let params = json!({ "messages": 2 * workers * lines, "lines": lines });
    let mut points = points("stream", "and ping-pong", setting, (false, false), &params, move |net| {
        patterns::stream(Some(net), workers, lines)
    });
    points.insert(
        0,
        Point {
            workload: "stream",
            contender: ALONE,
            label: ALONE.to_owned(),
            messages: 2 * workers * lines,
            params,
            threads,
            device: None,
            client: Box::new(move || patterns::stream(None, workers, lines)),
        },
    );
    points
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::machines::pictures::plots;
    use thalweg_figure::draw;
    use thalweg_sim::{Machine, Routing};

    #[test]
    fn every_contender_carries_every_benchmark_the_same_way_twice_and_is_drawn() {
        let machine = Machine::named("vl-16").unwrap();
        for experiment in &EXPERIMENTS {
            let points = (experiment.plan)(&Setting::of(&machine, 16));
            let mut measured = Vec::new();
            for point in &points {
                let (figures, report) =
                    point.run(&machine, 0).unwrap_or_else(|failure| panic!("{}: {failure}", point.title()));
                assert!(figures.nanos > 0 && figures.messages == point.messages, "{}", point.title());
                if point.contender == "virtual-link" {
                    assert!(report.counts.device.injections > 0, "{}", point.title());
                    assert_eq!(point.run(&machine, 0).unwrap().1, report, "{}: the same again", point.title());
                }
                measured.push(vec![(figures, report)]);
            }
            let drawn = plots(experiment, &points, &measured);
            for plot in &drawn {
                let curves = points.iter().map(|point| point.contender).collect::<BTreeSet<_>>().len();
                assert_eq!(plot.curves().len(), curves, "{} ({}) has all contenders", plot.title, plot.unit);
            }
            let svg = draw(&drawn, "");
            let beside: &[&str] = match experiment.name {
                "vl/ping-pong" | "vl/pipeline" => &["boost-style", "caf"],
                "vl/bitonic" => &["boost-style", "boost-style with one worker"],
                "vl/stream" => &["alone"],
                _ => &["boost-style"],
            };
            let beside = beside.iter().map(|base| format!("times as fast as {base}"));
            for unit in beside.chain(["snoops/msg", "upgrades/msg", "memory/msg"].map(str::to_owned)) {
                let names =
                    |end: &str| svg.contains(&format!("{}: {} ({unit}{end}", experiment.name, points[0].workload));
                assert!(names(")") || names(", logarithmic)"), "{}: no {unit} in {svg}", experiment.name);
            }
            assert!(svg.contains("The paper: "), "{}: {svg}", experiment.name);
        }
    }

    /// The paper's first result, with room for what a model may be off.
    #[test]
    fn virtual_link_is_ten_times_as_fast_in_ping_pong_and_snoops_less() {
        let machine = Machine::named("vl-16").unwrap();
        let points = ping_pong(&Setting::of(&machine, 16));
        let run = |name: &str| {
            let point = points.iter().find(|point| point.contender == name).unwrap();
            point.run(&machine, 0).unwrap_or_else(|failure| panic!("{failure}"))
        };
        let ((boost, boost_report), (link, link_report)) = (run("boost-style"), run("virtual-link"));
        assert!(
            boost.nanos > 7 * link.nanos,
            "{} ns with Boost's queue, {} with Virtual-Link",
            boost.nanos,
            link.nanos
        );
        assert!(boost_report.counts.snoops() > 5 * link_report.counts.snoops());
    }

    /// Slots that belong to each channel are what keeps a chain going: without them, lines that wait for one stage take all.
    #[test]
    fn a_chain_stands_still_without_reserved_slots_and_is_given_up() {
        let machine = Machine::named("vl-16").unwrap();
        let run = |reserve| {
            let routing = Routing { reserve, ..Routing::default() };
            let points = fir(&Setting { routing, ..Setting::of(&machine, 16) });
            let link = points.iter().find(|point| point.contender == "virtual-link").unwrap();
            // A chain that goes on is through in less than a millisecond.
            link.run_within(20_000_000, &machine, 0, false)
        };
        assert!(run(1).is_ok());
        let Err(failure) = run(0) else { panic!("the slots were enough") };
        assert!(failure.to_string().contains("20000000 ns of simulated time"), "{failure}");
    }
}
