//! `tasks/stacks`: what a task costs that waits. So many are started, and all wait at the same time; the memory of the process then and before.

use serde_json::json;
use thalweg_task::{Runtime, Semaphore, scope};

use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Role, Role::*, Sample};
use crate::machine::{Timing, timed};

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "tasks/stacks", plan };

/// Threads are dear: so many fewer.
const FEWER: u64 = 200;

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let tasks = effort.messages(1_000_000);
    let mut group = Group::new(
        "tasks that wait",
        &["bytes each", "ns to start each"],
        vec![
            contender(Ours, "thalweg, 16 KiB stacks", tasks, ours),
            contender(Peer, "tokio", tasks, tokio),
            contender(Peer, "std", tasks / FEWER, std_threads),
        ],
    );
    if resident().is_err() {
        group.contenders.clear();
        group.absent.push("all are left out: there is no /proc/self/status that tells how much memory is used".into());
    }
    Ok(vec![group])
}

/// What was used, and the time until all waited.
struct Waited {
    bytes: u64,
    timing: Timing,
}

fn contender(role: Role, name: &str, tasks: u64, run: fn(u64) -> Result<Waited, BoxError>) -> Contender {
    Contender::new(role, name, json!({ "tasks": tasks }), move || {
        let Waited { bytes, timing } = run(tasks.max(1))?;
        let each = bytes as f64 / tasks.max(1) as f64;
        Ok(Sample { figures: vec![each, timing.nanos_per(tasks)], cpus: Some(timing.cpus()) })
    })
}

/// Bytes of memory that the process has.
fn resident() -> Result<u64, BoxError> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS in /proc/self/status")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? << 10)
}

fn ours(tasks: u64) -> Result<Waited, BoxError> {
    let runtime = Runtime::builder().workers(1).stack_bytes(16 << 10).start()?;
    runtime.run(|| {
        let (arrived, go) = (Semaphore::new(0), Semaphore::new(0));
        scope(|scope| {
            let before = resident()?;
            let ((), timing) = timed(|| {
                for _ in 0..tasks {
                    scope.spawn(|| {
                        arrived.release(1);
                        go.acquire().forget();
                    });
                }
                (0..tasks).for_each(|_| arrived.acquire().forget());
            });
            let bytes = resident()?.saturating_sub(before);
            go.release(tasks as usize);
            Ok(Waited { bytes, timing })
        })
    })
}

fn tokio(tasks: u64) -> Result<Waited, BoxError> {
    use std::sync::Arc;
    use tokio::sync::Semaphore;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let (arrived, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let start = || {
        let (arrived, go) = (arrived.clone(), go.clone());
        tokio::spawn(async move {
            arrived.add_permits(1);
            go.acquire().await.expect("it is never closed").forget();
        })
    };
    let before = resident()?;
    let all_wait = async {
        let all: Vec<_> = (0..tasks).map(|_| start()).collect();
        for _ in 0..tasks {
            arrived.acquire().await.expect("it is never closed").forget();
        }
        all
    };
    let (all, timing) = timed(|| runtime.block_on(all_wait));
    let bytes = resident()?.saturating_sub(before);
    go.add_permits(tasks as usize);
    runtime.block_on(async {
        for task in all {
            task.await?;
        }
        Ok(Waited { bytes, timing })
    })
}

fn std_threads(tasks: u64) -> Result<Waited, BoxError> {
    use std::sync::Barrier;
    let (arrived, go) = (Barrier::new(tasks as usize + 1), Barrier::new(tasks as usize + 1));
    let before = resident()?;
    std::thread::scope(|scope| {
        let (started, timing) = timed(|| {
            for _ in 0..tasks {
                std::thread::Builder::new().stack_size(16 << 10).spawn_scoped(scope, || {
                    arrived.wait();
                    go.wait();
                })?;
            }
            arrived.wait();
            Ok::<(), std::io::Error>(())
        });
        started?;
        let bytes = resident()?.saturating_sub(before);
        go.wait();
        Ok(Waited { bytes, timing })
    })
}
