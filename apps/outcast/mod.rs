//! One producer, many consumers.
//!
//! ```text
//!            ┌──> consumer 1
//! producer ──┤    …
//!            └──> consumer 4
//! ```
//!
//! The consumers get the messages in turn: the first one the first, the fifth, and so on. While it is the turn of one that has no room,
//! the producer waits.
//!
//! From the outcast of BLQ, table 1, which is that of Ember; messages as in [`incast`](crate::incast).

pub mod reference;

use thalweg::prelude::*;

use crate::bursts::{Message, Received, Work};
use crate::watch::Steps;
use crate::{Error, Result, Watch};

/// What to send.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// How many kernels receive.
    pub consumers: usize,
    /// Messages, to all consumers together.
    pub messages: u64,
    /// Work at both ends.
    pub work: Work,
    /// How the graph runs.
    pub scheme: Scheme,
}

impl Config {
    /// As in the paper, with four consumers, and the default scheme.
    pub fn new(messages: u64) -> Self {
        Self { consumers: 4, messages, work: Work::default(), scheme: Scheme::default() }
    }
}

/// What was received.
#[derive(Debug)]
pub struct Summary {
    /// By each consumer.
    pub received: Vec<Received>,
    /// What each kernel did.
    pub report: Report,
}

/// Sends, and receives all.
///
/// ```
/// use thalweg_apps::bursts::Work;
/// use thalweg_apps::outcast::{Config, reference, run};
/// let config = Config { work: Work::NONE, ..Config::new(1_000) };
/// assert_eq!(run(&config, &())?.received, reference::receive(&config));
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Refused`] without consumers.
pub fn run(config: &Config, watch: &dyn Watch) -> Result<Summary> {
    let Config { consumers, messages, work, scheme } = *config;
    if consumers == 0 {
        return Err(Error::Refused("without consumers there is nobody to send to; take at least one".into()));
    }
    let mut received = vec![Received::default(); consumers];

    let mut graph = Graph::new();
    let producer = graph.add(Producer { consumers, messages, work, sent: 0, progress: Steps::new(watch) });
    graph.name(producer[0], "producer");
    for (consumer, (received, output)) in received.iter_mut().zip(producer).enumerate() {
        let receive = graph.sink(move |message: Message| work.receive(message, received));
        graph.name(receive, &format!("consumer {}", consumer + 1));
        graph += output >> receive;
    }
    watch.started(graph.stopper());
    let report = graph.run(scheme)?;
    drop(graph);
    Ok(Summary { received, report })
}

/// Gives messages to all consumers, one to each in turn.
struct Producer<'a> {
    consumers: usize,
    messages: u64,
    work: Work,
    sent: u64,
    progress: Steps<'a>,
}

impl Kernel for Producer<'_> {
    type Ports = Vec<Out<Message>>;

    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (1..=self.consumers).map(|consumer| bind.output(&format!("to {consumer}"))).collect()
    }

    fn run(&mut self, ports: &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while self.sent < self.messages {
            let port = ports[(self.sent % ports.len() as u64) as usize];
            if !io.has_room(port) {
                return Ok(Flow::More);
            }
            io.push(port, self.work.send(self.sent));
            self.progress.add(size_of::<Message>() as u64);
            self.sent += 1;
        }
        Ok(Flow::Done)
    }
}
