//! Random graphs against a plain interpreter: the same messages in the same order, whatever the scheme and the number of workers.

use crate::common::{SOON, within};
use proptest::collection::vec;
use proptest::prelude::*;
use thalweg::prelude::*;

/// One kernel or a few, put behind one open stream, or two.
#[derive(Clone, Copy, Debug)]
enum Step {
    Map(Form),
    Filter(Form),
    FlatMap(Form),
    /// Three stages in one kernel.
    Fused,
    /// Through messages of another size and back.
    Wide(Form),
    Window {
        peek: usize,
        pop: usize,
        parallel: bool,
    },
    /// One stream becomes two, by parity.
    Route {
        parallel: bool,
    },
    /// One stream becomes two, each with all messages.
    Copy {
        parallel: bool,
    },
    /// Two streams become one: of so many of the one and of the other a digest and the number of the firing, by a parallel kernel.
    Fire {
        one: usize,
        other: usize,
    },
    /// Two streams become one, of the sums of pairs; it ends with the shorter.
    Zip,
    /// Two streams become one, in turns; when one has ended, the rest of the other.
    Alternate,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Map,
    Sequential,
    Parallel,
}

/// A step, where it goes, and what is asked of its edge and its kernel.
#[derive(Clone, Copy, Debug)]
struct Placed {
    step: Step,
    at: usize,
    capacity: Option<(usize, usize)>,
    hint: f32,
}

#[derive(Clone, Copy, Debug)]
enum Origin {
    Iterator,
    Fresh,
    Poll,
    Inlet,
    Blocking,
}

#[derive(Clone, Debug)]
struct Plan {
    sources: Vec<(Origin, u64)>,
    steps: Vec<Placed>,
    /// Capacities of the edges into the sinks.
    last: Option<(usize, usize)>,
}

fn form() -> impl Strategy<Value = Form> {
    prop_oneof![Just(Form::Map), Just(Form::Sequential), Just(Form::Parallel)]
}

fn capacity() -> impl Strategy<Value = Option<(usize, usize)>> {
    prop_oneof![Just(None), Just(Some((1, 1))), Just(Some((1, 8))), Just(Some((3, 3))), Just(Some((2, 64)))]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        form().prop_map(Step::Map),
        form().prop_map(Step::Filter),
        form().prop_map(Step::FlatMap),
        Just(Step::Fused),
        form().prop_map(Step::Wide),
        (1..7_usize, 1..7_usize, any::<bool>()).prop_map(|(peek, pop, parallel)| Step::Window { peek, pop, parallel }),
        any::<bool>().prop_map(|parallel| Step::Route { parallel }),
        any::<bool>().prop_map(|parallel| Step::Copy { parallel }),
        (1..5_usize, 1..40_usize).prop_map(|(one, other)| Step::Fire { one, other }),
        Just(Step::Zip),
        Just(Step::Alternate),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let origin = prop_oneof![
        Just(Origin::Iterator),
        Just(Origin::Fresh),
        Just(Origin::Poll),
        Just(Origin::Inlet),
        Just(Origin::Blocking)
    ];
    let hint = prop_oneof![Just(1.0_f32), Just(0.0), Just(4.0), Just(0.5)];
    let placed = (step(), 0..8_usize, capacity(), hint).prop_map(|(step, at, capacity, hint)| Placed {
        step,
        at,
        capacity,
        hint,
    });
    (vec((origin, 0..400_u64), 1..4), vec(placed, 0..9), capacity()).prop_map(|(sources, steps, last)| Plan {
        sources,
        steps,
        last,
    })
}

// What kernels do to a message.

fn mix(x: u64) -> u64 {
    (x ^ 0x9E37_79B9).wrapping_mul(0xBF58_476D_1CE4_E5B9).rotate_left(29)
}

fn keeps(x: &u64) -> bool {
    x % 4 != 1
}

fn spread(x: u64) -> impl Iterator<Item = u64> {
    (0..x % 3).map(move |i| x.wrapping_add(i))
}

fn digest(window: &[u64]) -> u64 {
    window.iter().fold(7, |sum, &x| sum.wrapping_mul(31).wrapping_add(x))
}

// The interpreter.

