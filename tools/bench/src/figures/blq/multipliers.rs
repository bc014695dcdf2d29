//! BLQ's Figure 11: a producer, and consumers that need four times as long for a message. How many of them are best, with five cores and with a
//! core for each kernel.

use serde_json::json;
use thalweg::KernelReport;
use thalweg::prelude::*;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::Relaxed;

use crate::baselines::blq::{Actions, CAPACITY, EMPTY, FULL, Stage, rings};
use crate::report::verdict::{Claim, Verdict, shown};
use crate::worlds;
use crate::worlds::experiment::{Experiment, NANOS, Panel, Setting};
use crate::worlds::point::{Client, Figures, Point, Run};
use crate::worlds::seen::Seen;

pub(crate) const EXPERIMENT: Experiment = Experiment::new("blq/multipliers", plan)
    .here(&[NANOS])
    .panels(&[Panel::Rate, Panel::Of(FULL), Panel::Of(EMPTY)])
    .paper(beside_the_paper)
    .verdicts(verdicts)
    .threads(FEW);

/// The cores of the paper's first setting.
const FEW: usize = 5;

/// Cycles of the producer and of a consumer.
const PRODUCER: u64 = 3_000;
const CONSUMER: u64 = 4 * PRODUCER;

const MULTIPLIERS: [usize; 9] = [1, 2, 3, 4, 5, 6, 8, 12, 16];

/// Who runs it, with how many cores.
const FEW_OWN: &str = "BLQ's own form, 5 cores";
const EACH_OWN: &str = "BLQ's own form, N + 1 cores";
const FEW_OURS: &str = "streams, 5 cores";
const EACH_OURS: &str = "streams, N + 1 cores";
const CONTENDERS: [&str; 4] = [FEW_OWN, EACH_OWN, FEW_OURS, EACH_OURS];

fn plan(setting: &Setting<'_>) -> Vec<Point> {
    let messages = setting.part(20_000, 240);
    let mut points = Vec::new();
    for contender in CONTENDERS {
        for consumers in MULTIPLIERS {
            let each = consumers + 1;
            let cores = if matches!(contender, FEW_OWN | FEW_OURS) { FEW } else { each };
            if cores > setting.threads {
                continue;
            }
            let client: Client = match contender {
                FEW_OWN | EACH_OWN => Box::new(move || own(consumers, cores, messages)),
                _ => Box::new(move || ours(consumers, cores, messages)),
            };
            points.push(Point {
                workload: WORKLOAD,
                contender,
                label: format!("{consumers} consumers"),
                params: json!({ "messages": messages, "consumers": consumers, "cores": cores, "capacity": CAPACITY }),
                threads: cores,
                messages,
                device: None,
                client,
            });
        }
    }
    points
}

/// Rings of fixed size and a polling worker for each kernel: one-shot tasks would add to the multiplier.
fn own(consumers: usize, cores: usize, messages: u64) -> Figures {
    let producer = Stage { clones: 1, work: |_, _| worlds::work(PRODUCER) };
    let consumer = Stage { clones: consumers, work: |_, _| worlds::work(CONSUMER) };
    rings(&[producer, consumer], Actions { grow: false, help: false }, messages, cores)
}

fn ours(consumers: usize, cores: usize, messages: u64) -> Figures {
    let done = CachePadded(AtomicU64::new(0));
    let mut graph = Graph::new();
    let producer = graph.source((0..messages).inspect(|_| worlds::work(PRODUCER)));
    let consumer = graph.parallel_sink(|_: u64| {
        worlds::work(CONSUMER);
        done.fetch_add(1, Relaxed);
    });
    graph += producer >> consumer * consumers as u32;
    let scheme = Scheme::named("pw").expect("a scheme's name").workers(cores);
    let mut report = None;
    let figures = Figures::timed(messages, || report = Some(graph.run(scheme).expect("the graph runs to its end")));
    drop(graph);
    assert_eq!(done.load(Relaxed), messages, "a message was lost");
    let sum = |of: fn(&KernelReport) -> u64| {
        report.iter().flat_map(|report| &report.kernels).map(of).sum::<u64>() as f64 / messages as f64
    };
    let more = vec![(FULL, sum(|kernel| kernel.blocked_full)), (EMPTY, sum(|kernel| kernel.blocked_empty))];
    Figures { more, ..figures }
}

