//! Who asks: a thread of its own, the same for every server.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::task::LocalSet;

use crate::harness::BoxError;
use crate::machine::thread_cpu_time;
use crate::report::record::quantile;

/// A connection to a server.
pub(super) trait Client: Sized + 'static {
    async fn connect(server: SocketAddr) -> Result<Self, BoxError>;
    /// Asks once, waits for the answer and checks it.
    async fn ask(&mut self) -> Result<(), BoxError>;
}

/// What the clients saw.
pub(super) struct Answered {
    /// From the first request, when all were connected, to the last answer.
    pub(super) wall: Duration,
    /// Processor time of the thread of clients, connecting included.
    pub(super) cpu: Duration,
    pub(super) latencies: Latencies,
}

/// How long the answers took, in microseconds.
pub(super) struct Latencies {
    pub(super) mean: f64,
    pub(super) p95: f64,
    pub(super) p99: f64,
}

impl Latencies {
    fn of(mut nanos: Vec<u64>) -> Self {
        nanos.sort_unstable();
        let below = |share| quantile(&nanos, share) / 1e3;
        Self { mean: nanos.iter().sum::<u64>() as f64 / 1e3 / nanos.len() as f64, p95: below(0.95), p99: below(0.99) }
    }
}

/// Lets the process have as many files as both ends of so many connections take.
pub(super) fn make_room(connections: usize) -> Result<(), BoxError> {
    /// What the rest of the process has open, by far.
    const OTHERS: u64 = 100;
    let needed = 2 * connections as u64 + OTHERS;
    let limit = getrlimit(Resource::Nofile);
    if limit.maximum.is_some_and(|most| most < needed) {
        return Err(format!(
            "{connections} connections take {needed} open files, and {} are allowed (`ulimit -Hn`): ask for fewer by THALWEG_CONNECTIONS",
            limit.maximum.unwrap_or_default()
        )
        .into());
    }
    if limit.current.is_some_and(|now| now < needed) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum: limit.maximum })?;
    }
    Ok(())
}

/// Asks `requests` times in all on so many connections. Every answer is checked.
pub(super) fn ask<C: Client>(
    server: SocketAddr,
    connections: usize,
    requests: u64,
    patience: Duration,
) -> Result<Answered, BoxError> {
    std::thread::spawn(move || {
        let before = thread_cpu_time();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let asked = LocalSet::new().block_on(&runtime, async {
            tokio::time::timeout(patience, ask_all::<C>(server, connections, requests)).await
        });
        let (wall, latencies) = asked.map_err(|_| format!("not answered within {patience:?}"))??;
        if latencies.len() as u64 != requests {
            return Err(format!("{} of {requests} requests were answered", latencies.len()).into());
        }
        Ok(Answered { wall, cpu: thread_cpu_time().saturating_sub(before), latencies: Latencies::of(latencies) })
    })
    .join()
    .expect("the clients do not panic")
}

async fn ask_all<C: Client>(
    server: SocketAddr,
    connections: usize,
    requests: u64,
) -> Result<(Duration, Vec<u64>), BoxError> {
    let mut connected = Vec::new();
    for _ in 0..connections {
        let mut client = C::connect(server).await?;
        // Once, unmeasured: the server has accepted it then.
        client.ask().await?;
        connected.push(client);
    }
    let left = Rc::new(Cell::new(requests));
    let latencies = Rc::new(RefCell::new(Vec::with_capacity(requests as usize)));
    let start = Instant::now();
    let clients: Vec<_> = connected
        .into_iter()
        .map(|client| tokio::task::spawn_local(ask_on(client, left.clone(), latencies.clone())))
        .collect();
    for client in clients {
        client.await??;
    }
    Ok((start.elapsed(), latencies.take()))
}

async fn ask_on(
    mut client: impl Client,
    left: Rc<Cell<u64>>,
    latencies: Rc<RefCell<Vec<u64>>>,
) -> Result<(), BoxError> {
    while let Some(less) = left.get().checked_sub(1) {
        left.set(less);
        let asked = Instant::now();
        client.ask().await?;
        latencies.borrow_mut().push(asked.elapsed().as_nanos() as u64);
    }
    Ok(())
}
