//! Verifies the checksums of packets in four stages.
//!
//! ```text
//! packets >> ip * 4 >> tcp * 4 >> sum
//!    ^                             │
//!    └──────── free slots ─────────┘
//! ```
//!
//! The first stage copies a packet into a slot, the second verifies the header checksum of IPv4, the third that of TCP, the
//! fourth adds up. There is a fixed number of slots, and the last stage sends each back to the first: a cycle, in which no more packets can
//! be under way. Without it ([`Config::slots`]) the edges bound how many are, and slots come back by a free list.
//!
//! From the pipeline of BLQ, table 1, and of Virtual-Link: four queues. There, checksums are a sum of two
//! fields of made-up headers; here they are those of the RFCs.

pub mod reference;

use thalweg::prelude::*;

use crate::frames::Damage;
use crate::packets::{From, Refill, SLOTS, Slot, Slots, Supply, Tally, complement};
use crate::until_error::UntilError;
use crate::{Result, Watch};

/// What to verify, and how.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where packets come from.
    pub from: From,
    /// Threads for each of the two middle stages, for schemes that have threads for a kernel.
    pub fan_out: u32,
    /// So many slots go round. `None`: there is no way back, and as many as the edges have room for.
    pub slots: Option<usize>,
    /// How the graph runs.
    pub scheme: Scheme,
}

impl Config {
    /// As in the papers, with the default scheme: four threads, and 420 slots that go round.
    pub fn new(from: From) -> Self {
        Self { from, fan_out: 4, slots: Some(SLOTS), scheme: Scheme::default() }
    }
}

/// What was verified.
#[derive(Debug)]
pub struct Summary {
    /// The counts.
    pub tally: Tally,
    /// Where and why a capture could not be read further. What is before that was verified.
    pub damage: Option<Damage>,
    /// What each stage did.
    pub report: Report,
}

/// Verifies.
///
/// ```
/// use thalweg_apps::packets::From;
/// use thalweg_apps::pipeline::{Config, run};
/// let verified = run(&Config::new(From::Made(1_000)), &())?;
/// assert_eq!((verified.tally.ip_right, verified.tally.tcp_right), (1_000, 1_000));
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Refused`](crate::Error::Refused) if the input is no capture of Ethernet frames, or for no slots;
/// [`Error::File`](crate::Error::File) if it cannot be opened.
pub fn run(config: &Config, watch: &dyn Watch) -> Result<Summary> {
    let supply = Supply::open(&config.from, complement, watch)?;
    let (mut tally, mut damage) = (Tally::default(), None);
    let list = &Slots::default();

    let mut graph = Graph::new();
    let ip = graph.parallel_update(|packet: &mut Slot| packet.check_ip());
    let tcp = graph.parallel_update(|packet: &mut Slot| packet.check_tcp());
    graph.name(ip, "ip");
    graph.name(tcp, "tcp");
    let middle = ip * config.fan_out >> tcp * config.fan_out;
    match config.slots {
        None => {
            let packets = graph.source(UntilError::new(supply.into_slots(list), &mut damage));
            let sum = graph.sink(|packet: Slot| {
                tally.add(&packet);
                list.give(packet);
            });
            graph.name(packets, "packets");
            graph.name(sum, "sum");
            graph += packets >> middle >> sum;
        }
        Some(slots) => {
            let refill = graph.add(Refill::new(supply, slots, 1, &mut damage, graph.stopper())?);
            let sum = graph.map(|packet: Slot| {
                tally.add(&packet);
                packet
            });
            graph.name(refill.filled, "packets");
            graph.name(sum, "sum");
            graph += refill.filled >> middle >> sum.feedback() >> refill.free[0];
        }
    }
    watch.started(graph.stopper());
    let report = graph.run(config.scheme)?;
    drop(graph);
    Ok(Summary { tally, damage, report })
}
