//! Random graphs of operators against a plain interpreter: the same messages in the same order, whatever the scheme and the number of workers. Some
//! have cycles, and some a kernel that fails; then the run fails with its name, and every message is dropped once.
//!
//! `THALWEG_CASES` says how many graphs there are, each run under some schemes.

use crate::common::{SOON, within};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::mem;
use thalweg::operators::{Emit, Merge, Skipped};
use thalweg::prelude::*;
use thalweg::{End, Path, PathEnd, Tail};
use thalweg_sync::atomic::{AtomicU64, Ordering::*};
use thalweg_sync::sync::Arc;

/// A number, and what counts the messages that are alive.
#[derive(Clone, Debug, Eq, PartialEq, Ord, PartialOrd)]
struct Message(u64, Arc<()>);

impl Message {
    fn map(self, change: impl FnOnce(u64) -> u64) -> Self {
        Self(change(self.0), self.1)
    }
}

type Open = Path<PathEnd, Tail<Message>>;

/// An operator, put behind one open stream or two.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// As they come, and sorted, for the order depends on the run.
    Merge,
    Interleave,
    MergeByKey,
    Zip,
    Broadcast,
    Split,
    Partition,
    TryMap,
    Skip,
    Take(usize),
    TakeWhile,
    Chunks(usize),
    Fold,
    /// Sorted, as of a merge.
    KeyFold(usize),
    KeyMap(usize),
    KeyWindow(usize, usize),
    WindowByTime(u64),
    Debounce,
    Throttle,
    Map,
    /// A cycle that each message goes round as often as it says. Sorted, for the order depends on the run.
    Rounds(u64),
    /// Fails at the message of this number.
    Fail(u64, Failure),
}

#[derive(Clone, Copy, Debug)]
enum Failure {
    Error,
    Panic,
    /// On many workers at once.
    Parallel,
}

fn failure() -> impl Strategy<Value = Failure> {
    prop_oneof![Just(Failure::Error), Just(Failure::Panic), Just(Failure::Parallel)]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        Just(Step::Merge),
        Just(Step::Interleave),
        Just(Step::MergeByKey),
        Just(Step::Zip),
        Just(Step::Broadcast),
        Just(Step::Split),
        Just(Step::Partition),
        Just(Step::TryMap),
        Just(Step::Skip),
        (0..300_usize).prop_map(Step::Take),
        Just(Step::TakeWhile),
        (1..9_usize).prop_map(Step::Chunks),
        Just(Step::Fold),
        (1..4_usize).prop_map(Step::KeyFold),
        (1..4_usize).prop_map(Step::KeyMap),
        (1..5_usize, 1..5_usize).prop_map(|(peek, pop)| Step::KeyWindow(peek, pop)),
        (1..60_u64).prop_map(Step::WindowByTime),
        Just(Step::Debounce),
        Just(Step::Throttle),
        Just(Step::Map),
        (1..5_u64).prop_map(Step::Rounds),
    ]
}

// What kernels do to a message.

fn mix(x: u64) -> u64 {
    (x ^ 0x9E37_79B9).wrapping_mul(0xBF58_476D_1CE4_E5B9).rotate_left(29) % 1000
}

fn digest(messages: &[u64]) -> u64 {
    messages.iter().fold(messages.len() as u64, |sum, &x| sum.wrapping_mul(31).wrapping_add(x))
}

fn check(x: u64) -> Result<u64, u64> {
    if x % 5 == 2 { Err(x + 1) } else { Ok(x) }
}

fn is_first(x: &u64) -> bool {
    x % 3 == 1
}

fn key(x: &u64) -> u64 {
    x % 7
}

// The interpreter.

fn sorted(mut stream: Vec<u64>) -> Vec<u64> {
    stream.sort_unstable();
    stream
}

fn by_key(stream: Vec<u64>) -> BTreeMap<u64, Vec<u64>> {
    let mut groups = BTreeMap::<_, Vec<_>>::new();
    stream.into_iter().for_each(|x| groups.entry(key(&x)).or_default().push(x));
    groups
}

fn windows(all: &[u64], peek: usize, pop: usize) -> Vec<u64> {
    let mut windows: Vec<_> = all.windows(peek).step_by(pop).map(digest).collect();
    let begin = windows.len() * pop;
    if all.len() > begin + if windows.is_empty() { 0 } else { peek.saturating_sub(pop) } {
        windows.push(digest(&all[begin..]));
    }
    windows
}

