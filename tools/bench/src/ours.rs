//! thalweg in the experiments: each workload as the graph that a user would write.

pub mod keyed;
pub mod outlet;

use std::time::Duration;

use serde_json::{Value, json};
use thalweg::prelude::*;

use crate::harness::{BoxError, Contender, Role, Sample};
use crate::machine::{Placement, Start, keep_to, timed};
use crate::peers::{CAPACITY, Checked};
use crate::streams::crew;
use crate::streams::trace::Seen;
use crate::workloads::{Chain, Check, Digest, Farm, Fir, FirChain, Stamped, Text, Trickle, Trickled, Turning};

/// How a graph is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    scheme: Option<&'static str>,
    workers: Option<usize>,
    counted: bool,
    seen: Seen,
}

impl Setting {
    /// What a user gets who chooses nothing.
    pub const DEFAULT: Setting = Setting { scheme: None, workers: None, counted: true, seen: Seen::Unseen };

    /// The default scheme with `workers` workers, pinned.
    pub const fn workers(workers: usize) -> Self {
        Setting { workers: Some(workers), ..Setting::DEFAULT }
    }

    /// The scheme of this name.
    pub const fn scheme(name: &'static str) -> Self {
        Setting { scheme: Some(name), ..Setting::DEFAULT }
    }

    /// Without what is counted for the report alone.
    pub const fn uncounted(self) -> Self {
        Setting { counted: false, ..self }
    }

    /// Seen while it runs.
    pub const fn seen(self, seen: Seen) -> Self {
        Setting { seen, ..self }
    }

    /// The scheme, for a graph that the calling thread runs.
    fn build(self) -> Result<Scheme, BoxError> {
        let scheme = match self.scheme {
            Some(name) => Scheme::named(name)?,
            None => Scheme::default(),
        };
        let scheme = scheme.counted(self.counted);
        Ok(match self.workers {
            Some(workers) => {
                // To the CPUs that the peers are pinned to: by itself a graph takes those with the lowest numbers.
                keep_to(workers);
                scheme.workers(workers).pinned(true)
            }
            None => scheme,
        })
    }

    /// `base` and what this setting changes, as a contender's name.
    pub(crate) fn name(self, base: &str) -> String {
        let scheme = self.scheme.map(|scheme| format!(", `{scheme}`")).unwrap_or_default();
        let workers = self.workers.map(|workers| format!(", {}", crew(workers))).unwrap_or_default();
        let counted = if self.counted { "" } else { ", uncounted" };
        self.seen.name(&format!("{base}{scheme}{workers}{counted}"))
    }
}

/// Adds the setting to a contender's parameters.
pub fn params(setting: Setting, mut params: Value) -> Value {
    params["scheme"] = json!(setting.scheme.unwrap_or("default"));
    params["threads"] = setting.workers.map_or(json!("default"), |workers| json!(format!("{workers}, pinned")));
    params["capacity"] = json!("16 blocks of at most 16 KiB, 256 where the scheme grows edges");
    params
}

/// How a one-to-one stage is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `graph.sequential`, which may push any number of messages and pushes one.
    Push,
    /// `graph.map`, which gives one for one.
    Map,
}

impl Style {
    fn stage<T: Send + 'static>(
        self,
        graph: &mut Graph<'_>,
        mut step: impl FnMut(T) -> T + Send + 'static,
    ) -> Node<T, T> {
        match self {
            Style::Push => graph.sequential(move |message: T, out: &mut Output<T>| out.push(step(message))),
            Style::Map => graph.map(step),
        }
    }
}

/// Connects `source`, `stages` and `sink` in a row.
fn connect<T: Send + 'static>(graph: &mut Graph<'_>, source: Source<T>, stages: &[Node<T, T>], sink: Sink<T>) {
    match stages {
        [] => *graph += source >> sink,
        [first, .., last] => {
            *graph += source >> *first;
            for pair in stages.windows(2) {
                *graph += pair[0] >> pair[1];
            }
            *graph += *last >> sink;
        }
        [only] => *graph += source >> *only >> sink,
    }
}

/// The chain of light stages.
pub fn chain(chain: Chain, style: Style, setting: Setting) -> Checked {
    let scheme = setting.build()?;
    let (check, timing) = timed(|| run_chain(chain, 0..chain.messages, style, scheme, setting.seen));
    chain.verify(&[check?])?;
    Ok(timing)
}

fn run_chain(
    chain: Chain,
    part: std::ops::Range<u64>,
    style: Style,
    scheme: Scheme,
    seen: Seen,
) -> Result<Check, BoxError> {
    let mut check = chain.check(part.clone());
    let mut graph = Graph::new();
    let source = graph.source(Chain::source(part));
    let stages: Vec<Node<u64, u64>> = (0..chain.stages).map(|_| style.stage(&mut graph, Chain::stage)).collect();
    let sink = graph.sink(|v: u64| check.add(v));
    connect(&mut graph, source, &stages, sink);
    let looking = seen.begin(&graph.stopper());
    graph.run(scheme)?;
    drop(looking);
    drop(graph);
    Ok(check)
}

