//! Virtual-Link's seven benchmarks, on its devices and on software queues.

pub(super) mod boost;
mod figures;
mod mailbox;
mod net;
mod patterns;

pub(super) use figures::beside_the_paper;

use serde_json::{Value, json};

use super::experiment::{Experiment, Setting};
use super::point::{Figures, Point};
use net::{Contender, Net};

pub(super) const EXPERIMENTS: [Experiment; 8] = [
    Experiment::new("vl/ping-pong", "Virtual-Link: two threads, seven balls there and back", ping_pong),
    Experiment::new("vl/halo", "Virtual-Link: 16 threads exchange with their neighbours", halo),
    Experiment::new("vl/sweep", "Virtual-Link: waves through a grid of 16 threads", sweep),
    Experiment::new("vl/incast", "Virtual-Link: 15 threads send to one", incast),
    Experiment::new("vl/fir", "Virtual-Link: a chain of 32 threads, two to a core", fir),
    Experiment::new("vl/bitonic", "Virtual-Link: a master and 1 to 15 workers sort", bitonic),
    Experiment::new("vl/pipeline", "Virtual-Link: packets through four stages and back", pipeline),
    Experiment::new("vl/stream", "Virtual-Link: STREAM beside ping-pong", stream),
];

/// What a thread of halo, sweep and incast computes at a time, in cycles, and what that is. The paper's programs sleep for
/// 1000 ns, and the system's timers add 50 µs unless told otherwise; later ones spin for 1000 ns.
const WORK: [(u64, &str); 2] = [(102_000, "51 us of work"), (2_000, "1 us of work")];

/// A point for every contender that can carry it.
fn points(
    workload: &'static str,
    label: &str,
    threads: usize,
    (shared, messages): (bool, bool),
    params: &Value,
    run: impl Fn(&Net) -> Figures + Clone + Send + Sync + 'static,
) -> Vec<Point> {
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
                device: contender.device(),
                client: Box::new(move || run(&Net::new(contender))),
            }
        })
        .collect()
}

fn ping_pong(setting: &Setting<'_>) -> Vec<Point> {
    let rounds = setting.part(500, 20);
    let params = json!({ "messages": 14 * rounds, "burst": 7 });
    points("ping-pong", "2 threads", setting.threads, (false, false), &params, move |net| {
        patterns::ping_pong(net, rounds)
    })
}

/// The points of a benchmark in which threads compute, for each amount of work.
fn with_work(
    workload: &'static str,
    threads: usize,
    kind: (bool, bool),
    iterations: u64,
    messages: u64,
    run: fn(&Net, u64, u64) -> Figures,
) -> Vec<Point> {
    let of = |(work, label): (u64, &str)| {
        let params = json!({ "messages": messages, "work_cycles": work, "words": 7 });
        points(workload, label, threads, kind, &params, move |net| run(net, iterations, work))
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
    with_work("halo", setting.threads, (false, true), iterations, iterations * patterns::CHANNELS, patterns::halo)
}

fn sweep(setting: &Setting<'_>) -> Vec<Point> {
    let iterations = setting.part(10, 2);
    with_work("sweep", setting.threads, (false, true), iterations, 2 * iterations * patterns::CHANNELS, patterns::sweep)
}

/// So many that Boost's queue, if it holds all messages, is twice as large as the last level.
fn incast(setting: &Setting<'_>) -> Vec<Point> {
    let iterations = setting.part(2_200, 10);
    with_work("incast", setting.threads, (true, true), iterations, 15 * iterations, patterns::incast)
}

/// So many that one of Boost's queues, if it holds all samples, is larger than the last level.
fn fir(setting: &Setting<'_>) -> Vec<Point> {
    let samples = setting.part(20_000, 70);
    let params = json!({ "messages": 31 * samples, "stages": 32 });
    points("fir", "32 threads", setting.threads, (false, false), &params, move |net| patterns::fir(net, samples))
}

fn bitonic(setting: &Setting<'_>) -> Vec<Point> {
    let blocks = setting.part(32, 4) as usize;
    let of = |workers: usize| {
        let params = json!({ "messages": patterns::messages_of_bitonic(blocks), "workers": workers, "blocks": blocks });
        let run = move |net: &Net| patterns::bitonic(net, blocks, workers);
        points("bitonic", &format!("{workers} workers"), setting.threads, (true, true), &params, run)
    };
    let most = setting.threads.saturating_sub(1).max(1);
    by_contender([1, 3, 7, 15].into_iter().filter(|&workers| workers <= most).flat_map(of).collect())
}

fn pipeline(setting: &Setting<'_>) -> Vec<Point> {
    let packets = setting.part(3000, 150);
    let params = json!({ "messages": 5 * packets, "pool": 56 });
    points("pipeline", "10 threads", setting.threads, (true, false), &params, move |net| {
        patterns::pipeline(net, packets)
    })
}

fn stream(setting: &Setting<'_>) -> Vec<Point> {
    let lines = 3 * setting.part(4096, 256);
    let threads = setting.threads;
    let workers = threads.saturating_sub(2).clamp(1, 8) as u64;
    let params = json!({ "messages": 2 * workers * lines, "lines": lines });
    let mut points = points("stream", "and ping-pong", threads, (false, false), &params, move |net| {
        patterns::stream(Some(net), workers, lines)
    });
    points.insert(
        0,
        Point {
            workload: "stream",
            contender: "alone",
            label: "alone".to_owned(),
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
    use super::*;
    use thalweg_sim::Machine;

    #[test]
    fn every_contender_carries_every_benchmark_and_the_same_way_twice() {
        let machine = Machine::named("vl-16").unwrap();
        for experiment in &EXPERIMENTS {
            for point in (experiment.plan)(&Setting::of(&machine, 16)) {
                let (figures, report) =
                    point.run(&machine, 0).unwrap_or_else(|failure| panic!("{}: {failure}", point.title()));
                assert!(figures.nanos > 0 && figures.messages == point.messages, "{}", point.title());
                if point.contender == "virtual-link" {
                    assert!(report.counts.device.injections > 0, "{}", point.title());
                    assert_eq!(point.run(&machine, 0).unwrap().1, report, "{}: the same again", point.title());
                }
            }
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
}