/// What comes out of `step` behind `stream`, and what beside it, which is taken from or put to `open`.
fn interpret_step(step: Step, stream: Vec<u64>, open: &mut Vec<Vec<u64>>) -> Vec<u64> {
    match step {
        Step::Map => stream.into_iter().map(mix).collect(),
        Step::Rounds(most) => sorted(stream.into_iter().map(|x| (0..=x % most).fold(x, |x, _| mix(x))).collect()),
        Step::Throttle | Step::Fail(..) => stream,
        Step::Debounce => stream.last().copied().into_iter().collect(),
        Step::Broadcast => {
            open.push(stream.clone());
            stream
        }
        Step::Split => {
            let (first, second) = stream.into_iter().partition(is_first);
            open.push(second);
            first
        }
        // Which part is whose is told by the operator itself: here all that matters is that none is lost.
        Step::Partition => sorted(stream),
        Step::TryMap => {
            let (results, errors): (Vec<_>, Vec<_>) = stream.into_iter().map(check).partition(Result::is_ok);
            open.push(errors.into_iter().filter_map(Result::err).collect());
            results.into_iter().flatten().collect()
        }
        Step::Skip => stream.into_iter().filter_map(|x| check(x).ok()).collect(),
        Step::Take(count) => stream.into_iter().take(count).collect(),
        Step::TakeWhile => stream.into_iter().take_while(|x| x % 50 != 49).collect(),
        Step::Chunks(length) => stream.chunks(length).map(digest).collect(),
        Step::Fold => vec![digest(&stream)],
        Step::KeyFold(_) => sorted(by_key(stream).values().map(|all| digest(all)).collect()),
        Step::KeyMap(_) => {
            sorted(by_key(stream).values().flat_map(|all| (1..=all.len()).map(|end| digest(&all[..end]))).collect())
        }
        Step::KeyWindow(peek, pop) => sorted(by_key(stream).values().flat_map(|all| windows(all, peek, pop)).collect()),
        Step::WindowByTime(width) => {
            let mut windows = BTreeMap::<u64, Vec<u64>>::new();
            for x in stream {
                let own = x / width;
                if windows.last_key_value().is_none_or(|(&last, _)| last <= own) {
                    windows.entry(own).or_default().push(x);
                }
            }
            windows.values().map(|window| digest(window)).collect()
        }
        Step::Merge | Step::Interleave | Step::MergeByKey | Step::Zip => {
            if open.is_empty() {
                return stream;
            }
            let other = open.swap_remove(0);
            let both = stream.len().min(other.len());
            match step {
                Step::Merge => sorted([stream, other].concat()),
                Step::Zip => stream.iter().zip(&other).map(|(a, b)| a.wrapping_mul(3).wrapping_add(*b)).collect(),
                Step::Interleave => {
                    let turns = stream.iter().zip(&other).flat_map(|(&a, &b)| [a, b]);
                    turns.chain(stream[both..].iter().copied()).chain(other[both..].iter().copied()).collect()
                }
                _ => {
                    let mut all = [sorted(stream), sorted(other)].concat();
                    all.sort_by_key(key_of_sorted);
                    all
                }
            }
        }
    }
}

/// Rises with the message; some are equal.
fn key_of_sorted(x: &u64) -> u64 {
    x / 4
}

// The same as a graph.

/// The digest of messages as one of them, which lives on in it.
fn digest_of(messages: &[Message], any: &Arc<()>) -> Message {
    Message(digest(&messages.iter().map(|message| message.0).collect::<Vec<_>>()), any.clone())
}

fn sort<'a>(graph: &mut Graph<'a>, from: impl Gives<Message = Message, Head = PathEnd>) -> Open {
    let sort = graph.sequential_with(
        Vec::new(),
        |all: &mut Vec<Message>, x, _out: &mut Emit<'_, '_, Message>| all.push(x),
        |all, out| {
            all.sort();
            out.extend(mem::take(all));
        },
    );
    from.into_path() >> sort
}

fn checked(message: Message) -> Result<Message, Message> {
    match check(message.0) {
        Ok(x) => Ok(Message(x, message.1)),
        Err(x) => Err(Message(x, message.1)),
    }
}

