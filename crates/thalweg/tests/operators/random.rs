//! Random graphs of operators against a plain interpreter: the same messages in the same order, whatever the scheme and the number of workers.

use crate::common::{SOON, within};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::mem;
use thalweg::operators::{Emit, Skipped};
use thalweg::prelude::*;
use thalweg::{End, Path, PathEnd, Tail};

type Open = Path<PathEnd, Tail<u64>>;

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
        Step::Throttle => stream,
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

fn sort<'a>(graph: &mut Graph<'a>, from: impl Gives<Message = u64, Head = PathEnd>) -> Open {
    let sort = graph.sequential_with(
        Vec::new(),
        |all: &mut Vec<u64>, x, _out: &mut Emit<'_, '_, u64>| all.push(x),
        |all, out| out.extend(sorted(mem::take(all))),
    );
    from.into_path() >> sort
}

fn add_step(graph: &mut Graph<'_>, step: Step, path: Open, open: &mut Vec<Open>) -> Open {
    match step {
        Step::Map => path >> graph.parallel_map(mix),
        Step::Throttle => path >> graph.throttle(100_000, crate::times::EVER),
        Step::Debounce => path >> graph.debounce(crate::times::EVER),
        Step::Broadcast => {
            let copies = graph.broadcast(path, 2);
            open.push(copies[1].into_path());
            copies[0].into_path()
        }
        Step::Split => {
            let [first, second] = graph.split(path, is_first);
            open.push(second.into_path());
            first.into_path()
        }
        Step::Partition => {
            let parts: [_; 3] = graph.partition(path, key);
            let merged = graph.merge(parts);
            sort(graph, merged)
        }
        Step::TryMap => {
            let (results, errors) = graph.try_map(path, check);
            open.push(errors.into_path());
            results.into_path()
        }
        Step::Skip => path >> graph.map_or_skip(|x| check(x).map_err(|x| x.to_string()), &Skipped::new()),
        Step::Take(count) => path >> graph.take(count),
        Step::TakeWhile => path >> graph.take_while(|x| x % 50 != 49),
        Step::Chunks(length) => {
            let (chunks, digests) = (graph.chunks(length), graph.map(|chunk: Vec<u64>| digest(&chunk)));
            path >> chunks >> digests
        }
        Step::Fold => {
            let (all, digests) = (graph.fold(Vec::new, Vec::push), graph.map(|all: Vec<u64>| digest(&all)));
            path >> all >> digests
        }
        Step::KeyFold(lanes) => {
            let folded = graph.key_by(path, key).lanes(lanes).fold(Vec::new, Vec::push);
            let digests = graph.map(|(_, all): (u64, Vec<u64>)| digest(&all));
            sort(graph, folded >> digests)
        }
        Step::KeyMap(lanes) => {
            let mapped = graph.key_by(path, key).lanes(lanes).map_with(Vec::new, |all, _, x| {
                all.push(x);
                digest(all)
            });
            sort(graph, mapped)
        }
        Step::KeyWindow(peek, pop) => {
            let windows = graph.key_by(path, key).lanes(2).window(peek, pop, |_, window| digest(window));
            sort(graph, windows)
        }
        Step::WindowByTime(width) => {
            let windows = graph.window_by_time(width, |&x| x, &Skipped::new());
            path >> windows >> graph.map(|(_, window): (u64, Vec<u64>)| digest(&window))
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
                    pairs >> graph.map(|(a, b): (u64, u64)| a.wrapping_mul(3).wrapping_add(b))
                }
                Step::Interleave => graph.interleave([path, other]).into_path(),
                _ => {
                    let streams = [sort(graph, path), sort(graph, other)];
                    graph.merge_by_key(streams, key_of_sorted).into_path()
                }
            }
        }
    }
}

fn run(plan: &Plan, sinks: usize, scheme: Scheme) -> Vec<Vec<u64>> {
    let mut seen = vec![Vec::new(); sinks];
    let mut graph = Graph::new();
    let mut open: Vec<Open> = plan.sources.iter().map(|source| graph.source(source.clone()).into_path()).collect();
    for &(step, at) in &plan.steps {
        let path = open.swap_remove(at % open.len());
        let path = add_step(&mut graph, step, path, &mut open);
        open.push(path);
    }
    assert_eq!(open.len(), sinks);
    for (seen, path) in seen.iter_mut().zip(open) {
        let sink = graph.sink(|x| seen.push(x));
        graph += path >> sink;
    }
    let report = graph.run(scheme).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.end, End::Complete);
    drop(graph);
    seen
}

#[derive(Clone, Debug)]
struct Plan {
    sources: Vec<Vec<u64>>,
    steps: Vec<(Step, usize)>,
}

fn plan() -> impl Strategy<Value = Plan> {
    (vec(vec(0..1000_u64, 0..300), 1..4), vec((step(), 0..8_usize), 0..9))
        .prop_map(|(sources, steps)| Plan { sources, steps })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, max_shrink_time: 15_000, ..ProptestConfig::default() })]
    #[test]
    fn random_graphs_of_operators_compute_what_a_loop_computes(plan in plan(), turn in 0..4_usize) {
        let mut expected = plan.sources.clone();
        for &(step, at) in &plan.steps {
            let at = at % expected.len();
            let stream = expected.swap_remove(at);
            let stream = interpret_step(step, stream, &mut expected);
            expected.push(stream);
        }
        for scheme in crate::schemes(turn) {
            let (plan, sinks) = (plan.clone(), expected.len());
            let seen = within(SOON, move || run(&plan, sinks, scheme));
            prop_assert_eq!(&seen, &expected, "{:?}", scheme);
        }
    }
}
