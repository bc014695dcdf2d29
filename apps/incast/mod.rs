//! Many producers, one consumer.
//!
//! ```text
//! producer 1 ──┐
//! …            ├──> consumer
//! producer 4 ──┘
//! ```
//!
//! The producers share one counter, and each takes the next number from it for a message. The consumer takes a message from each of
//! its inputs in turn, if there is one.
//!
//! From the incast of BLQ, table 1, which is that of Ember. There, a message is a pointer into a pool of 4096 buffers that are used again
//! whether they were read or not; here its 56 bytes travel.

pub mod reference;

use thalweg::prelude::*;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::Relaxed;

use crate::bursts::{Message, Received, Work};
use crate::watch::Steps;
use crate::{Error, Result, Watch};

/// What to send.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// How many kernels send.
    pub producers: usize,
    /// Messages, of all producers together.
    pub messages: u64,
    /// Work at both ends.
    pub work: Work,
    /// How the graph runs.
    pub scheme: Scheme,
}

impl Config {
    /// As in the paper, with four producers, and the default scheme.
    pub fn new(messages: u64) -> Self {
        Self { producers: 4, messages, work: Work::default(), scheme: Scheme::default() }
    }
}

/// What was received.
#[derive(Debug)]
pub struct Summary {
    /// All of it.
    pub received: Received,
    /// Messages from each producer.
    pub from: Vec<u64>,
    /// What each kernel did.
    pub report: Report,
}

/// Sends, and receives all.
///
/// ```
/// use thalweg_apps::bursts::Work;
/// use thalweg_apps::incast::{Config, reference, run};
/// let config = Config { work: Work::NONE, ..Config::new(1_000) };
/// let all = run(&config, &())?;
/// assert_eq!((all.received, all.from.iter().sum()), (reference::receive(&config), 1_000));
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Refused`] without producers.
pub fn run(config: &Config, watch: &dyn Watch) -> Result<Summary> {
    let Config { producers, messages, work, scheme } = *config;
    if producers == 0 {
        return Err(Error::Refused("without producers there is nothing to receive; take at least one".into()));
    }
    let next = &AtomicU64::new(0);
    let mut all = (Received::default(), vec![0; producers]);

    let mut graph = Graph::new();
    let consumer = graph.add(Consumer { producers, work, all: &mut all });
    graph.name(consumer[0], "consumer");
    for (producer, &input) in consumer.iter().enumerate() {
        let mut progress = Steps::new(watch);
        let send = graph.source(std::iter::from_fn(move || {
            // Relaxed: a number is nobody else's, and carries nothing but itself.
            let number = next.fetch_add(1, Relaxed);
            (number < messages).then(|| {
                progress.add(size_of::<Message>() as u64);
                work.send(number)
            })
        }));
        graph.name(send, &format!("producer {}", producer + 1));
        graph += send >> input;
    }
    watch.started(graph.stopper());
    let report = graph.run(scheme)?;
    drop(graph);
    let (received, from) = all;
    Ok(Summary { received, from, report })
}

/// Takes messages from all producers, one from each in turn.
struct Consumer<'a> {
    producers: usize,
    work: Work,
    all: &'a mut (Received, Vec<u64>),
}

impl Kernel for Consumer<'_> {
    type Ports = Vec<In<Message>>;

    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (1..=self.producers).map(|producer| bind.input(&format!("from {producer}"))).collect()
    }

    fn run(&mut self, ports: &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        let (received, from) = &mut *self.all;
        loop {
            let before = received.messages;
            for (&port, from) in ports.iter().zip(&mut *from) {
                if let Some(message) = io.pop(port) {
                    self.work.receive(message, received);
                    *from += 1;
                }
            }
            if received.messages == before {
                return Ok(Flow::More);
            }
        }
    }
}
