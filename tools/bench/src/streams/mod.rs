//! The experiments on streams, one file each.

pub mod build;
pub mod chain32;
pub mod conserve;
pub mod fan;
pub mod farm;
pub mod fir32;
pub mod idle;
pub mod keyed;
pub mod outlet;
pub mod pipe3;
pub mod pipe3_fused;
pub mod report;
pub mod schemes;
pub mod search;
#[cfg(test)]
mod smoke;
pub mod trace;
pub mod trickle;
pub mod workers;

use serde_json::{Value, json};

use crate::harness::{Contender, Role, Sample};
use crate::peers::Checked;
use crate::workloads::Chain;

/// A contender on a chain: nanoseconds for each message and hop.
fn on_chain(
    role: Role,
    name: impl Into<String>,
    params: Value,
    chain: Chain,
    run: impl Fn(Chain) -> Checked + Send + 'static,
) -> Contender {
    Contender::new(role, name, params, move || Ok(Sample::nanos_per(run(chain)?, chain.handovers())))
}

/// A contender on a farm or a filter chain: nanoseconds for each of `messages` messages.
fn per_message(
    role: Role,
    name: impl Into<String>,
    params: Value,
    messages: u64,
    run: impl Fn() -> Checked + Send + 'static,
) -> Contender {
    Contender::new(role, name, params, move || Ok(Sample::nanos_per(run()?, messages)))
}

/// Parameters where only the message count and one word on the threads matter.
fn params(messages: u64, threads: impl Into<Value>) -> Value {
    json!({ "messages": messages, "threads": threads.into() })
}

/// So many workers, as a part of a name.
pub(crate) fn crew(workers: usize) -> String {
    format!("{workers} worker{}", if workers == 1 { "" } else { "s" })
}
