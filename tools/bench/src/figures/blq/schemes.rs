//! BLQ's incast, outcast and pipeline (its Figure 7) under its schemes: by its own form of queues and workers, and by the
//! streams of thalweg.

use serde_json::json;
use thalweg::BoxError;
use thalweg::prelude::*;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::hint::Access;

use crate::baselines::blq::{Actions, BLOCKED, CAPACITY, Headers, Stage, rings};
use crate::report::verdict::{Claim, Verdict, shown};
use crate::worlds;
use crate::worlds::experiment::{Base, EVERY, Experiment, NANOS, Panel, Setting, said};
use crate::worlds::point::{Client, Figures, L1_MISSES, Point, Run};
use crate::worlds::seen::{Seen, geometric};

pub(crate) const EXPERIMENTS: [Experiment; 2] = [
    Experiment::new("blq/schemes", paper)
        .here(&[NANOS, BLOCKED])
        .panels(&[Panel::Rate, Panel::SpeedUp(OVER_RAFT), Panel::Of(L1_MISSES), Panel::Of(BLOCKED)])
        .note(note)
        .paper(beside_the_paper)
        .verdicts(|seen| verdicts("blq/schemes", seen)),
    Experiment::new("blq/streams", ours)
        .here(&[NANOS])
        .panels(&[Panel::Rate, Panel::SpeedUp(OVER_RAFT), Panel::Of(L1_MISSES)])
        .note(note)
        .paper(beside_the_paper)
        .verdicts(|seen| verdicts("blq/streams", seen)),
];

const OVER_RAFT: Base = Base { unit: "times as fast as raft", is: |_, other| other.contender == SCHEMES[0].0 };

const SAYS: &str = "the mean of its ten benchmarks pw_dyn 1.52, mix 1.29, mix_dyn 1.34; its bars are not in numbers. On incast mix gains \
                    and growing\nrings change nothing; pw_dyn has 40 % fewer first-level misses on average";

/// A third off the paper's number at most comes out: it is the mean of ten programs, and here it is of three shapes.
const WITHIN: f64 = 1.0 / 3.0;
/// By scheme: what the paper has for the mean over raft.
const MEANS: [(&str, &str, f64); 3] = [
    ("pw_dyn", "pw_dyn over raft, geometric mean of three shapes", 1.52),
    ("mix", "mix over raft, geometric mean of three shapes", 1.29),
    ("mix_dyn", "mix_dyn over raft, geometric mean of three shapes", 1.34),
];
const FEWER_MISSES: f64 = 40.0;

fn verdicts(figure: &'static str, seen: &Seen<'_>) -> Vec<Verdict> {
    let mean = |scheme: &str, unit: &str| {
        let all = SHAPES.map(|(workload, ..)| {
            let find = |of: &str| seen.places(|one| one.workload == workload && one.contender == of).first().copied();
            Some(seen.figure(find(scheme)?, unit)? / seen.figure(find(SCHEMES[0].0)?, unit)?)
        });
        geometric(all)
    };
    let mut all = Vec::new();
    for (scheme, what, paper) in MEANS {
        let claim = Claim::new(figure, what, paper, WITHIN);
        all.push(claim.verdict(mean(scheme, NANOS).map(|share| 1.0 / share)));
    }
    let fewer =
        Claim::new(figure, "pw_dyn, first-level misses, % fewer than raft, geometric mean", FEWER_MISSES, WITHIN);
    all.push(fewer.verdict(mean("pw_dyn", L1_MISSES).map(|share| 100.0 * (1.0 - share))));
    all.push(shown(figure, "incast", "mix gains and growing rings change nothing"));
    all
}

fn note(unit: &str, workload: &str) -> String {
    said("The paper", &[(OVER_RAFT.unit, &[(EVERY, SAYS)])], unit, workload)
}

/// What is done when a ring is full.
const SCHEMES: [(&str, Actions); 4] = [
    ("raft", Actions { grow: false, help: false }),
    ("pw_dyn", Actions { grow: true, help: false }),
    ("mix", Actions { grow: false, help: true }),
    ("mix_dyn", Actions { grow: true, help: true }),
];

/// A thousand times ten `nop`: about a microsecond.
fn microsecond(_: &Headers, _: u64) {
    worlds::work(3_000);
}

type Shape = (&'static str, u64, &'static [Stage]);

const SHAPES: [Shape; 3] = [
    ("incast", 20_000, &[Stage { clones: 4, work: microsecond }, Stage { clones: 1, work: microsecond }]),
    ("outcast", 20_000, &[Stage { clones: 1, work: microsecond }, Stage { clones: 4, work: microsecond }]),
    (
        "pipeline",
        20_000,
        &[
            Stage { clones: 1, work: |headers, packet| headers.look(packet, 0..2, Access::Write) },
            Stage { clones: 4, work: |headers, packet| headers.look(packet, 0..1, Access::Write) },
            Stage { clones: 4, work: |headers, packet| headers.look(packet, 1..2, Access::Write) },
            Stage { clones: 1, work: |headers, packet| headers.look(packet, 0..2, Access::Read) },
        ],
    ),
];