/// A contender that runs [`chain`].
pub fn on_chain(name: &str, workload: Chain, style: Style, setting: Setting) -> Contender {
    let params = params(setting, json!({ "messages": workload.messages }));
    Contender::new(Role::Ours, setting.name(name), params, move || {
        Ok(Sample::nanos_per(chain(workload, style, setting)?, workload.handovers()))
    })
}

/// The chain in halves: two graphs at once, of one worker each, on a CPU of their own. They share nothing, so this is what the two CPUs
/// have to give.
pub fn halves(chain: Chain, style: Style) -> Checked {
    let halfway = chain.messages / 2;
    let half = |part: std::ops::Range<u64>| run_chain(chain, part, style, Scheme::default().workers(1), Seen::Unseen);
    let start = Start::default();
    let (checks, timing) = std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            Placement::TwoCpus.pin(0, 2);
            start.wait();
            half(0..halfway).map_err(|error| error.to_string())
        });
        Placement::TwoCpus.pin(1, 2);
        start.timed(1, || -> Result<_, BoxError> {
            let second = half(halfway..chain.messages)?;
            Ok([first.join().expect("a graph's failure is an error, not a panic")?, second])
        })
    });
    chain.verify(&checks?)?;
    Ok(timing)
}

/// The chain with one stage, fused by the compiler.
pub fn fused(chain: Chain) -> Checked {
    let (check, timing) = timed(|| -> Result<Check, BoxError> {
        let mut check = chain.check(0..chain.messages);
        let mut graph = Graph::new();
        graph.stream(Chain::source(0..chain.messages)).map(Chain::stage).for_each(|v| check.add(v));
        graph.run(Scheme::default())?;
        drop(graph);
        Ok(check)
    });
    chain.verify(&[check?])?;
    Ok(timing)
}

/// The chain of filters.
pub fn fir(chain: FirChain, style: Style, setting: Setting, right: &Digest) -> Checked {
    let scheme = setting.build()?;
    let (digest, timing) = timed(|| -> Result<Digest, BoxError> {
        let mut digest = Digest::default();
        let mut graph = Graph::new();
        let source = graph.source(chain.source());
        // A closure for each style: one for both is called from two places, and then not inlined.
        let stage = |mut fir: Fir| match style {
            Style::Push => graph.sequential(move |sample, out: &mut Output<f64>| out.push(fir.step(sample))),
            Style::Map => graph.map(move |sample| fir.step(sample)),
        };
        let stages: Vec<Node<f64, f64>> = chain.filters().into_iter().map(stage).collect();
        let sink = graph.sink(|sample: f64| digest.add(sample.to_bits()));
        connect(&mut graph, source, &stages, sink);
        graph.run(scheme)?;
        drop(graph);
        Ok(digest)
    });
    digest?.verify(right, true)?;
    Ok(timing)
}

/// A contender that runs [`fir`].
pub fn on_fir(name: &str, workload: FirChain, style: Style, setting: Setting, right: Digest) -> Contender {
    let params = params(setting, json!({ "messages": workload.samples }));
    Contender::new(Role::Ours, setting.name(name), params, move || {
        Ok(Sample::nanos_per(fir(workload, style, setting, &right)?, workload.samples))
    })
}

/// The farm, its results in order or as they come.
pub fn farm(farm: Farm, ordered: bool, setting: Setting, right: &Digest) -> Checked {
    let scheme = setting.build()?;
    let (digest, timing) = timed(|| -> Result<Digest, BoxError> {
        let mut digest = Digest::default();
        let mut graph = Graph::new();
        let source = graph.source(0..farm.messages);
        let work = graph.parallel(|v: u64, out: &mut Output<u64>| out.push(Farm::work(v)));
        let sink = graph.sink(|v: u64| digest.add(v));
        match ordered {
            true => graph += source >> (work * Farm::WORKERS as u32) >> sink,
            false => graph += source >> (work * Farm::WORKERS as u32).unordered() >> sink,
        }
        graph.run(scheme)?;
        drop(graph);
        Ok(digest)
    });
    digest?.verify(right, ordered)?;
    Ok(timing)
}

/// A contender that runs [`farm`].
pub fn on_farm(name: &str, workload: Farm, ordered: bool, setting: Setting, right: Digest) -> Contender {
    let mut params = params(setting, json!({ "messages": workload.messages, "workers": Farm::WORKERS }));
    params["order"] = json!(if ordered { "kept" } else { "none" });
    Contender::new(Role::Ours, setting.name(name), params, move || {
        Ok(Sample::nanos_per(farm(workload, ordered, setting, &right)?, workload.messages))
    })
}

