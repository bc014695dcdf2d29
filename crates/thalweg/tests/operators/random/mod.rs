//! Random graphs of operators against a plain interpreter: the same messages in the same order, whatever the scheme, the number of workers, and what
//! carries the edges. Some have cycles. Some have a kernel that fails; then the run fails with its name. Some have one that stops or cancels the run; then what came is
//! the beginning of all. However a run ends, every message is dropped once.
//!
//! `THALWEG_CASES` says how many graphs there are, each run under some schemes.

mod graphs;
mod interpreter;

use crate::common::{SOON, within};
use proptest::collection::vec;
use proptest::prelude::*;
use thalweg::prelude::*;
use thalweg::{End, Path, PathEnd, Storage, Tail};
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
    FlatMap,
    /// A stream of so many ticks beside.
    Every(usize),
    Window {
        peek: usize,
        pop: usize,
        parallel: bool,
    },
    WindowPartial(usize, usize),
    /// Two streams become two, by a parallel kernel that takes so many of each.
    Fire(usize, usize),
    /// An edge that keeps the newest, and all there are.
    Newest,
    /// The last message that comes over an edge which keeps so many.
    Latest(usize),
    /// Over an edge of this kind, with a capacity or without.
    Carried(Storage, Option<usize>),
    /// Fails at the message of this number.
    Fail(u64, Failure),
    /// Ends the run at the message of this number.
    End(u64, Wish),
}

#[derive(Clone, Copy, Debug)]
enum Failure {
    Error,
    Panic,
    /// On many workers at once.
    Parallel,
}

#[derive(Clone, Copy, Debug)]
enum Wish {
    Stop,
    Cancel,
}

impl Step {
    /// The results of a stream's first messages are the first results of the whole stream.
    fn is_steady(self) -> bool {
        match self {
            Self::Broadcast | Self::Split | Self::TryMap | Self::Skip | Self::Take(_) | Self::TakeWhile => true,
            Self::Zip | Self::Throttle | Self::Map | Self::FlatMap | Self::Every(_) | Self::Window { .. } => true,
            Self::Fire(..) | Self::Newest | Self::Carried(..) | Self::Fail(..) | Self::End(..) => true,
            Self::Merge | Self::Interleave | Self::MergeByKey | Self::Partition | Self::Chunks(_) | Self::Fold => false,
            Self::KeyFold(_) | Self::KeyMap(_) | Self::KeyWindow(..) | Self::WindowByTime(_) | Self::Debounce => false,
            Self::Rounds(_) | Self::WindowPartial(..) | Self::Latest(_) => false,
        }
    }
}

fn failure() -> impl Strategy<Value = Failure> {
    prop_oneof![Just(Failure::Error), Just(Failure::Panic), Just(Failure::Parallel)]
}

fn storage() -> impl Strategy<Value = Storage> {
    prop_oneof![Just(Storage::Ring), Just(Storage::Growing), Just(Storage::Linked), Just(Storage::Many)]
}

/// Behind every other step, on the average.
fn carried() -> impl Strategy<Value = Option<Step>> {
    let capacity = proptest::option::of(1..70_usize);
    proptest::option::of((storage(), capacity).prop_map(|(storage, capacity)| Step::Carried(storage, capacity)))
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
        Just(Step::FlatMap),
        (0..4_usize).prop_map(Step::Every),
        (1..7_usize, 1..7_usize, any::<bool>()).prop_map(|(peek, pop, parallel)| Step::Window { peek, pop, parallel }),
        (1..5_usize, 1..5_usize).prop_map(|(peek, pop)| Step::WindowPartial(peek, pop)),
        (1..4_usize, 1..9_usize).prop_map(|(own, others)| Step::Fire(own, others)),
        Just(Step::Newest),
        (1..9_usize).prop_map(Step::Latest),
    ]
}

/// What came at each sink, or what the run failed with. Every message is dropped when it returns.
fn run(plan: &Plan, sinks: usize, scheme: Scheme) -> Result<(End, Vec<Vec<u64>>), String> {
    let alive = Arc::new(());
    let mut seen = vec![Vec::new(); sinks];
    let mut graph = Graph::new();
    let message = |&x: &u64| Message(x, alive.clone());
    let source = |source: &Vec<u64>| graph.source(source.iter().map(message).collect::<Vec<_>>()).into_path();
    let mut open: Vec<Open> = plan.sources.iter().map(source).collect();
    for &(step, at) in &plan.steps {
        let path = open.swap_remove(at % open.len());
        let path = graphs::add_step(&mut graph, step, path, &mut open, &alive);
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
        Ok(report) => Ok((report.end, seen)),
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
        self.steps.iter().any(|(step, _)| matches!(step, Step::Take(_) | Step::TakeWhile | Step::Zip | Step::Fire(..)))
    }
}

fn plan() -> impl Strategy<Value = Plan> {
    let wish = prop_oneof![Just(Wish::Stop), Just(Wish::Cancel)];
    let failure = (0..400_u64, failure()).prop_map(|(at, failure)| Step::Fail(at, failure));
    let end = (0..400_u64, wish).prop_map(|(at, wish)| Step::End(at, wish));
    let more = |step: proptest::strategy::BoxedStrategy<Step>| proptest::option::of((0..9_usize, step, 0..8_usize));
    let more = [more(failure.boxed()), more(end.boxed())];
    (vec(vec(0..1000_u64, 0..300), 1..4), vec((step(), carried(), 0..8_usize), 0..9), more).prop_map(
        |(sources, steps, more)| {
            let steps =
                steps.into_iter().flat_map(|(step, carried, at)| [Some(step), carried].map(|step| Some((step?, at))));
            let mut steps: Vec<_> = steps.flatten().collect();
            for (place, step, stream) in more.into_iter().flatten() {
                steps.insert(place.min(steps.len()), (step, stream));
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
        let (mut fails, mut wished) = (false, false);
        for &(step, at) in &plan.steps {
            let at = at % expected.len();
            let stream = expected.swap_remove(at);
            fails |= matches!(step, Step::Fail(most, _) if stream.len() as u64 > most);
            wished |= matches!(step, Step::End(most, _) if stream.len() as u64 > most);
            let stream = interpreter::interpret_step(step, stream, &mut expected);
            expected.push(stream);
        }
        for scheme in crate::schemes(turn) {
            let (own, sinks) = (plan.clone(), expected.len());
            match within(SOON, move || run(&own, sinks, scheme)) {
                Ok((End::Complete, seen)) => {
                    prop_assert_eq!(&seen, &expected, "{:?}", scheme);
                    prop_assert!(!fails || plan.ends_early(), "{:?}: it should have failed", scheme);
                    prop_assert!(!wished || plan.ends_early(), "{:?}: it should have been ended", scheme);
                }
                Ok((_, seen)) => {
                    prop_assert!(wished, "{:?}: nobody ended it", scheme);
                    if plan.steps.iter().all(|(step, _)| step.is_steady()) {
                        let begins = seen.iter().zip(&expected).all(|(seen, all)| all.starts_with(seen));
                        prop_assert!(begins, "{:?}: {:?} of {:?}", scheme, seen, expected);
                    }
                }
                Err(error) => {
                    let message = error.contains("kernel fails") && error.contains("asked to fail");
                    prop_assert!(fails && message, "{:?}: {}", scheme, error);
                }
            }
        }
    }
}