/// Goes round and round, as the interpreter's loop does.
fn rounds(graph: &mut Graph<'_>, path: Open, most: u64) -> Open {
    let all = graph.add(Merge::new(2));
    let count = graph.map(move |message: Message| {
        let left = message.0 % most + 1;
        (message, left)
    });
    let turn = graph.map(|(message, left): (Message, u64)| (message.map(mix), left - 1));
    let [again, done] = graph.split(all.out >> turn, |&(_, left)| left > 0);
    *graph += path >> count >> all.inputs[0];
    *graph += again.feedback() >> all.inputs[1];
    let done = done >> graph.map(|(message, _)| message);
    sort(graph, done)
}

fn fail(graph: &mut Graph<'_>, path: Open, at: u64, failure: Failure) -> Open {
    let mut count = 0;
    let seen = AtomicU64::new(0);
    let node = match failure {
        Failure::Error => graph.sequential(move |message: Message, out: &mut Output<Message>| {
            count += 1;
            out.push(message);
            if count > at { Err("it was asked to fail") } else { Ok(()) }
        }),
        Failure::Panic => graph.map(move |message: Message| {
            count += 1;
            assert!(count <= at, "it was asked to fail");
            message
        }),
        Failure::Parallel => graph.parallel_map(move |message: Message| {
            assert!(seen.fetch_add(1, Relaxed) < at, "it was asked to fail");
            message
        }),
    };
    graph.name(node, "fails");
    path >> node
}

fn add_step(graph: &mut Graph<'_>, step: Step, path: Open, open: &mut Vec<Open>, any: &Arc<()>) -> Open {
    let any = any.clone();
    match step {
        Step::Map => path >> graph.parallel_map(|message: Message| message.map(mix)),
        Step::Rounds(most) => rounds(graph, path, most),
        Step::Fail(at, failure) => fail(graph, path, at, failure),
        Step::Throttle => path >> graph.throttle(100_000, crate::times::EVER),
        Step::Debounce => path >> graph.debounce(crate::times::EVER),
        Step::Broadcast => {
            let copies = graph.broadcast(path, 2);
            open.push(copies[1].into_path());
            copies[0].into_path()
        }
        Step::Split => {
            let [first, second] = graph.split(path, |message| is_first(&message.0));
            open.push(second.into_path());
            first.into_path()
        }
        Step::Partition => {
            let parts: [_; 3] = graph.partition(path, |message| key(&message.0));
            let merged = graph.merge(parts);
            sort(graph, merged)
        }
        Step::TryMap => {
            let (results, errors) = graph.try_map(path, checked);
            open.push(errors.into_path());
            results.into_path()
        }
        Step::Skip => path >> graph.map_or_skip(|x| checked(x).map_err(|x| x.0.to_string()), &Skipped::new()),
        Step::Take(count) => path >> graph.take(count),
        Step::TakeWhile => path >> graph.take_while(|message: &Message| message.0 % 50 != 49),
        Step::Chunks(length) => {
            path >> graph.chunks(length) >> graph.map(move |chunk: Vec<Message>| digest_of(&chunk, &any))
        }
        Step::Fold => {
            path >> graph.fold(Vec::new, Vec::push) >> graph.map(move |all: Vec<Message>| digest_of(&all, &any))
        }
        Step::KeyFold(lanes) => {
            let folded = graph.key_by(path, |message| key(&message.0)).lanes(lanes).fold(Vec::new, Vec::push);
            let digests = graph.map(move |(_, all): (u64, Vec<Message>)| digest_of(&all, &any));
            sort(graph, folded >> digests)
        }
        Step::KeyMap(lanes) => {
            let keyed = graph.key_by(path, |message| key(&message.0)).lanes(lanes);
            let mapped = keyed.map_with(Vec::new, move |all, _, x| {
                all.push(x);
                digest_of(all, &any)
            });
            sort(graph, mapped)
        }
        Step::KeyWindow(peek, pop) => {
            let keyed = graph.key_by(path, |message| key(&message.0)).lanes(2);
            let windows = keyed.window(peek, pop, move |_, window| digest_of(window, &any));
            sort(graph, windows)
        }
        Step::WindowByTime(width) => {
            let windows = graph.window_by_time(width, |message: &Message| message.0, &Skipped::new());
            path >> windows >> graph.map(move |(_, window): (u64, Vec<Message>)| digest_of(&window, &any))
        }
        Step::Merge | Step::Interleave | Step::MergeByKey | Step::Zip => {
            if open.is_empty() {
                return path;
            }
            let other = open.swap_remove(0);
            match step {
                Step::Merge => {
                    let merged = graph.merge([path, other]);
                    sort(graph, merged)
                }
                Step::Zip => {
                    let pairs = graph.zip(path, other);
                    pairs >> graph.map(|(a, b): (Message, Message)| a.map(|a| a.wrapping_mul(3).wrapping_add(b.0)))
                }
                Step::Interleave => graph.interleave([path, other]).into_path(),
                _ => {
                    let streams = [sort(graph, path), sort(graph, other)];
                    graph.merge_by_key(streams, |message| key_of_sorted(&message.0)).into_path()
                }
            }
        }
    }
}