/// What the sinks should see, and whether every edge has to hold all there is: where streams meet that were one before, or were joined elsewhere,
/// bounded edges can make a graph wait for itself.
fn interpret(plan: &Plan) -> (Vec<Vec<u64>>, bool) {
    let numbers =
        |(source, &(_, count)): (usize, &(Origin, u64))| (0..count).map(|x| x + 1000 * source as u64).collect();
    // Each with the number of the connected part of the graph that it belongs to.
    let mut open: Vec<(usize, Vec<u64>)> = plan.sources.iter().enumerate().map(numbers).enumerate().collect();
    let mut meets = false;
    for placed in &plan.steps {
        let (part, stream) = open.swap_remove(placed.at % open.len());
        let stream: Vec<u64> = match placed.step {
            Step::Map(_) => stream.into_iter().map(mix).collect(),
            Step::Filter(_) => stream.into_iter().filter(keeps).collect(),
            Step::FlatMap(_) => stream.into_iter().flat_map(spread).collect(),
            Step::Fused => stream.into_iter().map(mix).filter(keeps).flat_map(spread).collect(),
            Step::Wide(_) => stream.into_iter().map(|x| mix(mix(x))).collect(),
            Step::Window { peek, pop, .. } => stream.windows(peek).step_by(pop).map(digest).collect(),
            Step::Route { .. } => {
                let (even, odd) = stream.into_iter().partition(|x| x % 2 == 0);
                open.push((part, even));
                odd
            }
            Step::Copy { .. } => {
                open.push((part, stream.clone()));
                stream
            }
            Step::Zip | Step::Alternate | Step::Fire { .. } if open.is_empty() => stream,
            Step::Zip | Step::Alternate | Step::Fire { .. } => {
                let (other_part, other) = open.swap_remove(0);
                meets |= part == other_part;
                open.iter_mut().filter(|(of, _)| *of == other_part).for_each(|(of, _)| *of = part);
                if let Step::Fire { one, other: many } = placed.step {
                    let firings = stream.chunks_exact(one).zip(other.chunks_exact(many)).enumerate();
                    firings.flat_map(|(number, (one, other))| [digest(one) ^ digest(other), number as u64]).collect()
                } else if let Step::Zip = placed.step {
                    stream.iter().zip(&other).map(|(a, b)| a.wrapping_add(*b)).collect()
                } else {
                    let both = stream.len().min(other.len());
                    let turns = stream.iter().zip(&other).flat_map(|(&a, &b)| [a, b]);
                    turns.chain(stream[both..].iter().copied()).chain(other[both..].iter().copied()).collect()
                }
            }
        };
        open.push((part, stream));
    }
    (open.into_iter().map(|(_, stream)| stream).collect(), meets)
}

// The kernels with several ports.

struct Two {
    copies: bool,
}

#[derive(Clone)]
struct TwoPorts {
    input: In<u64>,
    one: Out<u64>,
    other: Out<u64>,
}

impl Kernel for Two {
    type Ports = TwoPorts;
    fn ports(&mut self, bind: &mut Binder<'_>) -> TwoPorts {
        TwoPorts { input: bind.input("in"), one: bind.output("one"), other: bind.output("other") }
    }
    fn run(&mut self, ports: &TwoPorts, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(x) = io.pop(ports.input) {
            if self.copies || x.is_multiple_of(2) {
                io.push(ports.other, x);
            }
            if self.copies || x % 2 == 1 {
                io.push(ports.one, x);
            }
        }
        Ok(Flow::More)
    }
}

struct Join {
    zips: bool,
    turn: bool,
}

#[derive(Clone)]
struct JoinPorts {
    one: In<u64>,
    other: In<u64>,
    out: Out<u64>,
}

impl Kernel for Join {
    type Ports = JoinPorts;
    fn ports(&mut self, bind: &mut Binder<'_>) -> JoinPorts {
        JoinPorts { one: bind.input("one"), other: bind.input("other"), out: bind.output("out") }
    }
    fn run(&mut self, ports: &JoinPorts, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        if self.zips {
            while io.has(ports.one, 1) && io.has(ports.other, 1) {
                let (one, other) = (io.pop(ports.one).unwrap(), io.pop(ports.other).unwrap());
                io.push(ports.out, one.wrapping_add(other));
            }
            let ended = io.is_ended(ports.one) || io.is_ended(ports.other);
            return Ok(if ended { Flow::Done } else { Flow::More });
        }
        loop {
            let (now, then) = if self.turn { (ports.other, ports.one) } else { (ports.one, ports.other) };
            if let Some(x) = io.pop(now) {
                io.push(ports.out, x);
                self.turn = !self.turn;
            } else if !io.is_ended(now) {
                return Ok(Flow::More);
            } else if let Some(x) = io.pop(then) {
                io.push(ports.out, x);
            } else {
                return Ok(if io.is_ended(then) { Flow::Done } else { Flow::More });
            }
        }
    }
}