/// A point for each shape and scheme. `client` makes what runs it.
fn points(setting: &Setting<'_>, client: impl Fn(Shape, (&'static str, Actions), u64) -> Client) -> Vec<Point> {
    let mut points = Vec::new();
    for shape in SHAPES {
        let messages = setting.part(shape.1, 100) / 4 * 4;
        for scheme in SCHEMES {
            let workers = shape.2.iter().map(|stage| stage.clones).sum::<usize>();
            points.push(Point {
                workload: shape.0,
                contender: scheme.0,
                label: format!("{workers} workers"),
                params: json!({ "messages": messages, "workers": workers, "capacity": CAPACITY }),
                threads: setting.threads,
                messages,
                device: None,
                client: client(shape, scheme, messages),
            });
        }
    }
    points
}

fn paper(setting: &Setting<'_>) -> Vec<Point> {
    let threads = setting.threads;
    points(setting, move |(_, _, stages), (_, actions), messages| {
        Box::new(move || rings(stages, actions, messages, threads))
    })
}

fn ours(setting: &Setting<'_>) -> Vec<Point> {
    points(setting, |(name, _, stages), (scheme, _), messages| {
        let workers = stages.iter().map(|stage| stage.clones).sum();
        Box::new(move || {
            let scheme = Scheme::named(scheme).expect("a scheme's name").workers(workers);
            Figures::timed(messages, || {
                if name == "incast" { incast(scheme, messages) } else { row(scheme, stages, messages) }
            })
        })
    })
}

/// Takes from four sources.
struct Gather<'a>(&'a AtomicU64);

impl Kernel for Gather<'_> {
    type Ports = [In<u64>; 4];

    fn ports(&mut self, bind: &mut Binder<'_>) -> [In<u64>; 4] {
        ["a", "b", "c", "d"].map(|name| bind.input(name))
    }

    fn run(&mut self, ports: &[In<u64>; 4], io: &mut Io<'_>) -> Result<Flow, BoxError> {
        for &port in ports {
            while io.pop(port).is_some() {
                worlds::work(3_000);
                self.0.fetch_add(1, Relaxed);
            }
        }
        Ok(Flow::More)
    }
}

fn incast(scheme: Scheme, messages: u64) {
    let done = CachePadded(AtomicU64::new(0));
    let mut graph = Graph::new();
    let sources = [(); 4].map(|()| graph.source((0..messages / 4).inspect(|_| worlds::work(3_000))));
    let ports = graph.add(Gather(&done));
    sources.into_iter().zip(ports).for_each(|(source, port)| graph += source >> port);
    graph.run(scheme).expect("incast runs to its end");
    drop(graph);
    assert_eq!(done.load(Relaxed), messages, "a message was lost");
}

/// A source, parallel kernels for stages with clones, a sink.
fn row(scheme: Scheme, stages: &'static [Stage], messages: u64) {
    let (headers, done) = (Headers::new(), CachePadded(AtomicU64::new(0)));
    let headers = &headers;
    let mut graph = Graph::new();
    let source = graph.source((0..messages).inspect(|&message| (stages[0].work)(headers, message)));
    let finish = |message| {
        (stages[stages.len() - 1].work)(headers, message);
        done.fetch_add(1, Relaxed);
    };
    let sink = if stages[stages.len() - 1].clones > 1 { graph.parallel_sink(finish) } else { graph.sink(finish) };
    let middle: Vec<_> = (stages[1..stages.len() - 1].iter())
        .map(|stage| {
            graph.parallel(move |message: u64, out: &mut Output<u64>| {
                (stage.work)(headers, message);
                out.push(message);
            })
        })
        .collect();
    match (middle.first(), middle.last()) {
        (Some(&first), Some(&last)) => {
            graph += source >> first * 4;
            middle.windows(2).for_each(|pair| graph += pair[0] >> pair[1] * 4);
            graph += last >> sink;
        }
        _ => graph += source >> sink * 4,
    }
    graph.run(scheme).expect("the row runs to its end");
    drop(graph);
    assert_eq!(done.load(Relaxed), messages, "a message was lost");
}

/// Speed-ups over the first scheme.
fn beside_the_paper(points: &[Point], measured: &[Vec<Run>]) -> String {
    let mut text = format!("{:24}", "times as fast as raft");
    SCHEMES.iter().for_each(|(name, _)| text += &format!("{name:>10}"));
    for (at, scheme) in points.chunks(SCHEMES.len()).enumerate() {
        text += &format!("\n{:24}", scheme[0].workload);
        let nanos = |number: usize| scheme[number].nanos(&measured[at * SCHEMES.len() + number]).median;
        (0..scheme.len()).for_each(|number| text += &format!("{:>10.2}", nanos(0) / nanos(number)));
    }
    text + "\nThe paper: " + SAYS + "\n\n"
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use crate::baselines::blq::HELPED;
    use thalweg_sim::Machine;

    #[test]
    fn every_shape_runs_under_every_scheme() {
        let machine = Machine::named("arm-32").unwrap();
        for experiment in &EXPERIMENTS {
            let points = (experiment.plan)(&Setting::of(&machine, 12));
            let run = |point: &Point| vec![point.run(&machine, 0).unwrap_or_else(|e| panic!("{}: {e}", point.title()))];
            let measured: Vec<Vec<Run>> = points.iter().map(run).collect();
            assert_eq!(points.len(), 12);
            assert_eq!(run(&points[0]), measured[0], "{}: the same again", experiment.name);
            if let Some(helped) = points[2].figure(&measured[2], HELPED) {
                assert!(helped > 100.0, "{helped} of 1000 messages helped on in incast, whose consumer has most to do");
                assert_eq!(points[0].figure(&measured[0], HELPED), Some(0.0));
            }
            assert!((experiment.paper)(&points, &measured).contains("incast"));
        }
    }
}
