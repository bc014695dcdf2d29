//! Virtual-Link's seven benchmarks, on its devices and on software queues.

mod beyond;
mod edges;
#[cfg_attr(
    not(feature = "machines"),
    allow(dead_code, reason = "what is said of the figures is of a modelled machine")
)]
mod figures;
mod net;
mod patterns;
mod queues;

pub(crate) use beyond::EXPERIMENT as BEYOND;
pub(crate) use edges::EXPERIMENT as EDGES;
#[cfg(feature = "machines")]
pub(crate) use figures::{averaged, beside_the_paper};
pub(crate) use queues::EXPERIMENTS as QUEUES;

use serde_json::{Value, json};

use crate::worlds::experiment::{Base, Experiment, Panel, Setting, said};
use crate::worlds::point::{Figures, MEMORY, Point, SNOOPS, UPGRADES};
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
    Experiment::new(name, plan)
        .panels(&BESIDE_BOOST)
        .note(|unit, workload| {
            let says = [
                (OVER_BOOST.unit, figures::PAPER),
                (OVER_CAF.unit, figures::BESIDE_CAF),
                (OVER_ONE_WORKER.unit, figures::BY_WORKERS),
                (OVER_ALONE.unit, figures::STREAM),
            ];
            said("The paper", &says, unit, workload)
        })
        .verdicts(figures::verdicts)
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

/// Ping-pong whose balls share a line on their way there, and come back each in a line of its own.
const SINGLE: &str = "balls back singly";

/// STREAM without messages.
const ALONE: &str = "alone";

/// What a thread of halo, sweep and incast computes at a time, in cycles, and what that is. The paper's programs sleep for
/// 1000 ns, and the system's timers add 50 µs unless told otherwise; later ones spin for 1000 ns.
const WORK: [(u64, &str); 2] = [(102_000, "51 us of work"), (2_000, "1 us of work")];
/// The same in halo and sweep, with buffers of the application's at each end of a channel.
const BUFFERED: [(u64, &str); 2] = [(102_000, "51 us, buffered twice"), (2_000, "1 us, buffered twice")];

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
    let of = |(is_single, label): (bool, &str)| {
        let mut params = json!({ "messages": 14 * rounds, "burst": 7 });
        if is_single {
            params["back"] = json!("a line each");
        }
        points("ping-pong", label, setting, (false, false), &params, move |net| {
            patterns::ping_pong(net, rounds, is_single)
        })
    };
    by_contender([(false, "2 threads"), (true, SINGLE)].into_iter().flat_map(of).collect())
}

/// The points of halo or sweep, without and with the application's buffers.
fn in_a_grid(
    workload: &'static str,
    setting: &Setting<'_>,
    iterations: u64,
    messages: u64,
    run: fn(&Net, u64, u64, bool) -> Figures,
) -> Vec<Point> {
    let of = |is_buffered: bool, (work, label): (u64, &str)| {
        let mut params = json!({ "messages": messages, "work_cycles": work, "words": 7 });
        if is_buffered {
            params["buffers"] = json!(patterns::BUFFERS);
        }
        points(workload, label, setting, (false, true), &params, move |net| run(net, iterations, work, is_buffered))
    };
    let plain = WORK.into_iter().flat_map(|work| of(false, work));
    by_contender(plain.chain(BUFFERED.into_iter().flat_map(|work| of(true, work))).collect())
}

/// Curve by curve.
fn by_contender(mut points: Vec<Point>) -> Vec<Point> {
    let place = |name: &str| Contender::ALL.iter().position(|contender| contender.name() == name);
    points.sort_by_key(|point| place(point.contender));
    points
}

fn halo(setting: &Setting<'_>) -> Vec<Point> {
    let iterations = setting.part(40, 3);
    in_a_grid("halo", setting, iterations, iterations * patterns::CHANNELS, patterns::halo)
}

fn sweep(setting: &Setting<'_>) -> Vec<Point> {
    let iterations = setting.part(10, 2);
    in_a_grid("sweep", setting, iterations, 2 * iterations * patterns::CHANNELS, patterns::sweep)
}

/// So many that Boost's queue, if it holds all messages, is twice as large as the last level.
fn incast(setting: &Setting<'_>) -> Vec<Point> {
    let iterations = setting.part(2_200, 10);
    let of = |(work, label): (u64, &str)| {
        let params = json!({ "messages": 15 * iterations, "work_cycles": work, "words": 7 });
        points("incast", label, setting, (true, true), &params, move |net| patterns::incast(net, iterations, work))
    };
    by_contender(WORK.into_iter().flat_map(of).collect())
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

#[cfg(all(test, feature = "machines"))]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::worlds::pictures::plots;
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
            let point = points.iter().find(|point| point.contender == name && point.label != SINGLE).unwrap();
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

    #[test]
    fn balls_that_come_back_singly_have_a_line_each() {
        let machine = Machine::named("vl-16").unwrap();
        let points = ping_pong(&Setting::of(&machine, 16));
        let lines = |label: &str| {
            let point =
                points.iter().find(|point| (point.contender, &*point.label) == ("virtual-link", label)).unwrap();
            let (_, report) = point.run(&machine, 0).unwrap_or_else(|failure| panic!("{failure}"));
            (report.counts.device.pushes - report.counts.device.pushes_refused) * 14 / point.messages
        };
        // Of each round.
        assert_eq!((lines("2 threads"), lines(SINGLE)), (2, 8));
    }

    /// 48 channels, two lines of the application's at each of their ends; each is read from memory once.
    #[test]
    fn a_grid_that_is_buffered_twice_touches_the_lines_of_its_own() {
        let machine = Machine::named("vl-16").unwrap();
        let (lines, few) = (2 * patterns::CHANNELS * patterns::BUFFERS as u64, 20);
        for plan in [halo, sweep] {
            let points = plan(&Setting::of(&machine, 16));
            let memory = |label: &str| {
                let point = points.iter().find(|point| (point.contender, &*point.label) == ("virtual-link", label));
                let (_, report) = point.unwrap().run(&machine, 0).unwrap_or_else(|failure| panic!("{failure}"));
                report.counts.memory_transactions()
            };
            let more = memory(BUFFERED[1].1) - memory(WORK[1].1);
            assert!((lines - few..lines + few).contains(&more), "{more} transactions more, with {lines} lines");
        }
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