impl ParallelKernel for Two {
    type Ports = TwoPorts;
    fn ports(&mut self, bind: &mut Binder<'_>) -> TwoPorts {
        Kernel::ports(self, bind)
    }
    fn fire(&self, ports: &TwoPorts, firing: &mut Firing<'_>) -> Result<(), BoxError> {
        let x = firing.take(ports.input);
        if self.copies || x.is_multiple_of(2) {
            firing.push(ports.other, x);
        }
        if self.copies || x % 2 == 1 {
            firing.push(ports.one, x);
        }
        Ok(())
    }
}

/// Takes so many of each, and gives their digest and the number of the firing.
struct Fire(usize, usize);

impl ParallelKernel for Fire {
    type Ports = JoinPorts;
    fn ports(&mut self, bind: &mut Binder<'_>) -> JoinPorts {
        JoinPorts { one: bind.input_of("one", self.0), other: bind.input_of("other", self.1), out: bind.output("out") }
    }
    fn fire(&self, ports: &JoinPorts, firing: &mut Firing<'_>) -> Result<(), BoxError> {
        // Some are taken, the others are looked at.
        let first = firing.take(ports.one);
        let one = firing.slice(ports.one).iter().fold(digest(&[first]), |sum, &x| sum.wrapping_mul(31).wrapping_add(x));
        let both = one ^ digest(firing.slice(ports.other));
        firing.extend(ports.out, [both, firing.number()]);
        Ok(())
    }
}

// The same as a graph.

fn add_source(graph: &mut Graph<'_>, origin: Origin, first: u64, count: u64) -> Source<u64> {
    let numbers = first..first + count;
    match origin {
        Origin::Iterator => graph.source(numbers),
        Origin::Fresh => graph.source_with(move || numbers.clone()),
        Origin::Poll => {
            let mut left = numbers;
            let mut asked = 0;
            graph.poll_source(move |out: &mut Output<u64>| {
                asked += 1;
                if asked % 20 == 0 {
                    return Flow::Pending;
                }
                left.by_ref().take(asked % 7).for_each(|x| out.push(x));
                if left.is_empty() { Flow::Done } else { Flow::More }
            })
        }
        Origin::Inlet => {
            let (source, inlet) = graph.inlet(1024).unwrap();
            numbers.for_each(|x| inlet.push(x).unwrap());
            source
        }
        Origin::Blocking => graph.source_blocking(numbers, 16).unwrap(),
    }
}

