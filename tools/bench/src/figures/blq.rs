//! BLQ's incast, outcast and pipeline (its Figure 7) under its schemes: by its own form of queues and workers, and by the
//! streams of thalweg.
//!
//! Its form is a ring from each clone of a kernel to each of the next, and a polling worker for each clone, which yields
//! after 64 polls in vain. *New* links a chunk into a full ring; *help* is a one-shot task: the producer takes the message
//! on through the rest of the graph.

use serde_json::json;
use thalweg::BoxError;
use thalweg::prelude::*;
use thalweg_queue::growing::{self, Most};
use thalweg_queue::{TryPopError, TryPushError};
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::hint::{self, Access};
use thalweg_sync::{spin, thread};

use crate::figures::queues::RIGHT;
use crate::machines::experiment::{Base, EVERY, Experiment, Panel, Setting, said};
use crate::machines::point::{Client, Figures, L1_MISSES, Point, Role, Run, together};

pub(crate) const EXPERIMENTS: [Experiment; 2] = [
    Experiment::new("blq/schemes", paper)
        .panels(&[Panel::Rate, Panel::SpeedUp(OVER_RAFT), Panel::Of(L1_MISSES), Panel::Of(BLOCKED)])
        .note(note)
        .paper(beside_the_paper),
    Experiment::new("blq/streams", ours)
        .panels(&[Panel::Rate, Panel::SpeedUp(OVER_RAFT), Panel::Of(L1_MISSES)])
        .note(note)
        .paper(beside_the_paper),
];

const OVER_RAFT: Base = Base { unit: "times as fast as raft", is: |_, other| other.contender == SCHEMES[0].0 };

const SAYS: &str = "the mean of its ten benchmarks pw_dyn 1.52, mix 1.29, mix_dyn 1.34; its bars are not in numbers. On incast mix gains \
                    and growing\nrings change nothing; pw_dyn has 40 % fewer first-level misses on average";

fn note(unit: &str, workload: &str) -> String {
    said("The paper", &[(OVER_RAFT.unit, &[(EVERY, SAYS)])], unit, workload)
}

/// Times that a worker could not push, or found nothing, for each message.
const BLOCKED: &str = "blocked/msg";
const HELPED: &str = "one-shots/1000 msg";

#[derive(Clone, Copy)]
struct Actions {
    grow: bool,
    help: bool,
}

/// What is done when a ring is full.
const SCHEMES: [(&str, Actions); 4] = [
    ("raft", Actions { grow: false, help: false }),
    ("pw_dyn", Actions { grow: true, help: false }),
    ("mix", Actions { grow: false, help: true }),
    ("mix_dyn", Actions { grow: true, help: true }),
];

/// A kernel: how many clones it has, and what a message costs in it.
#[derive(Clone, Copy)]
struct Stage {
    clones: usize,
    work: fn(&Headers, u64),
}

/// A thousand times ten `nop`: about a microsecond.
fn microsecond(_: &Headers, _: u64) {
    hint::work(3_000);
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

/// The packets' headers: two lines and a pointer each. What is in them does not matter, so they are not written.
struct Headers(Vec<[u64; 24]>);

impl Headers {
    fn new() -> Self {
        Self(vec![[0; 24]; 420])
    }

    /// Works on some lines of a packet's header.
    fn look(&self, packet: u64, lines: std::ops::Range<usize>, access: Access) {
        let header = &self.0[packet as usize % self.0.len()];
        lines.for_each(|line| hint::touch(header[8 * line..].as_ptr().cast(), 64, access));
        hint::work(20);
    }
}

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

/// Messages that a ring holds at first. The authors' dynamic rings begin with twice as many and publish them by 64; here
/// all are alike.
const CAPACITY: usize = 64;

fn paper(setting: &Setting<'_>) -> Vec<Point> {
    let threads = setting.threads;
    points(setting, move |(_, _, stages), (_, actions), messages| {
        Box::new(move || rings(stages, actions, messages, threads))
    })
}

/// What the workers of a run share. Counters have lines of their own: on a stack, who shares one with whom is the compiler's choice, and
/// figures are not to depend on it.
struct Shared<'a> {
    stages: &'a [Stage],
    actions: Actions,
    headers: Headers,
    blocked: CachePadded<AtomicU64>,
    helped: CachePadded<AtomicU64>,
    done: CachePadded<AtomicU64>,
}

type Tx = growing::Producer<u64>;
type Rx = growing::Consumer<u64>;