/// What came at each sink, or what the run failed with. Every message is dropped when it returns.
fn run(plan: &Plan, sinks: usize, scheme: Scheme) -> Result<Vec<Vec<u64>>, String> {
    let alive = Arc::new(());
    let mut seen = vec![Vec::new(); sinks];
    let mut graph = Graph::new();
    let message = |&x: &u64| Message(x, alive.clone());
    let source = |source: &Vec<u64>| graph.source(source.iter().map(message).collect::<Vec<_>>()).into_path();
    let mut open: Vec<Open> = plan.sources.iter().map(source).collect();
    for &(step, at) in &plan.steps {
        let path = open.swap_remove(at % open.len());
        let path = add_step(&mut graph, step, path, &mut open, &alive);
        open.push(path);
    }
    assert_eq!(open.len(), sinks);
    for (seen, path) in seen.iter_mut().zip(open) {
        let sink = graph.sink(|message: Message| seen.push(message.0));
        graph += path >> sink;
    }
    let result = graph.run(scheme);
    drop(graph);
    assert_eq!(Arc::strong_count(&alive), 1, "messages are left, or were dropped twice");
    match result {
        Ok(report) => {
            assert_eq!(report.end, End::Complete);
            Ok(seen)
        }
        Err(error) => {
            let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
            Err(causes.map(ToString::to_string).collect::<Vec<_>>().join(": "))
        }
    }
}

#[derive(Clone, Debug)]
struct Plan {
    sources: Vec<Vec<u64>>,
    steps: Vec<(Step, usize)>,
}

impl Plan {
    /// Some kernel may end a stream before its source has.
    fn ends_early(&self) -> bool {
        self.steps.iter().any(|(step, _)| matches!(step, Step::Take(_) | Step::TakeWhile | Step::Zip))
    }
}

fn plan() -> impl Strategy<Value = Plan> {
    let failure = proptest::option::of((0..9_usize, 0..400_u64, failure(), 0..8_usize));
    (vec(vec(0..1000_u64, 0..300), 1..4), vec((step(), 0..8_usize), 0..9), failure).prop_map(
        |(sources, mut steps, failure)| {
            if let Some((place, at, failure, stream)) = failure {
                steps.insert(place.min(steps.len()), (Step::Fail(at, failure), stream));
            }
            Plan { sources, steps }
        },
    )
}

fn cases() -> u32 {
    std::env::var("THALWEG_CASES").map_or(60, |cases| cases.parse().expect("THALWEG_CASES is a number of graphs"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, max_shrink_time: 15_000, ..ProptestConfig::default() })]
    #[test]
    fn random_graphs_of_operators_compute_what_a_loop_computes(plan in plan(), turn in 0..4_usize) {
        let mut expected = plan.sources.clone();
        let mut fails = false;
        for &(step, at) in &plan.steps {
            let at = at % expected.len();
            let stream = expected.swap_remove(at);
            fails |= matches!(step, Step::Fail(most, _) if stream.len() as u64 > most);
            let stream = interpret_step(step, stream, &mut expected);
            expected.push(stream);
        }
        for scheme in crate::schemes(turn) {
            let (own, sinks) = (plan.clone(), expected.len());
            match within(SOON, move || run(&own, sinks, scheme)) {
                Ok(seen) => {
                    prop_assert_eq!(&seen, &expected, "{:?}", scheme);
                    prop_assert!(!fails || plan.ends_early(), "{:?}: it should have failed", scheme);
                }
                Err(error) => {
                    let message = error.contains("kernel fails") && error.contains("asked to fail");
                    prop_assert!(fails && message, "{:?}: {}", scheme, error);
                }
            }
        }
    }
}
