//! A stream that a task outside takes.

use serde_json::json;
use thalweg::Outlet;
use thalweg::prelude::*;

use super::{Setting, params};
use crate::harness::{BoxError, Contender, Role, Sample};
use crate::machine::timed;
use crate::peers::tokio::runtime;
use crate::peers::{CAPACITY, Checked};
use crate::workloads::{Chain, Check};

/// Takes all there is, `batch` at a time.
async fn take(chain: Chain, outlet: Outlet<u64>, batch: usize) -> Check {
    let mut check = chain.check(0..chain.messages);
    if batch == 1 {
        while let Ok(message) = outlet.pop_async().await {
            check.add(message);
        }
        return check;
    }
    let mut messages = Vec::with_capacity(batch);
    while outlet.pop_many_async(&mut messages, batch).await.is_ok() {
        messages.drain(..).for_each(|message| check.add(message));
    }
    check
}

/// A source and an outlet, from which a task on a thread of its own takes.
fn outlet(chain: Chain, batch: usize, setting: Setting) -> Checked {
    let scheme = setting.build()?;
    let runtime = runtime(1)?;
    let (check, timing) = timed(|| -> Result<Check, BoxError> {
        let mut graph = Graph::new();
        let (sink, outlet) = graph.outlet(CAPACITY)?;
        graph += graph.source(Chain::source(0..chain.messages)) >> sink;
        std::thread::scope(|scope| {
            let taken = scope.spawn(|| runtime.block_on(take(chain, outlet, batch)));
            graph.run(scheme)?;
            Ok(taken.join().expect("it takes until the end"))
        })
    });
    chain.verify(&[check?])?;
    Ok(timing)
}

/// A contender whose messages a task takes, `batch` at a time; nanoseconds for each.
pub fn on_outlet(name: &str, workload: Chain, batch: usize, setting: Setting) -> Contender {
    let mut params = params(setting, json!({ "messages": workload.messages, "batch": batch }));
    params["outlet"] = json!(CAPACITY);
    Contender::new(Role::Ours, setting.name(name), params, move || {
        Ok(Sample::nanos_per(outlet(workload, batch, setting)?, workload.messages))
    })
}
