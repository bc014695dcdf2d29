//! `tasks/executor`: futures on two workers. Our executor with both forms of local queue, and tokio's, whose queue the ring has the form of.
//!
//! The workloads are of the kinds that tokio measures itself by: tasks started and joined, tasks that yield, pairs that answer each other, chains in which
//! each task starts the next. Channels are tokio's for all, which know no executor.

use std::marker::PhantomData;
use std::pin::Pin;

use serde_json::json;
use thalweg_executor::{Bwos, Executor, LocalQueue, Ring};
use tokio::sync::oneshot;

use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Role, Role::*, Sample};
use crate::machine::{Timing, timed};

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "tasks/executor", plan };

const WORKERS: usize = 2;
/// How many tasks yield in turns.
const YIELDERS: u64 = 200;
/// How long a chain is.
const CHAIN: u64 = 1000;
/// How many tasks are started before the first of them is joined.
const BURST: u64 = 1000;

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let rounds = effort.messages(2_000_000).max(BURST);
    let mut groups = vec![
        group("a task started and joined, one at a time", rounds, Work::Turns),
        group("a task started and joined, in bursts of 1000", rounds, Work::Bursts),
        group("a yield, of 200 tasks", rounds, Work::Yields),
        group("two tasks that answer each other, started for it", rounds, Work::Pairs),
        group("a link of a chain of 1000 tasks that start each other", rounds, Work::Chains),
    ];
    let stolen = |name, run: fn(Work, u64) -> Result<Run, BoxError>| {
        Contender::new(Ours, name, params(rounds), move || {
            let run = run(Work::Yields, rounds)?;
            Ok(Sample { figures: vec![run.stolen.unwrap_or_default()], cpus: Some(run.timing.cpus()) })
        })
    };
    groups.push(Group::new(
        "of 200 tasks that yield, how many polls follow a steal",
        &["%"],
        vec![stolen("thalweg, BWoS", of::<Thalweg<Bwos>>), stolen("thalweg, ring", of::<Thalweg<Ring>>)],
    ));
    Ok(groups)
}

fn params(rounds: u64) -> serde_json::Value {
    json!({ "rounds": rounds, "workers": WORKERS })
}

fn group(workload: &'static str, rounds: u64, work: Work) -> Group {
    let contender = |role: Role, name, run: fn(Work, u64) -> Result<Run, BoxError>| {
        Contender::new(role, name, params(rounds), move || Ok(Sample::nanos_per(run(work, rounds)?.timing, rounds)))
    };
    let contenders = vec![
        contender(Ours, "thalweg, BWoS", of::<Thalweg<Bwos>>),
        contender(Ours, "thalweg, ring", of::<Thalweg<Ring>>),
        contender(Peer, "tokio", of::<Tokio>),
    ];
    Group::new(workload, &["ns"], contenders)
}

#[derive(Clone, Copy)]
enum Work {
    Turns,
    Bursts,
    Yields,
    Pairs,
    Chains,
}

struct Run {
    timing: Timing,
    /// Percent of the polls that followed a steal, where it is counted.
    stolen: Option<f64>,
}

/// An executor: what its tasks call.
trait Tasks: Send + 'static {
    fn spawn<T: Send + 'static>(
        task: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send + 'static;
    fn yield_now() -> impl Future<Output = ()> + Send;
    /// Runs a task on [`WORKERS`] workers.
    fn run(task: impl Future<Output = u64> + Send + 'static) -> Result<(u64, Run), BoxError>;
}

struct Thalweg<Q>(PhantomData<fn() -> Q>);

impl<Q: LocalQueue> Tasks for Thalweg<Q> {
    fn spawn<T: Send + 'static>(
        task: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send + 'static {
        let task = thalweg_executor::spawn(task);
        async { task.await.expect("it does not panic") }
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        thalweg_executor::yield_now()
    }

    fn run(task: impl Future<Output = u64> + Send + 'static) -> Result<(u64, Run), BoxError> {
        let executor = Executor::builder().workers(WORKERS).queue::<Q>().start()?;
        let (result, timing) = timed(|| executor.run(task));
        let counts = executor.counts();
        let stolen = Some(100.0 * counts.stolen as f64 / counts.polls.max(1) as f64);
        Ok((result, Run { timing, stolen }))
    }
}

struct Tokio;

impl Tasks for Tokio {
    fn spawn<T: Send + 'static>(
        task: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send + 'static {
        let task = tokio::spawn(task);
        async { task.await.expect("it does not panic") }
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }

    fn run(task: impl Future<Output = u64> + Send + 'static) -> Result<(u64, Run), BoxError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).build()?;
        let (result, timing) = timed(|| runtime.block_on(async { tokio::spawn(task).await }));
        Ok((result?, Run { timing, stolen: None }))
    }
}

fn of<E: Tasks>(work: Work, rounds: u64) -> Result<Run, BoxError> {
    let (done, run) = match work {
        Work::Turns => E::run(async move {
            let mut done = 0;
            for _ in 0..rounds {
                done += E::spawn(async { 1 }).await;
            }
            done
        }),
        Work::Bursts => E::run(async move {
            let mut done = 0;
            while done < rounds {
                let burst: Vec<_> = (0..BURST.min(rounds - done)).map(|_| E::spawn(async { 1 })).collect();
                for task in burst {
                    done += task.await;
                }
            }
            done
        }),
        Work::Yields => E::run(async move {
            let share = |yielder| rounds / YIELDERS + u64::from(yielder < rounds % YIELDERS);
            let yielders: Vec<_> = (0..YIELDERS).map(|yielder| E::spawn(yields::<E>(share(yielder)))).collect();
            let mut done = 0;
            for yielder in yielders {
                done += yielder.await;
            }
            done
        }),
        Work::Pairs => E::run(async move {
            let mut done = 0;
            for _ in 0..rounds {
                done += pair::<E>().await;
            }
            done
        }),
        Work::Chains => E::run(async move {
            let mut done = 0;
            while done < rounds {
                let (tx, rx) = oneshot::channel();
                let links = CHAIN.min(rounds - done);
                chain::<E>(links, tx).await;
                rx.await.expect("the last link sends");
                done += links;
            }
            done
        }),
    }?;
    (done == rounds).then_some(run).ok_or_else(|| format!("{done} of {rounds} were done").into())
}

async fn yields<E: Tasks>(times: u64) -> u64 {
    for _ in 0..times {
        E::yield_now().await;
    }
    times
}

/// One task asks another one, which answers.
async fn pair<E: Tasks>() -> u64 {
    let (ask, asked) = oneshot::channel();
    let (answer, answered) = oneshot::channel();
    let other = E::spawn(async {
        let number: u64 = asked.await.expect("it is asked");
        answer.send(number).expect("the answer is awaited");
    });
    let _asked = ask.send(1);
    let number = answered.await.expect("it answers");
    other.await;
    number
}

/// Starts a task that starts the next, `links` in all; the last one sends.
fn chain<E: Tasks>(links: u64, done: oneshot::Sender<()>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        if links == 0 {
            done.send(()).expect("the end is awaited");
        } else {
            drop(E::spawn(chain::<E>(links - 1, done)));
        }
    })
}