/// Messages that turn slow, with a worker for each that may be slow at once.
pub fn turning(turning: Turning, setting: Setting) -> Checked {
    let scheme = setting.build()?.workers(Turning::WORKERS);
    let (digest, timing) = timed(|| -> Result<Digest, BoxError> {
        let mut digest = Digest::default();
        let mut graph = Graph::new();
        let work = graph.parallel_map(|message: u64| turning.work(message));
        graph += graph.source(0..turning.messages()) >> work >> graph.sink(|message: u64| digest.add(message));
        graph.run(scheme)?;
        drop(graph);
        Ok(digest)
    });
    turning.verify(&digest?)?;
    Ok(timing)
}

/// The farm's work in one sequential kernel: nearly all there is to do, and no two workers may do it.
pub fn lopsided(farm: Farm, setting: Setting, right: &Digest) -> Checked {
    let scheme = setting.build()?;
    let (digest, timing) = timed(|| -> Result<Digest, BoxError> {
        let mut digest = Digest::default();
        let mut graph = Graph::new();
        let source = graph.source(0..farm.messages);
        let work = graph.map(Farm::work);
        let sink = graph.sink(|v: u64| digest.add(v));
        graph += source >> work >> sink;
        graph.run(scheme)?;
        drop(graph);
        Ok(digest)
    });
    digest?.verify(right, true)?;
    Ok(timing)
}

/// A contender that runs [`lopsided`].
pub fn on_lopsided(name: &str, workload: Farm, setting: Setting, right: Digest) -> Contender {
    let params = params(setting, json!({ "messages": workload.messages }));
    Contender::new(Role::Ours, setting.name(name), params, move || {
        let timing = lopsided(workload, setting, &right)?;
        Ok(Sample { figures: vec![timing.nanos_per(workload.messages), timing.cpus()], cpus: Some(timing.cpus()) })
    })
}

/// The search.
pub fn search(text: &Text) -> Checked {
    let finder = Text::finder();
    let (matches, timing) = timed(|| -> Result<u64, BoxError> {
        let mut matches = 0;
        let mut graph = Graph::new();
        let chunks = graph.source(text.chunks());
        let count = graph.parallel(|chunk: &[u8], out: &mut Output<u64>| out.push(Text::count(&finder, chunk)));
        let sum = graph.sink(|count: u64| matches += count);
        graph += chunks >> count >> sum;
        graph.run(Scheme::default())?;
        drop(graph);
        Ok(matches)
    });
    text.verify(matches?)?;
    Ok(timing)
}

/// The trickle through two stages and a sink.
pub fn trickle(messages: u64) -> Result<Trickled, BoxError> {
    let trickle = Trickle::new(messages);
    let (result, timing) = timed(|| -> Result<(), BoxError> {
        let mut graph = Graph::new();
        let (first, inlet) = graph.inlet::<Stamped>(CAPACITY)?;
        let second = graph.sequential(|message: Stamped, out: &mut Output<Stamped>| out.push(message));
        let third = graph.sequential(|message: Stamped, out: &mut Output<Stamped>| out.push(message));
        let sink = graph.sink(|message: Stamped| trickle.arrived(message));
        graph += first >> second >> third >> sink;
        std::thread::scope(|scope| {
            let trickle = &trickle;
            let sender = scope
                .spawn(move || trickle.drive(|message| inlet.try_push(message).map_err(|error| error.to_string())));
            let ran = graph.run(Scheme::default());
            sender.join().expect("the sender does not panic")?;
            ran?;
            Ok(())
        })
    });
    result?;
    trickle.outcome(timing)
}

/// Three stages behind an open inlet that gets nothing for `time`.
pub fn idle(time: Duration) -> Checked {
    let (arrived, timing) = timed(|| -> Result<u64, BoxError> {
        let mut arrived = 0;
        let mut graph = Graph::new();
        let (first, inlet) = graph.inlet::<u64>(CAPACITY)?;
        let second = graph.sequential(|v: u64, out: &mut Output<u64>| out.push(v));
        let third = graph.sequential(|v: u64, out: &mut Output<u64>| out.push(v));
        let sink = graph.sink(|_: u64| arrived += 1);
        graph += first >> second >> third >> sink;
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(time);
                drop(inlet);
            });
            graph.run(Scheme::default()).map(drop)
        })?;
        drop(graph);
        Ok(arrived)
    });
    match arrived? {
        0 => Ok(timing),
        arrived => Err(format!("{arrived} messages arrived, none was sent").into()),
    }
}