fn rings(stages: &[Stage], actions: Actions, messages: u64, threads: usize) -> Figures {
    let zero = || CachePadded(AtomicU64::new(0));
    let (blocked, helped, done) = (zero(), zero(), zero());
    let shared = &Shared { stages, actions, headers: Headers::new(), blocked, helped, done };
    let most = if actions.grow { Most::Bytes(usize::MAX / 4) } else { Most::Entries(CAPACITY) };
    let mut roles: Vec<Role<'_>> = Vec::new();
    let mut inputs: Vec<Vec<Rx>> = (0..stages[0].clones).map(|_| Vec::new()).collect();
    for (at, stage) in stages.iter().enumerate() {
        let next = stages.get(at + 1).map_or(0, |next| next.clones);
        let mut read: Vec<Vec<Rx>> = (0..next).map(|_| Vec::new()).collect();
        for (clone, rxs) in inputs.into_iter().enumerate() {
            let mut write = Vec::new();
            for read in &mut read {
                let (tx, rx) = growing::chunk_ring(CAPACITY, most).expect(RIGHT);
                write.push(tx);
                read.push(rx);
            }
            let share = messages / stage.clones as u64;
            let own = if at == 0 { clone as u64 * share..(clone as u64 + 1) * share } else { 0..0 };
            roles.push(Box::new(move || {
                Worker { shared, at, next: 0, write, blocked: 0, helped: 0, done: 0 }.work(own, rxs)
            }));
        }
        inputs = read;
    }
    // The last stage's first: its end is the end.
    roles.reverse();
    let figures =
        together(messages, roles.into_iter().enumerate().map(|(number, role)| (number % threads, role)).collect());
    assert_eq!(shared.done.load(Relaxed), messages, "a message was lost");
    let each = |count: &AtomicU64, of: f64| count.load(Relaxed) as f64 * of / messages as f64;
    Figures { more: vec![(BLOCKED, each(&shared.blocked, 1.0)), (HELPED, each(&shared.helped, 1000.0))], ..figures }
}

/// The worker of a clone.
struct Worker<'a> {
    shared: &'a Shared<'a>,
    at: usize,
    /// Rings take turns.
    next: usize,
    write: Vec<Tx>,
    blocked: u64,
    helped: u64,
    done: u64,
}

impl Worker<'_> {
    fn work(mut self, own: std::ops::Range<u64>, mut read: Vec<Rx>) {
        own.for_each(|message| self.take(message));
        let mut polls = 0;
        while !read.is_empty() {
            let before = read.len();
            let mut popped = false;
            read.retain_mut(|rx| match rx.try_pop() {
                Ok(message) => {
                    self.take(message);
                    popped = true;
                    true
                }
                Err(error) => error != TryPopError::Closed,
            });
            if !popped && read.len() == before {
                poll(&mut polls);
                self.blocked += u64::from(polls == 1);
            } else {
                polls = 0;
            }
        }
        self.shared.blocked.fetch_add(self.blocked, Relaxed);
        self.shared.helped.fetch_add(self.helped, Relaxed);
        self.shared.done.fetch_add(self.done, Relaxed);
    }

    fn take(&mut self, message: u64) {
        let shared = self.shared;
        (shared.stages[self.at].work)(&shared.headers, message);
        if self.write.is_empty() {
            self.done += 1;
            return;
        }
        let ring = self.next % self.write.len();
        self.next += 1;
        let mut polls = 0;
        while let Err(TryPushError::Full(_) | TryPushError::Busy(_)) = self.write[ring].try_push(message) {
            if shared.actions.help {
                // A one-shot task: through the rest of the graph.
                shared.stages[self.at + 1..].iter().for_each(|stage| (stage.work)(&shared.headers, message));
                self.helped += 1;
                self.done += 1;
                return;
            }
            poll(&mut polls);
            self.blocked += u64::from(polls == 1);
        }
    }
}

/// Waits a little, and every 64th time lets others run.
fn poll(polls: &mut u32) {
    *polls += 1;
    if polls.is_multiple_of(64) { thread::yield_now() } else { spin::pause(1) }
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
                hint::work(3_000);
                self.0.fetch_add(1, Relaxed);
            }
        }
        Ok(Flow::More)
    }
}

fn incast(scheme: Scheme, messages: u64) {
    let done = CachePadded(AtomicU64::new(0));
    let mut graph = Graph::new();
    let sources = [(); 4].map(|()| graph.source((0..messages / 4).inspect(|_| hint::work(3_000))));
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

#[cfg(test)]
mod tests {
    use super::*;
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
