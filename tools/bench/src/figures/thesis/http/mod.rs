//! `executor/http`: the thesis' Figures 4.13 and 4.14 in small. hyper on our executor with either form of queue, and on tokio, over loopback.
//!
//! One thread of clients, the same for all, asks on so many connections at once: 100 unless `THALWEG_CONNECTIONS` says otherwise, 10 000 at most.
//! Each connection sends a request, waits for its answer, and sends the next, so the mean latency is the connections over the rate. The server's processor
//! time is that of the process without the thread of clients; it includes the connecting. `docs/measurements.md` has the command.

#[cfg(feature = "http")]
mod clients;
#[cfg(feature = "http")]
mod plain;
pub(crate) mod rpc;
#[cfg(feature = "http")]
mod servers;

#[cfg(not(feature = "rpc"))]
use crate::catalogue::optional::Optional;
use crate::harness::{BoxError, Effort, Experiment, Group};

/// The entry for the registry.
pub(crate) const EXPERIMENT: Experiment = Experiment { name: "executor/http", plan };

const WORKLOAD: &str = "a request, answered over loopback";

const UNITS: &[&str] = &["us", "us mean latency", "us p95", "us p99", "us of the server's CPU", "% of items stolen"];

#[cfg(not(feature = "http"))]
fn plan(_: &Effort) -> Result<Vec<Group>, BoxError> {
    Ok(vec![absent(WORKLOAD, crate::catalogue::optional::HTTP)])
}

#[cfg(feature = "http")]
fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    compare::<plain::Http1>(WORKLOAD, effort)
}

/// A group in which nobody takes part, as `peer` is not built in.
#[cfg(not(feature = "rpc"))]
fn absent(workload: &'static str, peer: Optional) -> Group {
    Group { absent: peer.absent().into_iter().collect(), ..Group::new(workload, UNITS, Vec::new()) }
}

/// The three executors, under servers of this protocol.
#[cfg(feature = "http")]
fn compare<P: servers::Protocol>(workload: &'static str, effort: &Effort) -> Result<Vec<Group>, BoxError> {
    use crate::harness::{Contender, Role, Sample};
    use crate::machine::timed;
    use serde_json::json;
    use servers::{Protocol, Server, Thalweg, Tokio};
    use std::time::Duration;
    use thalweg_executor::{Bwos, Ring};

    const MOST_CONNECTIONS: usize = 10_000;
    /// Many times what a run takes.
    const PATIENCE: Duration = Duration::from_secs(120);

    fn run<S: Server, P: Protocol>(connections: usize, requests: u64) -> Result<Sample, BoxError> {
        let server = S::start::<P>()?;
        let (answered, timing) = timed(|| clients::ask::<P::Client>(server.address(), connections, requests, PATIENCE));
        let answered = answered?;
        let cpu = timing.cpu.saturating_sub(answered.cpu);
        let each = |time: Duration| time.as_secs_f64() * 1e6 / requests as f64;
        let clients::Latencies { mean, p95, p99 } = answered.latencies;
        let figures = vec![each(answered.wall), mean, p95, p99, each(cpu), server.stolen()];
        Ok(Sample { figures, cpus: Some(timing.cpus()) })
    }

    let connections = match std::env::var("THALWEG_CONNECTIONS") {
        Ok(number) => number.parse().ok().filter(|number| (1..=MOST_CONNECTIONS).contains(number)),
        Err(_) => Some(100),
    };
    let connections =
        connections.ok_or_else(|| format!("THALWEG_CONNECTIONS is a number from 1 to {MOST_CONNECTIONS}"))?;
    clients::make_room(connections)?;
    let requests = effort.messages(200_000).max(connections as u64);
    let params = json!({ "connections": connections, "requests": requests, "workers": servers::WORKERS });
    let contender = |role, name, run: fn(usize, u64) -> Result<Sample, BoxError>| {
        Contender::new(role, name, params.clone(), move || run(connections, requests))
    };
    let contenders = vec![
        contender(Role::Ours, "thalweg, BWoS", run::<Thalweg<Bwos>, P>),
        contender(Role::Ours, "thalweg, ring", run::<Thalweg<Ring>, P>),
        contender(Role::Peer, "tokio", run::<Tokio, P>),
    ];
    Ok(vec![Group::new(workload, UNITS, contenders)])
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use super::*;
    use crate::harness::measure;

    #[test]
    fn every_server_answers_all_requests() {
        let outcome = measure(&EXPERIMENT, &Effort::TINY, &mut Vec::new()).unwrap();
        assert_eq!(outcome.failures, [""; 0]);
        // A record for each of three servers and six units, but for what tokio does not count.
        assert_eq!(outcome.records.len(), 3 * UNITS.len() - 1);
    }

    #[test]
    fn more_files_than_are_allowed_are_refused() {
        let error = clients::make_room(usize::MAX / 4).unwrap_err().to_string();
        assert!(error.contains("THALWEG_CONNECTIONS"), "{error}");
    }
}