/// The multiplier that is best in each setting, and what the paper says.
fn beside_the_paper(points: &[Point], measured: &[Vec<Run>]) -> String {
    let mut text = String::new();
    for contender in CONTENDERS {
        let times: Vec<(&Point, f64)> = (points.iter().zip(measured))
            .filter(|(point, _)| point.contender == contender)
            .map(|(point, runs)| (point, point.nanos(runs).median))
            .collect();
        let least = times.iter().map(|time| time.1).fold(f64::INFINITY, f64::min);
        let Some((best, _)) = times.iter().find(|time| time.1 <= NEAR * least) else { continue };
        let (Some(first), Some(last)) = (times.first(), times.last()) else { continue };
        text += &format!(
            "{contender}: {} are as good as any; {} take {:.2} times as long, {} {:.2} times\n",
            best.label,
            first.0.label,
            first.1 / least,
            last.0.label,
            last.1 / least,
        );
    }
    text + "The paper: 4 is best; with 5 cores more are slower, as consumers that starve compete for cores; with N + 1 cores the time stays \
            low, and\nconsumers find nothing more often\n\n"
}

/// One multiplier beside the paper's, at most, comes out.
const WITHIN: f64 = 0.25;
const CLAIMS: [(&str, Claim); 2] =
    [(FEW_OWN, claim("the best multiplier with 5 cores")), (EACH_OWN, claim("the best multiplier with N + 1 cores"))];

const fn claim(what: &'static str) -> Claim {
    Claim::new("blq/multipliers", what, 4.0, WITHIN)
}

/// Of BLQ's own form, where all multipliers were run.
fn verdicts(seen: &Seen<'_>) -> Vec<Verdict> {
    let best = |contender: &str| {
        let of = |consumers| seen.nanos_of(WORKLOAD, contender, &format!("{consumers} consumers"));
        let all = MULTIPLIERS.iter().map(|&consumers| Some((consumers, of(consumers)?))).collect::<Option<Vec<_>>>()?;
        let least = all.iter().map(|one| one.1).fold(f64::INFINITY, f64::min);
        all.into_iter().find(|one| one.1 <= NEAR * least).map(|(consumers, _)| consumers as f64)
    };
    let words = shown("blq/multipliers", "more consumers", "slower with 5 cores, the same time with N + 1 cores");
    CLAIMS.iter().map(|(contender, claim)| claim.verdict(best(contender))).chain([words]).collect()
}

const WORKLOAD: &str = "consumers of four times the work";

/// What is as good as the best.
const NEAR: f64 = 1.03;

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use thalweg_sim::Machine;

    #[test]
    fn four_consumers_keep_up_with_the_producer() {
        let machine = Machine::named("arm-32").unwrap();
        let setting = Setting::of(&machine, 17);
        let points = plan(&setting);
        assert_eq!(points.len(), CONTENDERS.len() * MULTIPLIERS.len());
        let at = |contender: &str, consumers: usize| {
            let label = format!("{consumers} consumers");
            let found = points.iter().find(|point| point.contender == contender && point.label == label);
            found.unwrap_or_else(|| panic!("no point of {contender}, {label}"))
        };
        for contender in CONTENDERS {
            let (one, four) = (at(contender, 1).nanos_on(&machine), at(contender, 4).nanos_on(&machine));
            // With a hint that is too small, and workers to spare, our streams lose nothing.
            let gains = one > 1.5 * four;
            assert_eq!(gains, contender != FEW_OURS, "{contender}: {one} ns with one consumer, {four} with four");
        }
        let found = |consumers, unit| {
            let point = at(EACH_OWN, consumers);
            let run = point.run(&machine, 0).unwrap();
            point.figure(&[run], unit).unwrap()
        };
        assert!(found(1, FULL) > 10.0 * found(16, FULL), "a producer of one consumer waits");
        assert!(found(16, EMPTY) > 2.0 * found(4, EMPTY), "of sixteen consumers most wait");
    }
}