fn run(plan: &Plan, meets: bool, sinks: usize, scheme: Scheme) -> Vec<Vec<u64>> {
    let mut seen = vec![Vec::new(); sinks];
    let mut graph = Graph::new();
    let capacity = |asked: Option<(usize, usize)>, least: usize| match asked {
        _ if meets => Some((100_000, 100_000)),
        Some((first, most)) => Some((first.max(least), most.max(least))),
        None => None,
    };
    let mut open = Vec::new();
    for (index, &(origin, count)) in plan.sources.iter().enumerate() {
        open.push(add_source(&mut graph, origin, 1000 * index as u64, count).into_path());
    }
    for placed in &plan.steps {
        if matches!(placed.step, Step::Zip | Step::Alternate | Step::Fire { .. }) && open.len() == 1 {
            // Nothing to join with.
            continue;
        }
        let path = open.swap_remove(placed.at % open.len());
        let least = if let Step::Window { peek, .. } = placed.step { peek } else { 1 };
        let path = match capacity(placed.capacity, least) {
            Some((first, most)) => path.capacity(first, most),
            None => path,
        };
        let node = match placed.step {
            Step::Map(Form::Map) => graph.map(mix),
            Step::Map(Form::Sequential) => graph.sequential(|x, out: &mut Output<u64>| out.push(mix(x))),
            Step::Map(Form::Parallel) => graph.parallel_map(mix),
            Step::Filter(Form::Parallel) => graph.parallel(|x, out: &mut Output<u64>| {
                if keeps(&x) {
                    out.push(x);
                }
            }),
            Step::Filter(Form::Sequential) => graph.sequential(|x, out: &mut Output<u64>| {
                if keeps(&x) {
                    out.push(x);
                }
            }),
            Step::FlatMap(Form::Parallel) => {
                graph.parallel(|x, out: &mut Output<u64>| spread(x).for_each(|x| out.push(x)))
            }
            Step::FlatMap(Form::Sequential) => {
                graph.sequential(|x, out: &mut Output<u64>| spread(x).for_each(|x| out.push(x)))
            }
            Step::Window { peek, pop, parallel: false } => {
                graph.window(peek, pop, |window: &[u64], out: &mut Output<u64>| out.push(digest(window)))
            }
            Step::Window { peek, pop, parallel: true } => {
                graph.parallel_window(peek, pop, |window: &[u64], out: &mut Output<u64>| out.push(digest(window)))
            }
            Step::Filter(Form::Map) => {
                open.push(graph.from(path).filter(keeps).path());
                continue;
            }
            Step::FlatMap(Form::Map) => {
                open.push(graph.from(path).flat_map(spread).path());
                continue;
            }
            Step::Fused => {
                open.push(graph.from(path).map(mix).filter(keeps).flat_map(spread).path());
                continue;
            }
            Step::Wide(form) => {
                let widen = graph.map(|x: u64| (mix(x), [x; 5]));
                let narrow = match form {
                    Form::Map => graph.map(|(x, _): (u64, [u64; 5])| mix(x)),
                    Form::Sequential => {
                        graph.sequential(|(x, _): (u64, [u64; 5]), out: &mut Output<u64>| out.push(mix(x)))
                    }
                    Form::Parallel => graph.parallel_map(|(x, _): (u64, [u64; 5])| mix(x)),
                };
                open.push(path >> widen * placed.hint >> narrow);
                continue;
            }
            Step::Route { parallel } | Step::Copy { parallel } => {
                let two = Two { copies: matches!(placed.step, Step::Copy { .. }) };
                let two = if parallel { graph.add_parallel(two) } else { graph.add(two) };
                graph += path >> two.input;
                open.push(two.other.into_path());
                open.push(two.one.into_path());
                continue;
            }
            Step::Zip | Step::Alternate | Step::Fire { .. } => {
                let join = match placed.step {
                    Step::Fire { one, other } => graph.add_parallel(Fire(one, other)),
                    step => graph.add(Join { zips: matches!(step, Step::Zip), turn: false }),
                };
                let other = open.swap_remove(0);
                let other = if meets { other.capacity(100_000, 100_000) } else { other };
                graph += path >> join.one;
                graph += other >> join.other;
                open.push(join.out.into_path());
                continue;
            }
        };
        open.push(path >> node * placed.hint);
    }
    assert_eq!(open.len(), sinks);
    for (seen, path) in seen.iter_mut().zip(open) {
        let path = match capacity(plan.last, 1) {
            Some((first, most)) => path.capacity(first, most),
            None => path,
        };
        let sink = graph.sink(|x| seen.push(x));
        graph += path >> sink;
    }
    let report = graph.run(scheme).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.end, thalweg::End::Complete);
    drop(graph);
    seen
}

fn settings(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, max_shrink_time: 15_000, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(settings(150))]
    #[test]
    fn random_graphs_compute_what_a_loop_computes(plan in plan(), turn in 0..4_usize) {
        let (expected, meets) = interpret(&plan);
        for (index, name) in Scheme::names().enumerate() {
            let workers = (index + turn) % 4 + 1;
            println!("{name} with {workers} workers");
            let (plan, sinks) = (plan.clone(), expected.len());
            let scheme = Scheme::named(name).unwrap().workers(workers).partitioned(turn % 2 == 1);
            let seen = within(SOON, move || run(&plan, meets, sinks, scheme));
            prop_assert_eq!(&seen, &expected, "{} with {} workers", name, workers);
        }
    }
}

// Cycles.

/// Sends a message round until its laps are done.
struct Laps {
    again_first: bool,
}

#[derive(Clone)]
struct LapsPorts {
    fresh: In<(u64, u32)>,
    again: In<(u64, u32)>,
    round: Out<(u64, u32)>,
    done: Out<u64>,
}

impl Kernel for Laps {
    type Ports = LapsPorts;
    fn ports(&mut self, bind: &mut Binder<'_>) -> LapsPorts {
        LapsPorts {
            fresh: bind.input("fresh"),
            again: bind.input("again"),
            round: bind.output("round"),
            done: bind.output("done"),
        }
    }
    fn run(&mut self, ports: &LapsPorts, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        let (one, other) = if self.again_first { (ports.again, ports.fresh) } else { (ports.fresh, ports.again) };
        while let Some((x, left)) = io.pop(one).or_else(|| io.pop(other)) {
            match left {
                0 => io.push(ports.done, x),
                _ => io.push(ports.round, (x, left - 1)),
            }
        }
        Ok(Flow::More)
    }
}

/// A cycle: what is in it besides the kernel that decides, and who goes first there.
#[derive(Clone, Copy, Debug)]
struct Cycle {
    inside: Option<Form>,
    again_first: bool,
    laps: u32,
}

fn laps_of(x: u64, cycle: &Cycle) -> u32 {
    (mix(x) % u64::from(cycle.laps + 1)) as u32
}

fn run_cycles(count: u64, capacity: Option<(usize, usize)>, cycles: &[Cycle], scheme: Scheme) -> Vec<u64> {
    let mut seen = Vec::new();
    let mut graph = Graph::new();
    let mut path = graph.source(0..count).into_path();
    for &cycle in cycles {
        let laps = graph.add(Laps { again_first: cycle.again_first });
        let start = graph.map(move |x: u64| (x, laps_of(x, &cycle)));
        if let Some((first, most)) = capacity {
            path = path.capacity(first, most);
        }
        graph += path >> start >> laps.fresh;
        let step = |(x, left): (u64, u32)| (x.wrapping_add(3), left);
        let inside = match cycle.inside {
            Some(Form::Map) => Some(graph.map(step)),
            Some(Form::Sequential) => Some(graph.sequential(move |m, out: &mut Output<_>| out.push(step(m)))),
            Some(Form::Parallel) => Some(graph.parallel_map(step)),
            None => None,
        };
        match inside {
            Some(node) => graph += laps.round >> node.feedback() >> laps.again,
            None => graph += laps.round.feedback() >> laps.again,
        }
        path = laps.done.into_path();
    }
    let sink = graph.sink(|x| seen.push(x));
    graph += path >> sink;
    graph.run(scheme).unwrap_or_else(|error| panic!("{error}"));
    drop(graph);
    seen
}

proptest! {
    #![proptest_config(settings(60))]
    #[test]
    fn random_cycles_let_every_message_out(
        count in 0..300_u64,
        capacity in capacity(),
        cycles in vec((proptest::option::of(form()), any::<bool>(), 0..9_u32), 1..3),
        turn in 0..4_usize,
    ) {
        let cycles: Vec<_> =
            cycles.into_iter().map(|(inside, again_first, laps)| Cycle { inside, again_first, laps }).collect();
        let through = |x: u64| cycles.iter().fold(x, |x, cycle| {
            x + if cycle.inside.is_some() { 3 * u64::from(laps_of(x, cycle)) } else { 0 }
        });
        let mut expected: Vec<_> = (0..count).map(through).collect();
        expected.sort_unstable();
        for (index, name) in Scheme::names().enumerate() {
            let workers = (index + turn) % 4 + 1;
            let cycles = cycles.clone();
            let scheme = Scheme::named(name).unwrap().workers(workers).partitioned(turn % 2 == 1);
            let mut seen = within(SOON, move || run_cycles(count, capacity, &cycles, scheme));
            seen.sort_unstable();
            prop_assert_eq!(&seen, &expected, "{} with {} workers", name, workers);
        }
    }
}

#[test]
fn an_unordered_edge_loses_nothing() {
    for name in Scheme::names() {
        for workers in [1, 3] {
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let numbers = graph.source(0..3000_u64);
            let spread = graph.parallel(|x, out: &mut Output<u64>| spread(x).for_each(|x| out.push(x)));
            let again = graph.parallel_map(mix);
            let sink = graph.sink(|x| seen.push(x));
            graph += numbers.fixed(8) >> (spread * 4).unordered().capacity(4, 16) >> again.unordered() >> sink;
            graph.run(Scheme::named(name).unwrap().workers(workers)).unwrap();
            drop(graph);
            let mut expected: Vec<_> = (0..3000).flat_map(spread_and_mix).collect();
            seen.sort_unstable();
            expected.sort_unstable();
            assert_eq!(seen.len(), expected.len(), "{name} with {workers} workers");
            assert!(seen == expected, "{name} with {workers} workers");
        }
    }
}

fn spread_and_mix(x: u64) -> impl Iterator<Item = u64> {
    spread(x).map(mix)
}
